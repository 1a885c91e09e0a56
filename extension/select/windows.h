/*
 * windows.h
 *		The windows of samples of delta types, inferred from their times.
 *
 * A sample covers a window that begins at its time. In a tier, windows are the tier's buckets. For
 * samples the length is not stored: it is the longest length of which the distances between
 * neighbouring times of each series are multiples; an idle window has no sample. A quarter of the
 * distances may be exceptions: an agent's first window begins when the agent starts, regardless of
 * its rhythm. A single distance shows a length if both times are multiples of it.
 *
 * If most times are multiples of the length, windows are aligned to the Unix epoch; otherwise each
 * series has a phase of its own. If samples keep their own times, the length comes out as almost
 * nothing, and any moment begins a window.
 */
#ifndef PFS_WINDOWS_H
#define PFS_WINDOWS_H

#include "profstore.h"

#include "datatype/timestamp.h"

#include "base/series_table.h"
#include "select/tiers.h"

/* A series from whose earliest times the length is computed. */
typedef struct PfsWatchedSeries
{
	int32 series;
	int32 count;
	TimestampTz *times; /* ascending, without duplicates */
} PfsWatchedSeries;

/* Consecutive rows of one series. */
typedef struct PfsWindowsRun
{
	int32 series;
	TimestampTz latest;
	/*
	 * rows before this time are needed to compute the length; DT_NOBEGIN for rows of a tier, which
	 * never are
	 */
	TimestampTz wanted_before;
} PfsWindowsRun;

typedef struct PfsWindows
{
	PfsWindowsRun run;

	int32 series_count; /* number of PfsSeries.index values */
	/*
	 * for each series the latest time, from which its windows are counted; DT_NOBEGIN if it has no
	 * sample
	 */
	TimestampTz *times;
	TimestampTz latest; /* time of the latest sample; set by pfs_windows_tell() */
	/* end of each tier, before which windows are the tier's buckets; or DT_NOBEGIN */
	TimestampTz tier_ends[PFS_TIER_COUNT];

	/*
	 * Series from which the length is computed: those that a hash of their index prefers, with the
	 * earliest times of each. So the length depends only on the samples, not on the order in which
	 * they are read.
	 */
	PfsWatchedSeries *watched;
	int32 watched_count;
	int32 last_watched;			/* index in watched of the series to evict next */
	int32 times_each;			/* most times that are kept of a series */
	int32 *watched_at;			/* index of each series in watched, or -1 */
	TimestampTz *wanted_before; /* for each series, only earlier times are needed */

	/* set by pfs_windows_tell(): */
	int64 width_us;	 /* 1: any moment begins a window */
	bool is_aligned; /* windows begin at multiples of width_us since the epoch, for all series */

	/*
	 * If windows are not aligned: phases of the series that have samples, sorted by group, then
	 * phase. Otherwise NULL.
	 */
	PfsSeriesKey *phases;
	/* number of the first phase of each group, and one element more for the end */
	int32 *group_begins;
	double *phase_sums; /* phase sums of each group */
} PfsWindows;

/* Begins without samples, in CurrentMemoryContext. */
PfsWindows *pfs_windows_begin(int32 series_count);

/* Adds a time of a series to compute the length; it does not count as a sample. */
void pfs_windows_look(PfsWindows *windows, int32 series, TimestampTz time);

/*
 * Begins a run of consecutive rows of one series; is_tier: the rows are of a tier. Runs and rows
 * may come in any order.
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
 * Computes the length, after the last row. Returns false if no series has two times, so that the
 * length is unknown.
 */
bool pfs_windows_tell(PfsWindows *windows);

/* Sets the group of each series, after pfs_windows_tell(). */
void pfs_windows_group(PfsWindows *windows, const int32 *groups, int32 group_count);

/*
 * Returns the seconds from the first window that begins in [from, to) to the first one that begins
 * after the range, as the mean over the series of a group that have samples. There must be a sample
 * at or after from, so the result is never 0. If the last window of the latest sample has not
 * ended, its remaining time does not count.
 */
double pfs_windows_cover(const PfsWindows *windows, TimestampTz from, TimestampTz to, int32 group);

#endif
