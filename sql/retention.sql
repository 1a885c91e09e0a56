-- Retention: queries give the same answers from sums of a tier as from the samples.
\set fleet on
\i sql/fixtures/preamble.sql

-- settings
SELECT profstore.set_retention('0 days');
SELECT profstore.set_retention('-1 day');
SELECT profstore.set_retention('2 days', '-1 days');
SELECT profstore.set_retention('2 days', NULL, '0');
SELECT profstore.set_retention(NULL, '2 days');
SELECT profstore.set_retention('2 days', '1 day');
SELECT profstore.set_retention('2 days', NULL, '1 day');
SELECT profstore.set_retention('2 days', '3 days', '47 hours');
TABLE profstore.retention;
CALL profstore.apply_retention();
SELECT profstore.set_retention(NULL);
TABLE profstore.retention;
CALL profstore.apply_retention();
SELECT count(*) FROM profstore.partitions();

-- late rows, also of a scrape that is already summed up; a sum that exceeds bigint
ALTER TABLE profstore.samples DETACH PARTITION samples_heap;
SELECT profstore.ensure_partitions('2026-01-02', '2026-01-03');
INSERT INTO profstore.samples TABLE samples_heap;
CREATE TABLE late WITH (autovacuum_enabled = off) AS SELECT * FROM profstore.samples WHERE stack_id % 5 = 1;
CREATE TABLE all_samples WITH (autovacuum_enabled = off) AS TABLE profstore.samples;

-- answers of queries, by range and kind of query
CREATE FUNCTION answers(from_ts timestamptz, to_ts timestamptz, step interval) RETURNS TABLE (kind text, answer text)
	LANGUAGE sql AS
$$
SELECT 'flamegraph ' || t, f::text FROM unnest(ARRAY['process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', 'memory:inuse_space:bytes:space:bytes']) AS t,
	profstore.flamegraph(t, from_ts, to_ts, max_nodes => NULL) AS f
UNION ALL
SELECT 'focus ' || t, f::text FROM unnest(ARRAY['process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', 'memory:inuse_space:bytes:space:bytes']) AS t,
	profstore.folded(t || '{service="web"}', from_ts, to_ts, focus => 'fn1') AS f
UNION ALL
SELECT 'series ' || t, f::text FROM unnest(ARRAY['process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', 'memory:inuse_space:bytes:space:bytes']) AS t,
	profstore.timeseries(t, from_ts, to_ts, step, '{node}') AS f
UNION ALL
SELECT 'focused series ' || t, f::text FROM unnest(ARRAY['process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', 'memory:inuse_space:bytes:space:bytes']) AS t,
	profstore.timeseries(t, from_ts, to_ts, step, '{service}', focus => 'fn2') AS f
UNION ALL
SELECT 'top diff', f::text FROM profstore.top_diff('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', from_ts, from_ts + (to_ts - from_ts) / 2,
	from_ts + (to_ts - from_ts) / 2, to_ts, max_rows => NULL) AS f
$$;
CREATE TABLE minutes WITH (autovacuum_enabled = off) AS SELECT * FROM answers('2026-01-01 20:14Z', '2026-01-02 01:44Z', '2 min');
CREATE TABLE hours WITH (autovacuum_enabled = off) AS SELECT * FROM answers('2026-01-01 20:00Z', '2026-01-02 02:00Z', '2 h');
CREATE TABLE everything WITH (autovacuum_enabled = off) AS SELECT * FROM answers('2025-01-01', '2027-01-01', '1 day');
CREATE PROCEDURE compare(answers regclass, VARIADIC arguments text[]) LANGUAGE plpgsql AS $$
DECLARE
	different bigint;
	same bigint;
BEGIN
	EXECUTE format('CREATE TEMP TABLE now_said AS SELECT * FROM answers(%L, %L, %L) WHERE kind IN (SELECT kind FROM %s)', arguments[1], arguments[2], arguments[3], answers);
	EXECUTE format('SELECT count(*) FROM ((TABLE now_said EXCEPT ALL TABLE %1$s) UNION ALL (TABLE %1$s EXCEPT ALL TABLE now_said)) AS d', answers) INTO different;
	SELECT count(*) INTO same FROM now_said;
	RAISE INFO '% of more than % answers differ', different, same / 1000 * 1000;
	DROP TABLE now_said;
END
$$;

-- an ANALYZE by autovacuum could delay the drop of a partition
CREATE PROCEDURE retain() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('client_min_messages', 'warning', false);
	FOR i IN 1 .. 100 LOOP
		CALL profstore.apply_retention();
		EXIT WHEN NOT EXISTS (SELECT FROM profstore_internal.retention_steps() WHERE action <> 'trim');
		PERFORM pg_sleep(0.1);
	END LOOP;
	RESET client_min_messages;
END
$$;

