/*
 * request.c
 *		Decodes one profile of a request.
 */
#include "pyroscope/request.h"

#include <stdio.h>

#include "decode/decode.h"

DecodeEnd
pyroscope_refuse(PyroscopeResult *result, const char *text)
{
	if (result->message[0] == '\0')
		snprintf(result->message, sizeof(result->message), "%s", text);
	return DECODE_INVALID;
}

/* Sets the message for a profile that was not decoded. */
static DecodeEnd
refuse_profile(PyroscopeResult *result, const DecodeResult *decoded)
{
	char text[sizeof(result->message)];

	if (decoded->line > 0)
		snprintf(text, sizeof(text), "invalid profile: %s, in line %llu", decoded->message,
				 (unsigned long long) decoded->line);
	else
		snprintf(text, sizeof(text), "invalid profile: %s, seen at byte %zu", decoded->message,
				 decoded->offset);
	return pyroscope_refuse(result, text);
}

DecodeEnd
pyroscope_decode_profile(const PyroscopeRequest *request, PyroscopeDialect *dialect,
						 ProfileFormat format, Span bytes, Batch *batch, PyroscopeResult *result)
{
	const DecodeDialect functions = dialect_functions(dialect);
	const DecodeRequest decoding = { .format = format,
									 .labels = dialect->series->labels,
									 .label_count = dialect->series->label_count,
									 .limits = request->limits,
									 .guards_names = true,
									 .dialect = &functions };
	DecodeResult decoded;
	DecodeEnd end;

	if (request->limits.limit != NULL && work_limit_is_over(request->limits.limit))
		return pyroscope_refuse(result, "the request takes too long to read");
	end = decode_profile(&decoding, bytes.bytes, bytes.length, batch, &decoded);
	result->skipped_labels += dialect->skipped;
	dialect->skipped = 0;
	switch (end)
	{
		case DECODE_OK:
			result->profiles++;
			result->samples += decoded.sample_count;
			result->has_times &= dialect->has_time;
			return DECODE_OK;
		case DECODE_INVALID:
			return refuse_profile(result, &decoded);
		case DECODE_TIME:
		case DECODE_SERVER:
			return pyroscope_refuse(result, decoded.message);
		case DECODE_NO_ROOM:
		case DECODE_NO_MEMORY:
			break;
	}
	return end;
}
