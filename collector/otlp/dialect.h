/*
 * dialect.h
 *		Determines which layout of OTLP's profiles a request has.
 *
 * Versions 1.8 to 1.11 have equal service, method and message names, but different field numbers.
 * An ordinary reader of one version accepts a request of another without an error, and takes, for
 * example, values for attributes. So the layout is determined from the wire types of the fields in
 * the whole request. Versions before 1.8 have the tables in other places, and are refused.
 */
#ifndef COLLECTOR_OTLP_DIALECT_H
#define COLLECTOR_OTLP_DIALECT_H

#include "otlp/message.h"

typedef enum Dialect
{
	DIALECT_1_8,
	DIALECT_1_9,
	DIALECT_1_10 /* also 1.11 */
} Dialect;

/* Field numbers that differ between layouts. */
typedef struct Layout
{
	const char *name;
	unsigned sample_values;
	unsigned sample_attributes;
	unsigned sample_link;
	unsigned profile_id;
	unsigned profile_dropped;
	unsigned profile_format;
	unsigned profile_payload;
	unsigned profile_attributes;
	unsigned profile_comments; /* 0: comments are attributes in this layout */
} Layout;

const Layout *dialect_layout(Dialect dialect);

/*
 * Finds the layout of a request. Returns false with *error if the request is too old, mixes several
 * layouts, or is not protobuf.
 */
bool dialect_of_request(Span request, Dialect *dialect, const char **error);

#endif
