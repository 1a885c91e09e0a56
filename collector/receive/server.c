/*
 * server.c
 *		Sockets and turns of the loop; who may ask, and how much of it is held.
 */
#include "receive/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "receive/connection.h"
#include "receive/services.h"
#include "receive/tls.h"

#define TURN_MS		  250
#define NS_PER_MS	  INT64_C(1000000)
#define EVENTS_A_TURN 64
#define BACKLOG		  1024
#define ACCEPTS		  64
#define ARRIVAL_NS	  (INT64_C(60) * 1000000000) /* until a request must be whole */
#define PREFIX_BYTES  5
#define FIRST_BYTES	  4096
#define RETRY_S		  1

/* Never a client's: for files, the database when it comes again, whoever is refused. */
#define DESCRIPTORS_KEPT 64

/* --- listening --- */

static ExitCode
cannot_listen(const char *address, const char *reason, Failure *failure)
{
	failure_set(failure, EXIT_CONFIG, "could not listen");
	failure_detail(failure, "%s: %s.", address, reason);
	failure_hint(failure,
				 "Give --listen an address of this machine, and a port that is free: HOST:PORT.");
	return failure->code;
}

static int
open_listener(const struct addrinfo *address)
{
	const int on = 1;
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
		(address->ai_family == AF_INET6 &&
		 setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0) ||
		bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
	{
		close(fd);
		return -1;
	}
	return fd;
}

