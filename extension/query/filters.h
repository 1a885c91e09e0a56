/*
 * filters.h
 *		The named arguments focus, ignore, show and hide: regular expressions on function names.
 *
 * They mean what they mean in pprof. Names are those of functions, the name of an inlined function too; expressions
 * match anywhere in a name.
 *
 *		focus	keep only stacks with a matching frame
 *		ignore	drop stacks with a matching frame
 *		hide	take matching frames out of their stacks; their value goes to the caller
 *		show	take all other frames out
 *
 * focus and ignore look at whole stacks, before hide and show. A stack that hide and show leave without any frame
 * is dropped, and so is one without frames under focus.
 */
#ifndef PFS_FILTERS_H
#define PFS_FILTERS_H

#include "profstore.h"

#include "fmgr.h"

typedef struct PfsFilters
{
	text *focus; /* NULL: no such filter; so the others */
	text *ignore;
	text *show;
	text *hide;
} PfsFilters;

/* What the filters say of one function name. */
typedef struct PfsVerdict
{
	bool focused; /* true where there is no focus */
	bool ignored;
	bool visible;
} PfsVerdict;

/*
 * Reads the four arguments from first_argument on; NULL and '' are no filter. Raises INVALID_REGULAR_EXPRESSION.
 */
PfsFilters pfs_filters_get(FunctionCallInfo fcinfo, int first_argument);

bool pfs_filters_any(const PfsFilters *filters);
PfsVerdict pfs_filters_judge(const PfsFilters *filters, const char *name);

#endif
