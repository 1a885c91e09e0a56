/*
 * symbols.c
 *		Location → frames, function → symbol, name → symbol; each resolved once.
 *
 * Ids of the dictionary come from sequences, so they are dense: paged arrays map them without hashing.
 */
#include "query/symbols.h"

#include "common/hashfn.h"
#include "dictionary/dictionary.h"
#include "query/allocate.h"
#include "utils/memutils.h"

#define PAGE_BITS	  12
#define PAGE_SLOTS	  (1 << PAGE_BITS)
#define INITIAL_NAMES 1024

/* Maps ids to uint32 slots, which begin as 0. */
typedef struct IdMap
{
	uint32 **pages;
	uint32 page_count;
} IdMap;

/* A resolved location: its frames are frames[first .. first + count - 1] of the table. */
typedef struct LocationEntry
{
	uint32 first;
	uint32 count;
	bool focused;
	bool ignored;
} LocationEntry;

typedef struct NameEntry
{
	const char *name;
	uint32 symbol;
	uint32 hash;
	char status;
} NameEntry;

#define SH_PREFIX		   name_table
#define SH_ELEMENT_TYPE	   NameEntry
#define SH_KEY_TYPE		   const char *
#define SH_KEY			   name
#define SH_HASH_KEY(tb, k) hash_bytes((const unsigned char *) (k), (int) strlen(k))
#define SH_EQUAL(tb, a, b) (strcmp(a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, a) (a)->hash
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct Symbol
{
	const char *name;
	PfsVerdict verdict;
} Symbol;

struct PfsSymbols
{
	MemoryContext context;
	const PfsFilters *filters;
	IdMap location_map; /* location id → 1 + index in locations */
	IdMap function_map; /* function id → 1 + symbol */
	name_table_hash *names;
	Symbol *symbols;
	uint32 symbol_count;
	uint32 symbol_capacity;
	LocationEntry *locations;
	uint32 location_count;
	uint32 location_capacity;
	PfsFrame *frames;
	uint32 frame_count;
	uint32 frame_capacity;
};

static uint32 *
id_map_slot(IdMap *map, int32 id)
{
	uint32 page = (uint32) id >> PAGE_BITS;

	if (page >= map->page_count)
	{
		uint32 page_count = Max(page + 1, map->page_count * 2);

		if (map->pages == NULL)
			map->pages = palloc(page_count * sizeof(uint32 *));
		else
			map->pages = repalloc_huge(map->pages, page_count * sizeof(uint32 *));
		memset(map->pages + map->page_count, 0, (page_count - map->page_count) * sizeof(uint32 *));
		map->page_count = page_count;
	}
	if (map->pages[page] == NULL)
		map->pages[page] = palloc0(PAGE_SLOTS * sizeof(uint32));
	return &map->pages[page][(uint32) id & (PAGE_SLOTS - 1)];
}

/* Makes room for one more element of an array; returns the array, moved or not. */
static void *
reserve(void *array, uint32 count, uint32 *capacity, Size element_bytes)
{
	if (count < *capacity)
		return array;
	*capacity = Max(*capacity * 2, INITIAL_NAMES);
	return array == NULL ? PFS_ARRAY(char, *capacity *element_bytes)
						 : repalloc_huge(array, *capacity * element_bytes);
}

PfsSymbols *
pfs_symbols_create(const PfsFilters *filters)
{
	PfsSymbols *symbols = palloc0(sizeof(PfsSymbols));

	symbols->context = CurrentMemoryContext;
	symbols->filters = filters;
	symbols->names = name_table_create(CurrentMemoryContext, INITIAL_NAMES, NULL);
	return symbols;
}

uint32
pfs_symbol_intern(PfsSymbols *symbols, const char *name)
{
	bool found;
	NameEntry *entry = name_table_insert(symbols->names, name, &found);

	if (!found)
	{
		Symbol *symbol;

		symbols->symbols = reserve(symbols->symbols, symbols->symbol_count,
								   &symbols->symbol_capacity, sizeof(Symbol));
		entry->symbol = symbols->symbol_count++;
		symbol = &symbols->symbols[entry->symbol];
		symbol->name = name;
		symbol->verdict = pfs_filters_judge(symbols->filters, name);
	}
	return entry->symbol;
}