/* Where it really listens: the port may have been 0. */
static void
log_listener(int fd)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	char host[64];
	char port[16];
	char text[96];

	if (getsockname(fd, (struct sockaddr *) &address, &length) != 0 ||
		getnameinfo((struct sockaddr *) &address, length, host, sizeof(host), port, sizeof(port),
					NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	snprintf(text, sizeof(text), "%s:%s", host, port);
	log_event(LOG_INFO, "receive", "listening", log_text("address", text));
}

static ExitCode
listen_on(Server *server, const char *address, Failure *failure)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	const char *colon = strrchr(address, ':');
	struct addrinfo *found = NULL;
	struct epoll_event event = { .events = EPOLLIN };
	char host[NI_MAXHOST];
	bool bracketed;
	int err;
	int fd;

	if (colon == NULL)
		return cannot_listen(address, "It has no port", failure);
	if (colon - address >= NI_MAXHOST)
		return cannot_listen(address, "The name is too long", failure);
	bracketed = address[0] == '[' && colon > address && colon[-1] == ']';
	snprintf(host, sizeof(host), "%.*s", (int) (colon - address) - 2 * bracketed,
			 address + bracketed);
	err = getaddrinfo(host[0] != '\0' ? host : NULL, colon + 1, &hints, &found);
	if (err != 0)
		return cannot_listen(address, gai_strerror(err), failure);
	for (const struct addrinfo *at = found; at != NULL; at = at->ai_next)
	{
		fd = server->listener_count < SERVER_LISTENERS_MAX ? open_listener(at) : -1;
		event.data.ptr = fd >= 0 ? &server->listeners[server->listener_count] : NULL;
		if (fd < 0 || epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		{
			err = errno;
			freeaddrinfo(found);
			return cannot_listen(address, strerror(err), failure);
		}
		server->listeners[server->listener_count++] = fd;
		log_listener(fd);
	}
	freeaddrinfo(found);
	return EXIT_OK;
}

static ExitCode
listen_on_all(Server *server, Failure *failure)
{
	char *list = strdup(server->options->listen);
	char *rest = NULL;
	ExitCode code = EXIT_OK;

	if (list == NULL)
		return failure_set(failure, EXIT_INTERNAL, "out of memory");
	for (char *address = strtok_r(list, ",", &rest); code == EXIT_OK && address != NULL;
		 address = strtok_r(NULL, ",", &rest))
		code = listen_on(server, address, failure);
	free(list);
	if (code == EXIT_OK && server->listener_count == 0)
		code = cannot_listen(server->options->listen, "There is no address in it", failure);
	return code;
}

/* --- certificates and tokens --- */

static ExitCode
check_options(const ReceiveOptions *options, Failure *failure)
{
	if ((options->cert != NULL) == (options->key != NULL) &&
		(options->client_ca == NULL || options->cert != NULL))
		return EXIT_OK;
	failure_set(failure, EXIT_CONFIG, "flags for TLS are incomplete");
	failure_detail(failure, "--tls-cert and --tls-key go together, --tls-client-ca needs both.");
	return failure->code;
}

ExitCode
server_reload(Server *server, Failure *failure)
{
	const ReceiveOptions *options = server->options;
	SSL_CTX *tls = NULL;
	Identities *identities = NULL;
	ExitCode code = check_options(options, failure);

	if (code == EXIT_OK && options->cert != NULL)
		code = tls_create(options->cert, options->key, options->client_ca, &tls, failure);
	if (code == EXIT_OK && options->tokens != NULL)
		code = identities_read(options->tokens, &identities, failure);
	if (code != EXIT_OK)
	{
		SSL_CTX_free(tls);
		return code;
	}
	SSL_CTX_free(server->tls); /* connections that are open keep theirs */
	identities_free(server->identities);
	server->tls = tls;
	server->identities = identities;
	return EXIT_OK;
}

/* As many as wanted, where there are descriptors: an accept without one would be tried for ever. */
static void
limit_connections(Server *server)
{
	int64_t descriptors = descriptors_raise_limit();
	int64_t room = MAX(descriptors - DESCRIPTORS_KEPT, 1);

	server->connections_max = MIN(server->options->max_connections, room);
	if (server->connections_max < server->options->max_connections)
		log_event(LOG_WARNING, "receive", "the limit of open files allows fewer connections",
				  log_number("connections", server->connections_max),
				  log_number("open_files", descriptors));
}

ExitCode
server_init(Server *server, Receiver *receiver, Failure *failure)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = &receiver->wake_fd };
	ExitCode code;

	memset(server, 0, sizeof(*server));
	server->receiver = receiver;
	server->options = receiver->options;
	server->now_ns = clock_ns(CLOCK_MONOTONIC);
	limit_connections(server);
	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (server->epoll_fd < 0 ||
		epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, receiver->wake_fd, &event) != 0)
		return failure_set(failure, EXIT_INTERNAL, "could not set up the receiver");
	code = server_reload(server, failure);
	return code == EXIT_OK ? listen_on_all(server, failure) : code;
}

void
server_fini(Server *server)
{
	while (server->connections != NULL)
		connection_close_now(server->connections);
	for (size_t i = 0; i < server->listener_count; i++)
		close(server->listeners[i]);
	SSL_CTX_free(server->tls);
	identities_free(server->identities);
	clients_free(&server->clients);
	clients_free(&server->addresses);
	if (server->epoll_fd > 0)
		close(server->epoll_fd);
}

/* --- who may ask --- */

static void
discharge(Server *server, Call *call)
{
	if (call->charged == 0)
		return;
	pool_release(&server->receiver->memory, call->charged);
	client_discharge(call->client, call->charged);
	call->charged = 0;
}

/* Its client may let the call wait for long yet: what it said goes before. */
static void
answer(Server *server, Call *call)
{
	discharge(server, call);
	call_drop_body(call);
	call->is_refused = true;
	call->since_ns = server->now_ns;
	if (call->connection != NULL)
		connection_answer(call->connection, call);
}

static void
refuse(Server *server, Call *call, GrpcCode code, int http_status, const char *text)
{
	call_fail(call, code, text);
	call->answer.http_status = http_status;
	answer(server, call);
}

