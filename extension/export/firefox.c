/*
 * firefox.c
 *		firefox_profile(): exports the processed format of profiler.firefox.com.
 *
 * Tables of columns refer to each other by index: samples ─► stackTable (frame, prefix) ─►
 * frameTable ─► funcTable ─► stringArray, and funcTable ─► resourceTable ─► libs. The tree's rows
 * are the stack table, a parent before its children. Sums have no times, so samples are put one
 * after another. The version is one that every later profiler upgrades.
 */
#include "profstore.h"

#include "utils/json.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "export/flame_json.h"
#include "export/text_numbers.h"
#include "export/tree_export.h"

#define FORMAT_VERSION		 48
#define GECKO_FORMAT_VERSION 29

/* The type of a resource that is a library. */
#define RESOURCE_LIBRARY 1

#define NS_PER_MS 1000000.0

PG_FUNCTION_INFO_V1(profstore_firefox_profile);

/* An array of strings or of libraries, with the number of each. */
typedef struct NameList
{
	pfs_text_numbers_hash *hash;
	StringInfoData json; /* elements of an array */
} NameList;

static NameList
make_list(void)
{
	NameList list = { .hash = pfs_text_numbers_create(CurrentMemoryContext, 256, NULL) };

	initStringInfo(&list.json);
	return list;
}

/* Returns the number of a text, and appends it to the array if it is new. */
static uint32
list_number(NameList *list, const char *text, bool *is_new)
{
	bool found;
	PfsTextNumber *entry = pfs_text_numbers_insert(list->hash, text, &found);

	if (!found)
		entry->number = list->hash->members - 1;
	*is_new = !found;
	return entry->number;
}

static uint32
list_string_number(NameList *strings, const char *text)
{
	bool is_new;
	uint32 number = list_number(strings, text, &is_new);

	if (is_new)
	{
		if (number > 0)
			appendStringInfoChar(&strings->json, ',');
		escape_json(&strings->json, text);
	}
	return number;
}

static const char *
path_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL || slash[1] == '\0' ? path : slash + 1;
}

static uint32
library_number(NameList *libraries, const char *path)
{
	bool is_new;
	uint32 number = list_number(libraries, path, &is_new);

	if (is_new)
	{
		appendStringInfoString(&libraries->json, number > 0 ? ",{" : "{");
		pfs_json_append_text(&libraries->json, "name", path_base_name(path), true);
		pfs_json_append_text(&libraries->json, "path", path, false);
		pfs_json_append_text(&libraries->json, "debugName", path_base_name(path), false);
		pfs_json_append_text(&libraries->json, "debugPath", path, false);
		appendStringInfoString(&libraries->json,
							   ",\"breakpadId\":\"\",\"codeId\":null,\"arch\":null}");
	}
	return number;
}

/* Appends a value of a column, with a comma before unless it is the first. */
static void
json_append_value(StringInfo column, bool first, int64 value)
{
	appendStringInfo(column, first ? INT64_FORMAT : "," INT64_FORMAT, value);
}

static void
append_repeated(StringInfo json, const char *name, const char *value, uint32 count)
{
	appendStringInfo(json, ",\"%s\":[", name);
	for (uint32 i = 0; i < count; i++)
	{
		if (i > 0)
			appendStringInfoChar(json, ',');
		appendStringInfoString(json, value);
	}
	appendStringInfoChar(json, ']');
}

