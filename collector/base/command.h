/*
 * command.h
 *		A program's sub-commands: a table says what there is, how its flags are read and who runs
 *		it.
 *
 * Several programs share one command name: each has the commands that need its libraries, and
 * names the program beside it that has the others.
 */
#ifndef COLLECTOR_COMMAND_H
#define COLLECTOR_COMMAND_H

#include <stddef.h>

#include "base/flags.h"

/* Room for the flags of any command. */
#define COMMAND_FLAGS_MAX 64

/* What a command was called with. */
typedef struct CommandCall
{
	void *options;
	char **operands; /* of a command that takes some; else all arguments */
	size_t operand_count;
	int count; /* of all arguments */
} CommandCall;

typedef struct Command
{
	const char *name;
	const char *operands; /* what may follow the flags, "" for nothing */
	const char *help;
	size_t (*flags)(void *options, Flag *flags);
	ExitCode (*run)(const CommandCall *call);
	const char *program; /* that has the command, in our directory; NULL: this one, else … */
						 /* … flags and run are NULL */
} Command;

typedef struct CommandTable
{
	const char *name; /* that people type */
	const char *purpose;
	const char *version;
	const Command *commands;
	size_t count;
	void *options; /* room for those of any command */
} CommandTable;

/* A whole main: the process's exit code. */
ExitCode command_main(const CommandTable *table, int argc, char **argv);

#endif
