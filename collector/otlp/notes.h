/*
 * notes.h
 *		What a profile says beside its samples: the fields of a pprof file that have no place in
 *		OTLP's messages, as attributes of OpenTelemetry's own names (semantic conventions, pprof.*).
 */
#ifndef COLLECTOR_OTLP_NOTES_H
#define COLLECTOR_OTLP_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "batch/batch.h"
#include "formats/profile.h"

typedef enum NoteKind
{
	NOTE_NONE, /* the attribute is none of these: a label */
	NOTE_COMMENTS,
	NOTE_DEFAULT_TYPE,
	NOTE_DOC_URL,
	NOTE_DROP_FRAMES,
	NOTE_KEEP_FRAMES,
	NOTE_TYPE_ORDER /* of sample types in a file; each is a profile of its own here: not kept */
} NoteKind;

NoteKind note_kind(PfsText key);

/* How many texts of that kind are kept, the first ones; what is beyond them is to be counted. */
uint32_t note_texts_max(NoteKind kind);

/*
 * A later note replaces an earlier one of its kind. The texts and their list stay the caller's, and
 * the note refers to them.
 */
void note_put(BatchNote *note, NoteKind kind, const char *const *texts, uint32_t count);

bool note_is_empty(const BatchNote *note);

#endif
