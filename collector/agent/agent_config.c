/*
 * agent_config.c
 *		From a YAML file to flags and rules.
 */
#include "agent/agent_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labels/relabel_read.h"

#define CONFIG_FLAG "config" /* which a configuration has not */

/* What the keys of the file are about. */
typedef struct ConfigTarget
{
	Flag flags[AGENT_FLAGS_MAX];
	ProcessRulesSettings read;
} ConfigTarget;

/* Says where the value stands that a flag did not take. */
static bool
fail_flag(ConfigReader *reader, const Node *node)
{
	char words[sizeof(reader->failure->detail)];

	snprintf(words, sizeof(words), "%s", reader->failure->detail);
	failure_detail(reader->failure, "\"%s\", line %u, column %u: %s", reader->document->path,
				   node->line, node->column, words);
	return false;
}

static bool
read_flag(ConfigReader *reader, const Node *node, void *field)
{
	const Flag *flag = field;

	if (flag->kind == FLAG_SWITCH)
		return config_read_bool(reader, node, flag->value);
	if (node->kind != NODE_SCALAR)
		return config_fail(reader, node, "A text is expected");
	return flag_take(flag, node->text, reader->failure) == EXIT_OK || fail_flag(reader, node);
}

static bool
read_file(AgentConfig *config, ConfigTarget *target, size_t flag_count, Failure *failure)
{
	static const ConfigField own[] = {
		{ "labels", process_rules_read_labels, offsetof(ConfigTarget, read.labels) },
		{ "environment", process_rules_read_names, offsetof(ConfigTarget, read.environment) },
		{ "relabel_configs", relabel_rules_read, offsetof(ConfigTarget, read.rules) },
	};
	ConfigField fields[AGENT_FLAGS_MAX + sizeof(own) / sizeof(own[0])];
	ConfigReader reader = { &config->document, failure, "" };
	const Node *root = config->document.root;
	size_t count = sizeof(own) / sizeof(own[0]);

	memcpy(fields, own, sizeof(own));
	for (size_t i = 0; i < flag_count; i++)
		if (strcmp(target->flags[i].name, CONFIG_FLAG) != 0)
			fields[count++] = (ConfigField){ target->flags[i].name, read_flag,
											 offsetof(ConfigTarget, flags) + i * sizeof(Flag) };
	if (root != NULL && !node_is_null(root) &&
		!config_read_fields(&reader, root, fields, count, target))
		return false;
	config->rules = target->read;
	return true;
}

static ExitCode
make_rules(AgentConfig *config, Failure *failure)
{
	const ProcessRulesSettings *rules = &config->rules;
	const LabelSource none = { NULL };

	if (rules->labels.count == 0 && rules->rules.count == 0)
		return EXIT_OK;
	return process_rules_create(rules, &none, &config->process_rules) == 0
			   ? EXIT_OK
			   : failure_set(failure, EXIT_INTERNAL, "out of memory");
}

static ExitCode
read_all(AgentConfig *config, AgentOptions *options, int count, char **arguments, Failure *failure)
{
	ConfigTarget target = { .flags = { { NULL } } };
	size_t flag_count = agent_flags(options, target.flags);
	ExitCode code = flags_parse(target.flags, flag_count, count, arguments, failure);
	const char *path = options->config_file;

	if (code != EXIT_OK || path == NULL)
		return code;
	flag_count = agent_flags(options, target.flags);
	code = document_read(&config->document, path, failure);
	if (code == EXIT_OK && !read_file(config, &target, flag_count, failure))
		code = failure->code;
	if (code == EXIT_OK)
		code = flags_parse(target.flags, flag_count, count, arguments, failure);
	return code == EXIT_OK ? make_rules(config, failure) : code;
}

AgentConfig *
agent_config_read(AgentOptions *options, int count, char **arguments, Failure *failure)
{
	AgentConfig *config = calloc(1, sizeof(*config));

	if (config == NULL)
		(void) failure_set(failure, EXIT_INTERNAL, "out of memory");
	else if (read_all(config, options, count, arguments, failure) == EXIT_OK)
		return config;
	agent_config_free(config);
	return NULL;
}

void
agent_config_free(AgentConfig *config)
{
	if (config == NULL)
		return;
	process_rules_free(config->process_rules);
	document_free(&config->document);
	free(config);
}
