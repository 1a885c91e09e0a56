/*
 * merge_stacks.c
 *		The aggregate merge_stacks(): sums per stack over any rows, or over stored sums.
 *
 * 1. The state is a hash table in the aggregate's memory (state_add_stack()).
 * 2. Sums that do not fit a share of work_mem are packed, as the bytes of a stack_sums. When the
 *    table is full again, both are merged (state_pack()). The table may be as large as the packed
 *    bytes, so that merges stay rare.
 * 3. Between processes a state is sent as such bytes, preceded by its carries (SentHead).
 * 4. The result is the same bytes, with sums clipped to int8 (encode_state()).
 */
#include "merge/merged.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/arrays.h"
#include "base/memory_peak.h"
#include "base/series_table.h"
#include "merge/carries.h"

PG_FUNCTION_INFO_V1(profstore_merge_stacks_add);
PG_FUNCTION_INFO_V1(profstore_merge_stacks_add_sums);
PG_FUNCTION_INFO_V1(profstore_merge_stacks_combine);
PG_FUNCTION_INFO_V1(profstore_merge_stacks_serialize);
PG_FUNCTION_INFO_V1(profstore_merge_stacks_deserialize);
PG_FUNCTION_INFO_V1(profstore_merge_stacks_final);

/*
 * Share of the memory for the table. While the table grows, the old and the new one exist, and when
 * it is merged, a list exists beside it.
 */
#define TABLE_SHARE(bytes) ((bytes) / 3)

typedef struct State
{
	MemoryContext context;
	pfs_series_table_hash *table; /* sums by stack; the series in the keys is 0 */
	uint64 max_members;			  /* limit of the table's members */
	struct varlena *packed;		  /* sums to which those of the table are added; NULL: none */
	PfsCarries carries;			  /* carries of all sums, by stack; the series is 0 */
} State;

/*
 * Head of a state that is sent to another process. The carries follow, then the bytes of a
 * stack_sums.
 */
typedef struct SentHead
{
	int32 length; /* length word of the varlena */
	uint32 carry_count;
} SentHead;

typedef struct SentCarry
{
	int64 stack_id;
	int64 carry;
} SentCarry;

/* Stands for all ids below 0, which are not stacks. No stack has this id. */
#define NO_STACK_ID PG_INT64_MAX

/*
 * Starts an empty table. It holds at most half as many members as fit, because a hash table whose
 * hashes collide often may grow when it is half full.
 */
static void
state_begin_table(State *state)
{
	Size bytes = TABLE_SHARE(pfs_hash_memory_bytes());

	/*
	 * A table at least as large as the packed bytes is merged with them ever less often, so each
	 * sum is packed a few times only.
	 */
	if (state->packed != NULL)
		bytes = Max(bytes, VARSIZE(state->packed));
	state->max_members = Max(bytes / sizeof(PfsSeriesEntry) / 2, PFS_SERIES_TABLE_INITIAL);
	state->table = pfs_series_table_create(state->context, PFS_SERIES_TABLE_INITIAL, NULL);
}

static State *
state_create(MemoryContext context)
{
	State *state = MemoryContextAllocZero(context, sizeof(State));

	state->context = state->carries.context = context;
	state_begin_table(state);
	return state;
}

/* Returns the state in the first argument, or a new one. */
static State *
get_state(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	/* The state must live as long as the aggregate's group. */
	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "merge_stacks called outside of an aggregate");
	return PG_ARGISNULL(0) ? state_create(context) : (State *) PG_GETARG_POINTER(0);
}

static PfsStackSums
list_table(pfs_series_table_hash *table)
{
	PfsStackSums sums = { 0, PFS_ARRAY(PfsStackSum, table->members) };
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *entry;

	pfs_series_table_start_iterate(table, &iterator);
	while ((entry = pfs_series_table_iterate(table, &iterator)) != NULL)
		sums.sums[sums.count++] = (PfsStackSum){ entry->key.id, { entry->value, 0 } };
	pfs_stack_sums_sort(&sums);
	return sums;
}

static PfsMergedReader
read_packed(const struct varlena *packed)
{
	return pfs_merged_read(VARDATA(packed), VARSIZE(packed) - VARHDRSZ, ERRCODE_DATA_CORRUPTED);
}

/*
 * Returns the sum of a stack as it is written: clipped to int8 in a result, otherwise modulo 2^64,
 * with a carry in the state.
 */
static int64
state_sum(State *state, int64 stack_id, int64 packed, int64 added, bool is_result)
{
	if (is_result)
		/* The carry belongs to packed and added together, so it counts once. */
		return pfs_clip(pfs_with_carry(&state->carries, 0, stack_id, packed) + added);
	pfs_add_carrying(&packed, added, &state->carries, 0, stack_id);
	return packed;
}

