/*
 * intern_functions.c
 *		intern_functions: functions in, ids out.
 *
 * Each distinct function is one probe of the index on a hash of its content; of equal ones that are stored the smallest
 * id stands for all. What is not found is stored. Condemned functions are as good as gone.
 */
#include "profstore.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "base/arrays.h"
#include "dictionary/arrays.h"
#include "dictionary/content_rows.h"

PG_FUNCTION_INFO_V1(profstore_intern_functions);

#define CALLER "intern_functions"

/* Columns of profstore.functions. */
enum
{
	COL_ID,
	COL_NAME,
	COL_SYSTEM_NAME,
	COL_FILENAME,
	COL_START_LINE,
	COL_CONDEMNED
};

#define TEXT_COUNT 3

/* A function as it is given; its texts are in the arguments. */
typedef struct Wanted
{
	Datum texts[TEXT_COUNT]; /* name, system name, file name */
	int32 start_line;
	uint64 hash; /* as in the index */
	int32 id;	 /* 0: not stored */
} Wanted;

/* The distinct ones, by what they say. */
typedef struct DistinctFunction
{
	const Wanted *wanted;
	uint32 number; /* in the order of the input */
	char status;
} DistinctFunction;

static bool
texts_are_equal(Datum left, Datum right)
{
	struct varlena *a = (struct varlena *) DatumGetPointer(left);
	struct varlena *b = (struct varlena *) DatumGetPointer(right);

	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		   memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

static bool
is_same(const Wanted *a, const Wanted *b)
{
	bool is_equal = a->hash == b->hash && a->start_line == b->start_line;

	for (int i = 0; is_equal && i < TEXT_COUNT; i++)
		is_equal = texts_are_equal(a->texts[i], b->texts[i]);
	return is_equal;
}

#define SH_PREFIX		   distinct_functions
#define SH_ELEMENT_TYPE	   DistinctFunction
#define SH_KEY_TYPE		   const Wanted *
#define SH_KEY			   wanted
#define SH_HASH_KEY(tb, k) ((uint32) (k)->hash)
#define SH_EQUAL(tb, a, b) is_same(a, b)
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* As content_hash() has it. */
static uint64
hash_content(const Wanted *wanted)
{
	int64 hash = wanted->start_line;

	for (int i = TEXT_COUNT; i-- > 0;)
		hash = DatumGetInt64(DirectFunctionCall2Coll(hashtextextended, DEFAULT_COLLATION_OID,
													 wanted->texts[i], Int64GetDatum(hash)));
	return (uint64) hash;
}

/* The functions as they are given. */
static Wanted *
get_wanted(FunctionCallInfo fcinfo, uint32 count)
{
	const int32 *start_lines = (const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(TEXT_COUNT));
	Wanted *wanted = PFS_ARRAY(Wanted, count);
	Datum *texts[TEXT_COUNT];

	for (int i = 0; i < TEXT_COUNT; i++)
	{
		int text_count;

		deconstruct_array(PG_GETARG_ARRAYTYPE_P(i), TEXTOID, -1, false, TYPALIGN_INT, &texts[i],
						  NULL, &text_count);
	}
	for (uint32 i = 0; i < count; i++)
	{
		for (int j = 0; j < TEXT_COUNT; j++)
			wanted[i].texts[j] = texts[j][i];
		wanted[i].start_line = start_lines[i];
		wanted[i].hash = hash_content(&wanted[i]);
	}
	return wanted;
}

/* Moves the distinct ones to the front, in the order of the input; numbers has for each where it is there. */
static uint32
make_distinct(Wanted *wanted, uint32 count, uint32 *numbers)
{
	distinct_functions_hash *table = distinct_functions_create(CurrentMemoryContext, count, NULL);
	uint32 distinct = 0;

	for (uint32 i = 0; i < count; i++)
	{
		DistinctFunction *entry;
		bool found;

		/* the table points to places before this one, which stay as they are */
		wanted[distinct] = wanted[i];
		entry = distinct_functions_insert(table, &wanted[distinct], &found);
		if (!found)
			entry->number = distinct++;
		numbers[i] = entry->number;
	}
	distinct_functions_destroy(table);
	return distinct;
}

/* Whether a stored text holds these bytes. */
static bool
stored_text_is(Datum stored, Datum text)
{
	struct varlena *plain = PG_DETOAST_DATUM_PACKED(stored);
	bool is_equal = texts_are_equal(PointerGetDatum(plain), text);

	if ((Pointer) plain != DatumGetPointer(stored))
		pfree(plain);
	return is_equal;
}

/* Id of the stored function; 0 where there is none. */
static int32
find_function(PfsContentProbe *probe, const Wanted *wanted)
{
	const Datum *values = probe->slot->tts_values;
	int32 best = 0;
	ScanKeyData key;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum((int64) wanted->hash));
	index_rescan(probe->scan, &key, 1, NULL, 0);
	while (index_getnext_slot(probe->scan, ForwardScanDirection, probe->slot))
	{
		int32 id;

		slot_getallattrs(probe->slot);
		id = DatumGetInt32(values[COL_ID]);
		if (!DatumGetBool(values[COL_CONDEMNED]) && (best == 0 || id < best) &&
			DatumGetInt32(values[COL_START_LINE]) == wanted->start_line &&
			stored_text_is(values[COL_NAME], wanted->texts[0]) &&
			stored_text_is(values[COL_SYSTEM_NAME], wanted->texts[1]) &&
			stored_text_is(values[COL_FILENAME], wanted->texts[2]))
			best = id;
	}
	return best;
}

/* Returns how many are not stored. */
static uint32
find_all(Wanted *wanted, uint32 count)
{
	PfsContentProbe probe;
	uint32 missing = 0;

	pfs_content_probe_begin(&probe, "functions", 1);
	for (uint32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		wanted[i].id = find_function(&probe, &wanted[i]);
		missing += wanted[i].id == 0;
	}
	pfs_content_probe_end(&probe);
	return missing;
}

static void
store_missing(Wanted *wanted, uint32 count)
{
	PfsContentWriter *writer = pfs_content_writer_begin("functions");

	for (uint32 i = 0; i < count; i++)
	{
		Datum *values;

		if (wanted[i].id != 0)
			continue;
		values = pfs_content_writer_add(writer, &wanted[i].id);
		for (int j = 0; j < TEXT_COUNT; j++)
			values[COL_NAME + j] = wanted[i].texts[j];
		values[COL_START_LINE] = Int32GetDatum(wanted[i].start_line);
		values[COL_CONDEMNED] = BoolGetDatum(false);
	}
	pfs_content_writer_end(writer);
}

/* intern_functions(names text[], system_names text[], filenames text[], start_lines int4[]) -> int4[] */
PGDLLEXPORT Datum
profstore_intern_functions(PG_FUNCTION_ARGS)
{
	uint32 count = pfs_arrays_check(CALLER, fcinfo, 0, TEXT_COUNT + 1);
	ArrayType *result = pfs_array_make(count, INT4OID, sizeof(int32));
	int32 *ids = (int32 *) ARR_DATA_PTR(result);
	Wanted *wanted;
	uint32 *numbers;
	uint32 distinct;

	pfs_interning_begin();
	wanted = get_wanted(fcinfo, count);
	numbers = PFS_ARRAY(uint32, count);
	distinct = make_distinct(wanted, count, numbers);
	if (find_all(wanted, distinct) > 0)
		store_missing(wanted, distinct);
	for (uint32 i = 0; i < count; i++)
		ids[i] = wanted[numbers[i]].id;
	pfs_interning_end();
	PG_RETURN_ARRAYTYPE_P(result);
}
