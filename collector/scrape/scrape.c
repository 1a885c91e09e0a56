/*
 * scrape.c
 *		Runs the command: starts the parts, runs the loop, stops the parts in the order of the data
 *		flow.
 *
 * One thread does all network work: requests, discovery, schedule. Decoding, storing samples and
 * storing rows of targets each have a thread.
 */
#include "scrape/scrape.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/file_mark.h"
#include "program/descriptors.h"
#include "program/health.h"
#include "program/stop_signals.h"
#include "scrape/scrape_pages.h"

#define LOOK_NS		 (1000 * NS_PER_MS) /* interval between two checks of the configuration file */
#define WAIT_MS		 500				/* longest wait in one round of the loop */
#define DRAIN_MIN_MS 1000

static void
log_config(const ScrapeConfig *config, const char *message)
{
	log_event(LOG_INFO, "scrape", message, log_text("file", config->path),
			  log_number("jobs", (int64_t) config->jobs.count));
}

/* Reads the configuration again. A malformed file changes nothing. */
static void
reload_config(Scraper *scraper)
{
	Failure failure;
	ScrapeConfig *config = scrape_config_read(scraper->options->config_file, &failure);

	scraper->config_good =
		config != NULL && scraper_adopt(scraper, config, clock_ns(CLOCK_MONOTONIC));
	if (scraper->config_good)
	{
		scraper->reloads++;
		log_config(config, "reloaded the configuration");
		return;
	}
	scraper->reloads_failed++;
	/* The file is valid, so memory has run out. */
	if (config != NULL)
		failure_out_of_memory(&failure);
	scrape_config_release(config);
	log_event(LOG_ERROR, "scrape", "could not reload the configuration; keeping the old one",
			  log_text("reason", failure.message), log_text("detail", failure.detail),
			  log_text("hint", failure.hint));
}

/*
 * Writes the status for the command "health"; the storer's thread takes the place of the agent's
 * flusher. Returns 0 or -errno.
 */
static int
write_status(Scraper *scraper, int64_t now_ns)
{
	Health health = { .time_ns = now_ns, .flusher_busy_ms = storer_busy_ms(scraper->storer) };
	WriterStats writer;

	if (scraper->options->status_file == NULL || now_ns < scraper->status_ns)
		return 0;
	scraper->status_ns = now_ns + HEALTH_WRITE_NS;
	writer_stats(scraper->writer, &writer);
	if (writer.waiting_since_ns != 0)
		health.unstored_ms = (now_ns - writer.waiting_since_ns) / NS_PER_MS;
	health.rows_stored = writer.samples_written;
	health.rows_dropped = writer.samples_dropped + writer.samples_refused;
	health.queued_bytes = writer.queued_bytes;
	health.spooled_bytes = writer.spooled_bytes;
	return health_write(scraper->options->status_file, &health);
}

/* --- start --- */

static void
on_result(void *context)
{
	http_client_wake(context);
}

static ExitCode
no_thread(Failure *failure)
{
	return failure_set(failure, EXIT_INTERNAL, "could not start a thread");
}

/* Creates the client, the writer and all threads. */
static ExitCode
scrape_start_parts(Scraper *scraper, Failure *failure)
{
	const ScrapeOptions *options = scraper->options;
	const WriterOptions writer = { .conninfo = options->database,
								   .node = options->node,
								   .queue_bytes = options->queue_bytes,
								   .spool = options->spool,
								   .report = { .name = options->node,
											   .program = "scrape",
											   .fill = figures_fill_published,
											   .context = &scraper->figures } };
	StorerOptions storer = { .profile_max = options->profile_max,
							 .max_age_us = options->max_age_ms * 1000,
							 .wake = on_result };

	if (http_client_create(options->held_max, &scraper->client) != 0)
		return failure_out_of_memory(failure);
	if (writer_create(&writer, &scraper->writer, failure) != EXIT_OK)
		return failure->code;
	storer.writer = scraper->writer;
	storer.context = scraper->client;
	if (writer_start(scraper->writer) != 0 || storer_create(&storer, &scraper->storer) != 0 ||
		target_store_create(options->database, options->node, &scraper->store) != 0)
		return no_thread(failure);
	scraper->fetcher = (Fetcher){ .client = scraper->client,
								  .storer = scraper->storer,
								  .schedule = &scraper->schedule,
								  .changed = &scraper->changed,
								  .concurrency = (size_t) options->concurrency,
								  .body_max = options->body_max };
	return EXIT_OK;
}

/*
 * Writes the first status, which shows that all parts run. It must succeed, because a health check
 * would otherwise wait forever.
 */
static ExitCode
open_status(Scraper *scraper, Failure *failure)
{
	int result = write_status(scraper, clock_ns(CLOCK_MONOTONIC));

	if (result == 0)
		return EXIT_OK;
	return failure_of_file(failure, "could not write the status", scraper->options->status_file,
						   strerror(-result));
}

/* Reads the configuration and starts all parts. */
static ExitCode
scrape_start(Scraper *scraper, Failure *failure)
{
	ScrapeConfig *config;
	ExitCode code;

	if (scraper->options->config_file == NULL)
	{
		code = failure_set(failure, EXIT_USAGE, "no configuration given");
		failure_hint(failure, "Use --config FILE.");
		return code;
	}
	config = scrape_config_read(scraper->options->config_file, failure);
	if (config == NULL)
		return failure->code;
	code = scrape_start_parts(scraper, failure);
	if (code == EXIT_OK && !scraper_adopt(scraper, config, clock_ns(CLOCK_MONOTONIC)))
		code = failure_out_of_memory(failure);
	/* The scraper owns the configuration only after it has adopted it. */
	if (code != EXIT_OK)
	{
		scrape_config_release(config);
		return code;
	}
	scraper->config_good = true;
	code = scrape_pages_open(scraper, &scraper->pages, failure);
	if (code != EXIT_OK)
		return code;
	log_config(config, "scraping");
	return open_status(scraper, failure);
}

