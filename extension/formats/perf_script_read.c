/*
 * perf_script_read.c
 *		Reads the output of "perf script": a line for each event (perf_event.h), and a line for
 *		each of its frames, leaf first.
 *
 *   java 24636/24640 [003]  1794.123456:   10101010 cpu-clock:u:
 *           7f2a3c012a40 inner (inlined)
 *           7f2a3c012a40 outer(int, char*)+0x20 (/usr/lib/libx.so)
 *       ffffffff81a00c6a do_syscall_64+0x5a ([kernel.kallsyms])
 *
 * 1. The first pass finds out whether events have a time or a process. If they do, a line without
 *    both is no event but, for example, a warning that ends in a word and a colon. The second pass
 *    makes a sample type of each event.
 * 2. The last pass reads events and frames. The value is the event's period, or 1 without one.
 * 3. A symbol identifies a frame, regardless of its load address; a frame without a symbol is
 *    identified by its address.
 *
 * If a recording has no stacks, the event's line contains its only frame. Comments, source lines of
 * frames, and records of the kernel's actions are skipped. Other lines that are not understood are
 * skipped and counted.
 */
#include <string.h>

#include "formats/lines.h"
#include "formats/perf_event.h"

typedef struct Reader
{
	PfsProfile *profile;
	PfsFrameTable frames;
	PfsTextIndex events;
	PfsLineReader lines;
	int64_t first_time_ns;
	bool has_first_time;
	bool has_times;		/* an event has a time */
	bool has_processes; /* an event has a process */
	bool in_event;
	bool in_record;	 /* following lines belong to a record of the kernel's actions */
	PfsText inlined; /* lines of functions inlined into the next frame, leaf first */
} Reader;

/* Parses an event. Frames begin with a tab; an event's name may have blanks before it. */
static bool
parse_event(const Reader *reader, PfsText line, PfsEventLine *event)
{
	/*
	 * Once an event had a time or a process, a line without both is not an event: a stack may
	 * contain words that look like one.
	 */
	return line.length > 0 && line.data[0] != '\t' && pfs_event_parse(line, event) &&
		   (event->is_record || event->has_time || event->has_pid ||
			(!reader->has_times && !reader->has_processes));
}

/* First pass: finds out which fields events have; stops at an event with a time. */
static void
find_fields(Reader *reader)
{
	PfsText line;

	pfs_skip_byte_order_mark(&reader->lines);
	/* An event with a time ends the search, because parse_event() then demands one. */
	while (!reader->has_times && pfs_next_line(&reader->lines, &line))
	{
		PfsEventLine event;

		/* Records of the kernel's actions may have fields that events lack. */
		if (!parse_event(reader, line, &event) || event.is_record)
			continue;
		reader->has_times = event.has_time;
		reader->has_processes = reader->has_processes || event.has_pid;
	}
	reader->lines.at = 0;
}

/* Second pass: makes sample types of events. */
static PfsReadStatus
find_events(Reader *reader)
{
	PfsProfile *profile = reader->profile;
	PfsText line;

	find_fields(reader);
	pfs_skip_byte_order_mark(&reader->lines);
	/* The first pass may have stopped anywhere; the second begins at the file's start. */
	while (pfs_next_line(&reader->lines, &line))
	{
		PfsEventLine event;
		uint32_t number;

		if (!parse_event(reader, line, &event) || event.is_record)
			continue;
		number = pfs_text_number(&reader->events, event.event);
		if (number == PFS_NONE)
			return pfs_line_refused(&reader->lines);
		/* The number of a known event is the index of its type. */
		if (number < profile->type_count)
			continue;
		if (number == PFS_PROFILE_MAX_SAMPLE_TYPES)
			return pfs_line_fail(&reader->lines, PFS_READ_TOO_LARGE, "too many events");
		if (!PFS_GROW(profile->budget, profile->types, profile->type_count))
			return pfs_line_refused(&reader->lines);
		profile->types[profile->type_count++] =
			/* A clock's period is its time in nanoseconds; without a period each event counts 1. */
			(PfsValueType){ event.event, pfs_event_is_clock(event.event) && event.has_period
											 ? (PfsText){ "nanoseconds", strlen("nanoseconds") }
											 : (PfsText){ "count", strlen("count") } };
	}
	return profile->type_count > 0
			   ? PFS_READ_OK
			   : pfs_line_fail(&reader->lines, PFS_READ_MALFORMED, "file contains no event");
}

