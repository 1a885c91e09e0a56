/*
 * symbols.c
 *		Location → frames, function → symbol, name → symbol; each resolved once.
 */
#include "query/symbols.h"

#include <inttypes.h>

#include "common/hashfn.h"
#include "dictionary/dictionary.h"
#include "query/allocate.h"
#include "query/id_map.h"
#include "utils/memutils.h"

#define INITIAL_NAMES	  1024
#define MOST_KEPT_SYMBOLS 65536

/* Bits of a verdict on a location. */
#define JUDGED	1
#define FOCUSED 2
#define IGNORED 4

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

struct PfsSymbols
{
	MemoryContext context;
	bool changing;		  /* an error in between leaves it set */
	PfsSymbols *base;	  /* has frames and names, where filters only judge; else NULL */
	PfsIdMap verdict_map; /* with a base: location id → bits of what the filters say */
	const PfsFilters *filters;
	bool judging;		   /* there are some */
	PfsIdMap location_map; /* location id → 1 + index in locations */
	PfsIdMap name_map;	   /* id of what names a frame alone, function or mapping → 1 + symbol */
	name_table_hash *names;
	const char **symbols; /* their names */
	uint32 symbol_count;
	uint32 symbol_capacity;
	LocationEntry *locations;
	uint32 location_count;
	uint32 location_capacity;
	PfsFrame *frames;
	uint32 frame_count;
	uint32 frame_capacity;
};

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

static PfsSymbols *
make_table(const PfsFilters *filters, MemoryContext context)
{
	PfsSymbols *symbols = MemoryContextAllocZero(context, sizeof(PfsSymbols));

	symbols->context = context;
	symbols->filters = filters;
	symbols->judging = pfs_filters_any(filters);
	symbols->location_map.context = symbols->name_map.context = context;
	symbols->names = name_table_create(context, INITIAL_NAMES, NULL);
	return symbols;
}

/*
 * The table of most views, which have no filters and name frames by function, stays for the next query, as long as names
 * do, and unless it is so large that arrays by symbol would cost more than finding symbols again.
 */
static PfsSymbols *
get_kept_table(void)
{
	static const PfsFilters no_filters = { .granularity = PFS_BY_FUNCTION };
	static PfsSymbols *kept = NULL;
	static uint64 generation;
	MemoryContext context;

	if (kept != NULL && generation == pfs_names_generation())
	{
		if (!kept->changing && kept->symbol_count <= MOST_KEPT_SYMBOLS)
			return kept;
		MemoryContextDelete(kept->context);
	}
	kept = NULL;
	context =
		AllocSetContextCreate(pfs_names_context(), "profstore symbols", ALLOCSET_DEFAULT_SIZES);
	kept = make_table(&no_filters, context);
	generation = pfs_names_generation();
	return kept;
}

PfsSymbols *
pfs_symbols_create(const PfsFilters *filters)
{
	PfsSymbols *base = NULL;
	PfsSymbols *symbols;

	if (filters->granularity == PFS_BY_FUNCTION && filters->show == NULL && filters->hide == NULL)
		base = get_kept_table();
	if (base != NULL && !pfs_filters_any(filters))
		return base;
	pfs_filters_recall(filters);
	symbols = make_table(filters, CurrentMemoryContext);
	symbols->base = base;
	symbols->verdict_map.context = CurrentMemoryContext;
	return symbols;
}

/* The symbol of a name that lives as long as the table. */
static uint32
intern_name(PfsSymbols *symbols, const char *name)
{
	bool found;
	NameEntry *entry = name_table_insert(symbols->names, name, &found);

	if (!found)
	{
		symbols->symbols = reserve(symbols->symbols, symbols->symbol_count,
								   &symbols->symbol_capacity, sizeof(const char *));
		entry->symbol = symbols->symbol_count++;
		symbols->symbols[entry->symbol] = name;
	}
	return entry->symbol;
}

