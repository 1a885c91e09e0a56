/*
 * process_rules.h
 *		What a configuration says of the labels of processes: own ones, relabel_configs, variables
 *		of the environment.
 *
 * A process's labels and, under names that begin with "__meta_", all else that is known of it, go
 * through the rules; what begins with "__" after that goes.
 */
#ifndef COLLECTOR_PROCESS_RULES_H
#define COLLECTOR_PROCESS_RULES_H

#include "config/reader.h"
#include "labels/label_builder.h"
#include "labels/labeller.h"

/* Who knows more about a process, such as the pod that it is of. */
typedef struct LabelSource
{
	/* Adds labels, whose texts last until the builder is reset or are copied into it. */
	void (*add)(void *context, const LabelFacts *facts, LabelBuilder *labels);
	void *context;
} LabelSource;

typedef struct ProcessRulesSettings
{
	ConfigList labels;		/* of ConfigPair: for all processes */
	ConfigList rules;		/* of RelabelRule * */
	ConfigList environment; /* of const char *: variables whose values are wanted */
} ProcessRulesSettings;

typedef struct ProcessRules ProcessRules;

/* ConfigReads of these settings, each with its own checks. */
bool process_rules_read_labels(ConfigReader *reader, const Node *node, void *list);
bool process_rules_read_names(ConfigReader *reader, const Node *node, void *list);

/* The settings outlive the rules; so does the source's context (add may be NULL). 0 or -ENOMEM. */
int process_rules_create(const ProcessRulesSettings *settings, const LabelSource *source,
						 ProcessRules **rules);
void process_rules_free(ProcessRules *rules); /* accepts NULL */

/* A LabelRule whose context are the rules. */
LabelVerdict process_rules_apply(void *rules, const LabelFacts *facts, LabelList *list);

#endif
