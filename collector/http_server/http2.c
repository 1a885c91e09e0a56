/*
 * http2.c
 *		Maps streams to calls. nghttp2 checks frames; this file counts frames that a client may send
 *		too often.
 *
 * A body is read at once and charged to memory; if there is no room the call is answered early, and
 * the rest of its body discarded. So windows can be extended as bytes arrive. Frames without
 * content (PING, SETTINGS, RST_STREAM, PRIORITY, WINDOW_UPDATE, empty DATA) use an allowance, to
 * which each call adds.
 */
#include "http_server/http2.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "http_server/intake.h"

#define STREAMS_MAX			   100
#define HEADER_BYTES_MAX	   16384
#define STREAM_WINDOW		   (1024 * 1024)
#define CONNECTION_WINDOW	   (4 * 1024 * 1024)
#define FRAME_BYTES			   (64 * 1024)
#define CONTROL_BURST_NS	   INT64_C(1000000000)
#define CONTROL_FRAME_NS	   INT64_C(1000000) /* one such frame per millisecond is allowed */
/* frames that are allowed in addition for each call: windows, pings, and their answers */
#define CONTROL_FRAMES_OF_CALL 8
#define RESET_BURST			   200
#define RESETS_PER_SECOND	   20
#define CONTINUATIONS_MAX	   8
#define ACKS_MAX			   200
#define GRPC_MESSAGE_MAX	   1024
#define GRPC_STATUS_MAX		   2048
#define GRPC_PREFIX_BYTES	   5

#define NV(name, value)                                                                \
	{                                                                                  \
		(uint8_t *) (uintptr_t) (name), (uint8_t *) (uintptr_t) (value), strlen(name), \
			strlen(value), NGHTTP2_NV_FLAG_NONE                                        \
	}

/* --- answers --- */

/* Encodes bytes of a message with percent signs, as gRPC requires. */
static void
encode_message(const char *text, char result[GRPC_MESSAGE_MAX])
{
	static const char digits[] = "0123456789ABCDEF";
	size_t length = 0;

	/* An encoded character takes three bytes, and the end of the text one more. */
	for (; *text != '\0' && length + 4 < GRPC_MESSAGE_MAX; text++)
	{
		unsigned char c = (unsigned char) *text;

		if (c >= ' ' && c <= '~' && c != '%')
			result[length++] = (char) c;
		else
		{
			result[length++] = '%';
			result[length++] = digits[c >> 4];
			result[length++] = digits[c & 15];
		}
	}
	result[length] = '\0';
}

/* Encodes base64 without padding. Returns false if there is no room. */
static bool
encode_base64(const Buffer *bytes, char *result, size_t room)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0;
	int count = 0;
	size_t length = 0;

	if (bytes->failed || bytes->length * 4 / 3 + 4 > room)
		return false;
	for (size_t i = 0; i < bytes->length; i++)
	{
		bits = bits << 8 | (uint8_t) bytes->bytes[i];
		for (count += 8; count >= 6; count -= 6)
			result[length++] = digits[bits >> (count - 6) & 63];
	}
	if (count > 0)
		result[length++] = digits[bits << (6 - count) & 63];
	result[length] = '\0';
	return true;
}

/* Appends grpc-status and the headers that belong to it. Returns their number. */
static size_t
status_headers(const Call *call, nghttp2_nv *headers, char code[16], char message[GRPC_MESSAGE_MAX],
			   char status[GRPC_STATUS_MAX])
{
	Buffer body = { NULL };
	size_t count = 0;

	snprintf(code, 16, "%d", (int) call->answer.code);
	headers[count++] = (nghttp2_nv) NV("grpc-status", code);
	if (call->answer.code != GRPC_OK)
	{
		encode_message(call->answer.text != NULL ? call->answer.text : "", message);
		headers[count++] = (nghttp2_nv) NV("grpc-message", message);
	}
	/* Clients read from RetryInfo how long to wait. */
	if (call->answer.retry_s > 0)
	{
		call_status_body(call, &body);
		if (encode_base64(&body, status, GRPC_STATUS_MAX))
			headers[count++] = (nghttp2_nv) NV("grpc-status-details-bin", status);
		buffer_fini(&body);
	}
	/* The client may repeat the request with one of these encodings. */
	if (call->encoding == ENCODING_UNKNOWN)
		headers[count++] = (nghttp2_nv) NV("grpc-accept-encoding", "identity,gzip,zstd");
	return count;
}

static Call *
call_of(nghttp2_session *session, int32_t stream)
{
	return nghttp2_session_get_stream_user_data(session, stream);
}

/* Copies bytes of a buffer until there is no room. */
static size_t
http2_take(const Buffer *from, size_t *at, uint8_t *to, size_t room)
{
	size_t length = from->length - *at;

	length = length < room ? length : room;
	memcpy(to, from->bytes + *at, length);
	*at += length;
	return length;
}

