/*
 * pod_client.c
 *		Keeps the process that watches pods running and reads its output.
 */
#include "kubernetes/pod_client.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/param.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/log.h"
#include "kubernetes/pod_lines.h"

#define MODULE		 "pods"
#define PROGRAM		 "profstore-sources"
#define ARGUMENTS	 16
#define READ_BYTES	 16384
/* Limit of reads without a test whether to stop, because the process may write without a pause. */
#define READS_MAX	 64
#define SWEEP_MS	 20000
#define PAUSE_MS	 1000
#define PAUSE_MS_MAX 60000
/* a process that has run for this long resets the pause before restarts */
#define GOOD_NS		 (60 * INT64_C(1000000000))

struct PodClient
{
	pthread_t thread;
	atomic_bool stopping;
	int wake; /* eventfd */
	PodLines lines;
	void (*learned)(void *);
	void *context;
	char path[4096];
	char *arguments[ARGUMENTS + 1];
	size_t argument_count;
	char *environment[4];
	uint64_t refused_reported;
};

static void
client_free(PodClient *client)
{
	for (size_t i = 0; i < client->argument_count; i++)
		free(client->arguments[i]);
	for (size_t i = 0; client->environment[i] != NULL; i++)
		free(client->environment[i]);
	pod_lines_fini(&client->lines);
	if (client->wake >= 0)
		close(client->wake);
	free(client);
}

/* --- how it is called --- */

/* Adds --name=value, or nothing if value is NULL. */
static bool
add_flag(PodClient *client, const char *name, const char *value)
{
	if (value == NULL)
		return true;
	if (asprintf(&client->arguments[client->argument_count], "--%s=%s", name, value) < 0)
	{
		client->arguments[client->argument_count] = NULL;
		return false;
	}
	client->argument_count++;
	return true;
}

static bool
add_word(PodClient *client, const char *word)
{
	client->arguments[client->argument_count] = strdup(word);
	return client->arguments[client->argument_count++] != NULL;
}

static char *
texts_join(const ConfigList *list)
{
	const char *const *texts = list->items;
	char *joined = NULL;
	size_t length;
	FILE *out = open_memstream(&joined, &length);

	for (size_t i = 0; out != NULL && i < list->count; i++)
		fprintf(out, "%s%s", i > 0 ? "," : "", texts[i]);
	if (out == NULL || fclose(out) != 0)
	{
		free(joined);
		return NULL;
	}
	return joined;
}

/* Passes on only these variables: the process must not see our passwords and proxies. */
static bool
add_environment(PodClient *client)
{
	static const char *const names[] = { "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT" };
	size_t count = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		const char *value = getenv(names[i]);

		if (value == NULL)
			continue;
		if (asprintf(&client->environment[count], "%s=%s", names[i], value) < 0)
		{
			client->environment[count] = NULL;
			return false;
		}
		count++;
	}
	return true;
}

static bool
add_call(PodClient *client, const PodClientOptions *options)
{
	char *annotations = texts_join(&options->annotations);
	bool good = annotations != NULL && add_word(client, PROGRAM) && add_word(client, "pods") &&
				add_flag(client, "node", options->node) &&
				add_flag(client, "api-server", options->server) &&
				add_flag(client, "kubelet", options->kubelet) &&
				add_flag(client, "token-file", options->token_file) &&
				add_flag(client, "ca-file", options->ca_file) &&
				add_flag(client, "annotations", annotations) && add_environment(client);

	free(annotations);
	return good;
}

/* --- life cycle --- */

/* Waits for output or until ms have passed. Returns true if the thread must stop. */
static bool
wait_for(const PodClient *client, int output, int64_t ms)
{
	struct pollfd ends[2] = { { .fd = client->wake, .events = POLLIN },
							  { .fd = output, .events = POLLIN } };

	(void) poll(ends, output >= 0 ? 2 : 1, (int) ms);
	return atomic_load(&client->stopping);
}

static void
client_report(PodClient *client)
{
	if (client->lines.news)
		client->learned(client->context);
	client->lines.news = false;
	if (client->lines.refused > client->refused_reported)
		log_event(LOG_WARNING, MODULE, "the table of pods is full",
				  log_number("refused", (int64_t) client->lines.refused));
	client->refused_reported = client->lines.refused;
}

