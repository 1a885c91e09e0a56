/*
 * http_client.c
 *		Runs requests with libcurl's multi interface.
 *
 * Sockets are watched by epoll, so the cost of a step depends on the requests with events, not on
 * the number of those that wait.
 *
 * Compressed bodies are not requested: profiles are compressed already, and no server can make us
 * expand a small body into a large one. The connection cache is libcurl's own.
 */
#include "http_client/http_client.h"

#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "http_client/http_auth.h"
#include "http_client/http_token.h"

#define CONNECT_MS_MAX	 10000
#define REDIRECTS_MAX	 10
/* Limit of open connections; beyond it, the oldest idle connection is closed. */
#define CONNECTIONS_MAX	 512
/* Limit of concurrent requests; beyond it, connections are not reused. */
#define REUSING_MAX		 256
#define NAMES_S			 60					/* time that the addresses of a name are cached */
#define FORGET_NS		 (1000 * NS_PER_MS) /* interval of removing expired names */
/* length of silence before the first keep-alive probe */
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_S		 10 /* pause between two keep-alive probes */
/* A connection is dead after this many unanswered probes. */
#define KEEPALIVE_PROBES 3
#define CA_CACHE_S		 60
#define FIRST_BODY_BYTES 4096
/* Interval at which transfers that have waited too long for a token are ended. */
#define WAITERS_MS		 100
#define WAIT_MS_MAX		 60000
#define EVENTS_MAX		 256 /* limit of events handled in one step */

struct HttpTransfer
{
	HttpClient *client;
	HttpTransfer *next; /* next one in the client's list */
	HttpTransfer **link;
	CURL *easy;
	HttpAuth auth;
	HttpRequest request; /* url, headers and form are not copied */
	HttpAnswer answer;
	char message[CURL_ERROR_SIZE];
	int64_t started_ns;
	HttpToken *token; /* token that the transfer carries or waits for; NULL: it needs none */
	uint64_t token_number;
	bool waits;
	bool failed; /* the transfer failed before it began; the next step reports this */
	bool in_multi;
	bool reads;	  /* may_read has returned true */
	bool stopped; /* stopped by on_data or by a limit, with the error set */
};

struct HttpClient
{
	CURLM *multi;
	int epoll_fd; /* watches libcurl's sockets and wake_fd */
	int wake_fd;
	int64_t timer_ns; /* time at which libcurl must be called even without an event */
	HttpTransfer *transfers;
	size_t count;	   /* number of transfers */
	int64_t forget_ns; /* next removal of expired names */
	HttpTokens tokens;
	size_t waiting; /* number of transfers that wait for tokens */
	size_t failed;	/* number of failed transfers whose end is not reported yet */
	size_t held_max;
	atomic_size_t held;
};

/* --- the client --- */

/* Called by libcurl to watch a socket or to stop that; known is NULL before the first call. */
static int
on_watch(CURL *easy, curl_socket_t fd, int events, void *context, void *known)
{
	HttpClient *client = context;
	struct epoll_event event = { .data.fd = fd };

	if (events == CURL_POLL_REMOVE)
	{
		(void) epoll_ctl(client->epoll_fd, EPOLL_CTL_DEL, fd, &event);
		return 0;
	}
	event.events = (events & CURL_POLL_IN ? EPOLLIN : 0) | (events & CURL_POLL_OUT ? EPOLLOUT : 0);
	if (epoll_ctl(client->epoll_fd, known != NULL ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0)
		curl_multi_assign(client->multi, fd, client);
	return 0; /* even if the socket cannot be watched, the request ends at its deadline */
}

static int
on_timer(CURLM *multi, long after_ms, void *context)
{
	HttpClient *client = context;

	client->timer_ns = after_ms < 0 ? INT64_MAX : clock_ns(CLOCK_MONOTONIC) + after_ms * NS_PER_MS;
	return 0;
}

static bool
open_client(HttpClient *client)
{
	struct epoll_event event = { .events = EPOLLIN };

	client->timer_ns = INT64_MAX;
	client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	client->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	client->multi = curl_multi_init();
	event.data.fd = client->wake_fd;
	if (client->multi == NULL ||
		epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, client->wake_fd, &event) != 0)
		return false;
	curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long) CONNECTIONS_MAX);
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_watch);
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
	return true;
}

