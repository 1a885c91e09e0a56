/*
 * windows.c
 *		Computes the length of the windows of samples, and how much time is covered by the windows
 *		that begin in a range.
 */
#include "select/windows.h"

#include "access/xact.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "base/hash.h"
#include "select/buckets.h"

/*
 * Limits of the computation: the number of series, and the number of times of all these series
 * together.
 */
#define MAX_WATCHED 64
#define MAX_TIMES	1024

/* Width that stands for an unknown length. */
#define ANY_MOMENT 1

PfsWindows *
pfs_windows_begin(int32 series_count)
{
	PfsWindows *windows = palloc0(sizeof(PfsWindows));

	windows->series_count = series_count;
	windows->times = PFS_ARRAY(TimestampTz, series_count);
	windows->watched = PFS_ARRAY0(PfsWatchedSeries, MAX_WATCHED);
	windows->times_each = MAX_TIMES / Max(Min(series_count, MAX_WATCHED), 1);
	windows->watched_at = PFS_ARRAY(int32, series_count);
	windows->wanted_before = PFS_ARRAY(TimestampTz, series_count);
	windows->run = (PfsWindowsRun){ .latest = DT_NOBEGIN, .wanted_before = DT_NOBEGIN };
	windows->latest = DT_NOBEGIN;
	windows->width_us = ANY_MOMENT;
	for (int32 i = 0; i < series_count; i++)
	{
		windows->times[i] = DT_NOBEGIN;
		windows->watched_at[i] = -1;
		windows->wanted_before[i] = DT_NOEND;
	}
	for (int i = 0; i < PFS_TIER_COUNT; i++)
		windows->tier_ends[i] = DT_NOBEGIN;
	return windows;
}

/*
 * Returns true if a series is preferred to another one. A hash of the index decides, because series
 * with neighbouring indexes are often of one kind.
 */
static bool
goes_before(int32 series, int32 other)
{
	uint32 hash = pfs_hash64((uint64) series);
	uint32 other_hash = pfs_hash64((uint64) other);

	return hash != other_hash ? hash < other_hash : series < other;
}

/* Finds the series to evict next, the least preferred one. */
static void
find_last_watched(PfsWindows *windows)
{
	windows->last_watched = 0;
	for (int32 i = 1; i < windows->watched_count; i++)
		if (goes_before(windows->watched[windows->last_watched].series, windows->watched[i].series))
			windows->last_watched = i;
}

/*
 * Watches a series at its first time if it is among the preferred ones seen so far; otherwise marks
 * it as unwanted. A series that is evicted never returns, because preference only rises. So each
 * series that is watched at the end was watched from its first time on.
 */
static void
watch_or_ignore(PfsWindows *windows, int32 series)
{
	PfsWatchedSeries *watched;

	if (windows->watched_count < MAX_WATCHED)
	{
		watched = &windows->watched[windows->watched_count++];
		watched->times = PFS_ARRAY(TimestampTz, windows->times_each);
	}
	else
	{
		watched = &windows->watched[windows->last_watched];
		if (!goes_before(series, watched->series))
		{
			windows->wanted_before[series] = DT_NOBEGIN;
			return;
		}
		windows->wanted_before[watched->series] = DT_NOBEGIN;
		windows->watched_at[watched->series] = -1;
		watched->count = 0;
	}
	watched->series = series;
	windows->watched_at[series] = (int32) (watched - windows->watched);
	if (windows->watched_count == MAX_WATCHED)
		find_last_watched(windows);
}

/* Inserts a time, and drops the latest one if there are too many. */
static void
keep_time(PfsWindows *windows, PfsWatchedSeries *watched, TimestampTz time)
{
	int32 low = 0;
	int32 high = watched->count;

	PFS_BISECT(low, high, middle, watched->times[middle] < time);
	if (low < watched->count && watched->times[low] == time)
		return;
	if (watched->count < windows->times_each)
		watched->count++;
	memmove(&watched->times[low + 1], &watched->times[low],
			sizeof(TimestampTz) * (size_t) (watched->count - 1 - low));
	watched->times[low] = time;
	if (watched->count == windows->times_each)
		windows->wanted_before[watched->series] = watched->times[watched->count - 1];
}

