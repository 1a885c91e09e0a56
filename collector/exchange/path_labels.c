/*
 * path_labels.c
 *		A matcher that tries what is left of a path behind each length of a wildcard.
 */
#include "exchange/path_labels.h"

#include <string.h>

static ExitCode
refuse(Failure *failure, const char *pattern, const char *why)
{
	failure_set(failure, EXIT_CONFIG, "a flag's value cannot be used");
	failure_detail(failure, "--path-labels does not take \"%s\": %s.", pattern, why);
	failure_hint(failure, "It takes a pattern such as {service}/{instance}/*.pb.gz.");
	return failure->code;
}

/* Whether the name comes once more in what is left of a pattern. */
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
			return refuse(failure, pattern, "a brace is not closed");
		if (!label_name_is_valid(at + 1, length))
			return refuse(failure, pattern, "what is in braces is no name of a label");
		if (comes_again(at + 1, at + 1, length))
			return refuse(failure, pattern, "a label comes twice");
		has_label = true;
		at += length + 1;
	}
	return has_label ? EXIT_OK : refuse(failure, pattern, "it has no label in braces");
}

/*
 * Holds a pattern against a text; labels, where not NULL, get what braces stand for once all of it
 * fits. *enough_memory turns false where they cannot.
 */
static bool
match(const char *pattern, const char *text, GivenLabels *labels, bool *enough_memory)
{
	bool is_label = *pattern == '{';
	size_t name_length = is_label ? strcspn(pattern, "}") - 1 : 0;
	const char *rest = pattern + (is_label ? name_length + 2 : 1);

	if (*pattern == '\0')
		return *text == '\0';
	if (!is_label && *pattern != '*')
		return *pattern == *text && match(rest, text + 1, labels, enough_memory);
	for (size_t length = is_label; length <= strcspn(text, "/"); length++)
	{
		if (!match(rest, text + length, labels, enough_memory))
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

/* The last components of a path, as many as the pattern has; the whole path where it has fewer. */
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

	return match(pattern, tail_of(pattern, path), NULL, &enough_memory);
}

bool
path_labels(const char *pattern, const char *path, GivenLabels *labels)
{
	bool enough_memory = true;

	match(pattern, tail_of(pattern, path), labels, &enough_memory);
	return enough_memory;
}
