/*
 * regex.h
 *		Anchored regular expressions of Go's syntax (regex_syntax.h), by PCRE2 within bounds.
 *
 * A match takes at most REGEX_STEPS_MAX steps, so that no expression holds its caller for long.
 */
#ifndef COLLECTOR_REGEX_H
#define COLLECTOR_REGEX_H

#include <stddef.h>

#include "labels/regex_syntax.h"

#define REGEX_STEPS_MAX 100000

typedef struct Regex Regex;

/* Texts of groups point into the text that was matched. */
typedef struct RegexSpan
{
	const char *text; /* NULL: the group did not take part */
	size_t length;
} RegexSpan;

typedef enum RegexEnd
{
	REGEX_MATCH,
	REGEX_NO_MATCH,
	REGEX_TOO_MUCH /* steps or memory ran out, or the text is no UTF-8: nothing is known */
} RegexEnd;

/* NULL where it is none, as error says without a full stop. Matches the whole of a text only. */
Regex *regex_compile(const char *pattern, char error[REGEX_ERROR_BYTES]);
void regex_free(Regex *regex); /* accepts NULL */

/* Not by two threads at once: the groups of the last match are kept in it. */
RegexEnd regex_match(Regex *regex, const char *text);

/* The group of that number, 0 for the whole; one that there is not did not take part. */
RegexSpan regex_group(const Regex *regex, size_t number);

/* The same by name. */
RegexSpan regex_named_group(const Regex *regex, const char *name, size_t length);

#endif
