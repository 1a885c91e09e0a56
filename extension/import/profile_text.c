/*
 * profile_text.c
 *		Texts of a profile in the server's encoding; an error names the place of a text in the file.
 */
#include "profstore.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "import/profile_text.h"

typedef struct TextPlace
{
	const PfsImport *import;
	PfsText text;
} TextPlace;

static void
tell_place(void *argument)
{
	const TextPlace *place = argument;

	errcontext("text of %u bytes at byte %zu of the profile", place->text.length,
			   (size_t) (place->text.data - place->import->bytes));
}

static PfsText
rest_of(PfsText text, uint32 at)
{
	return (PfsText){ text.data + at, text.length - at };
}

/* Bytes of the character that a text begins with; 0 where it begins with none, or with zero. */
static uint32
valid_bytes(PfsText text)
{
	int length = pg_utf_mblen((const unsigned char *) text.data);

	return *text.data != '\0' && (uint32) length <= text.length &&
				   pg_utf8_islegal((const unsigned char *) text.data, length)
			   ? (uint32) length
			   : 0;
}

/*
 * Files come with bytes that are no text: a name that was cut, a buffer that was stored with what
 * lay behind it. Each is replaced, as agents do, by U+FFFD, which most other encodings lack.
 */
static PfsText
replace_invalid(PfsText text)
{
	const char *instead = GetDatabaseEncoding() == PG_UTF8 ? "\xEF\xBF\xBD" : "?";
	StringInfoData copy;
	uint32 at = 0;

	while (at < text.length && valid_bytes(rest_of(text, at)) > 0)
		at += valid_bytes(rest_of(text, at));
	if (at == text.length)
		return text;
	initStringInfo(&copy);
	appendBinaryStringInfo(&copy, text.data, (int) at);
	while (at < text.length)
	{
		uint32 length = valid_bytes(rest_of(text, at));

		if (length > 0)
			appendBinaryStringInfo(&copy, text.data + at, (int) length);
		else
			appendStringInfoString(&copy, instead);
		at += Max(length, 1);
	}
	return (PfsText){ copy.data, (uint32) copy.len };
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
	if (import->encoding == PG_UTF8)
		text = replace_invalid(text);
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
