/*
 * names.c
 *		Cached locations, functions and mappings, by id.
 *
 * 1. Arrays of pages, and the rules by which they are dropped when a call begins.
 * 2. A table row becomes a struct in one allocation, with its texts after it.
 * 3. Loading many rows: locations that are not cached, then the functions and mappings they name.
 * 4. Reading one row. A missing row is replaced by one with an "unknown" name, until the next call
 *    searches again.
 * 5. Rows that other sessions have read are found in shared memory (shared_names.h), and this
 *    session's rows are offered there.
 *
 * Ids come from sequences and are dense, so a cache is an array of pages of pointers: a lookup is
 * two loads without a comparison. Rows of an aborted transaction may stay: nothing refers to their
 * ids, which are never used again.
 */
#include "profstore.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/arrays.h"
#include "dictionary/cache/cache.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/cache/doubts.h"
#include "dictionary/cache/name_reading.h"
#include "dictionary/cache/names.h"
#include "dictionary/cache/rows.h"
#include "dictionary/cache/shared_names.h"

/* With fewer names than this, reading them from the tables is faster than sharing them. */
#define LEAST_SHARED 256

/* Names are offered again once their number has grown by one part in this many. */
#define GROWTH_DIVISOR 8

/* Cached rows of one kind, each a struct of dictionary.h. */
typedef struct NameCache
{
	PfsNameKind kind;
	/* Reads rows by id; ids are ascending and distinct. */
	void (*read)(const int32 *ids, uint32 count);
} NameCache;

static void read_locations(const int32 *ids, uint32 count);
static void names_read_functions(const int32 *ids, uint32 count);
static void names_read_mappings(const int32 *ids, uint32 count);

static NameCache locations = { PFS_LOCATIONS, read_locations };
static NameCache functions = { PFS_FUNCTIONS, names_read_functions };
static NameCache mappings = { PFS_MAPPINGS, names_read_mappings };

/* Rows that this session has read itself. Rows found in shared memory are not read again. */
static PfsNamePages own[PFS_NAME_KINDS];
static uint32 own_count;
static const PfsNamePages *shared; /* NULL: none */
static uint32 shared_count;
/* number of names that were last found in, or put into, shared memory */
static uint32 offered_count;
static bool has_looked; /* true if shared names were already searched during this call */

/* Parent of all pages and rows; child of the cache context. */
static MemoryContext name_context;
static uint64 generation; /* counts how often names were dropped */
static bool has_unknown;  /* some rows replace missing ones, which may exist by now */

/* Ids of placeholder functions: the greatest ones, which a sequence does not reach. */
enum
{
	NO_ID = PG_INT32_MAX - 2, /* function of a location whose row names an invalid id */
	NO_LOCATION,
	NO_STACK
};

static const PfsFunction made_functions[] = {
	{ NO_ID, PFS_UNKNOWN_FUNCTION, PFS_UNKNOWN_FUNCTION, "", 0 },
	{ NO_LOCATION, PFS_UNKNOWN_LOCATION, PFS_UNKNOWN_LOCATION, "", 0 },
	{ NO_STACK, PFS_UNKNOWN_STACK, PFS_UNKNOWN_STACK, "", 0 },
};
static const PfsLine no_location_line = { NO_LOCATION, 0 };
static const PfsLine no_stack_line = { NO_STACK, 0 };
static const PfsLocation no_stack_location = { PFS_NO_STACK_LOCATION, 0, 0, 1, &no_stack_line };

static void
names_forget(void)
{
	/* The pages belong to name_context, which is deleted below. */
	memset(own, 0, sizeof(own));
	pfs_shared_names_release(shared);
	shared = NULL;
	own_count = shared_count = offered_count = 0;
	if (name_context != NULL)
		MemoryContextDelete(name_context);
	name_context = NULL;
	has_unknown = false;
	generation++;
}

Size
pfs_names_bytes(void)
{
	return name_context == NULL ? 0 : MemoryContextMemAllocated(name_context, true);
}

/* Drops placeholders when a call begins, because the missing rows may exist by now. */
static void
names_begin_call(bool names_changed)
{
	/*
	 * Names are dropped all at once: entries of queries point to them, so none can be freed alone.
	 */
	if (names_changed || has_unknown || pfs_names_bytes() > pfs_cache_bytes() / 2)
		names_forget();
	has_looked = false;
}

void
pfs_names_init(void)
{
	static PfsCachePart part = { .begin = names_begin_call, .forget = names_forget };

	pfs_cache_register(&part);
}

uint64
pfs_names_generation(void)
{
	return generation;
}

MemoryContext
pfs_names_context(void)
{
	if (name_context == NULL)
		name_context = AllocSetContextCreate(pfs_cache_context(), "profstore dictionary names",
											 ALLOCSET_DEFAULT_SIZES);
	return name_context;
}

/*
 * Borrows shared names. Called as late as possible, because the epoch is known only after a call
 * has begun.
 */
