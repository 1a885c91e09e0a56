-- cost_of() and cost_of_functions(): CPU time times price, over months and tiers; anomalies()
\i sql/fixtures/preamble.sql
\i sql/fixtures/deploys.sql
\set SHOW_CONTEXT never
SET extra_float_digits = 0;
-- two months of samples of three services; 3600e9 ns are one core hour
SELECT put_scrape(:'cpu', labels, at, stacks)
FROM (VALUES ('{"service": "api", "zone": "a"}'::jsonb, '{"main;serve": 3600e9, "main;parse": 1800e9}'::jsonb), ('{"service": "api", "zone": "b"}', '{"main;serve": 7200e9}'), ('{"service": "db"}', '{"main;scan": 3600e9}')) AS v(labels, stacks),
	unnest('{2026-02-10 10:00Z,2026-03-10 10:00Z,2026-03-20 10:00Z}'::timestamptz[]) AS at;
CREATE TABLE prices (labels jsonb, core_hour numeric, valid_from timestamptz);
INSERT INTO prices VALUES ('{}', 0.03, '-infinity'), ('{"zone": "b"}', 0.05, '-infinity'), ('{"zone": "b"}', 0.10, '2026-03-15 00:00Z'), ('{"service": "api", "zone": "b"}', 1, '2027-01-01 00:00Z');
\set months '''process_cpu:cpu'', ''2026-02-01 00:00Z'', ''2026-04-01 00:00Z'''
SELECT labels, round(cores::numeric, 6) AS cores, round(core_hours::numeric, 6) AS core_hours, round(cost::numeric, 6) AS cost FROM profstore.cost_of(:months, prices => 'prices');
-- computed by hand: 2 scrapes of 2 hours at 0.05, one at 0.10, and 3 of 1.5 hours at 0.03
SELECT 2 * 2 * 0.05 + 2 * 0.10 + 3 * 1.5 * 0.03 AS api, 3 * 0.03 AS db;
SELECT labels, round(cost::numeric, 6) AS cost FROM profstore.cost_of(:months, prices => 'prices', by => '{service,zone}');
CREATE TABLE monthly AS SELECT date_trunc('month', time, 'UTC') AS month, round(sum(core_hours)::numeric, 6) AS core_hours, round(sum(cost)::numeric, 6) AS cost FROM profstore.cost_of(:months, prices => 'prices', step => '1 day') GROUP BY 1;
SELECT * FROM monthly ORDER BY 1;
-- filters; no prices at all; a group without a price
SELECT labels, round(core_hours::numeric, 6) AS core_hours, cost FROM profstore.cost_of(:months, focus => 'parse');
DELETE FROM prices WHERE labels = '{}';
SELECT labels, round(core_hours::numeric, 6) AS core_hours, cost FROM profstore.cost_of(:months, prices => 'prices');
INSERT INTO prices VALUES ('{}', 0.03, '-infinity');
SELECT function, round(self_core_hours::numeric, 6) AS self_hours, round(core_hours::numeric, 6) AS hours, round(self_cost::numeric, 6) AS self_cost, round(cost::numeric, 6) AS cost FROM profstore.cost_of_functions(:months, prices => 'prices');
SELECT function, round(self_cost::numeric, 6) AS self_cost FROM profstore.cost_of_functions('process_cpu:cpu{zone="b"}', '2026-03-15 00:00Z', '2026-04-01 00:00Z', prices => 'prices', max_rows => 1);
SELECT function, self_cost FROM profstore.cost_of_functions(:months, ignore => 'serve|scan');
-- the same months, read from tiers
SELECT profstore.set_retention('1 day', '1 day', '1000 years');
CALL profstore.apply_retention();
SELECT count(*) AS differing FROM (TABLE monthly EXCEPT SELECT date_trunc('month', time, 'UTC'), round(sum(core_hours)::numeric, 6), round(sum(cost)::numeric, 6) FROM profstore.cost_of(:months, prices => 'prices', step => '1 day') GROUP BY 1) AS d;
SELECT profstore.set_retention(NULL);
SET client_min_messages = notice;
SELECT * FROM profstore.cost_of('process_cpu:cpu{service="nobody"}');
SELECT * FROM profstore.cost_of_functions('process_cpu:cpu{service="nobody"}');
SELECT * FROM profstore.cost_of('process_cpu:cpu', '2001-01-01', '2001-01-02');
SET client_min_messages = warning;
SELECT put_scrape(:'memory', '{"service": "api"}', '2026-02-10 10:00Z', '{"main": 1}');
SELECT * FROM profstore.cost_of('memory:inuse_space');
SELECT * FROM profstore.cost_of_functions('memory:inuse_space');
SELECT * FROM profstore.cost_of('process_cpu:cpu', prices => 'code');

