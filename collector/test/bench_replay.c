/*
 * bench_replay.c
 *		Measures the cost of an agent's intervals in a database: stored samples of one database go
 *		through the writer into another, an interval a batch.
 *
 * bench_replay RECORDED TARGET: connection strings; the target has an empty extension.
 *
 * Prints the processor time of the backend for each interval and, if the target has
 * pg_stat_statements, transactions and statements.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "writer/writer.h"

typedef struct Recording
{
	PGresult *series;	 /* id, profile type, period, label, value */
	PGresult *locations; /* id, build ID, file, has mapping, address, function…, line */
	PGresult *stacks;	 /* id, partition, location; leaf first */
	PGresult *samples;	 /* time, series, stack, value */
} Recording;

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "bench_replay: %s: %s\n", what, why);
	exit(1);
}

static PGconn *
connect_to(const char *conninfo)
{
	PGconn *connection = PQconnectdb(conninfo);

	if (PQstatus(connection) != CONNECTION_OK)
		die("connection", PQerrorMessage(connection));
	return connection;
}

static PGresult *
query(PGconn *connection, const char *sql)
{
	PGresult *result = PQexec(connection, sql);

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die(sql, PQerrorMessage(connection));
	return result;
}

static double
number_of(PGconn *connection, const char *sql)
{
	PGresult *result = query(connection, sql);
	double number = PQntuples(result) > 0 ? atof(PQgetvalue(result, 0, 0)) : 0;

	PQclear(result);
	return number;
}

static Recording
read_recording(const char *conninfo)
{
	PGconn *connection = connect_to(conninfo);
	Recording recording = {
		.series = query(connection,
						"SELECT s.id, concat_ws(':', t.name, t.sample_type, t.sample_unit,"
						"   t.period_type, t.period_unit, CASE WHEN t.delta THEN 'delta' END),"
						"   s.period, l.key, l.value FROM profstore.series s"
						" JOIN profstore.profile_types t ON t.id = s.profile_type,"
						" jsonb_each_text(s.labels) l ORDER BY s.id"),
		.locations =
			query(connection,
				  "SELECT l.id, m.build_id, m.file, m.id IS NOT NULL, l.address, f.name,"
				  "   f.system_name, f.filename, f.start_line, u.line FROM profstore.locations l"
				  " LEFT JOIN profstore.mappings m ON m.id = l.mapping"
				  " LEFT JOIN LATERAL unnest(l.function_ids, l.lines) WITH ORDINALITY"
				  "   AS u(function, line, ord) ON true"
				  " LEFT JOIN profstore.functions f ON f.id = u.function ORDER BY l.id, u.ord"),
		.stacks =
			query(connection, "WITH RECURSIVE up AS ("
							  " SELECT DISTINCT stack_id AS leaf, stack_id AS node, 0 AS depth"
							  "   FROM profstore.samples WHERE stack_id <> 0"
							  " UNION ALL SELECT up.leaf, t.parent, up.depth + 1 FROM up"
							  "   JOIN profstore.stacks t ON t.id = up.node WHERE t.parent <> 0)"
							  " SELECT up.leaf, p.key, t.location FROM up"
							  " JOIN profstore.stacks t ON t.id = up.node"
							  " JOIN profstore.dictionary_partitions p ON p.id = up.leaf >> 40"
							  " ORDER BY up.leaf, up.depth"),
		.samples = query(connection,
						 "SELECT (extract(epoch FROM time) * 1000000)::int8, series_id, stack_id,"
						 "   value FROM profstore.samples ORDER BY time"),
	};

	PQfinish(connection);
	return recording;
}

static const char *
text(const PGresult *result, int row, int column)
{
	return PQgetvalue(result, row, column);
}

