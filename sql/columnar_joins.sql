-- Joins for which columnar rows are aggregated before the join, compared with the same queries over a heap table.
CREATE TABLE h (time timestamptz, series_id int4, stack_id int8, value int8, n int4);
INSERT INTO h
SELECT CASE WHEN g % 97 > 0 THEN timestamptz '2026-01-01Z' + g / 40 * interval '10 min' END, nullif(g % 13, 5), nullif((g * 7919) % 50, 17),
       CASE g % 101 WHEN 0 THEN 9223372036854775807 WHEN 1 THEN -9223372036854775808 WHEN 2 THEN NULL ELSE (g * 31) % 5000 - 2500 END, nullif(g % 11, 7)
FROM generate_series(0, 9999) AS g;
-- The same rows three times: in one table; in two partitions, of which one has sums and the other another column order; and in heap
CREATE TABLE c (LIKE h) USING profstore;
INSERT INTO c SELECT * FROM h WHERE n > 3;
INSERT INTO c SELECT * FROM h WHERE n <= 3 OR n IS NULL;
CREATE TABLE p (LIKE h) PARTITION BY RANGE (time);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (MINVALUE) TO ('2026-01-02Z') USING profstore;
CREATE TABLE p2 (n int4, value int8, gone int2, stack_id int8, series_id int4, time timestamptz) USING profstore;
ALTER TABLE p2 DROP COLUMN gone;
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM ('2026-01-02Z') TO (MAXVALUE);
CREATE TABLE p3 PARTITION OF p DEFAULT USING profstore;
INSERT INTO p SELECT * FROM h;
SELECT profstore.compact('p1') > 0;

-- The tables to join: names (some twice, some that no row has), rows at a time, and stacks.
CREATE TABLE names (id int4 PRIMARY KEY, labels jsonb, weight int4);
INSERT INTO names SELECT g, jsonb_build_object('service', 's' || g % 4, 'node', 'n' || g % 3), g FROM generate_series(0, 9) AS g;
CREATE TABLE tags (series_id int4, tag text);
INSERT INTO tags SELECT nullif(g % 9, 4), nullif('t' || g % 5, 't2') FROM generate_series(0, 29) AS g;
CREATE TABLE deploys (service text, version text, since timestamptz, till timestamptz);
INSERT INTO deploys SELECT 's' || g % 3, 'v' || g, timestamptz '2026-01-01Z' + g * interval '5 h', timestamptz '2026-01-01Z' + (g + 4) * interval '5 h' FROM generate_series(0, 8) AS g;
CREATE TABLE stacks (stack_id int8, function text);
INSERT INTO stacks SELECT g, 'f' || g % 7 FROM generate_series(0, 40) AS g;
ANALYZE;

