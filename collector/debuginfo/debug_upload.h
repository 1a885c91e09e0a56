/*
 * debug_upload.h
 *		Sends a file to the database in compressed chunks, of which those that are there already are
 *		left out.
 */
#ifndef COLLECTOR_DEBUG_UPLOAD_H
#define COLLECTOR_DEBUG_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "database/connection.h"

#define DEBUG_CHUNK_BYTES (1024 * 1024) /* of the file; the last chunk may be smaller */

typedef struct DebugUpload
{
	const char *build_id;
	const char *name;	/* path that the database shows */
	const char *tenant; /* client of a receiver; "": this connection's role itself */
	const char *hash;	/* by which the client knows the file; "": none */
	bool has_lines;		/* DWARF or a Go table, not symbols alone */
	int64_t bytes;		/* out: size of the file */
	/* out: compressed bytes that were sent, without chunks that the database had */
	int64_t sent_bytes;
	bool was_there; /* out: all of it */
} DebugUpload;

/* Debug information of a build that is there already, of a tenant or of the role itself. */
typedef enum DebugState
{
	DEBUG_ABSENT,
	DEBUG_POOR,	 /* symbols alone */
	DEBUG_EQUAL, /* symbols alone, in a file of this very hash */
	DEBUG_READY, /* no other is needed */
	DEBUG_NOT_KNOWN
} DebugState;

/* Sets *state; DEBUG_NOT_KNOWN unless it returns DB_OK. hash may be "". */
DbOutcome debug_upload_state(Connection *connection, const char *build_id, const char *tenant,
							 const char *hash, DebugState *state, DbError *error);

/* DB_REFUSED, with *error set, also if the file cannot be read or memory is out. */
DbOutcome debug_upload(Connection *connection, int fd, DebugUpload *upload, DbError *error);

#endif
