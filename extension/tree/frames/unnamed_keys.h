/*
 * unnamed_keys.h
 *		Keys of a function without a symbol, by which it is recognized in several builds of a file.
 *
 * The collector writes them after the function's name into system_name: "hard+0x1540#", then for
 * each key a letter and 12 hexadecimal digits. Key "o" is a hash of the function's code. Key "n" is
 * a hash of its code and that of both neighbours. Both ignore distances to other code and data, and
 * are written only if no other function of the build has the same key. If there is neither, key "b"
 * is a hash of the build and the address.
 */
#ifndef PFS_UNNAMED_KEYS_H
#define PFS_UNNAMED_KEYS_H

#include "profstore.h"

#include "dictionary/cache/dictionary.h"

#define PFS_UNNAMED_KEYS_MAX 3

/* Each text begins with a byte that no name has, and includes the file's name. */
typedef struct PfsUnnamedKeys
{
	uint32 count;
	const char *keys[PFS_UNNAMED_KEYS_MAX];
} PfsUnnamedKeys;

/*
 * Reads the keys; there are none if system_name does not contain any. Allocates in
 * CurrentMemoryContext.
 */
PfsUnnamedKeys pfs_unnamed_keys(const PfsFunction *function);

#endif