/* Reads the available output. Returns false if the process ended or its output is malformed. */
static bool
read_some(PodClient *client, int output)
{
	char bytes[READ_BYTES];

	/* The number of reads is limited, so that the table is swept in between. */
	for (int i = 0; i < READS_MAX; i++)
	{
		ssize_t got = read(output, bytes, sizeof(bytes));

		if (got <= 0)
			return got < 0 && (errno == EAGAIN || errno == EINTR);
		if (pod_lines_take(&client->lines, bytes, (size_t) got,
						   (uint64_t) clock_ns(CLOCK_MONOTONIC)) != 0)
		{
			log_event(LOG_ERROR, MODULE, "malformed output of the watch for pods",
					  log_text("hint", "Install \"" PROGRAM "\" of the same version."));
			return false;
		}
		client_report(client);
	}
	return true;
}

static void
log_end(int status)
{
	if (WIFSIGNALED(status))
		log_event(LOG_WARNING, MODULE, "the watch for pods ended; restarting it",
				  log_number("signal", WTERMSIG(status)));
	else
		log_event(LOG_WARNING, MODULE, "the watch for pods ended; restarting it",
				  log_number("exit_code", WEXITSTATUS(status)));
}

/* Runs one process, from its start to its end. */
static void
run_one(PodClient *client)
{
	const ChildProgram program = { client->path, client->arguments, client->environment };
	int status = 0;
	int output;
	pid_t pid;
	int result = child_start(&program, &pid, &output);

	if (result != 0)
	{
		log_event(LOG_WARNING, MODULE, "could not start the watch for pods",
				  log_text("detail", strerror(-result)));
		return;
	}
	pod_lines_begin(&client->lines);
	while (!wait_for(client, output, SWEEP_MS) && read_some(client, output))
		pod_table_sweep(client->lines.table, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	close(output);
	if (!child_end(pid, &status))
		log_event(LOG_WARNING, MODULE, "the watch for pods does not end", log_number("pid", pid));
	else if (!atomic_load(&client->stopping))
		log_end(status);
}

static void *
client_run(void *argument)
{
	PodClient *client = argument;
	int64_t pause_ms = PAUSE_MS;

	while (!atomic_load(&client->stopping))
	{
		int64_t began_ns = clock_ns(CLOCK_MONOTONIC);

		run_one(client);
		/* A watch that ran for some time was good, so its end needs no long pause. */
		if (clock_ns(CLOCK_MONOTONIC) - began_ns > GOOD_NS)
			pause_ms = PAUSE_MS;
		(void) wait_for(client, -1, pause_ms);
		pause_ms = MIN(2 * pause_ms, PAUSE_MS_MAX);
	}
	return NULL;
}

PodClient *
pod_client_start(const PodClientOptions *options, Failure *failure)
{
	PodClient *client = calloc(1, sizeof(*client));

	/* The failure is out of memory unless another one replaces it. */
	(void) failure_out_of_memory(failure);
	if (client == NULL)
		return NULL;
	client->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	client->learned = options->learned;
	client->context = options->context;
	if (client->wake < 0 || pod_lines_init(&client->lines, options->table) != 0 ||
		!add_call(client, options))
	{
		client_free(client);
		return NULL;
	}
	if (!child_path(PROGRAM, client->path, sizeof(client->path)) || access(client->path, X_OK) != 0)
	{
		failure_set(failure, EXIT_IO, "could not find the program that watches pods");
		failure_hint(failure, "Install \"" PROGRAM "\" in the directory of this executable.");
		client_free(client);
		return NULL;
	}
	if (pthread_create(&client->thread, NULL, client_run, client) != 0)
	{
		failure_set(failure, EXIT_INTERNAL, "could not start the thread that watches pods");
		client_free(client);
		return NULL;
	}
	return client;
}

void
pod_client_stop(PodClient *client)
{
	const uint64_t one = 1;

	if (client == NULL)
		return;
	atomic_store(&client->stopping, true);
	(void) !write(client->wake, &one, sizeof(one));
	pthread_join(client->thread, NULL);
	client_free(client);
}
