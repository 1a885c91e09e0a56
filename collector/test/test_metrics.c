/*
 * test_metrics.c
 *		Figures as text, checked by a strict reader of OpenMetrics, and the page that serves them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <regex.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent_figures.h"
#include "metrics/metrics_page.h"
#include "metrics/metrics_text.h"
#include "metrics/writer_figures.h"
#include "program/listeners.h"

#define FAMILIES_MAX 64
#define IDLE_CLIENTS 20 /* more than the connections of the page */

/* --- a strict reader of both formats --- */

static bool
matches(const char *text, const char *pattern)
{
	regex_t expression;
	bool found;

	assert_int_equal(regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB), 0);
	found = regexec(&expression, text, 0, NULL, 0) == 0;
	regfree(&expression);
	return found;
}

typedef struct TextReader
{
	/* complete families, of which no further samples may follow */
	char families[FAMILIES_MAX][128];
	size_t family_count;
	char type[16]; /* type of the last family */
	char samples[FIGURES_MAX][128];
	size_t sample_count;
	bool ended;
} TextReader;

/* Reads "# TYPE name type": the family must be new. */
static void
read_type(TextReader *reader, const char *line)
{
	char name[128];

	assert_int_equal(sscanf(line, "# TYPE %127s %15s", name, reader->type), 2);
	for (size_t i = 0; i < reader->family_count; i++)
		assert_string_not_equal(reader->families[i], name);
	assert_true(reader->family_count < FAMILIES_MAX);
	strcpy(reader->families[reader->family_count++], name);
}

/*
 * Reads a sample, which must belong to the last family, and whose name and labels must be unique.
 */
static void
read_sample(TextReader *reader, const char *line, bool is_open)
{
	const char *family = reader->families[reader->family_count - 1];
	size_t length = strcspn(line, "{ ");
	size_t key_length = strcspn(line, " ");

	if (!matches(line,
				 "^profstore_[a-z]+_[a-z][a-z0-9_]*(\\{reason=\"[a-z][a-z0-9_]*\"\\})? [0-9]+$"))
		fail_msg("no sample: %s", line);
	assert_true(reader->family_count > 0);
	assert_int_equal(strncmp(line, family, strlen(family)), 0);
	if (strcmp(reader->type, "counter") == 0)
	{
		assert_true(length > 6 && strncmp(line + length - 6, "_total", 6) == 0);
		assert_int_equal(length, strlen(family) + (is_open ? 6 : 0));
	}
	else
	{
		assert_string_equal(reader->type, "gauge");
		assert_int_equal(length, strlen(family));
	}
	for (size_t i = 0; i < reader->sample_count; i++)
		assert_false(strlen(reader->samples[i]) == key_length &&
					 strncmp(reader->samples[i], line, key_length) == 0);
	assert_true(reader->sample_count < FIGURES_MAX && key_length < 128);
	snprintf(reader->samples[reader->sample_count++], 128, "%.*s", (int) key_length, line);
}

