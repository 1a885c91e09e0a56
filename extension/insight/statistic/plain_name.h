/*
 * plain_name.h
 *		Names of functions without the suffixes that a compiler adds and that change from build to
 *		build.
 */
#ifndef PFS_PLAIN_NAME_H
#define PFS_PLAIN_NAME_H

#include <stddef.h>

/*
 * Writes a name without suffixes of clones (.isra.0, .constprop.1, .part.2, .cold, .llvm.3,
 * .lto_priv.4), without the hash of Rust's legacy mangling, and without the numbers of lambdas
 * ("#2" in "{lambda()#2}"). plain has room for length + 1 bytes. Returns the length written.
 */
size_t pfs_plain_name(const char *name, size_t length, char *plain);

#endif
