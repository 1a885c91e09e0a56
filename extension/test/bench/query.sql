-- Measures the data of fleet_profiles.sql: bytes, and milliseconds of the statements in bench_queries.
\set ON_ERROR_STOP 1
SET max_parallel_workers_per_gather = 0;

SELECT sum(row_count) AS samples FROM profstore.segments \gset
\echo
\echo 'Bytes per sample, indexes, TOAST relations and free room included, after VACUUM (to reach: at most 1.1 in all; 1.2 of a month; 1.9 with the dictionary):'
SELECT :samples AS samples, (SELECT sum(node_count) FROM profstore.stack_chunks) AS "stack nodes", round(t / :samples, 3) AS table,
	round(d / :samples, 3) AS directory, round(r / :samples, 3) AS "roll-ups", round((t + d + r) / :samples, 3) AS "in all",
	round((t + d + r + (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace IN ('profstore'::regnamespace, 'profstore_internal'::regnamespace)
		AND relname NOT IN ('segments', 'rollups') AND relname !~ '^samples')) / :samples, 3) AS "with the dictionary"
FROM (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'profstore.samples'::regclass) AS tables(t),
	CAST(pg_total_relation_size('profstore.segments') AS numeric) AS d, CAST(pg_total_relation_size('profstore.rollups') AS numeric) AS r;

-- a sleeping process makes the kernel update the count of its CPU time
CREATE FUNCTION pg_temp.cpu_ms() RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_sleep(0.0003);
	RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e6;
END
$$;
CREATE TEMP TABLE results (n int4, cpu_ms float8, elapsed_ms float8);
CREATE PROCEDURE pg_temp.measure(number int4, query text, runs int4) LANGUAGE plpgsql AS $$
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
	INSERT INTO results VALUES (number, least_cpu_ms, least_elapsed_ms);
END
$$;
SELECT format('CALL pg_temp.measure(%s, %L, %s)', n, query, runs) FROM bench_queries ORDER BY n \gexec

-- sums in plain SQL, over a heap table of the first hour
CREATE TEMP TABLE heap AS SELECT * FROM profstore.samples WHERE time < '2026-01-01 01:00Z';
ANALYZE heap;
INSERT INTO bench_queries (what) VALUES ('sums by stack in SQL on heap, one hour') RETURNING n \gset
CALL pg_temp.measure(:n, 'SELECT count(*) FROM (SELECT stack_id, sum(value) FROM heap GROUP BY stack_id) AS sums', 2);
INSERT INTO bench_queries (what) VALUES ('sums by service in SQL on heap, joined, one hour') RETURNING n \gset
CALL pg_temp.measure(:n, 'SELECT count(*) FROM (SELECT labels->>''service'', sum(value) FROM heap JOIN profstore.series ON series.id = series_id GROUP BY 1) AS sums', 2);

\echo 'Milliseconds in one process: warm, least of several runs; cold, elapsed:'
SELECT what, round(cpu_ms::numeric, 1) AS cpu, round(elapsed_ms::numeric, 1) AS elapsed, round(cold_ms, 1) AS cold, to_reach,
	round((of_heap / cpu_ms)::numeric, 1) AS "heap's sums by stack of one hour, x"
FROM results JOIN bench_queries USING (n),
	(SELECT cpu_ms FROM results JOIN bench_queries USING (n) WHERE what LIKE 'sums by stack in SQL on heap%') AS heap(of_heap)
ORDER BY n;
\echo 'First query of a session, the flame graph of all, and the memory that the session then has more; least of several sessions:'
SELECT what, round(min(cpu_ms)::numeric, 1) AS cpu, cpu_to_reach AS to_reach, round(min(memory_mb)::numeric, 1) AS "MB", memory_to_reach AS "MB to reach",
	round((SELECT cpu_ms FROM results JOIN bench_queries USING (n) WHERE what LIKE '%by stack in SQL on heap%')::numeric, 1) AS "heap's sums by stack of one hour"
FROM bench_first GROUP BY what, cpu_to_reach, memory_to_reach ORDER BY what;
SELECT format('%s: %s %% of the CPU time without', what, round((cpu_ms / (SELECT cpu_ms FROM results WHERE n = 1) * 100)::numeric)) AS "Filters"
FROM results JOIN bench_queries USING (n) WHERE to_reach = '+ 50 %' ORDER BY n;
SELECT format('%s: %s times as fast as on heap (to reach: 50)', ours.what, round((theirs.cpu_ms / heap_rows / (ours.cpu_ms / :samples))::numeric)) AS "Joins"
FROM (SELECT what, cpu_ms FROM results JOIN bench_queries USING (n) WHERE what LIKE '%joined with series') AS ours,
	(SELECT cpu_ms FROM results JOIN bench_queries USING (n) WHERE what LIKE '%on heap, joined%') AS theirs, (SELECT count(*) FROM heap) AS h(heap_rows);
