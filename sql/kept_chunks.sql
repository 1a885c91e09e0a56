-- The session keeps, for its next flame graph, the stacks that a focus filter passes. Compared with plain SQL over heap, and by the
-- number of blocks that were read.
\i sql/fixtures/preamble.sql

-- 3 series, 30 stacks, 600 windows of 5 s; the last 100 windows lack some stacks
SELECT profstore.ensure_partitions('2026-01-02', '2026-01-03');
CREATE TABLE kept_series AS
SELECT n, (profstore.intern_series(ARRAY[:'jobs'], ARRAY[jsonb_build_object('n', n::text)], '{0}'))[1] AS series_id FROM generate_series(1, 3) AS n;
CREATE TABLE kept_stacks AS SELECT n, format('main;f%s;g%s', n % 7, n) AS stack, put_stack(format('main;f%s;g%s', n % 7, n)) AS stack_id FROM generate_series(1, 30) AS n;
CREATE TABLE kept_rows AS
SELECT timestamptz '2026-01-02 10:00Z' + w * interval '5 s' AS "time", r.n, series_id, stack, stack_id, hashint8(w * 1000 + r.n * 100 + t.n) % 90 AS value
FROM generate_series(0, 599) AS w, kept_series AS r, kept_stacks AS t WHERE w < 500 OR hashint8(w * 31 + t.n) % 3 = 0;
INSERT INTO profstore.samples SELECT "time", series_id, stack_id, value FROM kept_rows;
SELECT profstore.compact() > 0 AS compacted;
SELECT profstore.touch_series(array_agg(series_id), '2026-01-02', '2026-01-03') FROM kept_series;

-- the number of buckets, the number of those that differ from the stored values, and whether blocks were read, except those with the times
-- of stored sums; last_scan() counts the blocks that one statement reads
CREATE FUNCTION check_graph(wanted text, focus text, step interval DEFAULT '20 s', from_ts timestamptz DEFAULT '2026-01-02', to_ts timestamptz DEFAULT '2026-01-03',
	OUT buckets int8, OUT wrong int8, OUT reads bool) LANGUAGE plpgsql AS $$
DECLARE
	selector text := 'jobs:run:count:run:count:delta' || wanted;
	of_sums int8;
BEGIN
	PERFORM count(*) FROM profstore.timeseries(selector, from_ts, to_ts, step);
	of_sums := blocks_read FROM profstore.last_scan();
	CREATE TEMP TABLE graph AS
	SELECT t.time, round((t.value * extract(epoch FROM step))::numeric, 3) AS value
	FROM profstore.timeseries(selector, from_ts, to_ts, step, focus => check_graph.focus) AS t;
	reads := blocks_read > 2 * of_sums FROM profstore.last_scan();
	CREATE TEMP TABLE stored AS
	SELECT date_bin(step, r.time, '2026-01-01') AS "time", round(sum(r.value) FILTER (WHERE r.stack ~ check_graph.focus), 3) AS value
	FROM kept_rows AS r WHERE r.time >= from_ts AND r.time < to_ts AND (wanted = '{}' OR wanted = format('{n="%s"}', r.n)) GROUP BY 1;
	buckets := count(*) FROM graph;
	wrong := count(*) FROM graph FULL JOIN stored USING ("time") WHERE graph.value IS DISTINCT FROM coalesce(stored.value, 0);
	DROP TABLE graph, stored;
END
$$;

