/*
 * command.c
 *		Finds and runs the sub-command that the arguments name.
 */
#include "program/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"

#define NAMES_MAX 32

/*
 * Prints the commands of the table with their flags. Commands of other programs are listed without
 * flags, because this program does not know these.
 */
static void
print_help(const CommandTable *table)
{
	printf("%s %s.\n\nUsage: %s COMMAND [FLAGS]\n\n", table->name, table->purpose, table->name);
	for (size_t i = 0; i < table->count; i++)
	{
		const Command *command = &table->commands[i];
		Flag flags[COMMAND_FLAGS_MAX];

		printf("%s%s: %s\n", command->name, command->operands, command->help);
		if (command->flags != NULL)
			flags_help(flags, command->flags(table->options, flags), stdout);
		else
			printf("  %s %s --help lists its flags\n", table->name, command->name);
		putchar('\n');
	}
	printf("--help prints this, --version the version. Durations are 500ms, 10s, 1m30s; "
		   "sizes 64MB.\n"
		   "Keep passwords in ~/.pgpass or a service file, not in --db.\n");
}

/*
 * Runs a command of this program: prints its help if --help is among the arguments, otherwise
 * parses its flags and calls it.
 */
static ExitCode
run_here(const CommandTable *table, const Command *command, int count, char **arguments,
		 Failure *failure)
{
	CommandCall call = { .options = table->options, .operands = arguments, .count = count };
	Flag flags[COMMAND_FLAGS_MAX];
	size_t flag_count = command->flags(table->options, flags);
	ExitCode code;

	for (int i = 0; i < count; i++)
	{
		if (strcmp(arguments[i], "--help") == 0)
		{
			printf("Usage: %s %s [FLAGS]%s\n\n", table->name, command->name, command->operands);
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

/* Executes the program that contains the command. Returns only if that fails. */
static ExitCode
run_elsewhere(const Command *command, char **argv, Failure *failure)
{
	char path[4096];

	failure_set(failure, EXIT_IO, "could not start the program of this command");
	if (!child_path(command->program, path, sizeof(path)))
		failure_detail(failure, "Could not determine the path of this executable.");
	else
	{
		execv(path, argv);
		failure_detail(failure, "\"%s\": %s.", path, strerror(errno));
		failure_hint(failure, "Install \"%s\" in the directory of this executable.",
					 command->program);
	}
	failure_log(failure, "main");
	return failure->code;
}

/* Logs a missing or unrecognized command. The hint names the most similar command. */
static ExitCode
unrecognized_command(const CommandTable *table, const char *given, Failure *failure)
{
	const char *names[NAMES_MAX + 1] = { NULL };
	const char *nearest = NULL;

	failure_set(failure, EXIT_USAGE, given == NULL ? "no command given" : "unrecognized command");
	for (size_t i = 0; i < table->count && i < NAMES_MAX; i++)
		names[i] = table->commands[i].name;
	if (given != NULL)
	{
		failure_detail(failure, "There is no command \"%s\".", given);
		nearest = flags_nearest(given, names);
	}
	if (nearest != NULL)
		failure_hint(failure, "Perhaps you meant \"%s\"; --help lists all commands.", nearest);
	else
		failure_hint(failure, "--help lists all commands.");
	failure_log(failure, "main");
	return failure->code;
}

ExitCode
command_main(const CommandTable *table, int argc, char **argv)
{
	Failure failure;

	if (argc >= 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0))
	{
		printf("%s %s\n", table->name, table->version);
		return EXIT_OK;
	}
	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0))
	{
		print_help(table);
		return EXIT_OK;
	}
	for (size_t i = 0; argc >= 2 && i < table->count; i++)
	{
		const Command *command = &table->commands[i];

		if (strcmp(command->name, argv[1]) != 0)
			continue;
		return command->program == NULL ? run_here(table, command, argc - 2, argv + 2, &failure)
										: run_elsewhere(command, argv, &failure);
	}
	return unrecognized_command(table, argc >= 2 ? argv[1] : NULL, &failure);
}
