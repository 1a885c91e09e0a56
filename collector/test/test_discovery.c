/*
 * test_discovery.c
 *		Discoveries from files and from servers that misbehave.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <netinet/tcp.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "discovery/discovery.h"
#include "http_client/json_read.h"
#include "kubernetes/kube_watch.h"

#define HELD_MAX ((size_t) 64 * 1024 * 1024)
#define MS		 INT64_C(1000000)

/* --- a server --- */

/* Answers each request of a connection, one connection at a time. */
typedef struct Server
{
	int fd;
	int port;
	pthread_t thread;
	const char *(*answer)(const char *request); /* returns a body; NULL: holds the request open */
	atomic_int requests;
} Server;

static void
serve_connection(Server *server, int fd)
{
	char request[4096];
	size_t length = 0;

	for (;;)
	{
		ssize_t count = read(fd, request + length, sizeof(request) - 1 - length);
		const char *body;
		char head[200];
		int head_length;

		if (count <= 0)
			return;
		length += (size_t) count;
		request[length] = '\0';
		if (strstr(request, "\r\n\r\n") == NULL)
			continue;
		length = 0;
		body = server->answer(request);
		server->requests++;
		head_length = body == NULL
						  ? snprintf(head, sizeof(head),
									 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
						  : snprintf(head, sizeof(head),
									 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
									 "Content-Length: %zu\r\n\r\n",
									 strlen(body));
		assert_int_equal(write(fd, head, (size_t) head_length), head_length);
		if (body != NULL)
			assert_int_equal(write(fd, body, strlen(body)), strlen(body));
	}
}

static void *
serve(void *argument)
{
	Server *server = argument;
	int fd;

	while ((fd = accept(server->fd, NULL, NULL)) >= 0)
	{
		serve_connection(server, fd);
		close(fd);
	}
	return NULL;
}

static void
server_start(Server *server, const char *(*answer)(const char *request))
{
	struct sockaddr_in address = { .sin_family = AF_INET,
								   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);

	*server = (Server){ .answer = answer };
	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server->fd, (struct sockaddr *) &address, sizeof(address)), 0);
	assert_int_equal(listen(server->fd, 10), 0);
	assert_int_equal(getsockname(server->fd, (struct sockaddr *) &address, &length), 0);
	server->port = ntohs(address.sin_port);
	assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

/* Stops the server. The clients must have closed their connections. */
static void
server_stop(Server *server)
{
	shutdown(server->fd, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->fd);
}

static const char *
to_kubernetes(const char *request, const char *watch)
{
	return strstr(request, "watch=1") != NULL
			   ? watch
			   : "{\"metadata\": {\"resourceVersion\": \"5\"}, \"items\": []}";
}

static const char *
watch_is_silent(const char *request)
{
	return to_kubernetes(request, NULL);
}

static const char *
watch_has_expired(const char *request)
{
	return to_kubernetes(request, "{\"type\": \"ERROR\", \"object\": {\"code\": 410}}\n");
}

static const char *
watch_fails(const char *request)
{
	return to_kubernetes(
		request,
		"{\"type\": \"ERROR\", \"object\": {\"code\": 500, \"message\": \"etcd is away\"}}\n");
}

/* --- watches --- */

typedef struct Watched
{
	KubeWatch *watch;
	HttpClient *client;
	HttpSettings settings;
	int failures;
	char failure[100];
} Watched;

static void
on_object(void *context, const char *key, json_t *object)
{
}

static void
on_failure(void *context, const char *path, const char *detail)
{
	Watched *watched = context;

	watched->failures++;
	snprintf(watched->failure, sizeof(watched->failure), "%s", detail);
}

static void
watched_start(Watched *watched, const Server *server)
{
	char url[60];
	KubeWatchOptions options = { .server = url,
								 .path = "/api/v1/pods",
								 .on_object = on_object,
								 .on_failure = on_failure,
								 .context = watched };

	*watched = (Watched){ NULL };
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", server->port);
	assert_int_equal(http_client_create(HELD_MAX, &watched->client), 0);
	options.client = watched->client;
	options.settings = &watched->settings;
	watched->watch = kube_watch_create(&options);
	assert_non_null(watched->watch);
}

