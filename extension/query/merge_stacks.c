/*
 * merge_stacks.c
 *		The aggregate merge_stacks: sums per stack over any rows, or over sums that were kept.
 *
 * The state is a hash table in the aggregate's memory; between processes it travels as the bytes of a stack_sums.
 */
#include "query/merged.h"

#include "query/allocate.h"
#include "query/series_table.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(profstore_merge_stacks_add);
PG_FUNCTION_INFO_V1(profstore_merge_stacks_add_sums);
PG_FUNCTION_INFO_V1(profstore_merge_stacks_combine);
PG_FUNCTION_INFO_V1(profstore_merge_stacks_serialize);
PG_FUNCTION_INFO_V1(profstore_merge_stacks_deserialize);
PG_FUNCTION_INFO_V1(profstore_merge_stacks_final);

/* The state of the first argument, made where there is none. */
static pfs_series_table_hash *
get_state(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "merge_stacks called outside of an aggregate");
	return PG_ARGISNULL(0) ? pfs_series_table_create(context, PFS_SERIES_TABLE_INITIAL, NULL)
						   : (pfs_series_table_hash *) PG_GETARG_POINTER(0);
}

static void
add_stack(pfs_series_table_hash *state, int64 stack_id, int64 value)
{
	bool found;
	PfsSeriesEntry *entry = pfs_series_table_get(state, 0, stack_id, &found);

	entry->value = pfs_add_values(entry->value, value);
}

static void
add_sums(pfs_series_table_hash *state, const PfsStackSums *sums)
{
	for (uint32 i = 0; i < sums->count; i++)
		add_stack(state, sums->sums[i].stack_id, sums->sums[i].sides.value);
}

static int
compare_stack_ids(const void *a, const void *b)
{
	int64 left = ((const PfsStackSum *) a)->stack_id;
	int64 right = ((const PfsStackSum *) b)->stack_id;

	return (left > right) - (left < right);
}

static Datum
encode_state(pfs_series_table_hash *state)
{
	PfsStackSums sums = { 0, NULL };
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *entry;

	if (state == NULL)
		return pfs_merged_encode(&sums);
	sums.sums = PFS_ARRAY(PfsStackSum, state->members);
	pfs_series_table_start_iterate(state, &iterator);
	while ((entry = pfs_series_table_iterate(state, &iterator)) != NULL)
		sums.sums[sums.count++] = (PfsStackSum){ entry->key.id, { entry->value, 0 } };
	qsort(sums.sums, sums.count, sizeof(PfsStackSum), compare_stack_ids);
	return pfs_merged_encode(&sums);
}

/*
 * merge_stacks_add(state, stack_id, value): rows with a NULL count as none.
 */
PGDLLEXPORT Datum
profstore_merge_stacks_add(PG_FUNCTION_ARGS)
{
	pfs_series_table_hash *state = get_state(fcinfo);

	if (!PG_ARGISNULL(1) && !PG_ARGISNULL(2))
	{
		if (PG_GETARG_INT64(1) < 0)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("stack id " INT64_FORMAT " is negative", PG_GETARG_INT64(1))));
		add_stack(state, PG_GETARG_INT64(1), PG_GETARG_INT64(2));
	}
	PG_RETURN_POINTER(state);
}

/*
 * merge_stacks_add_sums(state, sums)
 */
PGDLLEXPORT Datum
profstore_merge_stacks_add_sums(PG_FUNCTION_ARGS)
{
	pfs_series_table_hash *state = get_state(fcinfo);
	PfsStackSums sums = pfs_merged_get(fcinfo, 1);

	add_sums(state, &sums);
	PG_RETURN_POINTER(state);
}

PGDLLEXPORT Datum
profstore_merge_stacks_combine(PG_FUNCTION_ARGS)
{
	pfs_series_table_hash *state = get_state(fcinfo);

	if (!PG_ARGISNULL(1))
	{
		pfs_series_table_hash *other = (pfs_series_table_hash *) PG_GETARG_POINTER(1);
		pfs_series_table_iterator iterator;
		PfsSeriesEntry *entry;
		uint64 members = (uint64) state->members + other->members;

		/* entries come in the order of their hashes, which a table that grows meanwhile takes badly */
		if (members * 2 > state->size)
			pfs_series_table_grow(state, members * 2);
		pfs_series_table_start_iterate(other, &iterator);
		while ((entry = pfs_series_table_iterate(other, &iterator)) != NULL)
			add_stack(state, entry->key.id, entry->value);
	}
	PG_RETURN_POINTER(state);
}

PGDLLEXPORT Datum
profstore_merge_stacks_serialize(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(encode_state((pfs_series_table_hash *) PG_GETARG_POINTER(0)));
}

PGDLLEXPORT Datum
profstore_merge_stacks_deserialize(PG_FUNCTION_ARGS)
{
	PfsStackSums sums = pfs_merged_get(fcinfo, 0);
	pfs_series_table_hash *state =
		pfs_series_table_create(CurrentMemoryContext, Max(sums.count, 1), NULL);

	add_sums(state, &sums);
	PG_RETURN_POINTER(state);
}

PGDLLEXPORT Datum
profstore_merge_stacks_final(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(
		encode_state(PG_ARGISNULL(0) ? NULL : (pfs_series_table_hash *) PG_GETARG_POINTER(0)));
}
