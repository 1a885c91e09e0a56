/*
 * intern.c
 *		Interns in three rounds, each of which needs ids of the one before:
 *
 *   1. series, mappings, functions
 *   2. locations, which refer to mappings and functions
 *   3. stacks, which refer to locations
 *
 * A round looks its items up in the caches and asks the database for the missing ones. If the
 * caches contain everything, nothing is sent.
 */
#include "writer/intern.h"

#include <stdlib.h>

#include "base/hash.h"
#include "writer/intern_keys.h"
#include "writer/intern_params.h"

/* The caches' shares of their memory, in fortieths. */
#define CACHE_SHARES	40
#define SERIES_SHARES	2
#define MAPPING_SHARES	1
#define FUNCTION_SHARES 8
#define LOCATION_SHARES 12
#define STACK_SHARES	16
#define NOTE_SHARES		1

static const InternRule rules[KIND_COUNT] = {
	[KIND_SERIES] = { .sql = "SELECT profstore.intern_series($1, $2, $3)",
					  .failure = "could not intern series",
					  .result_type = WIRE_INT4,
					  .param_count = 3,
					  .param_types = { WIRE_TEXT_ARRAY, WIRE_JSONB_ARRAY, WIRE_INT8_ARRAY },
					  .make_key = intern_series_key,
					  .encode = intern_encode_series },
	[KIND_MAPPING] = { .sql = "SELECT profstore.intern_mappings($1, $2)",
					   .failure = "could not intern mappings",
					   .result_type = WIRE_INT4,
					   .param_count = 2,
					   .param_types = { WIRE_TEXT_ARRAY, WIRE_TEXT_ARRAY },
					   .make_key = intern_mapping_key,
					   .encode = intern_encode_mappings },
	[KIND_FUNCTION] = { .sql = "SELECT profstore.intern_functions($1, $2, $3, $4)",
						.failure = "could not intern functions",
						.result_type = WIRE_INT4,
						.param_count = 4,
						.param_types = { WIRE_TEXT_ARRAY, WIRE_TEXT_ARRAY, WIRE_TEXT_ARRAY,
										 WIRE_INT4_ARRAY },
						.make_key = intern_function_key,
						.encode = intern_encode_functions },
	[KIND_LOCATION] = { .sql = "SELECT profstore.intern_locations($1, $2, $3, $4, $5)",
						.failure = "could not intern locations",
						.result_type = WIRE_INT4,
						.param_count = 5,
						.param_types = { WIRE_INT4_ARRAY, WIRE_INT8_ARRAY, WIRE_INT4_ARRAY,
										 WIRE_INT4_ARRAY, WIRE_INT4_ARRAY },
						.make_key = intern_location_key,
						.encode = intern_encode_locations },
	[KIND_STACK] = { .sql = "SELECT profstore.intern_stacks_by_partition($1, $2, $3, $4)",
					 .failure = "could not intern stacks",
					 .result_type = WIRE_INT8,
					 .param_count = 4,
					 .param_types = { WIRE_TEXT_ARRAY, WIRE_INT4_ARRAY, WIRE_INT4_ARRAY,
									  WIRE_INT4_ARRAY },
					 .make_key = intern_stack_key,
					 .encode = intern_encode_stacks },
};

static DbOutcome
intern_out_of_memory(DbError *error)
{
	db_error_set(error, NULL, "could not intern a batch", "Out of memory.", NULL);
	return DB_REFUSED;
}

void
intern_begin(InternWork *work, Interner *interner, const Batch *batch)
{
	IdCache *const caches[KIND_COUNT] = {
		[KIND_SERIES] = &interner->series,		[KIND_MAPPING] = &interner->mappings,
		[KIND_FUNCTION] = &interner->functions, [KIND_LOCATION] = &interner->locations,
		[KIND_STACK] = &interner->stacks,
	};

	/* The arrays belong to the batch, whose indexes are used until ids are known. */
	*work = (InternWork){ .stack_seeds = interner->stack_seeds, .key = &interner->key };
	for (int i = 0; i < KIND_COUNT; i++)
		work->kinds[i] = (InternKind){ .rule = &rules[i], .cache = caches[i] };
	work->kinds[KIND_SERIES].count = batch_series(batch, &work->series);
	work->kinds[KIND_MAPPING].count = batch_mappings(batch, &work->mappings);
	work->kinds[KIND_FUNCTION].count = batch_functions(batch, &work->functions);
	work->kinds[KIND_LOCATION].count = batch_locations(batch, &work->locations);
	work->kinds[KIND_STACK].count = batch_stacks(batch, &work->stacks);
}

void
intern_end(InternWork *work)
{
	for (int i = 0; i < KIND_COUNT; i++)
	{
		free(work->kinds[i].ids);
		free(work->kinds[i].missing);
	}
}

/*
 * Looks up the ids of a kind in the cache, and lists the items that are missing there. Returns
 * false on out of memory.
 */
