/*
 * attempt.h
 *		Work in a subtransaction, whose errors do not undo the work around it.
 */
#ifndef PFS_ATTEMPT_H
#define PFS_ATTEMPT_H

#include "profstore.h"

/*
 * Calls work(arg) in a subtransaction, in CurrentMemoryContext, which is current again afterwards.
 * The subtransaction is rolled back if work returns false or raises an error. Returns the error,
 * NULL if there was none.
 */
ErrorData *pfs_subtransaction(bool (*work)(void *arg), void *arg);

/* Like pfs_subtransaction(), but raises a cancel of the query again. */
ErrorData *pfs_subtransaction_or_cancel(bool (*work)(void *arg), void *arg);

/*
 * Calls work(arg) in a subtransaction, in CurrentMemoryContext. An error other than a cancel rolls
 * it back, and becomes a WARNING "what: message" with the error's code and hint; then returns
 * false.
 */
bool pfs_attempt(void (*work)(void *arg), void *arg, const char *what);

#endif
