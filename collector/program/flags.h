/*
 * flags.h
 *		Command-line flags: one table holds their names, types, ranges and help texts.
 *
 * getopt_long() reads them: "--name value" and "--name=value" are equivalent, a name may be
 * shortened if it stays unique, and "--" ends the flags. A switch takes no value; there are no
 * short flags. If a flag is given twice, its last value counts.
 */
#ifndef COLLECTOR_FLAGS_H
#define COLLECTOR_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "program/failure.h"

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
	void *value;		  /* holds the default until the flag is read */
	const char *argument; /* name of the value in the help; NULL for a switch */
	const char *help;
	int64_t minimum;
	int64_t maximum;
	const char *const *choices; /* ends with NULL */
} Flag;

/*
 * Reads arguments[0 … count - 1]. Returns EXIT_USAGE for an unrecognized flag (the hint names the
 * most similar one), a stray argument or a missing value, and EXIT_CONFIG for a value that is not
 * accepted.
 */
ExitCode flags_parse(const Flag *flags, size_t flag_count, int count, char **arguments,
					 Failure *failure);

/* Sets one flag from a text, as if the user had typed it; a switch becomes true. */
ExitCode flag_take(const Flag *flag, const char *text, Failure *failure);

/*
 * Like flags_parse(), but allows operands between the flags. Operands are moved to the beginning of
 * arguments in their order; *operand_count is their number. "-" is an operand.
 */
ExitCode flags_parse_operands(const Flag *flags, size_t flag_count, int count, char **arguments,
							  size_t *operand_count, Failure *failure);

/* Appends a table after the first count flags. Returns the new number of flags. */
size_t flags_append(Flag *flags, size_t count, const Flag *table, size_t table_count);

/* Returns true if the flag has equal values in two tables. */
bool flag_values_equal(const Flag *a, const Flag *b);

void flags_help(const Flag *flags, size_t flag_count, FILE *output);

/*
 * Returns the name that is most similar to text, or NULL if none is similar. names ends with NULL.
 */
const char *flags_nearest(const char *text, const char *const *names);

#endif
