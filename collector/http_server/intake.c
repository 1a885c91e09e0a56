/*
 * intake.c
 *		Handles a call from its headers until it is given to a worker, and its answer until it is
 *		given to the protocol.
 */
#include "http_server/intake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/log.h"
#include "http_server/service.h"

#define ARRIVAL_NS	 (INT64_C(60) * 1000000000) /* a request must be complete within this time */
#define PREFIX_BYTES 5
#define FIRST_BYTES	 4096
#define RETRY_S		 1

/* Approximate memory of a call without its body: headers, answer, and nghttp2's stream. */
#define CALL_BYTES (sizeof(Call) + 1024)

/* --- authentication --- */

static void
discharge(Loop *loop, Call *call)
{
	const size_t bytes = call->charged + call->held.length;

	buffer_fini(&call->held);
	call->held = (Buffer){ NULL };
	if (bytes == 0)
		return;
	pool_release(&loop->host->memory, bytes);
	client_discharge(call->client, bytes);
	call->charged = 0;
}

/* Sends the answer. Frees the request first, because the client may delay the end of the call. */
static void
answer(Loop *loop, Call *call)
{
	discharge(loop, call);
	call_drop_authorization(call);
	call_drop_query(call);
	call_drop_body(call);
	call->is_refused = true;
	call->since_ns = loop->now_ns;
	/* The client may have disconnected. */
	if (call->connection != NULL)
		call->connection->protocol->answer(call->connection, call);
}

static void
intake_refuse(Loop *loop, Call *call, GrpcCode code, int http_status, const char *text)
{
	call_fail(call, code, text);
	call->answer.http_status = http_status;
	answer(loop, call);
}

static bool
intake_refuse_client(Loop *loop, Call *call, const char *text)
{
	metric_add(&loop->host->metrics.requests_unauthenticated_total, 1);
	log_event(LOG_WARNING, loop->options->module, "refused a request without a valid token",
			  log_text("peer", call->connection->peer));
	intake_refuse(loop, call, GRPC_UNAUTHENTICATED, 401, text);
	return false;
}

/*
 * Identifies the client by its token or, without a token, by its certificate. Returns false after
 * answering.
 */
static bool
authenticate(Loop *loop, Call *call)
{
	const Connection *connection = call->connection;
	const char *tenant = NULL;

	/* Health checks need no credentials. */
	if (call->service->is_open)
		return true;
	/* The service passes user and password to the database, which checks them. */
	if (loop->options->passes_login)
		return call->authorization != NULL ||
			   intake_refuse_client(loop, call,
									"a user and a password of the database are required");
	/* Without tokens and certificates, every client is accepted. */
	if (loop->identities == NULL && loop->options->client_ca == NULL)
		return true;
	if (loop->identities != NULL && call->authorization != NULL)
		tenant = identities_find(loop->identities, call->authorization, &call->may_upload);
	else if (connection->has_tenant)
	{
		tenant = connection->tenant;
		call->may_upload =
			loop->identities != NULL && identities_may_upload(loop->identities, tenant);
	}
	if (tenant != NULL)
	{
		snprintf(call->tenant, sizeof(call->tenant), "%s", tenant);
		return true;
	}
	return intake_refuse_client(loop, call, "a valid token or certificate is required");
}

/*
 * Identifies the client. If a trusted proxy names the tenant in a header, that is used; otherwise
 * token or certificate. Returns false after answering.
 */
static bool
intake_identify(Loop *loop, Call *call)
{
	if (!authenticate(loop, call))
		return false;
	if (loop->options->trusts_scope && call->scope[0] != '\0')
	{
		snprintf(call->tenant, sizeof(call->tenant), "%s", call->scope);
		/* Decoders add the scope as a label of its own, unless it is the tenant. */
		call->scope[0] = '\0';
	}
	return true;
}

static bool
has_good_content(const Call *call)
{
	const Service *service = call->service;

	if (service->is_grpc || service->work == NULL || service->is_stream || service->takes_any ||
		call->content == CONTENT_PROTOBUF)
		return true;
	return call->content == CONTENT_JSON && (!service->is_connect || service->takes_json);
}

