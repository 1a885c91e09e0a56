/*
 * relabel.c
 *		Applies relabelling rules: one function for each action.
 */
#include "labels/relabel.h"

#include <ctype.h>
#include <locale.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>
#include <wctype.h>

#define MD5_BYTES 16

struct RelabelRule
{
	RelabelAction action;
	char **sources;
	size_t source_count;
	char *separator;
	Regex *regex;
	char *target;
	char *replacement;
	uint64_t modulus;
};

static const char *const action_names[RELABEL_ACTION_COUNT] = {
	[RELABEL_REPLACE] = "replace",	   [RELABEL_KEEP] = "keep",
	[RELABEL_DROP] = "drop",		   [RELABEL_KEEPEQUAL] = "keepequal",
	[RELABEL_DROPEQUAL] = "dropequal", [RELABEL_HASHMOD] = "hashmod",
	[RELABEL_LABELMAP] = "labelmap",   [RELABEL_LABELDROP] = "labeldrop",
	[RELABEL_LABELKEEP] = "labelkeep", [RELABEL_LOWERCASE] = "lowercase",
	[RELABEL_UPPERCASE] = "uppercase",
};

/* --- rules --- */

static bool
relabel_fail(char error[RELABEL_ERROR_BYTES], const char *reason)
{
	snprintf(error, RELABEL_ERROR_BYTES, "%s", reason);
	return false;
}

static bool
needs_target(RelabelAction action)
{
	return action == RELABEL_REPLACE || action == RELABEL_HASHMOD || action == RELABEL_LOWERCASE ||
		   action == RELABEL_UPPERCASE || action == RELABEL_KEEPEQUAL ||
		   action == RELABEL_DROPEQUAL;
}

/* Checks that settings which the action does not use have their default values. */
static bool
check_unused(RelabelAction action, const RelabelSettings *settings, char error[RELABEL_ERROR_BYTES])
{
	bool others = settings->modulus != 0 ||
				  (settings->separator != NULL && strcmp(settings->separator, ";") != 0) ||
				  (settings->replacement != NULL && strcmp(settings->replacement, "$1") != 0);
	bool regex = settings->regex != NULL && strcmp(settings->regex, "(.*)") != 0;
	bool replacement = settings->replacement != NULL && strcmp(settings->replacement, "$1") != 0;

	/* Prometheus also refuses settings that an action ignores. */
	if ((action == RELABEL_LABELDROP || action == RELABEL_LABELKEEP) &&
		(others || settings->source_count > 0 || settings->target[0] != '\0'))
		return relabel_fail(error, "The action takes a regex and nothing else");
	if ((action == RELABEL_KEEPEQUAL || action == RELABEL_DROPEQUAL) && (others || regex))
		return relabel_fail(error, "The action takes source_labels and target_label, nothing else");
	if ((action == RELABEL_LOWERCASE || action == RELABEL_UPPERCASE) && replacement)
		return relabel_fail(error, "The action takes no replacement");
	return true;
}

static bool
relabel_check_settings(RelabelAction action, const RelabelSettings *settings,
					   char error[RELABEL_ERROR_BYTES])
{
	if (needs_target(action) && settings->target[0] == '\0')
		return relabel_fail(error, "The action needs a target_label");
	if (action == RELABEL_HASHMOD && settings->modulus == 0)
		return relabel_fail(error, "The action needs a modulus above 0");
	if (action == RELABEL_LABELMAP && settings->replacement != NULL &&
		settings->replacement[0] == '\0')
		return relabel_fail(error, "The replacement is not a valid label name");
	return check_unused(action, settings, error);
}

static bool
find_action(const char *name, RelabelAction *action)
{
	*action = RELABEL_REPLACE;
	if (name == NULL)
		return true;
	/* Prometheus accepts names of actions in any case. */
	while (*action < RELABEL_ACTION_COUNT && strcasecmp(action_names[*action], name) != 0)
		++*action;
	return *action < RELABEL_ACTION_COUNT;
}

