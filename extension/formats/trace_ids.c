/*
 * trace_ids.c
 *		Recognizes keys of ids in their usual spellings, and hexadecimal ids.
 */
#include <string.h>

#include "formats/trace_ids.h"

/* Most bytes of a key, and of the text of an id. */
#define KEY_MAX		20
#define UUID_LENGTH 36

static bool
ids_is_set(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != 0)
			return true;
	return false;
}

bool
pfs_trace_is_known(const PfsTraceIds *ids)
{
	return ids_is_set(ids->trace, PFS_TRACE_BYTES);
}

bool
pfs_span_is_known(const PfsTraceIds *ids)
{
	return ids_is_set(ids->span, PFS_SPAN_BYTES);
}

/* Copies the letters of a key in lower case; copies "" if the key is too long. */
static void
squeeze(PfsText key, char squeezed[KEY_MAX + 1])
{
	size_t length = 0;

	for (uint32_t i = 0; key.length <= KEY_MAX && i < key.length; i++)
	{
		char c = key.data[i];

		/* "trace_id", "traceId" and "trace.id" are one key. */
		if (memchr("_.- ", c, 4) == NULL)
			squeezed[length++] = (char) (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
	}
	squeezed[length] = '\0';
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Returns true if a UUID has a dash after the byte with this number. */
static bool
has_dash_after(size_t byte)
{
	return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

/*
 * Reads hexadecimal digits for exactly count bytes; if dashed is true, with the dashes of a UUID.
 */
static bool
trace_id_read_bytes(PfsText text, bool dashed, uint8_t *bytes, size_t count)
{
	const char *at = text.data;

	for (size_t i = 0; i < count; i++, at += 2)
	{
		if (dashed && has_dash_after(i) && *at++ != '-')
			return false;
		if (digit(at[0]) < 0 || digit(at[1]) < 0)
			return false;
		bytes[i] = (uint8_t) (digit(at[0]) << 4 | digit(at[1]));
	}
	return true;
}

static bool
read_trace(PfsText text, uint8_t trace[PFS_TRACE_BYTES])
{
	memset(trace, 0, PFS_TRACE_BYTES);
	switch (text.length)
	{
		case UUID_LENGTH:
			return trace_id_read_bytes(text, true, trace, PFS_TRACE_BYTES);
		case 2 * PFS_TRACE_BYTES:
			return trace_id_read_bytes(text, false, trace, PFS_TRACE_BYTES);
		/* A trace id of 64 bits becomes the lower half of one of 128 bits. */
		case PFS_TRACE_BYTES:
			return trace_id_read_bytes(text, false, trace + PFS_TRACE_BYTES / 2,
									   PFS_TRACE_BYTES / 2);
		default:
			return false;
	}
}

/* Sets an id unless a different one is set already. */
static bool
put_id(uint8_t *id, const uint8_t *read, size_t count)
{
	/* Zero is no id. A second, different id leaves its label as it is. */
	if (!ids_is_set(read, count) || (ids_is_set(id, count) && memcmp(id, read, count) != 0))
		return false;
	memcpy(id, read, count);
	return true;
}

bool
pfs_trace_label(const PfsProfileLabel *label, PfsTraceIds *ids)
{
	uint8_t bytes[PFS_TRACE_BYTES];
	char squeezed[KEY_MAX + 1];
	const char *key = squeezed;

	if (label->numeric)
		return false;
	squeeze(label->key, squeezed);
	/* Some agents write "otel.trace_id". */
	if (strncmp(key, "otel", 4) == 0)
		key += 4;
	if (strcmp(key, "traceid") == 0)
		return read_trace(label->text, bytes) && put_id(ids->trace, bytes, PFS_TRACE_BYTES);
	return strcmp(key, "spanid") == 0 && label->text.length == 2 * PFS_SPAN_BYTES &&
		   trace_id_read_bytes(label->text, false, bytes, PFS_SPAN_BYTES) &&
		   put_id(ids->span, bytes, PFS_SPAN_BYTES);
}

bool
pfs_trace_of_sample(const PfsProfile *profile, const PfsProfileSample *sample, PfsTraceIds *ids)
{
	bool found = false;

	*ids = (PfsTraceIds){ { 0 }, { 0 } };
	for (uint32_t i = 0; i < sample->label_count; i++)
		found |= pfs_trace_label(&profile->labels[sample->first_label + i], ids);
	return found;
}
