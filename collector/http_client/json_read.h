/*
 * json_read.h
 *		JSON that others send, read within a bound of memory.
 *
 * Each object of jansson takes some 200 bytes, so three bytes of JSON may become a hundred times as
 * much: a bound of the text does not bound the memory.
 */
#ifndef COLLECTOR_JSON_READ_H
#define COLLECTOR_JSON_READ_H

#include <jansson.h>

#include "http_client/http_request.h"

#define JSON_READ_MB ((size_t) 1024 * 1024)

/*
 * Returns the value that the text is, read by json_loadb() with these flags, or NULL if it is no
 * JSON or takes more than bytes_max in memory; *problem is a sentence about that then. bytes may be
 * NULL if length is 0.
 */
json_t *json_read(const char *bytes, size_t length, size_t flags, size_t bytes_max,
				  const char **problem);

/* Like json_read(), but of an answer's body. */
json_t *json_read_body(const HttpBody *body, size_t flags, size_t bytes_max, const char **problem);

#endif
