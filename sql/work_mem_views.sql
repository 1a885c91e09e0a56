-- Views of stacks that exceed work_mem: the same rows in the same order as with much memory.
\set fleet on
\i sql/fixtures/preamble.sql
\i sql/fixtures/test_module.sql
\set VERBOSITY terse

-- 3,000 more stacks of two programs: the fleet's locations, some with inlined calls, some without a function, some recursive
CREATE TABLE many AS
SELECT unnest(profstore.intern_stacks(partition, ARRAY(SELECT 3 + n % 20 FROM generate_series(1, 1500) AS n),
	ARRAY(SELECT l.id FROM generate_series(1, 1500) AS s(n), generate_series(1, 3 + n % 20) AS f(level),
		LATERAL (SELECT id FROM fleet_locations AS l WHERE l.n = 1 + (hashint8(s.n * level * length(partition)) & 65535) % (5 + 3 * level % 55)) AS l
		ORDER BY s.n, level))) AS stack_id
FROM (VALUES ('libone'), ('another')) AS p(partition);
SELECT count(*), count(DISTINCT stack_id) FROM many;
SELECT (profstore.intern_series(ARRAY['process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', 'memory:inuse_space:bytes:space:bytes'],
	ARRAY['{"node": "many"}', '{"node": "many"}']::jsonb[], '{1,1}')) AS series \gset
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT timestamptz '2026-01-01 10:00Z' + i * interval '1 min', series, stack_id, hashint8(stack_id + i) % 1000
FROM many, unnest(:'series'::int[]) AS series, generate_series(0, 2) AS i ORDER BY hashint8(stack_id);
SELECT profstore.touch_series(:'series', '2026-01-01', '2026-01-02');

-- a heat map of 20,000 cells, one of which is not 0, and one with samples of all stacks in every cell
SELECT profstore.intern_series(array_fill('jobs:run:count:run:count:delta'::text, ARRAY[2]), ARRAY['{"n": "1"}', '{"n": "2"}']::jsonb[], '{0,0}') AS jobs \gset
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT timestamptz '2026-01-01 10:00Z' + i * interval '10 ms', (:'jobs'::int[])[1], 0, v FROM generate_series(1, 20000) AS i, (VALUES (1), (-1)) AS v(v) WHERE i > 1 OR v = 1;
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT timestamptz '2026-01-01 10:00Z' + i * interval '10 ms', (:'jobs'::int[])[2], stack_id, i FROM (SELECT stack_id, row_number() OVER (ORDER BY hashint8(stack_id)) FROM many) AS m,
	generate_series(row_number, 20000, 3000) AS i;
SELECT profstore.touch_series(:'jobs', '2026-01-01', '2026-01-02');

-- Every view; a view with few rows uses the disk only for its input.
CREATE FUNCTION views(type text) RETURNS TABLE (query text, few bool) LANGUAGE sql AS
$$
SELECT format('profstore.%s(%L, %L, %L%s%s%s)', view, type || '{node="many"}', '2026-01-01', '2026-01-02', argument, limits, filters), few
FROM (VALUES ('folded', '', ''), ('stacks_of', '', ''), ('source', ', ''file3.c''', ''), ('callgraph', '', ', max_nodes => 5'),
		('callgraph', '', ', max_nodes => NULL'), ('callers', ', ''fn1''', ', max_nodes => 50'), ('callers', ', ''fn1''', ', max_nodes => NULL'),
		('callees', ', ''fn2''', ', max_nodes => 50'), ('callees', ', ''fn2''', ', max_nodes => NULL'), ('sandwich', ', ''fn1''', ', max_nodes => 50'),
		('sandwich', ', ''no such''', ', max_nodes => NULL'), ('flamegraph', '', ', max_nodes => 50'),
		('flamegraph', '', ', max_nodes => 700, inverted => true')) AS v(view, argument, limits),
	(VALUES ('', false), (', focus => ''fn7'', hide => ''fn3''', false), (', granularity => ''address''', false), (', granularity => ''file''', false),
		(', show => ''^fn1$''', true)) AS f(filters, few)
WHERE (view <> 'source' OR filters NOT LIKE '%granularity%') AND (type LIKE '%delta' OR few)
$$;
CREATE FUNCTION answer(query text) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	rows text;
BEGIN
	EXECUTE 'SELECT count(*) || '' '' || md5(string_agg(t::text, E''\n'' ORDER BY ordinality)) FROM ' || query || ' WITH ORDINALITY AS t' INTO rows;
	RETURN rows;
