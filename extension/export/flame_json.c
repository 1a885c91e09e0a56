/*
 * flame_json.c
 *		Rows in depth-first order to nested objects.
 */
#include "profstore.h"

#include "utils/json.h"

#include "export/flame_json.h"
#include "tree/frame_source.h"

void
pfs_json_append_text(StringInfo json, const char *key, const char *text, bool first)
{
	if (!first)
		appendStringInfoChar(json, ',');
	escape_json(json, key);
	appendStringInfoChar(json, ':');
	escape_json(json, text);
}

static void
append_node(StringInfo json, const PfsFlameRow *row, bool is_diff)
{
	PfsFrameSource source = { NULL, 0, NULL };

	appendStringInfoChar(json, '{');
	pfs_json_append_text(json, "name", row->label, true);
	appendStringInfo(json, ",\"value\":" INT64_FORMAT, row->total.value);
	if (is_diff)
		appendStringInfo(json, ",\"base\":" INT64_FORMAT, row->total.base);
	if (row->node == NULL)
		appendStringInfoString(json, ",\"truncated\":true");
	else
		source = pfs_frame_source(row->node->location, row->node->line);
	if (source.file != NULL)
		pfs_json_append_text(json, "file", source.file, false);
	if (source.line != 0)
		appendStringInfo(json, ",\"line\":%d", source.line);
	if (source.mapping != NULL)
		pfs_json_append_text(json, "mapping", source.mapping, false);
}

/* What the root would be without the filters. */
static void
append_whole(StringInfo json, PfsSides kept, const PfsDropped *dropped, bool is_diff)
{
	appendStringInfo(json, ",\"whole\":%.0f", (double) kept.value + dropped->value);
	if (is_diff)
		appendStringInfo(json, ",\"whole_base\":%.0f", (double) kept.base + dropped->base);
}

/*
 * Ends a node of a level, and those above it up to the one whose sibling comes; of the last node,
 * up to the root.
 */
static void
close_nodes(StringInfo json, int32 level, int32 next_level)
{
	appendStringInfoChar(json, '}');
	for (; level > next_level; level--)
		appendStringInfoString(json, "]}");
	if (next_level > 0)
		appendStringInfoChar(json, ',');
}

bool
pfs_flame_json_append(StringInfo json, PfsFlameScan *rows, bool is_diff)
{
	bool has_values = false;
	const PfsDropped *dropped = pfs_flame_scan_dropped(rows);
	int32 level = -1;
	PfsFlameRow row;

	while (pfs_flame_scan_next(rows, &row))
	{
		if (row.level > level && level >= 0)
			appendStringInfoString(json, ",\"children\":[");
		else if (level >= 0)
			close_nodes(json, level, row.level);
		append_node(json, &row, is_diff);
		if (row.level == 0 && dropped != NULL)
			append_whole(json, row.total, dropped, is_diff);
		has_values |= row.level > 0 || row.total.value != 0 || row.total.base != 0;
		level = row.level;
	}
	close_nodes(json, level, 0);
	return has_values;
}
