/*
 * row_sorter.c
 *		Sorts rows of numbers with PostgreSQL's own sort.
 */
#include "base/row_sorter.h"

#include <limits.h>

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "executor/tuptable.h"
#include "utils/guc.h"
#include "utils/tuplesort.h"

/* The minimum of work_mem. */
#define MIN_SORTER_KB 64

struct PfsRowSorter
{
	int column_count;
	Tuplesortstate *state;
	TupleTableSlot *in;
	TupleTableSlot *out;
};

int
pfs_row_sorter_kb(Size bytes)
{
	return (int) Max(Min(bytes / 1024, MAX_KILOBYTES), MIN_SORTER_KB);
}

PfsRowSorter *
pfs_row_sorter_begin(int column_count, int key_count, int memory_kb)
{
	PfsRowSorter *sorter = palloc(sizeof(PfsRowSorter));
	TupleDesc descriptor = CreateTemplateTupleDesc(column_count);
	AttrNumber columns[PFS_SORTER_MAX_COLUMNS];
	Oid operators[PFS_SORTER_MAX_COLUMNS];
	Oid collations[PFS_SORTER_MAX_COLUMNS] = { InvalidOid };
	bool nulls_first[PFS_SORTER_MAX_COLUMNS] = { false };

	Assert(column_count <= PFS_SORTER_MAX_COLUMNS);
	for (int i = 0; i < column_count; i++)
	{
		TupleDescInitEntry(descriptor, (AttrNumber) (i + 1), NULL, INT8OID, -1, 0);
		columns[i] = (AttrNumber) (i + 1);
		operators[i] = Int8LessOperator;
	}
	sorter->column_count = column_count;
	sorter->state = tuplesort_begin_heap(descriptor, key_count, columns, operators, collations,
										 nulls_first, memory_kb, NULL, false);
	sorter->in = MakeSingleTupleTableSlot(descriptor, &TTSOpsVirtual);
	sorter->out = MakeSingleTupleTableSlot(descriptor, &TTSOpsMinimalTuple);
	memset(sorter->in->tts_isnull, false, (Size) column_count);
	return sorter;
}

void
pfs_row_sorter_put(PfsRowSorter *sorter, const int64 *values)
{
	ExecClearTuple(sorter->in);
	for (int i = 0; i < sorter->column_count; i++)
		sorter->in->tts_values[i] = Int64GetDatum(values[i]);
	ExecStoreVirtualTuple(sorter->in);
	tuplesort_puttupleslot(sorter->state, sorter->in);
}

void
pfs_row_sorter_sort(PfsRowSorter *sorter)
{
	tuplesort_performsort(sorter->state);
}

bool
pfs_row_sorter_next(PfsRowSorter *sorter, int64 *values)
{
	if (!tuplesort_gettupleslot(sorter->state, true, false, sorter->out, NULL))
		return false;
	slot_getallattrs(sorter->out);
	for (int i = 0; i < sorter->column_count; i++)
		values[i] = DatumGetInt64(sorter->out->tts_values[i]);
	return true;
}

void
pfs_row_sorter_end(PfsRowSorter *sorter)
{
	ExecDropSingleTupleTableSlot(sorter->in);
	ExecDropSingleTupleTableSlot(sorter->out);
	tuplesort_end(sorter->state);
	pfree(sorter);
}
