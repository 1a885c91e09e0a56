/*
 * options.c
 *		Tables of flags.
 */
#include "agent/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Looking at as many switches a second takes a percent of a CPU: up to these all are looked at. */
#define SWITCHES_PER_CPU 50000

/*
 * As systemd passes it, which may name several; the directory of the host's caches where nobody
 * says.
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
	if (gethostname(options->host_name, sizeof(options->host_name) - 1) != 0)
		snprintf(options->host_name, sizeof(options->host_name), "localhost");
	options->node = options->host_name;
}

static size_t
common_flags(AgentOptions *options, Flag *flags)
{
	size_t count = 0;

	flags[count++] = database_flag(&options->database);
	flags[count++] =
		(Flag){ "node", FLAG_TEXT, &options->node, "NAME", "name of this host; default: its own" };
	flags[count++] = (Flag){ "allow-unsafe-kernel", FLAG_SWITCH, &options->allow_unsafe_kernel,
							 NULL, "sample on a kernel that can lock up, too" };
	flags[count++] = (Flag){ "config", FLAG_TEXT, &options->config_file, "FILE",
							 "flags by their names, and rules for labels, in YAML; the agent reads "
							 "it again on SIGHUP" };
	return count + log_flags(&options->log, &flags[count]);
}

size_t
check_flags(AgentOptions *options, Flag flags[AGENT_FLAGS_MAX])
{
	set_defaults(options);
	return common_flags(options, flags);
}

size_t
agent_flags(AgentOptions *options, Flag flags[AGENT_FLAGS_MAX])
{
	const Flag own[] = {
		{ "frequency", FLAG_NUMBER, &options->frequency_hz, "HZ",
		  "samples a second on each CPU; default 19", 1, AGENT_FREQUENCY_HZ_MAX },
		{ "duration", FLAG_DURATION, &options->duration_ms, "TIME",
		  "stop after this time; default: on SIGTERM", 1, INT64_C(36500) * 86400000 },
		{ "interval", FLAG_DURATION, &options->interval_ms, "TIME",
		  "window that samples are summed over and stored after; default 10s",
		  AGENT_INTERVAL_MS_MIN, AGENT_INTERVAL_MS_MAX },
		{ "stop-timeout", FLAG_DURATION, &options->stop_timeout_ms, "TIME",
		  "for what is not stored yet, after a signal; default 25s", 1, AGENT_STOP_MS_MAX },
		{ "label-pid", FLAG_SWITCH, &options->label_pid, NULL,
		  "add the label pid: a series for each process" },
		{ "label-thread", FLAG_SWITCH, &options->label_thread, NULL, "add the label thread_name" },
		{ "custom-labels", FLAG_TEXT, &options->custom_labels, "KEY,...",
		  "add these labels of goroutines and threads, as programs set them" },
		{ "keep-times", FLAG_SWITCH, &options->keep_times, NULL,
		  "store each sample with its own time, not sums per interval" },
		{ "off-cpu", FLAG_DURATION, &options->off_cpu_ms, "TIME",
		  "sample waits too: those of this length or more all, shorter ones in proportion", 1,
		  AGENT_OFF_CPU_MS_MAX },
		{ "off-cpu-rate", FLAG_NUMBER, &options->sources.off_cpu_rate, "NUMBER",
		  "of samples of waits a second, above which fewer are kept; default 1000", 1,
		  AGENT_OFF_CPU_RATE_MAX },
		{ "probe", FLAG_TEXT, &options->probe, "WHAT,...",
		  "sample page-faults, and by allocations=FILE what functions of that library ask for" },
		{ "probe-rate", FLAG_NUMBER, &options->sources.probe_rate, "NUMBER",
		  "of samples of each of them a second, above which fewer are kept; default 1000", 1,
		  AGENT_PROBE_RATE_MAX },
		{ "max-cpu", FLAG_NUMBER, &options->max_cpu_percent, "PERCENT",
		  "of one CPU, for the collector itself; default 2 for each, more above 19 Hz", 1,
		  AGENT_CPU_PERCENT_MAX },
		{ "max-memory", FLAG_SIZE, &options->max_memory_bytes, "SIZE",
		  "for the collector itself, and the kernel in its name; default 384MB",
		  (int64_t) AGENT_MEMORY_BYTES_MIN },
		{ "max-mappings", FLAG_NUMBER, &options->max_mappings, "NUMBER",
		  "of code, of all processes whose stacks are walked; default: by --max-memory", 65536,
		  AGENT_MAPPINGS_MAX },
		{ "max-code", FLAG_SIZE, &options->max_code_bytes, "SIZE",
		  "of binaries whose stacks are walked; default: by --max-memory",
		  (int64_t) AGENT_CODE_BYTES_MIN },
		{ "exclude-self", FLAG_SWITCH, &options->exclude_self, NULL,
		  "no samples of the collector itself" },
		{ "queue-size", FLAG_SIZE, &options->queue_bytes, "SIZE",
		  "kept while the database is away; default 64MB" },
		{ "debug-directory", FLAG_TEXT, &options->debug_directory, "DIR",
		  "separate debug files; default /usr/lib/debug" },
		{ "cache-directory", FLAG_TEXT, &options->cache_directory, "DIR",
		  "of tables of binaries; default $CACHE_DIRECTORY, else " AGENT_CACHE_DIRECTORY_DEFAULT
		  "; '' for none" },
		{ "no-inlined", FLAG_SWITCH, &options->no_inlined, NULL,
		  "symbol tables alone: no inlined functions, no line numbers" },
		{ "progress", FLAG_SWITCH, &options->progress, NULL,
		  "draw a progress bar on a terminal; needs --duration" },
		{ "summary", FLAG_TEXT, &options->summary_file, "FILE",
		  "write totals as key=value lines at the end" },
		{ "status", FLAG_TEXT, &options->status_file, "FILE",
		  "write every 5 s what the command health judges" },
	};
	size_t count;

	set_defaults(options);
	count = common_flags(options, flags);
	return flags_append(flags, count, own, sizeof(own) / sizeof(own[0]));
}

int64_t
agent_max_cpu_percent(const AgentOptions *options, int64_t cpus)
{
	int64_t of_each = AGENT_CPU_PERCENT_PER_CPU;

	if (options->max_cpu_percent > 0)
		return options->max_cpu_percent;
	if (options->frequency_hz > AGENT_FREQUENCY_HZ_DEFAULT)
		of_each = of_each * options->frequency_hz / AGENT_FREQUENCY_HZ_DEFAULT;
	if (of_each > AGENT_CPU_PERCENT_PER_CPU_MAX)
		of_each = AGENT_CPU_PERCENT_PER_CPU_MAX;
	return of_each * (cpus > 0 ? cpus : 1);
}
