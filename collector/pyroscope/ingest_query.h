/*
 * ingest_query.h
 *		The query string of Pyroscope's /ingest: name and labels of an application, times, format.
 */
#ifndef COLLECTOR_PYROSCOPE_INGEST_QUERY_H
#define COLLECTOR_PYROSCOPE_INGEST_QUERY_H

#include <stdint.h>

#include "base/arena.h"
#include "formats/profile.h"

#define INGEST_SAMPLE_RATE 100 /* samples per second of clients that send no rate */

typedef struct IngestQuery
{
	PfsText app;	/* part of the parameter "name" before its labels */
	PfsText labels; /* labels between the braces of "name", for ingest_next_label() */
	PfsText spy;	/* "spyName"; "" if absent */
	PfsText format; /* "" if absent */
	bool has_from;
	int64_t from_us; /* microseconds since 1970; 0 if absent */
	int64_t until_us;
	int64_t sample_rate; /* samples per second; 0: values are not counts of samples */
} IngestQuery;

/*
 * Reads a query string, without its "?". Texts are copied into the arena. Returns NULL; on failure
 * a literal, the reason of the refusal.
 */
const char *ingest_query_read(IngestQuery *query, PfsText text, int64_t now_us, Arena *arena);

/*
 * Removes the first label from *labels. Returns false if there is none. Clients do not escape
 * commas, so a part without "=" belongs to the value before it.
 */
bool ingest_next_label(PfsText *labels, PfsText *key, PfsText *value);

#endif
