-- Stored sums: every query function must give the same answer with and without them.
\set fleet on
\i sql/fixtures/preamble.sql

-- six large INSERTs of 40 minutes each: segments of level 1, with both tables of sums; some values are negative
CREATE PROCEDURE insert_dense(from_ts timestamptz, rows int4) LANGUAGE sql AS $$
WITH ids AS MATERIALIZED
	(SELECT t.delta, array_agg(s.id ORDER BY s.id) AS series, (SELECT array_agg(id ORDER BY n) FROM fleet_stacks) AS stacks
	 FROM profstore.series AS s JOIN profstore.profile_types AS t ON t.id = s.profile_type GROUP BY t.delta)
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT from_ts + CASE WHEN delta THEN floor(random() * 240) * interval '10 s' ELSE floor(random() * 40) * interval '1 min' END,
	series[1 + floor(cardinality(series) * random())], stacks[1 + floor(60 * random())], (1e9 * random() - 1e8)::int8
FROM ids CROSS JOIN generate_series(1, rows / 2)
$$;
DO $$ BEGIN FOR n IN 0 .. 5 LOOP CALL insert_dense(timestamptz '2026-01-01 20:00Z' + n * interval '40 min', 24000); COMMIT; END LOOP; END $$;
SELECT level, sum(segments) AS segments, sum(rows) AS rows, sum(summary_bytes) > 0 AS summed
FROM profstore.segment_stats WHERE relation = 'profstore.samples_20260101'::regclass GROUP BY level ORDER BY level;

-- the views as text, with three placeholders for selector, start and end
CREATE TABLE views (n serial, query text);
INSERT INTO views (query) VALUES
	('SELECT f FROM profstore.flamegraph(%1$L, %2$L, %3$L, NULL) AS f'),
	('SELECT f FROM profstore.flamegraph(%1$L, %2$L, %3$L, 50, inverted => true, ignore => ''fn3'') AS f'),
	('SELECT f FROM profstore.top(%1$L, %2$L, %3$L, NULL) AS f'),
	('SELECT f FROM profstore.folded(%1$L, %2$L, %3$L, focus => ''fn1'') AS f'),
	('SELECT f FROM profstore.stacks_of(%1$L, %2$L, %3$L) AS f'),
	('SELECT f FROM profstore.callers(%1$L, %2$L, %3$L, ''fn1'') AS f'),
	('SELECT f FROM profstore.callees(%1$L, %2$L, %3$L, ''fn2'') AS f'),
	('SELECT f FROM profstore.flamegraph_diff(%1$L, ''2026-01-01 20:00Z'', ''2026-01-01 22:00Z'', %2$L, %3$L, absolute => true) AS f'),
	('SELECT f FROM profstore.top_diff(%1$L, %2$L, %3$L, ''2026-01-01 21:00Z'', ''2026-01-01 23:20Z'') AS f'),
	('SELECT time, metric, round(value::numeric, 4) FROM profstore.timeseries(%1$L, %2$L, %3$L, ''10 min'', ''{node}'')'),
	('SELECT time, metric, round(value::numeric, 4) FROM profstore.timeseries(%1$L, %2$L, %3$L, ''7 min'', focus => ''fn1'', ignore => ''fn2'')');
CREATE TABLE ranges (from_ts timestamptz, to_ts timestamptz);
INSERT INTO ranges VALUES
	('2026-01-01', '2026-01-03'), ('2026-01-01 20:00Z', '2026-01-02 00:00Z'), ('2026-01-01 20:40Z', '2026-01-01 22:00Z'),
	('2026-01-01 20:03:20Z', '2026-01-01 23:01:05Z'), ('2026-01-01 21:20:00.000001Z', '2026-01-01 22:39:50Z'),
	('2026-01-01 21:20Z', '2026-01-01 22:39:50.000001Z'), ('2026-01-01 21:00Z', '2026-01-01 21:01Z'), ('2026-01-05', '2026-01-06');
CREATE TABLE selectors (selector text);
INSERT INTO selectors VALUES (:'cpu' || '{}'), (:'cpu' || '{service="web"}'), (:'cpu' || '{node="c"}'),
	(:'memory' || '{}'), (:'memory' || '{node="a"}');

