-- timeseries() of delta types: a sample covers the window that begins at its time, wherever buckets and ranges end
\i sql/fixtures/preamble.sql
\set VERBOSITY terse
\set agent '\'agent:cpu:nanoseconds:cpu:nanoseconds:delta\''

-- three agents with windows of 10 s, each with a constant rate; each stack occurs in every third window
SELECT profstore.ensure_partitions('2026-01-01', '2026-01-02');
CREATE TABLE agents AS
SELECT n, (profstore.intern_series(ARRAY[:agent], ARRAY[jsonb_build_object('n', n::text)], '{0}'))[1] AS series_id FROM generate_series(1, 3) AS n;
CREATE TABLE stacks AS SELECT n, put_stack('main;f' || n) AS stack_id FROM generate_series(0, 2) AS n;
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT timestamptz '2026-01-01 09:30Z' + i * interval '10 s', series_id, stack_id, a.n * 10000000000
FROM agents AS a, generate_series(0, 719) AS i JOIN stacks AS s ON s.n = i % 3;
SELECT profstore.touch_series(array_agg(series_id), '2026-01-01 09:30Z', '2026-01-01 11:29:50Z') FROM agents;

-- ranges with arbitrary ends; each is queried as one bucket and as several, with and without a filter
CREATE TABLE asked AS
SELECT row_number() OVER () AS ord, from_ts, from_ts + length AS to_ts, step, by, focus
FROM unnest('{2026-01-01 10:00:03Z,2026-01-01 10:07:41.5Z,2026-01-01 10:09:59.999999Z}'::timestamptz[]) AS f(from_ts),
	(SELECT interval '1.7 s' * (13 + i) FROM generate_series(0, 12) AS i UNION ALL SELECT interval '30 min' + i * interval '2 s' FROM generate_series(0, 5) AS i) AS l(length),
	unnest('{7 s,15 s,30 s,1 min,1 day}'::interval[]) AS s(step), (VALUES ('{}'::text[], NULL), ('{n}', 'main')) AS k(by, focus);
CREATE FUNCTION worst(OUT graphs int8, OUT wrong_rates int8, OUT wrong_sums int8) LANGUAGE sql AS $$
WITH points AS
	(SELECT a.ord, a.from_ts, a.to_ts, a.step, t.time, t.value, CASE a.by WHEN '{}' THEN 6 ELSE (t.labels->>'n')::int END AS rate
	 FROM asked AS a, LATERAL profstore.timeseries('agent:cpu:nanoseconds:cpu:nanoseconds:delta', from_ts, to_ts, step, by, focus) AS t),
widths AS -- by the times that are stored
	(SELECT p.ord, p.time, 10 * count(DISTINCT s.time) AS width
	 FROM (SELECT DISTINCT ord, from_ts, to_ts, step, time FROM points) AS p
		JOIN (SELECT DISTINCT time FROM profstore.samples WHERE series_id IN (SELECT series_id FROM agents)) AS s
			ON s.time >= greatest(p.time, p.from_ts) AND s.time < least(p.time + p.step, p.to_ts)
	 GROUP BY p.ord, p.time),
totals AS
	(SELECT p.ord, p.from_ts, p.to_ts, sum(p.value * w.width) AS total, sum(abs(p.value - p.rate)) AS off
	 FROM points AS p JOIN widths AS w USING (ord, time) GROUP BY p.ord, p.from_ts, p.to_ts)
SELECT count(*), count(*) FILTER (WHERE off > 1e-6), count(*) FILTER (WHERE abs(total -
	(SELECT sum(value) / 1e9 FROM profstore.samples JOIN agents USING (series_id) WHERE time >= from_ts AND time < to_ts)) > 1e-6)
FROM totals
$$;
SELECT count(*) FROM asked;
SELECT * FROM worst();
SELECT profstore.compact() > 0 AS compacted;
SELECT * FROM worst();
SET profstore.enable_summaries = off;
SELECT * FROM worst();
RESET profstore.enable_summaries;

