/*
 * intern.c
 *		Interning in three rounds, since each needs ids of the one before:
 *
 *		1. series, mappings, functions
 *		2. locations, which name mappings and functions
 *		3. stacks, which name locations
 *
 * A round looks its items up in the cache and asks the database for the rest, all in one round
 * trip. Where the caches know everything, which is the rule after some intervals, nothing is sent
 * at all.
 */
#include "writer/intern.h"

#include <stdlib.h>

#include "base/hash.h"
#include "writer/intern_keys.h"
#include "writer/intern_params.h"
#include "writer/trip.h"

/* Budgets of the caches: room for about 65,000 stacks, 50,000 locations, 8,000 functions twice. */
#define SERIES_CACHE_BYTES	 ((size_t) 1 << 20)
#define MAPPING_CACHE_BYTES	 ((size_t) 1 << 19)
#define FUNCTION_CACHE_BYTES ((size_t) 4 << 20)
#define LOCATION_CACHE_BYTES ((size_t) 6 << 20)
#define STACK_CACHE_BYTES	 ((size_t) 8 << 20)

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
	[KIND_STACK] = { .sql = "SELECT profstore.intern_stacks($1, $2, $3)",
					 .failure = "could not intern stacks",
					 .result_type = WIRE_INT8,
					 .param_count = 3,
					 .param_types = { WIRE_TEXT, WIRE_INT4_ARRAY, WIRE_INT4_ARRAY },
					 .make_key = intern_stack_key,
					 .encode = intern_encode_stacks },
};

static DbOutcome
out_of_memory(const InternWork *work)
{
	db_error_set(work->error, NULL, "could not intern a batch", "Out of memory.", NULL);
	return DB_REFUSED;
}

static void
work_init(InternWork *work, Interner *interner, Session *session, const Batch *batch,
		  DbError *error)
{
	IdCache *const caches[KIND_COUNT] = {
		[KIND_SERIES] = &interner->series,		[KIND_MAPPING] = &interner->mappings,
		[KIND_FUNCTION] = &interner->functions, [KIND_LOCATION] = &interner->locations,
		[KIND_STACK] = &interner->stacks,
	};

	*work = (InternWork){ .session = session,
						  .error = error,
						  .stack_seeds = interner->stack_seeds,
						  .key = &interner->key };
	for (int i = 0; i < KIND_COUNT; i++)
		work->kinds[i] = (InternKind){ .rule = &rules[i], .cache = caches[i] };
	work->kinds[KIND_SERIES].count = batch_series(batch, &work->series);
	work->kinds[KIND_MAPPING].count = batch_mappings(batch, &work->mappings);
	work->kinds[KIND_FUNCTION].count = batch_functions(batch, &work->functions);
	work->kinds[KIND_LOCATION].count = batch_locations(batch, &work->locations);
	work->kinds[KIND_STACK].count = batch_stacks(batch, &work->stacks);
}

static void
work_fini(InternWork *work)
{
	for (int i = 0; i < KIND_COUNT; i++)
	{
		free(work->kinds[i].ids);
		free(work->kinds[i].missing);
	}
}

/* Ids from the cache; lists what it does not know. */
static bool
look_up(InternWork *work, InternKind *kind)
{
	Buffer *key = work->key;

	kind->ids = calloc(kind->count + 1, sizeof(kind->ids[0]));
	kind->missing = calloc(kind->count + 1, sizeof(kind->missing[0]));
	if (kind->ids == NULL || kind->missing == NULL)
		return false;
	for (uint32_t i = 0; i < kind->count; i++)
	{
		/* the empty stack is 0 everywhere */
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

/* Remembers what was interned, once it is committed. */
static void
remember(InternWork *work, const InternKind *kind)
{
	Buffer *key = work->key;

	for (uint32_t i = 0; i < kind->missing_count; i++)
	{
		buffer_reset(key);
		kind->rule->make_key(work, kind->missing[i], key);
		if (!key->failed)
			id_cache_put(kind->cache, key->bytes, key->length, kind->ids[kind->missing[i]]);
	}
}

/* Puts stacks of one partition side by side: a batch holds one pointer for equal strings. */
static int
compare_partitions(const void *a, const void *b, void *stacks)
{
	uintptr_t left = (uintptr_t) ((const BatchStack *) stacks)[*(const uint32_t *) a].partition;
	uintptr_t right = (uintptr_t) ((const BatchStack *) stacks)[*(const uint32_t *) b].partition;

	return (left > right) - (left < right);
}

/* One round trip for these kinds; the last round commits what was begun. */
static DbOutcome
intern_kinds(InternWork *work, int first_kind, int last_kind, bool last_round)
{
	size_t missing_count = 0;
	InternRound round;
	DbOutcome outcome = DB_OK;

	for (int i = first_kind; i <= last_kind; i++)
	{
		if (!look_up(work, &work->kinds[i]))
			return out_of_memory(work);
		missing_count += work->kinds[i].missing_count;
	}
	if (missing_count == 0 && !(last_round && work->begun))
		return DB_OK;
	if (work->kinds[KIND_STACK].missing_count > 0)
		qsort_r(work->kinds[KIND_STACK].missing, work->kinds[KIND_STACK].missing_count,
				sizeof(uint32_t), compare_partitions, (void *) (uintptr_t) work->stacks);

	if (!intern_round_init(&round, intern_request_count(work, first_kind, last_kind) + 3))
		outcome = out_of_memory(work);
	else
	{
		if (!work->begun)
			intern_round_add_begin(&round, work);
		for (int i = first_kind; i <= last_kind; i++)
			intern_round_add_kind(&round, work, &work->kinds[i]);
		if (last_round)
			intern_round_add_command(&round, "COMMIT", "could not commit interned ids");
		outcome = intern_round_run(&round, work);
		work->begun = true;
	}
	intern_round_fini(&round);
	return outcome;
}

void
interner_init(Interner *interner)
{
	id_cache_init(&interner->series, SERIES_CACHE_BYTES);
	id_cache_init(&interner->mappings, MAPPING_CACHE_BYTES);
	id_cache_init(&interner->functions, FUNCTION_CACHE_BYTES);
	id_cache_init(&interner->locations, LOCATION_CACHE_BYTES);
	id_cache_init(&interner->stacks, STACK_CACHE_BYTES);
	interner->key = (Buffer){ NULL };
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
}

void
interner_fini(Interner *interner)
{
	interner_clear(interner);
	buffer_fini(&interner->key);
}

void
batch_ids_fini(BatchIds *ids)
{
	free(ids->series);
	free(ids->stacks);
	*ids = (BatchIds){ NULL };
}

DbOutcome
intern_batch(Interner *interner, Session *session, const Batch *batch, BatchIds *ids,
			 DbError *error)
{
	InternWork work;
	DbOutcome outcome;

	work_init(&work, interner, session, batch, error);
	outcome = intern_kinds(&work, KIND_SERIES, KIND_FUNCTION, false);
	if (outcome == DB_OK)
		outcome = intern_kinds(&work, KIND_LOCATION, KIND_LOCATION, false);
	if (outcome == DB_OK)
		outcome = intern_kinds(&work, KIND_STACK, KIND_STACK, true);
	if (outcome == DB_OK)
	{
		for (int i = 0; i < KIND_COUNT; i++)
			remember(&work, &work.kinds[i]);
		ids->series = work.kinds[KIND_SERIES].ids;
		ids->stacks = work.kinds[KIND_STACK].ids;
		work.kinds[KIND_SERIES].ids = NULL;
		work.kinds[KIND_STACK].ids = NULL;
	}
	work_fini(&work);
	return outcome;
}
