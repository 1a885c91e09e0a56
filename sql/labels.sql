-- The functions that list profile types, series and labels.
SET timezone = 'UTC';

-- nothing stored yet
SELECT * FROM profstore.profile_types();
SELECT * FROM profstore.series();
SELECT * FROM profstore.label_names();
SELECT * FROM profstore.label_values('service');

INSERT INTO profstore.profile_types (name, sample_type, sample_unit, period_type, period_unit, delta)
VALUES ('process_cpu', 'cpu', 'nanoseconds', 'cpu', 'nanoseconds', true), ('memory', 'inuse_space', 'bytes', '', '', false);
INSERT INTO profstore.series (profile_type, labels, period, first_seen, last_seen) VALUES
	(1, '{"service": "web", "node": "a"}', 1, '2026-01-01 10:00Z', '2026-01-01 11:00Z'),
	(1, '{"service": "web", "node": "b"}', 1, '2026-01-02 10:00Z', '2026-01-02 11:00Z'),
	(2, '{"service": "db", "pod": "x"}', 0, '2026-01-03 10:00Z', '2026-01-03 11:00Z'),
	-- stored twice by writers at the same time: one series, represented by the smaller id
	(1, '{"node": "a", "service": "web"}', 1, '2026-01-01 09:00Z', '2026-01-01 10:30Z'),
	-- another period makes another series
	(1, '{"service": "web", "node": "a"}', 2, '2026-01-01 12:00Z', '2026-01-01 13:00Z');

SELECT * FROM profstore.profile_types();
SELECT * FROM profstore.series();
SELECT * FROM profstore.series('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="b"}');
SELECT * FROM profstore.series('memory:inuse_space:bytes::');
SELECT * FROM profstore.series('{service=~"web|db", node=""}');
SELECT * FROM profstore.series('no:such:type:at:all');
-- ranges exclude their end; last_seen may be a minute late
SELECT series_id FROM profstore.series(NULL, '2026-01-01 11:01Z', '2026-01-02 10:00Z');
SELECT series_id FROM profstore.series(NULL, '2026-01-01 11:01:00.000001Z', '2026-01-01 12:00Z');
SELECT series_id FROM profstore.series(from_ts => '2026-01-02 12:00Z');
-- a series that is stored twice is not listed for the time between the two, nor are its labels
BEGIN;
INSERT INTO profstore.series (profile_type, labels, period, first_seen, last_seen) VALUES
	(1, '{"job": "gap"}', 1, '2026-01-05 10:00Z', '2026-01-05 11:00Z'), (1, '{"job": "gap"}', 1, '2026-01-05 14:00Z', '2026-01-05 15:00Z');
SELECT r.from_ts, (SELECT count(*) FROM profstore.series('{job="gap"}', r.from_ts, r.to_ts)) AS series,
	(SELECT count(*) FROM profstore.label_names('{job="gap"}', r.from_ts, r.to_ts)) AS names,
	(SELECT count(*) FROM profstore.label_values('job', '{job="gap"}', r.from_ts, r.to_ts)) AS "values"
FROM (SELECT t, t + interval '1 hour' FROM generate_series(timestamptz '2026-01-05 09:00Z', '2026-01-05 16:00Z', '1 hour') t) r(from_ts, to_ts);
ROLLBACK;
SELECT * FROM profstore.label_names();
SELECT * FROM profstore.label_names('{service="db"}');
SELECT * FROM profstore.label_names(to_ts => '2026-01-03');
SELECT * FROM profstore.label_values('node');
SELECT * FROM profstore.label_values('node', '{service="db"}');
SELECT * FROM profstore.label_values('node', from_ts => '2026-01-02', to_ts => '2026-01-04');
SELECT * FROM profstore.label_values('absent');

-- a series with samples of the last half minute is listed, though touching it wrote nothing
BEGIN;
SELECT profstore.intern_series('{memory:live:bytes::}', ARRAY['{"service": "live"}']::jsonb[], '{0}') AS live \gset
SELECT profstore.touch_series(:'live', now(), now() + interval '50 s');
SELECT value FROM profstore.label_values('service', 'memory:live:bytes::', now() + interval '30 s', now() + interval '1 min');
ROLLBACK;
SELECT * FROM profstore.label_names('{');

-- row policies on series apply to the caller; a row policy on samples is refused
SET client_min_messages = warning;
CREATE ROLE regress_profstore_reader;
SELECT profstore.grant_read('regress_profstore_reader');
ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
CREATE POLICY web_alone ON profstore.series FOR SELECT TO regress_profstore_reader USING (labels ->> 'service' = 'web');
SELECT profstore.ensure_partitions('2026-01-01', '2026-01-02');
INSERT INTO profstore.samples VALUES ('2026-01-01 10:00Z', 1, 0, 5), ('2026-01-01 10:00Z', 3, 0, 7);
SET ROLE regress_profstore_reader;
SELECT series_id FROM profstore.series();
SELECT * FROM profstore.label_values('service');
SELECT value FROM profstore.flamegraph('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '2026-01-01', '2026-01-02');
SELECT value FROM profstore.flamegraph('memory:inuse_space:bytes::', '2026-01-01', '2026-01-02');
RESET ROLE;
SELECT value FROM profstore.flamegraph('memory:inuse_space:bytes::', '2026-01-01', '2026-01-02');
ALTER TABLE profstore.samples ENABLE ROW LEVEL SECURITY;
SET ROLE regress_profstore_reader;
DO $$
BEGIN
	PERFORM profstore.flamegraph('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '2026-01-01', '2026-01-02');
EXCEPTION WHEN insufficient_privilege THEN
	RAISE INFO '% %', SQLSTATE, SQLERRM;
END
$$;
RESET ROLE;
ALTER TABLE profstore.samples DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON profstore.samples FROM regress_profstore_reader;
SET ROLE regress_profstore_reader;
DO $$
BEGIN
	PERFORM profstore.top('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '2026-01-01', '2026-01-02');
EXCEPTION WHEN insufficient_privilege THEN
	RAISE INFO '% %', SQLSTATE, SQLERRM;
END
$$;
RESET ROLE;
DROP OWNED BY regress_profstore_reader;
DROP ROLE regress_profstore_reader;
