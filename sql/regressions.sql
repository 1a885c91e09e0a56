-- regressions(): functions whose share of CPU grew with a deploy, on 8 hosts over 12 hours before it and 1 hour after it
\i sql/fixtures/preamble.sql
\i sql/fixtures/deploys.sql
\set SHOW_CONTEXT never
SET extra_float_digits = 0;
SELECT put_fleet(1, 8, 0, 12, false);
SELECT put_fleet(1, 8, 12, 13, true);
UPDATE profstore.series SET period = 10000000;
INSERT INTO profstore.deploys (time, version, labels) VALUES ('2026-01-01 12:00Z', '2', '{"service": "web"}'), ('2026-01-01 11:00Z', '9', '{"service": "other"}'), ('2026-01-01 14:00Z', '3', '{}');
\set shown 'function, status, measure, round(base_share::numeric, 3) AS base_share, round(change::numeric, 3) AS change, change_low < change AND change < change_high AS inside, q_value < 0.01 AS sure, round(cores::numeric, 3) AS cores, renamed_from, within, hosts, far_hosts'
SELECT version, method, deploy_time, base_from, base_to, after_from, after_to, periods, hosts, paired_share, tested, left_out, reason FROM profstore.regressions_basis('process_cpu:cpu', '2', time_after => '1 hour');
SELECT :shown FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour');
-- the rows are those that pass the filters; shares refer to the sum of these rows
SELECT function, status, measure, round(base_share::numeric, 2) AS base_share FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour', focus => 'serve');
SELECT function FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour', max_rows => 1);
SELECT function FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour', min_change => 0.3);
SELECT function FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour', max_fdr => 0) WHERE status = 'regression';
-- a time before the deploy: nothing has changed
SELECT count(*) FROM profstore.regressions('process_cpu:cpu', at => '2026-01-01 11:00Z', time_after => '1 hour');

-- the same answer if samples come in another order, and with less work_mem, as long as all functions fit
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

-- the deploy is the newest matching one that has begun; the next deploy ends the time after it, the previous one begins the base
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

-- an empty answer comes with a NOTICE of the reason
SELECT reason FROM profstore.regressions_basis('process_cpu:cpu{node=~"n1|n2"}', '2', time_after => '1 hour');
SELECT * FROM profstore.regressions('process_cpu:cpu{node=~"n1|n2"}', '2', time_after => '1 hour');
SELECT reason FROM profstore.regressions_basis('process_cpu:cpu', '2', time_after => '1 hour', base => '2 hours');
SET client_min_messages = notice;
SELECT function FROM profstore.regressions('process_cpu:cpu');
RESET client_min_messages;
SELECT reason, samples_before FROM profstore.regressions_basis('process_cpu:cpu', at => '2026-01-01 18:10Z', time_after => '1 hour');

-- series with a version label: the version decides whether a sample is before or after, while the deploy is still in progress
SELECT put_fleet(21, 28, 0, 12, false, '{"service": "api", "version": "1"}');
SELECT put_fleet(21, 28, 12, 13, false, '{"service": "api", "version": "1"}');
SELECT put_fleet(21, 28, 12, 13, true, '{"service": "api", "version": "2"}');
INSERT INTO profstore.deploys (time, version, labels) VALUES ('2026-01-01 12:00Z', '2', '{"service": "api"}');
UPDATE profstore.series SET period = 10000000;
SELECT function, status, round(change::numeric, 2) AS change, renamed_from FROM profstore.regressions('process_cpu:cpu{service="api"}', '2', time_after => '1 hour');
-- a canary: four of eight hosts have the new version, and with the deploy the load of all hosts shifts towards the database
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
-- hosts after the deploy that did not exist before it
UPDATE code SET after = CASE stack WHEN 'main;serve;render' THEN 15 ELSE before END;
SELECT put_fleet(41, 48, 0, 12, false, '{"service": "moving"}');
SELECT put_fleet(51, 58, 12, 13, true, '{"service": "moving"}');
UPDATE profstore.series SET period = 10000000;
SELECT function, status, measure, round(change::numeric, 1) AS change FROM profstore.regressions('process_cpu:cpu{service="moving"}', at => '2026-01-01 12:00Z', time_after => '1 hour');
SELECT method, hosts, paired_share FROM profstore.regressions_basis('process_cpu:cpu{service="moving"}', at => '2026-01-01 12:00Z', time_after => '1 hour');

