/*
 * exchange.h
 *		The sub-commands "import" and "export": files of other tools into the database, and out of
 *		it.
 *
 * Files that come in are decoded here and stored as the agent stores its samples, or by a function
 * of the database; those that go out are made by one. A file is stored whole or not at all.
 */
#ifndef COLLECTOR_EXCHANGE_H
#define COLLECTOR_EXCHANGE_H

#include "base/common_flags.h"

#define EXCHANGE_FLAGS_MAX 24
#define IMPORT_JOBS_MAX	   64

typedef enum ImportFormat
{
	IMPORT_AUTO,  /* by what the file begins with */
	IMPORT_PPROF, /* from here on as ProfileFormat */
	IMPORT_FOLDED,
	IMPORT_PERF_SCRIPT
} ImportFormat;

typedef struct ExchangeOptions
{
	const char *database;	 /* libpq connection string */
	int format;				 /* ImportFormat, or index of an export's format */
	const char *labels;		 /* import: name=value,… */
	const char *path_labels; /* import: pattern of paths; NULL: none */
	const char *skip;		 /* import: file with the names of those that are stored; NULL: none */
	const char *at;			 /* import: time as PostgreSQL reads it; NULL: the file's own */
	int64_t jobs;			 /* import: connections */
	bool stop_on_error;		 /* import: the first file that fails ends it */
	const char *selector;	 /* export */
	const char *from;
	const char *to;
	const char *focus; /* NULL: no filter; so the others */
	const char *ignore;
	const char *show;
	const char *hide;
	const char *trace;
	const char *span;
	const char *output; /* export: a file; NULL, "-": standard output */
	LogOptions log;
} ExchangeOptions;

/* Sets the defaults and describes the flags, which point into options; their number. */
size_t import_flags(ExchangeOptions *options, Flag flags[EXCHANGE_FLAGS_MAX]);
size_t export_flags(ExchangeOptions *options, Flag flags[EXCHANGE_FLAGS_MAX]);

/*
 * Stores each file, and of each directory the files below it. Those that cannot be read or are
 * refused are told of, and do not stop the others. Prints a line for each file that is stored on
 * standard output, and draws a progress bar where standard error is a terminal. SIGINT and SIGTERM
 * end it.
 */
ExitCode import_run(const ExchangeOptions *options, char **operands, size_t count);
ExitCode export_run(const ExchangeOptions *options);

#endif
