/*
 * import_server.h
 *		What an import asks the server for beside storing batches.
 */
#ifndef COLLECTOR_IMPORT_SERVER_H
#define COLLECTOR_IMPORT_SERVER_H

#include "database/connection.h"
#include "decode/decode.h"

typedef struct ImportFacts
{
	bool has_time;
	int64_t time_us;  /* what was given as a time, since 1970 */
	bool takes_texts; /* in UTF-8 as they are: that is its encoding */
} ImportFacts;

/* at: a time as PostgreSQL reads it; NULL: none. */
DbOutcome import_ask(Connection *connection, const char *at, ImportFacts *facts, DbError *error);

/* One file for the server to decode: a statement, stored whole or not at all. */
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
