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
	Writer *writer;
	Reader *reader;
} ReloadParts;

/* Has labels made by a configuration's rules from now on. 0 or -ENOMEM. */
int agent_use_rules(Reader *reader, const AgentConfig *config);

/* Reads them again and tells the parts; the log says what was taken, or why nothing was. */
void agent_reload(const AgentCall *call, const ReloadParts *parts);

#endif
