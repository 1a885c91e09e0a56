-- The views, compared with plain SQL: recursion over stacks, locations and functions, on random data.
-- Each count of differences must be 0, in both directions.
\set fleet on
\i sql/fixtures/preamble.sql

-- the random data has enough stacks, some of them in a heap partition
SELECT count(*) AS samples, count(DISTINCT stack_id) > 300 AS many_stacks FROM profstore.samples;
SELECT count(*) > 500 AS heap_rows FROM samples_heap;

CREATE FUNCTION differences(type text, labels jsonb, from_ts timestamptz, to_ts timestamptz, inverted bool DEFAULT false)
	RETURNS TABLE (too_much int8, missing int8, nodes_above_500 bool)
	LANGUAGE plpgsql AS
$$
BEGIN
	DROP TABLE IF EXISTS flame, expected;
	CREATE TEMP TABLE flame AS
	SELECT * FROM profstore.flamegraph(
		type || '{' || (SELECT coalesce(string_agg(format('%s=%s', key, value), ','), '') FROM jsonb_each(labels)) || '}',
		from_ts, to_ts, max_nodes => NULL, inverted => differences.inverted);
	CREATE TEMP TABLE expected AS
	SELECT o.path, o.value, coalesce(o.self, 0) AS self FROM oracle_tree(type, labels, from_ts, to_ts, inverted) AS o;
	RETURN QUERY SELECT
		(SELECT count(*) FROM (SELECT * FROM flame_tree() EXCEPT ALL TABLE expected) AS d),
		(SELECT count(*) FROM (TABLE expected EXCEPT ALL SELECT * FROM flame_tree()) AS d),
		(SELECT count(*) > 500 FROM flame);
END
$$;

-- delta type: all samples, one series, one label, ranges that cut segments
SELECT * FROM differences(:'cpu', '{}', '2026-01-01', '2026-01-03');
SELECT * FROM differences(:'cpu', '{"node": "a", "service": "web"}', '-infinity', 'infinity');
SELECT * FROM differences(:'cpu', '{"service": "web"}', '2026-01-01 23:00:10Z', '2026-01-02 01:00:20Z');
SELECT * FROM differences(:'cpu', '{"node": "a"}', '2026-01-01 21:00:10Z', '2026-01-01 21:02Z');
SELECT * FROM differences(:'cpu', '{}', '2026-01-01', '2026-01-03', inverted => true);
-- instant type: averages over the scrapes of each series
SELECT * FROM differences(:'memory', '{}', '2026-01-01', '2026-01-03');
SELECT * FROM differences(:'memory', '{"service": "web"}', '2026-01-01 23:00:10Z', '2026-01-02 00:30Z');
SELECT * FROM differences(:'memory', '{"node": "c"}', '2026-01-01', '2026-01-03', inverted => true);

-- random ranges and labels
CREATE TABLE queries AS
SELECT n, CASE WHEN random() < 0.5 THEN :'cpu' ELSE :'memory' END AS type,
	(ARRAY['{}', '{"node": "a"}', '{"node": "c"}', '{"service": "web"}', '{"service": "db"}']::jsonb[])[1 + floor(5 * random())] AS labels,
	timestamptz '2026-01-01 20:00Z' + random() * interval '4 hours' AS from_ts, random() * interval '4 hours' AS length,
	random() < 0.3 AS inverted
FROM generate_series(1, 12) AS n;
SELECT sum(too_much) AS too_much, sum(missing) AS missing, count(*)
FROM queries CROSS JOIN LATERAL differences(type, labels, from_ts, from_ts + length, inverted);

-- top: self by leaf; a recursive function counts once per stack
CREATE TABLE expected_top AS
WITH stacks AS
	(SELECT p.names, s.value FROM oracle_sums(:'cpu', '{}', '2026-01-01', '2026-01-03') AS s JOIN oracle_paths AS p ON p.id = s.stack_id),
names AS
	(SELECT DISTINCT name FROM stacks, unnest(names) AS name)
SELECT n.name, coalesce(sum(s.value) FILTER (WHERE s.names[cardinality(s.names)] = n.name), 0) AS self, sum(s.value) AS total
FROM names AS n JOIN stacks AS s ON n.name = ANY (s.names)
GROUP BY n.name;
SELECT count(*) FROM (SELECT function, self::numeric, total::numeric FROM profstore.top(:'cpu', '2026-01-01', '2026-01-03', max_rows => NULL)
	EXCEPT ALL TABLE expected_top) AS d;
