/*
 * upload_line.c
 *		A list of calls in the order of arrival. The next call is the oldest one of another client
 *		than the last.
 */
#include "uploads/upload_line.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread_start.h"

#define MODULE	 "receive"
#define RETRY_NS (5 * NS_PER_S)

/*
 * Removes and returns the oldest call of another client than the last one; if all calls are of that
 * client, the oldest call.
 */
static UploadWaiting
take_next(UploadLine *line)
{
	UploadWaiting next;
	size_t at = 0;

	while (at < line->count && strcmp(line->waiting[at].call->tenant, line->served) == 0)
		at++;
	if (at == line->count)
		at = 0;
	next = line->waiting[at];
	line->count--;
	memmove(&line->waiting[at], &line->waiting[at + 1],
			(line->count - at) * sizeof(line->waiting[0]));
	snprintf(line->served, sizeof(line->served), "%s", next.call->tenant);
	return next;
}

/* Returns the connection. If it is closed, opens it, unless the last failure was a moment ago. */
static Connection *
open_connection(UploadLine *line)
{
	Connection *connection = &line->session.connection;
	const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (line->database == NULL)
		return NULL;
	if (connection_stands(connection))
		return connection;
	connection_close(connection);
	if (now_ns < line->retry_ns)
		return NULL;
	if (session_open(&line->session, line->database, &line->error) == DB_OK)
	{
		connection_log_notices(connection, MODULE);
		return connection;
	}
	line->retry_ns = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
	return NULL;
}

/*
 * The thread of a line: runs one job after another. Jobs that are left when the line stops get no
 * connection.
 */
static void *
line_main(void *argument)
{
	UploadLine *line = argument;

	pthread_mutex_lock(&line->lock);
	for (;;)
	{
		UploadWaiting next;
		bool is_stopping;

		while (line->count == 0 && !line->is_stopping)
			pthread_cond_wait(&line->wanted, &line->lock);
		if (line->count == 0)
			break;
		next = take_next(line);
		is_stopping = line->is_stopping;
		pthread_mutex_unlock(&line->lock);
		next.job(line->context, is_stopping ? NULL : open_connection(line), &line->error,
				 next.call);
		pthread_mutex_lock(&line->lock);
	}
	pthread_mutex_unlock(&line->lock);
	return NULL;
}

bool
upload_line_start(UploadLine *line, const char *database, void *context)
{
	bool started;

	*line = (UploadLine){ .database = database, .context = context };
	db_error_set(&line->error, NULL, "the database is not available", NULL, NULL);
	pthread_mutex_init(&line->lock, NULL);
	pthread_cond_init(&line->wanted, NULL);
	line->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	line->session.connection.wake_fd = line->stop_fd;

	started = line->stop_fd >= 0 && thread_start(&line->thread, line_main, line) == 0;
	if (!started && line->stop_fd >= 0)
	{
		close(line->stop_fd);
		line->stop_fd = -1;
	}
	return started;
}

void
upload_line_stop(UploadLine *line)
{
	if (line->stop_fd < 0)
		return;
	pthread_mutex_lock(&line->lock);
	line->is_stopping = true;
	pthread_cond_signal(&line->wanted);
	pthread_mutex_unlock(&line->lock);
	(void) eventfd_write(line->stop_fd, 1);
	pthread_join(line->thread, NULL);
	connection_close(&line->session.connection);
	close(line->stop_fd);
	line->stop_fd = -1;
	pthread_cond_destroy(&line->wanted);
	pthread_mutex_destroy(&line->lock);
}

bool
upload_line_put(UploadLine *line, Call *call, UploadJob job)
{
	size_t of_client = 0;
	bool has_room;

	pthread_mutex_lock(&line->lock);
	for (size_t i = 0; i < line->count; i++)
		of_client += strcmp(line->waiting[i].call->tenant, call->tenant) == 0;
	has_room =
		line->count < UPLOAD_LINE_CALLS && of_client < UPLOAD_LINE_OF_CLIENT && !line->is_stopping;
	if (has_room)
	{
		line->waiting[line->count++] = (UploadWaiting){ call, job };
		pthread_cond_signal(&line->wanted);
	}
	pthread_mutex_unlock(&line->lock);
	return has_room;
}
