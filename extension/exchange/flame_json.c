/*
 * flame_json.c
 *		Rows in depth-first order to nested objects.
 */
#include "exchange/flame_json.h"

#include "utils/json.h"

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
	if (source.binary != NULL)
		pfs_json_append_text(json, "binary", source.binary, false);
}

void
pfs_flame_json_append(StringInfo json, const PfsFlameRows *rows, bool is_diff)
{
	for (uint32 i = 0; i < rows->count; i++)
	{
		int32 level = rows->rows[i].level;
		int32 next_level = i + 1 < rows->count ? rows->rows[i + 1].level : 0;

		append_node(json, &rows->rows[i], is_diff);
		if (next_level > level)
		{
			appendStringInfoString(json, ",\"children\":[");
			continue;
		}
		appendStringInfoChar(json, '}');
		for (; level > next_level; level--)
			appendStringInfoString(json, "]}");
		if (i + 1 < rows->count)
			appendStringInfoChar(json, ',');
	}
}