static void
close_client(HttpClient *client)
{
	curl_multi_cleanup(client->multi);
	if (client->epoll_fd >= 0)
		close(client->epoll_fd);
	if (client->wake_fd >= 0)
		close(client->wake_fd);
	free(client);
}

int
http_client_create(size_t held_max, HttpClient **client)
{
	*client = calloc(1, sizeof(HttpClient));
	if (*client == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
	{
		free(*client);
		return -ENOMEM;
	}
	(*client)->held_max = held_max;
	if (open_client(*client))
		return 0;
	close_client(*client);
	return -ENOMEM;
}

void
http_body_free(HttpBody *body)
{
	if (body->held != NULL)
		atomic_fetch_sub(body->held, body->capacity);
	free(body->bytes);
	*body = (HttpBody){ NULL };
}

/* Ends the wait of a transfer for its token. */
static void
client_end_wait(HttpTransfer *transfer)
{
	transfer->client->waiting -= transfer->waits;
	transfer->waits = false;
}

/* Marks a transfer that failed before it was given to libcurl; the next step reports its end. */
static void
set_failed(HttpTransfer *transfer, bool failed)
{
	transfer->client->failed += failed;
	transfer->client->failed -= transfer->failed;
	transfer->failed = failed;
}

void
http_transfer_cancel(HttpTransfer *transfer)
{
	client_end_wait(transfer);
	set_failed(transfer, false);
	if (transfer->token != NULL)
		transfer->token->users--;
	if (transfer->in_multi)
		curl_multi_remove_handle(transfer->client->multi, transfer->easy);
	curl_easy_cleanup(transfer->easy);
	http_auth_fini(&transfer->auth);
	http_body_free(&transfer->answer.body);
	*transfer->link = transfer->next;
	if (transfer->next != NULL)
		transfer->next->link = transfer->link;
	transfer->client->count--;
	free(transfer);
}

void
http_transfer_resume(HttpTransfer *transfer)
{
	transfer->reads = true;
	curl_easy_pause(transfer->easy, CURLPAUSE_CONT);
}

/* --- received data --- */

static bool
client_stop(HttpTransfer *transfer, const char *reason)
{
	transfer->stopped = true;
	snprintf(transfer->answer.error, sizeof(transfer->answer.error), "%s", reason);
	return false;
}

/* Makes room for more bytes, within the limits of the body and of all bodies. */
static bool
client_reserve_body(HttpTransfer *transfer, size_t length)
{
	HttpBody *body = &transfer->answer.body;
	size_t wanted = MAX(MAX(body->capacity * 2, FIRST_BODY_BYTES), body->length + length);
	size_t more;
	char *grown;

	if (body->length + length <= body->capacity)
		return true;
	wanted = MIN(wanted, MAX(transfer->request.body_max, body->length + length));
	more = wanted - body->capacity;
	if (atomic_fetch_add(body->held, more) + more > transfer->client->held_max)
	{
		atomic_fetch_sub(body->held, more);
		return client_stop(transfer, "Too many bytes of answers are held");
	}
	grown = realloc(body->bytes, wanted);
	if (grown == NULL)
	{
		atomic_fetch_sub(body->held, more);
		return client_stop(transfer, "Out of memory");
	}
	body->bytes = grown;
	body->capacity = wanted;
	return true;
}

/*
 * Called by libcurl with a part of the body: passes the part on, collects it within the limits, or
 * pauses the transfer.
 */
static size_t
on_bytes(char *bytes, size_t size, size_t count, void *context)
{
	HttpTransfer *transfer = context;
	HttpBody *body = &transfer->answer.body;
	size_t length = size * count;
	long status = 0;

	if (!transfer->reads && transfer->request.may_read != NULL &&
		!transfer->request.may_read(transfer->request.context))
		return CURL_WRITEFUNC_PAUSE;
	transfer->reads = true;
	if (transfer->request.on_data != NULL &&
		curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK &&
		status == 200)
	{
		if (transfer->request.on_data(transfer->request.context, bytes, length))
			return length;
		client_stop(transfer, "A part of the answer could not be parsed");
		return CURL_WRITEFUNC_ERROR;
	}
	if (length > transfer->request.body_max - body->length)
	{
		client_stop(transfer, "The answer is larger than allowed");
		return CURL_WRITEFUNC_ERROR;
	}
	if (!client_reserve_body(transfer, length))
		return CURL_WRITEFUNC_ERROR;
	memcpy(body->bytes + body->length, bytes, length);
	body->length += length;
	return length;
}

/* Called by libcurl before each request, including those that follow a redirect. */
static int
on_request(void *context, char *there, char *here, int port, int own_port)
{
	HttpTransfer *transfer = context;
	char *url = NULL;

	if (curl_easy_getinfo(transfer->easy, CURLINFO_EFFECTIVE_URL, &url) == CURLE_OK &&
		url != NULL && http_auth_may_go(&transfer->auth, url))
		return CURL_PREREQFUNC_OK;
	client_stop(transfer, "A redirect leads to another host, which must not get secret headers");
	return CURL_PREREQFUNC_ABORT;
}

/* --- the request --- */

/*
 * Enables keep-alive probes on a socket. libcurl calls this only when a request opens a connection,
 * which other requests may use later, so every request must set this function.
 */
static int
on_socket(void *context, curl_socket_t fd, curlsocktype purpose)
{
	static const struct
	{
		int level;
		int name;
		int value;
	} options[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_S },
		{ IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		(void) setsockopt(fd, options[i].level, options[i].name, &options[i].value,
						  sizeof(options[i].value));
	return CURL_SOCKOPT_OK;
}

static void
client_set_limits(HttpTransfer *transfer, const HttpRequest *request)
{
	CURL *easy = transfer->easy;
	const HttpSettings *settings = request->settings;

	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long) request->timeout_ms);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
					 (long) MIN(request->timeout_ms, CONNECT_MS_MAX));
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, settings->no_redirects ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long) REDIRECTS_MAX);
	if (settings->no_http2)
		curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long) CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
	curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, (long) CA_CACHE_S);
}

