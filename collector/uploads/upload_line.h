/*
 * upload_line.h
 *		A thread with a connection of its own, which works on calls that wait for the database or
 *		for a disk.
 *
 * Clients take turns, and each may have a part of the line, so that none waits for all of another
 * one's calls.
 */
#ifndef COLLECTOR_UPLOAD_LINE_H
#define COLLECTOR_UPLOAD_LINE_H

#include <pthread.h>

#include "database/session.h"
#include "http_server/call.h"

#define UPLOAD_LINE_CALLS	  256
#define UPLOAD_LINE_OF_CLIENT 64

/*
 * Answers the call, and gives it back. connection is NULL, with the reason in *error, while the
 * database is unavailable or the line is stopping.
 */
typedef void (*UploadJob)(void *context, Connection *connection, const DbError *error, Call *call);

typedef struct UploadWaiting
{
	Call *call;
	UploadJob job;
} UploadWaiting;

typedef struct UploadLine
{
	const char *database; /* NULL: its jobs need no connection */
	void *context;		  /* of jobs */
	Session session;
	int64_t retry_ns; /* no new connection is tried before */
	DbError error;	  /* of the last try */
	int stop_fd;	  /* eventfd; -1: the line was not started */
	pthread_t thread;
	pthread_mutex_t lock; /* guards the fields below */
	pthread_cond_t wanted;
	UploadWaiting waiting[UPLOAD_LINE_CALLS];
	size_t count;
	char served[IDENTITY_TENANT_MAX]; /* tenant of the last call */
	bool is_stopping;
} UploadLine;

/* Returns false if a thread or a descriptor is not available. upload_line_stop() accepts that. */
bool upload_line_start(UploadLine *line, const char *database, void *context);

/* Interrupts the present job, and answers all others, which see no connection. */
void upload_line_stop(UploadLine *line);

/* Returns false if the line or the client's part of it is full. */
bool upload_line_put(UploadLine *line, Call *call, UploadJob job);

#endif
