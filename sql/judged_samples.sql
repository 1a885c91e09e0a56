-- Filters on samples: rows of grouped blocks, of small segments, of this transaction and of a heap partition are tested by
-- their stacks, and only rows that pass are decoded. The results are compared with plain SQL over heap.
\i sql/fixtures/preamble.sql

-- 30 stacks of three series, 1,500 windows across midnight: many rows per stack, with one value or several
SELECT profstore.ensure_partitions('2026-01-02', '2026-01-03');
CREATE TABLE samples_20260103 PARTITION OF profstore.samples FOR VALUES FROM ('2026-01-03 00:00Z') TO ('2026-01-04 00:00Z') USING heap;
CREATE TABLE judged_series AS
SELECT n, (profstore.intern_series(ARRAY[:'jobs'], ARRAY[jsonb_build_object('n', n::text)], '{0}'))[1] AS series_id FROM generate_series(1, 3) AS n;
CREATE TABLE judged_stacks AS
SELECT n, format('main;f%s;g%s', n % 7, n) AS stack, put_stack(format('main;f%s;g%s', n % 7, n)) AS stack_id FROM generate_series(1, 30) AS n;
CREATE TABLE judged_rows AS
SELECT timestamptz '2026-01-02 23:30Z' + w * interval '2 s' AS "time", series_id, stack_id,
	CASE WHEN r.n % 5 = 0 THEN hashint8(w * 31 + t.n) % 90 ELSE 7 END::int8 AS value
FROM generate_series(0, 1499) AS w, judged_series AS r, judged_stacks AS t, generate_series(1, CASE r.n WHEN 3 THEN 2 ELSE 1 END) AS twice
WHERE hashint8(w * 1000 + r.n * 100 + t.n + twice) % (t.n + 1) IN (0, 1);
INSERT INTO profstore.samples SELECT * FROM judged_rows WHERE "time" < '2026-01-02 23:57Z' ORDER BY hashint8(stack_id), "time";
SELECT profstore.compact() > 0 AS compacted;
INSERT INTO profstore.samples SELECT * FROM judged_rows WHERE "time" >= '2026-01-02 23:57Z';
SELECT profstore.touch_series(array_agg(series_id), '2026-01-02', '2026-01-04') FROM judged_series;
SELECT level, sum(rows) AS rows FROM profstore.segment_stats WHERE relation = 'profstore.samples_20260102'::regclass GROUP BY level ORDER BY level;

-- ranges that cut blocks and partitions, one series and all, filters that keep few, many, all or no rows
CREATE TABLE asked AS
SELECT row_number() OVER () AS ord, *
FROM (VALUES (timestamptz '2026-01-02', timestamptz '2026-01-05'), ('2026-01-02 23:40Z', '2026-01-03 00:10Z'), ('2026-01-02 23:50:20Z', '2026-01-02 23:50:40Z')) AS r(from_ts, to_ts),
	(VALUES (NULL), ('2')) AS s(n), (VALUES ('g7$', NULL), ('f[12]', NULL), ('main', 'f3'), (NULL, 'g1'), ('nowhere', NULL)) AS f(focus, ignore);
CREATE TABLE sums AS
SELECT ord, date_bin('20 s', "time", '2026-01-01') AS "time", sum(value) AS value
FROM asked AS a JOIN judged_rows ON "time" >= from_ts AND "time" < to_ts JOIN judged_stacks USING (stack_id) JOIN judged_series AS r USING (series_id)
WHERE (a.n IS NULL OR a.n = r.n::text) AND (focus IS NULL OR stack ~ focus) AND (ignore IS NULL OR stack !~ ignore) GROUP BY 1, 2;
CREATE VIEW graphs AS
SELECT ord, t.time, round((t.value * 20)::numeric, 3) AS value
FROM asked AS a, LATERAL profstore.timeseries(:'jobs' || CASE WHEN n IS NULL THEN '' ELSE format('{n="%s"}', n) END, from_ts, to_ts, '20 s', focus => focus, ignore => ignore) AS t;
CREATE VIEW maps AS
SELECT ord, m.time, m.value
FROM asked AS a, LATERAL profstore.heatmap(:'jobs' || CASE WHEN n IS NULL THEN '' ELSE format('{n="%s"}', n) END, from_ts, to_ts, '20 s', 1, focus => focus, ignore => ignore) AS m;
CREATE VIEW compared AS
SELECT (SELECT count(*) FROM sums WHERE value <> 0) AS points,
	(SELECT count(*) FROM (SELECT * FROM sums WHERE value <> 0 EXCEPT SELECT * FROM graphs) AS d) + (SELECT count(*) FROM (SELECT * FROM graphs WHERE value <> 0 EXCEPT SELECT * FROM sums) AS d) AS other_graphs,
	(SELECT count(*) FROM (SELECT * FROM sums WHERE value <> 0 EXCEPT SELECT * FROM maps) AS d) + (SELECT count(*) FROM (SELECT * FROM maps EXCEPT SELECT * FROM sums) AS d) AS other_maps;
