/*
 * lines.c
 *		Reads lines and numbers, and maintains tables of frames.
 */
#include <string.h>

#include "formats/lines.h"

PfsReadStatus
pfs_line_fail(const PfsLineReader *reader, PfsReadStatus status, const char *message)
{
	*reader->error = pfs_error_at(message, reader->begin);
	reader->error->line = pfs_line_number(reader->bytes, reader->begin);
	return status;
}

PfsReadStatus
pfs_line_refused(const PfsLineReader *reader)
{
	reader->error->offset = reader->begin;
	return pfs_budget_status(reader->budget, reader->error);
}

uint64_t
pfs_line_number(const char *bytes, size_t offset)
{
	uint64_t number = 1;

	for (size_t i = 0; i < offset; i++)
		number += bytes[i] == '\n';
	return number;
}

void
pfs_line_skip(const PfsLineReader *reader, PfsSkipped *skipped)
{
	/*
	 * Finding the number of a line scans the file from its begin, so only the first skipped line
	 * gets one.
	 */
	if (skipped->count++ > 0)
		return;
	skipped->first_offset = reader->begin;
	skipped->first_line = pfs_line_number(reader->bytes, reader->begin);
}

size_t
pfs_byte_order_mark(const char *bytes, size_t length)
{
	static const char mark[] = "\xEF\xBB\xBF";

	return length >= strlen(mark) && memcmp(bytes, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
}

void
pfs_skip_byte_order_mark(PfsLineReader *reader)
{
	if (reader->at == 0)
		reader->at = pfs_byte_order_mark(reader->bytes, reader->length);
}

bool
pfs_next_line(PfsLineReader *reader, PfsText *line)
{
	size_t left = reader->length - reader->at;
	const char *begin = reader->bytes + reader->at;
	const char *end;
	size_t length;

	pfs_pause(reader->budget->pause);
	if (left == 0)
		return false;
	end = memchr(begin, '\n', left);
	length = end == NULL ? left : (size_t) (end - begin);
	reader->begin = reader->at;
	/* The last line may lack its end. */
	reader->at += length + (end != NULL);
	if (length > 0 && begin[length - 1] == '\r')
		length--;
	*line = (PfsText){ begin, length > UINT32_MAX ? UINT32_MAX : (uint32_t) length };
	return true;
}

PfsText
pfs_trim(PfsText text)
{
	while (text.length > 0 && pfs_is_blank(text.data[text.length - 1]))
		text.length--;
	while (text.length > 0 && pfs_is_blank(text.data[0]))
	{
		text.data++;
		text.length--;
	}
	return text;
}

PfsText
pfs_cut_word(PfsText *text)
{
	uint32_t end = 0;
	PfsText word;

	*text = pfs_trim(*text);
	while (end < text->length && !pfs_is_blank(text->data[end]))
		end++;
	word = pfs_part(*text, 0, end);
	*text = pfs_part(*text, end, text->length);
	return word;
}

PfsReadStatus
pfs_parse_int64(PfsText text, int64_t *number)
{
	bool negative = text.length > 0 && text.data[0] == '-';
	uint32_t at = negative;

	*number = 0;
	if (at == text.length)
		return PFS_READ_MALFORMED;
	for (; at < text.length; at++)
	{
		int digit = text.data[at] - '0';

		if (!pfs_is_digit(text.data[at]))
			return PFS_READ_MALFORMED;
		if (__builtin_mul_overflow(*number, 10, number) ||
			__builtin_sub_overflow(*number, digit, number))
			return PFS_READ_OUT_OF_RANGE;
	}
	/*
	 * the number is accumulated as a negative one, because negative numbers have the larger range
	 */
	if (!negative && *number == INT64_MIN)
		return PFS_READ_OUT_OF_RANGE;
	*number = negative ? *number : -*number;
	return PFS_READ_OK;
}

void
pfs_frames_init(PfsFrameTable *frames, PfsProfile *profile)
{
	frames->profile = profile;
	pfs_text_index_init(&frames->names, profile->budget);
	pfs_text_index_init(&frames->files, profile->budget);
	pfs_text_index_init(&frames->keys, profile->budget);
}

void
pfs_frames_fini(PfsFrameTable *frames)
{
	pfs_text_index_fini(&frames->names);
	pfs_text_index_fini(&frames->files);
	pfs_text_index_fini(&frames->keys);
}

uint32_t
pfs_frames_function(PfsFrameTable *frames, PfsText name)
{
	PfsProfile *profile = frames->profile;
	uint32_t number = pfs_text_number(&frames->names, name);

	/*
	 * Numbers of texts are given in the order of their appearance, so a new one equals the count.
	 */
	if (number == PFS_NONE || number < profile->function_count)
		return number;
	if (!PFS_GROW(profile->budget, profile->functions, profile->function_count))
		return PFS_NONE;
	profile->functions[profile->function_count++] =
		(PfsProfileFunction){ .name = name, .system_name = name, .filename = { "", 0 } };
	return number;
}

uint32_t
pfs_frames_mapping(PfsFrameTable *frames, PfsText file)
{
	PfsProfile *profile = frames->profile;
	uint32_t number = pfs_text_number(&frames->files, file);

	if (number == PFS_NONE || number < profile->mapping_count)
		return number;
	if (!PFS_GROW(profile->budget, profile->mappings, profile->mapping_count))
		return PFS_NONE;
	profile->mappings[profile->mapping_count++] = (PfsProfileMapping){ { "", 0 }, file };
	return number;
}

uint32_t
pfs_frames_location(PfsFrameTable *frames, PfsText key, bool *is_new)
{
	PfsProfile *profile = frames->profile;
	uint32_t number = pfs_text_number(&frames->keys, key);

	*is_new = number == profile->location_count;
	if (number == PFS_NONE || !*is_new)
		return number;
	if (!PFS_GROW(profile->budget, profile->locations, profile->location_count))
		return PFS_NONE;
	profile->locations[profile->location_count++] =
		/* The lines of the new location begin at the end of the shared array. */
		(PfsProfileLocation){ .mapping = PFS_NONE, .first_line = profile->line_count };
	return number;
}

bool
pfs_add_line(PfsProfile *profile, uint32_t function)
{
	if (!PFS_GROW(profile->budget, profile->lines, profile->line_count))
		return false;
	profile->lines[profile->line_count++] = (PfsProfileLine){ function, 0 };
	profile->locations[profile->location_count - 1].line_count++;
	return true;
}

PfsProfileSample *
pfs_add_sample(PfsProfile *profile)
{
	PfsProfileSample *sample;

	if (!PFS_GROW(profile->budget, profile->samples, profile->sample_count))
		return NULL;
	for (uint32_t i = 0; i < profile->type_count; i++)
	{
		size_t count = (size_t) profile->sample_count * profile->type_count + i;

		if (!PFS_GROW(profile->budget, profile->values, count))
			return NULL;
		/* The reader sets the values that the sample has; the others stay 0. */
		profile->values[count] = 0;
	}
	sample = &profile->samples[profile->sample_count++];
	*sample = (PfsProfileSample){ .first_location = profile->location_index_count,
								  .first_label = profile->label_count };
	return sample;
}

bool
pfs_add_frame(PfsProfile *profile, uint32_t location)
{
	if (!PFS_GROW(profile->budget, profile->location_indexes, profile->location_index_count))
		return false;
	profile->location_indexes[profile->location_index_count++] = location;
	profile->samples[profile->sample_count - 1].location_count++;
	return true;
}
