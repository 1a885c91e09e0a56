/*
 * folded_read.c
 *		Folded stacks: "main;work;memcpy 42".
 *
 * The format is flamegraph.pl's: the value follows the last blank of a line, and names may contain
 * blanks. Marks that its helper scripts append to names are removed: _[k] (kernel), _[i] (inlined),
 * _[j] (compiled at run time), _[w] (waker). Blank lines are skipped, as are lines that begin with
 * "#" and do not end in a number, or are Austin's metadata: "# mode: wall".
 *
 * Fractions, lists of values (austin --full), and two values on every line (difffolded.pl) are
 * refused with a specific message.
 */
#include <string.h>

#include "formats/lines.h"

/* folded() writes this for a stack without frames. */
#define EMPTY_STACK "[empty stack]"

#define MARK_LENGTH 4

typedef struct Reader
{
	PfsProfile *profile;
	PfsFrameTable frames;
	PfsLineReader lines;
	PfsTextIndex compared; /* the lines so far without their two numbers, if may_compare is true */
	bool may_compare;	   /* all lines so far end in two numbers */
} Reader;

/* Removes a name's mark and returns its letter; '\0' if the name has none. */
static char
cut_mark(PfsText *name)
{
	const char *mark = name->data + name->length - MARK_LENGTH;

	/*
	 * A name has at least one character before its mark, which is "_[k]" with the letter of the
	 * kind.
	 */
	if (name->length <= MARK_LENGTH || mark[0] != '_' || mark[1] != '[' || mark[3] != ']' ||
		strchr("kijw", mark[2]) == NULL || mark[2] == '\0')
		return '\0';
	name->length -= MARK_LENGTH;
	return mark[2];
}

/*
 * Adds a frame by its name. The mark stays in the key, so that kernel functions differ from others
 * of the same name.
 */
static PfsReadStatus
folded_add_name(Reader *reader, PfsText name)
{
	static const PfsText kernel = { PFS_KERNEL_FILE, sizeof(PFS_KERNEL_FILE) - 1 };
	PfsProfile *profile = reader->profile;
	bool is_new;
	uint32_t location = pfs_frames_location(&reader->frames, name, &is_new);

	if (location == PFS_NONE)
		return pfs_line_refused(&reader->lines);
	if (is_new)
	{
		/* The key keeps the mark, the function's name does not. */
		char mark = cut_mark(&name);
		uint32_t function = pfs_frames_function(&reader->frames, name);

		if (function == PFS_NONE || !pfs_add_line(profile, function))
			return pfs_line_refused(&reader->lines);
		/* Functions of the kernel belong to the kernel's mapping; other marks are dropped. */
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

/* Reads frames from the leaf, which is last, to the root. */
static PfsReadStatus
folded_read_stack(Reader *reader, PfsText stack)
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
		/* Empty names, as in "a;;b", are no frames. */
		if (begin < end)
			status = folded_add_name(reader, pfs_part(stack, begin, end));
		if (status != PFS_READ_OK)
			return status;
		if (begin == 0)
			return PFS_READ_OK;
		end = begin - 1;
		/* Empty names count, too, so the work per line is limited. */
		if (++depth == PFS_PROFILE_MAX_DEPTH)
			return pfs_line_fail(&reader->lines, PFS_READ_TOO_LARGE, "stack has too many frames");
	}
}

/*
 * Returns true for "# mode: wall", which Austin writes; such a line is not a stack, even if it ends
 * in a number.
 */
static bool
is_metadata(PfsText line)
{
	uint32_t at = 2;

	if (line.length < 4 || line.data[0] != '#' || line.data[1] != ' ')
		return false;
	/* The word after "# " must end in a colon without a semicolon before it. */
	while (at < line.length && !pfs_is_blank(line.data[at]) && line.data[at] != ':' &&
		   line.data[at] != ';')
		at++;
	return at > 2 && at + 1 < line.length && line.data[at] == ':' &&
		   pfs_is_blank(line.data[at + 1]);
}

/* Reports why the last word of a line is not a value. */
static PfsReadStatus
fail_value(const Reader *reader, PfsText word)
{
	bool has_digit = false;
	bool has_point = false;
	bool has_comma = false;
	bool has_other = false;
	PfsReadStatus status = PFS_READ_MALFORMED;

	for (uint32_t i = 0; i < word.length; i++)
	{
		/* The word decides which message helps: no number at all, a list, or a fraction. */
		has_digit = has_digit || pfs_is_digit(word.data[i]);
		has_point = has_point || word.data[i] == '.';
		has_comma = has_comma || word.data[i] == ',';
		has_other =
			has_other || (!pfs_is_digit(word.data[i]) && strchr(".,-+e", word.data[i]) == NULL);
	}
	if (!has_digit || has_other || (!has_point && !has_comma))
		return pfs_line_fail(&reader->lines, status, "line does not end in a whole number");
	if (has_comma)
	{
		pfs_line_fail(&reader->lines, status, "line ends in several values");
		reader->lines.error->hint =
			"Keep one of them. With Austin, record only one mode at a time.";
		return status;
	}
	pfs_line_fail(&reader->lines, status, "value is a fraction, whole numbers are needed");
	reader->lines.error->hint =
		"Write the values in a smaller unit, such as microseconds for seconds.";
	return status;
}

