/*
 * notes.h
 *		What a profile says beside its samples: the fields of a pprof file that have no place in
 *		OTLP's messages, as attributes of OpenTelemetry's own names (semantic conventions, pprof.*).
 */
#ifndef COLLECTOR_OTLP_NOTES_H
#define COLLECTOR_OTLP_NOTES_H

#include <stdbool.h>
#include <stdint.h>

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

/* Texts are the batch's, the list lies in the arena. NULL: not told. */
typedef struct ProfileNotes
{
	uint32_t comment_count;
	const char *const *comments;
	const char *default_type;
	const char *doc_url;
	const char *drop_frames;
	const char *keep_frames;
} ProfileNotes;

NoteKind note_kind(PfsText key);

/* A later note replaces an earlier one of its kind. All but comments are one text: the first. */
void notes_put(ProfileNotes *notes, NoteKind kind, const char *const *texts, uint32_t count);

bool notes_are_empty(const ProfileNotes *notes);

#endif