/* By token, else by certificate. False with the answer. */
static bool
identify(Server *server, Call *call)
{
	const Connection *connection = call->connection;
	const char *tenant = NULL;

	if (call->service->is_open ||
		(server->identities == NULL && server->options->client_ca == NULL))
		return true;
	if (server->identities != NULL && call->authorization != NULL)
		tenant = identities_find(server->identities, call->authorization);
	else if (connection->has_tenant)
		tenant = connection->tenant;
	if (tenant != NULL)
	{
		snprintf(call->tenant, sizeof(call->tenant), "%s", tenant);
		return true;
	}
	metric_add(&server->receiver->metrics.requests_unauthenticated_total, 1);
	log_event(LOG_WARNING, "receive", "refused a request without a valid token",
			  log_text("peer", connection->peer));
	refuse(server, call, GRPC_UNAUTHENTICATED, 401, "a valid token or certificate is needed");
	return false;
}

static bool
find_service(Server *server, Call *call)
{
	bool is_grpc = call->content == CONTENT_GRPC;

	call->service = service_find(server->receiver->services, call->path, is_grpc);
	if (call->service == NULL)
		refuse(server, call, GRPC_UNIMPLEMENTED, 404,
			   strstr(call->path, ".v1experimental.") != NULL
				   ? "the profiles signal is read as v1development, of OTLP 1.8 to 1.11"
				   : "there is no such method");
	else if (strcmp(call->service->method, call->method) != 0)
		refuse(server, call, GRPC_UNIMPLEMENTED, 405, "there is no such method at this path");
	else if (!is_grpc && call->service->work != NULL && call->content != CONTENT_PROTOBUF &&
			 call->content != CONTENT_JSON)
		refuse(server, call, GRPC_INVALID_ARGUMENT, 415,
			   "the content type is neither application/x-protobuf nor application/json");
	else if (call->encoding == ENCODING_UNKNOWN)
		refuse(server, call, GRPC_UNIMPLEMENTED, 415, "the encoding is not identity, gzip or zstd");
	else
		return true;
	metric_add(&server->receiver->metrics.requests_invalid_total, 1);
	return false;
}

static bool
throttled(Server *server, Call *call, const char *text)
{
	metric_add(&server->receiver->metrics.requests_throttled_total, 1);
	call_retry(call, text, RETRY_S);
	call->answer.http_status = 429;
	answer(server, call);
	return false;
}

static bool
take_client(Server *server, Call *call)
{
	const char *name = call->tenant[0] != '\0' ? call->tenant : call->connection->peer;

	call->client = clients_take(&server->clients, name);
	if (call->client == NULL)
	{
		call_retry(call, "out of memory", RETRY_S);
		answer(server, call);
		return false;
	}
	return client_may_ask(call->client, server->now_ns, server->options->client_requests) ||
		   throttled(server, call, "too many requests");
}

static bool
too_large(Server *server, Call *call)
{
	bool is_parca = call->service != NULL && call->service->is_parca;

	metric_add(&server->receiver->metrics.requests_too_large_total, 1);
	refuse(server, call, is_parca ? GRPC_INVALID_ARGUMENT : GRPC_RESOURCE_EXHAUSTED, 413,
		   "the request is larger than --max-message");
	return false;
}

bool
server_headers(Server *server, Call *call)
{
	if (!find_service(server, call) || !identify(server, call) || !take_client(server, call))
		return false;
	if (call->content != CONTENT_GRPC && call->length != UINT64_MAX &&
		call->length > server->options->max_message)
		return too_large(server, call);
	if (server->is_stopping)
	{
		call_retry(call, "the receiver stops", RETRY_S);
		answer(server, call);
	}
	return !server->is_stopping;
}

/* --- bodies --- */

/* Pays for memory: all requests together, and half of it for what one client sends. */
static bool
charge(Server *server, Call *call, size_t bytes)
{
	MemoryPool *memory = &server->receiver->memory;

	if (!pool_charge(memory, bytes))
		return throttled(server, call, TOO_MUCH_UNDER_WAY);
	if (!client_charge(call->client, bytes, memory->limit_bytes / 2))
	{
		pool_release(memory, bytes);
		return throttled(server, call, TOO_MUCH_UNDER_WAY);
	}
	call->charged += bytes;
	return true;
}

