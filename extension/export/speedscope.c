/*
 * speedscope.c
 *		speedscope(): the file format of speedscope.app; and flamegraph_json(): nested objects for
 *		d3-flame-graph.
 */
#include "profstore.h"

#include "miscadmin.h"
#include "utils/json.h"

#include "base/arrays.h"
#include "export/flame_json.h"
#include "export/tree_export.h"
#include "export/view_text.h"
#include "views/flamegraph.h"

#define SCHEMA	 "https://www.speedscope.app/file-format-schema.json"
#define EXPORTER "profstore"

PG_FUNCTION_INFO_V1(profstore_speedscope);
PG_FUNCTION_INFO_V1(profstore_flamegraph_json);

/*
 * Returns the name that speedscope has for a unit; "none" if it has none, so that it shows plain
 * numbers.
 */
static const char *
value_unit(const char *unit)
{
	static const char *const units[] = { "nanoseconds", "microseconds", "milliseconds", "seconds",
										 "bytes" };

	for (int i = 0; i < (int) lengthof(units); i++)
		if (strcmp(unit, units[i]) == 0)
			return unit;
	return "none";
}

static void
append_frames(StringInfo json, const PfsTreeExport *export)
{
	appendStringInfoString(json, "\"shared\":{\"frames\":[");
	for (uint32 i = 0; i < export->frame_count; i++)
	{
		const PfsTreeFrame *frame = &export->frames[i];

		appendStringInfoString(json, i == 0 ? "{" : ",{");
		pfs_json_append_text(json, "name", frame->name, true);
		if (frame->source.file != NULL)
			pfs_json_append_text(json, "file", frame->source.file, false);
		if (frame->source.line != 0)
			appendStringInfo(json, ",\"line\":%d", frame->source.line);
		appendStringInfoChar(json, '}');
	}
	appendStringInfoString(json, "]}");
}

/*
 * Appends one profile with the stacks whose value has this sign, because speedscope accepts no
 * values below 0. Rows come depth first; path has the frames from the root to the current row.
 */
static void
append_profile(StringInfo json, const PfsTreeExport *export, const char *name, int sign)
{
	StringInfoData weights;
	uint32 *path = PFS_ARRAY(uint32, export->row_count);
	uint64 total = 0;
	bool first = true;

	initStringInfo(&weights);
	appendStringInfoString(json, "{\"type\":\"sampled\",");
	pfs_json_append_text(json, "name", name, true);
	pfs_json_append_text(json, "unit", value_unit(export->selection->unit), false);
	appendStringInfoString(json, ",\"startValue\":0,\"samples\":[");
	for (uint32 i = 0; i < export->row_count; i++)
	{
		const PfsTreeRow *row = &export->rows[i];
		uint64 weight = sign < 0 ? 0 - (uint64) row->self : (uint64) row->self;

		CHECK_FOR_INTERRUPTS();
		if (row->level > 0)
			path[row->level - 1] = export->rows[i].frame;
		if (row->self == 0 || (row->self < 0) != (sign < 0))
			continue;
		appendStringInfoString(json, first ? "[" : ",[");
		for (int32 level = 0; level < row->level; level++)
			appendStringInfo(json, level == 0 ? "%u" : ",%u", path[level]);
		appendStringInfoChar(json, ']');
		appendStringInfo(&weights, first ? UINT64_FORMAT : "," UINT64_FORMAT, weight);
		total = weight > PG_UINT64_MAX - total ? PG_UINT64_MAX : total + weight;
		first = false;
	}
	appendStringInfo(json, "],\"weights\":[%s],\"endValue\":" UINT64_FORMAT "}", weights.data,
					 total);
	pfree(path);
	pfree(weights.data);
}

static bool
has_negative(const PfsTreeExport *export)
{
	for (uint32 i = 0; i < export->row_count; i++)
		if (export->rows[i].self < 0)
			return true;
	return false;
}

PGDLLEXPORT Datum
profstore_speedscope(PG_FUNCTION_ARGS)
{
	PfsTreeExport export = pfs_tree_export(fcinfo);
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	pfs_json_append_text(&json, "$schema", SCHEMA, true);
	pfs_json_append_text(&json, "exporter", EXPORTER, false);
	pfs_json_append_text(&json, "name", export.title, false);
	appendStringInfoString(&json, ",\"activeProfileIndex\":0,");
	append_frames(&json, &export);
	appendStringInfoString(&json, ",\"profiles\":[");
	append_profile(&json, &export, export.title, 1);
	if (has_negative(&export))
	{
		appendStringInfoChar(&json, ',');
		append_profile(&json, &export, "values below 0", -1);
	}
	appendStringInfoString(&json, "]}");
	return pfs_json_to_jsonb(&json);
}

PGDLLEXPORT Datum
profstore_flamegraph_json(PG_FUNCTION_ARGS)
{
	PfsFlamegraph flame = pfs_flamegraph_query(fcinfo);
	StringInfoData json;

	initStringInfo(&json);
	pfs_flame_json_append(&json, flame.rows, false, NULL);
	pfs_flamegraph_end(&flame);
	return pfs_json_to_jsonb(&json);
}
