/*
 * exchange.h
 *		The sub-commands "import" and "export": files of other tools into the database, and out of
 *		it.
 *
 * The database does the reading and writing of formats; these carry bytes, one statement for each
 * file. So a file is stored whole or not at all.
 */
#ifndef COLLECTOR_EXCHANGE_H
#define COLLECTOR_EXCHANGE_H

#include "base/common_flags.h"

#define EXCHANGE_FLAGS_MAX 24

typedef enum ImportFormat
{
	IMPORT_AUTO, /* by what the file begins with */
	IMPORT_PPROF,
	IMPORT_FOLDED,
	IMPORT_PERF_SCRIPT
} ImportFormat;

typedef struct ExchangeOptions
{
	const char *database; /* libpq connection string */
	int format;			  /* ImportFormat, or index of an export's format */
	const char *labels;	  /* import: name=value,… */
	const char *at;		  /* import: time as PostgreSQL reads it; NULL: the file's own */
	const char *selector; /* export */
	const char *from;
	const char *to;
	const char *focus; /* NULL: no filter; so the others */
	const char *ignore;
	const char *show;
	const char *hide;
	const char *output; /* export: a file; NULL: standard output */
	LogOptions log;
} ExchangeOptions;

/* Sets the defaults and describes the flags, which point into options; their number. */
size_t import_flags(ExchangeOptions *options, Flag flags[EXCHANGE_FLAGS_MAX]);
size_t export_flags(ExchangeOptions *options, Flag flags[EXCHANGE_FLAGS_MAX]);

/*
 * Stores each file; the first one that cannot be read or is refused ends it. Prints a line for each
 * file on standard output, and draws a progress bar where standard error is a terminal.
 */
ExitCode import_run(const ExchangeOptions *options, char **files, size_t file_count);
ExitCode export_run(const ExchangeOptions *options);

/* What a file is, judged by its first bytes. */
ImportFormat import_format_of(const char *bytes, size_t length);

/* "name=value,name=value" as a JSON object that the caller frees; NULL with failure set. */
char *import_labels_json(const char *labels, Failure *failure);

#endif
