/*
 * protobuf.h
 *		Appends fields of protobuf messages to a buffer.
 */
#ifndef COLLECTOR_HTTP_SERVER_PROTOBUF_H
#define COLLECTOR_HTTP_SERVER_PROTOBUF_H

#include "database/wire.h"
#include "formats/wire_write.h"

static inline void
buffer_put_number(Buffer *buffer, unsigned field, uint64_t value)
{
	char bytes[PFS_WIRE_FIELD_MAX];

	buffer_put_bytes(buffer, bytes, (size_t) (pfs_wire_put_number(bytes, field, value) - bytes));
}

/* Appends a text or a message. */
static inline void
buffer_put_field(Buffer *buffer, unsigned field, const void *bytes, size_t length)
{
	char head[PFS_WIRE_FIELD_MAX];

	buffer_put_bytes(buffer, head, (size_t) (pfs_wire_put_head(head, field, length) - head));
	buffer_put_bytes(buffer, bytes, length);
}

#endif
