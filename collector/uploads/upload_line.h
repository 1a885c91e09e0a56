/*
 * upload_line.h
 *		A thread with a connection of its own, which works on calls that have to wait for the
 *		database or for a disk.
 *
 * Clients take turns, and each may occupy only a part of the line, so that no client waits for all
 * calls of another one.
 */
#ifndef COLLECTOR_UPLOAD_LINE_H
#define COLLECTOR_UPLOAD_LINE_H

#include <pthread.h>

#include "database/session.h"
#include "http_server/call.h"

#define UPLOAD_LINE_CALLS	  256
#define UPLOAD_LINE_OF_CLIENT 64

/*
 * Answers the call and gives it back. connection is NULL, with the reason in *error, while the
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
	const char *database; /* NULL: the jobs need no connection */
	void *context;		  /* context that is passed to jobs */
	Session session;
	int64_t retry_ns; /* no new connection is tried before this time */
	DbError error;	  /* error of the last attempt to connect */
	int stop_fd;	  /* eventfd; -1: the line was not started */
	pthread_t thread;
	pthread_mutex_t lock; /* guards the fields below */
	pthread_cond_t wanted;
	UploadWaiting waiting[UPLOAD_LINE_CALLS];
	size_t count;
	char served[IDENTITY_TENANT_MAX]; /* tenant whose call was taken last */
	bool is_stopping;
} UploadLine;

/* Returns false if a thread or a descriptor is not available. upload_line_stop() accepts that. */
bool upload_line_start(UploadLine *line, const char *database, void *context);

/*
 * Interrupts the current job, and answers all other calls without a connection. Then ends the
 * thread.
 */
void upload_line_stop(UploadLine *line);

/* Adds a call. Returns false if the line, or the client's part of it, is full. */
bool upload_line_put(UploadLine *line, Call *call, UploadJob job);

#endif