/*
 * Bounds libcurl's caches, because libcurl searches them linearly: all connections when a
 * connection beyond CONNECTIONS_MAX is kept, and all cached names and addresses unless a request
 * has a time limit for names.
 */
static void
set_caches(HttpTransfer *transfer)
{
	HttpClient *client = transfer->client;
	bool forgets = transfer->started_ns >= client->forget_ns;

	if (forgets)
		client->forget_ns = transfer->started_ns + FORGET_NS;
	curl_easy_setopt(transfer->easy, CURLOPT_DNS_CACHE_TIMEOUT, forgets ? (long) NAMES_S : -1L);
	curl_easy_setopt(transfer->easy, CURLOPT_FORBID_REUSE, client->count > REUSING_MAX ? 1L : 0L);
}

/*
 * Sets all options of a request before it starts. Returns false, with the error in the answer, if
 * one is refused.
 */
static bool
client_prepare(HttpTransfer *transfer, const HttpRequest *request)
{
	CURL *easy = transfer->easy;

	curl_easy_setopt(easy, CURLOPT_URL, request->url);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->message);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_request);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "profstore-collector");
	if (request->form != NULL)
	{
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long) strlen(request->form));
		curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->form);
	}
	client_set_limits(transfer, request);
	set_caches(transfer);
	return http_auth_apply(&transfer->auth, easy, request, transfer->answer.error);
}

