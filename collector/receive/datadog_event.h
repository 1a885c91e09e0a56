/*
 * datadog_event.h
 *		The part "event" of a request of Datadog's tracers: the sender of profiles, and their time.
 */
#ifndef COLLECTOR_RECEIVE_DATADOG_EVENT_H
#define COLLECTOR_RECEIVE_DATADOG_EVENT_H

#include "otlp/message.h"
#include "pyroscope/series.h"

#define DATADOG_EVENT_BYTES ((size_t) 256 * 1024) /* limit of the part */

typedef struct DatadogEvent
{
	bool has_start;
	int64_t start_us; /* start of the profile, in microseconds since 1970 */
	PyroscopeSeries series;
} DatadogEvent;

/*
 * Reads the JSON. Its tags become labels of a series, stored in the arena. The tag "service"
 * becomes the label service_name; tags that name a process or versions of the runtime are left out.
 * Returns NULL; the reason if the event is refused.
 */
const char *datadog_event_read(DatadogEvent *event, Span json, Arena *arena,
							   const AttributeRule *rule, const char *tenant, const char *scope,
							   PfsAllocator allocator);

#endif
