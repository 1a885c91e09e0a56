/*
 * intern_locations.c
 *		intern_locations: locations in, ids out.
 *
 * Each distinct location is one probe of the index on content; what is not found is stored. A
 * location that comes with a mapping and an address and without lines is any stored one there, a
 * symbolized one where there is one. Else the lines decide; of equal locations the smallest id
 * stands for all. Condemned locations are as good as gone.
 *
 * Mappings must be the calling role's own, so that none plants symbols at an address of another's.
 * An address without a mapping means nothing outside its process: there, only equal lines make the
 * same location.
 */
#include "profstore.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "base/arrays.h"
#include "dictionary/cache/rows.h"
#include "dictionary/intern/arrays.h"
#include "dictionary/intern/calling_role.h"
#include "dictionary/intern/content_rows.h"

PG_FUNCTION_INFO_V1(profstore_intern_locations);

#define CALLER "intern_locations"

/* Columns of profstore.locations. */
enum
{
	COL_ID,
	COL_MAPPING,
	COL_ADDRESS,
	COL_FUNCTION_IDS,
	COL_LINES,
	COL_SYMBOLIZATION,
	COL_CONDEMNED
};

/* Columns of profstore.functions and .mappings. */
#define FUNCTION_CONDEMNED 6
#define MAPPING_CONDEMNED  4
#define MAPPING_ROLE	   5

/* Arguments. */
enum
{
	ARG_MAPPINGS,
	ARG_ADDRESSES,
	ARG_LINE_COUNTS,
	ARG_FUNCTION_IDS,
	ARG_LINES,
	ARG_COUNT
};

/* A location as it is given; its lines point into the arguments. */
typedef struct Wanted
{
	PfsContentItem item;
	int32 mapping_id;
	int64 address;
	uint32 line_count;
	const int32 *function_ids;
	const int32 *lines;
} Wanted;

static bool
is_same(const PfsContentItem *a, const PfsContentItem *b)
{
	const Wanted *left = (const Wanted *) a;
	const Wanted *right = (const Wanted *) b;
	Size bytes = left->line_count * sizeof(int32);

	return left->mapping_id == right->mapping_id && left->address == right->address &&
		   left->line_count == right->line_count &&
		   memcmp(left->function_ids, right->function_ids, bytes) == 0 &&
		   memcmp(left->lines, right->lines, bytes) == 0;
}

/*
 * Whether a stored array holds these elements; one dimension and no nulls, as intern_locations
 * stores them.
 */
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

static ArrayType *
make_array(const int32 *elements, uint32 count)
{
	ArrayType *array = pfs_array_make(count, INT4OID, sizeof(int32));

	memcpy(ARR_DATA_PTR(array), elements, count * sizeof(int32));
	return array;
}

/* As in the index. */
static Datum
hash_function_ids(FmgrInfo *hash_array, const Wanted *wanted)
{
	ArrayType *array = make_array(wanted->function_ids, wanted->line_count);
	Datum hash = FunctionCall2(hash_array, PointerGetDatum(array), Int64GetDatum(0));

	pfree(array);
	return hash;
}

/* Id of the stored location that stands for this one; 0 where there is none. */
static int32
find_location(IndexScanDesc scan, TupleTableSlot *slot, const PfsContentItem *item, void *context)
{
	const Wanted *wanted = (const Wanted *) item;
	bool is_any = wanted->mapping_id != 0 && wanted->address != 0 && wanted->line_count == 0;
	bool best_is_symbolized = false;
	const Datum *values = slot->tts_values;
	int32 best = 0;
	ScanKeyData keys[3];

	ScanKeyInit(&keys[0], 1, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(wanted->mapping_id));
	ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(wanted->address));
	/* where any will do the third lets all pass */
	ScanKeyInit(&keys[2], 3, is_any ? BTGreaterEqualStrategyNumber : BTEqualStrategyNumber,
				is_any ? F_INT8GE : F_INT8EQ,
				is_any ? Int64GetDatum(PG_INT64_MIN) : hash_function_ids(context, wanted));
	index_rescan(scan, keys, lengthof(keys), NULL, 0);
	while (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		bool is_symbolized;
		int32 id;

		slot_getallattrs(slot);
		if (DatumGetBool(values[COL_CONDEMNED]))
			continue;
		if (!is_any &&
			!(array_is(values[COL_FUNCTION_IDS], wanted->function_ids, wanted->line_count) &&
			  array_is(values[COL_LINES], wanted->lines, wanted->line_count)))
			continue;
		id = DatumGetInt32(values[COL_ID]);
		is_symbolized = is_any && !array_is(values[COL_LINES], NULL, 0);
		if (best == 0 || is_symbolized > best_is_symbolized ||
			(is_symbolized == best_is_symbolized && id < best))
		{
			best = id;
			best_is_symbolized = is_symbolized;
		}
	}
	return best;
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
	int32 *distinct;
	uint32 distinct_count;

	if (references->count == 0)
		return;
	distinct = PFS_ARRAY(int32, references->count);
	memcpy(distinct, references->ids, references->count * sizeof(int32));
	distinct_count = pfs_ids_sort(distinct, references->count);
	references->stored = PFS_ARRAY(int32, references->count);
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

