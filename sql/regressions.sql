-- regressions(): what a deploy made dearer, on 8 hosts over 12 hours before and 1 hour after it
\i sql/fixtures/preamble.sql
\set SHOW_CONTEXT never
SET extra_float_digits = 0;
-- shares before and after the deploy; the noise of a host in an hour is 1 %
CREATE TABLE code (stack text, before float8, after float8);
INSERT INTO code VALUES
	('main;serve;parse', 20, 20), ('main;serve;render', 10, 11), ('main;serve', 3, 3),
	('main;db;query', 15, 15), ('main;db;connect', 5, 5), ('main;encode', 10, 9), ('main;gc;mark', 8, 8), ('main;gc;sweep', 6, 6),
	-- a clone with another number, and a function with another name
	('main;log;format.isra.0', 4, 0), ('main;log;format.isra.1', 0, 4), ('main;cache;look_up', 5, 0), ('main;cache;find', 0, 5),
	-- a part of one function moves to its sibling
	('main;json;scan', 5, 3), ('main;json;walk', 5, 7),
	('main;fresh', 0, 0.5), ('main;obsolete', 2, 0);
-- nearly normal, and the same at each run: by a text that differs from cell to cell
CREATE FUNCTION noise(deviation float8, cell text) RETURNS float8 LANGUAGE sql IMMUTABLE
	AS $$SELECT exp(deviation * (sum(('x' || substr(md5(cell || n), 1, 6))::bit(24)::int / 16777216.0) - 6))::float8 FROM generate_series(1, 12) AS n$$;
CREATE FUNCTION put_fleet(first_node int, last_node int, from_hour int, to_hour int, deployed bool, more jsonb DEFAULT '{}') RETURNS void LANGUAGE sql
AS $$
	SELECT put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', jsonb_build_object('node', 'n' || node, 'service', 'web') || more,
		timestamptz '2026-01-01 00:00Z' + make_interval(hours => hour, mins => minute),
		(SELECT jsonb_object_agg(stack, (1800e9 * noise(0.05, concat(node, ' ', hour)) * CASE WHEN deployed THEN after ELSE before END / 100
				* noise(0.01, concat(node, ' ', hour, ':', minute, stack)))::int8)
		 FROM code WHERE CASE WHEN deployed THEN after ELSE before END > 0))
	FROM generate_series(first_node, last_node) AS node, generate_series(from_hour, to_hour - 1) AS hour, unnest('{10,40}'::int[]) AS minute
$$;
SELECT put_fleet(1, 8, 0, 12, false);
SELECT put_fleet(1, 8, 12, 13, true);
UPDATE profstore.series SET period = 10000000;
INSERT INTO profstore.deploys (time, version, labels) VALUES ('2026-01-01 12:00Z', '2', '{"service": "web"}'), ('2026-01-01 11:00Z', '9', '{"service": "other"}'), ('2026-01-01 14:00Z', '3', '{}');
\set shown 'function, status, measure, round(base_share::numeric, 3) AS base_share, round(change::numeric, 3) AS change, change_low < change AND change < change_high AS inside, q_value < 0.01 AS sure, round(cores::numeric, 3) AS cores, renamed_from, within, hosts, far_hosts'
SELECT version, method, deploy_time, base_from, base_to, after_from, after_to, periods, hosts, paired_share, tested, left_out, reason FROM profstore.regressions_basis('process_cpu:cpu', '2', time_after => '1 hour');
SELECT :shown FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour');
-- rows are those that pass the filters; the whole is what passes
SELECT function, status, measure, round(base_share::numeric, 2) AS base_share FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour', focus => 'serve');
SELECT function FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour', max_rows => 1);
SELECT function FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour', min_change => 0.3);
SELECT function FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour', max_fdr => 0) WHERE status = 'regression';
-- nothing was planted: a time before
SELECT count(*) FROM profstore.regressions('process_cpu:cpu', at => '2026-01-01 11:00Z', time_after => '1 hour');

