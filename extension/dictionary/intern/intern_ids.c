/*
 * intern_ids.c
 *		Keeps ids between calls of interning: partitions and profile types by key, node numbers, and
 *		the locations that are known to exist.
 */
#include "profstore.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "base/relations.h"
#include "dictionary/cache/cache.h"
#include "dictionary/cache/name_reading.h"
#include "dictionary/cache/rows.h"
#include "dictionary/intern/intern.h"

/* INCREMENT BY of profstore.node_numbers. */
#define NODE_NUMBER_RUN 64

/* Existing locations are marked in a bitmap of pages. */
#define PAGE_BITS  15
#define PAGE_WORDS ((1 << PAGE_BITS) / 64)

/* Ids by key: dictionary partitions by their name, profile types by their string form. */
typedef struct KnownKey
{
	char key[PFS_PARTITION_KEY_MAX + 1];
	int32 id;
	TimestampTz until; /* a statement that starts later searches again */
} KnownKey;

/*
 * How long a cached id of a key is used. Two transactions may have stored one key under two ids;
 * after this time all writers use the smaller one, so that writers of one program share its stacks.
 */
#define KEY_SECONDS 60

/*
 * Set if keys or locations of the running transaction are cached. An abort may undo them, so it
 * drops the whole cache.
 */
static bool some_are_own;

static MemoryContext intern_context;
static HTAB *known_partitions;
static HTAB *known_profile_types;
static uint64 **known_pages; /* bitmap of locations that exist */
static uint32 known_page_count;

/*
 * The next number of the block that this backend has reserved, and the block's end. A number is
 * never used twice, so the block outlives transactions.
 */
static int64 next_number;
static int64 numbers_end;

static void
forget_seen(void)
{
	/* The context contains all tables and pages. */
	if (intern_context != NULL)
		MemoryContextDelete(intern_context);
	intern_context = NULL;
	known_partitions = NULL;
	known_profile_types = NULL;
	known_pages = NULL;
	known_page_count = 0;
	some_are_own = false;
}

static void
forget_all(void)
{
	forget_seen();
	/* Numbers of a block that was dropped are never used: gaps do not matter. */
	next_number = numbers_end = 0;
}

static void
intern_ids_abort(void)
{
	/* The rows that gave ids to this session may have been undone. */
	if (some_are_own)
		forget_seen();
}

static void
intern_ids_commit(void)
{
	some_are_own = false;
}

void
pfs_intern_init(void)
{
	static PfsCachePart part = { .forget = forget_all,
								 .abort = intern_ids_abort,
								 .commit = intern_ids_commit };

	pfs_cache_register(&part);
}

static MemoryContext
intern_ids_context(void)
{
	if (intern_context == NULL)
		intern_context = AllocSetContextCreate(pfs_cache_context(), "profstore interning",
											   ALLOCSET_DEFAULT_SIZES);
	return intern_context;
}

/* Returns the cached id of a key; 0 if it is unknown or too old. */
static int32
known_id(HTAB *known, const char *key)
{
	const KnownKey *entry = known == NULL ? NULL : hash_search(known, key, HASH_FIND, NULL);

	return entry != NULL && GetCurrentStatementStartTimestamp() < entry->until ? entry->id : 0;
}

/* Remembers the id of a key for KEY_SECONDS. */
static void
keep_id(HTAB **known, const char *key, int32 id)
{
	HASHCTL control = { .keysize = sizeof(((KnownKey *) NULL)->key),
						.entrysize = sizeof(KnownKey),
						.hcxt = intern_ids_context() };
	KnownKey *entry;

	/* Made at the first use: most sessions never intern. */
	if (*known == NULL)
		*known = hash_create("profstore interned keys", 64, &control,
							 HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
	/* An abort must drop the id, which may be of a row of this transaction. */
	some_are_own = true;
	entry = hash_search(*known, key, HASH_ENTER, NULL);
	entry->id = id;
	entry->until =
		TimestampTzPlusMilliseconds(GetCurrentStatementStartTimestamp(), KEY_SECONDS * 1000);
}

/*
 * Runs a statement with a text argument, planned once per session. Returns 0 if its result is null.
 */
static int32
id_by_sql(SPIPlanPtr *plan, const char *sql, const char *key)
{
	Datum value = CStringGetTextDatum(key);
	Oid type = TEXTOID;
	bool is_null;
	Datum id;

	if (*plan == NULL)
	{
		SPIPlanPtr made = SPI_prepare(sql, 1, &type);

		if (made == NULL || SPI_keepplan(made) != 0)
			elog(ERROR, "could not prepare \"%s\"", sql);
		*plan = made;
	}
	/* read_only is false: the statement must see rows that this transaction has stored. */
	if (SPI_execute_plan(*plan, &value, NULL, false, 0) < 0 || SPI_processed != 1)
		elog(ERROR, "could not look up \"%s\"", key);
	id = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
	return is_null ? 0 : DatumGetInt32(id);
}

int32
pfs_partition_intern(const char *key)
{
	static SPIPlanPtr find;
	static SPIPlanPtr add;
	int32 id;

	if (key[0] == '\0' || strlen(key) > PFS_PARTITION_KEY_MAX)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("key of a dictionary partition must have 1 to %d bytes",
							   PFS_PARTITION_KEY_MAX)));
	/* The key is known for a while without any query. */
	id = known_id(known_partitions, key);
	if (id != 0)
		return id;
	SPI_connect();
	id = id_by_sql(&find,
				   "SELECT pg_catalog.min(p.id) FROM profstore.dictionary_partitions AS p "
				   "WHERE pg_catalog.hashtextextended(p.key, 0) OPERATOR(pg_catalog.=) "
				   "pg_catalog.hashtextextended($1, 0) AND p.key OPERATOR(pg_catalog.=) $1 "
				   "AND NOT p.condemned",
				   key);
	if (id != 0)
		keep_id(&known_partitions, key, id);
	else
		id = id_by_sql(&add,
					   "INSERT INTO profstore.dictionary_partitions (key) VALUES ($1) RETURNING id",
					   key);
	SPI_finish();
	return id;
}