static void
put_sum(PfsMergedWriter *writer, State *state, const PfsStackSum *added, int64 packed,
		bool is_result)
{
	pfs_merged_put(writer, added->stack_id,
				   state_sum(state, added->stack_id, packed, added->sides.value, is_result));
}

/*
 * Adds the stacks that have carries to the table, because a sum that is 0 modulo 2^64 may be
 * missing from the table although it has a carry.
 */
static void
list_carries(State *state)
{
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *entry;
	bool found;

	/* No sum has exceeded int8. */
	if (state->carries.table == NULL)
		return;
	pfs_series_table_start_iterate(state->carries.table, &iterator);
	while ((entry = pfs_series_table_iterate(state->carries.table, &iterator)) != NULL)
		pfs_series_table_get(state->table, 0, entry->key.id, &found);
}

/*
 * Encodes all sums. A result does not change the state, because more rows may follow; otherwise the
 * table's carries are moved to the state, and the caller empties the table.
 */
static struct varlena *
encode_state(State *state, bool is_result)
{
	PfsStackSums sums;
	PfsMergedWriter writer;
	uint32 next = 0;

	/* Before the table is listed: the call adds stacks to it. */
	list_carries(state);
	sums = list_table(state->table);
	pfs_merged_begin(&writer);
	if (state->packed != NULL)
	{
		PfsMergedReader reader = read_packed(state->packed);
		PfsStackSum sum;

		while (pfs_merged_next(&reader, &sum))
		{
			/*
			 * Both lists ascend, so this is a merge: stacks before the packed one, the packed one,
			 * and in the end the rest.
			 */
			for (; next < sums.count && sums.sums[next].stack_id < sum.stack_id; next++)
				put_sum(&writer, state, &sums.sums[next], 0, is_result);
			if (next < sums.count && sums.sums[next].stack_id == sum.stack_id)
				put_sum(&writer, state, &sums.sums[next++], sum.sides.value, is_result);
			else
				put_sum(&writer, state, &(PfsStackSum){ sum.stack_id, { 0, 0 } }, sum.sides.value,
						is_result);
		}
	}
	for (; next < sums.count; next++)
		put_sum(&writer, state, &sums.sums[next], 0, is_result);
	/* Table, list and both packed values exist at this moment. */
	pfs_memory_look();
	pfree(sums.sums);
	return pfs_merged_finish(&writer);
}

/* Merges the table with the packed sums into new packed sums, and begins an empty table. */
static pg_noinline void
state_pack(State *state)
{
	MemoryContext caller = MemoryContextSwitchTo(state->context);
	struct varlena *packed;

	CHECK_FOR_INTERRUPTS();
	/*
	 * The new bytes are complete before the old ones are freed: an error leaves the state as it
	 * was.
	 */
	packed = encode_state(state, false);
	if (state->packed != NULL)
		pfree(state->packed);
	/* The buffer in which the bytes were built may be twice as large. */
	state->packed = repalloc(packed, VARSIZE(packed));
	pfs_series_table_destroy(state->table);
	state_begin_table(state);
	MemoryContextSwitchTo(caller);
}

static void
state_add_stack(State *state, int64 stack_id, int64 value)
{
	PfsSeriesEntry *entry;
	bool found;

	if (state->table->members >= state->max_members)
		state_pack(state);
	entry = pfs_series_table_get(state->table, 0, stack_id, &found);
	pfs_add_carrying(&entry->value, value, &state->carries, 0, stack_id);
}

/*
 * Adds the bytes of a stack_sums. If the state has no packed bytes yet, a long value becomes its
 * packed bytes without being decoded.
 */
static void
add_packed(State *state, const struct varlena *packed)
{
	PfsMergedReader reader = read_packed(packed);
	PfsStackSum sum;

	/* The bytes are checked when they are read for the next merge. */
	if (state->packed == NULL && reader.count > PFS_SERIES_TABLE_INITIAL)
	{
		state->packed = MemoryContextAllocHuge(state->context, VARSIZE(packed));
		memcpy(state->packed, packed, VARSIZE(packed));
		return;
	}
	while (pfs_merged_next(&reader, &sum))
		state_add_stack(state, sum.stack_id, sum.sides.value);
}

/*
 * merge_stacks_add(state, stack_id, value): rows with a NULL count as none.
 */
PGDLLEXPORT Datum
profstore_merge_stacks_add(PG_FUNCTION_ARGS)
{
	State *state = get_state(fcinfo);

	if (!PG_ARGISNULL(1) && !PG_ARGISNULL(2))
	{
		int64 stack_id = PG_GETARG_INT64(1);

		/*
		 * A negative id marks a scrape in tiers. It cannot be packed, because steps between ids are
		 * unsigned.
		 */
		state_add_stack(state, stack_id < 0 ? NO_STACK_ID : stack_id, PG_GETARG_INT64(2));
	}
	PG_RETURN_POINTER(state);
}

