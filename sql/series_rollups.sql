-- Roll-ups of a day consist of pieces with sums by series and stack: a query for few series reads only their pieces.
\i sql/fixtures/preamble.sql
\set cpu 'cpu:cpu:count:cpu:count:delta'

-- 150 series share five stacks; a heap table has the same rows
CREATE TABLE stacks AS SELECT n, 'main;work' || n AS name, put_stack('main;work' || n) AS stack_id FROM generate_series(1, 5) AS n;
CREATE TABLE ids AS
SELECT n, (profstore.intern_series(ARRAY[:'cpu'], ARRAY[jsonb_build_object('n', n::text)], ARRAY[1::int8]))[1] AS series_id FROM generate_series(1, 150) AS n;
SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-01Z');
CREATE TABLE heap (LIKE profstore.samples);
CREATE PROCEDURE insert_rows(from_ts timestamptz, windows int4) LANGUAGE sql AS $$
WITH stored AS
	(INSERT INTO profstore.samples (time, series_id, stack_id, value)
	 SELECT from_ts + w * interval '10 s', i.series_id, s.stack_id, hashint8(w * 1000000 + i.n * 1000 + s.n) % 1000
	 FROM generate_series(1, windows) AS w, ids AS i, stacks AS s WHERE (i.n + s.n) % 3 > 0 RETURNING *)
INSERT INTO heap SELECT * FROM stored
$$;
CALL insert_rows('2026-01-01 20:00Z', 160);
SELECT profstore.compact();
CALL insert_rows('2026-01-01 21:00Z', 60);
SELECT profstore.compact();
CREATE VIEW pieces AS
SELECT width / 3600000000 AS hours, piece, stack_count, cardinality(pieces) AS pieces, cardinality(series) AS series FROM profstore.rollups ORDER BY width, piece;
TABLE pieces;
SELECT * FROM profstore.verify();

-- sums of the views compared with heap, and the number of blocks read
CREATE VIEW asked AS
SELECT row_number() OVER () AS ord, *
FROM (VALUES ('{n="1"}', '^1$'), ('{n="64"}', '^64$'), ('{n="65"}', '^65$'), ('{n="150"}', '^150$'), ('{n=~"6."}', '^6.$'), ('{n=~"1|150"}', '^(1|150)$'), ('{n!="9"}', '^([^9]|..+)$'), ('{}', ''), ('{n="151"}', '^151$')) AS s(labels, numbers),
	(VALUES (timestamptz '2026-01-01Z', timestamptz '2026-01-02Z'), ('2026-01-01 20:03Z', '2026-01-02Z'), ('2026-01-01Z', '2026-01-01 21:05:20Z')) AS r(from_ts, to_ts);
CREATE VIEW compared AS
WITH ours AS (SELECT ord, f.stack, f.value FROM asked, LATERAL profstore.folded('cpu:cpu:count:cpu:count:delta' || labels, from_ts, to_ts) AS f),
	theirs AS
	(SELECT ord, s.name AS stack, sum(value) AS value FROM asked, heap AS h JOIN ids AS i USING (series_id) JOIN stacks AS s USING (stack_id)
	 WHERE h.time >= from_ts AND h.time < to_ts AND i.n::text ~ numbers GROUP BY 1, 2 HAVING sum(value) <> 0)
