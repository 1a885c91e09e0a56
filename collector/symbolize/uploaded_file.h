/*
 * uploaded_file.h
 *		Reads debug information that was uploaded to the database.
 */
#ifndef COLLECTOR_UPLOADED_FILE_H
#define COLLECTOR_UPLOADED_FILE_H

#include "database/connection.h"
#include "symbolize/debug_source.h"

/*
 * Copies the newest upload for a build into a file without a name. file->fd is -1 if there is none,
 * or if its contents differ from its description.
 */
DbOutcome uploaded_file_open(Connection *connection, const char *build_id, DebugFile *file,
							 DbError *error);

#endif