static void
send_request(HttpTransfer *transfer)
{
	transfer->in_multi = curl_multi_add_handle(transfer->client->multi, transfer->easy) == CURLM_OK;
	if (!transfer->in_multi)
		set_failed(transfer, !client_stop(transfer, "Out of memory"));
}

/* --- tokens --- */

/* Sends a request with its token, within the rest of its time. */
static void
send_with_token(HttpTransfer *transfer)
{
	int64_t spent_ms = (clock_ns(CLOCK_MONOTONIC) - transfer->started_ns) / NS_PER_MS;
	int64_t left_ms = MAX(transfer->request.timeout_ms - spent_ms, 1);

	transfer->token_number = transfer->token->number;
	curl_easy_setopt(transfer->easy, CURLOPT_TIMEOUT_MS, (long) left_ms);
	set_failed(transfer, !http_auth_add_token(&transfer->auth, transfer->easy,
											  transfer->token->header, transfer->answer.error));
	if (!transfer->failed)
		send_request(transfer);
}

static void
fail_wait(HttpTransfer *transfer, const char *reason)
{
	client_end_wait(transfer);
	set_failed(transfer, !client_stop(transfer, reason));
}

/* Starts all transfers that wait for the token, or fails them if a reason is given. */
static void
end_waits(HttpClient *client, const HttpToken *token, const char *reason)
{
	for (HttpTransfer *transfer = client->transfers; transfer != NULL; transfer = transfer->next)
	{
		if (!transfer->waits || transfer->token != token)
			continue;
		if (reason != NULL)
		{
			fail_wait(transfer, reason);
			continue;
		}
		client_end_wait(transfer);
		send_with_token(transfer);
	}
}

static void
deny(HttpClient *client, const HttpToken *token, const HttpOauth2 *oauth2, const char *why)
{
	char *url = http_url_public(oauth2->token_url);
	char reason[HTTP_ERROR_BYTES];

	snprintf(reason, sizeof(reason), "Could not get a token from \"%.120s\": %.160s",
			 url != NULL ? url : "", why);
	free(url);
	end_waits(client, token, reason);
}

static void on_token(void *context, HttpAnswer *answer);

static void
ask_for_token(HttpClient *client, HttpToken *token, const HttpOauth2 *oauth2)
{
	HttpTokenRequest ask;
	char error[HTTP_ERROR_BYTES];

	if (http_token_ask(token, oauth2, &ask, error))
	{
		ask.request.on_end = on_token;
		ask.request.context = token;
		token->transfer = http_client_start(client, &ask.request);
		if (token->transfer == NULL)
			snprintf(error, sizeof(error), "Out of memory");
	}
	http_token_ask_fini(&ask);
	if (token->transfer == NULL)
		deny(client, token, oauth2, error);
}

static const HttpTransfer *
find_waiter(const HttpClient *client, const HttpToken *token)
{
	const HttpTransfer *transfer = client->transfers;

	while (transfer != NULL && !(transfer->waits && transfer->token == token))
		transfer = transfer->next;
	return transfer;
}

/*
 * Processes the answer to a request for a token. The request uses the settings of a transfer that
 * waits, so if none is left the answer is dropped.
 */
static void
on_token(void *context, HttpAnswer *answer)
{
	HttpToken *token = context;
	HttpClient *client = token->client;
	char error[HTTP_ERROR_BYTES];
	HttpTokenAnswer result = http_token_take(token, answer, error);
	const HttpTransfer *waiter = find_waiter(client, token);

	token->transfer = NULL;
	if (waiter == NULL)
		return;
	switch (result)
	{
		case HTTP_TOKEN_TAKEN:
			end_waits(client, token, NULL);
			break;
		case HTTP_TOKEN_ASK_AGAIN:
			ask_for_token(client, token, waiter->request.settings->oauth2);
			break;
		case HTTP_TOKEN_REFUSED:
			deny(client, token, waiter->request.settings->oauth2, error);
			break;
	}
}