/*
 * merge_stacks_add_sums(state, sums)
 */
PGDLLEXPORT Datum
profstore_merge_stacks_add_sums(PG_FUNCTION_ARGS)
{
	State *state = get_state(fcinfo);

	if (!PG_ARGISNULL(1))
	{
		struct varlena *sums = PG_GETARG_VARLENA_P(1);

		add_packed(state, sums);
		PG_FREE_IF_COPY(sums, 1);
	}
	PG_RETURN_POINTER(state);
}

static void
add_carries(State *state, const State *other)
{
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *entry;

	if (other->carries.table == NULL)
		return;
	pfs_series_table_start_iterate(other->carries.table, &iterator);
	while ((entry = pfs_series_table_iterate(other->carries.table, &iterator)) != NULL)
		pfs_carry(&state->carries, 0, entry->key.id, entry->value);
}

PGDLLEXPORT Datum
profstore_merge_stacks_combine(PG_FUNCTION_ARGS)
{
	State *state = get_state(fcinfo);

	if (!PG_ARGISNULL(1))
	{
		State *other = (State *) PG_GETARG_POINTER(1);
		pfs_series_table_iterator iterator;
		PfsSeriesEntry *entry;
		/* If no stack is in both tables, at least this many entries are needed. */
		uint64 members = (uint64) state->table->members + other->table->members;

		if (other->packed != NULL)
			add_packed(state, other->packed);
		/*
		 * Entries come in the order of their hashes, and a table that grows meanwhile would get
		 * long probes, so grow it first.
		 */
		if (members * 2 > state->table->size && members <= state->max_members)
			pfs_series_table_grow(state->table, members * 2);
		pfs_series_table_start_iterate(other->table, &iterator);
		while ((entry = pfs_series_table_iterate(other->table, &iterator)) != NULL)
			state_add_stack(state, entry->key.id, entry->value);
		add_carries(state, other);
	}
	PG_RETURN_POINTER(state);
}

PGDLLEXPORT Datum
profstore_merge_stacks_serialize(PG_FUNCTION_ARGS)
{
	State *state = (State *) PG_GETARG_POINTER(0);
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *entry;
	SentHead head = { 0, 0 };
	StringInfoData bytes;

	/* A packed state needs no table in the message, only its bytes. */
	state_pack(state);
	initStringInfo(&bytes);
	if (state->carries.table != NULL)
		head.carry_count = state->carries.table->members;
	appendBinaryStringInfo(&bytes, (const char *) &head, sizeof(head));
	if (head.carry_count > 0)
	{
		pfs_series_table_start_iterate(state->carries.table, &iterator);
		while ((entry = pfs_series_table_iterate(state->carries.table, &iterator)) != NULL)
			appendBinaryStringInfo(&bytes,
								   (const char *) &(SentCarry){ entry->key.id, entry->value },
								   sizeof(SentCarry));
	}
	appendBinaryStringInfo(&bytes, VARDATA(state->packed), (int) VARSIZE(state->packed) - VARHDRSZ);
	/* The first field of the head is the length word, which is known only now. */
	SET_VARSIZE(bytes.data, bytes.len);
	PG_RETURN_POINTER(bytes.data);
}

PGDLLEXPORT Datum
profstore_merge_stacks_deserialize(PG_FUNCTION_ARGS)
{
	State *state = state_create(CurrentMemoryContext);
	struct varlena *bytes = PG_DETOAST_DATUM(PG_GETARG_DATUM(0));
	const char *at = (const char *) bytes + sizeof(SentHead);
	Size length;
	SentHead head;

	/* The carries are not aligned within the varlena, so they are copied. */
	memcpy(&head, bytes, sizeof(head));
	for (uint32 i = 0; i < head.carry_count; i++, at += sizeof(SentCarry))
	{
		SentCarry carry;

		memcpy(&carry, at, sizeof(carry));
		pfs_carry(&state->carries, 0, carry.stack_id, carry.carry);
	}
	length = VARSIZE(bytes) - (Size) (at - (const char *) bytes) + VARHDRSZ;
	state->packed = palloc_extended(length, MCXT_ALLOC_HUGE);
	SET_VARSIZE(state->packed, length);
	memcpy(VARDATA(state->packed), at, length - VARHDRSZ);
	PG_RETURN_POINTER(state);
}

PGDLLEXPORT Datum
profstore_merge_stacks_final(PG_FUNCTION_ARGS)
{
	static const PfsStackSums none = { 0, NULL };

	/* An aggregate over no rows has no state, and its result is an empty value. */
	if (PG_ARGISNULL(0))
		PG_RETURN_DATUM(pfs_merged_encode(&none));
	PG_RETURN_POINTER(encode_state((State *) PG_GETARG_POINTER(0), true));
}
