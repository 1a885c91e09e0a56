/*
 * chart_tracks.c
 *		Chooses the track of a sample, in logarithmic time.
 *
 * Tracks are in queues by the start of their latest sample, so queues ascend in time. A sample that
 * continues a track moves it from its queue to the last queue. The target is the queue of one width
 * before the current sample, and moves forward with the samples. The nearest nonempty queues before
 * and after the target are found by links that skip empty queues; each search lengthens the links
 * that it follows, as in a union-find structure. Tracks of queues more than one and a half widths
 * old go to a heap of free tracks.
 *
 *  queues     oldest           target              last
 *     ... free | 1.5 widths ago | a width ago | ... | now
 */
#include "views/charts/chart_tracks.h"

#include "lib/binaryheap.h"

#include "base/arrays.h"

#define INITIAL_QUEUES 64

typedef struct TrackQueue
{
	TimestampTz time;
	Size first; /* range of its tracks in entries; sorted by number except in the last queue */
	Size end;
	int64 up;	/* if the queue is empty: all queues from it up to this one are empty, too */
	int64 down; /* if the queue is empty: all queues from it down to this one are empty, too */
} TrackQueue;

struct PfsTracks
{
	int64 width_us;
	int32 track_count;
	binaryheap *free; /* tracks that the next sample cannot continue, the lowest number first */
	int64 oldest;	  /* first queue whose tracks are not free */
	int64 target;	  /* first queue that is at most one width old */
	int64 queue_count;
	uint32 queue_capacity;
	TrackQueue *queues;
	Size entry_count;
	uint32 entry_capacity;
	int32 *entries; /* numbers of the tracks of all queues */
};

static int
compare_free(Datum a, Datum b, void *argument)
{
	int32 left = DatumGetInt32(a);
	int32 right = DatumGetInt32(b);

	return (left < right) - (left > right);
}

static int
compare_tracks(const void *a, const void *b)
{
	return *(const int32 *) a - *(const int32 *) b;
}

PfsTracks *
pfs_tracks_create(void)
{
	PfsTracks *tracks = palloc0(sizeof(PfsTracks));

	tracks->free = binaryheap_allocate(PFS_MAX_TRACKS, compare_free, NULL);
	PFS_RESERVE(tracks->queues, tracks->queue_capacity, INITIAL_QUEUES);
	return tracks;
}

void
pfs_tracks_reset(PfsTracks *tracks, int64 width_us)
{
	tracks->width_us = width_us;
	tracks->track_count = 0;
	tracks->oldest = tracks->target = tracks->queue_count = 0;
	tracks->entry_count = 0;
	binaryheap_reset(tracks->free);
}

/* Removes the queues before oldest, and their entries, from the front of both arrays. */
static void
drop_free_queues(PfsTracks *tracks)
{
	int64 dropped = tracks->oldest;
	Size entries_dropped = tracks->queues[dropped].first;

	tracks->queue_count -= dropped;
	memmove(tracks->queues, tracks->queues + dropped,
			(Size) tracks->queue_count * sizeof(TrackQueue));
	for (int64 i = 0; i < tracks->queue_count; i++)
	{
		TrackQueue *queue = &tracks->queues[i];

		queue->first -= entries_dropped;
		queue->end -= entries_dropped;
		queue->up -= dropped;
		queue->down -= dropped;
	}
	tracks->entry_count -= entries_dropped;
	memmove(tracks->entries, tracks->entries + entries_dropped,
			tracks->entry_count * sizeof(int32));
	tracks->target -= dropped;
	tracks->oldest = 0;
}

/*
 * Makes room for one more queue and one more entry. If the array of queues is full, it grows only
 * while more than half of its queues are in use; otherwise the free queues are dropped.
 */
static void
tracks_reserve(PfsTracks *tracks)
{
	if (tracks->queue_count == tracks->queue_capacity &&
		tracks->oldest >= tracks->queue_capacity / 2)
		drop_free_queues(tracks);
	PFS_RESERVE(tracks->queues, tracks->queue_capacity, (uint64) tracks->queue_count + 1);
	PFS_RESERVE(tracks->entries, tracks->entry_capacity, tracks->entry_count + 1);
}

/*
 * Moves the clock to this time: appends a queue for it unless the last queue has this time, frees
 * the tracks of queues that have become too old, and moves the target.
 */
