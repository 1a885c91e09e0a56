/*
 * intern_locations.c
 *		intern_locations: locations in, ids out.
 *
 * 1. Each distinct location is looked up by digest among sealed ones, and with one probe of the
 *    index on a hash of its content among young ones; locations that are not found are stored. The
 *    smallest id represents equal locations. Condemned ones count as not found.
 * 2. A location with a mapping and an address is a place, and its lines are the answer to "which
 *    code is at that place?". The best answer wins (answers.h), among stored and new ones: a new
 *    location with a poorer answer gets the stored one's id, and stored locations with a poorer
 *    answer get the better one. Two answers of equal rank that differ are two locations.
 * 3. Without mapping or address only equal lines make the same location, because an address without
 *    a mapping means nothing outside its process.
 *
 * Mappings must belong to the calling role, so that no role can plant symbols at addresses of
 * another's.
 */
#include "profstore.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "dictionary/cache/name_hashes.h"
#include "dictionary/cache/name_reading.h"
#include "dictionary/cache/rows.h"
#include "dictionary/intern/answers.h"
#include "dictionary/intern/bound_writer.h"
#include "dictionary/intern/calling_role.h"
#include "dictionary/intern/content_rows.h"
#include "dictionary/intern/intern_arrays.h"

PG_FUNCTION_INFO_V1(profstore_intern_locations);

#define CALLER "intern_locations"

/* Columns of profstore.location_rows. */
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

/* Columns of profstore.mappings. */
#define MAPPING_BUILD_ID  2
#define MAPPING_CONDEMNED 4
#define MAPPING_ROLE	  5

/* Positions of the arguments. */
enum
{
	ARG_MAPPINGS,
	ARG_ADDRESSES,
	ARG_LINE_COUNTS,
	ARG_FUNCTION_IDS,
	ARG_LINES,
	ARG_COUNT
};

/* A location to intern. Its lines point into the arguments. The hash equals that of the index. */
typedef struct Wanted
{
	PfsContentItem item;
	int32 mapping_id;
	int64 address;
	PfsAnswer answer;
	bool has_build_id;	   /* true if its mapping has a build ID */
	bool has_answer;	   /* the answer of the location was recorded for a stored one */
	struct Sealed *sealed; /* sealed locations at the same place */
} Wanted;

/* A stored location at the same place. */
typedef struct Stored
{
	int32 id;
	PfsAnswer answer;
} Stored;

/* A sealed location, in a list. */
typedef struct Sealed
{
	Stored stored;
	struct Sealed *next;
} Sealed;

/* State of the search for stored locations. */
typedef struct Finding
{
	MemoryContext memory; /* memory for one location's search; reset before the next */
	Stored *stored;
	uint32 count;
	uint32 capacity;
} Finding;

static inline bool
is_place(const Wanted *wanted)
{
	return wanted->mapping_id != 0 && wanted->address != 0;
}

static inline bool
are_at_one_place(const Wanted *a, const Wanted *b)
{
	return a->mapping_id == b->mapping_id && a->address == b->address;
}

static inline PfsAnswerRank
answer_rank(const Wanted *wanted)
{
	return pfs_answer_rank(&wanted->answer, wanted->has_build_id);
}

/* A place (mapping and address), with the position of one of the locations there. */
typedef struct Place
{
	uint32 index;
	uint32 best; /* position of the location with the best answer */
	char status;
} Place;

#define SH_PREFIX		   place
#define SH_ELEMENT_TYPE	   Place
#define SH_KEY_TYPE		   uint32
#define SH_KEY			   index
#define SH_HASH_KEY(tb, k) ((uint32) ((const Wanted *) (tb)->private_data)[k].item.hash)
#define SH_EQUAL(tb, a, b)                                      \
	are_at_one_place(&((const Wanted *) (tb)->private_data)[a], \
					 &((const Wanted *) (tb)->private_data)[b])
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static bool
location_is_same(const PfsContentItem *a, const PfsContentItem *b)
{
	const Wanted *left = (const Wanted *) a;
	const Wanted *right = (const Wanted *) b;

	return are_at_one_place(left, right) && pfs_answers_are_equal(&left->answer, &right->answer);
}

