-- Measures what fleet_profiles.sql has loaded: bytes, and milliseconds of views.
\set ON_ERROR_STOP 1
SET max_parallel_workers_per_gather = 0;
VACUUM ANALYZE profstore.samples;
VACUUM profstore.segments, profstore.rollups;

SELECT sum(row_count) AS samples FROM profstore.segments \gset
\echo
\echo 'Bytes per sample, indexes, TOAST relations and free room included, after VACUUM (to reach: at most 1.1 in all):'
SELECT :samples AS samples, round(t / :samples, 3) AS table, round(d / :samples, 3) AS directory, round(r / :samples, 3) AS "roll-ups",
	round((t + d + r) / :samples, 3) AS "in all"
FROM (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'profstore.samples'::regclass) AS tables(t),
	CAST(pg_total_relation_size('profstore.segments') AS numeric) AS d, CAST(pg_total_relation_size('profstore.rollups') AS numeric) AS r;

-- sleeping makes the kernel bring its count of the process's CPU time up to date
CREATE FUNCTION pg_temp.cpu_ms() RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_sleep(0.0003);
	RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e6;
END
$$;
CREATE TEMP TABLE results (n serial, what text, cpu_ms float8, elapsed_ms float8, to_reach text);
CREATE PROCEDURE pg_temp.measure(what text, query text, to_reach text, runs int4 DEFAULT 6) LANGUAGE plpgsql AS $$
DECLARE
	least_cpu_ms float8;
	least_elapsed_ms float8;
	cpu_ms float8;
	begun timestamptz;
BEGIN
	FOR run IN 1 .. runs LOOP
		cpu_ms := pg_temp.cpu_ms();
		begun := clock_timestamp();
		EXECUTE query;
		least_elapsed_ms := least(least_elapsed_ms, extract(epoch FROM clock_timestamp() - begun) * 1000);
		least_cpu_ms := least(least_cpu_ms, pg_temp.cpu_ms() - cpu_ms);
	END LOOP;
	INSERT INTO results (what, cpu_ms, elapsed_ms, to_reach) VALUES (what, least_cpu_ms, least_elapsed_ms, to_reach);
END
$$;

SELECT timestamptz '2026-01-01 00:00Z' + :minutes * interval '1 min' AS end_ts, timestamptz '2026-01-01 00:00Z' + :minutes / 2 * interval '1 min' AS middle \gset
SELECT format('(%L, %L, %L', type || '{}', begin_ts, :'end_ts') AS all,
	format('(%L, %L, %L', type || '{node="node3",service="service4"}', begin_ts, :'end_ts') AS one_series,
	format('(%L, %L, %L', type || '{}', begin_ts + interval '7 min', begin_ts + interval '8 min') AS one_minute,
	format('(%L, %L, %L, %L, %L', type || '{}', begin_ts, :'middle', :'middle', :'end_ts') AS halves
FROM (SELECT 'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', timestamptz '2026-01-01 00:00Z') AS constants(type, begin_ts) \gset
CALL pg_temp.measure('flame graph of all', 'SELECT count(*) FROM profstore.flamegraph' || :'all' || ')', '<= 50');
CALL pg_temp.measure('flame graph of one series', 'SELECT count(*) FROM profstore.flamegraph' || :'one_series' || ')', '<= 5');
CALL pg_temp.measure('flame graph of all series, one minute', 'SELECT count(*) FROM profstore.flamegraph' || :'one_minute' || ')', '<= 20');
CALL pg_temp.measure('diff of the two halves', 'SELECT count(*) FROM profstore.flamegraph_diff' || :'halves' || ')', '<= 60');
CALL pg_temp.measure('series graph by service, 10 s steps', 'SELECT count(*) FROM profstore.timeseries' || :'all' || ', ''10 s'', ''{service}'')', '<= 30');
CALL pg_temp.measure('exact tree, not truncated', 'SELECT count(*) FROM profstore.flamegraph' || :'all' || ', NULL)', '<= 500', 3);
CALL pg_temp.measure('top', 'SELECT count(*) FROM profstore.top' || :'all' || ')', '', 3);
CALL pg_temp.measure('flame graph with a filter', 'SELECT count(*) FROM profstore.flamegraph' || :'all' || ', focus => ''function12'')', '', 3);
CALL pg_temp.measure('pprof', 'SELECT length(profstore.pprof' || :'all' || '))', '', 2);

-- sums by stack alone in SQL, over a heap table
CREATE TEMP TABLE heap AS SELECT * FROM profstore.samples;
ANALYZE heap;
CALL pg_temp.measure('sums by stack in SQL on heap', 'SELECT count(*) FROM (SELECT stack_id, sum(value) FROM heap GROUP BY stack_id) AS sums', '', 2);

\echo 'Milliseconds, warm, one process, least of several runs:'
SELECT what, round(cpu_ms::numeric, 1) AS cpu, round(elapsed_ms::numeric, 1) AS elapsed, to_reach FROM results ORDER BY n;
