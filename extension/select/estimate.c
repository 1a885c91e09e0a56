/*
 * estimate.c
 *		Estimates the rows and bytes of a scan from the directory's entries of the segments that
 *		overlap a range, and the workers that pay off.
 */
#include "select/estimate.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/paths.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "base/relations.h"
#include "select/range_partitions.h"
#include "store/segment/directory.h"
#include "store/segment/storage.h"
#include "store/segment/summary.h"

/*
 * Adds a segment. If the range cuts it, or it has no sums, the scan will read its rows, otherwise
 * its pairs.
 */
static void
estimate_segment(PfsScanEstimate *estimate, const PfsSegmentRow *row, TimestampTz from,
				 TimestampTz to)
{
	double begin = (double) Max(row->time.min, from);
	double end = (double) Min(row->time.max + 1, to);
	double length = (double) row->time.max + 1 - (double) row->time.min;
	bool is_whole = row->time.min >= from && row->time.max < to;
	bool has_sums = pfs_enable_summaries && is_whole && row->summary_byte_count > 0;

	if (!row->time.known || begin >= end)
		return;
	estimate->sample_count += row->row_count * (end - begin) / length;
	estimate->decoded_rows += has_sums ? row->row_count / PFS_ROWS_PER_SUM : row->row_count;
	estimate->byte_count += (double) (has_sums ? row->summary_byte_count : row->byte_count);
}

static void
estimate_partition(PfsScanEstimate *estimate, Oid relid, TimestampTz from, TimestampTz to)
{
	/* pfs_partitions_collect() has locked the partition */
	Relation relation = table_open(relid, NoLock);

	if (relation->rd_rel->relam == get_table_am_oid("profstore", true))
	{
		PfsDirectoryScan *scan =
			pfs_directory_scan_begin(pfs_storage_id(relation), GetActiveSnapshot());
		PfsSegmentRow row;

		while (pfs_directory_scan_next(scan, &row))
		{
			CHECK_FOR_INTERRUPTS();
			estimate_segment(estimate, &row, from, to);
		}
		pfs_directory_scan_end(scan);
	}
	else
	{
		estimate->sample_count += Max(relation->rd_rel->reltuples, 0);
		estimate->decoded_rows += Max(relation->rd_rel->reltuples, 0);
		estimate->byte_count += (double) Max(relation->rd_rel->relpages, 0) * BLCKSZ;
	}
	table_close(relation, NoLock);
}

PfsScanEstimate
pfs_sample_scan_estimate(TimestampTz from, TimestampTz to)
{
	PfsScanEstimate estimate = { 0, 0, 0 };
	List *partitions = NIL;
	ListCell *cell;

	if (from >= to)
		return estimate;
	partitions = pfs_partitions_collect(NIL, pfs_relation_find("samples"), from, to);
	for (int i = 0; i < PFS_TIER_COUNT; i++)
	{
		Oid relid = pfs_relation_find(pfs_tiers[i].table);

		if (OidIsValid(relid))
			partitions = pfs_partitions_collect(partitions, relid, from, to);
	}
	foreach(cell, partitions)
		estimate_partition(&estimate, lfirst_oid(cell), from, to);
	return estimate;
}

/* Estimates the selection's share of all stored series; 1 if the table series has no statistics. */
static double
share_of_series(const PfsSelection *selection)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(pfs_relation_oid("series")));
	double all = 0;

	if (HeapTupleIsValid(tuple))
	{
		all = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
		ReleaseSysCache(tuple);
	}
	return all <= 0 ? 1 : Min(1, selection->series_count / all);
}

int
pfs_worker_count(const PfsSelection *selection, double spared_rows, double bytes_per_row)
{
	double threshold = Max(min_parallel_table_scan_size, 1);
	double rows;
	double pages;
	int count = 0;

	if (max_parallel_workers_per_gather == 0 || IsInParallelMode())
		return 0;
	rows = pfs_sample_scan_estimate(selection->from, selection->to).sample_count *
		   share_of_series(selection);
	pages = (rows - spared_rows) * bytes_per_row / BLCKSZ;
	for (; pages >= threshold || (count == 0 && min_parallel_table_scan_size == 0); threshold *= 3)
		if (++count == max_parallel_workers_per_gather)
			break;
	return count;
}
