/*
 * agent_config.h
 *		The agent's configuration: a YAML file of the agent's flags by their names, and of what
 *		labels processes have.
 *
 *		interval: 30s
 *		exclude-self: true
 *		labels: {datacenter: eu-1}
 *		environment: [SERVICE_NAME]
 *		relabel_configs:
 *		  - {source_labels: [comm], regex: "cron|sshd", action: drop}
 */
#ifndef COLLECTOR_AGENT_CONFIG_H
#define COLLECTOR_AGENT_CONFIG_H

#include "agent/options.h"
#include "labels/process_rules.h"

typedef struct AgentConfig
{
	Document document; /* all memory, that of flags' texts, too */
	ProcessRulesSettings rules;
	ProcessRules *process_rules; /* NULL: all processes keep the labels that they have */
} AgentConfig;

/*
 * Defaults, then the file that --config names, then the command line, which has the last word.
 * NULL with *failure set. Texts of options last as long as the configuration.
 */
AgentConfig *agent_config_read(AgentOptions *options, int count, char **arguments,
							   Failure *failure);
void agent_config_free(AgentConfig *config); /* accepts NULL */

#endif