-- the first run finds two thirds of the rows, the rest comes late
TRUNCATE profstore.samples;
INSERT INTO profstore.samples SELECT * FROM all_samples WHERE stack_id % 5 <> 1 AND series_id % 2 = 0;
INSERT INTO profstore.samples SELECT * FROM all_samples WHERE stack_id % 5 <> 1 AND series_id % 2 = 1;
SELECT profstore.set_retention('1 day', '1000 years', '1000 years');
SELECT relation, action FROM profstore_internal.retention_steps();
CALL retain();
SELECT relation, action, rows > 0 AS rows, sums > 0 AS sums, count(*) FROM profstore.retention_log GROUP BY 1, 2, 3, 4 ORDER BY 1, 2;
SELECT * FROM profstore.partitions();
SELECT profstore.ensure_partitions('2026-01-01', '2026-01-03');
INSERT INTO profstore.samples TABLE late;
CALL compare('minutes', '2026-01-01 20:14Z', '2026-01-02 01:44Z', '2 min');
CALL retain();
SELECT relation, action, rows > 0 AS rows, sums > 0 AS sums, count(*) FROM profstore.retention_log GROUP BY 1, 2, 3, 4 ORDER BY 1, 2;
SELECT count(*) FROM profstore.samples;
SELECT date_trunc('minute', time) = time AS by_minute, stack_id < 0 AS scrapes, count(*) > 100 AS many, sum(value) = 0 AS empty
FROM profstore.samples_minute GROUP BY 1, 2 ORDER BY 1, 2;
SELECT (SELECT sum(value) FROM profstore.samples_minute) = (SELECT sum(value) FROM all_samples) AS all_there;
CALL compare('minutes', '2026-01-01 20:14Z', '2026-01-02 01:44Z', '2 min');
CALL compare('hours', '2026-01-01 20:00Z', '2026-01-02 02:00Z', '2 h');
CALL compare('everything', '2025-01-01', '2027-01-01', '1 day');

-- a run with no expired samples
CALL retain();
SELECT count(*) FROM profstore.retention_log;

-- a bucket counts if it begins in the range; a step is at least the bucket length of the tier
SELECT sum(value) = (SELECT sum(value) FROM all_samples JOIN profstore.series AS s ON s.id = series_id JOIN profstore.profile_types AS t ON t.id = s.profile_type
	WHERE t.delta AND time >= '2026-01-01 21:00Z' AND time < '2026-01-01 21:02Z') AS two_minutes
FROM profstore.folded(:'cpu', '2026-01-01 20:59:01Z', '2026-01-01 21:01:59Z');
SELECT min(lead) FROM (SELECT lead(time) OVER (ORDER BY time) - time FROM profstore.timeseries(:'cpu', '2026-01-01 21:00Z', '2026-01-01 21:30Z')) AS d(lead);
-- the NOTICE about tiers comes once per statement, and only if the range reaches a tier
SELECT count(*) FROM profstore.flamegraph(:'cpu', '2026-02-01', '2026-02-02');
SELECT count(*) FROM profstore.top_diff(:'memory', '2026-01-01', '2026-01-02', '2026-01-02', '2026-01-03', focus => 'fn');

-- minutes are summed up to hours
SELECT profstore.set_retention('1 day', '1 day', '1000 years');
CALL retain();
SELECT * FROM profstore.partitions();
SELECT (SELECT sum(value) FROM profstore.samples_hour) = (SELECT sum(value) FROM all_samples) AS all_there;
CALL compare('hours', '2026-01-01 20:00Z', '2026-01-02 02:00Z', '2 h');
CALL compare('everything', '2025-01-01', '2027-01-01', '1 day');
SELECT profstore.compact('profstore.samples_hour') > 0 AS compacted;
SELECT * FROM profstore.verify('profstore.samples_hour');
CALL compare('hours', '2026-01-01 20:00Z', '2026-01-02 02:00Z', '2 h');

-- samples are summed up to hours at once, with little memory, in parts
TRUNCATE profstore.samples_hour;
SELECT profstore.ensure_partitions('2026-01-01', '2026-01-03');
INSERT INTO profstore.samples TABLE all_samples;
SELECT profstore.set_retention('1 day', NULL, '1000 years');
SET maintenance_work_mem = '1MB';
CALL retain();
RESET maintenance_work_mem;
SELECT relation, action, rows = (SELECT count(*) FROM all_samples WHERE to_char(time, 'YYYYMMDD') = right(relation, 8)) AS rows FROM profstore.retention_log WHERE action = 'hour' ORDER BY time DESC LIMIT 2;
CALL compare('hours', '2026-01-01 20:00Z', '2026-01-02 02:00Z', '2 h');

-- a sum that exceeds bigint remains as two rows
SELECT profstore.ensure_partitions('2025-01-01', '2025-01-02');
INSERT INTO profstore.samples SELECT '2025-01-01 10:00Z'::timestamptz + g * interval '1 s', 1, 1, 9223372036854775807 FROM generate_series(1, 3) AS g;
INSERT INTO profstore.samples VALUES ('2025-01-01 23:59:59.999999Z', 1, 1, 5), ('2025-01-01 00:00Z', 1, 1, 7);
CALL retain();
SELECT * FROM profstore.samples_hour WHERE time < '2026-01-01' ORDER BY time;