/* Appends frames and functions, one of each for every name. */
static void
append_functions(StringInfo json, const PfsTreeExport *export, NameList *strings,
				 NameList *libraries)
{
	uint32 count = export->frame_count;
	StringInfoData names;
	StringInfoData resources;
	StringInfoData files;
	StringInfoData lines;
	StringInfoData numbers;

	initStringInfo(&names);
	initStringInfo(&resources);
	initStringInfo(&files);
	initStringInfo(&lines);
	initStringInfo(&numbers);
	for (uint32 i = 0; i < count; i++)
	{
		const PfsTreeFrame *frame = &export->frames[i];
		const char *comma = i == 0 ? "" : ",";

		json_append_value(&names, i == 0, list_string_number(strings, frame->name));
		json_append_value(&resources, i == 0,
						  frame->source.mapping == NULL
							  ? -1
							  : (int64) library_number(libraries, frame->source.mapping));
		json_append_value(&numbers, i == 0, i);
		if (frame->source.file == NULL)
			appendStringInfo(&files, "%snull", comma);
		else
			json_append_value(&files, i == 0, list_string_number(strings, frame->source.file));
		if (frame->source.line == 0)
			appendStringInfo(&lines, "%snull", comma);
		else
			json_append_value(&lines, i == 0, frame->source.line);
	}
	appendStringInfo(json, "\"funcTable\":{\"length\":%u,\"name\":[%s],\"resource\":[%s]", count,
					 names.data, resources.data);
	appendStringInfo(json, ",\"fileName\":[%s],\"lineNumber\":[%s]", files.data, lines.data);
	append_repeated(json, "columnNumber", "null", count);
	append_repeated(json, "isJS", "false", count);
	append_repeated(json, "relevantForJS", "false", count);
	appendStringInfo(json, "},\"frameTable\":{\"length\":%u,\"func\":[%s],\"line\":[%s]", count,
					 numbers.data, lines.data);
	append_repeated(json, "address", "-1", count);
	append_repeated(json, "inlineDepth", "0", count);
	append_repeated(json, "category", "0", count);
	append_repeated(json, "subcategory", "0", count);
	append_repeated(json, "nativeSymbol", "null", count);
	append_repeated(json, "innerWindowID", "0", count);
	append_repeated(json, "implementation", "null", count);
	append_repeated(json, "column", "null", count);
	appendStringInfoString(json, "},");
}

static void
append_resources(StringInfo json, const NameList *libraries, NameList *strings)
{
	uint32 count = libraries->hash->members;
	const char **paths = PFS_ARRAY(const char *, count);
	pfs_text_numbers_iterator iterator;
	PfsTextNumber *entry;

	pfs_text_numbers_start_iterate(libraries->hash, &iterator);
	while ((entry = pfs_text_numbers_iterate(libraries->hash, &iterator)) != NULL)
		paths[entry->number] = entry->text;
	appendStringInfo(json, "\"resourceTable\":{\"length\":%u,\"name\":[", count);
	for (uint32 i = 0; i < count; i++)
		json_append_value(json, i == 0, list_string_number(strings, path_base_name(paths[i])));
	appendStringInfoString(json, "],\"lib\":[");
	for (uint32 i = 0; i < count; i++)
		json_append_value(json, i == 0, i);
	appendStringInfoChar(json, ']');
	append_repeated(json, "host", "null", count);
	append_repeated(json, "type", CppAsString2(RESOURCE_LIBRARY), count);
	appendStringInfoString(json,
						   "},\"nativeSymbols\":{\"length\":0,\"address\":[],\"functionSize\":[],"
						   "\"libIndex\":[],\"name\":[]},");
}

/*
 * Appends all rows but the root. The prefix of a row is the last row before it on the level above.
 */
static void
append_stacks(StringInfo json, const PfsTreeExport *export)
{
	uint32 count = export->row_count - 1;
	uint32 *path = PFS_ARRAY(uint32, export->row_count + 1);
	StringInfoData prefixes;

	initStringInfo(&prefixes);
	appendStringInfo(json, "\"stackTable\":{\"length\":%u,\"frame\":[", count);
	for (uint32 i = 1; i <= count; i++)
	{
		int32 level = export->rows[i].level;

		json_append_value(json, i == 1, export->rows[i].frame);
		if (level == 1)
			appendStringInfoString(&prefixes, i == 1 ? "null" : ",null");
		else
			json_append_value(&prefixes, i == 1, path[level - 1]);
		path[level] = i - 1;
	}
	appendStringInfo(json, "],\"prefix\":[%s]", prefixes.data);
	append_repeated(json, "category", "0", count);
	append_repeated(json, "subcategory", "0", count);
	appendStringInfoString(json, "},");
}

