/*
 * process_rules.c
 *		Applies a configuration's rules to the labels of a process.
 */
#include "labels/process_rules.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "labels/own_labels.h"
#include "labels/relabel.h"

#define META "__meta_"

struct ProcessRules
{
	const ProcessRulesSettings *settings;
	LabelSource source;
	LabelBuilder builder; /* labels of the process being processed */
};

/* --- settings --- */

static bool
is_label_name(const char *name)
{
	if (!isalpha((unsigned char) name[0]) && name[0] != '_')
		return false;
	while (isalnum((unsigned char) *name) || *name == '_')
		name++;
	return *name == '\0';
}

bool
process_rules_read_labels(ConfigReader *reader, const Node *node, void *list)
{
	const ConfigPair *pairs;
	ConfigList *labels = list;

	if (!config_read_pairs(reader, node, list))
		return false;
	pairs = labels->items;
	for (size_t i = 0; i < labels->count; i++)
	{
		const Node *key = node->items[2 * i];

		if (!is_label_name(pairs[i].name) || strncmp(pairs[i].name, "__", 2) == 0)
			return config_fail(reader, key, "\"%.100s\" is not a valid label name", pairs[i].name);
		if (own_label_of_samples(pairs[i].name))
			return config_fail(reader, key, "The label \"%s\" is reserved for the agent",
							   pairs[i].name);
	}
	return true;
}

bool
process_rules_read_names(ConfigReader *reader, const Node *node, void *list)
{
	const ConfigList *names = list;

	if (!config_read_texts(reader, node, list))
		return false;
	for (size_t i = 0; i < names->count; i++)
	{
		const char *name = ((const char *const *) names->items)[i];

		/* '=' ends the name of a variable in an environment. */
		if (name[0] == '\0' || strchr(name, '=') != NULL)
			return config_fail(reader, node->items[i], "\"%.100s\" is not a valid variable name",
							   name);
	}
	return true;
}

int
process_rules_create(const ProcessRulesSettings *settings, const LabelSource *source,
					 ProcessRules **result)
{
	ProcessRules *rules = calloc(1, sizeof(*rules));

	if (rules == NULL)
		return -ENOMEM;
	rules->settings = settings;
	rules->source = *source;
	label_builder_init(&rules->builder);
	*result = rules;
	return 0;
}

void
process_rules_free(ProcessRules *rules)
{
	if (rules == NULL)
		return;
	label_builder_fini(&rules->builder);
	free(rules);
}

/* --- input --- */

/* Sets a label to a value that a process chose: invalid UTF-8 is replaced. */
static void
process_rules_set_text(LabelBuilder *builder, const char *name, const char *value)
{
	char *valid;

	if (utf8_valid(value))
	{
		label_builder_set(builder, name, value);
		return;
	}
	valid = utf8_replace_invalid(value);
	if (valid == NULL)
	{
		builder->failed = true;
		return;
	}
	value = label_builder_copy(builder, valid);
	if (value != NULL)
		label_builder_set(builder, name, value);
	free(valid);
}

/* Returns the value of a variable in the process's initial environment; NULL if not set. */
static const char *
environment_value(const char *environment, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = environment; at != NULL && *at != '\0'; at += strlen(at) + 1)
		if (strncmp(at, name, length) == 0 && at[length] == '=')
			return at + length + 1;
	return NULL;
}

/* Sets the labels of the configured environment variables. */
static void
set_environment(ProcessRules *rules, const LabelFacts *facts)
{
	static const char prefix[] = META "env_var_";
	const ConfigList *names = &rules->settings->environment;

	for (size_t i = 0; i < names->count; i++)
	{
		const char *name = ((const char *const *) names->items)[i];
		const char *value = environment_value(facts->environment, name);
		size_t bytes = sizeof(prefix) + strlen(name);
		char *label = value == NULL ? NULL : label_builder_alloc(&rules->builder, bytes);

		if (label == NULL)
			continue;
		snprintf(label, bytes, "%s%s", prefix, name);
		/* Names of variables may have characters that label names must not have. */
		label_name_make_plain(label);
		process_rules_set_text(&rules->builder, label, value);
	}
}

