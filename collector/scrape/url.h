/*
 * url.h
 *		The URL of a target, from labels.
 */
#ifndef COLLECTOR_SCRAPE_URL_H
#define COLLECTOR_SCRAPE_URL_H

#include "http_client/http_client.h"
#include "labels/label_builder.h"
#include "scrape/config.h"

/* "/prefix/path" with one slash between, in the builder's memory; NULL where there is none. */
char *scrape_join_path(LabelBuilder *builder, const char *prefix, const char *path);

/*
 * From __scheme__, __address__, __profile_path__, __param_NAME and the job's parameters, to be
 * freed by the caller. Completes __address__ by a port, and instance. NULL with error set where
 * these make no URL, or without where memory is out.
 */
char *scrape_make_url(LabelBuilder *builder, const ScrapeJob *job, const ProfileKind *profile,
					  char error[HTTP_ERROR_BYTES]);

#endif
