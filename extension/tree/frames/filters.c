/*
 * filters.c
 *		Matchers of frames.
 *
 * 1. Arguments are parsed into matchers of fields (filter_make()).
 * 2. A matcher's answers about functions and mappings are cached by id, for this query and later
 *    ones of the session (recall_answers(), memory_of()). So each is tested once.
 * 3. All filters together judge a frame (pfs_filters_judge()).
 */
#include "tree/frames/filters.h"

#include <inttypes.h>

#include "catalog/pg_collation.h"
#include "lib/stringinfo.h"
#include "regex/regex.h"
#include "utils/builtins.h"

#include "base/arguments.h"
#include "base/id_map.h"
#include "dictionary/cache/dictionary.h"
#include "select/selector.h"
#include "tree/frames/frame_kind.h"
#include "tree/frames/session_cache.h"

typedef enum Field
{
	FIELD_FUNCTION,
	FIELD_SYSTEM_NAME,
	FIELD_FILE,
	FIELD_LINE,
	FIELD_MAPPING,
	FIELD_BUILD_ID,
	FIELD_ADDRESS,
	FIELD_KIND
} Field;

static const char *const FIELD_NAMES[] = { "function", "system_name", "file",	 "line",
										   "mapping",  "build_id",	  "address", "kind" };

typedef struct FrameMatcher
{
	Field field;
	PfsMatchOperator op;
	text *regex;
	const char *value;
	uint64 number; /* the value, if the field is a number and the operator compares */
	/* answers by id of the function or mapping: 0 unknown, 1 no, 2 yes; see pfs_filters_recall() */
	PfsIdMap *said;
} FrameMatcher;

struct PfsFilter
{
	const char *expression; /* as the user wrote it */
	int matcher_count;
	FrameMatcher *matchers;
};

const char *const PFS_FILTER_NAMES[] = { "focus", "ignore", "show", "hide" };

StaticAssertDecl(lengthof(PFS_FILTER_NAMES) == PFS_FILTER_COUNT, "each filter has a name");

const char *
pfs_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static Field
find_field(const char *name, const char *argument)
{
	for (size_t i = 0; i < lengthof(FIELD_NAMES); i++)
	{
		if (strcmp(name, FIELD_NAMES[i]) == 0)
			return (Field) i;
	}
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("invalid %s: frames have no field \"%s\"", argument, name),
					errhint("The fields are function, system_name, file, line, mapping, build_id, "
							"address and kind.")));
}

/* Reads an address in its printed form, 0x1a2b, or in decimal. */
static uint64
matcher_read_number(const PfsMatcher *matcher, const char *argument)
{
	char *end;
	uint64 number;

	errno = 0;
	number = strtou64(matcher->value, &end, 0);
	/* strtou64() also accepts blanks and a sign before the number. */
	if (errno != 0 || *end != '\0' || !(*matcher->value >= '0' && *matcher->value <= '9'))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("invalid %s: \"%s\" is not a number, which field %s requires for "
							   "this operator",
							   argument, matcher->value, matcher->label),
						errhint("Use another operator to compare its text, as in %s=~\"0x12.*\".",
								matcher->label)));
	return number;
}

static bool
is_comparison(PfsMatchOperator op)
{
	return op == PFS_MATCH_EQUAL || op == PFS_MATCH_NOT_EQUAL;
}

static FrameMatcher
make_matcher(const PfsMatcher *parsed, const char *argument)
{
	FrameMatcher matcher = { .field = find_field(parsed->label, argument),
							 .op = parsed->op,
							 .value = parsed->value };

	if (parsed->op == PFS_MATCH_REGEX || parsed->op == PFS_MATCH_NOT_REGEX)
		matcher.regex = cstring_to_text(parsed->value);
	else if ((matcher.field == FIELD_LINE || matcher.field == FIELD_ADDRESS) &&
			 is_comparison(parsed->op))
		matcher.number = matcher_read_number(parsed, argument);
	return matcher;
}