/* Reads a stored answer, in CurrentMemoryContext. */
static PfsAnswer
get_answer(const Datum *values)
{
	const ArrayType *function_ids = DatumGetArrayTypePCopy(values[COL_FUNCTION_IDS]);
	const ArrayType *lines = DatumGetArrayTypePCopy(values[COL_LINES]);
	uint32 count = pfs_array_check(CALLER, function_ids);

	if (pfs_array_check(CALLER, lines) != count)
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
						errmsg("location %d has %u functions, but not as many lines",
							   DatumGetInt32(values[COL_ID]), count)));
	return (PfsAnswer){ count, (const int32 *) ARR_DATA_PTR(function_ids),
						(const int32 *) ARR_DATA_PTR(lines) };
}

static void
keep_stored(Finding *finding, const Datum *values)
{
	/* Detoasted arrays live until the next location is searched. */
	MemoryContext caller = MemoryContextSwitchTo(finding->memory);

	PFS_RESERVE(finding->stored, finding->capacity, finding->count + 1);
	finding->stored[finding->count++] =
		(Stored){ DatumGetInt32(values[COL_ID]), get_answer(values) };
	MemoryContextSwitchTo(caller);
}

/* Lists the stored locations at the place of a wanted one. */
static void
read_stored(Finding *finding, IndexScanDesc scan, TupleTableSlot *slot, const Wanted *wanted)
{
	const Datum *values = slot->tts_values;
	ScanKeyData key;

	MemoryContextReset(finding->memory);
	finding->stored = NULL;
	finding->count = finding->capacity = 0;
	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum((int64) wanted->item.hash));
	index_rescan(scan, &key, 1, NULL, 0);
	while (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		slot_getallattrs(slot);
		/*
		 * The index holds hashes only, so rows with an equal hash are compared. Condemned rows are
		 * about to be removed.
		 */
		if (!DatumGetBool(values[COL_CONDEMNED]) &&
			DatumGetInt32(values[COL_MAPPING]) == wanted->mapping_id &&
			DatumGetInt64(values[COL_ADDRESS]) == wanted->address)
			keep_stored(finding, values);
	}
	/* Sealed locations at the place were found before, for all wanted ones together. */
	for (const Sealed *sealed = wanted->sealed; sealed != NULL; sealed = sealed->next)
	{
		PFS_RESERVE_IN(finding->memory, finding->stored, finding->capacity, finding->count + 1);
		finding->stored[finding->count++] = sealed->stored;
	}
}

/* An id that has the digest of a wanted location. */
typedef struct Candidate
{
	int32 id;
	uint32 item;
} Candidate;

typedef struct Candidates
{
	Wanted *wanted;
	Candidate *items; /* sorted by id once all are listed */
	uint32 count;
	uint32 capacity;
	MemoryContext memory; /* memory for rows that are found */
} Candidates;

static void
locations_list_candidate(uint32 item, int32 id, void *argument)
{
	Candidates *candidates = argument;

	PFS_RESERVE_IN(candidates->memory, candidates->items, candidates->capacity,
				   candidates->count + 1);
	candidates->items[candidates->count++] = (Candidate){ id, item };
}

static int
location_candidates_compare(const void *a, const void *b)
{
	const Candidate *left = a;
	const Candidate *right = b;

	return left->id != right->id ? (left->id < right->id ? -1 : 1)
								 : (left->item > right->item) - (left->item < right->item);
}

static int32 *
copy_numbers(MemoryContext memory, const int32 *numbers, uint32 count)
{
	int32 *copy = MemoryContextAlloc(memory, sizeof(int32) * Max(count, 1));

	memcpy(copy, numbers, sizeof(int32) * count);
	return copy;
}

/*
 * Adds a sealed row to the wanted locations at its place. A candidate that is at no wanted place
 * has a wanted digest by chance only.
 */
