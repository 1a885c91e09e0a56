/*
 * http1.c
 *		Parses requests incrementally. A malformed request is answered, and the connection
 *		closed.
 */
#include "http_server/http1.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>

#include "http_server/intake.h"

#define HEAD_MAX 16384
/* limit of the input that is kept after a request without an answer */
#define IN_MAX	 (128 * 1024)
#define VERSION	 "HTTP/1.1 " /* beginning of every answer */

typedef enum Http1State
{
	HTTP1_HEAD,
	HTTP1_LENGTH,	  /* the body has a content length */
	HTTP1_CHUNK_SIZE, /* the line with a chunk's size */
	HTTP1_CHUNK,
	HTTP1_CHUNK_END,
	HTTP1_TRAILERS,
	HTTP1_WAIT,	 /* waiting for the answer */
	HTTP1_ANSWER /* sending the body of an answer that is larger than CONNECTION_OUT_MAX */
} Http1State;

typedef struct Http1
{
	Http1State state;
	Buffer in;
	size_t at; /* bytes parsed so far */
	uint64_t left;
	Call *call;
	bool keeps_alive;
	bool is_probed; /* VERSION was sent already, before the rest of the answer */
} Http1;

/* --- answers --- */

static void
http1_put_text(Buffer *out, const char *text)
{
	buffer_put_bytes(out, text, strlen(text));
}

static const char *
status_text(int status)
{
	switch (status)
	{
		case 200:
			return "OK";
		case 400:
			return "Bad Request";
		case 401:
			return "Unauthorized";
		case 403:
			return "Forbidden";
		case 404:
			return "Not Found";
		case 405:
			return "Method Not Allowed";
		case 409:
			return "Conflict";
		case 412:
			return "Precondition Failed";
		case 413:
			return "Content Too Large";
		case 415:
			return "Unsupported Media Type";
		case 429:
			return "Too Many Requests";
		case 431:
			return "Request Header Fields Too Large";
		case 501:
			return "Not Implemented";
		case 503:
			return "Service Unavailable";
		case 504:
			return "Gateway Timeout";
		default:
			return "Internal Server Error";
	}
}

/*
 * Sends status line and headers of an answer, without VERSION if http1_probe() has sent that
 * already.
 */
static void
put_head(Connection *connection, const Call *call, size_t length)
{
	char line[256];
	int status = call_http_status(call);

	snprintf(line, sizeof(line), "%s%d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n",
			 connection->http1->is_probed ? "" : VERSION, status, status_text(status),
			 call_answer_type(call), length);
	connection->http1->is_probed = false;
	http1_put_text(&connection->out, line);
	if (call->answer.retry_s > 0)
	{
		snprintf(line, sizeof(line), "Retry-After: %d\r\n", call->answer.retry_s);
		http1_put_text(&connection->out, line);
	}
	/* HTTP requires this header with status 401. */
	if (status == 401)
		http1_put_text(&connection->out, connection->loop->options->passes_login
											 ? "WWW-Authenticate: Basic realm=\"database\"\r\n"
											 : "WWW-Authenticate: Bearer\r\n");
	if (!connection->http1->keeps_alive)
		http1_put_text(&connection->out, "Connection: close\r\n");
	http1_put_text(&connection->out, "\r\n");
}

/* Ends the current request, whose answer is in the output. */
static void
http1_end_answer(Connection *connection)
{
	Http1 *http1 = connection->http1;
	Call *call = http1->call;

	http1->call = NULL;
	intake_drop(connection, call);
	http1->state = HTTP1_HEAD;
	if (!http1->keeps_alive)
		connection->is_closing = true;
}

/*
 * Sends the answer of the current request. If the request is not complete, the connection is
 * closed, because it is not known where the next request would start. A large body stays in the
 * call, which is charged for it, until http1_write() has sent it.
 */
static void
http1_answer_call(Connection *connection, Call *call)
{
	Http1 *http1 = connection->http1;
	Buffer error = { NULL };
	const Buffer *body = &call->answer.body;
	bool is_whole = http1->state == HTTP1_WAIT;

	if (call->answer.code != GRPC_OK)
	{
		call_error_body(call, &error);
		body = &error;
	}
	if (!is_whole)
		http1->keeps_alive = false; /* the end of the request is unknown */
	put_head(connection, call, body->length);
	if (body == &call->answer.body && body->length > CONNECTION_OUT_MAX)
	{
		http1->state = HTTP1_ANSWER;
		return;
	}
	buffer_put_bytes(&connection->out, body->bytes != NULL ? body->bytes : "", body->length);
	buffer_fini(&error);
	http1_end_answer(connection);
}

