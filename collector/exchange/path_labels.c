/*
 * path_labels.c
 *		Matches path patterns by backtracking.
 */
#include "exchange/path_labels.h"

#include <string.h>

static ExitCode
refuse_pattern(Failure *failure, const char *pattern, const char *why)
{
	failure_set(failure, EXIT_CONFIG, "invalid value of a flag");
	failure_detail(failure, "--path-labels does not accept \"%s\": %s.", pattern, why);
	failure_hint(failure, "Use a pattern such as {service}/{instance}/*.pb.gz.");
	return failure->code;
}

/* Returns true if the rest of the pattern contains the name again. */
static bool
comes_again(const char *rest, const char *name, size_t length)
{
	for (const char *at = rest; (at = strchr(at, '{')) != NULL; at++)
		if (strncmp(at + 1, name, length) == 0 && at[1 + length] == '}')
			return true;
	return false;
}

ExitCode
path_pattern_check(const char *pattern, Failure *failure)
{
	bool has_label = false;

	for (const char *at = pattern; *at != '\0'; at++)
	{
		size_t length = strcspn(at + 1, "}");

		if (*at != '{')
			continue;
		if (at[1 + length] != '}')
			return refuse_pattern(failure, pattern, "a brace is not closed");
		if (!label_name_is_valid(at + 1, length))
			return refuse_pattern(failure, pattern, "the name in braces is not a valid label name");
		if (comes_again(at + 1, at + 1, length))
			return refuse_pattern(failure, pattern, "a label is repeated");
		has_label = true;
		at += length + 1;
	}
	return has_label ? EXIT_OK : refuse_pattern(failure, pattern, "it contains no label in braces");
}

/*
 * Matches a pattern with a text. If all of the text matches, adds the values of braces to labels,
 * unless labels is NULL. If memory is exhausted, sets *enough_memory to false.
 */
static bool
match_pattern(const char *pattern, const char *text, GivenLabels *labels, bool *enough_memory)
{
	bool is_label = *pattern == '{';
	size_t name_length = is_label ? strcspn(pattern, "}") - 1 : 0;
	const char *rest = pattern + (is_label ? name_length + 2 : 1);

	if (*pattern == '\0')
		return *text == '\0';
	if (!is_label && *pattern != '*')
		return *pattern == *text && match_pattern(rest, text + 1, labels, enough_memory);
	for (size_t length = is_label; length <= strcspn(text, "/"); length++)
	{
		if (!match_pattern(rest, text + length, labels, enough_memory))
			continue;
		if (is_label && labels != NULL &&
			!given_labels_set(labels, pattern + 1, name_length, text, length))
			*enough_memory = false;
		return true;
	}
	return false;
}

static size_t
count_slashes(const char *text)
{
	size_t count = 0;

	for (; *text != '\0'; text++)
		count += *text == '/';
	return count;
}

/*
 * Returns the last components of a path, as many as the pattern has; the whole path if it has
 * fewer.
 */
static const char *
tail_of(const char *pattern, const char *path)
{
	size_t wanted = count_slashes(pattern);
	const char *at = path + strlen(path);

	while (at > path && (at[-1] != '/' || wanted-- > 0))
		at--;
	return at;
}

bool
path_pattern_matches(const char *pattern, const char *path)
{
	bool enough_memory = true;

	return match_pattern(pattern, tail_of(pattern, path), NULL, &enough_memory);
}

bool
path_labels(const char *pattern, const char *path, GivenLabels *labels)
{
	bool enough_memory = true;

	match_pattern(pattern, tail_of(pattern, path), labels, &enough_memory);
	return enough_memory;
}
