/*
 * notes.h
 *		Stores the notes of imported files in the table file_notes: once for each series and
 *		content, unless this writer's cache has dropped the note.
 */
#ifndef COLLECTOR_NOTES_H
#define COLLECTOR_NOTES_H

#include "writer/intern.h"
#include "writer/trip.h"

#define NOTE_PARAMS 6

/* Notes of a batch that are being stored. "missing" lists those that are not known to be stored. */
typedef struct NotesWork
{
	const BatchNote *notes;
	const InternKind *series;
	IdCache *cache;
	uint32_t *missing;
	uint32_t missing_count;
	Buffer (*params)[NOTE_PARAMS]; /* parameters of each statement */
	uint32_t statement_count;
	Buffer *key; /* scratch buffer */
} NotesWork;

/*
 * Adds statements for the missing notes to a trip; the ids of series must be known. Returns false
 * on out of memory. Call notes_end() in either case, after the trip was run.
 */
bool notes_begin(NotesWork *work, Interner *interner, const InternWork *ids, const Batch *batch,
				 Trip *trip);

/* Adds the stored notes to the cache. Call it only after COMMIT. */
void notes_remember(const NotesWork *work);
void notes_end(NotesWork *work);

#endif
