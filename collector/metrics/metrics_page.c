/*
 * metrics_page.c
 *		Serves the page /metrics: its connections and its thread.
 */
#include "metrics/metrics_page.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread_start.h"
#include "metrics/metrics_text.h"
#include "program/listeners.h"

#define LISTENERS_MAX	4
#define CONNECTIONS_MAX 16
#define REQUEST_BYTES	4096
#define REQUESTS_PER_S	20
#define CONNECTION_NS	(5 * NS_PER_S)

typedef struct PageConnection
{
	int fd; /* -1: the slot is free */
	int64_t end_ns;
	char request[REQUEST_BYTES + 1];
	size_t length;
	Buffer answer; /* empty until the request is complete */
	size_t answer_at;
} PageConnection;

struct MetricsPage
{
	MetricsPageOptions options;
	int wake_fd; /* readable means stop */
	int listeners[LISTENERS_MAX];
	size_t listener_count;
	PageConnection connections[CONNECTIONS_MAX];
	int64_t second_ns; /* beginning of the second in which requests are counted */
	unsigned requests; /* number of requests accepted in that second */
	pthread_t thread;
	bool is_started;
	Figures figures;
};

/* --- one request --- */

static void
connection_end(PageConnection *connection)
{
	close(connection->fd);
	connection->fd = -1;
	buffer_fini(&connection->answer);
	connection->answer = (Buffer){ NULL };
}

/* Sets the whole answer. body may be NULL. */
static void
connection_answer(PageConnection *connection, const char *status, const char *content,
				  const Buffer *body, bool is_head)
{
	size_t length = body != NULL ? body->length : 0;
	char head[256];
	int printed = snprintf(head, sizeof(head),
						   "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
						   "Connection: close\r\n\r\n",
						   status, content, length);

	buffer_put_bytes(&connection->answer, head, (size_t) printed);
	if (length > 0 && !is_head)
		buffer_put_bytes(&connection->answer, body->bytes, length);
}

/* Returns whether a header "accept" of the request names OpenMetrics. */
static bool
request_accepts_open(const char *request)
{
	for (const char *line = strstr(request, "\r\n"); line != NULL; line = strstr(line, "\r\n"))
	{
		line += 2;
		if (strncasecmp(line, "accept:", 7) == 0 &&
			metrics_accepts_open(line + 7, strcspn(line + 7, "\r")))
			return true;
	}
	return false;
}

/* Answers a complete request. */
static void
page_answer(MetricsPage *page, PageConnection *connection)
{
	static const char plain[] = "text/plain; charset=utf-8";
	char *request = connection->request;
	bool is_head = strncmp(request, "HEAD ", 5) == 0;
	const char *path = request + (is_head ? 5 : 4);
	size_t path_length;
	bool is_open;
	Buffer text = { NULL };

	if (!is_head && strncmp(request, "GET ", 4) != 0)
	{
		connection_answer(connection, "405 Method Not Allowed", plain, NULL, false);
		return;
	}
	path_length = strcspn(path, " ?\r\n");
	if (path_length != strlen("/metrics") || strncmp(path, "/metrics", path_length) != 0)
	{
		connection_answer(connection, "404 Not Found", plain, NULL, is_head);
		return;
	}
	is_open = request_accepts_open(request);
	page->figures.count = 0;
	page->options.fill(page->options.context, &page->figures);
	metrics_print(&text, page->options.part, &page->figures, is_open);
	if (text.failed)
		connection_answer(connection, "500 Internal Server Error", plain, NULL, is_head);
	else
		connection_answer(connection, "200 OK", is_open ? METRICS_OPEN_CONTENT : METRICS_CONTENT,
						  &text, is_head);
	buffer_fini(&text);
}

/* Reads until the request is complete. Returns false if the connection must end. */
static bool
connection_read(MetricsPage *page, PageConnection *connection)
{
	ssize_t got = recv(connection->fd, connection->request + connection->length,
					   REQUEST_BYTES - connection->length, 0);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (got == 0)
		return false;
	connection->length += (size_t) got;
	connection->request[connection->length] = '\0';
	if (strlen(connection->request) < connection->length)
		connection_answer(connection, "400 Bad Request", "text/plain", NULL, false);
	else if (strstr(connection->request, "\r\n\r\n") != NULL)
		page_answer(page, connection);
	else if (connection->length == REQUEST_BYTES)
		connection_answer(connection, "431 Request Header Fields Too Large", "text/plain", NULL,
						  false);
	return !connection->answer.failed;
}

