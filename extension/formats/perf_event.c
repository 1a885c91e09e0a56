/*
 * perf_event.c
 *		The line of an event is read from its end, up to the process id: a name may hold blanks.
 */
#include <string.h>

#include "formats/perf_event.h"

/* Processor clocks count nanoseconds. */
static const char *const clocks[] = { "cpu-clock", "task-clock" };

/* Letters that may follow the name of an event after a colon. */
#define EVENT_MODIFIERS "ukhGHpPSDWeIb"

#define NS_PER_SECOND INT64_C(1000000000)

/* Seconds that are days and years away from each other still have room in nanoseconds. */
#define SECONDS_MAX (INT64_MAX / NS_PER_SECOND / 4)

/* Cuts the last word off. */
static PfsText
cut_last_word(PfsText *text)
{
	uint32_t begin;
	PfsText word;

	*text = pfs_trim(*text);
	for (begin = text->length; begin > 0 && !pfs_is_blank(text->data[begin - 1]);)
		begin--;
	word = pfs_part(*text, begin, text->length);
	text->length = begin;
	return word;
}

static bool
ends_with(PfsText text, char c)
{
	return text.length > 0 && text.data[text.length - 1] == c;
}

/* "1794.123456:" */
static bool
parse_time(PfsText word, int64_t *time_ns)
{
	uint32_t dot = 0;
	int64_t seconds;
	int64_t fraction = 0;
	int64_t unit = NS_PER_SECOND;

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
		unit /= 10;
		fraction += (word.data[i] - '0') * unit;
	}
	*time_ns = seconds * NS_PER_SECOND + fraction;
	return true;
}

/* "[003]" */
static bool
parse_cpu(PfsText word, int64_t *cpu)
{
	return word.length > 2 && word.data[0] == '[' && ends_with(word, ']') &&
		   pfs_is_digit(word.data[1]) &&
		   pfs_parse_int64(pfs_part(word, 1, word.length - 1), cpu) == PFS_READ_OK;
}

/* "24636/24640" or "24636" */
static bool
parse_ids(PfsText word, PfsEventLine *event)
{
	uint32_t slash = 0;

	while (slash < word.length && word.data[slash] != '/')
		slash++;
	if (pfs_parse_int64(pfs_part(word, 0, slash), &event->pid) != PFS_READ_OK)
		return false;
	event->tid = event->pid;
	return slash == word.length ||
		   pfs_parse_int64(pfs_part(word, slash + 1, word.length), &event->tid) == PFS_READ_OK;
}

/*
 * The event's name: what stands before the colon of modifiers, as in "cycles:u", but
 * "sched:sched_switch" is whole.
 */
static PfsText
event_name(PfsText word)
{
	uint32_t colon = word.length;
	bool modifiers = true;

	while (colon > 0 && word.data[colon - 1] != ':')
		colon--;
	for (uint32_t i = colon; i < word.length; i++)
		modifiers = modifiers && strchr(EVENT_MODIFIERS, word.data[i]) != NULL;
	return colon > 1 && modifiers ? pfs_part(word, 0, colon - 1) : word;
}

bool
pfs_event_parse(PfsText line, PfsEventLine *event)
{
	PfsText rest = line;
	PfsText word = cut_last_word(&rest);

	memset(event, 0, sizeof(*event));
	if (word.length < 2 || !ends_with(word, ':'))
		return false;
	word.length--;
	event->event = event_name(word);
	word = cut_last_word(&rest);
	if (word.length > 0 && pfs_is_digit(word.data[0]) &&
		pfs_parse_int64(word, &event->period) == PFS_READ_OK)
	{
		/* a period, or the process id where neither period nor time follow it */
		PfsText before = rest;
		PfsText other = cut_last_word(&before);
		PfsEventLine ignored;
		int64_t number;

		event->has_period = parse_time(other, &number) || parse_cpu(other, &number) ||
							(before.length > 0 && parse_ids(other, &ignored));
		if (event->has_period)
			word = cut_last_word(&rest);
	}
	event->has_time = parse_time(word, &event->time_ns);
	if (event->has_time)
		word = cut_last_word(&rest);
	event->has_cpu = parse_cpu(word, &event->cpu);
	if (event->has_cpu)
		word = cut_last_word(&rest);
	event->has_pid = parse_ids(word, event);
	event->comm = pfs_trim(event->has_pid ? rest : pfs_part(line, 0, rest.length + word.length));
	return event->comm.length > 0;
}

bool
pfs_event_is_clock(PfsText event)
{
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (pfs_text_equals(event, clocks[i]))
			return true;
	return false;
}