CREATE FUNCTION answer(query text, with_sums bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('profstore.enable_summaries', with_sums::text, true);
	EXECUTE format('SELECT md5(string_agg(r::text, E''\n'' ORDER BY r::text)) FROM (%s) AS r', query) INTO result;
	RETURN result;
END
$$;
CREATE VIEW differences AS
SELECT count(*) FILTER (WHERE a.with_sums IS DISTINCT FROM a.without) AS differences, count(*), count(DISTINCT a.without) > 150 AS many_answers
FROM views AS v CROSS JOIN ranges AS r CROSS JOIN selectors AS s
	CROSS JOIN LATERAL format(v.query, s.selector, r.from_ts, r.to_ts) AS q(query)
	CROSS JOIN LATERAL (SELECT answer(q.query, true) AS with_sums, answer(q.query, false) AS without) AS a;
SELECT * FROM differences;
CREATE VIEW few_differences AS
SELECT count(*) FILTER (WHERE a.with_sums IS DISTINCT FROM a.without) AS differences, count(*)
FROM views AS v CROSS JOIN ranges AS r CROSS JOIN selectors AS s
	CROSS JOIN LATERAL format(v.query, s.selector, r.from_ts, r.to_ts) AS q(query)
	CROSS JOIN LATERAL (SELECT answer(q.query, true) AS with_sums, answer(q.query, false) AS without) AS a
WHERE (v.n * 7 + length(s.selector) + extract(minute FROM r.from_ts)::int) % 6 = 0;

-- late rows are in segments without sums, and rows of this transaction in memory
BEGIN;
CALL insert_dense('2026-01-01 20:30Z', 500);
SELECT * FROM few_differences;
SAVEPOINT s;
CALL insert_dense('2026-01-01 21:30Z', 18000);
ROLLBACK TO s;
SELECT * FROM few_differences;
COMMIT;
-- compaction computes new sums, over all rows
SELECT profstore.compact() > 0 AS merged;
SELECT * FROM few_differences;
SELECT * FROM profstore.verify();

-- statistics of reads: inner segments from sums, those at the ends of the range from rows
TRUNCATE profstore.samples_20260101;
DO $$ BEGIN FOR n IN 0 .. 5 LOOP CALL insert_dense(timestamptz '2026-01-01 20:00Z' + n * interval '40 min', 24000); COMMIT; END LOOP; END $$;
SELECT count(*) > 100 AS rows FROM profstore.flamegraph(:'cpu' || '{}', '2026-01-01', '2026-01-02');
SELECT segments, skipped, summed, "read" FROM profstore.last_scan();
SELECT count(*) > 100 AS rows FROM profstore.flamegraph(:'cpu' || '{}', '2026-01-01 20:10Z', '2026-01-01 22:10Z');
SELECT segments, skipped, summed, "read" FROM profstore.last_scan();
SELECT count(*) FROM profstore.timeseries(:'cpu' || '{}', '2026-01-01 20:10Z', '2026-01-01 22:10Z', '1 min');
SELECT segments, skipped, summed, "read" FROM profstore.last_scan();
SET profstore.enable_summaries = off;
SELECT count(*) > 100 AS rows FROM profstore.flamegraph(:'cpu' || '{}', '2026-01-01', '2026-01-02');
SELECT segments, skipped, summed, "read" FROM profstore.last_scan();
RESET profstore.enable_summaries;

-- roll-ups: two segments of level 2 in an hour, because later small ones are merged only with each other
TRUNCATE profstore.samples_20260101;
CALL insert_dense('2026-01-01 21:00Z', 60000);
SELECT profstore.compact();
CALL insert_dense('2026-01-01 21:10Z', 1000);
CALL insert_dense('2026-01-01 21:05Z', 1000);
SELECT profstore.compact();
CREATE VIEW rollups AS SELECT width / 60000000 AS minutes, class = 2147483647 AS marker, sample_count, stack_count > 50 AS stacks,
	cardinality(segments) AS segments, cardinality(series) AS series, cardinality(others) AS others
FROM profstore.rollups WHERE storage_id = profstore.storage_id('profstore.samples_20260101') AND piece = 0 ORDER BY width, class;
TABLE rollups;
SELECT * FROM profstore.verify();
SELECT * FROM few_differences;
-- plain SQL counts the rows that a roll-up replaces
SELECT array_agg(series_id) AS of_cpu FROM profstore.matching_series(:'cpu' || '{}') \gset
SELECT count(*), count(*) = (SELECT count(*) FROM (SELECT series_id FROM profstore.samples OFFSET 0) AS s WHERE series_id = ANY (:'of_cpu')) AS right
FROM profstore.samples WHERE series_id = ANY (:'of_cpu');
-- a roll-up is read if all series of the type and its whole time are selected
CREATE PROCEDURE show_scan(selector text, from_ts timestamptz, to_ts timestamptz) LANGUAGE plpgsql AS $$
DECLARE
	scan record;
BEGIN
	PERFORM FROM profstore.flamegraph(selector, from_ts, to_ts);
	SELECT * INTO scan FROM profstore.last_scan();
	RAISE WARNING '% segments, % skipped, % summed, % read; one block: %', scan.segments, scan.skipped, scan.summed, scan."read", scan.blocks_read = 1;
END
$$;
CALL show_scan(:'cpu' || '{}', '2026-01-01 21:00Z', '2026-01-01 22:00Z');
CALL show_scan(:'cpu' || '{node=~".*"}', '2026-01-01 00:00Z', '2026-01-02 00:00Z');
CALL show_scan(:'cpu' || '{node!="c"}', '2026-01-01 21:00Z', '2026-01-01 22:00Z');
CALL show_scan(:'memory' || '{}', '2026-01-01 21:00Z', '2026-01-01 22:00Z');
CALL show_scan(:'cpu' || '{}', '2026-01-01 21:00:00.000001Z', '2026-01-01 22:00Z');
-- a role does not get a roll-up if a policy hides a series of the type
CREATE ROLE regress_profstore_sums;
SELECT profstore.grant_read('regress_profstore_sums');
GRANT SELECT ON views, ranges, selectors, few_differences TO regress_profstore_sums;
ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON profstore.series FOR SELECT TO regress_profstore_sums USING (labels ->> 'node' <> 'a');
SET ROLE regress_profstore_sums;
SELECT * FROM few_differences;
CALL show_scan(:'cpu' || '{}', '2026-01-01 21:00Z', '2026-01-01 22:00Z');
RESET ROLE;
ALTER TABLE profstore.series DISABLE ROW LEVEL SECURITY;
-- late rows are added to a roll-up, also those of this transaction
CALL insert_dense('2026-01-01 21:20Z', 500);
BEGIN;
CALL insert_dense('2026-01-01 21:15Z', 500);
CALL show_scan(:'cpu' || '{}', '2026-01-01 21:00Z', '2026-01-01 22:00Z');
SELECT * FROM few_differences;
ROLLBACK;
-- a roll-up disappears with a segment that it covers, and reappears when the removal is rolled back
CALL insert_dense('2026-01-01 21:30Z', 1500);
CALL insert_dense('2026-01-01 21:30Z', 1500);
BEGIN;
SELECT profstore.compact();
TABLE rollups;
SELECT * FROM few_differences;
TRUNCATE profstore.samples_20260101;
TABLE rollups;
ROLLBACK;
TABLE rollups;
SELECT * FROM few_differences;
-- damaged roll-ups
BEGIN;
UPDATE profstore.rollups SET payload = set_byte(payload, 40, 255 - get_byte(payload, 40));
SELECT stream, problem FROM profstore.verify();
SELECT count(*) FROM profstore.flamegraph(:'cpu' || '{}', '2026-01-01', '2026-01-02');
ROLLBACK;
BEGIN;
UPDATE profstore.rollups SET series = others, others = series;
SELECT stream, problem FROM profstore.verify();
ROLLBACK;
BEGIN;
UPDATE profstore.rollups SET segments = segments || 9223372036854775807;
SELECT stream, problem FROM profstore.verify();
ROLLBACK;
BEGIN;
UPDATE profstore.rollups SET sample_count = sample_count + 1;
SELECT stream, problem FROM profstore.verify();
ROLLBACK;
DO $$
BEGIN
	UPDATE profstore.rollups SET payload = set_byte(payload, 40, 255 - get_byte(payload, 40));
	PERFORM FROM profstore.flamegraph('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{}', '2026-01-01', '2026-01-02');
EXCEPTION WHEN data_corrupted THEN
	DECLARE
		hint text;
	BEGIN
		GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
		RAISE WARNING '%', hint;
	END;
END
$$;
-- a table with another key: no roll-up is used, and compaction makes one over its columns
CREATE TEMP TABLE rows_before AS SELECT time, series_id, stack_id, value FROM profstore.samples;
TRUNCATE profstore.samples_20260101;
ALTER TABLE profstore.samples ADD COLUMN stack2 int8 NOT NULL DEFAULT 0, ADD COLUMN time2 timestamptz NOT NULL DEFAULT '2026-01-01Z';
INSERT INTO profstore.samples SELECT *, (SELECT max(id) FROM fleet_stacks), time + interval '20 min' FROM rows_before;
SELECT profstore.compact();
INSERT INTO profstore.samples SELECT *, (SELECT max(id) FROM fleet_stacks), time + interval '20 min' FROM rows_before LIMIT 1000;
INSERT INTO profstore.samples SELECT *, (SELECT max(id) FROM fleet_stacks), time + interval '20 min' FROM rows_before LIMIT 1000;
SELECT profstore.compact();
SELECT minutes, marker, segments FROM rollups;
ALTER TABLE profstore.samples RENAME stack_id TO stack1;
ALTER TABLE profstore.samples RENAME stack2 TO stack_id;
CALL show_scan(:'cpu' || '{}', '2026-01-01 00:00Z', '2026-01-02 00:00Z');
SELECT * FROM profstore.verify();
SELECT * FROM few_differences;
ALTER TABLE profstore.samples RENAME time TO time1;
ALTER TABLE profstore.samples RENAME time2 TO time;
SELECT profstore.compact();
SELECT minutes, marker, segments FROM rollups;
CALL show_scan(:'cpu' || '{}', '2026-01-01 00:00Z', '2026-01-02 00:00Z');
SELECT * FROM few_differences;
ALTER TABLE profstore.samples RENAME time TO time2;
ALTER TABLE profstore.samples RENAME time1 TO time;
ALTER TABLE profstore.samples RENAME stack_id TO stack2;
ALTER TABLE profstore.samples RENAME stack1 TO stack_id;
SELECT * FROM profstore.verify();
SELECT * FROM few_differences;
ALTER TABLE profstore.samples DROP COLUMN stack2, DROP COLUMN time2;
-- roll-ups are dropped with their table
DROP VIEW rollups;
DROP TABLE profstore.samples_20260101;
SELECT count(*) FROM profstore.rollups;

-- columns with sums beyond bigint, with NULLs or of other types have no sums; nor has a segment with NULLs in the key
CREATE TABLE wide (time timestamptz, series_id int4, stack_id int8, a int8, b int2, c float8, d date, e int4) USING profstore;
INSERT INTO wide SELECT '2026-01-01Z', g % 3, g % 5, 9223372036854775807 - g, g % 7, g, '2026-01-01', nullif(g % 9, 0) FROM generate_series(1, 20000) AS g;
SELECT row_count, summary_byte_count > 0 AS bytes FROM profstore.segments WHERE storage_id = profstore.storage_id('wide') AND summary IS NOT NULL;
SELECT * FROM profstore.verify('wide');
ALTER TABLE wide DROP COLUMN b, ADD COLUMN f int4 DEFAULT 3;
SELECT * FROM profstore.verify('wide');
SELECT count(*), sum(f) FROM wide;
INSERT INTO wide SELECT '2026-01-01Z', nullif(g % 3, 0), g % 5, 1, 2, '2026-01-01', 3, 4 FROM generate_series(1, 20000) AS g;
SELECT profstore.compact('wide');
SELECT count(*), count(summary) AS summed FROM profstore.segments WHERE storage_id = profstore.storage_id('wide');
SELECT * FROM profstore.verify('wide');

-- verify finds damaged sums, and a query that reads them fails
CREATE TABLE dense (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
INSERT INTO dense SELECT timestamptz '2026-01-01Z' + g % 40 * interval '1 s', g % 3, hashint4(g % 50), g % 11 FROM generate_series(1, 20000) AS g;
SELECT profstore.compact('dense');
CREATE FUNCTION damage(change text) RETURNS TABLE (stream int4, problem text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('UPDATE profstore.segments SET %s WHERE storage_id = profstore.storage_id(''dense'')', change);
	-- PostgreSQL decides which chunk of the damaged value it reports
	RETURN QUERY SELECT v.stream, regexp_replace(regexp_replace(v.problem, '(Segment|segment|TOAST value) \d+', '\1 n', 'g'), '^(unexpected|missing) chunk .*', 'a chunk that does not fit')
		FROM profstore.verify('dense') AS v;
	RAISE EXCEPTION USING errcode = 'PFS00';
EXCEPTION WHEN SQLSTATE 'PFS00' THEN
	RETURN;
END
$$;
SELECT d.* FROM unnest(ARRAY['row_count = row_count', 'summary_byte_count = summary_byte_count + 1', 'summary = set_byte(summary, 0, 9)',
	'summary = set_byte(summary, 0, 2)', 'summary = set_byte(summary, 1, 255)', 'summary = set_byte(summary, 9, 7)', 'summary = substr(summary, 1, length(summary) - 1)',
	'summary = substr(summary, 1, 3)', 'stream_ids[5] = stream_ids[4]', 'summary = summary || summary', 'summary = NULL']) AS change, damage(change) AS d;
DROP OWNED BY regress_profstore_sums;
DROP ROLE regress_profstore_sums;
