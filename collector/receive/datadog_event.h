/*
 * datadog_event.h
 *		The part "event" of a request of Datadog's tracers: who sends profiles, and of which time.
 */
#ifndef COLLECTOR_RECEIVE_DATADOG_EVENT_H
#define COLLECTOR_RECEIVE_DATADOG_EVENT_H

#include "otlp/message.h"
#include "pyroscope/series.h"

#define DATADOG_EVENT_BYTES ((size_t) 256 * 1024) /* limit of the part */

typedef struct DatadogEvent
{
	bool has_start;
	int64_t start_us; /* since 1970 */
	PyroscopeSeries series;
} DatadogEvent;

/*
 * Reads the JSON: its tags become the labels of a series, which lie in the arena. The tag service
 * is the label service_name; tags that name a process or versions of the runtime are left out.
 * Returns NULL, or the reason of a refusal.
 */
const char *datadog_event_read(DatadogEvent *event, Span json, Arena *arena,
							   const AttributeRule *rule, const char *tenant, const char *scope,
							   PfsAllocator allocator);

#endif