/* Begins a request, at once if its token is known, otherwise when the token arrives. */
static void
begin_with_token(HttpTransfer *transfer, const HttpOauth2 *oauth2)
{
	HttpClient *client = transfer->client;
	HttpToken *token = http_token_find(&client->tokens, oauth2, client, transfer->started_ns);

	transfer->token = token;
	if (token == NULL)
	{
		set_failed(transfer, !client_stop(transfer, "Out of memory"));
		return;
	}
	token->users++;
	if (http_token_header(token, transfer->started_ns) != NULL)
	{
		send_with_token(transfer);
		return;
	}
	transfer->waits = true;
	client->waiting++;
	if (token->transfer == NULL)
		ask_for_token(client, token, oauth2);
}

static void
fail_overdue(HttpClient *client)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	for (HttpTransfer *transfer = client->transfers; transfer != NULL; transfer = transfer->next)
	{
		int64_t timeout_ms = transfer->request.timeout_ms;
		char reason[64];

		if (!transfer->waits || now_ns - transfer->started_ns < timeout_ms * NS_PER_MS)
			continue;
		snprintf(reason, sizeof(reason), "No token arrived within %lld ms", (long long) timeout_ms);
		fail_wait(transfer, reason);
	}
}

/* --- requests --- */

HttpTransfer *
http_client_start(HttpClient *client, const HttpRequest *request)
{
	HttpTransfer *transfer = calloc(1, sizeof(HttpTransfer));
	CURL *easy = curl_easy_init();

	if (transfer == NULL || easy == NULL)
	{
		free(transfer);
		curl_easy_cleanup(easy);
		return NULL;
	}
	transfer->client = client;
	transfer->easy = easy;
	transfer->request = *request;
	transfer->answer.body.held = &client->held;
	transfer->started_ns = clock_ns(CLOCK_MONOTONIC);
	transfer->next = client->transfers;
	transfer->link = &client->transfers;
	if (client->transfers != NULL)
		client->transfers->link = &transfer->next;
	client->transfers = transfer;
	client->count++;
	set_failed(transfer, !client_prepare(transfer, request));
	if (!transfer->failed && request->settings->oauth2 != NULL)
		begin_with_token(transfer, request->settings->oauth2);
	else if (!transfer->failed)
		send_request(transfer);
	if (transfer->failed)
		http_client_wake(client);
	return transfer;
}

/* --- how it ends --- */

static const char *
get_header(CURL *easy, const char *name)
{
	struct curl_header *header;

	return curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK ? header->value
																				   : "";
}

/* Sets the error unless one is set. libcurl's texts may contain the host, but contain no secret. */
static void
set_failure(HttpTransfer *transfer, CURLcode code)
{
	HttpAnswer *answer = &transfer->answer;

	if (code == CURLE_OK || transfer->stopped)
		return;
	if (code == CURLE_OPERATION_TIMEDOUT && answer->started)
		snprintf(answer->error, sizeof(answer->error), "No complete answer arrived within %lld ms",
				 (long long) transfer->request.timeout_ms);
	else
		snprintf(answer->error, sizeof(answer->error), "%s",
				 transfer->message[0] != '\0' ? transfer->message : curl_easy_strerror(code));
}

/*
 * Completes the answer of a transfer that has ended, gives it to the request's owner, and frees the
 * transfer.
 */
static void
client_end(HttpTransfer *transfer, CURLcode code)
{
	HttpAnswer *answer = &transfer->answer;
	char *type = NULL;

	answer->started = !transfer->failed;
	answer->duration_ns = clock_ns(CLOCK_MONOTONIC) - transfer->started_ns;
	answer->index = "";
	if (answer->started)
	{
		set_failure(transfer, code);
		curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &answer->status);
		curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_TYPE, &type);
		answer->index = get_header(transfer->easy, "X-Consul-Index");
		if (answer->status == 401 && transfer->token != NULL)
			http_token_forget(transfer->token, transfer->token_number);
	}
	answer->content_type = type != NULL ? type : "";
	transfer->request.on_end(transfer->request.context, answer);
	http_transfer_cancel(transfer);
}