static bool
copy_sources(RelabelRule *rule, const RelabelSettings *settings)
{
	/* One more place, because calloc() of no bytes may return NULL. */
	rule->sources = calloc(settings->source_count + 1, sizeof(char *));
	for (size_t i = 0; rule->sources != NULL && i < settings->source_count; i++)
	{
		rule->sources[i] = strdup(settings->sources[i]);
		if (rule->sources[i] == NULL)
			return false;
		rule->source_count++;
	}
	return rule->sources != NULL;
}

/* Compiles the regex and copies the settings. */
static bool
rule_fill(RelabelRule *rule, const RelabelSettings *settings, char error[RELABEL_ERROR_BYTES])
{
	char regex_error[REGEX_ERROR_BYTES];

	rule->regex = regex_compile(settings->regex != NULL ? settings->regex : "(.*)", regex_error);
	if (rule->regex == NULL)
	{
		snprintf(error, RELABEL_ERROR_BYTES, "The regex cannot be used: %s", regex_error);
		return false;
	}
	rule->modulus = settings->modulus;
	rule->separator = strdup(settings->separator != NULL ? settings->separator : ";");
	rule->target = strdup(settings->target);
	rule->replacement = strdup(settings->replacement != NULL ? settings->replacement : "$1");
	if (rule->separator == NULL || rule->target == NULL || rule->replacement == NULL ||
		!copy_sources(rule, settings))
		return relabel_fail(error, "Out of memory");
	return true;
}

RelabelRule *
relabel_rule_create(const RelabelSettings *given, char error[RELABEL_ERROR_BYTES])
{
	RelabelSettings settings = *given;
	RelabelRule *rule = calloc(1, sizeof(RelabelRule));
	bool good = rule != NULL || relabel_fail(error, "Out of memory");

	if (settings.target == NULL)
		settings.target = "";
	if (good && !find_action(settings.action, &rule->action))
		good = relabel_fail(error, "There is no such action");
	if (good && relabel_check_settings(rule->action, &settings, error) &&
		rule_fill(rule, &settings, error))
		return rule;
	relabel_rule_free(rule);
	return NULL;
}

void
relabel_rule_free(RelabelRule *rule)
{
	if (rule == NULL)
		return;
	for (size_t i = 0; i < rule->source_count; i++)
		free(rule->sources[i]);
	free(rule->sources);
	free(rule->separator);
	free(rule->target);
	free(rule->replacement);
	regex_free(rule->regex);
	free(rule);
}

/* --- values --- */

/* Joins the values of the source labels; NULL on out of memory. */
static const char *
join_sources(const RelabelRule *rule, LabelBuilder *labels)
{
	size_t bytes = 1;
	char *joined;
	char *to;

	for (size_t i = 0; i < rule->source_count; i++)
		bytes += strlen(label_builder_get(labels, rule->sources[i])) + strlen(rule->separator);
	joined = to = label_builder_alloc(labels, bytes);
	if (joined == NULL)
		return NULL;
	*to = '\0';
	for (size_t i = 0; i < rule->source_count; i++)
	{
		to = stpcpy(to, i > 0 ? rule->separator : "");
		to = stpcpy(to, label_builder_get(labels, rule->sources[i]));
	}
	return joined;
}

/* Reads the reference after a "$": its name and its end. Returns false if the "$" is literal. */
static bool
read_reference(const char *text, const char **name, size_t *length, const char **end)
{
	bool braces = *text == '{';

	*name = text + braces;
	*length = 0;
	while (isalnum((unsigned char) (*name)[*length]) || (*name)[*length] == '_')
		++*length;
	/* Go's templates treat a malformed reference as text. */
	if (*length == 0 || (braces && (*name)[*length] != '}'))
		return false;
	*end = *name + *length + braces;
	return true;
}

/*
 * Returns a group by number, if the name is a number in Go's sense (no leading zeros, below 10^8);
 * otherwise by name.
 */
static RegexSpan
find_group(const RelabelRule *rule, const char *name, size_t length)
{
	size_t number = 0;
	size_t digits = 0;

	while (digits < length && isdigit((unsigned char) name[digits]) && number < 100000000)
		number = number * 10 + (size_t) (name[digits++] - '0');
	if (digits == length && number < 100000000 && (length == 1 || name[0] != '0'))
		return regex_group(rule->regex, number);
	return regex_named_group(rule->regex, name, length);
}

