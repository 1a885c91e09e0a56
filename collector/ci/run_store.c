/*
 * run_store.c
 *		SQL of the command ci.
 */
#include "ci/run_store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "ci/run_profile.h"
#include "insight/statistic/plain_name.h"
#include "writer/writer.h"

#define QUEUE_BYTES ((size_t) 1 << 30)
#define STORE_MS	(5 * 60 * 1000)
#define TABLE_BYTES ((size_t) 1 << 30)

/*
 * $1 and $2 are matchers, oldest is the time of the oldest earlier run; an empty $2 picks no
 * earlier runs. Values of one run have one time.
 */
#define PICKED(type, oldest)                                                            \
	"(SELECT series_id, profile_type, labels, '-infinity'::timestamptz AS oldest FROM " \
	"profstore.matching_series('" type "{' || $1 || '}') UNION ALL SELECT series_id, "  \
	"profile_type, labels, " oldest " FROM "                                            \
	"profstore.matching_series('" type "{' || $2 || '}') WHERE $2 <> '')"
#define OLDEST_OF_AGE  "now() - $3::interval"
#define OLDEST_OF_TIME "timestamptz 'epoch' + $3::int8 * interval '1 microsecond'"
#define RUN_KEY		   "(extract(epoch FROM s.time) * 1000000)::int8, r.labels ->> 'ci_job'"
#define OF_RUN		   "JOIN profstore.samples s ON s.series_id = r.series_id AND s.time >= r.oldest"

static const char runs_sql[] =
	"SELECT " RUN_KEY ", r.labels ->> 'ci_side' = 'base', "
	"(sum(s.value) FILTER (WHERE r.profile_type = '" CI_RUN_CPU_TYPE "'))::float8, "
	"coalesce(sum(s.value) FILTER (WHERE r.profile_type = '" CI_RUN_WALL_TYPE "'), 0)::float8, "
	"bool_or(r.profile_type = '" CI_RUN_FAILED_TYPE "'), "
	"bool_or(r.profile_type = '" CI_RUN_ACCEPTED_TYPE "') "
	"FROM (SELECT * FROM " PICKED(CI_RUN_CPU_TYPE, OLDEST_OF_AGE) " c UNION SELECT * FROM " PICKED(
		CI_RUN_WALL_TYPE,
		OLDEST_OF_AGE) " w UNION SELECT * FROM " PICKED(CI_RUN_FAILED_TYPE,
														OLDEST_OF_AGE) " f UNION SELECT * FROM " PICKED(CI_RUN_ACCEPTED_TYPE,
																										OLDEST_OF_AGE) " a) r " OF_RUN
																													   " GROUP BY s.time, r.labels "
																													   "ORDER BY 1, 2";

static const char functions_sql[] =
	"SELECT m.time, m.job, t.function, t.self::float8 FROM (SELECT " RUN_KEY
	", profstore.merge_stacks(s.stack_id, s.value) FROM (SELECT DISTINCT * FROM " PICKED(
		CI_CPU_TYPE, OLDEST_OF_TIME) " p) r " OF_RUN
									 " GROUP BY s.time, r.labels) m (time, job, sums), "
									 "LATERAL profstore.top_of(m.sums, 10000) t WHERE t.self > 0";

void
run_table_init(RunTable *table)
{
	*table = (RunTable){ .budget = { .limit_bytes = TABLE_BYTES } };
	arena_init(&table->arena, &table->budget);
	table_init(&table->functions, &table->budget, sizeof(const char *));
}

void
run_table_fini(RunTable *table)
{
	table_fini(&table->functions);
	arena_fini(&table->arena);
	free(table->runs);
	free(table->selves);
}

ExitCode
run_history_check(const char *conninfo, const char *history, Failure *failure)
{
	Connection connection = { .wake_fd = -1 };
	Buffer text = { NULL };
	const Statement statement = { .sql = "SELECT now() - $1::interval",
								  .failure = "could not read --history",
								  .param_count = 1,
								  .params = { { WIRE_TEXT, &text } } };
	DbError error;
	DbOutcome outcome = connection_open(&connection, conninfo, &error);

	buffer_put_bytes(&text, history, strlen(history));
	if (outcome == DB_OK)
		outcome = connection_execute(&connection, &statement, &error);
	buffer_fini(&text);
	connection_close(&connection);
	if (outcome == DB_OK)
		return EXIT_OK;
	*failure = error.failure;
	/* malformed, or out of range */
	if (strncmp(error.sqlstate, "22", 2) == 0)
	{
		failure->code = EXIT_CONFIG;
		failure_hint(failure, "--history takes an interval of PostgreSQL, such as '30 days'.");
	}
	return failure->code;
}

