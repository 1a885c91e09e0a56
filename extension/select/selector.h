/*
 * selector.h
 *		The text that picks series: profile_type{label="v", l2!="v", l3=~"re", l4!~"re"}.
 *
 * Grammar (blanks between tokens are free):
 *
 *		selector := series | over_time '(' series ')'
 *		over_time := 'avg_over_time' | 'last_over_time' | 'max_over_time'
 *		series   := profile_type [ matchers ] | matchers
 *		matchers := '{' [ matcher { ',' matcher } [ ',' ] ] '}'
 *		matcher  := label ( '=' | '!=' | '=~' | '!~' ) value
 *		label    := [A-Za-z_][A-Za-z0-9_]*
 *		value    := quoted
 *		quoted   := "…" or '…' with the escapes of PromQL (\n \t \\ \" \' \xHH …), or `…` without
 *
 * A profile type is any run of characters other than blanks, control characters, braces, quotes and
 * commas; inside a function over time, also other than parentheses. As in PromQL, a label that a
 * series lacks is an empty string, and regular expressions match the whole value. The profile type
 * is written as profile_types() prints it, or as its first parts, as many as make it unique
 * (type_name.h).
 */
#ifndef PFS_SELECTOR_H
#define PFS_SELECTOR_H

#include "profstore.h"

typedef enum PfsMatchOperator
{
	PFS_MATCH_EQUAL,
	PFS_MATCH_NOT_EQUAL,
	PFS_MATCH_REGEX,
	PFS_MATCH_NOT_REGEX,
	PFS_MATCH_SUBSTRING, /* "*=", for frames only, as is the next operator */
	PFS_MATCH_NOT_SUBSTRING
} PfsMatchOperator;

typedef struct PfsMatcher
{
	const char *label;
	PfsMatchOperator op;
	const char *value; /* text to compare with, or an anchored regular expression of PostgreSQL */
} PfsMatcher;

/*
 * Function that makes one value of the scrapes in a range. Without a function it is the average
 * over the scrapes of a series.
 */
typedef enum PfsOverTime
{
	PFS_OVER_TIME_UNSAID,
	PFS_OVER_TIME_AVERAGE,
	PFS_OVER_TIME_LAST, /* the last scrape */
	PFS_OVER_TIME_MAX	/* the scrape with the largest sum, the last one among equals */
} PfsOverTime;

typedef struct PfsSelector
{
	PfsOverTime over_time;
	const char *profile_type; /* NULL if any type matches */
	int matcher_count;
	PfsMatcher *matchers;
} PfsSelector;

/*
 * Parses a selector in the database's encoding. The result lives in CurrentMemoryContext. Raises
 * SYNTAX_ERROR or INVALID_REGULAR_EXPRESSION with the name of the argument in the message and the
 * position in the detail; PROGRAM_LIMIT_EXCEEDED if the text is longer than 1 MiB.
 */
PfsSelector *pfs_selector_parse(const char *text, const char *argument);

/*
 * Parses the braces of a filter on frames, as in {mapping="libc.so.6", function*="alloc"}: the
 * grammar of selectors without a profile type, and with two more operators, *= and !*=. Instead of
 * labels there are fields, which the caller checks. Returns NULL if text does not begin with a
 * brace. Raises the errors of pfs_selector_parse(), including that for the length if there is no
 * brace.
 */
PfsSelector *pfs_frame_matchers_parse(const char *text, const char *argument);

/* Returns the server's error for a regular expression; NULL if it is valid. */
const char *pfs_regex_problem(const char *regex);

/* Returns the function's name as written in selectors. Not for PFS_OVER_TIME_UNSAID. */
const char *pfs_over_time_name(PfsOverTime over_time);

#endif
