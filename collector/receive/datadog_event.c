/*
 * datadog_event.c
 *		Reads tags_profiler and start of an event.
 */
#include "receive/datadog_event.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "formats/json/json.h"
#include "formats/lines.h"

#define US_PER_SECOND INT64_C(1000000)
#define TIME_TEXT_MAX 40
#define MICRO_DIGITS  6

/* Parses a time such as 2026-01-31T12:00:00.123456789Z. Returns false if it is none. */
static bool
parse_timestamp(PfsText text, int64_t *time_us)
{
	struct tm date = { .tm_mday = 0 };
	char copy[TIME_TEXT_MAX];
	int64_t micro = 0;
	int digits = 0;
	int end = 0;

	if (text.length >= sizeof(copy))
		return false;
	memcpy(copy, text.data, text.length);
	copy[text.length] = '\0';
	if (sscanf(copy, "%4d-%2d-%2dT%2d:%2d:%2d%n", &date.tm_year, &date.tm_mon, &date.tm_mday,
			   &date.tm_hour, &date.tm_min, &date.tm_sec, &end) != 6)
		return false;
	/* The fraction may have any number of digits, of which microseconds use the first six. */
	if (copy[end] == '.')
		for (end++; pfs_is_digit(copy[end]); end++)
			if (digits++ < MICRO_DIGITS)
				micro = micro * 10 + (copy[end] - '0');
	for (; digits < MICRO_DIGITS; digits++)
		micro *= 10;
	/* The limit of the year keeps the microseconds within 64 bits. */
	if (strcmp(copy + end, "Z") != 0 || date.tm_year < 1970 || date.tm_year > 9999)
		return false;
	date.tm_year -= 1900;
	date.tm_mon--;
	*time_us = timegm(&date) * US_PER_SECOND + micro;
	return true;
}

/*
 * Returns true for a tag that names one process, or the versions of what it consists of: such tags
 * would make too many series.
 */
static bool
is_tag_dropped(PfsText key)
{
	static const char *const begins[] = { "runtime", "profiler_", "process_id", "_dd." };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (key.length >= strlen(begins[i]) && memcmp(key.data, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* Adds the tags "key:value,key:value" as labels. */
static void
event_put_tags(PyroscopeSeries *series, PfsText tags, Arena *arena, const AttributeRule *rule)
{
	static const PfsText service = { "service_name", 12 };

	while (tags.length > 0)
	{
		const char *comma = memchr(tags.data, ',', tags.length);
		const uint32_t length = comma != NULL ? (uint32_t) (comma - tags.data) : tags.length;
		const char *colon = memchr(tags.data, ':', length);

		/* A tag without a colon has no name. */
		if (colon != NULL && colon > tags.data)
		{
			const PfsText key = { tags.data, (uint32_t) (colon - tags.data) };
			const PfsText value = { colon + 1, length - key.length - 1 };

			/*
			 * Datadog's tag "service" has the meaning of the label service_name in other protocols.
			 */
			if (!is_tag_dropped(key) && !is_protocol_key(key))
				series_put(series, arena, rule, pfs_text_equals(key, "service") ? service : key,
						   value);
		}
		tags = pfs_part(tags, length + (comma != NULL), tags.length);
	}
}

/* Reads the text at a position of the event; "" if the event does not have the field. */
static PfsReadStatus
event_text(PfsJson *json, const PfsJsonField *field, PfsText *text)
{
	*text = (PfsText){ "", 0 };
	if (field->at == SIZE_MAX)
		return PFS_READ_OK;
	json->at = field->at;
	return pfs_json_word(json, text);
}

const char *
datadog_event_read(DatadogEvent *event, Span text, Arena *arena, const AttributeRule *rule,
				   const char *tenant, const char *scope, PfsAllocator allocator)
{
	PfsBudget budget = { .allocator = allocator, .left = pfs_profile_budget_bytes(text.length) };
	PfsJsonField fields[] = { { "tags_profiler", SIZE_MAX }, { "start", SIZE_MAX } };
	PfsProfile texts;
	PfsReadError error;
	PfsText tags;
	PfsText start;
	PfsJson json = { .bytes = (const char *) text.bytes,
					 .length = text.length,
					 .profile = &texts,
					 .error = &error };
	PfsReadStatus status;

	if (text.length > DATADOG_EVENT_BYTES)
		return "the part event is too large";
	pfs_profile_init(&texts, &budget);
	status = pfs_json_peek(&json) == '{' ? pfs_json_find(&json, fields, 2) : PFS_READ_MALFORMED;
	if (status == PFS_READ_OK)
		status = event_text(&json, &fields[0], &tags);
	if (status == PFS_READ_OK)
		status = event_text(&json, &fields[1], &start);
	if (status == PFS_READ_OK)
	{
		event->has_start = parse_timestamp(start, &event->start_us);
		series_begin(&event->series, arena, tenant, scope);
		event_put_tags(&event->series, tags, arena, rule);
		series_end(&event->series, arena);
	}
	pfs_profile_fini(&texts);
	return status == PFS_READ_OK ? NULL : "the part event is not valid JSON of a profile";
}