/*
 * Appends the samples. Nanoseconds are shown as milliseconds, bytes as bytes, and other units as
 * counts.
 */
static void
append_samples(StringInfo json, const PfsTreeExport *export)
{
	bool is_time = strcmp(export->selection->unit, "nanoseconds") == 0;
	bool is_bytes = strcmp(export->selection->unit, "bytes") == 0;
	StringInfoData weights;
	StringInfoData times;
	uint32 count = 0;

	initStringInfo(&weights);
	initStringInfo(&times);
	appendStringInfoString(json, "\"samples\":{\"stack\":[");
	for (uint32 i = 0; i < export->row_count; i++)
	{
		int64 value = export->rows[i].self;

		if (value == 0)
			continue;
		if (count > 0)
		{
			appendStringInfoChar(json, ',');
			appendStringInfoChar(&weights, ',');
			appendStringInfoChar(&times, ',');
		}
		if (i == 0)
			appendStringInfoString(json, "null");
		else
			appendStringInfo(json, "%u", i - 1);
		if (is_time)
			appendStringInfo(&weights, "%.17g", (double) value / NS_PER_MS);
		else
			appendStringInfo(&weights, INT64_FORMAT, value);
		appendStringInfo(&times, "%u", count++);
	}
	appendStringInfo(json, "],\"weight\":[%s],\"time\":[%s],\"weightType\":\"%s\",\"length\":%u},",
					 weights.data, times.data,
					 is_time	? "tracing-ms"
					 : is_bytes ? "bytes"
								: "samples",
					 count);
}

static void
append_meta(StringInfo json, const PfsTreeExport *export)
{
	double start_ms = TIMESTAMP_NOT_FINITE(export->selection->from)
						  ? 0
						  : (double) timestamptz_to_time_t(export->selection->from) * 1000;

	appendStringInfoString(json, "{\"meta\":{");
	pfs_json_append_text(json, "product", export->title, true);
	appendStringInfo(json, ",\"version\":%d,\"preprocessedProfileVersion\":%d,\"startTime\":%.0f",
					 GECKO_FORMAT_VERSION, FORMAT_VERSION, start_ms);
	appendStringInfoString(
		json,
		",\"interval\":1,\"processType\":0,\"stackwalk\":1,\"symbolicated\":true,\"debug\":false,"
		"\"importedFrom\":\"profstore\",\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],"
		"\"name\":[]},\"markerSchema\":[],\"categories\":[{\"name\":\"Other\",\"color\":"
		"\"grey\",\"subcategories\":[\"Other\"]}]}");
}

PGDLLEXPORT Datum
profstore_firefox_profile(PG_FUNCTION_ARGS)
{
	PfsTreeExport export = pfs_tree_export(fcinfo);
	NameList strings = make_list();
	NameList libraries = make_list();
	StringInfoData thread;
	StringInfoData json;

	initStringInfo(&thread);
	append_functions(&thread, &export, &strings, &libraries);
	append_resources(&thread, &libraries, &strings);
	append_stacks(&thread, &export);
	append_samples(&thread, &export);

	initStringInfo(&json);
	append_meta(&json, &export);
	appendStringInfo(&json, ",\"libs\":[%s],\"pages\":[],\"counters\":[],\"threads\":[{%s",
					 libraries.json.data, thread.data);
	pfs_json_append_text(&json, "name", export.title, true);
	appendStringInfo(
		&json,
		",\"processName\":\"profstore\",\"processType\":\"default\",\"isMainThread\":true,"
		"\"pid\":\"0\",\"tid\":0,\"processStartupTime\":0,\"processShutdownTime\":null,"
		"\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],"
		"\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],"
		"\"endTime\":[],\"phase\":[],\"category\":[]},\"stringArray\":[%s]}]}",
		strings.json.data);
	return pfs_json_to_jsonb(&json);
}