-- the samples in another order give the same answer, and so does less work_mem, while it has room for all functions
CREATE TABLE answer AS SELECT r.* FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour') AS r;
BEGIN;
SET LOCAL work_mem = '256kB';
CREATE TEMPORARY TABLE all_samples AS TABLE profstore.samples;
TRUNCATE profstore.samples;
INSERT INTO profstore.samples SELECT * FROM all_samples ORDER BY random();
SELECT count(*) FROM (TABLE answer EXCEPT ALL SELECT r.* FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour') AS r) AS differing;
SET LOCAL work_mem = '64kB';
SELECT tested > 0 AS tested, left_out > 0 AS left_out FROM profstore.regressions_basis('process_cpu:cpu', '2', time_after => '1 hour');
ROLLBACK;

-- which deploy: the newest that fits and has begun; another one ends the time after, and begins the base
SELECT version, deploy_time, base_from, after_to, periods, reason FROM profstore.regressions_basis('process_cpu:cpu');
SELECT version, deploy_time, base_from, after_to, periods FROM profstore.regressions_basis('process_cpu:cpu', '2');
SELECT version, deploy_time, base_from, after_to, periods FROM profstore.regressions_basis('process_cpu:cpu', '2', base => '4 hours', time_after => '30 min');
INSERT INTO profstore.deploys (time, version, labels) VALUES ('2026-01-01 05:00Z', '1.9', '{"service": "web"}');
SELECT version, base_from, periods FROM profstore.regressions_basis('process_cpu:cpu', '2', time_after => '1 hour');
DELETE FROM profstore.deploys WHERE version = '1.9';
SELECT * FROM profstore.regressions('process_cpu:cpu{service="nobody"}');
SELECT * FROM profstore.regressions('process_cpu:cpu', '77');
SELECT * FROM profstore.regressions('process_cpu:cpu', '2', host => 'pod');
SELECT * FROM profstore.regressions('process_cpu:cpu', '2', min_change => -1);
SELECT * FROM profstore.regressions('process_cpu:cpu', '2', max_fdr => 'NaN');
SELECT * FROM profstore.regressions('process_cpu:cpu', '2', time_after => '-1 hour');
SELECT * FROM profstore.regressions(NULL);
SELECT put_scrape('memory:inuse_space:bytes:space:bytes', '{"node": "n1"}', '2026-01-01 10:00Z', '{"main": 1}');
SELECT * FROM profstore.regressions('memory:inuse_space', at => '2026-01-01 12:00Z');

-- no answer has a reason
SELECT reason FROM profstore.regressions_basis('process_cpu:cpu{node=~"n1|n2"}', '2', time_after => '1 hour');
SELECT * FROM profstore.regressions('process_cpu:cpu{node=~"n1|n2"}', '2', time_after => '1 hour');
SELECT reason FROM profstore.regressions_basis('process_cpu:cpu', '2', time_after => '1 hour', base => '2 hours');
SET client_min_messages = notice;
SELECT function FROM profstore.regressions('process_cpu:cpu');
RESET client_min_messages;
SELECT reason, samples_before FROM profstore.regressions_basis('process_cpu:cpu', at => '2026-01-01 18:10Z', time_after => '1 hour');

-- series with a version: it decides the side, while the deploy still rolls
SELECT put_fleet(21, 28, 0, 12, false, '{"service": "api", "version": "1"}');
SELECT put_fleet(21, 28, 12, 13, false, '{"service": "api", "version": "1"}');
SELECT put_fleet(21, 28, 12, 13, true, '{"service": "api", "version": "2"}');
INSERT INTO profstore.deploys (time, version, labels) VALUES ('2026-01-01 12:00Z', '2', '{"service": "api"}');
UPDATE profstore.series SET period = 10000000;
SELECT function, status, round(change::numeric, 2) AS change, renamed_from FROM profstore.regressions('process_cpu:cpu{service="api"}', '2', time_after => '1 hour');
-- a canary: four of eight hosts have the new version, and the traffic of all shifts towards the database with the deploy
UPDATE code SET after = after * 1.2 WHERE stack LIKE 'main;db;%';
SELECT put_fleet(31, 38, 0, 12, false, '{"service": "can"}');
SELECT put_fleet(31, 34, 12, 13, true, '{"service": "can"}');
UPDATE code SET after = before;
UPDATE code SET after = after * 1.2 WHERE stack LIKE 'main;db;%';
SELECT put_fleet(35, 38, 12, 13, true, '{"service": "can", "track": "stable"}');
UPDATE profstore.series SET period = 10000000;
SELECT function, status, measure, round(change::numeric, 2) AS change FROM profstore.regressions('process_cpu:cpu{service="can"}', at => '2026-01-01 12:00Z', time_after => '1 hour') WHERE function IN ('query', 'render');
SELECT function, status, measure, round(change::numeric, 2) AS change FROM profstore.regressions('process_cpu:cpu{service="can"}', at => '2026-01-01 12:00Z', time_after => '1 hour', canary => 'process_cpu:cpu{track="stable"}') WHERE function IN ('query', 'render');
SELECT method, hosts, paired_share FROM profstore.regressions_basis('process_cpu:cpu{service="can"}', at => '2026-01-01 12:00Z', time_after => '1 hour', canary => 'process_cpu:cpu{track="stable"}');
SELECT reason FROM profstore.regressions_basis('process_cpu:cpu{service="can",node=~"n3[1-6]"}', at => '2026-01-01 12:00Z', time_after => '1 hour', canary => 'process_cpu:cpu{track="stable"}');
SELECT * FROM profstore.regressions('process_cpu:cpu{service="can"}', at => '2026-01-01 12:00Z', canary => 'process_cpu:cpu{track="typo"}');
-- other hosts after the deploy than before
UPDATE code SET after = CASE stack WHEN 'main;serve;render' THEN 15 ELSE before END;
SELECT put_fleet(41, 48, 0, 12, false, '{"service": "moving"}');
SELECT put_fleet(51, 58, 12, 13, true, '{"service": "moving"}');
UPDATE profstore.series SET period = 10000000;
SELECT function, status, measure, round(change::numeric, 1) AS change FROM profstore.regressions('process_cpu:cpu{service="moving"}', at => '2026-01-01 12:00Z', time_after => '1 hour');
SELECT method, hosts, paired_share FROM profstore.regressions_basis('process_cpu:cpu{service="moving"}', at => '2026-01-01 12:00Z', time_after => '1 hour');

-- as a reader, who sees what his policies allow
CREATE ROLE regress_pfs_reader;
SELECT profstore.grant_read('regress_pfs_reader');
SET ROLE regress_pfs_reader;
SELECT count(*) > 0 AS has_rows FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour');
RESET ROLE;
CREATE ROLE regress_pfs_nobody;
SET ROLE regress_pfs_nobody;
SELECT count(*) FROM profstore_internal.regression_rows('process_cpu:cpu', '2026-01-01', '2026-01-02', '2026-01-01 12:00Z', '1 hour', 3, NULL, 'node', NULL, 0, 0, 1);
RESET ROLE;
DROP OWNED BY regress_pfs_reader;
DROP ROLE regress_pfs_reader, regress_pfs_nobody;