static PfsFilter *
filter_of_matchers(const PfsSelector *parsed, const char *expression, const char *name)
{
	PfsFilter *filter = palloc(sizeof(PfsFilter));

	filter->expression = expression;
	filter->matcher_count = parsed->matcher_count;
	filter->matchers = palloc((Size) Max(parsed->matcher_count, 1) * sizeof(FrameMatcher));
	for (int i = 0; i < parsed->matcher_count; i++)
		filter->matchers[i] = make_matcher(&parsed->matchers[i], name);
	return filter;
}

static PfsFilter *
filter_of_regex(const char *expression, const char *name)
{
	PfsFilter *filter = palloc(sizeof(PfsFilter));
	/* Check now: an invalid expression raises an error at the first frame, but there may be none */
	const char *problem = pfs_regex_problem(expression);

	if (problem != NULL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_REGULAR_EXPRESSION),
						errmsg("invalid %s: invalid regular expression: %s", name, problem)));
	filter->expression = expression;
	filter->matcher_count = 1;
	filter->matchers = palloc(sizeof(FrameMatcher));
	filter->matchers[0] = (FrameMatcher){ .field = FIELD_FUNCTION,
										  .op = PFS_MATCH_REGEX,
										  .regex = cstring_to_text(expression),
										  .value = expression };
	return filter;
}

/* Makes a filter. name is that of the argument, for errors; NULL and "" mean no filter. */
static PfsFilter *
filter_make(const char *expression, const char *name)
{
	const char *copy;
	const PfsSelector *parsed;

	if (expression == NULL || expression[0] == '\0')
		return NULL;
	/* The filter outlives the argument of the first call, so it keeps a copy. */
	copy = pstrdup(expression);
	parsed = pfs_frame_matchers_parse(copy, name);
	/* An expression that is no list of matchers is a regular expression on names of functions. */
	return parsed == NULL ? filter_of_regex(copy, name) : filter_of_matchers(parsed, copy, name);
}

PfsFilters
pfs_filters_make(const char *const expressions[PFS_FILTER_COUNT])
{
	PfsFilters filters = { .granularity = PFS_BY_FUNCTION };

	for (int i = 0; i < PFS_FILTER_COUNT; i++)
		filters.by[i] = filter_make(expressions[i], PFS_FILTER_NAMES[i]);
	return filters;
}

void
pfs_filters_expressions(const PfsFilters *filters, const char *expressions[PFS_FILTER_COUNT])
{
	for (int i = 0; i < PFS_FILTER_COUNT; i++)
		expressions[i] = filters->by[i] == NULL ? NULL : filters->by[i]->expression;
}

static PfsGranularity
get_granularity(FunctionCallInfo fcinfo)
{
	static const char *const names[] = { "function",		 "line",		 "file",   "mapping",
										 "mapping_function", "mapping_file", "address" };
	const char *name = pfs_argument_text(fcinfo, "granularity");

	if (name == NULL)
		return PFS_BY_FUNCTION;
	for (size_t i = 0; i < lengthof(names); i++)
	{
		if (strcmp(name, names[i]) == 0)
			return (PfsGranularity) i;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown granularity \"%s\"", name),
			 errhint(
				 "Granularities are function, line, file, mapping, mapping_function, mapping_file "
				 "and address.")));
}

PfsFilters
pfs_filters_get(FunctionCallInfo fcinfo)
{
	const char *expressions[PFS_FILTER_COUNT];
	PfsFilters filters;

	for (int i = 0; i < PFS_FILTER_COUNT; i++)
		expressions[i] = pfs_argument_text(fcinfo, PFS_FILTER_NAMES[i]);
	filters = pfs_filters_make(expressions);
	filters.granularity = get_granularity(fcinfo);
	return filters;
}

bool
pfs_filters_any(const PfsFilters *filters)
{
	for (int i = 0; i < PFS_FILTER_COUNT; i++)
		if (filters->by[i] != NULL)
			return true;
	return false;
}

bool
pfs_filters_fold(const PfsFilters *filters)
{
	return filters->granularity == PFS_BY_FILE || filters->granularity == PFS_BY_MAPPING ||
		   filters->granularity == PFS_BY_MAPPING_FILE ||
		   filters->granularity == PFS_BY_SOURCE_LINE;
}

