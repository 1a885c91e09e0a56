/*
 * store.c
 *		Partitions, begin_batch, losses, unwind counts, the target's state, COPY.
 *
 * Three round trips for a batch: BEGIN with begin_batch, the series' times, losses, counts and the
 * target's state; COPY; data and COMMIT.
 */
#include "writer/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/hash.h"

#define DAY_US		   (INT64_C(24) * 60 * 60 * 1000000)
#define DAYS_MAX_BYTES (64 * 1024)

/*
 * What goes to libpq at once: large enough for few calls, small enough for the processor's cache.
 */
#define COPY_PIECE_BYTES (64 * 1024)

static int
draw_uuid(char uuid[WRITER_UUID_BYTES])
{
	if (getrandom(uuid, WRITER_UUID_BYTES, 0) != WRITER_UUID_BYTES)
		return -errno;

	/* version 4, variant 1: what RFC 9562 wants of a random UUID */
	uuid[6] = (char) ((uuid[6] & 0x0F) | 0x40);
	uuid[8] = (char) ((uuid[8] & 0x3F) | 0x80);
	return 0;
}

int
store_init(Store *store, const char *node, const char *uuid)
{
	*store = (Store){ .budget = { .limit_bytes = DAYS_MAX_BYTES } };
	if (uuid != NULL)
		memcpy(store->writer, uuid, sizeof(store->writer));
	else if (draw_uuid(store->writer) != 0)
		return -errno;
	strncpy(store->node, node, sizeof(store->node) - 1);
	table_init(&store->days, &store->budget, sizeof(int64_t));
	return 0;
}

void
store_fini(Store *store)
{
	table_fini(&store->days);
	buffer_fini(&store->rows);
}

void
store_forget(Store *store)
{
	table_fini(&store->days);
}

static int64_t
day_of(int64_t time_us)
{
	return time_us >= 0 ? time_us / DAY_US : -((-(time_us + 1)) / DAY_US) - 1;
}

static int64_t
now_us(void)
{
	return clock_ns(CLOCK_REALTIME) / 1000;
}

static bool
day_equal(const void *item, const void *key)
{
	return *(const int64_t *) item == *(const int64_t *) key;
}

static bool
day_is_known(const Store *store, int64_t day)
{
	uint32_t position;

	return table_find(&store->days, hash_word(store->days.seed, (uint64_t) day), day_equal, &day,
					  &position);
}

static void
day_remember(Store *store, int64_t day)
{
	/* full of days: begin anew, what is asked for twice is cheap */
	if (table_reserve(&store->days) != 0)
	{
		table_fini(&store->days);
		if (table_reserve(&store->days) != 0)
			return;
	}
	*(int64_t *) table_append(&store->days, hash_word(store->days.seed, (uint64_t) day)) = day;
}

static void
put_timestamp(Buffer *buffer, int64_t time_us)
{
	int64_t timestamp_us;

	if (!wire_timestamp(time_us, &timestamp_us))
		timestamp_us = time_us < 0 ? INT64_MIN : INT64_MAX; /* -infinity, infinity: refused */
	buffer_put_int8(buffer, timestamp_us);
}

static DbOutcome
ensure_day(Store *store, Connection *connection, int64_t day, DbError *error)
{
	Buffer from = { NULL };
	Buffer to = { NULL };
	Statement statement = { .sql = "SELECT profstore.ensure_partitions($1, $2)",
							.failure = "could not make a partition",
							.param_count = 2,
							.params = { { WIRE_TIMESTAMPTZ, &from }, { WIRE_TIMESTAMPTZ, &to } } };
	Result *result;
	DbOutcome outcome;
	int64_t start_us;

	if (day_is_known(store, day))
		return DB_OK;
	if (__builtin_mul_overflow(day, DAY_US, &start_us))
		start_us = day < 0 ? INT64_MIN : INT64_MAX;
	put_timestamp(&from, start_us);
	put_timestamp(&to, start_us);
	outcome = connection_run(connection, &statement, 1, &result, error);
	if (outcome == DB_OK)
	{
		result_free(result);
		day_remember(store, day);
	}
	buffer_fini(&from);
	buffer_fini(&to);
	return outcome;
}

DbOutcome
store_ensure_partitions(Store *store, Connection *connection, const Batch *batch, DbError *error)
{
	const BatchSample *samples;
	size_t count = batch_samples(batch, &samples);
	int64_t today = day_of(now_us());
	int64_t last_day = INT64_MIN;

	for (size_t i = 0; i < count; i++)
	{
		int64_t day = day_of(samples[i].time_us);
		DbOutcome outcome;

		if (day == last_day)
			continue;
		last_day = day;
		outcome = ensure_day(store, connection, day, error);

		/* made ahead, so that midnight waits for nobody */
		if (outcome == DB_OK && day == today)
			outcome = ensure_day(store, connection, day + 1, error);
		if (outcome != DB_OK)
			return outcome;
	}
	return DB_OK;
}

