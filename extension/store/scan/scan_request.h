/*
 * scan_request.h
 *		Request and result of a block scan.
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
 * Decides which values of a column pass. judge() sets passes[i] for each value; for neighbouring
 * rows with equal values it may be called once. NULL rows never pass.
 *
 * A caller may keep the sums of chunks, by series and time, for later scans with equal verdicts:
 * recall() returns the chunk that is kept, valid until the scan ends, or NULL; remember() gets a
 * chunk to copy.
 */
typedef struct PfsVerdicts
{
	AttrNumber attnum;
	void (*judge)(void *state, const int64 *values, uint32 count, bool *passes);
	const PfsKeptChunk *(*recall)(void *state, const PfsChunkKey *key); /* NULL: nothing is kept */
	void (*remember)(void *state, const PfsKeptChunk *chunk);
	void *state;
} PfsVerdicts;

/*
 * If sums is not PFS_PART_ROWS, a row of the result stands for one or more rows of the table that
 * agree in (series, stack) for PFS_PART_PAIRS, or in (series, time) for PFS_PART_SCRAPES; several
 * result rows may have the same key. Every other attribute is the sum over those rows, and
 * PFS_ROW_COUNT_ATTNUM their number. The scan reads tables of sums if filters keep or drop each of
 * their rows as a whole, and rows otherwise. Filters may be on any column. Only columns whose types
 * are summed may be asked for. Verdicts need rows: with PFS_PART_SCRAPES, the rows of a block that
 * pass are summed if they are whole groups.
 */
typedef struct PfsScanRequest
{
	Relation relation;
	Snapshot snapshot;
	int attribute_count;
	const AttrNumber *attnums;
	int filter_count;
	const PfsBlockFilter *filters; /* copied when the scan begins, except for their keys */
	const PfsVerdicts *verdicts;   /* or NULL; not with PFS_PART_PAIRS; must outlive the scan */
	PfsSegmentPart sums;		   /* 0 is PFS_PART_ROWS: rows one by one */
	int64 rollup_width; /* for PFS_PART_PAIRS: roll-ups of buckets narrower than this may be read */
	/* numbers of the segments to read, without the rows waiting in memory; NULL: read everything */
	const PfsNumbers *segments;
	PfsSharedScan *shared; /* NULL: this process reads alone */
} PfsScanRequest;

/* Rows that passed all filters. The arrays belong to the scan and are valid until the next call. */
typedef struct PfsBlock
{
	uint64 number;		  /* number of the block, counted from 0 over all blocks of the scan */
	uint32 row_count;	  /* 1 .. PFS_BLOCK_ROWS */
	const int64 **values; /* values[i] has the values of the i-th requested attribute */
	const bool **nulls;	  /* nulls[i] has its null flags; NULL if the block has no null in it */
	/* rows may stand for several rows of the table; otherwise all row counts are 1 */
	bool has_sums;
} PfsBlock;

typedef struct PfsBlockScan PfsBlockScan;

#endif
