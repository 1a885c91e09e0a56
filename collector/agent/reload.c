/*
 * reload.c
 *		Reads configuration and flags again while the agent runs.
 */
#include "agent/reload.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define MODULE "agent"

/* Flags whose new values apply without a restart. */
static const char *const reloadable[] = { "db",			"interval",	 "stop-timeout",
										  "queue-size", "log-level", "log-format" };

static bool
is_reloadable(const char *name)
{
	for (size_t i = 0; i < sizeof(reloadable) / sizeof(reloadable[0]); i++)
		if (strcmp(reloadable[i], name) == 0)
			return true;
	return false;
}

/* Logs each flag whose new value needs a restart. */
static void
log_unchanged(const AgentOptions *before, const AgentOptions *after)
{
	AgentOptions options[2];
	Flag flags[2][AGENT_FLAGS_MAX];
	size_t count = agent_flags(&options[0], flags[0]);

	(void) agent_flags(&options[1], flags[1]);
	/*
	 * agent_flags() has set the defaults. Put the values in place after it has set the pointers to
	 * them.
	 */
	options[0] = *before;
	options[1] = *after;
	for (size_t i = 0; i < count; i++)
		if (!is_reloadable(flags[0][i].name) && !flag_values_equal(&flags[0][i], &flags[1][i]))
			log_event(LOG_WARNING, MODULE, "a flag's new value needs a restart",
					  log_text("flag", flags[0][i].name));
}

/*
 * Takes over the values of reloadable options. Only numbers are copied, because texts of the new
 * options are freed together with their document.
 */
static void
take_options(AgentOptions *options, const AgentOptions *fresh)
{
	log_unchanged(options, fresh);
	options->interval_ms = fresh->interval_ms;
	options->stop_timeout_ms = fresh->stop_timeout_ms;
	options->queue_bytes = fresh->queue_bytes;
	options->log = fresh->log;
	log_apply(&fresh->log);
}

int
agent_use_rules(Reader *reader, const AgentConfig *config)
{
	const ConfigList *names = &config->rules.environment;
	int result = reader_want_environment(reader, names->items, names->count);

	if (result == 0)
		reader_use_rule(reader, config->process_rules != NULL ? process_rules_apply : NULL,
						config->process_rules);
	return result;
}

static void
learned(void *reader)
{
	reader_learned_labels(reader);
}

ExitCode
agent_watch_pods(const AgentConfig *config, const char *node, Reader *reader, PodClient **client,
				 Failure *failure)
{
	const KubernetesSettings *settings = &config->kubernetes;
	const PodClientOptions options = {
		.node = node,
		.server = settings->server,
		.kubelet = settings->kubelet,
		.token_file = settings->token_file,
		.ca_file = settings->ca_file,
		.annotations = settings->pod_annotations,
		.table = config->pods.table,
		.learned = learned,
		.context = reader,
	};

	*client = NULL;
	if (!settings->wanted)
		return EXIT_OK;
	*client = pod_client_start(&options, failure);
	return *client != NULL ? EXIT_OK : failure->code;
}

/*
 * Starts watching pods by the new options. The names of pods that are already known stay valid
 * meanwhile.
 */
static void
watch_again(const ReloadParts *parts)
{
	Failure failure;

	pod_client_stop(*parts->pod_client);
	if (agent_watch_pods(*parts->rules, parts->options->node, parts->reader, parts->pod_client,
						 &failure) != EXIT_OK)
		failure_log(&failure, MODULE);
}

/* Gives the new rules to the reader, then frees the old ones. */
static void
take_rules(const ReloadParts *parts, AgentConfig *fresh)
{
	if (agent_use_rules(parts->reader, fresh) != 0)
	{
		log_event(LOG_ERROR, MODULE, "out of memory for new label rules; keeping the old ones");
		agent_config_free(fresh);
		return;
	}
	/* The reader has the new rules, so no thread uses the old ones. */
	agent_config_free(*parts->rules);
	*parts->rules = fresh;
	watch_again(parts);
}

void
agent_reload(const AgentCall *call, const ReloadParts *parts)
{
	AgentOptions options;
	Failure failure;
	AgentConfig *fresh =
		agent_config_read(&options, call->count, call->arguments, parts->pods, &failure);

	/* The writer comes first: if it refuses the connection string, nothing may change. */
	if (fresh != NULL &&
		writer_reload(parts->writer, options.database, options.queue_bytes, &failure) == EXIT_OK)
	{
		take_options(parts->options, &options);
		reader_set_window(parts->reader, options.interval_ms * 1000);
		take_rules(parts, fresh);
		log_event(LOG_INFO, MODULE, "reloaded the configuration",
				  log_text("file", parts->options->config_file));
		return;
	}
	log_event(LOG_ERROR, MODULE, "could not reload the configuration; keeping the old one",
			  log_text("reason", failure.message), log_text("detail", failure.detail),
			  log_text("hint", failure.hint));
	agent_config_free(fresh);
}
