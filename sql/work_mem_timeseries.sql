-- timeseries() of more points and scrapes than fit in work_mem: the values equal those with much memory, and those of plain SQL.
\i sql/fixtures/preamble.sql
\i sql/fixtures/test_module.sql
\set VERBOSITY terse

-- 2,000 scrapes of each of three series, of a delta and of an instant type; the second half of each scrape comes later
SELECT profstore.ensure_partitions('2026-01-01', '2026-01-02');
CREATE TABLE beats AS
SELECT type, n, (profstore.intern_series(ARRAY[type], ARRAY[jsonb_build_object('n', n::text)], '{0}'))[1] AS series_id
FROM (VALUES ('beats:n:count:n:count:delta'), ('beats:n:count:n:count')) AS t(type), generate_series(1, 3) AS n;
CREATE TABLE halves AS
SELECT half, put_stack('main;' || half) AS stack_id FROM (VALUES ('f'), ('g')) AS h(half);
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT timestamptz '2026-01-01 10:00Z' + i * interval '10 ms', series_id, stack_id, hashint8(i * n) % 1000
FROM beats, halves, generate_series(1, 2000) AS i WHERE half = 'f' OR i % n = 0 ORDER BY half, hashint8(i), series_id;
SELECT profstore.touch_series(array_agg(series_id), '2026-01-01', '2026-01-02') FROM beats;

-- computed by hand: over all series, and over one half; per bucket and series, then per bucket
CREATE TABLE scrapes AS
SELECT type, n, f.focus, time, sum(CASE WHEN half = f.focus OR f.focus = 'main' THEN value ELSE 0 END) AS value
FROM profstore.samples JOIN beats USING (series_id) JOIN halves USING (stack_id), (VALUES ('main'), ('g')) AS f(focus) GROUP BY 1, 2, 3, 4;
CREATE TABLE asked AS
SELECT row_number() OVER () AS ord, * FROM (VALUES ('', 'beats:n:count:n:count:delta'), ('', 'beats:n:count:n:count'), ('last_over_time', 'beats:n:count:n:count'), ('max_over_time', 'beats:n:count:n:count')) AS t(function, type),
	(VALUES (interval '10 ms'), ('70 ms'), ('7 s')) AS s(step);
CREATE TABLE sums AS
SELECT ord, function, type, focus, date_bin(step, time, '2026-01-01') AS "time", n,
	CASE function WHEN 'last_over_time' THEN (array_agg(value ORDER BY time DESC))[1] WHEN 'max_over_time' THEN max(value) ELSE sum(value) END AS value,
	CASE WHEN type LIKE '%:delta' THEN extract(epoch FROM step)::float8 WHEN function = '' THEN count(*) ELSE 1 END AS divisor
FROM asked JOIN scrapes USING (type) GROUP BY ord, function, type, step, 4, 5, 6;
CREATE TABLE expected AS
SELECT ord, focus, time, n::text AS metric, value::float8 / divisor AS value FROM sums
UNION ALL SELECT ord, focus, time, type, CASE WHEN type LIKE '%:delta' THEN sum(value)::float8 / max(divisor) ELSE sum(value::float8 / divisor ORDER BY n) END FROM sums GROUP BY ord, focus, time, type;

-- without and with a filter, in the order of time and metric
CREATE VIEW answers AS
SELECT ord, focus, t.time, t.metric, t.value, row_number() OVER (PARTITION BY ord, focus, by ORDER BY t.time, t.metric COLLATE "C") = ordinality AS in_order
FROM asked, (VALUES ('main'), ('g')) AS f(focus), (VALUES ('{n}'::text[]), ('{}')) AS b(by),
	profstore.timeseries(CASE function WHEN '' THEN type ELSE format('%s(%s)', function, type) END, '2026-01-01', '2026-01-02', step, by, nullif(focus, 'main')) WITH ORDINALITY AS t;
SET hash_mem_multiplier = 1;
SET work_mem = '1GB';
CREATE TABLE plenty AS TABLE answers;
SELECT ord, count(*) AS points, count(*) FILTER (WHERE a.value IS DISTINCT FROM e.value) AS different, bool_and(in_order) AS in_order
FROM plenty AS a FULL JOIN expected AS e USING (ord, focus, time, metric) GROUP BY ord ORDER BY ord;
SET work_mem = '64kB';
CREATE TABLE little AS TABLE answers;
RESET work_mem;
SELECT count(*) AS different FROM plenty AS p FULL JOIN little AS l USING (ord, focus, time, metric) WHERE p.value IS DISTINCT FROM l.value OR p.in_order IS DISTINCT FROM l.in_order;

-- memory use, with as many points as scrapes, and with few points
SELECT profstore.intern_series(ARRAY['ticks:n:count:n:count:delta', 'ticks:n:count:n:count'], '{"{}", "{}"}', '{0,0}') AS ticks \gset
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT timestamptz '2026-01-01 11:00Z' + i * interval '1 ms', series_id, 0, i FROM unnest(:'ticks'::int[]) AS series_id, generate_series(1, 60000) AS i;
CREATE TABLE queries AS
SELECT ord, 1200 AS limit_kb, format('SELECT * FROM profstore.timeseries(%L, ''2026-01-01'', ''2026-01-02'', %L)', selector, step) AS query
FROM (VALUES (1, 'ticks:n:count:n:count:delta', '1 ms'), (2, 'ticks:n:count:n:count', '1 ms'), (3, 'ticks:n:count:n:count', '1 s'),
	(4, 'last_over_time(ticks:n:count:n:count)', '1 ms'), (5, 'max_over_time(ticks:n:count:n:count)', '1 s')) AS q(ord, selector, step);
SET work_mem = '1GB';
SELECT ord, peak_kb(query) > limit_kb + 400 AS unbounded FROM queries ORDER BY ord;
SET work_mem = '64kB';
SELECT ord, CASE WHEN kb > limit_kb THEN kb ELSE 0 END AS too_much FROM (SELECT ord, limit_kb, peak_kb(query) AS kb FROM queries ORDER BY ord) AS q ORDER BY ord;
