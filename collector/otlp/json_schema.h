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
	JSON_NUMBER,  /* a varint, signed or not */
	JSON_FIXED64, /* time */
	JSON_BOOL,
	JSON_DOUBLE,
	JSON_TEMPORALITY, /* a number, or a name of OTLP 1.8's AggregationTemporality */
	JSON_BASE64,
	JSON_ID, /* hexadecimal of so many digits as an id has, else base64 */
	JSON_MESSAGE,
	JSON_TOO_OLD /* a name that only refused versions have */
} JsonKind;

typedef struct JsonMessage JsonMessage;

typedef struct JsonField
{
	const char *name; /* lowerCamelCase; NULL ends a list */
	uint8_t number;
	JsonKind kind;
	bool repeated; /* numbers are packed then */
	const JsonMessage *message;
} JsonField;

struct JsonMessage
{
	const JsonField *fields;
};

extern const JsonMessage json_request;	   /* OTLP's ExportProfilesServiceRequest */
extern const JsonMessage json_write_raw;   /* Parca's WriteRawRequest */
extern const JsonMessage json_write_arrow; /* its WriteArrowRequest */

#endif
