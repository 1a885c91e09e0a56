/*
 * session.h
 *		A connection that was checked: the right extension, the right to write, and whose ids are
 *		valid.
 */
#ifndef COLLECTOR_SESSION_H
#define COLLECTOR_SESSION_H

#include "database/connection.h"

/*
 * The one version of the extension whose functions this collector calls; both are released
 * together, under one version.
 */
#define EXTENSION_VERSION "1.0"

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
 * Opens the connection where it is closed: settings, extension and its version, privileges,
 * identity. DB_OK, DB_AWAY, DB_PERMANENT or DB_STOPPED.
 */
DbOutcome session_open(Session *session, const char *conninfo, DbError *error);

/* Reads the identity again. */
DbOutcome session_refresh(Session *session, DbError *error);

#endif
