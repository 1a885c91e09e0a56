/*
 * target_rows.c
 *		Stores rows of targets in the database.
 */
#include "scrape/target_rows.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "database/session.h"

struct TargetStore
{
	char *conninfo;
	char *scraper;
	Session session; /* belongs to the thread, as does is_marked */
	bool is_marked;	 /* the rows of an earlier run were set to "unknown" */
	int stop_fd;
	pthread_t thread;
	pthread_mutex_t lock; /* guards all fields below */
	pthread_cond_t changed;
	TargetRows rows;
	bool has_rows;
	bool failed;
	bool stops;
	bool has_ended; /* the thread has stored its rows and ended */
};

/* --- rows --- */

void
target_rows_begin(TargetRows *rows, size_t count)
{
	*rows = (TargetRows){ .count = count };
	wire_array(&rows->names, WIRE_TEXT, count);
	wire_array(&rows->labels, WIRE_TEXT, count);
	wire_array(&rows->healths, WIRE_TEXT, count);
	wire_array(&rows->errors, WIRE_TEXT, count);
	wire_array(&rows->times, WIRE_TIMESTAMPTZ, count);
	wire_array(&rows->durations, WIRE_INT8, count);
	wire_array(&rows->samples, WIRE_INT8, count);
	wire_array(&rows->skipped, WIRE_INT8, count);
}

static void
target_rows_put_labels(Buffer *buffer, const ScrapeTarget *target)
{
	size_t begun = wire_begin(buffer);

	wire_json_labels(buffer, target->labels, target->label_count);
	wire_end(buffer, begun);
}

void
target_rows_add(TargetRows *rows, const ScrapeTarget *target)
{
	static const char *const healths[] = {
		[TARGET_UNKNOWN] = "unknown",
		[TARGET_UP] = "up",
		[TARGET_DOWN] = "down",
	};
	const TargetState *state = &target->state;

	wire_text_element(&rows->names, target->name);
	target_rows_put_labels(&rows->labels, target);
	wire_text_element(&rows->healths, healths[state->health]);
	wire_text_element(&rows->errors, state->error);
	wire_timestamp_element(&rows->times, state->time_us);
	wire_int8_element(&rows->durations, state->duration_us);
	wire_int8_element(&rows->samples, state->samples);
	wire_int8_element(&rows->skipped, (int64_t) target->skipped);
}

void
target_rows_fini(TargetRows *rows)
{
	buffer_fini(&rows->names);
	buffer_fini(&rows->labels);
	buffer_fini(&rows->healths);
	buffer_fini(&rows->errors);
	buffer_fini(&rows->times);
	buffer_fini(&rows->durations);
	buffer_fini(&rows->samples);
	buffer_fini(&rows->skipped);
	*rows = (TargetRows){ 0 };
}

/* --- the thread --- */

/*
 * Sets the health of all rows of this scraper. At the start, the rows of present targets are stored
 * after that. Rows that another scraper has stored since are left alone.
 */
static DbOutcome
mark_rows(TargetStore *store, const char *health, const char *reason, DbError *error)
{
	Buffer scraper = { NULL };
	Buffer text = { NULL };
	Buffer state = { NULL };
	const Statement statement = {
		.sql = "UPDATE profstore.targets"
			   " SET health = $3, last_error = $2"
			   " WHERE scraper = $1 AND role = current_user"
			   " AND health <> $3",
		.failure = "could not store the state of targets",
		.param_count = 3,
		.params = { { WIRE_TEXT, &scraper }, { WIRE_TEXT, &text }, { WIRE_TEXT, &state } }
	};
	DbOutcome outcome = session_open(&store->session, store->conninfo, error);

	if (outcome != DB_OK)
		return outcome;
	buffer_put_bytes(&scraper, store->scraper, strlen(store->scraper));
	buffer_put_bytes(&text, reason, strlen(reason));
	buffer_put_bytes(&state, health, strlen(health));
	outcome = connection_execute(&store->session.connection, &statement, error);
	buffer_fini(&scraper);
	buffer_fini(&text);
	buffer_fini(&state);
	return outcome;
}

