-- Plans that use the custom nodes and plans that do not: partitions, changed columns, sums, memory, rescans, cursors; and the
-- output of EXPLAIN.
-- PostgreSQL 18 and later show buffers in EXPLAIN by default, and row counts with a fraction.
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		RETURN NEXT regexp_replace(regexp_replace(line, 'Bytes Read: [1-9]\d*', 'Bytes Read: n'), '(rows=\d+)\.00', '\1');
	END LOOP;
END
$$;

-- One node scans all partitions, also if columns have another order in some.
CREATE TABLE p (time timestamptz, series_id int4, stack_id int8, value int8) PARTITION BY RANGE (time);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2026-01-01Z') TO ('2026-01-02Z') USING profstore;
CREATE TABLE p2 (gone int4, value int8, stack_id int8, series_id int4, time timestamptz) USING profstore;
ALTER TABLE p2 DROP COLUMN gone;
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM ('2026-01-02Z') TO ('2026-01-03Z');
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM ('2026-01-03Z') TO ('2026-01-05Z') PARTITION BY LIST (series_id);
CREATE TABLE p3a PARTITION OF p3 FOR VALUES IN (0, 1, 2, 3) USING profstore;
CREATE TABLE p3b PARTITION OF p3 DEFAULT USING profstore;
INSERT INTO p SELECT timestamptz '2026-01-01Z' + g * interval '30 s', g % 7, g % 11, g FROM generate_series(0, 11519) AS g;
ANALYZE p;
EXPLAIN (COSTS OFF) SELECT stack_id, sum(value) FROM p GROUP BY stack_id;
SELECT stack_id, sum(value), count(*), min(time) FROM p GROUP BY stack_id ORDER BY stack_id;
SET profstore.enable_agg = off;
SELECT stack_id, sum(value), count(*), min(time) FROM p GROUP BY stack_id ORDER BY stack_id;
RESET profstore.enable_agg;
EXPLAIN (COSTS OFF) SELECT series_id, count(*) FROM p WHERE time >= '2026-01-02 12:00Z' AND time < '2026-01-03 12:00Z' AND series_id > 3 GROUP BY series_id;
SELECT series_id, count(*) FROM p WHERE time >= '2026-01-02 12:00Z' AND time < '2026-01-03 12:00Z' AND series_id > 3 GROUP BY series_id ORDER BY 1;
SELECT date_bin('1 day', time, '2000-01-01Z'), sum(value) FROM p GROUP BY 1 ORDER BY 1;
-- one of the partitions is a heap table
CREATE TABLE p4 PARTITION OF p FOR VALUES FROM ('2026-01-05Z') TO ('2026-01-06Z') USING heap;
INSERT INTO p VALUES ('2026-01-05Z', 1, 1, 1);
EXPLAIN (COSTS OFF) SELECT sum(value) FROM p;
EXPLAIN (COSTS OFF) SELECT sum(value) FROM p WHERE time < '2026-01-05Z';
SELECT sum(value) FROM p;

-- Partitions and segments that are skipped, and how EXPLAIN shows it.
CREATE TABLE t (time timestamptz, series_id int4, stack_id int8, value int8, f float8) USING profstore;
INSERT INTO t SELECT timestamptz '2026-01-01Z' + g * interval '1 s', 1, g % 10, g, g / 10.0 FROM generate_series(0, 9999) AS g;
INSERT INTO t SELECT timestamptz '2026-01-02Z' + g * interval '1 s', 2, g % 10, g, g / 10.0 FROM generate_series(0, 9999) AS g;
INSERT INTO t SELECT timestamptz '2026-01-03Z' + g * interval '1 s', 3, g % 10, g, g / 10.0 FROM generate_series(0, 9999) AS g;
ANALYZE t;
SELECT plan_of($$SELECT value FROM t WHERE time >= '2026-01-02Z' AND time < '2026-01-02 00:01Z' AND value % 2 = 0$$);
SELECT plan_of($$SELECT stack_id, sum(value) FROM t WHERE series_id = ANY ('{1,3}') GROUP BY stack_id HAVING count(*) > 1$$);
SELECT plan_of($$SELECT count(*) FROM t WHERE f < -1$$);
SELECT regexp_replace(string_agg(plan_of, E'\n'), '("Bytes Read": )\d+', '\1n') FROM plan_of($$SELECT sum(value) FROM t$$);
DO $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) SELECT sum(value) FROM t WHERE series_id = 2' INTO plan;
	RAISE NOTICE '%', (SELECT string_agg(format('%s: %s', key, value), ', ') FROM json_each(plan->0->'Plan') WHERE key ~ '^(Custom|Tables|Block F|Seg|Blocks)');
