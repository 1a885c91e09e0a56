/*
 * merged.c
 *		Bytes and text of the type stack_sums, and its stacks as rows.
 */
#include "query/merged.h"

#include "codec/bytes.h"
#include "common/int.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "query/allocate.h"
#include "query/srf.h"
#include "utils/builtins.h"

#define FORMAT_VERSION 1

/* Fewest bytes of a stack: what a count is checked against before memory is asked for. */
#define MIN_STACK_BYTES 2

PG_FUNCTION_INFO_V1(profstore_stack_sums_in);
PG_FUNCTION_INFO_V1(profstore_stack_sums_out);
PG_FUNCTION_INFO_V1(profstore_stack_sums_recv);
PG_FUNCTION_INFO_V1(profstore_stack_sums_send);
PG_FUNCTION_INFO_V1(profstore_stacks_in);

static void
append_varint(StringInfo bytes, uint64 value)
{
	for (; value >= 0x80; value >>= 7)
		appendStringInfoCharMacro(bytes, (char) (value | 0x80));
	appendStringInfoCharMacro(bytes, (char) value);
}

Datum
pfs_merged_encode(const PfsStackSums *sums)
{
	StringInfoData bytes;
	uint32 count = 0;
	int64 last = 0;

	for (uint32 i = 0; i < sums->count; i++)
		count += sums->sums[i].sides.value != 0;
	initStringInfo(&bytes);
	appendStringInfoSpaces(&bytes, VARHDRSZ);
	appendStringInfoChar(&bytes, FORMAT_VERSION);
	append_varint(&bytes, count);
	for (uint32 i = 0; i < sums->count; i++)
	{
		const PfsStackSum *sum = &sums->sums[i];

		if (sum->sides.value == 0)
			continue;
		append_varint(&bytes, (uint64) (sum->stack_id - last));
		append_varint(&bytes, pfs_zigzag(sum->sides.value));
		last = sum->stack_id;
	}
	SET_VARSIZE(bytes.data, bytes.len);
	return PointerGetDatum(bytes.data);
}

PfsStackSums
pfs_merged_decode(const char *bytes, Size length, int error)
{
	PfsCursor cursor = pfs_cursor((const uint8_t *) bytes, length);
	uint8 version = pfs_cursor_byte(&cursor);
	uint64 count = pfs_cursor_varint(&cursor);
	PfsStackSums sums = { 0, NULL };
	int64 last = 0;

	if (!cursor.failed && version > FORMAT_VERSION)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("stack sums have format version %d, which is newer than %d", version,
							   FORMAT_VERSION)));
	if (cursor.failed || version == 0 || count > (length - cursor.offset) / MIN_STACK_BYTES)
		ereport(ERROR, (errcode(error), errmsg("invalid bytes of stack sums")));
	sums.sums = PFS_ARRAY(PfsStackSum, count);
	for (; sums.count < count; sums.count++)
	{
		uint64 step = pfs_cursor_varint(&cursor);
		int64 value = pfs_unzigzag(pfs_cursor_varint(&cursor));

		if (cursor.failed || value == 0 || step > (uint64) (PG_INT64_MAX - last) ||
			(step == 0 && sums.count > 0))
			ereport(ERROR, (errcode(error), errmsg("invalid bytes of stack sums"),
							errdetail("Stack %u of " UINT64_FORMAT " is damaged.", sums.count + 1,
									  count)));
		last += (int64) step;
		sums.sums[sums.count] = (PfsStackSum){ last, { value, 0 } };
	}
	if (cursor.offset != length)
		ereport(ERROR, (errcode(error), errmsg("invalid bytes of stack sums"),
						errdetail("Bytes left over: %zu.", length - cursor.offset)));
	return sums;
}

PfsStackSums
pfs_merged_get(FunctionCallInfo fcinfo, int argument)
{
	static const PfsStackSums none = { 0, NULL };
	struct varlena *bytes;

	if (PG_ARGISNULL(argument))
		return none;
	bytes = PG_GETARG_VARLENA_PP(argument);
	return pfs_merged_decode(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), ERRCODE_DATA_CORRUPTED);
}

pg_noreturn static void
fail_text(const char *text, const char *at)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					errmsg("invalid input syntax for type stack_sums: \"%s\"", text),
					errdetail("Character %d is not expected.", (int) (at - text) + 1),
					errhint("It looks like {stack:value, ...}, with ascending stack ids.")));
}

static const char *
skip_blanks(const char *at)
{
	return at + strspn(at, " \t\n\r");
}

/* A whole number, which moves *at behind itself. */
static int64
read_number(const char *text, const char **at)
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
 * Checks the order as well: who writes such a text has it from here, or from a query that can sort.
 */
PGDLLEXPORT Datum
profstore_stack_sums_in(PG_FUNCTION_ARGS)
{
	const char *text = PG_GETARG_CSTRING(0);
	const char *at = skip_blanks(text);
	PfsStackSums sums = { 0, PFS_ARRAY(PfsStackSum, strlen(text) / 2 + 1) };

	if (*at != '{')
		fail_text(text, at);
	at = skip_blanks(at + 1);
	while (*at != '}')
	{
		PfsStackSum *sum = &sums.sums[sums.count];
		const char *start = at;

		sum->stack_id = read_number(text, &at);
		if (sum->stack_id < 0 || (sums.count > 0 && sum->stack_id <= sum[-1].stack_id))
			fail_text(text, start);
		if (*at != ':')
			fail_text(text, at);
		at++;
		sum->sides = (PfsSides){ read_number(text, &at), 0 };
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
	PfsStackSums sums = pfs_merged_get(fcinfo, 0);
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
	PfsStackSums sums =
		pfs_merged_decode(bytes, (Size) length, ERRCODE_INVALID_BINARY_REPRESENTATION);

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

/*
 * stacks_in(sums)
 */
PGDLLEXPORT Datum
profstore_stacks_in(PG_FUNCTION_ARGS)
{
	PfsRows rows = pfs_rows_begin(fcinfo);
	PfsStackSums sums = pfs_merged_get(fcinfo, 0);

	for (uint32 i = 0; i < sums.count; i++)
	{
		Datum values[2] = { Int64GetDatum(sums.sums[i].stack_id),
							Int64GetDatum(sums.sums[i].sides.value) };
		bool nulls[2] = { false, false };

		CHECK_FOR_INTERRUPTS();
		pfs_rows_put(&rows, values, nulls);
	}
	return (Datum) 0;
}
