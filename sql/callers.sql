-- callers(), callees() and stacks_of(), compared with hand-written results and with plain SQL.
\set fleet on
\i sql/fixtures/preamble.sql
SELECT put_scrape(:'jobs', '{"node": "a"}', '2026-01-01 10:00Z',
	'{"main;f;f;f": 40, "main;f;g;f": 30, "main;g;f;g": 20, "main": 10, "f": 3, "idle": 7, "main;g": 5}');

-- for a recursive function, the outermost frame counts, so each stack counts once, as in top()
SELECT * FROM profstore.callers(:'jobs', '2026-01-01', '2026-01-02', 'f');
SELECT * FROM profstore.callees(:'jobs', '2026-01-01', '2026-01-02', 'f');
SELECT * FROM profstore.callees(:'jobs', '2026-01-01', '2026-01-02', 'g');
SELECT * FROM profstore.callers(:'jobs', '2026-01-01', '2026-01-02', 'idle');
-- a function that is missing or hidden; limits and filters
SELECT * FROM profstore.callers(:'jobs', '2026-01-01', '2026-01-02', 'nobody');
SELECT * FROM profstore.callees(:'jobs', '2026-01-01', '2026-01-02', 'f', hide => 'f');
SELECT * FROM profstore.callees(:'jobs', '2026-01-01', '2026-01-02', 'f', focus => 'g', hide => 'g');
SELECT * FROM profstore.callees(:'jobs', '2026-01-01', '2026-01-02', 'main', max_nodes => 3);
SELECT * FROM profstore.callers(:'jobs', '2026-02-01', '2026-02-02', 'f');
SELECT profstore.callers(:'jobs', '2026-01-01', '2026-01-02', NULL);
SELECT profstore.callees(:'jobs', '2026-01-01', '2026-01-02', 'f', max_nodes => 0);
SELECT * FROM profstore.stacks_of(:'jobs', '2026-01-01', '2026-01-02');
SELECT * FROM profstore.stacks_of(:'jobs', '2026-01-01', '2026-01-02', focus => 'g', show => '^[fg]$');
SELECT count(*) FROM profstore.stacks_of(:'jobs', '2026-02-01', '2026-02-02');

-- The expected rows in plain SQL: each stack from the function's first frame on, or the path from that frame back to the root.
CREATE TABLE sums AS
SELECT p.names, sum(s.value) AS value FROM oracle_sums(:'cpu', '{}', '2026-01-01', '2026-01-03') AS s JOIN oracle_paths AS p ON p.id = s.stack_id GROUP BY p.names;
CREATE FUNCTION oracle_sandwich(function text, up bool) RETURNS TABLE (path text[], self numeric, total numeric)
	LANGUAGE sql AS
$$
WITH paths AS
	(SELECT CASE WHEN up THEN ARRAY(SELECT n FROM unnest(names[:array_position(names, function)]) WITH ORDINALITY AS u(n, ord) ORDER BY ord DESC)
		ELSE names[array_position(names, function):] END AS path, value
	 FROM sums WHERE function = ANY (names))
SELECT p.path[1:d], coalesce(sum(p.value) FILTER (WHERE d = cardinality(p.path)), 0), sum(p.value)
FROM paths AS p CROSS JOIN generate_series(1, cardinality(p.path)) AS d GROUP BY 1
$$;
CREATE FUNCTION got_sandwich(type text, function text, up bool) RETURNS TABLE (path text[], self numeric, total numeric)
	LANGUAGE plpgsql AS
$$
DECLARE
	r record;
BEGIN
	path := '{}';
	FOR r IN EXECUTE format('SELECT * FROM profstore.%I($1, ''2026-01-01'', ''2026-01-03'', $2, NULL)', CASE WHEN up THEN 'callers' ELSE 'callees' END) USING type, function LOOP
		path := path[1:r.level] || r.function;
		self := r.self;
		total := r.total;
		RETURN NEXT;
	END LOOP;
END
$$;
CREATE TABLE names AS SELECT DISTINCT unnest(names) AS name FROM sums;
SELECT n.up, sum(d.too_much) AS too_much, sum(d.missing) AS missing, count(*) > 25 AS functions, max(d.nodes) > 200 AS deep
FROM (SELECT name, up FROM names, unnest(ARRAY[false, true]) AS up) AS n CROSS JOIN LATERAL
	(WITH got AS MATERIALIZED (SELECT * FROM got_sandwich(:'cpu', n.name, n.up)), expected AS MATERIALIZED (SELECT * FROM oracle_sandwich(n.name, n.up))
	 SELECT (SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE expected) AS x) AS too_much,
		(SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE got) AS x) AS missing, (SELECT count(*) FROM expected) AS nodes) AS d
GROUP BY n.up ORDER BY n.up;
-- level 0 has the value of top()
SELECT count(*) FROM profstore.top(:'cpu', '2026-01-01', '2026-01-03', max_rows => NULL) AS t
	JOIN LATERAL profstore.callees(:'cpu', '2026-01-01', '2026-01-03', t.function) AS c ON c.level = 0 WHERE c.total <> t.total;

CREATE TABLE got AS SELECT stack, value::numeric FROM profstore.stacks_of(:'cpu', '2026-01-01', '2026-01-03');
SELECT (SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE sums) AS d) AS too_much, (SELECT count(*) FROM (TABLE sums EXCEPT ALL TABLE got) AS d) AS missing,
	(SELECT count(*) > 100 FROM got) AS many;