/* Reads a whole text, which need not end with a zero. Returns the number of its samples. */
static size_t
read_metrics(const char *text, size_t length, bool is_open)
{
	TextReader *reader = calloc(1, sizeof(TextReader));
	char *copy = strndup(text, length);
	char *rest = NULL;
	size_t samples;

	assert_non_null(reader);
	assert_true(length > 0 && text[length - 1] == '\n');
	for (char *line = strtok_r(copy, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
	{
		assert_false(reader->ended);
		if (strncmp(line, "# HELP ", 7) == 0)
			assert_true(matches(line, "^# HELP [a-z0-9_]+ [^\\]+$"));
		else if (strncmp(line, "# TYPE ", 7) == 0)
			read_type(reader, line);
		else if (strcmp(line, "# EOF") == 0)
			reader->ended = true;
		else
			read_sample(reader, line, is_open);
	}
	assert_int_equal(reader->ended, is_open);
	samples = reader->sample_count;
	free(copy);
	free(reader);
	return samples;
}

/* --- text --- */

static Losses losses;

/* Adds the figures of an agent, without those that need a kernel. */
static void
fill(void *context, Figures *figures)
{
	WriterStats writer = { .state = RETRY_READY, .queued_bytes = SIZE_MAX };

	if (context != NULL)
		++*(int *) context;
	writer_figures_add(figures, &writer);
	agent_figures_add_losses(&losses, figures);
}

static void
test_figures_are_metrics(void **state)
{
	Figures figures = { .count = 0 };
	size_t expected;

	fill(NULL, &figures);
	expected = figures.count;

	/* figures of the sampler, of the threads and of the time, with a margin */
	assert_true(expected > LOSS_COUNT / 2 && expected + 40 < FIGURES_MAX);
	for (int is_open = 0; is_open <= 1; is_open++)
	{
		Buffer text = { NULL };

		metrics_print(&text, "agent", &figures, is_open);
		assert_false(text.failed);
		assert_int_equal(read_metrics(text.bytes, text.length, is_open), expected);
		buffer_fini(&text);
	}
}

static void
test_formats_differ_in_counters(void **state)
{
	Figures figures = { .count = 0 };
	Buffer text = { NULL };

	figures_add_counter(&figures, "a_total", "A.", 1);
	figures_add(&figures, (Figure){ "b_total", "B.", "counter", "x", 2 });
	figures_add(&figures, (Figure){ "b_total", "B.", "counter", "y", UINT64_MAX });
	figures_add_gauge(&figures, "c", "C.", 0);
	metrics_print(&text, "p", &figures, false);
	buffer_put_bytes(&text, "", 1);
	assert_string_equal(text.bytes, "# HELP profstore_p_a_total A.\n"
									"# TYPE profstore_p_a_total counter\n"
									"profstore_p_a_total 1\n"
									"# HELP profstore_p_b_total B.\n"
									"# TYPE profstore_p_b_total counter\n"
									"profstore_p_b_total{reason=\"x\"} 2\n"
									"profstore_p_b_total{reason=\"y\"} 18446744073709551615\n"
									"# HELP profstore_p_c C.\n"
									"# TYPE profstore_p_c gauge\n"
									"profstore_p_c 0\n");
	buffer_reset(&text);
	metrics_print(&text, "p", &figures, true);
	buffer_put_bytes(&text, "", 1);
	assert_string_equal(text.bytes, "# HELP profstore_p_a A.\n"
									"# TYPE profstore_p_a counter\n"
									"profstore_p_a_total 1\n"
									"# HELP profstore_p_b B.\n"
									"# TYPE profstore_p_b counter\n"
									"profstore_p_b_total{reason=\"x\"} 2\n"
									"profstore_p_b_total{reason=\"y\"} 18446744073709551615\n"
									"# HELP profstore_p_c C.\n"
									"# TYPE profstore_p_c gauge\n"
									"profstore_p_c 0\n"
									"# EOF\n");
	buffer_fini(&text);
}

static void
test_figures_beyond_the_limit_are_left_out(void **state)
{
	Figures figures = { .count = 0 };

	for (int i = 0; i < FIGURES_MAX + 5; i++)
		figures_add_gauge(&figures, "c", "C.", 0);
	assert_int_equal(figures.count, FIGURES_MAX);
}

static void
test_a_snapshot_is_replaced(void **state)
{
	FiguresSnapshot snapshot;
	Figures figures = { .count = 0 };
	Figures read = { .count = 0 };

	figures_snapshot_init(&snapshot);
	figures_fill_published(&snapshot, &read);
	assert_int_equal(read.count, 0);
	figures_add_gauge(&figures, "c", "C.", 1);
	figures_publish(&snapshot, &figures);
	figures.items[0].value = 2;
	figures_publish(&snapshot, &figures);
	figures_fill_published(&snapshot, &read);
	assert_int_equal(read.count, 2);
	assert_int_equal(read.items[0].value, 2);
	assert_string_equal(read.items[1].name, "figures_timestamp_seconds");
}

/* --- the page --- */

/* Returns the port of the last socket of this process that listens. */
static int
listening_port(void)
{
	struct sockaddr_in address;
	int port = 0;

	for (int fd = 3; fd < 256; fd++)
	{
		socklen_t length = sizeof(int);
		int listens = 0;

		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || !listens)
			continue;
		length = sizeof(address);
		assert_int_equal(getsockname(fd, (struct sockaddr *) &address, &length), 0);
		port = ntohs(address.sin_port);
	}
	assert_true(port > 0);
	return port;
}

static int
page_connect(int port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
										 .sin_port = htons((uint16_t) port),
										 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *) &address, sizeof(address)), 0);
	return fd;
}

/* Reads to the end of the connection, and closes it. The caller frees the result. */
static char *
page_read(int fd)
{
	char *text = calloc(1, 1 << 20);
	size_t length = 0;
	ssize_t got;

	assert_non_null(text);
	while ((got = recv(fd, text + length, (1 << 20) - 1 - length, 0)) > 0)
		length += (size_t) got;
	close(fd);
	return text;
}

static char *
page_request(int port, const char *request)
{
	int fd = page_connect(port);

	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	return page_read(fd);
}

static MetricsPage *
page_start(int *calls)
{
	const MetricsPageOptions options = { "127.0.0.1:0", "agent", fill, calls };
	MetricsPage *page;
	Failure failure;

	assert_int_equal(metrics_page_start(&options, &page, &failure), EXIT_OK);
	return page;
}

static void
assert_begins(char *answer, const char *beginning)
{
	if (strncmp(answer, beginning, strlen(beginning)) != 0)
		fail_msg("\"%.100s\" does not begin with \"%s\"", answer, beginning);
	free(answer);
}

