/*
 * chart_lanes.c
 *		Lanes of a flame chart, found without a look at each.
 *
 * Lanes stand in groups by the time at which their latest sample began, so groups ascend in time, and a lane that is
 * continued moves from its group to the last one. Where a sample is best continued from, a width before it,
 * moves forward with the samples; the nearest groups to both sides that still hold lanes are found over links that
 * skip empty ones, and grow longer as they are used. Groups that are too old give their lanes to a heap.
 *
 *	groups	    oldest           target              last
 *	   ... free | 1.5 widths ago | a width ago | ... | now
 */
#include "views/chart_lanes.h"

#include "base/arrays.h"
#include "lib/binaryheap.h"

#define INITIAL_GROUPS 64

typedef struct LaneGroup
{
	TimestampTz time;
	Size first; /* of its lanes, in entries, by number once the group is not the last one */
	Size end;
	int64 up;	/* of an empty one: no group before that holds lanes */
	int64 down; /* none after that */
} LaneGroup;

struct PfsLanes
{
	int64 width_us;
	int32 lane_count;
	binaryheap *free; /* lanes that no sample continues, the least first */
	int64 oldest;	  /* groups before this one are free */
	int64 target;	  /* first group that began not more than a width ago */
	int64 group_count;
	int64 group_capacity;
	LaneGroup *groups;
	Size entry_count;
	Size entry_capacity;
	int32 *entries; /* lanes of all groups */
};

static int
compare_free(Datum a, Datum b, void *argument)
{
	int32 left = DatumGetInt32(a);
	int32 right = DatumGetInt32(b);

	return (left < right) - (left > right);
}

static int
compare_lanes(const void *a, const void *b)
{
	return *(const int32 *) a - *(const int32 *) b;
}

PfsLanes *
pfs_lanes_create(void)
{
	PfsLanes *lanes = palloc0(sizeof(PfsLanes));

	lanes->free = binaryheap_allocate(PFS_MAX_LANES, compare_free, NULL);
	lanes->group_capacity = INITIAL_GROUPS;
	lanes->groups = PFS_ARRAY(LaneGroup, lanes->group_capacity);
	lanes->entry_capacity = INITIAL_GROUPS;
	lanes->entries = PFS_ARRAY(int32, lanes->entry_capacity);
	return lanes;
}

void
pfs_lanes_reset(PfsLanes *lanes, int64 width_us)
{
	lanes->width_us = width_us;
	lanes->lane_count = 0;
	lanes->oldest = lanes->target = lanes->group_count = 0;
	lanes->entry_count = 0;
	binaryheap_reset(lanes->free);
}

/* Makes the places of groups that are free those of the first ones to come. */
static void
drop_free_groups(PfsLanes *lanes)
{
	int64 dropped = lanes->oldest;
	Size entries_dropped = lanes->groups[dropped].first;

	lanes->group_count -= dropped;
	memmove(lanes->groups, lanes->groups + dropped, (Size) lanes->group_count * sizeof(LaneGroup));
	for (int64 i = 0; i < lanes->group_count; i++)
	{
		LaneGroup *group = &lanes->groups[i];

		group->first -= entries_dropped;
		group->end -= entries_dropped;
		group->up -= dropped;
		group->down -= dropped;
	}
	lanes->entry_count -= entries_dropped;
	memmove(lanes->entries, lanes->entries + entries_dropped, lanes->entry_count * sizeof(int32));
	lanes->target -= dropped;
	lanes->oldest = 0;
}

/* Room for one more group and one more entry. Half of the groups at least are in use afterwards, or were added. */
static void
reserve(PfsLanes *lanes)
{
	if (lanes->group_count == lanes->group_capacity && lanes->oldest >= lanes->group_capacity / 2)
		drop_free_groups(lanes);
	if (lanes->group_count == lanes->group_capacity)
	{
		lanes->group_capacity *= 2;
		lanes->groups =
			repalloc_huge(lanes->groups, (Size) lanes->group_capacity * sizeof(LaneGroup));
	}
	if (lanes->entry_count == lanes->entry_capacity)
	{
		lanes->entry_capacity *= 2;
		lanes->entries = repalloc_huge(lanes->entries, lanes->entry_capacity * sizeof(int32));
	}
}

