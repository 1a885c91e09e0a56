/*
 * intern_series.c
 *		intern_series: returns the ids of series. check_series and touch_series check their owner.
 */
#include "profstore.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/cache/rows.h"
#include "dictionary/intern/bound_writer.h"
#include "dictionary/intern/calling_role.h"
#include "dictionary/intern/content_rows.h"
#include "dictionary/intern/intern.h"
#include "dictionary/intern/intern_arrays.h"
#include "dictionary/intern/labels.h"
#include "dictionary/intern/series_seen.h"

PG_FUNCTION_INFO_V1(profstore_intern_series);
PG_FUNCTION_INFO_V1(profstore_check_series);
PG_FUNCTION_INFO_V1(profstore_touch_series);
PG_FUNCTION_INFO_V1(profstore_touch_each_series);

#define CALLER "intern_series"

/* Columns of profstore.series. */
enum
{
	COL_ID,
	COL_PROFILE_TYPE,
	COL_LABELS,
	COL_PERIOD,
	COL_FIRST_SEEN,
	COL_LAST_SEEN,
	COL_CONDEMNED,
	COL_ROLE,
	COL_INTERNED
};

/* Positions of the arguments. */
enum
{
	ARG_PROFILE_TYPES,
	ARG_LABELS,
	ARG_PERIODS,
	ARG_COUNT
};

/* A series to intern, with normalized labels. The hash equals that of the index. */
typedef struct Wanted
{
	PfsContentItem item;
	int32 profile_type;
	Jsonb *labels;
	int64 period;
} Wanted;

static bool
labels_are_equal(Jsonb *a, Jsonb *b)
{
	return compareJsonbContainers(&a->root, &b->root) == 0;
}

static bool
series_is_same(const PfsContentItem *a, const PfsContentItem *b)
{
	const Wanted *left = (const Wanted *) a;
	const Wanted *right = (const Wanted *) b;

	return left->profile_type == right->profile_type && left->period == right->period &&
		   labels_are_equal(left->labels, right->labels);
}

/* Compares a series with a stored row. Rows of other roles never match. */
static bool
series_matches(const Datum *values, const PfsContentItem *item, void *role)
{
	const Wanted *wanted = (const Wanted *) item;

	return !DatumGetBool(values[COL_CONDEMNED]) &&
		   DatumGetInt32(values[COL_PROFILE_TYPE]) == wanted->profile_type &&
		   DatumGetInt64(values[COL_PERIOD]) == wanted->period &&
		   /* Two roles with equal labels have two series, so neither can write into the other's. */
		   pfs_stored_text_is(values[COL_ROLE], PointerGetDatum(role)) &&
		   labels_are_equal(DatumGetJsonbP(values[COL_LABELS]), wanted->labels);
}

static void
series_fill_row(Datum *values, bool *nulls, const PfsContentItem *item, void *role)
{
	const Wanted *wanted = (const Wanted *) item;

	values[COL_PROFILE_TYPE] = Int32GetDatum(wanted->profile_type);
	values[COL_LABELS] = JsonbPGetDatum(wanted->labels);
	values[COL_PERIOD] = Int64GetDatum(wanted->period);
	/* touch_series() sets both when samples are stored. */
	nulls[COL_FIRST_SEEN] = nulls[COL_LAST_SEEN] = true;
	values[COL_CONDEMNED] = BoolGetDatum(false);
	values[COL_ROLE] = PointerGetDatum(role);
	values[COL_INTERNED] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
}

/* Returns the hash of a series, equal to that of the SQL function content_hash(). */
static uint64
series_hash(const Wanted *wanted)
{
	Datum hash = DirectFunctionCall2(hashint8extended, Int64GetDatum(wanted->period),
									 Int64GetDatum((int64) wanted->profile_type));

	return (uint64) DatumGetInt64(
		DirectFunctionCall2(jsonb_hash_extended, JsonbPGetDatum(wanted->labels), hash));
}

/* Reads the series from the arguments. */
static Wanted *
series_get_wanted(FunctionCallInfo fcinfo, uint32 count)
{
	const int64 *periods = (const int64 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(ARG_PERIODS));
	Wanted *wanted = PFS_ARRAY(Wanted, count);
	Datum *profile_types;
	Datum *labels;
	int element_count;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(ARG_PROFILE_TYPES), TEXTOID, -1, false, TYPALIGN_INT,
					  &profile_types, NULL, &element_count);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(ARG_LABELS), JSONBOID, -1, false, TYPALIGN_INT, &labels,
					  NULL, &element_count);
	for (uint32 i = 0; i < count; i++)
	{
		char *profile_type = TextDatumGetCString(profile_types[i]);

		wanted[i].profile_type = pfs_profile_type_intern(profile_type);
		/* Labels with empty values are dropped, so that sets that mean the same are equal. */
		wanted[i].labels = pfs_labels_normalize(DatumGetJsonbP(labels[i]));
		wanted[i].period = periods[i];
		wanted[i].item.hash = series_hash(&wanted[i]);
		pfree(profile_type);
	}
	return wanted;
}

