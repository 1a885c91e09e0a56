/*
 * reload.h
 *		Changes of the agent's options while it runs.
 *
 * On SIGHUP the agent reads its configuration and command line again. It takes over all new values
 * or, if one is invalid, none.
 */
#ifndef COLLECTOR_RELOAD_H
#define COLLECTOR_RELOAD_H

#include "agent/agent_config.h"
#include "agent/reader/reader.h"
#include "kubernetes/pod_client.h"
#include "writer/writer.h"

/* The command line of the agent. */
typedef struct AgentCall
{
	int count;
	char **arguments;
} AgentCall;

/* The parts of the agent that are given the new options. */
typedef struct ReloadParts
{
	AgentOptions *options;
	AgentConfig **rules; /* rules in use */
	PodTable *pods;
	PodClient **pod_client; /* NULL: pods are not watched */
	Writer *writer;
	Reader *reader;
} ReloadParts;

/* Makes the reader use the rules of a configuration for labels. Returns 0 or -ENOMEM. */
int agent_use_rules(Reader *reader, const AgentConfig *config);

/* Watches pods as the configuration says. Sets *client to NULL if it requests no pod labels. */
ExitCode agent_watch_pods(const AgentConfig *config, const char *node, Reader *reader,
						  PodClient **client, Failure *failure);

/*
 * Reads the options again and passes them to the parts of the agent. Logs which values were taken
 * over, or why none was.
 */
void agent_reload(const AgentCall *call, const ReloadParts *parts);

#endif
