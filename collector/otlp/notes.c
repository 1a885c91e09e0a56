/*
 * notes.c
 *		Which attributes are notes, and the set of them that a profile has.
 */
#include "otlp/notes.h"

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

void
notes_put(ProfileNotes *notes, NoteKind kind, const char *const *texts, uint32_t count)
{
	const char *first = count > 0 ? texts[0] : NULL;

	switch (kind)
	{
		case NOTE_COMMENTS:
			notes->comments = texts;
			notes->comment_count = count;
			break;
		case NOTE_DEFAULT_TYPE:
			notes->default_type = first;
			break;
		case NOTE_DOC_URL:
			notes->doc_url = first;
			break;
		case NOTE_DROP_FRAMES:
			notes->drop_frames = first;
			break;
		case NOTE_KEEP_FRAMES:
			notes->keep_frames = first;
			break;
		case NOTE_TYPE_ORDER:
		case NOTE_NONE:
			break;
	}
}

bool
notes_are_empty(const ProfileNotes *notes)
{
	return notes->comment_count == 0 && notes->default_type == NULL && notes->doc_url == NULL &&
		   notes->drop_frames == NULL && notes->keep_frames == NULL;
}
