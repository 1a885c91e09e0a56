/*
 * options.c
 *		Table of flags.
 */
#include "scrape/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MB ((size_t) 1024 * 1024)

size_t
scrape_flags(ScrapeOptions *options, Flag *flags)
{
	const Flag own[] = {
		{ "config", FLAG_TEXT, &options->config_file, "FILE",
		  "what to scrape, as Parca's configuration says it; read again when it changes" },
		{ "node", FLAG_TEXT, &options->node, "NAME",
		  "name of this scraper; default: scrape@ and the host's" },
		{ "max-concurrent", FLAG_NUMBER, &options->concurrency, "NUMBER",
		  "requests to targets at once, without deltas that sample; default 512", 1,
		  SCRAPE_CONCURRENCY_MAX },
		{ "max-targets", FLAG_NUMBER, &options->targets_max, "NUMBER",
		  "targets, by profile; default 500000", 1, SCRAPE_TARGETS_MAX },
		{ "max-body", FLAG_SIZE, &options->body_max, "SIZE",
		  "of a profile as it is sent; default 16MB", 1024 },
		{ "max-profile", FLAG_SIZE, &options->profile_max, "SIZE",
		  "of a profile unpacked; default 32MB", 1024 },
		{ "max-held", FLAG_SIZE, &options->held_max, "SIZE",
		  "of profiles that wait to be decoded; default 128MB", 1024 },
		{ "max-age", FLAG_DURATION, &options->max_age_ms, "DURATION",
		  "older profiles are refused; default: 7d", 1000, 31622400000 },
		{ "queue-size", FLAG_SIZE, &options->queue_bytes, "SIZE",
		  "kept while the database is away; default 64MB" },
		{ "stop-timeout", FLAG_DURATION, &options->stop_timeout_ms, "TIME",
		  "for what is not stored yet, after a signal; default 25s", 1, 3600000 },
		{ "status", FLAG_TEXT, &options->status_file, "FILE",
		  "write every 5 s what the command health judges" },
		{ "listen", FLAG_TEXT, &options->listen, "ADDRESS,...",
		  "HOST:PORT of /metrics, /-/healthy, /-/ready; default: none" },
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
	if (gethostname(host, sizeof(host) - 1) != 0)
		strcpy(host, "localhost");
	snprintf(options->node_room, sizeof(options->node_room), "scrape@%s", host);
	options->node = options->node_room;
	flags[count++] = database_flag(&options->database);
	count += log_flags(&options->log, &flags[count]);
	return flags_append(flags, count, own, sizeof(own) / sizeof(own[0]));
}