/* Expands the group references of a template; NULL on out of memory. */
static char *
rule_expand(const RelabelRule *rule, LabelBuilder *labels, const char *template)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	char *copy;

	if (out == NULL)
		return NULL;
	for (const char *at = template; *at != '\0';)
	{
		const char *name;
		size_t name_length;
		RegexSpan group;

		if (*at != '$')
		{
			fputc(*at++, out);
			continue;
		}
		at++;
		/* Go's templates write a literal "$" as "$$". */
		if (*at == '$')
		{
			fputc(*at++, out);
			continue;
		}
		if (!read_reference(at, &name, &name_length, &at))
		{
			fputc('$', out);
			continue;
		}
		group = find_group(rule, name, name_length);
		/* A group that has no part in the match expands to nothing. */
		if (group.text != NULL)
			fwrite(group.text, 1, group.length, out);
	}
	copy = fclose(out) == 0 ? label_builder_copy(labels, text) : NULL;
	free(text);
	return copy;
}

/* --- actions --- */

static RelabelEnd
apply_replace(RelabelRule *rule, LabelBuilder *labels, const char *value)
{
	RegexEnd matched = regex_match(rule->regex, value);
	char *target;
	char *replacement;

	if (matched != REGEX_MATCH)
		return matched == REGEX_NO_MATCH ? RELABEL_KEPT : RELABEL_FAILED;
	target = rule_expand(rule, labels, rule->target);
	replacement = rule_expand(rule, labels, rule->replacement);
	if (target == NULL || replacement == NULL)
		return RELABEL_FAILED;
	/* The expanded name may be empty; then there is no label to set. */
	if (target[0] != '\0')
		label_builder_set(labels, target, replacement);
	return RELABEL_KEPT;
}

static RelabelEnd
keep_or_drop(RelabelRule *rule, const char *value)
{
	RegexEnd matched = regex_match(rule->regex, value);

	/* Without a result of the regex, keeping and dropping would both be guesses. */
	if (matched == REGEX_TOO_MUCH)
		return RELABEL_FAILED;
	return (matched == REGEX_MATCH) == (rule->action == RELABEL_KEEP) ? RELABEL_KEPT
																	  : RELABEL_DROPPED;
}

static RelabelEnd
keep_or_drop_equal(const RelabelRule *rule, const LabelBuilder *labels, const char *value)
{
	bool equal = strcmp(label_builder_get(labels, rule->target), value) == 0;

	return equal == (rule->action == RELABEL_KEEPEQUAL) ? RELABEL_KEPT : RELABEL_DROPPED;
}

/*
 * Sets the target label to the hash of the source values modulo the modulus. The hash is the last 8
 * bytes of MD5, big-endian, as in Prometheus.
 */
static RelabelEnd
set_hash(const RelabelRule *rule, LabelBuilder *labels, const char *value)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	uint64_t number = 0;
	char text[24];
	char *copy;

	if (EVP_Digest(value, strlen(value), digest, NULL, EVP_md5(), NULL) != 1)
		return RELABEL_FAILED;
	for (size_t i = MD5_BYTES - sizeof(number); i < MD5_BYTES; i++)
		number = number << 8 | digest[i];
	snprintf(text, sizeof(text), "%llu", (unsigned long long) (number % rule->modulus));
	copy = label_builder_copy(labels, text);
	if (copy == NULL)
		return RELABEL_FAILED;
	label_builder_set(labels, rule->target, copy);
	return RELABEL_KEPT;
}

/*
 * Renames labels by the regex. Visits only labels that existed at the start, because it adds
 * others. If two labels get the same name, the one that comes later in the order of Prometheus'
 * label builder replaces the other.
 */
