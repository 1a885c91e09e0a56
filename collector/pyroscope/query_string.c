/*
 * query_string.c
 *		Decodes the parameters of a query string, and parses times.
 */
#include "pyroscope/query_string.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "formats/lines.h"

#define US_PER_SECOND INT64_C(1000000)

/* Limit of the digits of seconds: a number with more digits is not a time in seconds. */
#define SECOND_DIGITS_MAX 11

PfsText
query_cut(PfsText *rest, char separator)
{
	const char *end = rest->length > 0 ? memchr(rest->data, separator, rest->length) : NULL;
	const uint32_t length = end != NULL ? (uint32_t) (end - rest->data) : rest->length;
	const PfsText part = { rest->data, length };

	rest->data += length + (end != NULL);
	rest->length -= length + (end != NULL);
	return part;
}

/* --- encoding --- */

static int
hexadecimal_digit(char c)
{
	if (pfs_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes the character at *at, and advances *at past it. Returns -1 if it is invalid or NUL. */
static int
decode_character(PfsText text, uint32_t *at)
{
	const char c = text.data[(*at)++];
	int high;
	int low;

	if (c == '+')
		return ' ';
	if (c != '%')
		return c == '\0' ? -1 : (unsigned char) c;
	if (text.length - *at < 2)
		return -1;
	high = hexadecimal_digit(text.data[(*at)++]);
	low = hexadecimal_digit(text.data[(*at)++]);
	return high < 0 || low < 0 || (high | low) == 0 ? -1 : high << 4 | low;
}

/* Decodes a value into the arena. Returns NULL; on failure, the reason. */
static const char *
decode_value(PfsText text, Arena *arena, PfsText *value)
{
	char *copy = arena_alloc(arena, (size_t) text.length + 1);
	uint32_t length = 0;

	if (copy == NULL)
		return "out of memory";
	for (uint32_t at = 0; at < text.length;)
	{
		const int c = decode_character(text, &at);

		if (c < 0)
			return "the query string is malformed";
		copy[length++] = (char) c;
	}
	*value = (PfsText){ copy, length };
	return NULL;
}

/* --- times --- */

/* Parses YYYYMMDD. Returns false if the digits are not a date. */
static bool
parse_date(int64_t digits, int64_t *seconds)
{
	struct tm date = { .tm_year = (int) (digits / 10000) - 1900,
					   .tm_mon = (int) (digits / 100 % 100) - 1,
					   .tm_mday = (int) (digits % 100) };
	const struct tm given = date;

	*seconds = timegm(&date); /* timegm() normalizes numbers that are out of range */
	return digits >= 19700101 && date.tm_mon == given.tm_mon && date.tm_mday == given.tm_mday;
}

/*
 * Converts a number to a time. The number of digits shows what it is: a date, or seconds to
 * nanoseconds since 1970.
 */
static bool
parse_digits(PfsText text, int64_t *time_us)
{
	int64_t number;
	int64_t seconds;

	if (!pfs_is_digit(text.data[0]) || pfs_parse_int64(text, &number) != PFS_READ_OK)
		return false;
	if (text.length == 19)
		*time_us = number / 1000;
	else if (text.length == 16)
		*time_us = number;
	else if (text.length == 13)
		*time_us = number * 1000;
	else if (text.length == 8 && parse_date(number, &seconds))
		*time_us = seconds * US_PER_SECOND;
	else if (text.length <= SECOND_DIGITS_MAX)
		*time_us = number * US_PER_SECOND;
	else
		return false;
	return true;
}

/* Parses the rest of "now", such as "-1h" or nothing. */
static bool
parse_offset(PfsText text, int64_t now_us, int64_t *time_us)
{
	static const struct
	{
		char unit;
		int64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	PfsText digits = text;
	int64_t number;

	*time_us = now_us;
	if (text.length == 0)
		return true;
	digits.length--; /* drop the unit */
	if (text.data[0] != '-' || digits.length < 2 || digits.length > 7 ||
		pfs_parse_int64(digits, &number) != PFS_READ_OK)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
	{
		if (units[i].unit != text.data[digits.length])
			continue;
		*time_us += number * units[i].seconds * US_PER_SECOND;
		return *time_us >= 0;
	}
	return false;
}

bool
query_time(PfsText text, int64_t now_us, int64_t *time_us)
{
	static const uint32_t now_length = 3;

	if (text.length >= now_length && memcmp(text.data, "now", now_length) == 0)
		return parse_offset(pfs_part(text, now_length, text.length), now_us, time_us);
	/* profiles store their time in nanoseconds, which limits it */
	return parse_digits(text, time_us) && *time_us <= INT64_MAX / NS_PER_US;
}

/* --- parameters --- */

bool
query_next(PfsText *rest, Arena *arena, PfsText *key, PfsText *value, const char **error)
{
	PfsText encoded;

	if (rest->length == 0)
		return false;
	encoded = query_cut(rest, '&');
	*key = query_cut(&encoded, '=');
	*error = decode_value(encoded, arena, value);
	return *error == NULL;
}
