/*
 * agent_config.h
 *		The agent's configuration: a YAML file of the agent's flags by their names, and of what
 *		labels processes have.
 *
 *		interval: 30s
 *		exclude-self: true
 *		labels: {datacenter: eu-1}
 *		environment: [SERVICE_NAME]
 *		kubernetes: {pod_labels: [app]}
 *		relabel_configs:
 *		  - {source_labels: [comm], regex: "cron|sshd", action: drop}
 */
#ifndef COLLECTOR_AGENT_CONFIG_H
#define COLLECTOR_AGENT_CONFIG_H

#include "agent/options.h"
#include "labels/pod_table.h"
#include "labels/process_rules.h"

typedef struct KubernetesSettings
{
	bool wanted;
	const char *server;	 /* NULL: the cluster that we run in; so the others */
	const char *kubelet; /* asked in place of the API */
	const char *token_file;
	const char *ca_file;
	ConfigList pod_labels;		/* of const char *, as all lists: those that are stored */
	ConfigList pod_annotations; /* likewise */
} KubernetesSettings;

typedef struct AgentConfig
{
	Document document; /* all memory, that of flags' texts, too */
	ProcessRulesSettings rules;
	KubernetesSettings kubernetes;
	PodLabels pods;
	ProcessRules *process_rules; /* NULL: all processes keep the labels that they have */
} AgentConfig;

/*
 * Defaults, then the file that --config names, then the command line, which has the last word.
 * NULL with *failure set. Texts of options last as long as the configuration, whose rules find pods
 * in that table.
 */
AgentConfig *agent_config_read(AgentOptions *options, int count, char **arguments, PodTable *pods,
							   Failure *failure);
void agent_config_free(AgentConfig *config); /* accepts NULL */

#endif
