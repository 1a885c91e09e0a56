/*
 * service.c
 *		Finds the service of a path, and contains the pages for health checks.
 */
#include "http_server/service.h"

#include <string.h>

#include "metrics/metrics_text.h"

#define PLAIN "text/plain; charset=utf-8"

const Service *
service_find(const ServiceTable *table, const char *path, bool is_grpc)
{
	for (size_t i = 0; i < table->count; i++)
	{
		const Service *service = &table->items[i];

		if (service->is_grpc == is_grpc &&
			(service->is_prefix ? strncmp(service->path, path, strlen(service->path)) == 0
								: strcmp(service->path, path) == 0))
			return service;
	}
	return NULL;
}

static void
service_say(Call *call, int status, const char *text)
{
	call->answer.http_status = status;
	call->answer.content = PLAIN;
	buffer_put_bytes(&call->answer.body, text, strlen(text));
}

bool
host_is_ready(Host *host)
{
	WriterStats stats;

	writer_stats(host->writer, &stats);
	/* With a spool, requests are accepted without the database. */
	return stats.state == RETRY_READY || host->options->acknowledge == ACKNOWLEDGE_SPOOL;
}

void
page_healthy(Host *host, Call *call)
{
	service_say(call, 200, "alive\n");
}

void
page_ready(Host *host, Call *call)
{
	if (host_is_ready(host))
		service_say(call, 200, "ready\n");
	else
		service_say(call, 503, "the database is not available\n");
}

void
page_figures(Call *call, const char *part, FiguresFill fill, void *context)
{
	Figures figures = { .count = 0 };

	fill(context, &figures);
	call->answer.http_status = 200;
	call->answer.content = call->accepts_open ? METRICS_OPEN_CONTENT : METRICS_CONTENT;
	metrics_print(&call->answer.body, part, &figures, call->accepts_open);
}
