/*
 * verify_table.c
 *		Checks a segment, one column after the other, then the order of its rows.
 *
 * Code that reads segments raises errors for damage. So each segment is read in a subtransaction,
 * which is rolled back on error and releases whatever the code had open.
 *
 * 1. The metapage, then the directory as a whole (verify_directory.c).
 * 2. Each segment: its columns block by block, whose values must lie in the ranges of header, block
 *    and directory; the order of its rows; its sums, computed again from the rows; its keys, if the
 *    caller checks them.
 * 3. Roll-ups, against the segments that they name (rollup_verify.c).
 */
#include "store/compact/verify_table.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/attempt.h"
#include "codec/segment.h"
#include "store/compact/rollup_verify.h"
#include "store/segment/codec_server.h"
#include "store/segment/directory.h"
#include "store/segment/row_order.h"
#include "store/segment/segment_input.h"
#include "store/segment/storage.h"
#include "store/segment/value.h"

#define KEY_PARTS 3

typedef struct Verification
{
	Relation relation;
	PfsRowKey key;
	const PfsKeyCheck *keys; /* may be NULL */
	PfsReportProblem report;
	void *arg;
	const PfsSegmentRow *row; /* the segment that is being read; NULL: none yet */
	int stream;				  /* the stream that is being read */
} Verification;

typedef struct DecodedBlock
{
	int64 values[PFS_BLOCK_ROWS];
	bool nulls[PFS_BLOCK_ROWS];
	bool has_nulls;
} DecodedBlock;

static void
verification_report(const Verification *verification, const char *problem)
{
	verification->report(verification->arg,
						 verification->row == NULL ? 0 : verification->row->segment_no,
						 verification->stream, problem);
}

static void
read_block(const Verification *verification, PfsSegmentReader *reader, int column, uint32 block,
		   DecodedBlock *decoded)
{
	PfsError error;
	PfsStatus status = pfs_reader_block(reader, column, block, decoded->values, decoded->nulls,
										&decoded->has_nulls, &error);

	if (status != PFS_OK)
		pfs_segment_error(verification->relation, verification->row->segment_no, status, &error);
}

static uint32
rows_of_block(const PfsSegmentReader *reader, uint32 block)
{
	return Min(PFS_BLOCK_ROWS, pfs_reader_row_count(reader) - block * PFS_BLOCK_ROWS);
}

static PfsRange
range_of(const DecodedBlock *decoded, uint32 count)
{
	PfsRange range = { false, 0, 0 };

	for (uint32 i = 0; i < count; i++)
	{
		if (decoded->has_nulls && decoded->nulls[i])
			continue;
		if (!range.known)
			range = (PfsRange){ true, decoded->values[i], decoded->values[i] };
		range.min = Min(range.min, decoded->values[i]);
		range.max = Max(range.max, decoded->values[i]);
	}
	return range;
}

static void
extend_range(PfsRange *whole, const PfsRange *part)
{
	if (!part->known)
		return;
	if (!whole->known)
		*whole = *part;
	whole->min = Min(whole->min, part->min);
	whole->max = Max(whole->max, part->max);
}

static bool
same_range(const PfsRange *a, const PfsRange *b)
{
	return a->known == b->known && (!a->known || (a->min == b->min && a->max == b->max));
}

/*
 * Returns true if the range stored with a block is right. For grouped columns the stored range may
 * be wider than the values.
 */
static bool
claim_holds(const PfsRange *claimed, const PfsRange *actual, bool is_bounds)
{
	/* Without values there are no bounds, so the claim must be exact. */
	if (!is_bounds || !actual->known)
		return same_range(claimed, actual);
	return claimed->known && claimed->min <= actual->min && claimed->max >= actual->max;
}

/*
 * Reads a column and compares its values with the ranges of block and header. Reports the first
 * mismatch. Returns the range of all values.
 */
static PfsRange
segment_check_column(Verification *verification, PfsSegmentInput *input, PfsSegmentPart part,
					 int column)
{
	PfsSegmentReader *reader = pfs_segment_part_reader(input, part);
	DecodedBlock *decoded = palloc(sizeof(DecodedBlock));
	PfsRange whole = { false, 0, 0 };
	PfsRange claimed = { false, 0, 0 };
	bool told = false;
	int nulls_stream;

	pfs_reader_column_streams(reader, column, &verification->stream, &nulls_stream);
	verification->stream += (int) pfs_segment_first_stream(input, part);
	pfs_segment_load_part_column(input, part, column);
	for (uint32 block = 0; block < pfs_reader_block_count(reader); block++)
	{
		PfsRange range;
		bool holds;

		CHECK_FOR_INTERRUPTS();
		read_block(verification, reader, column, block, decoded);
		range = range_of(decoded, rows_of_block(reader, block));
		claimed = (PfsRange){ false, 0, 0 };
		claimed.known = pfs_reader_block_range(reader, column, block, &claimed.min, &claimed.max);
		holds = claim_holds(&claimed, &range, pfs_reader_range_is_bounds(reader, column));
		/* One problem per column is enough; a damaged stream would report every block. */
		if (!told && !holds)
			verification_report(verification,
								psprintf("block %u does not have the least and greatest value that "
										 "its entry names",
										 block));
		told |= !holds;
		extend_range(&whole, &range);
	}
	claimed = (PfsRange){ false, 0, 0 };
	claimed.known = pfs_reader_column_range(reader, column, &claimed.min, &claimed.max);
	/* The range of the header follows from the blocks, so it is checked only if these are right. */
	if (!told && !same_range(&whole, &claimed))
		verification_report(verification,
							"the header names another least or greatest value than the rows have");
	return whole;
}

