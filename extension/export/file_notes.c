/*
 * file_notes.c
 *		Joins the notes of several series to those of one file; equal notes give equal results.
 */
#include "profstore.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/arrays.h"
#include "export/file_notes.h"

enum
{
	NOTE_DEFAULT_TYPE = 1,
	NOTE_DOC_URL,
	NOTE_DROP_FRAMES,
	NOTE_KEEP_FRAMES,
	NOTE_COMMENTS
};

/*
 * The notes that the caller may see. Of the file from which drop_frames comes, keep_frames is
 * taken, too.
 */
static const char notes_query[] =
	"WITH notes AS MATERIALIZED "
	"    (SELECT DISTINCT n.default_type, n.comments, n.doc_url, n.drop_frames, n.keep_frames "
	"     FROM profstore.file_notes AS n WHERE n.series_id OPERATOR(pg_catalog.=) ANY ($1)), "
	"frames AS "
	"    (SELECT n.drop_frames, n.keep_frames FROM notes AS n "
	"     ORDER BY n.drop_frames OPERATOR(pg_catalog.=) '', n.drop_frames, n.keep_frames LIMIT 1) "
	"SELECT "
	"    coalesce(pg_catalog.min(n.default_type) FILTER "
	"             (WHERE n.default_type OPERATOR(pg_catalog.<>) ''), ''), "
	"    coalesce(pg_catalog.min(n.doc_url) FILTER "
	"             (WHERE n.doc_url OPERATOR(pg_catalog.<>) ''), ''), "
	"    coalesce((SELECT f.drop_frames FROM frames AS f), ''), "
	"    coalesce((SELECT f.keep_frames FROM frames AS f), ''), "
	"    ARRAY(SELECT u.comment "
	"          FROM notes AS c, pg_catalog.unnest(c.comments) WITH ORDINALITY AS u(comment, ord) "
	"          GROUP BY u.comment ORDER BY pg_catalog.min(c.comments), pg_catalog.min(u.ord)) "
	"FROM notes AS n";

/* Copies a column's text to a context that outlives SPI_finish(). */
static const char *
get_note(MemoryContext context, int column)
{
	return MemoryContextStrdup(context,
							   SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column));
}

static void
get_comments(MemoryContext context, PfsPprofHeader *header)
{
	bool is_null;
	Datum comments =
		SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, NOTE_COMMENTS, &is_null);
	Datum *elements;
	const char **texts;
	int count;

	deconstruct_array(DatumGetArrayTypeP(comments), TEXTOID, -1, false, TYPALIGN_INT, &elements,
					  NULL, &count);
	texts = MemoryContextAlloc(context, (Size) count * sizeof(char *) + 1);
	for (int i = 0; i < count; i++)
		texts[i] = MemoryContextStrdup(context, TextDatumGetCString(elements[i]));
	header->comments = texts;
	header->comment_count = (uint32) count;
}

void
pfs_file_notes_get(const PfsSelection *selection, PfsPprofHeader *header)
{
	MemoryContext context = CurrentMemoryContext;
	Datum *ids = PFS_ARRAY(Datum, selection->series_count);
	Oid type = INT4ARRAYOID;
	Datum argument;

	for (int i = 0; i < selection->series_count; i++)
		ids[i] = Int32GetDatum((int32) selection->series_ids[i]);
	argument = PointerGetDatum(
		construct_array(ids, selection->series_count, INT4OID, 4, true, TYPALIGN_INT));
	SPI_connect();
	if (SPI_execute_with_args(notes_query, 1, &type, &argument, NULL, true, 0) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not read profstore.file_notes");
	header->default_type = get_note(context, NOTE_DEFAULT_TYPE);
	header->doc_url = get_note(context, NOTE_DOC_URL);
	header->drop_frames = get_note(context, NOTE_DROP_FRAMES);
	header->keep_frames = get_note(context, NOTE_KEEP_FRAMES);
	get_comments(context, header);
	SPI_finish();
}
