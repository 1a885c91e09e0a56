/*
 * db_error.h
 *		What a failed exchange with the database means for the writer.
 */
#ifndef COLLECTOR_DB_ERROR_H
#define COLLECTOR_DB_ERROR_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "base/failure.h"

typedef enum DbOutcome
{
	DB_OK,
	DB_AWAY,	 /* comes back by itself, nobody is at fault: try again */
	DB_TIMEOUT,	 /* the same, but it may be what was asked for that takes too long */
	DB_DENIED,	 /* nothing works until somebody changes something */
	DB_EPOCH,	 /* ids were interned under an epoch that is over */
	DB_REFUSED,	 /* the batch is at fault, or what we remember */
	DB_REPEATED, /* stored before, under a receipt: nothing is wrong */
	DB_STOPPED	 /* the writer was told to stop */
} DbOutcome;

typedef struct DbError
{
	char sqlstate[6]; /* "" where the error did not come from the server */
	Failure failure;  /* of code EXIT_DATABASE */
} DbError;

/*
 * Fills in all texts; message is a literal, the others may be NULL and are cut at the end of their
 * room.
 */
void db_error_set(DbError *error, const char *sqlstate, const char *message, const char *detail,
				  const char *hint);

/* What an SQLSTATE means in the middle of work. */
DbOutcome db_outcome_of(const char *sqlstate);

/* From a result that is an error; message says what was being done ("could not intern stacks"). */
DbOutcome db_error_from_result(DbError *error, const char *message, const PGresult *result);

/*
 * From a connection that failed or got lost: DB_AWAY or DB_DENIED. The connection must have been
 * opened with verbose messages, since libpq tells the SQLSTATE of a refused connection nowhere
 * else.
 */
DbOutcome db_error_from_connection(DbError *error, const char *message, PGconn *connection);

#endif
