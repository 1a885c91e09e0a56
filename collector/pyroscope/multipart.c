/*
 * multipart.c
 *		Finds delimiters, and the names in the headers of parts.
 */
#include "pyroscope/multipart.h"

#include <string.h>
#include <strings.h>

#define FORM_DATA	"multipart/form-data"
#define BOUNDARY	"boundary="
#define DISPOSITION "content-disposition:"
#define END_OF_LINE "\r\n"
#define END_OF_HEAD "\r\n\r\n"

bool
is_multipart(const char *content_type)
{
	return strncasecmp(content_type, FORM_DATA, strlen(FORM_DATA)) == 0;
}

static bool
multipart_fail(Multipart *walk, const char *error)
{
	walk->error = error;
	return false;
}

static void
span_skip(Span *span, size_t bytes)
{
	span->bytes += bytes;
	span->length -= bytes;
}

/*
 * Returns the value of a parameter after ";", with or without quotes. prefix ends in "="; the
 * result is empty if there is no such parameter.
 */
static Span
parameter_find(Span text, const char *prefix)
{
	const size_t prefix_length = strlen(prefix);
	const uint8_t *at = memchr(text.bytes, ';', text.length);
	Span value = { text.bytes, 0 };

	while (at != NULL)
	{
		size_t rest;

		for (at++; at < text.bytes + text.length && (*at == ' ' || *at == '\t'); at++)
			;
		rest = (size_t) (text.bytes + text.length - at);
		if (rest > prefix_length && strncasecmp((const char *) at, prefix, prefix_length) == 0)
		{
			const bool is_quoted = at[prefix_length] == '"';
			const char *ends = is_quoted ? "\"" : "; \t";

			value.bytes = at + prefix_length + is_quoted;
			while (value.bytes + value.length < text.bytes + text.length &&
				   strchr(ends, value.bytes[value.length]) == NULL)
				value.length++;
			return value;
		}
		at = memchr(at, ';', rest);
	}
	return value;
}

/* Moves *rest past the next delimiter; *before becomes the bytes in front of the delimiter. */
static bool
delimiter_find(const Multipart *walk, Span *rest, Span *before)
{
	const uint8_t *at = memmem(rest->bytes, rest->length, walk->delimiter, walk->delimiter_length);

	if (at == NULL)
		return false;
	*before = (Span){ rest->bytes, (size_t) (at - rest->bytes) };
	span_skip(rest, before->length + walk->delimiter_length);
	return true;
}

void
multipart_begin(Multipart *walk, Span body, const char *content_type)
{
	const Span type = { (const uint8_t *) content_type, strlen(content_type) };
	const Span boundary = parameter_find(type, BOUNDARY);
	Span before;

	*walk = (Multipart){ .rest = body };
	if (boundary.length == 0 || boundary.length > MULTIPART_BOUNDARY_MAX)
	{
		walk->error = "the content type has no boundary of 1 to 70 characters";
		return;
	}
	memcpy(walk->delimiter, "\r\n--", 4);
	memcpy(walk->delimiter + 4, boundary.bytes, boundary.length);
	walk->delimiter_length = 4 + boundary.length;

	/* the first delimiter may be at the start of the body, without CR LF before it */
	if (body.length >= walk->delimiter_length - 2 &&
		memcmp(body.bytes, walk->delimiter + 2, walk->delimiter_length - 2) == 0)
		span_skip(&walk->rest, walk->delimiter_length - 2);
	else if (!delimiter_find(walk, &walk->rest, &before))
		walk->error = "the body does not contain the boundary of its content type";
}

/* Returns the name in the headers of a part; empty if there is none. */
static Span
part_name(Span head)
{
	Span name = { head.bytes, 0 };

	while (head.length > 0)
	{
		const uint8_t *end = memmem(head.bytes, head.length, END_OF_LINE, strlen(END_OF_LINE));
		const Span line = { head.bytes, end != NULL ? (size_t) (end - head.bytes) : head.length };

		if (line.length > strlen(DISPOSITION) &&
			strncasecmp((const char *) line.bytes, DISPOSITION, strlen(DISPOSITION)) == 0)
			name = parameter_find(line, "name=");
		span_skip(&head, line.length + (end != NULL ? strlen(END_OF_LINE) : 0));
	}
	return name;
}

bool
multipart_next(Multipart *walk, MultipartPart *part)
{
	const uint8_t *head_end;
	Span content;
	size_t head_length;

	if (walk->error != NULL || (walk->rest.length >= 2 && memcmp(walk->rest.bytes, "--", 2) == 0))
		return false;
	if (walk->parts++ == MULTIPART_PARTS_MAX)
		return multipart_fail(walk, "the body has too many parts");
	if (!delimiter_find(walk, &walk->rest, &content))
		return multipart_fail(walk, "the body ends within a part");

	/* the rest of the delimiter's line, which may contain blanks, ends where the headers begin */
	head_end = memmem(content.bytes, content.length, END_OF_HEAD, strlen(END_OF_HEAD));
	if (head_end == NULL)
		return multipart_fail(walk, "a part of the body has no headers");
	head_length = (size_t) (head_end - content.bytes);
	part->name = part_name((Span){ content.bytes, head_length });
	span_skip(&content, head_length + strlen(END_OF_HEAD));
	part->content = content;
	return true;
}