static void
locations_note_sealed(const PfsNameRow *row, void *argument)
{
	const Candidates *candidates = argument;
	const PfsPackedLocation *location = &row->location;
	uint32 low = 0;
	uint32 high = candidates->count;

	while (low < high)
	{
		uint32 middle = (low + high) / 2;

		if (candidates->items[middle].id < row->id)
			low = middle + 1;
		else
			high = middle;
	}
	/* Several wanted locations may have the digest of this row. */
	for (; low < candidates->count && candidates->items[low].id == row->id; low++)
	{
		Wanted *wanted = &candidates->wanted[candidates->items[low].item];
		Sealed *sealed;

		if (wanted->mapping_id != location->mapping || wanted->address != location->address)
			continue;
		sealed = MemoryContextAlloc(candidates->memory, sizeof(Sealed));
		sealed->stored = (Stored){
			row->id,
			{ location->line_count,
			  copy_numbers(candidates->memory, location->function_ids, location->line_count),
			  copy_numbers(candidates->memory, location->lines, location->line_count) }
		};
		sealed->next = wanted->sealed;
		wanted->sealed = sealed;
	}
}

/* Lists the ids of sealed locations that have the digests of items. */
static void
locations_list_candidates(Candidates *candidates, uint32 count)
{
	PfsNameDigest *digests = PFS_ARRAY(PfsNameDigest, count);
	uint8 key[PFS_SIPHASH_KEY_BYTES];

	/* Without a key nothing has been sealed yet. */
	if (pfs_name_key_read(GetActiveSnapshot(), key))
	{
		for (uint32 i = 0; i < count; i++)
		{
			const Wanted *wanted = &candidates->wanted[i];
			PfsNameRow row = { .location = { .mapping = wanted->mapping_id,
											 .address = wanted->address,
											 .line_count = wanted->answer.count,
											 .function_ids = wanted->answer.function_ids,
											 .lines = wanted->answer.lines } };

			pfs_location_names.digest(key, &row, digests[i].bytes);
			digests[i].item = i;
		}
		pfs_name_hashes_find(&pfs_location_names, digests, count, locations_list_candidate,
							 candidates);
	}
	pfree(digests);
}

/* Sets for each item the sealed locations at its place. */
static void
locations_find_sealed(void *items, uint32 count, void *context)
{
	Candidates candidates = { .wanted = items, .memory = CurrentMemoryContext };
	int32 *ids;

	locations_list_candidates(&candidates, count);
	if (candidates.count == 0)
		return;
	qsort(candidates.items, candidates.count, sizeof(Candidate), location_candidates_compare);
	ids = PFS_ARRAY(int32, candidates.count);
	for (uint32 i = 0; i < candidates.count; i++)
		ids[i] = candidates.items[i].id;
	pfs_names_read_sealed(&pfs_location_names, ids, pfs_ids_sort(ids, candidates.count),
						  locations_note_sealed, &candidates);
	pfree(ids);
	pfree(candidates.items);
}

/*
 * Returns the best answer at a place. Among stored locations of equal rank it takes that of the
 * smallest id.
 */
static const PfsAnswer *
best_answer(const Finding *finding, const Wanted *wanted)
{
	const PfsAnswer *best = &wanted->answer;
	int32 best_id = 0; /* the wanted location precedes stored ones */

	for (uint32 i = 0; i < finding->count; i++)
	{
		const Stored *stored = &finding->stored[i];
		PfsAnswerRank rank = pfs_answer_rank(&stored->answer, wanted->has_build_id);
		PfsAnswerRank best_rank = pfs_answer_rank(best, wanted->has_build_id);

		/* The smallest id decides, so that all writers choose the same answer. */
		if (rank > best_rank || (rank == best_rank && stored->id < best_id))
		{
			best = &stored->answer;
			best_id = stored->id;
		}
	}
	return best;
}

/*
 * Records the best answer for those stored locations that have a poorer one. Returns the smallest
 * id of the locations with the best answer.
 */