static void
tracks_advance(PfsTracks *tracks, TimestampTz time)
{
	int64 width = tracks->width_us;

	if (tracks->queue_count > 0)
	{
		const TrackQueue *last = &tracks->queues[tracks->queue_count - 1];

		if (last->time == time)
			return;
		qsort(tracks->entries + last->first, last->end - last->first, sizeof(int32),
			  compare_tracks);
	}
	tracks->queues[tracks->queue_count] =
		(TrackQueue){ time, tracks->entry_count, tracks->entry_count, tracks->queue_count + 1,
					  tracks->queue_count - 1 };
	tracks->queue_count++;
	for (; time - tracks->queues[tracks->oldest].time > width + width / 2; tracks->oldest++)
	{
		const TrackQueue *queue = &tracks->queues[tracks->oldest];

		for (Size i = queue->first; i < queue->end; i++)
			binaryheap_add(tracks->free, Int32GetDatum(tracks->entries[i]));
	}
	while (tracks->queues[tracks->target].time < time - width)
		tracks->target++;
}

static bool
is_empty(const PfsTracks *tracks, int64 queue)
{
	return tracks->queues[queue].first == tracks->queues[queue].end;
}

/*
 * Returns the first nonempty queue from this one on, except the last; NULL if there is none.
 * Shortens the links on its way.
 */
static TrackQueue *
tracks_look_up(PfsTracks *tracks, int64 queue)
{
	int64 found = queue;

	while (found < tracks->queue_count - 1 && is_empty(tracks, found))
		found = tracks->queues[found].up;
	for (int64 next; queue < found; queue = next)
	{
		next = tracks->queues[queue].up;
		tracks->queues[queue].up = found;
	}
	return found < tracks->queue_count - 1 ? &tracks->queues[found] : NULL;
}

/*
 * Returns the last nonempty queue up to this one, down to oldest; NULL if there is none. Shortens
 * the links on its way.
 */
static TrackQueue *
look_down(PfsTracks *tracks, int64 queue)
{
	int64 found = queue;

	while (found >= tracks->oldest && is_empty(tracks, found))
		found = tracks->queues[found].down;
	for (int64 next; queue > found && queue >= tracks->oldest; queue = next)
	{
		next = tracks->queues[queue].down;
		tracks->queues[queue].down = found;
	}
	return found >= tracks->oldest ? &tracks->queues[found] : NULL;
}

/*
 * Returns the queue whose first track the sample continues best; NULL if the sample continues none.
 */
static TrackQueue *
find_best(PfsTracks *tracks, TimestampTz time)
{
	int64 width = tracks->width_us;
	TrackQueue *late = look_down(tracks, tracks->target - 1);
	TrackQueue *early = tracks_look_up(tracks, tracks->target);
	int64 late_by;
	int64 early_by;

	if (early != NULL && time - early->time < width / 2)
		early = NULL;
	if (late == NULL || early == NULL)
		return late != NULL ? late : early;
	late_by = time - late->time - width;
	early_by = width - (time - early->time);
	if (late_by != early_by)
		return late_by < early_by ? late : early;
	return tracks->entries[late->first] < tracks->entries[early->first] ? late : early;
}

static int32
new_track(PfsTracks *tracks)
{
	if (tracks->track_count == PFS_MAX_TRACKS)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("too many samples of one series overlap for a flame chart"),
						errdetail("The limit is %d; a sample lasts " INT64_FORMAT " microseconds.",
								  PFS_MAX_TRACKS, tracks->width_us),
						errhint("Flame charts are for samples that keep their times "
								"(--keep-times). Select fewer series, or pass a smaller width.")));
	return tracks->track_count++;
}

int32
pfs_tracks_choose(PfsTracks *tracks, TimestampTz time)
{
	TrackQueue *best;
	int32 track;

	tracks_reserve(tracks);
	tracks_advance(tracks, time);
	best = find_best(tracks, time);
	if (best != NULL)
		track = tracks->entries[best->first++];
	else if (!binaryheap_empty(tracks->free))
		track = DatumGetInt32(binaryheap_remove_first(tracks->free));
	else
		track = new_track(tracks);
	tracks->entries[tracks->entry_count++] = track;
	tracks->queues[tracks->queue_count - 1].end = tracks->entry_count;
	return track;
}