END
$$;
EXPLAIN (COSTS OFF) SELECT value FROM t WHERE time > now() - interval '1 h';

-- The directory's minimum and maximum belong to the columns that had their names when the segment was written.
CREATE TABLE renamed (time timestamptz, other timestamptz, series_id int4, n int4) USING profstore;
INSERT INTO renamed SELECT '2026-01-01Z', '2030-01-01Z', 1, 7 FROM generate_series(1, 100);
ALTER TABLE renamed RENAME COLUMN time TO old_time;
ALTER TABLE renamed RENAME COLUMN other TO time;
ALTER TABLE renamed DROP COLUMN series_id;
ALTER TABLE renamed RENAME COLUMN n TO series_id;
SELECT count(*) FROM renamed WHERE time > '2029-01-01Z';
SELECT count(*) FROM renamed WHERE series_id = 7;
SELECT count(*) FROM renamed WHERE series_id = 1;
ALTER TABLE renamed DROP COLUMN series_id;
ALTER TABLE renamed ADD COLUMN series_id int4 DEFAULT 9;
SELECT count(*) FROM renamed WHERE series_id = 9;
SELECT count(*) FROM renamed WHERE series_id IS NULL;

-- A changed type without a rewrite: values stored with the old type are read with the new one.
CREATE TABLE retyped (series_id int4, stack_id int4, time timestamptz, a int4, o oid) USING profstore;
INSERT INTO retyped SELECT -1 - g % 2, g, now(), -5, 4294967290 FROM generate_series(1, 2000) AS g;
ALTER TABLE retyped ALTER series_id TYPE oid, ALTER a TYPE oid, ALTER o TYPE int4;
INSERT INTO retyped SELECT 4294967295, g, now(), 4294967291, -6 FROM generate_series(1, 10) AS g;
SELECT series_id, a, o, count(*), sum(o), max(a) FROM retyped GROUP BY series_id, a, o ORDER BY 1;
SELECT count(*) FROM retyped WHERE a = 4294967291;
SELECT count(*) FROM retyped WHERE a > 5 AND series_id > 4294967294 AND o < 0;
SELECT profstore.compact('retyped');
SELECT series_id, a, o, count(*), sum(o), max(a) FROM retyped GROUP BY series_id, a, o ORDER BY 1;
SELECT count(*) FROM retyped WHERE a > 5 AND series_id > 4294967294 AND o < 0;

-- Sums of segments replace rows where they suffice for the query.
CREATE TABLE s (time timestamptz NOT NULL, series_id int4 NOT NULL, stack_id int8 NOT NULL, value int8 NOT NULL, n int4) USING profstore;
INSERT INTO s SELECT timestamptz '2026-01-01Z' + g % 60 * interval '1 s', g / 6000 % 5, g / 60 % 100, g, 2147483647 - g % 3 FROM generate_series(0, 59999) AS g;
SELECT profstore.compact('s') > 0;
ANALYZE s;
SELECT plan_of('SELECT stack_id, sum(value), count(*), avg(n) FROM s GROUP BY stack_id');
SELECT plan_of('SELECT stack_id, sum(value) FROM s WHERE value > 100 GROUP BY stack_id');
-- by series and time, if that takes fewer sums
SELECT plan_of('SELECT series_id, sum(value), count(*) FROM s WHERE time >= ''2026-01-01 00:00:30Z'' GROUP BY series_id');
CREATE TABLE sums (query text);
INSERT INTO sums VALUES
	('SELECT stack_id, sum(value), count(*), avg(value), avg(n), count(n), min(stack_id) FROM s GROUP BY stack_id'),
	('SELECT sum(value), count(*), sum(n) FROM s'),
	('SELECT series_id, stack_id % 3, sum(value) FILTER (WHERE stack_id < 50), count(*) FILTER (WHERE series_id = 2) FROM s WHERE series_id > 1 GROUP BY 1, 2'),
	('SELECT time, series_id, sum(value), count(*) FROM s WHERE time < ''2026-01-01 00:00:30Z'' GROUP BY time, series_id'),
	('SELECT stack_id, sum(value) FROM s WHERE value > 100 GROUP BY stack_id'),
	('SELECT stack_id, sum(series_id), max(value), sum(value) FILTER (WHERE value > 3) FROM s WHERE stack_id = 7 GROUP BY stack_id'),
	('SELECT series_id, sum(stack_id), sum(value), count(*) FROM s GROUP BY series_id'),
	('SELECT series_id, sum(value), avg(n) FROM s WHERE time >= ''2026-01-01 00:00:30Z'' GROUP BY series_id'),
	('SELECT stack_id, max(time), sum(value) FROM s WHERE time >= ''2026-01-01 00:00:05Z'' GROUP BY stack_id');