static int
end_answer(nghttp2_session *session, const Call *call, uint32_t *flags)
{
	nghttp2_nv trailers[4];
	char code[16];
	char message[GRPC_MESSAGE_MAX];
	char status[GRPC_STATUS_MAX];

	*flags |= NGHTTP2_DATA_FLAG_EOF;
	/* Without gRPC, the status was in the headers. */
	if (call->content != CONTENT_GRPC)
		return 0;
	/* The trailers end the stream, not this frame. */
	*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	return nghttp2_submit_trailer(session, call->stream, trailers,
								  status_headers(call, trailers, code, message, status));
}

/*
 * Called by nghttp2 for bytes of the body. Looks the call up by its stream, because another call
 * may have been bound to the stream since the answer began.
 */
static ssize_t
read_answer(nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t room, uint32_t *flags,
			nghttp2_data_source *source, void *context)
{
	Call *call = call_of(session, stream);
	size_t length;

	if (call == NULL)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (call->part_at < call->part.length)
		return (ssize_t) http2_take(&call->part, &call->part_at, buffer, room);
	if (!call->is_refused) /* the call may have been answered while its body was refused */
		return NGHTTP2_ERR_DEFERRED;
	length = http2_take(&call->answer.body, &call->answer_at, buffer, room);
	if (call->answer_at == call->answer.body.length && end_answer(session, call, flags) != 0)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	return (ssize_t) length;
}

/* Sets the five bytes before a gRPC message. */
static void
frame_answer(Call *call)
{
	Buffer framed = { NULL };
	Buffer *body = &call->answer.body;
	uint32_t length = (uint32_t) body->length;
	const char prefix[GRPC_PREFIX_BYTES] = { 0, (char) (length >> 24), (char) (length >> 16),
											 (char) (length >> 8), (char) length };

	buffer_put_bytes(&framed, prefix, sizeof(prefix));
	buffer_put_bytes(&framed, body->bytes != NULL ? body->bytes : "", body->length);
	buffer_fini(body);
	*body = framed;
}

/*
 * Submits the answer: headers, message and trailers; or only trailers with a status. The stream of
 * an exchange is resumed, because its headers were sent before.
 */
static int
answer_grpc(Connection *connection, Call *call)
{
	nghttp2_nv headers[8] = { NV(":status", "200"), NV("content-type", "application/grpc") };
	nghttp2_data_provider provider = { { .ptr = NULL }, read_answer };
	char code[16];
	char message[GRPC_MESSAGE_MAX];
	char status[GRPC_STATUS_MAX];

	if (call->is_answering)
	{
		/* The message was sent before, so read_answer() adds only the trailers. */
		buffer_reset(&call->answer.body);
		return nghttp2_session_resume_data(connection->http2, call->stream);
	}
	if (call->answer.code == GRPC_OK)
	{
		frame_answer(call);
		if (call->answer.body.failed)
			call_retry(call, "out of memory", 1);
	}
	if (call->answer.code == GRPC_OK)
		return nghttp2_submit_response(connection->http2, call->stream, headers, 2, &provider);
	return nghttp2_submit_response(connection->http2, call->stream, headers,
								   2 + status_headers(call, headers + 2, code, message, status),
								   NULL);
}

/* Submits the answer of a call without gRPC. */
static int
answer_http(Connection *connection, Call *call)
{
	nghttp2_nv headers[4];
	size_t count = 0;
	char status[16];
	char retry[16];
	nghttp2_data_provider provider = { { .ptr = NULL }, read_answer };

	if (call->answer.code != GRPC_OK)
		call_error_body(call, &call->answer.body);
	snprintf(status, sizeof(status), "%d", call_http_status(call));
	headers[count++] = (nghttp2_nv) NV(":status", status);
	headers[count++] = (nghttp2_nv) NV("content-type", call_answer_type(call));
	if (call->answer.retry_s > 0)
	{
		snprintf(retry, sizeof(retry), "%d", call->answer.retry_s);
		headers[count++] = (nghttp2_nv) NV("retry-after", retry);
	}
	/* Without a provider, the headers end the stream. */
	return nghttp2_submit_response(connection->http2, call->stream, headers, count,
								   call->answer.body.length > 0 ? &provider : NULL);
}

static void
http2_answer_call(Connection *connection, Call *call)
{
	int err = call->content == CONTENT_GRPC ? answer_grpc(connection, call)
											: answer_http(connection, call);

	/* the call is freed when its stream is closed */
	if (err != 0)
		connection->is_dead = true;
	call->is_refused = true;
}

