/*
 * view_text.h
 *		Describes a view as text for users.
 */
#ifndef PFS_VIEW_TEXT_H
#define PFS_VIEW_TEXT_H

#include "profstore.h"

#include "fmgr.h"

#include "tree/frames/symbols.h"

/*
 * Returns the filters among the arguments as "focus f, hide g", after a text that may be empty.
 * Lives in CurrentMemoryContext.
 */
char *pfs_view_text(FunctionCallInfo fcinfo, const char *beginning);

/* The filters, and what share of the selection they keep: "focus f: 12.50 % of 80 count". */
char *pfs_share_text(FunctionCallInfo fcinfo, double kept, const PfsDropped *dropped,
					 const char *unit);

#endif
