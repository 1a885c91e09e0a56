/*
 * legacy_text.c
 *		Reads stacks of addresses from text.
 */
#include <math.h>
#include <string.h>

#include "formats/legacy/cursor.h"
#include "formats/legacy/legacy_text.h"
#include "formats/legacy/memory_map.h"

/* Doubles of this magnitude and above do not fit int64. */
#define INT64_LIMIT 9223372036854775808.0

void
pfs_legacy_begin(PfsLegacyText *text, const uint8_t *bytes, size_t length, PfsProfile *profile,
				 PfsReadError *error)
{
	*text = (PfsLegacyText){ .profile = profile,
							 .lines = { .bytes = (const char *) bytes,
										.length = length,
										.budget = profile->budget,
										.error = error },
							 .named = PFS_NONE };
	pfs_addresses_init(&text->addresses, profile);
	pfs_name_lines_init(&text->names, profile);
}

void
pfs_legacy_end(PfsLegacyText *text)
{
	pfs_addresses_fini(&text->addresses);
	pfs_name_lines_fini(&text->names);
}

PfsText
pfs_static_text(const char *text)
{
	return (PfsText){ text, (uint32_t) strlen(text) };
}

bool
pfs_legacy_add_type(PfsProfile *profile, const char *type, const char *unit)
{
	if (!PFS_GROW(profile->budget, profile->types, profile->type_count))
		return false;
	profile->types[profile->type_count++] =
		(PfsValueType){ pfs_static_text(type), pfs_static_text(unit) };
	return true;
}

void
pfs_legacy_set_period(PfsProfile *profile, const char *type, const char *unit, int64_t period)
{
	profile->period_type = (PfsValueType){ pfs_static_text(type), pfs_static_text(unit) };
	profile->period = period;
}

/* --- stacks --- */

PfsReadStatus
pfs_legacy_add_frame(PfsLegacyText *text, uint64_t address)
{
	PfsProfile *profile = text->profile;
	uint32_t location = pfs_address_location(&text->addresses, address);

	if (profile->samples[profile->sample_count - 1].location_count == PFS_PROFILE_MAX_DEPTH)
		return pfs_line_fail(&text->lines, PFS_READ_TOO_LARGE, "stack has too many frames");
	return location != PFS_NONE && pfs_add_frame(profile, location)
			   ? PFS_READ_OK
			   : pfs_line_refused(&text->lines);
}

PfsReadStatus
pfs_legacy_add_stack(PfsLegacyText *text, PfsText addresses, PfsReturns returns)
{
	const PfsProfile *profile = text->profile;
	const PfsProfileSample *sample = &profile->samples[profile->sample_count - 1];
	PfsCursor cursor = addresses;

	/* An address needs more than the two characters "0x". */
	while (cursor.length > 2)
	{
		uint64_t address;
		PfsReadStatus status;
		/* A return address is the one after the call; 1 less lies within the call. */
		bool is_call = returns == PFS_RETURNS_ALL ||
					   (returns == PFS_RETURNS_CALLERS && sample->location_count > 0);

		/* Text between addresses, such as symbols, is skipped byte by byte. */
		if (cursor.data[0] != '0' || cursor.data[1] != 'x')
		{
			cursor = pfs_part(cursor, 1, cursor.length);
			continue;
		}
		cursor = pfs_part(cursor, 2, cursor.length);
		status = pfs_take_hex(&cursor, &address);
		if (status == PFS_READ_MALFORMED)
			continue;
		if (status != PFS_READ_OK)
			return pfs_line_fail(&text->lines, status, "address is out of range");
		status = pfs_legacy_add_frame(text, address - is_call);
		if (status != PFS_READ_OK)
			return status;
	}
	return PFS_READ_OK;
}

void
pfs_legacy_drop_second(PfsProfile *profile,
					   bool (*drops)(const PfsProfile *profile, const uint32_t *locations,
									 const void *context),
					   const void *context)
{
	size_t to = 0;

	if (profile->location_index_count == 0)
		return; /* without samples the array is not allocated */

	/*
	 * The second frame of some samples is removed in place: the index "to" never passes a sample's
	 * frames, which follow each other in the order of samples.
	 */
	for (uint32_t i = 0; i < profile->sample_count; i++)
	{
		PfsProfileSample *sample = &profile->samples[i];
		uint32_t *locations = profile->location_indexes + sample->first_location;
		bool dropped = sample->location_count > 1 && drops(profile, locations, context);

		sample->first_location = to;
		for (uint32_t j = 0; j < sample->location_count; j++)
			if (j != 1 || !dropped)
				profile->location_indexes[to++] = locations[j];
		sample->location_count -= dropped;
	}
	profile->location_index_count = to;
}

static bool
is_double_leaf(const PfsProfile *profile, const uint32_t *locations, const void *context)
{
	/*
	 * Some profilers store the leaf twice: as itself and, as if it were a caller, decreased by 1.
	 */
	return profile->locations[locations[0]].address == profile->locations[locations[1]].address + 1;
}

void
pfs_legacy_drop_double_leafs(PfsProfile *profile)
{
	pfs_legacy_drop_second(profile, is_double_leaf, NULL);
}

/* --- names in comments --- */

bool
pfs_is_comment(PfsText line)
{
	line = pfs_trim(line);
	return line.length == 0 || line.data[0] == '#';
}

