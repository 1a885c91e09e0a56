/*
 * windows.c
 *		How long the windows of samples are, and how much time those that begin in a range cover.
 */
#include "select/windows.h"

#include "access/xact.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "select/buckets.h"

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

/*
 * The commonest of the distances that are no multiples of a width (0: of all), the shortest among
 * equals; they are sorted.
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

/*
 * The longest of which three quarters of the distances are multiples, as far as common divisors of
 * the commonest tell.
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
	qsort(windows->phases, count, sizeof(PfsSeriesKey), compare_times);
	for (int32 group = 0; group < group_count; group++)
		windows->group_begins[group + 1] += windows->group_begins[group];
}

/* How many of the phases from begin to end, which are sorted, are less than one. */
static int32
count_less(const PfsSeriesKey *phases, int32 begin, int32 end, int64 phase)
{
	int32 low = begin;

	PFS_BISECT(low, end, middle, phases[middle].id < phase);
	return low - begin;
}

/* When windows begin: so much after a time. */
typedef struct Beginning
{
	TimestampTz time;
	double later_us;
} Beginning;

/*
 * Of each series that begins at the time or later, the first window, in the mean over the series of
 * the group.
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

	/* a sample of which no window tells, as an agent's first, stands for one all the same */
	return (covered_us > 0 ? covered_us : (double) windows->width_us) / USECS_PER_SEC;
}
