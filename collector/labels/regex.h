/*
 * regex.h
 *		Anchored regular expressions in Go's syntax (regex_syntax.h), matched by PCRE2 within
 *		limits.
 *
 * A match takes up to REGEX_STEPS_MAX steps, so no expression can block its caller.
 */
#ifndef COLLECTOR_REGEX_H
#define COLLECTOR_REGEX_H

#include <stddef.h>

#include "labels/regex_syntax.h"

#define REGEX_STEPS_MAX 100000

typedef struct Regex Regex;

/* A group's text; it points into the text that was matched. */
typedef struct RegexSpan
{
	const char *text; /* NULL if the group did not take part in the match */
	size_t length;
} RegexSpan;

typedef enum RegexEnd
{
	REGEX_MATCH,
	REGEX_NO_MATCH,
	REGEX_TOO_MUCH /* a limit was exceeded, or the text is not UTF-8: the result is not known */
} RegexEnd;

/*
 * Compiles a pattern that must match a whole text. NULL if it is malformed, with the reason in
 * error (without a period).
 */
Regex *regex_compile(const char *pattern, char error[REGEX_ERROR_BYTES]);
void regex_free(Regex *regex); /* accepts NULL */

/* Matches a whole text. Not thread-safe, because a Regex holds the groups of its last match. */
RegexEnd regex_match(Regex *regex, const char *text);

/*
 * Returns the group with this number; 0 is the whole match. A group that does not exist is returned
 * as one that did not take part.
 */
RegexSpan regex_group(const Regex *regex, size_t number);

/* Like regex_group(), but by name. */
RegexSpan regex_named_group(const Regex *regex, const char *name, size_t length);

#endif