static bool
reserve_body(Server *server, Call *call, size_t length)
{
	size_t wanted = call->body_length + length;
	size_t capacity = MAX(call->body_capacity, FIRST_BYTES);
	uint8_t *body;

	if (wanted <= call->body_capacity)
		return true;
	if (wanted > server->options->max_message)
		return too_large(server, call);
	while (capacity < wanted)
		capacity *= 2;
	if (call->length != UINT64_MAX && call->length >= wanted)
		capacity = MIN(capacity, call->length);
	if (!charge(server, call, capacity - call->body_capacity))
		return false;
	body = realloc(call->body, capacity);
	if (body == NULL)
		return throttled(server, call, "out of memory");
	call->body = body;
	call->body_capacity = capacity;
	return true;
}

static bool
keep_body(Server *server, Call *call, const uint8_t *bytes, size_t length)
{
	if (length == 0)
		return true;
	if (!reserve_body(server, call, length))
		return false;
	memcpy(call->body + call->body_length, bytes, length);
	call->body_length += length;
	return true;
}

/* One message: a flag, a length, that many bytes. */
static bool
take_prefix(Server *server, Call *call)
{
	const uint8_t *prefix = call->prefix;

	call->length = (uint64_t) prefix[1] << 24 | (uint64_t) prefix[2] << 16 |
				   (uint64_t) prefix[3] << 8 | prefix[4];
	call->is_compressed = prefix[0] == 1;
	if (prefix[0] > 1 ||
		(call->is_compressed && (!call->has_encoding || call->encoding == ENCODING_IDENTITY)))
	{
		metric_add(&server->receiver->metrics.requests_invalid_total, 1);
		refuse(server, call, GRPC_INTERNAL, 400, "a message is compressed, but does not say how");
		return false;
	}
	return call->length <= server->options->max_message || too_large(server, call);
}

static bool
grpc_body(Server *server, Call *call, const uint8_t *bytes, size_t length)
{
	while (length > 0 && call->prefix_length < PREFIX_BYTES)
	{
		call->prefix[call->prefix_length++] = *bytes++;
		length--;
		if (call->prefix_length == PREFIX_BYTES && !take_prefix(server, call))
			return false;
	}
	if (length > 0 && length > call->length - call->body_length)
	{
		refuse(server, call, GRPC_INTERNAL, 400, "a message came that nobody waits for");
		return false;
	}
	return keep_body(server, call, bytes, length);
}

static bool
has_message(const Call *call)
{
	return call->prefix_length == PREFIX_BYTES && call->body_length == call->length;
}

/* --- whole calls --- */

/* What waits behind a database that is away would only be thrown away when the queue is full. */
static bool
database_takes(Server *server, Call *call)
{
	WriterStats stats;

	writer_stats(server->receiver->writer, &stats);
	if (stats.state == RETRY_READY || stats.state == RETRY_STARTING)
		return true;
	metric_add(&server->receiver->metrics.requests_unavailable_total, 1);
	call_retry(call, "the database is away", RETRY_S);
	answer(server, call);
	return false;
}

static void
dispatch(Server *server, Call *call)
{
	call->receiver = server->receiver;
	if (call->first == NULL)
		metric_add(&server->receiver->metrics.requests_total, 1);
	if (call->service->answer != NULL)
	{
		call->service->answer(server->receiver, call);
		answer(server, call);
		return;
	}
	if (!call->service->is_exchange && !database_takes(server, call))
		return;
	call->is_away = true;
	call->since_ns = server->now_ns;
	server->away_count++;
	receiver_want(server->receiver, call);
}

