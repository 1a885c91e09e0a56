/*
 * trip.c
 *		Statements of a round trip, and ids from their answers.
 */
#include "writer/trip.h"

#include <stdlib.h>

/*
 * Items that one call interns: keeps statements short, and parameters far below PostgreSQL's 1 GB.
 */
#define REQUEST_MAX_ITEMS 20000

bool
intern_round_init(InternRound *round, size_t capacity)
{
	*round = (InternRound){ 0 };
	round->requests = calloc(capacity, sizeof(InternRequest));
	round->statements = calloc(capacity, sizeof(Statement));
	round->results = calloc(capacity, sizeof(Result *));
	return round->requests != NULL && round->statements != NULL && round->results != NULL;
}

void
intern_round_fini(InternRound *round)
{
	for (size_t i = 0; round->requests != NULL && i < round->count; i++)
		for (int j = 0; j < STATEMENT_MAX_PARAMS; j++)
			buffer_fini(&round->requests[i].buffers[j]);
	for (size_t i = 0; round->results != NULL && i < round->count; i++)
		result_free(round->results[i]);
	free(round->requests);
	free(round->statements);
	free(round->results);
}

void
intern_round_add_command(InternRound *round, const char *sql, const char *failure)
{
	round->statements[round->count++] = (Statement){ .sql = sql, .failure = failure };
}

/*
 * Ids that are known from earlier transactions stay valid until this one ends; where their epoch is
 * over, it fails.
 */
void
intern_round_add_begin(InternRound *round, const InternWork *work)
{
	InternRequest *request;

	intern_round_add_command(round, "BEGIN", "could not begin a transaction");
	request = &round->requests[round->count];
	buffer_put_int8(&request->buffers[0], work->session->identity.epoch);
	round->statements[round->count++] =
		(Statement){ .sql = "SELECT profstore.pin_epoch($1)",
					 .failure = "could not pin the epoch of ids",
					 .param_count = 1,
					 .params = { { WIRE_INT8, &request->buffers[0] } } };
}

static void
round_add_request(InternRound *round, const InternWork *work, InternKind *kind, uint32_t first,
				  uint32_t count)
{
	const InternRule *rule = kind->rule;
	InternRequest *request = &round->requests[round->count];
	Statement *statement = &round->statements[round->count++];

	*request = (InternRequest){ .kind = kind, .first = first, .count = count };
	rule->encode(work, kind->missing + first, count, request->buffers);
	*statement =
		(Statement){ .sql = rule->sql, .failure = rule->failure, .param_count = rule->param_count };
	for (int i = 0; i < rule->param_count; i++)
		statement->params[i] =
			(StatementParam){ .type = rule->param_types[i], .value = &request->buffers[i] };
}

/* How many of the missing items from first on go into one request: stacks of one partition. */
static uint32_t
request_length(const InternWork *work, const InternKind *kind, uint32_t first)
{
	uint32_t count = 1;

	while (first + count < kind->missing_count && count < REQUEST_MAX_ITEMS)
	{
		if (kind == &work->kinds[KIND_STACK] &&
			work->stacks[kind->missing[first]].partition !=
				work->stacks[kind->missing[first + count]].partition)
			break;
		count++;
	}
	return count;
}

size_t
intern_request_count(const InternWork *work, int first_kind, int last_kind)
{
	size_t count = 0;

	for (int i = first_kind; i <= last_kind; i++)
		for (uint32_t at = 0; at < work->kinds[i].missing_count; count++)
			at += request_length(work, &work->kinds[i], at);
	return count;
}

void
intern_round_add_kind(InternRound *round, const InternWork *work, InternKind *kind)
{
	uint32_t length;

	for (uint32_t first = 0; first < kind->missing_count; first += length)
	{
		length = request_length(work, kind, first);
		round_add_request(round, work, kind, first, length);
	}
}

/* False where the answer is not an array with an id for each item of the request. */
static bool
ids_from_result(const InternKind *kind, const InternRequest *request, const Result *result)
{
	const uint32_t *indexes = kind->missing + request->first;
	size_t count = request->count;
	int64_t *ids = calloc(count, sizeof(int64_t));
	bool good = false;

	if (ids != NULL && result_is_row(result, 1))
	{
		size_t length;
		const char *bytes = result_bytes(result, 0, &length);

		good = wire_ints(bytes, length, kind->rule->result_type, count, ids);
	}
	for (size_t i = 0; good && i < count; i++)
		kind->ids[indexes[i]] = ids[i];
	free(ids);
	return good;
}

DbOutcome
intern_round_run(InternRound *round, InternWork *work)
{
	DbOutcome outcome = connection_run(&work->session->connection, round->statements, round->count,
									   round->results, work->error);

	for (size_t i = 0; outcome == DB_OK && i < round->count; i++)
	{
		const InternRequest *request = &round->requests[i];
		InternKind *kind = request->kind;

		if (kind == NULL)
			continue;
		if (!ids_from_result(kind, request, round->results[i]))
		{
			db_error_set(work->error, NULL, kind->rule->failure,
						 "The answer is not an array with an id for each item.", NULL);
			connection_close(&work->session->connection);
			return DB_REFUSED;
		}
	}
	return outcome;
}
