/*
 * db_error.h
 *		Classifies database errors by what the writer must do.
 */
#ifndef COLLECTOR_DB_ERROR_H
#define COLLECTOR_DB_ERROR_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "program/failure.h"

typedef enum DbOutcome
{
	DB_OK,
	DB_AWAY,	 /* temporary, and not the batch's fault: try again */
	DB_TIMEOUT,	 /* like DB_AWAY, but the request itself may take too long */
	DB_DENIED,	 /* fails until somebody changes the configuration of server or collector */
	DB_EPOCH,	 /* the epoch of our ids has expired */
	DB_REFUSED,	 /* the batch, or our cache of ids, is invalid */
	DB_REPEATED, /* a batch with this receipt was stored before, which is no error */
	DB_STOPPED	 /* the writer was asked to stop */
} DbOutcome;

typedef struct DbError
{
	char sqlstate[6]; /* "" if the error is not from the server */
	Failure failure;  /* with code EXIT_DATABASE */
} DbError;

/*
 * Sets all texts. message is a literal; the others may be NULL and are cut to their maximum length.
 */
void db_error_set(DbError *error, const char *sqlstate, const char *message, const char *detail,
				  const char *hint);

/* Returns the outcome that an SQLSTATE means while a connection is used. */
DbOutcome db_outcome_of(const char *sqlstate);

/* Sets the error from a failed result. message says what failed ("could not intern stacks"). */
DbOutcome db_error_from_result(DbError *error, const char *message, const PGresult *result);

/*
 * Sets the error from a connection that failed or was lost: DB_AWAY or DB_DENIED. The connection
 * must use PQERRORS_VERBOSE, because libpq provides the SQLSTATE of a refused connection only
 * within the verbose message.
 */
DbOutcome db_error_from_connection(DbError *error, const char *message, PGconn *connection);

#endif
