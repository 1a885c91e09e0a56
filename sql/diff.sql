-- flamegraph_diff() and top_diff(): two selections in one tree, compared with plain SQL.
\set fleet on
\i sql/fixtures/preamble.sql

SELECT put_scrape('jobs:run:count:run:count:delta', '{"version": "1"}', '2026-01-01 10:00Z', '{"main;old": 10, "main;both": 20, "main;both;leaf": 5}');
SELECT put_scrape('jobs:run:count:run:count:delta', '{"version": "2"}', '2026-01-01 11:00Z', '{"main;both": 30, "main;new": 6, "main;both;leaf": 5}');

-- frames in one selection only; ranges of equal length are not scaled
SELECT ord, level, value, self, "valueRight", "selfRight", label
FROM profstore.flamegraph_diff(:'jobs', '2026-01-01 10:00Z', '2026-01-01 11:00Z', '2026-01-01 11:00Z', '2026-01-01 12:00Z');
-- by rate, values are scaled to the longer range: those of half an hour count twice; no value is rounded to 0
SELECT level, value, self, "valueRight", "selfRight", label
FROM profstore.flamegraph_diff(:'jobs', '2026-01-01 10:00Z', '2026-01-01 11:00Z', '2026-01-01 11:00Z', '2026-01-01 11:30Z');
-- absolute: values are not scaled, whatever the ranges, and both sides are padded to equal totals
SELECT level, value, self, "valueRight", "selfRight", label, truncated
FROM profstore.flamegraph_diff(:'jobs', '2026-01-01 10:00Z', '2026-01-01 11:00Z', '2026-01-01 11:00Z', '2026-01-01 11:30Z', absolute => true);
SELECT level, value, self, "valueRight", "selfRight", label, truncated
FROM profstore.flamegraph_diff(:'jobs', '-infinity', '2026-01-01 11:00Z', '2026-01-01 11:00Z', 'infinity', absolute => true, max_nodes => 4);
SELECT n AS max_nodes, f.level, f.value, f.self, f."valueRight", f."selfRight", f.label
FROM generate_series(1, 2) AS n CROSS JOIN LATERAL
	profstore.flamegraph_diff(:'jobs', '-infinity', '2026-01-01 11:00Z', '2026-01-01 11:00Z', 'infinity', absolute => true, max_nodes => n) AS f;
-- another selector for the base; an empty side; both sides empty
SELECT level, value, "valueRight", label
FROM profstore.flamegraph_diff(:'jobs' || '{version="2"}', '2026-01-01', '2026-01-02', '2026-01-01', '2026-01-02', base_selector => :'jobs' || '{version="1"}');
SELECT level, value, self, "valueRight", "selfRight", label
FROM profstore.flamegraph_diff(:'jobs' || '{version="2"}', '2026-01-01', '2026-01-02', '2026-01-01', '2026-01-02', :'jobs' || '{version="3"}', max_nodes => 2);
SELECT * FROM profstore.flamegraph_diff(:'jobs', '2026-02-01', '2026-02-01', '2026-02-01', '2026-02-02');
SELECT DISTINCT pg_typeof(value) AS value, pg_typeof(self) AS self, pg_typeof("valueRight") AS "valueRight", pg_typeof("selfRight") AS "selfRight"
FROM profstore.flamegraph_diff(:'jobs', '2026-01-01', '2026-01-02', '2026-01-01', '2026-01-02');

-- functions by change
SELECT * FROM profstore.top_diff(:'jobs', '2026-01-01 10:00Z', '2026-01-01 11:00Z', '2026-01-01 11:00Z', '2026-01-01 12:00Z');
SELECT function, base_self, self, self_delta FROM profstore.top_diff(:'jobs', '2026-01-01 10:00Z', '2026-01-01 11:00Z', '2026-01-01 11:00Z', '2026-01-01 11:30Z', max_rows => 2);
SELECT function, base_self, self, self_delta
FROM profstore.top_diff(:'jobs', '2026-01-01 10:00Z', '2026-01-01 11:00Z', '2026-01-01 11:00Z', '2026-01-01 11:30Z', absolute => true, focus => 'both|new', hide => 'main');
SELECT count(*) FROM profstore.top_diff(:'jobs', '2026-02-01', '2026-02-02', '2026-02-02', '2026-02-03');

-- The expected result in plain SQL: sums of both sides per stack, scaled to the longer range.
CREATE FUNCTION oracle_sides(type text, base_labels jsonb, labels jsonb, base_from timestamptz, base_to timestamptz, from_ts timestamptz,
		to_ts timestamptz, by_rate bool)
	RETURNS TABLE (names text[], base numeric, value numeric)
	LANGUAGE sql AS
$$
WITH lengths AS
	(SELECT CASE WHEN by_rate AND type ~ ':delta$' THEN greatest(base_to - base_from, to_ts - from_ts) END AS longer),
