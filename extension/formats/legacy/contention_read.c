/*
 * contention_read.c
 *		Waits for locks as text: "--- contentionz 1 ---", "--- mutex:" or "--- contention:".
 *
 * The file continues with lines "name = value", then rows "cycles count @ 0x4005d0 ...". Both
 * numbers are scaled by the sampling period; cycles are converted to nanoseconds if their frequency
 * is given.
 */
#include "formats/legacy/cursor.h"
#include "formats/legacy/legacy.h"
#include "formats/legacy/legacy_text.h"
#include "formats/legacy/memory_map.h"

#define NS_PER_MS INT64_C(1000000)

typedef struct Contention
{
	PfsLegacyText text;
	int64_t cycles_per_second;
} Contention;

static PfsReadStatus
contention_read_attribute(Contention *contention, PfsText name, PfsText value)
{
	PfsProfile *profile = contention->text.profile;
	bool is_milliseconds = pfs_text_equals(name, "ms since reset");
	int64_t *to = NULL;
	PfsReadStatus status;

	if (pfs_text_equals(name, "cycles/second"))
		to = &contention->cycles_per_second;
	else if (pfs_text_equals(name, "sampling period"))
		to = &profile->period;
	else if (is_milliseconds)
		to = &profile->duration_ns;
	else if (pfs_text_equals(name, "discarded samples"))
		/* Samples that the program could not store do not change those in the file. */
		return PFS_READ_OK;
	else
		return pfs_line_fail(&contention->text.lines, PFS_READ_MALFORMED, "unknown attribute");
	status = pfs_parse_int64(value, to);
	if (status == PFS_READ_OK && is_milliseconds && __builtin_mul_overflow(*to, NS_PER_MS, to))
		status = PFS_READ_OUT_OF_RANGE;
	return status == PFS_READ_OK
			   ? PFS_READ_OK
			   : pfs_line_fail(&contention->text.lines, status, "invalid value of an attribute");
}

/* Reads a row "cycles count @ addresses" and scales both by the sampling period. */
static PfsReadStatus
contention_read_row(Contention *contention, PfsText line)
{
	PfsLegacyText *text = &contention->text;
	PfsProfile *profile = text->profile;
	int64_t cycles;
	int64_t count;
	PfsReadStatus status = pfs_take_number(&line, &cycles);

	if (status == PFS_READ_OK)
		status = pfs_take_number(&line, &count);
	if (status == PFS_READ_OK && !pfs_take_words(&line, "@"))
		status = PFS_READ_MALFORMED;
	if (status != PFS_READ_OK)
		return pfs_legacy_no_row(text, status, "line is not a sample of waits");
	/* A period below 1 leaves the numbers as they are. */
	if (profile->period > 0)
	{
		/* Cycles per second divided by 10^9 are cycles per nanosecond. */
		if (contention->cycles_per_second > 0)
			status = pfs_legacy_whole(text,
									  (double) cycles * (double) profile->period /
										  ((double) contention->cycles_per_second / 1e9),
									  &cycles);
		if (status == PFS_READ_OK && __builtin_mul_overflow(count, profile->period, &count))
			status = pfs_line_fail(&text->lines, PFS_READ_OUT_OF_RANGE, "value is out of range");
	}
	if (status != PFS_READ_OK)
		return status;
	if (pfs_add_sample(profile) == NULL)
		return pfs_line_refused(&text->lines);
	profile->values[(size_t) (profile->sample_count - 1) * 2] = count;
	profile->values[(size_t) (profile->sample_count - 1) * 2 + 1] = cycles;
	return pfs_legacy_add_stack(text, line, PFS_RETURNS_ALL);
}

/* Reads an attribute if there are no rows yet, otherwise a row. */
static PfsReadStatus
contention_read_line(Contention *contention, PfsText line)
{
	uint32_t at = 0;

	if (pfs_is_comment(line))
		return pfs_legacy_read_name(&contention->text, line);
	while (at < line.length && line.data[at] != '=')
		at++;
	/* Rows may contain "=" in a name, so attributes end with the first row. */
	if (at == line.length || contention->text.profile->sample_count > 0)
		return contention_read_row(contention, line);
	return contention_read_attribute(contention, pfs_trim(pfs_part(line, 0, at)),
									 pfs_trim(pfs_part(line, at + 1, line.length)));
}

static PfsReadStatus
contention_read_all(Contention *contention)
{
	PfsLegacyText *text = &contention->text;
	PfsReadStatus status = PFS_READ_OK;
	PfsText line;

	pfs_next_line(&text->lines, &line);
	/* The period is 1 unless an attribute gives another. */
	pfs_legacy_set_period(text->profile, "contentions", "count", 1);
	if (!pfs_legacy_add_type(text->profile, "contentions", "count") ||
		!pfs_legacy_add_type(text->profile, "delay", "nanoseconds"))
		return pfs_line_refused(&text->lines);
	while (status == PFS_READ_OK && pfs_next_line(&text->lines, &line))
	{
		PfsText rest = line;

		if (pfs_take_words(&rest, "---"))
		{
			/* Another section, whose lines are skipped up to the map. */
			if (!pfs_is_memory_map(line))
				pfs_memory_map_find(&text->lines);
			break;
		}
		status = contention_read_line(contention, line);
	}
	return status == PFS_READ_OK ? pfs_legacy_finish(text) : status;
}

PfsReadStatus
pfs_contention_read(const uint8_t *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	Contention contention = { .cycles_per_second = 0 };
	PfsReadStatus status;

	pfs_legacy_begin(&contention.text, bytes, length, profile, error);
	status = contention_read_all(&contention);
	pfs_legacy_end(&contention.text);
	return status;
}
