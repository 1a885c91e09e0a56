-- Retention continues if another role has created objects that depend on a partition
\i sql/fixtures/preamble.sql
\set VERBOSITY terse
CREATE ROLE regress_pfs_reader;
SELECT profstore.grant_read('regress_pfs_reader');
CREATE SCHEMA theirs AUTHORIZATION regress_pfs_reader;
SELECT put_stack('main;f') AS stack \gset
SELECT (profstore.intern_series('{cpu:n:count:n:count:delta}', '{"{}"}', '{0}'))[1] AS series \gset
CREATE PROCEDURE store() LANGUAGE sql AS $$
SELECT profstore.ensure_partitions('2026-01-01', '2026-01-05');
INSERT INTO profstore.samples SELECT d, s.id, 0, 1 FROM generate_series('2026-01-01Z'::timestamptz, '2026-01-04Z', '1 day') AS d, profstore.series AS s;
SELECT profstore.keep_traces(ARRAY['2026-01-01Z'::timestamptz], ARRAY[s.id], '{0}', '{1}', ARRAY['00000000-0000-0000-0000-000000000001'::uuid], ARRAY['\x0000000000000001'::bytea]) FROM profstore.series AS s;
$$;
CREATE VIEW put_aside AS
SELECT regexp_replace(c.relname, '_[0-9a-f]{32}$', '_…') AS name, pg_get_userbyid(c.relowner) = current_user AS is_mine, c.relispartition
FROM pg_class AS c WHERE c.relnamespace = 'profstore_internal'::regnamespace AND c.relkind = 'r'
	AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e');
CREATE VIEW state AS
SELECT (SELECT count(*) FROM profstore.samples) AS samples, (SELECT count(*) FROM profstore.trace_samples) AS traces, (SELECT count(*) FROM profstore.partitions()) AS partitions;
CALL store();
TABLE state;

-- a view, a column of the row type, a function, a view of traces
SET ROLE regress_pfs_reader;
CREATE TEMP VIEW v AS SELECT 1 AS one FROM profstore.samples_20260101;
CREATE TABLE theirs.t (s profstore.samples_20260102);
CREATE FUNCTION theirs.f(profstore.samples_20260103) RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT count(*)::int FROM profstore.samples_20260103; END;
CREATE VIEW theirs.traces AS SELECT * FROM profstore.trace_samples_20260101;
RESET ROLE;
SELECT profstore.set_retention('2 days');
CALL profstore.apply_retention();
TABLE state;
SELECT * FROM put_aside ORDER BY name;
SELECT relation, action, sum(rows) AS rows FROM profstore.retention_log GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(*) FROM theirs.t;
-- the same days can get a partition again, which is removed again
CALL store();
TABLE state;
SET ROLE regress_pfs_reader;
CREATE VIEW theirs.again AS SELECT * FROM profstore.samples_20260101;
CREATE VIEW theirs.traces_again AS SELECT * FROM profstore.trace_samples_20260101;
RESET ROLE;
SELECT * FROM profstore.drop_before('2026-01-03');
TABLE state;
CALL profstore.apply_retention();
TABLE state;
SELECT name, count(*) FROM put_aside GROUP BY 1 ORDER BY 1;
-- sums of a tier are kept, while their samples are removed
CALL store();
SET ROLE regress_pfs_reader;
CREATE VIEW theirs.third AS SELECT * FROM profstore.samples_20260104;
RESET ROLE;
SELECT profstore.set_retention('2 days', '1000 years');
CALL profstore.apply_retention();
SELECT samples, traces FROM state;
SELECT count(*), sum(value) FROM profstore.samples_minute;
SELECT relation FROM profstore.partitions();
-- a trigger of another role does not run while the owner empties the partition
CREATE ROLE regress_pfs_owner;
GRANT CREATE ON SCHEMA public TO regress_pfs_owner;
CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE WARNING 'as %', current_user; RETURN NULL; END$$;
SET ROLE regress_pfs_owner;
CREATE TABLE their_day (time timestamptz NOT NULL, series_id int4 NOT NULL, stack_id int8 NOT NULL, value int8 NOT NULL) USING profstore;
CREATE TRIGGER told BEFORE TRUNCATE ON their_day EXECUTE FUNCTION told();
CREATE VIEW their_view AS SELECT * FROM their_day;
RESET ROLE;
ALTER TABLE profstore.samples ATTACH PARTITION their_day FOR VALUES FROM ('2026-02-01Z') TO ('2026-02-02Z');
SELECT * FROM profstore.drop_before('2026-02-03');
SELECT * FROM put_aside WHERE name LIKE 'their%';
DROP VIEW their_view;
-- such partitions are dropped when nothing depends on them
DROP SCHEMA theirs CASCADE;
CALL profstore.apply_retention();
SELECT * FROM put_aside;
DROP VIEW v;
CALL profstore.apply_retention();
SELECT * FROM put_aside;
DROP OWNED BY regress_pfs_owner, regress_pfs_reader;
DROP ROLE regress_pfs_owner, regress_pfs_reader;
