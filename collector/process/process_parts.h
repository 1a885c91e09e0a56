/*
 * process_parts.h
 *		The inside of the table of processes, for the files process*.c alone.
 */
#ifndef COLLECTOR_PROCESS_PARTS_H
#define COLLECTOR_PROCESS_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include <uthash.h>

#include "base/clock.h"
#include "process/probes.h"
#include "process/process.h"

#define PROCESS_REREAD_NS  (NS_PER_S / 100) /* at least between two readings */
#define PROCESS_REFRESH_NS (60 * NS_PER_S)	/* a mapping may be replaced unnoticed */
#define PROCESS_TOLD_NS	   (2 * NS_PER_S)	/* for which the side-band's word is enough */

/* What a reading again costs of the time that a process has, and what it may spend at once. */
#define REREAD_COST_NS	   (NS_PER_S / 20)
#define REREAD_BURST_NS	   (64 * REREAD_COST_NS)
#define REREAD_AT_ONE_COST 256 /* mappings; more cost more */

/*
 * Files of mappings that are opened when a process is read, and of those that samples lie in later;
 * few programs have as many.
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

/* A description of the process that the unwinder has, or had. */
typedef struct Described
{
	uint64_t taken_ns; /* the kernel may use it from here on … */
	/* … does from here on (UINT64_MAX: not yet), till the next one is there */
	uint64_t installed_ns;
	uint64_t begin_ns; /* when its mappings were read */
	uint64_t end_ns;
} Described;

/*
 * An owner (process/owner.h) whose processes were sampled: it answers for what they make us hold
 * and do. A process stays with the owner that it had when it was sampled first.
 */
typedef struct ProcessOwner
{
	uint64_t key;
	size_t processes;
	size_t bytes;	  /* of their mappings */
	Allowance reads;  /* of long lists */
	Allowance series; /* the labeller's */
	UT_hash_handle hh;
} ProcessOwner;

struct Process
{
	ProcessKey key;
	ProcessOwner *owner; /* NULL: memory was out */
	size_t charged_bytes;
	size_t files; /* of mappings, that were opened */
	ProcessState state;
	bool described;		  /* to the unwinder, with the mappings as they are */
	uint64_t describe_ns; /* there was no room: not before then */
	bool in_unwinder;	  /* was ever described */
	size_t held;		  /* mappings that the unwinder has of it */
	struct Process *next_forgotten;
	uint64_t arg_start;
	uint64_t arg_start_ns; /* of the sample that showed it */
	uint64_t born_ns;	   /* CLOCK_MONOTONIC, not later than it was */
	uint64_t sampled_ns;   /* when it was first sampled */
	uint32_t parent_pid;   /* then */
	uint32_t tid;		   /* the thread that was sampled last */
	uint32_t files_pid; /* by which mapped files are opened: itself, a thread of it, its parent */
	uint64_t seen_ns;
	uint64_t checked_ns; /* when the sweep last looked whether it lives */
	uint64_t read_ns;
	uint64_t reread_delay_ns;
	uint64_t stuck_until_ns; /* it did not answer: not to be asked before then */
	uint64_t stuck_ns;		 /* for how long it was left alone the last time */
	uint32_t waits; /* somebody waits for what he asked about it: it stays, and is not read again */
	bool reading;	/* by a thread that may wait */
	uint64_t told_ns; /* when it became known by the side-band alone; 0: by what was read of it */
	Allowance rereads;
	uint32_t verdict;
	uint64_t judged_ns; /* when it was last dropped */
	MappingList mappings;
	MappingList older; /* as they were read before, and not the same */
	/*
	 * By the side-band, and never seen; names are ours. Only the walker, who alone resolves
	 * addresses, uses them: pointers to them hold while it opens a file without the lock.
	 */
	Mapping told[TOLD_MAPPINGS];
	uint32_t told_next;					  /* the one that goes next */
	Described descriptions[DESCRIPTIONS]; /* latest first; unused ones are zeroed */
	char *exe;
	MappedFile *executable;
	uint32_t uid; /* USER_UNKNOWN: not known */
	CgroupLabels cgroup;
	CgroupKey cgroup_key;	 /* where it was when that was read … */
	uint64_t cgroup_read_ns; /* … CLOCK_MONOTONIC; 0: it never was */
	bool cgroup_learned;	 /* by the table of groups */
	char *environment;		 /* the variables that are wanted; NULL: not known … */
	uint32_t environment_of; /* … by the names of that number */
	const char *runtime;	 /* a literal; NULL: nobody has looked */
	IssuedLabels labels;
	UT_hash_handle hh; /* the table's order is that of the last sample: oldest first */
};