/* Makes the last group one of this time, and moves the others on in time. */
static void
advance(PfsLanes *lanes, TimestampTz time)
{
	int64 width = lanes->width_us;

	if (lanes->group_count > 0)
	{
		const LaneGroup *last = &lanes->groups[lanes->group_count - 1];

		if (last->time == time)
			return;
		qsort(lanes->entries + last->first, last->end - last->first, sizeof(int32), compare_lanes);
	}
	lanes->groups[lanes->group_count] =
		(LaneGroup){ time, lanes->entry_count, lanes->entry_count, lanes->group_count + 1,
					 lanes->group_count - 1 };
	lanes->group_count++;
	for (; time - lanes->groups[lanes->oldest].time > width + width / 2; lanes->oldest++)
	{
		const LaneGroup *group = &lanes->groups[lanes->oldest];

		for (Size i = group->first; i < group->end; i++)
			binaryheap_add(lanes->free, Int32GetDatum(lanes->entries[i]));
	}
	while (lanes->groups[lanes->target].time < time - width)
		lanes->target++;
}

static bool
is_empty(const PfsLanes *lanes, int64 group)
{
	return lanes->groups[group].first == lanes->groups[group].end;
}

/* The first group from one on, before the last, that holds lanes; NULL where none does. */
static LaneGroup *
look_up(PfsLanes *lanes, int64 group)
{
	int64 found = group;

	while (found < lanes->group_count - 1 && is_empty(lanes, found))
		found = lanes->groups[found].up;
	for (int64 next; group < found; group = next)
	{
		next = lanes->groups[group].up;
		lanes->groups[group].up = found;
	}
	return found < lanes->group_count - 1 ? &lanes->groups[found] : NULL;
}

/* The last group up to one that holds lanes and is not free; NULL where none does. */
static LaneGroup *
look_down(PfsLanes *lanes, int64 group)
{
	int64 found = group;

	while (found >= lanes->oldest && is_empty(lanes, found))
		found = lanes->groups[found].down;
	for (int64 next; group > found && group >= lanes->oldest; group = next)
	{
		next = lanes->groups[group].down;
		lanes->groups[group].down = found;
	}
	return found >= lanes->oldest ? &lanes->groups[found] : NULL;
}

/* The group whose first lane a sample continues best; NULL where it continues none. */
static LaneGroup *
find_best(PfsLanes *lanes, TimestampTz time)
{
	int64 width = lanes->width_us;
	LaneGroup *late = look_down(lanes, lanes->target - 1);
	LaneGroup *early = look_up(lanes, lanes->target);
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
	return lanes->entries[late->first] < lanes->entries[early->first] ? late : early;
}

static int32
new_lane(PfsLanes *lanes)
{
	if (lanes->lane_count == PFS_MAX_LANES)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("too many samples of one series overlap for a flame chart"),
						errdetail("The limit is %d; a sample lasts " INT64_FORMAT " microseconds.",
								  PFS_MAX_LANES, lanes->width_us),
						errhint("Flame charts are for samples that keep their times (--keep-times)."
								" Choose fewer series for a lane, or a smaller width.")));
	return lanes->lane_count++;
}

int32
pfs_lanes_choose(PfsLanes *lanes, TimestampTz time)
{
	LaneGroup *best;
	int32 lane;

	reserve(lanes);
	advance(lanes, time);
	best = find_best(lanes, time);
	if (best != NULL)
		lane = lanes->entries[best->first++];
	else if (!binaryheap_empty(lanes->free))
		lane = DatumGetInt32(binaryheap_remove_first(lanes->free));
	else
		lane = new_lane(lanes);
	lanes->entries[lanes->entry_count++] = lane;
	lanes->groups[lanes->group_count - 1].end = lanes->entry_count;
	return lane;
}
