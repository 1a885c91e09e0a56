/*
 * import_state.h
 *		What the lanes of an import share: which file is next, and what became of all.
 *
 * A lane takes files, decodes them and has a writer of its own store them, many in a transaction.
 */
#ifndef COLLECTOR_IMPORT_STATE_H
#define COLLECTOR_IMPORT_STATE_H

#include <pthread.h>

#include "exchange/exchange.h"
#include "exchange/file_list.h"
#include "exchange/given_labels.h"
#include "exchange/import_server.h"
#include "writer/gate.h"

/* Files from next up to end. */
typedef struct FileRange
{
	size_t next;
	size_t end;
} FileRange;

typedef struct Import
{
	/* nobody changes these while lanes run */
	const ExchangeOptions *options;
	GivenLabels labels; /* of all series */
	FileList files;
	ImportFacts facts;
	Gate gate; /* of the lanes' writers */

	pthread_mutex_t lock;			 /* guards what follows */
	pthread_cond_t changed;			 /* any of it; waits by the monotonic clock */
	FileRange left[IMPORT_JOBS_MAX]; /* files that nobody has taken yet, by lane */
	size_t stored;					 /* files; so the next */
	size_t failed;
	int64_t samples;
	unsigned lanes;		/* that run */
	bool stop;			/* no file is taken any more */
	int64_t give_up_ns; /* CLOCK_MONOTONIC: what is not stored by then is left; 0: no end */
	Failure failure;	/* why all of it ends; EXIT_OK: it does not */
} Import;

const char *import_format_name(ProfileFormat format);

/*
 * The next file of a lane; false: no more. Each begins with a part of its own, since neighbours
 * have much in common, and what is in a batch already costs least. Then it takes half of what
 * another has left.
 */
bool import_take(Import *import, size_t lane, size_t *file);

/* False once no file is taken any more, nor one imported again. */
bool import_goes_on(Import *import);

/* A file is stored: says so at once. Where that cannot be written no file is taken any more. */
void import_stored(Import *import, size_t file, ProfileFormat format, int64_t samples);

/* A file is not stored: says why, and goes on to the others unless it was asked not to. */
void import_failed(Import *import, size_t file, const Failure *why);

/* No file can be stored any more. */
void import_end(Import *import, const Failure *why);

/* Files of all lanes; EXIT_OK or EXIT_INTERNAL; give it back in any case. */
ExitCode import_init(Import *import, const ExchangeOptions *options, Failure *failure);
void import_fini(Import *import);

/* To each lane its part of the files. */
void import_divide(Import *import);

/* No file is taken any more; what is under way has a while. */
void import_stop(Import *import);

/* Waits for a change, a fifth of a second at most. Lock held. */
void import_wait(Import *import);

#endif
