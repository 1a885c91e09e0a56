/*
 * symbol_work.c
 *		Calls the functions of extension/symbolize.
 */
#include "symbolize/symbol_work.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void
symbol_claim_fini(SymbolClaim *claim)
{
	free(claim->mappings);
	free(claim->addresses);
	free(claim->are_named);
	*claim = (SymbolClaim){ 0 };
}

/* Appends a name. Names of symbols may have any bytes, but the database accepts only UTF-8. */
static void
symbol_work_put_text(Buffer *buffer, const char *text)
{
	char *replaced = utf8_replace_invalid(text);

	/* "?" stands for a name if memory is exhausted */
	wire_text_element(buffer, replaced != NULL ? replaced : "?");
	free(replaced);
}

void
symbol_answers_add(SymbolAnswers *answers, int64_t mapping, int64_t address,
				   const SymbolLines *lines)
{
	for (uint32_t i = 0; i < lines->count; i++)
	{
		const SymbolLine *line = &lines->lines[i];

		symbol_work_put_text(&answers->names, line->name);
		symbol_work_put_text(&answers->system_names, line->system_name);
		symbol_work_put_text(&answers->filenames, line->filename);
		wire_int4_element(&answers->start_lines, line->start_line);
		wire_int4_element(&answers->lines, line->line);
	}
	wire_int4_element(&answers->mappings, (int32_t) mapping);
	wire_int8_element(&answers->addresses, address);
	wire_int4_element(&answers->line_counts, (int32_t) lines->count);
	answers->line_count += lines->count;
	answers->count++;
}

static void
each_buffer(SymbolAnswers *answers, void (*change)(Buffer *buffer))
{
	Buffer *const buffers[] = { &answers->names,	   &answers->system_names, &answers->filenames,
								&answers->start_lines, &answers->lines,		   &answers->mappings,
								&answers->addresses,   &answers->line_counts };

	for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
		change(buffers[i]);
}

void
symbol_answers_reset(SymbolAnswers *answers)
{
	each_buffer(answers, buffer_reset);
	answers->count = 0;
	answers->line_count = 0;
}

void
symbol_answers_fini(SymbolAnswers *answers)
{
	each_buffer(answers, buffer_fini);
}

static void
symbol_work_put_string(Buffer *buffer, const char *text)
{
	buffer_put_bytes(buffer, text, strlen(text));
}

DbOutcome
symbol_work_find(Connection *connection, bool all, DbError *error)
{
	const Statement statement = {
		.sql =
			all ? "SELECT profstore.find_symbol_work(true)" : "SELECT profstore.find_symbol_work()",
		.failure = "could not look for addresses without lines",
	};

	return connection_execute(connection, &statement, error);
}

static DbOutcome
refuse_answer(const char *failure, DbError *error)
{
	db_error_set(error, NULL, failure, "The answer of the server is invalid.", NULL);
	return DB_REFUSED;
}

DbOutcome
symbol_work_claim(Connection *connection, const char *worker, SymbolClaim *claim, DbError *error)
{
	Buffer name = { NULL };
	const Statement statement = {
		.sql = "SELECT build_id FROM profstore.claim_symbol_work($1, 1)",
		.failure = "could not claim a build",
		.keep = true,
		.param_count = 1,
		.params = { { WIRE_TEXT, &name } },
	};
	Result *result = NULL;
	DbOutcome outcome;
	size_t length;

	*claim = (SymbolClaim){ 0 };
	symbol_work_put_string(&name, worker);
	outcome = connection_run(connection, &statement, 1, &result, error);
	buffer_fini(&name);
	if (outcome != DB_OK)
		return outcome;
	if (result_is_row(result, 1))
	{
		const char *build_id = result_bytes(result, 0, &length);

		if (length < sizeof(claim->build_id))
			memcpy(claim->build_id, build_id, length + 1);
		else
			outcome = refuse_answer(statement.failure, error);
	}
	result_free(result);
	return outcome;
}

/* Reads the epoch, the number of addresses, and an array for each of the other columns. */
static bool
take_addresses(const Result *result, SymbolClaim *claim)
{
	size_t length;
	const char *bytes;
	bool is_good;

	claim->epoch = result_int8(result, 0);
	claim->count = (size_t) result_int8(result, 1);
	if (claim->count > OPEN_ADDRESSES_MAX)
		return false;
	claim->mappings = calloc(claim->count + 1, sizeof(*claim->mappings));
	claim->addresses = calloc(claim->count + 1, sizeof(*claim->addresses));
	claim->are_named = calloc(claim->count + 1, sizeof(*claim->are_named));
	if (claim->mappings == NULL || claim->addresses == NULL || claim->are_named == NULL)
		return false;
	bytes = result_bytes(result, 2, &length);
	is_good = wire_ints(bytes, length, WIRE_INT4, claim->count, claim->mappings);
	bytes = result_bytes(result, 3, &length);
	is_good = is_good && wire_ints(bytes, length, WIRE_INT8, claim->count, claim->addresses);
	bytes = result_bytes(result, 4, &length);
	return is_good && wire_ints(bytes, length, WIRE_INT4, claim->count, claim->are_named);
}

