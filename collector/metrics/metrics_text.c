/*
 * metrics_text.c
 *		Prints figures.
 *
 * OpenMetrics differs from Prometheus' format in two points: the name of a counter's family lacks
 * the "_total" of its sample, and a line "# EOF" ends the text.
 */
#include "metrics/metrics_text.h"

#include <stdio.h>
#include <string.h>

#define OPEN_TYPE "application/openmetrics-text"
#define TOTAL	  "_total"

bool
metrics_accepts_open(const char *accept, size_t length)
{
	return memmem(accept, length, OPEN_TYPE, strlen(OPEN_TYPE)) != NULL;
}

/* Returns the length of the family's name within the figure's name. */
static int
family_length(const Figure *figure, bool is_open)
{
	size_t length = strlen(figure->name);

	if (is_open && strcmp(figure->type, "counter") == 0 && length > strlen(TOTAL) &&
		strcmp(figure->name + length - strlen(TOTAL), TOTAL) == 0)
		length -= strlen(TOTAL);
	return (int) length;
}

/* Prints help and type, once for each name. */
static void
print_family(Buffer *text, const char *part, const Figure *figure, bool is_open)
{
	int length = family_length(figure, is_open);
	char lines[512];
	int printed =
		snprintf(lines, sizeof(lines), "# HELP profstore_%s_%.*s %s\n# TYPE profstore_%s_%.*s %s\n",
				 part, length, figure->name, figure->help, part, length, figure->name,
				 figure->type);

	buffer_put_bytes(text, lines, (size_t) printed);
}

static void
print_sample(Buffer *text, const char *part, const Figure *figure)
{
	char line[256];
	int printed;

	if (figure->reason != NULL)
		printed = snprintf(line, sizeof(line), "profstore_%s_%s{reason=\"%s\"} %llu\n", part,
						   figure->name, figure->reason, (unsigned long long) figure->value);
	else
		printed = snprintf(line, sizeof(line), "profstore_%s_%s %llu\n", part, figure->name,
						   (unsigned long long) figure->value);
	buffer_put_bytes(text, line, (size_t) printed);
}

void
metrics_print(Buffer *text, const char *part, const Figures *figures, bool is_open)
{
	for (size_t i = 0; i < figures->count; i++)
	{
		const Figure *figure = &figures->items[i];

		if (i == 0 || strcmp(figure->name, figure[-1].name) != 0)
			print_family(text, part, figure, is_open);
		print_sample(text, part, figure);
	}
	if (is_open)
		buffer_put_bytes(text, "# EOF\n", strlen("# EOF\n"));
}
