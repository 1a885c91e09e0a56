/*
 * merged.c
 *		Reads and writes the type stack_sums, as bytes and as text, and returns its stacks as rows.
 */
#include "merge/merged.h"

#include "common/int.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/arguments.h"
#include "base/arrays.h"
#include "base/srf.h"
#include "base/varints.h"
#include "dictionary/cache/dictionary.h"

#define FORMAT_VERSION 1

/*
 * Fewest bytes of a stack. They bound the number of stacks in a value before memory is allocated.
 */
#define MIN_STACK_BYTES 2

/*
 * Room before the first stack for the longest head, because the number of stacks is known only at
 * the end. One more byte is for the zero that a StringInfo appends to the head.
 */
#define MAX_HEAD_BYTES (VARHDRSZ + 1 + 5 + 1)

PG_FUNCTION_INFO_V1(profstore_stack_sums_in);
PG_FUNCTION_INFO_V1(profstore_stack_sums_out);
PG_FUNCTION_INFO_V1(profstore_stack_sums_recv);
PG_FUNCTION_INFO_V1(profstore_stack_sums_send);
PG_FUNCTION_INFO_V1(profstore_stacks_in);

void
pfs_merged_begin(PfsMergedWriter *writer)
{
	*writer = (PfsMergedWriter){ .count = 0 };
	initStringInfo(&writer->bytes);
	/* Stacks are written at once, behind the room for the head. */
	appendStringInfoSpaces(&writer->bytes, MAX_HEAD_BYTES);
}

void
pfs_merged_put(PfsMergedWriter *writer, int64 stack_id, int64 value)
{
	/* A value without zeros has one form only, so that equal sums are equal bytes. */
	if (value == 0)
		return;
	/* Ids ascend, so the step is not negative. */
	pfs_append_varint(&writer->bytes, (uint64) (stack_id - writer->last));
	pfs_append_signed(&writer->bytes, value);
	writer->last = stack_id;
	writer->count++;
}

/* Writes the head, and moves the stacks so that they follow it directly. */
struct varlena *
pfs_merged_finish(PfsMergedWriter *writer)
{
	StringInfo bytes = &writer->bytes;
	int length = bytes->len;

	/* The head is written over the room at the front; the stacks behind it stay in the buffer. */
	resetStringInfo(bytes);
	appendStringInfoSpaces(bytes, VARHDRSZ);
	appendStringInfoChar(bytes, FORMAT_VERSION);
	pfs_append_varint(bytes, writer->count);
	memmove(bytes->data + bytes->len, bytes->data + MAX_HEAD_BYTES,
			(size_t) (length - MAX_HEAD_BYTES));
	bytes->len += length - MAX_HEAD_BYTES;
	SET_VARSIZE(bytes->data, bytes->len);
	return (struct varlena *) bytes->data;
}

Datum
pfs_merged_encode(const PfsStackSums *sums)
{
	PfsMergedWriter writer;

	pfs_merged_begin(&writer);
	for (uint32 i = 0; i < sums->count; i++)
		pfs_merged_put(&writer, sums->sums[i].stack_id, sums->sums[i].sides.value);
	return PointerGetDatum(pfs_merged_finish(&writer));
}

PfsMergedReader
pfs_merged_read(const char *bytes, Size length, int error)
{
	PfsMergedReader reader = { .cursor = pfs_cursor((const uint8_t *) bytes, length),
							   .error = error };
	uint8 version = pfs_cursor_byte(&reader.cursor);

	reader.count = pfs_cursor_varint(&reader.cursor);
	/* The version decides what the rest means, so it is checked first. */
	if (!reader.cursor.failed && version > FORMAT_VERSION)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("stack sums have format version %d, which is newer than %d", version,
							   FORMAT_VERSION)));
	if (reader.cursor.failed || version == 0 ||
		reader.count > (length - reader.cursor.offset) / MIN_STACK_BYTES)
		ereport(ERROR, (errcode(error), errmsg("invalid binary value of type stack_sums")));
	return reader;
}

bool
pfs_merged_next(PfsMergedReader *reader, PfsStackSum *sum)
{
	PfsCursor *cursor = &reader->cursor;
	uint64 step;
	int64 value;

	if (reader->next == reader->count)
	{
		/* Bytes after the last stack would make two different values equal. */
		if (cursor->offset != cursor->length)
			ereport(ERROR,
					(errcode(reader->error), errmsg("invalid binary value of type stack_sums"),
					 errdetail("Bytes left over: %zu.", cursor->length - cursor->offset)));
		return false;
	}
	step = pfs_cursor_varint(cursor);
	value = pfs_unzigzag(pfs_cursor_varint(cursor));
	/* These checks allow only bytes that pfs_merged_put() writes. */
	if (cursor->failed || value == 0 || step > (uint64) (PG_INT64_MAX - reader->last) ||
		(step == 0 && reader->next > 0))
		ereport(ERROR, (errcode(reader->error), errmsg("invalid binary value of type stack_sums"),
						errdetail("Stack " UINT64_FORMAT " of " UINT64_FORMAT " is damaged.",
								  reader->next + 1, reader->count)));
	reader->next++;
	reader->last += (int64) step;
	*sum = (PfsStackSum){ reader->last, { value, 0 } };
	return true;
}

/* Decodes the stacks of a value's bytes; error is the code to raise for malformed bytes. */
static PfsStackSums
merged_decode(const char *bytes, Size length, int error)
{
	PfsMergedReader reader = pfs_merged_read(bytes, length, error);
	PfsStackSums sums = { 0, PFS_ARRAY(PfsStackSum, reader.count) };

	while (pfs_merged_next(&reader, &sums.sums[sums.count]))
		sums.count++;
	return sums;
}