-- a case from a review: 3,600 samples a second, and a range that ends 2 s into a window
SELECT time, value FROM profstore.timeseries(:agent, '2026-01-01 10:00Z', '2026-01-01 10:02:02Z', '1 min');
SELECT time, value FROM profstore.timeseries(:agent, '2026-01-01 10:00:58Z', '2026-01-01 10:02:02Z', '1 min', by => '{n}');
-- a range with one window, a range shorter than a window, a range without a window
SELECT time, value FROM profstore.timeseries(:agent, '2026-01-01 10:00:08Z', '2026-01-01 10:00:12Z', '1 s');
SELECT time, value FROM profstore.timeseries(:agent, '2026-01-01 10:00:10Z', '2026-01-01 10:00:10.000001Z', '1 min');
SELECT time, value FROM profstore.timeseries(:agent || '{n="2"}', '2026-01-01 10:00:05Z', '2026-01-01 10:00:15Z', '1 min');
SELECT time, value FROM profstore.timeseries(:agent, '2026-01-01 10:00:11Z', '2026-01-01 10:00:19Z', '1 min');
-- the default step: 15 s
SELECT count(*), min(value), max(value) FROM profstore.timeseries(:agent, '2026-01-01 10:00:01Z', '2026-01-01 10:58:17Z');

-- idle windows have no rows but count: the first window of each minute, and one more second in 7
\set idle '\'idle:n:count:n:count:delta\''
SELECT (profstore.intern_series(ARRAY[:idle], ARRAY['{}'::jsonb], '{0}'))[1] AS idle_id \gset
INSERT INTO profstore.samples SELECT timestamptz '2026-01-01 10:00Z' + i * interval '10 s', :idle_id, 0, 600 FROM generate_series(0, 359) AS i WHERE i % 6 = 0 OR i % 7 = 0;
SELECT profstore.touch_series(ARRAY[:idle_id], '2026-01-01 10:00Z', '2026-01-01 11:00Z');
SELECT count(*), count(*) FILTER (WHERE abs(t.value - e.value) > 1e-9) AS wrong
FROM unnest('{0 s,12 s,49 s,55 s}'::interval[]) AS f(later), unnest('{0 s,1 s,31 s,52 s}'::interval[]) AS u(more), unnest('{15 s,1 min,10 min}'::interval[]) AS step,
	LATERAL profstore.timeseries(:idle, timestamptz '2026-01-01 10:00Z' + later, timestamptz '2026-01-01 10:40Z' + more, step) AS t,
	LATERAL (SELECT 600 * count(*) FILTER (WHERE i % 6 = 0 OR i % 7 = 0) / (10.0 * count(*)) AS value FROM generate_series(0, 359) AS i,
		LATERAL (SELECT timestamptz '2026-01-01 10:00Z' + i * interval '10 s') AS w(begins)
		WHERE begins >= greatest(t.time, timestamptz '2026-01-01 10:00Z' + later) AND begins < least(t.time + step, timestamptz '2026-01-01 10:40Z' + more)) AS e;

-- hosts that are scraped at different times, every 15 s
\set alloc '\'memory:alloc_space:bytes:space:bytes:delta\''
CREATE TABLE hosts AS SELECT n, (profstore.intern_series(ARRAY[:alloc], ARRAY[jsonb_build_object('n', n::text)], '{0}'))[1] AS series_id FROM generate_series(0, 3) AS n;
INSERT INTO profstore.samples SELECT timestamptz '2026-01-01 10:00Z' + i * interval '15 s' + n * interval '3.6 s', series_id, 0, 150 FROM hosts, generate_series(0, 239) AS i;
SELECT profstore.touch_series(array_agg(series_id), '2026-01-01 10:00Z', '2026-01-01 11:00Z') FROM hosts;
SELECT count(*), count(*) FILTER (WHERE abs(t.value - CASE by WHEN '{}' THEN 40 ELSE 10 END) > 1e-6) AS wrong
FROM unnest('{0 s,12 s,44 s,55 s}'::interval[]) AS f(later), generate_series(0, 20, 4) AS more, unnest('{10 s,15 s,1 min,10 min}'::interval[]) AS step, (VALUES ('{}'::text[]), ('{n}')) AS b(by),
	LATERAL profstore.timeseries(:alloc, timestamptz '2026-01-01 10:10Z' + later, timestamptz '2026-01-01 10:40Z' + more * interval '1 s', step, by) AS t;