void
http_client_free(HttpClient *client)
{
	if (client == NULL)
		return;
	while (client->transfers != NULL)
	{
		client_stop(client->transfers, "Cancelled because the client ended");
		client_end(client->transfers, CURLE_ABORTED_BY_CALLBACK);
	}
	http_tokens_free(&client->tokens);
	close_client(client);
	curl_global_cleanup();
}

static void
end_finished(HttpClient *client)
{
	const CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(client->multi, &left)) != NULL)
	{
		HttpTransfer *transfer = NULL;
		CURLcode code = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **) &transfer);
		client_end(transfer, code);
	}
}

/*
 * Reports the ends of failed transfers. A callback may start and cancel other transfers, so the
 * search restarts after each call.
 */
static bool
end_failed(HttpClient *client)
{
	for (HttpTransfer *transfer = client->transfers; transfer != NULL; transfer = transfer->next)
	{
		if (!transfer->failed)
			continue;
		client_end(transfer, CURLE_OK);
		return true;
	}
	return false;
}

/* Waits for an event of libcurl's sockets, a wake-up, fd, or libcurl's timer. */
static void
wait_for_events(const HttpClient *client, int64_t wait_ms, int fd)
{
	struct pollfd polled[] = { { .fd = client->epoll_fd, .events = POLLIN },
							   { .fd = fd, .events = POLLIN } };
	int64_t most_ms = client->waiting > 0 ? WAITERS_MS : WAIT_MS_MAX;

	if (client->timer_ns != INT64_MAX)
	{
		int64_t left_ns = client->timer_ns - clock_ns(CLOCK_MONOTONIC);

		most_ms = MIN(most_ms, (left_ns + NS_PER_MS - 1) / NS_PER_MS);
	}
	(void) poll(polled, 2, (int) MAX(MIN(wait_ms, most_ms), 0));
}

/* Calls libcurl for its ready sockets and its timer. */
static void
handle_events(HttpClient *client)
{
	struct epoll_event events[EVENTS_MAX];
	int count = epoll_wait(client->epoll_fd, events, EVENTS_MAX, 0);
	int running;

	for (int i = 0; i < count; i++)
	{
		uint32_t ready = events[i].events;
		eventfd_t wakes;

		if (events[i].data.fd == client->wake_fd)
			(void) eventfd_read(client->wake_fd, &wakes);
		else
			curl_multi_socket_action(client->multi, events[i].data.fd,
									 (ready & EPOLLIN ? CURL_CSELECT_IN : 0) |
										 (ready & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
										 (ready & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0),
									 &running);
	}
	if (client->timer_ns > clock_ns(CLOCK_MONOTONIC))
		return;
	client->timer_ns = INT64_MAX;
	curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

void
http_client_step(HttpClient *client, int64_t wait_ms, int fd)
{
	wait_for_events(client, wait_ms, fd);
	handle_events(client);
	end_finished(client);
	if (client->waiting > 0)
		fail_overdue(client);
	while (client->failed > 0 && end_failed(client))
		;
}

void
http_client_wake(HttpClient *client)
{
	(void) eventfd_write(client->wake_fd, 1);
}

size_t
http_client_held(const HttpClient *client)
{
	return atomic_load(&client->held);
}

char *
http_url_public(const char *url)
{
	CURLU *parts = curl_url();
	char *text = NULL;
	char *copy = NULL;

	if (parts != NULL && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
		curl_url_set(parts, CURLUPART_PASSWORD, NULL, 0) == CURLUE_OK &&
		curl_url_get(parts, CURLUPART_URL, &text, 0) == CURLUE_OK)
		copy = strdup(text);
	curl_free(text);
	curl_url_cleanup(parts);
	return copy != NULL ? copy : strdup("[malformed URL]");
}
