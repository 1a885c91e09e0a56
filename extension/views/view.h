/*
 * view.h
 *		Parts of several views: limits among their arguments, shares among their columns, the
 *		longest text of a stack.
 */
#ifndef PFS_VIEW_H
#define PFS_VIEW_H

#include "profstore.h"

#include "fmgr.h"

/*
 * Longest text of a stack, in bytes: far above that of deep recursion, and such that no stack, of
 * whatever names, exceeds a value of the server. PFS_FRAMES_CUT stands for the frames between it
 * and the leaf.
 */
#define PFS_STACK_TEXT_MAX_BYTES (16 * 1024 * 1024)
#define PFS_FRAMES_CUT			 "[frames cut]"

/* Returns max_nodes; PFS_NO_ROW_LIMIT if it is NULL. Raises INVALID_PARAMETER_VALUE below 1. */
uint32 pfs_max_nodes_get(FunctionCallInfo fcinfo);

/* Returns max_rows; PG_INT64_MAX if it is NULL. Raises INVALID_PARAMETER_VALUE below 0. */
int64 pfs_max_rows_get(FunctionCallInfo fcinfo);

/* The part that a value is of a whole, as float8; sets *is_null where the whole is 0. */
Datum pfs_share_or_null(double value, double whole, bool *is_null);

#endif