static pg_noinline void
look_for_shared(void)
{
	has_looked = true;
	/* A session that has read names by itself does not borrow any: it offers its own. */
	if (shared != NULL || own_count > 0)
		return;
	shared = pfs_shared_names_borrow(&shared_count);
	offered_count = shared_count;
}

static inline const void *
names_look_up(const NameCache *cache, int32 id)
{
	const void *row = pfs_name_find(&own[cache->kind], id);

	/* Shared names are borrowed at the first look-up of a call, and not at its beginning. */
	if (unlikely(!has_looked))
		look_for_shared();
	return row != NULL || shared == NULL ? row : pfs_name_find(&shared[cache->kind], id);
}

static void
names_keep(NameCache *cache, int32 id, void *row)
{
	PfsNamePages *names = &own[cache->kind];
	uint32 page = (uint32) id >> PFS_NAME_PAGE_BITS;
	uint32 known = names->page_count;

	PFS_RESERVE_IN(pfs_names_context(), names->pages, names->page_count, page + 1);
	/* NULL stands for a page without names. */
	memset(names->pages + known, 0, (names->page_count - known) * sizeof(void **));
	if (names->pages[page] == NULL)
		names->pages[page] =
			MemoryContextAllocZero(pfs_names_context(), PFS_NAME_PAGE_SLOTS * sizeof(void *));
	names->pages[page][id & (PFS_NAME_PAGE_SLOTS - 1)] = row;
	own_count++;
}

/*
 * Offers names to other sessions, unless the transaction has an id and so may have read rows of its
 * own.
 */
