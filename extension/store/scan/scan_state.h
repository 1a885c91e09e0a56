/*
 * scan_state.h
 *		The state of a block scan, which block_scan.c, open_unit.c and read_block.c share.
 *
 * A scan stands on a block of a unit, before the first unit (-1), or after the last (units.count).
 */
#ifndef PFS_SCAN_STATE_H
#define PFS_SCAN_STATE_H

#include "profstore.h"

#include "codec/segment.h"
#include "store/scan/scan_request.h"
#include "store/scan/scan_units.h"
#include "store/segment/row_order.h"
#include "store/segment/segment_input.h"
#include "store/segment/value.h"

/* A column that the request asks for or filters. */
typedef struct PfsScanColumn
{
	AttrNumber attnum;
	PfsValueKind kind;
	int64 missing_value; /* value of the column in units that lack it */
	bool missing_is_null;
	bool is_wanted; /* false if only filters use the column */
	/* position in that part of the current unit which is read; -1 if the part lacks the column */
	int position;
	bool may_be_null;		   /* the column may have nulls in the current unit */
	bool is_decoded;		   /* the column is decoded for the current block */
	const int64 *block_values; /* values of the current block */
	const bool *block_nulls;   /* NULL: no nulls */
	int64 values[PFS_BLOCK_ROWS];
	bool nulls[PFS_BLOCK_ROWS];
} PfsScanColumn;

/* A filter. It is idle in a unit or block if all rows there pass it. */
typedef struct PfsScanFilter
{
	PfsBlockFilter filter;
	PfsScanColumn *column;
	int64 *keys; /* keys of the block's values, if the kind needs them; otherwise NULL */
	bool is_idle_in_unit;
	bool is_idle_in_block;
} PfsScanFilter;

/* writers of row numbers may write this many numbers past the last one */
#define PFS_SELECTION_SLACK 8

/* Verdict on a rank of the judged column. */
enum
{
	PFS_VERDICT_NONE,
	PFS_VERDICT_FAILS,
	PFS_VERDICT_PASSES
};

/* The groups of the current block. */
typedef struct PfsScanGroups
{
	uint32 count;
	const int64 *lengths;		 /* rows of each group, minus 1 */
	bool are_found;				 /* wanted and of_selected are set for the selected rows */
	bool are_added_up;			 /* the columns asked for have sums of wanted groups */
	bool wanted[PFS_BLOCK_ROWS]; /* wanted[i]: group i has selected rows */
	uint16 of_selected[PFS_BLOCK_ROWS + PFS_SELECTION_SLACK];
	int64 values[PFS_BLOCK_ROWS]; /* work space for values of the groups */
	/*
	 * for each rank of the judged column in the open unit, a PFS_VERDICT_...; NULL if there are
	 * none yet
	 */
	uint8 *verdicts;
	bool all_are_judged;
} PfsScanGroups;

/* State of keep_chunks.h for the open unit. */
typedef struct PfsKeeping
{
	bool is_on;			 /* chunks of the open unit may be kept */
	bool has_all_series; /* filters keep all series of the unit; otherwise those in wanted */
	PfsNumbers wanted;

	const PfsKeptChunk *chunk; /* the kept chunk that is being returned; NULL: none */
	uint32 next_run;
	uint32 next_row;

	bool notes; /* true if the current chunk is being recorded in the fields below */
	uint32 source_rows;
	uint32 row_count;
	uint32 last_run; /* position of the first row of the last series */
	uint32 row_capacity;
	PfsKeptRow *rows;
} PfsKeeping;

struct PfsBlockScan
{
	MemoryContext context;
	MemoryContext unit_context; /* reset when the unit changes */
	Relation relation;
	Snapshot snapshot;
	PfsScanCounters counters;

	uint32 column_count;
	PfsScanColumn **columns;
	int attribute_count;
	PfsScanColumn **attributes; /* in the order of the request */
	const int64 **result_values;
	const bool **result_nulls;
	int filter_count;
	PfsScanFilter *filters;
	/*
	 * number of filters in the open unit: filter_count, or one more if only some parts of a roll-up
	 * are wanted
	 */
	int unit_filter_count;
	PfsScanColumn *part_column; /* the column of that additional filter; NULL: no unit has one */
	const PfsVerdicts *verdicts;
	PfsScanColumn *judged; /* the column of verdicts */

	/*
	 * With verdicts, blocks with groups are summed by series and time; added is the column to sum,
	 * or NULL.
	 */
	PfsScanColumn *added; /* NULL: nothing is summed */
	PfsScanColumn *added_series;
	PfsScanColumn *added_times;
	/*
	 * Without verdicts, rows in a range of time may be summed by series and stack. counted is the
	 * column for the number of rows.
	 */
	bool adds_groups;
	PfsScanColumn *counted; /* NULL: not asked for */
	PfsSegmentPart sums;	/* PFS_PART_ROWS: rows are wanted one by one */
	PfsRowKey key;

	PfsScanUnits units;
	PfsSharedScan *shared;
	int64 unit;
	int64 block;
	/* end of the blocks to read: of the unit, or in a shared scan of this process's chunk */
	int64 block_end;
	bool unit_is_open;
	bool unit_is_skipped;	/* no row of the open unit passes the filters */
	PfsSegmentInput *input; /* NULL: the unit is an image */
	PfsSegmentPart part;	/* the part of input that is read */
	PfsSegmentReader *reader;
	uint32 unit_rows; /* number of rows of that part */
	bool has_groups;  /* rows of the unit are stored in groups */

	uint32 block_rows; /* rows of the current block before filters */
	uint32 selected_count;
	uint16 selection[PFS_BLOCK_ROWS + PFS_SELECTION_SLACK];
	PfsScanGroups groups;
	PfsKeeping keeping;
};

static inline const PfsScanUnit *
pfs_scan_current_unit(const PfsBlockScan *scan)
{
	return &scan->units.units[scan->unit];
}

#endif
