/*
 * known_locations.c
 *		Stored locations by content, for intern_locations.
 *
 * Each location is one probe of the index on content. A location that comes with an address and without lines is any
 * stored one at that address, a symbolized one where there is one. Else the lines decide; of equal locations the smallest
 * id stands for all. Condemned locations are as good as gone.
 */
#include "profstore.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "dictionary/arrays.h"
#include "dictionary/cache.h"
#include "dictionary/rows.h"

PG_FUNCTION_INFO_V1(profstore_known_locations);

#define CALLER "intern_locations"

/* Columns of profstore.locations, .functions and .mappings. */
#define LOCATION_ID			  1
#define LOCATION_FUNCTION_IDS 4
#define LOCATION_LINES		  5
#define LOCATION_CONDEMNED	  7
#define FUNCTION_CONDEMNED	  6
#define MAPPING_CONDEMNED	  4

/* A location as it is given; its lines point into the arguments. */
typedef struct Wanted
{
	int32 mapping_id;
	int64 address;
	uint32 line_count;
	const int32 *function_ids;
	const int32 *lines;
} Wanted;

typedef struct Search
{
	IndexScanDesc scan;
	TupleTableSlot *slot;
	FmgrInfo hash; /* of an array of function ids, as in the index */
} Search;

/* The elements, of an array without nulls. */
static const int32 *
elements(const ArrayType *array)
{
	return (const int32 *) ARR_DATA_PTR(array);
}

/* Whether a stored array holds these elements; one dimension and no nulls, as intern_locations stores them. */
static bool
array_is(Datum datum, const int32 *ids, uint32 count)
{
	ArrayType *array = DatumGetArrayTypeP(datum);
	uint32 stored_count = ARR_NDIM(array) == 0 ? 0 : (uint32) ARR_DIMS(array)[0];
	bool is_equal = ARR_NDIM(array) <= 1 && !ARR_HASNULL(array) && stored_count == count &&
					memcmp(ARR_DATA_PTR(array), ids, count * sizeof(int32)) == 0;

	if ((Pointer) array != DatumGetPointer(datum))
		pfree(array);
	return is_equal;
}

static Datum
hash_function_ids(Search *search, const Wanted *wanted)
{
	ArrayType *array = pfs_array_make(wanted->line_count, INT4OID, sizeof(int32));
	Datum hash;

	memcpy(ARR_DATA_PTR(array), wanted->function_ids, wanted->line_count * sizeof(int32));
	hash = FunctionCall2(&search->hash, PointerGetDatum(array), Int64GetDatum(0));
	pfree(array);
	return hash;
}

/* Id of the stored location that stands for this one; 0 where there is none. */
static int32
find_location(Search *search, const Wanted *wanted)
{
	bool is_any = wanted->address != 0 && wanted->line_count == 0;
	bool best_is_symbolized = false;
	int32 best = 0;
	ScanKeyData keys[3];

	ScanKeyInit(&keys[0], 1, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(wanted->mapping_id));
	ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(wanted->address));
	/* where any will do the third lets all pass */
	ScanKeyInit(&keys[2], 3, is_any ? BTGreaterEqualStrategyNumber : BTEqualStrategyNumber,
				is_any ? F_INT8GE : F_INT8EQ,
				is_any ? Int64GetDatum(PG_INT64_MIN) : hash_function_ids(search, wanted));
	index_rescan(search->scan, keys, lengthof(keys), NULL, 0);
	while (index_getnext_slot(search->scan, ForwardScanDirection, search->slot))
	{
		Datum *values = search->slot->tts_values;
		bool is_symbolized;
		int32 id;

		slot_getallattrs(search->slot);
		if (DatumGetBool(values[LOCATION_CONDEMNED - 1]))
			continue;
		if (!is_any && !(array_is(values[LOCATION_FUNCTION_IDS - 1], wanted->function_ids,
								  wanted->line_count) &&
						 array_is(values[LOCATION_LINES - 1], wanted->lines, wanted->line_count)))
			continue;
		id = DatumGetInt32(values[LOCATION_ID - 1]);
		is_symbolized = is_any && !array_is(values[LOCATION_LINES - 1], NULL, 0);
		if (best == 0 || is_symbolized > best_is_symbolized ||
			(is_symbolized == best_is_symbolized && id < best))
		{
			best = id;
			best_is_symbolized = is_symbolized;
		}
	}
	return best;
}

/* Fills in the ids of all that are given; returns how many have none. */
static uint32
find_all(const Wanted *wanted, uint32 count, int32 *ids)
{
	Relation table = pfs_table_open("locations", AccessShareLock);
	Relation index = index_open(pfs_relation_oid("locations_content"), AccessShareLock);
	Search search = { .slot = table_slot_create(table, NULL) };
	uint32 missing = 0;

	fmgr_info(F_HASH_ARRAY_EXTENDED, &search.hash);
	search.scan = pfs_index_beginscan(table, index, GetActiveSnapshot(), 3);
	for (uint32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		ids[i] = find_location(&search, &wanted[i]);
		missing += ids[i] == 0;
	}
	index_endscan(search.scan);
	ExecDropSingleTupleTableSlot(search.slot);
	index_close(index, AccessShareLock);
	table_close(table, NoLock);
	return missing;
}