void
pfs_windows_look(PfsWindows *windows, int32 series, TimestampTz time)
{
	if (time >= windows->wanted_before[series])
		return;
	if (!pfs_windows_watches(windows, series))
		watch_or_ignore(windows, series);
	if (pfs_windows_watches(windows, series))
		keep_time(windows, &windows->watched[windows->watched_at[series]], time);
}

/* Lists the times of watched series, those of each series together and ascending. */
static PfsSeriesKey *
list_times(const PfsWindows *windows, uint32 *count)
{
	PfsSeriesKey *keys = PFS_ARRAY(PfsSeriesKey, windows->watched_count * windows->times_each);

	*count = 0;
	for (int32 i = 0; i < windows->watched_count; i++)
	{
		const PfsWatchedSeries *watched = &windows->watched[i];

		for (int32 j = 0; j < watched->count; j++)
			keys[(*count)++] = (PfsSeriesKey){ watched->times[j], watched->series };
	}
	return keys;
}

/*
 * Finds the most frequent of the distances that are not multiples of width; of all distances if
 * width is 0. Among equally frequent ones it takes the shortest. The distances are sorted.
 */
static int64
find_commonest(const int64 *distances, uint32 count, int64 width_us, uint32 *other_count)
{
	int64 commonest = 0;
	uint32 most = 0;

	*other_count = 0;
	for (uint32 begin = 0, end; begin < count; begin = end)
	{
		for (end = begin + 1; end < count && distances[end] == distances[begin];)
			end++;
		if (width_us != 0 && distances[begin] % width_us == 0)
			continue;
		*other_count += end - begin;
		if (end - begin > most)
		{
			commonest = distances[begin];
			most = end - begin;
		}
	}
	return commonest;
}

