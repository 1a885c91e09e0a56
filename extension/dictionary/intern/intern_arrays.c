/*
 * intern_arrays.c
 *		Checks the arrays that writers pass, before anything is stored.
 */
#include "profstore.h"

#include <inttypes.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "dictionary/cache/epoch.h"
#include "dictionary/intern/intern_arrays.h"

PG_FUNCTION_INFO_V1(profstore_begin_interning);

uint32
pfs_array_check(const char *caller, const ArrayType *array)
{
	if (ARR_NDIM(array) > 1)
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
						errmsg("%s: arrays must have one dimension", caller)));
	if (array_contains_nulls(unconstify(ArrayType *, array)))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("%s: arrays must not contain nulls", caller)));
	/* An empty array has no dimension. */
	return ARR_NDIM(array) == 0 ? 0 : (uint32) ARR_DIMS(array)[0];
}

uint32
pfs_arrays_check(const char *caller, FunctionCallInfo fcinfo, int first, int end)
{
	uint32 expected = 0;

	for (int i = first; i < end; i++)
	{
		uint32 count = pfs_array_check(caller, PG_GETARG_ARRAYTYPE_P(i));

		if (i > first && count != expected)
			ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
							errmsg("%s: arrays must have equal lengths", caller),
							errdetail("One array has %u elements, another %u.", expected, count)));
		expected = count;
	}
	return expected;
}

/* Returns the shortened name of a text longer than PFS_NAME_MAX_BYTES. */
static text *
clip_name(const char *name, int length)
{
	/* The hash keeps names apart that agree in the part that is kept. */
	uint64 hash = hash_bytes_extended((const unsigned char *) name, length, 0);
	char *ending = psprintf("...%016" PRIx64, hash);
	/* Cut between characters, and not within one. */
	int kept = pg_mbcliplen(name, length, PFS_NAME_MAX_BYTES - (int) strlen(ending));

	return cstring_to_text(psprintf("%.*s%s", kept, name, ending));
}

void
pfs_names_clip(const char *caller, Datum *texts, uint32 count)
{
	uint32 clipped = 0;

	for (uint32 i = 0; i < count; i++)
	{
		text *name = DatumGetTextPP(texts[i]);

		if (VARSIZE_ANY_EXHDR(name) <= PFS_NAME_MAX_BYTES)
			continue;
		texts[i] = PointerGetDatum(clip_name(VARDATA_ANY(name), (int) VARSIZE_ANY_EXHDR(name)));
		clipped++;
	}
	if (clipped > 0)
		ereport(NOTICE,
				(errmsg_plural("%s: %u name was shortened", "%s: %u names were shortened", clipped,
							   caller, clipped),
				 errdetail("Names are stored up to a length of %d bytes.", PFS_NAME_MAX_BYTES)));
}

Datum *
pfs_names_get(const char *caller, ArrayType *array)
{
	Datum *texts;
	int count;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &texts, NULL, &count);
	pfs_names_clip(caller, texts, (uint32) count);
	return texts;
}

void
pfs_counts_check(const char *caller, const int32 *counts, uint32 count, uint32 total)
{
	uint64 sum = 0;

	for (uint32 i = 0; i < count; i++)
	{
		if (counts[i] < 0)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("%s: count %d is negative", caller, counts[i]),
							errdetail("It is element %u.", i + 1)));
		/* At most 2^32 numbers of 31 bits, so the sum fits in 64 bits. */
		sum += (uint32) counts[i];
	}
	if (sum != total)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s: counts add up to " UINT64_FORMAT ", but %u elements are given",
							   caller, sum, total)));
}

ArrayType *
pfs_array_make(uint32 count, Oid element_type, Size element_bytes)
{
	Size bytes = ARR_OVERHEAD_NONULLS(1) + mul_size(count, element_bytes);
	ArrayType *array;

	/* PostgreSQL's own empty arrays have no dimension; one of length 0 would not equal them. */
	if (count == 0)
		return construct_empty_array(element_type);
	array = palloc0(bytes);
	SET_VARSIZE(array, bytes);
	array->ndim = 1;
	array->elemtype = element_type;
	ARR_DIMS(array)[0] = (int) count;
	ARR_LBOUND(array)[0] = 1;
	return array;
}

ArrayType *
pfs_int4_array(const int32 *elements, uint32 count)
{
	ArrayType *array = pfs_array_make(count, INT4OID, sizeof(int32));

	memcpy(ARR_DATA_PTR(array), elements, count * sizeof(int32));
	return array;
}

/*
 * Raises an error unless all arguments are arrays: callers of VARIADIC "any" may pass anything, or
 * none.
 */
static void
check_arguments_are_arrays(const char *caller, FunctionCallInfo fcinfo, int first)
{
	for (int i = first; i < PG_NARGS(); i++)
	{
		if (!OidIsValid(get_base_element_type(get_fn_expr_argtype(fcinfo->flinfo, i))))
			ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
							errmsg("%s: argument %d must be an array", caller, i + 1)));
		if (PG_ARGISNULL(i))
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("%s: argument %d must not be null", caller, i + 1)));
	}
}

/*
 * begin_interning(caller, VARIADIC arrays): checks arrays of equal length and any type, and pins
 * the epoch.
 *
 * A writer keeps the ids it gets once its transaction has committed. A crash must not undo such a
 * commit and give the ids to other content, so the commit waits for the disk even if
 * synchronous_commit is off.
 */
PGDLLEXPORT Datum
profstore_begin_interning(PG_FUNCTION_ARGS)
{
	char *caller;

	if (PG_ARGISNULL(0))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("begin_interning: argument 1 must not be null")));
	caller = text_to_cstring(PG_GETARG_TEXT_PP(0));
	check_arguments_are_arrays(caller, fcinfo, 1);
	pfs_arrays_check(caller, fcinfo, 1, PG_NARGS());
	ForceSyncCommit();
	pfs_epoch_pin();
	PG_RETURN_VOID();
}