static const char *
content_wanted(const Service *service)
{
	if (!service->is_connect)
		return "the content type must be application/x-protobuf or application/json";
	return service->takes_json ? "the content type must be application/proto or application/json"
							   : "the content type must be application/proto";
}

/*
 * Returns true if the path, for which there is no service, has the form of Connect's paths:
 * /package.Service/Method.
 */
static bool
is_connect_path(const Call *call)
{
	const char *slash = strchr(call->path + 1, '/');
	const char *dot = strchr(call->path, '.');

	return call->content != CONTENT_GRPC && slash != NULL && strchr(slash + 1, '/') == NULL &&
		   dot != NULL && dot < slash;
}

/*
 * Finds the service of the call's path, and checks method, content type and encoding. Returns false
 * after answering.
 */
static bool
intake_find_service(Loop *loop, Call *call)
{
	bool is_grpc = call->content == CONTENT_GRPC;

	call->service = service_find(loop->host->services, call->path, is_grpc);
	call->is_connect = call->service != NULL ? call->service->is_connect : is_connect_path(call);
	/* Clients of an older OTLP learn which version they need. */
	if (call->service == NULL)
		intake_refuse(
			loop, call, GRPC_UNIMPLEMENTED, call->is_connect ? 501 : 404,
			strstr(call->path, ".v1experimental.") != NULL
				? "only v1development of the profiles signal is supported, OTLP 1.8 to 1.11"
				: "there is no such method");
	else if (strcmp(call->service->method, call->method) != 0)
		intake_refuse(loop, call, GRPC_UNIMPLEMENTED, 405, "there is no such method at this path");
	else if (!has_good_content(call))
		intake_refuse(loop, call, GRPC_INVALID_ARGUMENT, 415, content_wanted(call->service));
	else if (call->encoding == ENCODING_UNKNOWN)
		intake_refuse(loop, call, GRPC_UNIMPLEMENTED, 415,
					  "the encoding must be identity, gzip or zstd");
	else
		return true;
	metric_add(&loop->host->metrics.requests_invalid_total, 1);
	return false;
}

static bool
throttled(Loop *loop, Call *call, const char *text)
{
	metric_add(&loop->host->metrics.requests_throttled_total, 1);
	call_retry(call, text, RETRY_S);
	call->answer.http_status = 429;
	answer(loop, call);
	return false;
}

static bool
take_client(Loop *loop, Call *call)
{
	/* Clients without a tenant are distinguished by their addresses. */
	const char *name = call->tenant[0] != '\0' ? call->tenant : call->connection->peer;

	call->client = clients_take(&loop->clients, name);
	if (call->client == NULL)
	{
		call_retry(call, "out of memory", RETRY_S);
		answer(loop, call);
		return false;
	}
	return client_may_ask(call->client, loop->now_ns, loop->options->client_requests) ||
		   throttled(loop, call, "too many requests");
}

static bool
too_large(Loop *loop, Call *call)
{
	/*
	 * Some clients repeat a request after RESOURCE_EXHAUSTED, which is no use if it is too large.
	 */
	bool is_retried = call->service != NULL && call->service->retries_exhausted;

	metric_add(&loop->host->metrics.requests_too_large_total, 1);
	intake_refuse(loop, call, is_retried ? GRPC_INVALID_ARGUMENT : GRPC_RESOURCE_EXHAUSTED, 413,
				  "the request is larger than --max-message");
	return false;
}

/* --- bodies --- */

/*
 * Charges bytes to the sum of all requests, and to the call's client, which may use half of the
 * limit. Returns false if there is no room.
 */
static bool
intake_has_room(Loop *loop, const Call *call, size_t bytes)
{
	MemoryPool *memory = &loop->host->memory;

	if (!pool_charge(memory, bytes))
		return false;
	if (client_charge(call->client, bytes, memory->limit_bytes / 2))
		return true;
	pool_release(memory, bytes);
	return false;
}