scales AS
	(SELECT coalesce(extract(epoch FROM longer) / extract(epoch FROM base_to - base_from), 1) AS base,
		coalesce(extract(epoch FROM longer) / extract(epoch FROM to_ts - from_ts), 1) AS value FROM lengths)
SELECT p.names, coalesce(round(b.value * c.base), 0), coalesce(round(v.value * c.value), 0)
FROM oracle_sums(type, base_labels, base_from, base_to) AS b FULL JOIN oracle_sums(type, labels, from_ts, to_ts) AS v USING (stack_id)
	JOIN oracle_paths AS p ON p.id = stack_id CROSS JOIN scales AS c
$$;

CREATE FUNCTION differences(type text, base_labels jsonb, labels jsonb, base_from timestamptz, base_to timestamptz, from_ts timestamptz,
		to_ts timestamptz, absolute bool DEFAULT false)
	RETURNS TABLE (too_much int8, missing int8, top_too_much int8, top_missing int8, padded bool, many bool)
	LANGUAGE plpgsql AS
$$
DECLARE
	selector text := type || '{' || (SELECT coalesce(string_agg(format('%s=%s', key, l.value), ','), '') FROM jsonb_each(labels) AS l) || '}';
	base_selector text := type || '{' || (SELECT coalesce(string_agg(format('%s=%s', key, l.value), ','), '') FROM jsonb_each(base_labels) AS l) || '}';
	r record;
	path text[] := '{}';
BEGIN
	DROP TABLE IF EXISTS sides, expected, got, expected_top, got_top;
	CREATE TEMP TABLE sides AS SELECT * FROM oracle_sides(type, base_labels, labels, base_from, base_to, from_ts, to_ts, NOT absolute);
	CREATE TEMP TABLE expected AS
	SELECT s.names[1:d] AS path, sum(s.base) AS base, sum(s.value) AS value,
		coalesce(sum(s.base) FILTER (WHERE d = cardinality(s.names)), 0) AS base_self,
		coalesce(sum(s.value) FILTER (WHERE d = cardinality(s.names)), 0) AS self
	FROM sides AS s CROSS JOIN generate_series(0, cardinality(s.names)) AS d GROUP BY 1;
	CREATE TEMP TABLE got (LIKE expected);
	padded := false;
	FOR r IN SELECT * FROM profstore.flamegraph_diff(selector, base_from, base_to, from_ts, to_ts, base_selector, absolute, NULL) ORDER BY ord LOOP
		IF r.label = '(padding)' THEN
			padded := true;
			UPDATE got SET base = base - r.value, value = value - r."valueRight" WHERE got.path = '{}';
		ELSE
			path := CASE WHEN r.level = 0 THEN '{}' ELSE path[1:r.level - 1] || r.label END;
			INSERT INTO got VALUES (path, r.value, r."valueRight", r.self, r."selfRight");
		END IF;
	END LOOP;
	CREATE TEMP TABLE expected_top AS
	SELECT n.name, coalesce(sum(base) FILTER (WHERE names[cardinality(names)] = name), 0) AS base_self,
		coalesce(sum(value) FILTER (WHERE names[cardinality(names)] = name), 0) AS self, sum(base) AS base, sum(value) AS value
	FROM (SELECT DISTINCT unnest(names) FROM sides) AS n(name) JOIN sides ON n.name = ANY (names) GROUP BY n.name;
	CREATE TEMP TABLE got_top AS
	SELECT t.function, t.base_self::numeric, t.self::numeric, t.base_total::numeric, t.total::numeric
	FROM profstore.top_diff(selector, base_from, base_to, from_ts, to_ts, base_selector, absolute, NULL) AS t;
	too_much := (SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE expected) AS d);
	missing := (SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE got) AS d);
	top_too_much := (SELECT count(*) FROM (TABLE got_top EXCEPT ALL TABLE expected_top) AS d);
	top_missing := (SELECT count(*) FROM (TABLE expected_top EXCEPT ALL TABLE got_top) AS d);
	many := (SELECT count(*) > 300 FROM expected);
	RETURN NEXT;
END
$$;
SELECT * FROM differences(:'cpu', '{}', '{}', '2026-01-01 20:00Z', '2026-01-02 00:00Z', '2026-01-02 00:00Z', '2026-01-02 04:00Z');
SELECT * FROM differences(:'cpu', '{"node": "a"}', '{"node": "b"}', '2026-01-01', '2026-01-03', '2026-01-01', '2026-01-03', true);
SELECT * FROM differences(:'cpu', '{}', '{"service": "web"}', '2026-01-01 20:00Z', '2026-01-01 23:00:10Z', '2026-01-01 22:00Z', '2026-01-02 04:00Z');
SELECT * FROM differences(:'cpu', '{}', '{}', '2026-01-01 20:00Z', '2026-01-02 03:00:10Z', '2026-01-01 21:00Z', '2026-01-01 21:01:07Z', true);
SELECT * FROM differences(:'memory', '{}', '{"node": "a"}', '2026-01-01 20:00Z', '2026-01-01 23:00:10Z', '2026-01-01 22:00Z', '2026-01-02 04:00Z');