bool
server_body(Server *server, Call *call, const uint8_t *bytes, size_t length)
{
	bool good;

	if (call->is_refused)
		return false;
	metric_add(&server->receiver->metrics.bytes_total, length);
	if (call->is_away) /* a worker has the body: it is told when that comes back */
	{
		call->has_surplus |= length > 0;
		return false;
	}
	good = call->content == CONTENT_GRPC ? grpc_body(server, call, bytes, length)
										 : keep_body(server, call, bytes, length);
	if (good && call->service->is_exchange && has_message(call))
		dispatch(server, call);
	return good;
}

void
server_end_of_request(Server *server, Call *call)
{
	call->is_whole = true;
	if (call->is_refused || call->is_away)
		return;
	if (call->content != CONTENT_GRPC || (has_message(call) && !call->service->is_exchange))
	{
		dispatch(server, call);
		return;
	}
	metric_add(&server->receiver->metrics.requests_total, 1);
	metric_add(&server->receiver->metrics.requests_invalid_total, 1);
	refuse(server, call, GRPC_INTERNAL, 400, "the request ends within its message");
}

static void
free_call(Server *server, Call *call)
{
	discharge(server, call);
	client_release(call->client);
	call_free(call);
}

void
server_forget(Server *server, Call *call)
{
	call->connection = NULL;
	if (!call->is_refused)
		metric_add(&server->receiver->metrics.requests_cancelled_total, 1);
	if (!call->is_away)
		free_call(server, call);
}

/* When its client shall have an answer: somewhat before it gives up itself. */
static int64_t
answer_after_ns(const Server *server, const Call *call)
{
	int64_t limit = server->options->answer_ms * 1000000;

	return call->timeout_ns > 0 ? MIN(limit, call->timeout_ns - call->timeout_ns / 5) : limit;
}

/*
 * A call that is away is not ours to answer from: another one stands in for it, and it is told to
 * nobody when it comes back.
 */
static void
stand_in(Server *server, Call *call)
{
	Connection *connection = call->connection;
	Call *other = call_create();

	if (other == NULL)
		return;
	other->stream = call->stream;
	other->content = call->content;
	other->is_whole = true;
	other->is_answering = call->is_answering;
	other->part = call->part;
	other->part_at = call->part_at;
	call->part = (Buffer){ NULL };
	metric_add(&server->receiver->metrics.requests_unavailable_total, 1);
	call_retry(other, "the database has not stored the request yet", RETRY_S);
	call->is_refused = true;
	connection_drop_call(connection, call);
	connection_add_call(connection, other);
	if (connection->http2 != NULL)
		nghttp2_session_set_stream_user_data(connection->http2, other->stream, other);
	else
		connection->http1.call = other;
	answer(server, other);
}

void
server_check(Server *server, Call *call)
{
	int64_t waited_ns = server->now_ns - call->since_ns;

	if (call->is_refused && waited_ns > ARRIVAL_NS)
		call->connection->is_dead = true; /* it takes no answer, or never ends its request */
	if (call->is_refused)
		return;
	if (call->is_away && waited_ns > answer_after_ns(server, call))
		stand_in(server, call);
	else if (!call->is_away && waited_ns > ARRIVAL_NS)
	{
		call_retry(call, "the request took too long to arrive", RETRY_S);
		answer(server, call);
	}
}

/* The answer of an exchange so far; its client's second message is waited for. */
static void
go_on(Server *server, Call *call)
{
	const size_t held = call->body_length + call->answer.body.length;

	call->wants_second = false;
	if (call->has_surplus || call->is_whole)
	{
		metric_add(&server->receiver->metrics.requests_invalid_total, 1);
		refuse(server, call, GRPC_INVALID_ARGUMENT, 400,
			   call->is_whole ? "the stream ends before the stacks that were asked for"
							  : "a message came that nobody waits for");
		return;
	}

	/* question and answer stay while their client takes its time: unpacked, more than what came */
	if (held > call->charged && !charge(server, call, held - call->charged))
		return;
	call->first = call->body;
	call->first_length = call->body_length;
	call->body = NULL;
	call->body_length = call->body_capacity = 0;
	call->prefix_length = 0;
	call->since_ns = server->now_ns;
	connection_answer_part(call->connection, call);
}

