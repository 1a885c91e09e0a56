/*
 * agent.h
 *		The sub-command "agent": samples this host until told to stop.
 */
#ifndef COLLECTOR_AGENT_H
#define COLLECTOR_AGENT_H

#include "agent/options.h"
#include "base/exit_code.h"

/*
 * Runs to the end, by the options that these arguments and the configuration give, and logs why it
 * ended; the process's exit code.
 */
ExitCode agent_run(char **arguments, int count);

/*
 * The sub-command "check": a line for each feature, privilege and database object on standard
 * output. The arguments may name the agent's configuration, which is read as the agent does.
 */
ExitCode check_run(char **arguments, int count);

#endif
