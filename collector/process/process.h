/*
 * process.h
 *		Processes that were sampled: their executable mappings and what labels need to know.
 *
 * A process is known by pid, start time and exec count, so neither a pid that is used again nor
 * an exec can mix two images up. What /proc says is taken only where it is about the image that
 * was sampled: the start time and where its arguments lie near the random top of its stack, which
 * the sample carries, are compared after reading. A table has no lock: its owner has one, which is
 * given back while a function of the table waits for the kernel or a file system.
 */
#ifndef COLLECTOR_PROCESS_H
#define COLLECTOR_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"
#include "labels/cgroup.h"
#include "labels/cgroup_table.h"
#include "labels/labeller.h"
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
	PROCESS_STUCK,		/* the kernel does not answer about it; asked again later */
} ProcessState;

typedef struct Process Process;
typedef struct ProcessTable ProcessTable;

typedef struct ProcessTableStats
{
	size_t count;
	uint64_t created;
	uint64_t evicted; /* table full, or the unwinder's */
	uint64_t map_reads;
	uint64_t timeouts;		/* times that the kernel, or a file system, did not answer in time */
	uint64_t put_off;		/* readings that were due and not made, as there had been so many */
	uint64_t remembered;	/* gone from /proc, known from the side-band */
	uint64_t cut;			/* readings of processes with more mappings than may be kept */
	uint64_t files_refused; /* mappings in which samples lie: the process has too many files */
	uint64_t relative;		/* readings of processes in groups whose whole path is not known */
} ProcessTableStats;

/* Where a user address lies. */
typedef struct ProcessAddress
{
	MappingKind kind;
	/* of MAPPING_FILE and MAPPING_VDSO; NULL where it cannot be opened; the process holds it */
	MappedFile *file;
	uint64_t address; /* with a file the offset in it, else as it was */
} ProcessAddress;

/* All moments (…_ns) are CLOCK_MONOTONIC. */

/*
 * An empty table. Beyond limit processes the one that was not seen for longest goes. The table of
 * files outlives this one. 0 or -ENOMEM.
 */
int process_table_create(MappedFileTable *files, size_t limit, ProcessTable **table);
void process_table_free(ProcessTable *table); /* accepts NULL */

/*
 * Limits what mappings of all processes take; 0: not at all. Beyond it processes of the control
 * group that takes most go, those that were sampled least recently first.
 */
void process_table_limit_mappings(ProcessTable *table, size_t limit_bytes);

/* The hierarchy that the samples' controller_cgroup_id is of; 0: none. */
void process_table_use_hierarchy(ProcessTable *table, uint32_t hierarchy);

/*
 * From now on processes' variables of these names are read as well, those of known processes as
 * they are sampled. Names are copied; 0 of them: none are. 0 or -ENOMEM.
 */
int process_table_want_environment(ProcessTable *table, const char *const *names, size_t count);

/* From now on it is looked at what executables were compiled by, and which runtimes they have. */
void process_table_want_code(ProcessTable *table);

/* Tells the kernel what becomes of an image's samples: PFS_VERDICT_*. */
typedef void (*VerdictTeller)(void *context, const ExecImage *image, uint32_t verdict);

/* From now on verdicts are told there. */
void process_table_tell_verdicts(ProcessTable *table, VerdictTeller teller, void *context);

/*
 * The owner's lock, which guards the table: unlock and lock it around each wait. wait gives it back
 * until another thread has called wake, with the lock. Without them the table is one thread's.
 */
typedef struct ProcessLock
{
	void (*unlock)(void *context);
	void (*lock)(void *context);
	void (*wait)(void *context);
	void (*wake)(void *context);
	void *context;
} ProcessLock;

void process_table_use_lock(ProcessTable *table, const ProcessLock *lock);

/* From now on processes that are gone are looked up there too. The memory outlives the table. */
void process_table_remember(ProcessTable *table, PastImages *past);

/*
 * The process of a sample. /proc is read if it is new; while another thread reads it, it is
 * PROCESS_STUCK, or as it was read before. NULL without memory. The result holds until the lock is
 * given back, except while a function of the table that got it waits.
 */
Process *process_table_get(ProcessTable *table, const struct pfs_sample *sample, uint64_t now_ns);

/*
 * What lay at an address at time_ns, a moment of the past. False where nothing is known to have
 * been there, or where several things may have been. An address that was executing (is_leaf) is
 * worth reading the mappings again; one that a broken walk took for a caller is not.
 */
bool process_resolve(ProcessTable *table, Process *process, uint64_t address, uint64_t time_ns,
					 bool is_leaf, uint64_t now_ns, ProcessAddress *result);

/*
 * Waits while another thread reads the process. What is asked of it next is answered by what that
 * thread has found.
 */
