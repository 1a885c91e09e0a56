/*
 * exchange.h
 *		The sub-commands "import" and "export": files of other tools into the database and out of
 *		it.
 *
 * Imported files are decoded here and stored like the agent's samples, or decoded by a function of
 * the database. Exported files are made by a function of the database. A file is stored as a whole
 * or not at all.
 */
#ifndef COLLECTOR_EXCHANGE_H
#define COLLECTOR_EXCHANGE_H

#include "program/common_flags.h"

#define EXCHANGE_FLAGS_MAX 24
#define IMPORT_JOBS_MAX	   64

typedef enum ImportFormat
{
	IMPORT_AUTO,  /* determined by the beginning of the file's content */
	IMPORT_PPROF, /* this and the following are in the order of ProfileFormat */
	IMPORT_FOLDED,
	IMPORT_PERF_SCRIPT
} ImportFormat;

typedef struct ExchangeOptions
{
	const char *database;	 /* libpq connection string */
	int format;				 /* ImportFormat, or index of an export format */
	const char *labels;		 /* import: name=value,… */
	const char *path_labels; /* import: pattern of paths; NULL: none */
	/* Import: file that lists files which were stored before; NULL: none. */
	const char *skip;
	const char *at;		  /* import: time in PostgreSQL's syntax; NULL: the file's own time */
	int64_t jobs;		  /* import: number of connections */
	bool stop_on_error;	  /* import: the first file that fails ends the command */
	const char *selector; /* export */
	const char *from;
	const char *to;
	const char *focus; /* this and the next five: NULL means no filter */
	const char *ignore;
	const char *show;
	const char *hide;
	const char *trace;
	const char *span;
	const char *output; /* export: file name; NULL or "-" for standard output */
	LogOptions log;
} ExchangeOptions;

/* Set the defaults and describe the flags, which point into options. Return their number. */
size_t import_flags(ExchangeOptions *options, Flag flags[EXCHANGE_FLAGS_MAX]);
size_t export_flags(ExchangeOptions *options, Flag flags[EXCHANGE_FLAGS_MAX]);

/*
 * Stores each file, and all files below each directory. A file that cannot be read, or is refused,
 * is reported and does not stop the others. Prints a line for each stored file on standard output,
 * and draws a progress bar if standard error is a terminal. SIGINT and SIGTERM end the import.
 */
ExitCode import_run(const ExchangeOptions *options, char **operands, size_t count);
ExitCode export_run(const ExchangeOptions *options);

#endif
