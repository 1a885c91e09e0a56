-- flamechart(), compared with hand-written results and with plain SQL.
\set fleet on
\i sql/fixtures/preamble.sql
SET datestyle = 'ISO';
\set VERBOSITY terse
\set jobs 'jobs:run:count:cpu:nanoseconds:delta'

-- samples of 10 ms: adjacent ones join in spite of jitter, a gap separates them, and an early sample ends the previous one
SELECT put_scrape(:'jobs', '{"node": "a"}', '2026-01-01 10:00:00.000Z', '{"main;f;g": 1}');
SELECT put_scrape(:'jobs', '{"node": "a"}', '2026-01-01 10:00:00.012Z', '{"main;f": 2}');
SELECT put_scrape(:'jobs', '{"node": "a"}', '2026-01-01 10:00:00.021Z', '{"main;f;g": 4}');
SELECT put_scrape(:'jobs', '{"node": "a"}', '2026-01-01 10:00:00.050Z', '{"main;f;g": 8}');
-- two samples at a time: one lane for each
SELECT put_scrape(:'jobs', '{"node": "b"}', '2026-01-01 10:00:00.000Z', '{"main;x": 1}');
SELECT put_scrape(:'jobs', '{"node": "b"}', '2026-01-01 10:00:00.003Z', '{"main;y": 1}');
SELECT put_scrape(:'jobs', '{"node": "b"}', '2026-01-01 10:00:00.010Z', '{"main;x": 1}');
SELECT put_scrape(:'jobs', '{"node": "b"}', '2026-01-01 10:00:00.013Z', '{"main;z": 1, "": 0}');
\set columns 'labels->>\'node\' AS node, lane, level, to_char(start_time, \'MS\') AS start, to_char(end_time, \'MS\') AS "end", label, samples, value'
SELECT :columns FROM profstore.flamechart(:'jobs', '2026-01-01', '2026-01-02');
SELECT :columns FROM profstore.flamechart(:'jobs' || '{node="a"}', '2026-01-01', '2026-01-02', width => '20 ms', hide => 'main');
-- a sample that a filter removes keeps its place in time
SELECT :columns FROM profstore.flamechart(:'jobs' || '{node="a"}', '2026-01-01', '2026-01-02', focus => 'g', show => 'main|g');
SELECT :columns FROM profstore.flamechart(:'jobs', '2026-02-01', '2026-02-02');
SELECT profstore.flamechart(:'jobs', '2026-01-01', '2026-01-02', width => '0');
SELECT profstore.flamechart('memory:inuse_space:bytes:space:bytes', '2026-01-01', '2026-01-02');

-- the fleet has several samples every 10 s
CREATE FUNCTION oracle_chart(width interval, selector text DEFAULT 'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta') RETURNS TABLE (labels jsonb, lane int, level int, start_time timestamptz, end_time timestamptz, label text, samples int8, value numeric)
	LANGUAGE plpgsql AS
$$
DECLARE
	s record;
	lasts timestamptz[];
	picked int;
	current_labels jsonb := 'null';
BEGIN
	CREATE TEMP TABLE placed (labels jsonb, lane int, time timestamptz, names text[], value int8) ON COMMIT DROP;
	FOR s IN SELECT m.labels, a.time, p.names, a.value FROM profstore.samples a
		JOIN profstore.matching_series(selector) m USING (series_id) JOIN oracle_paths p ON p.id = a.stack_id
		WHERE a.value <> 0 ORDER BY m.labels, a.time, a.stack_id, a.value
	LOOP
		IF s.labels IS DISTINCT FROM current_labels THEN
			current_labels := s.labels;
			lasts := '{}';
		END IF;
		SELECT u.n INTO picked FROM unnest(lasts) WITH ORDINALITY AS u(last, n)
		WHERE s.time - u.last >= width / 2
		ORDER BY s.time - u.last > width * 1.5, CASE WHEN s.time - u.last <= width * 1.5 THEN greatest(s.time - u.last - width, width - (s.time - u.last)) END, u.n
		LIMIT 1;
		IF picked IS NULL THEN
			picked := cardinality(lasts) + 1;
		END IF;
		lasts[picked] := s.time;
		INSERT INTO placed VALUES (s.labels, picked - 1, s.time, s.names, s.value);
	END LOOP;
	RETURN QUERY
	WITH timed AS
		(SELECT p.*, lag(p.time) OVER w AS before, lag(p.names) OVER w AS names_before, lead(p.time) OVER w AS after
		 FROM placed p WINDOW w AS (PARTITION BY p.labels, p.lane ORDER BY p.time)),
	frames AS
		(SELECT t.labels, t.lane, t.time, t.value, l.level,
			CASE WHEN t.after - t.time <= width * 1.5 THEN t.after ELSE t.time + width END AS ends, t.names[l.level] AS name,
			NOT coalesce(t.time - t.before <= width * 1.5 AND t.names_before[:l.level] = t.names[:l.level], false) AS begins
		 FROM timed t CROSS JOIN LATERAL generate_series(1, cardinality(t.names)) l(level)),
	spans AS
		(SELECT f.*, count(*) FILTER (WHERE f.begins) OVER (PARTITION BY f.labels, f.lane, f.level ORDER BY f.time) AS span FROM frames f)
	SELECT s2.labels, s2.lane, s2.level - 1, min(s2.time), max(s2.ends), min(s2.name), count(*), sum(s2.value)
	FROM spans s2 GROUP BY s2.labels, s2.lane, s2.level, s2.span;
	DROP TABLE placed;
