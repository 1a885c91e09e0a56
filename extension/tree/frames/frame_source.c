/*
 * frame_source.c
 *		Keeps the source of each line of a location. Functions and mappings share texts.
 */
#include "tree/frames/frame_source.h"

#include "utils/builtins.h"

#include "base/arrays.h"
#include "base/id_map.h"
#include "dictionary/cache/dictionary.h"
#include "tree/frames/session_cache.h"

static const char *
source_known(const char *text)
{
	return *text == '\0' ? NULL : text;
}

PfsFrameSource
pfs_frame_source(int32 location_id, uint32 line_index)
{
	PfsFrameSource source = { NULL, 0, NULL };
	const PfsLocation *location;

	if (location_id == 0)
		return source;
	location = pfs_location_get(location_id);
	source.mapping = source_known(pfs_mapping_get(location->mapping_id)->file);
	if (location->line_count > 0)
	{
		const PfsLine *line = &location->lines[line_index];
		const PfsFunction *function = pfs_function_get(line->function_id);

		source.file = source_known(function->filename);
		/* The function's beginning does not change with the sample, a line in it does. */
		source.line = function->start_line > 0 ? function->start_line : Max(line->line, 0);
	}
	return source;
}

struct PfsSourceTable
{
	MemoryContext context;
	PfsIdMap first_sources; /* location id → 1 + index of the source of its first line */
	PfsIdMap files;			/* function id → 1 + index of a text */
	/* mapping id → 1 + index of a text; separate from files, because ids of both begin at 1 */
	PfsIdMap mappings;
	PfsSourceTexts *sources;
	uint32 source_count;
	uint32 source_capacity;
	text **texts;
	uint32 text_count;
	uint32 text_capacity;
};

PfsSourceTable *
pfs_source_table(void)
{
	MemoryContext context;
	PfsSourceTable *table = pfs_session_cache_get("source texts", sizeof(PfsSourceTable), &context);

	table->context = context;
	table->first_sources.context = table->files.context = table->mappings.context = context;
	return table;
}

/*
 * Returns the text whose index is in the slot, and makes the text if it is new; NULL if the string
 * is empty.
 */
static const text *
text_of(PfsSourceTable *table, uint32 *slot, const char *string)
{
	/* NULL is not kept, so the slot stays free. */
	if (string == NULL)
		return NULL;
	if (*slot == 0)
	{
		PFS_RESERVE_IN(table->context, table->texts, table->text_capacity,
					   (uint64) table->text_count + 1);
		table->texts[table->text_count] = cstring_to_text(string);
		*slot = ++table->text_count;
	}
	return table->texts[*slot - 1];
}

static PfsSourceTexts
make_source(PfsSourceTable *table, const PfsLocation *location, uint32 line)
{
	PfsFrameSource source = pfs_frame_source(location->id, line);
	int32 function_id = line < location->line_count ? location->lines[line].function_id : 0;
	uint32 *file = pfs_id_map_slot(&table->files, function_id);
	uint32 *mapping = pfs_id_map_slot(&table->mappings, location->mapping_id);

	return (PfsSourceTexts){ text_of(table, file, source.file),
							 text_of(table, mapping, source.mapping), source.line };
}

static pg_noinline void
sources_add_location(PfsSourceTable *table, int32 location_id, uint32 *slot)
{
	MemoryContext caller = MemoryContextSwitchTo(table->context);
	const PfsLocation *location = pfs_location_get(location_id);
	uint32 count = Max(location->line_count, 1);
	uint32 first = table->source_count;

	PFS_RESERVE_IN(table->context, table->sources, table->source_capacity, (uint64) first + count);
	for (uint32 line = 0; line < count; line++)
		table->sources[first + line] = make_source(table, location, line);
	table->source_count += count;
	*slot = 1 + first;
	MemoryContextSwitchTo(caller);
}

PfsSourceTexts
pfs_source_texts(PfsSourceTable *table, int32 location_id, uint32 line)
{
	uint32 *slot;

	if (location_id == 0)
		return (PfsSourceTexts){ NULL, NULL, 0 };
	slot = pfs_id_map_slot(&table->first_sources, location_id);
	if (*slot == 0)
		sources_add_location(table, location_id, slot);
	return table->sources[*slot - 1 + line];
}
