/*
 * observers.c
 *		Lists running queries, and spans of commands whose rows became one segment. A query that
 *		ends by an error in a subtransaction stays listed until the transaction ends. That costs a
 *		segment or two, but never a wrong row.
 */
#include "store/write/observers.h"

#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/arrays.h"

typedef struct Observer
{
	const QueryDesc *query; /* used for comparison only, never dereferenced */
	CommandId command_id;	/* the query sees rows of commands before this one */
} Observer;

/* Commands whose rows were written together. A span stays listed even if it is rolled back. */
typedef struct Span
{
	int64 storage_id;
	CommandId min;
	CommandId max;
} Span;

static Span *spans = NULL; /* list of spans, in TopTransactionContext */
static uint32 span_count = 0;
static uint32 span_capacity = 0;

static Observer *observers = NULL;
static uint32 observer_count = 0;
static uint32 observer_capacity = 0;

void
pfs_observers_add(const QueryDesc *query)
{
	/* Utility statements have no snapshot and read no rows. */
	if (query->snapshot == NULL)
		return;
	PFS_RESERVE_IN(TopMemoryContext, observers, observer_capacity, observer_count + 1);
	observers[observer_count].query = query;
	observers[observer_count].command_id = query->snapshot->curcid;
	observer_count++;
}

void
pfs_observers_remove(const QueryDesc *query)
{
	for (uint32 i = observer_count; i > 0; i--)
		if (observers[i - 1].query == query)
		{
			/*
			 * Order does not matter. The search begins at the end, because the latest query usually
			 * ends first.
			 */
			observers[i - 1] = observers[--observer_count];
			return;
		}
}

void
pfs_observers_clear(void)
{
	observer_count = 0;
	/*
	 * TopTransactionContext frees the spans; the observers' array is kept for the next transaction.
	 */
	spans = NULL;
	span_count = span_capacity = 0;
}

void
pfs_observers_note_merged(int64 storage_id, CommandId min, CommandId max)
{
	PFS_RESERVE_IN(TopTransactionContext, spans, span_capacity, span_count + 1);
	spans[span_count++] = (Span){ storage_id, min, max };
}

void
pfs_observers_check(Relation relation, int64 storage_id, Snapshot snapshot)
{
	/* Other snapshots see rows whatever their command. */
	if (snapshot->snapshot_type != SNAPSHOT_MVCC)
		return;
	for (uint32 i = 0; i < span_count; i++)
		/* The snapshot sees commands before curcid: those from min on, but not those up to max. */
		if (spans[i].storage_id == storage_id && spans[i].min < snapshot->curcid &&
			snapshot->curcid <= spans[i].max)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot distinguish rows of table \"%s\" that this transaction has "
							"inserted",
							RelationGetRelationName(relation)),
					 errdetail("They were written together during the evaluation of an expression "
							   "that sees only some of them."),
					 errhint("Use separate statements to insert and to read.")));
}

bool
pfs_observers_between(CommandId min, CommandId max)
{
	for (uint32 i = 0; i < observer_count; i++)
		/* This query sees the rows of min and not those of max. */
		if (min < observers[i].command_id && observers[i].command_id <= max)
			return true;
	return false;
}