/* Charges the bytes of a body. Returns false after answering. */
static bool
charge(Loop *loop, Call *call, size_t bytes)
{
	if (!intake_has_room(loop, call, bytes))
		return throttled(loop, call, TOO_MUCH_UNDER_WAY);
	call->charged += bytes;
	return true;
}

/* Charges the query string, or frees it if the service ignores it. */
static bool
keep_query(Loop *loop, Call *call)
{
	if (!call->service->takes_any)
		call_drop_query(call);
	return call->query == NULL || charge(loop, call, strlen(call->query));
}

bool
intake_headers(Loop *loop, Call *call)
{
	/* if false, the call was answered, and with HTTP/1.1 it is freed already */
	if (!intake_find_service(loop, call) || !intake_identify(loop, call) ||
		!take_client(loop, call) || !keep_query(loop, call))
		return false;
	if (!loop->options->passes_login)
		/* free this early, because it is a secret and the largest header */
		call_drop_authorization(call);
	/* A gRPC message has a length of its own, and a stream may be longer than one message. */
	if (call->content != CONTENT_GRPC && !call->service->is_stream && call->length != UINT64_MAX &&
		call->length > loop->options->max_message)
		return too_large(loop, call);
	/* Clients of open connections must stop, too. */
	if (loop->is_stopping)
	{
		call_retry(call, "the receiver is stopping", RETRY_S);
		answer(loop, call);
		return false;
	}
	return true;
}

/*
 * Makes room for more of the body. The buffer doubles, up to the announced length, and is charged.
 * Returns false after answering.
 */
static bool
intake_reserve_body(Loop *loop, Call *call, size_t length)
{
	size_t wanted = call->body_length + length;
	size_t capacity = MAX(call->body_capacity, FIRST_BYTES);
	uint8_t *body;

	if (wanted <= call->body_capacity)
		return true;
	if (wanted > loop->options->max_message)
		return too_large(loop, call);
	while (capacity < wanted)
		capacity *= 2;
	/* With the announced length the buffer becomes no larger than the body. */
	if (call->length != UINT64_MAX && call->length >= wanted)
		capacity = MIN(capacity, call->length);
	/* Memory is charged before it is allocated, so that the sum stays below the limit. */
	if (!charge(loop, call, capacity - call->body_capacity))
		return false;
	body = realloc(call->body, capacity);
	if (body == NULL)
		return throttled(loop, call, "out of memory");
	call->body = body;
	call->body_capacity = capacity;
	return true;
}

static bool
keep_body(Loop *loop, Call *call, const uint8_t *bytes, size_t length)
{
	if (length == 0)
		return true;
	if (!intake_reserve_body(loop, call, length))
		return false;
	memcpy(call->body + call->body_length, bytes, length);
	call->body_length += length;
	return true;
}

/* Reads the prefix of a gRPC message: a flag and the length. */
static bool
take_prefix(Loop *loop, Call *call)
{
	const uint8_t *prefix = call->prefix;

	call->length = (uint64_t) prefix[1] << 24 | (uint64_t) prefix[2] << 16 |
				   (uint64_t) prefix[3] << 8 | prefix[4];
	call->is_compressed = prefix[0] == 1;
	/* gRPC defines the flags 0 and 1. */
	if (prefix[0] > 1 ||
		(call->is_compressed && (!call->has_encoding || call->encoding == ENCODING_IDENTITY)))
	{
		metric_add(&loop->host->metrics.requests_invalid_total, 1);
		intake_refuse(loop, call, GRPC_INTERNAL, 400,
					  "a message is compressed, but the request has no grpc-encoding");
		return false;
	}
	return call->length <= loop->options->max_message || too_large(loop, call);
}

static bool
grpc_body(Loop *loop, Call *call, const uint8_t *bytes, size_t length)
{
	/* The prefix may arrive in pieces. */
	while (length > 0 && call->prefix_length < PREFIX_BYTES)
	{
		call->prefix[call->prefix_length++] = *bytes++;
		length--;
		if (call->prefix_length == PREFIX_BYTES && !take_prefix(loop, call))
			return false;
	}
	/* The call expects one message, so further bytes belong to a second one. */
	if (length > 0 && length > call->length - call->body_length)
	{
		intake_refuse(loop, call, GRPC_INTERNAL, 400, "unexpected message");
		return false;
	}
	return keep_body(loop, call, bytes, length);
}