/*
 * Stores rows. The time 1970-01-01 means that a target was not scraped yet. If two rows have one
 * name, the later one is stored. The row of a target that was not scraped here does not overwrite
 * the row of another scraper that has scraped it.
 */
static DbOutcome
target_rows_store_rows(TargetStore *store, const TargetRows *rows, DbError *error)
{
	Buffer scraper = { NULL };
	const Statement statement = {
		.sql = "INSERT INTO profstore.targets AS t"
			   " (name, labels, health, last_error, last_seen, last_scrape, duration, samples,"
			   " skipped, scraper)"
			   " SELECT DISTINCT ON (r.name)"
			   " r.name, r.labels::jsonb, r.health, NULLIF(r.error, ''),"
			   " COALESCE(s.scraped, pg_catalog.now()), s.scraped,"
			   " pg_catalog.make_interval(secs => r.duration / 1e6), r.samples, r.skipped, $9"
			   " FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2),"
			   " pg_catalog.unnest($3), pg_catalog.unnest($4), pg_catalog.unnest($5),"
			   " pg_catalog.unnest($6), pg_catalog.unnest($7), pg_catalog.unnest($8))"
			   " WITH ORDINALITY"
			   " AS r(name, labels, health, error, time, duration, samples, skipped, number),"
			   " LATERAL (SELECT NULLIF(r.time, '1970-01-01 00:00:00+00') AS scraped) AS s"
			   " ORDER BY r.name, r.number DESC"
			   " ON CONFLICT (name, role) DO UPDATE SET labels = excluded.labels,"
			   " health = excluded.health, last_error = excluded.last_error,"
			   " last_seen = CASE excluded.health WHEN 'up' THEN excluded.last_seen"
			   " ELSE t.last_seen END,"
			   " last_scrape = COALESCE(excluded.last_scrape, t.last_scrape),"
			   " duration = excluded.duration, samples = excluded.samples,"
			   " skipped = excluded.skipped, scraper = excluded.scraper"
			   " WHERE excluded.health <> 'unknown' OR t.health IN ('unknown', 'stopped')"
			   " OR t.scraper IS NOT DISTINCT FROM excluded.scraper",
		.failure = "could not store the state of targets",
		.keep = true,
		.param_count = 9,
		.params = { { WIRE_TEXT_ARRAY, &rows->names },
					{ WIRE_TEXT_ARRAY, &rows->labels },
					{ WIRE_TEXT_ARRAY, &rows->healths },
					{ WIRE_TEXT_ARRAY, &rows->errors },
					{ WIRE_TIMESTAMPTZ_ARRAY, &rows->times },
					{ WIRE_INT8_ARRAY, &rows->durations },
					{ WIRE_INT8_ARRAY, &rows->samples },
					{ WIRE_INT8_ARRAY, &rows->skipped },
					{ WIRE_TEXT, &scraper } }
	};
	DbOutcome outcome = session_open(&store->session, store->conninfo, error);

	if (outcome != DB_OK)
		return outcome;
	buffer_put_bytes(&scraper, store->scraper, strlen(store->scraper));
	outcome = connection_execute(&store->session.connection, &statement, error);
	buffer_fini(&scraper);
	return outcome;
}

static void
target_rows_log_failure(DbOutcome outcome, const DbError *error)
{
	if (outcome != DB_OK && outcome != DB_STOPPED)
		log_event(LOG_WARNING, "scrape", "could not store the state of targets",
				  log_text("detail", error->failure.detail));
}

/* Marks the rows of an earlier run, unless this was done, and then stores rows (NULL: none). */
static bool
store_all(TargetStore *store, const TargetRows *rows)
{
	DbError error;
	DbOutcome outcome = DB_OK;

	if (!store->is_marked)
		outcome = mark_rows(store, "unknown", "The scraper was restarted", &error);
	store->is_marked |= outcome == DB_OK;
	if (outcome == DB_OK && rows != NULL)
		outcome = target_rows_store_rows(store, rows, &error);
	target_rows_log_failure(outcome, &error);
	return outcome == DB_OK;
}

