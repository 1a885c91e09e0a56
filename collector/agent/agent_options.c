/*
 * agent_options.c
 *		Tables of the flags of "agent" and "check".
 */
#include "agent/agent_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Up to this rate all context switches are examined, which takes about one percent of a CPU. */
#define SWITCHES_PER_CPU 50000

/*
 * Returns the cache directory that systemd passes, which may be the first of several, or a default
 * below /var/cache.
 */
static const char *
default_cache_directory(void)
{
	const char *given = getenv("CACHE_DIRECTORY");

	return given != NULL && strchr(given, ':') == NULL ? given : AGENT_CACHE_DIRECTORY_DEFAULT;
}

static void
set_defaults(AgentOptions *options)
{
	memset(options, 0, sizeof(*options));
	options->frequency_hz = AGENT_FREQUENCY_HZ_DEFAULT;
	options->interval_ms = AGENT_INTERVAL_MS_DEFAULT;
	options->stop_timeout_ms = AGENT_STOP_MS_DEFAULT;
	options->max_memory_bytes = AGENT_MEMORY_BYTES_DEFAULT;
	options->sources.off_cpu_rate = AGENT_OFF_CPU_RATE_DEFAULT;
	options->sources.off_cpu_switches = (uint64_t) sysconf(_SC_NPROCESSORS_ONLN) * SWITCHES_PER_CPU;
	options->sources.probe_rate = AGENT_PROBE_RATE_DEFAULT;
	options->queue_bytes = AGENT_QUEUE_BYTES_DEFAULT;
	options->debug_directory = "/usr/lib/debug";
	options->cache_directory = default_cache_directory();
	/* The last byte stays 0, because gethostname() does not terminate a name that it has cut. */
	if (gethostname(options->host_name, sizeof(options->host_name) - 1) != 0)
		snprintf(options->host_name, sizeof(options->host_name), "localhost");
	options->node = options->host_name;
}

static size_t
agent_common_flags(AgentOptions *options, Flag *flags)
{
	size_t count = 0;

	flags[count++] = database_flag(&options->database);
	flags[count++] = (Flag){ "node", FLAG_TEXT, &options->node, "NAME",
							 "name of this host; default: its host name" };
	flags[count++] = (Flag){ "allow-unsafe-kernel", FLAG_SWITCH, &options->allow_unsafe_kernel,
							 NULL, "sample even on a kernel with a known lockup" };
	flags[count++] =
		(Flag){ "config", FLAG_TEXT, &options->config_file, "FILE",
				"YAML file of flags by their names and of rules for labels; the agent reads "
				"it again on SIGHUP" };
	return count + log_flags(&options->log, &flags[count]);
}

size_t
check_flags(AgentOptions *options, Flag flags[AGENT_FLAGS_MAX])
{
	set_defaults(options);
	return agent_common_flags(options, flags);
}

/* Names of the values of NameStyle, in their order. */
static const char *const demangle_choices[] = { NAME_STYLE_CHOICES, NULL };
/* Names of the values AGENT_NATIVE_*, in their order. */
static const char *const native_choices[] = { "keep", "fold", NULL };