static void
http2_abandon_call(Connection *connection, Call *call)
{
	if (nghttp2_submit_rst_stream(connection->http2, NGHTTP2_FLAG_NONE, call->stream,
								  NGHTTP2_CANCEL) != 0)
		connection->is_dead = true;
}

static void
answer_part(Connection *connection, Call *call)
{
	const nghttp2_nv headers[] = { NV(":status", "200"), NV("content-type", "application/grpc") };
	const nghttp2_data_provider provider = { { .ptr = NULL }, read_answer };

	frame_answer(call);
	/* The second answer uses the buffer of the first one, so this part moves. */
	call->part = call->answer.body;
	call->answer.body = (Buffer){ NULL };
	call->is_answering = true;
	if (call->part.failed ||
		nghttp2_submit_response(connection->http2, call->stream, headers, 2, &provider) != 0)
		connection->is_dead = true;
}

static void
http2_bind_call(Connection *connection, int32_t stream, Call *call)
{
	nghttp2_session_set_stream_user_data(connection->http2, stream, call);
}

/* Extends the client's window by the bytes that were processed. */
static void
http2_read_on(Connection *connection, Call *call, size_t bytes)
{
	if (bytes > 0 && nghttp2_session_consume_stream(connection->http2, call->stream, bytes) != 0)
		connection->is_dead = true;
}

const Protocol http2_protocol = { http2_answer_call, http2_abandon_call, answer_part,
								  http2_bind_call, http2_read_on };

/* --- callbacks --- */

/*
 * Begins the call of a new stream. Refuses the stream if the connection must have no more streams.
 */
static int
on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
	Connection *connection = context;
	Call *call;

	/* Trailers of requests are ignored. */
	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	call = call_create();
	if (call == NULL)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	call->stream = frame->hd.stream_id;
	if (!intake_add(connection, call))
	{
		/* a refused stream was not processed, so the client may repeat the request */
		call_free(call);
		return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
										 NGHTTP2_REFUSED_STREAM) == 0
				   ? 0
				   : NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	return nghttp2_session_set_stream_user_data(session, call->stream, call) == 0
			   ? 0
			   : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int
on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		  size_t name_length, const uint8_t *value, size_t length, uint8_t flags, void *context)
{
	Call *call = call_of(session, frame->hd.stream_id);

	if (call == NULL || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	/* until the body begins, this field counts the bytes of headers */
	call->prefix_length += name_length + length + 32;
	if (call->prefix_length > HEADER_BYTES_MAX ||
		!call_header(call, (const char *) name, name_length, (const char *) value, length))
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	return 0;
}

static bool
is_control(const nghttp2_frame *frame)
{
	switch (frame->hd.type)
	{
		case NGHTTP2_PING:
		case NGHTTP2_SETTINGS:
		case NGHTTP2_RST_STREAM:
		case NGHTTP2_PRIORITY:
		case NGHTTP2_WINDOW_UPDATE:
			return true;
		case NGHTTP2_DATA:
			/* An empty frame that ends the stream is a usual end of a body. */
			return frame->hd.length == 0 && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0;
		default:
			return false;
	}
}

static void
report_flood(const Connection *connection)
{
	metric_add(&connection->loop->host->metrics.connections_flooded_total, 1);
	log_event(LOG_WARNING, connection->loop->options->module,
			  "closed a connection with too many frames", log_text("peer", connection->peer));
}

static int
flooded(Connection *connection)
{
	report_flood(connection);
	nghttp2_session_terminate_session(connection->http2, NGHTTP2_ENHANCE_YOUR_CALM);
	connection->is_closing = true;
	return 0;
}

/*
 * Counts frames without content, and continues the call when its headers or its body are complete.
 */
static int
on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
	Connection *connection = context;
	/* Frames of stream 0 belong to the connection. */
	Call *call = frame->hd.stream_id != 0 ? call_of(session, frame->hd.stream_id) : NULL;

	if (is_control(frame) &&
		!allowance_take(&connection->control, (uint64_t) connection->loop->now_ns, CONTROL_FRAME_NS,
						CONTROL_BURST_NS))
		return connection->is_closing ? 0 : flooded(connection);
	if (call == NULL || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
	{
		/* From here on this field counts the bytes of the prefix of a gRPC message. */
		call->prefix_length = 0;
		intake_headers(connection->loop, call);
	}
	if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
		intake_end_of_request(connection->loop, call);
	return 0;
}

static int
http2_on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
			  size_t length, void *context)
{
	Connection *connection = context;
	Call *call = call_of(session, stream);
	size_t unread = 0;

	if (call != NULL && !call->is_refused)
	{
		unread = call->unread;
		intake_body(connection->loop, call, bytes, length);
		unread = call->unread - unread;
	}
	/* Bytes that are held reduce only the window of their stream, so other streams continue. */
	return nghttp2_session_consume_connection(session, length) == 0 &&
				   nghttp2_session_consume_stream(session, stream, length - unread) == 0
			   ? 0
			   : NGHTTP2_ERR_CALLBACK_FAILURE;
}

