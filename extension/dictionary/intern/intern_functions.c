/*
 * intern_functions.c
 *		intern_functions: returns the ids of functions.
 *
 * Each distinct function is looked up by digest among sealed ones, then, with one probe of the
 * index on a hash of its content, among young ones. If equal functions are stored more than once,
 * the smallest id represents them. Functions that are not found are stored. Condemned functions
 * count as not found.
 */
#include "profstore.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "dictionary/cache/name_hashes.h"
#include "dictionary/cache/name_reading.h"
#include "dictionary/cache/rows.h"
#include "dictionary/intern/bound_writer.h"
#include "dictionary/intern/content_rows.h"
#include "dictionary/intern/intern_arrays.h"

PG_FUNCTION_INFO_V1(profstore_intern_functions);

#define CALLER "intern_functions"

/* Columns of profstore.function_rows. */
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

/* A function to intern. Its texts point into the arguments. The hash equals that of the index. */
typedef struct Wanted
{
	PfsContentItem item;
	Datum texts[TEXT_COUNT]; /* name, system name, file name */
	int32 start_line;
} Wanted;

static bool
function_is_same(const PfsContentItem *a, const PfsContentItem *b)
{
	const Wanted *left = (const Wanted *) a;
	const Wanted *right = (const Wanted *) b;
	/* Numbers are compared before texts, because that is quicker. */
	bool is_equal = left->start_line == right->start_line;

	for (int i = 0; is_equal && i < TEXT_COUNT; i++)
		is_equal = pfs_texts_are_equal(left->texts[i], right->texts[i]);
	return is_equal;
}

/* Reads the functions from the arguments. */
static Wanted *
functions_get_wanted(FunctionCallInfo fcinfo, uint32 count)
{
	/* The arrays' lengths were compared by pfs_arrays_check(). */
	const int32 *start_lines = (const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(TEXT_COUNT));
	Wanted *wanted = PFS_ARRAY(Wanted, count);
	Datum *texts[TEXT_COUNT];

	for (int i = 0; i < TEXT_COUNT; i++)
		texts[i] = pfs_names_get(CALLER, PG_GETARG_ARRAYTYPE_P(i));
	for (uint32 i = 0; i < count; i++)
	{
		for (int j = 0; j < TEXT_COUNT; j++)
			wanted[i].texts[j] = texts[j][i];
		wanted[i].start_line = start_lines[i];
		/* The index on the table has the hash of the content, computed in the same way. */
		wanted[i].item.hash = pfs_texts_hash(wanted[i].texts, TEXT_COUNT, start_lines[i]);
	}
	return wanted;
}

static bool
function_matches(const Datum *values, const PfsContentItem *item, void *context)
{
	const Wanted *wanted = (const Wanted *) item;

	/* A condemned row is about to be deleted, so it cannot be returned. */
	return !DatumGetBool(values[COL_CONDEMNED]) &&
		   DatumGetInt32(values[COL_START_LINE]) == wanted->start_line &&
		   pfs_stored_text_is(values[COL_NAME], wanted->texts[0]) &&
		   pfs_stored_text_is(values[COL_SYSTEM_NAME], wanted->texts[1]) &&
		   pfs_stored_text_is(values[COL_FILENAME], wanted->texts[2]);
}

/*
 * A sealed id with the digest of a wanted function. If a chunk is lost, the leaves still list its
 * ids; such ids are ignored.
 */
typedef struct Candidate
{
	int32 id;
	uint32 item;
} Candidate;

typedef struct Candidates
{
	Candidate *items;
	uint32 count;
	uint32 capacity;
	int32 *packed; /* ids that are in chunks */
	uint32 packed_count;
} Candidates;

static void
functions_list_candidate(uint32 item, int32 id, void *argument)
{
	Candidates *candidates = argument;

	PFS_RESERVE(candidates->items, candidates->capacity, candidates->count + 1);
	candidates->items[candidates->count++] = (Candidate){ id, item };
}

static void
note_packed(const PfsNameRow *row, void *argument)
{
	Candidates *candidates = argument;

	candidates->packed[candidates->packed_count++] = row->id;
}

