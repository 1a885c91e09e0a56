/*
 * regex.c
 *		Regular expressions by PCRE2, after a translation that refuses what RE2 refuses.
 */
#include "labels/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_KB_MAX 16384

struct Regex
{
	pcre2_code *code;
	pcre2_match_data *groups;
	pcre2_match_context *limits;
	const char *text; /* text of the last match; NULL if there was none */
	uint32_t group_count;
};

/* Compiles a translated pattern, anchored at both ends. */
static pcre2_code *
regex_compile_translated(const char *translated, char error[REGEX_ERROR_BYTES])
{
	/* With these options PCRE2 finds ends of lines as RE2 does; \C could split a character. */
	const uint32_t options =
		PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_CIRCUMFLEX | PCRE2_NEVER_BACKSLASH_C;
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	pcre2_code *code = NULL;
	char *whole = NULL;
	PCRE2_SIZE offset;
	int number = 0;

	/* Prometheus also lets the dot match newlines. */
	if (context == NULL || asprintf(&whole, "^(?s:%s)$", translated) < 0)
		snprintf(error, REGEX_ERROR_BYTES, "Out of memory");
	else
	{
		/* The default newline depends on how the library was built. */
		pcre2_set_newline(context, PCRE2_NEWLINE_LF);
		code = pcre2_compile((PCRE2_SPTR) whole, PCRE2_ZERO_TERMINATED, options, &number, &offset,
							 context);
		if (code == NULL)
			pcre2_get_error_message(number, (PCRE2_UCHAR *) error, REGEX_ERROR_BYTES);
	}
	free(whole);
	pcre2_compile_context_free(context);
	return code;
}

Regex *
regex_compile(const char *pattern, char error[REGEX_ERROR_BYTES])
{
	char *translated = regex_translate(pattern, error);
	Regex *regex = calloc(1, sizeof(Regex));

	if (translated != NULL && regex == NULL)
		snprintf(error, REGEX_ERROR_BYTES, "Out of memory");
	if (translated != NULL && regex != NULL)
		regex->code = regex_compile_translated(translated, error);
	free(translated);
	if (regex == NULL || regex->code == NULL)
	{
		regex_free(regex);
		return NULL;
	}
	regex->groups = pcre2_match_data_create_from_pattern(regex->code, NULL);
	regex->limits = pcre2_match_context_create(NULL);
	if (regex->groups == NULL || regex->limits == NULL)
	{
		snprintf(error, REGEX_ERROR_BYTES, "Out of memory");
		regex_free(regex);
		return NULL;
	}
	/* Backtracking may take exponential time, so its steps are limited. */
	pcre2_set_match_limit(regex->limits, REGEX_STEPS_MAX);
	pcre2_set_heap_limit(regex->limits, HEAP_KB_MAX);
	return regex;
}

void
regex_free(Regex *regex)
{
	if (regex == NULL)
		return;
	pcre2_match_context_free(regex->limits);
	pcre2_match_data_free(regex->groups);
	pcre2_code_free(regex->code);
	free(regex);
}

RegexEnd
regex_match(Regex *regex, const char *text)
{
	int result = pcre2_match(regex->code, (PCRE2_SPTR) text, strlen(text), 0, 0, regex->groups,
							 regex->limits);

	/* regex_group() returns parts of this text. */
	regex->text = result > 0 ? text : NULL;
	regex->group_count = result > 0 ? (uint32_t) result : 0;
	if (result > 0)
		return REGEX_MATCH;
	/* All other errors mean that a limit was reached, because pattern and text are valid. */
	return result == PCRE2_ERROR_NOMATCH ? REGEX_NO_MATCH : REGEX_TOO_MUCH;
}

RegexSpan
regex_group(const Regex *regex, size_t number)
{
	const PCRE2_SIZE *places = pcre2_get_ovector_pointer(regex->groups);

	/* A group that has no part in the match is not set. */
	if (regex->text == NULL || number >= regex->group_count || places[2 * number] == PCRE2_UNSET ||
		places[2 * number + 1] < places[2 * number])
		return (RegexSpan){ NULL, 0 };
	return (RegexSpan){ regex->text + places[2 * number],
						places[2 * number + 1] - places[2 * number] };
}

RegexSpan
regex_named_group(const Regex *regex, const char *name, size_t length)
{
	char copy[64];
	int number;

	/* regex_translate() refuses patterns with longer names of groups. */
	if (length >= sizeof(copy))
		return (RegexSpan){ NULL, 0 };
	memcpy(copy, name, length);
	copy[length] = '\0';
	number = pcre2_substring_number_from_name(regex->code, (PCRE2_SPTR) copy);
	return number > 0 ? regex_group(regex, (size_t) number) : (RegexSpan){ NULL, 0 };
}
