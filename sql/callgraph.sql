-- callgraph(), callgraph_dot(), sandwich() and source(), compared with hand-written results and with plain SQL.
\set fleet on
\i sql/fixtures/preamble.sql
SELECT put_scrape(:'jobs', '{"node": "a"}', '2026-01-01 10:00Z',
	'{"main;f;f;f": 40, "main;f;g;f": 30, "main;g;f;g": 20, "main": 10, "f": 3, "idle": 7, "main;g": 5}');

-- a recursive call counts once per stack
SELECT * FROM profstore.callgraph(:'jobs', '2026-01-01', '2026-01-02');
-- the two functions around a frame that a limit or filter removes
SELECT * FROM profstore.callgraph(:'jobs', '2026-01-01', '2026-01-02', max_nodes => 2);
SELECT put_scrape(:'jobs', '{"node": "b"}', '2026-01-06 10:00Z', '{"a;b;c": 5, "a;c": 1, "a;b;d": 7, "a;x;d;x;d": 2}');
SELECT * FROM profstore.callgraph(:'jobs', '2026-01-06', '2026-01-07', max_nodes => 3);
SELECT * FROM profstore.callgraph(:'jobs', '2026-01-06', '2026-01-07', max_nodes => 3, focus => 'x');
SELECT * FROM profstore.callgraph(:'jobs', '2026-01-06', '2026-01-07', hide => 'b', ignore => 'x');
SELECT * FROM profstore.callgraph(:'jobs', '2026-02-02', '2026-02-03');
SELECT profstore.callgraph(:'jobs', '2026-01-02', '2026-01-03', max_nodes => 0);

CREATE TABLE sums AS SELECT stack_id, value FROM oracle_sums(:'cpu', '{}', '2026-01-01', '2026-01-03');
CREATE TABLE totals AS
SELECT function, sum(value) AS total, row_number() OVER (ORDER BY sum(value) DESC, sum(self) DESC, function COLLATE "C") AS place
FROM (SELECT stack_id, f.function, s.value, CASE WHEN bool_or(f.last) THEN s.value ELSE 0 END AS self FROM sums AS s
	JOIN (SELECT *, ord = max(ord) OVER (PARTITION BY stack_id) AS last FROM frames) AS f USING (stack_id) GROUP BY 1, 2, 3) AS d GROUP BY function;
CREATE FUNCTION oracle_edges(max_nodes int8) RETURNS TABLE (caller text, callee text, value numeric, indirect bool) LANGUAGE sql AS
$$
WITH shown AS
	(SELECT f.stack_id, f.ord, f.function, s.value, lag(f.function) OVER w AS caller, f.ord - lag(f.ord) OVER w > 1 AS indirect
	 FROM frames AS f JOIN sums AS s USING (stack_id) JOIN totals AS t USING (function) WHERE t.place <= max_nodes WINDOW w AS (PARTITION BY f.stack_id ORDER BY f.ord)),
per_stack AS
	(SELECT stack_id, caller, function, value, bool_and(indirect) AS indirect FROM shown WHERE caller IS NOT NULL GROUP BY 1, 2, 3, 4)
SELECT caller, function, sum(value), bool_and(indirect) FROM per_stack GROUP BY 1, 2
$$;
SELECT n, d.*, (SELECT count(*) > 5 FROM oracle_edges(n)) AS some, (SELECT bool_or(indirect) FROM oracle_edges(n)) AS cut
FROM unnest('{1000,40,22,12,5}'::int[]) AS n CROSS JOIN LATERAL
	(WITH got AS MATERIALIZED (SELECT caller, callee, value::numeric, indirect FROM profstore.callgraph(:'cpu', '2026-01-01', '2026-01-03', n)),
		oracle AS MATERIALIZED (SELECT * FROM oracle_edges(n))
	 SELECT (SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE oracle) AS x) AS too_much,
		(SELECT count(*) FROM (TABLE oracle EXCEPT ALL TABLE got) AS x) AS missing) AS d;

-- output in DOT, the language of Graphviz
\pset tuples_only on
SELECT put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '{"node": "dot"}', '2026-01-05 10:00Z',
	'{"main;a;b": 1500000000, "main;\"quoted\\": 250000, "main": 12}');
SELECT profstore.callgraph_dot(:'cpu', '2026-01-05', '2026-01-06', 3);
SELECT profstore.callgraph_dot(:'jobs', '2026-02-05', '2026-02-06');
SELECT regexp_matches(profstore.callgraph_dot('heap:inuse:bytes:space:bytes', '2026-02-05', '2026-02-06'), 'total .*"');
-- a value that rounds up to 1,000 is shown in the next larger unit
SELECT put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '{"node": "scales"}', timestamptz '2026-01-05 12:00Z' + n * interval '1 hour', jsonb_build_object('main', value))
FROM unnest('{999994999, 999995000, 59994999999, 59996000000}'::int8[]) WITH ORDINALITY AS v(value, n);
SELECT string_agg(substring(profstore.callgraph_dot('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="scales"}', timestamptz '2026-01-05 12:00Z' + n * interval '1 hour',
	timestamptz '2026-01-05 13:00Z' + n * interval '1 hour') FROM 'total ([^"]*)"'), ', ' ORDER BY n) FROM generate_series(1, 4) AS n;
