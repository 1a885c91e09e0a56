/*
 * flame_json.c
 *		Converts rows in depth-first order to nested JSON objects.
 */
#include "profstore.h"

#include "utils/json.h"

#include "export/flame_json.h"
#include "export/text_numbers.h"
#include "tree/frames/frame_source.h"

void
pfs_json_append_text(StringInfo json, const char *key, const char *text, bool first)
{
	if (!first)
		appendStringInfoChar(json, ',');
	escape_json(json, key);
	appendStringInfoChar(json, ':');
	escape_json(json, text);
}

struct PfsFrameTexts
{
	MemoryContext context;
	pfs_text_numbers_hash *numbers;
	StringInfoData list; /* elements of an array, separated by commas */
};

PfsFrameTexts *
pfs_frame_texts_create(void)
{
	PfsFrameTexts *texts = palloc(sizeof(*texts));

	texts->context = CurrentMemoryContext;
	texts->numbers = pfs_text_numbers_create(CurrentMemoryContext, 1024, NULL);
	initStringInfo(&texts->list);
	return texts;
}

void
pfs_frame_texts_append(StringInfo json, const PfsFrameTexts *texts)
{
	appendStringInfo(json, "[%s]", texts->list.data);
}

static uint32
text_number(PfsFrameTexts *texts, const char *text)
{
	bool found;
	PfsTextNumber *entry = pfs_text_numbers_insert(texts->numbers, text, &found);

	if (!found)
	{
		entry->text = MemoryContextStrdup(texts->context, text);
		entry->number = texts->numbers->members - 1;
		if (entry->number > 0)
			appendStringInfoChar(&texts->list, ',');
		escape_json(&texts->list, text);
	}
	return entry->number;
}

static void
append_frame_text(StringInfo json, PfsFrameTexts *texts, const char *key, const char *text,
				  bool first)
{
	if (texts == NULL)
		pfs_json_append_text(json, key, text, first);
	else
		appendStringInfo(json, "%s\"%s\":%u", first ? "" : ",", key, text_number(texts, text));
}

static void
json_append_node(StringInfo json, const PfsFlameRow *row, bool is_diff, PfsFrameTexts *texts)
{
	PfsFrameSource source = { NULL, 0, NULL };

	appendStringInfoChar(json, '{');
	append_frame_text(json, texts, "name", row->label, true);
	appendStringInfo(json, ",\"value\":" INT64_FORMAT, row->total.value);
	if (is_diff)
		appendStringInfo(json, ",\"base\":" INT64_FORMAT, row->total.base);
	if (row->node == NULL)
		appendStringInfoString(json, ",\"truncated\":true");
	else
		source = pfs_frame_source(row->node->location, row->node->line);
	if (source.file != NULL)
		append_frame_text(json, texts, "file", source.file, false);
	if (source.line != 0)
		appendStringInfo(json, ",\"line\":%d", source.line);
	if (source.mapping != NULL)
		append_frame_text(json, texts, "mapping", source.mapping, false);
}

/* Appends the values that the root would have without the filters. */
static void
append_whole(StringInfo json, PfsSides kept, const PfsDropped *dropped, bool is_diff)
{
	appendStringInfo(json, ",\"whole\":%.0f", (double) kept.value + dropped->value);
	if (is_diff)
		appendStringInfo(json, ",\"whole_base\":%.0f", (double) kept.base + dropped->base);
}

/*
 * Closes a node, and the nodes above it up to the level of the next node; after the last node, all
 * nodes up to the root.
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

void
pfs_flame_json_append(StringInfo json, PfsFlameScan *rows, bool is_diff, PfsFrameTexts *texts)
{
	const PfsDropped *dropped = pfs_flame_scan_dropped(rows);
	int32 level = -1;
	PfsFlameRow row;

	while (pfs_flame_scan_next(rows, &row))
	{
		if (row.level > level && level >= 0)
			appendStringInfoString(json, ",\"children\":[");
		else if (level >= 0)
			close_nodes(json, level, row.level);
		json_append_node(json, &row, is_diff, texts);
		if (row.level == 0 && dropped != NULL)
			append_whole(json, row.total, dropped, is_diff);
		level = row.level;
	}
	close_nodes(json, level, 0);
}