static bool
has_message(const Call *call)
{
	return call->prefix_length == PREFIX_BYTES && call->body_length == call->length;
}

/* --- whole calls --- */

/*
 * Returns false, after answering, while the database is unavailable: requests would be dropped when
 * the queue is full. A spool can store them, unless it would have to drop samples that were
 * acknowledged before.
 */
static bool
database_takes(Loop *loop, Call *call)
{
	WriterStats stats;

	bool takes_spooled = loop->host->options->acknowledge == ACKNOWLEDGE_SPOOL;

	writer_stats(loop->host->writer, &stats);
	if (stats.state == RETRY_READY || stats.state == RETRY_STARTING ||
		(takes_spooled && !stats.spool_is_nearly_full))
		return true;
	metric_add(&loop->host->metrics.requests_unavailable_total, 1);
	call_retry(call, takes_spooled ? "the spool is full" : "the database is not available",
			   RETRY_S);
	answer(loop, call);
	return false;
}

/* Answers a complete call at once, or gives it to the workers. */
static void
dispatch(Loop *loop, Call *call)
{
	call->host = loop->host;
	/* A stream is counted at its end, and an exchange at its first message. */
	if (call->service->is_stream ? call->is_end : call->first == NULL)
		metric_add(&loop->host->metrics.requests_total, 1);
	if (call->service->answer != NULL)
	{
		call->service->answer(loop->host, call);
		answer(loop, call);
		return;
	}
	/* An exchange begins with a question to this process; uploads have queues of their own. */
	if (!call->service->is_exchange && !call->service->is_apart && !database_takes(loop, call))
		return;
	call->is_away = true;
	call->since_ns = loop->now_ns;
	loop->away_count++;
	host_want(loop->host, call);
}

/* --- streams --- */

/*
 * Keeps bytes until the worker is done with the previous part. There are few of them, because the
 * client's window is not extended (unread).
 */
static void
hold_body(Loop *loop, Call *call, const uint8_t *bytes, size_t length)
{
	/* Once bytes were dropped, later ones are useless. */
	if (call->has_surplus || !intake_has_room(loop, call, length))
	{
		call->has_surplus = true;
		return;
	}
	buffer_put_bytes(&call->held, bytes, length);
	if (call->held.failed)
	{
		pool_release(&loop->host->memory, length);
		client_discharge(call->client, length);
		call->has_surplus = true;
		return;
	}
	call->unread += length;
}

/* Returns how many of the bytes belong to the current message or part. */
static size_t
part_length(const Call *call, size_t length)
{
	size_t rest = INTAKE_PART_BYTES - call->body_length;

	/* In gRPC a part is one message, or its prefix. */
	if (call->content == CONTENT_GRPC)
		rest = call->prefix_length < PREFIX_BYTES ? PREFIX_BYTES - call->prefix_length
												  : (size_t) call->length - call->body_length;
	return MIN(rest, length);
}

static bool
has_part(const Call *call)
{
	return call->content == CONTENT_GRPC ? has_message(call)
										 : call->body_length == INTAKE_PART_BYTES;
}

/* Fills the current part, and gives it to a worker when it is complete. */
static bool
stream_body(Loop *loop, Call *call, const uint8_t *bytes, size_t length)
{
	/* dispatch() gives the part to a worker, which ends the loop. */
	while (length > 0 && !call->is_away)
	{
		const size_t taken = part_length(call, length);

		if (!(call->content == CONTENT_GRPC ? grpc_body(loop, call, bytes, taken)
											: keep_body(loop, call, bytes, taken)))
			return false;
		bytes += taken;
		length -= taken;
		if (has_part(call))
			dispatch(loop, call);
	}
	if (length > 0)
		hold_body(loop, call, bytes, length);
	return true;
}

