/*
 * notes.h
 *		What imported files say beside their samples, into the table file_notes: once for each
 *		series and content, as far as this writer remembers.
 */
#ifndef COLLECTOR_NOTES_H
#define COLLECTOR_NOTES_H

#include "writer/intern.h"
#include "writer/trip.h"

#define NOTE_PARAMS 6

/* The notes of a batch on their way; those that are not known to be stored are missing. */
typedef struct NotesWork
{
	const BatchNote *notes;
	const InternKind *series;
	IdCache *cache;
	uint32_t *missing;
	uint32_t missing_count;
	Buffer (*params)[NOTE_PARAMS]; /* of each statement */
	uint32_t statement_count;
	Buffer *key; /* scratch */
} NotesWork;

/*
 * Adds to a trip what is to be stored; ids of series must be known. False where memory is out. To
 * be ended in any case, once the trip was made.
 */
bool notes_begin(NotesWork *work, Interner *interner, const InternWork *ids, const Batch *batch,
				 Trip *trip);

/* Puts into the cache what was stored. Only what is committed may be. */
void notes_remember(const NotesWork *work);
void notes_end(NotesWork *work);

#endif
