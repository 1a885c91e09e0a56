/*
 * scan_units.h
 *		The units of a block scan: segments of the directory, and images of rows waiting in
 *		memory.
 */
#ifndef PFS_SCAN_UNITS_H
#define PFS_SCAN_UNITS_H

#include "profstore.h"

#include "store/scan/scan_request.h"
#include "store/segment/directory.h"
#include "store/segment/row_buffer.h"

/*
 * Number of blocks of the chunks that processes of a shared scan take in turn: small enough that
 * all processes finish at about the same time, large enough that each may read the segment's
 * streams for itself. A multiple of the number of blocks that are decoded together.
 */
#define PFS_CHUNK_BLOCKS 128

/*
 * A segment; or rows waiting in memory (image is not NULL); or a roll-up, which is read as a
 * segment of sums whose rows pass all filters, except perhaps that on series.
 */
typedef struct PfsScanUnit
{
	const PfsRowImage *image;
	bool is_rollup;	 /* a roll-up or a piece of one */
	bool has_series; /* the unit is a piece of a roll-up: filters on series apply to its rows */
	/*
	 * number of segments that the unit replaces; if a roll-up is read as pieces, only the first has
	 * the number
	 */
	uint32 rolled_up;
	PfsNumbers parts;	/* the wanted parts of a roll-up's stacks; numbers is NULL: all */
	uint64 first_block; /* number of blocks in the units before */
	uint64 first_chunk; /* number of chunks in the units before */
	bool is_skipped;	/* no row passes the filters; then only row_count of row is set */
	PfsSegmentRow row;
} PfsScanUnit;

typedef struct PfsScanUnits
{
	uint32 count;
	uint32 capacity;
	PfsScanUnit *units;
	uint32 skipped_count; /* segments that are not listed because no row passes the filters */
	PfsNumbers visible;	  /* numbers of all segments that the snapshot sees */
	uint64 row_count;	  /* rows of the listed units */
	uint64 block_count;
} PfsScanUnits;

/*
 * Lists the units of a request that its snapshot sees, in CurrentMemoryContext. Every process of a
 * shared scan gets the same list, even if its filters differ: units without matching rows are
 * listed as skipped. Image rows are not checked against the snapshot here.
 */
void pfs_scan_units_list(const PfsScanRequest *request, PfsScanUnits *units);

/* Replaces segments by roll-ups that have all attributes and suit the filters. */
void pfs_scan_units_roll_up(const PfsScanRequest *request, PfsScanUnits *units);

/* Returns the numbers of all segments that the snapshot sees, in CurrentMemoryContext. */
PfsNumbers pfs_visible_segments(Relation relation, Snapshot snapshot);

uint32 pfs_scan_unit_block_count(const PfsScanUnit *unit);
uint64 pfs_scan_unit_chunk_count(const PfsScanUnit *unit);

#endif
