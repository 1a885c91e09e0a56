/*
 * view.h
 *		Helpers that several views use: arguments that limit rows, columns that show shares, the
 *		longest text of a stack.
 */
#ifndef PFS_VIEW_H
#define PFS_VIEW_H

#include "profstore.h"

#include "fmgr.h"

/*
 * Longest text of a stack, in bytes. It is far above the text of a deep recursion, and small enough
 * that a stack of any names fits into one value of the server. If a stack is longer, PFS_FRAMES_CUT
 * replaces the frames between the limit and the leaf.
 */
#define PFS_STACK_TEXT_MAX_BYTES (16 * 1024 * 1024)
#define PFS_FRAMES_CUT			 "[frames cut]"

/* Returns max_nodes; PFS_NO_ROW_LIMIT if it is NULL. Raises INVALID_PARAMETER_VALUE below 1. */
uint32 pfs_max_nodes_get(FunctionCallInfo fcinfo);

/* Returns max_rows; PG_INT64_MAX if it is NULL. Raises INVALID_PARAMETER_VALUE below 0. */
int64 pfs_max_rows_get(FunctionCallInfo fcinfo);

/* Returns value / whole as float8; sets *is_null if whole is 0. */
Datum pfs_share_or_null(double value, double whole, bool *is_null);

#endif
