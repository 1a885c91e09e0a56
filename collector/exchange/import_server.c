/*
 * import_server.c
 *		Calls the importing functions of the server.
 */
#include "exchange/import_server.h"

#include <string.h>

/* Microseconds from 1970 to 2000, PostgreSQL's epoch. */
#define EPOCH_DIFFERENCE_US INT64_C(946684800000000)

/* The statement for each ProfileFormat. A missing time is passed as an empty text. */
static const char *const statements[] = {
	"SELECT profstore.import_pprof($1, $2::jsonb, nullif($3, '')::timestamptz)",
	"SELECT profstore.import_folded(convert_from($1, 'UTF8'), $2::jsonb, nullif($3, '')::timestamptz)",
	("SELECT profstore.import_perf_script(convert_from($1, 'UTF8'), $2::jsonb, "
	 "nullif($3, '')::timestamptz)"),
};

static void
take_facts(const Result *result, ImportFacts *facts)
{
	facts->has_time = !result_is_null(result, 0);
	facts->takes_texts = result_is(result, 1, true);
	/* infinite times are the limits of int8; the server refuses times that are out of range */
	if (__builtin_add_overflow(result_int8(result, 0), EPOCH_DIFFERENCE_US, &facts->time_us))
		facts->time_us = INT64_MAX;
}

DbOutcome
import_ask(Connection *connection, const char *at, ImportFacts *facts, DbError *error)
{
	Buffer time = { NULL };
	const Statement statement = {
		.sql = "SELECT nullif($1, '')::timestamptz, pg_catalog.getdatabaseencoding() = 'UTF8'",
		.failure = "could not read the time",
		.param_count = 1,
		.params = { { WIRE_TEXT, &time } }
	};
	Result *result;
	DbOutcome outcome;

	buffer_put_bytes(&time, at ? at : "", at ? strlen(at) : 0);
	outcome = connection_run(connection, &statement, 1, &result, error);
	buffer_fini(&time);
	if (outcome != DB_OK)
		return outcome;
	take_facts(result, facts);
	result_free(result);
	return DB_OK;
}

DbOutcome
import_by_server(Connection *connection, const ServerImport *import, int64_t *samples,
				 DbError *error)
{
	Buffer at = { NULL };
	const Statement statement = { .sql = statements[import->format],
								  .failure = "could not import file",
								  .keep = true,
								  .param_count = 3,
								  .params = { { WIRE_BYTEA, import->content },
											  { WIRE_TEXT, import->labels },
											  { WIRE_TEXT, &at } } };
	Result *result;
	DbOutcome outcome;

	buffer_put_bytes(&at, import->at ? import->at : "", import->at ? strlen(import->at) : 0);
	outcome = connection_run(connection, &statement, 1, &result, error);
	buffer_fini(&at);
	if (outcome != DB_OK)
		return outcome;
	*samples = result_int8(result, 0);
	result_free(result);
	return DB_OK;
}
