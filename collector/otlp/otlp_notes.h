/*
 * otlp_notes.h
 *		Notes: attributes of a profile that replace fields of pprof files which OTLP's messages
 *		lack. Their names are those of OpenTelemetry's semantic conventions (pprof.*).
 */
#ifndef COLLECTOR_OTLP_NOTES_H
#define COLLECTOR_OTLP_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "batch/batch.h"
#include "formats/profile.h"

typedef enum NoteKind
{
	NOTE_NONE, /* the attribute is a label and no note */
	NOTE_COMMENTS,
	NOTE_DEFAULT_TYPE,
	NOTE_DOC_URL,
	NOTE_DROP_FRAMES,
	NOTE_KEEP_FRAMES,
	/*
	 * Order of sample types in a file. This is dropped, because each type is a profile of its own
	 * here.
	 */
	NOTE_TYPE_ORDER
} NoteKind;

NoteKind note_kind(PfsText key);

/* Returns how many texts of this kind are stored; the caller counts further ones. */
uint32_t note_texts_max(NoteKind kind);

/*
 * Sets a note, replacing an earlier note of its kind. The note refers to the texts and their list,
 * which must outlive it.
 */
void note_put(BatchNote *note, NoteKind kind, const char *const *texts, uint32_t count);

bool note_is_empty(const BatchNote *note);

#endif
