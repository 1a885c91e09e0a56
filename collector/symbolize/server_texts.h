/*
 * server_texts.h
 *		Fetches texts of a build's source files from debuginfod servers and stores them.
 */
#ifndef COLLECTOR_SERVER_TEXTS_H
#define COLLECTOR_SERVER_TEXTS_H

#include "database/connection.h"
#include "symbolize/debug_source.h"

/*
 * Stores the texts that the database lacks of files with symbolized code, those with most addresses
 * first. Ends early if servers do not answer, or lack many files one after the other.
 */
DbOutcome server_texts_store(Connection *connection, DebugSource *source, const char *build_id,
							 DbError *error);

#endif
