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
	int64_t bytes;		/* out: size of the file */
	int64_t sent_bytes; /* out: compressed, without what was there */
	bool was_there;		/* out: all of it */
} DebugUpload;

/* DB_REFUSED, with *error set, also if the file cannot be read or memory is out. */
DbOutcome debug_upload(Connection *connection, int fd, DebugUpload *upload, DbError *error);

#endif
