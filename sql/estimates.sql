-- The planner's row estimates for functions that read samples follow their range and limit arguments.
SET client_min_messages = warning;
SET timezone = 'UTC';
SELECT count(profstore.ensure_partitions('2001-03-01 00:00Z', '2001-03-04 00:00Z')) > 0 AS made;

-- 40 samples a minute for a day, a few on the next day, none on the third
INSERT INTO profstore.samples
SELECT timestamptz '2001-03-01 00:00Z' + m * interval '1 minute', 1 + s % 4, 0, 1
FROM generate_series(0, 1439) AS m, generate_series(0, 39) AS s;
INSERT INTO profstore.samples SELECT '2001-03-02 12:00Z', 1, 0, 1 FROM generate_series(1, 5);
SELECT profstore.compact() > 0 AS compacted;

CREATE FUNCTION pg_temp.estimate(call text, OUT rows float8, OUT cost float8) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) SELECT * FROM profstore.' || call INTO plan;
	rows := plan #>> '{0,Plan,Plan Rows}';
	cost := plan #>> '{0,Plan,Total Cost}';
END
$$;
CREATE VIEW pg_temp.estimates AS
SELECT name, (pg_temp.estimate(format(call, 'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta'))).*
FROM (VALUES
	('day', $$flamegraph('%s{}', '2001-03-01', '2001-03-02')$$),
	('hour', $$flamegraph('%s{}', '2001-03-01 10:00', '2001-03-01 11:00')$$),
	('few', $$flamegraph('%s{}', '2001-03-02', '2001-03-03')$$),
	('none', $$flamegraph('%s{}', '2001-03-03', '2001-03-04')$$),
	('outside', $$flamegraph('%s{}', '2002-03-03', '2002-03-04')$$),
	('hundred', $$flamegraph('%s{}', '2001-03-01', '2001-03-02', 100)$$),
	('whole', $$flamegraph('%s{}', '2001-03-01', '2001-03-02', NULL)$$),
	('named', $$flamegraph(to_ts => '2001-03-02', from_ts => '2001-03-01', selector => '%s{}', max_nodes => 100)$$),
	('now', $$flamegraph('%s{}', now() - interval '1 hour', now())$$),
	('top', $$top('%s{}', '2001-03-01', '2001-03-02', 7)$$),
	('diff', $$flamegraph_diff('%s{}', '2001-03-01', '2001-03-02', '2001-03-01', '2001-03-02')$$),
	('diff with none', $$flamegraph_diff('%s{}', '2001-03-01', '2001-03-02', '2001-03-03', '2001-03-04')$$),
	('null', $$flamegraph('%s{}', NULL, '2001-03-02')$$),
	('folded', $$folded('%s{}', '2001-03-01', '2001-03-02')$$)
) AS calls(name, call);

SELECT name, rows FROM pg_temp.estimates ORDER BY name;
CREATE TEMP TABLE costs AS SELECT name, cost FROM pg_temp.estimates;
SELECT a.name || ' < ' || b.name AS cheaper, a.cost < b.cost AS holds
FROM (VALUES ('hour', 'whole'), ('few', 'hour'), ('none', 'few'), ('day', 'diff'), ('diff with none', 'diff')) AS pairs(a, b)
JOIN costs AS a ON a.name = pairs.a JOIN costs AS b ON b.name = pairs.b ORDER BY 1;
SELECT a.cost = b.cost AS "no samples cost the same" FROM costs AS a, costs AS b WHERE a.name = 'outside' AND b.name = 'none';

-- the estimate is lower if the session allows sums in place of rows
SET profstore.enable_summaries = off;
SELECT e.cost > c.cost AS "rows cost more than sums" FROM pg_temp.estimates AS e JOIN costs AS c USING (name) WHERE name = 'day';
RESET profstore.enable_summaries;

-- the same holds for aggregates in plain SQL that the sums can answer
CREATE FUNCTION pg_temp.cost(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan #>> '{0,Plan,Total Cost}';
END
$$;
CREATE TEMP TABLE aggregates AS
SELECT query, pg_temp.cost(query) AS cost
FROM (VALUES ('SELECT stack_id, sum(value) FROM profstore.samples GROUP BY 1'), ('SELECT time, count(*) FROM profstore.samples GROUP BY 1'),
	('SELECT stack_id, max(value) FROM profstore.samples GROUP BY 1'), ('SELECT time, stack_id, sum(value) FROM profstore.samples GROUP BY 1, 2')) AS queries(query);
SET profstore.enable_summaries = off;
SELECT query, pg_temp.cost(query) > cost AS "cheaper by sums" FROM aggregates ORDER BY query;
RESET profstore.enable_summaries;

-- a generic plan ignores the values of constants
SET plan_cache_mode = force_generic_plan;
PREPARE any_range(timestamptz, timestamptz) AS SELECT * FROM profstore.top('x:x:x:x:x{}', $1, $2);
EXPLAIN (COSTS on, SUMMARY off) EXECUTE any_range('2001-03-01', '2001-03-02');
RESET plan_cache_mode;

-- PostgreSQL decides on inlining a function before planning, so by the constants
CREATE FUNCTION pg_temp.twice(html text) RETURNS bool LANGUAGE sql STABLE AS 'SELECT html || html IS NULL';
EXPLAIN (VERBOSE, COSTS off)
SELECT pg_temp.twice(profstore.callgraph_dot('x:x:x:x:x{}', '2001-03-03', '2001-03-04')) AS none;

-- estimates do not reveal rows that the role may not read
CREATE ROLE estimates_stranger;
GRANT USAGE ON SCHEMA profstore TO estimates_stranger;
SET ROLE estimates_stranger;
EXPLAIN (COSTS on) SELECT * FROM profstore.top('x:x:x:x:x{}', '2001-03-03', '2001-03-04');
RESET ROLE;
REVOKE USAGE ON SCHEMA profstore FROM estimates_stranger;
DROP ROLE estimates_stranger;