static bool
kind_look_up(InternWork *work, InternKind *kind)
{
	Buffer *key = work->key;

	/* intern_look_up() has looked this kind up before */
	if (kind->ids != NULL)
		return true;
	/* plus one, because calloc(0) may return NULL */
	kind->ids = calloc(kind->count + 1, sizeof(kind->ids[0]));
	kind->missing = calloc(kind->count + 1, sizeof(kind->missing[0]));
	if (kind->ids == NULL || kind->missing == NULL)
		return false;
	for (uint32_t i = 0; i < kind->count; i++)
	{
		/* the empty stack has id 0 in every database */
		if (kind == &work->kinds[KIND_STACK] && work->stacks[i].depth == 0)
			continue;
		buffer_reset(key);
		kind->rule->make_key(work, i, key);
		if (key->failed)
			return false;
		if (!id_cache_find(kind->cache, key->bytes, key->length, &kind->ids[i]))
			kind->missing[kind->missing_count++] = i;
	}
	return true;
}

/* Adds the ids of the missing items to the cache. */
static void
kind_remember(InternWork *work, const InternKind *kind)
{
	Buffer *key = work->key;

	for (uint32_t i = 0; i < kind->missing_count; i++)
	{
		buffer_reset(key);
		/*
		 * The key is made again, because keeping all keys of a batch would take more memory than
		 * making them costs time. The keys of locations and stacks contain ids, which are known by
		 * now.
		 */
		kind->rule->make_key(work, kind->missing[i], key);
		if (!key->failed)
			id_cache_put(kind->cache, key->bytes, key->length, kind->ids[kind->missing[i]]);
	}
}

/*
 * Compares partitions, to sort the stacks of one partition together. Equal strings of a batch have
 * equal pointers.
 */
static int
compare_partitions(const void *a, const void *b, void *stacks)
{
	uintptr_t left = (uintptr_t) ((const BatchStack *) stacks)[*(const uint32_t *) a].partition;
	uintptr_t right = (uintptr_t) ((const BatchStack *) stacks)[*(const uint32_t *) b].partition;

	return (left > right) - (left < right);
}

static bool
kinds_look_up(InternWork *work, int first_kind, int last_kind)
{
	for (int i = first_kind; i <= last_kind; i++)
		if (!kind_look_up(work, &work->kinds[i]))
			return false;
	return true;
}

bool
intern_look_up(InternWork *work, bool *all)
{
	*all = true;
	/*
	 * The key of a location contains ids of mappings and functions, so later kinds can only be
	 * looked up while nothing is missing.
	 */
	for (int i = 0; *all && i < KIND_COUNT; i++)
	{
		if (!kind_look_up(work, &work->kinds[i]))
			return false;
		*all = work->kinds[i].missing_count == 0;
	}
	return true;
}

DbOutcome
intern_names(InternWork *work, Trip *trip, Connection *connection, DbError *error)
{
	bool is_missing = false;

	if (!kinds_look_up(work, KIND_SERIES, KIND_FUNCTION))
		return intern_out_of_memory(error);
	for (int i = KIND_SERIES; i <= KIND_FUNCTION; i++)
	{
		is_missing = is_missing || work->kinds[i].missing_count > 0;
		trip_add_kind(trip, work, &work->kinds[i]);
	}
	/*
	 * Otherwise the statements that the caller collected wait for the next round, which saves a
	 * round trip.
	 */
	return is_missing ? trip_run(trip, connection, error) : DB_OK;
}

DbOutcome
intern_stacks(InternWork *work, Trip *trip, Connection *connection, DbError *error)
{
	InternKind *locations = &work->kinds[KIND_LOCATION];
	InternKind *stacks = &work->kinds[KIND_STACK];
	DbOutcome outcome = DB_OK;

	/* round 2: locations, whose keys contain ids of mappings and functions */
	if (!kind_look_up(work, locations))
		return intern_out_of_memory(error);
	trip_add_kind(trip, work, locations);
	if (locations->missing_count > 0)
		outcome = trip_run(trip, connection, error);
	if (outcome != DB_OK)
		return outcome;
	/* round 3: stacks, whose keys contain ids of locations */
	if (!kind_look_up(work, stacks))
		return intern_out_of_memory(error);
	qsort_r(stacks->missing, stacks->missing_count, sizeof(uint32_t), compare_partitions,
			(void *) (uintptr_t) work->stacks);
	trip_add_kind(trip, work, stacks);
	return stacks->missing_count > 0 ? trip_run(trip, connection, error) : DB_OK;
}

void
intern_remember(InternWork *work)
{
	for (int i = 0; i < KIND_COUNT; i++)
		kind_remember(work, &work->kinds[i]);
}

void
interner_init(Interner *interner, size_t cache_bytes)
{
	size_t share = cache_bytes / CACHE_SHARES;

	id_cache_init(&interner->series, share * SERIES_SHARES);
	id_cache_init(&interner->mappings, share * MAPPING_SHARES);
	id_cache_init(&interner->functions, share * FUNCTION_SHARES);
	id_cache_init(&interner->locations, share * LOCATION_SHARES);
	id_cache_init(&interner->stacks, share * STACK_SHARES);
	id_cache_init(&interner->notes, share * NOTE_SHARES);
	interner->key = (Buffer){ NULL };
	/* secret, so that nobody can construct two stacks with one key */
	interner->stack_seeds[0] = hash_seed();
	interner->stack_seeds[1] = hash_word(hash_seed(), 1);
}

void
interner_clear(Interner *interner)
{
	id_cache_clear(&interner->series);
	id_cache_clear(&interner->mappings);
	id_cache_clear(&interner->functions);
	id_cache_clear(&interner->locations);
	id_cache_clear(&interner->stacks);
	id_cache_clear(&interner->notes);
}

void
interner_fini(Interner *interner)
{
	interner_clear(interner);
	buffer_fini(&interner->key);
}
