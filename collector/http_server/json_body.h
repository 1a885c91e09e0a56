/*
 * json_body.h
 *		Reads a request of JSON as its protobuf.
 */
#ifndef COLLECTOR_HTTP_SERVER_JSON_BODY_H
#define COLLECTOR_HTTP_SERVER_JSON_BODY_H

#include "http_server/call.h"
#include "otlp/json.h"

typedef enum JsonBodyEnd
{
	JSON_BODY_READ,
	JSON_BODY_INVALID, /* the body was invalid, and the call has been answered */
	JSON_BODY_NO_MEMORY
} JsonBodyEnd;

/* Replaces the JSON body of a call by the equivalent protobuf. On failure the body is unchanged. */
JsonBodyEnd json_body_read(Call *call, const JsonMessage *schema);

#endif