static void
test_the_page_answers(void **state)
{
	int calls = 0;
	MetricsPage *page = page_start(&calls);
	int port = listening_port();
	char *answer = page_request(port, "GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n");
	char *body = strstr(answer, "\r\n\r\n");

	assert_non_null(body);
	assert_non_null(strstr(answer, "Content-Type: " METRICS_CONTENT "\r\n"));
	assert_int_equal(strtoul(strstr(answer, "Content-Length: ") + 16, NULL, 10), strlen(body + 4));
	(void) read_metrics(body + 4, strlen(body + 4), false);
	assert_begins(answer, "HTTP/1.1 200 OK\r\n");
	answer = page_request(port, "GET /metrics HTTP/1.1\r\nHost: x\r\naCCept: text/plain;q=0.1,"
								"application/openmetrics-text;version=1.0.0\r\n\r\n");
	body = strstr(answer, "\r\n\r\n");
	assert_non_null(strstr(answer, "Content-Type: " METRICS_OPEN_CONTENT "\r\n"));
	(void) read_metrics(body + 4, strlen(body + 4), true);
	free(answer);
	answer = page_request(port, "HEAD /metrics HTTP/1.1\r\n\r\n");
	body = strstr(answer, "\r\n\r\n");
	assert_string_equal(body, "\r\n\r\n");
	assert_begins(answer, "HTTP/1.1 200 OK\r\n");
	assert_int_equal(calls, 3);
	metrics_page_stop(page);
}

static void
test_the_page_refuses(void **state)
{
	int calls = 0;
	MetricsPage *page = page_start(&calls);
	int port = listening_port();
	char *large = calloc(1, 5000);
	int fd;

	assert_begins(page_request(port, "GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 ");
	assert_begins(page_request(port, "GET /metricsx HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 ");
	assert_begins(page_request(port, "GET /metric HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 ");
	assert_begins(page_request(port, "POST /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 405 ");
	assert_begins(page_request(port, "\r\n\r\n"), "HTTP/1.1 405 ");
	memset(large, 'x', 4096);
	assert_begins(page_request(port, large), "HTTP/1.1 431 ");
	free(large);
	fd = page_connect(port);
	assert_int_equal(send(fd, "GET \0 HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
	assert_begins(page_read(fd), "HTTP/1.1 400 ");
	assert_int_equal(calls, 0);
	metrics_page_stop(page);
}

/* Clients that send nothing use up all connections for some seconds, until they are closed. */
static void
test_idle_clients_do_not_keep_others_out(void **state)
{
	MetricsPage *page = page_start(NULL);
	int port = listening_port();
	int idle[IDLE_CLIENTS];

	for (size_t i = 0; i < IDLE_CLIENTS; i++)
		idle[i] = page_connect(port);
	assert_begins(page_request(port, "GET /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 OK\r\n");
	for (size_t i = 0; i < IDLE_CLIENTS; i++)
		close(idle[i]);
	metrics_page_stop(page);
}

static void
test_a_page_stops_with_open_connections(void **state)
{
	MetricsPage *page = page_start(NULL);
	int fd = page_connect(listening_port());
	char *answer;

	assert_int_equal(send(fd, "GET", 3, MSG_NOSIGNAL), 3);
	metrics_page_stop(page);
	answer = page_read(fd);
	assert_string_equal(answer, "");
	free(answer);
	metrics_page_stop(NULL);
}

static void
test_bad_addresses(void **state)
{
	static const char *const bad[] = { "127.0.0.1", ",", "127.0.0.1:0,x", "127.0.0.1:port" };
	MetricsPage *page;
	Failure failure;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
	{
		const MetricsPageOptions options = { bad[i], "agent", fill, NULL };

		assert_int_equal(metrics_page_start(&options, &page, &failure), EXIT_CONFIG);
		assert_null(page);
		assert_non_null(strstr(failure.hint, "--metrics-listen"));
	}
}

static void
test_an_address_in_use(void **state)
{
	MetricsPage *page = page_start(NULL);
	MetricsPageOptions options = { NULL, "agent", fill, NULL };
	MetricsPage *other;
	Failure failure;
	char address[32];

	snprintf(address, sizeof(address), "127.0.0.1:%d", listening_port());
	options.listen = address;
	assert_int_equal(metrics_page_start(&options, &other, &failure), EXIT_CONFIG);
	assert_non_null(strstr(failure.detail, "in use"));
	metrics_page_stop(page);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures_are_metrics),
		cmocka_unit_test(test_formats_differ_in_counters),
		cmocka_unit_test(test_figures_beyond_the_limit_are_left_out),
		cmocka_unit_test(test_a_snapshot_is_replaced),
		cmocka_unit_test(test_the_page_answers),
		cmocka_unit_test(test_the_page_refuses),
		cmocka_unit_test(test_idle_clients_do_not_keep_others_out),
		cmocka_unit_test(test_a_page_stops_with_open_connections),
		cmocka_unit_test(test_bad_addresses),
		cmocka_unit_test(test_an_address_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