/* --- writing --- */

/* The outcome of the batch. The writer's thread writes it, and is joined before it is read. */
typedef struct StoreEnd
{
	ExitCode code;
	Failure failure;
} StoreEnd;

/* Notes the result of the batch; a BatchCallback. */
static void
store_on_end(void *context, const BatchResult *result)
{
	StoreEnd *end = context;

	if (result->end == BATCH_STORED)
		return;
	failure_set(&end->failure, EXIT_DATABASE, "could not store the runs");
	if (result->why != NULL)
		end->failure = *result->why;
	end->code = end->failure.code;
}

ExitCode
run_store(const char *conninfo, Batch *batch, Failure *failure)
{
	const WriterOptions options = {
		.conninfo = conninfo, .node = "", .queue_bytes = QUEUE_BYTES, .denied_ms = 1
	};
	StoreEnd end = { .code = EXIT_OK };
	const BatchCallback callback = { .function = store_on_end, .context = &end };
	Writer *writer = NULL;
	int error;
	ExitCode code = writer_create(&options, &writer, failure);

	if (code != EXIT_OK)
	{
		batch_free(batch);
		return code;
	}
	error = writer_start(writer);
	if (error == 0)
		error = writer_submit(writer, batch, &callback);
	if (error != 0)
	{
		batch_free(batch);
		writer_free(writer);
		failure_set(failure, EXIT_INTERNAL, "could not store the runs");
		failure_detail(failure, "%s.", strerror(-error));
		return failure->code;
	}
	writer_drain(writer, STORE_MS);
	writer_free(writer); /* afterwards the callback has been called */
	if (end.code != EXIT_OK)
		*failure = end.failure;
	return end.code;
}

/* --- reading --- */

void
run_matcher_put(Buffer *matchers, const char *name, const char *operator, const char * value)
{
	if (matchers->length > 0)
		buffer_put_bytes(matchers, ",", 1);
	buffer_put_bytes(matchers, name, strlen(name));
	buffer_put_bytes(matchers, operator, strlen(operator));
	buffer_put_bytes(matchers, "\"", 1);
	for (; *value != '\0'; value++)
	{
		if (*value == '"' || *value == '\\')
			buffer_put_bytes(matchers, "\\", 1);
		buffer_put_bytes(matchers, value, 1);
	}
	buffer_put_bytes(matchers, "\"", 1);
}

static const char *
table_text(RunTable *table, const char *bytes, size_t length)
{
	char *copy = arena_alloc(&table->arena, length + 1);

	if (copy != NULL)
	{
		memcpy(copy, bytes, length);
		copy[length] = '\0';
	}
	return copy;
}

int
run_table_add(RunTable *table, const StoredRun *run)
{
	if (grow_array(&table->runs, &table->run_capacity, table->run_count, sizeof(StoredRun)) != 0)
		return -ENOMEM;
	table->runs[table->run_count++] = *run;
	return 0;
}

static ExitCode
table_take_runs(RunTable *table, const Result *result, Failure *failure)
{
	for (size_t row = 0; row < result_rows(result); row++)
	{
		size_t length;
		const char *job = result_bytes_at(result, row, 1, &length);
		StoredRun run;

		if (result_is_null_at(result, row, 3))
			continue;
		run = (StoredRun){ .time_us = result_int8_at(result, row, 0),
						   .job = table_text(table, job, length),
						   .is_base = *result_bytes_at(result, row, 2, NULL) != 0,
						   .cpu_ns = result_float8_at(result, row, 3),
						   .wall_ns = result_float8_at(result, row, 4),
						   .has_failed = *result_bytes_at(result, row, 5, NULL) != 0,
						   .is_accepted = *result_bytes_at(result, row, 6, NULL) != 0 };
		if (run.job == NULL || run_table_add(table, &run) != 0)
			return failure_out_of_memory(failure);
	}
	return EXIT_OK;
}

/* Returns the run of a time and job, or NULL. The runs are sorted by time. */
static StoredRun *
table_find_run(const RunTable *table, int64_t time_us, const char *job)
{
	size_t low = 0;
	size_t high = table->run_count;

	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (table->runs[middle].time_us < time_us)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < table->run_count && table->runs[low].time_us == time_us; low++)
	{
		if (strcmp(table->runs[low].job, job) == 0)
			return &table->runs[low];
	}
	return NULL;
}

