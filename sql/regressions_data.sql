-- regressions(): which samples count, requests, tiers, parts of stacks, arguments, roles
\i sql/fixtures/preamble.sql
\i sql/fixtures/deploys.sql
\set SHOW_CONTEXT never
SET extra_float_digits = 0;
\set shown 'function, status, round(change::numeric, 2) AS change'
SELECT put_fleet(1, 8, 0, 12, false, '{"version": "1"}');
SELECT put_fleet(1, 8, 12, 13, true, '{"version": "2"}');
UPDATE profstore.series SET period = 10000000;
INSERT INTO profstore.deploys (time, version, labels) VALUES ('2026-01-01 12:00Z', '2', '{"service": "web"}');
CREATE TABLE answer AS SELECT r.* FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour') AS r;
CREATE TABLE basis AS SELECT b.* FROM profstore.regressions_basis('process_cpu:cpu', '2', time_after => '1 hour') AS b;
SELECT :shown FROM answer;

-- samples of the new version from before the deploy, as of a first host or a build server, do not belong to the base
SELECT put_fleet(1, 8, 9, 12, true, '{"version": "2"}');
UPDATE profstore.series SET period = 10000000;
SELECT count(*) FROM (TABLE answer EXCEPT SELECT r.* FROM profstore.regressions('process_cpu:cpu', '2', time_after => '1 hour') AS r) AS differing;
SELECT b.samples_before = basis.samples_before AS same FROM basis, profstore.regressions_basis('process_cpu:cpu', '2', time_after => '1 hour') AS b;
-- such samples do not belong to a canary's base either
SELECT b.reason, b.samples_before = basis.samples_before AS same FROM basis,
	profstore.regressions_basis('process_cpu:cpu', '2', time_after => '1 hour', canary => 'process_cpu:cpu{version="1"}') AS b;
-- without another version, as when one version is deployed twice, the time decides
SELECT reason, samples_before > 0 AS has_base FROM profstore.regressions_basis('process_cpu:cpu{version="1"}', at => '2026-01-01 11:00Z', time_after => '1 hour');
INSERT INTO profstore.deploys (time, version, labels) VALUES ('2026-01-01 11:00Z', '1', '{"service": "web", "version": "1"}');
SELECT reason, samples_before > 0 AS has_base FROM profstore.regressions_basis('process_cpu:cpu{version="1"}', '1', time_after => '50 min');
DELETE FROM profstore.deploys WHERE version = '1';

-- requests: all code costs 10 % more, which shares do not show
UPDATE code SET after = before * 1.1;
SELECT put_fleet(11, 18, 0, 12, false, '{"service": "all"}');
SELECT put_fleet(11, 18, 12, 13, true, '{"service": "all"}');
UPDATE profstore.series SET period = 10000000;
-- the requests of each host follow its load
CREATE TABLE requests AS
SELECT timestamptz '2026-01-01 00:00Z' + make_interval(hours => hour, mins => minute) AS time, 1000 * noise(0.05, concat(node, ' ', hour)) * noise(0.01, concat(node, ':', hour)) AS rate, 'n' || node AS node
FROM generate_series(11, 18) AS node, generate_series(0, 12) AS hour, unnest('{6,20,36,50}'::int[]) AS minute;
\set all_at '''process_cpu:cpu{service="all"}'', at => ''2026-01-01 12:00Z'', time_after => ''1 hour'''
SELECT count(*) FROM profstore.regressions(:all_at);
SELECT :shown, measure, hosts, round(cores::numeric, 2) AS cores, change_low > 0.08 AND change_high < 0.12 AS sure FROM profstore.regressions(:all_at, rate => 'TABLE requests');
SELECT whole_change BETWEEN 0.09 AND 0.11 AS change, whole_change_low < whole_change AND whole_change < whole_change_high AS inside, load_change BETWEEN -0.05 AND 0.05 AS same_load, reason
FROM profstore.regressions_basis(:all_at, rate => 'TABLE requests');
-- one rate for all hosts; then twice the requests at an unchanged cost per request
SELECT :shown FROM profstore.regressions(:all_at, rate => 'SELECT time, sum(rate) FROM requests GROUP BY time');
SELECT whole_change IS NULL AS none, load_change > 0.9 AS loaded FROM profstore.regressions_basis(:all_at, rate => $$SELECT time, rate * CASE WHEN time < '2026-01-01 12:00Z' THEN 1 ELSE 2.5 END, node FROM requests$$);
SELECT :shown FROM profstore.regressions(:all_at, rate => $$SELECT time, rate * CASE WHEN time < '2026-01-01 12:00Z' THEN 1 ELSE 1.1 END, node FROM requests$$);
SELECT * FROM profstore.regressions(:all_at, rate => 'SELECT node FROM requests');
SELECT * FROM profstore.regressions(:all_at, rate => 'SELECT time, rate::int, node FROM requests');
SELECT * FROM profstore.regressions(:all_at, rate => 'SELECT time, -rate, node FROM requests');
SELECT * FROM profstore.regressions(:all_at, rate => 'SELECT time, rate, ''other'' FROM requests');
SELECT * FROM profstore.regressions(:all_at, rate => 'DELETE FROM requests');
SELECT * FROM profstore.regressions(:all_at, rate => 'DELETE FROM requests RETURNING time, rate, node');
SELECT * FROM profstore.regressions(:all_at, rate => 'SELECT 1; SELECT 2');
SELECT * FROM profstore.regressions(:all_at, rate => 'nonsense');
SELECT count(*) FROM requests;