CREATE FUNCTION answers() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text;
	answer text;
BEGIN
	FOR query IN SELECT sums.query FROM sums LOOP
		EXECUTE format('SELECT md5(string_agg(q::text, '' '' ORDER BY q::text)) FROM (%s) AS q', query) INTO answer;
		RETURN NEXT answer;
	END LOOP;
END
$$;
CREATE TABLE with_sums AS SELECT answers() AS answer;
SET profstore.enable_summaries = off;
CREATE TABLE without_sums AS SELECT answers() AS answer;
SET profstore.enable_agg = off;
CREATE TABLE without_node AS SELECT answers() AS answer;
RESET profstore.enable_summaries;
RESET profstore.enable_agg;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TABLE in_parallel AS SELECT answers() AS answer;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SELECT (SELECT count(DISTINCT answer) FROM with_sums) AS answers,
       (TABLE with_sums EXCEPT TABLE without_sums) IS NULL AND (TABLE with_sums EXCEPT TABLE without_node) IS NULL AND (TABLE with_sums EXCEPT TABLE in_parallel) IS NULL AS same;

-- More groups than fit in memory: several passes.
CREATE TABLE many (k int4, v int8) USING profstore;
INSERT INTO many SELECT g % 50000, g FROM generate_series(0, 99999) AS g;
ANALYZE many;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT regexp_replace(plan_of, 'Passes: \d+', 'Passes: n') FROM plan_of('SELECT k, sum(v) FROM many GROUP BY k') WHERE plan_of ~ 'Profstore|Passes';
SELECT count(*), sum(s), sum(c), count(DISTINCT k) FROM (SELECT k, sum(v) AS s, count(*) AS c FROM many GROUP BY k) AS groups;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT count(*), sum(s), sum(c), count(DISTINCT k) FROM (SELECT k, sum(v) AS s, count(*) AS c FROM many GROUP BY k) AS groups;
RESET ALL;

-- Rescans with changed values, subplans, CTEs, prepared statements, cursors.
SELECT x, (SELECT sum(value) FROM t WHERE series_id = x), (SELECT count(*) FROM (SELECT stack_id FROM t WHERE t.value < x GROUP BY stack_id) AS g) FROM generate_series(1, 4) AS x;
SELECT x, l.n FROM generate_series(1, 3) AS x, LATERAL (SELECT count(*) AS n FROM t WHERE stack_id = x AND value > 10 * x) AS l;
SELECT x, v.value FROM generate_series(1, 3) AS x, LATERAL (SELECT value FROM t WHERE series_id = x AND value >= x LIMIT 1) AS v;
WITH m AS MATERIALIZED (SELECT stack_id, max(value) AS top FROM t GROUP BY stack_id) SELECT count(*), sum(top) FROM m;
PREPARE q (int4, timestamptz) AS SELECT sum(value) FROM t WHERE series_id = $1 AND time >= $2;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE q (2, '2026-01-02Z');
EXECUTE q (2, '2026-01-02Z');
EXECUTE q (NULL, '2026-01-02Z');
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT value FROM t WHERE series_id = 2 AND value < 5000 AND value % 1000 = 0;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH LAST FROM c;
FETCH ALL FROM c;
FETCH BACKWARD ALL FROM c;
DECLARE g SCROLL CURSOR FOR SELECT series_id, count(*) FROM t GROUP BY series_id ORDER BY 1;
FETCH LAST FROM g;
FETCH FIRST FROM g;
COMMIT;

-- Queries that the custom nodes leave to PostgreSQL.
-- PostgreSQL 16 and later sort for DISTINCT in a separate node
SELECT substring(line FROM '(Aggregate|Custom Scan \(\w+\)) ') AS node FROM plan_of('SELECT count(DISTINCT series_id) FROM t') AS line WHERE line ~ 'Aggregate|Custom';
EXPLAIN (COSTS OFF) SELECT sum(f) FROM t;
EXPLAIN (COSTS OFF) SELECT series_id, sum(value) FROM t WHERE value % 2 = 0 GROUP BY ROLLUP (series_id);
SELECT x.a FROM (VALUES (1)) AS x (a) WHERE EXISTS (SELECT FROM t WHERE series_id = x.a FOR UPDATE);
