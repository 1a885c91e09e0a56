/*
 * store.c
 *		The transaction of a batch: begin_batch, everything except samples, interning, COPY.
 *
 * 1. BEGIN, begin_batch, losses, unwinding counts and the target's state are collected.
 * 2. Missing content is interned; each round also sends the statements that were collected before.
 * 3. The series' times are sent with the first round after their ids are known.
 * 4. Traces follow, because their samples need ids.
 * 5. COPY, samples and COMMIT. Then the ids are added to the caches.
 *
 * If all ids are known, this takes three round trips. The answer of begin_batch arrives with the
 * first one. If the batch was stored before, everything is rolled back, because the later
 * statements of that trip have been executed already.
 */
#include "writer/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "writer/notes.h"

/*
 * Size of the pieces that are passed to libpq: large enough to need few calls, small enough for the
 * CPU's cache.
 */
#define COPY_PIECE_BYTES (64 * 1024)

/* Rows up to which a COPY with a condition costs less: copy_statement(). */
#define COPY_FILTERED_ROWS 20000

void
store_init(Store *store, const char *node, const Gate *gate)
{
	*store = (Store){ .gate = gate };
	strncpy(store->node, node, sizeof(store->node) - 1);
}

void
store_fini(Store *store)
{
	buffer_fini(&store->rows);
}

static int64_t
now_us(void)
{
	return clock_ns(CLOCK_REALTIME) / 1000;
}

typedef struct TimeRange
{
	int64_t first_us;
	int64_t last_us;
} TimeRange;

#define NO_TIMES ((TimeRange){ INT64_MAX, INT64_MIN })

/* Parameters of the statements before interning. */
typedef struct Opening
{
	Buffer writer;
	Buffer number;
	Buffer epoch;
	Buffer series_ids;
	Buffer first_times; /* one time for each series */
	Buffer last_times;
	Buffer first_time;
	Buffer last_time;
	Buffer node;
	bool has_samples;
	size_t loss_count;
	Buffer reasons;
	Buffer counts;
	Buffer exes;
	Buffer stacks;
	Buffer complete;
	Buffer receipts;
	Buffer trace_times; /* one time for each trace; the next five are for traces, too */
	Buffer trace_series;
	Buffer trace_stacks;
	Buffer trace_values;
	Buffer trace_ids;
	Buffer span_ids;
} Opening;

