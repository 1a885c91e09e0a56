/*
 * receive.c
 *		Life of a receiver: start, turns, stop.
 *
 * After the first signal no new request is accepted, and current requests are stored and answered
 * for at most STOP_MS. After the second signal the process exits at once.
 */
#include "receive/receive.h"

#include <malloc.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "http_server/server.h"
#include "http_server/workers.h"
#include "program/stop_signals.h"
#include "receive/receiver.h"
#include "receive/services.h"

#define STOP_MS		INT64_C(10000)
#define TURN_MS		250
#define DRAIN_MS	1000 /* time for the writer's last report; all batches are stored by then */
#define CACHE_BYTES ((size_t) 64 * 1024 * 1024)

/*
 * Malloc returns blocks of this size or more to the system when they are freed, and may keep this
 * many bytes at the end of each heap.
 */
#define LARGE_BYTES (12 * 1024 * 1024)
#define KEPT_BYTES	(24 * 1024 * 1024)
#define HEAPS		2

static void
receive_reload(Server *server)
{
	Failure failure;

	if (server_reload(server, &failure) == EXIT_OK)
		log_event(LOG_INFO, "receive", "reloaded certificates and tokens");
	else
		failure_log(&failure, "receive");
}

/*
 * Runs until a signal, or until the database refuses permanently. Publishes the figures of the
 * receiver for the reports of its writer.
 */
static ExitCode
serve(Server *server, Receiver *receiver, FiguresSnapshot *published, Failure *failure)
{
	ExitCode code = EXIT_OK;
	int64_t publish_ns = 0;

	while (!stop_asked() && code == EXIT_OK)
	{
		/*
		 * The writer's thread cannot read the state of the loop, so the loop copies the figures for
		 * it.
		 */
		if (server->loop.now_ns >= publish_ns)
		{
			Figures figures = { .count = 0 };

			receiver_fill_figures(receiver, &figures);
			figures_publish(published, &figures);
			publish_ns = server->loop.now_ns + WRITER_REPORT_NS;
		}
		server_turn(server, TURN_MS);
		stop_signals_seen();
		if (reload_asked())
			receive_reload(server);
		code = writer_failure(server->loop.host->writer, failure);
	}
	return code;
}

/* Stores and answers the current requests. */
static ExitCode
receive_finish(Server *server, Failure *failure)
{
	int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + STOP_MS * NS_PER_MS;

	server_stop(server);
	/* Workers and writer return calls to the loop, which answers them in its turns. */
	while (server->loop.away_count > 0 && clock_ns(CLOCK_MONOTONIC) < end_ns)
		server_turn(server, TURN_MS);
	if (server->loop.away_count == 0)
		return EXIT_OK;
	failure_set(failure, EXIT_IO, "stopped before all requests were stored");
	failure_detail(failure, "Unanswered requests: %zu.", server->loop.away_count);
	return failure->code;
}

static ExitCode
receive_start_writer(const ReceiveOptions *options, FiguresSnapshot *published, Writer **writer,
					 Failure *failure)
{
	const WriterOptions settings = { .conninfo = options->database,
									 .node = "",
									 .queue_bytes = options->queue_bytes,
									 .spool = options->spool,
									 .cache_bytes = CACHE_BYTES,
									 .report = { .name = options->name,
												 .program = "receive",
												 .fill = figures_fill_published,
												 .context = published } };
	ExitCode code = writer_create(&settings, writer, failure);

	if (code == EXIT_OK && writer_start(*writer) != 0)
		code = failure_set(failure, EXIT_INTERNAL, "could not start a thread");
	return code;
}

/* Starts server and workers, serves until the end, and stops them again. */
static ExitCode
run(Server *server, Receiver *receiver, FiguresSnapshot *published, Failure *failure)
{
	Workers workers = { .threads = NULL };
	ExitCode code = server_init(server, &receiver->host, failure);

	if (code == EXIT_OK &&
		!workers_start(&workers, &receiver->host, (size_t) receiver->options->workers))
		code = failure_set(failure, EXIT_INTERNAL, "could not start a thread");
	if (code == EXIT_OK)
	{
		stop_signals_catch(true);
		code = serve(server, receiver, published, failure);
	}
	if (code == EXIT_OK)
		code = receive_finish(server, failure);
	writer_drain(receiver->host.writer, DRAIN_MS);
	/* Workers use calls of the server until they have stopped. */
	workers_stop(&workers);
	server_fini(server);
	return code;
}

/*
 * Creates writer and receiver, serves, and frees the writer before the receiver, because its queue
 * contains batches of calls.
 */
static ExitCode
start_and_run(Server *server, const ReceiveOptions *options, Failure *failure)
{
	Receiver receiver;
	FiguresSnapshot published;
	Writer *writer = NULL;
	ExitCode code;

	figures_snapshot_init(&published);
	code = receive_start_writer(options, &published, &writer, failure);
	if (code == EXIT_OK)
	{
		code = receiver_init(&receiver, options, &receive_services, writer, failure);
		if (code == EXIT_OK)
			code = run(server, &receiver, &published, failure);
		writer_free(writer); /* releases the batches in its queue */
		receiver_fini(&receiver);
		return code;
	}
	writer_free(writer);
	return code;
}

ExitCode
receive_run(const ReceiveOptions *options)
{
	Server *server = calloc(1, sizeof(Server));
	Failure failure = { .code = EXIT_OK };
	ExitCode code;

	/*
	 * Otherwise the heap of every thread would keep the memory of large requests, in addition to
	 * --max-memory.
	 */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	mallopt(M_ARENA_MAX, HEAPS);
	if (server == NULL)
		code = failure_out_of_memory(&failure);
	else if (options->host.acknowledge == ACKNOWLEDGE_SPOOL && options->spool.directory[0] == '\0')
	{
		code = failure_set(&failure, EXIT_CONFIG, "--acknowledge spool needs a spool directory");
		failure_hint(&failure, "Add --spool-directory.");
	}
	else
		code = start_and_run(server, options, &failure);
	free(server);
	if (code != EXIT_OK)
		failure_log(&failure, "receive");
	log_flush();
	return code;
}
