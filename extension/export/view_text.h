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
 * Returns beginning, which may be empty, followed by the filters in the arguments, such as "focus
 * f, hide g". Lives in CurrentMemoryContext.
 */
char *pfs_view_text(FunctionCallInfo fcinfo, const char *beginning);

/*
 * Returns the filters and the share of the selection that they keep, such as "focus f: 12.50 % of
 * 80 count".
 */
char *pfs_share_text(FunctionCallInfo fcinfo, double kept, const PfsDropped *dropped,
					 const char *unit);

#endif
