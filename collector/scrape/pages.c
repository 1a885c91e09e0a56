/*
 * pages.c
 *		An HTTP server for metrics and health checks.
 */
#include "scrape/pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "http_server/server.h"
#include "http_server/service.h"
#include "program/stop_signals.h"

#define PART		"scrape"
#define KB			((size_t) 1024)
#define CONNECTIONS 64
#define REQUESTS_S	100
#define IDLE_MS		60000

struct ScrapePages
{
	Host host; /* first, so that services find the rest */
	HostOptions options;
	Scraper *scraper;
	Server server;
	int wait_fd; /* epoll descriptor of signals and the server */
};

/* --- numbers --- */

typedef struct TargetCounts
{
	uint64_t jobs;
	uint64_t by_health[TARGET_DOWN + 1];
	uint64_t dropped;
	uint64_t invalid;
} TargetCounts;

static void
count_run(void *context, JobRun *run)
{
	TargetCounts *counts = context;
	JobCounts of_run = job_run_counts(run);

	counts->jobs++;
	counts->dropped += of_run.dropped;
	counts->invalid += of_run.invalid;
	for (const ScrapeTarget *target = job_run_targets(run); target != NULL;
		 target = target->hh.next)
		counts->by_health[target->state.health]++;
}

/* Writes the numbers of jobs and targets. */
static void
put_targets(Buffer *text, const Scraper *scraper)
{
	TargetCounts counts = { 0 };

	scraper_each_run(scraper, count_run, &counts);
	metrics_put(text, PART, "jobs", "Jobs, including those of ParcaScrapeConfigs.", "gauge",
				counts.jobs);
	metrics_put(text, PART, "targets_up", "Targets times profiles whose last scrape succeeded.",
				"gauge", counts.by_health[TARGET_UP]);
	metrics_put(text, PART, "targets_down", "Targets times profiles whose last scrape failed.",
				"gauge", counts.by_health[TARGET_DOWN]);
	metrics_put(text, PART, "targets_unknown", "Targets times profiles not scraped yet.", "gauge",
				counts.by_health[TARGET_UNKNOWN]);
	metrics_put(text, PART, "targets_dropped", "Discovered targets that rules drop.", "gauge",
				counts.dropped);
	metrics_put(text, PART, "targets_invalid", "Discovered targets that make no URL.", "gauge",
				counts.invalid);
}

/* Writes the counters of scrapes. */
static void
put_scrapes(Buffer *text, const Scraper *scraper)
{
	const FetcherStats *stats = &scraper->fetcher.stats;

	metrics_put(text, PART, "scrapes_total", "Scrapes that ended.", "counter", stats->scrapes);
	metrics_put(text, PART, "scrapes_failed_total", "Scrapes that failed.", "counter",
				stats->failed);
	metrics_put(text, PART, "scrapes_skipped_total",
				"Scrapes skipped because the one before still ran.", "counter", stats->skipped);
	metrics_put(text, PART, "waits_total", "Times that a due scrape found all requests in use.",
				"counter", stats->waited);
	metrics_put(text, PART, "samples_total", "Samples in decoded profiles.", "counter",
				stats->samples);
	metrics_put(text, PART, "requests", "Requests that hold one of --max-concurrent slots.",
				"gauge", scraper->fetcher.running);
	metrics_put(text, PART, "requests_sampling", "Requests of deltas whose answers have not begun.",
				"gauge", scraper->fetcher.silent);
	metrics_put(text, PART, "requests_slow", "Requests that have exceeded the time of a slot.",
				"gauge", scraper->fetcher.slow);
	metrics_put(text, PART, "held_bytes", "Bytes of answers that wait to be decoded.", "gauge",
				http_client_held(scraper->client));
}

static void
put_configuration(Buffer *text, const Scraper *scraper)
{
	metrics_put(text, PART, "reloads_total", "Successful reloads of the configuration.", "counter",
				scraper->reloads);
	metrics_put(text, PART, "reloads_failed_total",
				"Reloads that failed and kept the old configuration.", "counter",
				scraper->reloads_failed);
	metrics_put(text, PART, "config_good", "1 if the configuration that was read last is in use.",
				"gauge", scraper->config_good);
	metrics_put(text, PART, "resources_refused_total", "ParcaScrapeConfigs that could not be read.",
				"counter", operator_jobs_refused(scraper->operator_jobs));
}

static void
page_scrape_metrics(Host *host, Call *call)
{
	const Scraper *scraper = ((const ScrapePages *) host)->scraper;
	Buffer *text = &call->answer.body;
	WriterStats writer;

	writer_stats(host->writer, &writer);
	call->answer.http_status = 200;
	call->answer.content = METRICS_CONTENT;
	put_targets(text, scraper);
	put_scrapes(text, scraper);
	put_configuration(text, scraper);
	metrics_put_writer(text, PART, &writer);
}

/* --- the server --- */

static const Service services[] = {
	{ "/-/healthy", "GET", .is_open = true, .answer = page_healthy },
	{ "/-/ready", "GET", .is_open = true, .answer = page_ready },
	{ "/metrics", "GET", .is_open = true, .answer = page_scrape_metrics },
};

static const ServiceTable table = { services, sizeof(services) / sizeof(services[0]), NULL, NULL };

static bool
watch_fd(int epoll_fd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static ExitCode
open_pages(ScrapePages *pages, Scraper *scraper, Failure *failure)
{
	ExitCode code;

	pages->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	pages->scraper = scraper;
	code = host_init(&pages->host, &pages->options, &table, scraper->writer, failure);
	if (code == EXIT_OK)
		code = server_init(&pages->server, &pages->host, failure);
	if (code == EXIT_OK && (pages->wait_fd < 0 || !watch_fd(pages->wait_fd, stop_signals_fd()) ||
							!watch_fd(pages->wait_fd, pages->server.loop.epoll_fd)))
		code = failure_set(failure, EXIT_INTERNAL, "could not set up the pages");
	return code;
}

ExitCode
scrape_pages_open(Scraper *scraper, ScrapePages **pages, Failure *failure)
{
	ExitCode code;

	*pages = NULL;
	if (scraper->options->listen == NULL)
		return EXIT_OK;
	*pages = calloc(1, sizeof(ScrapePages));
	if (*pages == NULL)
		return failure_set(failure, EXIT_INTERNAL, "out of memory");
	(*pages)->options = (HostOptions){ .listen = scraper->options->listen,
									   .max_message = 64 * KB,
									   .max_memory = 1024 * KB,
									   .max_connections = CONNECTIONS,
									   .client_connections = CONNECTIONS,
									   .client_requests = REQUESTS_S,
									   .answer_ms = 1000,
									   .idle_ms = IDLE_MS };
	code = open_pages(*pages, scraper, failure);
	if (code == EXIT_OK)
		return EXIT_OK;
	scrape_pages_close(*pages);
	*pages = NULL;
	return code;
}

void
scrape_pages_close(ScrapePages *pages)
{
	if (pages == NULL)
		return;
	server_fini(&pages->server);
	host_fini(&pages->host);
	if (pages->wait_fd >= 0)
		close(pages->wait_fd);
	free(pages);
}

int
scrape_pages_fd(const ScrapePages *pages)
{
	return pages != NULL ? pages->wait_fd : stop_signals_fd();
}

void
scrape_pages_turn(ScrapePages *pages)
{
	if (pages != NULL)
		server_turn(&pages->server, 0);
}
