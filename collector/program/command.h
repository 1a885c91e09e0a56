/*
 * command.h
 *		Sub-commands of a program: a table of their names, flags and functions.
 *
 * Several programs appear to users as one command. Each contains the commands that need its
 * libraries, and names the program in the same directory that contains the others.
 */
#ifndef COLLECTOR_COMMAND_H
#define COLLECTOR_COMMAND_H

#include <stddef.h>

#include "program/flags.h"

/* Room for the flags of any command. */
#define COMMAND_FLAGS_MAX 64

/* The arguments that a command was called with. */
typedef struct CommandCall
{
	void *options;
	char **operands; /* if the command takes operands, only these; otherwise all arguments */
	size_t operand_count;
	int count; /* number of all arguments */
} CommandCall;

typedef struct Command
{
	const char *name;
	/* Shown after the flags in the help; "" if the command takes no operands. */
	const char *operands;
	const char *help;
	size_t (*flags)(void *options, Flag *flags);
	ExitCode (*run)(const CommandCall *call);
	/*
	 * Program in our directory that contains the command; NULL: this program does. If it is not
	 * NULL, flags and run are NULL.
	 */
	const char *program;
} Command;

typedef struct CommandTable
{
	const char *name; /* the name that users type */
	const char *purpose;
	const char *version;
	const Command *commands;
	size_t count;
	void *options; /* large enough for the options of any command */
} CommandTable;

/*
 * Defines name_command_flags() and name_command_run(), for a command whose options are a member of
 * the program's union Options. Further arguments of the macro are passed to name_run().
 */
#define COMMAND(name, member, ...)                              \
	static size_t name##_command_flags(void *room, Flag *flags) \
	{                                                           \
		Options *options = room;                                \
                                                                \
		return name##_flags(&options->member, flags);           \
	}                                                           \
	static ExitCode name##_command_run(const CommandCall *call) \
	{                                                           \
		const Options *options = call->options;                 \
                                                                \
		log_apply(&options->member.log);                        \
		return name##_run(&options->member, ##__VA_ARGS__);     \
	}

/* Implements main(): runs the command and returns the process's exit code. */
ExitCode command_main(const CommandTable *table, int argc, char **argv);

#endif
