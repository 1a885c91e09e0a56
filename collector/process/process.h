/*
 * process.h
 *		Sampled processes: their executable mappings, and the facts from which labels are made.
 *
 * A process is identified by pid, start time and number of execs, so neither a reused pid nor an
 * exec mixes up two images. Facts from /proc are accepted only if they are about the sampled image:
 * after reading them, the start time is compared, and the address of the arguments, which is near
 * the randomized top of the stack and is part of each sample. A table has no lock of its own: its
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
	PROCESS_UNREADABLE, /* we lack the right to read the mappings */
	PROCESS_STUCK,		/* /proc did not answer in time; it is read again later */
} ProcessState;

typedef struct Process Process;
typedef struct ProcessTable ProcessTable;

typedef struct ProcessTableStats
{
	size_t count;
	uint64_t created;
	uint64_t evicted; /* processes dropped because the table, or that of the unwinder, was full */
	uint64_t map_reads;
	uint64_t timeouts; /* reads that the kernel or a file system did not answer in time */
	uint64_t put_off;  /* due reads that were skipped because of the rate limit */
	/* processes that had exited before /proc was read, but were known from the side-band */
	uint64_t remembered;
	uint64_t cut; /* reads of processes with more mappings than may be kept */
	/* Sampled mappings whose files were not opened, because the process has too many files. */
	uint64_t files_refused;
	/* Reads of processes whose control group has no known absolute path. */
	uint64_t relative;
} ProcessTableStats;

/* The object that contains a user address. */
typedef struct ProcessAddress
{
	MappingKind kind;
	/* MAPPING_FILE and MAPPING_VDSO: the file, held by the process; NULL if it cannot be opened. */
	MappedFile *file;
	uint64_t address; /* offset in the file if there is one; otherwise the address itself */
} ProcessAddress;

/* All times (…_ns) are CLOCK_MONOTONIC. */

/*
 * Makes an empty table. If it has limit processes, the least recently sampled one is dropped for a
 * new one. files must outlive the table. Returns 0 or -ENOMEM.
 */
int process_table_create(MappedFileTable *files, size_t limit, ProcessTable **table);
void process_table_free(ProcessTable *table); /* accepts NULL */

/*
 * Limits the memory of all mappings; 0: unlimited. Beyond the limit, processes of the owner with
 * the most memory are dropped, beginning with the least recently sampled.
 */
void process_table_limit_mappings(ProcessTable *table, size_t limit_bytes);

/* Sets the cgroup hierarchy of the samples' controller_cgroup_id; 0: samples have no such id. */
void process_table_use_hierarchy(ProcessTable *table, uint32_t hierarchy);

/*
 * Sets the names of the environment variables to read. Those of known processes are read at their
 * next sample. The names are copied; a count of 0 means that none is read. Returns 0 or -ENOMEM.
 */
int process_table_want_environment(ProcessTable *table, const char *const *names, size_t count);

/* Makes later reads determine the compilers and language runtimes of executables. */
void process_table_want_code(ProcessTable *table);

/* Passes the verdict (PFS_VERDICT_*) on an image's samples to the kernel. */
typedef void (*VerdictTeller)(void *context, const ExecImage *image, uint32_t verdict);

/* Sets the function that verdicts are passed to. */
void process_table_tell_verdicts(ProcessTable *table, VerdictTeller teller, void *context);

/*
 * The owner's lock, which guards the table. The table calls unlock before, and lock after, each
 * wait for the kernel. wait releases the lock until another thread, which holds the lock, calls
 * wake. Without these functions only one thread may use the table.
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
 * Returns the process of a sample. Reads /proc if the process is new; while another thread reads
 * it, its state is PROCESS_STUCK or its previous state. Returns NULL on out of memory. The result
 * is valid until the caller releases the lock; a function of the table that was given it may wait.
 */
Process *process_table_get(ProcessTable *table, const struct pfs_sample *sample, uint64_t now_ns);

/*
 * Returns the process that has a pid at this moment, for amounts that belong to no sample. stat is
 * the content of its /proc/PID/stat. Reads /proc if no sample of its image has arrived. NULL if it
 * has ended, or on out of memory.
 */
Process *process_table_get_pid(ProcessTable *table, uint32_t pid, const ProcStat *stat,
							   uint64_t now_ns);

/*
 * Determines which object was at an address at time_ns in the past. Returns false if none is known,
 * or if several are possible. If the address was executing (is_leaf), the mappings may be read
 * again. For return addresses they are not, because a broken walk may have invented them.
 */
bool process_resolve(ProcessTable *table, Process *process, uint64_t address, uint64_t time_ns,
					 bool is_leaf, uint64_t now_ns, ProcessAddress *result);