void process_settle(ProcessTable *table, Process *process);

/* Do the mappings that were read last cover the address? */
bool process_covers(const Process *process, uint64_t address);

/* Do they say that it lies in memory without a file? */
bool process_is_generated(const Process *process, uint64_t address);

/*
 * Each reads the mappings again, if there is a reason to, and as long as there is not always one:
 * 64 times at once, twenty times a second in the long run, and a process with thousands of mappings
 * less often. What is not read by then is read later.
 *
 * _seek: they do not cover the address, also after another thread has read them. At most every 10
 * ms; the pause doubles, up to 10 s, while that does not help.
 * _follow: code of a file was mapped since they were read, and that is 10 ms ago. Where the
 * side-band may have lost something: they were read a second ago.
 * _reread_before: they were read before moment_ns.
 */
void process_seek(ProcessTable *table, Process *process, uint64_t address, uint64_t now_ns);
void process_follow(ProcessTable *table, Process *process, uint64_t now_ns);
void process_reread_before(ProcessTable *table, Process *process, uint64_t moment_ns,
						   uint64_t now_ns);

/* When reading of the mappings began. */
uint64_t process_read_ns(const Process *process);

/*
 * Forgets processes that have ended, and those that were not seen for five minutes. Call a few
 * times a minute. /proc is asked once a minute at most of each process that is not seen.
 */
void process_table_sweep(ProcessTable *table, uint64_t now_ns);
void process_table_stats(const ProcessTable *table, ProcessTableStats *stats);

/* What the process executes. */
ExecImage process_identity(const Process *process);

/* One executable mapping of a process. */
typedef struct DescribedMapping
{
	uint64_t start; /* process addresses, half-open */
	uint64_t end;
	uint64_t file_offset;
	MappedFile *file; /* NULL: code without a file */
} DescribedMapping;

/* What the unwinder has to know of a process: a copy, for work without the lock. */
typedef struct ProcessDescription
{
	ExecImage identity;
	DescribedMapping *mappings; /* their files are held */
	size_t count;
} ProcessDescription;

/*
 * Describes a process whose mappings the unwinder has not got as they are; else false. The caller
 * gives the description to the unwinder, tells the outcome by one of the next two functions, and
 * ends the description.
 */
bool process_take_description(ProcessTable *table, Process *process,
							  ProcessDescription *description);
void process_description_fini(MappedFileTable *files, ProcessDescription *description);

/*
 * held: mappings that the unwinder has of it now; 0 where it refused them, and then nobody walks
 * its stacks.
 */
void process_described(ProcessTable *table, Process *process, size_t held, uint64_t now_ns);

/*
 * The unwinder had no room. An eighth of all processes is forgotten, those that were sampled least
 * recently; and the one with the most mappings, if it has more than this. This one's description
 * is taken again in some seconds.
 */
void process_had_no_room(ProcessTable *table, Process *process, uint64_t now_ns);

/* Something was missing in the description that may be had in some seconds: it is taken again. */
void process_describe_again(Process *process, uint64_t now_ns);

/*
 * Did the unwinder's rules for an address belong to the code that was there at time_ns? Asked of
 * the kernel's walk; with late of a walk that is made now.
 */
bool process_walk_held(ProcessTable *table, const Process *process, uint64_t address,
					   uint64_t time_ns, bool late);

/* The next process that was described and is no longer in the table; false: no more. */
bool process_table_take_forgotten(ProcessTable *table, ExecImage *identity);

ProcessState process_state(const Process *process);

/* The executable: its file (NULL where not known; the process holds it), its path ("" likewise). */
MappedFile *process_executable(const Process *process);
const char *process_exe(const Process *process);

/* The variables that are wanted, "NAME=value" each, then an empty string; NULL: not known. */
const char *process_environment(const Process *process);

/* "" where not known, or not wanted. */
const char *process_compiler(const Process *process);
const char *process_runtime(const Process *process);

const CgroupLabels *process_cgroup(const Process *process);

/* The owner (process/owner.h) by the user and the control group that were read last. */
uint64_t process_owner(const Process *process);

/* New series of its owner, which all processes of the owner pay from; NULL: not known. */
Allowance *process_series(Process *process);

/* The labels that were issued for it; the process gives them back. */
IssuedLabels *process_labels(Process *process);

/*
 * Takes PFS_VERDICT_DROP back from processes that were judged before then, so that their next
 * samples come and are judged anew. The sweep does so with those that were judged a minute ago:
 * what they were judged by may have changed, of which no sample told.
 */
void process_table_judge_again(ProcessTable *table, uint64_t before_ns);

/* One part of the verdict on the process; the kernel is told where that changes it. */
void process_set_verdict(ProcessTable *table, Process *process, uint32_t flag, bool on);

#endif
