/*
 * json.h
 *		JSON as the protobuf that it stands for; OTLP's in the layout of 1.10.
 *
 * Names say what the numbers of older layouts do not, so JSON of 1.8 and 1.9 is read as well. Keys
 * are lowerCamelCase or snake_case, unknown ones are passed over; 64-bit numbers are strings or
 * numbers; ids are hexadecimal, a profile's id base64 too. There is no tree in between: memory is
 * the result's, at most JSON_GROWTH times the text.
 */
#ifndef COLLECTOR_OTLP_JSON_H
#define COLLECTOR_OTLP_JSON_H

#include <stdbool.h>

#include "base/memory_share.h"
#include "otlp/json_schema.h"
#include "otlp/message.h"

#define JSON_GROWTH	   5
#define JSON_DEPTH_MAX 64

/*
 * A message's protobuf, to be freed by the caller, charged to memory (NULL: to none). NULL with
 * *error, a static text, and *offset of the byte; *error is NULL where memory is out.
 */
uint8_t *json_to_protobuf(Span text, const JsonMessage *message, MemoryShare *memory,
						  size_t *length, const char **error, size_t *offset);

#endif
