/*
 * notes.h
 *		Stores the notes of imported files in the table file_notes: once for each series and
 *		content, unless this writer's cache has forgotten the note.
 */
#ifndef COLLECTOR_NOTES_H
#define COLLECTOR_NOTES_H

#include "writer/intern.h"
#include "writer/trip.h"

#define NOTE_PARAMS 6

/* Notes of a batch that are being stored. `missing` are those not known to be stored. */
typedef struct NotesWork
{
	const BatchNote *notes;
	const InternKind *series;
	IdCache *cache;
	uint32_t *missing;
	uint32_t missing_count;
	Buffer (*params)[NOTE_PARAMS]; /* of each statement */
	uint32_t statement_count;
	Buffer *key; /* scratch buffer */
} NotesWork;

/*
 * Adds statements for the missing notes to a trip; the ids of series must be known. Returns false
 * on out of memory. notes_end() must be called in any case, after the trip.
 */
bool notes_begin(NotesWork *work, Interner *interner, const InternWork *ids, const Batch *batch,
				 Trip *trip);

/* Adds the stored notes to the cache. Call it only after COMMIT. */
void notes_remember(const NotesWork *work);
void notes_end(NotesWork *work);

#endif