size_t
agent_flags(AgentOptions *options, Flag flags[AGENT_FLAGS_MAX])
{
	const Flag own[] = {
		{ "frequency", FLAG_NUMBER, &options->frequency_hz, "HZ",
		  "samples per second on each CPU; default 19", 1, AGENT_FREQUENCY_HZ_MAX },
		{ "duration", FLAG_DURATION, &options->duration_ms, "TIME",
		  "stop after this time; default: on SIGTERM", 1, INT64_C(36500) * 86400000 },
		{ "interval", FLAG_DURATION, &options->interval_ms, "TIME",
		  "length of the window over which samples are summed before they are stored; default 10s",
		  AGENT_INTERVAL_MS_MIN, AGENT_INTERVAL_MS_MAX },
		{ "stop-timeout", FLAG_DURATION, &options->stop_timeout_ms, "TIME",
		  "time for storing the remaining samples after a signal; default 25s", 1,
		  AGENT_STOP_MS_MAX },
		{ "label-pid", FLAG_SWITCH, &options->label_pid, NULL,
		  "add the label pid, which makes a series for each process" },
		{ "label-thread", FLAG_SWITCH, &options->label_thread, NULL, "add the label thread_name" },
		{ "custom-labels", FLAG_TEXT, &options->custom_labels, "KEY,...",
		  "add these labels of goroutines and threads, as programs set them" },
		{ "keep-times", FLAG_SWITCH, &options->keep_times, NULL,
		  "store each sample with its own time, not sums per interval" },
		{ "off-cpu", FLAG_DURATION, &options->off_cpu_ms, "TIME",
		  "also sample waits: all of this length or more, shorter ones in proportion", 1,
		  AGENT_OFF_CPU_MS_MAX },
		{ "off-cpu-rate", FLAG_NUMBER, &options->sources.off_cpu_rate, "NUMBER",
		  "limit of wait samples per second, above which fewer are kept; default 1000", 1,
		  AGENT_OFF_CPU_RATE_MAX },
		{ "probe", FLAG_TEXT, &options->probe, "WHAT,...",
		  "sample page-faults, gpu-launches, gpu-kernels, or with allocations=FILE the allocations of that library" },
		{ "probe-rate", FLAG_NUMBER, &options->sources.probe_rate, "NUMBER",
		  "limit of samples of each probe per second, above which fewer are kept; default 1000", 1,
		  AGENT_PROBE_RATE_MAX },
		{ "gpu-label-stream", FLAG_SWITCH, &options->gpu_label_stream, NULL,
		  "label the time of GPU kernels by stream" },
		{ "gpu", FLAG_SWITCH, &options->gpu, NULL,
		  "also store activity, energy and memory of NVIDIA GPUs by process" },
		{ "max-cpu", FLAG_NUMBER, &options->max_cpu_percent, "PERCENT",
		  "limit of the collector's own CPU time in percent of one CPU; default 2 per CPU, more above 19 Hz",
		  1, AGENT_CPU_PERCENT_MAX },
		{ "max-memory", FLAG_SIZE, &options->max_memory_bytes, "SIZE",
		  "limit of the collector's own memory, including the kernel's for it; default 384MB",
		  (int64_t) AGENT_MEMORY_BYTES_MIN },
		{ "max-mappings", FLAG_NUMBER, &options->max_mappings, "NUMBER",
		  "limit of code mappings of processes whose stacks are walked; default: from --max-memory",
		  65536, AGENT_MAPPINGS_MAX },
		{ "max-code", FLAG_SIZE, &options->max_code_bytes, "SIZE",
		  "limit of code size of binaries whose stacks are walked; default: from --max-memory",
		  (int64_t) AGENT_CODE_BYTES_MIN },
		{ "exclude-self", FLAG_SWITCH, &options->exclude_self, NULL,
		  "do not sample the collector itself" },
		{ "queue-size", FLAG_SIZE, &options->queue_bytes, "SIZE",
		  "limit of samples queued while the database is unavailable; default 64MB" },
		{ "debug-directory", FLAG_TEXT, &options->debug_directory, "DIR",
		  "directory of separate debug files; default /usr/lib/debug" },
		{ "cache-directory", FLAG_TEXT, &options->cache_directory, "DIR",
		  "directory that caches tables of binaries; default $CACHE_DIRECTORY, or " AGENT_CACHE_DIRECTORY_DEFAULT
		  "; '' for none" },
		{ "no-inlined", FLAG_SWITCH, &options->no_inlined, NULL,
		  "use only symbol tables: no inlined functions, no line numbers" },
		{ "demangle", FLAG_CHOICE, &options->demangle, "HOW",
		  "names of C++ and Rust functions: full (default), simple (C++ without arguments of templates "
		  "and parameters), none",
		  .choices = demangle_choices },
		{ "no-interpreters", FLAG_SWITCH, &options->no_interpreters, NULL,
		  "leave functions of interpreted and generated code out of stacks" },
		{ "interpreter-native", FLAG_CHOICE, &options->interpreter_native, "HOW",
		  "functions of an interpreter between those that it executes: keep (default) or fold",
		  .choices = native_choices },
		{ "progress", FLAG_SWITCH, &options->progress, NULL,
		  "draw a progress bar on a terminal; needs --duration" },
		{ "summary", FLAG_TEXT, &options->summary_file, "FILE",
		  "write totals as key=value lines at the end" },
		{ "metrics-listen", FLAG_TEXT, &options->metrics_listen, "ADDRESS,...",
		  "HOST:PORT of the page /metrics, which has no authentication; default: none" },
		{ "status", FLAG_TEXT, &options->status_file, "FILE",
		  "write the status that the command health reads, every 5 s" },
	};
	size_t count;

	set_defaults(options);
	count = agent_common_flags(options, flags);
	count += spool_flags(&options->spool, &flags[count]);
	return flags_append(flags, count, own, sizeof(own) / sizeof(own[0]));
}

int64_t
agent_max_cpu_percent(const AgentOptions *options, int64_t cpus)
{
	int64_t of_each = AGENT_CPU_PERCENT_PER_CPU;

	if (options->max_cpu_percent > 0)
		return options->max_cpu_percent;
	/*
	 * A higher frequency costs more in proportion, so the limit for the default frequency would
	 * only halve it again.
	 */
	if (options->frequency_hz > AGENT_FREQUENCY_HZ_DEFAULT)
		of_each = of_each * options->frequency_hz / AGENT_FREQUENCY_HZ_DEFAULT;
	if (of_each > AGENT_CPU_PERCENT_PER_CPU_MAX)
		of_each = AGENT_CPU_PERCENT_PER_CPU_MAX;
	return of_each * (cpus > 0 ? cpus : 1);
}
