/*
 * layout.c
 *		Executable mappings of one exec image, oldest first.
 */
#include "process/layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static size_t
mapping_name_bytes(const ProcMapping *mapping)
{
	return heap_bytes(strlen(mapping->name) + 1);
}

/* Frees a name. Names are const for all other code, so that only their layout frees them. */
static void
free_name(Layout *layout, const ProcMapping *mapping)
{
	*layout->total -= mapping_name_bytes(mapping);
	layout->name_bytes -= mapping_name_bytes(mapping);
	free((void *) (uintptr_t) mapping->name);
}

void
layout_release(Layout *layout)
{
	if (layout == NULL || --layout->references > 0)
		return;
	for (size_t i = 0; i < layout->count; i++)
		free_name(layout, &layout->mappings[i].map);
	*layout->total -= heap_bytes(sizeof(*layout)) + layout->capacity * sizeof(*layout->mappings);
	free(layout->mappings);
	free(layout);
}

Layout *
layout_create(size_t *total, bool whole, uint64_t known_since_ns)
{
	Layout *layout = calloc(1, sizeof(*layout));

	if (layout == NULL)
		return NULL;
	*total += heap_bytes(sizeof(*layout));
	layout->total = total;
	layout->references = 1;
	layout->whole = whole;
	layout->known_since_ns = known_since_ns;
	return layout;
}

/* Drops the older half of the mappings, to make room for new ones. */
static void
layout_make_room(Layout *layout)
{
	size_t dropped = layout->count / 2;

	/*
	 * The layout is complete only from the last dropped mapping on. layout_append() calls this
	 * function with two mappings or more.
	 */
	layout->whole = false;
	layout->known_since_ns = layout->mappings[dropped - 1].time_ns;
	for (size_t i = 0; i < dropped; i++)
		free_name(layout, &layout->mappings[i].map);
	layout->count -= dropped;
	memmove(layout->mappings, layout->mappings + dropped,
			layout->count * sizeof(*layout->mappings));
}

bool
layout_append(Layout *layout, const ProcMapping *mapping, uint64_t time_ns)
{
	size_t capacity = layout->capacity;
	PastMapping *added;

	if (layout->count >= LAYOUT_MAX_MAPPINGS ||
		(layout->count > 1 && layout->name_bytes > LAYOUT_MAX_NAME_BYTES))
		layout_make_room(layout);
	if (grow_array(&layout->mappings, &layout->capacity, layout->count, sizeof(PastMapping)) != 0)
		return false;
	*layout->total += (layout->capacity - capacity) * sizeof(*layout->mappings);
	added = &layout->mappings[layout->count];
	added->time_ns = time_ns;
	added->map = *mapping;
	added->map.name = strdup(mapping->name);
	/* count was not increased, so the entry is unused */
	if (added->map.name == NULL)
		return false;
	*layout->total += mapping_name_bytes(&added->map);
	layout->name_bytes += mapping_name_bytes(&added->map);
	layout->count++;
	return true;
}

Layout *
layout_unshare(Layout *shared)
{
	Layout *layout;

	/* a layout that no other image uses may be changed in place */
	if (shared->references == 1)
		return shared;
	layout = layout_create(shared->total, shared->whole, shared->known_since_ns);
	for (size_t i = 0; layout != NULL && i < shared->count; i++)
	{
		if (!layout_append(layout, &shared->mappings[i].map, shared->mappings[i].time_ns))
		{
			layout_release(layout);
			layout = NULL;
		}
	}
	/* also on out of memory: the caller gives up its reference in either case */
	layout_release(shared);
	return layout;
}

static bool
mappings_overlap(const ProcMapping *a, const ProcMapping *b)
{
	return a->start < b->end && b->start < a->end;
}

bool
layout_has(const Layout *layout, const ProcMapping *mapping)
{
	/* From the newest: the first one that overlaps decides, because it covers older ones. */
	for (size_t i = layout->count; i-- > 0;)
	{
		const ProcMapping *known = &layout->mappings[i].map;

		if (mappings_overlap(known, mapping))
			/* the offset of memory without a file has no meaning */
			return known->start <= mapping->start && known->end >= mapping->end &&
				   known->device == mapping->device && known->inode == mapping->inode &&
				   (known->inode == 0 ||
					mapping->file_offset - known->file_offset == mapping->start - known->start) &&
				   strcmp(known->name, mapping->name) == 0;
	}
	return false;
}

/*
 * Lays a mapping over disjoint mappings, which are sorted by start, and returns the new number.
 * This adds up to two: the mapping itself, and the second half of a mapping that it splits.
 */
static size_t
paint_mapping(ProcMapping *mappings, size_t count, const ProcMapping *added)
{
	size_t first = 0;
	size_t end;
	ProcMapping head;
	ProcMapping tail;
	ProcMapping pieces[3];
	size_t piece_count = 0;

	/* mappings[first .. end) overlap the added one */
	while (first < count && mappings[first].end <= added->start)
		first++;
	end = first;
	while (end < count && mappings[end].start < added->end)
		end++;
	/*
	 * The first and last overlapping mapping may extend beyond the added one; they are copied,
	 * because one mapping may be both.
	 */
	if (end > first)
	{
		head = mappings[first];
		tail = mappings[end - 1];
		if (head.start < added->start)
		{
			head.end = added->start;
			pieces[piece_count++] = head;
		}
	}
	pieces[piece_count++] = *added;
	if (end > first && tail.end > added->end)
	{
		tail.file_offset += added->end - tail.start;
		tail.start = added->end;
		pieces[piece_count++] = tail;
	}
	/*
	 * the array has room for two more: layout_paint() adds at most two for each of
	 * LAYOUT_MAX_MAPPINGS
	 */
	memmove(&mappings[first + piece_count], &mappings[end], (count - end) * sizeof(*mappings));
	memcpy(&mappings[first], pieces, piece_count * sizeof(*mappings));
	return count - (end - first) + piece_count;
}

size_t
layout_paint(const Layout *layout, ProcMapping *painted)
{
	size_t count = 0;

	for (size_t i = 0; i < layout->count; i++)
		count = paint_mapping(painted, count, &layout->mappings[i].map);
	return count;
}
