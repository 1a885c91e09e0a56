/*
 * scrape_options.c
 *		Table of the flags of scrape.
 */
#include "scrape/scrape_options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MB ((size_t) 1024 * 1024)

size_t
scrape_flags(ScrapeOptions *options, Flag *flags)
{
	const Flag own[] = {
		{ "config", FLAG_TEXT, &options->config_file, "FILE",
		  "configuration in Parca's format; reloaded when it changes" },
		{ "node", FLAG_TEXT, &options->node, "NAME", "name of this scraper; default: scrape@HOST" },
		{ "max-concurrent", FLAG_NUMBER, &options->concurrency, "NUMBER",
		  "concurrent requests to targets, not counting deltas that sample; default 512", 1,
		  SCRAPE_CONCURRENCY_MAX },
		{ "max-targets", FLAG_NUMBER, &options->targets_max, "NUMBER",
		  "limit of targets, of which each profile counts; default 500000", 1, SCRAPE_TARGETS_MAX },
		{ "max-body", FLAG_SIZE, &options->body_max, "SIZE",
		  "limit of a profile as sent; default 16MB", 1024 },
		{ "max-profile", FLAG_SIZE, &options->profile_max, "SIZE",
		  "limit of a profile after decompression; default 32MB", 1024 },
		{ "max-held", FLAG_SIZE, &options->held_max, "SIZE",
		  "limit of all profiles that wait to be decoded; default 128MB", 1024 },
		{ "max-age", FLAG_DURATION, &options->max_age_ms, "DURATION",
		  "refuse older profiles; default: 7d", 1000, 31622400000 },
		{ "queue-size", FLAG_SIZE, &options->queue_bytes, "SIZE",
		  "memory for batches while the database is not available; default 64MB" },
		{ "stop-timeout", FLAG_DURATION, &options->stop_timeout_ms, "TIME",
		  "time to store remaining batches after a signal; default 25s", 1, 3600000 },
		{ "status", FLAG_TEXT, &options->status_file, "FILE",
		  "file for the command health, written every 5 s" },
		{ "listen", FLAG_TEXT, &options->listen, "ADDRESS,...",
		  "HOST:PORT of /metrics, /-/healthy, /-/ready; default: none" },
		{ "metrics-listen", FLAG_TEXT, &options->listen, "ADDRESS,...",
		  "another name of --listen, as the agent has it" },
	};
	char host[256] = "localhost";
	size_t count = 0;

	*options = (ScrapeOptions){ .concurrency = 512,
								.targets_max = 500000,
								.body_max = 16 * MB,
								.profile_max = 32 * MB,
								.max_age_ms = INT64_C(7) * 86400000,
								.held_max = 128 * MB,
								.queue_bytes = 64 * MB,
								.stop_timeout_ms = 25000 };
	/* If gethostname() fails, it may have written a part of the name. */
	if (gethostname(host, sizeof(host) - 1) != 0)
		strcpy(host, "localhost");
	snprintf(options->node_room, sizeof(options->node_room), "scrape@%s", host);
	options->node = options->node_room;
	flags[count++] = database_flag(&options->database);
	count += log_flags(&options->log, &flags[count]);
	count += spool_flags(&options->spool, &flags[count]);
	return flags_append(flags, count, own, sizeof(own) / sizeof(own[0]));
}