SELECT * FROM check_graph('{}', 'f[12]');
SELECT * FROM check_graph('{}', 'f[12]');
SELECT * FROM check_graph('{}', 'f[12]', '1 min') AS other_step;
SELECT * FROM check_graph('{n="2"}', 'f[12]') AS one_of_them;
SELECT * FROM check_graph('{}', 'g7') AS other_focus;
SELECT * FROM check_graph('{}', 'nowhere') AS nothing_passes;
SELECT * FROM check_graph('{}', 'nowhere') AS nothing_passes_again;
-- ranges that cut segments read the cut blocks
SELECT * FROM check_graph('{}', 'f[12]', '20 s', '2026-01-02 10:01:20Z', '2026-01-02 10:38:40Z') AS a_cut;
SELECT * FROM check_graph('{}', 'f[12]', '20 s', '2026-01-02 10:01:20Z', '2026-01-02 10:38:40Z') AS a_cut_again;
-- a query for one series keeps this series alone; a query for the others adds them
SELECT * FROM check_graph('{n="3"}', 'f3') AS one;
SELECT * FROM check_graph('{n="3"}', 'f3') AS one_again;
SELECT * FROM check_graph('{n="1"}', 'f3') AS another;
SELECT * FROM check_graph('{}', 'f3') AS all_of_them;
SELECT * FROM check_graph('{n="3"}', 'f3') AS one_of_all;
-- a heat map uses what a flame graph has kept
SELECT count(*), sum(value) = (SELECT sum(value) FROM kept_rows WHERE stack ~ 'f3') AS is_right FROM profstore.heatmap(:'jobs', '2026-01-02', '2026-01-03', '1 min', 1, focus => 'f3');
SELECT blocks_read FROM profstore.last_scan();

-- rows of this transaction, which is rolled back
BEGIN;
INSERT INTO profstore.samples SELECT "time", series_id, stack_id, value FROM kept_rows;
SELECT sum(round(value * 20)) / 2 = (SELECT sum(value) FROM kept_rows WHERE stack ~ 'f3') AS twice FROM profstore.timeseries(:'jobs', '2026-01-02', '2026-01-03', '20 s', focus => 'f3');
SAVEPOINT s;
SELECT profstore.compact() > 0 AS compacted;
SELECT sum(round(value * 20)) / 2 = (SELECT sum(value) FROM kept_rows WHERE stack ~ 'f3') AS twice FROM profstore.timeseries(:'jobs', '2026-01-02', '2026-01-03', '20 s', focus => 'f3');
ROLLBACK TO s;
SELECT sum(round(value * 20)) / 2 = (SELECT sum(value) FROM kept_rows WHERE stack ~ 'f3') AS twice FROM profstore.timeseries(:'jobs', '2026-01-02', '2026-01-03', '20 s', focus => 'f3');
ROLLBACK;
SELECT * FROM check_graph('{}', 'f3') AS as_before;

-- other names
UPDATE profstore.functions SET name = 'f3 too' WHERE name = 'f4';
UPDATE kept_rows SET stack = replace(stack, 'f4', 'f3 too');
SELECT profstore.bump_names();
SELECT * FROM check_graph('{}', 'f3') AS renamed;
SELECT * FROM check_graph('{}', 'f3') AS renamed_again;

-- other segments
INSERT INTO kept_rows SELECT "time" + interval '1 hour', n, series_id, stack, stack_id, value + 1 FROM kept_rows WHERE "time" < '2026-01-02 10:10Z';
INSERT INTO profstore.samples SELECT "time", series_id, stack_id, value FROM kept_rows WHERE "time" >= '2026-01-02 11:00Z';
SELECT profstore.compact() > 0 AS compacted;
SELECT * FROM check_graph('{}', 'f3') AS more;
SELECT * FROM check_graph('{}', 'f3') AS more_again;

-- a result that does not fit into the memory is read again
SET work_mem = '64kB';
SELECT wrong, reads FROM check_graph('{}', 'f5') AS little_memory;
SELECT wrong, reads FROM check_graph('{}', 'f5') AS little_memory_again;
RESET work_mem;

-- results that workers keep are returned to the session, and given to the next workers
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
SELECT * FROM check_graph('{}', 'f6') AS by_workers;
SELECT * FROM check_graph('{}', 'f6') AS by_workers_again;
SET max_parallel_workers_per_gather = 0;
SELECT * FROM check_graph('{}', 'f6') AS alone;