DbOutcome
symbol_work_read(Connection *connection, SymbolClaim *claim, DbError *error)
{
	static const char sql[] =
		"WITH a AS (SELECT mapping, address, is_named::int4 AS named FROM profstore.open_addresses($1) "
		"ORDER BY address, mapping LIMIT $2) "
		"SELECT profstore.epoch(), count(*), coalesce(array_agg(mapping ORDER BY address, mapping), '{}'), "
		"coalesce(array_agg(address ORDER BY address, mapping), '{}'), "
		"coalesce(array_agg(named ORDER BY address, mapping), '{}') FROM a";
	Buffer build_id = { NULL };
	Buffer limit = { NULL };
	const Statement statement = {
		.sql = sql,
		.failure = "could not read addresses without lines",
		.keep = true,
		.param_count = 2,
		.params = { { WIRE_TEXT, &build_id }, { WIRE_INT8, &limit } },
	};
	Result *result = NULL;
	DbOutcome outcome;

	if (claim->was_read)
		return DB_OK;
	symbol_work_put_string(&build_id, claim->build_id);
	buffer_put_int8(&limit, OPEN_ADDRESSES_MAX);
	outcome = connection_run(connection, &statement, 1, &result, error);
	buffer_fini(&build_id);
	buffer_fini(&limit);
	if (outcome != DB_OK)
		return outcome;
	claim->was_read = take_addresses(result, claim);
	result_free(result);
	return claim->was_read ? DB_OK : refuse_answer(statement.failure, error);
}

DbOutcome
symbol_work_store(Connection *connection, const SymbolClaim *claim, const SymbolAnswers *answers,
				  DbError *error)
{
	enum
	{
		NAMES,
		SYSTEM_NAMES,
		FILENAMES,
		START_LINES,
		MAPPINGS,
		ADDRESSES,
		LINE_COUNTS,
		LINES,
		ARRAYS
	};
	Buffer arrays[ARRAYS] = { 0 };
	Buffer epoch = { NULL };
	const Statement statements[] = {
		{ .sql = "SELECT profstore.pin_epoch($1)",
		  .failure = "could not store answers",
		  .keep = true,
		  .param_count = 1,
		  .params = { { WIRE_INT8, &epoch } } },
		{ .sql =
			  "WITH f AS MATERIALIZED (SELECT profstore.intern_functions($1, $2, $3, $4) AS ids) "
			  "SELECT cardinality(profstore.intern_locations($5, $6, $7, (SELECT ids FROM f), $8))",
		  .failure = "could not store answers",
		  .keep = true,
		  .param_count = ARRAYS,
		  .params = { { WIRE_TEXT_ARRAY, &arrays[NAMES] },
					  { WIRE_TEXT_ARRAY, &arrays[SYSTEM_NAMES] },
					  { WIRE_TEXT_ARRAY, &arrays[FILENAMES] },
					  { WIRE_INT4_ARRAY, &arrays[START_LINES] },
					  { WIRE_INT4_ARRAY, &arrays[MAPPINGS] },
					  { WIRE_INT8_ARRAY, &arrays[ADDRESSES] },
					  { WIRE_INT4_ARRAY, &arrays[LINE_COUNTS] },
					  { WIRE_INT4_ARRAY, &arrays[LINES] } } },
	};
	Result *results[2] = { NULL };
	DbOutcome outcome;

	buffer_put_int8(&epoch, claim->epoch);
	wire_array_of(&arrays[NAMES], WIRE_TEXT, answers->line_count, &answers->names);
	wire_array_of(&arrays[SYSTEM_NAMES], WIRE_TEXT, answers->line_count, &answers->system_names);
	wire_array_of(&arrays[FILENAMES], WIRE_TEXT, answers->line_count, &answers->filenames);
	wire_array_of(&arrays[START_LINES], WIRE_INT4, answers->line_count, &answers->start_lines);
	wire_array_of(&arrays[MAPPINGS], WIRE_INT4, answers->count, &answers->mappings);
	wire_array_of(&arrays[ADDRESSES], WIRE_INT8, answers->count, &answers->addresses);
	wire_array_of(&arrays[LINE_COUNTS], WIRE_INT4, answers->count, &answers->line_counts);
	wire_array_of(&arrays[LINES], WIRE_INT4, answers->line_count, &answers->lines);
	outcome = connection_run(connection, statements, 2, results, error);
	for (size_t i = 0; i < 2; i++)
		result_free(results[i]);
	for (size_t i = 0; i < ARRAYS; i++)
		buffer_fini(&arrays[i]);
	buffer_fini(&epoch);
	return outcome;
}

DbOutcome
symbol_work_settle(Connection *connection, const char *worker, const SymbolClaim *claim,
				   const SymbolOutcome *ended, DbError *error)
{
	Buffer build_id = { NULL };
	Buffer name = { NULL };
	Buffer answered = { NULL };
	Buffer source = { NULL };
	Buffer reason = { NULL };
	const Statement statement = {
		.sql = "SELECT profstore.settle_symbol_work($1, $2, $3, nullif($4, ''), nullif($5, ''))",
		.failure = "could not settle a build",
		.keep = true,
		.param_count = 5,
		.params = { { WIRE_TEXT, &build_id },
					{ WIRE_TEXT, &name },
					{ WIRE_INT8, &answered },
					{ WIRE_TEXT, &source },
					{ WIRE_TEXT, &reason } },
	};
	DbOutcome outcome;

	symbol_work_put_string(&build_id, claim->build_id);
	symbol_work_put_string(&name, worker);
	buffer_put_int8(&answered, ended->answered);
	symbol_work_put_string(&source, ended->source);
	symbol_work_put_string(&reason, ended->error);
	outcome = connection_execute(connection, &statement, error);
	buffer_fini(&build_id);
	buffer_fini(&name);
	buffer_fini(&answered);
	buffer_fini(&source);
	buffer_fini(&reason);
	return outcome;
}

DbOutcome
symbol_work_listen(Connection *connection, DbError *error)
{
	static const Statement statement = { .sql = "LISTEN profstore_symbols",
										 .failure = "could not listen for debug information" };

	return connection_execute(connection, &statement, error);
}
