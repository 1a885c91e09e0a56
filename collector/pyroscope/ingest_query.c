/*
 * ingest_query.c
 *		Reads the parameters of /ingest, and the application's name, which contains labels.
 */
#include "pyroscope/ingest_query.h"

#include <string.h>

#include "formats/lines.h"
#include "pyroscope/query_string.h"

#define BAD_TIME "a time of the query is not valid"

static PfsText
query_text(const char *text)
{
	return (PfsText){ text, (uint32_t) strlen(text) };
}

/* --- parameters --- */

/* Splits "app{k=v,...}". Returns NULL; on failure, the reason of the refusal. */
static const char *
ingest_query_read_name(IngestQuery *query, PfsText name)
{
	query->app = pfs_trim(query_cut(&name, '{'));
	name = pfs_trim(name);
	query->labels = query_text("");
	if (query->app.length == 0)
		return "the parameter name is missing";
	if (name.length == 0)
		return NULL;
	if (name.data[name.length - 1] != '}')
		return "the labels in the parameter name do not end in \"}\"";
	query->labels = pfs_part(name, 0, name.length - 1);
	return NULL;
}

static const char *
read_parameter(IngestQuery *query, PfsText key, PfsText value, int64_t now_us)
{
	int64_t number;

	if (value.length == 0)
		return NULL;
	if (pfs_text_equals(key, "name"))
		return ingest_query_read_name(query, value);
	if (pfs_text_equals(key, "from"))
	{
		query->has_from = true;
		return query_time(value, now_us, &query->from_us) ? NULL : BAD_TIME;
	}
	if (pfs_text_equals(key, "until"))
		return query_time(value, now_us, &query->until_us) ? NULL : BAD_TIME;
	if (pfs_text_equals(key, "spyName"))
		query->spy = value;
	else if (pfs_text_equals(key, "format"))
		query->format = value;
	else if (pfs_text_equals(key, "sampleRate") && pfs_parse_int64(value, &number) == PFS_READ_OK &&
			 number >= 0 && number <= 1000000000)
		query->sample_rate = number;
	return NULL;
}

const char *
ingest_query_read(IngestQuery *query, PfsText text, int64_t now_us, Arena *arena)
{
	const char *error = NULL;
	PfsText key;
	PfsText value;

	*query = (IngestQuery){ .app = query_text(""),
							.labels = query_text(""),
							.spy = query_text(""),
							.format = query_text(""),
							.sample_rate = INGEST_SAMPLE_RATE };
	while (error == NULL && query_next(&text, arena, &key, &value, &error))
		error = read_parameter(query, key, value, now_us);
	if (error == NULL && query->app.length == 0)
		error = "the parameter name is missing";
	return error;
}

bool
ingest_next_label(PfsText *labels, PfsText *key, PfsText *value)
{
	while (labels->length > 0)
	{
		PfsText rest;
		PfsText part;

		*value = query_cut(labels, ',');
		if (memchr(value->data, '=', value->length) == NULL)
			continue; /* there is no value before this part */
		*key = pfs_trim(query_cut(value, '='));
		for (rest = *labels; rest.length > 0; *labels = rest)
		{
			part = query_cut(&rest, ',');
			if (memchr(part.data, '=', part.length) != NULL)
				break;
			value->length = (uint32_t) (part.data + part.length - value->data);
		}
		*value = pfs_trim(*value);
		if (key->length > 0)
			return true;
	}
	return false;
}