static void
check_directory_range(Verification *verification, const char *name, const PfsRange *stored,
					  const PfsRange *actual)
{
	verification->stream = -1;
	if (!same_range(stored, actual))
		verification_report(verification,
							psprintf("the directory names another range of %s than the rows have",
									 name));
}

/* Returns true if a row sorts before the row before it. Nulls sort as 0. */
static bool
sorts_before(DecodedBlock *const *parts, uint32 row, const int64 *before)
{
	for (int part = 0; part < KEY_PARTS; part++)
	{
		int64 value =
			parts[part]->has_nulls && parts[part]->nulls[row] ? 0 : parts[part]->values[row];

		if (value != before[part])
			return value < before[part];
	}
	return false;
}

/*
 * Checks the order of rows. Only the sums show by which columns a segment was sorted when it was
 * written, so a segment without them is not checked.
 */
static void
check_order(Verification *verification, PfsSegmentInput *input)
{
	const PfsSegmentReader *pairs = pfs_segment_part_reader(input, PFS_PART_PAIRS);
	PfsSegmentReader *reader = pfs_segment_reader(input);
	AttrNumber key[KEY_PARTS] = { verification->key.series, verification->key.stack,
								  verification->key.time };
	int64 before[KEY_PARTS] = { PG_INT64_MIN, PG_INT64_MIN, PG_INT64_MIN };
	int columns[KEY_PARTS];
	DecodedBlock *parts[KEY_PARTS];

	/* A renamed column changes the key, but not the order of rows that were written before. */
	if (pairs == NULL || !pfs_summary_fits(verification->relation, pairs, PFS_PART_PAIRS))
		return;
	for (int part = 0; part < KEY_PARTS; part++)
	{
		columns[part] =
			key[part] == InvalidAttrNumber ? -1 : pfs_reader_find_column(reader, key[part]);
		if (columns[part] < 0)
			return;
		parts[part] = palloc(sizeof(DecodedBlock));
	}
	verification->stream = -1;
	for (uint32 block = 0; block < pfs_reader_block_count(reader); block++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int part = 0; part < KEY_PARTS; part++)
			read_block(verification, reader, columns[part], block, parts[part]);
		for (uint32 row = 0; row < rows_of_block(reader, block); row++)
		{
			if (sorts_before(parts, row, before))
			{
				/* Later rows would be out of order, too. */
				verification_report(verification,
									psprintf("row %u of block %u is out of order", row, block));
				return;
			}
			for (int part = 0; part < KEY_PARTS; part++)
				before[part] = parts[part]->has_nulls && parts[part]->nulls[row]
								   ? 0
								   : parts[part]->values[row];
		}
	}
}

/* Decodes all rows of the table's live columns, whose streams are loaded. */
static PfsRows
decode_rows(const Verification *verification, PfsSegmentInput *input)
{
	TupleDesc desc = RelationGetDescr(verification->relation);
	PfsSegmentReader *reader = pfs_segment_reader(input);
	PfsRows rows = { 0 };
	PfsColumn *columns = palloc(sizeof(PfsColumn) * Max(desc->natts, 1));
	DecodedBlock *decoded = palloc(sizeof(DecodedBlock));

	rows.row_count = pfs_reader_row_count(reader);
	rows.columns = columns;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		int position = pfs_reader_find_column(reader, attribute->attnum);
		int64 *values;
		bool any_null = false;

		/* Dropped columns are not summed either. */
		if (attribute->attisdropped || position < 0)
			continue;
		values = palloc_extended(sizeof(int64) * (Size) rows.row_count, MCXT_ALLOC_HUGE);
		for (uint32 block = 0; block < pfs_reader_block_count(reader); block++)
		{
			CHECK_FOR_INTERRUPTS();
			read_block(verification, reader, position, block, decoded);
			any_null |= decoded->has_nulls;
			memcpy(values + (Size) block * PFS_BLOCK_ROWS, decoded->values,
				   sizeof(int64) * rows_of_block(reader, block));
		}
		/* columns with nulls are not summed, so the null flags of rows are not needed */
		columns[rows.column_count++] =
			(PfsColumn){ attribute->attnum, pfs_value_width(pfs_value_kind(attribute->atttypid)),
						 values, any_null ? (const bool *) decoded->nulls : NULL };
	}
	return rows;
}

