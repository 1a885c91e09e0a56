/*
 * flusher.h
 *		The flusher thread: takes the reader's interval when it is due, symbolizes it, hands it to
 *		the writer.
 *
 * It owns the symbolizer, which may take its time; sampling goes on meanwhile. What is symbolized
 * is stored in batches of half a second of work, so the first samples come soon. A flush that
 * falls due while one is under way waits: the reader's interval goes on summing.
 */
#ifndef COLLECTOR_FLUSHER_H
#define COLLECTOR_FLUSHER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/reader.h"
#include "agent/resolve.h"
#include "batch/losses.h"
#include "process/mapped_file.h"
#include "symbols/symbolizer.h"
#include "writer/writer.h"

typedef struct Flusher Flusher;

typedef struct FlusherParts
{
	MappedFileTable *files;
	Symbolizer *symbolizer; /* the flusher's alone from flusher_start to flusher_stop */
	Reader *reader;
	Losses *losses;
	Writer *writer;
} FlusherParts;

/* All parts must outlive the flusher. 0 or -errno. */
int flusher_create(const FlusherParts *parts, Flusher **flusher);
void flusher_free(Flusher *flusher); /* accepts NULL; the thread must have been stopped */

int flusher_start(Flusher *flusher);

/* Asks for a flush; returns at once. */
void flusher_request(Flusher *flusher);

/* Has a batch gone to the writer? */
bool flusher_has_stored(const Flusher *flusher);

/*
 * Flushes what is there for the last time, ends the thread. What is not symbolized when the
 * deadline (CLOCK_MONOTONIC) has passed is stored by binary and address.
 */
void flusher_stop(Flusher *flusher, int64_t deadline_ns);

/*
 * While rest is true the flusher pauses between two slices of symbolizing; what is sampled
 * meanwhile is summed. Shrink asks it to give back memory of caches. Both return at once.
 */
void flusher_rest(Flusher *flusher, bool rest);
void flusher_shrink(Flusher *flusher);

/* How long the thread has been at its piece of work, 0: it waits. */
int64_t flusher_busy_ms(const Flusher *flusher);

/* How long the interval at hand has been held, 0: there is none. Any thread. */
int64_t flusher_held_ms(const Flusher *flusher);

/* Sums over all flushes. After flusher_stop. */
void flusher_stats(const Flusher *flusher, ResolveStats *stats);

#endif
