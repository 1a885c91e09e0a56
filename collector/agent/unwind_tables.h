/*
 * unwind_tables.h
 *		Unwind tables for the images and processes of the agent: each image is compiled once, when a process that
 *		maps it is first described.
 *
 * All functions belong to the reader's walker thread.
 */
#ifndef COLLECTOR_UNWIND_TABLES_H
#define COLLECTOR_UNWIND_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "agent/image.h"
#include "events.h"
#include "unwind/unwinder.h"

typedef struct UnwindTables UnwindTables;

/* One executable mapping of a process. */
typedef struct UnwindMapping
{
	uint64_t start; /* process addresses, half-open */
	uint64_t end;
	uint64_t file_offset;
	Image *image; /* NULL: code without a file */
} UnwindMapping;

/* Kernel tables and image table outlive this. 0 or -ENOMEM. */
int unwind_tables_create(ImageTable *images, KernelTables *kernel, UnwindTables **tables);
void unwind_tables_free(UnwindTables *tables); /* accepts NULL */

/* Mappings ascending and disjoint. What goes wrong is counted: walks of the process then end early. */
void unwind_tables_describe(UnwindTables *tables, const UnwindProcess *process,
							const UnwindMapping *mappings, size_t count, uint64_t now_ns);
void unwind_tables_forget(UnwindTables *tables, const UnwindProcess *process, uint64_t now_ns);

/*
 * Goes on with a walk that the kernel handed over (PFS_SAMPLE_LATE), over the stack's copy. Frames as the kernel
 * records them; trust_jit as in late_walk.h; *status is an enum pfs_walk_status. length_bytes is what the record has of *late.
 */
size_t unwind_tables_walk(const UnwindTables *tables, const UnwindProcess *process,
						  const struct pfs_late *late, bool trust_jit, uint64_t *frames,
						  size_t capacity, int *status);

#define UNWIND_TABLES_KEEP_NS		UINT64_C(120000000000) /* each entry holds a descriptor */
#define UNWIND_TABLES_KEEP_TIGHT_NS UINT64_C(1000000000)

/* Drops tables of images that no described process has mapped for keep_ns. */
void unwind_tables_sweep(UnwindTables *tables, uint64_t now_ns, uint64_t keep_ns);

#endif
