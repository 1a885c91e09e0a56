/*
 * flags.c
 *		Parser and help of command-line flags.
 */
#include "program/flags.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "program/parse.h"

#define NEAREST_LENGTH	 64
#define NEAREST_DISTANCE 3
#define FLAGS_MAX		 64
/* value that getopt_long() returns for the first flag; no character has it */
#define FIRST_FLAG		 256

static size_t
smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/*
 * Returns the Levenshtein distance of two texts; NEAREST_LENGTH if either text is longer than that.
 */
static size_t
edit_distance(const char *a, const char *b)
{
	size_t row[NEAREST_LENGTH + 1];
	size_t a_length = strlen(a);
	size_t b_length = strlen(b);

	if (a_length > NEAREST_LENGTH || b_length > NEAREST_LENGTH)
		return NEAREST_LENGTH;
	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_length; i++)
	{
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++)
		{
			size_t above = row[j];

			row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_length];
}

const char *
flags_nearest(const char *text, const char *const *names)
{
	const char *nearest = NULL;
	/* a name that shares no character with text counts as not similar */
	size_t least = smallest(NEAREST_DISTANCE + 1, strlen(text), NEAREST_LENGTH);

	for (; *names != NULL; names++)
	{
		size_t distance = edit_distance(text, *names);

		if (distance < least)
		{
			least = distance;
			nearest = *names;
		}
	}
	return nearest;
}

/* Reports an unrecognized flag. argument is the text as typed, with dashes and value. */
static ExitCode
report_unrecognized(const Flag *flags, size_t flag_count, const char *argument, Failure *failure)
{
	const char *names[FLAGS_MAX + 1] = { NULL };
	char name[NEAREST_LENGTH];
	const char *nearest;

	for (size_t i = 0; i < flag_count; i++)
		names[i] = flags[i].name;
	snprintf(name, sizeof(name), "%.*s", (int) strcspn(argument, "="), argument);
	nearest = flags_nearest(name + strspn(name, "-"), names);
	failure_set(failure, EXIT_USAGE, "unrecognized flag");
	failure_detail(failure, "There is no flag %s.", name);
	if (nearest != NULL)
		failure_hint(failure, "Perhaps you meant --%s; --help lists all flags.", nearest);
	else
		failure_hint(failure, "--help lists all flags.");
	return failure->code;
}

static ExitCode
report_unusable(const Flag *flag, const char *text, Failure *failure)
{
	failure_set(failure, EXIT_CONFIG, "invalid value of a flag");
	failure_detail(failure, "--%s does not accept \"%s\".", flag->name, text);
	return failure->code;
}

static ExitCode
report_out_of_range(const Flag *flag, const char *text, Failure *failure)
{
	char minimum[QUANTITY_TEXT_MAX];
	char maximum[QUANTITY_TEXT_MAX];

	report_unusable(flag, text, failure);
	if (flag->kind == FLAG_DURATION)
	{
		format_duration_ms(flag->minimum, minimum);
		format_duration_ms(flag->maximum, maximum);
		failure_hint(failure, "It takes values from %s to %s.", minimum, maximum);
	}
	else
		failure_hint(failure, "It takes values from %" PRId64 " to %" PRId64 ".", flag->minimum,
					 flag->maximum);
	return failure->code;
}

/*
 * Stores a number if it was parsed and lies in the flag's range; otherwise reports the error. The
 * hint is used if it was not parsed.
 */
static ExitCode
flags_take_number(const Flag *flag, const char *text, bool was_read, int64_t number,
				  const char *hint, Failure *failure)
{
	if (!was_read)
	{
		report_unusable(flag, text, failure);
		failure_hint(failure, "%s", hint);
		return failure->code;
	}
	if (number < flag->minimum || number > flag->maximum)
		return report_out_of_range(flag, text, failure);
	*(int64_t *) flag->value = number;
	return EXIT_OK;
}

static ExitCode
flags_read_number(const Flag *flag, const char *text, Failure *failure)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	return flags_take_number(flag, text, end != text && *end == '\0' && errno == 0, number,
							 "It takes a whole number.", failure);
}

static ExitCode
read_duration(const Flag *flag, const char *text, Failure *failure)
{
	int64_t duration_ms = 0;
	bool was_read = parse_duration_ms(text, &duration_ms) == 0;

	return flags_take_number(flag, text, was_read, duration_ms,
							 "It takes a duration such as 500ms, 10s or 1m30s.", failure);
}

/*
 * Parses a size such as 64MB. The message about a size below the flag's minimum uses the units of
 * sizes.
 */
static ExitCode
read_size(const Flag *flag, const char *text, Failure *failure)
{
	size_t size_bytes;
	char minimum[QUANTITY_TEXT_MAX];

	if (parse_size_bytes(text, &size_bytes) != 0)
	{
		report_unusable(flag, text, failure);
		failure_hint(failure, "It takes a size such as 64MB.");
		return failure->code;
	}
	if (size_bytes < (size_t) flag->minimum)
	{
		report_unusable(flag, text, failure);
		format_size_bytes((size_t) flag->minimum, minimum);
		failure_hint(failure, "It takes at least %s.", minimum);
		return failure->code;
	}
	*(size_t *) flag->value = size_bytes;
	return EXIT_OK;
}

/*
 * Stores the index of text among the flag's choices; if it is none of them, the hint lists the
 * choices.
 */
