-- last_over_time() and max_over_time(): one scrape of each series instead of averages, compared with plain SQL.
\set fleet on
\i sql/fixtures/preamble.sql
\set VERBOSITY terse
\set heap 'heap:inuse:bytes:space:bytes'

SELECT put_scrape(:'heap', '{"node": "a"}', '2026-01-01 10:00Z', '{"main;f": 40, "main;g": 10}');
SELECT put_scrape(:'heap', '{"node": "a"}', '2026-01-01 10:01Z', '{"main;f": 20}');
SELECT put_scrape(:'heap', '{"node": "b"}', '2026-01-01 10:00Z', '{"main;f": 3}');
SELECT put_scrape(:'heap', '{"node": "b"}', '2026-01-01 10:02Z', '{"": 0}');

-- by hand: the average, the last scrape (host b has no samples in it), the largest scrape
SELECT * FROM profstore.folded(:'heap', '2026-01-01', '2026-01-02');
SELECT * FROM profstore.folded('avg_over_time(' || :'heap' || ')', '2026-01-01', '2026-01-02');
SELECT * FROM profstore.folded('last_over_time(' || :'heap' || ')', '2026-01-01', '2026-01-02');
SELECT * FROM profstore.folded('last_over_time( ' || :'heap' || '{node="a"} ) ', '2026-01-01', '2026-01-01 10:01Z');
SELECT * FROM profstore.folded('max_over_time(' || :'heap' || '{})', '2026-01-01', '2026-01-02');
SELECT function, base_self, self FROM profstore.top_diff('last_over_time(' || :'heap' || ')', '2026-01-01', '2026-01-02', '2026-01-01', '2026-01-02',
	base_selector => 'max_over_time(' || :'heap' || ')');
SELECT "time", metric, value FROM profstore.timeseries('last_over_time(' || :'heap' || ')', '2026-01-01', '2026-01-02', step => '1 hour', by => '{node}');
SELECT "time", metric, value FROM profstore.timeseries('max_over_time(' || :'heap' || ')', '2026-01-01', '2026-01-02', step => '1 hour', by => '{node}');
SELECT "time", value FROM profstore.timeseries('max_over_time(' || :'heap' || ')', '2026-01-01', '2026-01-02', step => '1 hour', focus => 'g');
SELECT * FROM profstore.folded('max_over_time(' || :'heap' || '{node="z"})', '2026-01-01', '2026-01-02');
SELECT count(*) FROM profstore.series('last_over_time({node="a"})') WHERE profile_type = :'heap';

-- types for which these functions are refused
SELECT profstore.folded('max_over_time(process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{})', '2026-01-01', '2026-01-02');
SELECT profstore.folded('max_over_time(' || :'heap', '2026-01-01', '2026-01-02');
SELECT profstore.folded('max_over_time(' || :'heap' || '{node="a"}', '2026-01-01', '2026-01-02');
SELECT profstore.folded('max_over_time(' || :'heap' || ')x', '2026-01-01', '2026-01-02');
SELECT profstore.folded('max_over_time()', '2026-01-01', '2026-01-02');

-- the fleet: the chosen scrape of each series, then its values per stack
CREATE FUNCTION oracle_chosen(largest bool, from_ts timestamptz, to_ts timestamptz) RETURNS TABLE (labels jsonb, "time" timestamptz, sum numeric) LANGUAGE sql AS
$$
SELECT DISTINCT ON (m.labels) m.labels, s.time, sum(s.value)
FROM profstore.samples s JOIN profstore.matching_series('memory:inuse_space:bytes:space:bytes') m USING (series_id)
WHERE s.time >= from_ts AND s.time < to_ts
GROUP BY m.labels, s.time
ORDER BY m.labels, CASE WHEN largest THEN sum(s.value) END DESC, s.time DESC
$$;
CREATE FUNCTION oracle_folded(largest bool, from_ts timestamptz, to_ts timestamptz) RETURNS TABLE (stack text, value numeric) LANGUAGE sql AS
$$
SELECT array_to_string(p.names, ';'), sum(s.value)
FROM oracle_chosen(largest, from_ts, to_ts) c
JOIN profstore.matching_series('memory:inuse_space:bytes:space:bytes') m USING (labels)
JOIN profstore.samples s ON s.series_id = m.series_id AND s.time = c.time
JOIN oracle_paths p ON p.id = s.stack_id
GROUP BY 1 HAVING sum(s.value) <> 0
$$;
SELECT r.largest, r.to_ts, (SELECT count(*) > 5 FROM oracle_folded(r.largest, '2026-01-01', r.to_ts)) AS some,
	(SELECT count(*) FROM ((SELECT stack, value::numeric FROM profstore.folded(r.name || :'memory' || ')', '2026-01-01', r.to_ts)
		EXCEPT ALL SELECT * FROM oracle_folded(r.largest, '2026-01-01', r.to_ts))
		UNION ALL (SELECT * FROM oracle_folded(r.largest, '2026-01-01', r.to_ts)
		EXCEPT ALL SELECT stack, value::numeric FROM profstore.folded(r.name || :'memory' || ')', '2026-01-01', r.to_ts))) d) AS different
FROM (VALUES (false, 'last_over_time(', timestamptz '2026-01-03'), (true, 'max_over_time(', '2026-01-03'),
	(false, 'last_over_time(', '2026-01-01 22:00:00Z'), (true, 'max_over_time(', '2026-01-01 22:00:00Z')) AS r(largest, name, to_ts);
-- a bucket gives the same result as a range of its length
SELECT r.largest, count(*) AS buckets, count(*) FILTER (WHERE t.value IS DISTINCT FROM (SELECT sum(c.sum) FROM oracle_chosen(r.largest, t.time, t.time + interval '30 minutes') c)) AS different
FROM (VALUES (false, 'last_over_time('), (true, 'max_over_time(')) AS r(largest, name)
CROSS JOIN LATERAL profstore.timeseries(r.name || :'memory' || ')', '2026-01-01', '2026-01-03', step => '30 minutes') t
GROUP BY r.largest;


-- tiers hold averages only
\set day '\'2026-01-01\', \'2026-01-02\''
SET client_min_messages = warning;
SELECT profstore.set_retention('1 day', '1000 years', '1000 years');
CALL profstore.apply_retention();
SELECT count(*) FROM profstore.folded('avg_over_time(' || :'heap' || ')', :day);
SELECT profstore.folded('last_over_time(' || :'heap' || ')', :day);
SELECT profstore.timeseries('max_over_time(' || :'heap' || ')', :day);
SELECT profstore.flamechart('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', :day);
