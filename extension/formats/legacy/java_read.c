/*
 * java_read.c
 *		Heaps and waits of Java as text: "--- heapz 1 ---", "--- contentionz 1 ---".
 *
 * The file continues with lines "name = value", of which "resolution" is a unit; rows of "bytes
 * objects @" and addresses, which are not return addresses; and the names of addresses. Heaps are
 * sampled every 512 kB.
 */
#include "formats/clean_text.h"
#include "formats/legacy/cursor.h"
#include "formats/legacy/java_names.h"
#include "formats/legacy/legacy.h"
#include "formats/legacy/legacy_text.h"

#define HEAP_RATE 524288
#define NS_PER_MS INT64_C(1000000)

typedef struct Java
{
	PfsLegacyText text;
	bool is_heap;
} Java;

/* Takes "resolution = bytes", the unit of the second type. */
static PfsReadStatus
set_unit(Java *java, PfsText unit)
{
	PfsProfile *profile = java->text.profile;

	if (!pfs_text_clean(profile, &unit))
		return pfs_line_refused(&java->text.lines);
	profile->types[1].unit = unit;
	return PFS_READ_OK;
}

static PfsReadStatus
java_read_attribute(Java *java, PfsText name, PfsText value)
{
	PfsProfile *profile = java->text.profile;
	PfsLineReader *lines = &java->text.lines;
	PfsReadStatus status;

	/* Attributes are known by name; an unknown one may change the meaning of the values. */
	if (pfs_text_equals(name, "format") && pfs_text_equals(value, "java"))
		return PFS_READ_OK;
	if (pfs_text_equals(name, "resolution"))
		return set_unit(java, value);
	if (!java->is_heap && pfs_text_equals(name, "sampling period"))
	{
		pfs_legacy_set_period(profile, "contentions", "count", 0);
		status = pfs_parse_int64(value, &profile->period);
	}
	else if (!java->is_heap && pfs_text_equals(name, "ms since reset"))
	{
		status = pfs_parse_int64(value, &profile->duration_ns);
		if (status == PFS_READ_OK &&
			__builtin_mul_overflow(profile->duration_ns, NS_PER_MS, &profile->duration_ns))
			status = PFS_READ_OUT_OF_RANGE;
	}
	else
		return pfs_line_fail(lines, PFS_READ_MALFORMED, "unknown attribute");
	return status == PFS_READ_OK ? PFS_READ_OK
								 : pfs_line_fail(lines, status, "invalid value of an attribute");
}

/* Reads the numbers of a row, "bytes objects @"; false if the line is not a row. */
static PfsReadStatus
take_row(PfsCursor *line, int64_t *count, int64_t *amount)
{
	PfsReadStatus status = pfs_take_number(line, amount);

	if (status == PFS_READ_OK)
		status = pfs_take_number(line, count);
	if (status == PFS_READ_OK && !pfs_take_words(line, "@"))
		status = PFS_READ_MALFORMED;
	return status;
}

/* Scales a row to the values before sampling; for heaps, *block is the size of one object. */
static PfsReadStatus
scale(const Java *java, int64_t *count, int64_t *amount, int64_t *block)
{
	const PfsProfile *profile = java->text.profile;

	*block = 0;
	if (java->is_heap)
	{
		if (*count == 0)
			return pfs_line_fail(&java->text.lines, PFS_READ_MALFORMED,
								 "row has bytes but no objects");
		/* the quotient of these two numbers does not fit int64 */
		*block = *count == -1 && *amount == INT64_MIN ? 0 : *amount / *count;
		return pfs_legacy_unsample(&java->text, HEAP_RATE, count, amount);
	}
	/* A period of 0 means that the file has none, so nothing was sampled. */
	if (profile->period != 0 && (__builtin_mul_overflow(*count, profile->period, count) ||
								 __builtin_mul_overflow(*amount, profile->period, amount)))
		return pfs_line_fail(&java->text.lines, PFS_READ_OUT_OF_RANGE, "value is out of range");
	return PFS_READ_OK;
}

static PfsReadStatus
java_read_row(Java *java, int64_t count, int64_t amount, PfsText addresses)
{
	PfsProfile *profile = java->text.profile;
	int64_t block;
	PfsReadStatus status = scale(java, &count, &amount, &block);

	if (status != PFS_READ_OK)
		return status;
	if (pfs_add_sample(profile) == NULL || !pfs_legacy_add_block_size(profile, block))
		return pfs_line_refused(&java->text.lines);
	profile->values[(size_t) (profile->sample_count - 1) * 2] = count;
	profile->values[(size_t) (profile->sample_count - 1) * 2 + 1] = amount;
	/* Java's addresses are not return addresses, so nothing is subtracted. */
	return pfs_legacy_add_stack(&java->text, addresses, PFS_RETURNS_NONE);
}

/*
 * Reads an attribute or a row; *is_other is set for other lines, the first of which begins the
 * names.
 */
static PfsReadStatus
java_read_line(Java *java, PfsText line, bool *is_other)
{
	PfsCursor cursor = line;
	int64_t count;
	int64_t amount;
	PfsReadStatus status;
	uint32_t at = 0;

	while (at < line.length && line.data[at] != '=')
		at++;
	/* After the first row a line with "=" may be a name. */
	if (at < line.length && java->text.profile->sample_count == 0)
		return java_read_attribute(java, pfs_trim(pfs_part(line, 0, at)),
								   pfs_trim(pfs_part(line, at + 1, line.length)));
	status = take_row(&cursor, &count, &amount);
	/* The first line that is no row begins the names. */
	*is_other = status == PFS_READ_MALFORMED;
	if (*is_other)
		return PFS_READ_OK;
	return status == PFS_READ_OK
			   ? java_read_row(java, count, amount, cursor)
			   : pfs_line_fail(&java->text.lines, status, "value is out of range");
}

static PfsReadStatus
java_read_all(Java *java)
{
	PfsLegacyText *text = &java->text;
	PfsReadStatus status = PFS_READ_OK;
	bool is_other = false;
	PfsText line;

	pfs_next_line(&text->lines, &line);
	java->is_heap = pfs_take_words(&line, "--- heapz");
	if (!pfs_legacy_add_type(text->profile, java->is_heap ? "inuse_objects" : "contentions",
							 "count") ||
		!pfs_legacy_add_type(text->profile, java->is_heap ? "inuse_space" : "delay",
							 java->is_heap ? "bytes" : "nanoseconds"))
		return pfs_line_refused(&text->lines);
	while (status == PFS_READ_OK && !is_other && pfs_next_line(&text->lines, &line))
		if (pfs_trim(line).length > 0)
			status = java_read_line(java, line, &is_other);
	/* java_read_line() has already read the first line of the names */
	if (is_other)
		text->lines.at = text->lines.begin;
	return status == PFS_READ_OK ? pfs_java_names_read(text) : status;
}

PfsReadStatus
pfs_java_read(const uint8_t *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	Java java = { .is_heap = false };
	PfsReadStatus status;

	pfs_legacy_begin(&java.text, bytes, length, profile, error);
	status = java_read_all(&java);
	pfs_legacy_end(&java.text);
	return status;
}
