/*
 * main.c
 *		profstore-collector: picks the sub-command and runs it.
 */
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/health.h"
#include "base/failure.h"
#include "base/flags.h"
#include "database/session.h"
#include "exchange/exchange.h"
#include "symbols/worker.h"

/* Options of any command, and the flags that point into them. */
typedef union Options
{
	AgentOptions agent;
	HealthOptions health;
	ExchangeOptions exchange;
} Options;

#define FLAGS_MAX (AGENT_FLAGS_MAX > EXCHANGE_FLAGS_MAX ? AGENT_FLAGS_MAX : EXCHANGE_FLAGS_MAX)

/* What a command was called with. */
typedef struct Call
{
	Options options;
	char **operands; /* of a command that takes some; else all arguments */
	size_t operand_count;
	int count; /* of all arguments */
} Call;

typedef struct Command
{
	const char *name;
	const char *operands; /* what may follow the flags, "" for nothing */
	const char *help;
	size_t (*flags)(Options *options, Flag flags[FLAGS_MAX]);
	ExitCode (*run)(const Call *call);
} Command;

/* A command's two functions, over the member of Options that is its own. */
#define COMMAND(name, member, ...)                                    \
	static size_t name##_command_flags(Options *options, Flag *flags) \
	{                                                                 \
		return name##_flags(&options->member, flags);                 \
	}                                                                 \
	static ExitCode name##_command_run(const Call *call)              \
	{                                                                 \
		log_apply(&call->options.member.log);                         \
		return name##_run(&call->options.member, ##__VA_ARGS__);      \
	}

COMMAND(agent, agent, call->operands, call->count)
COMMAND(check, agent)
COMMAND(health, health)
COMMAND(import, exchange, call->operands, call->operand_count)
COMMAND(export, exchange)

static const Command commands[] = {
	{ "agent", "", "sample what the CPUs of this host do", agent_command_flags, agent_command_run },
	{ "check", "", "say what this host and the database have, and what is missing",
	  check_command_flags, check_command_run },
	{ "health", "", "say by the exit code whether the agent is alive and stores: for probes",
	  health_command_flags, health_command_run },
	{ "import", " FILE...", "store profiles of pprof, folded stacks, output of perf script",
	  import_command_flags, import_command_run },
	{ "export", "", "write merged profiles for pprof, speedscope and others", export_command_flags,
	  export_command_run },
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void
print_help(FILE *output)
{
	fprintf(output, "profstore-collector stores profiles in PostgreSQL.\n\n"
					"Usage: profstore-collector COMMAND [FLAGS]\n\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
	{
		Options options;
		Flag flags[FLAGS_MAX];
		size_t count = commands[i].flags(&options, flags);

		fprintf(output, "%s%s: %s\n", commands[i].name, commands[i].operands, commands[i].help);
		flags_help(flags, count, output);
		fputc('\n', output);
	}
	fprintf(output, "--help prints this, --version the version. Durations are 500ms, 10s, 1m30s; "
					"sizes 64MB.\n"
					"Keep passwords in ~/.pgpass or a service file, not in --db.\n");
}

static ExitCode
run_command(const Command *command, int count, char **arguments, Failure *failure)
{
	Call call = { .operands = arguments, .count = count };
	Flag flags[FLAGS_MAX];
	size_t flag_count = command->flags(&call.options, flags);
	ExitCode code;

	for (int i = 0; i < count; i++)
	{
		if (strcmp(arguments[i], "--help") == 0)
		{
			printf("Usage: profstore-collector %s [FLAGS]%s\n\n", command->name, command->operands);
			flags_help(flags, flag_count, stdout);
			return EXIT_OK;
		}
	}
	if (command->operands[0] == '\0')
		code = flags_parse(flags, flag_count, count, arguments, failure);
	else
		code =
			flags_parse_operands(flags, flag_count, count, arguments, &call.operand_count, failure);
	if (code != EXIT_OK)
	{
		failure_log(failure, "main");
		return code;
	}
	return command->run(&call);
}

int
main(int argc, char **argv)
{
	const char *names[COMMAND_COUNT + 1] = { NULL };
	const char *nearest;
	Failure failure;

	symbolizer_worker_main(argc, argv);
	if (argc >= 2 && strcmp(argv[1], "--version") == 0)
	{
		printf("profstore-collector %s\n", COLLECTOR_VERSION);
		return EXIT_OK;
	}
	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0))
	{
		print_help(stdout);
		return EXIT_OK;
	}
	for (size_t i = 0; argc >= 2 && i < COMMAND_COUNT; i++)
	{
		if (strcmp(commands[i].name, argv[1]) == 0)
			return run_command(&commands[i], argc - 2, argv + 2, &failure);
		names[i] = commands[i].name;
	}
	failure_set(&failure, EXIT_USAGE, argc < 2 ? "no command given" : "unrecognized command");
	nearest = argc >= 2 ? flags_nearest(argv[1], names) : NULL;
	if (argc >= 2)
		failure_detail(&failure, "There is no command \"%s\".", argv[1]);
	if (nearest != NULL)
		failure_hint(&failure, "Perhaps you meant \"%s\"; --help lists all commands.", nearest);
	else
		failure_hint(&failure, "--help lists all commands.");
	failure_log(&failure, "main");
	return failure.code;
}
