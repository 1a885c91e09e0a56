-- Daily partitions of samples.
SET search_path = profstore, public;
SET timezone = 'Asia/Tokyo';
SELECT ensure_partitions('2026-03-01 00:00Z', '2026-03-03 00:00Z');
SELECT c.relname, pg_get_expr(c.relpartbound, c.oid), a.amname
FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid JOIN pg_am AS a ON a.oid = c.relam
WHERE i.inhparent = 'samples'::regclass ORDER BY 1;
-- partitions exist for the day of from_ts and for each day that begins before to_ts
SELECT ensure_partitions('2026-03-02 23:59:59.999999Z', '2026-03-03 00:00:00.000001Z');
SELECT ensure_partitions('2026-03-04 00:00Z', '2026-03-04 00:00Z');
SELECT ensure_partitions('2026-03-01 00:00Z', '2026-03-05 00:00Z');
-- a missing day between two partitions is created
DROP TABLE samples_20260302;
SELECT ensure_partitions('2026-03-01 00:00Z', '2026-03-05 00:00Z');
SELECT obj_description('samples_20260302'::regclass);
-- years of four digits, a leap day, times before 2000
SELECT ensure_partitions('1999-12-31 23:00Z', '2000-01-01 01:00Z'), ensure_partitions('2024-02-29 00:00Z', '2024-02-29 12:00Z');
SELECT relname FROM pg_class WHERE relname IN ('samples_19991231', 'samples_20000101', 'samples_20240229') ORDER BY 1;
-- partitions are not members of the extension, and a row without a partition is refused
SELECT count(*) FROM pg_depend WHERE objid = 'samples_20260301'::regclass AND deptype = 'e';
INSERT INTO samples VALUES ('2026-03-01 12:00Z', 1, 0, 1), ('2026-03-04 23:59:59Z', 1, 0, 2);
SELECT tableoid::regclass, value FROM samples ORDER BY time;
INSERT INTO samples VALUES ('2026-03-05 00:00Z', 1, 0, 1);
-- calls that are refused
SELECT ensure_partitions('2026-03-02', '2026-03-01');
SELECT ensure_partitions('-infinity', '2026-03-01');
SELECT ensure_partitions('1969-12-31 23:59:59Z', '2026-03-01');
SELECT ensure_partitions('2026-03-02', 'infinity');
SELECT ensure_partitions('2016-03-01', '2026-03-01');
SELECT ensure_partitions(NULL, '2036-03-01');
\set VERBOSITY sqlstate
SELECT ensure_partitions('9999-12-31Z', '9999-12-31Z');
SELECT ensure_partitions(now(), now() + interval '8 days');
\set VERBOSITY default
SELECT ensure_partitions(now(), now() + interval '6 days') > 0 AS ahead;
CREATE TABLE samples_20260401 (a int);
SELECT ensure_partitions('2026-04-01', '2026-04-02');
-- if one partition cannot be created, none is
SELECT ensure_partitions('2026-03-31', '2026-04-02');
SELECT to_regclass('samples_20260330'), to_regclass('samples_20260331');
-- a detached partition is not counted as existing
ALTER TABLE samples DETACH PARTITION samples_20260301;
SELECT ensure_partitions('2026-03-01', '2026-03-01');