END
$$;
-- views of merged profiles, which decode the value in addition
CREATE VIEW asked_of AS
SELECT format('profstore.%s((TABLE kept), max_nodes => %s%s)', view, nodes, filters) AS query
FROM (VALUES ('flamegraph_of'), ('callgraph_of')) AS v(view), (VALUES ('NULL'), ('60')) AS n(nodes), (VALUES (''), (', focus => ''fn7'', granularity => ''file''')) AS f(filters)
UNION ALL VALUES ('profstore.flamegraph_of((TABLE kept), inverted => true)'), ('profstore.top_of((TABLE kept), 10)'), ('profstore.folded_of((TABLE kept), hide => ''fn1'')');
CREATE TABLE kept AS
SELECT profstore.merge_stacks(stack_id, value) FROM profstore.samples WHERE series_id = (:'series'::int[])[1];
CREATE VIEW asked AS
SELECT type, v.* FROM (VALUES ('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta'), ('memory:inuse_space:bytes:space:bytes')) AS t(type), views(type) AS v
UNION ALL SELECT 'jobs', format('profstore.heatmap(''jobs:run:count:run:count:delta{n="%s"}'', ''2026-01-01'', ''2026-01-02'', slices => 100%s)', n, filters), n = 1
FROM (VALUES (1, ''), (2, ''), (2, ', focus => ''fn7''')) AS h(n, filters)
UNION ALL SELECT 'jobs', format('profstore.flamechart(''jobs:run:count:run:count:delta{n="2"}'', ''2026-01-01'', ''2026-01-02''%s)', arguments), false
FROM (VALUES (''), (', width => ''30 ms'', granularity => ''file'''), (', focus => ''fn7'', hide => ''fn3''')) AS c(arguments)
UNION ALL SELECT type, format('profstore.pprof(%L, ''2026-01-01'', ''2026-01-02''%s)', type, arguments), false
FROM (VALUES ('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta'), ('memory:inuse_space:bytes:space:bytes')) AS t(type), (VALUES (''), (', sample_labels => true'), (', focus => ''fn7'', hide => ''fn3''')) AS c(arguments);

SET hash_mem_multiplier = 1;
SET work_mem = '1GB';
CREATE TABLE answers AS
SELECT query, answer(query) FROM (SELECT query FROM asked UNION ALL TABLE asked_of) AS a;
SELECT count(*), count(DISTINCT answer) FROM answers;
SELECT query FROM asked WHERE few AND spills('SELECT FROM ' || query);
SET work_mem = '64kB';
SELECT query, answer(query) FROM (SELECT query FROM asked UNION ALL TABLE asked_of) AS a EXCEPT TABLE answers;
SELECT query FROM asked WHERE few AND NOT spills('SELECT FROM ' || query);
-- stacks read in several parts, each of which fits in memory
SET work_mem = '160kB';
SELECT query, answer(query) FROM (SELECT query FROM asked UNION ALL TABLE asked_of) AS a EXCEPT TABLE answers;

-- merge_stacks: 100,000 stacks, twice; its packed sums need less memory than a table of them
CREATE TABLE numbers AS
SELECT (hashint8(i) & 16777215)::int8 AS stack_id, hashint8(-i) % 1000::int8 AS value FROM generate_series(1, 100000) AS i, generate_series(1, 2);
CREATE TABLE summed AS
SELECT stack_id, sum(value)::int8 AS value FROM numbers GROUP BY stack_id HAVING sum(value) <> 0;
CREATE FUNCTION merged(memory text, OUT too_much int8, OUT missing int8, OUT mb float8) LANGUAGE plpgsql AS
$$
DECLARE
	sums profstore.stack_sums;
BEGIN
	PERFORM set_config('work_mem', memory, true), set_config('max_parallel_workers_per_gather', '0', true), memory_peak();
	SELECT profstore.merge_stacks(stack_id, value) INTO sums FROM numbers;
	mb := memory_peak() / 1e6;
	too_much := (SELECT count(*) FROM (SELECT * FROM profstore.stacks_in(sums) EXCEPT ALL TABLE summed) AS d);
	missing := (SELECT count(*) FROM (TABLE summed EXCEPT ALL SELECT * FROM profstore.stacks_in(sums)) AS d);
END
$$;
SELECT memory, too_much, missing, mb < 2 AS little, mb > 5 AS much FROM (VALUES ('64kB'), ('1GB')) AS m(memory), merged(memory);
-- as partial states of parallel workers, as stored values that are merged again, and as a window aggregate, whose state continues
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TEMP TABLE numbered AS
SELECT row_number() OVER () AS n, * FROM numbers LIMIT 3000;
EXPLAIN (COSTS off) SELECT profstore.merge_stacks(stack_id, value) FROM numbers;
CREATE TABLE merges AS
SELECT 0 AS part, profstore.merge_stacks(stack_id, value) AS sums FROM numbers
UNION ALL SELECT part, profstore.merge_stacks(stack_id, value) FROM (SELECT *, 1 + row_number() OVER () % 3 AS part FROM numbers) AS n GROUP BY part;
INSERT INTO merges SELECT 4, profstore.merge_stacks(sums) FROM merges WHERE part > 0;
SELECT part, (SELECT count(*) FROM (SELECT * FROM profstore.stacks_in(sums) EXCEPT ALL TABLE summed) AS d) AS too_much,
	(SELECT count(*) FROM profstore.stacks_in(sums)) - (SELECT count(*) FROM summed) AS more FROM merges WHERE part IN (0, 4) ORDER BY part;
SELECT n, sums::text = (SELECT profstore.merge_stacks(w.stack_id, w.value)::text FROM numbered AS w WHERE w.n <= u.n) AS same
FROM (SELECT n, profstore.merge_stacks(stack_id, value) OVER (ORDER BY n) AS sums FROM numbered) AS u WHERE n % 1500 = 0 ORDER BY n;
-- a function that is called for each of many rows frees its memory each time
BEGIN;
DECLARE many CURSOR FOR SELECT s.* FROM generate_series(1, 50) AS i, LATERAL profstore.stacks_in(format('{%s:1}', i)::profstore.stack_sums) AS s;
MOVE 50 IN many;
SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'profstore rows';
COMMIT;