/* Returns true if a text matches, before a negation is applied. */
static bool
text_fits(const FrameMatcher *matcher, const char *value)
{
	/* C_COLLATION_OID: the result must not depend on the database, because answers are kept. */
	if (matcher->regex != NULL)
		return RE_compile_and_execute(matcher->regex, unconstify(char *, value),
									  (int) strlen(value), REG_ADVANCED, C_COLLATION_OID, 0, NULL);
	if (is_comparison(matcher->op))
		return strcmp(value, matcher->value) == 0;
	return strstr(value, matcher->value) != NULL;
}

/* Returns true if a path matches as a whole or by its last part. */
static bool
path_fits(const FrameMatcher *matcher, const char *path)
{
	const char *base = pfs_base_name(path);

	return text_fits(matcher, path) || (base != path && text_fits(matcher, base));
}

static bool
number_fits(const FrameMatcher *matcher, uint64 number, bool hexadecimal)
{
	char value[32];

	/*
	 * Equality compares values, so 0x10 and 16 are equal; other operators compare the printed form.
	 */
	if (is_comparison(matcher->op))
		return number == matcher->number;
	if (hexadecimal)
		snprintf(value, sizeof(value), "0x%" PRIx64, number);
	else
		snprintf(value, sizeof(value), UINT64_FORMAT, number);
	return text_fits(matcher, value);
}

/* Compares the field of a frame that the matcher names. */
static bool
frame_fits(const FrameMatcher *matcher, const PfsFrameFacts *frame)
{
	const PfsFunction *function = frame->function;

	switch (matcher->field)
	{
		case FIELD_FUNCTION:
			return text_fits(matcher, frame->name);
		case FIELD_SYSTEM_NAME:
			return text_fits(matcher, function ? function->system_name : "");
		case FIELD_FILE:
			return path_fits(matcher, function ? function->filename : "");
		case FIELD_LINE:
			return number_fits(matcher, frame->line ? (uint64) frame->line->line : 0, false);
		case FIELD_MAPPING:
			return path_fits(matcher, pfs_mapping_get(frame->location->mapping_id)->file);
		case FIELD_BUILD_ID:
			return text_fits(matcher, pfs_mapping_get(frame->location->mapping_id)->build_id);
		case FIELD_ADDRESS:
			return number_fits(matcher, frame->location->address, true);
		case FIELD_KIND:
			return text_fits(matcher,
							 pfs_frame_kind(pfs_mapping_get(frame->location->mapping_id)->file));
	}
	pg_unreachable();
}

/* Returns the map of the matcher's answers, of this query and earlier ones. */
static PfsIdMap *
recall_answers(const FrameMatcher *matcher)
{
	MemoryContext context;
	/* Answers of one matcher serve all queries of the session that contain it. */
	char *key = psprintf("answers %d %d %s", matcher->field, matcher->op, matcher->value);
	PfsIdMap *said = pfs_session_cache_get(key, sizeof(PfsIdMap), &context);

	said->context = context;
	pfree(key);
	return said;
}

static void
filter_recall(PfsFilter *filter)
{
	/* filter is NULL if the argument is not given. */
	for (int i = 0; filter != NULL && i < filter->matcher_count; i++)
		filter->matchers[i].said = recall_answers(&filter->matchers[i]);
}

void
pfs_filters_recall(const PfsFilters *filters)
{
	for (int i = 0; i < PFS_FILTER_COUNT; i++)
		filter_recall(filters->by[i]);
	filter_recall(filters->source_frames);
}

static void
append_key(StringInfo key, const PfsFilter *filter)
{
	if (filter == NULL)
		appendStringInfoString(key, " -");
	else
		/* The length tells apart expressions that contain blanks or colons. */
		appendStringInfo(key, " %zu:%s", strlen(filter->expression), filter->expression);
}

char *
pfs_filters_frames_key(const PfsFilters *filters)
{
	StringInfoData key;

	initStringInfo(&key);
	/* Only show and hide change which frames a location has. */
	append_key(&key, filters->by[PFS_SHOW]);
	append_key(&key, filters->by[PFS_HIDE]);
	return key.data;
}