SELECT count(*) FROM (TABLE expected_top EXCEPT ALL
	SELECT function, self::numeric, total::numeric FROM profstore.top(:'cpu', '2026-01-01', '2026-01-03', max_rows => NULL)) AS d;

-- folded: one line per path
CREATE TABLE expected_folded AS
SELECT CASE WHEN p.names = '{}' THEN '[empty stack]' ELSE array_to_string(p.names, ';') END AS stack, sum(s.value) AS value
FROM oracle_sums(:'memory', '{}', '2026-01-01', '2026-01-03') AS s JOIN oracle_paths AS p ON p.id = s.stack_id
GROUP BY p.names;
SELECT count(*) FROM (SELECT stack, value::numeric FROM profstore.folded(:'memory', '2026-01-01', '2026-01-03')
	EXCEPT ALL TABLE expected_folded) AS d;
SELECT count(*) FROM (TABLE expected_folded EXCEPT ALL
	SELECT stack, value::numeric FROM profstore.folded(:'memory', '2026-01-01', '2026-01-03')) AS d;

-- filters: focus and ignore select whole stacks, then hide and show remove frames
CREATE FUNCTION filtered(focus text, ignore text, show text, hide text) RETURNS TABLE (too_much int8, missing int8, stacks int8)
	LANGUAGE sql AS
$$
WITH kept AS
	(SELECT ARRAY(SELECT name FROM unnest(p.names) WITH ORDINALITY AS u(name, ord)
			WHERE NOT coalesce(name ~ hide, false) AND coalesce(name ~ show, true) ORDER BY ord) AS names, s.value
	 FROM oracle_sums('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '{}', '2026-01-01', '2026-01-03') AS s
		JOIN oracle_paths AS p ON p.id = s.stack_id
	 WHERE (focus IS NULL OR EXISTS (SELECT FROM unnest(p.names) AS name WHERE name ~ focus))
		AND (ignore IS NULL OR NOT EXISTS (SELECT FROM unnest(p.names) AS name WHERE name ~ ignore))),
expected AS MATERIALIZED
	(SELECT CASE WHEN names = '{}' THEN '[empty stack]' ELSE array_to_string(names, ';') END AS stack, sum(value) AS value FROM kept
	 WHERE names <> '{}' OR (show IS NULL AND hide IS NULL)
	 GROUP BY names),
got AS MATERIALIZED
	(SELECT f.stack, f.value::numeric
	 FROM profstore.folded('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '2026-01-01', '2026-01-03', focus, ignore, show, hide) AS f)
SELECT (SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE expected) AS d),
	(SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE got) AS d), (SELECT count(*) FROM expected)
$$;
SELECT f.*, r.too_much, r.missing, r.stacks > 5 AS stacks
FROM (VALUES ('fn1', NULL, NULL, NULL), (NULL, 'fn1', NULL, NULL), (NULL, NULL, 'fn1', NULL), (NULL, NULL, NULL, 'fn1'),
		('^fn(3|4)$', 'so\]', NULL, NULL), ('fn2', 'fn5', NULL, 'lib'), (NULL, 'fn7', 'fn[0-9]$', 'fn3'), ('^\[lib', NULL, '[0-9]', 'fn1.'))
	AS f(focus, ignore, show, hide) CROSS JOIN LATERAL filtered(f.focus, f.ignore, f.show, f.hide) AS r;

-- series graph: a delta type gives rates per second over the 10 s windows that begin in the bucket and the range, an instant type averages
CREATE FUNCTION graph_differences(type text, from_ts timestamptz, to_ts timestamptz, step interval, labels text[])
	RETURNS TABLE (too_much int8, missing int8, points_above_10 bool)
	LANGUAGE sql AS
$$
WITH picked AS MATERIALIZED
	(SELECT date_bin(step, s.time, '1970-01-01 00:00Z') AS bucket, s.time, s.value, t.delta, i.labels,
		(SELECT coalesce(jsonb_object_agg(l.key, l.value), '{}') FROM jsonb_each(i.labels) AS l
		 WHERE l.key = ANY (graph_differences.labels)) AS grouped
	 FROM profstore.samples AS s JOIN profstore.series AS i ON i.id = s.series_id
		JOIN profstore.profile_types AS t ON t.id = i.profile_type
	 WHERE t.delta = (type ~ ':delta$') AND s.time >= from_ts AND s.time < to_ts),
per_series AS
	(SELECT bucket, grouped, sum(value) / CASE WHEN delta THEN 1e9 * extract(epoch FROM
			date_bin('10 s', least(bucket + step, to_ts) - interval '1 us', '1970-01-01 00:00Z') - date_bin('10 s', greatest(bucket, from_ts) - interval '1 us', '1970-01-01 00:00Z')) ELSE count(DISTINCT time) END AS value
	 FROM picked GROUP BY bucket, grouped, labels, delta),
expected AS MATERIALIZED
	(SELECT bucket, grouped, round(sum(value), 3) FROM per_series GROUP BY bucket, grouped),
got AS MATERIALIZED
	(SELECT g.time, g.labels, round(g.value::numeric, 3)
	 FROM profstore.timeseries(type || '{}', from_ts, to_ts, step, graph_differences.labels) AS g)
SELECT (SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE expected) AS d),
	(SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE got) AS d), (SELECT count(*) > 10 FROM expected)
