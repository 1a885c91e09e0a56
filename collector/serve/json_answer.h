/*
 * json_answer.h
 *		Writes the JSON of a protobuf message by protobuf's JSON mapping: 64-bit numbers become
 *		texts, names are lowerCamelCase, absent fields are left out.
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
