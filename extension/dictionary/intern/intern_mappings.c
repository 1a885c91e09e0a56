/*
 * intern_mappings.c
 *		intern_mappings: returns the ids of mappings.
 */
#include "profstore.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "base/arrays.h"
#include "dictionary/intern/calling_role.h"
#include "dictionary/intern/content_rows.h"
#include "dictionary/intern/intern_arrays.h"

PG_FUNCTION_INFO_V1(profstore_intern_mappings);

#define CALLER "intern_mappings"

/* Columns of profstore.mappings. */
enum
{
	COL_ID,
	COL_BUILD_ID,
	COL_FILE,
	COL_CONDEMNED,
	COL_ROLE
};

#define TEXT_COUNT 2

/* A mapping to intern. Its texts point into the arguments. The hash equals that of the index. */
typedef struct Wanted
{
	PfsContentItem item;
	Datum texts[TEXT_COUNT]; /* build ID, file */
} Wanted;

static bool
mapping_is_same(const PfsContentItem *a, const PfsContentItem *b)
{
	const Wanted *left = (const Wanted *) a;
	const Wanted *right = (const Wanted *) b;

	return pfs_texts_are_equal(left->texts[0], right->texts[0]) &&
		   pfs_texts_are_equal(left->texts[1], right->texts[1]);
}

/* Compares a mapping with a stored row. Rows of other roles never match. */
static bool
mapping_matches(const Datum *values, const PfsContentItem *item, void *role)
{
	const Wanted *wanted = (const Wanted *) item;

	return !DatumGetBool(values[COL_CONDEMNED]) &&
		   pfs_stored_text_is(values[COL_BUILD_ID], wanted->texts[0]) &&
		   pfs_stored_text_is(values[COL_FILE], wanted->texts[1]) &&
		   pfs_stored_text_is(values[COL_ROLE], PointerGetDatum(role));
}

static void
mapping_fill_row(Datum *values, bool *nulls, const PfsContentItem *item, void *role)
{
	const Wanted *wanted = (const Wanted *) item;

	values[COL_BUILD_ID] = wanted->texts[0];
	values[COL_FILE] = wanted->texts[1];
	values[COL_CONDEMNED] = BoolGetDatum(false);
	values[COL_ROLE] = PointerGetDatum(role);
}

/* Reads the mappings from the arguments. */
static Wanted *
mappings_get_wanted(FunctionCallInfo fcinfo, uint32 count)
{
	Wanted *wanted = PFS_ARRAY(Wanted, count);
	Datum *texts[TEXT_COUNT];

	for (int i = 0; i < TEXT_COUNT; i++)
		/* Clip before hashing, so that the hash is that of the stored row. */
		texts[i] = pfs_names_get(CALLER, PG_GETARG_ARRAYTYPE_P(i));
	for (uint32 i = 0; i < count; i++)
		wanted[i] = (Wanted){ .item.hash = pfs_texts_hash((Datum[]){ texts[0][i], texts[1][i] },
														  TEXT_COUNT, 0),
							  .texts = { texts[0][i], texts[1][i] } };
	return wanted;
}

/* intern_mappings(build_ids text[], files text[]) -> int4[] */
PGDLLEXPORT Datum
profstore_intern_mappings(PG_FUNCTION_ARGS)
{
	uint32 count = pfs_arrays_check(CALLER, fcinfo, 0, TEXT_COUNT);
	ArrayType *result = pfs_array_make(count, INT4OID, sizeof(int32));
	const PfsContentKind mappings = { .table = "mappings",
									  .sequence = "mapping_ids",
									  .item_bytes = sizeof(Wanted),
									  .is_same = mapping_is_same,
									  .matches = mapping_matches,
									  .fill = mapping_fill_row,
									  .context = cstring_to_text(pfs_calling_role()) };

	pfs_interning_begin();
	pfs_content_intern(&mappings, mappings_get_wanted(fcinfo, count), count,
					   (int32 *) ARR_DATA_PTR(result));
	pfs_interning_end();
	PG_RETURN_ARRAYTYPE_P(result);
}
