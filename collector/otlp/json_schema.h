/*
 * json_schema.h
 *		Names and numbers of the fields of requests.
 */
#ifndef COLLECTOR_OTLP_JSON_SCHEMA_H
#define COLLECTOR_OTLP_JSON_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

typedef enum JsonKind
{
	JSON_STRING,
	JSON_NUMBER, /* varint, signed or not */
	JSON_UNSIGNED,
	JSON_ENUM,	  /* a number, or one of names */
	JSON_FIXED64, /* a time */
	JSON_BOOL,
	JSON_DOUBLE,
	JSON_TEMPORALITY, /* number, or name of OTLP 1.8's AggregationTemporality */
	JSON_BASE64,
	JSON_ID, /* hexadecimal if it has as many digits as an id, otherwise base64 */
	JSON_MESSAGE,
	JSON_TOO_OLD /* the name exists only in versions that are refused */
} JsonKind;

typedef struct JsonMessage JsonMessage;

typedef struct JsonField
{
	const char *name; /* lowerCamelCase; NULL ends a list */
	uint8_t number;
	JsonKind kind;
	bool repeated; /* repeated numbers are packed */
	const JsonMessage *message;
	const char *const *names; /* names of a JSON_ENUM, by number; ends with NULL */
} JsonField;

struct JsonMessage
{
	const JsonField *fields;
};

extern const JsonMessage json_request;	   /* OTLP's ExportProfilesServiceRequest */
extern const JsonMessage json_write_raw;   /* Parca's WriteRawRequest */
extern const JsonMessage json_push;		   /* Pyroscope's PushRequest */
extern const JsonMessage json_write_arrow; /* Parca's WriteArrowRequest */

#endif