static RelabelEnd
map_names(RelabelRule *rule, LabelBuilder *labels)
{
	size_t count = labels->count;
	BatchLabel *before =
		(BatchLabel *) (void *) label_builder_alloc(labels, (count + 1) * sizeof(BatchLabel));

	if (before == NULL)
		return RELABEL_FAILED;
	memcpy(before, labels->labels, count * sizeof(BatchLabel));
	for (size_t i = 0; i < count; i++)
	{
		RegexEnd matched = regex_match(rule->regex, before[i].name);
		char *name;

		if (matched == REGEX_TOO_MUCH)
			return RELABEL_FAILED;
		if (matched == REGEX_NO_MATCH)
			continue;
		name = rule_expand(rule, labels, rule->replacement);
		if (name == NULL)
			return RELABEL_FAILED;
		label_builder_set(labels, name, before[i].value);
	}
	return RELABEL_KEPT;
}

static RelabelEnd
filter_names(RelabelRule *rule, LabelBuilder *labels)
{
	/* Removing a label moves those after it, so the loop runs backward. */
	for (size_t i = labels->count; i > 0; i--)
	{
		RegexEnd matched = regex_match(rule->regex, labels->labels[i - 1].name);

		if (matched == REGEX_TOO_MUCH)
			return RELABEL_FAILED;
		if ((matched == REGEX_MATCH) == (rule->action == RELABEL_LABELDROP))
			label_builder_remove(labels, labels->labels[i - 1].name);
	}
	return RELABEL_KEPT;
}

/* Converts character by character, by Unicode's simple case mapping. */
static RelabelEnd
change_case(const RelabelRule *rule, LabelBuilder *labels, const char *value)
{
	/* The case mapping depends on the locale of the thread, which may be "C". */
	locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t) 0);
	locale_t before = locale == (locale_t) 0 ? (locale_t) 0 : uselocale(locale);
	/* A character has at most 4 bytes in UTF-8. */
	size_t bytes = strlen(value) * 4 + 1;
	char *changed = label_builder_alloc(labels, bytes);
	char *to = changed;
	mbstate_t in = { 0 };
	mbstate_t out = { 0 };
	bool good = locale != (locale_t) 0 && changed != NULL;

	while (good && *value != '\0')
	{
		wchar_t letter;
		size_t length = mbrtowc(&letter, value, strlen(value), &in);

		good = length != (size_t) -1 && length != (size_t) -2;
		if (!good)
			break;
		value += length;
		letter = (wchar_t) (rule->action == RELABEL_LOWERCASE ? towlower((wint_t) letter)
															  : towupper((wint_t) letter));
		length = wcrtomb(to, letter, &out);
		good = length != (size_t) -1;
		to += good ? length : 0;
	}
	if (locale != (locale_t) 0)
	{
		uselocale(before);
		freelocale(locale);
	}
	if (!good)
		return RELABEL_FAILED;
	*to = '\0';
	label_builder_set(labels, rule->target, changed);
	return RELABEL_KEPT;
}

RelabelEnd
relabel_apply(RelabelRule *rule, LabelBuilder *labels)
{
	const char *value = join_sources(rule, labels);
	RelabelEnd end = RELABEL_FAILED;

	if (value == NULL)
		return RELABEL_FAILED;
	switch (rule->action)
	{
		case RELABEL_REPLACE:
			end = apply_replace(rule, labels, value);
			break;
		case RELABEL_KEEP:
		case RELABEL_DROP:
			end = keep_or_drop(rule, value);
			break;
		case RELABEL_KEEPEQUAL:
		case RELABEL_DROPEQUAL:
			end = keep_or_drop_equal(rule, labels, value);
			break;
		case RELABEL_HASHMOD:
			end = set_hash(rule, labels, value);
			break;
		case RELABEL_LABELMAP:
			end = map_names(rule, labels);
			break;
		case RELABEL_LABELDROP:
		case RELABEL_LABELKEEP:
			end = filter_names(rule, labels);
			/* A label that is missing because memory ran out could change what later rules do. */
			break;
		case RELABEL_LOWERCASE:
		case RELABEL_UPPERCASE:
			end = change_case(rule, labels, value);
			break;
		case RELABEL_ACTION_COUNT:
			break;
	}
	return labels->failed ? RELABEL_FAILED : end;
}