static void
end(Server *server, Call *call)
{
	if (call->answer.code == GRPC_OK && call->has_digest)
		repeats_told(&server->receiver->repeats, call->digest);
	if (call->answer.code == GRPC_OK && call->has_surplus)
		call_fail(call, GRPC_INTERNAL, "stored, but a message came that nobody waits for");
	answer(server, call);
}

static void
take_back(Server *server)
{
	Call *call = receiver_collect(server->receiver);

	while (call != NULL)
	{
		Call *next = call->next;
		Connection *connection = call->connection;

		call->is_away = false;
		server->away_count--;
		if (connection == NULL)
			free_call(server, call);
		else
		{
			if (call->wants_second)
				go_on(server, call);
			else
				end(server, call);
			connection_go_on(connection);
			if (connection->is_dead)
				connection_close_now(connection);
		}
		call = next;
	}
}

/* --- turns --- */

static void
accept_one(Server *server, int fd, const struct sockaddr *address, socklen_t length)
{
	const int on = 1;
	char peer[64] = "";
	Client *client;

	metric_add(&server->receiver->metrics.connections_total, 1);
	getnameinfo(address, length, peer, sizeof(peer), NULL, 0, NI_NUMERICHOST);
	client = clients_take(&server->addresses, peer);
	if (client == NULL || server->connection_count >= server->connections_max ||
		client_references(client) > server->options->client_connections ||
		connection_create(server, fd, peer, client) == NULL)
	{
		metric_add(&server->receiver->metrics.connections_refused_total, 1);
		log_event(LOG_WARNING, "receive", "too many connections", log_text("peer", peer));
		client_release(client);
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

static void
accept_some(Server *server, int listener)
{
	for (int i = 0; i < ACCEPTS; i++)
	{
		struct sockaddr_storage address;
		socklen_t length = sizeof(address);
		int fd =
			accept4(listener, (struct sockaddr *) &address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
		{
			if (errno == EMFILE || errno == ENFILE)
				log_event(LOG_WARNING, "receive", "out of file descriptors");
			return;
		}
		accept_one(server, fd, (struct sockaddr *) &address, length);
	}
}

static bool
is_listener(const Server *server, const void *pointer)
{
	return (const int *) pointer >= server->listeners &&
		   (const int *) pointer < server->listeners + SERVER_LISTENERS_MAX;
}

static void
check_all(Server *server)
{
	Connection *next;

	for (Connection *connection = server->connections; connection != NULL; connection = next)
	{
		next = connection->next;
		connection_check(connection);
	}
	clients_sweep(&server->clients, server->now_ns);
	clients_sweep(&server->addresses, server->now_ns);
}

void
server_turn(Server *server, int wait_ms)
{
	struct epoll_event events[EVENTS_A_TURN];
	int64_t before_ns = server->now_ns;
	bool gives_back = false;
	int count = epoll_wait(server->epoll_fd, events, EVENTS_A_TURN, MIN(wait_ms, TURN_MS));

	server->now_ns = clock_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < count; i++)
	{
		void *pointer = events[i].data.ptr;

		if (pointer == &server->receiver->wake_fd)
			gives_back = true;
		else if (is_listener(server, pointer))
			accept_some(server, *(int *) pointer);
		else
			connection_handle(pointer, events[i].events);
	}

	/* last: it closes connections, of which events may have told */
	if (gives_back)
		take_back(server);
	if (server->now_ns / (TURN_MS * NS_PER_MS) != before_ns / (TURN_MS * NS_PER_MS))
		check_all(server);
}

void
server_stop(Server *server)
{
	server->is_stopping = true;
	for (size_t i = 0; i < server->listener_count; i++)
		close(server->listeners[i]);
	server->listener_count = 0;
	for (Connection *connection = server->connections; connection != NULL;
		 connection = connection->next)
		connection_stop(connection);
}