static int32
find_at_place(const Finding *finding, Wanted *wanted)
{
	const PfsAnswer *best = best_answer(finding, wanted);
	PfsAnswerRank best_rank = pfs_answer_rank(best, wanted->has_build_id);
	int32 smallest = 0;

	for (uint32 i = 0; i < finding->count; i++)
	{
		const Stored *stored = &finding->stored[i];
		bool is_poorer = pfs_answer_rank(&stored->answer, wanted->has_build_id) < best_rank;

		if (is_poorer)
		{
			pfs_answer_tell(stored->id, best, wanted->has_build_id);
			/*
			 * require_named() must then check the functions of the answer, although the location
			 * itself is stored.
			 */
			wanted->has_answer |= best == &wanted->answer;
		}
		/*
		 * A location that gets the best answer represents the place from then on, as one that has
		 * it does.
		 */
		if ((is_poorer || pfs_answers_are_equal(&stored->answer, best)) &&
			(smallest == 0 || stored->id < smallest))
			smallest = stored->id;
	}
	return smallest;
}

static int32
find_equal(const Finding *finding, const Wanted *wanted)
{
	int32 smallest = 0;

	for (uint32 i = 0; i < finding->count; i++)
		if (pfs_answers_are_equal(&finding->stored[i].answer, &wanted->answer) &&
			(smallest == 0 || finding->stored[i].id < smallest))
			smallest = finding->stored[i].id;
	return smallest;
}

/* Returns the id of the stored location that represents the item; 0 if there is none. */
static int32
find_location(IndexScanDesc scan, TupleTableSlot *slot, PfsContentItem *item, void *context)
{
	Wanted *wanted = (Wanted *) item;
	Finding *finding = context;

	read_stored(finding, scan, slot, wanted);
	return is_place(wanted) ? find_at_place(finding, wanted) : find_equal(finding, wanted);
}

/* Ids that new locations refer to, and those of them that are stored. */
typedef struct References
{
	uint32 count;
	int32 *ids;
	uint32 stored_count;
	int32 *stored;
} References;

static void
note_mapping(TupleTableSlot *slot, void *argument)
{
	References *references = argument;

	if (!DatumGetBool(slot->tts_values[MAPPING_CONDEMNED - 1]))
		references->stored[references->stored_count++] = DatumGetInt32(slot->tts_values[0]);
}

static void
references_read_mappings(const int32 *ids, uint32 count, References *references)
{
	pfs_rows_read("mappings", ids, count, note_mapping, references);
}

static void
note_function(const PfsNameRow *row, void *argument)
{
	References *references = argument;

	if (!row->is_condemned)
		references->stored[references->stored_count++] = row->id;
}

static void
references_read_functions(const int32 *ids, uint32 count, References *references)
{
	pfs_names_read_ids(&pfs_function_names, ids, count, note_function, references);
}

/* Raises FOREIGN_KEY_VIOLATION with the first id that is not stored. */
static void
references_require(const char *kind,
				   void (*read)(const int32 *ids, uint32 count, References *references),
				   References *references)
{
	int32 *distinct;
	uint32 distinct_count;

	if (references->count == 0)
		return;
	distinct = PFS_ARRAY(int32, references->count);
	memcpy(distinct, references->ids, references->count * sizeof(int32));
	/* Many locations share a mapping or a function, so each id is read once. */
	distinct_count = pfs_ids_sort(distinct, references->count);
	references->stored = PFS_ARRAY(int32, references->count);
	read(distinct, distinct_count, references);
	references->stored_count = pfs_ids_sort(references->stored, references->stored_count);
	for (uint32 i = 0; i < references->count; i++)
		/* In the order of the arguments, so that the message names the first missing id. */
		if (!pfs_ids_have(references->stored, references->stored_count, references->ids[i]))
			ereport(ERROR,
					(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
					 errmsg("%s with id %d does not exist", kind, references->ids[i]),
					 errhint("Intern it first, in this database and under its current epoch.")));
	pfree(distinct);
	pfree(references->stored);
}

/* Mappings of the wanted locations. */
typedef struct Mappings
{
	char *role; /* the calling role */
	uint32 identified_count;
	int32 *identified; /* ids of mappings with a build ID */
} Mappings;

