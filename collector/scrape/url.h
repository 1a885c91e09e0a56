/*
 * url.h
 *		Builds a target's URL from labels.
 */
#ifndef COLLECTOR_SCRAPE_URL_H
#define COLLECTOR_SCRAPE_URL_H

#include "http_client/http_client.h"
#include "labels/label_builder.h"
#include "scrape/config.h"

/*
 * Returns "/prefix/path" with one slash in between, in the builder's memory; NULL on out of memory.
 */
char *scrape_join_path(LabelBuilder *builder, const char *prefix, const char *path);

/*
 * Builds the URL from __scheme__, __address__, __profile_path__, __param_NAME and the job's
 * parameters; the caller frees it. Adds the default port to __address__ and sets instance, if they
 * are missing. Returns NULL with error set if the labels make no URL; NULL with error "" on out of
 * memory.
 */
char *scrape_make_url(LabelBuilder *builder, const ScrapeJob *job, const ProfileKind *profile,
					  char error[HTTP_ERROR_BYTES]);

#endif
