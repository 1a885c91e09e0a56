/*
 * debug_upload.h
 *		Sends a file to the database in compressed chunks, except those that the database has
 *		already.
 */
#ifndef COLLECTOR_DEBUG_UPLOAD_H
#define COLLECTOR_DEBUG_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "database/connection.h"

/* size of a chunk before compression; the last one may be smaller */
#define DEBUG_CHUNK_BYTES (1024 * 1024)

typedef struct DebugUpload
{
	const char *build_id;
	const char *name;	/* path that the database shows */
	const char *tenant; /* client of a receiver; "": the role of this connection */
	const char *hash;	/* hash by which the client identifies the file; "": none */
	bool has_lines;		/* the file has DWARF or Go's table, not only symbols */
	int64_t bytes;		/* result: size of the file */
	/* Result: number of compressed bytes that were sent, without chunks that the database had. */
	int64_t sent_bytes;
	bool was_there; /* result: the database had the whole file */
} DebugUpload;

/* Debug information of a build that the database has already, of a tenant or of the role itself. */
typedef enum DebugState
{
	DEBUG_ABSENT,
	DEBUG_POOR,	 /* only symbols */
	DEBUG_EQUAL, /* only symbols, from a file with the same hash */
	DEBUG_READY, /* complete, so no other file is needed */
	DEBUG_NOT_KNOWN
} DebugState;

/* Sets *state, to DEBUG_NOT_KNOWN unless DB_OK is returned. hash may be "". */
DbOutcome debug_upload_state(Connection *connection, const char *build_id, const char *tenant,
							 const char *hash, DebugState *state, DbError *error);

/*
 * Uploads a file. Returns DB_REFUSED, with *error set, also if the file cannot be read or memory is
 * exhausted.
 */
DbOutcome debug_upload(Connection *connection, int fd, DebugUpload *upload, DbError *error);

#endif
