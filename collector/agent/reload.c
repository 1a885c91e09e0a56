/*
 * reload.c
 *		Reading options once more.
 */
#include "agent/reload.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define MODULE "agent"

/* Flags whose new values are taken while the agent runs. */
static const char *const reloadable[] = { "db",			"interval",	 "stop-timeout",
										  "queue-size", "log-level", "log-format" };

ExitCode
agent_options_read(AgentOptions *options, FlagsFile *file, const AgentCall *call, Failure *failure)
{
	Flag flags[AGENT_FLAGS_MAX];
	size_t count = agent_flags(options, flags);
	ExitCode code = flags_parse(flags, count, call->count, call->arguments, failure);
	const char *path = options->config_file;

	*file = (FlagsFile){ NULL };
	if (code != EXIT_OK || path == NULL)
		return code;
	count = agent_flags(options, flags);
	code = flags_file_read(file, path, flags, count, failure);
	if (code == EXIT_OK && options->config_file != NULL)
	{
		failure_set(failure, EXIT_CONFIG, "a flag's value cannot be used");
		failure_detail(failure, "%s names a configuration itself.", path);
		return failure->code;
	}
	return code == EXIT_OK ? flags_parse(flags, count, call->count, call->arguments, failure)
						   : code;
}

static bool
is_reloadable(const char *name)
{
	for (size_t i = 0; i < sizeof(reloadable) / sizeof(reloadable[0]); i++)
		if (strcmp(reloadable[i], name) == 0)
			return true;
	return false;
}

/* Tells of flags with new values that have to wait for a restart. */
static void
log_unchanged(const AgentOptions *before, const AgentOptions *after)
{
	AgentOptions options[2];
	Flag flags[2][AGENT_FLAGS_MAX];
	size_t count = agent_flags(&options[0], flags[0]);

	(void) agent_flags(&options[1], flags[1]);
	options[0] = *before;
	options[1] = *after;
	for (size_t i = 0; i < count; i++)
		if (!is_reloadable(flags[0][i].name) && !flag_values_equal(&flags[0][i], &flags[1][i]))
			log_event(LOG_WARNING, MODULE, "a flag's new value needs a restart",
					  log_text("flag", flags[0][i].name));
}

void
agent_reload(AgentOptions *options, const AgentCall *call, Writer *writer, Reader *reader)
{
	AgentOptions fresh;
	FlagsFile file;
	Failure failure;
	ExitCode code = agent_options_read(&fresh, &file, call, &failure);

	if (code == EXIT_OK)
		code = writer_reload(writer, fresh.database, fresh.queue_bytes, &failure);
	if (code == EXIT_OK)
	{
		log_unchanged(options, &fresh);
		options->interval_ms = fresh.interval_ms;
		options->stop_timeout_ms = fresh.stop_timeout_ms;
		options->queue_bytes = fresh.queue_bytes;
		options->log = fresh.log;
		reader_set_window(reader, fresh.interval_ms * 1000);
		log_apply(&fresh.log);
		log_event(LOG_INFO, MODULE, "reloaded the configuration",
				  log_text("file", options->config_file));
	}
	else
		log_event(LOG_ERROR, MODULE, "could not reload the configuration and keeps the old one",
				  log_text("reason", failure.message), log_text("detail", failure.detail),
				  log_text("hint", failure.hint));
	flags_file_fini(&file);
}