/* --- the last pass --- */

static bool
perf_script_add_label(PfsProfile *profile, const char *key, PfsText text, int64_t number,
					  bool numeric)
{
	if (!PFS_GROW(profile->budget, profile->labels, profile->label_count))
		return false;
	profile->labels[profile->label_count++] =
		(PfsProfileLabel){ { key, (uint32_t) strlen(key) }, text, number, numeric };
	profile->samples[profile->sample_count - 1].label_count++;
	return true;
}

/*
 * Adds the sample of an event with its value, time and labels. Times are relative to the first
 * event's.
 */
static PfsReadStatus
begin_sample(Reader *reader, const PfsEventLine *event)
{
	static const PfsText no_unit = { "", 0 };
	PfsProfile *profile = reader->profile;
	/* find_events() has numbered all events, so no new type appears here. */
	uint32_t type = pfs_text_number(&reader->events, event->event);
	PfsProfileSample *sample = type == PFS_NONE ? NULL : pfs_add_sample(profile);

	if (sample == NULL)
		return pfs_line_refused(&reader->lines);
	/* A sample has a value only for the event that caused it. */
	profile->values[(size_t) (profile->sample_count - 1) * profile->type_count + type] =
		event->has_period ? event->period : 1;
	if (event->has_time && !reader->has_first_time)
	{
		reader->has_first_time = true;
		reader->first_time_ns = event->time_ns;
	}
	if (event->has_time)
		sample->time_offset_ns = event->time_ns - reader->first_time_ns;
	if (!perf_script_add_label(profile, "comm", event->comm, 0, false) ||
		(event->has_pid && (!perf_script_add_label(profile, "pid", no_unit, event->pid, true) ||
							!perf_script_add_label(profile, "tid", no_unit, event->tid, true))) ||
		(event->has_cpu && !perf_script_add_label(profile, "cpu", no_unit, event->cpu, true)))
		return pfs_line_refused(&reader->lines);
	return PFS_READ_OK;
}

/*
 * Removes the file in parentheses from the end; they may be nested, as in "(/tmp/x (deleted))". It
 * must follow a blank, otherwise the parentheses contain a function's arguments.
 */
static bool
cut_file(PfsText *frame, PfsText *file)
{
	uint32_t depth = 0;

	if (frame->length == 0 || frame->data[frame->length - 1] != ')')
		return false;
	for (uint32_t i = frame->length; i-- > 0;)
	{
		/* Reads backwards, so that the outermost pair of parentheses at the end is found. */
		depth += frame->data[i] == ')';
		depth -= frame->data[i] == '(';
		if (depth == 0)
		{
			/* "operator()(int)" or "f(int)": arguments follow the name without a blank. */
			if (i > 0 && !pfs_is_blank(frame->data[i - 1]))
				return false;
			*file = pfs_part(*frame, i + 1, frame->length - 1);
			*frame = pfs_trim(pfs_part(*frame, 0, i));
			return true;
		}
	}
	return false;
}

/* Removes the address from the beginning. */
static bool
cut_address(PfsText *frame, uint64_t *address)
{
	uint32_t length = 0;

	*address = 0;
	for (; length < frame->length && !pfs_is_blank(frame->data[length]); length++)
	{
		char c = frame->data[length];
		unsigned digit = pfs_is_digit(c)		? (unsigned) (c - '0')
						 : c >= 'a' && c <= 'f' ? (unsigned) (c - 'a') + 10
												: 16;

		/* Addresses have at most 16 hexadecimal digits, so a longer word is no address. */
		if (digit == 16 || length == 16)
			return false;
		*address = *address << 4 | digit;
	}
	if (length == 0)
		return false;
	*frame = pfs_trim(pfs_part(*frame, length, frame->length));
	return true;
}

