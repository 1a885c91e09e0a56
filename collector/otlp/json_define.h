/*
 * json_define.h
 *		Macros that define the fields of messages (json_schema.h), for the files that have schemas.
 */
#ifndef COLLECTOR_OTLP_JSON_DEFINE_H
#define COLLECTOR_OTLP_JSON_DEFINE_H

#include <stddef.h>

#define ONE(name, number, kind)               \
	{                                         \
		name, number, kind, false, NULL, NULL \
	}
#define LIST(name, number, kind)             \
	{                                        \
		name, number, kind, true, NULL, NULL \
	}
#define CHOICE(name, number, names)                 \
	{                                               \
		name, number, JSON_ENUM, false, NULL, names \
	}
#define MESSAGE(name, number, message)                   \
	{                                                    \
		name, number, JSON_MESSAGE, false, message, NULL \
	}
#define MESSAGES(name, number, message)                 \
	{                                                   \
		name, number, JSON_MESSAGE, true, message, NULL \
	}
#define TOO_OLD(name)                            \
	{                                            \
		name, 0, JSON_TOO_OLD, false, NULL, NULL \
	}
#define END                                     \
	{                                           \
		NULL, 0, JSON_STRING, false, NULL, NULL \
	}
#define DEFINE(name, ...)                                          \
	static const JsonField name##_fields[] = { __VA_ARGS__, END }; \
	static const JsonMessage name = { name##_fields }

#endif
