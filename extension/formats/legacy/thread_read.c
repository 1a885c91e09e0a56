/*
 * thread_read.c
 *		Stacks of threads as text: "--- threadz 1 ---", or directly the first thread.
 *
 * Each begins with "--- Thread 7f0a (name: worker/123) stack: ---", followed by lines of addresses,
 * leaf first; "same as previous thread" counts the last stack once more.
 */
#include "formats/legacy/cursor.h"
#include "formats/legacy/legacy.h"
#include "formats/legacy/legacy_text.h"
#include "formats/legacy/memory_map.h"

static bool
is_rule(PfsText line)
{
	return pfs_take_words(&line, "---");
}

/*
 * Reads the lines of a stack up to the next header, which becomes *line; sets *at_end if there is
 * none.
 */
static PfsReadStatus
threads_read_stack(PfsLegacyText *text, PfsText *line, bool *at_end)
{
	PfsProfile *profile = text->profile;
	PfsReadStatus status = PFS_READ_OK;
	bool is_same = false;

	if (pfs_add_sample(profile) == NULL)
		return pfs_line_refused(&text->lines);
	while (status == PFS_READ_OK && !(*at_end = !pfs_next_line(&text->lines, line)) &&
		   !is_rule(*line))
	{
		if (pfs_text_contains(*line, "same as previous thread"))
			is_same = true;
		else
			status = pfs_legacy_add_stack(text, *line, PFS_RETURNS_CALLERS);
	}
	profile->values[profile->sample_count - 1] = 1;
	if (status != PFS_READ_OK ||
		(!is_same && profile->samples[profile->sample_count - 1].location_count > 0))
		return status;
	/* this thread has the stack of the previous one, so count that sample once more */
	profile->location_index_count = profile->samples[--profile->sample_count].first_location;
	if (profile->sample_count > 0)
		profile->values[profile->sample_count - 1]++;
	return PFS_READ_OK;
}

static PfsReadStatus
read_threads(PfsLegacyText *text, PfsText line, bool at_end)
{
	PfsReadStatus status = PFS_READ_OK;

	while (status == PFS_READ_OK && !at_end && !pfs_is_memory_map(line))
	{
		PfsText rest = line;

		/* Threads without stacks end the list; the map of memory may follow. */
		if (pfs_take_words(&rest, "---- no stack trace for"))
		{
			pfs_memory_map_find(&text->lines);
			break;
		}
		if (!pfs_take_words(&rest, "--- Thread ") || !pfs_text_contains(rest, " stack: ---"))
			return pfs_line_fail(&text->lines, PFS_READ_MALFORMED, "line does not begin a thread");
		status = threads_read_stack(text, &line, &at_end);
	}
	return status;
}

static PfsReadStatus
threads_read_all(PfsLegacyText *text)
{
	PfsText line = { "", 0 };
	PfsText rest;
	bool at_end = false;
	PfsReadStatus status;

	pfs_legacy_set_period(text->profile, "thread", "count", 1);
	if (!pfs_legacy_add_type(text->profile, "thread", "count"))
		return pfs_line_refused(&text->lines);
	/* Comments may precede the first thread. */
	while (!at_end && pfs_is_comment(line))
		at_end = !pfs_next_line(&text->lines, &line);
	rest = line;
	/* After the rule of the file, lines up to the first thread are ignored. */
	if (pfs_take_words(&rest, "--- threadz "))
		do
			at_end = !pfs_next_line(&text->lines, &line);
		while (!at_end && !is_rule(line) && !pfs_is_memory_map(line));
	status = read_threads(text, line, at_end);
	if (status != PFS_READ_OK)
		return status;
	pfs_legacy_drop_double_leafs(text->profile);
	return pfs_legacy_finish(text);
}

PfsReadStatus
pfs_thread_read(const uint8_t *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	PfsLegacyText text;
	PfsReadStatus status;

	pfs_legacy_begin(&text, bytes, length, profile, error);
	status = threads_read_all(&text);
	pfs_legacy_end(&text);
	return status;
}