static int64
times_divisor(int64 a, int64 b)
{
	while (b != 0)
	{
		int64 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * Finds the longest length of which three quarters of the distances are multiples, among common
 * divisors of the most frequent ones.
 */
static int64
find_width(int64 *distances, uint32 count)
{
	int64 width_us = 0;
	int64 other;
	uint32 other_count;

	qsort(distances, count, sizeof(int64), pfs_compare_int64);
	while (other = find_commonest(distances, count, width_us, &other_count),
		   other_count > count / 4)
		width_us = times_divisor(other, width_us);
	return width_us;
}

/* Returns true if keys[i - 1] is of the same series as keys[i]. */
static inline bool
window_follows(const PfsSeriesKey *keys, uint32 i)
{
	return i > 0 && keys[i].series == keys[i - 1].series;
}

static void
set_phases(PfsWindows *windows, const PfsSeriesKey *keys, uint32 count)
{
	for (uint32 i = 0; i < count; i++)
		if (window_follows(keys, i) && (keys[i].id - keys[i - 1].id) % windows->width_us == 0)
			windows->times[keys[i].series] = keys[i].id;
}

/* Returns the number of times that are multiples of a length, counted from the epoch. */
static uint32
count_multiples(const PfsSeriesKey *keys, uint32 count, int64 width_us)
{
	uint32 multiples = 0;

	for (uint32 i = 0; i < count; i++)
		multiples += pfs_bucket_offset(keys[i].id, width_us) == 0;
	return multiples;
}

bool
pfs_windows_tell(PfsWindows *windows)
{
	uint32 count;
	PfsSeriesKey *keys = list_times(windows, &count);
	int64 *distances = PFS_ARRAY(int64, count);
	uint32 distance_count = 0;

	if (windows->series_count > 0)
		pfs_windows_begin_run(windows, windows->run.series, true);
	for (int32 i = 0; i < windows->series_count; i++)
		windows->latest = Max(windows->latest, windows->times[i]);
	for (uint32 i = 0; i < count; i++)
		if (window_follows(keys, i))
			distances[distance_count++] = keys[i].id - keys[i - 1].id;
	if (distance_count > 0)
	{
		int64 width_us = find_width(distances, distance_count);
		uint32 multiples = count_multiples(keys, count, width_us);

		windows->is_aligned = multiples > count / 2;
		if (distance_count > 1 || multiples == count)
			windows->width_us = width_us;
		set_phases(windows, keys, count);
	}
	pfree(distances);
	pfree(keys);
	return distance_count > 0;
}

static int
times_compare(const void *a, const void *b)
{
	const PfsSeriesKey *left = a;
	const PfsSeriesKey *right = b;

	if (left->series != right->series)
		return left->series < right->series ? -1 : 1;
	return (left->id > right->id) - (left->id < right->id);
}

void
pfs_windows_group(PfsWindows *windows, const int32 *groups, int32 group_count)
{
	int32 count = 0;

	if (windows->is_aligned || windows->width_us == ANY_MOMENT)
		return;
	windows->phases = PFS_ARRAY(PfsSeriesKey, windows->series_count);
	windows->phase_sums = PFS_ARRAY0(double, group_count);
	windows->group_begins = PFS_ARRAY0(int32, group_count + 1);
	for (int32 i = 0; i < windows->series_count; i++)
	{
		int64 phase;

		if (windows->times[i] == DT_NOBEGIN)
			continue;
		phase = pfs_bucket_offset(windows->times[i], windows->width_us);
		windows->phases[count++] = (PfsSeriesKey){ phase, groups[i] };
		windows->phase_sums[groups[i]] += (double) phase;
		windows->group_begins[groups[i] + 1]++;
	}
	qsort(windows->phases, count, sizeof(PfsSeriesKey), times_compare);
	for (int32 group = 0; group < group_count; group++)
		windows->group_begins[group + 1] += windows->group_begins[group];
}

/* Returns how many of the sorted phases begin .. end - 1 are less than phase. */
static int32
count_less(const PfsSeriesKey *phases, int32 begin, int32 end, int64 phase)
{
	int32 low = begin;

	PFS_BISECT(low, end, middle, phases[middle].id < phase);
	return low - begin;
}

/* A start of windows, as its distance after a time. */
typedef struct Beginning
{
	TimestampTz time;
	double later_us;
} Beginning;

/*
 * Returns the first start of windows at the time or later: the mean over the series of the group.
 */
static Beginning
next_window(const PfsWindows *windows, TimestampTz time, int32 group)
{
	int64 width_us = windows->width_us;
	int64 offset;
	int32 begin;
	int32 end;
	double wrapped_us;

	for (int i = 0; i < PFS_TIER_COUNT; i++)
		if (time < windows->tier_ends[i])
			return (Beginning){ pfs_tier_round_up(windows->tier_ends, time), 0 };
	offset = pfs_bucket_offset(time, width_us);
	if (windows->phases == NULL)
		return (Beginning){ pfs_bucket_round_up(time, offset, width_us), 0 };
	begin = windows->group_begins[group];
	end = windows->group_begins[group + 1];
	wrapped_us = (double) width_us * count_less(windows->phases, begin, end, offset);
	return (Beginning){ time - offset,
						(windows->phase_sums[group] + wrapped_us) / Max(end - begin, 1) };
}

double
pfs_windows_cover(const PfsWindows *windows, TimestampTz from, TimestampTz to, int32 group)
{
	TimestampTz over = GetCurrentTransactionStartTimestamp() - windows->width_us;
	Beginning first = next_window(windows, from, group);
	Beginning after = next_window(windows, Min(to, Max(over, windows->latest) + 1), group);
	double covered_us = (double) (after.time - first.time) + (after.later_us - first.later_us);

	/* a sample without a following window, such as an agent's first, covers one window */
	return (covered_us > 0 ? covered_us : (double) windows->width_us) / USECS_PER_SEC;
}
