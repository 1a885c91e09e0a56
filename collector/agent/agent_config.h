/*
 * agent_config.h
 *		The agent's configuration: a YAML file of the agent's flags by their names, and of the
 *		labels of processes.
 *
 *   interval: 30s
 *   exclude-self: true
 *   labels: {datacenter: eu-1}
 *   environment: [SERVICE_NAME]
 *   kubernetes: {pod_labels: [app]}
 *   relabel_configs:
 *     - {source_labels: [comm], regex: "cron|sshd", action: drop}
 */
#ifndef COLLECTOR_AGENT_CONFIG_H
#define COLLECTOR_AGENT_CONFIG_H

#include "agent/agent_options.h"
#include "labels/pod_table.h"
#include "labels/process_rules.h"

typedef struct KubernetesSettings
{
	bool wanted;
	/* NULL: the cluster that contains the agent; NULL means so for the other fields, too */
	const char *server;
	const char *kubelet; /* address of the kubelet to ask instead of the API server, or NULL */
	const char *token_file;
	const char *ca_file;
	ConfigList pod_labels;		/* names of labels to store; all lists are of const char * */
	ConfigList pod_annotations; /* names of annotations to store */
} KubernetesSettings;

typedef struct AgentConfig
{
	Document document; /* owns all memory, including the texts of flags */
	ProcessRulesSettings rules;
	KubernetesSettings kubernetes;
	PodLabels pods;
	ProcessRules *process_rules; /* NULL: labels of processes are stored unchanged */
} AgentConfig;

/*
 * Reads the defaults, then the file that --config names, then the command line; each overrides the
 * one before. Returns NULL with *failure set. Texts of options live as long as the configuration.
 * Its rules look pods up in the given table.
 */
AgentConfig *agent_config_read(AgentOptions *options, int count, char **arguments, PodTable *pods,
							   Failure *failure);
void agent_config_free(AgentConfig *config); /* accepts NULL */

#endif