static int64_t
number(const PGresult *result, int row, int column)
{
	return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

/* Returns the first row of an id, in results that are sorted by id. */
static int
find_row(const PGresult *result, int64_t id)
{
	int low = 0;
	int high = PQntuples(result);

	while (low < high)
	{
		int middle = (low + high) / 2;

		if (number(result, middle, 0) < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
check(int err, const char *what)
{
	if (err != 0)
		die(what, strerror(-err));
}

static uint32_t
add_series(Batch *batch, const PGresult *rows, int64_t id)
{
	BatchLabel labels[BATCH_MAX_LABELS];
	int first = find_row(rows, id);
	BatchSeries series = { .profile_type = text(rows, first, 1),
						   .labels = labels,
						   .period = number(rows, first, 2) };
	uint32_t index;

	for (int row = first; row < PQntuples(rows) && number(rows, row, 0) == id; row++)
		labels[series.label_count++] = (BatchLabel){ text(rows, row, 3), text(rows, row, 4) };
	check(batch_add_series(batch, &series, &index), "series");
	return index;
}

static uint32_t
add_location(Batch *batch, const PGresult *rows, int64_t id)
{
	BatchLine lines[64];
	int first = find_row(rows, id);
	BatchLocation location = { .mapping = BATCH_NO_MAPPING,
							   .address = (uint64_t) number(rows, first, 4),
							   .lines = lines };
	uint32_t index;

	if (text(rows, first, 3)[0] == 't')
		check(batch_add_mapping(batch,
								&(BatchMapping){ text(rows, first, 1), text(rows, first, 2) },
								&location.mapping),
			  "mapping");
	for (int row = first; row < PQntuples(rows) && number(rows, row, 0) == id &&
						  !PQgetisnull(rows, row, 5) && location.line_count < 64;
		 row++)
	{
		BatchFunction function = { text(rows, row, 5), text(rows, row, 6), text(rows, row, 7),
								   (int32_t) number(rows, row, 8) };
		BatchLine *line = &lines[location.line_count++];

		check(batch_add_function(batch, &function, &line->function), "function");
		line->line = (int32_t) number(rows, row, 9);
	}
	check(batch_add_location(batch, &location, &index), "location");
	return index;
}

static uint32_t
add_stack(Batch *batch, const Recording *recording, int64_t id)
{
	const PGresult *rows = recording->stacks;
	uint32_t locations[2048];
	int first = find_row(rows, id);
	BatchStack stack = { .partition = id == 0 ? "" : text(rows, first, 1), .locations = locations };
	uint32_t index;

	for (int row = first; id != 0 && row < PQntuples(rows) && number(rows, row, 0) == id; row++)
		locations[stack.depth++] = add_location(batch, recording->locations, number(rows, row, 2));
	check(batch_add_stack(batch, &stack, &index), "stack");
	return index;
}

/* Returns the interval that begins with a row; sets *next to the row after it. */
static Batch *
read_interval(const Recording *recording, int first, int *next)
{
	const PGresult *rows = recording->samples;
	int64_t time_us = number(rows, first, 0);
	Batch *batch = NULL;
	int row = first;

	check(batch_create((size_t) 1 << 28, &batch), "batch");
	for (; row < PQntuples(rows) && number(rows, row, 0) == time_us; row++)
	{
		BatchSample sample = { .time_us = time_us,
							   .series = add_series(batch, recording->series, number(rows, row, 1)),
							   .stack = add_stack(batch, recording, number(rows, row, 2)),
							   .value = number(rows, row, 3) };

		check(batch_add_sample(batch, &sample), "sample");
	}
	*next = row;
	return batch;
}

static double
backend_cpu_ms(PGconn *connection)
{
	int pid = (int) number_of(connection, "SELECT pid FROM pg_stat_activity WHERE"
										  " application_name = 'profstore-collector'");
	unsigned long long nanoseconds = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	file = fopen(path, "re");
	if (pid == 0 || file == NULL || fscanf(file, "%llu", &nanoseconds) != 1)
		die(path, "could not read");
	fclose(file);
	return (double) nanoseconds / 1e6;
}

/*
 * Returns the calls of top-level statements with this beginning, from pg_stat_statements; 0 if the
 * extension is missing.
 */
static double
calls(PGconn *connection, const char *prefix)
{
	char sql[512];

	if (number_of(connection, "SELECT count(*) FROM pg_extension"
							  " WHERE extname = 'pg_stat_statements'") == 0)
		return 0;
	snprintf(sql, sizeof(sql),
			 "SELECT coalesce(sum(s.calls), 0) FROM pg_stat_statements AS s"
			 " JOIN pg_database AS d ON d.oid = s.dbid WHERE d.datname = current_database()"
			 "   AND s.toplevel AND starts_with(s.query, '%s')",
			 prefix);
	return number_of(connection, sql);
}

static void
wait_until_stored(Writer *writer, uint64_t batches)
{
	WriterStats stats;

	do
	{
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		writer_stats(writer, &stats);
	} while (stats.batches_written < batches);
}

/* Submits the intervals one by one, and prints their cost. */
static void
replay(Writer *writer, PGconn *observer, const Recording *recording, const char *what, int *stored)
{
	double begun_statements = calls(observer, "");
	double begun_commits = calls(observer, "COMMIT");
	double begun_ms = *stored > 0 ? backend_cpu_ms(observer) : 0;
	double ms;
	int intervals = 0;

	for (int row = 0; row < PQntuples(recording->samples); intervals++)
	{
		writer_submit_newest(writer, read_interval(recording, row, &row));
		wait_until_stored(writer, (uint64_t)++ * stored);
	}
	ms = backend_cpu_ms(observer) - begun_ms;
	printf("%-24s%8.2f ms of the backend,%5.1f transactions,%6.1f statements an interval\n", what,
		   ms / intervals, (calls(observer, "COMMIT") - begun_commits) / intervals,
		   (calls(observer, "") - begun_statements) / intervals);
}

int
main(int argc, char **argv)
{
	WriterOptions options = { .node = "bench", .queue_bytes = (size_t) 1 << 30 };
	Recording recording;
	PGconn *observer;
	Failure failure = { 0 };
	Writer *writer = NULL;
	int stored = 0;

	if (argc != 3)
		die("usage", "bench_replay RECORDED TARGET");
	recording = read_recording(argv[1]);
	observer = connect_to(argv[2]);
	options.conninfo = argv[2];
	if (writer_create(&options, &writer, &failure) != EXIT_OK)
		die(failure.message, failure.detail);
	check(writer_start(writer), "thread");
	replay(writer, observer, &recording, "first time", &stored);
	replay(writer, observer, &recording, "again, all ids known", &stored);
	writer_free(writer);
	PQfinish(observer);
	return 0;
}