TABLE compared;
SET profstore.enable_summaries = off;
TABLE compared;
RESET profstore.enable_summaries;

-- flame graphs by several processes, by workers alone, and with rows that wait in this transaction
SET min_parallel_table_scan_size = 0;
TABLE compared;
SET parallel_leader_participation = off;
TABLE compared;
BEGIN;
INSERT INTO profstore.samples SELECT * FROM judged_rows;
UPDATE sums SET value = 2 * value;
TABLE compared;
ROLLBACK;
SET work_mem = '64kB';
TABLE compared;
RESET work_mem;
RESET parallel_leader_participation;
RESET min_parallel_table_scan_size;

-- results of a filter that are forgotten; waiting rows, so that every row counts twice
SET work_mem = '64kB';
TABLE compared;
RESET work_mem;
BEGIN;
INSERT INTO profstore.samples SELECT * FROM judged_rows;
UPDATE sums SET value = 2 * value;
TABLE compared;
ROLLBACK;
SELECT profstore.compact() >= 0 AS compacted;
TABLE compared;

-- two conditions on one column form one range
CREATE TABLE judged_heap AS TABLE judged_rows;
SELECT count(*) AS different
FROM (SELECT n, (SELECT row(count(*), sum(value)) FROM profstore.samples WHERE "time" >= least AND "time" < most AND "time" > also AND series_id = ANY (ids)) AS ours,
	(SELECT row(count(*), sum(value)) FROM judged_heap WHERE "time" >= least AND "time" < most AND "time" > also AND series_id = ANY (ids)) AS theirs
	FROM (SELECT n, '2026-01-02 23:30Z'::timestamptz + n * interval '97 s' AS least, '2026-01-03 00:10Z'::timestamptz - n * interval '13 s' AS most,
			'2026-01-02 23:20Z'::timestamptz + n * interval '2 min' AS also, (SELECT array_agg(series_id) FROM judged_series WHERE judged_series.n <> q.n % 3) AS ids
		FROM generate_series(1, 25) AS q(n)) AS ranges) AS both_ways WHERE ours IS DISTINCT FROM theirs;

-- sums by stack over ranges that cut segments: of a few windows, of most, of none
CREATE FUNCTION compare_ranges(columns text, condition text, OUT sums int8, OUT different int8) LANGUAGE plpgsql AS $$
DECLARE
	from_ts timestamptz;
	to_ts timestamptz;
	more int8[];
BEGIN
	sums := 0;
	different := 0;
	FOR n IN 0 .. 29 LOOP
		from_ts := '2026-01-02 23:29:59.5Z'::timestamptz + n * interval '53 s';
		to_ts := from_ts + n * n * interval '1.3 s';
		EXECUTE format('WITH ours AS (SELECT stack_id, %1$s FROM profstore.samples WHERE "time" >= %2$L AND "time" < %3$L AND %4$s GROUP BY stack_id),
				theirs AS (SELECT stack_id, %1$s FROM judged_heap WHERE "time" >= %2$L AND "time" < %3$L AND %4$s GROUP BY stack_id)
			SELECT ARRAY[(SELECT count(*) FROM theirs), (SELECT count(*) FROM (TABLE ours EXCEPT TABLE theirs) AS d) + (SELECT count(*) FROM (TABLE theirs EXCEPT TABLE ours) AS d)]',
			columns, from_ts, to_ts, condition) INTO more;
		sums := sums + more[1];
		different := different + more[2];
	END LOOP;
END
$$;
CREATE VIEW compared_ranges AS
SELECT columns, condition, r.*
FROM (VALUES ('sum(value)'), ('count(*)'), ('count(*), sum(value), min(value)')) AS c(columns), (VALUES ('true'), ('series_id = (SELECT min(series_id) FROM judged_series)'), ('value < 50')) AS q(condition),
	LATERAL compare_ranges(columns, condition) AS r;
TABLE compared_ranges;

-- the same without stored sums, and with little memory
SET profstore.enable_summaries = off;
SELECT sum(sums) AS sums, sum(different) AS different FROM compared_ranges;
RESET profstore.enable_summaries;
SET work_mem = '64kB';
SELECT sum(sums) AS sums, sum(different) AS different FROM compared_ranges;
RESET work_mem;

