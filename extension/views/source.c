/*
 * source.c
 *		source(): the cost of each line of a file.
 *
 * Each frame of the file is named by its line, and frames of all other files get one common name.
 * Thus lines are summed up as functions are in top().
 */
#include "tree/function_totals.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "base/arguments.h"
#include "base/arrays.h"
#include "base/relations.h"
#include "base/srf.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/intern/intern_arrays.h"
#include "select/selection.h"
#include "tree/frames/frame_source.h"

/* Limits of the builds of one file, and of its paths in them, whose text is looked up. */
#define MAPPINGS_MAX 64
#define PATHS_MAX	 8

enum
{
	COL_LINE,
	COL_SELF,
	COL_TOTAL,
	COL_TEXT,
	COL_COUNT
};

typedef struct SourceLine
{
	int32 line; /* line number; 0: unknown */
	int64 self;
	int64 total;
} SourceLine;

/* The text of the file, read line by line. */
typedef struct Contents
{
	const char *at; /* the next line; NULL at the end */
	int32 line;		/* line number */
} Contents;

PG_FUNCTION_INFO_V1(profstore_source);

/* Orders lines by number, unknown lines last. */
static int
source_compare_lines(const void *a, const void *b)
{
	const SourceLine *left = a;
	const SourceLine *right = b;

	if ((left->line == 0) != (right->line == 0))
		return left->line == 0 ? 1 : -1;
	return (left->line > right->line) - (left->line < right->line);
}

/* The cost of the lines in one mapping whose file has one path. */
typedef struct MappingCost
{
	int32 mapping_id;
	const char *path; /* path of the file, in the mapping's debug information */
	int64 total;
	bool was_tried; /* the text of the file at this path was searched for */
} MappingCost;

static int
source_compare_mappings(const void *a, const void *b)
{
	const MappingCost *left = a;
	const MappingCost *right = b;

	if (left->total != right->total)
		return left->total > right->total ? -1 : 1;
	if (left->mapping_id != right->mapping_id)
		return left->mapping_id > right->mapping_id ? 1 : -1;
	return strcmp(left->path, right->path);
}

/* Returns the mappings with the file's lines, those with the largest cost first. */
static MappingCost *
find_mappings(const PfsFunctionTotal *functions, uint32 function_count, uint32 *count)
{
	MappingCost *costs = PFS_ARRAY(MappingCost, function_count);

	*count = 0;
	for (uint32 i = 0; i < function_count; i++)
	{
		const PfsFunctionTotal *function = &functions[i];
		const char *path;
		uint32 at = 0;
		int32 id;

		if (*function->name == '\0' || function->location == 0)
			continue;
		id = pfs_location_get(function->location)->mapping_id;
		path = pfs_frame_source(function->location, function->line).file;
		if (path == NULL)
			continue;
		while (at < *count && (costs[at].mapping_id != id || strcmp(costs[at].path, path) != 0))
			at++;
		if (at == *count && at == MAPPINGS_MAX)
			continue;
		if (at == *count)
			costs[(*count)++] = (MappingCost){ id, path, 0, false };
		costs[at].total += function->total.value;
	}
	qsort(costs, *count, sizeof(MappingCost), source_compare_mappings);
	return costs;
}