/* Compares a stored column of sums, loaded already, with the sums of the rows. */
static bool
equals_column(const Verification *verification, PfsSegmentReader *reader, const PfsColumn *expected)
{
	int column = pfs_reader_find_column(reader, expected->attnum);
	DecodedBlock *decoded = palloc(sizeof(DecodedBlock));

	for (uint32 block = 0; column >= 0 && block < pfs_reader_block_count(reader); block++)
	{
		CHECK_FOR_INTERRUPTS();
		read_block(verification, reader, column, block, decoded);
		if (decoded->has_nulls ||
			/* Sums are exact, so they must be equal bit by bit. */
			memcmp(decoded->values, expected->values + (Size) block * PFS_BLOCK_ROWS,
				   sizeof(int64) * rows_of_block(reader, block)) != 0)
			return false;
	}
	return true;
}

/*
 * Returns the reader of the rows if a table of sums has as many rows as the rows have groups;
 * otherwise NULL. If these numbers are equal only by chance, the result does not affect the sums.
 */
static const PfsSegmentReader *
base_of_sums(PfsSegmentInput *input, const PfsSegmentReader *sums)
{
	const PfsSegmentReader *rows = pfs_segment_reader(input);

	return pfs_reader_group_count(rows) == pfs_reader_row_count(sums) ? rows : NULL;
}

/* Reads a table of sums, and computes it again from the rows. */
static void
check_sums(Verification *verification, PfsSegmentInput *input, const PfsRows *rows,
		   PfsSegmentPart part)
{
	PfsSegmentReader *reader = pfs_segment_part_reader(input, part);
	PfsRows sums;
	bool equal;

	for (uint32 column = 0; column < pfs_reader_column_count(reader); column++)
		segment_check_column(verification, input, part, (int) column);
	verification->stream = (int) pfs_segment_first_stream(input, part);
	if (!pfs_summary_fits(verification->relation, reader, part))
		return;
	/*
	 * The limit is the number of rows, because the limits may have been different when the segment
	 * was written.
	 */
	equal = pfs_summary_make(verification->relation, rows, part, rows->row_count,
							 base_of_sums(input, reader), &sums) &&
			sums.row_count == pfs_reader_row_count(reader);
	for (uint32 i = 0; equal && i < sums.column_count; i++)
		equal = equals_column(verification, reader, &sums.columns[i]);
	if (!equal)
		verification_report(verification,
							part == PFS_PART_PAIRS
								? "the sums by series and stack are not those of the rows"
								: "the sums by series and time are not those of the rows");
}

/* Compares the segment's sums with its rows, and their size with that in the directory. */
static void
check_summary(Verification *verification, PfsSegmentInput *input)
{
	int64 byte_count = 0;
	PfsRows rows;

	verification->stream = -1;
	if (verification->row->summary != NULL)
		rows = decode_rows(verification, input);
	for (PfsSegmentPart part = PFS_PART_ROWS + 1; part < PFS_PART_COUNT; part++)
	{
		PfsSegmentReader *reader = pfs_segment_part_reader(input, part);

		if (reader == NULL)
			continue;
		for (uint32 stream = 0; stream < pfs_reader_stream_count(reader); stream++)
			byte_count += (int64) pfs_reader_stream_length(reader, stream);
		check_sums(verification, input, &rows, part);
	}
	verification->stream = -1;
	if (byte_count != verification->row->summary_byte_count)
		verification_report(
			verification, "the directory names another number of bytes of sums than their headers");
}

/* Passes the keys of all rows to the caller's check. */
static void
check_keys(Verification *verification, PfsSegmentReader *reader)
{
	int series = pfs_reader_find_column(reader, verification->key.series);
	int stack = pfs_reader_find_column(reader, verification->key.stack);
	DecodedBlock *decoded[2] = { palloc(sizeof(DecodedBlock)), palloc(sizeof(DecodedBlock)) };
	const char *problem;

	/* The caller gave no check, or the segment was written before the table had these columns. */
	if (verification->keys == NULL || series < 0 || stack < 0)
		return;
	verification->stream = -1;
	verification->keys->begin(verification->keys->arg);
	for (uint32 block = 0; block < pfs_reader_block_count(reader); block++)
	{
		CHECK_FOR_INTERRUPTS();
		read_block(verification, reader, series, block, decoded[0]);
		read_block(verification, reader, stack, block, decoded[1]);
		verification->keys->take(verification->keys->arg, decoded[0]->values, decoded[1]->values,
								 rows_of_block(reader, block));
	}
	problem = verification->keys->tell(verification->keys->arg);
	if (problem != NULL)
		verification_report(verification, problem);
}