uint32
pfs_symbol_intern(PfsSymbols *symbols, const char *name)
{
	MemoryContext caller;
	uint32 symbol;

	if (symbols->base != NULL)
		return pfs_symbol_intern(symbols->base, name);
	caller = MemoryContextSwitchTo(symbols->context);
	symbols->changing = true;
	symbol = intern_name(symbols, pstrdup(name));
	symbols->changing = false;
	MemoryContextSwitchTo(caller);
	return symbol;
}

static const char UNKNOWN[] = "[unknown]";

static const char *
binary_of(const PfsLocation *location)
{
	return pfs_base_name(pfs_mapping_get(location->mapping_id)->file);
}

/* The first text that says something. */
static const char *
first_known(const char *first, const char *second, const char *third)
{
	return *first ? first : *second ? second : third;
}

/* A frame with its name, the function's or what stands in for it; line is an index. */
static PfsFrameFacts
frame_facts(const PfsLocation *location, uint32 line)
{
	PfsFrameFacts frame = { .location = location };

	if (line < location->line_count)
	{
		frame.line = &location->lines[line];
		frame.function = pfs_function_get(frame.line->function_id);
		frame.name = first_known(frame.function->name, frame.function->system_name, UNKNOWN);
	}
	else
	{
		const char *binary = binary_of(location);

		frame.name =
			*binary == '\0' && location->address == 0
				? UNKNOWN
				: psprintf("%s%s0x%" PRIx64, binary, *binary ? " " : "", location->address);
	}
	return frame;
}

/* Whether a path, if there is one, is the file, or ends in it after a slash. */
static bool
is_file(const char *path, const char *file)
{
	size_t path_length = strlen(path);
	size_t file_length = strlen(file);

	if (path_length == 0 || path_length < file_length ||
		strcmp(path + path_length - file_length, file) != 0)
		return false;
	return path_length == file_length || path[path_length - file_length - 1] == '/';
}

/* The name under which the frame merges. */
static const char *
merged_name(const PfsFilters *filters, const PfsFrameFacts *frame)
{
	const char *binary = binary_of(frame->location);
	const char *file = frame->function ? frame->function->filename : "";

	switch (filters->granularity)
	{
		case PFS_BY_FUNCTION:
			return frame->name;
		case PFS_BY_LINE:
			if (*file == '\0')
				return frame->name;
			return psprintf("%s %s:%d", frame->name, file, frame->line->line);
		case PFS_BY_FILE:
			return first_known(file, binary, UNKNOWN);
		case PFS_BY_BINARY:
			return first_known(binary, "", UNKNOWN);
		case PFS_BY_BINARY_FUNCTION:
			if (frame->function == NULL || *binary == '\0')
				return frame->name;
			return psprintf("%s!%s", binary, frame->name);
		case PFS_BY_ADDRESS:
			if (frame->function == NULL || frame->location->address == 0)
				return frame->name;
			return psprintf("%s %s%s0x%" PRIx64, frame->name, binary, *binary ? " " : "",
							frame->location->address);
		case PFS_BY_SOURCE_LINE:
			return is_file(file, filters->source_file) ? psprintf("%d", frame->line->line) : "";
	}
	pg_unreachable();
}

/* The id that decides the name alone; 0 where there is none. */
static int32
naming_id(PfsGranularity granularity, const PfsFrameFacts *frame)
{
	if (granularity == PFS_BY_FUNCTION)
		return frame->function ? frame->function->id : 0;
	return granularity == PFS_BY_BINARY ? frame->location->mapping_id : 0;
}

static uint32
frame_symbol(PfsSymbols *symbols, const PfsFrameFacts *frame)
{
	int32 id = naming_id(symbols->filters->granularity, frame);
	uint32 *slot;

	if (id == 0)
		return intern_name(symbols, merged_name(symbols->filters, frame));
	slot = pfs_id_map_slot(&symbols->name_map, id);
	if (*slot == 0)
		*slot = 1 + intern_name(symbols, merged_name(symbols->filters, frame));
	return *slot - 1;
}