-- both functions get every filter
SELECT f.filter, r.rows, b.samples_before < basis.samples_before AS fewer_samples
FROM (VALUES ('focus'), ('ignore'), ('show'), ('hide')) AS f(filter), basis,
	LATERAL (SELECT string_agg(r.function, ', ' ORDER BY r.function COLLATE "C") AS rows FROM profstore.regressions('process_cpu:cpu{service="web"}', '2', time_after => '1 hour', focus => CASE f.filter WHEN 'focus' THEN 'json' END,
		ignore => CASE f.filter WHEN 'ignore' THEN 'json|serve' END, show => CASE f.filter WHEN 'show' THEN 'json|encode|walk' END, hide => CASE f.filter WHEN 'hide' THEN 'render|scan' END) AS r) AS r,
	LATERAL profstore.regressions_basis('process_cpu:cpu{service="web"}', '2', time_after => '1 hour', focus => CASE f.filter WHEN 'focus' THEN 'json' END,
		ignore => CASE f.filter WHEN 'ignore' THEN 'json|serve' END, show => CASE f.filter WHEN 'show' THEN 'json|encode|walk' END, hide => CASE f.filter WHEN 'hide' THEN 'render|scan' END) AS b;
SELECT function FROM profstore.regressions('process_cpu:cpu{service="web"}', '2', time_after => '1 hour', granularity => 'nonsense');

-- a role that sees four of the eight hosts gets the answer for these four
CREATE ROLE regress_pfs_half;
SELECT profstore.grant_read('regress_pfs_half', '{node=~"n[1-4]"}');
CREATE TABLE half AS SELECT r.* FROM profstore.regressions('process_cpu:cpu{service="web",node=~"n[1-4]"}', '2', time_after => '1 hour') AS r;
GRANT SELECT ON half, requests TO regress_pfs_half;
SET ROLE regress_pfs_half;
SELECT count(*) AS rows, min(hosts) AS hosts FROM profstore.regressions('process_cpu:cpu{service="web"}', '2', time_after => '1 hour');
SELECT count(*) FROM (TABLE half EXCEPT SELECT r.* FROM profstore.regressions('process_cpu:cpu{service="web"}', '2', time_after => '1 hour') AS r) AS differing;
-- the query of requests runs with the privileges of the caller
SELECT * FROM profstore.regressions('process_cpu:cpu{service="web"}', '2', time_after => '1 hour', rate => 'SELECT time, before, NULL::text FROM code, requests');
RESET ROLE;
DROP OWNED BY regress_pfs_half;
DROP ROLE regress_pfs_half;

-- stacks that do not fit in memory are processed in parts
CREATE TABLE parts (stack text, before float8, after float8);
INSERT INTO parts SELECT format('main;%s;%s;%s', 'a' || a, 'b' || b, 'c' || c), 1, CASE WHEN c = 3 THEN 1.1 ELSE 1 END FROM generate_series(1, 8) AS a, generate_series(1, 30) AS b, generate_series(1, 20) AS c;
TRUNCATE code;
INSERT INTO code SELECT stack, before / 48, after / 48 FROM parts;
SELECT put_fleet(21, 24, 0, 4, false, '{"service": "wide"}');
SELECT put_fleet(21, 24, 4, 5, true, '{"service": "wide"}');
UPDATE profstore.series SET period = 10000000;
CREATE TABLE wide AS SELECT r.* FROM profstore.regressions('process_cpu:cpu{service="wide"}', at => '2026-01-01 04:00Z', time_after => '1 hour', max_rows => NULL) AS r;
SELECT blocks_read FROM profstore.last_scan() \gset
BEGIN;
SET LOCAL work_mem = '512kB';
SET LOCAL hash_mem_multiplier = 1;
SELECT tested, left_out FROM profstore.regressions_basis('process_cpu:cpu{service="wide"}', at => '2026-01-01 04:00Z', time_after => '1 hour');
SELECT count(*) FROM (SELECT function, status, round(change::numeric, 9), round(change_low::numeric, 9), round(cores::numeric, 9) FROM wide
	EXCEPT SELECT function, status, round(change::numeric, 9), round(change_low::numeric, 9), round(cores::numeric, 9) FROM profstore.regressions('process_cpu:cpu{service="wide"}', at => '2026-01-01 04:00Z', time_after => '1 hour', max_rows => NULL)) AS differing;
SELECT blocks_read > 1.5 * :blocks_read AS parts FROM profstore.last_scan();
COMMIT;
SELECT :shown FROM wide WHERE status = 'regression' AND change > 0.05;

-- tiers: sums by minute give the same answer; sums by hour make the periods longer
SELECT profstore.set_retention('1 day', '1000 years');
CALL profstore.apply_retention();
SELECT count(*) > 0 AS has_tier FROM profstore.samples_minute;
SELECT count(*) FROM (SELECT function, status, round(change::numeric, 9), round(cores::numeric, 9) FROM answer
	EXCEPT SELECT function, status, round(change::numeric, 9), round(cores::numeric, 9) FROM profstore.regressions('process_cpu:cpu{service="web"}', '2', time_after => '1 hour')) AS differing;
SELECT profstore.set_retention('1 day', '1 day', '1000 years');
CALL profstore.apply_retention();
SELECT reason FROM profstore.regressions_basis('process_cpu:cpu{service="web"}', '2', time_after => '1 hour');
SELECT profstore.set_retention(NULL);