/* Gives the last part of a stream, or its end, to a worker. */
static void
end_stream(Loop *loop, Call *call)
{
	if (call->content == CONTENT_GRPC && call->prefix_length > 0)
	{
		metric_add(&loop->host->metrics.requests_invalid_total, 1);
		intake_refuse(loop, call, GRPC_INTERNAL, 400, "the request ends within its message");
		return;
	}
	/* Bytes that are left are the last part; the end follows when a worker is done with them. */
	call->is_end = call->body_length == 0;
	dispatch(loop, call);
}

/* Called when a worker is done with a part: continues with the bytes that have arrived since. */
static void
next_part(Loop *loop, Call *call)
{
	const Protocol *protocol = call->connection->protocol;
	const size_t unread = call->unread;
	Buffer held = call->held;
	bool is_good = true;

	call->wants_more = false;
	call->held = (Buffer){ NULL };
	call->unread = 0;
	/* stream_body() charges these bytes again. */
	pool_release(&loop->host->memory, held.length);
	client_discharge(call->client, held.length);
	discharge(loop, call);
	call_drop_body(call);
	call->prefix_length = 0;
	call->since_ns = loop->now_ns;
	if (call->has_surplus)
		is_good = throttled(loop, call, TOO_MUCH_UNDER_WAY);
	else if (held.length > 0)
		is_good = stream_body(loop, call, (const uint8_t *) held.bytes, held.length);
	buffer_fini(&held);
	if (!is_good)
		return; /* the call was answered, and with HTTP/1.1 it is freed */
	/* The worker is done with these bytes, so the client may send as many again. */
	if (protocol->read_on != NULL)
		protocol->read_on(call->connection, call, unread - call->unread);
	if (!call->is_away && call->is_whole)
		end_stream(loop, call);
}

/* --- the way of the bytes --- */

bool
intake_body(Loop *loop, Call *call, const uint8_t *bytes, size_t length)
{
	bool good;

	if (call->is_refused)
		return false;
	metric_add(&loop->host->metrics.bytes_total, length);
	if (call->service->is_stream)
		return stream_body(loop, call, bytes, length);
	if (call->is_away) /* a worker has the body, so the call is dropped when it is given back */
	{
		call->has_surplus |= length > 0;
		return false;
	}
	good = call->content == CONTENT_GRPC ? grpc_body(loop, call, bytes, length)
										 : keep_body(loop, call, bytes, length);
	if (good && call->service->is_exchange && has_message(call))
		dispatch(loop, call);
	return good;
}

void
intake_end_of_request(Loop *loop, Call *call)
{
	call->is_whole = true;
	if (call->is_refused || call->is_away)
		return;
	if (call->service->is_stream)
	{
		end_stream(loop, call);
		return;
	}
	if (call->content != CONTENT_GRPC || (has_message(call) && !call->service->is_exchange))
	{
		dispatch(loop, call);
		return;
	}
	metric_add(&loop->host->metrics.requests_total, 1);
	metric_add(&loop->host->metrics.requests_invalid_total, 1);
	intake_refuse(loop, call, GRPC_INTERNAL, 400, "the request ends within its message");
}

/*
 * Charges the client for the answer's bytes, which the worker has charged to memory. If the client
 * has too much in progress, it is asked to retry; if it has disconnected, the answer is dropped.
 */
static void
charge_answer(Loop *loop, Call *call)
{
	MemoryPool *memory = &loop->host->memory;

	if (call->answer_bytes == 0 ||
		(call->connection != NULL &&
		 client_charge(call->client, call->answer_bytes, memory->limit_bytes / 2)))
		return;
	pool_release(memory, call->answer_bytes);
	call->answer_bytes = 0;
	buffer_fini(&call->answer.body);
	if (call->connection == NULL)
		return;
	metric_add(&loop->host->metrics.requests_throttled_total, 1);
	call_retry(call, TOO_MUCH_UNDER_WAY, RETRY_S);
	call->answer.http_status = 429;
}

static void
discharge_answer(Loop *loop, Call *call)
{
	pool_release(&loop->host->memory, call->answer_bytes);
	client_discharge(call->client, call->answer_bytes);
	call->answer_bytes = 0;
}