/* Sends output until the socket accepts no more. Returns false if the connection must end. */
static bool
connection_send(PageConnection *connection)
{
	ssize_t sent =
		send(connection->fd, connection->answer.bytes + connection->answer_at,
			 connection->answer.length - connection->answer_at, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	connection->answer_at += (size_t) sent;
	if (connection->answer_at < connection->answer.length)
		return true;
	shutdown(connection->fd, SHUT_WR);
	return false;
}

/* Reads or sends, as the event of the connection's socket allows. */
static void
connection_handle(MetricsPage *page, PageConnection *connection)
{
	bool goes_on = connection->answer.length == 0 ? connection_read(page, connection) : true;

	if (goes_on && connection->answer.length > 0)
		goes_on = connection_send(connection);
	if (!goes_on)
		connection_end(connection);
}

/* --- the thread --- */

/* Returns a free connection; NULL if there is none. */
static PageConnection *
page_free_connection(MetricsPage *page)
{
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (page->connections[i].fd < 0)
			return &page->connections[i];
	return NULL;
}

/* Returns true if a further connection may be accepted now. */
static bool
page_has_room(MetricsPage *page, int64_t now_ns)
{
	if (now_ns - page->second_ns >= NS_PER_S)
	{
		page->second_ns = now_ns;
		page->requests = 0;
	}
	return page->requests < REQUESTS_PER_S && page_free_connection(page) != NULL;
}

static void
page_accept(MetricsPage *page, int listener, int64_t now_ns)
{
	PageConnection *connection = page_free_connection(page);
	int fd;

	if (connection == NULL)
		return;
	fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
	{
		/*
		 * without a free descriptor the listener stays readable, so accept nothing until the next
		 * second
		 */
		if (errno != EAGAIN && errno != EINTR)
			page->requests = REQUESTS_PER_S;
		return;
	}
	page->requests++;
	connection->fd = fd;
	connection->end_ns = now_ns + CONNECTION_NS;
	connection->length = 0;
	connection->answer_at = 0;
}

/*
 * Waits for events, at most until a connection must end or the next second begins. While there is
 * no room for a connection, ignores the listeners.
 */
static void
page_wait(MetricsPage *page, struct pollfd *polled, int64_t now_ns)
{
	bool has_room = page_has_room(page, now_ns);
	int64_t until_ns = has_room ? INT64_MAX : page->second_ns + NS_PER_S;
	int wait_ms = -1;

	polled[0] = (struct pollfd){ .fd = page->wake_fd, .events = POLLIN };
	for (size_t i = 0; i < LISTENERS_MAX; i++)
		polled[1 + i] =
			(struct pollfd){ .fd = has_room && i < page->listener_count ? page->listeners[i] : -1,
							 .events = POLLIN };
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
	{
		PageConnection *connection = &page->connections[i];

		polled[1 + LISTENERS_MAX + i] =
			(struct pollfd){ .fd = connection->fd,
							 .events = connection->answer.length > 0 ? POLLOUT : POLLIN };
		if (connection->fd >= 0 && connection->end_ns < until_ns)
			until_ns = connection->end_ns;
	}
	if (until_ns != INT64_MAX)
		wait_ms = until_ns > now_ns ? (int) ((until_ns - now_ns) / NS_PER_MS + 1) : 0;
	(void) poll(polled, 1 + LISTENERS_MAX + CONNECTIONS_MAX, wait_ms);
}

static void *
page_main(void *argument)
{
	MetricsPage *page = argument;
	struct pollfd polled[1 + LISTENERS_MAX + CONNECTIONS_MAX];

	for (;;)
	{
		int64_t now_ns;

		page_wait(page, polled, clock_ns(CLOCK_MONOTONIC));
		if (polled[0].revents != 0)
			return NULL;
		now_ns = clock_ns(CLOCK_MONOTONIC);
		for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		{
			PageConnection *connection = &page->connections[i];

			if (connection->fd >= 0 && polled[1 + LISTENERS_MAX + i].revents != 0)
				connection_handle(page, connection);
			if (connection->fd >= 0 && now_ns >= connection->end_ns)
				connection_end(connection);
		}
		for (size_t i = 0; i < page->listener_count; i++)
			if (polled[1 + i].revents != 0)
				page_accept(page, page->listeners[i], now_ns);
	}
}

/* --- start and stop --- */

ExitCode
metrics_page_start(const MetricsPageOptions *options, MetricsPage **page, Failure *failure)
{
	const ListenOptions listen = { options->listen, "metrics-listen", options->part, true };
	MetricsPage *self = calloc(1, sizeof(MetricsPage));
	ExitCode code;

	*page = NULL;
	if (self == NULL)
		return failure_out_of_memory(failure);
	self->options = *options;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		self->connections[i].fd = -1;
	self->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	code = listeners_open(&listen, self->listeners, LISTENERS_MAX, &self->listener_count, failure);
	if (code == EXIT_OK && (self->wake_fd < 0 || thread_start(&self->thread, page_main, self) != 0))
		code = failure_set(failure, EXIT_INTERNAL, "could not start the thread of the metrics");
	else
		self->is_started = code == EXIT_OK;
	if (code == EXIT_OK)
		*page = self;
	else
		metrics_page_stop(self);
	return code;
}

void
metrics_page_stop(MetricsPage *page)
{
	const uint64_t one = 1;

	if (page == NULL)
		return;
	if (page->is_started && write(page->wake_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(page->thread, NULL);
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (page->connections[i].fd >= 0)
			connection_end(&page->connections[i]);
	for (size_t i = 0; i < page->listener_count; i++)
		close(page->listeners[i]);
	if (page->wake_fd >= 0)
		close(page->wake_fd);
	free(page);
}
