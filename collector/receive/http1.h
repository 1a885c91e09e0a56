/*
 * http1.h
 *		HTTP/1.1, as far as it is needed: one request at a time, the next is looked at when the
 *		answer is sent.
 */
#ifndef COLLECTOR_RECEIVE_HTTP1_H
#define COLLECTOR_RECEIVE_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "receive/call.h"

#define HTTP1_HEAD_MAX 16384
#define HTTP1_IN_MAX   (128 * 1024) /* what came behind a request that is not answered yet */

typedef enum Http1State
{
	HTTP1_HEAD,
	HTTP1_LENGTH,	  /* a body of so many bytes */
	HTTP1_CHUNK_SIZE, /* a line */
	HTTP1_CHUNK,
	HTTP1_CHUNK_END,
	HTTP1_TRAILERS,
	HTTP1_WAIT /* for the answer */
} Http1State;

typedef struct Http1
{
	Http1State state;
	Buffer in;
	size_t at; /* read so far */
	uint64_t left;
	size_t head_bytes; /* of trailers and sizes of chunks */
	Call *call;
	bool keeps_alive;
} Http1;

struct Connection;

/* Bytes that came. */
void http1_read(struct Connection *connection, const uint8_t *bytes, size_t length);
void http1_answer(struct Connection *connection, Call *call);

/* What came behind a request, now that it is answered. */
void http1_go_on(struct Connection *connection);
void http1_fini(Http1 *http1);

#endif
