/*
 * verify.c
 *		The checks of a segment, one column after the other, then the order of its rows.
 *
 * Reading code raises errors for damage. So each segment is read in a subtransaction that is rolled
 * back on error, which releases whatever the reading code had open.
 */
#include "store/verify.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"

#include "codec/segment.h"
#include "store/directory.h"
#include "store/row_order.h"
#include "store/segment_io.h"
#include "store/storage.h"

#define KEY_PARTS 3

typedef struct Verification
{
	Relation relation;
	PfsRowKey key;
	PfsReportProblem report;
	void *arg;
	const PfsSegmentRow *row; /* the segment that is being read, NULL: none yet */
	int stream;				  /* the stream that is being read */
} Verification;

typedef struct Lanes
{
	int64 values[PFS_BLOCK_ROWS];
	bool nulls[PFS_BLOCK_ROWS];
	bool has_nulls;
} Lanes;

static void
tell(const Verification *verification, const char *problem)
{
	verification->report(verification->arg,
						 verification->row == NULL ? 0 : verification->row->segment_no,
						 verification->stream, problem);
}

static void
read_block(const Verification *verification, PfsSegmentReader *reader, int column, uint32 block,
		   Lanes *lanes)
{
	PfsError error;
	PfsStatus status = pfs_reader_block(reader, column, block, lanes->values, lanes->nulls,
										&lanes->has_nulls, &error);

	if (status != PFS_OK)
		pfs_segment_error(verification->relation, verification->row->segment_no, status, &error);
}

static uint32
rows_of_block(const PfsSegmentRow *row, uint32 block)
{
	return Min(PFS_BLOCK_ROWS, (uint32) row->row_count - block * PFS_BLOCK_ROWS);
}

