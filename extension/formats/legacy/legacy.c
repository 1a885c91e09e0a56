/*
 * legacy.c
 *		Recognizes the formats before protobuf by a file's beginning.
 */
#include "formats/legacy/legacy.h"

#include "formats/legacy/cpu_words.h"
#include "formats/legacy/cursor.h"
#include "formats/legacy/legacy_text.h"

/* Limit of lines examined for the format: comments before a header, attributes after it. */
#define LINES_PROBED 64

typedef struct Beginning
{
	PfsBudget budget;
	PfsReadError error;
	PfsLineReader lines;
	PfsText header; /* the first line that is not a comment */
	bool is_first;
} Beginning;

static void
read_beginning(Beginning *beginning, const uint8_t *bytes, size_t length)
{
	*beginning = (Beginning){ .header = { "", 0 } };
	beginning->lines = (PfsLineReader){ .bytes = (const char *) bytes,
										.length = length,
										.budget = &beginning->budget,
										.error = &beginning->error };
	for (int i = 0; i < LINES_PROBED && pfs_is_comment(beginning->header); i++)
	{
		beginning->is_first = i == 0;
		if (!pfs_next_line(&beginning->lines, &beginning->header))
			return;
	}
}

/* Returns true for "NAME profile: total N". */
static bool
is_count(PfsText header)
{
	int64_t total;

	return pfs_take_token(&header).length > 0 && pfs_take_words(&header, "profile: total ") &&
		   pfs_take_number(&header, &total) == PFS_READ_OK && header.length == 0;
}

static bool
is_thread(PfsText header)
{
	return pfs_take_words(&header, "--- threadz ") || pfs_take_words(&header, "--- Thread ");
}

/*
 * Returns true if the attributes contain a format or resolution, which only Java writes before the
 * samples.
 */
static bool
tells_java(Beginning *beginning)
{
	PfsText line;

	for (int i = 0; i < LINES_PROBED && pfs_next_line(&beginning->lines, &line); i++)
	{
		if (pfs_take_words(&line, "format") || pfs_take_words(&line, "resolution"))
			return true;
		if (!pfs_is_comment(line) && !pfs_text_contains(line, "="))
			return false;
	}
	return false;
}

static PfsReadFn
first_line_reader(Beginning *beginning)
{
	PfsText line = beginning->header;

	if (pfs_take_words(&line, "heap profile:"))
		return pfs_heap_read;
	if (pfs_take_words(&line, "--- heapz 1 ---"))
		return pfs_java_read;
	if (pfs_take_words(&line, "--- contentionz "))
		return tells_java(beginning) ? pfs_java_read : pfs_contention_read;
	if (pfs_take_words(&line, "--- mutex:") || pfs_take_words(&line, "--- contention:"))
		return pfs_contention_read;
	return NULL;
}

PfsReadFn
pfs_legacy_reader(const uint8_t *bytes, size_t length)
{
	PfsCpuWords words;
	Beginning beginning;

	if (pfs_cpu_words_begin(&words, bytes, length))
		return pfs_cpu_read;
	read_beginning(&beginning, bytes, length);
	if (is_count(beginning.header))
		return pfs_count_read;
	if (is_thread(beginning.header))
		return pfs_thread_read;
	return beginning.is_first ? first_line_reader(&beginning) : NULL;
}