char *
pfs_filters_key(const PfsFilters *filters)
{
	StringInfoData key;

	initStringInfo(&key);
	for (int i = 0; i < PFS_FILTER_COUNT; i++)
		append_key(&key, filters->by[i]);
	return key.data;
}

/*
 * Returns the slot in which the answer about a frame is cached; NULL if the answer depends on more
 * than the function or the mapping.
 */
static uint32 *
memory_of(FrameMatcher *matcher, const PfsFrameFacts *frame)
{
	switch (matcher->field)
	{
		case FIELD_FUNCTION:
		/* All three fields belong to the function, so one answer suffices for its frames. */
		case FIELD_SYSTEM_NAME:
		case FIELD_FILE:
			return frame->function ? pfs_id_map_slot(matcher->said, frame->function->id) : NULL;
		case FIELD_MAPPING:
		case FIELD_BUILD_ID:
		case FIELD_KIND:
			return pfs_id_map_slot(matcher->said, frame->location->mapping_id);
		/* Lines and addresses belong to the location, whose verdict is kept as a whole. */
		case FIELD_LINE:
		case FIELD_ADDRESS:
			break;
	}
	return NULL;
}

static bool
matcher_fits(FrameMatcher *matcher, const PfsFrameFacts *frame)
{
	uint32 *memory = memory_of(matcher, frame);
	bool negated = matcher->op == PFS_MATCH_NOT_EQUAL || matcher->op == PFS_MATCH_NOT_REGEX ||
				   matcher->op == PFS_MATCH_NOT_SUBSTRING;
	bool answer;

	/* 0: not answered yet, 1: no, 2: yes. */
	if (memory != NULL && *memory != 0)
		return *memory == 2;
	answer = frame_fits(matcher, frame) != negated;
	if (memory != NULL)
		*memory = answer ? 2 : 1;
	return answer;
}

static bool
filter_matches(const PfsFilter *filter, const PfsFrameFacts *frame)
{
	for (int i = 0; i < filter->matcher_count; i++)
	{
		if (!matcher_fits(&filter->matchers[i], frame))
			return false;
	}
	return true;
}

PfsVerdict
pfs_filters_judge(const PfsFilters *filters, const PfsFrameFacts *frame)
{
	PfsVerdict verdict;
	const PfsFilter *focus = filters->by[PFS_FOCUS];
	const PfsFilter *ignore = filters->by[PFS_IGNORE];
	const PfsFilter *show = filters->by[PFS_SHOW];
	const PfsFilter *hide = filters->by[PFS_HIDE];

	verdict.focused = focus == NULL || filter_matches(focus, frame);
	verdict.ignored = ignore != NULL && filter_matches(ignore, frame);
	/* hide and show act on frames; focus and ignore act on whole stacks. */
	verdict.visible = (hide == NULL || !filter_matches(hide, frame)) &&
					  (show == NULL || filter_matches(show, frame));
	return verdict;
}

void
pfs_filters_set_source(PfsFilters *filters, const char *filename)
{
	const PfsSelector *parsed = pfs_frame_matchers_parse(filename, "filename");

	filters->granularity = PFS_BY_SOURCE_LINE;
	filters->source_file = filename;
	filters->source_frames =
		parsed == NULL ? NULL : filter_of_matchers(parsed, filename, "filename");
}

/* Returns true if the path is the file, or ends in it after a slash. */
static bool
path_ends_in(const char *path, const char *file)
{
	size_t path_length = strlen(path);
	size_t file_length = strlen(file);

	if (path_length < file_length || strcmp(path + path_length - file_length, file) != 0)
		/* "b.c" matches "a/b.c" but not "ab.c". */
		return false;
	return path_length == file_length || path[path_length - file_length - 1] == '/';
}

bool
pfs_filters_in_source(const PfsFilters *filters, const PfsFrameFacts *frame)
{
	if (frame->function == NULL || frame->function->filename[0] == '\0')
		return false;
	return filters->source_frames != NULL
			   ? filter_matches(filters->source_frames, frame)
			   : path_ends_in(frame->function->filename, filters->source_file);
}
