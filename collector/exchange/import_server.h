/*
 * import_server.h
 *		Requests of an import to the server, apart from storing batches.
 */
#ifndef COLLECTOR_IMPORT_SERVER_H
#define COLLECTOR_IMPORT_SERVER_H

#include "database/connection.h"
#include "decode/decode.h"

typedef struct ImportFacts
{
	bool has_time;
	int64_t time_us;  /* the given time, microseconds since 1970 */
	bool takes_texts; /* texts can be sent unchanged, because the database's encoding is UTF8 */
} ImportFacts;

/*
 * Reads facts about the database that an import needs. at is a time in PostgreSQL's syntax, or
 * NULL.
 */
DbOutcome import_ask(Connection *connection, const char *at, ImportFacts *facts, DbError *error);

/* A file for the server to decode, in one statement that stores it as a whole or not at all. */
typedef struct ServerImport
{
	ProfileFormat format;
	const Buffer *content;
	const Buffer *labels; /* a JSON object */
	const char *at;		  /* or NULL */
} ServerImport;

DbOutcome import_by_server(Connection *connection, const ServerImport *import, int64_t *samples,
						   DbError *error);

#endif
