/*
 * code_map.c
 *		Regions of generated code in two sorted arrays, and the replaced ones.
 */
#include "jit/code_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define YOUNG_MIN 256

void
code_map_init(CodeMap *map, Budget *budget)
{
	*map = (CodeMap){ .budget = budget };
}

static void
release_all(CodeRegion *regions, size_t count)
{
	for (size_t i = 0; i < count; i++)
		code_object_release(regions[i].code); /* NULL if the region was moved out */
}

void
code_map_fini(CodeMap *map)
{
	release_all(map->old, map->old_count);
	release_all(map->young, map->young_count);
	for (size_t i = 0; i < map->gone_count; i++)
		code_object_release(map->gone[i].region.code);
	budget_release(map->budget, (map->old_capacity + map->young_capacity) * sizeof(CodeRegion) +
									map->gone_capacity * sizeof(GoneRegion));
	free(map->old);
	free(map->young);
	free(map->gone);
	*map = (CodeMap){ .budget = map->budget };
}

/* Makes room for wanted items in one of the map's arrays. 0 or -ENOMEM. */
static int
array_reserve(CodeMap *map, void *array, size_t *capacity, size_t wanted, size_t item_bytes)
{
	void **items = array;
	size_t grown = *capacity;
	void *moved;

	if (wanted <= *capacity)
		return 0;
	while (grown < wanted)
		grown = grown == 0 ? 64 : 2 * grown;
	/* Charged before the allocation, so that a refusal by the budget needs no undoing. */
	if (!budget_charge(map->budget, (grown - *capacity) * item_bytes))
		return -ENOMEM;
	moved = reallocarray(*items, grown, item_bytes);
	if (moved == NULL)
	{
		budget_release(map->budget, (grown - *capacity) * item_bytes);
		return -ENOMEM;
	}
	*items = moved;
	*capacity = grown;
	return 0;
}