/* Raises INSUFFICIENT_PRIVILEGE for a mapping of another role. */
static void
check_mapping(TupleTableSlot *slot, void *argument)
{
	Mappings *mappings = argument;
	const char *owner = TextDatumGetCString(slot->tts_values[MAPPING_ROLE - 1]);
	int32 id = DatumGetInt32(slot->tts_values[0]);

	if (strcmp(owner, mappings->role) != 0)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("mapping with id %d belongs to another role", id),
						errhint("Intern mappings as the role that interns locations in them.")));
	if (VARSIZE_ANY_EXHDR(DatumGetTextPP(slot->tts_values[MAPPING_BUILD_ID - 1])) > 0)
		mappings->identified[mappings->identified_count++] = id;
}

/* Checks the mappings of all locations, also of known ones. */
static void
check_mappings(Wanted *wanted, uint32 count)
{
	int32 *ids = PFS_ARRAY(int32, count);
	Mappings mappings = { pfs_calling_role(), 0, PFS_ARRAY(int32, count) };
	uint32 id_count = 0;

	for (uint32 i = 0; i < count; i++)
		if (wanted[i].mapping_id != 0 &&
			(id_count == 0 || ids[id_count - 1] != wanted[i].mapping_id))
			ids[id_count++] = wanted[i].mapping_id;
	pfs_rows_read("mappings", ids, pfs_ids_sort(ids, id_count), check_mapping, &mappings);
	mappings.identified_count = pfs_ids_sort(mappings.identified, mappings.identified_count);
	for (uint32 i = 0; i < count; i++)
		wanted[i].has_build_id =
			pfs_ids_have(mappings.identified, mappings.identified_count, wanted[i].mapping_id);
	pfree(ids);
	pfree(mappings.identified);
}

/*
 * Checks that all functions and mappings exist to which locations refer that will be stored or
 * changed.
 */
static void
require_named(const void *items, uint32 count)
{
	const Wanted *wanted = items;
	References mappings = { 0 };
	References functions = { 0 };
	uint32 capacity = 0;

	mappings.ids = PFS_ARRAY(int32, count);
	for (uint32 i = 0; i < count; i++)
	{
		const PfsAnswer *answer = &wanted[i].answer;

		/* A stored location refers to stored rows, unless it gets a new answer. */
		if (wanted[i].item.id != 0 && !wanted[i].has_answer)
			continue;
		if (wanted[i].mapping_id != 0)
			mappings.ids[mappings.count++] = wanted[i].mapping_id;
		if (answer->count == 0)
			continue;
		PFS_RESERVE(functions.ids, capacity, functions.count + answer->count);
		memcpy(functions.ids + functions.count, answer->function_ids,
			   answer->count * sizeof(int32));
		functions.count += answer->count;
	}
	references_require("mapping", references_read_mappings, &mappings);
	references_require("function", references_read_functions, &functions);
}

static void
location_fill_row(Datum *values, bool *nulls, const PfsContentItem *item, void *context)
{
	const Wanted *wanted = (const Wanted *) item;

	values[COL_MAPPING] = Int32GetDatum(wanted->mapping_id);
	values[COL_ADDRESS] = Int64GetDatum(wanted->address);
	values[COL_FUNCTION_IDS] =
		PointerGetDatum(pfs_int4_array(wanted->answer.function_ids, wanted->answer.count));
	values[COL_LINES] = PointerGetDatum(pfs_int4_array(wanted->answer.lines, wanted->answer.count));
	values[COL_SYMBOLIZATION] = CharGetDatum(wanted->answer.count == 0 ? 'p' : 's');
	values[COL_CONDEMNED] = BoolGetDatum(false);
}

