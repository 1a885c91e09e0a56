/*
 * flags.h
 *		Command-line flags: one table says what there is, how it is read and what the help prints.
 *
 * Read by getopt_long: "--name value" and "--name=value" are the same, a name may be cut where no
 * other begins like that, "--" ends the flags. A switch takes no value; there are no short flags. A
 * flag that is given twice counts as given last.
 */
#ifndef COLLECTOR_FLAGS_H
#define COLLECTOR_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/failure.h"

typedef enum FlagKind
{
	FLAG_SWITCH,   /* bool */
	FLAG_TEXT,	   /* const char *, points into argv */
	FLAG_NUMBER,   /* int64_t within minimum and maximum */
	FLAG_DURATION, /* int64_t, milliseconds, within minimum and maximum */
	FLAG_SIZE,	   /* size_t, bytes, at least minimum */
	FLAG_CHOICE,   /* int, index into choices */
} FlagKind;

typedef struct Flag
{
	const char *name; /* without the dashes */
	FlagKind kind;
	void *value;		  /* holds the default until the flag is met */
	const char *argument; /* what the help calls the value; NULL for a switch */
	const char *help;
	int64_t minimum;
	int64_t maximum;
	const char *const *choices; /* ends with NULL */
} Flag;

/*
 * Reads arguments[0 … count - 1]. EXIT_USAGE for an unrecognized flag (the hint names the nearest
 * one), a stray argument or a missing value; EXIT_CONFIG for a value that cannot be used.
 */
ExitCode flags_parse(const Flag *flags, size_t flag_count, int count, char **arguments,
					 Failure *failure);

/* Takes one flag's value as if it had been typed; a switch is set. */
ExitCode flag_take(const Flag *flag, const char *text, Failure *failure);

/*
 * The same where other arguments may stand between the flags: they move to the beginning of
 * arguments, in their order, and *operand_count tells how many there are. "-" is one of them.
 */
ExitCode flags_parse_operands(const Flag *flags, size_t flag_count, int count, char **arguments,
							  size_t *operand_count, Failure *failure);

/* Copies a table behind the first count flags; returns how many there are then. */
size_t flags_append(Flag *flags, size_t count, const Flag *table, size_t table_count);

/* Of the same flag in two tables. */
bool flag_values_equal(const Flag *a, const Flag *b);

void flags_help(const Flag *flags, size_t flag_count, FILE *output);

/* The name among names that looks most like text, NULL where none does. names ends with NULL. */
const char *flags_nearest(const char *text, const char *const *names);

#endif
