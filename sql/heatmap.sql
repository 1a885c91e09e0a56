-- heatmap(), compared with hand-written results and with plain SQL.
\set fleet on
\i sql/fixtures/preamble.sql
SELECT put_scrape(:'jobs', '{"node": "a"}', '2026-01-01 10:00:00.0199Z', '{"main;f": 4, "main;g": 1}');
SELECT put_scrape(:'jobs', '{"node": "b"}', '2026-01-01 10:00:00.02Z', '{"main;f": 8}');
SELECT put_scrape(:'jobs', '{"node": "a"}', '2026-01-01 10:00:02.999999Z', '{"main;g": 16}');
SELECT * FROM profstore.heatmap(:'jobs', '2026-01-01', '2026-01-02');
SELECT * FROM profstore.heatmap(:'jobs', '2026-01-01', '2026-01-02', slices => 2, focus => 'f');
SELECT * FROM profstore.heatmap(:'jobs' || '{node="a"}', '2026-01-01', '2026-01-02', step => '10 s', slices => 4);
SELECT * FROM profstore.heatmap(:'jobs', '2026-01-01', '2026-01-01 10:00:00.02Z', slices => 1, hide => '.');
SELECT * FROM profstore.heatmap(:'jobs', '2026-02-01', '2026-02-02');
SELECT profstore.heatmap(:'jobs', '2026-01-01', '2026-01-02', slices => 0);
SELECT profstore.heatmap(:'jobs', '2026-01-01', '2026-01-02', step => '1 month');
SELECT profstore.heatmap('memory:inuse_space:bytes:space:bytes', '2026-01-01', '2026-01-02');

-- several step sizes, some of which do not divide a second
CREATE FUNCTION oracle_cells(step interval, slices int) RETURNS TABLE ("time" timestamptz, slice int, value numeric) LANGUAGE sql AS
$$
SELECT date_bin(step, s.time, '1970-01-01 00:00Z') AS bin, floor(extract(epoch FROM s.time - date_bin(step, s.time, '1970-01-01 00:00Z')) * slices / extract(epoch FROM step))::int, sum(s.value)
FROM profstore.samples AS s JOIN profstore.matching_series('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta') AS m USING (series_id) GROUP BY 1, 2 HAVING sum(s.value) <> 0
$$;
SELECT c.step, c.slices, (SELECT count(*) > 10 FROM oracle_cells(c.step, c.slices)) AS some,
	(SELECT count(*) FROM (SELECT "time", offset_ms::numeric(20, 3), value::numeric FROM profstore.heatmap(:'cpu', '2026-01-01', '2026-01-03', c.step, c.slices)
		EXCEPT ALL SELECT "time", (slice * 1000 * extract(epoch FROM c.step) / c.slices)::numeric(20, 3), value FROM oracle_cells(c.step, c.slices)) AS d) AS too_much,
	(SELECT count(*) FROM profstore.heatmap(:'cpu', '2026-01-01', '2026-01-03', c.step, c.slices)) = (SELECT count(*) FROM oracle_cells(c.step, c.slices)) AS same_count
FROM (VALUES (interval '1 minute', 6), ('7 minutes', 11), ('1 hour', 60), ('0.3 s', 3)) AS c(step, slices);