/*
 * Checks one segment: its size, each column, the ranges in the directory, the order of rows, the
 * tables of sums, and the ids.
 */
static void
check_segment(Verification *verification)
{
	const PfsSegmentRow *row = verification->row;
	PfsSegmentRow copy;
	PfsSegmentInput *input;
	PfsSegmentReader *reader;
	PfsRange time = { false, 0, 0 };
	PfsRange series = { false, 0, 0 };
	int64 byte_count = 0;

	verification->stream = -1;
	/* Fields of a scanned row are not detoasted. */
	pfs_segment_row_copy(&copy, row);
	input = pfs_segment_open(verification->relation, &copy);
	reader = pfs_segment_reader(input);
	for (uint32 stream = 0; stream < pfs_reader_stream_count(reader); stream++)
		byte_count += (int64) pfs_reader_stream_length(reader, stream);
	/* Other checks follow even after a problem, so that all problems are reported. */
	if (byte_count != row->byte_count)
		verification_report(verification,
							"the directory names another number of bytes than the header");

	for (uint32 column = 0; column < pfs_reader_column_count(reader); column++)
	{
		PfsRange range = segment_check_column(verification, input, PFS_PART_ROWS, (int) column);

		if ((int) column == pfs_reader_find_column(reader, verification->key.time))
			time = range;
		if ((int) column == pfs_reader_find_column(reader, verification->key.series))
			series = range;
	}
	/* A segment written before the column was added has no values to compare. */
	if (verification->key.time != InvalidAttrNumber &&
		pfs_reader_find_column(reader, verification->key.time) >= 0)
		check_directory_range(verification, "time", &row->time, &time);
	if (verification->key.series != InvalidAttrNumber &&
		pfs_reader_find_column(reader, verification->key.series) >= 0)
		check_directory_range(verification, "series_id", &row->key, &series);
	check_order(verification, input);
	check_summary(verification, input);
	check_keys(verification, reader);
}

typedef struct Check
{
	Verification *verification;
	void (*check)(Verification *verification);
} Check;

static bool
check_begin(void *arg)
{
	const Check *check = arg;

	check->check(check->verification);
	return true;
}

/* Runs a check in a subtransaction, and reports the damage that stops it; raises other errors. */
static void
run_check(Verification *verification, void (*function)(Verification *))
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore verify", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	Check check = { verification, function };
	ErrorData *error = pfs_subtransaction(check_begin, &check);

	/* A cancelled query or a full disk is no damage of the segment. */
	if (error != NULL && error->sqlerrcode != ERRCODE_DATA_CORRUPTED &&
		error->sqlerrcode != ERRCODE_FEATURE_NOT_SUPPORTED &&
		error->sqlerrcode != ERRCODE_INTERNAL_ERROR)
		ReThrowError(error);
	if (error != NULL)
		verification_report(verification, error->detail == NULL
											  ? error->message
											  : psprintf("%s. %s", error->message, error->detail));
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
}

static void
table_check_metapage(Verification *verification)
{
	pfs_storage_id(verification->relation);
}

static void
check_directory(Verification *verification)
{
	pfs_verify_directory(verification->relation, GetActiveSnapshot(), verification->report,
						 verification->arg);
}

static void
tell_of_rollup(void *arg, const char *problem)
{
	verification_report(arg, problem);
}

static void
check_rollups(Verification *verification)
{
	pfs_rollups_verify(verification->relation, GetActiveSnapshot(), tell_of_rollup, verification);
}

void
pfs_verify_table(Relation relation, Snapshot snapshot, const PfsKeyCheck *keys,
				 PfsReportProblem report, void *arg)
{
	Verification verification = { 0 };
	PfsDirectoryScan *scan;
	PfsSegmentRow row;
	bool is_readable;

	verification.relation = relation;
	verification.key = pfs_row_key(relation);
	verification.keys = keys;
	verification.report = report;
	verification.arg = arg;
	verification.stream = -1;
	/*
	 * A damaged metapage stops here, because no directory row can be found without the storage id.
	 */
	run_check(&verification, table_check_metapage);
	/* relation->rd_amcache is set only after the metapage has been read */
	is_readable = relation->rd_amcache != NULL;
	if (!is_readable)
		return;

	scan = pfs_directory_scan_begin(pfs_storage_id(relation), snapshot);
	while (pfs_directory_scan_next(scan, &row))
	{
		verification.row = &row;
		run_check(&verification, check_segment);
	}
	pfs_directory_scan_end(scan);
	/* From here on problems concern the table, and not a segment. */
	verification.row = NULL;
	verification.stream = -1;
	run_check(&verification, check_directory);
	run_check(&verification, check_rollups);
}