int32
pfs_profile_type_intern(const char *profile_type)
{
	static SPIPlanPtr intern;
	int32 id = 0;

	/* A longer key does not fit the cache's entry. */
	if (strlen(profile_type) <= PFS_PARTITION_KEY_MAX)
		id = known_id(known_profile_types, profile_type);
	if (id != 0)
		return id;
	SPI_connect();
	id = id_by_sql(&intern, "SELECT (profstore.intern_profile_types(ARRAY[$1]))[1]", profile_type);
	SPI_finish();
	if (strlen(profile_type) <= PFS_PARTITION_KEY_MAX)
		keep_id(&known_profile_types, profile_type, id);
	return id;
}

int64
pfs_node_number_next(int64 parent_number)
{
	/* A node's number must exceed that of its parent, which may come from another block. */
	if (next_number == numbers_end || next_number <= parent_number)
	{
		next_number = nextval_internal(pfs_relation_oid("node_numbers"), false);
		numbers_end = next_number + NODE_NUMBER_RUN;
	}
	return next_number++;
}

static bool
intern_ids_known(int32 id)
{
	uint32 page = (uint32) id >> PAGE_BITS;
	uint32 bit = (uint32) id & ((1 << PAGE_BITS) - 1);

	/* A page without known locations is not allocated. */
	return page < known_page_count && known_pages[page] != NULL &&
		   (known_pages[page][bit / 64] >> (bit % 64) & 1) != 0;
}

/* Notes that a location exists; an error if it is about to be collected. */
static void
mark_known(const PfsNameRow *row, void *argument)
{
	int32 id = row->id;
	uint32 page = (uint32) id >> PAGE_BITS;
	uint32 bit = (uint32) id & ((1 << PAGE_BITS) - 1);
	uint32 known = known_page_count;

	if (row->is_condemned)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("location with id %d is about to be collected", id),
						errdetail("It was interned under an epoch that has expired."),
						errhint("Discard all cached ids and repeat the transaction.")));
	/* PFS_RESERVE_IN() raises the count of pages, whose new places must be NULL. */
	PFS_RESERVE_IN(intern_ids_context(), known_pages, known_page_count, page + 1);
	memset(known_pages + known, 0, (known_page_count - known) * sizeof(uint64 *));
	if (known_pages[page] == NULL)
		known_pages[page] =
			MemoryContextAllocZero(intern_ids_context(), PAGE_WORDS * sizeof(uint64));
	known_pages[page][bit / 64] |= UINT64CONST(1) << (bit % 64);
}

void
pfs_locations_require(const int32 *ids, uint32 count)
{
	int32 *wanted = PFS_ARRAY(int32, count);
	uint32 wanted_count = 0;

	for (uint32 i = 0; i < count; i++)
		/* mark_known() marks each location that is read, so those that are left do not exist. */
		if (!intern_ids_known(ids[i]))
			wanted[wanted_count++] = ids[i];
	if (wanted_count > 0)
	{
		/* A location of this transaction may be undone, so an abort drops all marks. */
		some_are_own = true;
		pfs_names_read_ids(&pfs_location_names, wanted, wanted_count, mark_known, NULL);
	}
	for (uint32 i = 0; i < wanted_count; i++)
		if (!intern_ids_known(wanted[i]))
			ereport(ERROR,
					(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
					 errmsg("location with id %d does not exist", wanted[i]),
					 errhint("Intern it first, in this database and under its current epoch.")));
	pfree(wanted);
}
