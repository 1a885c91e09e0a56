-- timeseries(): rates of delta types, values of instant types
\i sql/fixtures/preamble.sql
RESET client_min_messages;
\set alloc '\'memory:alloc_space:bytes:space:bytes:delta\''
\set inuse '\'memory:inuse_space:bytes:space:bytes\''

SELECT * FROM profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02');
SELECT put_scrape(:'cpu', '{"node": "a", "service": "web"}', at, '{"main;f": 15000000000, "main;g": 5000000000}')
FROM generate_series(timestamptz '2026-01-01 10:00Z', '2026-01-01 10:00:50Z', '10 s') AS at;
SELECT put_scrape(:'cpu', '{"node": "b", "service": "web"}', '2026-01-01 10:00:30Z', '{"main;f": 10000000000}');
SELECT put_scrape(:'cpu', '{"node": "c"}', '2026-01-01 10:02Z', '{"": 0}');

-- nanoseconds per second are CPU cores; a bucket without samples is absent, and one with empty scrapes is 0
SELECT * FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '10 s');
SELECT * FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min');
-- grouped by labels
SELECT * FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', '{service}');
SELECT * FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', '{service,node}');
SELECT * FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', '{absent}');
SELECT * FROM profstore.timeseries(:'cpu' || '{node="b"}', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', by => NULL);
-- buckets align to 1970; a bucket that the range cuts is divided by the covered time
SELECT * FROM profstore.timeseries(:'cpu' || '{node="a"}', '2026-01-01 10:00:20Z', '2026-01-01 10:00:50Z', '30 s');
SELECT * FROM profstore.timeseries(:'cpu' || '{node="a"}', '2026-01-01 10:00Z', '2026-01-01 10:01Z', '7 s') LIMIT 3;
SELECT * FROM profstore.timeseries(:'cpu' || '{node="a"}', '2026-01-01 10:00Z', '2026-01-01 10:01Z', '1 day');
-- the default step
SELECT count(*), min(time), max(time) FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:50Z');
SELECT count(*), min(time), max(time) FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 15:00Z');
SELECT count(*), min(time), max(time) FROM profstore.timeseries(:'cpu', '2025-01-01', '2027-01-01');
-- the widest range, whose length exceeds bigint
SELECT count(*) FROM profstore.timeseries(:'cpu', '4713-01-01 BC', '294276-12-31');
SELECT time, value FROM profstore.timeseries(:'cpu', '-infinity', 'infinity', '1 hour');
-- filters keep all buckets
SELECT time, value FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', focus => '^g$');
SELECT time, value FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', ignore => 'main');
-- before 1970
SELECT profstore.intern_series(ARRAY[:'cpu'], ARRAY['{"node": "old"}'::jsonb], '{0}') AS old \gset
CREATE TABLE samples_1969 PARTITION OF profstore.samples FOR VALUES FROM ('1969-12-31 00:00Z') TO ('1970-01-01 00:00Z') USING heap;
INSERT INTO profstore.samples VALUES ('1969-12-31 23:59:45Z', (:'old'::int[])[1], 0, 1000000000);
SELECT time, value FROM profstore.timeseries(:'cpu' || '{node="old"}', '1969-12-31 23:00Z', '1970-01-02', '20 s');

-- bytes stay bytes per second
SELECT put_scrape(:alloc, '{"node": "a"}', '2026-01-01 10:00Z', '{"main;f": 6000}');
SELECT time, metric, value FROM profstore.timeseries(:alloc, '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min');

-- instant types: the average over the scrapes of each series in a bucket, then the sum over series
SELECT put_scrape(:inuse, '{"node": "a"}', '2026-01-01 10:00Z', '{"main;f": 100, "main;g": 50}');
SELECT put_scrape(:inuse, '{"node": "a"}', '2026-01-01 10:00:15Z', '{"main;f": 200}');
SELECT put_scrape(:inuse, '{"node": "a"}', '2026-01-01 10:00:30Z', '{"": 0}');
SELECT put_scrape(:inuse, '{"node": "b"}', '2026-01-01 10:00Z', '{"main;f": 1000}');
SELECT put_scrape(:inuse, '{"node": "b"}', '2026-01-01 10:01Z', '{"main;f": 3000}');
SELECT time, value FROM profstore.timeseries(:inuse, '2026-01-01 10:00Z', '2026-01-01 10:10Z', '15 s');
SELECT time, metric, value FROM profstore.timeseries(:inuse, '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', '{node}');
SELECT time, value FROM profstore.timeseries(:inuse, '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min');
SELECT time, value FROM profstore.timeseries(:inuse, '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', focus => 'g');
-- the other views average alike, over the whole range
SELECT level, value, self, label FROM profstore.flamegraph(:inuse, '2026-01-01', '2026-01-02');
SELECT function, self, total FROM profstore.top(:inuse || '{node="a"}', '2026-01-01', '2026-01-02');
SELECT * FROM profstore.folded(:inuse || '{node="a"}', '2026-01-01 10:00Z', '2026-01-01 10:00:30Z');

-- Scrapes at 10:00, 10:20 and 10:40 in the tier of hours; their late second parts: one in the tier of minutes, with a scrape at 10:20:30.
-- Each scrape counts once in each bucket in which it has rows
CREATE TABLE hour_2025 PARTITION OF profstore.samples_hour FOR VALUES FROM ('2025-01-01 00:00Z') TO ('2025-01-02 00:00Z') USING heap;
CREATE TABLE minute_2025 PARTITION OF profstore.samples_minute FOR VALUES FROM ('2025-01-01 00:00Z') TO ('2025-01-02 00:00Z') USING heap;
SELECT put_scrape(:inuse, '{"node": "late"}', '2025-01-01 10:20Z', '{"main;g": 50}');
SELECT id AS late FROM profstore.series WHERE labels @> '{"node": "late"}' \gset
INSERT INTO profstore.samples_hour VALUES ('2025-01-01 10:00Z', :late, put_stack('main;f'), 300);
INSERT INTO profstore.samples_hour SELECT '2025-01-01 10:00Z', :late, -1 - minutes * 60000000, 0 FROM unnest('{0,20,40}'::int8[]) AS minutes;
INSERT INTO profstore.samples_minute VALUES ('2025-01-01 10:20Z', :late, put_stack('main;f'), 30), ('2025-01-01 10:20Z', :late, -1, 0), ('2025-01-01 10:20Z', :late, -1 - 30000000, 0);
SELECT * FROM (VALUES (interval '1 hour'), ('40 min'), ('20 min'), ('10 s')) AS s(step), (VALUES (NULL), ('g')) AS f(focus), LATERAL (SELECT time, value FROM profstore.timeseries(:inuse, '2025-01-01', '2025-01-02', step, focus => focus)) AS t ORDER BY focus NULLS FIRST, step DESC, time;

-- sums in buckets that begin at an origin equal those of plain SQL, with a filter as well
CREATE FUNCTION unequal(type text, step interval, origin timestamptz, focus text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	ids int[] := ARRAY(SELECT s.series_id FROM profstore.series(type) AS s);
	filtered int8 := put_stack('main;g');
BEGIN
	RETURN QUERY WITH shown AS (SELECT time, value FROM profstore.timeseries(type, '2026-01-01 09:59:57Z', '2026-01-01 10:10:03Z', step, focus => focus,
			absolute => true, origin => origin)),
		stored AS (SELECT date_bin(step, s.time, origin) AS time, sum(s.value) FILTER (WHERE focus IS NULL OR s.stack_id = filtered) AS value
			FROM profstore.samples s WHERE s.series_id = ANY (ids) AND s.time >= '2026-01-01 09:59:57Z' AND s.time < '2026-01-01 10:10:03Z' GROUP BY 1)
	SELECT format('%s: %s, stored %s', coalesce(a.time, b.time), a.value, b.value)
	FROM shown a FULL JOIN stored b USING (time) WHERE a.value * 1e9 IS DISTINCT FROM coalesce(b.value, 0);
END
$$;
SELECT step, origin, focus, unequal(:'cpu', step, origin, focus)
FROM (VALUES (interval '7 s'), ('3 s'), ('1 min'), ('17.3 s'), ('1 hour')) AS s(step), (VALUES (NULL), ('g$')) AS f(focus),
	(VALUES (timestamptz '1970-01-01Z'), ('2026-01-01 10:00:00.001Z'), ('2031-05-05 05:05:05.055Z'), ('1950-02-03 04:05:06.7Z')) AS o(origin);
SELECT time, value FROM profstore.timeseries(:'cpu' || '{node="a"}', '2026-01-01 10:00Z', '2026-01-01 10:01Z', '15 s', absolute => true, origin => '2026-01-01 10:00:05Z');
-- rates, and averages of instant types, in buckets that begin at an origin
SELECT time, value FROM profstore.timeseries(:'cpu' || '{node="a"}', '2026-01-01 10:00Z', '2026-01-01 10:01Z', '20 s', origin => '2020-01-01 00:00:10Z');
SELECT time, value FROM profstore.timeseries(:inuse || '{node="a"}', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '20 s', absolute => true, origin => '2020-01-01 00:00:10Z');

-- errors
SELECT profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '1 min', origin => 'infinity');
SELECT profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '0 s');
SELECT profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '-1 min');
SELECT profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '1 month');
SELECT profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '2000000000 days');
SELECT profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '-2000000000 hours');
SELECT count(*) FROM profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '36500 days');
SELECT profstore.timeseries(:'cpu', '-infinity', '2026-01-02');
SELECT profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '1 min', '{node,NULL}');