/* Sets the id of each wanted function: the smallest of those with its digest. */
static void
take_smallest(Candidates *candidates, Wanted *wanted)
{
	int32 *ids = PFS_ARRAY(int32, candidates->count);

	for (uint32 i = 0; i < candidates->count; i++)
		ids[i] = candidates->items[i].id;
	/* At most all candidates are in chunks. */
	candidates->packed = PFS_ARRAY(int32, candidates->count);
	pfs_names_read_sealed_ids(&pfs_function_names, ids, pfs_ids_sort(ids, candidates->count),
							  note_packed, candidates);
	/* A chunk that is lost gives no row for its ids. */
	candidates->packed_count = pfs_ids_sort(candidates->packed, candidates->packed_count);
	for (uint32 i = 0; i < candidates->count; i++)
	{
		int32 id = candidates->items[i].id;
		PfsContentItem *item = &wanted[candidates->items[i].item].item;

		/* If the function is stored more than once, all sessions take the smallest id. */
		if ((item->id == 0 || id < item->id) &&
			pfs_ids_have(candidates->packed, candidates->packed_count, id))
			item->id = id;
	}
	pfree(candidates->packed);
	pfree(ids);
}

/* Searches the wanted functions among sealed ones, by digest. */
static void
functions_find_sealed(void *items, uint32 count, void *context)
{
	const Wanted *wanted = items;
	Candidates candidates = { 0 };
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "profstore digests", ALLOCSET_DEFAULT_SIZES);
	PfsNameDigest *digests = PFS_ARRAY(PfsNameDigest, count);
	uint32 digest_count = 0;
	uint8 key[PFS_SIPHASH_KEY_BYTES];

	/* Without a key nothing was ever sealed. */
	if (pfs_name_key_read(GetActiveSnapshot(), key))
	{
		for (uint32 i = 0; i < count; i++)
		{
			MemoryContext caller = MemoryContextSwitchTo(scratch);
			PfsNameRow row = { .function = { TextDatumGetCString(wanted[i].texts[0]),
											 TextDatumGetCString(wanted[i].texts[1]),
											 TextDatumGetCString(wanted[i].texts[2]),
											 wanted[i].start_line } };
			PfsNameRow utf8;

			/* A text that has no form in UTF-8 cannot be in a chunk, which stores UTF-8. */
			if (pfs_function_names.to_utf8(&row, &utf8))
			{
				pfs_function_names.digest(key, &utf8, digests[digest_count].bytes);
				digests[digest_count++].item = i;
			}
			/* The digest has been computed, so the converted texts are not needed. */
			MemoryContextSwitchTo(caller);
			MemoryContextReset(scratch);
		}
		pfs_name_hashes_find(&pfs_function_names, digests, digest_count, functions_list_candidate,
							 &candidates);
	}
	if (candidates.count > 0)
	{
		take_smallest(&candidates, items);
		pfree(candidates.items);
	}
	MemoryContextDelete(scratch);
	pfree(digests);
}

static void
function_fill_row(Datum *values, bool *nulls, const PfsContentItem *item, void *context)
{
	const Wanted *wanted = (const Wanted *) item;

	for (int i = 0; i < TEXT_COUNT; i++)
		values[COL_NAME + i] = wanted->texts[i];
	values[COL_START_LINE] = Int32GetDatum(wanted->start_line);
	values[COL_CONDEMNED] = BoolGetDatum(false);
}

static const PfsContentKind functions = { .names = &pfs_function_names,
										  .sequence = "function_ids",
										  .item_bytes = sizeof(Wanted),
										  .is_same = function_is_same,
										  .find_sealed = functions_find_sealed,
										  .matches = function_matches,
										  .fill = function_fill_row };

/*
 * intern_functions(names text[], system_names text[], filenames text[], start_lines int4[])
 * -> int4[]
 */
PGDLLEXPORT Datum
profstore_intern_functions(PG_FUNCTION_ARGS)
{
	uint32 count = pfs_arrays_check(CALLER, fcinfo, 0, TEXT_COUNT + 1);
	ArrayType *result = pfs_array_make(count, INT4OID, sizeof(int32));

	pfs_interning_begin();
	pfs_content_intern(&functions, functions_get_wanted(fcinfo, count), count,
					   (int32 *) ARR_DATA_PTR(result));
	pfs_proven_add(PFS_PROVEN_FUNCTION, (int32 *) ARR_DATA_PTR(result), count);
	pfs_interning_end();
	PG_RETURN_ARRAYTYPE_P(result);
}
