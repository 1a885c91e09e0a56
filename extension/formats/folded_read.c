/*
 * folded_read.c
 *		Folded stacks: "main;work;memcpy 42".
 *
 * As flamegraph.pl has it: what follows the last blank of a line is the value, the names before it
 * may hold blanks. The marks that its helpers put behind names go: _[k] (kernel), _[i] (inlined),
 * _[j] (compiled at run time), _[w] (waker). Lines without anything but blanks are left out, and
 * so are those that begin with "#" and end in no number.
 */
#include <string.h>

#include "formats/lines.h"

/* What folded() calls a stack without frames. */
#define EMPTY_STACK "[empty stack]"

#define MARK_LENGTH 4

typedef struct Reader
{
	PfsProfile *profile;
	PfsFrameTable frames;
	PfsLineReader lines;
} Reader;

/* The letter of a name's mark, which is cut off; '\0' where it has none. */
static char
cut_mark(PfsText *name)
{
	const char *mark = name->data + name->length - MARK_LENGTH;

	if (name->length <= MARK_LENGTH || mark[0] != '_' || mark[1] != '[' || mark[3] != ']' ||
		strchr("kijw", mark[2]) == NULL || mark[2] == '\0')
		return '\0';
	name->length -= MARK_LENGTH;
	return mark[2];
}

static PfsReadStatus
add_name(Reader *reader, PfsText name)
{
	static const PfsText kernel = { PFS_KERNEL_FILE, sizeof(PFS_KERNEL_FILE) - 1 };
	PfsProfile *profile = reader->profile;
	bool is_new;
	uint32_t location = pfs_frames_location(&reader->frames, name, &is_new);

	if (location == PFS_NONE)
		return pfs_line_refused(&reader->lines);
	if (is_new)
	{
		char mark = cut_mark(&name);
		uint32_t function = pfs_frames_function(&reader->frames, name);

		if (function == PFS_NONE || !pfs_add_line(profile, function))
			return pfs_line_refused(&reader->lines);
		if (mark == 'k')
		{
			uint32_t mapping = pfs_frames_mapping(&reader->frames, kernel);

			if (mapping == PFS_NONE)
				return pfs_line_refused(&reader->lines);
			profile->locations[location].mapping = mapping;
		}
	}
	return pfs_add_frame(profile, location) ? PFS_READ_OK : pfs_line_refused(&reader->lines);
}

/* Frames from the leaf, which is the last, to the root. */
static PfsReadStatus
read_stack(Reader *reader, PfsText stack)
{
	uint32_t end = stack.length;
	uint32_t depth = 0;

	if (stack.length == 0 || pfs_text_equals(stack, EMPTY_STACK))
		return PFS_READ_OK;
	for (;;)
	{
		uint32_t begin = end;
		PfsReadStatus status = PFS_READ_OK;

		while (begin > 0 && stack.data[begin - 1] != ';')
			begin--;
		if (begin < end)
			status = add_name(reader, pfs_part(stack, begin, end));
		if (status != PFS_READ_OK)
			return status;
		if (begin == 0)
			return PFS_READ_OK;
		end = begin - 1;
		if (++depth == PFS_PROFILE_MAX_DEPTH)
			return pfs_line_fail(&reader->lines, PFS_READ_TOO_LARGE, "stack has too many frames");
	}
}

static PfsReadStatus
read_line(Reader *reader, PfsText line)
{
	PfsReadStatus status;
	uint32_t blank;
	int64_t value;

	line = pfs_trim(line);
	if (line.length == 0)
		return PFS_READ_OK;
	for (blank = line.length; blank > 0 && !pfs_is_blank(line.data[blank - 1]);)
		blank--;
	status = pfs_parse_int64(pfs_part(line, blank, line.length), &value);
	if (status == PFS_READ_OUT_OF_RANGE)
		return pfs_line_fail(&reader->lines, status, "value is out of range");
	if (status != PFS_READ_OK)
		return line.data[0] == '#' ? PFS_READ_OK
								   : pfs_line_fail(&reader->lines, PFS_READ_MALFORMED,
												   "line does not end in a whole number");
	if (pfs_add_sample(reader->profile) == NULL)
		return pfs_line_refused(&reader->lines);
	reader->profile->values[reader->profile->sample_count - 1] = value;
	return read_stack(reader, pfs_trim(pfs_part(line, 0, blank)));
}

PfsReadStatus
pfs_folded_read(const char *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	Reader reader = {
		.profile = profile,
		.lines = { .bytes = bytes, .length = length, .budget = profile->budget, .error = error }
	};
	PfsReadStatus status = PFS_READ_OK;
	PfsText line;

	if (!PFS_GROW(profile->budget, profile->types, profile->type_count))
		return pfs_line_refused(&reader.lines);
	profile->types[profile->type_count++] = (PfsValueType){ { "", 0 }, { "", 0 } };
	pfs_frames_init(&reader.frames, profile);
	while (status == PFS_READ_OK && pfs_next_line(&reader.lines, &line))
		status = read_line(&reader, line);
	if (status == PFS_READ_OK && profile->sample_count == 0)
		status = pfs_line_fail(&reader.lines, PFS_READ_MALFORMED, "there is no stack");
	pfs_frames_fini(&reader.frames);
	return status;
}