static PfsRange
range_of(const Lanes *lanes, uint32 count)
{
	PfsRange range = { false, 0, 0 };

	for (uint32 i = 0; i < count; i++)
	{
		if (lanes->has_nulls && lanes->nulls[i])
			continue;
		if (!range.known)
			range = (PfsRange){ true, lanes->values[i], lanes->values[i] };
		range.min = Min(range.min, lanes->values[i]);
		range.max = Max(range.max, lanes->values[i]);
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
 * Reads a column and compares its values with the ranges that stand for them; tells the first that
 * does not fit.
 */
static PfsRange
check_column(Verification *verification, PfsSegmentInput *input, int column)
{
	PfsSegmentReader *reader = pfs_segment_reader(input);
	Lanes *lanes = palloc(sizeof(Lanes));
	PfsRange whole = { false, 0, 0 };
	PfsRange claimed = { false, 0, 0 };
	bool told = false;
	int nulls_stream;

	pfs_reader_column_streams(reader, column, &verification->stream, &nulls_stream);
	pfs_segment_load_column(input, column);
	for (uint32 block = 0; block < pfs_reader_block_count(reader); block++)
	{
		PfsRange range;

		CHECK_FOR_INTERRUPTS();
		read_block(verification, reader, column, block, lanes);
		range = range_of(lanes, rows_of_block(verification->row, block));
		claimed = (PfsRange){ false, 0, 0 };
		claimed.known = pfs_reader_block_range(reader, column, block, &claimed.min, &claimed.max);
		if (!told && !same_range(&range, &claimed))
			tell(verification, psprintf("block %u does not have the least and greatest value that "
										"its entry names",
										block));
		told |= !same_range(&range, &claimed);
		extend_range(&whole, &range);
	}
	claimed = (PfsRange){ false, 0, 0 };
	claimed.known = pfs_reader_column_range(reader, column, &claimed.min, &claimed.max);
	if (!told && !same_range(&whole, &claimed))
		tell(verification, "the header names another least or greatest value than the rows have");
	return whole;
}

static void
check_directory_range(Verification *verification, const char *name, const PfsRange *stored,
					  const PfsRange *actual)
{
	verification->stream = -1;
	if (!same_range(stored, actual))
		tell(verification,
			 psprintf("the directory names another range of %s than the rows have", name));
}

/* Whether a row sorts before the one before it. Nulls sort as 0. */
static bool
sorts_before(Lanes *const *parts, uint32 row, const int64 *before)
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

static void
check_order(Verification *verification, PfsSegmentInput *input)
{
	PfsSegmentReader *reader = pfs_segment_reader(input);
	AttrNumber key[KEY_PARTS] = { verification->key.series, verification->key.stack,
								  verification->key.time };
	int64 before[KEY_PARTS] = { PG_INT64_MIN, PG_INT64_MIN, PG_INT64_MIN };
	int columns[KEY_PARTS];
	Lanes *parts[KEY_PARTS];

	for (int part = 0; part < KEY_PARTS; part++)
	{
		columns[part] =
			key[part] == InvalidAttrNumber ? -1 : pfs_reader_find_column(reader, key[part]);
		if (columns[part] < 0)
			return;
		parts[part] = palloc(sizeof(Lanes));
	}
	verification->stream = -1;
	for (uint32 block = 0; block < pfs_reader_block_count(reader); block++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int part = 0; part < KEY_PARTS; part++)
			read_block(verification, reader, columns[part], block, parts[part]);
		for (uint32 row = 0; row < rows_of_block(verification->row, block); row++)
		{
			if (sorts_before(parts, row, before))
			{
				tell(verification, psprintf("row %u of block %u is out of order", row, block));
				return;
			}
			for (int part = 0; part < KEY_PARTS; part++)
				before[part] = parts[part]->has_nulls && parts[part]->nulls[row]
								   ? 0
								   : parts[part]->values[row];
		}
	}
}

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
	pfs_segment_row_copy(&copy, row);
	input = pfs_segment_open(verification->relation, &copy);
	reader = pfs_segment_reader(input);
	for (uint32 stream = 0; stream < pfs_reader_stream_count(reader); stream++)
		byte_count += (int64) pfs_reader_stream_length(reader, stream);
	if (byte_count != row->byte_count)
		tell(verification, "the directory names another number of bytes than the header");

	for (uint32 column = 0; column < pfs_reader_column_count(reader); column++)
	{
		PfsRange range = check_column(verification, input, (int) column);

		if ((int) column == pfs_reader_find_column(reader, verification->key.time))
			time = range;
		if ((int) column == pfs_reader_find_column(reader, verification->key.series))
			series = range;
	}
	if (verification->key.time != InvalidAttrNumber &&
		pfs_reader_find_column(reader, verification->key.time) >= 0)
		check_directory_range(verification, "time", &row->time, &time);
	if (verification->key.series != InvalidAttrNumber &&
		pfs_reader_find_column(reader, verification->key.series) >= 0)
		check_directory_range(verification, "series_id", &row->key, &series);
	check_order(verification, input);
}

/* Reports the error in hand if it speaks of damage, else raises it again. */
static void
report_error(const Verification *verification)
{
	ErrorData *error = CopyErrorData();

	if (error->sqlerrcode != ERRCODE_DATA_CORRUPTED &&
		error->sqlerrcode != ERRCODE_FEATURE_NOT_SUPPORTED &&
		error->sqlerrcode != ERRCODE_INTERNAL_ERROR)
		ReThrowError(error);
	FlushErrorState();
	tell(verification, error->detail == NULL ? error->message
											 : psprintf("%s. %s", error->message, error->detail));
}

/* Runs a check in a subtransaction, which ends with whatever damage stops it. */
static void
run_check(Verification *verification, void (*check)(Verification *))
{
	MemoryContext outer = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	MemoryContext context =
		AllocSetContextCreate(outer, "profstore verify", ALLOCSET_DEFAULT_SIZES);

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		check(verification);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		report_error(verification);
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(outer);
	CurrentResourceOwner = owner;
	MemoryContextDelete(context);
}

static void
check_metapage(Verification *verification)
{
	pfs_storage_id(verification->relation);
}

void
pfs_verify_table(Relation relation, Snapshot snapshot, PfsReportProblem report, void *arg)
{
	Verification verification = { 0 };
	PfsDirectoryScan *scan;
	PfsSegmentRow row;
	bool is_readable;

	verification.relation = relation;
	verification.key = pfs_row_key(relation);
	verification.report = report;
	verification.arg = arg;
	verification.stream = -1;
	run_check(&verification, check_metapage);
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
}
