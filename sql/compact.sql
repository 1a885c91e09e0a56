-- profstore.compact merges segments; rows stay unchanged.
SET timezone = 'UTC';
CREATE VIEW levels AS
	SELECT level, count(*) AS segments, sum(row_count) AS rows FROM profstore.segments GROUP BY level ORDER BY level;

-- COPYs of several sizes into an hour of the past, and a heap table with the same rows for comparison
CREATE TABLE t (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
CREATE TABLE h (LIKE t);
CREATE PROCEDURE fill(batches int4, size int4, start timestamptz) LANGUAGE plpgsql AS $$
BEGIN
	FOR b IN 1 .. batches LOOP
		INSERT INTO h SELECT start + b * interval '10 s', g % 7, hashint4(g) % 1000, nullif(g % 10, b % 10)
		FROM generate_series(1, size + b) AS g;
		INSERT INTO t SELECT start + b * interval '10 s', g % 7, hashint4(g) % 1000, nullif(g % 10, b % 10)
		FROM generate_series(1, size + b) AS g;
		COMMIT;
	END LOOP;
END
$$;
CREATE VIEW difference AS
	(SELECT * FROM t EXCEPT ALL SELECT * FROM h) UNION ALL (SELECT * FROM h EXCEPT ALL SELECT * FROM t);

CALL fill(20, 1, '2026-01-01 00:00Z');
CALL fill(20, 1500, '2026-01-01 00:10Z');
CALL fill(2, 20000, '2026-01-01 00:20Z');
SELECT * FROM levels;
SELECT profstore.compact('t');
SELECT * FROM levels;
SELECT count(*) AS differences FROM difference;
SELECT profstore.compact('t') AS nothing_left;

-- rows are in the order of series, stack and time
SELECT count(*) AS out_of_order
FROM (SELECT (series_id, stack_id, time) < lag((series_id, stack_id, time)) OVER () AS wrong FROM t) AS x WHERE wrong;

-- late rows are merged with segments of at most their size; the old values disappear from the TOAST relation
CALL fill(3, 10, '2026-01-01 00:30Z');
SELECT profstore.compact('t');
SELECT * FROM levels;
CALL fill(3, 30, '2026-01-01 00:40Z');
SELECT profstore.compact('t');
SELECT * FROM levels;
SELECT count(*) AS differences FROM difference;
VACUUM t, profstore.segments;
SELECT count(DISTINCT stream_id) AS streams FROM profstore.segments, unnest(stream_ids) AS stream_id WHERE stream_id <> 0 \gset
SELECT reltoastrelid::regclass AS toast FROM pg_class WHERE oid = 't'::regclass \gset
SELECT count(DISTINCT chunk_id) = :streams AS no_orphans FROM :toast;

-- a smaller segment and a single segment are merged too
CREATE TABLE few (time timestamptz, series_id int4, stack_id int8) USING profstore;
INSERT INTO few VALUES ('2026-01-01Z', 1, 1);
SELECT profstore.compact('few');
INSERT INTO few VALUES ('2026-01-01Z', 1, 2);
SELECT profstore.compact('few');
INSERT INTO few SELECT '2026-01-01Z', 1, g FROM generate_series(3, 20) AS g;
SELECT profstore.compact('few');
SELECT level, row_count FROM profstore.segments WHERE storage_id = profstore.storage_id('few');
SELECT count(*), sum(stack_id) FROM few;
DROP TABLE few;

-- compact() is part of the caller's transaction: a rollback restores the segments, and open cursors continue
CALL fill(5, 100, '2026-01-01 00:50Z');
BEGIN;
DECLARE c CURSOR FOR SELECT count(*), sum(stack_id) FROM t;
INSERT INTO t VALUES ('2026-01-01 00:00Z', -1, -1, -1);
SELECT profstore.compact('t');
FETCH c;
SELECT count(*) AS with_the_waiting_row FROM t;
ROLLBACK;
SELECT * FROM levels;
SELECT count(*), sum(stack_id) FROM t;
BEGIN;
SAVEPOINT s;
SELECT profstore.compact('t', 3) AS limited;
ROLLBACK TO s;
SELECT profstore.compact('t');
INSERT INTO t SELECT '2026-01-01 00:00Z', -1, -1, -1 FROM generate_series(1, 20000);
COMMIT;
SELECT count(*) AS differences FROM difference;
SELECT profstore.compact('t', max_segments => 1);
SELECT * FROM levels;

-- columns that are added, dropped and renamed between segments
DROP VIEW difference;
TRUNCATE t, h;
INSERT INTO t VALUES ('2026-01-01 00:00Z', 1, 3, 1), ('2026-01-01 00:00Z', 2, 2, 2);
INSERT INTO h TABLE t;
ALTER TABLE t ADD COLUMN added int4 DEFAULT 17, ADD COLUMN empty bool;
ALTER TABLE h ADD COLUMN added int4 DEFAULT 17, ADD COLUMN empty bool;
INSERT INTO t VALUES (NULL, 1, 3, NULL, 18, true), ('2026-01-01 00:00Z', NULL, 2, 5, NULL, false);
INSERT INTO h SELECT * FROM t WHERE empty IS NOT NULL;
SELECT profstore.compact('t');
SELECT * FROM t ORDER BY value;
ALTER TABLE t DROP COLUMN value;
ALTER TABLE h DROP COLUMN value;
ALTER TABLE t RENAME COLUMN series_id TO old_series;
ALTER TABLE t RENAME COLUMN added TO series_id;
INSERT INTO t VALUES ('2026-01-01 00:00Z', 3, 9, 1, true);
INSERT INTO h VALUES ('2026-01-01 00:00Z', 3, 9, 1, true);
SELECT profstore.compact('t');
SELECT time, old_series, stack_id, series_id, empty FROM t;
(TABLE t EXCEPT ALL TABLE h) UNION ALL (TABLE h EXCEPT ALL TABLE t);

-- many rows make narrow time buckets; wide segments are cut at their borders
CREATE TABLE wide (time timestamptz, series_id int4, stack_id int8) USING profstore;
INSERT INTO wide SELECT '2026-01-01 00:30Z'::timestamptz + g * interval '3 ms', 1, g % 10 FROM generate_series(0, 1199999) AS g;
INSERT INTO wide SELECT '2026-01-01 00:30Z'::timestamptz + g * interval '1 min', 1, g % 10 FROM generate_series(0, 59) AS g;
SELECT storage_id AS wide FROM profstore.segments WHERE row_count = 60 \gset
SELECT profstore.compact('wide') > 0 AS compacted;
SELECT level, max(time_max - time_min) < 3600000000 AS narrow, count(DISTINCT time_min / 3600000000) AS hours, sum(row_count) AS rows
FROM profstore.segments WHERE storage_id = :wide GROUP BY level;
SELECT count(*), count(DISTINCT time), sum(stack_id) FROM wide;
SELECT count(*) AS small_ones FROM profstore.segments WHERE storage_id = :wide AND row_count < 60000;

-- tables without these key columns keep the order of insertion
CREATE TABLE plain (a int8, f float8) USING profstore;
INSERT INTO plain SELECT g, 1.0 / g FROM generate_series(1, 5000) AS g;
INSERT INTO plain SELECT g, 1.0 / g FROM generate_series(5001, 30000) AS g;
INSERT INTO plain VALUES (30001, 'NaN');
SELECT profstore.compact('plain');
SELECT count(*) FILTER (WHERE a = n) AS in_order, count(*) AS rows FROM (SELECT a, row_number() OVER () AS n FROM plain) AS x;

-- a table that was heap has no TOAST relation
CREATE TABLE from_heap (a int8);
INSERT INTO from_heap SELECT generate_series(1, 20000);
ALTER TABLE from_heap SET ACCESS METHOD profstore;
INSERT INTO from_heap VALUES (0);
SELECT profstore.compact('from_heap');
SELECT count(*), sum(a) FROM from_heap;

-- partitions, some of them heap; little memory
CREATE TABLE p (time timestamptz, series_id int4, stack_id int8) PARTITION BY RANGE (time);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2026-01-01') TO ('2026-01-02') USING profstore;
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM ('2026-01-02') TO ('2026-01-03') USING profstore;
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM ('2026-01-03') TO ('2026-01-04');
INSERT INTO p SELECT '2026-01-01Z'::timestamptz + g * interval '5 s', g % 3, g FROM generate_series(0, 51839) AS g;
INSERT INTO p SELECT '2026-01-01Z'::timestamptz + g * interval '5 s', g % 3, g FROM generate_series(0, 51839) AS g;
SET maintenance_work_mem = '1MB';
SELECT profstore.compact('p') > 0 AS compacted;
RESET maintenance_work_mem;
SELECT count(*), sum(stack_id), count(DISTINCT (time, series_id, stack_id)) FROM p;
SELECT tableoid::regclass, count(*) FROM p GROUP BY 1 ORDER BY 1;
SELECT profstore.compact() AS samples;

-- in steps, as the worker compacts; the caller of compact() gets the notices and errors of steps that the worker could not do
CALL fill(5, 100, '2026-01-01 01:50Z');
CALL profstore.compact_in_steps('t');
SELECT profstore.compact('t') AS nothing_left;
CALL profstore.compact_in_steps('p');
CALL profstore.compact_in_steps();
BEGIN;
CALL profstore.compact_in_steps('t');
ROLLBACK;
CALL profstore.compact_in_steps('h');
CALL profstore.compact_in_steps(NULL);

-- an error ends the statement only
CREATE TABLE damaged (LIKE t) USING profstore;
INSERT INTO damaged SELECT FROM generate_series(1, 2);
INSERT INTO damaged SELECT FROM generate_series(1, 2);
UPDATE profstore.segments SET header = '' WHERE storage_id = profstore.storage_id('damaged');
\set VERBOSITY sqlstate
SELECT profstore.compact('damaged');
CALL profstore.compact_in_steps('damaged');
\set VERBOSITY default
DROP TABLE damaged;

-- calls that are refused
SELECT profstore.compact('h');
SELECT profstore.compact('levels');
SELECT profstore.compact(NULL);
SELECT profstore.compact('t', 0);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT profstore.compact('t');
ROLLBACK;
BEGIN READ ONLY;
SELECT profstore.compact('t');
ROLLBACK;
CREATE ROLE compact_other;
GRANT USAGE ON SCHEMA profstore TO compact_other;
SET ROLE compact_other;
SELECT profstore.compact('t');
SELECT profstore.compact();
CALL profstore.compact_in_steps('t');
RESET ROLE;
REVOKE USAGE ON SCHEMA profstore FROM compact_other;
DROP ROLE compact_other;

DROP TABLE p, from_heap, plain, wide;
DROP VIEW levels;
DROP TABLE t, h;
SELECT count(*) AS left_over FROM profstore.segments;
