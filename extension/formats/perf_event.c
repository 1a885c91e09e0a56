/*
 * perf_event.c
 *		Parses the line of an event. The name of a thread may be empty, or contain blanks and
 *		numbers, so its end is found by the fields that follow: it is the first position at which
 *		ids, time and event stand one after the other.
 */
#include <string.h>

#include "formats/perf_event.h"

/* Events of CPU clocks, whose values are nanoseconds. */
static const char *const clocks[] = { "cpu-clock", "task-clock" };

/* Letters of the modifiers after an event's name and a colon. */
#define EVENT_MODIFIERS "ukhGHpPSDWeIb"

/* Groups of events whose own names may be a single letter. */
static const char *const probe_groups[] = { "probe", "sdt_" };

/* An address has at least this many digits, because a shorter word may be no number. */
#define ADDRESS_DIGITS_MIN 5

/*
 * Limit of the words that are tried as the start of the fields. Names of threads have fewer words,
 * because the kernel limits their length.
 */
#define COMM_WORDS_MAX 64
#define COMM_BYTES_MAX 4096

#define RECORD_PREFIX "PERF_RECORD_"

#define NS_PER_SECOND INT64_C(1000000000)

/* Limit of the seconds of a time, so that differences of times in nanoseconds fit int64. */
#define SECONDS_MAX (INT64_MAX / NS_PER_SECOND / 4)

static bool
text_begins_with(PfsText text, const char *prefix)
{
	return text.length >= strlen(prefix) && memcmp(text.data, prefix, strlen(prefix)) == 0;
}

static bool
ends_with(PfsText text, char c)
{
	return text.length > 0 && text.data[text.length - 1] == c;
}

/* Parses "1794.123456:". */
static bool
event_parse_time(PfsText word, int64_t *time_ns)
{
	uint32_t dot = 0;
	int64_t seconds;
	int64_t fraction = 0;
	int64_t unit = NS_PER_SECOND;

	/* A colon ends the time; without it the word is a number of another field. */
	if (!ends_with(word, ':'))
		return false;
	word.length--;
	while (dot < word.length && word.data[dot] != '.')
		dot++;
	if (dot == word.length || dot == 0 || !pfs_is_digit(word.data[0]) ||
		pfs_parse_int64(pfs_part(word, 0, dot), &seconds) != PFS_READ_OK || seconds > SECONDS_MAX)
		return false;
	for (uint32_t i = dot + 1; i < word.length; i++)
	{
		if (!pfs_is_digit(word.data[i]))
			return false;
		/* Digits beyond nanoseconds add nothing, because unit becomes 0. */
		unit /= 10;
		fraction += (word.data[i] - '0') * unit;
	}
	*time_ns = seconds * NS_PER_SECOND + fraction;
	return true;
}

/* Parses "[003]". */
static bool
parse_cpu(PfsText word, int64_t *cpu)
{
	return word.length > 2 && word.data[0] == '[' && ends_with(word, ']') &&
		   pfs_is_digit(word.data[1]) &&
		   pfs_parse_int64(pfs_part(word, 1, word.length - 1), cpu) == PFS_READ_OK;
}

/* Parses "24636/24640" or "24636". */
static bool
parse_ids(PfsText word, PfsEventLine *event)
{
	uint32_t slash = 0;

	while (slash < word.length && word.data[slash] != '/')
		slash++;
	event->has_pid =
		pfs_parse_int64(pfs_part(word, 0, slash), &event->pid) == PFS_READ_OK &&
		/* Only one id is printed if threads are not shown. */
		(slash == word.length ||
		 pfs_parse_int64(pfs_part(word, slash + 1, word.length), &event->tid) == PFS_READ_OK);
	if (slash == word.length)
		event->tid = event->pid;
	return event->has_pid;
}

static bool
is_probe(PfsText group)
{
	for (size_t i = 0; i < sizeof(probe_groups) / sizeof(probe_groups[0]); i++)
		if (text_begins_with(group, probe_groups[i]))
			return true;
	return false;
}

/*
 * Returns the event's name without modifiers: "cycles" of "cycles:u"; but "sched:sched_switch" and
 * "probe_srv:u" are complete names.
 */