/* Removes the line from "file:line"; the file may contain colons. */
static bool
cut_line(PfsText *place, int32_t *line)
{
	uint32_t at = place->length;
	int64_t number;

	/* Reads backwards over the digits to the colon. */
	while (at > 0 && pfs_is_digit(place->data[at - 1]))
		at--;
	if (at == 0 || place->data[at - 1] != ':' ||
		pfs_parse_int64(pfs_part(*place, at, place->length), &number) != PFS_READ_OK ||
		number > INT32_MAX)
		return false;
	place->length = at - 1;
	*line = (int32_t) number;
	return true;
}

/* Removes "+0x12", the offset in the function. */
static PfsText
without_offset(PfsText name)
{
	/* The last "+" begins the offset; names such as "operator+" contain others. */
	for (uint32_t at = name.length; at-- > 0;)
		if (name.data[at] == '+')
			return pfs_part(name, 0, at);
	return name;
}

/* Returns the next field; fields are separated by tabs, because names contain blanks. */
static PfsText
legacy_take_field(PfsCursor *cursor)
{
	PfsText field;

	pfs_skip_blanks(cursor);
	field = (PfsText){ cursor->data, 0 };
	while (field.length < cursor->length && field.data[field.length] != '\t')
		field.length++;
	*cursor = pfs_part(*cursor, field.length, cursor->length);
	return field;
}

PfsReadStatus
pfs_legacy_read_name(PfsLegacyText *text, PfsText line)
{
	PfsCursor cursor = line;
	uint64_t address;
	uint32_t location;
	PfsText name;
	PfsText place;
	int32_t number;

	if (!pfs_take_words(&cursor, "#") || !pfs_take_words(&cursor, "0x") ||
		pfs_take_hex(&cursor, &address) != PFS_READ_OK)
		return PFS_READ_OK;
	name = without_offset(legacy_take_field(&cursor));
	place = pfs_trim(cursor);
	location = pfs_address_find(&text->addresses, address);
	if (location == PFS_NONE || name.length == 0 || !cut_line(&place, &number))
		return PFS_READ_OK;
	/* the location's stack occurred before, and its names were read then */
	if (location != text->named && text->profile->locations[location].line_count > 0)
		return PFS_READ_OK;
	/*
	 * Several lines for one address are inlined functions, leaf first; named is the location whose
	 * lines are being read.
	 */
	text->named = location;
	/* line_count only marks the location as named until pfs_legacy_finish(). */
	text->profile->locations[location].line_count = 1;
	return pfs_name_lines_add(&text->names, location, name, place, number)
			   ? PFS_READ_OK
			   : pfs_line_refused(&text->lines);
}

PfsReadStatus
pfs_legacy_finish(PfsLegacyText *text)
{
	PfsProfile *profile = text->profile;
	PfsReadStatus status;

	/* pfs_name_lines_finish() counts the lines again. */
	for (uint32_t i = 0; i < profile->location_count; i++)
		profile->locations[i].line_count = 0;
	status = pfs_name_lines_finish(&text->names, text->lines.error);
	if (status != PFS_READ_OK)
		return status;
	return pfs_memory_map_read(&text->lines, profile);
}

/* --- values --- */

PfsReadStatus
pfs_legacy_no_row(const PfsLegacyText *text, PfsReadStatus status, const char *message)
{
	return pfs_line_fail(&text->lines, status,
						 status == PFS_READ_OUT_OF_RANGE ? "value is out of range" : message);
}

PfsReadStatus
pfs_legacy_whole(const PfsLegacyText *text, double value, int64_t *result)
{
	/* The negated comparison refuses NaN, too. */
	if (!(value > -INT64_LIMIT && value < INT64_LIMIT))
		return pfs_legacy_no_row(text, PFS_READ_OUT_OF_RANGE, NULL);
	*result = (int64_t) value;
	return PFS_READ_OK;
}

PfsReadStatus
pfs_legacy_unsample(const PfsLegacyText *text, int64_t rate, int64_t *count, int64_t *bytes)
{
	double scale;
	PfsReadStatus status;

	/* A row with only one of both numbers is incomplete. */
	if (*count == 0 || *bytes == 0)
	{
		*count = *bytes = 0;
		return PFS_READ_OK;
	}
	/* A rate of 1 means that every allocation was recorded. */
	if (rate <= 1)
		return PFS_READ_OK;
	/*
	 * An object of the average size is sampled with the probability 1 - exp(-size / rate), so each
	 * sample stands for the reciprocal.
	 */
	scale = 1 / (1 - exp(-((double) *bytes / (double) *count) / (double) rate));
	status = pfs_legacy_whole(text, (double) *count * scale, count);
	return status == PFS_READ_OK ? pfs_legacy_whole(text, (double) *bytes * scale, bytes) : status;
}

bool
pfs_legacy_add_block_size(PfsProfile *profile, int64_t bytes)
{
	/* a size of 0 is left out, as protobuf leaves out zeros */
	if (bytes == 0)
		return true;
	if (!PFS_GROW(profile->budget, profile->labels, profile->label_count))
		return false;
	profile->labels[profile->label_count++] = (PfsProfileLabel){
		.key = pfs_static_text("bytes"), .text = { "", 0 }, .number = bytes, .numeric = true
	};
	profile->samples[profile->sample_count - 1].label_count++;
	return true;
}