static PfsStackSums
merged_argument(FunctionCallInfo fcinfo, const char *name)
{
	static const PfsStackSums none = { 0, NULL };
	const Datum *argument = pfs_argument(fcinfo, name);
	struct varlena *bytes;

	if (argument == NULL)
		return none;
	bytes = PG_DETOAST_DATUM_PACKED(*argument);
	return merged_decode(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), ERRCODE_DATA_CORRUPTED);
}

PfsStackSums
pfs_merged_get(FunctionCallInfo fcinfo, const char *name)
{
	/*
	 * the value may contain ids of any stack, so the user must be allowed to read the whole
	 * dictionary
	 */
	pfs_dictionary_require_whole();
	return merged_argument(fcinfo, name);
}

PfsStackStream *
pfs_merged_stream(FunctionCallInfo fcinfo, const char *name)
{
	PfsStackSums sums = pfs_merged_get(fcinfo, name);

	return pfs_stack_stream_of(&sums);
}

pg_noreturn static void
fail_text(const char *text, const char *at)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					errmsg("invalid input syntax for type stack_sums: \"%s\"", text),
					errdetail("Character %d is not expected.", (int) (at - text) + 1),
					errhint("The format is {stack:value, ...}, with ascending stack ids.")));
}

static const char *
skip_blanks(const char *at)
{
	return at + strspn(at, " \t\n\r");
}

/* Reads a whole number, and moves *at past it. */
static int64
text_read_number(const char *text, const char **at)
{
	const char *start = skip_blanks(*at);
	char *end;
	int64 number;

	errno = 0;
	number = strtoi64(start, &end, 10);
	if (end == start)
		fail_text(text, start);
	if (errno != 0)
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						errmsg("number in \"%s\" is out of range for type bigint", text)));
	*at = skip_blanks(end);
	return number;
}

/*
 * Reads the text form. Ids must ascend, because such a text comes from profstore_stack_sums_out(),
 * or from a query that can sort them.
 */
PGDLLEXPORT Datum
profstore_stack_sums_in(PG_FUNCTION_ARGS)
{
	const char *text = PG_GETARG_CSTRING(0);
	const char *at = skip_blanks(text);
	/* A stack has at least four characters, as in "1:2,", so half of the length is room enough. */
	PfsStackSums sums = { 0, PFS_ARRAY(PfsStackSum, strlen(text) / 2 + 1) };

	if (*at != '{')
		fail_text(text, at);
	at = skip_blanks(at + 1);
	while (*at != '}')
	{
		PfsStackSum *sum = &sums.sums[sums.count];
		const char *start = at;

		sum->stack_id = text_read_number(text, &at);
		/* Ascending ids spare sorting, and find ids that occur twice. */
		if (sum->stack_id < 0 || (sums.count > 0 && sum->stack_id <= sum[-1].stack_id))
			fail_text(text, start);
		if (*at != ':')
			fail_text(text, at);
		at++;
		sum->sides = (PfsSides){ text_read_number(text, &at), 0 };
		sums.count++;
		if (*at == ',')
			at = skip_blanks(at + 1);
		else if (*at != '}')
			fail_text(text, at);
	}
	at = skip_blanks(at + 1);
	if (*at != '\0')
		fail_text(text, at);
	PG_RETURN_DATUM(pfs_merged_encode(&sums));
}

PGDLLEXPORT Datum
profstore_stack_sums_out(PG_FUNCTION_ARGS)
{
	struct varlena *bytes = PG_GETARG_VARLENA_PP(0);
	PfsStackSums sums =
		merged_decode(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), ERRCODE_DATA_CORRUPTED);
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoChar(&text, '{');
	for (uint32 i = 0; i < sums.count; i++)
		appendStringInfo(&text, "%s" INT64_FORMAT ":" INT64_FORMAT, i == 0 ? "" : ",",
						 sums.sums[i].stack_id, sums.sums[i].sides.value);
	appendStringInfoChar(&text, '}');
	PG_RETURN_CSTRING(text.data);
}

PGDLLEXPORT Datum
profstore_stack_sums_recv(PG_FUNCTION_ARGS)
{
	StringInfo message = (StringInfo) PG_GETARG_POINTER(0);
	int length = message->len - message->cursor;
	const char *bytes = pq_getmsgbytes(message, length);
	/* Decode and encode again, so that only valid bytes are stored. */
	PfsStackSums sums = merged_decode(bytes, (Size) length, ERRCODE_INVALID_BINARY_REPRESENTATION);

	PG_RETURN_DATUM(pfs_merged_encode(&sums));
}

PGDLLEXPORT Datum
profstore_stack_sums_send(PG_FUNCTION_ARGS)
{
	struct varlena *sums = PG_GETARG_VARLENA_PP(0);
	StringInfoData message;

	pq_begintypsend(&message);
	pq_sendbytes(&message, VARDATA_ANY(sums), (int) VARSIZE_ANY_EXHDR(sums));
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

/* stacks_in(sums) */
PGDLLEXPORT Datum
profstore_stacks_in(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	PfsStackSums sums = merged_argument(fcinfo, "sums");

	for (uint32 i = 0; i < sums.count; i++)
	{
		Datum values[2] = { Int64GetDatum(sums.sums[i].stack_id),
							Int64GetDatum(sums.sums[i].sides.value) };
		bool nulls[2] = { false, false };

		CHECK_FOR_INTERRUPTS();
		pfs_result_put(&result, values, nulls);
	}
	return (Datum) 0;
}
