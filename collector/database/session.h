/*
 * session.h
 *		A connection that was checked: the right extension, the right to write, and whose ids are
 *		valid.
 */
#ifndef COLLECTOR_SESSION_H
#define COLLECTOR_SESSION_H

#include "database/connection.h"

/*
 * The writer protocol of this collector: which of the extension's functions it calls, with which
 * arguments and in which order. The extension names the range of protocols that it serves.
 */
#define WRITER_PROTOCOL 4

/*
 * Under which ids are valid. Another database, or the extension created anew, differs in an OID or
 * in the epoch, which begins at the time of creation.
 */
typedef struct Identity
{
	int64_t epoch;
	int64_t database_oid;
	int64_t extension_oid;
} Identity;

typedef struct Session
{
	Connection connection;
	Identity identity; /* as of the last open or refresh */
} Session;

/*
 * Opens the connection where it is closed: settings, extension and its protocols, privileges,
 * identity. DB_OK, DB_AWAY, DB_DENIED or DB_STOPPED.
 */
DbOutcome session_open(Session *session, const char *conninfo, DbError *error);

/* Can samples be stored there now? EXIT_OK, EXIT_CONFIG or EXIT_DATABASE with *failure set. */
ExitCode session_check(const char *conninfo, Failure *failure);

/* Reads the identity again. */
DbOutcome session_refresh(Session *session, DbError *error);

#endif