struct ProcessTable
{
	MappedFileTable *files;
	ProcessLock lock;	 /* the owner's; zeroes: there is none */
	Prober *prober;		 /* asks /proc … */
	Prober *file_prober; /* … and files, which cannot use up the threads of the former */
	PastImages *past;	 /* NULL: none */
	CgroupTable *cgroups;
	uint32_t hierarchy; /* of controller_cgroup_id; 0: none */
	VerdictTeller tell; /* NULL: nobody to tell */
	void *tell_context;
	char *environment;		 /* names of wanted variables, a string each, then an empty one; NULL */
	uint32_t environment_of; /* number of these names */
	bool wants_code;		 /* what processes are compiled by, and run in */
	Process *forgotten;		 /* removed, but for what the unwinder knows; most recent first */
	size_t limit;
	ProcessOwner *owners;
	size_t mapping_bytes;
	size_t mapping_bytes_limit; /* 0: none */
	uint64_t ticks_per_s;
	uint64_t room_ns; /* when processes may be made to go again */
	Process *processes;
	ProcessTableStats stats;
};

/*
 * How long a process or a file is waited for, and how long a process that did not answer is left
 * alone the first time; four times as long each time.
 */
#define PROBE_WAIT_NS (NS_PER_S / 20)
#define STUCK_NS	  (10 * NS_PER_S)

/*
 * process_read.c: opens files of a process, by the root of pid; not all may be had. The lock is
 * given back meanwhile.
 */
void process_open(ProcessTable *table, Process *process, uint32_t pid, WantedFile *wanted,
				  size_t count);

/*
 * process_read.c: opens the file of a mapping of the process, if it was not tried: beyond
 * PROCESS_FILES_EAGER files are opened as samples lie in them. The
 * lock is given back meanwhile.
 */
void process_open_late(ProcessTable *table, Process *process, Mapping *mapping);

/*
 * process_owner.c: a new process gets its owner; one that goes gives back what it was charged.
 */
void process_join_owner(ProcessTable *table, Process *process);
void process_leave_owner(ProcessTable *table, Process *process);

/*
 * Charges what the lists of a process take to its owner. If all together take too much, other
 * processes of the owner that has most are evicted, those that were sampled least recently first.
 */
void process_charge_mappings(ProcessTable *table, Process *process);

/*
 * How many mappings of the process may be read: MAPPINGS_MAX, or REREAD_AT_ONE_COST if its owner
 * has spent what long lists may take.
 */
size_t process_mapping_limit(const ProcessTable *table, const Process *process, uint64_t now_ns);

/* A list of so many mappings was read. */
void process_pay_reading(const Process *process, size_t count, uint64_t now_ns);

/* Forgets owners without processes; call now and then. */
void process_sweep_owners(ProcessTable *table, uint64_t now_ns);

/*
 * process_read.c: reads all about a process; what is known stays where it has ended since. The lock
 * is given back meanwhile. Does nothing while another thread waits for it.
 */
void process_read(ProcessTable *table, Process *process, uint64_t now_ns);

/* The same, if it was not done too often. */
void process_reread(ProcessTable *table, Process *process, uint64_t now_ns);

/* Where a process was when it was sampled; follows it into another control group. */
CgroupKey process_cgroup_key(const ProcessTable *table, const struct pfs_sample *sample);
void process_follow_cgroup(ProcessTable *table, Process *process, const struct pfs_sample *sample,
						   uint64_t now_ns);

/*
 * A process that ended too early has its parent's control group, as a rule; and where it was
 * forked and executed nothing, which the random place of its arguments tells, its parent's image
 * as well.
 */
void process_inherit(ProcessTable *table, Process *process);

/*
 * Is /proc/PID still about the exec image that was sampled? Images never come back. True also where
 * the kernel does not answer. The lock is given back meanwhile.
 */
bool process_executes_still(ProcessTable *table, Process *process);

/*
 * Is what the side-band told of the pid at time_ns about this process? Not where the image began
 * before the process did: then it is that of one that had the pid before, and this one's beginning
 * was not told (a CPU that came, sideband_follow_cpus).
 */
bool process_owns_past(const ProcessTable *table, const Process *process, uint64_t time_ns);

/* By whose root files may be looked up by name: the process's own, its parent's, or ours (0). */
uint32_t process_root_pid(const Process *process);

/* process.c: what the unwinder knows outlives the process until process_table_take_forgotten. */
void process_remove(ProcessTable *table, Process *process);

/* The same of one that may run on: nobody else would take its verdict back. */
void process_evict(ProcessTable *table, Process *process);

/* process.c: evicts the one that was sampled least recently, other than kept (may be NULL). */
bool process_evict_oldest(ProcessTable *table, const Process *kept);

/* process_resolve.c: gives back a mapping that the side-band told of. */
void process_release_told(ProcessTable *table, Mapping *told);

/* Was other code mapped at the address between the two moments, in whichever order? */
PastChange process_code_changed(const ProcessTable *table, const Process *process, uint64_t address,
								uint64_t a_ns, uint64_t b_ns);

#endif
