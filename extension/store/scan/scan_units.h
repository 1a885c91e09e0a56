/*
 * scan_units.h
 *		What a block scan goes over: segments of the directory, and images of rows waiting in
 *		memory.
 */
#ifndef PFS_SCAN_UNITS_H
#define PFS_SCAN_UNITS_H

#include "profstore.h"

#include "store/scan/scan_request.h"
#include "store/segment/directory.h"
#include "store/segment/row_buffer.h"

/*
 * Processes that share a scan take chunks of a unit in turn: small enough for all to end at about
 * the same time, large enough for reading a segment's streams in each of them to pay. A multiple of
 * the blocks that decode together.
 */
#define PFS_CHUNK_BLOCKS 128

/*
 * Either a segment, or, where image is not NULL, rows waiting in memory, or a roll-up, which reads
 * as a segment of sums whose rows all pass the filters, or all but that on series.
 */
typedef struct PfsScanUnit
{
	const PfsRowImage *image;
	bool is_rollup;		/* or a piece of one */
	bool has_series;	/* it is a piece, which filters on series look at */
	uint32 rolled_up;	/* segments that it stands for, of pieces the first for all */
	PfsNumbers parts;	/* of it: the parts of the stacks that are wanted, where not all are */
	uint64 first_block; /* blocks of the units before */
	uint64 first_chunk; /* chunks of the units before */
	bool is_skipped;	/* ruled out by the filters; row has no more than its row_count */
	PfsSegmentRow row;
} PfsScanUnit;

typedef struct PfsScanUnits
{
	uint32 count;
	uint32 capacity;
	PfsScanUnit *units;
	uint32 skipped_count; /* segments that are not listed, since the filters rule them out */
	PfsNumbers visible;	  /* segments, ruled out or not */
	uint64 row_count;	  /* of the units listed */
	uint64 block_count;
} PfsScanUnits;

/*
 * Lists what the snapshot sees of what is asked for, in CurrentMemoryContext. Every process that
 * shares a scan comes to the same list, whatever its filters: what they rule out is listed as
 * skipped. Image rows are not checked against the snapshot here.
 */
void pfs_scan_units_list(const PfsScanRequest *request, PfsScanUnits *units);

/* Puts roll-ups in the place of segments, where these have all attributes and suit the filters. */
void pfs_scan_units_roll_up(const PfsScanRequest *request, PfsScanUnits *units);

/* All segments that the snapshot sees, in CurrentMemoryContext. */
PfsNumbers pfs_visible_segments(Relation relation, Snapshot snapshot);

uint32 pfs_scan_unit_row_count(const PfsScanUnit *unit);
uint32 pfs_scan_unit_block_count(const PfsScanUnit *unit);
uint64 pfs_scan_unit_chunk_count(const PfsScanUnit *unit);

#endif
