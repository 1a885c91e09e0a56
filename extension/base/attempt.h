/*
 * attempt.h
 *		Work that an error must not undo together with the work around it.
 */
#ifndef PFS_ATTEMPT_H
#define PFS_ATTEMPT_H

#include "profstore.h"

/*
 * Calls work(arg) in a subtransaction, in CurrentMemoryContext. An error other than a cancel rolls
 * it back and becomes a WARNING with the error's code and hint, "what: the error's message";
 * returns false then.
 */
bool pfs_attempt(void (*work)(void *arg), void *arg, const char *what);

#endif