/* Ids that a location to be stored names, and those of them that are stored. */
typedef struct References
{
	uint32 count;
	int32 *ids;
	int condemned_column;
	uint32 stored_count;
	int32 *stored;
} References;

static void
note_stored(TupleTableSlot *slot, void *argument)
{
	References *references = argument;

	if (!DatumGetBool(slot->tts_values[references->condemned_column - 1]))
		references->stored[references->stored_count++] = DatumGetInt32(slot->tts_values[0]);
}

/* Raises FOREIGN_KEY_VIOLATION, which names the first id that is not stored. */
static void
require(const char *kind, const char *table, References *references)
{
	Size bytes = mul_size(Max(references->count, 1), sizeof(int32));
	int32 *distinct = palloc_extended(bytes, MCXT_ALLOC_HUGE);
	uint32 distinct_count;

	memcpy(distinct, references->ids, references->count * sizeof(int32));
	distinct_count = pfs_ids_sort(distinct, references->count);
	references->stored = palloc_extended(bytes, MCXT_ALLOC_HUGE);
	pfs_rows_read(table, distinct, distinct_count, note_stored, references);
	references->stored_count = pfs_ids_sort(references->stored, references->stored_count);
	for (uint32 i = 0; i < references->count; i++)
		if (!pfs_ids_have(references->stored, references->stored_count, references->ids[i]))
			ereport(ERROR,
					(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
					 errmsg("%s with id %d does not exist", kind, references->ids[i]),
					 errhint("Intern it first, in this database and under its present epoch.")));
	pfree(distinct);
	pfree(references->stored);
}

/* What locations without an id name must be stored. */
static void
require_named(const Wanted *wanted, uint32 count, const int32 *ids, uint32 line_count)
{
	References mappings = { .condemned_column = MAPPING_CONDEMNED };
	References functions = { .condemned_column = FUNCTION_CONDEMNED };

	mappings.ids = palloc_extended(mul_size(Max(count, 1), sizeof(int32)), MCXT_ALLOC_HUGE);
	functions.ids = palloc_extended(mul_size(Max(line_count, 1), sizeof(int32)), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < count; i++)
	{
		if (ids[i] != 0)
			continue;
		if (wanted[i].mapping_id != 0)
			mappings.ids[mappings.count++] = wanted[i].mapping_id;
		memcpy(functions.ids + functions.count, wanted[i].function_ids,
			   wanted[i].line_count * sizeof(int32));
		functions.count += wanted[i].line_count;
	}
	require("mapping", "mappings", &mappings);
	require("function", "functions", &functions);
	pfree(mappings.ids);
	pfree(functions.ids);
}

/*
 * known_locations(mappings int4[], addresses int8[], line_counts int4[], function_ids int4[], lines int4[]) -> int4[]
 *
 * An id for each location, 0 for one that is to be stored. Expects arrays that begin_interning and check_counts let pass.
 */
PGDLLEXPORT Datum
profstore_known_locations(PG_FUNCTION_ARGS)
{
	ArrayType *mappings = PG_GETARG_ARRAYTYPE_P(0);
	ArrayType *addresses = PG_GETARG_ARRAYTYPE_P(1);
	ArrayType *line_counts = PG_GETARG_ARRAYTYPE_P(2);
	ArrayType *function_ids = PG_GETARG_ARRAYTYPE_P(3);
	ArrayType *lines = PG_GETARG_ARRAYTYPE_P(4);
	uint32 count = pfs_array_check(CALLER, mappings);
	uint32 line_count = pfs_array_check(CALLER, function_ids);
	ArrayType *result;
	Wanted *wanted;
	uint32 line = 0;

	if (pfs_array_check(CALLER, addresses) != count ||
		pfs_array_check(CALLER, line_counts) != count ||
		pfs_array_check(CALLER, lines) != line_count)
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
						errmsg("%s: arrays must be of one length", CALLER)));
	pfs_counts_check(CALLER, elements(line_counts), count, line_count);
	result = pfs_array_make(count, INT4OID, sizeof(int32));
	if (count == 0)
		PG_RETURN_ARRAYTYPE_P(result);
	wanted = palloc_extended(mul_size(count, sizeof(Wanted)), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < count; i++)
	{
		wanted[i] = (Wanted){ elements(mappings)[i], ((const int64 *) ARR_DATA_PTR(addresses))[i],
							  (uint32) elements(line_counts)[i], elements(function_ids) + line,
							  elements(lines) + line };
		line += wanted[i].line_count;
	}
	if (find_all(wanted, count, (int32 *) ARR_DATA_PTR(result)) > 0)
		require_named(wanted, count, elements(result), line_count);
	PG_RETURN_ARRAYTYPE_P(result);
}
