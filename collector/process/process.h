/*
 * process.h
 *		Processes that were sampled: their executable mappings, and the facts that labels are made
 *		of.
 *
 * A process is identified by pid, start time and exec count, so neither a reused pid nor an exec
 * mixes up two images. Facts from /proc are accepted only if they are about the sampled image:
 * after the read, the start time and the address of its arguments, which lies near the randomized
 * top of the stack and is part of each sample, are compared. A table has no lock of its own: its
 * functions release the owner's lock while they wait for the kernel or a file system.
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
#include "process/proc_file.h"

typedef enum ProcessState
{
	PROCESS_LIVE,		/* mappings are known */
	PROCESS_KERNEL,		/* kernel thread, which has no mappings */
	PROCESS_GONE,		/* exited, or executed another image, before the mappings could be read */
	PROCESS_UNREADABLE, /* no right to read them */
	PROCESS_STUCK,		/* /proc does not answer; it is asked again later */
} ProcessState;

typedef struct Process Process;
typedef struct ProcessTable ProcessTable;

typedef struct ProcessTableStats
{
	size_t count;
	uint64_t created;
	uint64_t evicted; /* because the table was full, or the unwinder's */
	uint64_t map_reads;
	uint64_t timeouts;	 /* times that the kernel or a file system did not answer in time */
	uint64_t put_off;	 /* due reads that were skipped because of the rate limit */
	uint64_t remembered; /* no longer in /proc, but known from the side-band */
	uint64_t cut;		 /* reads of processes with more mappings than may be kept */
	/* mappings with samples whose files were not opened: the process has too many */
	uint64_t files_refused;
	/* reads of processes in control groups whose absolute path is not known */
	uint64_t relative;
} ProcessTableStats;

/* The object that a user address belongs to. */
typedef struct ProcessAddress
{
	MappingKind kind;
	/* of MAPPING_FILE and MAPPING_VDSO, held by the process; NULL if it cannot be opened */
	MappedFile *file;
	uint64_t address; /* offset in the file if there is one; otherwise the address itself */
} ProcessAddress;

/* All moments (…_ns) are CLOCK_MONOTONIC. */

/*
 * Makes an empty table. Beyond limit processes the least recently sampled one is dropped. files
 * must outlive the table. 0 or -ENOMEM.
 */
int process_table_create(MappedFileTable *files, size_t limit, ProcessTable **table);
void process_table_free(ProcessTable *table); /* accepts NULL */

/*
 * Limits the memory of all mappings; 0 means unlimited. Beyond it, processes of the owner with the
 * most memory are dropped, least recently sampled first.
 */
void process_table_limit_mappings(ProcessTable *table, size_t limit_bytes);

/* Sets the hierarchy that the samples' controller_cgroup_id belongs to; 0 if none. */
void process_table_use_hierarchy(ProcessTable *table, uint32_t hierarchy);

/*
 * Sets the names of the environment variables to read, those of known processes at their next
 * sample. Names are copied; count 0 turns it off. 0 or -ENOMEM.
 */
int process_table_want_environment(ProcessTable *table, const char *const *names, size_t count);

/* From then on, the compilers and language runtimes of executables are determined. */
void process_table_want_code(ProcessTable *table);

/* Passes the verdict (PFS_VERDICT_*) on an image's samples to the kernel. */
typedef void (*VerdictTeller)(void *context, const ExecImage *image, uint32_t verdict);

/* Sets the function that verdicts are passed to. */
void process_table_tell_verdicts(ProcessTable *table, VerdictTeller teller, void *context);

/*
 * The owner's lock, which guards the table. unlock and lock enclose each wait. wait releases the
 * lock until another thread, which holds it, calls wake. Without these functions the table must
 * stay within one thread.
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

/* Sets the history in which exited processes are looked up; it must outlive the table. */
void process_table_remember(ProcessTable *table, PastImages *past);

/*
 * Returns the process of a sample. Reads /proc if it is new; while another thread reads it, its
 * state is PROCESS_STUCK or its former one. NULL on out of memory. The result stays valid until the
 * caller releases the lock, also while a function of the table that received it waits.
 */
Process *process_table_get(ProcessTable *table, const struct pfs_sample *sample, uint64_t now_ns);

/*
 * Returns the process that has a pid at this moment, for amounts that belong to no sample. stat is
 * what /proc/PID/stat shows of it. Reads /proc if no sample of its image has arrived. NULL if it
 * has ended, or on out of memory.
 */
Process *process_table_get_pid(ProcessTable *table, uint32_t pid, const ProcStat *stat,
							   uint64_t now_ns);

/*
 * Determines which object was at an address at time_ns in the past. Returns false if none is known,
 * or if several are possible. If the address was executing (is_leaf) the mappings may be read
 * again; for return addresses that is not worth it, because a broken walk may have made them up.
 */
bool process_resolve(ProcessTable *table, Process *process, uint64_t address, uint64_t time_ns,
					 bool is_leaf, uint64_t now_ns, ProcessAddress *result);