/* --- the loop --- */

/* Handles everything that is due. Returns the time of the next call. */
static int64_t
scrape_tick(Scraper *scraper, int64_t now_ns)
{
	int64_t due_ns = scraper_tick(scraper, now_ns);

	/* Scrapes that have ended free their slots before others start. */
	fetcher_collect(&scraper->fetcher);
	due_ns = MIN(due_ns, fetcher_tick(&scraper->fetcher, now_ns));
	scraper_store_rows(scraper, now_ns);
	/* The writer's thread reads the figures from this copy. */
	if (now_ns >= scraper->figures_ns)
	{
		scrape_publish_figures(scraper);
		scraper->figures_ns = now_ns + WRITER_REPORT_NS;
	}
	if (write_status(scraper, now_ns) != 0)
		log_event(LOG_WARNING, "scrape", "could not write the status",
				  log_text("file", scraper->options->status_file));
	return due_ns;
}

/*
 * Runs the loop, which reloads, does the work that is due, and waits for network events, until a
 * signal or a permanent error of the writer.
 */
static ExitCode
scrape_loop(Scraper *scraper)
{
	FileMark mark = file_mark(scraper->options->config_file);
	int64_t look_ns = 0;

	while (!stop_asked())
	{
		int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		int64_t due_ns;
		bool changed = reload_asked();
		Failure failure;
		ExitCode code = writer_failure(scraper->writer, &failure);

		if (code != EXIT_OK)
		{
			failure_log(&failure, "writer");
			return code;
		}
		if (now_ns >= look_ns)
		{
			FileMark seen = file_mark(scraper->options->config_file);

			changed |= !file_marks_equal(&mark, &seen);
			mark = seen;
			look_ns = now_ns + LOOK_NS;
		}
		if (changed)
			reload_config(scraper);
		/* Rounded up, so that the loop does not wake just before the time. */
		due_ns = scrape_tick(scraper, now_ns);
		http_client_step(scraper->client,
						 MIN((due_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS, WAIT_MS),
						 scrape_pages_fd(scraper->pages));
		stop_signals_seen();
		scrape_pages_turn(scraper->pages);
	}
	return EXIT_OK;
}

/* --- stop --- */

static ExitCode
drain_writer(Scraper *scraper, int64_t stopped_ns)
{
	int64_t spent_ms = (clock_ns(CLOCK_MONOTONIC) - stopped_ns) / NS_PER_MS;
	/* The writer gets a minimum of time, even if the storer has used all of it. */
	int64_t left_ms = MAX(scraper->options->stop_timeout_ms - spent_ms, DRAIN_MIN_MS);
	Failure failure;

	if (writer_drain(scraper->writer, (int) left_ms))
		return EXIT_OK;
	failure_set(&failure, EXIT_IO, "could not store all samples before the end");
	failure_log(&failure, "scrape");
	return EXIT_IO;
}

/* Stores the profiles that were fetched; abandons requests that still run. */
static ExitCode
scrape_stop(Scraper *scraper, ExitCode code)
{
	int64_t stopped_ns = clock_ns(CLOCK_MONOTONIC);
	const FetcherStats *stats = &scraper->fetcher.stats;
	ExitCode drained;

	/* The storer stops first, because it passes batches to the writer. */
	storer_stop(scraper->storer);
	fetcher_collect(&scraper->fetcher);
	drained = drain_writer(scraper, stopped_ns);
	/* The interval between two stores of rows does not apply. */
	scraper->rows_ns = 0;
	scraper_store_rows(scraper, stopped_ns);
	target_store_free(scraper->store, DRAIN_MIN_MS);
	scraper->store = NULL;
	if (scraper->options->status_file != NULL)
		/* if it cannot be removed, it becomes too old for the command "health" */
		(void) unlink(scraper->options->status_file);
	log_event(LOG_INFO, "scrape", "stopped", log_number("scrapes", (int64_t) stats->scrapes),
			  log_number("failed", (int64_t) stats->failed),
			  log_number("skipped", (int64_t) stats->skipped),
			  log_number("samples", (int64_t) stats->samples));
	return code != EXIT_OK ? code : drained;
}

static void
scrape_free_parts(Scraper *scraper)
{
	scrape_pages_close(scraper->pages);
	target_store_free(scraper->store, 0);
	storer_free(scraper->storer);
	writer_free(scraper->writer);
	http_client_free(scraper->client);
}

ExitCode
scrape_run(const ScrapeOptions *options)
{
	Scraper *scraper = calloc(1, sizeof(Scraper));
	Failure failure;
	ExitCode code;

	if (scraper == NULL)
		return EXIT_INTERNAL;
	scraper->options = options;
	figures_snapshot_init(&scraper->figures);
	stop_signals_catch(true);
	descriptors_raise_limit();
	code = scrape_start(scraper, &failure);
	if (code == EXIT_OK)
		code = scrape_stop(scraper, scrape_loop(scraper));
	else
		failure_log(&failure, "scrape");
	/* requests that end from here on must not start other requests */
	scraper->fetcher.concurrency = 0;
	scraper_fini(scraper);
	scrape_free_parts(scraper);
	free(scraper);
	return code;
}
