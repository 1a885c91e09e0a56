/*
 * format.c
 *		Recognizes files by their first bytes, text by its first lines.
 */
#include "formats/any/format.h"

#include <string.h>

#include "formats/any/foreign.h"
#include "formats/any/readers.h"
#include "formats/perf_event.h"

/* Bytes of a file that are examined. */
#define PROBE_BYTES 4096
#define PROBE_LINES 64

/*
 * Returns true if the bytes contain none of the control characters that gzip and protobuf begin
 * with.
 */
static bool
format_is_text(const uint8_t *bytes, size_t length)
{
	size_t probed = length < PROBE_BYTES ? length : PROBE_BYTES;

	for (size_t i = 0; i < probed; i++)
		if (bytes[i] < ' ' && bytes[i] != '\t' && bytes[i] != '\n' && bytes[i] != '\r')
			return false;
	return true;
}

/*
 * Returns true if the line ends in a blank and a number, which may be one that the reader refuses
 * with a specific message.
 */
static bool
looks_folded(PfsText line)
{
	uint32_t begin;
	bool has_digit = false;

	/*
	 * A number may be a fraction or a list, which the reader of folded stacks refuses with a
	 * reason.
	 */
	line = pfs_trim(line);
	begin = line.length;
	while (begin > 0 && (pfs_is_digit(line.data[begin - 1]) ||
						 memchr("-.,", line.data[begin - 1], strlen("-.,")) != NULL))
		has_digit = pfs_is_digit(line.data[--begin]) || has_digit;
	return has_digit && begin > 1 && pfs_is_blank(line.data[begin - 1]);
}

/*
 * Determines the format of text: perf's if a line is an event with its time, otherwise folded
 * stacks if a line ends in a value. *is_empty: all lines are comments.
 */
static PfsFormat
format_of_text(const uint8_t *bytes, size_t length, bool *is_empty)
{
	static const PfsBudget no_budget = { .pause = NULL };
	PfsLineReader lines = { .bytes = (const char *) bytes, .length = length, .budget = &no_budget };
	PfsFormat format = PFS_FORMAT_PROFILE;
	bool has_time = false;
	PfsText line;

	*is_empty = true;
	pfs_skip_byte_order_mark(&lines);
	/* A time is certain, so the search ends with it. Other signs may be met by chance. */
	for (int i = 0;
		 i < PROBE_LINES && !has_time && lines.at < PROBE_BYTES && pfs_next_line(&lines, &line);
		 i++)
	{
		PfsEventLine event;
		bool is_event = line.length > 0 && line.data[0] != '\t' && pfs_event_parse(line, &event);

		has_time = is_event && event.has_time;
		/* An event without a time loses against folded stacks that were met before. */
		if (has_time || (is_event && format == PFS_FORMAT_PROFILE))
			format = PFS_FORMAT_PERF_SCRIPT;
		if (!is_event && (line.length == 0 || line.data[0] == '#'))
			continue;
		*is_empty = false;
		if (!is_event && format == PFS_FORMAT_PROFILE && looks_folded(line))
			format = PFS_FORMAT_FOLDED;
	}
	return format;
}

PfsFormat
pfs_format_of(const uint8_t *bytes, size_t length)
{
	PfsFormat format;
	bool is_empty;

	if (pfs_reader_of(bytes, length) != NULL || pfs_foreign_find(bytes, length) != NULL ||
		!format_is_text(bytes, length))
		return PFS_FORMAT_PROFILE;
	format = format_of_text(bytes, length, &is_empty);
	/* the file is read as folded stacks, whose reader reports that there is no stack */
	return is_empty ? PFS_FORMAT_FOLDED : format;
}

void
pfs_format_explain(const uint8_t *bytes, size_t length, PfsFormat reader, PfsReadError *error)
{
	static const PfsForeign unknown = {
		"format of the text is not known",
		"Supported text: folded stacks, perf script, and the formats that README.md lists."
	};
	static const PfsForeign formats[] = {
		[PFS_FORMAT_PROFILE] = { "file is not of this format",
								 "import_pprof() and --format pprof detect the format." },
		[PFS_FORMAT_FOLDED] = { "file looks like folded stacks",
								"import_folded() and --format folded read it." },
		[PFS_FORMAT_PERF_SCRIPT] = { "file looks like what perf script prints",
									 "import_perf_script() and --format perf-script read it." },
	};
	const PfsForeign *what = pfs_foreign_find(bytes, length);
	bool is_known = pfs_reader_of(bytes, length) != NULL;
	/* A text that another reader or a foreign format claims is not judged by its lines. */
	bool is_line_text = what == NULL && !is_known && format_is_text(bytes, length);
	bool is_empty = false;
	PfsFormat format = is_line_text ? format_of_text(bytes, length, &is_empty) : PFS_FORMAT_PROFILE;

	if (is_empty)
		return;
	if (what == NULL && format != reader &&
		(is_line_text ? format != PFS_FORMAT_PROFILE : is_known))
		what = &formats[format];
	/* readers of other formats report missing frames themselves */
	if (is_line_text && format == PFS_FORMAT_PROFILE && reader == PFS_FORMAT_PROFILE)
		what = &unknown;
	if (what != NULL)
		*error = (PfsReadError){ .message = what->message, .hint = what->hint };
}