static void
free_call(Loop *loop, Call *call)
{
	discharge(loop, call);
	if (call->answer_bytes > 0)
		discharge_answer(loop, call);
	if (call->service != NULL && call->service->left != NULL)
		call->service->left(loop->host, call);
	client_release(call->client);
	call_free(call);
}

/* Withdraws a call that no worker has begun. Afterwards is_away is false. */
static void
take_out(Loop *loop, Call *call)
{
	/* Otherwise a worker has begun the call, and will give it back. */
	if (!host_withdraw(loop->host, call))
		return;
	call->is_away = false;
	loop->away_count--;
}

/* Drops a call whose client has disconnected. */
static void
intake_forget(Loop *loop, Call *call)
{
	call->connection = NULL;
	if (!call->is_refused)
		metric_add(&loop->host->metrics.requests_cancelled_total, 1);
	if (call->is_away && !call->is_refused)
	{
		/* A worker that has begun the call checks this flag and stops. */
		atomic_store(&call->is_unwanted, true);
		take_out(loop, call);
	}
	if (!call->is_away)
		free_call(loop, call);
}

bool
intake_add(Connection *connection, Call *call)
{
	if (!connection_charge(connection, CALL_BYTES))
	{
		metric_add(&connection->loop->host->metrics.requests_throttled_total, 1);
		return false;
	}
	call->connection = connection;
	call->since_ns = connection->loop->now_ns;
	call->sibling = connection->calls;
	connection->calls = call;
	connection->call_count++;
	return true;
}

void
intake_drop(Connection *connection, Call *call)
{
	Call **at = &connection->calls;

	while (*at != call)
		at = &(*at)->sibling;
	*at = call->sibling;
	connection->call_count--;
	connection_discharge(connection, CALL_BYTES);
	/* Otherwise the protocol would still find the call by its stream. */
	connection->protocol->bind(connection, call->stream, NULL);
	intake_forget(connection->loop, call);
}

void
intake_drop_all(Connection *connection)
{
	while (connection->calls != NULL)
		intake_drop(connection, connection->calls);
}

/* --- timeouts --- */

/*
 * Returns the time after dispatch, in nanoseconds, at which the loop answers in place of the call's
 * owner: the limit of the service or server or, if that is shorter, 4/5 of the client's timeout.
 */
static int64_t
answer_after_ns(const Loop *loop, const Call *call)
{
	const int64_t late_ms =
		call->service->late_ms > 0 ? call->service->late_ms : loop->options->answer_ms;
	int64_t limit = late_ms * 1000000;

	/* The rest of the client's timeout is for the way of the answer. */
	return call->timeout_ns > 0 ? MIN(limit, call->timeout_ns - call->timeout_ns / 5) : limit;
}

/*
 * Sets the answer to a request that took too long. A request to store asks the client to retry; a
 * query does not, because it would take as long again.
 */
static void
fail_late(Loop *loop, Call *call, const char *text)
{
	HostMetrics *metrics = &loop->host->metrics;

	/* Only a receiver has a writer; other servers answer queries. */
	if (loop->host->writer != NULL)
	{
		metric_add(&metrics->requests_unavailable_total, 1);
		call_retry(call, text, RETRY_S);
		return;
	}
	metric_add(&metrics->requests_late_total, 1);
	call_fail(call, GRPC_DEADLINE_EXCEEDED, "the request was not answered in time");
}

/*
 * Answers a call that another thread owns: a new call gets its stream, and the old call is dropped
 * when it is given back.
 */
