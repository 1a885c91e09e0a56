/*
 * answers.c
 *		Compares answers, and updates locations that get a better one.
 */
#include "profstore.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/arrays.h"
#include "base/hash.h"
#include "base/relations.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/cache/rows.h"
#include "dictionary/intern/answers.h"
#include "dictionary/intern/intern_arrays.h"
#include "dictionary/intern/owner.h"
#include "dictionary/seal/unseal.h"

PG_FUNCTION_INFO_V1(profstore_answer_rank);

typedef struct Place
{
	Oid table; /* OID of the table: the extension may be created again before the commit */
	int32 location_id;
} Place;

/*
 * An answer that was recorded for a location. A better one is appended, so that its abort restores
 * this one.
 */
typedef struct Told
{
	Place place;
	/*
	 * number of the location's entry before this one, counted from 1; 0 if this is its first entry
	 */
	uint32 poorer;
	SubTransactionId told_in;
	bool has_build_id;
	PfsAnswerRank rank;
	ArrayType *function_ids;
	ArrayType *lines;
} Told;

typedef struct Best
{
	Place place;
	uint32 number; /* number of the location's latest entry, counted from 1 */
	char status;
} Best;

#define SH_PREFIX		   best
#define SH_ELEMENT_TYPE	   Best
#define SH_KEY_TYPE		   Place
#define SH_KEY			   place
#define SH_HASH_KEY(tb, k) pfs_hash64((uint64) (k).table << 32 | (uint32) (k).location_id)
#define SH_EQUAL(tb, a, b) ((a).table == (b).table && (a).location_id == (b).location_id)
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Answers recorded by the running transaction, in TopTransactionContext. */
static Told *told;
static uint32 told_count;
static uint32 told_capacity;
static best_hash *best_of_place;

static const char lock_epoch[] = "SELECT FROM profstore.epoch FOR NO KEY UPDATE";
static const char bump_names[] =
	"UPDATE profstore.epoch SET names = names OPERATOR(pg_catalog.+) 1";
static const char improve[] =
	"UPDATE profstore.%s AS l SET function_ids = $2, lines = $3, symbolization = 's' "
	"WHERE l.id OPERATOR(pg_catalog.=) $1 AND profstore_internal.answer_rank(l.lines, $4) "
	"OPERATOR(pg_catalog.<) profstore_internal.answer_rank($3, $4)";

PfsAnswerRank
pfs_answer_rank(const PfsAnswer *answer, bool has_build_id)
{
	if (answer->count == 0)
		return PFS_ANSWER_NONE;
	/* Without a build ID, the lines may be those of another build of the file. */
	if (!has_build_id)
		return PFS_ANSWER_SYMBOL;
	if (answer->lines[0] == PFS_LINE_UNNAMED)
		return PFS_ANSWER_UNNAMED;
	/* Inlined functions and line numbers come from debug information only. */
	return answer->count > 1 || answer->lines[0] != 0 ? PFS_ANSWER_SOURCE : PFS_ANSWER_SYMBOL;
}

bool
pfs_answers_are_equal(const PfsAnswer *a, const PfsAnswer *b)
{
	Size bytes = a->count * sizeof(int32);

	return a->count == b->count && memcmp(a->function_ids, b->function_ids, bytes) == 0 &&
		   memcmp(a->lines, b->lines, bytes) == 0;
}

void
pfs_answer_tell(int32 location_id, const PfsAnswer *answer, bool has_build_id)
{
	Told entry = { .place = { pfs_relation_oid(pfs_young_table(&pfs_location_names)), location_id },
				   .told_in = GetCurrentSubTransactionId(),
				   .has_build_id = has_build_id,
				   .rank = pfs_answer_rank(answer, has_build_id) };
	/* Answers are kept until the commit, whatever subtransaction recorded them. */
	MemoryContext caller = MemoryContextSwitchTo(TopTransactionContext);
	const Best *best;
	bool found;

	if (best_of_place == NULL)
		best_of_place = best_create(TopTransactionContext, 64, NULL);
	best = best_lookup(best_of_place, entry.place);
	entry.poorer = best == NULL ? 0 : best->number;
	/* The entry before is kept: if this one's subtransaction aborts, it counts again. */
	if (entry.poorer == 0 || told[entry.poorer - 1].rank < entry.rank)
	{
		entry.function_ids = pfs_int4_array(answer->function_ids, answer->count);
		entry.lines = pfs_int4_array(answer->lines, answer->count);
		PFS_RESERVE(told, told_capacity, told_count + 1);
		best_insert(best_of_place, entry.place, &found)->number = told_count + 1;
		told[told_count++] = entry;
	}
	MemoryContextSwitchTo(caller);
}

