/*
 * layout.h
 *		The executable mappings that an exec image has made, in the order of their creation.
 *
 * After a fork, parent and child share one layout until one of them maps more. Names belong to the
 * layout. Not thread-safe.
 */
#ifndef COLLECTOR_LAYOUT_H
#define COLLECTOR_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/proc_file.h"

/* Beyond either limit, the older half of the mappings is dropped. A name may have 4 kB. */
#define LAYOUT_MAX_MAPPINGS	  512
#define LAYOUT_MAX_NAME_BYTES ((size_t) 128 * 1024)

typedef struct PastMapping
{
	ProcMapping map;
	uint64_t time_ns;
} PastMapping;

typedef struct Layout
{
	size_t *total; /* sum over all layouts, this one included */
	uint32_t references;
	bool whole;				 /* the exec of the image was observed, and no mapping was dropped */
	uint64_t known_since_ns; /* mappings made before this time may be missing */
	size_t count;
	size_t capacity;
	size_t name_bytes;
	PastMapping *mappings; /* oldest first */
} Layout;

/* Estimates the heap memory that a block of the given size takes. */
static inline size_t
heap_bytes(size_t size)
{
	return size + 2 * sizeof(size_t);
}

/*
 * Makes an empty layout with one reference; NULL on out of memory. *total is charged and must
 * outlive the layout.
 */
Layout *layout_create(size_t *total, bool whole, uint64_t known_since_ns);
void layout_release(Layout *layout); /* accepts NULL */

/* Appends a copy of a mapping. Returns false on out of memory. */
bool layout_append(Layout *layout, const ProcMapping *mapping, uint64_t time_ns);

/*
 * Returns a layout of the same mappings that is not shared, and releases the reference to the given
 * one. NULL on out of memory.
 */
Layout *layout_unshare(Layout *shared);

/*
 * Returns true if the newest mapping that overlaps the given one contains it and has the same file.
 * The given mapping then changes nothing: compilers that alternate between writing and executing
 * map the same code over and over, and mprotect() of a part reports that part again.
 */
bool layout_has(const Layout *layout, const ProcMapping *mapping);

/*
 * Computes the visible mappings, disjoint and sorted by start: a later mapping covers earlier ones.
 * painted must have room for 2 * LAYOUT_MAX_MAPPINGS; names belong to the layout. Returns the
 * number of mappings.
 */
size_t layout_paint(const Layout *layout, ProcMapping *painted);

#endif
