/*
 * keep_chunks.c
 *		Joins the sums of blocks to the sums of a chunk, and returns a kept chunk as blocks.
 *
 * Blocks are sorted by series, and each has one row per series and time. So only the rows of a
 * block's last series may still grow: the first rows of the next block are merged with them.
 */
#include "store/scan/keep_chunks.h"

#include "common/int.h"

#include "store/scan/group_sums.h"
#include "store/scan/read_block.h"
#include "store/segment/storage.h"

/*
 * Sets *found to the filter on a set of series, or to NULL if there is none. Returns false if any
 * other filter applies to the open unit.
 */
static bool
chunks_find_series_filter(const PfsBlockScan *scan, const PfsScanFilter **found)
{
	*found = NULL;
	for (int i = 0; i < scan->unit_filter_count; i++)
	{
		const PfsScanFilter *filter = &scan->filters[i];
		const PfsBlockFilter *asked = &filter->filter;

		if (filter->is_idle_in_unit)
			continue;
		/*
		 * A kept chunk records a set of series and nothing else, so any other filter would not be
		 * recorded.
		 */
		if (*found != NULL || asked->attnum != scan->key.series || asked->keys == NULL ||
			asked->key_shift != 0 || asked->keeps_nulls || filter->keys != NULL ||
			asked->low != PG_INT64_MIN || asked->high != PG_INT64_MAX)
			return false;
		*found = filter;
	}
	return true;
}

void
pfs_scan_keep_unit(PfsBlockScan *scan)
{
	PfsKeeping *keeping = &scan->keeping;
	const PfsScanFilter *filter;
	int64 min;
	int64 max;

	keeping->is_on = false;
	keeping->has_all_series = true;
	if (scan->unit_is_skipped || scan->input == NULL || scan->verdicts == NULL ||
		scan->verdicts->recall == NULL || scan->added == NULL || !scan->has_groups ||
		pfs_scan_current_unit(scan)->is_rollup || !chunks_find_series_filter(scan, &filter))
		return;
	for (int i = 0; i < scan->attribute_count; i++)
		if (scan->attributes[i]->position < 0 || scan->attributes[i]->may_be_null)
			return;
	/*
	 * Only series of the filter within the unit's range matter: the filter may have thousands, of
	 * which the unit has few.
	 */
	if (filter != NULL &&
		!pfs_reader_column_range(scan->reader, scan->added_series->position, &min, &max))
		return;
	keeping->is_on = true;
	if (filter != NULL)
	{
		const PfsBlockFilter *asked = &filter->filter;
		uint32 first = pfs_lower_bound(asked->keys, 0, asked->key_count, min);
		uint32 end = first;

		while (end < asked->key_count && asked->keys[end] <= max)
			end++;
		keeping->has_all_series = false;
		keeping->wanted = (PfsNumbers){ end - first, asked->keys + first };
	}
}

static const PfsNumbers *
wanted_series(const PfsBlockScan *scan)
{
	return scan->keeping.has_all_series ? NULL : &scan->keeping.wanted;
}

static int64
column_numbers(const PfsBlockScan *scan)
{
	const PfsScanColumn *columns[] = { scan->added_series, scan->added_times, scan->added,
									   scan->judged };
	uint64 numbers = 0;

	for (size_t i = 0; i < lengthof(columns); i++)
		/*
		 * Four attribute numbers of 16 bits make one part of the key: sums of another column are
		 * another chunk.
		 */
		numbers = numbers << 16 | (uint16) columns[i]->attnum;
	return (int64) numbers;
}

static PfsChunkKey
current_chunk(const PfsBlockScan *scan)
{
	return (PfsChunkKey){ .storage_id = pfs_storage_id(scan->relation),
						  .segment_no = pfs_scan_current_unit(scan)->row.segment_no,
						  .columns = column_numbers(scan),
						  .chunk = scan->block / PFS_CHUNK_BLOCKS };
}

/* Returns the number of the last block of the current chunk. */
static int64
last_block(const PfsBlockScan *scan)
{
	return Min((scan->block / PFS_CHUNK_BLOCKS + 1) * PFS_CHUNK_BLOCKS, scan->block_end) - 1;
}

bool
pfs_scan_enter_chunk(PfsBlockScan *scan)
{
	PfsKeeping *keeping = &scan->keeping;
	PfsChunkKey key = current_chunk(scan);
	const PfsKeptChunk *chunk = scan->verdicts->recall(scan->verdicts->state, &key);

	keeping->notes = false;
	/*
	 * The chunk may have been kept for fewer series than this scan wants. Then it is recorded anew.
	 */
	if (chunk == NULL || !pfs_kept_chunk_serves(chunk, wanted_series(scan)))
	{
		keeping->notes = true;
		keeping->source_rows = keeping->row_count = keeping->last_run = 0;
		return false;
	}
	keeping->chunk = chunk;
	keeping->next_run = keeping->next_row = 0;
	/* The next step leaves the chunk, so all of its blocks are skipped. */
	scan->counters.blocks_skipped += (uint64) (last_block(scan) - scan->block + 1);
	scan->block = last_block(scan);
	return true;
}