/* Parameters of the statements that open a batch's transaction. */
typedef struct Opening
{
	Buffer writer;
	Buffer number;
	Buffer epoch;
	Buffer series_ids;
	Buffer first_time;
	Buffer last_time;
	Buffer node;
	Buffer reasons;
	Buffer counts;
	Buffer exes;
	Buffer stacks;
	Buffer complete;
} Opening;

static void
opening_fini(Opening *opening)
{
	buffer_fini(&opening->writer);
	buffer_fini(&opening->number);
	buffer_fini(&opening->epoch);
	buffer_fini(&opening->series_ids);
	buffer_fini(&opening->first_time);
	buffer_fini(&opening->last_time);
	buffer_fini(&opening->node);
	buffer_fini(&opening->reasons);
	buffer_fini(&opening->counts);
	buffer_fini(&opening->exes);
	buffer_fini(&opening->stacks);
	buffer_fini(&opening->complete);
}

static void
put_unwound(Opening *opening, const Batch *batch)
{
	const BatchUnwound *unwound;
	size_t count = batch_unwound(batch, &unwound);

	wire_array(&opening->exes, WIRE_TEXT, count);
	wire_array(&opening->stacks, WIRE_INT8, count);
	wire_array(&opening->complete, WIRE_INT8, count);
	for (size_t i = 0; i < count; i++)
	{
		wire_text_element(&opening->exes, unwound[i].exe);
		wire_int8_element(&opening->stacks, (int64_t) unwound[i].stacks);
		wire_int8_element(&opening->complete, (int64_t) unwound[i].complete);
	}
}

static void
opening_init(Opening *opening, const Store *store, const Session *session, const Batch *batch,
			 uint64_t number, const BatchIds *ids)
{
	const BatchSample *samples;
	const BatchSeries *series;
	const BatchLoss *losses;
	size_t sample_count = batch_samples(batch, &samples);
	size_t series_count = batch_series(batch, &series);
	size_t loss_count = batch_losses(batch, &losses);
	int64_t first_us = sample_count ? samples[0].time_us : now_us();
	int64_t last_us = first_us;

	*opening = (Opening){ { NULL } };
	for (size_t i = 0; i < sample_count; i++)
	{
		first_us = samples[i].time_us < first_us ? samples[i].time_us : first_us;
		last_us = samples[i].time_us > last_us ? samples[i].time_us : last_us;
	}
	buffer_put_bytes(&opening->writer, store->writer, sizeof(store->writer));
	buffer_put_int8(&opening->number, (int64_t) number);
	buffer_put_int8(&opening->epoch, session->identity.epoch);
	put_timestamp(&opening->first_time, first_us);
	put_timestamp(&opening->last_time, last_us);
	buffer_put_bytes(&opening->node, store->node, strlen(store->node));

	wire_array(&opening->series_ids, WIRE_INT4, series_count);
	for (size_t i = 0; i < series_count; i++)
		wire_int4_element(&opening->series_ids, (int32_t) ids->series[i]);
	wire_array(&opening->reasons, WIRE_TEXT, loss_count);
	wire_array(&opening->counts, WIRE_INT8, loss_count);
	for (size_t i = 0; i < loss_count; i++)
	{
		wire_text_element(&opening->reasons, losses[i].reason);
		wire_int8_element(&opening->counts, (int64_t) losses[i].count);
	}
	put_unwound(opening, batch);
}

/*
 * Opens the transaction and stores what is not a sample. *known where the batch was stored before;
 * the transaction is then to be rolled back, since the statements after begin_batch ran all the
 * same.
 */