/* Runs the thread that stores rows. */
static void *
store_main(void *argument)
{
	TargetStore *store = argument;
	DbError error;

	/* Rows of an earlier run must not look current. */
	(void) store_all(store, NULL);
	pthread_mutex_lock(&store->lock);
	while (store->has_rows || !store->stops)
	{
		bool is_stored;

		if (!store->has_rows)
		{
			pthread_cond_wait(&store->changed, &store->lock);
			continue;
		}
		/* While has_rows is true, no other thread uses the rows. */
		pthread_mutex_unlock(&store->lock);
		is_stored = store_all(store, &store->rows);
		pthread_mutex_lock(&store->lock);
		target_rows_fini(&store->rows);
		store->failed = !is_stored;
		store->has_rows = false;
		pthread_cond_broadcast(&store->changed);
	}
	pthread_mutex_unlock(&store->lock);
	/* The rows remain in the database, and must not look current. */
	target_rows_log_failure(mark_rows(store, "stopped", "The scraper has stopped", &error), &error);
	pthread_mutex_lock(&store->lock);
	store->has_ended = true;
	pthread_cond_broadcast(&store->changed);
	pthread_mutex_unlock(&store->lock);
	return NULL;
}

static int
store_start(TargetStore *store)
{
	store->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	/* This descriptor interrupts a statement that is running. */
	store->session.connection.wake_fd = store->stop_fd;
	if (store->conninfo == NULL || store->scraper == NULL || store->stop_fd < 0)
		return -ENOMEM;
	return -pthread_create(&store->thread, NULL, store_main, store);
}

static void
store_destroy(TargetStore *store)
{
	connection_close(&store->session.connection);
	target_rows_fini(&store->rows);
	pthread_cond_destroy(&store->changed);
	pthread_mutex_destroy(&store->lock);
	if (store->stop_fd >= 0)
		close(store->stop_fd);
	free(store->conninfo);
	free(store->scraper);
	free(store);
}

int
target_store_create(const char *conninfo, const char *scraper, TargetStore **result)
{
	TargetStore *store = calloc(1, sizeof(TargetStore));
	int err;

	if (store == NULL)
		return -ENOMEM;
	pthread_mutex_init(&store->lock, NULL);
	clock_condition_init(&store->changed);
	store->conninfo = strdup(conninfo);
	store->scraper = strdup(scraper);
	err = store_start(store);
	if (err != 0)
		store_destroy(store);
	else
		*result = store;
	return err;
}

bool
target_store_is_idle(TargetStore *store, bool *failed)
{
	bool idle;

	pthread_mutex_lock(&store->lock);
	idle = !store->has_rows;
	/* A failure is reported once. */
	*failed = idle && store->failed;
	if (idle)
		store->failed = false;
	pthread_mutex_unlock(&store->lock);
	return idle;
}

void
target_store_put(TargetStore *store, TargetRows *rows)
{
	pthread_mutex_lock(&store->lock);
	/* The caller knows from target_store_is_idle() that no rows are waiting. */
	store->rows = *rows;
	store->has_rows = true;
	pthread_cond_broadcast(&store->changed);
	pthread_mutex_unlock(&store->lock);
}

void
target_store_free(TargetStore *store, int64_t deadline_ms)
{
	const struct timespec until =
		clock_timespec(clock_ns(CLOCK_MONOTONIC) + deadline_ms * NS_PER_MS);
	int err = 0;

	if (store == NULL)
		return;
	pthread_mutex_lock(&store->lock);
	store->stops = true;
	pthread_cond_broadcast(&store->changed);
	while (!store->has_ended && err == 0)
		err = pthread_cond_timedwait(&store->changed, &store->lock, &until);
	pthread_mutex_unlock(&store->lock);
	(void) eventfd_write(store->stop_fd, 1); /* interrupts the statement that is still running */
	pthread_join(store->thread, NULL);
	store_destroy(store);
}
