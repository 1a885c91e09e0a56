/*
 * unwind_tables.h
 *		Unwind tables of mapped files, and the processes that are walked with them.
 *
 * A file's table is loaded when a walk first needs it. If the table is large and in the cache, only
 * the parts that walks need are loaded.
 *
 * The CPU time of making tables, also of generated code, is charged to the owners of the processes
 * that want them (table_account.h). If the kernel's tables are full, tables of the owner with the
 * most lines are unloaded.
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

/*
 * The table of files, the kernel's tables and the cache (NULL: none) must outlive the object.
 * Returns 0 or -ENOMEM.
 */
int unwind_tables_create(MappedFileTable *files, KernelTables *kernel, TableCache *cache,
						 UnwindTables **tables);
void unwind_tables_free(UnwindTables *tables); /* accepts NULL */
void unwind_tables_stats(const UnwindTables *tables, UnwinderStats *stats);

/*
 * Sets the limits of memory (--max-memory) and CPU time (--max-cpu, in percent of one CPU) for
 * making tables.
 */
void unwind_tables_limit(UnwindTables *tables, size_t memory_bytes, uint64_t cpu_percent);

/*
 * While rest is true, because the agent uses more than --max-cpu, tables are made only for owners
 * without debt.
 */
void unwind_tables_rest(UnwindTables *tables, bool rest);

/* Reports interpreters among the files to runtimes, which must outlive this object. */
void unwind_tables_use_runtimes(UnwindTables *tables, Runtimes *runtimes);

/*
 * Makes later readings of files search for the place where a program keeps the labels of its
 * threads.
 */
void unwind_tables_find_labels(UnwindTables *tables);

/*
 * Reads the memory of a process whose thread labels the BPF program could not read, so that it is
 * resident for the next sample. Bounded by label_pages.h; waits for a page no longer than for other
 * memory of processes.
 */
void unwind_tables_read_labels(UnwindTables *tables, const ExecImage *process, uint64_t owner,
							   uint64_t address, uint64_t now_ns);

/*
 * Describes a process to the walker. owner is charged for reading the code of its interpreter, and
 * for tables of generated code, which are made at once. Mappings are ascending and disjoint; tables
 * of their files are loaded when walks need them. Returns 0; -EAGAIN if the process is described
 * but a file did not answer, or the owner has used up its CPU time; -ENOSPC if there is no room at
 * present; or another -errno. Failures are counted: walks of the process then end early.
 */
int unwind_tables_describe(UnwindTables *tables, const ExecImage *process, uint64_t owner,
						   const DescribedMapping *mappings, size_t count, uint64_t now_ns);
void unwind_tables_forget(UnwindTables *tables, const ExecImage *process, uint64_t now_ns);

/*
 * Notes the compiled methods among the frames that the kernel found in a sample of that time, which
 * late walks of later samples need.
 */
void unwind_tables_note_code(UnwindTables *tables, const ExecImage *process, uint64_t owner,
							 const uint64_t *frames, size_t count, uint64_t time_ns);

/*
 * Continues on the copy of the stack a walk that the kernel handed over (PFS_SAMPLE_LATE), in a
 * sample of that time. The owner is charged for the compiled methods that are noted. Frames have
 * the form in which the kernel records them; ends (or NULL) and trust_jit are as in late_walk.h;
 * *status is an enum pfs_walk_status. Returns the number of frames. Reads memory of the process if
 * it runs a virtual machine (runtimes_machine()).
 */
size_t unwind_tables_walk(UnwindTables *tables, const ExecImage *process, uint64_t owner,
						  const struct pfs_late *late, uint64_t time_ns, bool trust_jit,
						  uint64_t *frames, uint64_t *ends, size_t capacity, int *status);

/*
 * Call this if a walk of an owner's process ended with PFS_WALK_NO_TABLE at a frame, given as
 * recorded. If a table, or a part of one, is missing that can be loaded, counts that one more walk
 * wants it and returns its number; the walk must be repeated when that table is loaded. Otherwise,
 * or if the owner has used up its CPU time for tables, returns 0.
 */
uint64_t unwind_tables_want(UnwindTables *tables, const ExecImage *process, uint64_t owner,
							uint64_t frame, uint64_t now_ns);

/*
 * Loads the table, or its wanted parts, that the most walks want, and returns its number; 0 if none
 * is wanted. May take a quarter of a second. If there is no room, unloads other tables; the wanted
 * one can be wanted again after some seconds.
 */
uint64_t unwind_tables_load_wanted(UnwindTables *tables, uint64_t now_ns);

/* Short, because each entry holds a descriptor. */
#define UNWIND_TABLES_KEEP_NS		UINT64_C(120000000000)
#define UNWIND_TABLES_KEEP_TIGHT_NS UINT64_C(1000000000)

/*
 * Drops the tables of files that no described process has mapped for keep_ns; for a deleted file,
 * at once.
 */
void unwind_tables_sweep(UnwindTables *tables, uint64_t now_ns, uint64_t keep_ns);

#endif
