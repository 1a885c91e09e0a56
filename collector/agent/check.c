/*
 * check.c
 *		The sub-command "check": reports whether this host can be profiled and the profiles can be
 *		stored.
 *
 * Prints "group name state detail", one line for each check. The line of a missing feature is
 * followed by its consequence.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/agent_config.h"
#include "agent/gpu_meter.h"
#include "agent/interpreter_census.h"
#include "database/session.h"
#include "gpu/nvml.h"
#include "kernel/features.h"
#include "kernel/sampler.h"
#include "symbols/symbolizer.h"

static void
print_line(const char *group, const char *name, const char *state, const char *detail)
{
	printf("%-10s %-24s %-9s%s%s\n", group, name, state, detail[0] != '\0' ? " " : "", detail);
}

/* Prints further explanation below the previous line, if there is any. */
static void
print_more(const char *text)
{
	if (text[0] != '\0')
		printf("%-45s %s\n", "", text);
}

/*
 * Prints a line for each feature of the kernel and capability. Returns EXIT_PRIVILEGE if a required
 * one is missing.
 */
static ExitCode
check_host(const AgentOptions *agent)
{
	Feature features[FEATURES_MAX];
	size_t count = features_probe(agent->allow_unsafe_kernel, features);
	ExitCode code = EXIT_OK;

	count = features_probe_processes(features, count);
	for (size_t i = 0; i < count; i++)
	{
		const Feature *feature = &features[i];

		if (feature->present)
		{
			print_line(feature->group, feature->name, "ok", feature->detail);
			continue;
		}
		print_line(feature->group, feature->name,
				   feature->need == FEATURE_REQUIRED ? "missing" : "wanted",
				   feature->detail[0] != '\0' ? feature->detail : feature->consequence);
		print_more(feature->detail[0] != '\0' ? feature->consequence : "");
		/*
		 * Go on after a missing feature, because users should see everything that is missing at
		 * once.
		 */
		if (feature->need == FEATURE_REQUIRED)
			code = EXIT_PRIVILEGE;
	}
	return code;
}

static void
ignore_record(void *context, const void *record, size_t length_bytes)
{
	(void) context;
	(void) record;
	(void) length_bytes;
}

/* Loads the BPF program with minimal settings, as the agent would. */
static ExitCode
check_program(const AgentOptions *agent)
{
	Losses losses = { 0 };
	const SamplerOptions options = {
		.frequency_hz = 1,
		.allow_unsafe_kernel = agent->allow_unsafe_kernel,
		.losses = &losses,
	};
	Failure failure;
	Sampler *sampler = NULL;
	ExitCode code = sampler_create(&options, ignore_record, NULL, &sampler, &failure);

	if (code == EXIT_OK)
		print_line("kernel", "bpf_program", "ok", "");
	else
		print_line("kernel", "bpf_program", "missing", failure.detail);
	sampler_free(sampler);
	return code;
}

/*
 * Prints the state of an optional feature. Call it after the required features were found: the
 * kernel shows some optional features only to processes that may load BPF programs.
 */
static void
check_optional(const char *name, const char *missing, const char *how, bool has_rights)
{
	if (missing != NULL)
		print_line("kernel", name, "wanted", missing);
	else if (has_rights)
		print_line("kernel", name, "ok", how);
	else
		print_line("kernel", name, "unknown",
				   "Unknown until the required features above are available.");
}

static void
check_sources(bool has_rights)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++)
	{
		const char *missing;
		const char *how;

		if (sample_sources[i]->missing == NULL)
			continue;
		missing = sample_sources[i]->missing(&how);
		check_optional(sample_sources[i]->name, missing, how, has_rights);
	}
}

static void
check_kallsyms(void)
{
	SymbolizerOptions options = { .cache_bytes = (size_t) 1 << 24, .debug_directory = "" };
	Symbolizer *symbolizer;

	/* No binary is opened, so directory and size of the cache do not matter. */
	if (symbolizer_create(&options, &symbolizer) != 0)
		return;
	if (kallsyms_readable(symbolizer))
		print_line("kernel", "kallsyms", "ok", "");
	else
		print_line("kernel", "kallsyms", "wanted",
				   "Kernel addresses are hidden, so kernel frames have no names.");
	symbolizer_free(symbolizer);
}