/* Returns the symbol without its offset, such as "+0x20"; empty if the symbol is unknown. */
static PfsText
symbol_name(PfsText symbol)
{
	uint32_t at = symbol.length;

	if (pfs_text_equals(symbol, "[unknown]"))
		return (PfsText){ "", 0 };
	/* Reads "+0x1a" backwards: digits, then the three characters before them. */
	while (at > 0 && (pfs_is_digit(symbol.data[at - 1]) ||
					  (symbol.data[at - 1] >= 'a' && symbol.data[at - 1] <= 'f')))
		at--;
	if (at > 3 && at < symbol.length && memcmp(symbol.data + at - 3, "+0x", 3) == 0)
		symbol.length = at - 3;
	return symbol;
}

/* Splits a frame's line into address, symbol, and file, which is empty if it is not printed. */
static bool
parse_frame(PfsText line, PfsText *symbol, PfsText *file, uint64_t *address)
{
	*symbol = pfs_trim(line);
	*file = (PfsText){ "", 0 };
	if (!cut_address(symbol, address))
		return false;
	/* The file is optional, so the result does not matter. */
	cut_file(symbol, file);
	return true;
}

/* Adds the names of inlined functions, leaf first, as lines of the next frame's location. */
static bool
add_inlined(Reader *reader)
{
	PfsLineReader lines = { .bytes = reader->inlined.data,
							.length = reader->inlined.length,
							.budget = reader->lines.budget };
	PfsText line;

	/*
	 * Lines of inlined functions are adjacent in the file, because each was a frame of this stack.
	 */
	while (lines.length > 0 && pfs_next_line(&lines, &line))
	{
		PfsText frame;
		PfsText file;
		uint64_t address;
		uint32_t function;

		if (!parse_frame(line, &frame, &file, &address))
			continue;
		/* An inlined function that is unknown gets a line with an empty name. */
		function = pfs_frames_function(&reader->frames, symbol_name(frame));
		if (function == PFS_NONE || !pfs_add_line(reader->profile, function))
			return false;
	}
	return true;
}

/*
 * Adds the location of a frame. Its key is the text of its line together with the lines of inlined
 * functions before it, which are contiguous. So each address within a symbol has a location of its
 * own; interning merges locations that differ only in the address.
 */
static PfsReadStatus
add_location(Reader *reader, PfsText key, uint64_t address, PfsText symbol, PfsText file)
{
	PfsProfile *profile = reader->profile;
	bool is_new;
	/* The whole text of the line is the key, so equal lines are parsed only once. */
	uint32_t location = pfs_frames_location(&reader->frames, key, &is_new);

	if (location == PFS_NONE)
		return pfs_line_refused(&reader->lines);
	if (is_new)
	{
		PfsText name = symbol_name(symbol);
		uint32_t mapping = file.length == 0 ? PFS_NONE : pfs_frames_mapping(&reader->frames, file);

		/* The inlined functions come first: lines of a location are ordered from the leaf. */
		if ((mapping == PFS_NONE && file.length > 0) || !add_inlined(reader))
			return pfs_line_refused(&reader->lines);
		/* Lines of the location must be contiguous, so nothing adds a location between them. */
		profile->locations[location].mapping = mapping;
		if (name.length > 0)
		{
			uint32_t function = pfs_frames_function(&reader->frames, name);

			if (function == PFS_NONE || !pfs_add_line(profile, function))
				return pfs_line_refused(&reader->lines);
		}
		/* Without a symbol the address identifies the location. */
		if (profile->locations[location].line_count == 0)
			profile->locations[location].address = address;
		else if (profile->locations[location].line_count > PFS_PROFILE_MAX_LINES)
			return pfs_line_fail(&reader->lines, PFS_READ_TOO_LARGE,
								 "frame has too many inlined functions");
	}
	if (profile->samples[profile->sample_count - 1].location_count == PFS_PROFILE_MAX_DEPTH)
		return pfs_line_fail(&reader->lines, PFS_READ_TOO_LARGE, "stack has too many frames");
	return pfs_add_frame(profile, location) ? PFS_READ_OK : pfs_line_refused(&reader->lines);
}

/* Returns true for a source position such as "  server.c:12", which is printed below a frame. */
static bool
is_source_line(PfsText line)
{
	uint32_t at;

	line = pfs_trim(line);
	at = line.length;
	while (at > 0 && pfs_is_digit(line.data[at - 1]))
		at--;
	return at > 1 && at < line.length && line.data[at - 1] == ':';
}

