/*
 * session.h
 *		A checked connection: the extension has a supported version, the role may write, and the
 *		identity of ids is known.
 */
#ifndef COLLECTOR_SESSION_H
#define COLLECTOR_SESSION_H

#include "database/connection.h"

/*
 * The writer protocol of this collector: which functions of the extension it calls, with which
 * arguments and in which order. The extension reports the range of protocols that it serves.
 */
#define WRITER_PROTOCOL 4

/*
 * The scope in which ids are valid. Another database or a recreated extension has another identity:
 * its OIDs differ, or its epoch, which the extension sets when it is created.
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
	Identity identity;	 /* as read by the last session_open() or session_refresh() */
	bool copies_plainly; /* samples may be in shards of Citus, which refuses COPY ... WHERE */
} Session;

/*
 * Opens the connection if it is closed and checks settings, extension, protocols, privileges and
 * identity. Returns DB_OK, DB_AWAY, DB_DENIED or DB_STOPPED.
 */
DbOutcome session_open(Session *session, const char *conninfo, DbError *error);

/*
 * Checks whether samples can be stored in this database. Returns EXIT_OK; otherwise EXIT_CONFIG or
 * EXIT_DATABASE with *failure set.
 */
ExitCode session_check(const char *conninfo, Failure *failure);

/* Reads the identity again. */
DbOutcome session_refresh(Session *session, DbError *error);

#endif
