/*
 * import_state.h
 *		The state that the lanes of an import share: the next files, and the outcome of all files.
 *
 * A lane takes files, decodes them, and stores many of them in one transaction through its own
 * writer.
 */
#ifndef COLLECTOR_IMPORT_STATE_H
#define COLLECTOR_IMPORT_STATE_H

#include <pthread.h>

#include "exchange/exchange.h"
#include "exchange/file_list.h"
#include "exchange/given_labels.h"
#include "exchange/import_server.h"
#include "writer/gate.h"

/* Files from next up to, but not including, end. */
typedef struct FileRange
{
	size_t next;
	size_t end;
} FileRange;

typedef struct Import
{
	/* Not changed while lanes run. */
	const ExchangeOptions *options;
	GivenLabels labels; /* labels for all series */
	FileList files;
	ImportFacts facts;
	Gate gate; /* gate that the writers of all lanes share */

	pthread_mutex_t lock; /* guards everything below */
	/* signalled when a field below changes; uses the monotonic clock */
	pthread_cond_t changed;
	FileRange left[IMPORT_JOBS_MAX]; /* for each lane, the files that were not taken yet */
	size_t stored;					 /* number of files; the next field is a number of files, too */
	size_t failed;
	int64_t samples;
	unsigned lanes; /* number of running lanes */
	bool stop;		/* no further file may be taken */
	/* CLOCK_MONOTONIC: batches that are not stored by then are abandoned; 0: no limit. */
	int64_t give_up_ns;
	Failure failure; /* reason why the import ended; EXIT_OK: none */
} Import;

const char *import_format_name(ProfileFormat format);

/*
 * Takes the next file for a lane. Returns false if all files are taken. Each lane starts with its
 * own part of the files, because adjacent files have much in common, which makes their batches
 * small. A lane that has finished takes half of the files that another lane has left.
 */
bool import_take(Import *import, size_t lane, size_t *file);

/* Returns false once no further file may be taken or imported again. */
bool import_goes_on(Import *import);

/* Reports a stored file on standard output at once. If that fails, no further file is taken. */
void import_stored(Import *import, size_t file, ProfileFormat format, int64_t samples);

/* Reports a file that is not stored, and ends the import if stop_on_error is set. */
void import_failed(Import *import, size_t file, const Failure *why);

/* Ends the import with a failure after which no file can be stored. */
void import_end(Import *import, const Failure *why);

/*
 * Initializes the state. Returns EXIT_OK or EXIT_INTERNAL; import_fini() must be called in either
 * case.
 */
ExitCode import_init(Import *import, const ExchangeOptions *options, Failure *failure);
void import_fini(Import *import);

/* Assigns each lane its part of the files. */
void import_divide(Import *import);

/* Ends the import: no further file is taken; batches in progress have STOP_NS to be stored. */
void import_stop(Import *import);

/* Waits for a change, for up to 200 ms. The caller must hold the lock. */
void import_wait(Import *import);

#endif
