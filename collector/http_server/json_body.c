/*
 * json_body.c
 *		Converts the body of a call.
 */
#include "http_server/json_body.h"

#include <stdlib.h>

JsonBodyEnd
json_body_read(Call *call, const JsonMessage *schema)
{
	const Span text = { call->body, call->body_length };
	const char *error;
	size_t length;
	size_t offset;
	uint8_t *protobuf = json_to_protobuf(text, schema, call->memory, &length, &error, &offset);

	/* Without a reason, the conversion ran out of memory. */
	if (protobuf == NULL && error == NULL)
		return JSON_BODY_NO_MEMORY;
	if (protobuf == NULL)
	{
		call_fail_with(call, GRPC_INVALID_ARGUMENT, "invalid JSON: %s, at byte %zu", error, offset);
		return JSON_BODY_INVALID;
	}
	free(call->body);
	call->body = protobuf;
	call->body_length = call->body_capacity = length;
	return JSON_BODY_READ;
}
