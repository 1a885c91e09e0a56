/*
 * unwind_tables.h
 *		Unwind tables of mapped files, and processes that are walked by them.
 *
 * A file's table is loaded when a walk first needs it, a large one by parts if the cache has it.
 *
 * What tables take is on accounts of the owners of the processes that want them (table_account.h).
 * If the kernel's tables are full, those of the owner that has most of them go.
 *
 * All functions belong to the reader's walker thread.
 */
#ifndef COLLECTOR_UNWIND_TABLES_H
#define COLLECTOR_UNWIND_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "events.h"
#include "process/process.h"
#include "runtimes/runtimes.h"
#include "unwind/unwinder.h"

typedef struct UnwindTables UnwindTables;

/* Kernel tables, table of files and cache (NULL: none) outlive this. 0 or -ENOMEM. */
int unwind_tables_create(MappedFileTable *files, KernelTables *kernel, TableCache *cache,
						 UnwindTables **tables);
void unwind_tables_free(UnwindTables *tables); /* accepts NULL */
void unwind_tables_stats(const UnwindTables *tables, UnwinderStats *stats);

/* Bounds what making tables takes: --max-memory, and --max-cpu as percent of one CPU. */
void unwind_tables_limit(UnwindTables *tables, size_t memory_bytes, uint64_t cpu_percent);

/* rest: the agent takes more than --max-cpu, so no table is made for now. */
void unwind_tables_rest(UnwindTables *tables, bool rest);

/* From now on interpreters among the files are told there. It outlives this. */
void unwind_tables_use_runtimes(UnwindTables *tables, Runtimes *runtimes);

/* From now on it is told where programs keep labels of their threads. */
void unwind_tables_find_labels(UnwindTables *tables);

/*
 * Makes memory of a process resident where labels of its threads could not be read, as far as
 * label_pages.h allows. Waits for a page no longer than for other memory of processes.
 */
void unwind_tables_read_labels(UnwindTables *tables, const ExecImage *process, uint64_t owner,
							   uint64_t address, uint64_t now_ns);

/*
 * Describes a process of an owner, who pays for reading the code of its interpreter. Mappings are
 * ascending and disjoint; their tables come when they are needed. Returns 0 or -errno, which is
 * counted: walks of the process then end early. -ENOSPC: there is no room now. -EAGAIN: described
 * without a file that did not answer.
 */
int unwind_tables_describe(UnwindTables *tables, const ExecImage *process, uint64_t owner,
						   const DescribedMapping *mappings, size_t count, uint64_t now_ns);
void unwind_tables_forget(UnwindTables *tables, const ExecImage *process, uint64_t now_ns);

/*
 * Goes on with a walk that the kernel handed over (PFS_SAMPLE_LATE), over the stack's copy. Frames
 * as the kernel records them; ends (NULL: not wanted) and trust_jit as in late_walk.h; *status is
 * an enum pfs_walk_status.
 */
size_t unwind_tables_walk(const UnwindTables *tables, const ExecImage *process,
						  const struct pfs_late *late, bool trust_jit, uint64_t *frames,
						  uint64_t *ends, size_t capacity, int *status);

/*
 * A walk of an owner's process ended with PFS_WALK_NO_TABLE at a frame, as recorded. If that is
 * because a table, or the part of it there, is not loaded yet, the table's number: it is wanted
 * once more, and the walk is worth repeating when it was loaded. Otherwise 0; also if the owner has
 * used up the time for its tables.
 */
uint64_t unwind_tables_want(UnwindTables *tables, const ExecImage *process, uint64_t owner,
							uint64_t frame, uint64_t now_ns);

/*
 * Loads the table that is wanted most, or those parts of it that are, and returns its number; 0 if
 * none is wanted. May take a quarter of a second. If there is no room others go, and it can be
 * wanted again in some seconds.
 */
uint64_t unwind_tables_load_wanted(UnwindTables *tables, uint64_t now_ns);

#define UNWIND_TABLES_KEEP_NS		UINT64_C(120000000000) /* each entry holds a descriptor */
#define UNWIND_TABLES_KEEP_TIGHT_NS UINT64_C(1000000000)

/*
 * Drops tables of files that no described process has mapped for keep_ns, or maps where the file
 * was deleted.
 */
void unwind_tables_sweep(UnwindTables *tables, uint64_t now_ns, uint64_t keep_ns);

#endif
