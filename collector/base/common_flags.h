/*
 * common_flags.h
 *		Flags that several commands have.
 */
#ifndef COLLECTOR_COMMON_FLAGS_H
#define COLLECTOR_COMMON_FLAGS_H

#include <stddef.h>

#include "base/flags.h"

typedef struct LogOptions
{
	int level;	/* LogLevel */
	int format; /* 0 logfmt, 1 JSON */
} LogOptions;

/* Sets the defaults and appends the flags of the log at flags; their number. */
size_t log_flags(LogOptions *options, Flag *flags);

/* Configures the log as the flags say; see log_configure. */
void log_apply(const LogOptions *options);

/* Sets the default and describes the flag --db, a libpq connection string. */
Flag database_flag(const char **database);

#endif