-- Returns whether a plan aggregates rows below its joins.
CREATE FUNCTION is_below(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP plan := plan || line; END LOOP;
	RETURN plan ~ 'Finalize.*(Join|Nested Loop).*ProfstoreAgg';
END
$$;
-- PostgreSQL 16 and later keep the sides of a clause as in the query; PostgreSQL 18 and later show buffers in EXPLAIN by default,
-- and row counts with a fraction.
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		line := regexp_replace(regexp_replace(line, 'Bytes Read: [1-9]\d*', 'Bytes Read: n'), '(rows=\d+)\.00|(Usage: )\d+', '\1\2');
		RETURN NEXT regexp_replace(line, '\(s\.id = c\.series_id\)', '(c.series_id = s.id)');
	END LOOP;
END
$$;
-- Runs queries with @ for the table name: counts them, and returns those that differ from heap and those not aggregated below joins.
CREATE FUNCTION same(queries text[], OUT checked int, OUT differing text[], OUT otherwise text[]) LANGUAGE plpgsql AS $$
DECLARE
	query text;
	part text;
	differs bool;
BEGIN
	checked := 0;
	FOREACH query IN ARRAY queries LOOP
		FOREACH part IN ARRAY '{c,p}'::text[] LOOP
			EXECUTE format('SELECT EXISTS ((%1$s) EXCEPT ALL (%2$s)) OR EXISTS ((%2$s) EXCEPT ALL (%1$s))', replace(query, '@', 'h'), replace(query, '@', part)) INTO differs;
			checked := checked + 1;
			IF differs THEN differing := differing || replace(query, '@', part); END IF;
			IF NOT is_below(replace(query, '@', part)) THEN otherwise := otherwise || replace(query, '@', part); END IF;
		END LOOP;
	END LOOP;
END
$$;

-- Plans.
EXPLAIN (COSTS OFF) SELECT s.labels->>'service' AS service, sum(value) FROM c JOIN names AS s ON s.id = series_id GROUP BY 1;
EXPLAIN (VERBOSE, COSTS OFF) SELECT s.labels->>'service' AS service, sum(value), avg(n) FILTER (WHERE stack_id > 3) FROM p JOIN names AS s ON s.id = series_id
	WHERE time < '2026-01-03Z' GROUP BY 1 HAVING count(*) > 5;
EXPLAIN (COSTS OFF) SELECT date_trunc('hour', time, 'UTC'), function, sum(value) FROM c JOIN names AS s ON s.id = series_id JOIN stacks USING (stack_id) WHERE s.labels @> '{"service": "s1"}' GROUP BY 1, 2;
EXPLAIN (COSTS OFF) SELECT version, sum(value) FROM c JOIN names AS s ON s.id = series_id JOIN deploys AS d ON d.service = s.labels->>'service' AND time >= since AND time < till GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT sum(value) FROM c WHERE series_id IN (SELECT series_id FROM tags WHERE tag = 't1');

-- Queries that aggregate below the joins.
SELECT r.* FROM same(ARRAY[
	$$SELECT s.labels->>'service', sum(value), count(*), min(n), max(time), avg(value), count(n), sum(n) FROM @ JOIN names AS s ON s.id = series_id GROUP BY 1$$,
	$$SELECT s.labels, sum(value) + count(*) FROM @ JOIN names AS s ON s.id = series_id GROUP BY s.labels HAVING avg(n) > 2$$,
	$$SELECT s.id, s.labels->>'node', upper(s.labels->>'service'), sum(value) FROM @ JOIN names AS s ON s.id = series_id GROUP BY s.id$$,
	$$SELECT tag, sum(value), count(*) FROM @ JOIN tags USING (series_id) GROUP BY tag$$,
	$$SELECT tag, sum(value), count(*) FROM @ LEFT JOIN tags USING (series_id) GROUP BY tag$$,
	$$SELECT tag, sum(value), count(*) FROM @ LEFT JOIN tags ON tags.series_id = @.series_id AND n > 3 GROUP BY tag$$,
	$$SELECT weight, sum(value) FROM @ JOIN names AS s ON s.id = series_id WHERE n = ANY ('{1,2,3}') AND time IS NOT NULL GROUP BY weight$$,
	$$SELECT sum(value), count(*) FROM @ JOIN names AS s ON s.id = series_id WHERE s.labels->>'service' = 's9'$$,
	$$SELECT weight FROM @ JOIN names AS s ON s.id = series_id GROUP BY weight$$,
	$$SELECT stack_id % 7, function, sum(value) FROM @ JOIN stacks USING (stack_id) GROUP BY 1, 2$$,
	$$SELECT date_trunc('hour', time, 'UTC') + interval '1 h', s.labels->>'node', sum(value) FROM @ JOIN names AS s ON s.id = series_id GROUP BY date_trunc('hour', time, 'UTC'), 2$$,
	$$SELECT date_bin('2 h', time, '2026-01-01Z'), version, sum(value), count(*) FROM @ JOIN names AS s ON s.id = series_id JOIN deploys AS d ON d.service = s.labels->>'service' AND time >= since AND time < till GROUP BY 1, 2$$,
	$$SELECT tag, function, sum(value) FROM @ JOIN tags USING (series_id) JOIN stacks USING (stack_id) JOIN names ON id = series_id GROUP BY 1, 2$$,
	$$SELECT count(*), sum(value) FROM @ WHERE EXISTS (SELECT FROM tags WHERE tags.series_id = @.series_id)$$,
	$$SELECT count(*), sum(value) FROM @ WHERE NOT EXISTS (SELECT FROM tags WHERE tags.series_id = @.series_id)$$,
	$$SELECT count(*), sum(value) FROM @ JOIN names AS s ON s.id < series_id$$,
	$$SELECT count(*), sum(value) FROM @ JOIN names AS s ON coalesce(series_id, 3) = s.id$$,
	$$SELECT series_id, tag, sum(value) FILTER (WHERE n > 3), count(*) FILTER (WHERE value < 0 AND stack_id < 25) FROM @ LEFT JOIN tags USING (series_id) GROUP BY 1, 2$$,
	$$SELECT labels->>'service' || stack_id, sum(value) FROM @ JOIN names AS s ON s.id = series_id GROUP BY 1$$,
	$$SELECT DISTINCT sum(n) OVER (PARTITION BY weight), rank() OVER (ORDER BY sum(value)) FROM @ JOIN names AS s ON s.id = series_id GROUP BY weight, n$$,
	$$SELECT e.value, sum(@.value) FROM @ JOIN names AS s ON s.id = series_id, jsonb_each_text(s.labels) AS e GROUP BY 1$$,
	$$SELECT (SELECT max(tag) FROM tags WHERE tags.series_id = s.id), sum(value) FROM @ JOIN names AS s ON s.id = series_id GROUP BY s.id$$
]) AS r;

-- Queries that do not: the aggregated groups would not suffice for the join, or the node does not support an expression.
SELECT checked, differing, cardinality(otherwise) AS otherwise FROM same(ARRAY[
	$$SELECT weight, sum(n * 2) FROM @ JOIN names AS s ON s.id = series_id GROUP BY weight$$,
	$$SELECT s.labels->>'node', sum(n * weight) FROM @ JOIN names AS s ON s.id = series_id GROUP BY 1$$,
	$$SELECT s.labels->>'node', sum(value), count(DISTINCT weight) FROM @ JOIN names AS s ON s.id = series_id GROUP BY 1$$,
	$$SELECT s.labels->>'node', sum(value), count(s.id) FROM @ JOIN names AS s ON s.id = series_id GROUP BY 1$$,
	$$SELECT s.labels->>'node', count(DISTINCT stack_id) FROM @ JOIN names AS s ON s.id = series_id GROUP BY 1$$,
	$$SELECT s.labels->>'node', sum(value) FROM names AS s LEFT JOIN @ ON s.id = series_id GROUP BY 1$$,
	$$SELECT s.labels->>'node', sum(value) FROM @ FULL JOIN names AS s ON s.id = series_id GROUP BY 1$$,
	$$SELECT coalesce(a.id, w.id), sum(value) FROM @ JOIN (names AS a FULL JOIN generate_series(1, 50000) AS w(id) ON a.id = w.id) ON coalesce(a.id, w.id) = series_id GROUP BY 1$$,
	$$SELECT a.id, sum(value) FROM @, names AS a FULL JOIN generate_series(3, 50000) AS w(id) USING (id) WHERE id = series_id GROUP BY 1$$,
	$$SELECT s.labels->>'node', sum(value) FROM @ CROSS JOIN names AS s GROUP BY 1$$,
	$$SELECT labels->>'node', count(*) FROM names WHERE EXISTS (SELECT FROM @ WHERE series_id = id) GROUP BY 1$$,
	$$SELECT s.labels->>'node', sum(value) FROM @ JOIN names AS s ON s.id = series_id GROUP BY ROLLUP (1)$$,
	$$SELECT s.labels->>'node', sum(value) FROM @ JOIN names AS s ON s.id = series_id WHERE stack_id % 7 = 3 GROUP BY 1$$,
	$$SELECT s.labels->>'node', sum(value) FROM @ JOIN names AS s ON s.id = series_id WHERE random() >= 0 GROUP BY 1$$,
	$$SELECT s.labels->>'node', sum(value) FROM @ JOIN names AS s ON s.id = series_id AND s.weight + random() >= n GROUP BY 1$$,
	$$SELECT s.labels->>'node', generate_series(1, 2), sum(value) FROM @ JOIN names AS s ON s.id = series_id GROUP BY 1, 2$$,
	$$SELECT l.x, sum(value) FROM @ JOIN names AS s ON s.id = series_id, LATERAL (SELECT value % 2 AS x OFFSET 0) AS l GROUP BY 1$$
]) AS r;
-- an expression that fails on a row is not evaluated for rows that the join drops
SELECT checked, differing FROM same(ARRAY[$$SELECT 60 / series_id, sum(value) FROM @ JOIN names AS s ON s.id = series_id AND s.id > 0 GROUP BY 1$$]);

-- Queries from random parts, different ones each time.
CREATE FUNCTION one_of(list text[], query int, part int) RETURNS text IMMUTABLE LANGUAGE sql AS
	$$SELECT list[1 + (hashint8extended(query, part) & 1073741823) % cardinality(list)]$$;
CREATE VIEW queries AS
SELECT format('SELECT %s, %s, %s, %s FROM @ %s %s WHERE %s AND %s GROUP BY 1, 2 %s', one_of(of_names, g, 1), one_of(of_samples, g, 2), one_of(sums, g, 3), one_of(sums, g, 4), one_of(joins, g, 5), one_of(more, g, 6),
	one_of(filters, g, 7), one_of(filters, g, 8), one_of(havings, g, 9)) AS query
FROM generate_series(1, 150) AS g,
	(SELECT ARRAY[$$weight$$, $$labels->>'node'$$, $$labels->>'service'$$, $$labels$$, $$weight % 3$$, $$x.id$$, $$weight + @.series_id % 3$$] AS of_names,
	        ARRAY[$$@.series_id$$, $$@.stack_id$$, $$time$$, $$date_trunc('hour', time)$$, $$date_bin('1 day', time, '2026-01-01Z')$$, $$time::date$$, $$@.n$$, $$weight$$, $$@.stack_id % 5$$, $$@.stack_id + x.id$$] AS of_samples,
	        ARRAY[$$sum(@.value)$$, $$sum(@.n)$$, $$count(*)$$, $$count(@.n)$$, $$min(@.value)$$, $$max(time)$$, $$avg(@.value)$$, $$avg(@.n)$$, $$sum(@.value) FILTER (WHERE @.n > 4)$$, $$min(@.stack_id)$$, $$count(*) * 2 + sum(@.n)$$] AS sums,
	        ARRAY[$$JOIN names AS x ON x.id = @.series_id$$, $$JOIN names AS x ON x.id = @.series_id$$, $$LEFT JOIN names AS x ON x.id = @.series_id$$, $$JOIN names AS x ON x.id < @.series_id$$, $$JOIN names AS x ON x.id = @.stack_id % 10$$, $$LEFT JOIN names AS x ON x.id = @.series_id AND x.weight > @.n$$] AS joins,
	        ARRAY[$$$$, $$JOIN tags ON tags.series_id = @.series_id$$, $$LEFT JOIN tags ON tags.series_id = x.id$$, $$JOIN stacks ON stacks.stack_id = @.stack_id$$, $$JOIN deploys AS d ON d.service = labels->>'service' AND time BETWEEN since AND till$$, $$LEFT JOIN deploys AS d ON time >= since AND time < till$$] AS more,
	        ARRAY[$$true$$, $$@.n > 3$$, $$@.series_id IN (SELECT series_id FROM tags WHERE tag IS NOT NULL)$$, $$@.time >= '2026-01-01 12:00Z'$$, $$@.value < 1000$$, $$weight > 2$$, $$labels->>'service' <> 's1'$$, $$@.stack_id = ANY ('{1,2,3,25}')$$, $$NOT EXISTS (SELECT FROM stacks AS t WHERE t.stack_id = @.stack_id)$$] AS filters,
	        ARRAY[$$$$, $$$$, $$HAVING count(*) > 3$$, $$HAVING sum(@.n) > 100 AND avg(@.value) > 0$$] AS havings) AS parts;
SELECT checked, differing, cardinality(otherwise) < checked / 10 AS below FROM (SELECT array_agg(query) AS list FROM queries) AS q, same(q.list) AS r;

-- With parallel workers, and with little memory.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT s.labels->>'service' AS service, sum(value) FROM c JOIN names AS s ON s.id = series_id GROUP BY 1;
SELECT checked, differing FROM (SELECT array_agg(query) AS list FROM (SELECT query FROM queries LIMIT 60) AS q) AS q, same(q.list) AS r;
RESET ALL;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT checked, differing FROM (SELECT array_agg(query) AS list FROM (SELECT query FROM queries LIMIT 60) AS q) AS q, same(q.list) AS r;
RESET ALL;

-- Rows that wait in memory.
BEGIN;
INSERT INTO h SELECT * FROM h WHERE series_id = 3;
INSERT INTO c SELECT * FROM c WHERE series_id = 3;
INSERT INTO p SELECT * FROM p WHERE series_id = 3;
SELECT checked, differing FROM (SELECT array_agg(query) AS list FROM (SELECT query FROM queries LIMIT 60) AS q) AS q, same(q.list) AS r;
ROLLBACK;

-- Parameters, rescans, views, CTEs.
PREPARE q (text, int4) AS SELECT s.labels->>'node' AS node, sum(value) FROM c JOIN names AS s ON s.id = series_id WHERE s.labels->>'service' = $1 AND n > $2 GROUP BY 1 ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
SELECT * FROM plan_of($$EXECUTE q ('s1', 3)$$);
EXECUTE q ('s1', 3);
EXECUTE q ('s2', 100);
EXECUTE q ('s1', NULL);
SELECT x, l.* FROM generate_series(1, 3) AS x, LATERAL (SELECT count(*), sum(value) FROM c JOIN names AS s ON s.id = series_id WHERE n > x AND weight > x) AS l;
SELECT x, (SELECT sum(value) FROM c JOIN names AS s ON s.id = series_id WHERE weight = x) FROM generate_series(1, 3) AS x;
CREATE VIEW named AS SELECT c.*, labels->>'service' AS service FROM c JOIN names ON id = series_id;
EXPLAIN (COSTS OFF) SELECT service, sum(value) FROM named GROUP BY service;
WITH sums AS MATERIALIZED (SELECT service, sum(value) FROM named GROUP BY service) SELECT count(*), sum(sum) FROM sums;

-- Samples joined with functions of their series, and with tables of labels or times, as in README.md.
SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-03Z') > 0 AS made;
SELECT profstore.intern_series(array_fill('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta'::text, ARRAY[3]),
	ARRAY['{"service": "s0", "node": "n0"}', '{"service": "s1", "node": "n0"}', '{"service": "s1", "node": "n1"}']::jsonb[], '{1,1,1}') AS ids \gset
INSERT INTO profstore.samples SELECT timestamptz '2026-01-01Z' + g / 60 * interval '10 min', (:'ids'::int4[])[1 + g % 3], g % 20, g FROM generate_series(1, 10000) AS g;
ANALYZE profstore.samples;
CREATE TABLE hosts (node text PRIMARY KEY, team text);
INSERT INTO hosts VALUES ('n0', 'a'), ('n2', 'b');
CREATE TABLE readme (query text);
INSERT INTO readme VALUES
	($$SELECT team, sum(value) FROM profstore.samples JOIN profstore.series('process_cpu') USING (series_id) LEFT JOIN hosts ON hosts.node = labels->>'node'
	   WHERE time > timestamptz '2026-01-01 02:00Z' GROUP BY team ORDER BY team$$),
	($$SELECT date_trunc('day', time, 'UTC') AS day, version, sum(value) FROM profstore.samples JOIN profstore.series('process_cpu') USING (series_id)
	   JOIN (SELECT service, version, tstzrange(since, till) AS live FROM deploys WHERE version < 'v4') AS d ON d.service = labels->>'service' AND time <@ live
	   GROUP BY day, version ORDER BY day, version$$),
	($$SELECT sum(value) FROM profstore.samples JOIN profstore.series('process_cpu{service="s1"}') USING (series_id) WHERE time >= (SELECT min(since) FROM deploys)$$);
SELECT is_below(query) FROM readme;
SELECT query FROM readme \gexec
SET profstore.enable_agg = off;
SELECT query FROM readme \gexec
RESET profstore.enable_agg;

-- A rescanned join reads its table only once.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT * FROM plan_of($$SELECT sum(value) FROM c JOIN names AS s ON s.id = series_id WHERE s.labels->>'service' = 's1'$$);
RESET ALL;

-- Row policies: sums include visible rows only, and functions of other roles are not called for hidden rows.
CREATE ROLE regress_joins_reader;
GRANT SELECT ON c, names TO regress_joins_reader;
ALTER TABLE names ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON names USING (labels->>'service' = 's1');
CREATE FUNCTION tell(label text) RETURNS bool COST 0.0001 LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'saw %', label; RETURN true; END $$;
SET ROLE regress_joins_reader;
SELECT is_below('SELECT s.labels->>''service'', sum(value) FROM c JOIN names AS s ON s.id = series_id GROUP BY 1');
SELECT s.labels->>'service' AS service, count(*) FROM c JOIN names AS s ON s.id = series_id WHERE tell(s.labels->>'service') GROUP BY 1;
CREATE FUNCTION pg_temp.tell_stable(label text) RETURNS bool STABLE COST 0.0001 LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'saw %', label; RETURN true; END $$;
SELECT s.labels->>'service' AS service, count(*) FROM c JOIN names AS s ON s.id = series_id WHERE pg_temp.tell_stable(s.labels->>'service') GROUP BY 1;
RESET ROLE;
DROP OWNED BY regress_joins_reader;
DROP ROLE regress_joins_reader;