/* Frees all buffers. */
static void
opening_fini(Opening *opening)
{
	buffer_fini(&opening->writer);
	buffer_fini(&opening->number);
	buffer_fini(&opening->epoch);
	buffer_fini(&opening->series_ids);
	buffer_fini(&opening->first_times);
	buffer_fini(&opening->last_times);
	buffer_fini(&opening->first_time);
	buffer_fini(&opening->last_time);
	buffer_fini(&opening->node);
	buffer_fini(&opening->reasons);
	buffer_fini(&opening->counts);
	buffer_fini(&opening->exes);
	buffer_fini(&opening->stacks);
	buffer_fini(&opening->complete);
	buffer_fini(&opening->receipts);
	buffer_fini(&opening->trace_times);
	buffer_fini(&opening->trace_series);
	buffer_fini(&opening->trace_stacks);
	buffer_fini(&opening->trace_values);
	buffer_fini(&opening->trace_ids);
	buffer_fini(&opening->span_ids);
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
put_receipts(Opening *opening, const Batch *batch)
{
	const BatchReceipt *receipts;
	size_t count = batch_receipts(batch, &receipts);

	wire_array(&opening->receipts, WIRE_UUID, count);
	for (size_t i = 0; i < count; i++)
	{
		size_t begun = wire_begin(&opening->receipts);

		buffer_put_bytes(&opening->receipts, receipts[i].bytes, sizeof(receipts[i].bytes));
		wire_end(&opening->receipts, begun);
	}
}

/*
 * Encodes the parameters that need no ids: the time range of the batch, losses, unwinding counts
 * and receipts.
 */
static void
opening_init(Opening *opening, const Store *store, const Session *session, const Batch *batch,
			 const BatchId *id)
{
	const BatchSample *samples;
	const BatchLoss *losses;
	size_t sample_count = batch_samples(batch, &samples);
	size_t loss_count = batch_losses(batch, &losses);
	/* losses without samples are of the current time */
	int64_t first_us = sample_count ? samples[0].time_us : now_us();
	int64_t last_us = first_us;

	for (size_t i = 0; i < sample_count; i++)
	{
		first_us = MIN(first_us, samples[i].time_us);
		last_us = MAX(last_us, samples[i].time_us);
	}

	*opening = (Opening){ { NULL } };
	buffer_put_bytes(&opening->writer, id->writer, sizeof(id->writer));
	buffer_put_int8(&opening->number, (int64_t) id->number);
	buffer_put_int8(&opening->epoch, session->identity.epoch);
	wire_timestamp_param(&opening->first_time, first_us);
	wire_timestamp_param(&opening->last_time, last_us);
	buffer_put_bytes(&opening->node, store->node, strlen(store->node));

	opening->has_samples = sample_count > 0;
	opening->loss_count = loss_count;
	wire_array(&opening->reasons, WIRE_TEXT, loss_count);
	wire_array(&opening->counts, WIRE_INT8, loss_count);
	for (size_t i = 0; i < loss_count; i++)
	{
		wire_text_element(&opening->reasons, losses[i].reason);
		wire_int8_element(&opening->counts, (int64_t) losses[i].count);
	}
	put_unwound(opening, batch);
	put_receipts(opening, batch);
}

/* Adds BEGIN and all statements that need no ids. *is_new is set when the trip is run. */
static void
add_opening(Trip *trip, Opening *opening, const Batch *batch, bool *is_new)
{
	const Statement begin = { .sql = "BEGIN",
							  .failure = "could not begin a transaction",
							  .keep = true };
	const Statement begin_batch = { .sql = "SELECT profstore.begin_batch($1, $2, $3)",
									.failure = "could not begin a batch",
									.keep = true,
									.param_count = 3,
									.params = { { WIRE_UUID, &opening->writer },
												{ WIRE_INT8, &opening->number },
												{ WIRE_INT8, &opening->epoch } } };
	const Statement losses = {
		.sql = "INSERT INTO profstore.losses (time, node, reason, count)"
			   " SELECT $1, $2, l.reason, l.count"
			   " FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4)) AS l(reason, count)",
		.failure = "could not store losses",
		.keep = true,
		.param_count = 4,
		.params = { { WIRE_TIMESTAMPTZ, &opening->first_time },
					{ WIRE_TEXT, &opening->node },
					{ WIRE_TEXT_ARRAY, &opening->reasons },
					{ WIRE_INT8_ARRAY, &opening->counts } }
	};
	const Statement unwound = {
		.sql = "INSERT INTO profstore.unwind_counts AS c (day, node, exe, stacks, complete)"
			   " SELECT ($1 AT TIME ZONE 'UTC')::date, $2, u.exe, u.stacks, u.complete"
			   " FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4),"
			   " pg_catalog.unnest($5)) AS u(exe, stacks, complete) ORDER BY u.exe"
			   " ON CONFLICT (day, node, exe, role) DO UPDATE SET"
			   " stacks = c.stacks + excluded.stacks, complete = c.complete + excluded.complete",
		.failure = "could not store unwind counts",
		.keep = true,
		.param_count = 5,
		.params = { { WIRE_TIMESTAMPTZ, &opening->first_time },
					{ WIRE_TEXT, &opening->node },
					{ WIRE_TEXT_ARRAY, &opening->exes },
					{ WIRE_INT8_ARRAY, &opening->stacks },
					{ WIRE_INT8_ARRAY, &opening->complete } }
	};
	const Statement target = {
		.sql = "INSERT INTO profstore.targets AS t (name, health, last_seen) VALUES ($1, 'up', $2)"
			   " ON CONFLICT (name, role) DO UPDATE SET health = 'up', last_error = NULL,"
			   " last_seen = GREATEST(t.last_seen, excluded.last_seen)",
		.failure = "could not store the state of the target",
		.keep = true,
		.param_count = 2,
		.params = { { WIRE_TEXT, &opening->node }, { WIRE_TIMESTAMPTZ, &opening->last_time } }
	};
	const BatchUnwound *unwound_items;

	trip_add(trip, &begin, NULL);
	/*
	 * right after BEGIN: its lock on the writer's row must precede everything that the transaction
	 * changes
	 */
	trip_add(trip, &begin_batch, is_new);
	if (opening->loss_count > 0)
		trip_add(trip, &losses, NULL);
	if (batch_unwound(batch, &unwound_items) > 0)
		trip_add(trip, &unwound, NULL);
	/*
	 * The health of a target depends on its newest sample; losses and names do not show that it
	 * takes samples.
	 */
	if (opening->node.length > 0 && opening->has_samples)
		trip_add(trip, &target, NULL);
}

/*
 * Adds take_receipts(), which detects that the sender has sent the batch before. *is_first is set
 * when the trip is run.
 */
static void
store_add_receipts(Trip *trip, Opening *opening, bool *is_first)
{
	const Statement take = { .sql = "SELECT profstore.take_receipts($1)",
							 .failure = "could not store receipts",
							 .keep = true,
							 .param_count = 1,
							 .params = { { WIRE_UUID_ARRAY, &opening->receipts } } };

	trip_add(trip, &take, is_first);
}

/* Encodes the time range of each series that has samples. Returns false on out of memory. */
static bool
put_times(Opening *opening, const InternKind *series, const Batch *batch)
{
	TimeRange *ranges = calloc(series->count + 1, sizeof(TimeRange));
	const BatchSample *samples;
	size_t sample_count = batch_samples(batch, &samples);
	size_t count = 0;

	if (ranges == NULL)
		return false;
	for (size_t i = 0; i < series->count; i++)
		ranges[i] = NO_TIMES;
	for (size_t i = 0; i < sample_count; i++)
	{
		TimeRange *range = &ranges[samples[i].series];

		/* a range without times is inverted, so this counts each series once */
		count += range->last_us < range->first_us;
		range->first_us = MIN(range->first_us, samples[i].time_us);
		range->last_us = MAX(range->last_us, samples[i].time_us);
	}
	wire_array(&opening->series_ids, WIRE_INT4, count);
	wire_array(&opening->first_times, WIRE_TIMESTAMPTZ, count);
	wire_array(&opening->last_times, WIRE_TIMESTAMPTZ, count);
	for (size_t i = 0; i < series->count; i++)
	{
		if (ranges[i].last_us < ranges[i].first_us)
			continue;
		wire_int4_element(&opening->series_ids, (int32_t) series->ids[i]);
		wire_timestamp_element(&opening->first_times, ranges[i].first_us);
		wire_timestamp_element(&opening->last_times, ranges[i].last_us);
	}
	free(ranges);
	return true;
}

static bool
add_touch(Trip *trip, Opening *opening, const InternKind *series, const Batch *batch)
{
	const Statement touch = { .sql = "SELECT profstore.touch_each_series($1, $2, $3)",
							  .failure = "could not store the times of series",
							  .keep = true,
							  .param_count = 3,
							  .params = { { WIRE_INT4_ARRAY, &opening->series_ids },
										  { WIRE_TIMESTAMPTZ_ARRAY, &opening->first_times },
										  { WIRE_TIMESTAMPTZ_ARRAY, &opening->last_times } } };

	trip_add(trip, &touch, NULL);
	return put_times(opening, series, batch);
}

/* Encodes the traces; all ids of their samples must be known. */
static void
put_traces(Opening *opening, const InternWork *ids, const Batch *batch)
{
	const int64_t *series = ids->kinds[KIND_SERIES].ids;
	const int64_t *stacks = ids->kinds[KIND_STACK].ids;
	const BatchTrace *traces;
	size_t count = batch_traces(batch, &traces);

	wire_array(&opening->trace_times, WIRE_TIMESTAMPTZ, count);
	wire_array(&opening->trace_series, WIRE_INT4, count);
	wire_array(&opening->trace_stacks, WIRE_INT8, count);
	wire_array(&opening->trace_values, WIRE_INT8, count);
	wire_array(&opening->trace_ids, WIRE_UUID, count);
	wire_array(&opening->span_ids, WIRE_BYTEA, count);
	for (size_t i = 0; i < count; i++)
	{
		const BatchSample *sample = &traces[i].sample;

		wire_timestamp_element(&opening->trace_times, sample->time_us);
		wire_int4_element(&opening->trace_series, (int32_t) series[sample->series]);
		wire_int8_element(&opening->trace_stacks, stacks[sample->stack]);
		wire_int8_element(&opening->trace_values, sample->value);
		wire_bytes_element(&opening->trace_ids, traces[i].trace, sizeof(traces[i].trace));
		wire_bytes_element(&opening->span_ids, traces[i].span, sizeof(traces[i].span));
	}
}

static void
store_add_traces(Trip *trip, Opening *opening)
{
	const Statement keep = { .sql = "SELECT profstore.keep_traces($1, $2, $3, $4, $5, $6)",
							 .failure = "could not store traces",
							 .keep = true,
							 .param_count = 6,
							 .params = { { WIRE_TIMESTAMPTZ_ARRAY, &opening->trace_times },
										 { WIRE_INT4_ARRAY, &opening->trace_series },
										 { WIRE_INT8_ARRAY, &opening->trace_stacks },
										 { WIRE_INT8_ARRAY, &opening->trace_values },
										 { WIRE_UUID_ARRAY, &opening->trace_ids },
										 { WIRE_BYTEA_ARRAY, &opening->span_ids } } };

	trip_add(trip, &keep, NULL);
}

static DbOutcome
end_transaction(Connection *connection, const char *sql, DbError *error)
{
	const Statement statement = { .sql = sql, .failure = "could not end a transaction" };

	return connection_execute(connection, &statement, error);
}

/*
 * Returns the statement that stores count samples. COPY collects 1,000 rows, each in a slot of its
 * own, before it inserts them, and PostgreSQL keeps the pins of all slots in one chain of a hash
 * table: 1,000 rows cost more than twice as much as they would without slots. A volatile condition
 * makes COPY insert each row at once. A longer COPY uses its slots again, which costs less than
 * evaluating a condition. Citus refuses conditions.
 */
static const char *
copy_statement(const Session *session, size_t count)
{
	return count > COPY_FILTERED_ROWS || session->copies_plainly
			   ? "COPY profstore.samples (time, series_id, stack_id, value)"
				 " FROM STDIN (FORMAT binary); COMMIT"
			   : "COPY profstore.samples (time, series_id, stack_id, value)"
				 " FROM STDIN (FORMAT binary) WHERE pg_catalog.random() >= 0; COMMIT";
}

/*
 * Returns true if Citus may have refused the WHERE of copy_statement(): it raises errors without a
 * code, which PostgreSQL reports as XX000. Other errors do not show that COPY works without WHERE.
 */
static bool
error_may_be_of_citus(const DbError *error)
{
	return strcmp(error->sqlstate, "XX000") == 0 || strcmp(error->sqlstate, "0A000") == 0;
}

/* Sends the samples and COMMIT. */
static DbOutcome
copy_samples(Store *store, Session *session, const Batch *batch, const InternWork *ids,
			 DbError *error)
{
	Connection *connection = &session->connection;
	const int64_t *series = ids->kinds[KIND_SERIES].ids;
	const int64_t *stacks = ids->kinds[KIND_STACK].ids;
	const BatchSample *samples;
	size_t count = batch_samples(batch, &samples);
	DbOutcome outcome = connection_copy_begin(connection, copy_statement(session, count), error);

	if (outcome != DB_OK)
		return outcome;
	buffer_reset(&store->rows);
	wire_copy_header(&store->rows);
	for (size_t i = 0; i < count; i++)
	{
		const BatchSample *sample = &samples[i];
		char *row = buffer_extend(&store->rows, WIRE_SAMPLE_BYTES);
		int64_t timestamp_us;

		/* rows.failed is set, and connection_copy_data() below reports it */
		if (row == NULL)
			break;

		/*
		 * a time that overflows cannot occur here, because ensure_partitions() refuses such a batch
		 */
		if (!wire_timestamp(sample->time_us, &timestamp_us))
			timestamp_us = INT64_MIN;
		wire_copy_sample(row, timestamp_us, (int32_t) series[sample->series], stacks[sample->stack],
						 sample->value);
		/* empties the buffer, whose memory is used again */
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

static DbOutcome
store_out_of_memory(DbError *error)
{
	db_error_set(error, NULL, "could not store a batch", "Out of memory.", NULL);
	return DB_REFUSED;
}

/* State of a batch that is being stored. */
typedef struct Storing
{
	const Batch *batch;
	Opening opening;
	InternWork ids;
	NotesWork notes;
	bool is_new;   /* false if the batch was stored before */
	bool is_first; /* false if one of its receipts was stored before */
} Storing;

/* Runs all statements except COPY and COMMIT. */
static DbOutcome
prepare_rows(Storing *storing, Interner *interner, Connection *connection, DbError *error)
{
	const InternKind *series = &storing->ids.kinds[KIND_SERIES];
	const BatchReceipt *receipts;
	const BatchTrace *traces;
	Trip trip = { 0 };
	DbOutcome outcome;

	storing->is_new = true;
	storing->is_first = true;
	/*
	 * 1. Collect the statements that need no ids. The first round that must ask the database sends
	 * them, too.
	 */
	add_opening(&trip, &storing->opening, storing->batch, &storing->is_new);
	if (batch_receipts(storing->batch, &receipts) > 0)
		store_add_receipts(&trip, &storing->opening, &storing->is_first);
	/*
	 * 2. Intern series, mappings and functions. If all are known, nothing was sent yet, and is_new
	 * and is_first keep their initial values.
	 */
	outcome = intern_names(&storing->ids, &trip, connection, error);
	if (outcome == DB_OK && storing->is_new && storing->is_first)
	{
		/*
		 * 3. The series have ids: collect their times and notes, then intern locations and stacks.
		 */
		if (!add_touch(&trip, &storing->opening, series, storing->batch) ||
			!notes_begin(&storing->notes, interner, &storing->ids, storing->batch, &trip))
			outcome = store_out_of_memory(error);
		else
			outcome = intern_stacks(&storing->ids, &trip, connection, error);
		if (outcome == DB_OK && batch_traces(storing->batch, &traces) > 0)
		{
			put_traces(&storing->opening, &storing->ids, storing->batch);
			store_add_traces(&trip, &storing->opening);
		}
	}
	/* 4. Send everything that no round has sent. */
	if (outcome == DB_OK)
		outcome = trip_run(&trip, connection, error);
	trip_fini(&trip);
	return outcome;
}

/* Enters the gate if ids are missing, so that the database must be asked. */
static DbOutcome
enter_gate(const Store *store, InternWork *ids, int wake_fd, bool *is_inside, DbError *error)
{
	bool knows_all;

	*is_inside = false;
	if (store->gate == NULL)
		return DB_OK;
	if (!intern_look_up(ids, &knows_all))
		return store_out_of_memory(error);
	*is_inside = !knows_all && gate_enter(store->gate, wake_fd);
	/*
	 * A batch without new content needs no gate, which only keeps writers from interning equal
	 * content at the same time.
	 */
	if (knows_all || *is_inside)
		return DB_OK;
	db_error_set(error, NULL, "stopped", NULL, NULL);
	return DB_STOPPED;
}

DbOutcome
store_batch(Store *store, Interner *interner, Session *session, const Batch *batch,
			const BatchId *id, DbError *error)
{
	Connection *connection = &session->connection;
	Storing storing = { .batch = batch };
	const BatchSample *samples;
	bool is_inside;
	DbOutcome outcome;

	intern_begin(&storing.ids, interner, batch);
	outcome = enter_gate(store, &storing.ids, connection->wake_fd, &is_inside, error);
	if (outcome != DB_OK)
	{
		intern_end(&storing.ids);
		return outcome;
	}
	opening_init(&storing.opening, store, session, batch, id);
	outcome = prepare_rows(&storing, interner, connection, error);
	if (outcome == DB_OK && (!storing.is_new || !storing.is_first))
	{
		outcome = end_transaction(connection, "ROLLBACK", error);
		if (outcome == DB_OK && storing.is_new)
			outcome = DB_REPEATED;
	}
	else if (outcome == DB_OK)
	{
		outcome = batch_samples(batch, &samples) == 0
					  ? end_transaction(connection, "COMMIT", error)
					  : copy_samples(store, session, batch, &storing.ids, error);
		/* the samples may have been distributed since the session began */
		session->copies_plainly |= outcome == DB_REFUSED && error_may_be_of_citus(error);
		if (outcome == DB_OK)
		{
			intern_remember(&storing.ids);
			notes_remember(&storing.notes);
		}
	}
	if (outcome != DB_OK && outcome != DB_REPEATED)
		connection_abandon(connection);
	store->was_new = storing.is_new;
	if (is_inside)
		gate_leave(store->gate);
	opening_fini(&storing.opening);
	notes_end(&storing.notes);
	intern_end(&storing.ids);
	return outcome;
}

DbOutcome
store_health(const Store *store, Session *session, const char *from, const char *to, DbError *error)
{
	Buffer node = { 0 };
	Buffer before = { 0 };
	Buffer after = { 0 };
	const Statement statement = {
		.sql = "UPDATE profstore.targets SET health = $3"
			   " WHERE name = $1 AND role = current_user AND health = $2",
		.failure = "could not store the target's health",
		.param_count = 3,
		.params = { { WIRE_TEXT, &node }, { WIRE_TEXT, &before }, { WIRE_TEXT, &after } }
	};
	DbOutcome outcome;

	/* the writer is no target */
	if (store->node[0] == '\0')
		return DB_OK;
	buffer_put_bytes(&node, store->node, strlen(store->node));
	buffer_put_bytes(&before, from, strlen(from));
	buffer_put_bytes(&after, to, strlen(to));
	outcome = connection_execute(&session->connection, &statement, error);
	buffer_fini(&node);
	buffer_fini(&before);
	buffer_fini(&after);
	return outcome;
}
