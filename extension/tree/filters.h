/*
 * filters.h
 *		The named arguments focus, ignore, show and hide: which stacks and frames a view is about.
 *
 * They mean what they mean in pprof. Frames of inlined functions count as frames.
 *
 *		focus	keep only stacks with a matching frame
 *		ignore	drop stacks with a matching frame
 *		hide	take matching frames out of their stacks; their value goes to the caller
 *		show	take all other frames out
 *
 * focus and ignore look at whole stacks, before hide and show. A stack that hide and show leave
 * without any frame is dropped, and so is one without frames under focus.
 *
 * A filter is a regular expression that matches anywhere in a function's name; or, in braces,
 * matchers in the syntax of selectors, all of which one frame must fit: {mapping="libc.so.6",
 * function*="alloc"}. An expression that begins with a brace is written with a backslash before it.
 * So names with colons, equal signs or braces are never taken for syntax.
 */
#ifndef PFS_FILTERS_H
#define PFS_FILTERS_H

#include "profstore.h"

#include "fmgr.h"

#include "dictionary/cache/dictionary.h"

/* What frames are called, and so what merges. */
typedef enum PfsGranularity
{
	PFS_BY_FUNCTION,
	PFS_BY_LINE,			 /* function, file and line */
	PFS_BY_FILE,			 /* neighbours of one file are one frame */
	PFS_BY_MAPPING,			 /* neighbours of one mapping are one frame */
	PFS_BY_MAPPING_FUNCTION, /* libc.so.6!malloc */
	PFS_BY_ADDRESS,			 /* function, mapping and address */
	PFS_BY_SOURCE_LINE		 /* line number in one file, "" elsewhere; set by source() alone */
} PfsGranularity;

typedef struct PfsFilter PfsFilter;

typedef struct PfsFilters
{
	PfsFilter *focus; /* NULL: no such filter; so the others */
	PfsFilter *ignore;
	PfsFilter *show;
	PfsFilter *hide;
	PfsGranularity granularity; /* by function, unless the view sets it */
	const char *source_file;	/* for PFS_BY_SOURCE_LINE: a path, or its last parts */
} PfsFilters;

/* A frame as filters see it. */
typedef struct PfsFrameFacts
{
	const char *name;			 /* of the function, or what stands in for it */
	const PfsLocation *location; /* its mapping is loaded */
	const PfsLine *line;		 /* NULL where the location has none */
	const PfsFunction *function; /* the line's, or NULL */
} PfsFrameFacts;

/* What the filters say of one frame. */
typedef struct PfsVerdict
{
	bool focused; /* true where there is no focus */
	bool ignored;
	bool visible;
} PfsVerdict;

/*
 * Reads the four arguments from first_argument on; NULL and '' are no filter. Raises
 * INVALID_REGULAR_EXPRESSION, SYNTAX_ERROR for what stands in braces, and INVALID_PARAMETER_VALUE
 * for an unknown field or what is no number. The filters live in CurrentMemoryContext, and remember
 * what they said of a function or a mapping; so they serve one query.
 */
PfsFilters pfs_filters_get(FunctionCallInfo fcinfo, int first_argument);

/*
 * The same and the argument behind them, granularity (NULL: by function), for views that show
 * frames.
 */
PfsFilters pfs_frame_filters_get(FunctionCallInfo fcinfo, int first_argument);

/*
 * Their expressions in the order of the arguments, NULL where there is no filter; and filters of
 * such. So another process can have the same.
 */
#define PFS_FILTER_COUNT 4
void pfs_filters_expressions(const PfsFilters *filters, const char *expressions[PFS_FILTER_COUNT]);
PfsFilters pfs_filters_make(const char *const expressions[PFS_FILTER_COUNT]);

bool pfs_filters_any(const PfsFilters *filters);

/* Whether a frame that follows one of the same name is one with it. */
bool pfs_filters_fold(const PfsFilters *filters);

/*
 * Lets the filters know what was said of names in earlier queries with the same expressions, before
 * they judge. To be called after pfs_session_cache_begin.
 */
void pfs_filters_recall(const PfsFilters *filters);

/* Texts that differ where the filters do: all of them, or those that leave frames out. */
char *pfs_filters_key(const PfsFilters *filters);
char *pfs_filters_frames_key(const PfsFilters *filters);
PfsVerdict pfs_filters_judge(const PfsFilters *filters, const PfsFrameFacts *frame);

/* The last part of a path. */
const char *pfs_base_name(const char *path);

#endif