static void
watched_stop(Watched *watched)
{
	kube_watch_free(watched->watch);
	http_client_free(watched->client);
}

/* Lets the watch send what is due at now_ns, until the server has had this many requests. */
static int64_t
run_until(Watched *watched, Server *server, int requests, int64_t now_ns)
{
	int64_t due_ns = kube_watch_tick(watched->watch, now_ns);

	while (server->requests < requests || due_ns == INT64_MAX)
	{
		http_client_step(watched->client, 10, -1);
		due_ns = kube_watch_tick(watched->watch, 0);
	}
	return due_ns;
}

/* Returns the client's socket that is connected to a port. */
static int
find_socket(int port)
{
	for (int fd = 3; fd < 1000; fd++)
	{
		struct sockaddr_in address;
		socklen_t length = sizeof(address);

		if (getpeername(fd, (struct sockaddr *) &address, &length) == 0 &&
			address.sin_family == AF_INET && ntohs(address.sin_port) == port)
			return fd;
	}
	return -1;
}

static int
option_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t length = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &length), 0);
	return value;
}

/* A watch uses the connection that its list has opened. */
static void
test_watches_are_probed(void **state)
{
	Server server;
	Watched watched;
	int fd;

	server_start(&server, watch_is_silent);
	watched_start(&watched, &server);
	(void) kube_watch_tick(watched.watch, clock_ns(CLOCK_MONOTONIC));
	while (server.requests < 2)
	{
		http_client_step(watched.client, 10, -1);
		(void) kube_watch_tick(watched.watch, clock_ns(CLOCK_MONOTONIC));
	}
	fd = find_socket(server.port);
	assert_true(fd >= 0);
	assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	/* a connection that went silent is abandoned within a minute */
	assert_in_range(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE) +
						option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL) *
							option_of(fd, IPPROTO_TCP, TCP_KEEPCNT),
					10, 60);
	watched_stop(&watched);
	server_stop(&server);
}

/* Returns the time until the watch's sixth list, if each watch ends as the server chooses. */
static int64_t
last_wait_ms(Watched *watched, Server *server)
{
	int64_t due_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t begun_ns = due_ns;

	for (int round = 0; round < 5; round++)
	{
		begun_ns = clock_ns(CLOCK_MONOTONIC);
		/* the list and the watch */
		due_ns = run_until(watched, server, server->requests + 2, due_ns);
	}
	return (due_ns - begun_ns) / MS;
}

static void
test_errors_of_watches_back_off(void **state)
{
	Server server;
	Watched watched;

	server_start(&server, watch_has_expired);
	watched_start(&watched, &server);
	assert_in_range(last_wait_ms(&watched, &server), 10000, 60000);
	assert_int_equal(watched.failures, 0);
	watched_stop(&watched);
	server_stop(&server);

	server_start(&server, watch_fails);
	watched_start(&watched, &server);
	assert_in_range(last_wait_ms(&watched, &server), 10000, 60000);
	assert_int_equal(watched.failures, 5);
	assert_string_equal(watched.failure, "etcd is away");
	watched_stop(&watched);
	server_stop(&server);
}

/* --- files --- */

typedef struct Groups
{
	int count;
	size_t targets;
	bool refuses; /* true: groups are refused for now */
} Groups;

static bool
on_update(void *context, TargetGroup *group)
{
	Groups *groups = context;

	groups->count++;
	groups->targets = group->count;
	target_group_free(group);
	return !groups->refuses;
}

typedef struct Files
{
	char directory[40];
	char path[60];
	Document document;
	ConfigList settings;
	Groups groups;
	Discovery *discovery;
} Files;

static void
files_start(Files *files)
{
	char text[200];
	Failure failure;
	ConfigReader reader = { &files->document, &failure, "" };
	DiscoveryParts parts = { .job = "job", .sink = { on_update, &files->groups } };

	*files = (Files){ .directory = "/tmp/profstore-discovery-XXXXXX" };
	assert_non_null(mkdtemp(files->directory));
	assert_int_equal(chmod(files->directory, 0755), 0);
	snprintf(files->path, sizeof(files->path), "%s/x.json", files->directory);
	snprintf(text, sizeof(text), "[{files: [\"%s/*.json\"]}]", files->directory);
	assert_int_equal(document_parse(&files->document, "test", text, strlen(text), &failure),
					 EXIT_OK);
	assert_true(config_read_items(&reader, files->document.root, file_discovery.settings_bytes,
								  file_discovery.read, &files->settings));
	files->discovery = file_discovery.start(files->settings.items, &parts);
	assert_non_null(files->discovery);
}