static bool
plain_name_equal(const void *item, const void *key)
{
	return strcmp(*(const char *const *) item, key) == 0;
}

/* Returns the number of a function by its plain name; UINT32_MAX on out of memory. */
static uint32_t
table_function(RunTable *table, const char *name, size_t length)
{
	char *plain = malloc(length + 1);
	uint32_t position = UINT32_MAX;
	size_t plain_length;
	uint64_t hash;
	double *grown;

	if (plain == NULL)
		return UINT32_MAX;
	plain_length = pfs_plain_name(name, length, plain);
	plain[plain_length] = '\0';
	hash = hash_bytes(table->functions.seed, plain, plain_length);
	if (!table_find(&table->functions, hash, plain_name_equal, plain, &position))
	{
		const char *kept = table_text(table, plain, plain_length);

		grown = reallocarray(table->selves, (table->functions.count + 1) * table->run_count,
							 sizeof(double));
		if (grown != NULL)
			table->selves = grown;
		if (kept != NULL && grown != NULL && table_reserve(&table->functions) == 0)
		{
			position = table->functions.count;
			*(const char **) table_append(&table->functions, hash) = kept;
			for (size_t run = 0; run < table->run_count; run++)
				grown[position * table->run_count + run] = 0;
		}
	}
	free(plain);
	return position;
}

static ExitCode
table_take_functions(RunTable *table, const Result *result, Failure *failure)
{
	for (size_t row = 0; row < result_rows(result); row++)
	{
		size_t length;
		const char *name = result_bytes_at(result, row, 2, &length);
		StoredRun *run = table_find_run(table, result_int8_at(result, row, 0),
										result_bytes_at(result, row, 1, NULL));
		double self = result_float8_at(result, row, 3);
		uint32_t function;

		if (run == NULL)
			continue;
		function = table_function(table, name, length);
		if (function == UINT32_MAX)
			return failure_out_of_memory(failure);
		table->selves[function * table->run_count + (size_t) (run - table->runs)] += self;
		run->sampled_ns += self;
	}
	return EXIT_OK;
}

/*
 * Runs a query about picked runs: its parameters are the matchers of the job's own runs and of the
 * earlier ones, and the time of the oldest earlier run.
 */
static ExitCode
pick_run(Connection *connection, const char *sql, const char *failed, const RunPick *pick,
		 const char *oldest, Result **result, Failure *failure)
{
	const char *texts[3] = { pick->own, pick->earlier == NULL ? "" : pick->earlier, oldest };
	Statement statement = { .sql = sql, .failure = failed, .param_count = 3 };
	Buffer params[3] = { 0 };
	DbOutcome outcome;
	DbError error;

	for (int i = 0; i < 3; i++)
	{
		buffer_put_bytes(&params[i], texts[i], strlen(texts[i]));
		statement.params[i] = (StatementParam){ WIRE_TEXT, &params[i] };
	}
	outcome = connection_run(connection, &statement, 1, result, &error);
	for (int i = 0; i < 3; i++)
		buffer_fini(&params[i]);
	if (outcome == DB_OK)
		return EXIT_OK;
	*failure = error.failure;
	return failure->code;
}

ExitCode
run_table_read(RunTable *table, Connection *connection, const RunPick *pick, const char *history,
			   Failure *failure)
{
	Result *result;
	ExitCode code =
		pick_run(connection, runs_sql, "could not read the runs", pick, history, &result, failure);

	if (code != EXIT_OK)
		return code;
	code = table_take_runs(table, result, failure);
	result_free(result);
	return code;
}

void
run_table_forget(RunTable *table, int64_t oldest_us)
{
	size_t older = 0;

	while (older < table->run_count && table->runs[older].time_us < oldest_us)
		older++;
	table->run_count -= older;
	if (older > 0)
		memmove(table->runs, table->runs + older, table->run_count * sizeof(StoredRun));
}

ExitCode
run_table_read_functions(RunTable *table, Connection *connection, const RunPick *pick,
						 Failure *failure)
{
	char oldest[24] = "0";
	Result *result;
	ExitCode code;

	if (table->run_count > 0)
		snprintf(oldest, sizeof(oldest), "%" PRId64, table->runs[0].time_us);
	code = pick_run(connection, functions_sql, "could not read the runs' samples", pick, oldest,
					&result, failure);
	if (code != EXIT_OK)
		return code;
	code = table_take_functions(table, result, failure);
	result_free(result);
	return code;
}
