/*
 * reload.h
 *		The agent's options from command line and configuration, and what of them can change while
 *		it runs.
 *
 * The command line has the last word. On SIGHUP both are read again: all of the new values are
 * taken, or, where one cannot be used, none.
 */
#ifndef COLLECTOR_RELOAD_H
#define COLLECTOR_RELOAD_H

#include "agent/options.h"
#include "agent/reader.h"
#include "base/flags_file.h"
#include "writer/writer.h"

/* As the agent was called. */
typedef struct AgentCall
{
	int count;
	char **arguments;
} AgentCall;

/*
 * Defaults, then the file that --config names, then the command line. EXIT_OK, or a code with
 * *failure set. Texts hold until flags_file_fini, which is due in either case.
 */
ExitCode agent_options_read(AgentOptions *options, FlagsFile *file, const AgentCall *call,
							Failure *failure);

/* Reads them again and tells the parts; the log says what was taken, or why nothing was. */
void agent_reload(AgentOptions *options, const AgentCall *call, Writer *writer, Reader *reader);

#endif
