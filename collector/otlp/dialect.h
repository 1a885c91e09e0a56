/*
 * dialect.h
 *		Which layout of OTLP's profiles a request has.
 *
 * Versions 1.8 to 1.11 share service, method and message names, but not field numbers, and
 * ordinary readers take one for another without an error: values become attributes. So the layout
 * is told by the wire types of what is there, over a whole request. Versions before 1.8 have the
 * tables in other places, and are refused.
 */
#ifndef COLLECTOR_OTLP_DIALECT_H
#define COLLECTOR_OTLP_DIALECT_H

#include "otlp/message.h"

typedef enum Dialect
{
	DIALECT_1_8,
	DIALECT_1_9,
	DIALECT_1_10 /* and 1.11 */
} Dialect;

/* Numbers of the fields that moved. */
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
	unsigned profile_comments; /* 0: they are attributes */
} Layout;

const Layout *dialect_layout(Dialect dialect);

/*
 * The layout of a request. False, with *error, where it is none that is read here: too old, of
 * several layouts at once, or no protobuf.
 */
bool dialect_of_request(Span request, Dialect *dialect, const char **error);

#endif
