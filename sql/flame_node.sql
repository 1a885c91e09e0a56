-- ProfstoreFlame, the plan node that returns flame graphs with WITH ORDINALITY instead of a function scan.
\set fleet on
\i sql/fixtures/preamble.sql
SELECT format('(%L, ''2026-01-01 20:00Z'', ''2026-01-03 00:00Z''', :'cpu' || '{}') AS all, format('(%L, ''2026-01-01 20:00Z'', ''2026-01-01 22:00Z'', ''2026-01-01 22:00Z'', ''2026-01-02 00:00Z''', :'cpu' || '{}') AS halves,
	format('(SELECT profstore.merge_stacks(stack_id, value) FROM profstore.samples WHERE series_id %s 4)', '<') AS sums,
	format('(SELECT profstore.merge_stacks(stack_id, value) FROM profstore.samples WHERE series_id %s 4)', '>') AS other_sums \gset

EXPLAIN (COSTS off) SELECT label, value FROM profstore.flamegraph:all) WHERE level < 2;
EXPLAIN (COSTS off) SELECT label FROM profstore.flamegraph:all) WITH ORDINALITY;
EXPLAIN (COSTS off) SELECT f FROM profstore.flamegraph:all) AS f;
EXPLAIN (COSTS off) SELECT t FROM profstore.top:all) AS t;

-- the same rows in the same order as the function scan
CREATE TABLE calls (n serial, call text, columns text);
INSERT INTO calls (call, columns)
SELECT 'profstore.' || call, 'ord, level, value, self, label, truncated, file, line, mapping' || CASE WHEN call ~ 'diff' THEN ', "valueRight", "selfRight"' ELSE '' END
FROM unnest(ARRAY[
	'flamegraph' || :'all' || ')', 'flamegraph' || :'all' || ', NULL)', 'flamegraph' || :'all' || ', 1)', 'flamegraph' || :'all' || ', 40, true, focus => ''fn1'')',
	'flamegraph' || :'all' || ', by => ''{node,service}'')', 'flamegraph' || :'all' || ', granularity => ''line'')', 'flamegraph' || :'all' || ', focus => ''nothing'')',
	'flamegraph_diff' || :'halves' || ')', 'flamegraph_diff' || :'halves' || ', absolute => true)', 'flamegraph_diff' || :'halves' || ', absolute => true, max_nodes => NULL)',
	'flamegraph_of(' || :'sums' || ')', 'flamegraph_diff_of(' || :'sums' || ', ' || :'other_sums' || ')']) AS call;
CREATE FUNCTION rows_of(columns text, call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE format('SELECT count(*) || '' '' || md5(string_agg(r::text, E''\n'')) FROM (SELECT %s FROM %s) AS r', columns, call) INTO answer;
	RETURN answer;
END
$$;
SELECT n, rows_of(columns, call) = rows_of(columns, call || ' WITH ORDINALITY') AS same, split_part(rows_of(columns, call), ' ', 1)::int > 40 AS many FROM calls ORDER BY n;
-- without source files; with results on disk
SELECT bool_and(rows_of('ord, label, value', call) = rows_of('ord, label, value', call || ' WITH ORDINALITY')) AS same FROM calls;
SET work_mem = '64kB';
SELECT bool_and(rows_of(columns, call) = rows_of(columns, call || ' WITH ORDINALITY')) AS same FROM calls;
SELECT spills('SELECT count(*) FROM (SELECT label FROM profstore.flamegraph' || :'all' || ', NULL, granularity => ''address'')) AS f') AS spills;
SELECT count(*), count(*) FILTER (WHERE a.label = b.label) AS same
FROM profstore.flamegraph:all, NULL, granularity => 'address') AS a FULL JOIN profstore.flamegraph:all, NULL, granularity => 'address') WITH ORDINALITY AS b USING (ord);
RESET work_mem;

-- once per row of another relation: the same rows, or others if a parameter has changed
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT count(*), sum(length(f.label)) > 0 AS labels FROM (VALUES (0), (1), (1)) AS v(level) JOIN profstore.flamegraph:all) AS f ON f.level = v.level OR f.level = v.level + 1;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
SELECT n, (SELECT count(*) FROM profstore.flamegraph:all, n)) AS rows FROM generate_series(1, 9, 4) AS n;
SELECT n, f.* FROM generate_series(1, 9, 4) AS n, LATERAL (SELECT count(*) AS rows FROM profstore.flamegraph:all, n)) AS f;
SELECT n, count(*) FROM generate_series(1, 9, 4) AS n, profstore.flamegraph:all, n) GROUP BY n ORDER BY n;

-- together with other queries that start and discard their names meanwhile
CREATE FUNCTION forget_names() RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	PERFORM profstore.bump_names();
	RETURN (SELECT count(*) > 0 FROM profstore.profile_types() AS t, profstore.top(t.profile_type || '{}', '2026-01-01', '2026-01-02') WHERE t.delta);
END
$$;
CREATE TEMP TABLE labels AS SELECT ord, label, file FROM profstore.flamegraph:all, 20);
SELECT count(*), count(*) FILTER (WHERE f.label = l.label AND f.file IS NOT DISTINCT FROM l.file) AS same
FROM (SELECT ord, label, file FROM profstore.flamegraph:all, 20) WHERE forget_names()) AS f JOIN labels AS l USING (ord);

-- cursors, prepared statements, inserts
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT ord, level FROM profstore.flamegraph:all) WHERE ord < 4;
FETCH ALL FROM c;
FETCH BACKWARD 2 FROM c;
CLOSE c;
COMMIT;
PREPARE rows(int) AS SELECT count(*) FROM profstore.flamegraph:all, $1);
SET plan_cache_mode = force_generic_plan;
EXECUTE rows(1);
EXECUTE rows(7);
RESET plan_cache_mode;
CREATE TEMP TABLE kept AS SELECT * FROM profstore.flamegraph:all, 20);
INSERT INTO kept SELECT * FROM profstore.flamegraph:all, 20);
SELECT count(*), count(DISTINCT ord) FROM kept;
-- FOR UPDATE and UPDATE use a function scan
EXPLAIN (COSTS off) UPDATE kept SET self = 0 FROM profstore.flamegraph:all) AS f WHERE kept.ord = f.ord;
EXPLAIN (COSTS off) SELECT FROM kept JOIN profstore.flamegraph:all) AS f USING (ord) FOR UPDATE OF kept;

-- the node requires the privilege to call the function
BEGIN;
CREATE ROLE regress_profstore_flame;
SELECT profstore.grant_read('regress_profstore_flame');
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA profstore FROM PUBLIC;
SET ROLE regress_profstore_flame;
SELECT count(*) > 0 FROM profstore.flamegraph:all);
ROLLBACK;
