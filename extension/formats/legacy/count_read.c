/*
 * count_read.c
 *		Counts of stacks as text: "goroutine profile: total 7", then "3 @ 0x43e0ee 0x44f9c5".
 */
#include "formats/clean_text.h"
#include "formats/legacy/cursor.h"
#include "formats/legacy/legacy.h"
#include "formats/legacy/legacy_text.h"
#include "formats/legacy/memory_map.h"

static PfsReadStatus
count_read_header(PfsLegacyText *text)
{
	PfsProfile *profile = text->profile;
	PfsText line = { "", 0 };
	PfsValueType type = { { "", 0 }, { "count", 5 } };

	while (pfs_is_comment(line) && pfs_next_line(&text->lines, &line))
		;
	type.type = pfs_take_token(&line);
	if (!pfs_text_clean(profile, &type.type) ||
		!PFS_GROW(profile->budget, profile->types, profile->type_count))
		return pfs_line_refused(&text->lines);
	profile->types[profile->type_count++] = type;
	profile->period_type = type;
	profile->period = 1;
	return PFS_READ_OK;
}

static PfsReadStatus
count_read_row(PfsLegacyText *text, PfsText line)
{
	PfsProfile *profile = text->profile;
	int64_t count;
	PfsReadStatus status = pfs_take_number(&line, &count);

	if (status == PFS_READ_OK && !pfs_take_words(&line, "@"))
		status = PFS_READ_MALFORMED;
	if (status != PFS_READ_OK)
		return pfs_legacy_no_row(text, status, "line is not a count of a stack");
	if (pfs_add_sample(profile) == NULL)
		return pfs_line_refused(&text->lines);
	profile->values[profile->sample_count - 1] = count;
	return pfs_legacy_add_stack(text, line, PFS_RETURNS_ALL);
}

static PfsReadStatus
count_read_all(PfsLegacyText *text)
{
	PfsReadStatus status = count_read_header(text);
	PfsText line;

	while (status == PFS_READ_OK && pfs_next_line(&text->lines, &line))
	{
		PfsText rest = line;

		if (pfs_take_words(&rest, "---"))
		{
			if (!pfs_is_memory_map(line))
				pfs_memory_map_find(&text->lines);
			break;
		}
		status =
			pfs_is_comment(line) ? pfs_legacy_read_name(text, line) : count_read_row(text, line);
	}
	return status == PFS_READ_OK ? pfs_legacy_finish(text) : status;
}

PfsReadStatus
pfs_count_read(const uint8_t *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	PfsLegacyText text;
	PfsReadStatus status;

	pfs_legacy_begin(&text, bytes, length, profile, error);
	status = count_read_all(&text);
	pfs_legacy_end(&text);
	return status;
}
