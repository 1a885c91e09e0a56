/*
 * json_answer.h
 *		Writes the JSON of a protobuf message, as protobuf's JSON mapping has it: 64-bit numbers
 *		as texts, names in lowerCamelCase, nothing for fields that are absent.
 */
#ifndef COLLECTOR_SERVE_JSON_ANSWER_H
#define COLLECTOR_SERVE_JSON_ANSWER_H

#include "database/wire.h"
#include "otlp/json_schema.h"
#include "otlp/message.h"

/* Appends a text in quotes. */
void json_put_text(Buffer *out, Span text);

/* Appends a message, whose fields the schema lists. Returns false if its bytes are malformed. */
bool json_put_message(Buffer *out, Span span, const JsonMessage *message);

#endif
