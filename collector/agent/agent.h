/*
 * agent.h
 *		The sub-command "agent": samples this host until it is stopped.
 */
#ifndef COLLECTOR_AGENT_H
#define COLLECTOR_AGENT_H

#include "agent/agent_options.h"
#include "program/exit_code.h"

/*
 * Runs the agent with these arguments and its configuration, logs why it ended, and returns the
 * process's exit code.
 */
ExitCode agent_run(char **arguments, int count);

/*
 * The sub-command "check": prints a line for each feature, privilege and database object on
 * standard output. The arguments may name a configuration, which is read as the agent reads it.
 */
ExitCode check_run(char **arguments, int count);

#endif