END
$$;
SELECT w.width, (SELECT count(*) FROM oracle_chart(w.width)) AS spans, (SELECT max(lane) + 1 FROM oracle_chart(w.width)) AS lanes,
	(SELECT count(*) FROM (SELECT labels, lane, level, start_time, end_time, label, samples, value::numeric FROM profstore.flamechart(:'cpu', '2026-01-01', '2026-01-03', w.width)
		EXCEPT ALL SELECT * FROM oracle_chart(w.width)) d) AS too_much,
	(SELECT count(*) FROM profstore.flamechart(:'cpu', '2026-01-01', '2026-01-03', w.width)) AS got
FROM (VALUES (interval '10 s'), ('1 min')) AS w(width);

-- many samples at a time, at random times, in memory and on disk
SELECT (profstore.intern_series(ARRAY[:'cpu'], ARRAY['{"node": "busy"}']::jsonb[], '{0}'))[1] AS busy \gset
INSERT INTO profstore.samples SELECT timestamptz '2026-01-01 22:00Z' + abs(hashint4(i)) % 2000 * interval '1 ms', :busy, s.ids[1 + abs(hashint4(i + 7)) % cardinality(s.ids)], 1
FROM generate_series(1, 600) AS i, (SELECT array_agg(id ORDER BY id) AS ids FROM oracle_paths) AS s;
SELECT profstore.touch_series(ARRAY[:busy], '2026-01-01 22:00Z', '2026-01-01 22:01Z');
\set cpu_series :busy
\set busy :cpu '{node="busy"}'
SELECT w.width, (SELECT max(lane) + 1 FROM oracle_chart(w.width, :'busy')) > w.lanes AS many_lanes,
	(SELECT count(*) FROM (SELECT labels, lane, level, start_time, end_time, label, samples, value::numeric FROM profstore.flamechart(:'busy', '2026-01-01', '2026-01-03', w.width)
		EXCEPT ALL SELECT * FROM oracle_chart(w.width, :'busy')) d) AS too_much,
	(SELECT count(*) FROM oracle_chart(w.width, :'busy')) - (SELECT count(*) FROM profstore.flamechart(:'busy', '2026-01-01', '2026-01-03', w.width)) AS missing
FROM (VALUES (interval '3 ms', 3), ('300 ms', 30)) AS w(width, lanes);
SET work_mem = '1GB';
CREATE TEMP TABLE in_memory AS SELECT * FROM profstore.flamechart(:'busy', '2026-01-01', '2026-01-03', '10 ms') WITH ORDINALITY;
SET work_mem = '64kB';
SELECT count(*) AS differences FROM (SELECT * FROM in_memory EXCEPT ALL SELECT * FROM profstore.flamechart(:'busy', '2026-01-01', '2026-01-03', '10 ms') WITH ORDINALITY) AS d;
RESET work_mem;
-- sums that begin at one time get one lane each, up to a limit
INSERT INTO profstore.samples SELECT '2026-01-01 23:00Z', :cpu_series, s.ids[1], i FROM generate_series(1, 10001) AS i, (SELECT array_agg(id) AS ids FROM oracle_paths) AS s;
SELECT count(*) FROM profstore.flamechart(:'busy', '2026-01-01', '2026-01-03', '10 ms');
