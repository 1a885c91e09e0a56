/*
 * multipart.h
 *		Finds the parts of a body of type multipart/form-data, without copying them.
 */
#ifndef COLLECTOR_PYROSCOPE_MULTIPART_H
#define COLLECTOR_PYROSCOPE_MULTIPART_H

#include "otlp/message.h"

#define MULTIPART_BOUNDARY_MAX 70 /* limit of RFC 2046 */
#define MULTIPART_PARTS_MAX	   16

typedef struct MultipartPart
{
	Span name;
	Span content;
} MultipartPart;

/*
 * A walk: after multipart_begin(), call multipart_next() while it returns true, and read the part
 * after each call.
 */
typedef struct Multipart
{
	Span rest; /* begins after a delimiter */
	char delimiter[MULTIPART_BOUNDARY_MAX + 5];
	size_t delimiter_length; /* length including CR LF before it */
	unsigned parts;
	const char *error; /* reason of a refusal; NULL: none */
} Multipart;

/* Returns true if a content type is multipart/form-data. */
bool is_multipart(const char *content_type);

void multipart_begin(Multipart *walk, Span body, const char *content_type);
bool multipart_next(Multipart *walk, MultipartPart *part);

#endif
