/*
 * agent_options.h
 *		The flags of "agent" and "check".
 */
#ifndef COLLECTOR_AGENT_OPTIONS_H
#define COLLECTOR_AGENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/source.h"
#include "program/common_flags.h"
#include "spool/spool_options.h"
#include "symbols/worker/name_style.h"

/* a prime number, so that sampling stays out of step with periodic work */
#define AGENT_FREQUENCY_HZ_DEFAULT 19
#define AGENT_FREQUENCY_HZ_MAX	   1000
#define AGENT_INTERVAL_MS_DEFAULT  10000
#define AGENT_INTERVAL_MS_MIN	   1000
#define AGENT_INTERVAL_MS_MAX	   3600000
#define AGENT_STOP_MS_DEFAULT	   25000
#define AGENT_STOP_MS_MAX		   3600000
#define AGENT_QUEUE_BYTES_DEFAULT  ((size_t) 64 * 1024 * 1024)
#define AGENT_CPU_PERCENT_MAX	   100000
#define AGENT_MEMORY_BYTES_DEFAULT ((size_t) 384 * 1024 * 1024)
#define AGENT_MEMORY_BYTES_MIN	   ((size_t) 96 * 1024 * 1024)
#define AGENT_MAPPINGS_MAX		   (64 * 1024 * 1024)
#define AGENT_CODE_BYTES_MIN	   ((size_t) 64 * 1024 * 1024)

#define AGENT_OFF_CPU_MS_MAX	   4000
#define AGENT_OFF_CPU_RATE_DEFAULT 1000
#define AGENT_OFF_CPU_RATE_MAX	   100000
#define AGENT_PROBE_RATE_DEFAULT   1000
#define AGENT_PROBE_RATE_MAX	   100000

#define AGENT_CACHE_DIRECTORY_DEFAULT "/var/cache/profstore"

/*
 * Default of --max-cpu for each CPU: two percent at the default frequency, proportionally more at
 * higher frequencies, at most 25.
 */
#define AGENT_CPU_PERCENT_PER_CPU	  2
#define AGENT_CPU_PERCENT_PER_CPU_MAX 25

/*
 * Selects whether an interpreter's own native functions are kept in stacks, between the frames of
 * the code that it executes.
 */
enum
{
	AGENT_NATIVE_KEEP,
	AGENT_NATIVE_FOLD
};

typedef struct AgentOptions
{
	const char *database; /* libpq connection string */
	int64_t frequency_hz;
	int64_t duration_ms; /* 0: until a signal */
	int64_t interval_ms;
	int64_t stop_timeout_ms;
	const char *node;
	bool label_pid;
	bool label_thread;
	const char *custom_labels; /* names of labels, separated by commas; NULL: none */
	bool keep_times;
	int64_t off_cpu_ms;		/* copied to sources.off_cpu_period_ns */
	const char *probe;		/* copied to sources.probes; NULL: none */
	SourceSettings sources; /* settings of the sources; their flags set them directly */
	bool gpu;
	bool gpu_label_stream;
	int64_t max_cpu_percent; /* percent of one CPU; 0: from frequency and number of CPUs */
	size_t max_memory_bytes;
	int64_t max_mappings;  /* limit of code mappings of processes; 0: from max_memory_bytes */
	size_t max_code_bytes; /* limit of code size of binaries; 0: from max_memory_bytes */
	bool exclude_self;
	bool allow_unsafe_kernel;
	size_t queue_bytes;
	SpoolOptions spool;
	const char *debug_directory;
	const char *cache_directory; /* for unwind tables and symbol tables; "": no cache */
	bool no_inlined;
	int demangle; /* NameStyle */
	bool no_interpreters;
	int interpreter_native; /* AGENT_NATIVE_* */
	bool progress;
	const char *summary_file;	/* NULL: no summary */
	const char *status_file;	/* NULL: no status */
	const char *metrics_listen; /* HOST:PORT of /metrics, several separated by commas; NULL: none */
	const char *config_file;	/* NULL: no configuration */
	LogOptions log;
	char host_name[256]; /* default of node */
} AgentOptions;

/*
 * Returns the percentage of one CPU that the agent may use on a machine with cpus CPUs: --max-cpu,
 * or the default.
 */
int64_t agent_max_cpu_percent(const AgentOptions *options, int64_t cpus);

#define AGENT_FLAGS_MAX 48

/* Sets the defaults and fills in the flags, which point into options. Returns their number. */
size_t agent_flags(AgentOptions *options, Flag flags[AGENT_FLAGS_MAX]);

/* Fills in the flags of "check": database, configuration and log. Returns their number. */
size_t check_flags(AgentOptions *options, Flag flags[AGENT_FLAGS_MAX]);

#endif