-- a third of the functions is of a kind of request that gets more frequent with the deploy, on all hosts; a canary shows that the version is not the cause
TRUNCATE code;
INSERT INTO code SELECT concat('main;', kind, ';', kind, n), 2, CASE kind WHEN 'report' THEN 2.4 ELSE 2 END FROM unnest('{report,page,image}'::text[]) AS kind, generate_series(1, 12) AS n;
SELECT put_fleet(61, 68, 0, 12, false, '{"service": "mixed"}');
SELECT put_fleet(61, 64, 12, 13, true, '{"service": "mixed"}');
SELECT put_fleet(65, 68, 12, 13, true, '{"service": "mixed", "track": "kept"}');
UPDATE profstore.series SET period = 10000000;
SELECT count(*) FILTER (WHERE "function" LIKE 'report%') AS reports, count(*) AS "all" FROM profstore.regressions('process_cpu:cpu{service="mixed"}', at => '2026-01-01 12:00Z', time_after => '1 hour');
SELECT reason, warning FROM profstore.regressions_basis('process_cpu:cpu{service="mixed"}', at => '2026-01-01 12:00Z', time_after => '1 hour');
SELECT count(*) FROM profstore.regressions('process_cpu:cpu{service="mixed"}', at => '2026-01-01 12:00Z', time_after => '1 hour', canary => 'process_cpu:cpu{track="kept"}');
SELECT warning FROM profstore.regressions_basis('process_cpu:cpu{service="mixed"}', at => '2026-01-01 12:00Z', time_after => '1 hour', canary => 'process_cpu:cpu{track="kept"}');

-- parallel workers give the same rows in all designs
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE alone AS
SELECT s.selector, s.canary, r.* FROM (VALUES ('process_cpu:cpu{service="web"}', NULL), ('process_cpu:cpu{service="api"}', NULL), ('process_cpu:cpu{service="moving"}', NULL),
	('process_cpu:cpu{service="can"}', 'process_cpu:cpu{track="stable"}')) AS s(selector, canary),
	LATERAL profstore.regressions(s.selector, '2', at => '2026-01-01 12:00Z', time_after => '1 hour', canary => s.canary, min_change => 0, max_fdr => 1) AS r;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
CREATE TABLE by_workers AS
SELECT s.selector, s.canary, r.* FROM (SELECT DISTINCT a.selector, a.canary FROM alone AS a) AS s,
	LATERAL profstore.regressions(s.selector, '2', at => '2026-01-01 12:00Z', time_after => '1 hour', canary => s.canary, min_change => 0, max_fdr => 1) AS r;
SELECT a.selector, count(*) > 5 AS has_rows FROM alone AS a GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM ((TABLE alone EXCEPT ALL TABLE by_workers) UNION ALL (TABLE by_workers EXCEPT ALL TABLE alone)) AS differing;
RESET client_min_messages;

-- as a reader whose row policies hide some series, by workers, too
CREATE ROLE regress_pfs_reader;
SELECT profstore.grant_read('regress_pfs_reader');
SET ROLE regress_pfs_reader;
SELECT count(*) > 0 AS has_rows FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour');
RESET ROLE;
RESET min_parallel_table_scan_size;
CREATE ROLE regress_pfs_nobody;
SET ROLE regress_pfs_nobody;
SELECT count(*) FROM profstore_internal.regression_rows('process_cpu:cpu', '2026-01-01', '2026-01-02', '2026-01-01 12:00Z', '1 hour', 3, NULL, 'node', NULL, 0, 0, 1);
RESET ROLE;
DROP OWNED BY regress_pfs_reader;
DROP ROLE regress_pfs_reader, regress_pfs_nobody;
