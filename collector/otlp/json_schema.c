/*
 * json_schema.c
 *		Fields of the messages of a request, in the layout of 1.10. Names of 1.8 that were
 *		changed later (sample, line) are listed beside the new ones.
 */
#include "otlp/json_schema.h"

#include "otlp/json_define.h"

static const JsonMessage any_value;
static const JsonMessage key_value;

DEFINE(array_value, MESSAGES("values", 1, &any_value));
DEFINE(key_value_list, MESSAGES("values", 1, &key_value));
DEFINE(any_value, ONE("stringValue", 1, JSON_STRING), ONE("boolValue", 2, JSON_BOOL),
	   ONE("intValue", 3, JSON_NUMBER), ONE("doubleValue", 4, JSON_DOUBLE),
	   MESSAGE("arrayValue", 5, &array_value), MESSAGE("kvlistValue", 6, &key_value_list),
	   ONE("bytesValue", 7, JSON_BASE64), ONE("stringValueStrindex", 8, JSON_NUMBER));
DEFINE(key_value, ONE("key", 1, JSON_STRING), MESSAGE("value", 2, &any_value),
	   ONE("keyStrindex", 3, JSON_NUMBER));
DEFINE(resource, MESSAGES("attributes", 1, &key_value),
	   ONE("droppedAttributesCount", 2, JSON_NUMBER));
DEFINE(scope, ONE("name", 1, JSON_STRING), ONE("version", 2, JSON_STRING),
	   MESSAGES("attributes", 3, &key_value), ONE("droppedAttributesCount", 4, JSON_NUMBER));
DEFINE(value_type, ONE("typeStrindex", 1, JSON_NUMBER), ONE("unitStrindex", 2, JSON_NUMBER),
	   ONE("aggregationTemporality", 3, JSON_TEMPORALITY));
DEFINE(sample, ONE("stackIndex", 1, JSON_NUMBER), LIST("attributeIndices", 2, JSON_NUMBER),
	   ONE("linkIndex", 3, JSON_NUMBER), LIST("values", 4, JSON_NUMBER),
	   LIST("timestampsUnixNano", 5, JSON_FIXED64), TOO_OLD("locationsStartIndex"),
	   TOO_OLD("locationsLength"), TOO_OLD("locationIndex"));
DEFINE(profile, MESSAGE("sampleType", 1, &value_type), MESSAGES("samples", 2, &sample),
	   MESSAGES("sample", 2, &sample), ONE("timeUnixNano", 3, JSON_FIXED64),
	   ONE("durationNano", 4, JSON_NUMBER), MESSAGE("periodType", 5, &value_type),
	   ONE("period", 6, JSON_NUMBER), ONE("profileId", 7, JSON_ID),
	   ONE("droppedAttributesCount", 8, JSON_NUMBER), ONE("originalPayloadFormat", 9, JSON_STRING),
	   ONE("originalPayload", 10, JSON_BASE64), LIST("attributeIndices", 11, JSON_NUMBER),
	   TOO_OLD("locationIndices"), TOO_OLD("locationTable"));
DEFINE(scope_profiles, MESSAGE("scope", 1, &scope), MESSAGES("profiles", 2, &profile),
	   ONE("schemaUrl", 3, JSON_STRING));
DEFINE(resource_profiles, MESSAGE("resource", 1, &resource),
	   MESSAGES("scopeProfiles", 2, &scope_profiles), ONE("schemaUrl", 3, JSON_STRING));
DEFINE(mapping, ONE("memoryStart", 1, JSON_NUMBER), ONE("memoryLimit", 2, JSON_NUMBER),
	   ONE("fileOffset", 3, JSON_NUMBER), ONE("filenameStrindex", 4, JSON_NUMBER),
	   LIST("attributeIndices", 5, JSON_NUMBER));
DEFINE(line, ONE("functionIndex", 1, JSON_NUMBER), ONE("line", 2, JSON_NUMBER),
	   ONE("column", 3, JSON_NUMBER));
DEFINE(location, ONE("mappingIndex", 1, JSON_NUMBER), ONE("address", 2, JSON_NUMBER),
	   MESSAGES("lines", 3, &line), MESSAGES("line", 3, &line),
	   LIST("attributeIndices", 4, JSON_NUMBER));
DEFINE(function, ONE("nameStrindex", 1, JSON_NUMBER), ONE("systemNameStrindex", 2, JSON_NUMBER),
	   ONE("filenameStrindex", 3, JSON_NUMBER), ONE("startLine", 4, JSON_NUMBER));
DEFINE(link, ONE("traceId", 1, JSON_ID), ONE("spanId", 2, JSON_ID));
DEFINE(attribute, ONE("keyStrindex", 1, JSON_NUMBER), MESSAGE("value", 2, &any_value),
	   ONE("unitStrindex", 3, JSON_NUMBER));
DEFINE(stack, LIST("locationIndices", 1, JSON_NUMBER));
DEFINE(dictionary, MESSAGES("mappingTable", 1, &mapping), MESSAGES("locationTable", 2, &location),
	   MESSAGES("functionTable", 3, &function), MESSAGES("linkTable", 4, &link),
	   LIST("stringTable", 5, JSON_STRING), MESSAGES("attributeTable", 6, &attribute),
	   MESSAGES("stackTable", 7, &stack));

static const JsonField request_fields[] = { MESSAGES("resourceProfiles", 1, &resource_profiles),
											MESSAGE("dictionary", 2, &dictionary), END };

const JsonMessage json_request = { request_fields };

DEFINE(raw_label, ONE("name", 1, JSON_STRING), ONE("value", 2, JSON_STRING));
DEFINE(raw_labels, MESSAGES("labels", 1, &raw_label));
DEFINE(raw_sample, ONE("rawProfile", 1, JSON_BASE64));
DEFINE(raw_series, MESSAGE("labels", 1, &raw_labels), MESSAGES("samples", 2, &raw_sample));

static const JsonField write_raw_fields[] = { MESSAGES("series", 2, &raw_series),
											  ONE("normalized", 3, JSON_BOOL), END };

const JsonMessage json_write_raw = { write_raw_fields };

DEFINE(push_series, MESSAGES("labels", 1, &raw_label), MESSAGES("samples", 2, &raw_sample));

static const JsonField push_fields[] = { MESSAGES("series", 1, &push_series), END };

const JsonMessage json_push = { push_fields };

static const JsonField write_arrow_fields[] = { ONE("ipcBuffer", 1, JSON_BASE64), END };

const JsonMessage json_write_arrow = { write_arrow_fields };