-- shape: both columns of the right side exist, levels rise by one, a value is self plus children on both sides, under every limit
CREATE TABLE cuts AS
SELECT n AS max_nodes, absolute, f.* FROM unnest(ARRAY[1, 2, 3, 5, 10, 50, 300, 3000]) AS n CROSS JOIN unnest(ARRAY[false, true]) AS absolute
	CROSS JOIN LATERAL profstore.flamegraph_diff(:'cpu', '2026-01-01 20:00Z', '2026-01-02 00:00Z', '2026-01-02 00:00Z', '2026-01-02 03:00Z',
		absolute => absolute, max_nodes => n) AS f;
SELECT max_nodes, absolute, count(*) <= max_nodes AS within, count(*) FILTER (WHERE level = 0) = 1 AS one_root,
	count("valueRight") = count(*) AND count("selfRight") = count(*) AS right_columns,
	sum(self) = max(value) AS sums, sum("selfRight") = max("valueRight") AS sums_right,
	bool_or(label = '(padding)') AS padded, max(value) = max("valueRight") AS equal_totals
FROM cuts GROUP BY max_nodes, absolute ORDER BY max_nodes, absolute;
SELECT count(*) FROM (SELECT level, lag(level) OVER (PARTITION BY max_nodes, absolute ORDER BY ord) AS before FROM cuts) AS d WHERE level > before + 1;
WITH parents AS
	(SELECT c.*, (SELECT max(p.ord) FROM cuts AS p WHERE p.max_nodes = c.max_nodes AND p.absolute = c.absolute AND p.ord < c.ord AND p.level = c.level - 1) AS parent
	 FROM cuts AS c WHERE c.max_nodes <= 300)
SELECT count(*) FROM parents AS p LEFT JOIN LATERAL
	(SELECT sum(value) AS value, sum("valueRight") AS value_right FROM parents AS c
	 WHERE c.max_nodes = p.max_nodes AND c.absolute = p.absolute AND c.parent = p.ord) AS below ON true
WHERE p.value <> p.self + coalesce(below.value, 0) OR p."valueRight" <> p."selfRight" + coalesce(below.value_right, 0);

-- swapped selections swap the columns; identical selections do not differ
SELECT count(*) FROM
	(SELECT label, level, value, self, "valueRight", "selfRight" FROM profstore.flamegraph_diff(:'cpu', '2026-01-01', '2026-01-02', '2026-01-02', '2026-01-03')
	 EXCEPT ALL
	 SELECT label, level, "valueRight", "selfRight", value, self FROM profstore.flamegraph_diff(:'cpu', '2026-01-02', '2026-01-03', '2026-01-01', '2026-01-02')) AS d;
SELECT count(*) > 500 AS many, count(*) FILTER (WHERE value <> "valueRight" OR self <> "selfRight") AS changed
FROM profstore.flamegraph_diff(:'cpu', '2026-01-01', '2026-01-02', '2026-01-01', '2026-01-02');
-- each side equals the flame graph of its selection
SELECT count(*) FROM
	(SELECT level, label, "valueRight", "selfRight" FROM profstore.flamegraph_diff(:'cpu', '2026-02-01', '2026-02-02', '2026-01-01', '2026-01-02', focus => 'fn1', hide => 'fn2')
	 EXCEPT ALL SELECT level, label, value, self FROM profstore.flamegraph(:'cpu', '2026-01-01', '2026-01-02', focus => 'fn1', hide => 'fn2')) AS d;

-- errors
SELECT put_scrape(:'jobs', '{"version": "large"}', '2026-01-01 12:00Z', '{"main": 9223372036854775807}');
\pset tuples_only on
SELECT failure(format('SELECT profstore.flamegraph_diff(%L, %s)', :'jobs', arguments)) FROM (VALUES
	($$'-infinity', '2026-01-02', '2026-01-01', '2026-01-02'$$),
	($$'2026-01-02 00:00Z', '2026-01-01 00:00Z', '2026-01-01', '2026-01-02'$$),
	($$NULL, '2026-01-01', '2026-01-01', '2026-01-02'$$),
	($$'2026-01-01', '2026-01-02', '2026-01-01', '2026-01-02', base_selector => 'memory:inuse_space:bytes:space:bytes'$$),
	($$'2026-01-01', '2026-01-02', '2026-01-01', '2026-01-02', base_selector => '{}'$$),
	($$'2026-01-01', '2026-01-02', '2026-01-01', '2026-01-02', max_nodes => 0$$)) AS calls(arguments);
SELECT failure(format('SELECT profstore.flamegraph_diff(%L, %s)', :'jobs' || '{version="large"}', $$'2026-01-01', '2026-01-03', '2026-01-01', '2026-01-02'$$));
SELECT failure(format('SELECT profstore.top_diff(%L, %s)', :'jobs', $$'2026-01-01', '2026-01-02', '2026-01-01', '2026-01-02', max_rows => -1$$));