/* Appends rows of the kept chunk to the columns. */
static void
chunk_copy_rows(PfsBlockScan *scan, int64 series, uint32 first, uint32 count)
{
	const PfsKeptChunk *chunk = scan->keeping.chunk;
	uint32 to = scan->selected_count;

	for (uint32 i = 0; i < count; i++)
	{
		scan->added_series->values[to + i] = series;
		scan->added_times->values[to + i] = chunk->least_time + pfs_kept_times(chunk)[first + i];
		scan->added->values[to + i] = pfs_kept_values(chunk)[first + i];
	}
	scan->selected_count += count;
}

bool
pfs_scan_give_kept(PfsBlockScan *scan, PfsBlock *block)
{
	PfsKeeping *keeping = &scan->keeping;
	const PfsKeptChunk *chunk = keeping->chunk;
	const PfsNumbers *wanted = wanted_series(scan);

	scan->selected_count = 0;
	while (keeping->next_run < chunk->run_count && scan->selected_count < PFS_BLOCK_ROWS)
	{
		const PfsKeptRun *run = &pfs_kept_runs(chunk)[keeping->next_run];
		uint32 end = (uint32) run->end;

		if (wanted == NULL || pfs_numbers_contain(*wanted, run->series))
		{
			/* A run that does not fit is continued in the next block. */
			end = Min(end, keeping->next_row + PFS_BLOCK_ROWS - scan->selected_count);
			chunk_copy_rows(scan, run->series, keeping->next_row, end - keeping->next_row);
		}
		keeping->next_row = end;
		/* A run that is not wanted is passed over at once: end is its end. */
		keeping->next_run += end == run->end;
	}
	if (scan->selected_count == 0)
	{
		keeping->chunk = NULL;
		return false;
	}
	pfs_scan_set_added_up(scan);
	pfs_scan_give_block(scan, block);
	return true;
}

/*
 * Merges a block's rows first .. end - 1 with the kept rows of the last series. Both belong to one
 * series and are sorted by time. Returns false if a sum overflows.
 */
static bool
merge_rows(PfsBlockScan *scan, uint32 first, uint32 end)
{
	PfsKeeping *keeping = &scan->keeping;
	const int64 *times = scan->added_times->values;
	const int64 *values = scan->added->values;
	int64 series = scan->added_series->values[first];
	uint32 old_count = keeping->row_count - keeping->last_run;
	PfsKeptRow *olds = PFS_ARRAY(PfsKeptRow, old_count);
	uint32 old = 0;
	bool fits = true;

	/* The merge writes to the place where these rows stand. */
	memcpy(olds, keeping->rows + keeping->last_run, sizeof(PfsKeptRow) * old_count);
	keeping->row_count = keeping->last_run;
	/* Both flags are set if the times are equal; then the rows become one. */
	while (fits && (old < old_count || first < end))
	{
		bool has_old = old < old_count && (first == end || olds[old].time <= times[first]);
		bool has_new = first < end && (old == old_count || times[first] <= olds[old].time);
		PfsKeptRow row = has_old ? olds[old] : (PfsKeptRow){ series, times[first], 0 };

		fits = !has_new || !pg_add_s64_overflow(row.value, values[first], &row.value);
		keeping->rows[keeping->row_count++] = row;
		old += has_old;
		first += has_new;
	}
	pfree(olds);
	return fits;
}

/* Adds the rows of a block that was summed. Returns false if a sum overflows. */
static bool
chunk_add_rows(PfsBlockScan *scan)
{
	PfsKeeping *keeping = &scan->keeping;
	const int64 *series = scan->added_series->values;
	bool fits = true;

	PFS_RESERVE_IN(scan->context, keeping->rows, keeping->row_capacity,
				   /* Reserve for the case that no time recurs. */
				   (uint64) keeping->row_count + scan->selected_count);
	for (uint32 row = 0, end; fits && row < scan->selected_count; row = end)
	{
		bool is_new =
			keeping->row_count == 0 || keeping->rows[keeping->row_count - 1].series != series[row];

		end = row + 1;
		while (end < scan->selected_count && series[end] == series[row])
			end++;
		/* Rows of an earlier series are final: the scan never returns to it. */
		if (is_new)
			keeping->last_run = keeping->row_count;
		fits = merge_rows(scan, row, end);
	}
	return fits;
}

static void
keep_chunk(PfsBlockScan *scan)
{
	const PfsKeeping *keeping = &scan->keeping;
	PfsChunkKey key = current_chunk(scan);
	PfsKeptChunk *chunk = pfs_kept_chunk_make(&key, keeping->source_rows, wanted_series(scan),
											  keeping->rows, keeping->row_count);

	/* NULL: the chunk has too many rows for what keeping them would save. */
	if (chunk == NULL)
		return;
	scan->verdicts->remember(scan->verdicts->state, chunk);
	pfree(chunk);
}

void
pfs_scan_note_block(PfsBlockScan *scan, bool has_rows)
{
	PfsKeeping *keeping = &scan->keeping;

	if (!keeping->notes)
		return;
	keeping->source_rows += scan->block_rows;
	/* if a block has rows that were not summed, the chunk cannot be kept, so recording ends */
	keeping->notes = !has_rows || (scan->groups.are_added_up && chunk_add_rows(scan));
	if (!keeping->notes || scan->block < last_block(scan))
		return;
	keep_chunk(scan);
	keeping->notes = false;
}
