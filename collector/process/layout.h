/*
 * layout.h
 *		What an exec image mapped, in the order in which it did.
 *
 * After a fork parent and child share one layout, until one of them maps more. Names belong to the
 * layout. Not thread-safe.
 */
#ifndef COLLECTOR_LAYOUT_H
#define COLLECTOR_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/proc_file.h"

/* Beyond either the older half is forgotten: a name may have 4 kB. */
#define LAYOUT_MAX_MAPPINGS	  512
#define LAYOUT_MAX_NAME_BYTES ((size_t) 128 * 1024)

typedef struct PastMapping
{
	ProcMapping map;
	uint64_t time_ns;
} PastMapping;

typedef struct Layout
{
	size_t *total; /* bytes of all layouts, this one's included */
	uint32_t references;
	bool whole;				 /* the image's beginning was seen, and nothing of it is forgotten */
	uint64_t known_since_ns; /* what was mapped before may be missing */
	size_t count;
	size_t capacity;
	size_t name_bytes;
	PastMapping *mappings; /* oldest first */
} Layout;

/* What a block of that size takes of the heap, roughly. */
static inline size_t
heap_bytes(size_t size)
{
	return size + 2 * sizeof(size_t);
}

/* An empty one with one reference; NULL without memory. total is charged and outlives it. */
Layout *layout_create(size_t *total, bool whole, uint64_t known_since_ns);
void layout_release(Layout *layout); /* accepts NULL */

/* A copy of the mapping comes last. False without memory. */
bool layout_append(Layout *layout, const ProcMapping *mapping, uint64_t time_ns);

/*
 * One of our own with the same mappings; the reference to the old one is given back. NULL without
 * memory.
 */
Layout *layout_unshare(Layout *shared);

/*
 * Does the mapping show what was there before? Compilers that write and execute in turn map the
 * same code over and over; and where the protection of a part is changed, that part is told.
 */
bool layout_has(const Layout *layout, const ProcMapping *mapping);

/*
 * What lies on top where later mappings cover earlier ones: disjoint, by ascending start. painted
 * has room for 2 * LAYOUT_MAX_MAPPINGS; names stay the layout's. Returns their number.
 */
size_t layout_paint(const Layout *layout, ProcMapping *painted);

#endif