/* Returns the index of the first region that ends after the address. */
static size_t
first_behind(const CodeRegion *regions, size_t count, uint64_t address)
{
	size_t low = 0;

	while (low < count)
	{
		size_t middle = low + (count - low) / 2;

		if (regions[middle].end <= address)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* Drops the count oldest replaced regions. From then on, lookups for moments before them fail. */
static void
forget_gone(CodeMap *map, size_t count)
{
	for (size_t i = 0; i < count; i++)
		code_object_release(map->gone[i].region.code);
	map->forgot_ns = map->gone[count - 1].gone_ns;
	map->gone_count -= count;
	memmove(map->gone, map->gone + count, map->gone_count * sizeof(GoneRegion));
}

/*
 * Buries a region: moves it to the list of replaced regions, for samples that arrive late. If the
 * list is full, drops its older half.
 */
static void
region_bury(CodeMap *map, const CodeRegion *region)
{
	/* the code appeared and disappeared at one moment, so no sample can be in it */
	if (region->unseen_ns >= map->told_ns)
	{
		code_object_release(region->code);
		return;
	}
	if (map->gone_count == CODE_MAP_GONE_MAX)
		forget_gone(map, CODE_MAP_GONE_MAX / 2);
	if (array_reserve(map, &map->gone, &map->gone_capacity, map->gone_count + 1,
					  sizeof(GoneRegion)) != 0)
	{
		/*
		 * Without this region a lookup could find a wrong name, so all lookups up to now must fail.
		 */
		map->forgot_ns = map->told_ns;
		code_object_release(region->code);
		return;
	}
	map->gone[map->gone_count++] = (GoneRegion){ *region, map->told_ns };
}

/* Buries all young regions that overlap [start, end). Returns false if there are none. */
static bool
bury_young(CodeMap *map, uint64_t start, uint64_t end)
{
	size_t first = first_behind(map->young, map->young_count, start);
	size_t behind = first;

	while (behind < map->young_count && map->young[behind].start < end)
		region_bury(map, &map->young[behind++]);
	if (behind == first)
		return false;
	memmove(&map->young[first], &map->young[behind],
			(map->young_count - behind) * sizeof(CodeRegion));
	map->young_count -= behind - first;
	return true;
}

/*
 * Returns true for the empty slot that a replaced old region leaves: its code is NULL, and its
 * seen_ns is a number of slots (set_empty()).
 */
static bool
is_empty(const CodeRegion *region)
{
	return region->code == NULL;
}

/* Marks a slot as empty. places is the number of empty slots from this one on, or fewer. */
static void
set_empty(CodeRegion *region, size_t places)
{
	region->code = NULL;
	region->seen_ns = places;
}

/*
 * Buries all old regions that overlap [start, end). Returns false if there are none. A run of empty
 * slots is walked once and then skipped by its length, so no order of lines makes this quadratic.
 */
static bool
bury_old(CodeMap *map, uint64_t start, uint64_t end)
{
	size_t first = first_behind(map->old, map->old_count, start);
	size_t behind = first;
	bool found = false;

	while (behind < map->old_count && map->old[behind].start < end)
	{
		if (!is_empty(&map->old[behind]))
		{
			region_bury(map, &map->old[behind]);
			set_empty(&map->old[behind], 1);
			found = true;
		}
		behind += map->old[behind].seen_ns;
	}
	/* Gives each slot of the run its distance to the end of the run, for the next walk. */
	while (first < behind)
	{
		size_t next = first + map->old[first].seen_ns;

		set_empty(&map->old[first], behind - first);
		first = next;
	}
	return found;
}

/*
 * Merges the young regions into the old ones and removes empty slots. Works backwards from the end,
 * so that no slot is overwritten before it is moved.
 */
static int
merge_young(CodeMap *map)
{
	size_t old = 0;
	size_t young = map->young_count;
	size_t to;

	for (size_t i = 0; i < map->old_count; i++)
	{
		if (!is_empty(&map->old[i]))
			map->old[old++] = map->old[i];
	}
	map->old_count = old;
	to = old + young;
	if (array_reserve(map, &map->old, &map->old_capacity, to, sizeof(CodeRegion)) != 0)
		return -ENOMEM;
	map->old_count = to;
	map->young_count = 0;
	while (young > 0)
	{
		if (old > 0 && map->old[old - 1].start > map->young[young - 1].start)
			map->old[--to] = map->old[--old];
		else
			map->old[--to] = map->young[--young];
	}
	return 0;
}

/*
 * Returns true if the young regions should be merged: inserting into the array costs as much as a
 * merge, divided among the insertions, when it is this long.
 */
static bool
young_are_many(const CodeMap *map)
{
	return map->young_count >= YOUNG_MIN &&
		   map->young_count * map->young_count >= map->old_count + map->young_count;
}

static void
begin_look(CodeMap *map, uint64_t before_ns, uint64_t now_ns)
{
	size_t forgotten = 0;

	map->looked_before_ns = before_ns;
	map->looked_ns = now_ns;
	map->told_ns = now_ns;
	while (forgotten < map->gone_count && map->gone[forgotten].gone_ns + CODE_MAP_KEEP_NS < now_ns)
		forgotten++;
	if (forgotten > 0)
		forget_gone(map, forgotten);
}

void
code_map_look(CodeMap *map, uint64_t now_ns)
{
	begin_look(map, map->looked_ns, now_ns);
}

void
code_map_told_by(CodeMap *map, uint64_t time_ns)
{
	if (time_ns <= map->looked_before_ns || time_ns > map->looked_ns)
		return;
	/* the replaced regions are sorted by the time of their replacement */
	if (map->gone_count > 0 && time_ns < map->gone[map->gone_count - 1].gone_ns)
		time_ns = map->gone[map->gone_count - 1].gone_ns;
	map->told_ns = time_ns;
}

void
code_map_at(CodeMap *map, uint64_t time_ns)
{
	/* A runtime's clock may go back, but regions must stay sorted by time. */
	if (time_ns < map->looked_ns)
		time_ns = map->looked_ns;
	begin_look(map, time_ns, time_ns);
}

int
code_map_add(CodeMap *map, uint64_t start, uint64_t end, CodeObject *code)
{
	const CodeRegion added = { start, end, code, map->looked_before_ns, map->told_ns };
	bool reused = bury_old(map, start, end);
	size_t at;

	/* Reused memory makes jit_source wait for reads rather than skip them. */
	if (bury_young(map, start, end) || reused)
		map->reused_ns = map->looked_ns;
	if (map->old_count + map->young_count >= CODE_MAP_REGIONS_MAX ||
		(young_are_many(map) && merge_young(map) != 0) ||
		array_reserve(map, &map->young, &map->young_capacity, map->young_count + 1,
					  sizeof(CodeRegion)) != 0)
	{
		code_object_release(code);
		return -ENOMEM;
	}
	at = first_behind(map->young, map->young_count, start);
	memmove(&map->young[at + 1], &map->young[at], (map->young_count - at) * sizeof(CodeRegion));
	map->young[at] = added;
	map->young_count++;
	return 0;
}

static const CodeRegion *
find_in(const CodeRegion *regions, size_t count, uint64_t address)
{
	size_t at = first_behind(regions, count, address);

	return at < count && regions[at].start <= address ? &regions[at] : NULL;
}

/* Returns the region that is at the address at present; NULL if not known. */
static const CodeRegion *
find_now(const CodeMap *map, uint64_t address)
{
	const CodeRegion *now = find_in(map->young, map->young_count, address);

	if (now == NULL)
		now = find_in(map->old, map->old_count, address);
	return now == NULL || is_empty(now) ? NULL : now;
}

int
code_map_move(CodeMap *map, uint64_t address, uint64_t start, uint64_t end)
{
	const CodeRegion *now = find_now(map, address);
	CodeObject *code;

	if (now == NULL)
		return -ENOENT;
	/* Retained first, because the burials release the references of the regions. */
	code = code_object_retain(now->code);
	(void) bury_old(map, address, address + 1);
	(void) bury_young(map, address, address + 1);
	return code_map_add(map, start, end, code);
}

void
code_map_void(CodeMap *map)
{
	(void) bury_old(map, 0, UINT64_MAX);
	for (size_t i = 0; i < map->young_count; i++)
		region_bury(map, &map->young[i]);
	map->old_count = 0;
	map->young_count = 0;
}

CodeObject *
code_map_find(const CodeMap *map, uint64_t address, uint64_t time_ns)
{
	const CodeRegion *now = find_now(map, address);
	CodeObject *found = NULL;

	if (time_ns < map->forgot_ns)
		return NULL;
	/* the present code counts if the last read that did not find it was before the sample */
	if (now != NULL && now->unseen_ns < time_ns)
		found = now->code;
	/*
	 * Replaced code counts as well if it may have been there: it was replaced after the sample, and
	 * was not first seen after it.
	 */
	for (size_t i = map->gone_count; i > 0 && map->gone[i - 1].gone_ns > time_ns; i--)
	{
		const GoneRegion *gone = &map->gone[i - 1];

		if (address < gone->region.start || address >= gone->region.end ||
			gone->region.unseen_ns >= time_ns)
			continue;
		/*
		 * Two pieces of code may have been there, and it is unknown which one: no name beats a
		 * wrong one.
		 */
		if (found != NULL && found != gone->region.code)
			return NULL;
		found = gone->region.code;
	}
	return found == NULL ? NULL : code_object_retain(found);
}
