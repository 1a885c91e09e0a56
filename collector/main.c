/*
 * main.c
 *		profstore-collector: its commands, and where those are that need other libraries.
 */
#include "agent/agent.h"
#include "ci/ci.h"
#include "exchange/exchange.h"
#include "gpu/library_copy.h"
#include "program/command.h"
#include "program/health.h"
#include "program/version.h"
#include "symbols/worker/worker.h"

/* Options of any command. */
typedef union Options
{
	AgentOptions agent;
	HealthOptions health;
	ExchangeOptions exchange;
	CiOptions ci;
	GpuLibraryOptions gpu_library;
} Options;

/* A command of the agent's options, some of which a configuration file may have: it reads both. */
#define AGENT_COMMAND(name)                                       \
	static size_t name##_command_flags(void *room, Flag *flags)   \
	{                                                             \
		return name##_flags(&((Options *) room)->agent, flags);   \
	}                                                             \
	static ExitCode name##_command_run(const CommandCall *call)   \
	{                                                             \
		log_apply(&((const Options *) call->options)->agent.log); \
		return name##_run(call->operands, call->count);           \
	}

AGENT_COMMAND(agent)
AGENT_COMMAND(check)
COMMAND(health, health)
COMMAND(import, exchange, call->operands, call->operand_count)
COMMAND(export, exchange)
COMMAND(ci, ci, call->operands, call->operand_count)
COMMAND(gpu_library, gpu_library)

static const Command commands[] = {
	{ "agent", "", "sample what the CPUs of this host do", agent_command_flags, agent_command_run },
	{ "scrape", "", "fetch pprof profiles from targets, configured like Parca",
	  .program = "profstore-sources" },
	{ "receive", "", "accept profiles that clients push: OTLP, Parca's writes",
	  .program = "profstore-sources" },
	{ "serve", "", "answer Grafana's Profiles Drilldown and its data source for Pyroscope",
	  .program = "profstore-sources" },
	{ "symbolize", "", "find names and lines of addresses that were stored without them",
	  .program = "profstore-sources" },
	{ "debuginfo", " upload|extract|list|find [PATH...]",
	  "store debug information of builds for symbolize", .program = "profstore-sources" },
	{ "check", "", "show which features host and database have, and which are missing",
	  check_command_flags, check_command_run },
	{ "health", "", "show by the exit code whether the agent is alive and stores, for probes",
	  health_command_flags, health_command_run },
	{ "import", " FILE...", "store profiles of pprof, folded stacks, output of perf script",
	  import_command_flags, import_command_run },
	{ "export", "", "write merged profiles for pprof, speedscope and others", export_command_flags,
	  export_command_run },
	{ "ci", " run -- COMMAND [ARGUMENT...]",
	  "run a benchmark several times and fail if it costs more than its baseline", ci_command_flags,
	  ci_command_run },
	{ "gpu-library", "", "print the path of the library for programs with a GPU, or copy it",
	  gpu_library_command_flags, gpu_library_command_run },
};

int
main(int argc, char **argv)
{
	Options options;
	const CommandTable table = { .name = "profstore-collector",
								 .purpose = "stores profiles in PostgreSQL",
								 .version = collector_build(),
								 .commands = commands,
								 .count = sizeof(commands) / sizeof(commands[0]),
								 .options = &options };

	symbolizer_worker_main(argc, argv);
	return command_main(&table, argc, argv);
}
