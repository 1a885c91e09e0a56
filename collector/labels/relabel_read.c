/*
 * relabel_read.c
 *		Reads a list of rules from a configuration.
 */
#include "labels/relabel_read.h"

typedef struct RuleText
{
	const char *action;
	const char *separator;
	const char *regex;
	const char *target;
	const char *replacement;
	ConfigList sources; /* list of const char * */
	int64_t modulus;
} RuleText;

static void
free_rule(void *rule)
{
	relabel_rule_free(rule);
}

/* Reads one rule; the document owns it. */
static bool
read_rule(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = {
		{ "source_labels", config_read_texts, offsetof(RuleText, sources) },
		{ "separator", config_read_text, offsetof(RuleText, separator) },
		{ "regex", config_read_text, offsetof(RuleText, regex) },
		{ "modulus", config_read_number, offsetof(RuleText, modulus) },
		{ "target_label", config_read_text, offsetof(RuleText, target) },
		{ "replacement", config_read_text, offsetof(RuleText, replacement) },
		{ "action", config_read_text, offsetof(RuleText, action) },
	};
	RuleText text = { NULL };
	RelabelSettings settings;
	RelabelRule *rule;
	char error[RELABEL_ERROR_BYTES];

	if (!config_read_fields(reader, node, CONFIG_FIELDS(fields), &text))
		return false;
	settings = (RelabelSettings){ .action = text.action,
								  .sources = text.sources.items,
								  .source_count = text.sources.count,
								  .separator = text.separator,
								  .regex = text.regex,
								  .target = text.target,
								  .replacement = text.replacement,
								  .modulus = (uint64_t) text.modulus };
	rule = relabel_rule_create(&settings, error);
	if (rule == NULL)
		return config_fail(reader, node, "%s", error);
	if (!document_own(reader->document, free_rule, rule))
		return config_no_memory(reader);
	*(RelabelRule **) field = rule;
	return true;
}

bool
relabel_rules_read(ConfigReader *reader, const Node *node, void *list)
{
	return config_read_items(reader, node, sizeof(RelabelRule *), read_rule, list);
}
