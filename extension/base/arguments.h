/*
 * arguments.h
 *		Reads arguments of the calling SQL function by their names.
 *
 * Functions with a common argument read it by one piece of code, at whatever position the argument
 * stands in their lists. The names are read from pg_proc once for each call site in a query and
 * cached in fn_extra, so a caller of these functions must not use fn_extra for anything else. Input
 * arguments must precede output arguments.
 *
 * An argument that the function does not declare reads as NULL. All results live in
 * CurrentMemoryContext or belong to the caller.
 */
#ifndef PFS_ARGUMENTS_H
#define PFS_ARGUMENTS_H

#include "profstore.h"

#include "fmgr.h"

/* Returns the place of an argument's value; NULL if the argument is NULL. */
const Datum *pfs_argument(FunctionCallInfo fcinfo, const char *name);

/* Returns an argument's value; raises NULL_VALUE_NOT_ALLOWED with a hint, if any, if it is NULL. */
Datum pfs_argument_require(FunctionCallInfo fcinfo, const char *name, const char *hint);

/* Returns an argument of type text as a C string; NULL if it is NULL. */
char *pfs_argument_text(FunctionCallInfo fcinfo, const char *name);

/* Returns true if an argument of type bool is true, false if it is false or NULL. */
bool pfs_argument_is_true(FunctionCallInfo fcinfo, const char *name);

#endif
