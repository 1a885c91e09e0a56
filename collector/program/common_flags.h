/*
 * common_flags.h
 *		Flags that several commands share.
 */
#ifndef COLLECTOR_COMMON_FLAGS_H
#define COLLECTOR_COMMON_FLAGS_H

#include <stddef.h>

#include "program/flags.h"

typedef struct LogOptions
{
	int level;	/* LogLevel */
	int format; /* 0 logfmt, 1 JSON */
} LogOptions;

/* Sets the defaults, stores the log's flags at flags and returns their number. */
size_t log_flags(LogOptions *options, Flag *flags);

/* Passes the values of the flags to log_configure(). */
void log_apply(const LogOptions *options);

/* Sets the default of the flag --db, a libpq connection string, and returns its description. */
Flag database_flag(const char **database);

#endif
