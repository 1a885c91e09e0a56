/*
 * main.c
 *		profstore-collector: picks the sub-command and runs it.
 */
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "base/failure.h"
#include "base/flags.h"
#include "base/log.h"
#include "symbols/symbolizer.h"

#define VERSION "1.0"

typedef struct Command
{
	const char *name;
	const char *help;
	size_t (*flags)(AgentOptions *options, Flag flags[AGENT_FLAGS_MAX]);
	ExitCode (*run)(const AgentOptions *options);
} Command;

static const Command commands[] = {
	{ "agent", "sample what the CPUs of this host do", agent_flags, agent_run },
	{ "check", "say what this host and the database have, and what is missing", check_flags,
	  check_run },
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void
print_help(FILE *output)
{
	fprintf(output, "profstore-collector stores profiles in PostgreSQL.\n\n"
					"Usage: profstore-collector COMMAND [FLAGS]\n\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
	{
		AgentOptions options;
		Flag flags[AGENT_FLAGS_MAX];
		size_t count = commands[i].flags(&options, flags);

		fprintf(output, "%s: %s\n", commands[i].name, commands[i].help);
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
	AgentOptions options;
	Flag flags[AGENT_FLAGS_MAX];
	size_t flag_count = command->flags(&options, flags);
	ExitCode code;

	for (int i = 0; i < count; i++)
	{
		if (strcmp(arguments[i], "--help") == 0)
		{
			printf("Usage: profstore-collector %s [FLAGS]\n\n", command->name);
			flags_help(flags, flag_count, stdout);
			return EXIT_OK;
		}
	}
	code = flags_parse(flags, flag_count, count, arguments, failure);
	if (code != EXIT_OK)
	{
		failure_log(failure, "main");
		return code;
	}
	log_configure((LogLevel) options.log_level, options.log_format == 1);
	return command->run(&options);
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
		printf("profstore-collector %s\n", VERSION);
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