void
http1_write(Connection *connection)
{
	Http1 *http1 = connection->http1;
	Call *call = http1->call;
	const Buffer *body;
	size_t length;

	/* The next piece waits until the previous one is sent, so the buffer stays small. */
	if (http1->state != HTTP1_ANSWER || connection_has_output(connection))
		return;
	body = &call->answer.body;
	length = MIN(body->length - call->answer_at, CONNECTION_OUT_MAX);
	buffer_put_bytes(&connection->out, body->bytes + call->answer_at, length);
	call->answer_at += length;
	call->since_ns = connection->loop->now_ns; /* the client reads, so the call is not abandoned */
	if (call->answer_at < body->length)
		return;
	http1_end_answer(connection);
	http1_go_on(connection); /* the next request may have arrived already */
}

static void
http1_bind_call(Connection *connection, int32_t stream, Call *call)
{
	connection->http1->call = call;
}

static void
http1_abandon_call(Connection *connection, Call *call)
{
	connection->is_dead = true;
}

const Protocol http1_protocol = { .answer = http1_answer_call,
								  .abandon = http1_abandon_call,
								  .bind = http1_bind_call };

/* Answers input that is not a request, and closes the connection. */
static void
http1_refuse(Connection *connection, int status, const char *text)
{
	Http1 *http1 = connection->http1;

	/* Input that is malformed from its start has no call yet, but an answer needs one. */
	if (http1->call == NULL)
	{
		http1->call = call_create();
		if (http1->call == NULL)
		{
			connection->is_dead = true;
			return;
		}
		if (!intake_add(connection, http1->call))
		{
			call_free(http1->call);
			http1->call = NULL;
			connection->is_dead = true;
			return;
		}
	}
	call_fail(http1->call, GRPC_INVALID_ARGUMENT, text);
	http1->call->answer.http_status = status;
	http1->keeps_alive = false;
	metric_add(&connection->loop->host->metrics.requests_invalid_total, 1);
	http1_answer_call(connection, http1->call);
}

/* --- the head --- */

typedef struct Head
{
	bool is_chunked;
	bool has_length;
	bool wants_continue;
	bool keeps_alive;
} Head;

static bool
http1_is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && strncasecmp(text, word, length) == 0;
}

static bool
request_line(Call *call, const char *line, size_t length, Head *head)
{
	const char *path = memchr(line, ' ', length);
	const char *version =
		path != NULL ? memchr(path + 1, ' ', length - (size_t) (path + 1 - line)) : NULL;
	size_t rest;

	if (version == NULL || path == line)
		return false;
	rest = length - (size_t) (version + 1 - line);
	if (!http1_is_word(version + 1, rest, "HTTP/1.1") &&
		!http1_is_word(version + 1, rest, "HTTP/1.0"))
		return false;
	head->keeps_alive = http1_is_word(version + 1, rest, "HTTP/1.1");
	/* Only a path is accepted, not the whole URL that a proxy would receive. */
	return path[1] == '/' && call_header(call, ":method", 7, line, (size_t) (path - line)) &&
		   call_header(call, ":path", 5, path + 1, (size_t) (version - path - 1));
}

/*
 * Parses a header. Folded lines, and a blank before the colon, are refused, because servers and
 * proxies interpret them differently.
 */
static bool
header_line(Call *call, const char *line, size_t length, Head *head)
{
	const char *colon = memchr(line, ':', length);
	size_t name;
	const char *value;
	size_t value_length;

	if (colon == NULL || colon == line || line[0] == ' ' || line[0] == '\t' || colon[-1] == ' ')
		return false;
	name = (size_t) (colon - line);
	value = colon + 1;
	value_length = length - name - 1;
	for (; value_length > 0 && (*value == ' ' || *value == '\t'); value_length--)
		value++;
	while (value_length > 0 && (value[value_length - 1] == ' ' || value[value_length - 1] == '\t'))
		value_length--;
	/* The end of a body in any other encoding could not be found. */
	if (http1_is_word(line, name, "transfer-encoding"))
	{
		head->is_chunked = http1_is_word(value, value_length, "chunked");
		return head->is_chunked;
	}
	if (http1_is_word(line, name, "connection"))
		head->keeps_alive &= !http1_is_word(value, value_length, "close");
	head->wants_continue |=
		http1_is_word(line, name, "expect") && http1_is_word(value, value_length, "100-continue");
	head->has_length |= http1_is_word(line, name, "content-length");
	return call_header(call, line, name, value, value_length);
}

/*
 * Parses the request line and the headers. A bare CR and NUL are refused, because proxies interpret
 * them differently.
 */