/* Raises INSUFFICIENT_PRIVILEGE for a mapping of another role; role is the calling one. */
static void
check_mapping(TupleTableSlot *slot, void *role)
{
	const char *owner = TextDatumGetCString(slot->tts_values[MAPPING_ROLE - 1]);

	if (strcmp(owner, role) != 0)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("mapping with id %d belongs to another role",
							   DatumGetInt32(slot->tts_values[0])),
						errhint("Intern mappings as the role that interns locations in them.")));
}

/* Known locations too must lie in mappings that are the caller's. */
static void
check_mappings(const Wanted *wanted, uint32 count)
{
	int32 *ids = PFS_ARRAY(int32, count);
	uint32 id_count = 0;

	for (uint32 i = 0; i < count; i++)
		if (wanted[i].mapping_id != 0 &&
			(id_count == 0 || ids[id_count - 1] != wanted[i].mapping_id))
			ids[id_count++] = wanted[i].mapping_id;
	pfs_rows_read("mappings", ids, pfs_ids_sort(ids, id_count), check_mapping, pfs_calling_role());
	pfree(ids);
}

/* What locations without an id name must be stored. */
static void
require_named(const void *items, uint32 count)
{
	const Wanted *wanted = items;
	References mappings = { .condemned_column = MAPPING_CONDEMNED };
	References functions = { .condemned_column = FUNCTION_CONDEMNED };
	uint32 capacity = 0;

	mappings.ids = PFS_ARRAY(int32, count);
	for (uint32 i = 0; i < count; i++)
	{
		uint32 line_count = wanted[i].line_count;

		if (wanted[i].item.id != 0)
			continue;
		if (wanted[i].mapping_id != 0)
			mappings.ids[mappings.count++] = wanted[i].mapping_id;
		if (line_count == 0)
			continue;
		PFS_RESERVE(functions.ids, capacity, functions.count + line_count);
		memcpy(functions.ids + functions.count, wanted[i].function_ids, line_count * sizeof(int32));
		functions.count += line_count;
	}
	require("mapping", "mappings", &mappings);
	require("function", "functions", &functions);
}

static void
fill_row(Datum *values, const PfsContentItem *item)
{
	const Wanted *wanted = (const Wanted *) item;

	values[COL_MAPPING] = Int32GetDatum(wanted->mapping_id);
	values[COL_ADDRESS] = Int64GetDatum(wanted->address);
	values[COL_FUNCTION_IDS] =
		PointerGetDatum(make_array(wanted->function_ids, wanted->line_count));
	values[COL_LINES] = PointerGetDatum(make_array(wanted->lines, wanted->line_count));
	values[COL_SYMBOLIZATION] = CharGetDatum(wanted->line_count == 0 ? 'p' : 's');
	values[COL_CONDEMNED] = BoolGetDatum(false);
}

/* The locations as they are given. */
static Wanted *
get_wanted(FunctionCallInfo fcinfo, uint32 count)
{
	const int32 *mappings = (const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(ARG_MAPPINGS));
	const int64 *addresses = (const int64 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(ARG_ADDRESSES));
	const int32 *line_counts = (const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(ARG_LINE_COUNTS));
	const int32 *function_ids =
		(const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(ARG_FUNCTION_IDS));
	const int32 *lines = (const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(ARG_LINES));
	Wanted *wanted = PFS_ARRAY(Wanted, count);
	uint32 line = 0;

	for (uint32 i = 0; i < count; i++)
	{
		uint32 line_count = (uint32) line_counts[i];
		uint32 hash;

		hash = hash_combine(hash_bytes_uint32((uint32) mappings[i]),
							hash_bytes((const unsigned char *) &addresses[i], sizeof(int64)));
		for (uint32 j = line; j < line + line_count; j++)
			hash = hash_combine(hash, murmurhash32((uint32) function_ids[j]) ^ (uint32) lines[j]);
		wanted[i] = (Wanted){ .item.hash = hash,
							  .mapping_id = mappings[i],
							  .address = addresses[i],
							  .line_count = line_count,
							  .function_ids = function_ids + line,
							  .lines = lines + line };
		line += line_count;
	}
	return wanted;
}

/*
 * intern_locations(mappings int4[], addresses int8[], line_counts int4[], function_ids int4[],
 * lines int4[]) -> int4[]
 */
PGDLLEXPORT Datum
profstore_intern_locations(PG_FUNCTION_ARGS)
{
	uint32 count = pfs_arrays_check(CALLER, fcinfo, ARG_MAPPINGS, ARG_FUNCTION_IDS);
	uint32 line_count = pfs_arrays_check(CALLER, fcinfo, ARG_FUNCTION_IDS, ARG_COUNT);
	ArrayType *result = pfs_array_make(count, INT4OID, sizeof(int32));
	FmgrInfo hash_array;
	PfsContentKind locations = { .table = "locations",
								 .key_count = 3,
								 .item_bytes = sizeof(Wanted),
								 .is_same = is_same,
								 .find = find_location,
								 .check_missing = require_named,
								 .fill = fill_row,
								 .context = &hash_array };
	Wanted *wanted;

	pfs_counts_check(CALLER, (const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(ARG_LINE_COUNTS)),
					 count, line_count);
	fmgr_info(F_HASH_ARRAY_EXTENDED, &hash_array);
	pfs_interning_begin();
	wanted = get_wanted(fcinfo, count);
	check_mappings(wanted, count);
	pfs_content_intern(&locations, wanted, count, (int32 *) ARR_DATA_PTR(result));
	pfs_interning_end();
	PG_RETURN_ARRAYTYPE_P(result);
}
