/*
 * process_rules.h
 *		The labels of processes that a configuration defines: fixed labels, relabel_configs and
 *		environment variables.
 *
 * The labels of a process, and its other properties under names that begin with "__meta_", pass
 * through the rules; afterwards names that begin with "__" are removed.
 */
#ifndef COLLECTOR_PROCESS_RULES_H
#define COLLECTOR_PROCESS_RULES_H

#include "config/config_reader.h"
#include "labels/label_builder.h"
#include "labels/labeller.h"

/* Source of additional labels of a process, such as those of its pod. */
typedef struct LabelSource
{
	/* Adds labels. Their texts must stay valid until the builder is reset, or be copied into it. */
	void (*add)(void *context, const LabelFacts *facts, LabelBuilder *labels);
	void *context;
} LabelSource;

typedef struct ProcessRulesSettings
{
	ConfigList labels;		/* list of ConfigPair, set on all processes */
	ConfigList rules;		/* list of RelabelRule * */
	ConfigList environment; /* list of const char *: names of environment variables */
} ProcessRulesSettings;

typedef struct ProcessRules ProcessRules;

/* ConfigRead functions that check the settings. */
bool process_rules_read_labels(ConfigReader *reader, const Node *node, void *list);
bool process_rules_read_names(ConfigReader *reader, const Node *node, void *list);

/*
 * settings and the source's context must outlive the rules; source->add may be NULL. 0 or -ENOMEM.
 */
int process_rules_create(const ProcessRulesSettings *settings, const LabelSource *source,
						 ProcessRules **rules);
void process_rules_free(ProcessRules *rules); /* accepts NULL */

/* Implements LabelRule; the context is a ProcessRules. */
LabelVerdict process_rules_apply(void *rules, const LabelFacts *facts, LabelList *list);

#endif
