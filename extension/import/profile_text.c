/*
 * profile_text.c
 *		Converts texts of a profile to the server's encoding. An error contains the place of the
 *		text in the file.
 */
#include "profstore.h"

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "import/profile_text.h"

typedef struct TextPlace
{
	const PfsImport *import;
	PfsText text;
} TextPlace;

/*
 * Adds the place of the text to an error. A text in which bytes were replaced is a copy, which has
 * no place in the file.
 */
static void
tell_place(void *argument)
{
	const TextPlace *place = argument;
	Size offset = (Size) ((const uint8 *) place->text.data - place->import->bytes.data);

	if (offset < place->import->bytes.length)
		errcontext("text of %u bytes at byte %zu of the profile", place->text.length, offset);
}

char *
pfs_import_text(const PfsImport *import, PfsText text)
{
	TextPlace place = { import, text };
	ErrorContextCallback callback = { error_context_stack, tell_place, &place };
	char *converted;

	if (text.length == 0)
		return pstrdup("");
	error_context_stack = &callback;
	if (text.length > MaxAllocSize / MAX_CONVERSION_GROWTH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("text in profile is too long")));
	converted = pg_any_to_server(text.data, (int) text.length, import->encoding);
	error_context_stack = callback.previous;
	return converted == text.data ? pnstrdup(text.data, text.length) : converted;
}

Datum
pfs_import_text_datum(const PfsImport *import, PfsText text)
{
	char *converted = pfs_import_text(import, text);
	Datum datum = CStringGetTextDatum(converted);

	pfree(converted);
	return datum;
}
