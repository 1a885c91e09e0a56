/*
 * reload.h
 *		What of the agent's options can change while it runs.
 *
 * On SIGHUP configuration and command line are read again: all of the new values are taken, or,
 * where one cannot be used, none.
 */
#ifndef COLLECTOR_RELOAD_H
#define COLLECTOR_RELOAD_H

#include "agent/agent_config.h"
#include "agent/reader.h"
#include "kubernetes/pod_client.h"
#include "writer/writer.h"

/* As the agent was called. */
typedef struct AgentCall
{
	int count;
	char **arguments;
} AgentCall;

/* Who is told. */
typedef struct ReloadParts
{
	AgentOptions *options;
	AgentConfig **rules; /* that are in use */
	PodTable *pods;
	PodClient **pod_client; /* NULL: pods are not watched */
	Writer *writer;
	Reader *reader;
} ReloadParts;

/* Has labels made by a configuration's rules from now on. 0 or -ENOMEM. */
int agent_use_rules(Reader *reader, const AgentConfig *config);

/* Has pods watched as the configuration says, or nobody; *client is NULL then. */
ExitCode agent_watch_pods(const AgentConfig *config, const char *node, Reader *reader,
						  PodClient **client, Failure *failure);

/* Reads them again and tells the parts; the log says what was taken, or why nothing was. */
void agent_reload(const AgentCall *call, const ReloadParts *parts);

#endif
