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

-- nanoseconds per second are cores; a bucket is absent where nothing was stored, and 0 where an empty scrape was
SELECT * FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '10 s');
SELECT * FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min');
-- groups
SELECT * FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', '{service}');
SELECT * FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', '{service,node}');
SELECT * FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', '{absent}');
SELECT * FROM profstore.timeseries(:'cpu' || '{node="b"}', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', by => NULL);
-- buckets align to the epoch; one that the range cuts divides by the time covered
SELECT * FROM profstore.timeseries(:'cpu' || '{node="a"}', '2026-01-01 10:00:20Z', '2026-01-01 10:00:50Z', '30 s');
SELECT * FROM profstore.timeseries(:'cpu' || '{node="a"}', '2026-01-01 10:00Z', '2026-01-01 10:01Z', '7 s') LIMIT 3;
SELECT * FROM profstore.timeseries(:'cpu' || '{node="a"}', '2026-01-01 10:00Z', '2026-01-01 10:01Z', '1 day');
-- a step is chosen
SELECT count(*), min(time), max(time) FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:50Z');
SELECT count(*), min(time), max(time) FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 15:00Z');
SELECT count(*), min(time), max(time) FROM profstore.timeseries(:'cpu', '2025-01-01', '2027-01-01');
-- the length of the widest range exceeds int8
SELECT count(*) FROM profstore.timeseries(:'cpu', '4713-01-01 BC', '294276-12-31');
SELECT time, value FROM profstore.timeseries(:'cpu', '-infinity', 'infinity', '1 hour');
-- filters keep the buckets
SELECT time, value FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', focus => '^g$');
SELECT time, value FROM profstore.timeseries(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', ignore => 'main');
-- before the epoch
SELECT profstore.intern_series(ARRAY[:'cpu'], ARRAY['{"node": "old"}'::jsonb], '{0}') AS old \gset
CREATE TABLE samples_1969 PARTITION OF profstore.samples FOR VALUES FROM ('1969-12-31 00:00Z') TO ('1970-01-01 00:00Z') USING heap;
INSERT INTO profstore.samples VALUES ('1969-12-31 23:59:45Z', (:'old'::int[])[1], 0, 1000000000);
SELECT time, value FROM profstore.timeseries(:'cpu' || '{node="old"}', '1969-12-31 23:00Z', '1970-01-02', '20 s');

-- bytes stay bytes per second
SELECT put_scrape(:alloc, '{"node": "a"}', '2026-01-01 10:00Z', '{"main;f": 6000}');
SELECT time, metric, value FROM profstore.timeseries(:alloc, '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min');

-- instant types: the average over the scrapes of each series in a bucket, then the sum of the series
SELECT put_scrape(:inuse, '{"node": "a"}', '2026-01-01 10:00Z', '{"main;f": 100, "main;g": 50}');
SELECT put_scrape(:inuse, '{"node": "a"}', '2026-01-01 10:00:15Z', '{"main;f": 200}');
SELECT put_scrape(:inuse, '{"node": "a"}', '2026-01-01 10:00:30Z', '{"": 0}');
SELECT put_scrape(:inuse, '{"node": "b"}', '2026-01-01 10:00Z', '{"main;f": 1000}');
SELECT put_scrape(:inuse, '{"node": "b"}', '2026-01-01 10:01Z', '{"main;f": 3000}');
SELECT time, value FROM profstore.timeseries(:inuse, '2026-01-01 10:00Z', '2026-01-01 10:10Z', '15 s');
SELECT time, metric, value FROM profstore.timeseries(:inuse, '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', '{node}');
SELECT time, value FROM profstore.timeseries(:inuse, '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min');
SELECT time, value FROM profstore.timeseries(:inuse, '2026-01-01 10:00Z', '2026-01-01 10:10Z', '1 min', focus => 'g');
-- and so in the other views, over the whole range
SELECT level, value, self, label FROM profstore.flamegraph(:inuse, '2026-01-01', '2026-01-02');
SELECT function, self, total FROM profstore.top(:inuse || '{node="a"}', '2026-01-01', '2026-01-02');
SELECT * FROM profstore.folded(:inuse || '{node="a"}', '2026-01-01 10:00Z', '2026-01-01 10:00:30Z');

-- scrapes at 10:00, 10:20 and 10:40 that are in the tier of hours, but for late parts of the second, of which one is in the tier of minutes, beside a scrape at 10:20:30;
-- each counts once in each bucket that has rows of it
CREATE TABLE hour_2025 PARTITION OF profstore.samples_hour FOR VALUES FROM ('2025-01-01 00:00Z') TO ('2025-01-02 00:00Z') USING heap;
CREATE TABLE minute_2025 PARTITION OF profstore.samples_minute FOR VALUES FROM ('2025-01-01 00:00Z') TO ('2025-01-02 00:00Z') USING heap;
SELECT put_scrape(:inuse, '{"node": "late"}', '2025-01-01 10:20Z', '{"main;g": 50}');
SELECT id AS late FROM profstore.series WHERE labels @> '{"node": "late"}' \gset
INSERT INTO profstore.samples_hour VALUES ('2025-01-01 10:00Z', :late, put_stack('main;f'), 300);
INSERT INTO profstore.samples_hour SELECT '2025-01-01 10:00Z', :late, -1 - minutes * 60000000, 0 FROM unnest('{0,20,40}'::int8[]) AS minutes;
INSERT INTO profstore.samples_minute VALUES ('2025-01-01 10:20Z', :late, put_stack('main;f'), 30), ('2025-01-01 10:20Z', :late, -1, 0), ('2025-01-01 10:20Z', :late, -1 - 30000000, 0);
SELECT * FROM (VALUES (interval '1 hour'), ('40 min'), ('20 min'), ('10 s')) AS s(step), (VALUES (NULL), ('g')) AS f(focus), LATERAL (SELECT time, value FROM profstore.timeseries(:inuse, '2025-01-01', '2025-01-02', step, focus => focus)) AS t ORDER BY focus NULLS FIRST, step DESC, time;

-- errors
SELECT profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '0 s');
SELECT profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '-1 min');
SELECT profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '1 month');
SELECT profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '2000000000 days');
SELECT profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '-2000000000 hours');
SELECT count(*) FROM profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '36500 days');
SELECT profstore.timeseries(:'cpu', '-infinity', '2026-01-02');
SELECT profstore.timeseries(:'cpu', '2026-01-01', '2026-01-02', '1 min', '{node,NULL}');
