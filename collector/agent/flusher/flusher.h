/*
 * flusher.h
 *		The flusher thread: takes the reader's interval when it is due, symbolizes it, gives it
 *		to the writer.
 *
 * The thread owns the symbolizer, so slow symbolization does not stop sampling. Symbolized samples
 * are stored in batches of half a second of work, so the first samples appear soon. A flush that
 * falls due during another one waits; the reader's interval continues to sum samples.
 */
#ifndef COLLECTOR_FLUSHER_H
#define COLLECTOR_FLUSHER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/flusher/resolve.h"
#include "agent/reader/reader.h"
#include "batch/losses.h"
#include "process/mapped_file.h"
#include "symbols/symbolizer.h"
#include "writer/writer.h"

typedef struct Flusher Flusher;

typedef struct FlusherParts
{
	MappedFileTable *files;
	/* used by the flusher alone between flusher_start() and flusher_stop() */
	Symbolizer *symbolizer;
	Reader *reader;
	Losses *losses;
	Writer *writer;
} FlusherParts;

/* All parts must outlive the flusher. Returns 0 or -errno. */
int flusher_create(const FlusherParts *parts, Flusher **flusher);
void flusher_free(Flusher *flusher); /* accepts NULL; the thread must have been stopped */

int flusher_start(Flusher *flusher);

/* Requests a flush and returns at once. */
void flusher_request(Flusher *flusher);

/* Returns true if a batch was given to the writer. */
bool flusher_has_stored(const Flusher *flusher);

/*
 * Flushes for the last time and ends the thread. Frames that are not symbolized at the deadline
 * (CLOCK_MONOTONIC) are stored by binary and address.
 */
void flusher_stop(Flusher *flusher, int64_t deadline_ns);

/*
 * flusher_rest(): while rest is true, the flusher pauses between slices of symbolization; the
 * reader continues to sum samples. flusher_shrink(): requests that caches are shrunk. Both return
 * at once.
 */
void flusher_rest(Flusher *flusher, bool rest);
void flusher_shrink(Flusher *flusher);

/* Returns how long the thread has worked on its current turn; 0 if it waits. */
int64_t flusher_busy_ms(const Flusher *flusher);

/* Returns how long the flusher has held an interval; 0 if it holds none. Any thread. */
int64_t flusher_held_ms(const Flusher *flusher);

/* Returns the sums over all flushes. Call after flusher_stop(). */
void flusher_stats(const Flusher *flusher, ResolveStats *stats);

#endif