static void
stand_in(Loop *loop, Call *call)
{
	Connection *connection = call->connection;
	Call *other = call_create();

	/* The next check tries again. */
	if (other == NULL)
		return;
	other->stream = call->stream;
	other->content = call->content;
	other->is_connect = call->is_connect;
	other->is_whole = call->is_whole;
	other->is_answering = call->is_answering;
	/* nghttp2 may not have sent all bytes of the first answer, so the new call sends the rest. */
	other->part = call->part;
	other->part_at = call->part_at;
	call->part = (Buffer){ NULL };
	fail_late(loop, other, "the request is not stored yet");
	call->is_refused = true;
	if (loop->host->writer == NULL) /* with a writer, the call is stored although it was answered */
		atomic_store(&call->is_unwanted, true);
	intake_drop(connection, call);
	if (!intake_add(connection, other)) /* the new call is charged like the call that it replaces */
	{
		call_free(other);
		connection->is_dead = true;
		return;
	}
	connection->protocol->bind(connection, other->stream, other);
	answer(loop, other);
}

/*
 * Answers a call that has waited too long for a worker, or that a worker or the writer has had for
 * too long.
 */
static void
answer_late(Loop *loop, Call *call)
{
	if (!call->service->is_exchange)
		take_out(loop, call);
	if (call->is_away)
	{
		stand_in(loop, call);
		return;
	}
	fail_late(loop, call, "the request has waited too long to be decoded");
	answer(loop, call);
}

/* Answers or abandons a call that has exceeded its time. */
static void
check_call(Loop *loop, Call *call)
{
	int64_t waited_ns = loop->now_ns - call->since_ns;

	/* This client does not read its answer. */
	if (call->is_refused)
	{
		if (waited_ns > ARRIVAL_NS)
			call->connection->protocol->abandon(call->connection, call);
		return;
	}
	if (call->is_away && waited_ns > answer_after_ns(loop, call))
		answer_late(loop, call);
	else if (!call->is_away && waited_ns > ARRIVAL_NS)
	{
		call_retry(call, "the request took too long to arrive", RETRY_S);
		answer(loop, call);
	}
}

void
intake_check(Connection *connection)
{
	Call *next;

	for (Call *call = connection->calls; call != NULL; call = next)
	{
		next = call->sibling;
		check_call(connection->loop, call);
	}
}

/* --- the way back --- */

/* Sends the first answer of an exchange, then waits for the client's second message. */
static void
go_on(Loop *loop, Call *call)
{
	const size_t held = call->body_length + call->answer.body.length;

	call->wants_second = false;
	if (call->has_surplus || call->is_whole)
	{
		metric_add(&loop->host->metrics.requests_invalid_total, 1);
		intake_refuse(loop, call, GRPC_INVALID_ARGUMENT, 400,
					  call->is_whole ? "the stream ended before the requested stacks"
									 : "unexpected message");
		return;
	}

	/*
	 * Charge the unpacked question and the answer while the client prepares the second message,
	 * because they are larger than what arrived.
	 */
	if (held > call->charged && !charge(loop, call, held - call->charged))
		return;
	call->first = call->body;
	call->first_length = call->body_length;
	call->body = NULL;
	call->body_length = call->body_capacity = 0;
	call->prefix_length = 0;
	call->since_ns = loop->now_ns;
	call->connection->protocol->answer_part(call->connection, call);
}

static void
intake_end(Loop *loop, Call *call)
{
	const ServiceTable *services = loop->host->services;

	if (call->is_stored && services->told != NULL)
		services->told(loop->host, call);
	if (call->answer.code == GRPC_OK && services->answered != NULL)
		services->answered(loop->host);
	/* The samples are stored, but the client has broken the protocol. */
	if (call->answer.code == GRPC_OK && call->has_surplus)
		call_fail(call, GRPC_INTERNAL, "stored, but followed by an unexpected message");
	answer(loop, call);
}

Connection *
intake_take_back(Loop *loop, Call *call)
{
	Connection *connection = call->connection;

	call->is_away = false;
	loop->away_count--;
	charge_answer(loop, call);
	if (connection == NULL)
	{
		const ServiceTable *services = loop->host->services;

		/* The client has not received the answer, so it may repeat the request. */
		if (call->is_stored && services->left != NULL)
			services->left(loop->host, call, loop->now_ns);
		free_call(loop, call);
	}
	else if (call->wants_more)
		next_part(loop, call);
	else if (call->wants_second)
		go_on(loop, call);
	else
		intake_end(loop, call);
	return connection;
}
