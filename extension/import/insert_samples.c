/*
 * insert_samples.c
 *		Inserts rows into profstore.samples. COPY is used, because it routes rows to partitions and
 *		stores many at a time; distributed tables need INSERT.
 */
#include "profstore.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "commands/copy.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "port/pg_bswap.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "base/distributed.h"
#include "base/privileges.h"
#include "base/relations.h"
#include "import/insert_samples.h"
#include "store/segment/storage.h"

/* Head of COPY's binary format: signature, flags, and length of the header extension. */
static const char header[19] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";

#define COLUMN_COUNT 4
#define TRAILER		 (-1)

/* Most rows of one INSERT into distributed tables. */
#define INSERT_ROWS 65536

/* Bytes of a row in COPY's binary format: fields with their lengths, in network order. */
#define ROW_BYTES (2 + COLUMN_COUNT * 4 + 8 + 4 + 8 + 8)

/* The source of COPY's data. It is static, because COPY passes no argument to its callback. */
typedef struct Feed
{
	const PfsSampleRow *rows;
	uint32 count;
	uint32 next;   /* next row to pack */
	bool finished; /* the trailer was packed */
	uint32 at;
	uint32 length;
	char packed[ROW_BYTES];
} Feed;

static Feed *feed;

static char *
put_int16(char *at, int16 value)
{
	uint16 swapped = pg_hton16((uint16) value);

	memcpy(at, &swapped, sizeof(swapped));
	return at + sizeof(swapped);
}

static char *
put_int32(char *at, int32 value)
{
	uint32 swapped = pg_hton32((uint32) value);

	memcpy(at, &swapped, sizeof(swapped));
	return at + sizeof(swapped);
}

static char *
put_int64_field(char *at, int64 value)
{
	uint64 swapped = pg_hton64((uint64) value);

	at = put_int32(at, sizeof(swapped));
	memcpy(at, &swapped, sizeof(swapped));
	return at + sizeof(swapped);
}

/* Packs the next row, or the trailer; returns false at the end. */
static bool
pack_next(void)
{
	char *at = feed->packed;

	if (feed->finished)
		return false;
	if (feed->next == feed->count)
	{
		at = put_int16(at, TRAILER);
		feed->finished = true;
	}
	else
	{
		const PfsSampleRow *row = &feed->rows[feed->next++];

		at = put_int16(at, COLUMN_COUNT);
		at = put_int64_field(at, row->time);
		at = put_int32(at, sizeof(int32));
		at = put_int32(at, row->series_id);
		at = put_int64_field(at, row->stack_id);
		at = put_int64_field(at, row->value);
	}
	feed->at = 0;
	feed->length = (uint32) (at - feed->packed);
	return true;
}

/* Callback of COPY: provides at least min_bytes, unless the data end before. */
static int
give_bytes(void *buffer, int min_bytes, int max_bytes)
{
	int given = 0;

	while (given < max_bytes && (feed->at < feed->length || pack_next()))
	{
		uint32 bytes = Min(feed->length - feed->at, (uint32) (max_bytes - given));

		memcpy((char *) buffer + given, feed->packed + feed->at, bytes);
		feed->at += bytes;
		given += (int) bytes;
	}
	return given;
}

static void
samples_copy_rows(Relation table)
{
	ParseState *parse = make_parsestate(NULL);
	List *columns = list_make4(makeString(pstrdup("time")), makeString(pstrdup("series_id")),
							   makeString(pstrdup("stack_id")), makeString(pstrdup("value")));
	List *options =
		list_make1(makeDefElem(pstrdup("format"), (Node *) makeString(pstrdup("binary")), -1));
	CopyFromState copy;

	addRangeTableEntryForRelation(parse, table, RowExclusiveLock, NULL, false, false);
	copy = BeginCopyFrom(parse, table, NULL, NULL, false, give_bytes, columns, options);
	CopyFrom(copy);
	EndCopyFrom(copy);
	free_parsestate(parse);
}

/* Inserts through the planner, by which Citus routes rows to shards. */
static void
samples_insert_rows(const PfsSampleRow *rows, uint32 count)
{
	static const Oid element_types[COLUMN_COUNT] = { TIMESTAMPTZOID, INT4OID, INT8OID, INT8OID };
	Oid types[COLUMN_COUNT] = { TIMESTAMPTZARRAYOID, INT4ARRAYOID, INT8ARRAYOID, INT8ARRAYOID };
	Datum *elements[COLUMN_COUNT];
	Datum values[COLUMN_COUNT];

	for (int column = 0; column < COLUMN_COUNT; column++)
		elements[column] = PFS_ARRAY(Datum, count);
	for (uint32 i = 0; i < count; i++)
	{
		elements[0][i] = TimestampTzGetDatum(rows[i].time);
		elements[1][i] = Int32GetDatum(rows[i].series_id);
		elements[2][i] = Int64GetDatum(rows[i].stack_id);
		elements[3][i] = Int64GetDatum(rows[i].value);
	}
	for (int column = 0; column < COLUMN_COUNT; column++)
	{
		int16 length;
		bool by_value;
		char align;

		get_typlenbyvalalign(element_types[column], &length, &by_value, &align);
		values[column] =
			PointerGetDatum(construct_array(elements[column], (int) count, element_types[column],
											length, by_value, align));
	}
	SPI_connect();
	if (SPI_execute_with_args("INSERT INTO profstore.samples (time, series_id, stack_id, value) "
							  "SELECT u.time, u.series_id, u.stack_id, u.value FROM ROWS FROM ("
							  "pg_catalog.unnest($1), pg_catalog.unnest($2), "
							  "pg_catalog.unnest($3), pg_catalog.unnest($4)) "
							  "AS u (time, series_id, stack_id, value)",
							  COLUMN_COUNT, types, values, NULL, false, 0) != SPI_OK_INSERT)
		elog(ERROR, "could not insert samples");
	SPI_finish();
}

/* Inserts the rows in batches, whose arrays have a bounded size. */
static void
samples_insert_spread(const PfsSampleRow *rows, uint32 count)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore import", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);

	pfs_require_coordinator();
	for (uint32 done = 0; done < count; done += Min(count - done, INSERT_ROWS))
	{
		samples_insert_rows(rows + done, Min(count - done, INSERT_ROWS));
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

void
pfs_samples_insert(const PfsSampleRow *rows, uint32 count)
{
	Relation table = pfs_table_open("samples", RowExclusiveLock);
	Feed here = { .rows = rows, .count = count, .length = sizeof(header) };
	Feed *outer = feed;

	StaticAssertStmt(sizeof(header) <= ROW_BYTES, "the header must fit");
	memcpy(here.packed, header, sizeof(header));
	pfs_require_all_rows(RelationGetRelid(table), ACL_INSERT);
	if (pfs_samples_are_spread())
	{
		table_close(table, NoLock);
		samples_insert_spread(rows, count);
		return;
	}
	pfs_require_local(RelationGetRelid(table), "import into");
	PG_TRY();
	{
		feed = &here;
		samples_copy_rows(table);
	}
	PG_FINALLY();
	{
		/* restore the outer import, because a trigger may have run this one inside it */
		feed = outer;
	}
	PG_END_TRY();
	table_close(table, NoLock);
}
