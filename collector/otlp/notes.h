/*
 * notes.h
 *		Notes: attributes of a profile in place of fields of a pprof file that OTLP's messages
 *		lack, with the names of OpenTelemetry's semantic conventions (pprof.*).
 */
#ifndef COLLECTOR_OTLP_NOTES_H
#define COLLECTOR_OTLP_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "batch/batch.h"
#include "formats/profile.h"

typedef enum NoteKind
{
	NOTE_NONE, /* not a note but a label */
	NOTE_COMMENTS,
	NOTE_DEFAULT_TYPE,
	NOTE_DOC_URL,
	NOTE_DROP_FRAMES,
	NOTE_KEEP_FRAMES,
	/* order of sample types in a file; dropped, because each type is a profile of its own here */
	NOTE_TYPE_ORDER
} NoteKind;

NoteKind note_kind(PfsText key);

/*
 * Returns how many texts of that kind are kept, from the first on. The caller counts those beyond.
 */
uint32_t note_texts_max(NoteKind kind);

/*
 * Sets a note, which replaces an earlier one of its kind. The note refers to the texts and their
 * list, which the caller keeps.
 */
void note_put(BatchNote *note, NoteKind kind, const char *const *texts, uint32_t count);

bool note_is_empty(const BatchNote *note);

#endif
