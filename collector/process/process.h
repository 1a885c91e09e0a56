/*
 * process.h
 *		Processes that were sampled: their executable mappings and what labels need to know.
 *
 * A process is known by pid, start time and exec count, so neither a pid that is used again nor
 * an exec can mix two images up. What /proc says is taken only where it is about the image that
 * was sampled: the start time and where its arguments lie near the random top of its stack, which
 * the sample carries, are compared after reading. A table has no lock: its owner has one.
 */
#ifndef COLLECTOR_PROCESS_H
#define COLLECTOR_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"
#include "labels/cgroup.h"
#include "process/exec_image.h"
#include "process/mapped_file.h"
#include "process/mapping_list.h"
#include "process/past_images.h"

typedef enum ProcessState
{
	PROCESS_LIVE,		/* mappings are known */
	PROCESS_KERNEL,		/* kernel thread: there are none */
	PROCESS_GONE,		/* ended, or executed another image, before they could be read */
	PROCESS_UNREADABLE, /* no right to read them */
} ProcessState;

typedef struct Process Process;
typedef struct ProcessTable ProcessTable;

typedef struct ProcessTableStats
{
	size_t count;
	uint64_t created;
	uint64_t evicted; /* table full, or the unwinder's */
	uint64_t map_reads;
	uint64_t remembered; /* gone from /proc, known from the side-band */
} ProcessTableStats;

/* Where a user address lies. */
typedef struct ProcessAddress
{
	MappingKind kind;
	/* MAPPING_FILE, MAPPING_VDSO: held by the process; NULL where it cannot be opened */
	MappedFile *file;
	uint64_t address; /* with an image the offset in the file, else as it was */
} ProcessAddress;

/*
 * limit: processes kept; beyond it the one unseen for longest goes. The table of files outlives
 * this one.
 */
int process_table_create(MappedFileTable *files, size_t limit, ProcessTable **table);
void process_table_free(ProcessTable *table); /* accepts NULL */

/*
 * From now on, processes that are gone are looked up in a memory of theirs, which outlives the
 * table.
 */
void process_table_remember(ProcessTable *table, PastImages *past);

/*
 * The process of a sample; reads /proc where it is new. Never NULL but without memory. Holds until
 * the next call of a table function. now_ns is CLOCK_MONOTONIC.
 */
Process *process_table_get(ProcessTable *table, const struct pfs_sample *sample, uint64_t now_ns);

/*
 * What lay at the address at time_ns, which is in the past. False where no executable mapping is
 * known to have covered it, or which one it was is not. An address that was executing (is_leaf) is
 * sought then; what a broken walk took for a caller is no reason to.
 */
bool process_resolve(ProcessTable *table, Process *process, uint64_t address, uint64_t time_ns,
					 bool is_leaf, uint64_t now_ns, ProcessAddress *result);

/* Do the mappings, as they were read last, cover the address? */
bool process_covers(const Process *process, uint64_t address);

/* Is it in memory without a file, by the same mappings? */
bool process_is_generated(const Process *process, uint64_t address);

/*
 * Reads the mappings again where they do not cover the address, at most every 10 ms, more and more
 * rarely where that does not help.
 */
void process_seek(ProcessTable *table, Process *process, uint64_t address, uint64_t now_ns);

/*
 * Reads the mappings again where code of files was mapped since, unless they were read within 10
 * ms, or may have been, unless within a second.
 */
void process_follow(ProcessTable *table, Process *process, uint64_t now_ns);

/* Reads the mappings again where they were read before a moment of CLOCK_MONOTONIC. */
void process_reread_before(ProcessTable *table, Process *process, uint64_t moment_ns,
						   uint64_t now_ns);

/* When reading of the mappings began, CLOCK_MONOTONIC. */
uint64_t process_read_ns(const Process *process);

/*
 * Forgets processes that ended a minute ago or were not seen for some. Call a few times a minute:
 * of each process that is not seen /proc is asked once a minute at most.
 */
void process_table_sweep(ProcessTable *table, uint64_t now_ns);
void process_table_stats(const ProcessTable *table, ProcessTableStats *stats);

/* The image that the process executes, as the kernel's tables know it. */
ExecImage process_identity(const Process *process);

/* One executable mapping of a process. */
typedef struct DescribedMapping
{
	uint64_t start; /* process addresses, half-open */
	uint64_t end;
	uint64_t file_offset;
	MappedFile *file; /* NULL: code without a file */
} DescribedMapping;

/*
 * What the unwinder has to know of a process: a copy, so that it can be worked off without a
 * lock.
 */
typedef struct ProcessDescription
{
	ExecImage identity;
	DescribedMapping *mappings; /* their images are held */
	size_t count;
} ProcessDescription;

/*
 * True where the unwinder has not got the mappings as they are: the caller gives it the
 * description, says so by process_described, and ends that with process_description_fini.
 */
bool process_take_description(ProcessTable *table, Process *process,
							  ProcessDescription *description);
/* held: mappings that the unwinder has of it now; 0 where it refused them. */
void process_described(Process *process, size_t held, uint64_t now_ns);

/*
 * The unwinder had no room for the description: processes that were sampled least recently are
 * forgotten, an eighth of all, and the one with the most mappings, if it has more; this one's
 * description is to be taken again in some seconds.
 */
void process_had_no_room(ProcessTable *table, Process *process, uint64_t now_ns);

/*
 * Did the unwinder's rules for an address belong to the code that was there at time_ns? Asked of
 * the kernel's walk, or, with late, of one that is made now.
 */
bool process_walk_held(ProcessTable *table, const Process *process, uint64_t address,
					   uint64_t time_ns, bool late);
void process_description_fini(MappedFileTable *files, ProcessDescription *description);

/* One process after the other that was described and is no longer in the table; false: no more. */
bool process_table_take_forgotten(ProcessTable *table, ExecImage *identity);

ProcessState process_state(const Process *process);
MappedFile *
process_executable(const Process *process);		 /* NULL where not known; held by the process */
const char *process_exe(const Process *process); /* path, "" where not known */
const CgroupLabels *process_cgroup(const Process *process);

#endif