SELECT count(*) AS sums, count(*) FILTER (WHERE ours.value IS DISTINCT FROM theirs.value) AS different FROM ours FULL JOIN theirs USING (ord, stack);
TABLE compared;
CREATE FUNCTION scanned(labels text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	scan record;
BEGIN
	PERFORM FROM profstore.flamegraph('cpu:cpu:count:cpu:count:delta' || labels, '2026-01-01Z', '2026-01-02Z');
	SELECT * INTO scan FROM profstore.last_scan();
	RETURN format('%s segments, %s summed, %s read, %s blocks', scan.segments, scan.summed, scan."read", scan.blocks_read);
END
$$;
SELECT scanned('{n="1"}');
SELECT scanned('{n="65"}');
SELECT scanned('{n=~"6."}');
SELECT scanned('{n!="9"}');
SET profstore.enable_summaries = off;
TABLE compared;
RESET profstore.enable_summaries;

-- deleted rows: a missing piece, a roll-up without its pieces, pieces without their roll-up
BEGIN;
DELETE FROM profstore.rollups WHERE piece = 2;
TABLE compared;
SELECT scanned('{n="1"}');
SELECT scanned('{n="65"}');
SELECT * FROM profstore.verify();
ROLLBACK;
BEGIN;
DELETE FROM profstore.rollups WHERE piece = 0;
TABLE compared;
SELECT profstore.compact();
TABLE pieces;
SELECT * FROM profstore.verify();
TABLE compared;
ROLLBACK;
-- damaged pieces
BEGIN;
UPDATE profstore.rollups SET payload = set_byte(payload, 40, 255 - get_byte(payload, 40)) WHERE piece = 1;
SELECT stream, problem FROM profstore.verify();
SELECT count(*) FROM profstore.flamegraph(:'cpu' || '{n="1"}', '2026-01-01', '2026-01-02');
ROLLBACK;
BEGIN;
UPDATE profstore.rollups SET pieces = pieces[2:] WHERE piece = 0;
SELECT stream, problem FROM profstore.verify();
ROLLBACK;
BEGIN;
UPDATE profstore.rollups AS r SET header = other.header, payload = other.payload, stack_count = other.stack_count
FROM profstore.rollups AS other WHERE r.piece = 1 AND other.piece = 2;
SELECT stream, problem FROM profstore.verify();
ROLLBACK;

-- late rows are added to the result, also those of this transaction
CALL insert_rows('2026-01-01 20:06Z', 3);
BEGIN;
CALL insert_rows('2026-01-01 20:07Z', 3);
TABLE compared;
SELECT scanned('{n="65"}');
ROLLBACK;
-- a merge of segments that a roll-up covers removes it and makes a new one
CALL insert_rows('2026-01-01 20:04Z', 62);
SELECT profstore.compact() > 0 AS merged;
TABLE pieces;
TABLE compared;
SELECT * FROM profstore.verify();
-- too few samples for sums: no pieces
TRUNCATE profstore.samples, heap;
CALL insert_rows('2026-01-01 20:00Z', 8);
SELECT profstore.compact();
CALL insert_rows('2026-01-01 21:00Z', 6);
SELECT profstore.compact();
TABLE pieces;
TABLE compared;
DROP TABLE profstore.samples_20260101;
SELECT count(*) FROM profstore.rollups;

-- a user's table has roll-ups over all its series, of whatever meaning: sums, rows and heap agree
CREATE TABLE plain (LIKE heap) USING profstore;
INSERT INTO plain SELECT time, series_id + 1000000, stack_id, value FROM heap WHERE time < '2026-01-01 20:15Z';
SELECT profstore.compact('plain') > 0 AS merged;
INSERT INTO plain SELECT time, series_id + 1000000, stack_id, value FROM heap WHERE time >= '2026-01-01 20:15Z';
SELECT profstore.compact('plain') > 0 AS merged;
SELECT width / 60000000 AS minutes, class, piece, sample_count, stack_count, cardinality(series) AS series, cardinality(others) AS others
FROM profstore.rollups WHERE storage_id = profstore.storage_id('plain') AND piece = 0 AND stack_count > 0 ORDER BY width, bucket;
SELECT * FROM profstore.verify('plain');
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION units_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query;
END
$$;
SELECT line FROM units_of('SELECT stack_id, sum(value) FROM plain GROUP BY stack_id') AS line WHERE line ~ 'Roll|Segments|Blocks|Sums';
SELECT count(*) FROM (SELECT stack_id, sum(value), count(*) FROM plain GROUP BY 1 EXCEPT ALL SELECT stack_id, sum(value), count(*) FROM heap GROUP BY 1) AS differs;
SELECT count(*) FROM (SELECT stack_id, sum(value), count(*) FROM plain WHERE series_id % 7 = 0 GROUP BY 1
	EXCEPT ALL SELECT stack_id, sum(value), count(*) FROM heap WHERE (series_id + 1000000) % 7 = 0 GROUP BY 1) AS differs;
RESET max_parallel_workers_per_gather;
DROP TABLE plain;