/* intern_series(profile_types text[], labels jsonb[], periods int8[]) -> int4[] */
PGDLLEXPORT Datum
profstore_intern_series(PG_FUNCTION_ARGS)
{
	uint32 count = pfs_arrays_check(CALLER, fcinfo, ARG_PROFILE_TYPES, ARG_COUNT);
	ArrayType *result = pfs_array_make(count, INT4OID, sizeof(int32));
	const PfsContentKind series = { .table = "series",
									.sequence = "series_ids",
									.item_bytes = sizeof(Wanted),
									.is_same = series_is_same,
									.matches = series_matches,
									.fill = series_fill_row,
									.context = cstring_to_text(pfs_calling_role()) };
	Wanted *wanted;

	pfs_interning_begin();
	/* also drops stale ids of profile types, which are cached between calls */
	pfs_dictionary_begin();
	wanted = series_get_wanted(fcinfo, count);
	pfs_content_intern(&series, wanted, count, (int32 *) ARR_DATA_PTR(result));
	pfs_proven_add(PFS_PROVEN_SERIES, (int32 *) ARR_DATA_PTR(result), count);
	pfs_interning_end();
	PG_RETURN_ARRAYTYPE_P(result);
}

/* Raises INSUFFICIENT_PRIVILEGE for a series of another role. argument is the calling role. */
static void
series_check_owner(TupleTableSlot *slot, void *role)
{
	if (!pfs_stored_text_is(slot->tts_values[COL_ROLE], PointerGetDatum(role)))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("series %d belongs to another role",
							   DatumGetInt32(slot->tts_values[COL_ID])),
						errhint("Intern series as the role that stores their samples.")));
}

static void
check_owners(const int32 *ids, uint32 count)
{
	pfs_rows_read("series", ids, count, series_check_owner, cstring_to_text(pfs_calling_role()));
}

/* Returns the ids of an array, sorted and distinct, without nulls. */
static int32 *
get_ids(ArrayType *array, uint32 *count)
{
	int32 *ids;
	Datum *elements;
	bool *nulls;
	int element_count;

	deconstruct_array(array, INT4OID, sizeof(int32), true, TYPALIGN_INT, &elements, &nulls,
					  &element_count);
	ids = PFS_ARRAY(int32, element_count);
	*count = 0;
	for (int i = 0; i < element_count; i++)
		if (!nulls[i])
			ids[(*count)++] = DatumGetInt32(elements[i]);
	/* pfs_rows_read() needs ascending, distinct ids. */
	*count = pfs_ids_sort(ids, *count);
	return ids;
}

/* check_series(series_ids int4[]) */
PGDLLEXPORT Datum
profstore_check_series(PG_FUNCTION_ARGS)
{
	uint32 count;
	int32 *ids = get_ids(PG_GETARG_ARRAYTYPE_P(0), &count);

	check_owners(ids, count);
	PG_RETURN_VOID();
}

/* Checks series with a fresh command id, to see those that the running statement has interned. */
static void
check_touched(const int32 *ids, uint32 count)
{
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	check_owners(ids, count);
	PopActiveSnapshot();
}

/* touch_series(series_ids int4[], first_time timestamptz, last_time timestamptz) */
PGDLLEXPORT Datum
profstore_touch_series(PG_FUNCTION_ARGS)
{
	uint32 count;
	int32 *ids = get_ids(PG_GETARG_ARRAYTYPE_P(0), &count);

	PreventCommandIfReadOnly("profstore.touch_series()");
	for (uint32 i = 0; i < count; i++)
		/*
		 * Only recorded here: rows are widened at the commit, so that no other writer waits for
		 * this transaction.
		 */
		pfs_series_seen(ids[i], PG_GETARG_TIMESTAMPTZ(1), PG_GETARG_TIMESTAMPTZ(2));
	check_touched(ids, count);
	PG_RETURN_VOID();
}

/* touch_each_series(series_ids int4[], first_times timestamptz[], last_times timestamptz[]) */
PGDLLEXPORT Datum
profstore_touch_each_series(PG_FUNCTION_ARGS)
{
	uint32 count = pfs_arrays_check("touch_each_series", fcinfo, 0, 3);
	const int32 *series = (const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(0));
	const TimestampTz *first = (const TimestampTz *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(1));
	const TimestampTz *last = (const TimestampTz *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(2));
	int32 *ids;

	PreventCommandIfReadOnly("profstore.touch_each_series()");
	for (uint32 i = 0; i < count; i++)
		pfs_series_seen(series[i], first[i], last[i]);
	ids = get_ids(PG_GETARG_ARRAYTYPE_P(0), &count);
	check_touched(ids, count);
	PG_RETURN_VOID();
}