-- expired partitions are dropped; expired rows of a partition that stays are removed by whole segments
SELECT * FROM profstore.drop_before('2024-12-31');
SELECT * FROM profstore.drop_before('2026-01-01 22:00Z');
SELECT profstore.compact('profstore.samples_hour') > 0 AS compacted;
INSERT INTO profstore.samples_hour VALUES ('2026-01-01 21:00Z', 1, 1, 1);
SELECT * FROM profstore.drop_before('2026-01-01 22:00Z');
SELECT profstore.set_retention('1 day', '1 day', '2 days');
CALL retain();
SELECT relation, action, rows > 0 AS rows FROM profstore.retention_log ORDER BY time DESC LIMIT 1;
SELECT * FROM profstore.partitions();

-- partitions that cannot be handled are reported, and do not stop the rest
CREATE TABLE heap_day (LIKE profstore.samples);
ALTER TABLE profstore.samples ATTACH PARTITION heap_day FOR VALUES FROM ('2026-02-01Z') TO ('2026-02-02Z');
INSERT INTO heap_day VALUES ('2026-02-01Z', 1, 1, 1);
SELECT profstore.ensure_partitions('2026-02-02', '2026-02-04');
CREATE VIEW looks AS SELECT * FROM profstore.samples_20260202;
INSERT INTO profstore.samples SELECT d, 1, 1, 1 FROM generate_series('2026-02-02Z'::timestamptz, '2026-02-03Z', '1 day') AS d;
UPDATE profstore.segments SET row_count = 2 WHERE storage_id = profstore.storage_id('profstore.samples_20260203');
SELECT profstore.set_retention('1 day', '1 day', '1000 years');
\set VERBOSITY terse
CALL profstore.apply_retention();
\set VERBOSITY default
SELECT relation FROM profstore.partitions();
SELECT profstore_internal.move_to_tier('all_samples', 'hour');
SELECT profstore_internal.move_to_tier('profstore.samples_hour_202602', 'minute');
SELECT profstore_internal.move_to_tier('profstore.samples_20260203', 'day');
SELECT profstore_internal.drop_partition('all_samples', false);
SELECT profstore_internal.retain('all_samples', 'trim', 'infinity');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT profstore.drop_before('2026-02-01 12:00Z');
ROLLBACK;
BEGIN;
CALL profstore.apply_retention();
ROLLBACK;

-- roles
CREATE ROLE regress_pfs_cron;
SET ROLE regress_pfs_cron;
SELECT profstore.set_retention('1 day');
CALL profstore.apply_retention();
SELECT * FROM profstore.drop_before('2026-01-01');
RESET ROLE;
SELECT profstore.grant_maintain('regress_pfs_cron');
SET ROLE regress_pfs_cron;
SELECT profstore.set_retention('1 day');
CALL profstore.apply_retention();
SELECT * FROM profstore.drop_before('2026-02-02');
SELECT count(*) > 10 FROM profstore.retention_log;
SELECT profstore_internal.move_to_tier('profstore.samples_20260202', 'hour');
SELECT count(*) FROM profstore.samples_hour;
RESET ROLE;
DROP OWNED BY regress_pfs_cron;
DROP ROLE regress_pfs_cron;

-- tables with a foreign stack id
CREATE TABLE incidents (id int4, stack int8, note text);
SELECT profstore.track_stacks('incidents', 'stack');
SELECT profstore.track_stacks('incidents', 'stack');
SELECT profstore.track_stacks('incidents', 'id');
SELECT profstore.track_stacks('incidents', 'none');
SELECT profstore.track_stacks('looks', 'stack_id');
-- foreign partitions cannot be read, which is reported
CREATE FOREIGN DATA WRAPPER regress_pfs_wrapper;
CREATE SERVER regress_pfs_server FOREIGN DATA WRAPPER regress_pfs_wrapper;
CREATE FOREIGN TABLE elsewhere (stack_id int8) SERVER regress_pfs_server;
SELECT profstore.track_stacks('elsewhere', 'stack_id');
CREATE TABLE in_parts (stack_id int8) PARTITION BY RANGE (stack_id);
CREATE TABLE in_more_parts PARTITION OF in_parts FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (stack_id);
CREATE FOREIGN TABLE part_elsewhere PARTITION OF in_more_parts FOR VALUES FROM (0) TO (5) SERVER regress_pfs_server;
SELECT profstore.track_stacks('in_parts', 'stack_id');
DROP TABLE in_parts;
DROP FOREIGN DATA WRAPPER regress_pfs_wrapper CASCADE;
SELECT * FROM profstore.stack_references();
ALTER TABLE incidents RENAME stack TO leaf;
SELECT * FROM profstore.stack_references();
SELECT profstore.untrack_stacks('incidents'), profstore.untrack_stacks('incidents');
SELECT profstore.track_stacks('incidents', 'leaf');
DROP TABLE incidents;
SELECT * FROM profstore.stack_references();