-- anomalies: ten days of samples with a daily pattern. In one hour render has a larger share, in another one the total load is doubled
CREATE FUNCTION put_hour(day int, hour int, load float8, render float8) RETURNS void LANGUAGE sql
AS $$
	SELECT put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '{"service": "shop"}', timestamptz '2026-05-01 00:00Z' + make_interval(days => day, hours => hour, mins => 30),
		(SELECT jsonb_object_agg(stack, (3600e9 * load * before * CASE WHEN stack LIKE '%render' THEN render WHEN stack LIKE '%query' THEN 1 + hour / 4.0 ELSE 1 END * noise(0.03, concat(day, ' ', hour, stack)))::int8) FROM code WHERE before > 0))
$$;
SELECT count(put_hour(day, hour, CASE WHEN (day, hour) = (9, 4) THEN 2 ELSE 1 END, CASE WHEN (day, hour) = (9, 2) THEN 2.5 ELSE 1 END)) FROM generate_series(0, 9) AS day, generate_series(0, 7) AS hour;
\set day '''process_cpu:cpu{service="shop"}'', ''2026-05-10 00:00Z'', ''2026-05-10 08:00Z'''
SELECT time, round(distance::numeric, 2) AS distance, round(usual_distance::numeric, 2) AS usual, function, round(share::numeric, 2) AS share, round(usual_share::numeric, 2) AS usual_share, days_compared FROM profstore.anomalies(:day);
SELECT count(*) FROM profstore.anomalies(:day, min_change => 0.5);
SELECT count(*) FROM profstore.anomalies(:day, ignore => 'serve');
-- no day is unusual against the others; two earlier days are too few to compare with
SELECT sum((SELECT count(*) FROM profstore.anomalies('process_cpu:cpu{service="shop"}', d, d + interval '8 hours'))) AS alarms FROM generate_series(timestamptz '2026-05-04 00:00Z', '2026-05-09 00:00Z', '1 day') AS d;
SELECT count(*) FROM profstore.anomalies(:day, days => 2);
SELECT count(*) FROM profstore.anomalies('process_cpu:cpu{service="nobody"}');
-- infinite ends
SELECT time, function FROM profstore.anomalies('process_cpu:cpu{service="shop"}', '2026-05-10 00:00Z', 'infinity');
SELECT count(*) FROM profstore.anomalies('process_cpu:cpu{service="shop"}', '-infinity', '2026-05-01 08:00Z');
SELECT count(*) FROM profstore.anomalies('process_cpu:cpu{service="nobody"}', '-infinity', 'infinity');
-- as a role with grant_read
CREATE ROLE regress_pfs_payer;
SELECT profstore.grant_read('regress_pfs_payer');
GRANT SELECT ON prices TO regress_pfs_payer;
SET ROLE regress_pfs_payer;
SELECT labels, round(cost::numeric, 6) AS cost FROM profstore.cost_of(:months, prices => 'prices', by => '{}');
SELECT function, round(cost::numeric, 6) AS cost FROM profstore.cost_of_functions(:months, prices => 'prices', max_rows => 1);
SELECT count(*) FROM profstore.anomalies(:day);
RESET ROLE;
REVOKE SELECT ON prices FROM regress_pfs_payer;
SET ROLE regress_pfs_payer;
SELECT * FROM profstore.cost_of(:months, prices => 'prices');
RESET ROLE;
DROP OWNED BY regress_pfs_payer;
DROP ROLE regress_pfs_payer;