-- an agent that began between two windows: its first sample covers less than a window, and does not change the period of the others
\set late '\'late:n:count:n:count:delta\''
SELECT (profstore.intern_series(ARRAY[:late], ARRAY['{}'::jsonb], '{0}'))[1] AS late_id \gset
INSERT INTO profstore.samples SELECT greatest(timestamptz '2026-01-01 10:00:13.456789Z', timestamptz '2026-01-01 10:00Z' + i * interval '10 s'), :late_id, 0, CASE i WHEN 1 THEN 65 ELSE 100 END FROM generate_series(1, 60) AS i;
SELECT profstore.touch_series(ARRAY[:late_id], '2026-01-01 10:00Z', '2026-01-01 11:00Z');
SELECT time, value FROM profstore.timeseries(:late, '2026-01-01 10:00:03Z', '2026-01-01 10:02:03Z', '1 min');
SELECT time, value FROM profstore.timeseries(:late, '2026-01-01 10:00:12Z', '2026-01-01 10:00:15Z', '1 s');

-- samples at irregular times: any moment begins a window
\set own '\'own:n:count:n:count:delta\''
SELECT (profstore.intern_series(ARRAY[:own], ARRAY['{}'::jsonb], '{0}'))[1] AS own_id \gset
INSERT INTO profstore.samples SELECT timestamptz '2026-01-01 10:00Z' + (hashint8(i)::int8 + 2147483648) * 600000000 / 4294967296 * interval '1 us', :own_id, 0, 1 FROM generate_series(1, 6000) AS i;
SELECT profstore.touch_series(ARRAY[:own_id], '2026-01-01 10:00Z', '2026-01-01 11:00Z');
SELECT count(*), count(*) FILTER (WHERE abs(t.value * extract(epoch FROM least(t.time + step, '2026-01-01 10:09:03.7Z') - greatest(t.time, '2026-01-01 10:00:02.2Z')) -
	(SELECT count(*) FROM profstore.samples AS s WHERE series_id = :own_id AND s.time >= greatest(t.time, '2026-01-01 10:00:02.2Z') AND s.time < least(t.time + step, '2026-01-01 10:09:03.7Z'))) > 1e-6) AS wrong
FROM unnest('{5 s,7 s,1 min,1 h}'::interval[]) AS step, LATERAL profstore.timeseries(:own, '2026-01-01 10:00:02.2Z', '2026-01-01 10:09:03.7Z', step) AS t;
-- series with different windows, stored one kind after the other: the length depends on the samples, not on their order in storage
\set mixed '\'mixed:n:count:n:count:delta\''
CREATE TABLE kinds AS
SELECT n, CASE WHEN n % 140 < 70 THEN 60 ELSE 10 END AS width, (profstore.intern_series(ARRAY[:mixed], ARRAY[jsonb_build_object('n', n::text)], '{0}'))[1] AS series_id FROM generate_series(0, 279) AS n;
INSERT INTO profstore.samples SELECT timestamptz '2026-01-01 10:00Z' + i * interval '10 s', series_id, 0, width FROM kinds, generate_series(0, 359) AS i WHERE i * 10 % width = 0 ORDER BY width, n, i;
INSERT INTO profstore.samples SELECT timestamptz '2026-01-01 12:00Z' + i * interval '10 s', series_id, 0, width FROM kinds, generate_series(0, 359) AS i WHERE i * 10 % width = 0 ORDER BY width DESC, i DESC, n;
SELECT profstore.touch_series(array_agg(series_id), '2026-01-01 10:00Z', '2026-01-01 13:00Z') FROM kinds;
CREATE FUNCTION mixed(OUT graphs int8, OUT wrong int8) LANGUAGE sql AS $$
SELECT count(*), count(*) FILTER (WHERE g.total IS DISTINCT FROM s.total)
FROM unnest('{2026-01-01 10:10Z,2026-01-01 12:10Z}'::timestamptz[]) AS from_ts, unnest('{10 s,20 s,1 min,5 min}'::interval[]) AS step, (VALUES (NULL), ('nothing')) AS i(ignore),
	LATERAL (SELECT round(sum(value * extract(epoch FROM step))) FROM profstore.timeseries('mixed:n:count:n:count:delta', from_ts, from_ts + interval '40 min', step, ignore => ignore)) AS g(total),
	LATERAL (SELECT sum(value) FROM profstore.samples JOIN kinds USING (series_id) WHERE time >= from_ts AND time < from_ts + interval '40 min') AS s(total)