static DbOutcome
open_transaction(Opening *opening, Connection *connection, bool *known, DbError *error)
{
	const Statement statements[] = {
		{ .sql = "BEGIN", .failure = "could not begin a transaction" },
		{ .sql = "SELECT profstore.begin_batch($1, $2, $3)",
		  .failure = "could not begin a batch",
		  .param_count = 3,
		  .params = { { WIRE_UUID, &opening->writer },
					  { WIRE_INT8, &opening->number },
					  { WIRE_INT8, &opening->epoch } } },
		{ .sql = "SELECT profstore.touch_series($1, $2, $3)",
		  .failure = "could not store the times of series",
		  .param_count = 3,
		  .params = { { WIRE_INT4_ARRAY, &opening->series_ids },
					  { WIRE_TIMESTAMPTZ, &opening->first_time },
					  { WIRE_TIMESTAMPTZ, &opening->last_time } } },
		{ .sql =
			  "INSERT INTO profstore.losses (time, node, reason, count)"
			  " SELECT $1, $2, l.reason, l.count"
			  " FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4)) AS l(reason, count)",
		  .failure = "could not store losses",
		  .param_count = 4,
		  .params = { { WIRE_TIMESTAMPTZ, &opening->first_time },
					  { WIRE_TEXT, &opening->node },
					  { WIRE_TEXT_ARRAY, &opening->reasons },
					  { WIRE_INT8_ARRAY, &opening->counts } } },
		{ .sql = "INSERT INTO profstore.unwind_counts AS c (day, node, exe, stacks, complete)"
				 " SELECT ($1 AT TIME ZONE 'UTC')::date, $2, u.exe, u.stacks, u.complete"
				 " FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4),"
				 " pg_catalog.unnest($5)) AS u(exe, stacks, complete) ORDER BY u.exe"
				 " ON CONFLICT (day, node, exe, role) DO UPDATE SET"
				 " stacks = c.stacks + excluded.stacks, complete = c.complete + excluded.complete",
		  .failure = "could not store unwind counts",
		  .param_count = 5,
		  .params = { { WIRE_TIMESTAMPTZ, &opening->first_time },
					  { WIRE_TEXT, &opening->node },
					  { WIRE_TEXT_ARRAY, &opening->exes },
					  { WIRE_INT8_ARRAY, &opening->stacks },
					  { WIRE_INT8_ARRAY, &opening->complete } } },
		{ .sql =
			  "INSERT INTO profstore.targets AS t (name, health, last_seen) VALUES ($1, 'up', $2)"
			  " ON CONFLICT (name, role) DO UPDATE SET health = 'up', last_error = NULL,"
			  " last_seen = GREATEST(t.last_seen, excluded.last_seen)",
		  .failure = "could not store the state of the target",
		  .param_count = 2,
		  .params = { { WIRE_TEXT, &opening->node }, { WIRE_TIMESTAMPTZ, &opening->last_time } } },
	};
	const size_t count = sizeof(statements) / sizeof(statements[0]);
	Result *results[sizeof(statements) / sizeof(statements[0])];
	DbOutcome outcome = connection_run(connection, statements, count, results, error);

	if (outcome != DB_OK)
		return outcome;
	*known = result_is(results[1], 0, false);
	for (size_t i = 0; i < count; i++)
		result_free(results[i]);
	return DB_OK;
}

static DbOutcome
end_transaction(Connection *connection, const char *sql, DbError *error)
{
	const Statement statement = { .sql = sql, .failure = "could not end a transaction" };
	Result *result;
	DbOutcome outcome = connection_run(connection, &statement, 1, &result, error);

	if (outcome == DB_OK)
		result_free(result);
	return outcome;
}

/* Samples and COMMIT. */
static DbOutcome
copy_samples(Store *store, Connection *connection, const Batch *batch, const BatchIds *ids,
			 DbError *error)
{
	const BatchSample *samples;
	size_t count = batch_samples(batch, &samples);
	DbOutcome outcome =
		connection_copy_begin(connection,
							  "COPY profstore.samples (time, series_id, stack_id, value)"
							  " FROM STDIN (FORMAT binary); COMMIT",
							  error);

	if (outcome != DB_OK)
		return outcome;
	buffer_reset(&store->rows);
	wire_copy_header(&store->rows);
	for (size_t i = 0; i < count; i++)
	{
		const BatchSample *sample = &samples[i];
		char *row = buffer_extend(&store->rows, WIRE_SAMPLE_BYTES);
		int64_t timestamp_us;

		if (row == NULL)
			break;

		/* where it overflows ensure_partitions has refused the batch before */
		if (!wire_timestamp(sample->time_us, &timestamp_us))
			timestamp_us = INT64_MIN;
		wire_copy_sample(row, timestamp_us, (int32_t) ids->series[sample->series],
						 ids->stacks[sample->stack], sample->value);
		if (store->rows.length >= COPY_PIECE_BYTES)
		{
			outcome = connection_copy_data(connection, &store->rows, error);
			if (outcome != DB_OK)
				return outcome;
		}
	}
	wire_copy_trailer(&store->rows);
	outcome = connection_copy_data(connection, &store->rows, error);
	return outcome == DB_OK ? connection_copy_end(connection, error) : outcome;
}

DbOutcome
store_batch(Store *store, Session *session, const Batch *batch, uint64_t number,
			const BatchIds *ids, DbError *error)
{
	Connection *connection = &session->connection;
	const BatchSample *samples;
	Opening opening;
	bool known = false;
	DbOutcome outcome;

	opening_init(&opening, store, session, batch, number, ids);
	outcome = open_transaction(&opening, connection, &known, error);
	opening_fini(&opening);
	if (outcome != DB_OK)
		return outcome;
	if (known)
		return end_transaction(connection, "ROLLBACK", error);
	if (batch_samples(batch, &samples) == 0)
		return end_transaction(connection, "COMMIT", error);
	return copy_samples(store, connection, batch, ids, error);
}
