/*
 * filters.h
 *		The arguments focus, ignore, show and hide: which stacks and frames a view shows.
 *
 * They have their meaning in pprof. Frames of inlined functions count as frames.
 *
 * 		focus	keep only stacks with a matching frame
 * 		ignore	drop stacks with a matching frame
 * 		hide	remove matching frames from their stacks; their value goes to the caller
 * 		show	remove all other frames
 *
 * focus and ignore apply to whole stacks, before hide and show. A stack whose frames are all
 * removed by hide and show is dropped, and so is a stack without frames under focus.
 *
 * A filter is a regular expression that matches anywhere in a function's name; or, in braces,
 * matchers in the syntax of selectors, all of which one frame must match: {mapping="libc.so.6",
 * function*="alloc"}. An expression that begins with a brace is written with a backslash before it.
 * So names with colons, equal signs or braces are never taken for syntax.
 */
#ifndef PFS_FILTERS_H
#define PFS_FILTERS_H

#include "profstore.h"

#include "fmgr.h"

#include "dictionary/cache/dictionary.h"

/* How frames are named. Frames of one name are merged. */
typedef enum PfsGranularity
{
	PFS_BY_FUNCTION,
	PFS_BY_LINE,			 /* function, file and line */
	PFS_BY_FILE,			 /* neighbouring frames of one file are one frame */
	PFS_BY_MAPPING,			 /* neighbouring frames of one mapping are one frame */
	PFS_BY_MAPPING_FUNCTION, /* libc.so.6!malloc */
	PFS_BY_MAPPING_FILE,	 /* server!main.c; neighbouring frames of one name are one frame */
	PFS_BY_ADDRESS,			 /* function, mapping and address */
	PFS_BY_SOURCE_LINE		 /* line number in one file, "" elsewhere; only source() sets it */
} PfsGranularity;

typedef struct PfsFilter PfsFilter;

/* The filters, named by PFS_FILTER_NAMES as arguments are. */
enum
{
	PFS_FOCUS,
	PFS_IGNORE,
	PFS_SHOW,
	PFS_HIDE,
	PFS_FILTER_COUNT
};

extern const char *const PFS_FILTER_NAMES[];

typedef struct PfsFilters
{
	PfsFilter *by[PFS_FILTER_COUNT]; /* NULL: no such filter */
	PfsGranularity granularity;		 /* PFS_BY_FUNCTION unless the view sets another */
	const char *source_file;		 /* for PFS_BY_SOURCE_LINE: a path, or its last parts */
	PfsFilter *source_frames; /* likewise, instead of source_file: which frames are of the file */
} PfsFilters;

/* The properties of a frame that filters test. */
typedef struct PfsFrameFacts
{
	/* the name of its function, or the replacement for a missing name */
	const char *name;
	const PfsLocation *location; /* location with its mapping loaded */
	const PfsLine *line;		 /* NULL if the location has none */
	const PfsFunction *function; /* the function of the line, or NULL */
} PfsFrameFacts;

/* The filters' answers about a frame. */
typedef struct PfsVerdict
{
	bool focused; /* also true if the filters have no focus */
	bool ignored;
	bool visible;
} PfsVerdict;

/*
 * Reads the arguments of the filters, of which NULL and '' are no filter, and granularity. Raises
 * INVALID_REGULAR_EXPRESSION, SYNTAX_ERROR for matchers in braces, and INVALID_PARAMETER_VALUE for
 * an unknown field or granularity and for a malformed number. The filters live in
 * CurrentMemoryContext and remember their answers on functions and mappings, so they serve one
 * query.
 */
PfsFilters pfs_filters_get(FunctionCallInfo fcinfo);

/*
 * Convert filters to expressions in the order of PFS_FILTER_NAMES, NULL for each absent one, and
 * back, so that another process can have equal filters.
 */
void pfs_filters_expressions(const PfsFilters *filters, const char *expressions[PFS_FILTER_COUNT]);
PfsFilters pfs_filters_make(const char *const expressions[PFS_FILTER_COUNT]);

/*
 * Sets the file whose frames are named by line: a path, the last parts of a path, or matchers in
 * braces. Raises errors like pfs_filters_get(), about an argument "filename".
 */
void pfs_filters_set_source(PfsFilters *filters, const char *filename);

/* Returns true if the frame is of that file. */
bool pfs_filters_in_source(const PfsFilters *filters, const PfsFrameFacts *frame);

bool pfs_filters_any(const PfsFilters *filters);

/* Returns true if neighbouring frames of one name are merged into one frame. */
bool pfs_filters_fold(const PfsFilters *filters);

/*
 * Loads answers of earlier queries with the same expressions. Call it after
 * pfs_session_cache_begin(), and before the filters judge.
 */
void pfs_filters_recall(const PfsFilters *filters);

/*
 * Return texts that are equal for equal filters. pfs_filters_key() covers all filters,
 * pfs_filters_frames_key() only those that remove frames.
 */
char *pfs_filters_key(const PfsFilters *filters);
char *pfs_filters_frames_key(const PfsFilters *filters);
PfsVerdict pfs_filters_judge(const PfsFilters *filters, const PfsFrameFacts *frame);

/* Returns the last part of a path. */
const char *pfs_base_name(const char *path);

#endif
