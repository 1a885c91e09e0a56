/*
 * windows.c
 *		How long the windows of samples are, and how much time those that begin in a range cover.
 */
#include "select/windows.h"

#include "access/xact.h"
#include "base/allocate.h"
#include "select/buckets.h"
#include "utils/timestamp.h"

/* A length is told from so much: that many series, rows of them, and times of series. */
#define MAX_WATCHED 64
#define MAX_LOOKS	16384
#define MAX_SEEN	1024

/* Where nothing tells a length. */
#define ANY_MOMENT 1

PfsWindows *
pfs_windows_begin(int32 series_count)
{
	PfsWindows *windows = palloc0(sizeof(PfsWindows));

	windows->series_count = series_count;
	windows->times = PFS_ARRAY(TimestampTz, series_count);
	windows->is_watched = PFS_ARRAY0(bool, series_count);
	windows->looks_left = MAX_LOOKS;
	windows->seen = pfs_series_table_create(CurrentMemoryContext, PFS_SERIES_TABLE_INITIAL, NULL);
	windows->latest = DT_NOBEGIN;
	windows->width_us = ANY_MOMENT;
	for (int32 i = 0; i < series_count; i++)
		windows->times[i] = DT_NOBEGIN;
	for (int i = 0; i < PFS_TIER_COUNT; i++)
		windows->tier_ends[i] = DT_NOBEGIN;
	return windows;
}

void
pfs_windows_add_series(PfsWindows *windows, int32 series, TimestampTz time, bool is_tier)
{
	if (windows->times[series] == DT_NOBEGIN)
		windows->times[series] = time;
	if (!is_tier && windows->watched_count < MAX_WATCHED && !windows->is_watched[series])
	{
		windows->is_watched[series] = true;
		windows->watched_count++;
	}
}

void
pfs_windows_look(PfsWindows *windows, int32 series, TimestampTz time)
{
	bool found;

	windows->looks_left--;
	pfs_series_table_get(windows->seen, series, time, &found);
	if (windows->seen->members >= MAX_SEEN)
		windows->looks_left = 0;
}

static int
compare_times(const void *a, const void *b)
{
	const PfsSeriesKey *left = a;
	const PfsSeriesKey *right = b;

	if (left->series != right->series)
		return left->series < right->series ? -1 : 1;
	return (left->id > right->id) - (left->id < right->id);
}

static int
compare_distances(const void *a, const void *b)
{
	int64 left = *(const int64 *) a;
	int64 right = *(const int64 *) b;

	return (left > right) - (left < right);
}

/* What was seen, by series and time. */
static PfsSeriesKey *
sort_seen(PfsWindows *windows, uint32 *count)
{
	PfsSeriesKey *keys = PFS_ARRAY(PfsSeriesKey, windows->seen->members);
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *entry;

	*count = 0;
	pfs_series_table_start_iterate(windows->seen, &iterator);
	while ((entry = pfs_series_table_iterate(windows->seen, &iterator)) != NULL)
		keys[(*count)++] = entry->key;
	qsort(keys, *count, sizeof(PfsSeriesKey), compare_times);
	return keys;
}

/* The commonest of the distances that are no multiples of a width (0: of all), the shortest among equals; they are sorted. */
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
common_divisor(int64 a, int64 b)
{
	while (b != 0)
	{
		int64 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The longest of which three quarters of the distances are multiples, as far as common divisors of the commonest tell. */
static int64
find_width(int64 *distances, uint32 count)
{
	int64 width_us = 0;
	int64 other;
	uint32 other_count;

	qsort(distances, count, sizeof(int64), compare_distances);
	while (other = find_commonest(distances, count, width_us, &other_count),
		   other_count > count / 4)
		width_us = common_divisor(other, width_us);
	return width_us;
}

/* Whether the one before is of the same series. */
static inline bool
follows(const PfsSeriesKey *keys, uint32 i)
{
	return i > 0 && keys[i].series == keys[i - 1].series;
}

static void
set_phases(PfsWindows *windows, const PfsSeriesKey *keys, uint32 count)
{
	for (uint32 i = 0; i < count; i++)
		if (follows(keys, i) && (keys[i].id - keys[i - 1].id) % windows->width_us == 0)
			windows->times[keys[i].series] = keys[i].id;
}

/* How many of the times are multiples of a length, counted from the epoch. */
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
	PfsSeriesKey *keys = sort_seen(windows, &count);
	int64 *distances = PFS_ARRAY(int64, count);
	uint32 distance_count = 0;

	for (uint32 i = 0; i < count; i++)
		if (follows(keys, i))
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

/* The first window of a series that begins at the time or later; since is a time of it. */
static TimestampTz
next_window(const PfsWindows *windows, TimestampTz since, TimestampTz time)
{
	int64 width_us = windows->width_us;
	int64 offset;

	for (int i = 0; i < PFS_TIER_COUNT; i++)
		if (time < windows->tier_ends[i])
			return pfs_tier_round_up(windows->tier_ends, time);
	if (windows->is_aligned)
		return pfs_bucket_round_up(time, pfs_bucket_offset(time, width_us), width_us);
	offset = (time % width_us - since % width_us) % width_us;
	return pfs_bucket_round_up(time, offset < 0 ? offset + width_us : offset, width_us);
}

static inline int64
covered_us(const PfsWindows *windows, TimestampTz since, TimestampTz from, TimestampTz to)
{
	return next_window(windows, since, to) - next_window(windows, since, from);
}

/* In the mean over the series of each group. */
static void
cover_phases(const PfsWindows *windows, TimestampTz from, TimestampTz to, const int32 *groups,
			 int32 group_count, double *seconds)
{
	int32 *counts = PFS_ARRAY0(int32, group_count);

	memset(seconds, 0, group_count * sizeof(double));
	for (int32 i = 0; i < windows->series_count; i++)
	{
		if (windows->times[i] == DT_NOBEGIN)
			continue;
		counts[groups[i]]++;
		seconds[groups[i]] += (double) covered_us(windows, windows->times[i], from, to);
	}
	for (int32 group = 0; group < group_count; group++)
		seconds[group] /= (double) Max(counts[group], 1) * USECS_PER_SEC;
	pfree(counts);
}

/* A sample of which no window tells, as an agent's first: it stands for one all the same. */
static double
at_least_one(const PfsWindows *windows, double seconds)
{
	return seconds > 0 ? seconds : (double) windows->width_us / USECS_PER_SEC;
}

void
pfs_windows_cover(const PfsWindows *windows, TimestampTz from, TimestampTz to, const int32 *groups,
				  int32 group_count, double *seconds)
{
	TimestampTz over = GetCurrentTransactionStartTimestamp() - windows->width_us;

	to = Min(to, Max(over, windows->latest) + 1);
	if (windows->is_aligned || windows->width_us == ANY_MOMENT)
	{
		double same = (double) covered_us(windows, 0, from, to) / USECS_PER_SEC;

		for (int32 group = 0; group < group_count; group++)
			seconds[group] = same;
	}
	else
		cover_phases(windows, from, to, groups, group_count, seconds);
	for (int32 group = 0; group < group_count; group++)
		seconds[group] = at_least_one(windows, seconds[group]);
}