/* Returns the hash of a location, equal to that of the SQL function content_hash(). */
static uint64
location_hash(FmgrInfo *hash_array, const Wanted *wanted)
{
	Datum hash = DirectFunctionCall2(hashint8extended, Int64GetDatum(wanted->address),
									 Int64GetDatum((int64) wanted->mapping_id));

	/* The lines are part of what identifies the location. */
	if (!is_place(wanted))
	{
		const PfsAnswer *answer = &wanted->answer;
		ArrayType *function_ids = pfs_int4_array(answer->function_ids, answer->count);
		ArrayType *lines = pfs_int4_array(answer->lines, answer->count);

		hash = FunctionCall2(hash_array, PointerGetDatum(function_ids), hash);
		hash = FunctionCall2(hash_array, PointerGetDatum(lines), hash);
		pfree(function_ids);
		pfree(lines);
	}
	return (uint64) DatumGetInt64(hash);
}

/* Reads the locations from the arguments. */
static Wanted *
locations_get_wanted(FunctionCallInfo fcinfo, uint32 count)
{
	const int32 *mappings = (const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(ARG_MAPPINGS));
	const int64 *addresses = (const int64 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(ARG_ADDRESSES));
	const int32 *line_counts = (const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(ARG_LINE_COUNTS));
	const int32 *function_ids =
		(const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(ARG_FUNCTION_IDS));
	const int32 *lines = (const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(ARG_LINES));
	Wanted *wanted = PFS_ARRAY(Wanted, count);
	uint32 line = 0;
	FmgrInfo hash_array;

	fmgr_info(F_HASH_ARRAY_EXTENDED, &hash_array);
	for (uint32 i = 0; i < count; i++)
	{
		wanted[i] =
			(Wanted){ .mapping_id = mappings[i],
					  .address = addresses[i],
					  .answer = { (uint32) line_counts[i], function_ids + line, lines + line } };
		wanted[i].item.hash = location_hash(&hash_array, &wanted[i]);
		line += wanted[i].answer.count;
	}
	return wanted;
}

/* Gives wanted locations at one place the best of their answers. */
static void
take_best(Wanted *wanted, uint32 count)
{
	place_hash *table = place_create(CurrentMemoryContext, count, wanted);

	for (uint32 i = 0; i < count; i++)
		if (is_place(&wanted[i]))
		{
			bool found;
			Place *place = place_insert(table, i, &found);

			/* Of equal ranks the first one stays. */
			if (!found || answer_rank(&wanted[i]) > answer_rank(&wanted[place->best]))
				place->best = i;
		}
	for (uint32 i = 0; i < count; i++)
		if (is_place(&wanted[i]))
		{
			const Wanted *best = &wanted[place_lookup(table, i)->best];

			if (answer_rank(&wanted[i]) < answer_rank(best))
				wanted[i].answer = best->answer;
		}
	place_destroy(table);
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
	Finding finding = { AllocSetContextCreate(CurrentMemoryContext, "profstore stored locations",
											  ALLOCSET_SMALL_SIZES) };
	PfsContentKind locations = { .names = &pfs_location_names,
								 .sequence = "location_ids",
								 .item_bytes = sizeof(Wanted),
								 .is_same = location_is_same,
								 .find_sealed = locations_find_sealed,
								 .find = find_location,
								 .check = require_named,
								 .fill = location_fill_row,
								 .context = &finding };
	Wanted *wanted;

	pfs_counts_check(CALLER, (const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(ARG_LINE_COUNTS)),
					 count, line_count);
	pfs_proven_require(PFS_PROVEN_FUNCTION,
					   (const int32 *) ARR_DATA_PTR(PG_GETARG_ARRAYTYPE_P(ARG_FUNCTION_IDS)),
					   line_count);
	pfs_interning_begin();
	wanted = locations_get_wanted(fcinfo, count);
	/* Before anything is searched: the rank of an answer depends on its mapping's build ID. */
	check_mappings(wanted, count);
	take_best(wanted, count);
	pfs_content_intern(&locations, wanted, count, (int32 *) ARR_DATA_PTR(result));
	pfs_proven_add(PFS_PROVEN_LOCATION, (int32 *) ARR_DATA_PTR(result), count);
	pfs_interning_end();
	PG_RETURN_ARRAYTYPE_P(result);
}