/*
 * Reads a frame. Lines of inlined functions are collected and become part of the key of the next
 * location.
 */
static PfsReadStatus
perf_script_read_frame(Reader *reader, PfsText line)
{
	PfsText frame;
	PfsText file;
	PfsText key;
	uint64_t address;
	PfsReadStatus status;

	if (!reader->in_event || !parse_frame(line, &frame, &file, &address))
	{
		/* A source position below a frame is expected, so it is not counted as skipped. */
		if (!reader->in_event || !is_source_line(line))
			pfs_line_skip(&reader->lines, &reader->profile->skipped);
		return PFS_READ_OK;
	}
	if (reader->inlined.data == NULL)
		reader->inlined = (PfsText){ line.data, 0 };
	if (pfs_text_equals(file, "inlined"))
	{
		/* The text of all inlined lines reaches from the first one to the end of this one. */
		reader->inlined.length = (uint32_t) (line.data + line.length - reader->inlined.data);
		return PFS_READ_OK;
	}
	key = reader->inlined;
	/* The key reaches from the first inlined line to the end of the frame's own line. */
	key.length = (uint32_t) (line.data + line.length - key.data);
	status = add_location(reader, key, address, frame, file);
	/* The following frame has inlined functions of its own. */
	reader->inlined = (PfsText){ NULL, 0 };
	return status;
}

static PfsReadStatus
perf_script_read_event(Reader *reader, const PfsEventLine *event)
{
	PfsText symbol;
	PfsText file;
	uint64_t address;
	PfsReadStatus status;

	/* An event ends the stack before it, even without a blank line. */
	reader->inlined = (PfsText){ NULL, 0 };
	reader->in_record = event->is_record;
	reader->in_event = !event->is_record;
	if (event->is_record)
		return PFS_READ_OK;
	/* The sample exists before its frames, which are added to the last sample. */
	status = begin_sample(reader, event);
	/* a tracepoint's name is followed by its arguments, not by a location */
	if (status != PFS_READ_OK || pfs_event_is_traced(event->event) ||
		!parse_frame(event->rest, &symbol, &file, &address))
		return status;
	return add_location(reader, event->rest, address, symbol, file);
}

/* Handles a line by its form: an event, a comment, the blank line at an event's end, or a frame. */
static PfsReadStatus
perf_script_read_line(Reader *reader, PfsText line)
{
	PfsEventLine event;

	/* Events are tested first, because the name of a thread may begin with #. */
	if (parse_event(reader, line, &event))
		return perf_script_read_event(reader, &event);
	if (line.length > 0 && line.data[0] == '#')
		return PFS_READ_OK;
	if (pfs_trim(line).length == 0)
	{
		reader->in_event = false;
		reader->in_record = false;
		return PFS_READ_OK;
	}
	/* Lines after a record describe it, for example the mappings of a process. */
	if (reader->in_record)
		return PFS_READ_OK;
	/* Only frames are indented. */
	if (pfs_is_blank(line.data[0]))
		return perf_script_read_frame(reader, line);
	pfs_line_skip(&reader->lines, &reader->profile->skipped);
	return PFS_READ_OK;
}

PfsReadStatus
pfs_perf_script_read(const char *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	Reader reader = {
		.profile = profile,
		.lines = { .bytes = bytes, .length = length, .budget = profile->budget, .error = error }
	};
	PfsReadStatus status;
	PfsText line;

	pfs_text_index_init(&reader.events, profile->budget);
	pfs_frames_init(&reader.frames, profile);
	/* a key may span several lines, and lengths have 32 bits */
	status = length > UINT32_MAX
				 ? pfs_line_fail(&reader.lines, PFS_READ_TOO_LARGE, "profile is too large")
				 : find_events(&reader);
	/* The last pass begins at the file's start again. */
	reader.lines.at = 0;
	pfs_skip_byte_order_mark(&reader.lines);
	while (status == PFS_READ_OK && pfs_next_line(&reader.lines, &line))
		status = perf_script_read_line(&reader, line);
	pfs_frames_fini(&reader.frames);
	pfs_text_index_fini(&reader.events);
	return status;
}
