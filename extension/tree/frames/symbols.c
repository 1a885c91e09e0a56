/*
 * symbols.c
 *		Maps locations to frames, functions to symbols and names to symbols, and keeps the results.
 */
#include "tree/frames/symbols.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "base/arrays.h"
#include "base/id_map.h"
#include "dictionary/cache/dictionary.h"
#include "tree/frames/flame_label.h"
#include "tree/frames/frame_name.h"
#include "tree/frames/session_cache.h"
#include "tree/frames/unnamed_keys.h"

#define INITIAL_NAMES		1024
#define MOST_CACHED_SYMBOLS 65536

/* A resolved location: its frames are frames[first .. first + count - 1] of the table. */
typedef struct LocationEntry
{
	uint32 first;
	uint32 count;
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

/* Symbols of all queries that name frames in the same way. */
typedef struct FrameTable
{
	MemoryContext context; /* NULL: the table is new */
	/* set during a change; if it is still set at the next use, an error has ended the change */
	bool changing;
	PfsIdMap location_map; /* location id → 1 + index in locations */
	PfsIdMap name_map;	   /* id of the function or mapping that determines a name → 1 + symbol */
	name_table_hash *names;
	const char **symbols; /* names of the symbols */
	text **labels;		  /* labels of the symbols; NULL if not made yet */
	/*
	 * true if the symbol is a function without a symbol of its own, which is recognized by its keys
	 */
	bool *have_keys;
	uint32 symbol_count;
	uint32 symbol_capacity;
	LocationEntry *locations;
	uint32 location_count;
	uint32 location_capacity;
	PfsFrame *frames;
	uint32 frame_count;
	uint32 frame_capacity;
} FrameTable;

struct PfsSymbols
{
	FrameTable *table;
	PfsIdMap *verdicts; /* location id → bits of PfsLocationVerdict; 0: not judged yet */
	const PfsFilters *filters;
	bool hiding; /* some frames may be removed */
	PfsDropped dropped;
};

static void
init_table(FrameTable *table, MemoryContext context)
{
	table->context = context;
	table->location_map.context = table->name_map.context = context;
	table->names = name_table_create(context, INITIAL_NAMES, NULL);
}

/*
 * Returns the session's table of views that name frames by function and remove the same frames. A
 * table so large that arrays by symbol would cost more than finding symbols again is not reused.
 */
static FrameTable *
get_cached_table(const PfsFilters *filters)
{
	char *key = psprintf("frames%s", pfs_filters_frames_key(filters));
	MemoryContext context;
	FrameTable *table = pfs_session_cache_get(key, sizeof(FrameTable), &context);

	/* A table that an error has left half-made is not used either. */
	if (table->changing || table->symbol_count > MOST_CACHED_SYMBOLS)
	{
		pfs_session_cache_forget(key);
		table = pfs_session_cache_get(key, sizeof(FrameTable), &context);
	}
	if (table->context == NULL)
	{
		/* An error in init_table() must not leave a table that looks complete. */
		table->changing = true;
		init_table(table, context);
		table->changing = false;
	}
	return table;
}

PfsSymbols *
pfs_symbols_create(const PfsFilters *filters)
{
	PfsSymbols *symbols = palloc0(sizeof(PfsSymbols));
	MemoryContext context;

	symbols->filters = filters;
	symbols->hiding = filters->by[PFS_SHOW] != NULL || filters->by[PFS_HIDE] != NULL;
	pfs_session_cache_begin();
	pfs_filters_recall(filters);
	symbols->verdicts = pfs_session_cache_get(psprintf("verdicts%s", pfs_filters_key(filters)),
											  sizeof(PfsIdMap), &context);
	symbols->verdicts->context = context;
	/* Other granularities make names that few later queries share. */
	if (filters->granularity == PFS_BY_FUNCTION)
		symbols->table = get_cached_table(filters);
	else
	{
		symbols->table = palloc0(sizeof(FrameTable));
		init_table(symbols->table, CurrentMemoryContext);
	}
	return symbols;
}

void
pfs_symbols_drop(PfsSymbols *symbols, int64 value, int64 base)
{
	symbols->dropped.value += (double) value;
	symbols->dropped.base += (double) base;
}

const PfsDropped *
pfs_symbols_dropped(const PfsSymbols *symbols)
{
	return pfs_filters_any(symbols->filters) ? &symbols->dropped : NULL;
}

/* Returns the symbol of a name that lives as long as the table. */
static uint32
intern_name(FrameTable *table, const char *name)
{
	bool found;
	NameEntry *entry = name_table_insert(table->names, name, &found);

	if (!found)
	{
		/* Three arrays have one capacity, so it is changed only with the last of them. */
		uint32 capacity = table->symbol_capacity;

		PFS_RESERVE(table->labels, capacity, (uint64) table->symbol_count + 1);
		capacity = table->symbol_capacity;
		PFS_RESERVE(table->have_keys, capacity, (uint64) table->symbol_count + 1);
		PFS_RESERVE(table->symbols, table->symbol_capacity, (uint64) table->symbol_count + 1);
		entry->symbol = table->symbol_count++;
		table->symbols[entry->symbol] = name;
		table->labels[entry->symbol] = NULL;
		table->have_keys[entry->symbol] = false;
	}
	return entry->symbol;
}

/* Returns the symbol that has one of the keys; PFS_NO_SYMBOL if none has. */
static uint32
find_by_keys(const FrameTable *table, const PfsUnnamedKeys *keys)
{
	for (uint32 i = 0; i < keys->count; i++)
	{
		const NameEntry *entry = name_table_lookup(table->names, keys->keys[i]);

		if (entry != NULL)
			return entry->symbol;
	}
	return PFS_NO_SYMBOL;
}

/*
 * Returns the symbol of a function that has no symbol in its file. If functions of several builds
 * have an equal key, they share one symbol, with the name of the first one that was met. If
 * functions without a common key have equal names, because they begin at equal addresses, the later
 * one's name gets its keys appended, so that no two symbols share a name.
 */
static uint32
intern_unnamed(FrameTable *table, const PfsFunction *function)
{
	PfsUnnamedKeys keys = pfs_unnamed_keys(function);
	uint32 symbol;

	if (keys.count == 0)
		/* Without a key, the function is recognized by its name alone. */
		return intern_name(table, function->name);
	symbol = find_by_keys(table, &keys);
	if (symbol == PFS_NO_SYMBOL)
	{
		const NameEntry *full = name_table_lookup(table->names, function->system_name);

		/*
		 * A function with exactly these keys may have got the full name as its symbol, because
		 * another one had the short name.
		 */
		symbol = full != NULL ? full->symbol : intern_name(table, function->name);
		/* Another function without symbol has this name already. */
		if (table->have_keys[symbol])
			symbol = intern_name(table, function->system_name);
	}
	table->have_keys[symbol] = true;
	for (uint32 i = 0; i < keys.count; i++)
	{
		bool found;
		NameEntry *entry = name_table_insert(table->names, keys.keys[i], &found);

		/* A key that exists belongs to this symbol, or to one that was met first. */
		if (!found)
			entry->symbol = symbol;
	}
	return symbol;
}

uint32
pfs_symbol_intern(PfsSymbols *symbols, const char *name)
{
	FrameTable *table = symbols->table;
	const NameEntry *known = name_table_lookup(table->names, name);
	MemoryContext caller;
	uint32 symbol;

	if (known != NULL)
		return known->symbol;
	caller = MemoryContextSwitchTo(table->context);
	table->changing = true;
	/* The caller's string may be freed; names of the dictionary live as long as the table. */
	symbol = intern_name(table, pstrdup(name));
	table->changing = false;
	MemoryContextSwitchTo(caller);
	return symbol;
}

/* Returns the symbol of a frame whose name is not interned yet. */
static uint32
intern_frame(PfsSymbols *symbols, const PfsFrameFacts *frame)
{
	const char *name = pfs_frame_name(symbols->filters, frame);

	/* Filters may have given the frame another name, by which it then merges. */
	if (frame->line != NULL && frame->line->line == PFS_LINE_UNNAMED &&
		name == frame->function->name)
		return intern_unnamed(symbols->table, frame->function);
	return intern_name(symbols->table, name);
}

static uint32
frame_symbol(PfsSymbols *symbols, const PfsFrameFacts *frame)
{
	FrameTable *table = symbols->table;
	int32 id = pfs_frame_naming_id(symbols->filters->granularity, frame);
	uint32 *slot;

	/* The name depends on more than one function or mapping. */
	if (id == 0)
		return intern_frame(symbols, frame);
	slot = pfs_id_map_slot(&table->name_map, id);
	if (*slot == 0)
		*slot = 1 + intern_frame(symbols, frame);
	return *slot - 1;
}

static void
append_frame(PfsSymbols *symbols, LocationEntry *entry, const PfsLocation *location, uint32 line)
{
	FrameTable *table = symbols->table;
	PfsFrameFacts frame = pfs_frame_facts(location, line);

	/* A frame that is hidden is left out of the location, so walks never meet it. */
	if (symbols->hiding && !pfs_filters_judge(symbols->filters, &frame).visible)
		return;
	PFS_RESERVE(table->frames, table->frame_capacity, (uint64) table->frame_count + 1);
	table->frames[table->frame_count++] = (PfsFrame){ frame_symbol(symbols, &frame), line };
	entry->count++;
}

static LocationEntry
resolve_location(PfsSymbols *symbols, int32 location_id)
{
	const PfsLocation *location = pfs_location_get(location_id);
	LocationEntry entry = { .first = symbols->table->frame_count };

	/* A location without symbols is one frame, named after its mapping. */
	if (location->line_count == 0)
		append_frame(symbols, &entry, location, 0);
	/* lines are innermost first */
	for (uint32 line = location->line_count; line > 0; line--)
		append_frame(symbols, &entry, location, line - 1);
	return entry;
}

/* Resolves a location that is met for the first time, and fills its slot. */
static pg_noinline void
symbols_add_location(PfsSymbols *symbols, uint32 *slot, int32 location_id)
{
	FrameTable *table = symbols->table;
	MemoryContext caller = MemoryContextSwitchTo(table->context);
	LocationEntry entry;

	table->changing = true;
	/* Locations are appended only when their frames are complete. */
	entry = resolve_location(symbols, location_id);
	PFS_RESERVE(table->locations, table->location_capacity, (uint64) table->location_count + 1);
	table->locations[table->location_count++] = entry;
	*slot = table->location_count;
	table->changing = false;
	MemoryContextSwitchTo(caller);
}

uint32
pfs_symbols_judge(PfsSymbols *symbols, int32 location_id)
{
	const PfsLocation *location = pfs_location_get(location_id);
	uint32 verdict = PFS_LOCATION_JUDGED;

	/* A location without lines has one frame, so the loop runs at least once. */
	for (uint32 line = 0; line == 0 || line < location->line_count; line++)
	{
		PfsFrameFacts frame = pfs_frame_facts(location, line);
		PfsVerdict said = pfs_filters_judge(symbols->filters, &frame);

		verdict |= (said.focused ? PFS_LOCATION_FOCUSED : 0) |
				   (said.ignored ? PFS_LOCATION_IGNORED : 0) |
				   (said.visible ? PFS_LOCATION_FRAMED : 0);
	}
	*pfs_id_map_slot(symbols->verdicts, location_id) = verdict;
	return verdict;
}

const PfsIdMap *
pfs_symbols_verdicts(const PfsSymbols *symbols)
{
	return symbols->verdicts;
}

bool
pfs_symbols_find(const PfsSymbols *symbols, int32 location_id, PfsFrames *frames)
{
	const FrameTable *table = symbols->table;
	uint32 number = pfs_id_map_find(&table->location_map, location_id);
	const LocationEntry *entry;

	if (number == 0)
		return false;
	entry = &table->locations[number - 1];
	*frames = (PfsFrames){ table->frames + entry->first, entry->count };
	return true;
}

PfsFrames
pfs_symbols_frames(PfsSymbols *symbols, int32 location_id)
{
	FrameTable *table = symbols->table;
	uint32 *slot = pfs_id_map_slot(&table->location_map, location_id);
	const LocationEntry *entry;

	if (*slot == 0)
		symbols_add_location(symbols, slot, location_id);
	entry = &table->locations[*slot - 1];
	return (PfsFrames){ table->frames + entry->first, entry->count };
}

const PfsFilters *
pfs_symbols_filters(const PfsSymbols *symbols)
{
	return symbols->filters;
}

uint32
pfs_symbol_count(const PfsSymbols *symbols)
{
	return symbols->table->symbol_count;
}

const char *
pfs_symbol_name(const PfsSymbols *symbols, uint32 symbol)
{
	return symbols->table->symbols[symbol];
}

const text *
pfs_symbol_label(PfsSymbols *symbols, uint32 symbol)
{
	FrameTable *table = symbols->table;
	MemoryContext caller;

	/* Only symbols that are shown need a label. */
	if (table->labels[symbol] == NULL)
	{
		caller = MemoryContextSwitchTo(table->context);
		table->labels[symbol] = pfs_text_with_zero(pfs_flame_label(table->symbols[symbol]));
		MemoryContextSwitchTo(caller);
	}
	return table->labels[symbol];
}