/* Sets all known facts about a process under names that begin with "__meta_". */
static void
set_process_meta(ProcessRules *rules, const LabelFacts *facts)
{
	LabelBuilder *builder = &rules->builder;
	const char *slash = strrchr(facts->exe, '/');
	char *pid = label_builder_alloc(builder, 16);

	if (pid != NULL)
	{
		snprintf(pid, 16, "%u", facts->pid);
		label_builder_set(builder, META "process_pid", pid);
	}
	process_rules_set_text(builder, META "process_comm", facts->comm);
	process_rules_set_text(builder, META "process_executable_path", facts->exe);
	process_rules_set_text(builder, META "process_executable_name",
						   slash != NULL ? slash + 1 : facts->exe);
	process_rules_set_text(builder, META "process_cgroup", facts->cgroup->path);
	process_rules_set_text(builder, META "container_id", facts->cgroup->container_id);
	process_rules_set_text(builder, META "systemd_unit", facts->cgroup->systemd_unit);
	process_rules_set_text(builder, META "systemd_slice", facts->cgroup->systemd_slice);
	if (facts->compiler != NULL)
		process_rules_set_text(builder, META "process_executable_compiler", facts->compiler);
	if (facts->runtime != NULL)
		process_rules_set_text(builder, META "process_runtime", facts->runtime);
	set_environment(rules, facts);
}

/* --- output --- */

static LabelVerdict
process_rules_relabel(ProcessRules *rules)
{
	RelabelRule *const *list = rules->settings->rules.items;

	/* Rules visit labels in the order of their names, as in Prometheus. */
	label_builder_sort(&rules->builder);
	for (size_t i = 0; i < rules->settings->rules.count; i++)
	{
		RelabelEnd end = relabel_apply(list[i], &rules->builder);

		if (end != RELABEL_KEPT)
			return end == RELABEL_DROPPED ? LABELS_DROPPED : LABELS_FAILED;
	}
	return LABELS_KEPT;
}

/*
 * Moves the result to list. If two names become equal when characters are replaced, the value of
 * the first one is used.
 */
static LabelVerdict
process_rules_take_labels(LabelBuilder *builder, LabelList *list)
{
	list->count = 0;
	label_builder_sort(builder);
	for (size_t i = 0; i < builder->count; i++)
	{
		const BatchLabel *label = &builder->labels[i];
		char *name;

		/*
		 * Labels whose names begin with "__" exist only while rules are applied, as in Prometheus.
		 */
		if (strncmp(label->name, "__", 2) == 0 || label->name[0] == '\0')
			continue;
		name = label_builder_copy(builder, label->name);
		if (name == NULL)
			return LABELS_FAILED;
		label_name_make_plain(name);
		if (!label_list_has(list, name) && !label_list_set(list, name, label->value))
			return LABELS_FAILED;
	}
	return builder->failed ? LABELS_FAILED : LABELS_KEPT;
}

LabelVerdict
process_rules_apply(void *context, const LabelFacts *facts, LabelList *list)
{
	ProcessRules *rules = context;
	LabelBuilder *builder = &rules->builder;
	const ConfigPair *own = rules->settings->labels.items;
	LabelVerdict verdict;

	/* Labels of the configuration come first, so all others replace them. */
	label_builder_reset(builder);
	for (size_t i = 0; i < rules->settings->labels.count; i++)
		label_builder_set(builder, own[i].name, own[i].value);
	if (rules->source.add != NULL)
		rules->source.add(rules->source.context, facts, builder);
	for (uint32_t i = 0; i < list->count; i++)
		process_rules_set_text(builder, list->labels[i].name, list->labels[i].value);
	set_process_meta(rules, facts);
	/* If a label is missing because memory ran out, rules could give a wrong result. */
	if (builder->failed)
		return LABELS_FAILED;
	verdict = process_rules_relabel(rules);
	return verdict == LABELS_KEPT ? process_rules_take_labels(builder, list) : verdict;
}
