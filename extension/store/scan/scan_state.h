/*
 * scan_state.h
 *		A block scan from within: what block_scan.c, open_unit.c and read_block.c work on.
 *
 * A scan stands on a block of a unit, before the first (unit -1) or behind the last (unit = count).
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

/* A column that is asked for or filtered by. */
typedef struct PfsScanColumn
{
	AttrNumber attnum;
	PfsValueKind kind;
	int64 missing_value; /* where a unit lacks the column */
	bool missing_is_null;
	bool is_wanted;			   /* false: a filter's alone */
	int position;			   /* in the part of the current unit; -1: missing */
	bool may_be_null;		   /* in the current unit */
	bool is_decoded;		   /* for the current block */
	const int64 *block_values; /* the current block */
	const bool *block_nulls;   /* NULL: none */
	int64 values[PFS_BLOCK_ROWS];
	bool nulls[PFS_BLOCK_ROWS];
} PfsScanColumn;

/* A filter, and where it need not look at rows: all of the unit, or of the block, pass. */
typedef struct PfsScanFilter
{
	PfsBlockFilter filter;
	PfsScanColumn *column;
	int64 *keys; /* of a block, where values are not their own keys; else NULL */
	bool is_idle_in_unit;
	bool is_idle_in_block;
} PfsScanFilter;

/* numbers of rows may be written so many past the last */
#define PFS_SELECTION_SLACK 8

/* What is known of a value that may be judged. */
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
	const int64 *lengths;		 /* rows of each, minus 1 */
	bool are_found;				 /* those of the selected rows, so what follows is set */
	bool are_added_up;			 /* the columns asked for have sums of wanted groups */
	bool wanted[PFS_BLOCK_ROWS]; /* by group: it has selected rows */
	uint16 of_selected[PFS_BLOCK_ROWS + PFS_SELECTION_SLACK];
	int64 values[PFS_BLOCK_ROWS]; /* scratch */
	uint8 *verdicts; /* in the open unit, by rank of the judged column: PFS_VERDICT_…; NULL: none */
	bool all_are_judged;
} PfsScanGroups;

/* What verdicts keep of the open unit, by chunks (keep_chunks.h). */
typedef struct PfsKeeping
{
	bool is_on;			 /* in the open unit */
	bool has_all_series; /* filters ask for all that the unit has; else for … */
	PfsNumbers wanted;

	const PfsKeptChunk *chunk; /* that is being given; NULL: none */
	uint32 next_run;
	uint32 next_row;

	bool notes; /* the current chunk, as it is read: */
	uint32 source_rows;
	uint32 row_count;
	uint32 last_run; /* the first row of the last series */
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
	PfsScanColumn **attributes; /* the columns asked for, as asked for */
	const int64 **result_values;
	const bool **result_nulls;
	int filter_count;
	PfsScanFilter *filters;
	int unit_filter_count;		/* of the open unit: one more where it is a part of a roll-up */
	PfsScanColumn *part_column; /* what that filters; NULL: no unit does */
	const PfsVerdicts *verdicts;
	PfsScanColumn *judged; /* by verdicts */

	/* what is added up of blocks by groups: of what passes verdicts, by series and time … */
	PfsScanColumn *added; /* NULL: nothing is */
	PfsScanColumn *added_series;
	PfsScanColumn *added_times;
	/* … or within a range of time, by series and stack: then the number of rows, too, or alone */
	bool adds_groups;
	PfsScanColumn *counted; /* NULL: it is not asked for */
	PfsSegmentPart sums;	/* PFS_PART_ROWS: rows are wanted one by one */
	PfsRowKey key;

	PfsScanUnits units;
	PfsSharedScan *shared;
	int64 unit;
	int64 block;
	int64 block_end; /* of the unit, or in a shared scan of those that have come to this process */
	bool unit_is_open;
	bool unit_is_skipped;	/* the open unit has no row for the filters */
	PfsSegmentInput *input; /* NULL: the unit is an image */
	PfsSegmentPart part;	/* what of the input is read … */
	PfsSegmentReader *reader;
	uint32 unit_rows; /* … and how many rows that has */
	bool has_groups;  /* it has rows, and these are grouped */

	uint32 block_rows; /* of the current block, before filters */
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
