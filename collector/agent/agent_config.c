/*
 * agent_config.c
 *		Reads a YAML file into flags and rules.
 */
#include "agent/agent_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labels/relabel_read.h"

#define CONFIG_FLAG "config" /* not allowed inside the configuration itself */

/* Settings that the keys of the configuration file set. */
typedef struct ConfigTarget
{
	Flag flags[AGENT_FLAGS_MAX];
	ProcessRulesSettings rules;
	KubernetesSettings kubernetes;
} ConfigTarget;

/* Reports that a flag refused its value, with the value's position in the file. */
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
		return config_fail(reader, node, "Expected a string");
	return flag_take(flag, node->text, reader->failure) == EXIT_OK || fail_flag(reader, node);
}

static bool
read_kubernetes(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = {
		{ "api_server", config_read_text, offsetof(KubernetesSettings, server) },
		{ "kubelet", config_read_text, offsetof(KubernetesSettings, kubelet) },
		{ "token_file", config_read_text, offsetof(KubernetesSettings, token_file) },
		{ "ca_file", config_read_text, offsetof(KubernetesSettings, ca_file) },
		{ "pod_labels", config_read_texts, offsetof(KubernetesSettings, pod_labels) },
		{ "pod_annotations", config_read_texts, offsetof(KubernetesSettings, pod_annotations) },
	};
	KubernetesSettings *settings = field;

	settings->wanted = true;
	return config_read_fields(reader, node, CONFIG_FIELDS(fields), settings);
}

/*
 * Sets which pod fields are stored and the names of their labels: "pod_label_app",
 * "pod_annotation_team".
 */
static bool
choose_fields(ConfigReader *reader, const char *prefix, const ConfigList *names, ConfigList *chosen)
{
	const char **keys = (const char **) chosen->items;

	for (size_t i = 0; i < names->count; i++)
	{
		const char *name = ((const char *const *) names->items)[i];
		size_t bytes = strlen(prefix) + strlen(name) + 1;
		char *key = config_alloc(reader, bytes);

		if (key == NULL)
			return false;
		snprintf(key, bytes, "%s%s", prefix, name);
		/* Names in Kubernetes contain dots, dashes and slashes, which names of labels may not. */
		label_name_make_plain(key);
		keys[chosen->count++] = key;
	}
	return true;
}

static bool
choose_pod_labels(ConfigReader *reader, const KubernetesSettings *settings, ConfigList *chosen)
{
	size_t count = settings->pod_labels.count + settings->pod_annotations.count;

	chosen->items = config_alloc(reader, (count + 1) * sizeof(const char *));
	return chosen->items != NULL &&
		   choose_fields(reader, "pod_label_", &settings->pod_labels, chosen) &&
		   choose_fields(reader, "pod_annotation_", &settings->pod_annotations, chosen);
}

/* Reads the configuration: its own keys, and all flags by their names. */
static bool
agent_config_read_file(AgentConfig *config, ConfigTarget *target, size_t flag_count,
					   Failure *failure)
{
	static const ConfigField own[] = {
		{ "labels", process_rules_read_labels, offsetof(ConfigTarget, rules.labels) },
		{ "environment", process_rules_read_names, offsetof(ConfigTarget, rules.environment) },
		{ "relabel_configs", relabel_rules_read, offsetof(ConfigTarget, rules.rules) },
		{ "kubernetes", read_kubernetes, offsetof(ConfigTarget, kubernetes) },
	};
	ConfigField fields[AGENT_FLAGS_MAX + sizeof(own) / sizeof(own[0])];
	ConfigReader reader = { &config->document, failure, "" };
	const Node *root = config->document.root;
	size_t count = sizeof(own) / sizeof(own[0]);

	memcpy(fields, own, sizeof(own));
	/* A file must not name another file, so --config is the one flag that is no key. */
	for (size_t i = 0; i < flag_count; i++)
		if (strcmp(target->flags[i].name, CONFIG_FLAG) != 0)
			fields[count++] = (ConfigField){ target->flags[i].name, read_flag,
											 offsetof(ConfigTarget, flags) + i * sizeof(Flag) };
	if (root != NULL && !node_is_null(root) &&
		!config_read_fields(&reader, root, fields, count, target))
		return false;
	config->rules = target->rules;
	config->kubernetes = target->kubernetes;
	return choose_pod_labels(&reader, &config->kubernetes, &config->pods.chosen);
}

static ExitCode
agent_config_make_rules(AgentConfig *config, Failure *failure)
{
	const ProcessRulesSettings *rules = &config->rules;
	const LabelSource pods = { config->kubernetes.wanted ? pod_labels_add : NULL, &config->pods };

	if (rules->labels.count == 0 && rules->rules.count == 0 && !config->kubernetes.wanted)
		return EXIT_OK;
	return process_rules_create(rules, &pods, &config->process_rules) == 0
			   ? EXIT_OK
			   : failure_out_of_memory(failure);
}

/* Reads defaults, file and command line into the options, and makes the rules for labels. */
static ExitCode
read_all(AgentConfig *config, AgentOptions *options, int count, char **arguments, Failure *failure)
{
	ConfigTarget target = { .flags = { { NULL } } };
	size_t flag_count = agent_flags(options, target.flags);
	ExitCode code = flags_parse(target.flags, flag_count, count, arguments, failure);
	const char *path = options->config_file;

	if (code != EXIT_OK || path == NULL)
		return code;
	/*
	 * The first pass has only found --config. Begin again with the defaults, so that the file
	 * overrides them and the command line overrides the file.
	 */
	flag_count = agent_flags(options, target.flags);
	code = document_read(&config->document, path, failure);
	if (code == EXIT_OK && !agent_config_read_file(config, &target, flag_count, failure))
		code = failure->code;
	if (code == EXIT_OK)
		code = flags_parse(target.flags, flag_count, count, arguments, failure);
	return code == EXIT_OK ? agent_config_make_rules(config, failure) : code;
}

AgentConfig *
agent_config_read(AgentOptions *options, int count, char **arguments, PodTable *pods,
				  Failure *failure)
{
	AgentConfig *config = calloc(1, sizeof(*config));

	if (config == NULL)
	{
		(void) failure_out_of_memory(failure);
		return NULL;
	}
	config->pods.table = pods;
	if (read_all(config, options, count, arguments, failure) == EXIT_OK)
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
