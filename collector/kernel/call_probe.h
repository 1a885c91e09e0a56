/*
 * call_probe.h
 *		A BPF program at functions of files, for sources that sample calls: watches the calls, and
 *		keeps a part of them.
 *
 * One link probes many functions (BPF_TRACE_UPROBE_MULTI, Linux 6.6) and needs only capabilities
 * that sampling needs anyway; a perf event of a uprobe would need CAP_SYS_ADMIN. A file is opened
 * once and probed by its descriptor, so that the offsets of its functions are never applied to
 * another file that takes its name.
 */
#ifndef COLLECTOR_CALL_PROBE_H
#define COLLECTOR_CALL_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/pace.h"
#include "kernel/source.h"
#include "process/patience.h"

#define PROBED_FUNCTIONS_MAX 24

struct bpf_program;

/* A library or program, and the offsets of its functions. */
typedef struct ProbedFile
{
	const char *name; /* for the log; must stay valid as long as the file */
	int fd;
	int link;		 /* -1: the file is not linked */
	uint32_t count;	 /* number of functions; 0: they are found when the file is linked */
	bool is_useless; /* the file cannot be probed */
	uint64_t offsets[PROBED_FUNCTIONS_MAX];
	uint64_t cookies[PROBED_FUNCTIONS_MAX];
	/*
	 * Offsets of variables that the kernel counts up in each process that maps the file, as long as
	 * the file is linked; all 0: there are none.
	 */
	uint64_t counters[PROBED_FUNCTIONS_MAX];
} ProbedFile;

/* The constant settings of a source's probe. */
typedef struct CallProbeKind
{
	const char *name;		/* name of the probe in the log */
	enum pfs_counter calls; /* counter of calls */
	enum pfs_counter kept;	/* counter of kept calls */
	uint64_t period;		/* first period, in the unit of the samples' values */
	uint64_t period_min;	/* shortest period */
	uint64_t period_max;	/* longest period, below 2^32 */
	/*
	 * Finds the functions of a file whose count is 0. May block. NULL if all files have functions.
	 */
	int (*find)(ProbedFile *file);
} CallProbeKind;

typedef struct CallProbe
{
	Source source;
	const CallProbeKind *kind;
	struct bpf_program *program;
	/* variable of the BPF program: the period, in the unit of the samples' values */
	__u64 *shared_period;
	/* variable of the BPF program: calls are watched in one second of this many */
	__u32 *shared_one_in;
	ProbedFile *files;
	size_t file_count;
	Patience patience; /* belongs to the thread that attaches and detaches, one at a time */
	Stall stall;	   /* until its end no probe is attached */
	uint64_t longest_period;
	uint32_t fewest_calls;			 /* the smallest watched part so far: one call of this many */
	_Atomic uint64_t calls_a_second; /* above this rate, calls are watched for part of the time */
	Pace pace;						 /* rate of calls */
	uint64_t kept;					 /* number of kept calls when the rate was last checked */
	bool watching;					 /* calls are being watched */
	uint32_t seconds;				 /* seconds since watching last became false */
} CallProbe;

/*
 * Returns the feature that this kernel lacks, as a sentence that names what needs the feature; NULL
 * if probing is possible.
 */
const char *call_probe_missing(void);

/*
 * Returns EXIT_OK if probing is possible. Otherwise sets the failure: the message, what is missing,
 * and the hint to remove the probe's name from --probe.
 */
ExitCode call_probe_require(const char *message, const char *name, Failure *failure);

/* Returns the scratch areas of a program at calls: one for each CPU. */
uint32_t call_probe_slots(int possible_cpus);

/*
 * Prepares the program before it is loaded, and finds the variables that it shares with us. Returns
 * 0 or -ENOMEM.
 */
int call_probe_init(CallProbe *probe, const SourceHost *host, const CallProbeKind *kind,
					struct bpf_program *program);
void call_probe_fini(CallProbe *probe); /* closes the files */

/*
 * Links all files that are not linked. It is no failure if a file does not answer in time:
 * call_probe_pace() tries again.
 */
ExitCode call_probe_attach(CallProbe *probe, Failure *failure);

/*
 * Links a file that was added, unless calls are not watched at the moment. A file that cannot be
 * probed is logged and marked as useless.
 */
void call_probe_follow(CallProbe *probe, ProbedFile *file);

/* Unlinks a file. Returns false if that is not possible at the moment. */
bool call_probe_unlink(CallProbe *probe, ProbedFile *file);

/* Stops watching calls. */
void call_probe_look_away(CallProbe *probe);

/*
 * Reduces the rate above which calls are watched only part of the time, to part/whole of the
 * setting.
 */
void call_probe_restrain(CallProbe *probe, uint32_t part, uint32_t whole);

/* Adapts the period, and the time for which calls are watched. Call it about once a second. */
void call_probe_pace(CallProbe *probe, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns);

/* CPU time that a probed call costs, kept or not; mostly that of the trap. */
#define CALL_PROBE_NS 400

#endif