/* Waits while another thread reads the process, so that the next queries use its results. */
void process_settle(ProcessTable *table, Process *process);

/* Returns true if the mappings that were read last contain the address. */
bool process_covers(const Process *process, uint64_t address);

/* Returns true if, by the mappings that were read last, the address is in memory without a file. */
bool process_is_generated(const Process *process, uint64_t address);

/*
 * Each reads the mappings again for one reason. The reads are rate limited: a burst of 64, then
 * twenty a second, and fewer for a process with thousands of mappings. A refused read is made
 * later.
 *
 * _seek: the mappings do not contain the address, even if another thread has just read them; at
 * least 10 ms apart, doubling to 10 s while reads do not find the address. _follow: code of a file
 * was mapped after the last read, which must be 10 ms old; a second if the side-band is incomplete.
 * _reread_before: the mappings were read before moment_ns.
 */
void process_seek(ProcessTable *table, Process *process, uint64_t address, uint64_t now_ns);
void process_follow(ProcessTable *table, Process *process, uint64_t now_ns);
void process_reread_before(ProcessTable *table, Process *process, uint64_t moment_ns,
						   uint64_t now_ns);

/* Returns the time at which the last read of the mappings began. */
uint64_t process_read_ns(const Process *process);

/*
 * Drops processes that have exited, and processes that were not sampled for five minutes. Call it a
 * few times a minute. Asks /proc about an unsampled process at most once a minute.
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

/* The mappings of a process for the unwinder: a copy that can be used without the lock. */
typedef struct ProcessDescription
{
	ExecImage identity;
	DescribedMapping *mappings; /* with references to their files */
	size_t count;
} ProcessDescription;

/*
 * Makes a description of the process if the unwinder does not have the current mappings; otherwise
 * returns false. The caller passes the description to the unwinder, reports the outcome by
 * process_described(), process_had_no_room() or process_describe_again(), and frees it.
 */
bool process_take_description(ProcessTable *table, Process *process,
							  ProcessDescription *description);
void process_description_fini(MappedFileTable *files, ProcessDescription *description);

/*
 * Reports that the unwinder took the description. held is the number of mappings that it stores; 0
 * if it refused them, in which case the process's stacks are not walked.
 */
void process_described(ProcessTable *table, Process *process, size_t held, uint64_t now_ns);

/*
 * Reports that the unwinder was full. Drops an eighth of all processes, beginning with the least
 * recently sampled, and the process with the most mappings if it has more than this one. The
 * process is described again after a few seconds.
 */
void process_had_no_room(ProcessTable *table, Process *process, uint64_t now_ns);

/*
 * Reports that parts of the description were missing, which may be available in a few seconds. The
 * process is described again then.
 */
void process_describe_again(Process *process, uint64_t now_ns);

/*
 * Returns true if the unwinder's rules for an address belonged to the code that was there at
 * time_ns. late: the walk is made now, not by the kernel at that time.
 */
bool process_walk_held(ProcessTable *table, const Process *process, uint64_t address,
					   uint64_t time_ns, bool late);

/*
 * Returns the next image that was described and has been dropped since. Returns false if there is
 * none.
 */
bool process_table_take_forgotten(ProcessTable *table, ExecImage *identity);

ProcessState process_state(const Process *process);

/*
 * Returns the executable's file (NULL if not known; held by the process), and its path ("" if not
 * known).
 */
MappedFile *process_executable(const Process *process);
const char *process_exe(const Process *process);

/*
 * Returns the requested variables: "NAME=value" strings, ended by an empty string; NULL if not
 * known.
 */
const char *process_environment(const Process *process);

/* Return "" if not known or not requested. */
const char *process_compiler(const Process *process);
const char *process_runtime(const Process *process);

const CgroupLabels *process_cgroup(const Process *process);

/* Returns the owner (process/owner.h) by the user and control group that were read last. */
uint64_t process_owner(const Process *process);

/* Returns the account of new series, which all processes of an owner share; NULL if not known. */
Allowance *process_series(Process *process);

/* Returns the labels issued for the process, which releases them. */
IssuedLabels *process_labels(Process *process);

/*
 * Revokes PFS_VERDICT_DROP for processes whose verdict is older than before_ns, so that their next
 * samples arrive and are judged again. The sweep revokes verdicts after a minute, because the facts
 * behind them may have changed.
 */
void process_table_judge_again(ProcessTable *table, uint64_t before_ns);

/* Sets or clears one flag of the verdict. If the verdict changes, passes it to the kernel. */
void process_set_verdict(ProcessTable *table, Process *process, uint32_t flag, bool on);

#endif
