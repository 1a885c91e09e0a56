/*
 * scan_request.h
 *		What a block scan is asked for, and what it gives.
 */
#ifndef PFS_SCAN_REQUEST_H
#define PFS_SCAN_REQUEST_H

#include "profstore.h"

#include "access/attnum.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "base/arrays.h"
#include "store/scan/block_filter.h"
#include "store/scan/kept_chunk.h"
#include "store/scan/scan_counters.h"
#include "store/scan/shared_scan.h"
#include "store/segment/summary.h"

/*
 * Tells of so many values of a column which of their rows are kept. Of neighbouring rows with one
 * value it may be asked once. Rows without a value are not kept.
 *
 * It may remember what passed of chunks that were added up by series and time, for scans to come
 * with the same verdicts: then recall gives what is remembered of a chunk, valid until the scan
 * ends, or NULL; remember is given what to copy.
 */
typedef struct PfsVerdicts
{
	AttrNumber attnum;
	void (*judge)(void *state, const int64 *values, uint32 count, bool *passes);
	const PfsKeptChunk *(*recall)(void *state, const PfsChunkKey *key); /* NULL: it does not */
	void (*remember)(void *state, const PfsKeptChunk *chunk);
	void *state;
} PfsVerdicts;

/*
 * With sums, a row of the result stands for one or more rows of the table, by (series, stack) with
 * PFS_PART_PAIRS, by (series, time) with PFS_PART_SCRAPES, or by part of it. Those columns are the
 * same in all of them, every other that is asked for is their sum, and PFS_ROW_COUNT_ATTNUM, if
 * asked for, is their number. They come from the tables of sums that segments carry where filters
 * cut through no row of them, and else from rows. Filters may be on any column. Columns of types
 * that are not summed are not to be asked for. With PFS_PART_SCRAPES and verdicts, which look at
 * rows, those of a block that pass are added up where these are all of some of its groups.
 */
typedef struct PfsScanRequest
{
	Relation relation;
	Snapshot snapshot;
	int attribute_count;
	const AttrNumber *attnums;
	int filter_count;
	const PfsBlockFilter *filters; /* copied at begin, but for their keys */
	const PfsVerdicts *verdicts;   /* NULL: none; not with PFS_PART_PAIRS; must outlive the scan */
	PfsSegmentPart sums;		   /* PFS_PART_ROWS, which is 0: rows one by one */
	int64 rollup_width;			   /* of pairs: takes roll-ups of buckets narrower than this */
	const PfsNumbers *segments;	   /* these alone and no waiting rows; NULL: all there is */
	PfsSharedScan *shared;		   /* NULL: this process reads alone */
} PfsScanRequest;

/* Rows that passed all filters; arrays belong to the scan and hold until the next call. */
typedef struct PfsBlock
{
	uint64 number;		  /* of the block, counted from 0 over all that the scan covers */
	uint32 row_count;	  /* 1 .. PFS_BLOCK_ROWS */
	const int64 **values; /* values[i]: values of the i-th attribute asked for */
	const bool **nulls;	  /* nulls[i]: flags of it, or NULL where the block has no null in it */
	bool has_sums;		  /* rows stand for several of the table; else all row counts are 1 */
} PfsBlock;

typedef struct PfsBlockScan PfsBlockScan;

#endif
