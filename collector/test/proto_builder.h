/*
 * proto_builder.h
 *		Writes protobuf messages, field by field, for tests of their readers.
 */
#ifndef COLLECTOR_TEST_PROTO_BUILDER_H
#define COLLECTOR_TEST_PROTO_BUILDER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "otlp/message.h"

#define PROTO_BYTES_MAX 32768

typedef struct Proto
{
	uint8_t bytes[PROTO_BYTES_MAX];
	size_t length;
} Proto;

static inline void
proto_byte(Proto *proto, uint8_t byte)
{
	if (proto->length == sizeof(proto->bytes))
		abort();
	proto->bytes[proto->length++] = byte;
}

static inline void
proto_varint(Proto *proto, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		proto_byte(proto, (uint8_t) (value | 0x80));
	proto_byte(proto, (uint8_t) value);
}

static inline void
proto_number(Proto *proto, unsigned field, uint64_t value)
{
	proto_varint(proto, field << 3 | PFS_WIRE_VARINT);
	proto_varint(proto, value);
}

static inline void
proto_fixed(Proto *proto, unsigned field, uint64_t value)
{
	proto_varint(proto, field << 3 | PFS_WIRE_64_BITS);
	for (unsigned i = 0; i < sizeof(value); i++)
		proto_byte(proto, (uint8_t) (value >> 8 * i));
}

static inline void
proto_bytes(Proto *proto, unsigned field, const void *bytes, size_t length)
{
	const uint8_t *from = bytes;

	proto_varint(proto, field << 3 | PFS_WIRE_BYTES);
	proto_varint(proto, length);
	for (size_t i = 0; i < length; i++)
		proto_byte(proto, from[i]);
}

static inline void
proto_text(Proto *proto, unsigned field, const char *text)
{
	proto_bytes(proto, field, text, strlen(text));
}

static inline void
proto_message(Proto *proto, unsigned field, const Proto *message)
{
	proto_bytes(proto, field, message->bytes, message->length);
}

/* Appends a packed list of count numbers of type int. */
static inline void
proto_list(Proto *proto, unsigned field, int count, ...)
{
	Proto list = { .length = 0 };
	va_list numbers;

	va_start(numbers, count);
	for (int i = 0; i < count; i++)
		proto_varint(&list, (uint64_t) (int64_t) va_arg(numbers, int));
	va_end(numbers);
	proto_message(proto, field, &list);
}

/* Appends a packed list of numbers of 64 bits each. */
static inline void
proto_fixed_list(Proto *proto, unsigned field, const uint64_t *numbers, size_t count)
{
	Proto list = { .length = 0 };

	for (size_t i = 0; i < count; i++)
		for (unsigned byte = 0; byte < sizeof(numbers[i]); byte++)
			proto_byte(&list, (uint8_t) (numbers[i] >> 8 * byte));
	proto_message(proto, field, &list);
}

/* Appends a message of two texts, its fields 1 and 2: a label's name and value. */
static inline void
proto_pair(Proto *proto, unsigned field, const char *name, const char *value)
{
	Proto pair = { .length = 0 };

	proto_text(&pair, 1, name);
	proto_text(&pair, 2, value);
	proto_message(proto, field, &pair);
}

static inline Span
proto_span(const Proto *proto)
{
	return (Span){ proto->bytes, proto->length };
}

#endif