static void
files_stop(Files *files)
{
	file_discovery.stop(files->discovery);
	document_free(&files->document);
	unlink(files->path);
	rmdir(files->directory);
}

static void
write_targets(const Files *files, const char *text)
{
	FILE *file = fopen(files->path, "we");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/*
 * If only the rights of a file change, not its time, a file that could not be read is tried again.
 */
static void
test_unreadable_file_is_read_later(void **state)
{
	Files files;

	files_start(&files);
	write_targets(&files, "[{\"targets\": [\"a:1\", \"b:1\"]}]");
	assert_int_equal(chmod(files.path, 0), 0);
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	file_discovery.tick(files.discovery, 1);
	assert_int_equal(seteuid(getuid()), 0);
	assert_int_equal(files.groups.count, 0);
	assert_int_equal(chmod(files.path, 0644), 0);
	file_discovery.tick(files.discovery, 2);
	assert_int_equal(files.groups.count, 1);
	assert_int_equal(files.groups.targets, 2);

	/* a file that was read, or is invalid, is not read again until it changes */
	file_discovery.tick(files.discovery, 3);
	assert_int_equal(files.groups.count, 1);
	files_stop(&files);
}

/* A group for which there is no memory yet is discovered again. */
static void
test_refused_group_is_read_later(void **state)
{
	Files files;

	files_start(&files);
	files.groups.refuses = true;
	write_targets(&files, "[{\"targets\": [\"a:1\"]}]");
	file_discovery.tick(files.discovery, 1);
	file_discovery.tick(files.discovery, 2);
	assert_int_equal(files.groups.count, 2);
	files.groups.refuses = false;
	file_discovery.tick(files.discovery, 3);
	file_discovery.tick(files.discovery, 4);
	assert_int_equal(files.groups.count, 3);
	files_stop(&files);
}

/* A FIFO without a writer, which would block its reader. */
static void
test_fifo_stops_nobody(void **state)
{
	Files files;

	files_start(&files);
	assert_int_equal(mkfifo(files.path, 0644), 0);
	alarm(20);
	file_discovery.tick(files.discovery, 1);
	alarm(0);
	assert_int_equal(files.groups.count, 0);
	unlink(files.path);
	write_targets(&files, "[{\"targets\": [\"a:1\"]}]");
	file_discovery.tick(files.discovery, 2);
	assert_int_equal(files.groups.targets, 1);
	files_stop(&files);
}

/* --- JSON --- */

/* A million empty objects: 200 MB of memory in 3 MB of text. */
static void
test_json_is_bounded(void **state)
{
	size_t count = 1000000;
	char *text = malloc(3 * count + 2);
	char *at = text;
	const char *problem;
	json_t *value;

	*at++ = '[';
	for (size_t i = 0; i < count; i++)
		at = (char *) memcpy(at, i == 0 ? "{} " : ",{}", 3) + 3;
	*at++ = ']';
	value = json_read(text, (size_t) (at - text), 0, 64 * JSON_READ_MB, &problem);
	assert_null(value);
	assert_string_equal(problem, "The answer needs too much memory.");
	value = json_read(text, (size_t) (at - text), 0, 1024 * JSON_READ_MB, &problem);
	assert_int_equal(json_array_size(value), count);
	json_decref(value);
	assert_null(json_read("[", 1, 0, JSON_READ_MB, &problem));
	assert_string_equal(problem, "The answer is not valid JSON.");
	assert_null(json_read(NULL, 0, 0, JSON_READ_MB, &problem));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watches_are_probed),
		cmocka_unit_test(test_errors_of_watches_back_off),
		cmocka_unit_test(test_unreadable_file_is_read_later),
		cmocka_unit_test(test_refused_group_is_read_later),
		cmocka_unit_test(test_fifo_stops_nobody),
		cmocka_unit_test(test_json_is_bounded),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
