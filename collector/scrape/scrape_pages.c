/*
 * scrape_pages.c
 *		An HTTP server for metrics and health checks.
 */
#include "scrape/scrape_pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "http_server/server.h"
#include "http_server/service.h"
#include "metrics/writer_figures.h"
#include "program/stop_signals.h"

#define KB			((size_t) 1024)
#define CONNECTIONS 64
#define REQUESTS_S	100
#define IDLE_MS		60000

struct ScrapePages
{
	Host host; /* must be the first field, so that services can find the others from it */
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

/* Adds the numbers of jobs and targets. */
static void
add_targets(Figures *figures, const Scraper *scraper)
{
	TargetCounts counts = { 0 };

	scraper_each_run(scraper, count_run, &counts);
	figures_add_gauge(figures, "jobs", "Jobs, including those of ParcaScrapeConfigs.", counts.jobs);
	figures_add_gauge(figures, "targets_up",
					  "Pairs of target and profile whose last scrape succeeded.",
					  counts.by_health[TARGET_UP]);
	figures_add_gauge(figures, "targets_down",
					  "Pairs of target and profile whose last scrape failed.",
					  counts.by_health[TARGET_DOWN]);
	figures_add_gauge(figures, "targets_unknown",
					  "Pairs of target and profile that were not scraped yet.",
					  counts.by_health[TARGET_UNKNOWN]);
	figures_add_gauge(figures, "targets_dropped", "Discovered targets that rules drop.",
					  counts.dropped);
	figures_add_gauge(figures, "targets_invalid", "Discovered targets that make no URL.",
					  counts.invalid);
}

/* Adds the counters of scrapes. */
static void
add_scrapes(Figures *figures, const Scraper *scraper)
{
	const FetcherStats *stats = &scraper->fetcher.stats;

	figures_add_counter(figures, "scrapes_total", "Scrapes that ended.", stats->scrapes);
	figures_add_counter(figures, "scrapes_failed_total", "Scrapes that failed.", stats->failed);
	figures_add_counter(figures, "scrapes_skipped_total",
						"Scrapes skipped because the one before still ran.", stats->skipped);
	figures_add_counter(figures, "waits_total", "How often a due scrape found all requests in use.",
						stats->waited);
	figures_add_counter(figures, "samples_total", "Samples in decoded profiles.", stats->samples);
	figures_add_gauge(figures, "requests", "Requests that hold one of --max-concurrent slots.",
					  scraper->fetcher.running);
	figures_add_gauge(figures, "requests_sampling",
					  "Requests of deltas whose answers have not begun.", scraper->fetcher.silent);
	figures_add_gauge(figures, "requests_slow", "Requests that have exceeded the time of a slot.",
					  scraper->fetcher.slow);
	figures_add_gauge(figures, "held_bytes", "Bytes of answers that wait to be decoded.",
					  http_client_held(scraper->client));
}

static void
add_configuration(Figures *figures, const Scraper *scraper)
{
	figures_add_counter(figures, "reloads_total", "Successful reloads of the configuration.",
						scraper->reloads);
	figures_add_counter(figures, "reloads_failed_total",
						"Reloads that failed and kept the old configuration.",
						scraper->reloads_failed);
	figures_add_gauge(figures, "config_good",
					  "1 if the configuration that was read last is in use.", scraper->config_good);
	figures_add_counter(figures, "resources_refused_total",
						"ParcaScrapeConfigs that could not be read.",
						operator_jobs_refused(scraper->operator_jobs));
}

static void
scrape_fill_figures(void *context, Figures *figures)
{
	const Scraper *scraper = context;
	WriterStats writer;

	writer_stats(scraper->writer, &writer);
	add_targets(figures, scraper);
	add_scrapes(figures, scraper);
	add_configuration(figures, scraper);
	writer_figures_add(figures, &writer);
}

static void
page_scrape_metrics(Host *host, Call *call)
{
	page_figures(call, "scrape", scrape_fill_figures, ((ScrapePages *) host)->scraper);
}

void
scrape_publish_figures(Scraper *scraper)
{
	Figures figures = { .count = 0 };

	scrape_fill_figures(scraper, &figures);
	figures_publish(&scraper->figures, &figures);
}

/* --- the server --- */

static const Service services[] = {
	{ "/-/healthy", "GET", .is_open = true, .answer = page_healthy },
	{ "/-/ready", "GET", .is_open = true, .answer = page_ready },
	{ "/metrics", "GET", .is_open = true, .answer = page_scrape_metrics },
};

static const ServiceTable table = { services, sizeof(services) / sizeof(services[0]), NULL, NULL,
									NULL };

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
	/* The loop waits for one descriptor, which stands for signals and the server. */
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
		return failure_out_of_memory(failure);
	/* The answers are small, so small limits suffice. */
	(*pages)->options = (HostOptions){ .module = "scrape",
									   .listen = scraper->options->listen,
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
	/* The loop has waited already. */
	if (pages != NULL)
		server_turn(&pages->server, 0);
}
