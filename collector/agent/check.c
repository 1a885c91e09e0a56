/*
 * check.c
 *		The sub-command "check": can this host be profiled, and can the profiles be stored?
 *
 * Prints "group name state detail", one line for each thing; what is missing is followed by what
 * that means.
 */
#include <stdio.h>

#include "agent/agent.h"
#include "database/session.h"
#include "kernel/features.h"
#include "kernel/off_cpu.h"
#include "kernel/probes.h"
#include "kernel/sampler.h"
#include "symbols/symbolizer.h"

static void
print_line(const char *group, const char *name, const char *state, const char *detail)
{
	printf("%-10s %-24s %-9s%s%s\n", group, name, state, detail[0] != '\0' ? " " : "", detail);
}

/* More about the line before, if there is more. */
static void
print_more(const char *text)
{
	if (text[0] != '\0')
		printf("%-45s %s\n", "", text);
}

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

static ExitCode
check_program(const AgentOptions *agent)
{
	const SamplerOptions options = {
		.frequency_hz = 1,
		.allow_unsafe_kernel = agent->allow_unsafe_kernel,
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

static void
check_off_cpu(void)
{
	const char *how;
	const char *missing = off_cpu_missing(&how);

	print_line("kernel", "off_cpu", missing == NULL ? "ok" : "wanted",
			   missing == NULL ? how : missing);
}

static void
check_probes(void)
{
	const char *missing = probes_missing();

	print_line("kernel", "allocations", missing == NULL ? "ok" : "wanted",
			   missing == NULL ? "" : missing);
}

static void
check_kallsyms(void)
{
	SymbolizerOptions options = { .cache_bytes = (size_t) 1 << 24, .debug_directory = "" };
	Symbolizer *symbolizer;

	if (symbolizer_create(&options, &symbolizer) != 0)
		return;
	if (kallsyms_readable(symbolizer))
		print_line("kernel", "kallsyms", "ok", "");
	else
		print_line("kernel", "kallsyms", "wanted",
				   "Kernel addresses are hidden: kernel frames stay without names.");
	symbolizer_free(symbolizer);
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

ExitCode
check_run(const AgentOptions *options)
{
	ExitCode host = check_host(options);
	ExitCode database;

	if (host == EXIT_OK)
		host = check_program(options);
	check_off_cpu();
	check_probes();
	check_kallsyms();
	database = check_database(options);
	return host != EXIT_OK ? host : database;
}
