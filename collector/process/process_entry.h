/*
 * process_entry.h
 *		A process of the table, and the table: for the files process_*.c only.
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
/* maximum age of mappings, because a mapping may have been replaced unnoticed */
#define PROCESS_REFRESH_NS (60 * NS_PER_S)
/* time for which mappings from the side-band alone suffice */
#define PROCESS_TOLD_NS	   (2 * NS_PER_S)

/* The cost of one repeated read in the process's allowance, and the allowance's burst. */
#define REREAD_COST_NS	   (NS_PER_S / 20)
#define REREAD_BURST_NS	   (64 * REREAD_COST_NS)
#define REREAD_AT_ONE_COST 256 /* number of mappings; longer lists cost more */

/*
 * Number of files opened when a process is read, and in total with those opened later because of a
 * sample. Few programs have as many.
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
	uint64_t taken_ns; /* when it was made: the kernel may use it from here on … */
	uint64_t installed_ns;
	uint64_t begin_ns; /* when the read of its mappings began */
	uint64_t end_ns;
} Described;

/*
 * Account of an owner (process/owner.h) whose processes were sampled. A process stays with the
 * owner that it had at its first sample.
 */
typedef struct ProcessOwner
{
	uint64_t key;
	size_t processes;
	size_t bytes;	  /* memory of their mappings */
	Allowance reads;  /* reads of long lists */
	Allowance series; /* new series, used by the labeller */
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
	uint64_t describe_ns; /* there was no room; do not try before then */
	bool in_unwinder;	  /* was described at least once */
	size_t held;		  /* number of its mappings that the unwinder has */
	struct Process *next_forgotten;
	uint64_t arg_start;
	uint64_t arg_start_ns; /* time of the sample that showed it */
	/* start of the process on CLOCK_MONOTONIC, rather too early than too late */
	uint64_t born_ns;
	uint64_t sampled_ns; /* time of its first sample */
	uint32_t parent_pid; /* parent at that time */
	uint32_t tid;		 /* thread that was sampled last */
	/* process through which files are opened: itself, a thread of it, or its parent */
	uint32_t files_pid;
	uint64_t seen_ns;
	uint64_t checked_ns; /* when the sweep last checked that it lives */
	uint64_t read_ns;
	uint64_t reread_delay_ns;
	Stall stall;		 /* it did not answer */
	bool omits;			 /* a file of its mappings did not, and was left out; … */
	Stall omitted_stall; /* … the mappings are read again afterwards */
	/*
	 * number of waits about it, during which it must stay in the table and must not be read again
	 */
	uint32_t waits;
	bool reading; /* a thread reads it, and may wait */
	/* when it became known from the side-band alone; 0 if it was read from /proc */
	uint64_t told_ns;
	Allowance rereads;
	uint32_t verdict;
	uint64_t judged_ns; /* time of the last drop verdict */
	MappingList mappings;
	MappingList older; /* the last list that differed */
	/*
	 * Mappings known from the side-band only; their names belong to us. Only the walker, the only
	 * thread that resolves addresses, uses them, so pointers to them stay valid while it opens a
	 * file without the lock.
	 */
	Mapping told[TOLD_MAPPINGS];
	uint32_t told_next;					  /* the next slot to be reused */
	Described descriptions[DESCRIPTIONS]; /* newest first; unused ones are zeroed */
	char *exe;
	MappedFile *executable;
	uint32_t uid; /* USER_UNKNOWN if not known */
	CgroupLabels cgroup;
	CgroupKey cgroup_key;	 /* its control group ids at the time of the read … */
	uint64_t cgroup_read_ns; /* … on CLOCK_MONOTONIC; 0 if it has not been read */
	bool cgroup_learned;	 /* the table of control groups has this name */
	char *environment;		 /* the wanted variables; NULL if not known … */
	uint32_t environment_of; /* … and the number of the list of names by which they were selected */
	const char *runtime;	 /* a literal; NULL if not determined */
	IssuedLabels labels;
	UT_hash_handle hh; /* the table is ordered by the last sample, oldest first */
};

struct ProcessTable
{
	MappedFileTable *files;
	ProcessLock lock;	 /* the owner's; zeroed if there is none */
	Prober *prober;		 /* for /proc … */
	Prober *file_prober; /* … and for files, which cannot use up the threads for /proc */
	PastImages *past;	 /* NULL if there is none */
	CgroupTable *cgroups;
	uint32_t hierarchy; /* of controller_cgroup_id; 0 if none */
	VerdictTeller tell; /* NULL if verdicts are not passed on */
	void *tell_context;
	/* names of wanted variables: strings and an empty one at the end; NULL if none */
	char *environment;
	uint32_t environment_of; /* number of this list of names */
	bool wants_code;		 /* determine compilers and runtimes */
	Process *forgotten;		 /* dropped processes that the unwinder still knows, newest first */
	size_t limit;
	ProcessOwner *owners;
	size_t mapping_bytes;
	size_t mapping_bytes_limit; /* 0 if unlimited */
	uint64_t ticks_per_s;
	uint64_t room_ns; /* processes must not be evicted for the unwinder before then */
	Process *processes;
	ProcessTableStats stats;
};

/*
 * Returns whether the history of the pid at time_ns is about this process. It is not if the image
 * began before the process: then it belongs to the former owner of the pid, and the start of this
 * process was not observed (on a CPU that had just come online, see sideband_follow_cpus()).
 */
bool process_owns_past(const ProcessTable *table, const Process *process, uint64_t time_ns);

/* Returns whether other code was mapped at the address between two moments, given in any order. */
PastChange process_code_changed(const ProcessTable *table, const Process *process, uint64_t address,
								uint64_t a_ns, uint64_t b_ns);

#endif