/*
 * Notes a line that ends in two numbers. The file counts as a comparison only if each line does so,
 * with different stacks before the numbers; otherwise the first number is the end of a name.
 * Returns false if out of memory.
 */
static bool
note_second_value(Reader *reader, PfsText stack)
{
	uint32_t begin = stack.length;
	uint32_t before = reader->compared.count;
	int64_t number;

	/* Reads the word before the value backwards. */
	while (begin > 0 && !pfs_is_blank(stack.data[begin - 1]) && stack.data[begin - 1] != ';')
		begin--;
	reader->may_compare =
		begin > 0 && pfs_is_blank(stack.data[begin - 1]) &&
		pfs_parse_int64(pfs_part(stack, begin, stack.length), &number) == PFS_READ_OK;
	if (!reader->may_compare)
		return true;
	if (pfs_text_number(&reader->compared, pfs_trim(pfs_part(stack, 0, begin))) == PFS_NONE)
		return false;
	/*
	 * Equal stacks in two lines show that the file is no comparison, because difffolded.pl writes
	 * each stack once.
	 */
	reader->may_compare = reader->compared.count > before;
	return true;
}

/* Reads a line: the stack, a blank and the value. */
static PfsReadStatus
folded_read_line(Reader *reader, PfsText line)
{
	PfsReadStatus status;
	PfsText stack;
	uint32_t blank;
	int64_t value;

	line = pfs_trim(line);
	if (line.length == 0 || is_metadata(line))
		return PFS_READ_OK;
	/* The value is the last word; names may contain blanks. */
	for (blank = line.length; blank > 0 && !pfs_is_blank(line.data[blank - 1]);)
		blank--;
	status = pfs_parse_int64(pfs_part(line, blank, line.length), &value);
	if (status == PFS_READ_OUT_OF_RANGE)
		return pfs_line_fail(&reader->lines, status, "value is out of range");
	/* A comment that does not end in a number is no stack. */
	if (status != PFS_READ_OK)
		return line.data[0] == '#' ? PFS_READ_OK
								   : fail_value(reader, pfs_part(line, blank, line.length));
	/* The sample is added before its frames, which pfs_add_frame() adds to the last sample. */
	if (pfs_add_sample(reader->profile) == NULL)
		return pfs_line_refused(&reader->lines);
	reader->profile->values[reader->profile->sample_count - 1] = value;
	stack = pfs_trim(pfs_part(line, 0, blank));
	/* may_compare turns false at the first line that excludes a comparison. */
	if (reader->may_compare && !note_second_value(reader, stack))
		return pfs_line_refused(&reader->lines);
	return folded_read_stack(reader, stack);
}

/* Checks the conditions that can be tested only after the last line. */
static PfsReadStatus
check_lines(Reader *reader)
{
	uint32_t count = reader->profile->sample_count;

	if (count == 0)
		return pfs_line_fail(&reader->lines, PFS_READ_MALFORMED, "file contains no stack");
	/* A single line "f 1 2" is rather a name that ends in a number. */
	if (count == 1 || !reader->may_compare)
		return PFS_READ_OK;
	pfs_line_fail(&reader->lines, PFS_READ_MALFORMED, "all lines end in two values");
	reader->lines.error->hint =
		"A comparison, as difffolded.pl writes it, is no profile: import its two sides.";
	return PFS_READ_MALFORMED;
}

PfsReadStatus
pfs_folded_read(const char *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	Reader reader = {
		.profile = profile,
		.may_compare = true,
		.lines = { .bytes = bytes, .length = length, .budget = profile->budget, .error = error }
	};
	PfsReadStatus status = PFS_READ_OK;
	PfsText line;

	if (!PFS_GROW(profile->budget, profile->types, profile->type_count))
		return pfs_line_refused(&reader.lines);
	/* The file does not name the type of its values. */
	profile->types[profile->type_count++] = (PfsValueType){ { "", 0 }, { "", 0 } };
	pfs_frames_init(&reader.frames, profile);
	pfs_text_index_init(&reader.compared, profile->budget);
	pfs_skip_byte_order_mark(&reader.lines);
	while (status == PFS_READ_OK && pfs_next_line(&reader.lines, &line))
		status = folded_read_line(&reader, line);
	if (status == PFS_READ_OK)
		status = check_lines(&reader);
	pfs_text_index_fini(&reader.compared);
	pfs_frames_fini(&reader.frames);
	return status;
}