$$;
SELECT * FROM mixed();
SELECT profstore.compact() > 0 AS compacted;
SELECT * FROM mixed();
SET profstore.enable_summaries = off;
SELECT * FROM mixed();
RESET profstore.enable_summaries;
-- the range has one time of each series: the times around it give the same length, in any order
SELECT sum(value) FROM profstore.timeseries(:mixed, '2026-01-01 10:30Z', '2026-01-01 10:30:05Z', '1 s');
SELECT sum(value) FROM profstore.timeseries(:mixed, '2026-01-01 12:30Z', '2026-01-01 12:30:05Z', '1 s');
-- occasional profiles: one alone, and two
\set now_and_then '\'now_and_then:n:count:n:count:delta\''
SELECT put_scrape(:now_and_then, '{}', '2026-01-01 10:00:07.3Z', '{"f": 600}');
SELECT time, value FROM profstore.timeseries(:now_and_then, '2026-01-01 10:00Z', '2026-01-01 10:20:07Z', '1 min');
SELECT put_scrape(:now_and_then, '{}', '2026-01-01 10:03:09.1Z', '{"f": 600}');
SELECT time, value FROM profstore.timeseries(:now_and_then, '2026-01-01 10:00Z', '2026-01-01 10:20:07Z', '1 min');

-- in a tier the bucket length is known, whatever the step; here minutes follow hours, and samples follow minutes
\set tiers '\'tiers:n:count:n:count:delta\''
SELECT (profstore.intern_series(ARRAY[:tiers], ARRAY['{}'::jsonb], '{0}'))[1] AS tiers_id \gset
SELECT profstore.ensure_partitions('2025-12-02', '2025-12-03');
CREATE TABLE hours PARTITION OF profstore.samples_hour FOR VALUES FROM ('2025-12-01 00:00Z') TO ('2026-01-01 00:00Z') USING profstore;
CREATE TABLE minutes PARTITION OF profstore.samples_minute FOR VALUES FROM ('2025-12-02 00:00Z') TO ('2025-12-03 00:00Z') USING profstore;
INSERT INTO profstore.samples_hour SELECT timestamptz '2025-12-02 06:00Z' + i * interval '1 h', :tiers_id, 0, 3600 * 5 FROM generate_series(0, 3) AS i;
INSERT INTO profstore.samples_minute SELECT timestamptz '2025-12-02 10:00Z' + i * interval '1 min', :tiers_id, 0, 60 * 5 FROM generate_series(0, 119) AS i;
INSERT INTO profstore.samples SELECT timestamptz '2025-12-02 12:00Z' + i * interval '10 s', :tiers_id, 0, 10 * 5 FROM generate_series(0, 719) AS i;
SELECT profstore.touch_series(ARRAY[:tiers_id], '2025-12-02 06:00Z', '2025-12-02 14:00Z');
SET client_min_messages = warning;
SELECT f.from_ts::time, u.to_ts::time, step, count(*), count(*) FILTER (WHERE abs(value - 5) > 1e-9) AS wrong
FROM unnest('{2025-12-02 05:17Z,2025-12-02 10:22:33Z,2025-12-02 12:00:05Z}'::timestamptz[]) AS f(from_ts), unnest('{2025-12-02 09:01:10Z,2025-12-02 11:30:07Z,2025-12-02 13:11:12Z}'::timestamptz[]) AS u(to_ts),
	unnest('{10 s,7 min,30 min,1 h,1 day}'::interval[]) AS step, LATERAL profstore.timeseries(:tiers, from_ts, to_ts, step) AS t
