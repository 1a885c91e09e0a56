/*
 * call_probe.h
 *		A BPF program at functions of files, for the sources that sample calls: which calls are
 *		watched, and which part of them is kept.
 *
 * Functions are probed by one link for many of them (BPF_TRACE_UPROBE_MULTI, Linux 6.6), which
 * needs no capability that sampling does not need anyway; a perf event of a uprobe would need
 * CAP_SYS_ADMIN. A file is opened once and probed by its descriptor, so that the offsets of
 * functions found in it are never applied to another file that takes its name.
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
	int link;		 /* -1: no link */
	uint32_t count;	 /* 0: the functions are found when the file is linked */
	bool is_useless; /* it cannot be probed */
	uint64_t offsets[PROBED_FUNCTIONS_MAX];
	uint64_t cookies[PROBED_FUNCTIONS_MAX];
} ProbedFile;

/* The constant part of a probe. */
typedef struct CallProbeKind
{
	const char *name;		/* of the probe, for the log */
	enum pfs_counter calls; /* counter of calls */
	enum pfs_counter kept;	/* counter of kept calls */
	uint64_t period;		/* the first period, in the unit of the samples' values */
	uint64_t period_min;	/* the shortest one */
	uint64_t period_max;	/* the longest one, below 2^32 */
	/* Finds the functions of a file without any. May block. NULL if all files have some. */
	int (*find)(ProbedFile *file);
} CallProbeKind;

typedef struct CallProbe
{
	Source source;
	const CallProbeKind *kind;
	struct bpf_program *program;
	__u64 *shared_period; /* the program's; in the unit of the samples' values */
	__u32 *shared_one_in; /* the program's: calls are watched in one second of this many */
	ProbedFile *files;
	size_t file_count;
	Patience patience; /* of the thread that attaches and detaches; one thread at a time */
	Stall stall;	   /* no probe is attached until it ends */
	uint64_t longest_period;
	uint32_t fewest_calls;			 /* largest number of calls of which one was looked at */
	_Atomic uint64_t calls_a_second; /* above this rate, calls are looked at for part of the time */
	Pace pace;						 /* pace of calls */
	uint64_t kept;					 /* kept calls at the last pacing of calls */
	bool watching;					 /* calls are looked at */
	uint32_t seconds;				 /* since watching last became false */
} CallProbe;

/* Returns the missing feature of this kernel as a sentence that names what needs it, or NULL. */
const char *call_probe_missing(void);

/*
 * Prepares the program before it is loaded, and the values that it shares with us. Returns 0 or
 * -ENOMEM.
 */
int call_probe_init(CallProbe *probe, const SourceHost *host, const CallProbeKind *kind,
					struct bpf_program *program);
void call_probe_fini(CallProbe *probe); /* closes the files */

/*
 * Links all files that are not linked. If one does not answer in time the attempt is repeated later
 * by call_probe_pace(), which is no failure.
 */
ExitCode call_probe_attach(CallProbe *probe, Failure *failure);

/*
 * Links a file that was added, unless calls are not watched at the moment. A file that cannot be
 * probed is logged, and becomes useless.
 */
void call_probe_follow(CallProbe *probe, ProbedFile *file);

/* Unlinks a file. Returns false if that is not possible at the moment. */
bool call_probe_unlink(CallProbe *probe, ProbedFile *file);

/* Stops watching calls. */
void call_probe_look_away(CallProbe *probe);

/* Looks at calls for part of the time if the rate exceeds part of whole of the settings. */
void call_probe_restrain(CallProbe *probe, uint32_t part, uint32_t whole);

/* Adapts the period, and how long calls are watched, about once a second. */
void call_probe_pace(CallProbe *probe, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns);

/* CPU time of calls, kept or not; mostly the trap. */
#define CALL_PROBE_NS 400

#endif