static ExitCode
read_choice(const Flag *flag, const char *text, Failure *failure)
{
	char all[256] = "";

	for (int i = 0; flag->choices[i] != NULL; i++)
	{
		size_t used = strlen(all);

		if (strcmp(flag->choices[i], text) == 0)
		{
			*(int *) flag->value = i;
			return EXIT_OK;
		}
		snprintf(all + used, sizeof(all) - used, "%s%s", i > 0 ? ", " : "", flag->choices[i]);
	}
	report_unusable(flag, text, failure);
	failure_hint(failure, "It takes one of: %s.", all);
	return failure->code;
}

ExitCode
flag_take(const Flag *flag, const char *text, Failure *failure)
{
	switch (flag->kind)
	{
		case FLAG_SWITCH:
			*(bool *) flag->value = true;
			return EXIT_OK;
		case FLAG_TEXT:
			*(const char **) flag->value = text;
			return EXIT_OK;
		case FLAG_NUMBER:
			return flags_read_number(flag, text, failure);
		case FLAG_DURATION:
			return read_duration(flag, text, failure);
		case FLAG_SIZE:
			return read_size(flag, text, failure);
		case FLAG_CHOICE:
			return read_choice(flag, text, failure);
	}
	return EXIT_OK;
}

/*
 * Reports an argument that getopt_long() refused: an unknown flag, or a known one with a
 * superfluous or missing value.
 */
static ExitCode
report_mistake(const Flag *flags, size_t flag_count, const char *argument, Failure *failure)
{
	const char *value = strchr(argument, '=');
	const Flag *flag;

	if (optopt < FIRST_FLAG)
		return report_unrecognized(flags, flag_count, argument, failure);
	flag = &flags[optopt - FIRST_FLAG];
	if (flag->kind == FLAG_SWITCH)
		return report_unusable(flag, value != NULL ? value + 1 : "", failure);
	failure_set(failure, EXIT_USAGE, "a flag's value is missing");
	failure_detail(failure, "--%s takes %s.", flag->name, flag->argument);
	return failure->code;
}

/*
 * Parses the flags in vector; vector[0] is ignored. Moves all operands after the flags, where
 * optind is the index of the first.
 */
static ExitCode
parse_vector(const Flag *flags, size_t flag_count, int count, char **vector, Failure *failure)
{
	struct option options[FLAGS_MAX + 1] = { { NULL, 0, NULL, 0 } };
	ExitCode code = EXIT_OK;
	int found;

	for (size_t i = 0; i < flag_count; i++)
		options[i] =
			(struct option){ flags[i].name,
							 flags[i].kind == FLAG_SWITCH ? no_argument : required_argument, NULL,
							 FIRST_FLAG + (int) i };
	optind = 0; /* 0 makes getopt_long() start anew */
	opterr = 0;
	while (code == EXIT_OK && (found = getopt_long(count, vector, ":", options, NULL)) != -1)
		code = found >= FIRST_FLAG ? flag_take(&flags[found - FIRST_FLAG], optarg, failure)
								   : report_mistake(flags, flag_count, vector[optind - 1], failure);
	return code;
}

ExitCode
flags_parse_operands(const Flag *flags, size_t flag_count, int count, char **arguments,
					 size_t *operand_count, Failure *failure)
{
	char **vector = calloc((size_t) count + 2, sizeof(*vector));
	char program[] = "";
	ExitCode code;

	*operand_count = 0;
	if (vector == NULL)
		return failure_out_of_memory(failure);
	vector[0] = program;
	if (count > 0)
		memcpy(&vector[1], arguments, (size_t) count * sizeof(*vector));
	code = parse_vector(flags, flag_count, count + 1, vector, failure);
	for (int i = optind; code == EXIT_OK && i <= count; i++)
		arguments[(*operand_count)++] = vector[i];
	free(vector);
	return code;
}

ExitCode
flags_parse(const Flag *flags, size_t flag_count, int count, char **arguments, Failure *failure)
{
	size_t operand_count;
	ExitCode code =
		flags_parse_operands(flags, flag_count, count, arguments, &operand_count, failure);

	if (code != EXIT_OK || operand_count == 0)
		return code;
	failure_set(failure, EXIT_USAGE, "unexpected argument");
	failure_detail(failure, "\"%s\" is not a flag.", arguments[0]);
	failure_hint(failure, "--help lists all flags.");
	return failure->code;
}

bool
flag_values_equal(const Flag *a, const Flag *b)
{
	switch (a->kind)
	{
		case FLAG_SWITCH:
			return *(const bool *) a->value == *(const bool *) b->value;
		case FLAG_TEXT:
		{
			const char *left = *(const char *const *) a->value;
			const char *right = *(const char *const *) b->value;

			return left == right || (left != NULL && right != NULL && strcmp(left, right) == 0);
		}
		case FLAG_NUMBER:
		case FLAG_DURATION:
			return *(const int64_t *) a->value == *(const int64_t *) b->value;
		case FLAG_SIZE:
			return *(const size_t *) a->value == *(const size_t *) b->value;
		case FLAG_CHOICE:
			return *(const int *) a->value == *(const int *) b->value;
	}
	return true;
}

size_t
flags_append(Flag *flags, size_t count, const Flag *table, size_t table_count)
{
	memcpy(&flags[count], table, table_count * sizeof(*table));
	return count + table_count;
}

void
flags_help(const Flag *flags, size_t flag_count, FILE *output)
{
	for (size_t i = 0; i < flag_count; i++)
	{
		char left[64];

		snprintf(left, sizeof(left), "--%s%s%s", flags[i].name, flags[i].argument ? " " : "",
				 flags[i].argument ? flags[i].argument : "");
		fprintf(output, "  %-24s %s\n", left, flags[i].help);
	}
}
