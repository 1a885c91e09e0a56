/*
 * partitions.c
 *		Keeps a set of known days, and calls ensure_partitions() for others.
 */
#include "writer/partitions.h"

#include "base/clock.h"
#include "base/hash.h"

#define DAY_US		   (INT64_C(24) * 60 * 60 * 1000000)
#define DAYS_MAX_BYTES (64 * 1024)

void
partitions_init(Partitions *partitions)
{
	partitions->budget = (Budget){ .limit_bytes = DAYS_MAX_BYTES };
	table_init(&partitions->days, &partitions->budget, sizeof(int64_t));
}

void
partitions_forget(Partitions *partitions)
{
	table_fini(&partitions->days);
}

static int64_t
day_of(int64_t time_us)
{
	/* rounds down, also before 1970; C's division rounds towards 0 */
	return time_us >= 0 ? time_us / DAY_US : -((-(time_us + 1)) / DAY_US) - 1;
}

static bool
day_equal(const void *item, const void *key)
{
	return *(const int64_t *) item == *(const int64_t *) key;
}

static bool
day_is_known(const Partitions *partitions, int64_t day)
{
	uint32_t position;

	return table_find(&partitions->days, hash_word(partitions->days.seed, (uint64_t) day),
					  day_equal, &day, &position);
}

static void
day_remember(Partitions *partitions, int64_t day)
{
	/* The set is full, so empty it; asking the server again is cheap. */
	if (table_reserve(&partitions->days) != 0)
	{
		table_fini(&partitions->days);
		if (table_reserve(&partitions->days) != 0)
			return;
	}
	*(int64_t *) table_append(&partitions->days, hash_word(partitions->days.seed, (uint64_t) day)) =
		day;
}

/* Creates the partition of a day unless it is known to exist. */
static DbOutcome
ensure_day(Partitions *partitions, Connection *connection, int64_t day, DbError *error)
{
	Buffer from = { NULL };
	Buffer to = { NULL };
	Statement statement = { .sql = "SELECT profstore.ensure_partitions($1, $2)",
							.failure = "could not create a partition",
							.keep = true,
							.param_count = 2,
							.params = { { WIRE_TIMESTAMPTZ, &from }, { WIRE_TIMESTAMPTZ, &to } } };
	DbOutcome outcome;
	int64_t start_us;

	if (day_is_known(partitions, day))
		return DB_OK;
	/* the server refuses such a time with an error that names it */
	if (__builtin_mul_overflow(day, DAY_US, &start_us))
		start_us = day < 0 ? INT64_MIN : INT64_MAX;
	wire_timestamp_param(&from, start_us);
	wire_timestamp_param(&to, start_us);
	outcome = connection_execute(connection, &statement, error);
	if (outcome == DB_OK)
		day_remember(partitions, day);
	buffer_fini(&from);
	buffer_fini(&to);
	return outcome;
}

DbOutcome
partitions_ensure(Partitions *partitions, Connection *connection, const Batch *batch,
				  DbError *error)
{
	const BatchSample *samples;
	size_t count = batch_samples(batch, &samples);
	int64_t today = day_of(clock_ns(CLOCK_REALTIME) / 1000);
	int64_t last_day = INT64_MIN;

	for (size_t i = 0; i < count; i++)
	{
		int64_t day = day_of(samples[i].time_us);
		DbOutcome outcome;

		/* samples are mostly of one day, so this avoids almost all look-ups */
		if (day == last_day)
			continue;
		last_day = day;
		outcome = ensure_day(partitions, connection, day, error);

		/* create tomorrow's partition in advance, so that no batch waits at midnight */
		if (outcome == DB_OK && day == today)
			outcome = ensure_day(partitions, connection, day + 1, error);
		if (outcome != DB_OK)
			return outcome;
	}
	return DB_OK;
}