static PfsText
event_name(PfsText word)
{
	uint32_t colon = word.length;
	bool modifiers = true;

	/* The last colon separates modifiers. */
	while (colon > 0 && word.data[colon - 1] != ':')
		colon--;
	for (uint32_t i = colon; i < word.length; i++)
		modifiers = modifiers && strchr(EVENT_MODIFIERS, word.data[i]) != NULL;
	/* a probe's own name follows the first colon, modifiers the second one */
	if (colon <= 1 || !modifiers ||
		(is_probe(word) && !pfs_event_is_traced(pfs_part(word, 0, colon - 1))))
		return word;
	return pfs_part(word, 0, colon - 1);
}

static bool
begins_with_address(PfsText text)
{
	PfsText word = pfs_cut_word(&text);

	for (uint32_t i = 0; i < word.length; i++)
		if (!pfs_is_digit(word.data[i]) && (word.data[i] < 'a' || word.data[i] > 'f'))
			return false;
	return word.length >= ADDRESS_DIGITS_MIN;
}

/* The field that a line must have before the event's name. */
typedef enum Anchor
{
	ANCHOR_TIME,
	ANCHOR_PID,
	ANCHOR_NONE
} Anchor;

/* Reads the fields from the ids to the event, and the rest of the line. */
static bool
parse_fields(PfsText text, Anchor anchor, PfsEventLine *event)
{
	PfsText word = pfs_cut_word(&text);

	/* Each field is optional, so a word that does not match is tried as the next field. */
	if (parse_ids(word, event))
		word = pfs_cut_word(&text);
	event->has_cpu = parse_cpu(word, &event->cpu);
	if (event->has_cpu)
		word = pfs_cut_word(&text);
	event->has_time = event_parse_time(word, &event->time_ns);
	if (event->has_time)
		word = pfs_cut_word(&text);
	if ((anchor == ANCHOR_TIME && !event->has_time) || (anchor == ANCHOR_PID && !event->has_pid))
		return false;
	event->is_record = text_begins_with(word, RECORD_PREFIX);
	/* A period precedes the event's name, whose first character is no digit. */
	event->has_period = word.length > 0 && pfs_is_digit(word.data[0]) &&
						pfs_parse_int64(word, &event->period) == PFS_READ_OK;
	if (event->has_period)
		word = pfs_cut_word(&text);
	/* A name has at least one character before its colon. */
	if (!event->is_record && (word.length < 2 || !ends_with(word, ':')))
		return false;
	event->event = event_name(pfs_part(word, 0, word.length - 1));
	event->rest = pfs_trim(text);
	/* without a time, any sentence with a number and a colon would look like an event */
	return anchor == ANCHOR_TIME || event->rest.length == 0 ||
		   (anchor == ANCHOR_PID &&
			(pfs_event_is_traced(event->event) || begins_with_address(event->rest)));
}

/*
 * Searches the line for the fields. The time is proportional to the line's length, so no pause is
 * needed.
 */
static bool
parse_from(PfsText line, Anchor anchor, PfsEventLine *event)
{
	PfsText trimmed = pfs_trim(line);
	PfsText rest = trimmed;
	uint32_t comm_length = 0;

	/*
	 * The name of a thread has any number of words, so each word is tried as the first field after
	 * it.
	 */
	for (int words = 0; words < COMM_WORDS_MAX && comm_length < COMM_BYTES_MAX; words++)
	{
		memset(event, 0, sizeof(*event));
		event->comm = pfs_part(trimmed, 0, comm_length);
		/*
		 * Without a time the line needs a thread's name, because otherwise any "word:" would match.
		 */
		if ((anchor == ANCHOR_TIME || comm_length > 0) && parse_fields(rest, anchor, event))
			return true;
		if (pfs_cut_word(&rest).length == 0)
			return false;
		comm_length = (uint32_t) (rest.data - trimmed.data);
	}
	return false;
}

bool
pfs_event_parse(PfsText line, PfsEventLine *event)
{
	if (parse_from(line, ANCHOR_TIME, event))
		return true;
	/*
	 * Without a time, a line that begins with # may be a comment. An id is a stronger sign than a
	 * name and a colon, so it is tried first.
	 */
	return line.length > 0 && line.data[0] != '#' &&
		   (parse_from(line, ANCHOR_PID, event) || parse_from(line, ANCHOR_NONE, event));
}

bool
pfs_event_is_traced(PfsText event)
{
	return event.length > 0 && memchr(event.data, ':', event.length) != NULL;
}

bool
pfs_event_is_clock(PfsText event)
{
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (pfs_text_equals(event, clocks[i]))
			return true;
	return false;
}
