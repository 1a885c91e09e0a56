/*
 * process_entry.h
 *		The structures of a process and of the table. Only the files process_*.c include this
 *		header.
 */
#ifndef COLLECTOR_PROCESS_ENTRY_H
#define COLLECTOR_PROCESS_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include <uthash.h>

#include "base/clock.h"
#include "process/patience.h"
#include "process/probes.h"
#include "process/process.h"

#define PROCESS_REREAD_NS  (NS_PER_S / 100) /* minimum time between two reads */
/* Mappings are read again after this time, because they may have been replaced unnoticed. */
#define PROCESS_REFRESH_NS (60 * NS_PER_S)
/* For this long after its start, a process's mappings from the side-band suffice. */
#define PROCESS_TOLD_NS	   (2 * NS_PER_S)

/* Cost of one repeated read in the process's allowance, and how much may be spent at once. */
#define REREAD_COST_NS	   (NS_PER_S / 20)
#define REREAD_BURST_NS	   (64 * REREAD_COST_NS)
#define REREAD_AT_ONE_COST 256 /* number of mappings; longer lists cost more */

/*
 * Number of files opened when a process is read; and limit of all its files, with those opened
 * later because of samples. Few programs have as many.
 */
#define PROCESS_FILES_EAGER 512
#define PROCESS_FILES_MAX	1024

#define TOLD_MAPPINGS 8
#define DESCRIPTIONS  8

typedef struct ProcessKey
{
	uint64_t start_time_ns;
	uint64_t exec_id;
	uint64_t pid;
} ProcessKey;

/* A description that the unwinder has or had. */
typedef struct Described
{
	uint64_t taken_ns; /* the description was made; the kernel may use it from then on */
	uint64_t installed_ns;
	uint64_t begin_ns; /* reading of the described mappings began */
	uint64_t end_ns;
} Described;

/*
 * The account of an owner (process/owner.h) whose processes were sampled. A process stays with the
 * owner that it had at its first sample.
 */
typedef struct ProcessOwner
{
	uint64_t key;
	size_t processes;
	size_t bytes;	  /* memory of the mappings of its processes */
	Allowance reads;  /* limits reads of long lists */
	Allowance series; /* limits new series; used by the labeller */
	UT_hash_handle hh;
} ProcessOwner;

struct Process
{
	ProcessKey key;
	ProcessOwner *owner; /* NULL on out of memory */
	size_t charged_bytes;
	size_t files; /* number of files of its mappings that were opened */
	ProcessState state;
	bool described;		  /* the unwinder has the current mappings */
	uint64_t describe_ns; /* there was no room in the unwinder; do not try again before this time */
	bool in_unwinder;	  /* the unwinder was given a description at least once */
	size_t held;		  /* number of the process's mappings that the unwinder stores */
	struct Process *next_forgotten;
	uint64_t arg_start;
	uint64_t arg_start_ns; /* time of the sample that showed arg_start */
	/* Start of the process on CLOCK_MONOTONIC. If inexact, it is too early rather than too late. */
	uint64_t born_ns;
	uint64_t sampled_ns; /* time of the process's first sample */
	uint32_t parent_pid; /* parent at the time of the first sample */
	uint32_t tid;		 /* thread that was sampled last */
	/* process through which files are opened: itself, a thread of it, or its parent */
	uint32_t files_pid;
	uint64_t seen_ns;
	uint64_t checked_ns; /* last time at which the sweep checked that the process exists */
	uint64_t read_ns;
	uint64_t reread_delay_ns;
	Stall stall; /* backoff after the process did not answer */
	bool omits;	 /* a file of the mappings did not answer, so it is missing */
	/* after this backoff the mappings are read again, to add the missing file */
	Stall omitted_stall;
	/*
	 * Number of waits for the process. While it is not 0, the process must stay in the table and
	 * must not be read by another thread.
	 */
	uint32_t waits;
	bool reading; /* a thread is reading the process, and may wait */
	/*
	 * Time from which on the process is known only from the side-band; 0: it was read from /proc.
	 */
	uint64_t told_ns;
	Allowance rereads;
	uint32_t verdict;
	uint64_t judged_ns; /* time of the last drop verdict */
	MappingList mappings;
	MappingList older; /* the last list that lacked a mapping of the present one, or had another */
	/*
	 * Mappings known from the side-band only; their names belong to us. Only the walker, the only
	 * thread that resolves addresses, uses them, so pointers to them stay valid while it opens a
	 * file without the lock.
	 */
	Mapping told[TOLD_MAPPINGS];
	uint32_t told_next;					  /* index of the slot that is reused next */
	Described descriptions[DESCRIPTIONS]; /* newest first; unused ones are zeroed */
	char *exe;
	MappedFile *executable;
	uint32_t uid; /* USER_UNKNOWN if not known */
	CgroupLabels cgroup;
	CgroupKey cgroup_key;	 /* control group ids at the time of the read */
	uint64_t cgroup_read_ns; /* CLOCK_MONOTONIC when the control group was read; 0: it was not */
	bool cgroup_learned;	 /* the table of control groups has this name */
	char *environment;		 /* requested variables; NULL if not known */
	uint32_t environment_of; /* number of the list of names by which environment was selected */
	const char *runtime;	 /* a literal; NULL if not determined */
	IssuedLabels labels;
	UT_hash_handle hh; /* the table is sorted by the last sample, oldest first */
};

struct ProcessTable
{
	MappedFileTable *files;
	ProcessLock lock;	 /* the owner's lock; zeroed if it has none */
	Prober *prober;		 /* used for /proc */
	Prober *file_prober; /* used for files, so that they cannot use up the threads for /proc */
	PastImages *past;	 /* NULL: former mappings are not recorded */
	CgroupTable *cgroups;
	uint32_t hierarchy; /* cgroup hierarchy of controller_cgroup_id; 0: none */
	VerdictTeller tell; /* NULL if verdicts are not passed on */
	void *tell_context;
	/* Names of the requested variables: strings, ended by an empty string; NULL: none. */
	char *environment;
	uint32_t environment_of; /* number of this list of names */
	bool wants_code;		 /* determine compilers and runtimes */
	Process *forgotten;		 /* dropped processes that the unwinder still knows, newest first */
	size_t limit;
	ProcessOwner *owners;
	size_t mapping_bytes;
	size_t mapping_bytes_limit; /* 0 if unlimited */
	uint64_t ticks_per_s;
	uint64_t room_ns; /* earliest time at which processes may be evicted for the unwinder again */
	Process *processes;
	ProcessTableStats stats;
};

/*
 * Returns true if the history of the pid at time_ns is about this process. If the image began
 * before the process, the history belongs to the previous owner of the pid: the start of this
 * process was not observed, on a CPU that had just come online (sideband_follow_cpus()).
 */
bool process_owns_past(const ProcessTable *table, const Process *process, uint64_t time_ns);

/*
 * Returns PAST_CHANGED if other code was mapped at the address between two moments, which may be in
 * any order.
 */
PastChange process_code_changed(const ProcessTable *table, const Process *process, uint64_t address,
								uint64_t a_ns, uint64_t b_ns);

#endif