/* Waits while another thread reads the process, so that the next queries use its results. */
void process_settle(ProcessTable *table, Process *process);

/* Returns whether the mappings read last contain the address. */
bool process_covers(const Process *process, uint64_t address);

/* Returns whether they say that it lies in memory without a file. */
bool process_is_generated(const Process *process, uint64_t address);

/*
 * Each reads the mappings again if there is a reason. Reads are rate limited: a burst of 64, then
 * twenty a second, and less often for a process with thousands of mappings. A refused read is made
 * later.
 *
 * _seek: the mappings do not contain the address, even after another thread has read them. At least
 * 10 ms apart, doubling to 10 s while reads do not help. _follow: code of a file was mapped after
 * the last read, which is at least 10 ms ago; if the side-band is incomplete, after a second.
 * _reread_before: they were read before moment_ns.
 */
void process_seek(ProcessTable *table, Process *process, uint64_t address, uint64_t now_ns);
void process_follow(ProcessTable *table, Process *process, uint64_t now_ns);
void process_reread_before(ProcessTable *table, Process *process, uint64_t moment_ns,
						   uint64_t now_ns);

/* Returns when the last read of the mappings began. */
uint64_t process_read_ns(const Process *process);

/*
 * Drops processes that have exited, and those not sampled for five minutes. Call it a few times a
 * minute. Asks /proc about each unsampled process once a minute at most.
 */
void process_table_sweep(ProcessTable *table, uint64_t now_ns);
void process_table_stats(const ProcessTable *table, ProcessTableStats *stats);

/* Returns the image that the process executes. */
ExecImage process_identity(const Process *process);

/* One executable mapping of a process. */
typedef struct DescribedMapping
{
	uint64_t start; /* half-open range of process addresses */
	uint64_t end;
	uint64_t file_offset;
	MappedFile *file; /* NULL for code without a file */
} DescribedMapping;

/* The mappings of a process for the unwinder: a copy, to be used without the lock. */
typedef struct ProcessDescription
{
	ExecImage identity;
	DescribedMapping *mappings; /* with references to their files */
	size_t count;
} ProcessDescription;

/*
 * Makes a description if the unwinder does not have the current mappings; otherwise returns false.
 * The caller passes it to the unwinder, reports the outcome by process_described(),
 * process_had_no_room() or process_describe_again(), and frees it.
 */
bool process_take_description(ProcessTable *table, Process *process,
							  ProcessDescription *description);
void process_description_fini(MappedFileTable *files, ProcessDescription *description);

/*
 * Reports success. held is the number of mappings that the unwinder has; 0 if it refused them, and
 * then the process's stacks are not walked.
 */
void process_described(ProcessTable *table, Process *process, size_t held, uint64_t now_ns);

/*
 * Reports that the unwinder was full. Drops an eighth of all processes, least recently sampled
 * first, and the process with the most mappings if it has more than this one. The description is
 * made again in a few seconds.
 */
void process_had_no_room(ProcessTable *table, Process *process, uint64_t now_ns);

/*
 * Reports that parts were missing which may be available in a few seconds: the description is made
 * again.
 */
void process_describe_again(Process *process, uint64_t now_ns);

/*
 * Returns whether the unwinder's rules for an address belonged to the code that was there at
 * time_ns; late means that the walk is made now, not by the kernel at the time.
 */
bool process_walk_held(ProcessTable *table, const Process *process, uint64_t address,
					   uint64_t time_ns, bool late);

/*
 * Takes the next image that was described and has been dropped since. Returns false if there is
 * none.
 */
bool process_table_take_forgotten(ProcessTable *table, ExecImage *identity);

ProcessState process_state(const Process *process);

/*
 * The executable: its file (NULL if not known; held by the process) and its path ("" if not known).
 */
MappedFile *process_executable(const Process *process);
const char *process_exe(const Process *process);

/* The wanted variables, "NAME=value" strings and an empty one at the end; NULL if not known. */
const char *process_environment(const Process *process);

/* Return "" if not known or not wanted. */
const char *process_compiler(const Process *process);
const char *process_runtime(const Process *process);

const CgroupLabels *process_cgroup(const Process *process);

/* Returns the owner (process/owner.h) by the user and control group that were read last. */
uint64_t process_owner(const Process *process);

/* Returns the account of new series, which all processes of an owner share; NULL if not known. */
Allowance *process_series(Process *process);

/* The labels issued for the process, which releases them. */
IssuedLabels *process_labels(Process *process);

/*
 * Revokes PFS_VERDICT_DROP from processes that were judged before before_ns, so that their next
 * samples arrive and are judged again. The sweep does so a minute after a verdict, because the
 * facts behind it may have changed without a sample that shows it.
 */
void process_table_judge_again(ProcessTable *table, uint64_t before_ns);

/* Sets or clears one flag of the verdict; passes it to the kernel if that changes it. */
void process_set_verdict(ProcessTable *table, Process *process, uint32_t flag, bool on);

#endif