$$;
SELECT * FROM graph_differences(:'cpu', '2026-01-01', '2026-01-03', '10 min', '{}');
SELECT * FROM graph_differences(:'cpu', '2026-01-01 20:03:20Z', '2026-01-02 01:01:05Z', '1 min', '{node}');
SELECT * FROM graph_differences(:'cpu', '2026-01-01', '2026-01-03', '7 min', '{service,node,absent}');
SELECT * FROM graph_differences(:'memory', '2026-01-01', '2026-01-03', '10 min', '{}');
SELECT * FROM graph_differences(:'memory', '2026-01-01 20:03:20Z', '2026-01-02 01:01:05Z', '7 min', '{service}');

-- the parts of a series graph add up to the flame graph
SELECT round(sum(value * 600)::numeric, 3) =
		(SELECT round(value / 1e9, 3) FROM profstore.flamegraph(:'cpu', '2026-01-01', '2026-01-03') WHERE ord = 0) AS same_total
FROM profstore.timeseries(:'cpu', '2026-01-01', '2026-01-03', '10 min', '{node}');
SELECT f.focus, f.ignore, round(sum(value * 600)::numeric, 3) =
		(SELECT round(value / 1e9, 3) FROM profstore.flamegraph(:'cpu', '2026-01-01', '2026-01-03', focus => f.focus, ignore => f.ignore)
		 WHERE ord = 0) AS same_total, count(*) > 100 AS many
FROM (VALUES ('fn1', ''), ('', 'fn2'), ('fn3$', 'fn5')) AS f(focus, ignore)
	CROSS JOIN LATERAL profstore.timeseries(:'cpu', '2026-01-01', '2026-01-03', '10 min', '{node}', focus => f.focus, ignore => f.ignore)
GROUP BY f.focus, f.ignore ORDER BY f.focus;

-- a limit keeps the totals, and the shown nodes have their exact values
SELECT * FROM differences(:'cpu', '{}', '2026-01-01', '2026-01-03');
CREATE TABLE cuts AS
SELECT n AS max_nodes, f.* FROM unnest(ARRAY[1, 2, 3, 5, 10, 50, 500, 2000]) AS n
	CROSS JOIN LATERAL profstore.flamegraph(:'cpu', '2026-01-01', '2026-01-03', n) AS f;
SELECT max_nodes, count(*) <= max_nodes AS within, count(*) >= max_nodes - 1 AS used, sum(self) = max(value) AS sums,
	max(value) = (SELECT value FROM expected WHERE path = '{}') AS whole, count(*) FILTER (WHERE truncated) > 0 AS cut
FROM cuts GROUP BY max_nodes ORDER BY max_nodes;
TRUNCATE flame;
INSERT INTO flame SELECT ord, level, value, self, label, truncated, file, line, mapping FROM cuts WHERE max_nodes = 500;
SELECT count(*) FROM (SELECT path, value FROM flame_tree() WHERE path[cardinality(path)] IS DISTINCT FROM 'other'
	EXCEPT ALL SELECT path, value FROM expected) AS d;
-- the largest nodes are shown, and an "other" node replaces more than one leaf
SELECT count(*) FROM (SELECT path FROM expected ORDER BY value DESC LIMIT 200) AS d WHERE path NOT IN (SELECT path FROM flame_tree());
SELECT count(*) FROM (SELECT path[:cardinality(path) - 1] AS parent, count(*) AS cut, bool_and(value = self) AS leaves
	FROM expected WHERE path NOT IN (SELECT path FROM flame_tree()) GROUP BY 1) AS d
WHERE parent IN (SELECT path FROM flame_tree()) AND cut = 1 AND leaves;