static bool
http1_read_head(Call *call, const char *text, size_t length, Head *head)
{
	bool is_first = true;

	while (length > 0)
	{
		const char *end = memchr(text, '\n', length);
		size_t line = end != NULL ? (size_t) (end - text) : length;
		size_t step = line + (end != NULL);

		if (line > 0 && text[line - 1] == '\r')
			line--;
		if (memchr(text, '\0', line) != NULL || memchr(text, '\r', line) != NULL)
			return false;
		if (line > 0 && !(is_first ? request_line(call, text, line, head)
								   : header_line(call, text, line, head)))
			return false;
		/* HTTP allows empty lines before the request line. */
		is_first &= line == 0;
		text += step;
		length -= step;
	}
	/* with both, two servers could disagree on where the request ends */
	return !is_first && !(head->is_chunked && head->has_length);
}

/* Returns the length up to and including the empty line; 0: the empty line has not arrived. */
static size_t
head_length(const char *text, size_t length)
{
	const char *end = memmem(text, length, "\r\n\r\n", 4);

	return end != NULL ? (size_t) (end - text) + 4 : 0;
}

static void
end_request(Connection *connection)
{
	Http1 *http1 = connection->http1;

	http1->state = HTTP1_WAIT;
	intake_end_of_request(connection->loop, http1->call);
}

/* Begins the call for complete headers, and decides how the body is read. */
static void
begin_request(Connection *connection, size_t length)
{
	Http1 *http1 = connection->http1;
	Head head = { 0 };
	Call *call = call_create();

	/* Without a call the client cannot be answered. */
	if (call == NULL || !intake_add(connection, call))
	{
		call_free(call);
		connection->is_dead = true;
		return;
	}
	http1->call = call;
	if (!http1_read_head(call, http1->in.bytes + http1->at, length, &head))
	{
		http1_refuse(connection, 400, "malformed HTTP/1.1 request");
		return;
	}
	http1->at += length;
	http1->keeps_alive = head.keeps_alive;
	http1->left = head.has_length ? call->length : 0;
	http1->state = head.is_chunked ? HTTP1_CHUNK_SIZE : HTTP1_LENGTH;
	/* gRPC sends its status in the trailers of HTTP/2. */
	if (call->content == CONTENT_GRPC)
		http1_refuse(connection, 400, "gRPC requires HTTP/2");
	else if (intake_headers(connection->loop, call) && head.wants_continue)
		http1_put_text(&connection->out, "HTTP/1.1 100 Continue\r\n\r\n");
}

/* --- the body --- */

static void
http1_take_body(Connection *connection, size_t length)
{
	Http1 *http1 = connection->http1;
	const uint8_t *bytes = (const uint8_t *) http1->in.bytes + http1->at;

	http1->at += length;
	http1->left -= length;
	intake_body(connection->loop, http1->call, bytes, length);
}

/* Returns a line without its end; NULL: the end has not arrived. */
static const char *
http1_take_line(Connection *connection, size_t *length)
{
	Http1 *http1 = connection->http1;
	const char *line = http1->in.bytes + http1->at;
	const char *end = memchr(line, '\n', http1->in.length - http1->at);

	if (end == NULL)
		return NULL;
	*length = (size_t) (end - line);
	http1->at += *length + 1;
	if (*length > 0 && line[*length - 1] == '\r')
		--*length;
	return line;
}

/* Parses a chunk's size of at most eight hexadecimal digits, with an optional extension. */
static bool
chunk_size(const char *line, size_t length, uint64_t *size)
{
	size_t digits = 0;

	*size = 0;
	for (; digits < length && line[digits] != ';' && line[digits] != ' '; digits++)
	{
		char c = line[digits];
		unsigned digit = c >= '0' && c <= '9'	? (unsigned) (c - '0')
						 : c >= 'a' && c <= 'f' ? (unsigned) (c - 'a' + 10)
						 : c >= 'A' && c <= 'F' ? (unsigned) (c - 'A' + 10)
												: 16;

		if (digit == 16)
			return false;
		*size = *size << 4 | digit;
	}
	/* A longer number has overflowed. */
	return digits > 0 && digits <= 8;
}

/* Parses the lines around chunks. Returns false if one is incomplete. */
static bool
take_chunk_line(Connection *connection)
{
	Http1 *http1 = connection->http1;
	size_t length;
	const char *line = http1_take_line(connection, &length);

	if (line == NULL)
		return false;
	if (http1->state == HTTP1_CHUNK_SIZE && chunk_size(line, length, &http1->left))
		http1->state = http1->left > 0 ? HTTP1_CHUNK : HTTP1_TRAILERS;
	else if (http1->state == HTTP1_CHUNK_END && length == 0)
		http1->state = HTTP1_CHUNK_SIZE;
	else if (http1->state == HTTP1_TRAILERS)
	{
		if (length == 0)
			end_request(connection);
	}
	else
		http1_refuse(connection, 400, "malformed chunks in the body");
	return true;
}

