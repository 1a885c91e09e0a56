/*
 * notes.c
 *		Stores notes with one statement for each run of series with equal notes; the series of a
 *		file are adjacent.
 */
#include "writer/notes.h"

#include <stdlib.h>
#include <string.h>

static void
put_note_content(Buffer *key, const BatchNote *note)
{
	const char *texts[] = { note->default_type, note->doc_url, note->drop_frames,
							note->keep_frames };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		buffer_put_bytes(key, texts[i], strlen(texts[i]) + 1);
	for (uint32_t i = 0; i < note->comment_count; i++)
		buffer_put_bytes(key, note->comments[i], strlen(note->comments[i]) + 1);
}

static void
make_note_key(const NotesWork *work, uint32_t index)
{
	const BatchNote *note = &work->notes[index];

	buffer_reset(work->key);
	/* a note is known if its series has been stored with equal content */
	buffer_put_int4(work->key, (int32_t) work->series->ids[note->series]);
	put_note_content(work->key, note);
}

/* Compares pointers, because equal strings of a batch have equal pointers. */
static bool
content_equal(const BatchNote *a, const BatchNote *b)
{
	return a->default_type == b->default_type && a->doc_url == b->doc_url &&
		   a->drop_frames == b->drop_frames && a->keep_frames == b->keep_frames &&
		   a->comment_count == b->comment_count &&
		   (a->comment_count == 0 ||
			memcmp(a->comments, b->comments, a->comment_count * sizeof(a->comments[0])) == 0);
}

static void
encode_notes(const NotesWork *work, const uint32_t *indexes, uint32_t count, Buffer *params)
{
	/* the notes of the run have equal content, so the first one stands for all */
	const BatchNote *note = &work->notes[indexes[0]];
	const char *texts[] = { note->default_type, note->doc_url, note->drop_frames,
							note->keep_frames };

	wire_array(&params[0], WIRE_INT4, count);
	for (uint32_t i = 0; i < count; i++)
		wire_int4_element(&params[0], (int32_t) work->series->ids[work->notes[indexes[i]].series]);
	wire_array(&params[1], WIRE_TEXT, note->comment_count);
	for (uint32_t i = 0; i < note->comment_count; i++)
		wire_text_element(&params[1], note->comments[i]);
	for (int i = 0; i < 4; i++)
		buffer_put_bytes(&params[2 + i], texts[i], strlen(texts[i]));
}

static void
add_statement(NotesWork *work, const uint32_t *indexes, uint32_t count, Trip *trip)
{
	Buffer *params = work->params[work->statement_count++];
	const Statement statement = { .sql = "SELECT profstore.keep_file_notes($1, $2, $3, $4, $5, $6)",
								  .failure = "could not store notes of files",
								  .keep = true,
								  .param_count = NOTE_PARAMS,
								  .params = { { WIRE_INT4_ARRAY, &params[0] },
											  { WIRE_TEXT_ARRAY, &params[1] },
											  { WIRE_TEXT, &params[2] },
											  { WIRE_TEXT, &params[3] },
											  { WIRE_TEXT, &params[4] },
											  { WIRE_TEXT, &params[5] } } };

	encode_notes(work, indexes, count, params);
	trip_add(trip, &statement, NULL);
}

static void
add_statements(NotesWork *work, Trip *trip)
{
	uint32_t count;

	for (uint32_t first = 0; first < work->missing_count; first += count)
	{
		const BatchNote *note = &work->notes[work->missing[first]];

		/* the series of a file are adjacent, so most files need one statement */
		for (count = 1; first + count < work->missing_count &&
						content_equal(note, &work->notes[work->missing[first + count]]);
			 count++)
			;
		add_statement(work, work->missing + first, count, trip);
	}
}

bool
notes_begin(NotesWork *work, Interner *interner, const InternWork *ids, const Batch *batch,
			Trip *trip)
{
	size_t count;

	*work = (NotesWork){ .series = &ids->kinds[KIND_SERIES],
						 .cache = &interner->notes,
						 .key = &interner->key };
	count = batch_notes(batch, &work->notes);
	/* only imports have notes */
	if (count == 0)
		return true;
	work->missing = calloc(count, sizeof(work->missing[0]));
	/* one set of parameters for each statement, which live until the trip has run */
	work->params = calloc(count, sizeof(work->params[0]));
	if (work->missing == NULL || work->params == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++)
	{
		int64_t stored;

		make_note_key(work, i);
		if (work->key->failed)
			return false;
		if (!id_cache_find(work->cache, work->key->bytes, work->key->length, &stored))
			work->missing[work->missing_count++] = i;
	}
	add_statements(work, trip);
	return true;
}

void
notes_remember(const NotesWork *work)
{
	for (uint32_t i = 0; i < work->missing_count; i++)
	{
		make_note_key(work, work->missing[i]);
		if (!work->key->failed)
			/* only the presence of the key counts */
			id_cache_put(work->cache, work->key->bytes, work->key->length, 1);
	}
}

void
notes_end(NotesWork *work)
{
	for (uint32_t i = 0; i < work->statement_count; i++)
		for (int j = 0; j < NOTE_PARAMS; j++)
			buffer_fini(&work->params[i][j]);
	free(work->params);
	free(work->missing);
}