static bool
may_read_sources(void)
{
	static const char *const tables[] = { "source_files", "source_texts", "source_paths" };

	for (uint32 i = 0; i < lengthof(tables); i++)
	{
		Oid table = pfs_relation_find(tables[i]);

		if (!OidIsValid(table) || pg_class_aclcheck(table, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
			return false;
	}
	return true;
}

/*
 * Returns the text that is stored for a path in some mappings, or for the git references of the
 * selection's series; NULL if no text is stored for it.
 */
static char *
stored_text(const PfsSelection *selection, const int32 *mappings, uint32 count, const char *path)
{
	MemoryContext caller = CurrentMemoryContext;
	int32 *series = PFS_ARRAY(int32, selection->series_count);
	Oid types[] = { INT4ARRAYOID, TEXTOID, INT4ARRAYOID };
	Datum values[lengthof(types)];
	char *contents;

	for (int i = 0; i < selection->series_count; i++)
		series[i] = (int32) selection->series_ids[i];
	values[0] = PointerGetDatum(pfs_int4_array(mappings, count));
	values[1] = CStringGetTextDatum(path);
	values[2] = PointerGetDatum(pfs_int4_array(series, (uint32) selection->series_count));
	SPI_connect();
	if (SPI_execute_with_args("SELECT profstore.source_text($1, $2, $3)", lengthof(types), types,
							  values, NULL, true, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not look for the text of a source file");
	contents = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	if (contents != NULL)
		contents = MemoryContextStrdup(caller, contents);
	SPI_finish();
	return contents;
}

/*
 * Returns the text of the file, in the build and under the path whose lines cost most among those
 * with a text; NULL if no build has a text.
 */
static const char *
stored_contents(const PfsSelection *selection, const PfsFunctionTotal *functions,
				uint32 function_count)
{
	uint32 count;
	MappingCost *costs = find_mappings(functions, function_count, &count);
	int32 *mappings = PFS_ARRAY(int32, count);
	const char *contents = NULL;

	if (count == 0 || !may_read_sources())
		return NULL;
	for (uint32 first = 0, tried = 0; contents == NULL && first < count && tried < PATHS_MAX;
		 first++)
	{
		const char *path = costs[first].path;
		uint32 found = 0;

		if (costs[first].was_tried)
			continue;
		for (uint32 i = first; i < count; i++)
		{
			if (strcmp(costs[i].path, path) != 0)
				continue;
			mappings[found++] = costs[i].mapping_id;
			costs[i].was_tried = true;
		}
		contents = stored_text(selection, mappings, found, path);
		tried++;
	}
	return contents;
}

/*
 * Sums the selection by line and returns the lines sorted by number. Sets contents to the stored
 * text of the file, unless the caller gave one. Raises a NOTICE if no frame is in the file.
 */
static SourceLine *
sum_lines(const PfsSelection *selection, const PfsFilters *filters, uint32 *count,
		  Contents *contents)
{
	PfsFunctionTotal *functions;
	PfsSides whole;
	uint32 function_count =
		pfs_function_totals(pfs_stack_stream_begin(selection), filters, &functions, &whole);
	SourceLine *lines = PFS_ARRAY(SourceLine, function_count);

	if (function_count == 0 && whole.value == 0)
		pfs_selection_tell_empty(selection);
	*count = 0;
	for (uint32 i = 0; i < function_count; i++)
	{
		const PfsFunctionTotal *function = &functions[i];

		if (*function->name != '\0')
			lines[(*count)++] = (SourceLine){ (int32) strtol(function->name, NULL, 10),
											  function->self.value, function->total.value };
	}
	if (*count == 0 && function_count > 0 && pfs_selection_notes_first())
		ereport(NOTICE,
				(filters->source_frames != NULL
					 ? errmsg("no frame of the selection matches %s", filters->source_file)
					 : errmsg("no frame of the selection is in file \"%s\"", filters->source_file),
				 errhint("Column file of profstore.top() lists the files of functions.")));
	qsort(lines, *count, sizeof(SourceLine), source_compare_lines);
	if (contents->at == NULL)
		contents->at = stored_contents(selection, functions, function_count);
	return lines;
}

static void
put_line(const PfsResult *result, const SourceLine *line, const char *text, int length)
{
	Datum values[COL_COUNT];
	bool nulls[COL_COUNT] = { false };

	values[COL_LINE] = Int32GetDatum(line->line);
	nulls[COL_LINE] = line->line == 0;
	values[COL_SELF] = Int64GetDatum(line->self);
	values[COL_TOTAL] = Int64GetDatum(line->total);
	nulls[COL_TEXT] = text == NULL;
	values[COL_TEXT] =
		text == NULL ? (Datum) 0 : PointerGetDatum(cstring_to_text_with_len(text, length));
	pfs_result_put(result, values, nulls);
}

/*
 * Puts the lines of the file up to the line of cost, whose values that row gets; all other rows
 * have values of 0. If cost is NULL or has no line number, puts all lines that are left.
 */
static void
put_contents(const PfsResult *result, Contents *contents, const SourceLine *cost)
{
	while (contents->at != NULL && *contents->at != '\0' &&
		   (cost == NULL || cost->line == 0 || contents->line <= cost->line))
	{
		const char *end = strchr(contents->at, '\n');
		int length = end ? (int) (end - contents->at) : (int) strlen(contents->at);
		SourceLine line = { contents->line, 0, 0 };

		CHECK_FOR_INTERRUPTS();
		if (cost != NULL && cost->line == contents->line)
			line = *cost;
		put_line(result, &line, contents->at, length);
		contents->at = end ? end + 1 : NULL;
		contents->line++;
	}
}

PGDLLEXPORT Datum
profstore_source(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	PfsSelection *selection = pfs_selection_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	Contents contents = { pfs_argument_text(fcinfo, "contents"), 1 };
	SourceLine *lines;
	uint32 count;

	pfs_filters_set_source(&filters,
						   TextDatumGetCString(pfs_argument_require(
							   fcinfo, "filename",
							   "The column file of profstore.top() has the files of functions; "
							   "without a range, write filename => 'name'.")));
	lines = sum_lines(selection, &filters, &count, &contents);
	for (uint32 i = 0; i < count; i++)
	{
		put_contents(&result, &contents, &lines[i]);
		if (lines[i].line == 0 || lines[i].line >= contents.line)
			put_line(&result, &lines[i], NULL, 0);
	}
	put_contents(&result, &contents, NULL);
	return (Datum) 0;
}
