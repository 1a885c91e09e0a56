/*
 * parse.c
 *		Parses and formats numbers with units.
 */
#include "program/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct Unit
{
	const char *name;
	uint64_t factor;
} Unit;

/*
 * Units in falling order. parse_term() searches only after the last unit, so "30m1h" is refused.
 */
static const Unit duration_units[] = {
	{ "d", UINT64_C(24) * 60 * 60 * 1000 },
	{ "h", UINT64_C(60) * 60 * 1000 },
	{ "m", UINT64_C(60) * 1000 },
	{ "s", 1000 },
	{ "ms", 1 },
	{ NULL, 0 },
};

static const Unit size_units[] = {
	{ "TB", UINT64_C(1) << 40 },
	{ "GB", UINT64_C(1) << 30 },
	{ "MB", UINT64_C(1) << 20 },
	{ "kB", UINT64_C(1) << 10 },
	{ "B", 1 },
	{ NULL, 0 },
};

/*
 * Parses digits and a unit of *units at *cursor. Moves *cursor past the unit's name and *units
 * past the unit.
 */
static int
parse_term(const char **cursor, const Unit **units, uint64_t *value)
{
	const char *text = *cursor;
	const Unit *unit;
	uint64_t number = 0;
	size_t unit_length;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, (uint64_t) (*text - '0'), &number))
			return -ERANGE;
	unit_length = strcspn(text, "0123456789");
	for (unit = *units; unit->name != NULL; unit++)
		if (strlen(unit->name) == unit_length && strncmp(text, unit->name, unit_length) == 0)
			break;
	if (unit->name == NULL)
		return -EINVAL;
	if (__builtin_mul_overflow(number, unit->factor, value))
		return -ERANGE;
	*cursor = text + unit_length;
	*units = unit + 1;
	return 0;
}

int
parse_duration_ms(const char *text, int64_t *ms)
{
	const Unit *units = duration_units;
	uint64_t total = 0;

	do
	{
		uint64_t term;
		int err = parse_term(&text, &units, &term);

		if (err != 0)
			return err;
		if (__builtin_add_overflow(total, term, &total) || total > INT64_MAX)
			return -ERANGE;
	} while (*text != '\0');
	*ms = (int64_t) total;
	return 0;
}

int
parse_size_bytes(const char *text, size_t *bytes)
{
	const Unit *units = size_units;
	uint64_t value;
	int err = parse_term(&text, &units, &value);

	if (err != 0)
		return err;
	if (*text != '\0')
		return -EINVAL;
	*bytes = value;
	return 0;
}

/* Writes value in the largest unit that divides it. units must end with a factor of 1. */
static void
format_quantity(uint64_t value, const Unit *units, char text[QUANTITY_TEXT_MAX])
{
	while (units->factor > 1 && (value == 0 || value % units->factor != 0))
		units++;
	snprintf(text, QUANTITY_TEXT_MAX, "%" PRIu64 "%s", value / units->factor, units->name);
}

void
format_duration_ms(int64_t ms, char text[QUANTITY_TEXT_MAX])
{
	format_quantity((uint64_t) ms, duration_units, text);
}

void
format_size_bytes(size_t bytes, char text[QUANTITY_TEXT_MAX])
{
	format_quantity(bytes, size_units, text);
}