static uint32
function_symbol(PfsSymbols *symbols, int32 function_id)
{
	uint32 *slot = id_map_slot(&symbols->function_map, function_id);

	if (*slot == 0)
	{
		const PfsFunction *function = pfs_function_get(function_id);
		const char *name = *function->name ? function->name : function->system_name;

		*slot = 1 + pfs_symbol_intern(symbols, *name ? name : "[unknown]");
	}
	return *slot - 1;
}

static uint32
address_symbol(PfsSymbols *symbols, const PfsLocation *location)
{
	const char *file = pfs_mapping_get(location->mapping_id)->file;
	const char *slash = strrchr(file, '/');
	const char *binary = slash ? slash + 1 : file;

	if (*binary == '\0' && location->address == 0)
		return pfs_symbol_intern(symbols, "[unknown]");
	return pfs_symbol_intern(symbols, psprintf("%s%s0x%" INT64_MODIFIER "x", binary,
											   *binary ? " " : "", location->address));
}

static void
append_frame(PfsSymbols *symbols, LocationEntry *entry, uint32 symbol, uint32 line)
{
	const PfsVerdict *verdict = &symbols->symbols[symbol].verdict;

	entry->focused |= verdict->focused;
	entry->ignored |= verdict->ignored;
	if (!verdict->visible)
		return;
	symbols->frames =
		reserve(symbols->frames, symbols->frame_count, &symbols->frame_capacity, sizeof(PfsFrame));
	symbols->frames[symbols->frame_count++] = (PfsFrame){ symbol, line };
	entry->count++;
}

static LocationEntry
resolve_location(PfsSymbols *symbols, int32 location_id)
{
	const PfsLocation *location = pfs_location_get(location_id);
	LocationEntry entry = { .first = symbols->frame_count };

	if (location->line_count == 0)
		append_frame(symbols, &entry, address_symbol(symbols, location), 0);
	/* lines are innermost first */
	for (uint32 line = location->line_count; line > 0; line--)
		append_frame(symbols, &entry,
					 function_symbol(symbols, location->lines[line - 1].function_id), line - 1);
	return entry;
}

void
pfs_symbols_load(PfsSymbols *symbols, const int32 *location_ids, uint32 count)
{
	MemoryContext caller = MemoryContextSwitchTo(symbols->context);
	uint32 first_new = symbols->location_count;
	int32 *new_ids = PFS_ARRAY(int32, count);
	uint32 new_count = 0;

	for (uint32 i = 0; i < count; i++)
	{
		uint32 *slot = id_map_slot(&symbols->location_map, location_ids[i]);

		if (*slot == 0)
		{
			*slot = 1 + first_new + new_count;
			new_ids[new_count++] = location_ids[i];
		}
	}
	pfs_locations_load(new_ids, new_count);
	for (uint32 i = 0; i < new_count; i++)
	{
		LocationEntry entry = resolve_location(symbols, new_ids[i]);

		symbols->locations = reserve(symbols->locations, symbols->location_count,
									 &symbols->location_capacity, sizeof(LocationEntry));
		symbols->locations[symbols->location_count++] = entry;
	}
	pfree(new_ids);
	MemoryContextSwitchTo(caller);
}

PfsFrames
pfs_symbols_frames(const PfsSymbols *symbols, int32 location_id)
{
	uint32 slot =
		symbols->location_map
			.pages[(uint32) location_id >> PAGE_BITS][(uint32) location_id & (PAGE_SLOTS - 1)];
	const LocationEntry *entry = &symbols->locations[slot - 1];

	return (PfsFrames){ symbols->frames + entry->first, entry->count, entry->focused,
						entry->ignored };
}

const PfsFilters *
pfs_symbols_filters(const PfsSymbols *symbols)
{
	return symbols->filters;
}

uint32
pfs_symbol_count(const PfsSymbols *symbols)
{
	return symbols->symbol_count;
}

const char *
pfs_symbol_name(const PfsSymbols *symbols, uint32 symbol)
{
	return symbols->symbols[symbol].name;
}