/*
 * Closes a stream whose answer was sent completely before the request was (RFC 9113, 8.1). The
 * client may never end the request, and each open stream costs memory and counts towards
 * STREAMS_MAX.
 */
static int
on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
	const bool is_end = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
						(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
	const Call *call = is_end ? call_of(session, frame->hd.stream_id) : NULL;

	if (call != NULL && !call->is_whole &&
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, call->stream, NGHTTP2_NO_ERROR) != 0)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	return 0;
}

/*
 * Adds to the allowance for each answered call, so that the allowance does not limit the rate of
 * calls.
 */
static void
earn_control_frames(Connection *connection)
{
	Allowance *control = &connection->control;
	uint64_t earned_ns = CONTROL_FRAMES_OF_CALL * (uint64_t) CONTROL_FRAME_NS;

	control->paid_ns -= control->paid_ns < earned_ns ? control->paid_ns : earned_ns;
}

static int
on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *context)
{
	Connection *connection = context;
	Call *call = call_of(session, stream);

	if (call == NULL)
		return 0;
	/* A client that resets its calls does not earn further frames. */
	if (error == NGHTTP2_NO_ERROR && call->is_whole)
		earn_control_frames(connection);
	intake_drop(connection, call);
	return 0;
}

/* --- the session --- */

static void
set_callbacks(nghttp2_session_callbacks *callbacks)
{
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, http2_on_data);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
}

/*
 * Creates nghttp2's session with limits on resets, CONTINUATION frames and unread acknowledgements.
 * Windows are extended by this file.
 */
static bool
http2_open_session(Connection *connection)
{
	nghttp2_session_callbacks *callbacks = NULL;
	nghttp2_option *option = NULL;
	bool good = nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0;

	if (good)
	{
		set_callbacks(callbacks);
		nghttp2_option_set_no_auto_window_update(option, 1);
		/* nghttp2 would keep closed streams for priorities, which this server ignores. */
		nghttp2_option_set_no_closed_streams(option, 1);
		nghttp2_option_set_stream_reset_rate_limit(option, RESET_BURST, RESETS_PER_SECOND);
		nghttp2_option_set_max_continuations(option, CONTINUATIONS_MAX);
		nghttp2_option_set_max_outbound_ack(option, ACKS_MAX);
		good = nghttp2_session_server_new2(&connection->http2, callbacks, connection, option) == 0;
	}
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
	return good;
}

bool
http2_start(Connection *connection)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_FRAME_SIZE, FRAME_BYTES },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_BYTES_MAX },
	};

	connection->protocol = &http2_protocol;
	return http2_open_session(connection) &&
		   nghttp2_submit_settings(connection->http2, NGHTTP2_FLAG_NONE, settings,
								   sizeof(settings) / sizeof(settings[0])) == 0 &&
		   nghttp2_session_set_local_window_size(connection->http2, NGHTTP2_FLAG_NONE, 0,
												 CONNECTION_WINDOW) == 0;
}

void
http2_end(Connection *connection)
{
	nghttp2_session_del(connection->http2);
}

void
http2_read(Connection *connection, const uint8_t *bytes, size_t length)
{
	ssize_t result = nghttp2_session_mem_recv(connection->http2, bytes, length);

	/* nghttp2 has detected that the client does not read acknowledgements */
	if (result == NGHTTP2_ERR_FLOODED && !connection->is_closing)
		report_flood(connection);
	if (result < 0)
		connection->is_closing = true; /* after nghttp2's last frames are sent */
}

void
http2_write(Connection *connection)
{
	const uint8_t *bytes;
	ssize_t length = 1;

	/* nghttp2 keeps the rest of its output until the socket has taken these bytes. */
	while (connection->out.length - connection->out_at < CONNECTION_OUT_MAX && length > 0)
	{
		length = nghttp2_session_mem_send(connection->http2, &bytes);
		if (length > 0)
			buffer_put_bytes(&connection->out, bytes, (size_t) length);
	}
	if (length < 0 || connection->out.failed)
		connection->is_dead = true;
	else if (!nghttp2_session_want_read(connection->http2) &&
			 !nghttp2_session_want_write(connection->http2))
		connection->is_closing = true;
}

void
http2_stop(Connection *connection)
{
	if (nghttp2_submit_shutdown_notice(connection->http2) != 0 ||
		nghttp2_submit_goaway(connection->http2, NGHTTP2_FLAG_NONE,
							  nghttp2_session_get_last_proc_stream_id(connection->http2),
							  NGHTTP2_NO_ERROR, NULL, 0) != 0)
		connection->is_dead = true;
}
