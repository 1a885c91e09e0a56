/*
 * json_read.h
 *		Parses untrusted JSON within a limit of memory.
 *
 * Each object of jansson takes some 200 bytes, so three bytes of JSON may need a hundred times as
 * much memory. Therefore a limit of the text's length would not be enough.
 */
#ifndef COLLECTOR_JSON_READ_H
#define COLLECTOR_JSON_READ_H

#include <jansson.h>

#include "http_client/http_request.h"

#define JSON_READ_MB ((size_t) 1024 * 1024)

/*
 * Returns the value of the text, parsed by json_loadb() with these flags. Returns NULL, with a
 * sentence in *problem, if the text is not JSON or needs more than bytes_max of memory. bytes may
 * be NULL if length is 0.
 */
json_t *json_read(const char *bytes, size_t length, size_t flags, size_t bytes_max,
				  const char **problem);

/* Like json_read(), for the body of an answer. */
json_t *json_read_body(const HttpBody *body, size_t flags, size_t bytes_max, const char **problem);

#endif
