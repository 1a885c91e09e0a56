/*
 * windows.h
 *		The windows that samples of delta types stand for, told from their times.
 *
 * A sample stands for a window that begins at its time. In a tier, windows are the tier's buckets.
 * Elsewhere nothing is stored of their length: it is the longest of which the distances between
 * neighbouring times of each series are multiples; an idle window has no sample. A quarter of the
 * distances may be others: an agent's first window begins when the agent does, whatever its rhythm.
 * One distance alone tells a length if both times are multiples of it.
 *
 * Where most times are multiples of the length, windows align to the Unix epoch; else each series
 * has a phase of its own. Where samples keep their own times, the length comes out as next to
 * nothing, and any moment begins a window.
 */
#ifndef PFS_WINDOWS_H
#define PFS_WINDOWS_H

#include "profstore.h"

#include "datatype/timestamp.h"

#include "base/series_table.h"
#include "select/tiers.h"

/* A series whose earliest times tell the length. */
typedef struct PfsWatchedSeries
{
	int32 series;
	int32 count;
	TimestampTz *times; /* ascending, each once */
} PfsWatchedSeries;

/* Rows of one series that follow one another. */
typedef struct PfsWindowsRun
{
	int32 series;
	TimestampTz latest;
	TimestampTz wanted_before; /* as for the series; DT_NOBEGIN: rows of a tier */
} PfsWindowsRun;

typedef struct PfsWindows
{
	PfsWindowsRun run;

	int32 series_count; /* of PfsSeries.index */
	/*
	 * of each series its latest time, from which its windows count; DT_NOBEGIN: it has no sample
	 */
	TimestampTz *times;
	TimestampTz latest;					   /* of all samples; set by pfs_windows_tell() */
	TimestampTz tier_ends[PFS_TIER_COUNT]; /* up to these, windows are the tiers'; or DT_NOBEGIN */

	/*
	 * the length is computed from the first series by a hash of their index, and the earliest times
	 * of each: so it depends on the samples alone, not on the order in which they are read
	 */
	PfsWatchedSeries *watched;
	int32 watched_count;
	int32 last_watched;			/* index in watched of the next to evict */
	int32 times_each;			/* times of a series at most */
	int32 *watched_at;			/* of each series its index in watched, or -1 */
	TimestampTz *wanted_before; /* of each series: only earlier times are of interest */

	/* once it is told */
	int64 width_us;	 /* 1: any moment begins a window */
	bool is_aligned; /* to the epoch: all series have the same windows */

	/*
	 * where they are not aligned: of the series that have samples, by group, then phase; NULL: they
	 * are
	 */
	PfsSeriesKey *phases;
	int32 *group_begins; /* and an end */
	double *phase_sums;	 /* of each group */
} PfsWindows;

/* Lives in CurrentMemoryContext. */
PfsWindows *pfs_windows_begin(int32 series_count);

/* Adds a time of a series for the length alone: it does not count as a sample. */
void pfs_windows_look(PfsWindows *windows, int32 series, TimestampTz time);

/*
 * Rows may come in any order. Before the first row of each run of rows of one series, names the
 * series, and whether the rows are of a tier.
 */
static inline void
pfs_windows_begin_run(PfsWindows *windows, int32 series, bool is_tier)
{
	PfsWindowsRun *run = &windows->run;

	windows->times[run->series] = Max(windows->times[run->series], run->latest);
	run->series = series;
	run->latest = DT_NOBEGIN;
	run->wanted_before = is_tier ? DT_NOBEGIN : windows->wanted_before[series];
}

/* Adds a row of the run. */
static inline void
pfs_windows_add(PfsWindows *windows, TimestampTz time)
{
	PfsWindowsRun *run = &windows->run;

	run->latest = Max(run->latest, time);
	if (time < run->wanted_before)
	{
		pfs_windows_look(windows, run->series, time);
		run->wanted_before = windows->wanted_before[run->series];
	}
}

static inline bool
pfs_windows_watches(const PfsWindows *windows, int32 series)
{
	return windows->watched_at[series] >= 0;
}

/*
 * After the last row: tells the length. False where no series has two times, so that nothing tells
 * it.
 */
bool pfs_windows_tell(PfsWindows *windows);

/* Then: which series are of which group. */
void pfs_windows_group(PfsWindows *windows, const int32 *groups, int32 group_count);

/*
 * Seconds from the first window that begins in [from, to) to the first one that begins after, for a
 * group of series: in the mean over its series that have samples. There is a sample at or after
 * from, so it is never 0. What is later than the latest sample and not over yet does not count.
 */
double pfs_windows_cover(const PfsWindows *windows, TimestampTz from, TimestampTz to, int32 group);

#endif