-- results for more programs than little memory holds: those of the first hour are forgotten, and computed again in the second hour
SELECT count(profstore.import_folded(E'main;f1 1\nmain;f2 2\nmain;f1;f2 4', jsonb_build_object('__name__', 'programs', 'service', n::text), '2026-01-02 12:00Z')) FROM generate_series(1, 300) AS n;
INSERT INTO profstore.samples SELECT "time" + interval '1 hour', series_id, stack_id, 10 * value FROM profstore.samples WHERE "time" = '2026-01-02 12:00Z';
SELECT count(DISTINCT stack_id >> 9) > 200 AS many_programs FROM profstore.samples WHERE "time" = '2026-01-02 12:00Z';
SELECT profile_type AS programs FROM profstore.profile_types() WHERE profile_type LIKE 'programs:%' \gset
SET work_mem = '64kB';
SELECT t.time, round(t.value * 3600) AS value FROM profstore.timeseries(:'programs', '2026-01-02 12:00Z', '2026-01-02 14:00Z', '1 hour', focus => 'f1') AS t;
SELECT t.time, round(t.value * 3600) AS value FROM profstore.timeseries(:'programs', '2026-01-02 12:00Z', '2026-01-02 14:00Z', '1 hour', ignore => 'f1') AS t;
RESET work_mem;

-- results are kept for the next query of the session, but not for a stack that did not exist yet and gets the next id
\set late '\'jobs:run:count:run:count:delta{n="late"}\', \'2026-01-02 15:00Z\', \'2026-01-02 16:00Z\', \'1 hour\''
SELECT put_stack('main;early') + 1 AS late_id \gset
INSERT INTO profstore.samples SELECT '2026-01-02 15:00Z', (profstore.intern_series(ARRAY[:'jobs'], '{"{\"n\": \"late\"}"}', '{0}'))[1], :late_id, 36;
SELECT profstore.touch_series(array_agg(series_id), '2026-01-02', '2026-01-03') FROM profstore.series(:'jobs') WHERE labels->>'n' = 'late';
SELECT round(value * 3600) AS value FROM profstore.timeseries(:late, focus => 'later');
SELECT put_stack('main;later') = :late_id AS is_there;
SELECT round(value * 3600) AS value FROM profstore.timeseries(:late, focus => 'later');
-- results that an error interrupted are not kept
UPDATE profstore.epoch SET ids = ids + 1;
CREATE TABLE whole_chunks AS SELECT * FROM profstore.stack_chunks;
UPDATE profstore.stack_chunks SET payload = '' WHERE partition_id = (SELECT max(stack_id) >> 40 FROM profstore.samples WHERE "time" = '2026-01-02 12:00Z');
SELECT regexp_replace(failure(format('SELECT profstore.timeseries(%L, ''2026-01-02 12:00Z'', ''2026-01-02 14:00Z'', ''1 hour'', focus => ''f1'')', :'programs')), '\n.*', '') ~ 'chunk' AS fails;
DELETE FROM profstore.stack_chunks;
INSERT INTO profstore.stack_chunks SELECT * FROM whole_chunks;
SELECT t.time, round(t.value * 3600) AS value FROM profstore.timeseries(:'programs', '2026-01-02 12:00Z', '2026-01-02 14:00Z', '1 hour', focus => 'f1') AS t;
-- results under other names are not kept
UPDATE profstore.functions SET name = 'f1 too' WHERE name = 'f2';
SELECT profstore.bump_names();
SELECT t.time, round(t.value * 3600) AS value FROM profstore.timeseries(:'programs', '2026-01-02 12:00Z', '2026-01-02 14:00Z', '1 hour', focus => 'f1') AS t;

-- a block of 40 series over 2,000 times would need more cells than it has rows, so it is read row by row
CREATE TABLE sparse_rows AS
SELECT timestamptz '2026-01-02 17:00Z' + (k * 80 + (n * 37 + k * 11) % 80) * interval '1 s' AS "time", n, k,
	(profstore.intern_series(ARRAY[:'jobs'], ARRAY[jsonb_build_object('sparse', n::text)], '{0}'))[1] AS series_id, put_stack(format('main;s%s', n % 5)) AS stack_id, n * k AS value
FROM generate_series(1, 40) AS n, generate_series(0, 24) AS k;
INSERT INTO profstore.samples SELECT "time", series_id, stack_id, value FROM sparse_rows;
SELECT profstore.touch_series(array_agg(DISTINCT series_id), '2026-01-02', '2026-01-03') FROM sparse_rows;
SELECT count(*) AS buckets, sum(map.value) AS value, count(*) FILTER (WHERE map.value IS DISTINCT FROM stored.value) AS different
FROM (SELECT "time", value FROM profstore.heatmap('jobs:run:count:run:count:delta{sparse!=""}', '2026-01-02 17:00Z', '2026-01-02 18:00Z', '20 s', 1, focus => 's[12]')) AS map
	FULL JOIN (SELECT date_bin('20 s', "time", '2026-01-02') AS "time", sum(value) AS value FROM sparse_rows WHERE n % 5 IN (1, 2) GROUP BY 1) AS stored USING ("time")
WHERE map.value <> 0 OR stored.value <> 0;