/* Removes the last recorded answer. */
static void
answers_untell(void)
{
	const Told *last = &told[--told_count];

	/* It was the location's first entry. */
	if (last->poorer == 0)
		best_delete(best_of_place, last->place);
	else
		best_lookup(best_of_place, last->place)->number = last->poorer;
	pfree(last->function_ids);
	pfree(last->lines);
}

static void
answers_forget(void)
{
	told = NULL;
	told_count = 0;
	told_capacity = 0;
	best_of_place = NULL;
}

/*
 * Updates a location if the answer is better than the stored one; returns true if it was updated.
 */
static bool
run_improve(SPIPlanPtr plan, const Told *better)
{
	Datum values[] = { Int32GetDatum(better->place.location_id),
					   PointerGetDatum(better->function_ids), PointerGetDatum(better->lines),
					   BoolGetDatum(better->has_build_id) };

	if (SPI_execute_plan(plan, values, NULL, false, 0) != SPI_OK_UPDATE)
		elog(ERROR, "could not change a location");
	return SPI_processed > 0;
}

/* Unseals the sealed locations among the recorded ones, because only young rows can be updated. */
static void
unseal_told(void)
{
	int32 *ids = PFS_ARRAY(int32, told_count);

	for (uint32 i = 0; i < told_count; i++)
		ids[i] = told[i].place.location_id;
	/* Ids that are not sealed are left alone. */
	(void) pfs_names_unseal(&pfs_location_names, ids, pfs_ids_sort(ids, told_count), false);
	pfree(ids);
}

/* Gives locations their better answers, and increments the epoch of names if any changed. */
static void
improve_locations(void)
{
	Oid types[] = { INT4OID, INT4ARRAYOID, INT4ARRAYOID, BOOLOID };
	SPIPlanPtr plan;
	bool any = false;

	SPI_connect();
	/* Lock the row of profstore.epoch first, as all other code that changes names does. */
	if (SPI_execute(lock_epoch, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not lock the epoch");
	unseal_told();
	plan = SPI_prepare(psprintf(improve, pfs_young_table(&pfs_location_names)), lengthof(types),
					   types);
	if (plan == NULL)
		elog(ERROR, "could not prepare a statement that changes locations");
	for (uint32 i = 0; i < told_count; i++)
		any |= run_improve(plan, &told[i]);
	/*
	 * Sessions then drop their cached names. Nothing has changed if others have stored better
	 * answers meanwhile.
	 */
	if (any && SPI_execute(bump_names, false, 0) != SPI_OK_UPDATE)
		elog(ERROR, "could not increment the epoch of names");
	SPI_finish();
}

/*
 * Keeps the best answer of each location. Drops the answers for an extension that the transaction
 * has dropped, because its ids have no meaning in an extension created since.
 */
static void
forget_unneeded(void)
{
	Oid locations = pfs_relation_find(pfs_young_table(&pfs_location_names));
	uint32 left = 0;

	for (uint32 i = 0; i < told_count; i++)
		if (told[i].place.table == locations &&
			/* Only the latest entry of a location is applied; earlier ones are poorer. */
			best_lookup(best_of_place, told[i].place)->number == i + 1)
			told[left++] = told[i];
	told_count = left;
}

static void
answers_on_transaction(XactEvent event, void *arg)
{
	if (told_count > 0 && (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE))
	{
		forget_unneeded();
		if (told_count > 0)
			pfs_run_as_owner(pfs_young_table(&pfs_location_names), improve_locations);
	}
	/* the transaction frees the memory, even if a subtransaction's abort has removed all entries */
	answers_forget();
}

/*
 * Removes the entries of an aborted subtransaction: all that were recorded after it began, because
 * they were recorded in it or in one of its children.
 */
static void
answers_on_subtransaction(SubXactEvent event, SubTransactionId subid, SubTransactionId parent_subid,
						  void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		/*
		 * Ids of subtransactions rise, so its entries and those of its children are the last ones.
		 */
		while (told_count > 0 && told[told_count - 1].told_in >= subid)
			answers_untell();
}

void
pfs_answers_init(void)
{
	RegisterXactCallback(answers_on_transaction, NULL);
	RegisterSubXactCallback(answers_on_subtransaction, NULL);
}

/* answer_rank(lines int4[], has_build_id bool) -> int4 */
PGDLLEXPORT Datum
profstore_answer_rank(PG_FUNCTION_ARGS)
{
	ArrayType *lines = PG_GETARG_ARRAYTYPE_P(0);
	PfsAnswer answer = { .count = pfs_array_check("answer_rank", lines),
						 .lines = (const int32 *) ARR_DATA_PTR(lines) };

	PG_RETURN_INT32(pfs_answer_rank(&answer, PG_GETARG_BOOL(1)));
}
