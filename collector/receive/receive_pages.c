/*
 * receive_pages.c
 *		/metrics, and gRPC's health service.
 */
#include <string.h>

#include "http_server/protobuf.h"
#include "otlp/message.h"
#include "receive/receiver.h"
#include "receive/services.h"

/* Values of grpc.health.v1.HealthCheckResponse. */
#define SERVING		1
#define NOT_SERVING 2

void
receiver_fill_figures(void *context, Figures *figures)
{
	Receiver *receiver = context;
	WriterStats stats;

	writer_stats(receiver->host.writer, &stats);
	/* The line counts a batch until it is stored, also while it is in the writer's queue. */
	stats.queued_bytes = store_line_bytes(&receiver->line);
	receive_metrics_add(&receiver->metrics, &receiver->host.metrics,
						atomic_load(&receiver->host.memory.used_bytes), &stats, figures);
}

void
page_metrics(Host *host, Call *call)
{
	page_figures(call, "receive", receiver_fill_figures, receiver_of(host));
}

/* Returns true for "", the name of the whole server, and for the name of each service. */
static bool
is_service(Span name)
{
	static const char *const names[] = {
		"", "opentelemetry.proto.collector.profiles.v1development.ProfilesService",
		"parca.profilestore.v1alpha1.ProfileStoreService", "push.v1.PusherService"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == name.length && memcmp(names[i], name.bytes, name.length) == 0)
			return true;
	return false;
}

void
health_check(Host *host, Call *call)
{
	Message message = message_of((Span){ call->body, call->body_length });
	Span name = { (const uint8_t *) "", 0 };

	while (message_next(&message))
		if (field_is_message(&message.field, 1))
			name = field_span(&message.field);
	if (!is_service(name))
	{
		call_fail(call, GRPC_NOT_FOUND, "there is no such service");
		return;
	}
	buffer_put_number(&call->answer.body, 1, host_is_ready(host) ? SERVING : NOT_SERVING);
}
