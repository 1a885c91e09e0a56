/*
 * json.h
 *		Converts JSON to the protobuf that it represents; for OTLP in the layout of 1.10.
 *
 * JSON contains field names, so JSON of 1.8 and 1.9 is read as well. Keys are lowerCamelCase or
 * snake_case; unknown keys are skipped; 64-bit numbers are strings or numbers; ids are hexadecimal,
 * and a profile's id may be base64. No tree is built: the result needs at most JSON_GROWTH times
 * the memory of the text.
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
 * Returns a message's protobuf, which the caller frees, and which is charged to memory (NULL: not
 * charged). On failure returns NULL with *error, a literal, and the *offset of the byte; *error is
 * NULL if out of memory.
 */
uint8_t *json_to_protobuf(Span text, const JsonMessage *message, MemoryShare *memory,
						  size_t *length, const char **error, size_t *offset);

#endif
