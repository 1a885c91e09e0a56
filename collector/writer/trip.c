/*
 * trip.c
 *		Collects statements and stores their answers.
 */
#include "writer/trip.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/*
 * Limit of the items that one call interns, which keeps statements short, and parameters far below
 * PostgreSQL's limit of 1 GB.
 */
#define REQUEST_MAX_ITEMS 20000

#define CAPACITY_MIN 32

static void
trip_empty(Trip *trip)
{
	for (size_t i = 0; i < trip->count; i++)
	{
		for (int j = 0; trip->requests[i].buffers != NULL && j < STATEMENT_MAX_PARAMS; j++)
			buffer_fini(&trip->requests[i].buffers[j]);
		free(trip->requests[i].buffers);
	}
	trip->count = 0;
}

void
trip_fini(Trip *trip)
{
	trip_empty(trip);
	free(trip->requests);
	free(trip->statements);
	*trip = (Trip){ 0 };
}

/*
 * Makes room for one statement. Returns false on out of memory, also if an earlier statement met
 * it.
 */
static bool
trip_reserve(Trip *trip)
{
	size_t capacity = trip->capacity ? trip->capacity * 2 : CAPACITY_MIN;
	TripRequest *requests;
	Statement *statements;

	if (trip->failed || trip->count < trip->capacity)
		return !trip->failed;
	/*
	 * Each array is kept as soon as it has grown: if the second one fails, the first is only larger
	 * than needed.
	 */
	requests = realloc(trip->requests, capacity * sizeof(requests[0]));
	trip->requests = requests ? requests : trip->requests;
	statements = realloc(trip->statements, capacity * sizeof(statements[0]));
	trip->statements = statements ? statements : trip->statements;
	trip->failed = requests == NULL || statements == NULL;
	if (!trip->failed)
		trip->capacity = capacity;
	return !trip->failed;
}

void
trip_add(Trip *trip, const Statement *statement, bool *is_true)
{
	if (!trip_reserve(trip))
		return;
	trip->requests[trip->count] = (TripRequest){ .is_true = is_true };
	trip->statements[trip->count++] = *statement;
}

/* Adds a request that interns count of a kind's missing items. */
static void
add_request(Trip *trip, const InternWork *work, InternKind *kind, uint32_t first, uint32_t count)
{
	const InternRule *rule = kind->rule;
	Statement statement = {
		.sql = rule->sql, .failure = rule->failure, .keep = true, .param_count = rule->param_count
	};
	Buffer *buffers;

	if (!trip_reserve(trip))
		return;
	buffers = calloc(STATEMENT_MAX_PARAMS, sizeof(Buffer));
	if (buffers == NULL)
	{
		trip->failed = true;
		return;
	}
	/* The parameters live until trip_empty(), because libpq reads them when the trip runs. */
	rule->encode(work, kind->missing + first, count, buffers);
	for (int i = 0; i < rule->param_count; i++)
		statement.params[i] = (StatementParam){ rule->param_types[i], &buffers[i] };
	trip->requests[trip->count] =
		(TripRequest){ .kind = kind, .first = first, .count = count, .buffers = buffers };
	trip->statements[trip->count++] = statement;
}

void
trip_add_kind(Trip *trip, const InternWork *work, InternKind *kind)
{
	for (uint32_t first = 0; first < kind->missing_count; first += REQUEST_MAX_ITEMS)
		add_request(trip, work, kind, first, MIN(kind->missing_count - first, REQUEST_MAX_ITEMS));
}

/*
 * Stores the ids of an answer. Returns false if it is not an array with one id for each item of the
 * request.
 */
static bool
ids_from_result(const TripRequest *request, const Result *result)
{
	const InternKind *kind = request->kind;
	const uint32_t *indexes = kind->missing + request->first;
	size_t count = request->count;
	int64_t *ids = calloc(count, sizeof(int64_t));
	bool good = false;

	if (ids != NULL && result_is_row(result, 1))
	{
		size_t length;
		const char *bytes = result_bytes(result, 0, &length);

		/* checks type and length of the array, whose content comes from the server */
		good = wire_ints(bytes, length, kind->rule->result_type, count, ids);
	}
	for (size_t i = 0; good && i < count; i++)
		kind->ids[indexes[i]] = ids[i];
	free(ids);
	return good;
}

/*
 * Stores all answers. A malformed answer closes the connection, because a transaction may be open.
 */
static DbOutcome
take_answers(const Trip *trip, Result *const *results, Connection *connection, DbError *error)
{
	for (size_t i = 0; i < trip->count; i++)
	{
		const TripRequest *request = &trip->requests[i];

		/* result_is() is false for NULL, too */
		if (request->is_true != NULL)
			*request->is_true = result_is(results[i], 0, true);
		if (request->kind != NULL && !ids_from_result(request, results[i]))
		{
			db_error_set(error, NULL, trip->statements[i].failure,
						 "The answer is not an array with an id for each item.", NULL);
			connection_close(connection);
			return DB_REFUSED;
		}
	}
	return DB_OK;
}

DbOutcome
trip_run(Trip *trip, Connection *connection, DbError *error)
{
	Result **results;
	DbOutcome outcome;

	/* nothing to send is not a failure */
	if (trip->count == 0 && !trip->failed)
		return DB_OK;
	results = trip->failed ? NULL : calloc(trip->count, sizeof(Result *));
	if (results == NULL)
	{
		db_error_set(error, NULL, "could not store a batch", "Out of memory.", NULL);
		connection_close(connection); /* a transaction may be open */
		return DB_REFUSED;
	}
	outcome = connection_run(connection, trip->statements, trip->count, results, error);
	if (outcome == DB_OK)
		outcome = take_answers(trip, results, connection, error);
	for (size_t i = 0; i < trip->count; i++)
		result_free(results[i]);
	free(results);
	trip_empty(trip);
	return outcome;
}