static void
append_frame(PfsSymbols *symbols, LocationEntry *entry, const PfsLocation *location, uint32 line)
{
	PfsFrameFacts frame = frame_facts(location, line);

	if (symbols->judging)
	{
		PfsVerdict verdict = pfs_filters_judge(symbols->filters, &frame);

		entry->focused |= verdict.focused;
		entry->ignored |= verdict.ignored;
		if (!verdict.visible)
			return;
	}
	symbols->frames =
		reserve(symbols->frames, symbols->frame_count, &symbols->frame_capacity, sizeof(PfsFrame));
	symbols->frames[symbols->frame_count++] = (PfsFrame){ frame_symbol(symbols, &frame), line };
	entry->count++;
}

static LocationEntry
resolve_location(PfsSymbols *symbols, int32 location_id)
{
	const PfsLocation *location = pfs_location_get(location_id);
	LocationEntry entry = { .first = symbols->frame_count };

	if (location->line_count == 0)
		append_frame(symbols, &entry, location, 0);
	/* lines are innermost first */
	for (uint32 line = location->line_count; line > 0; line--)
		append_frame(symbols, &entry, location, line - 1);
	return entry;
}

/* Resolves a location, in the slot that is its own. */
static pg_noinline void
add_location(PfsSymbols *symbols, uint32 *slot, int32 location_id)
{
	MemoryContext caller = MemoryContextSwitchTo(symbols->context);
	LocationEntry entry;

	symbols->changing = true;
	entry = resolve_location(symbols, location_id);
	symbols->locations = reserve(symbols->locations, symbols->location_count,
								 &symbols->location_capacity, sizeof(LocationEntry));
	symbols->locations[symbols->location_count++] = entry;
	*slot = symbols->location_count;
	symbols->changing = false;
	MemoryContextSwitchTo(caller);
}

/* What the filters say of a location's frames, in bits. */
static pg_noinline uint32
judge_location(const PfsSymbols *symbols, int32 location_id)
{
	const PfsLocation *location = pfs_location_get(location_id);
	uint32 bits = JUDGED;

	for (uint32 line = 0; line == 0 || line < location->line_count; line++)
	{
		PfsFrameFacts frame = frame_facts(location, line);
		PfsVerdict verdict = pfs_filters_judge(symbols->filters, &frame);

		bits |= (verdict.focused ? FOCUSED : 0) | (verdict.ignored ? IGNORED : 0);
	}
	return bits;
}

bool
pfs_symbols_have(const PfsSymbols *symbols, int32 location_id)
{
	const PfsIdMap *map = symbols->base != NULL ? &symbols->verdict_map : &symbols->location_map;

	return pfs_id_map_find(map, location_id) != 0;
}

static PfsFrames
judged_frames(PfsSymbols *symbols, int32 location_id)
{
	PfsFrames frames = pfs_symbols_frames(symbols->base, location_id);
	uint32 *bits = pfs_id_map_slot(&symbols->verdict_map, location_id);

	if (*bits == 0)
		*bits = judge_location(symbols, location_id);
	frames.focused = (*bits & FOCUSED) != 0;
	frames.ignored = (*bits & IGNORED) != 0;
	return frames;
}

PfsFrames
pfs_symbols_frames(PfsSymbols *symbols, int32 location_id)
{
	uint32 *slot;
	const LocationEntry *entry;

	if (symbols->base != NULL)
		return judged_frames(symbols, location_id);
	slot = pfs_id_map_slot(&symbols->location_map, location_id);
	if (*slot == 0)
		add_location(symbols, slot, location_id);
	entry = &symbols->locations[*slot - 1];
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
	return symbols->base != NULL ? symbols->base->symbol_count : symbols->symbol_count;
}

const char *
pfs_symbol_name(const PfsSymbols *symbols, uint32 symbol)
{
	return symbols->base != NULL ? symbols->base->symbols[symbol] : symbols->symbols[symbol];
}
