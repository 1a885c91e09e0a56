/*
 * otlp_notes.c
 *		Recognizes attributes that are notes, and collects the notes of a profile.
 */
#include "otlp/otlp_notes.h"

#include <stddef.h>

NoteKind
note_kind(PfsText key)
{
	static const struct
	{
		const char *key;
		NoteKind kind;
	} known[] = {
		{ "pprof.profile.comment", NOTE_COMMENTS },
		{ "pprof.profile.doc_url", NOTE_DOC_URL },
		{ "pprof.profile.drop_frames", NOTE_DROP_FRAMES },
		{ "pprof.profile.keep_frames", NOTE_KEEP_FRAMES },
		{ "pprof.scope.default_sample_type", NOTE_DEFAULT_TYPE },
		{ "pprof.scope.sample_type_order", NOTE_TYPE_ORDER },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (pfs_text_equals(key, known[i].key))
			return known[i].kind;
	return NOTE_NONE;
}

uint32_t
note_texts_max(NoteKind kind)
{
	switch (kind)
	{
		/* a profile has any number of comments; all other notes are one text */
		case NOTE_COMMENTS:
			return UINT32_MAX;
		case NOTE_DEFAULT_TYPE:
		case NOTE_DOC_URL:
		case NOTE_DROP_FRAMES:
		case NOTE_KEEP_FRAMES:
			return 1;
		case NOTE_TYPE_ORDER:
		case NOTE_NONE:
			break;
	}
	return 0;
}

void
note_put(BatchNote *note, NoteKind kind, const char *const *texts, uint32_t count)
{
	const char *first = count > 0 ? texts[0] : NULL;

	switch (kind)
	{
		case NOTE_COMMENTS:
			note->comments = texts;
			note->comment_count = count;
			break;
		case NOTE_DEFAULT_TYPE:
			note->default_type = first;
			break;
		case NOTE_DOC_URL:
			note->doc_url = first;
			break;
		case NOTE_DROP_FRAMES:
			note->drop_frames = first;
			break;
		case NOTE_KEEP_FRAMES:
			note->keep_frames = first;
			break;
		case NOTE_TYPE_ORDER:
		case NOTE_NONE:
			break;
	}
}

bool
note_is_empty(const BatchNote *note)
{
	return note->comment_count == 0 && note->default_type == NULL && note->doc_url == NULL &&
		   note->drop_frames == NULL && note->keep_frames == NULL;
}
