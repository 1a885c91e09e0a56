/*
 * serve.c
 *		Life of the server: start, turns, stop.
 *
 * After the first signal no new request is accepted. Current queries have STOP_MS to end, then they
 * are cancelled.
 */
#include "serve/serve.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "http_server/server.h"
#include "http_server/workers.h"
#include "program/stop_signals.h"
#include "serve/asked.h"
#include "serve/serve_services.h"

#define STOP_MS INT64_C(3000)
#define TURN_MS 250

/* The loop answers in place of a worker when this time has passed after --query-timeout. */
#define ANSWER_MS 15000

static void
serve_reload(Server *server)
{
	Failure failure;

	if (server_reload(server, &failure) == EXIT_OK)
		log_event(LOG_INFO, "serve", "read certificates and tokens again");
	else
		failure_log(&failure, "serve");
}

/* Waits until current requests are answered, or cancels their queries. */
static void
serve_finish(Server *server, Serving *serving)
{
	const int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + STOP_MS * NS_PER_MS;
	bool is_cancelled = false;

	server_stop(server);
	while (server->loop.away_count > 0)
	{
		if (!is_cancelled && clock_ns(CLOCK_MONOTONIC) >= end_ns)
		{
			reader_pool_stop(&serving->pool);
			is_cancelled = true;
		}
		/* Only the loop sends the answers that workers give back. */
		server_turn(server, TURN_MS);
	}
}

/* Serves until a signal. */
static ExitCode
serve_run_server(Server *server, Serving *serving, Failure *failure)
{
	Workers workers = { .threads = NULL };
	ExitCode code = server_init(server, &serving->host, failure);

	if (code == EXIT_OK &&
		!workers_start(&workers, &serving->host, (size_t) serving->options->connections))
		code = failure_set(failure, EXIT_INTERNAL, "could not start a thread");
	if (code == EXIT_OK)
	{
		stop_signals_catch(true);
		while (!stop_asked())
		{
			server_turn(server, TURN_MS);
			stop_signals_seen();
			if (reload_asked())
				serve_reload(server);
		}
		serve_finish(server, serving);
	}
	/* Workers give answers to the loop, so they end before it does. */
	workers_stop(&workers);
	server_fini(server);
	return code;
}

/* Refuses a connection string that cannot be parsed, and flags that contradict each other. */
static ExitCode
serve_check(const ServeOptions *options, Failure *failure)
{
	DbError error;

	if (!conninfo_check(options->database, &error))
	{
		*failure = error.failure;
		return failure->code = EXIT_CONFIG;
	}
	if (options->authenticate == SERVE_AS_LOGIN &&
		(options->host.tokens != NULL || options->host.client_ca != NULL))
	{
		failure_set(failure, EXIT_CONFIG,
					"cannot combine --authenticate database with --tokens or --tls-client-ca");
		failure_hint(failure, "Omit --authenticate database, or --tokens and --tls-client-ca.");
		return failure->code;
	}
	return EXIT_OK;
}

static ExitCode
serve_start(Server *server, const ServeOptions *options, Failure *failure)
{
	Serving serving = { .options = options };
	ExitCode code = host_init(&serving.host, &options->host, &serve_services, NULL, failure);
	/* The pool is made even after a failure, because both are finished below. */
	const bool has_pool = reader_pool_init(&serving.pool, options->database, options->query_ms,
										   (size_t) options->connections, &serving.metrics);

	if (code == EXIT_OK && !has_pool)
		code = failure_out_of_memory(failure);
	if (code == EXIT_OK)
		code = serve_run_server(server, &serving, failure);
	reader_pool_fini(&serving.pool);
	host_fini(&serving.host);
	return code;
}

ExitCode
serve_run(const ServeOptions *options)
{
	Server *server = calloc(1, sizeof(Server));
	ServeOptions settings = *options;
	Failure failure = { .code = EXIT_OK };
	ExitCode code = serve_check(options, &failure);

	settings.host.passes_login = settings.authenticate == SERVE_AS_LOGIN;
	settings.host.answer_ms = settings.query_ms + ANSWER_MS;
	if (code == EXIT_OK && server == NULL)
		code = failure_out_of_memory(&failure);
	if (code == EXIT_OK)
		code = serve_start(server, &settings, &failure);
	free(server);
	if (code != EXIT_OK)
		failure_log(&failure, "serve");
	log_flush();
	return code;
}