/*
 * Appends "name (n)": an interpreter, and the number of processes whose stacks of it can be read.
 */
static void
append_interpreter(char *text, size_t size, const InterpreterCount *count)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s (%" PRIu32 ")", used > 0 ? ", " : "",
			 count->kind->title, count->known);
}

/*
 * Prints the pids, at most CENSUS_PIDS, of processes whose interpreter has a version that cannot be
 * read.
 */
static void
print_unknown(const InterpreterCount *count)
{
	char text[128];
	size_t used = 0;

	used += (size_t) snprintf(text, sizeof(text), "%s of unknown version: %" PRIu32 " (pid",
							  count->kind->title, count->unknown);
	for (uint32_t i = 0; i < CENSUS_PIDS && i < count->unknown; i++)
		used += (size_t) snprintf(text + used, sizeof(text) - used, " %" PRIu32, count->pids[i]);
	snprintf(text + used, sizeof(text) - used, "%s)", count->unknown > CENSUS_PIDS ? " …" : "");
	print_more(text);
}

/* Prints each interpreter whose functions are named, with the number of its processes. */
static void
check_interpreters(void)
{
	InterpreterCensus census;
	char text[256] = "";
	uint32_t unknown = 0;
	int result = interpreter_census_take(&census);

	if (result != 0)
	{
		snprintf(text, sizeof(text), "Processes could not be examined: %s.", strerror(-result));
		print_line("processes", "interpreters", "unknown", text);
		return;
	}
	for (size_t i = 0; i < census.count; i++)
	{
		append_interpreter(text, sizeof(text), &census.counts[i]);
		unknown += census.counts[i].unknown;
	}
	print_line("processes", "interpreters", unknown == 0 ? "ok" : "wanted", text);
	for (size_t i = 0; i < census.count; i++)
	{
		if (census.counts[i].unknown > 0)
			print_unknown(&census.counts[i]);
	}
	if (unknown > 0)
		print_more(
			"Functions of these processes are not named; stacks show the interpreter's own functions.");
	if (census.is_cut)
		print_more("There are more processes, which were not examined.");
}

/* Prints the state of GPUs. A host without GPUs passes this check. */
static void
check_gpus(void)
{
	char detail[256];

	if (gpu_meter_check(NVML_LIBRARY, detail, sizeof(detail)))
		print_line("gpu", "nvml", "ok", detail);
	else
		print_line("gpu", "nvml", "none", detail);
}

static ExitCode
check_database(const AgentOptions *options)
{
	Failure failure;
	ExitCode code = session_check(options->database, &failure);

	if (code == EXIT_OK)
		print_line("database", "profstore", "ok", "");
	else
	{
		print_line("database", "profstore", "missing", failure.message);
		print_more(failure.detail);
		print_more(failure.hint);
	}
	return code;
}

/* Runs all checks. Returns the code of the host's failure, otherwise that of the database. */
static ExitCode
agent_check_all(const AgentOptions *options)
{
	ExitCode host = check_host(options);
	ExitCode database;

	/*
	 * Loading begins with the checks of check_host(), so its line would only repeat what is
	 * missing.
	 */
	if (host == EXIT_OK)
		host = check_program(options);
	check_sources(host == EXIT_OK);
	check_kallsyms();
	check_interpreters();
	check_gpus();
	database = check_database(options);
	return host != EXIT_OK ? host : database;
}

ExitCode
check_run(char **arguments, int count)
{
	AgentOptions options;
	AgentConfig *config;
	PodTable *pods = NULL;
	Failure failure;
	ExitCode code = EXIT_OK;

	/* The rules of the configuration refer to a table of pods, which stays empty here. */
	if (pod_table_create(&pods) != 0)
		code = failure_out_of_memory(&failure);
	config = code == EXIT_OK ? agent_config_read(&options, count, arguments, pods, &failure) : NULL;
	if (config != NULL)
	{
		log_apply(&options.log);
		if (options.config_file != NULL)
			print_line("config", "file", "ok", options.config_file);
		code = agent_check_all(&options);
	}
	else
	{
		failure_log(&failure, "check");
		code = failure.code;
	}
	agent_config_free(config);
	pod_table_free(pods);
	return code;
}