static void
offer_names(void)
{
	uint32 count = shared_count + own_count;

	if (count < LEAST_SHARED || count - offered_count <= offered_count / GROWTH_DIVISOR ||
		has_unknown || TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return;
	offered_count = count;
	pfs_shared_names_offer(own, shared, count);
}

/* Copies a text after a row under construction, and moves *at. */
static const char *
names_put_text(char **at, const char *text, Size length)
{
	char *start = *at;

	memcpy(start, text, length);
	start[length] = '\0';
	*at += length + 1;
	return start;
}

/* Copies a location with its lines to the session's cache. */
static void
keep_location(const PfsNameRow *row, void *argument)
{
	const PfsPackedLocation *read = &row->location;
	PfsLocation *location =
		MemoryContextAlloc(pfs_names_context(),
						   sizeof(PfsLocation) + read->line_count * sizeof(PfsLine));
	PfsLine *copies = (PfsLine *) (location + 1);

	for (uint32 i = 0; i < read->line_count; i++)
		/* An invalid function id would be looked up as an index of a page. */
		copies[i] =
			(PfsLine){ read->function_ids[i] > 0 ? read->function_ids[i] : NO_ID, read->lines[i] };
	location->id = row->id;
	/* 0 is no mapping; ids below it do not exist. */
	location->mapping_id = Max(read->mapping, 0);
	location->address = (uint64) read->address;
	location->line_count = read->line_count;
	location->lines = copies;
	names_keep(&locations, location->id, location);
}

static void
read_locations(const int32 *ids, uint32 count)
{
	pfs_names_read(&pfs_location_names, ids, count, keep_location, NULL);
}

static void
keep_function(const PfsNameRow *row, void *argument)
{
	const PfsPackedFunction *read = &row->function;
	Size name = strlen(read->name);
	Size system_name = strlen(read->system_name);
	Size filename = strlen(read->filename);
	PfsFunction *function = MemoryContextAlloc(pfs_names_context(), sizeof(PfsFunction) + name +
																		system_name + filename + 3);
	char *at = (char *) (function + 1);

	function->id = row->id;
	function->name = names_put_text(&at, read->name, name);
	function->system_name = names_put_text(&at, read->system_name, system_name);
	function->filename = names_put_text(&at, read->filename, filename);
	function->start_line = read->start_line;
	names_keep(&functions, function->id, function);
}

static void
names_read_functions(const int32 *ids, uint32 count)
{
	pfs_names_read(&pfs_function_names, ids, count, keep_function, NULL);
}

static void
keep_mapping(TupleTableSlot *slot, void *argument)
{
	const struct varlena *build_id = DatumGetTextPP(slot->tts_values[1]);
	const struct varlena *file = DatumGetTextPP(slot->tts_values[2]);
	PfsMapping *mapping;
	char *at;

	mapping =
		MemoryContextAlloc(pfs_names_context(), sizeof(PfsMapping) + VARSIZE_ANY_EXHDR(build_id) +
													VARSIZE_ANY_EXHDR(file) + 2);
	at = (char *) (mapping + 1);
	mapping->id = DatumGetInt32(slot->tts_values[0]);
	mapping->build_id = names_put_text(&at, VARDATA_ANY(build_id), VARSIZE_ANY_EXHDR(build_id));
	mapping->file = names_put_text(&at, VARDATA_ANY(file), VARSIZE_ANY_EXHDR(file));
	names_keep(&mappings, mapping->id, mapping);
}

static void
names_read_mappings(const int32 *ids, uint32 count)
{
	pfs_rows_read("mappings", ids, count, keep_mapping, NULL);
}

/* Reads rows that are not cached. Sorts ids in place. */
static void
names_load(NameCache *cache, int32 *ids, uint32 count)
{
	cache->read(ids, pfs_ids_sort(ids, count));
}

/* Returns the ids that are not cached, sorted and distinct, in CurrentMemoryContext. */
static int32 *
missing_locations(const int32 *ids, uint32 count, uint32 *missing_count)
{
	int32 *missing = PFS_ARRAY(int32, count);

	*missing_count = 0;
	for (uint32 i = 0; i < count; i++)
		if (names_look_up(&locations, ids[i]) == NULL)
			missing[(*missing_count)++] = ids[i];
	*missing_count = pfs_ids_sort(missing, *missing_count);
	return missing;
}

void
pfs_locations_load(const int32 *ids, uint32 count)
{
	uint32 missing_count;
	int32 *missing = missing_locations(ids, count, &missing_count);
	Size line_count = 0;
	uint32 function_count = 0;
	uint32 mapping_count = 0;
	int32 *function_ids;
	int32 *mapping_ids;

	/* 1. The locations. */
	names_load(&locations, missing, missing_count);
	for (uint32 i = 0; i < missing_count; i++)
	{
		const PfsLocation *location = names_look_up(&locations, missing[i]);

		/* A location without a row gets a placeholder when it is used. */
		line_count += location == NULL ? 0 : location->line_count;
	}

	/* 2. The functions and mappings that they name, each kind in one batch. */
	function_ids = PFS_ARRAY(int32, line_count);
	mapping_ids = PFS_ARRAY(int32, missing_count);
	for (uint32 i = 0; i < missing_count; i++)
	{
		const PfsLocation *location = names_look_up(&locations, missing[i]);

		if (location == NULL)
			continue;
		for (uint32 j = 0; j < location->line_count; j++)
			if (names_look_up(&functions, location->lines[j].function_id) == NULL)
				function_ids[function_count++] = location->lines[j].function_id;
		if (location->mapping_id != 0 && names_look_up(&mappings, location->mapping_id) == NULL)
			mapping_ids[mapping_count++] = location->mapping_id;
	}
	names_load(&functions, function_ids, function_count);
	names_load(&mappings, mapping_ids, mapping_count);
	offer_names();
	pfree(function_ids);
	pfree(mapping_ids);
	pfree(missing);
}

bool
pfs_location_is_cached(int32 id)
{
	return id == PFS_NO_STACK_LOCATION || names_look_up(&locations, id) != NULL;
}

/* Records that a placeholder was made, so that the next query looks for the row again. */
static void
note_unknown(void)
{
	has_unknown = true;
	pfs_doubt(PFS_DOUBT_NAMES, 1);
}

/* Makes a placeholder for an id without a row. */
static void
keep_unknown(NameCache *cache, int32 id)
{
	MemoryContext context = pfs_names_context();
	void *row;

	if (cache == &locations)
	{
		row = MemoryContextAlloc(context, sizeof(PfsLocation));
		*(PfsLocation *) row = (PfsLocation){ id, 0, 0, 1, &no_location_line };
	}
	else if (cache == &functions)
	{
		row = MemoryContextAlloc(context, sizeof(PfsFunction));
		*(PfsFunction *) row =
			(PfsFunction){ id, PFS_UNKNOWN_FUNCTION, PFS_UNKNOWN_FUNCTION, "", 0 };
	}
	else
	{
		row = MemoryContextAlloc(context, sizeof(PfsMapping));
		*(PfsMapping *) row = (PfsMapping){ id, "", PFS_UNKNOWN_MAPPING };
	}
	names_keep(cache, id, row);
	note_unknown();
}

static const void *
names_get(NameCache *cache, int32 id)
{
	const void *row = names_look_up(cache, id);

	if (row == NULL)
	{
		/* Batches are the rule; single names are read if a view names few frames. */
		names_load(cache, &id, 1);
		row = names_look_up(cache, id);
	}
	if (row == NULL)
	{
		keep_unknown(cache, id);
		row = names_look_up(cache, id);
	}
	return row;
}

const PfsLocation *
pfs_location_get(int32 id)
{
	return id == PFS_NO_STACK_LOCATION ? &no_stack_location : names_get(&locations, id);
}

const PfsFunction *
pfs_function_get(int32 id)
{
	/* The greatest ids stand for functions that are not in the table. */
	return id >= NO_ID ? &made_functions[id - NO_ID] : names_get(&functions, id);
}

const PfsMapping *
pfs_mapping_get(int32 id)
{
	static const PfsMapping none = { 0, "", "" };

	return id == 0 ? &none : names_get(&mappings, id);
}