WHERE from_ts < to_ts GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
-- a tier's partition that has become a heap table gives the same rates
ALTER TABLE minutes SET ACCESS METHOD heap;
ALTER TABLE hours SET ACCESS METHOD heap;
SELECT count(*), count(*) FILTER (WHERE abs(value - 5) > 1e-9) AS wrong
FROM unnest('{2025-12-02 05:17Z,2025-12-02 10:22:33Z}'::timestamptz[]) AS f(from_ts), unnest('{10 s,7 min,30 min,1 h,1 day}'::interval[]) AS step,
	LATERAL profstore.timeseries(:tiers, from_ts, '2025-12-02 13:11:12Z', step) AS t;
ALTER TABLE minutes SET ACCESS METHOD profstore;
ALTER TABLE hours SET ACCESS METHOD profstore;
RESET client_min_messages;

-- a lone sample next to a tier: the search for its neighbours raises no NOTICE about the tier
SELECT time, value FROM profstore.timeseries(:tiers, '2025-12-02 12:00Z', '2025-12-02 12:00:10Z', '1 min');

-- a window that is not over does not count as covered, unless it has samples: a range up to now, whose last two windows are still to come
\set live '\'live:n:count:n:count:delta\''
BEGIN;
SELECT profstore.ensure_partitions(now() - interval '1 day', now() + interval '1 day') >= 0 AS made;
SELECT (profstore.intern_series(ARRAY[:live], ARRAY['{}'::jsonb], '{0}'))[1] AS live_id \gset
INSERT INTO profstore.samples SELECT date_bin('10 s', now(), '1970-01-01') - i * interval '10 s', :live_id, 0, 100 FROM generate_series(1, 200) AS i;
SELECT profstore.touch_series(ARRAY[:live_id], now() - interval '1 h', now());
SELECT count(*) > 0 AS some, min(value), max(value) FROM unnest('{7 s,30 s,5 min,1 day}'::interval[]) AS step, unnest(ARRAY[now(), now() + interval '7 s', now() + interval '1 month']) AS to_ts, LATERAL profstore.timeseries(:live, now() - interval '20 min', to_ts, step);
INSERT INTO profstore.samples SELECT date_bin('10 s', now(), '1970-01-01') + i * interval '10 s', :live_id, 0, 100 FROM generate_series(0, 1) AS i;
SELECT count(*) > 0 AS some, min(value), max(value) FROM unnest('{7 s,30 s,5 min,1 day}'::interval[]) AS step, LATERAL profstore.timeseries(:live, now() - interval '20 min', now() + interval '1 month', step);
ROLLBACK;

-- a comparison by rate divides by the covered time, too: five a second, in ranges that begin and end between the hours
SET client_min_messages = warning;
SELECT value, "valueRight" FROM profstore.flamegraph_diff(:tiers, '2025-12-02 06:30Z', '2025-12-02 08:15Z', '2025-12-02 12:00Z', '2025-12-02 14:00Z') WHERE ord = 0;
SELECT value, "valueRight" FROM profstore.flamegraph_diff(:tiers, '2025-12-02 06:30Z', '2025-12-02 06:45Z', '2025-12-02 12:00Z', '2025-12-02 14:00Z') WHERE ord = 0;
SELECT value, "valueRight" FROM profstore.flamegraph_diff(:tiers, '2025-12-02 09:10Z', '2025-12-02 10:10:30Z', '2025-12-02 11:59:10Z', '2025-12-02 13:00Z') WHERE ord = 0;
RESET client_min_messages;