\pset tuples_only off

-- sandwich: its two sides equal callers() and callees()
SELECT * FROM profstore.sandwich(:'jobs', '2026-01-01', '2026-01-02', 'f') ORDER BY ord;
SELECT * FROM profstore.sandwich(:'jobs', '2026-01-01', '2026-01-02', 'main', max_nodes => 3) ORDER BY ord;
SELECT * FROM profstore.sandwich(:'jobs', '2026-01-01', '2026-01-02', 'nobody') ORDER BY ord;
SELECT count(*) FROM totals CROSS JOIN LATERAL
	((SELECT 'callers', level, function, self, total FROM profstore.callers(:'cpu', '2026-01-01', '2026-01-03', function)
	  UNION ALL SELECT 'callees', level, function, self, total FROM profstore.callees(:'cpu', '2026-01-01', '2026-01-03', function))
	 EXCEPT ALL SELECT side, level, label, self, value FROM profstore.sandwich(:'cpu', '2026-01-01', '2026-01-03', function)) AS d
WHERE place % 7 = 1;
SELECT profstore.sandwich(:'jobs', '2026-01-01', '2026-01-02', NULL);

-- source: the lines of one file
SELECT profstore.intern_functions('{work,step,other}', '{work,step,other}', '{/src/app/a.c,/src/app/a.c,/src/lib/b.c}', '{10,20,1}') AS functions \gset
SELECT profstore.intern_locations('{0,0,0,0,0}', '{1,2,3,4,5}', '{1,1,2,1,1}',
	ARRAY[f[1], f[1], f[2], f[1], f[3], f[2]], '{11,12,21,13,3,0}') AS locations FROM (SELECT :'functions'::int[] AS f) AS x \gset
-- Stacks, leaf first: step at line 21 inlined into work at line 13, work at 11 calls it twice, work at 12 calls other; one line unknown
INSERT INTO profstore.samples SELECT '2026-01-01 13:00Z', (profstore.intern_series(ARRAY[:'jobs'], ARRAY['{"node": "source"}'::jsonb], '{0}'))[1], s.id, s.value
FROM (SELECT unnest(profstore.intern_stacks('p', '{3,2,1,1}', ARRAY[l[3], l[1], l[1], l[4], l[2], l[2], l[5]])) AS id, unnest('{100,20,3,1}'::int[]) AS value
	FROM (SELECT :'locations'::int[] AS l) AS x) AS s;
\set lines 'profstore.source(' :'jobs' '||\'{node="source"}\', \'2026-01-01\', \'2026-01-02\''
SELECT * FROM :lines, 'a.c');
SELECT * FROM :lines, 'app/a.c', hide => 'step');
SELECT * FROM :lines, '/src/lib/b.c');
SELECT * FROM :lines, '.c');
SELECT * FROM :lines, 'lib/b.c', contents => E'one\ntwo\n  three {\nfour\n');
SELECT * FROM :lines, 'b.c', contents => E'one\ntwo');
SELECT * FROM :lines, 'nowhere.c', contents => E'one\n\ntwo');
-- an empty file name matches no frame, not even frames without a file or without a function
SELECT * FROM :lines, '', contents => E'one\ntwo');
SELECT count(*) AS unnamed, (SELECT count(*) FROM profstore.source(:'cpu', '2026-01-01', '2026-01-03', '')) AS lines
FROM profstore.stacks JOIN profstore.locations AS l ON l.id = location WHERE function_ids = '{}';
SELECT * FROM :lines, NULL);
SELECT sum(differences) FROM (SELECT DISTINCT file FROM frames WHERE file <> '') AS f CROSS JOIN LATERAL
	(WITH got AS MATERIALIZED (SELECT line, self::numeric, total::numeric FROM profstore.source(:'cpu', '2026-01-01', '2026-01-03', f.file)),
		oracle AS MATERIALIZED
		(SELECT d.line, sum(self), sum(value) FROM
			(SELECT o.stack_id, o.line, s.value, CASE WHEN bool_or(o.ord = (SELECT max(ord) FROM frames AS l WHERE l.stack_id = o.stack_id)) THEN s.value ELSE 0 END AS self
			 FROM frames AS o JOIN sums AS s USING (stack_id) WHERE o.file = f.file GROUP BY 1, 2, 3) AS d GROUP BY d.line)
	 SELECT (SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE oracle) AS x) + (SELECT count(*) FROM (TABLE oracle EXCEPT ALL TABLE got) AS x) AS differences) AS d;