/* Returns true while a worker has a part of the body, so the next part must wait in the socket. */
static bool
is_held_up(const Http1 *http1)
{
	return http1->state != HTTP1_WAIT && http1->call != NULL && http1->call->is_away;
}

/* Parses the next part of the input. Returns false if more input is needed. */
static bool
step(Connection *connection)
{
	Http1 *http1 = connection->http1;
	size_t there = http1->in.length - http1->at;
	size_t length;

	if (is_held_up(http1))
		return false;
	switch (http1->state)
	{
		case HTTP1_HEAD:
			length = head_length(http1->in.bytes + http1->at, there);
			if (length == 0 && there > HEAD_MAX)
				http1_refuse(connection, 431, "the headers are too large");
			else if (length > 0)
				begin_request(connection, length);
			return length > 0;
		case HTTP1_LENGTH:
			if (http1->left == 0)
				end_request(connection);
			else if (there > 0)
				http1_take_body(connection, there < http1->left ? there : (size_t) http1->left);
			/*
			 * In state HTTP1_HEAD the request was answered, and the input may contain the next one.
			 */
			return there > 0 || http1->state == HTTP1_HEAD;
		case HTTP1_CHUNK:
			if (there > 0)
				http1_take_body(connection, there < http1->left ? there : (size_t) http1->left);
			if (http1->state == HTTP1_CHUNK && http1->left == 0)
				http1->state = HTTP1_CHUNK_END;
			return there > 0;
		case HTTP1_CHUNK_SIZE:
		case HTTP1_CHUNK_END:
		case HTTP1_TRAILERS:
			/* A line without an end must not fill the buffer. */
			if (there > HEAD_MAX && memchr(http1->in.bytes + http1->at, '\n', there) == NULL)
				http1_refuse(connection, 400, "a line of the body is too long");
			else
				return take_chunk_line(connection);
			return false;
		case HTTP1_WAIT:
		case HTTP1_ANSWER:
			break;
	}
	return false;
}

void
http1_go_on(Connection *connection)
{
	Http1 *http1 = connection->http1;

	while (!connection->is_dead && !connection->is_closing && step(connection))
		;
	if (http1->at == http1->in.length)
	{
		/* free the buffer, so that a thousand idle connections hold no buffers */
		buffer_fini(&http1->in);
		http1->in = (Buffer){ NULL };
	}
	else if (http1->at > 0)
	{
		memmove(http1->in.bytes, http1->in.bytes + http1->at, http1->in.length - http1->at);
		http1->in.length -= http1->at;
	}
	http1->at = 0;
}

void
http1_read(Connection *connection, const uint8_t *bytes, size_t length)
{
	Http1 *http1 = connection->http1;

	/* The headers of the next request must be complete by this deadline. */
	if (http1->in.length == 0 && connection->call_count == 0)
		connection_set_deadline(connection, CONNECTION_GREETING_NS);
	buffer_put_bytes(&http1->in, bytes, length);
	if (http1->in.failed || http1->in.length > IN_MAX)
		connection->is_dead = true;
	else
		http1_go_on(connection);
}

/* --- of the connection --- */

size_t
http1_held(const Connection *connection)
{
	return connection->http1->in.capacity;
}

bool
http1_is_in_head(const Connection *connection)
{
	return connection->http1->in.length > 0 && connection->call_count == 0;
}

bool
http1_has_more(const Connection *connection)
{
	const Http1 *http1 = connection->http1;

	return (http1_is_waiting(connection) || is_held_up(http1)) && http1->in.length > 0;
}

bool
http1_is_waiting(const Connection *connection)
{
	return connection->http1->state == HTTP1_WAIT || connection->http1->state == HTTP1_ANSWER;
}

void
http1_probe(Connection *connection)
{
	/* Only the answer of a complete request can begin, and only once. */
	if (connection->http1->is_probed || connection->http1->state != HTTP1_WAIT)
		return;
	http1_put_text(&connection->out, VERSION);
	connection->http1->is_probed = true;
}

void
http1_stop(Connection *connection)
{
	connection->http1->keeps_alive = false;
}

bool
http1_start(Connection *connection)
{
	connection->http1 = calloc(1, sizeof(Http1));
	connection->protocol = &http1_protocol;
	return connection->http1 != NULL;
}

void
http1_end(Connection *connection)
{
	if (connection->http1 != NULL)
		buffer_fini(&connection->http1->in);
	free(connection->http1);
}
