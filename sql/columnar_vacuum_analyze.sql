-- VACUUM, ANALYZE, VACUUM FULL and SET TABLESPACE on columnar tables, and the planner's estimates.
\i sql/fixtures/preamble.sql
CREATE TABLE t (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
ANALYZE t;
VACUUM t;
SELECT reltuples FROM pg_class WHERE relname = 't';
INSERT INTO t
SELECT '2026-01-01Z'::timestamptz + i * interval '1 s', i % 20, i % 5000, CASE WHEN i % 4 = 0 THEN NULL ELSE i END
FROM generate_series(1, 60000) i;
INSERT INTO t SELECT '2026-01-02Z', 21, g, 1 FROM generate_series(1, 500) g;
VACUUM t;
SELECT reltuples, relfrozenxid, relminmxid FROM pg_class WHERE relname = 't';
ANALYZE t;
SELECT reltuples FROM pg_class WHERE relname = 't';
SELECT attname, n_distinct BETWEEN 19 AND 22 AS twenty, n_distinct BETWEEN 4000 AND 6000 AS five_thousand,
	   null_frac BETWEEN 0.2 AND 0.3 AS quarter_null
FROM pg_stats WHERE tablename = 't' ORDER BY attname;

-- The planner knows the number of rows without ANALYZE.
CREATE TABLE fresh (a int4) USING profstore;
INSERT INTO fresh SELECT generate_series(1, 12345);
SELECT planned_rows('SELECT * FROM fresh');

-- A table larger than the sample of ANALYZE.
INSERT INTO fresh SELECT g % 100 FROM generate_series(1, 1200000) g;
ANALYZE fresh;
SELECT reltuples FROM pg_class WHERE relname = 'fresh';
SELECT n_distinct BETWEEN -0.02 AND 13000 AS plausible FROM pg_stats WHERE tablename = 'fresh';
VACUUM (ANALYZE) fresh;

-- VACUUM FULL keeps every row; values of merged segments move to a new TOAST relation.
SELECT profstore.compact('t') > 0 AS compacted;
SELECT pg_relation_filenode('t') AS file_before, sum(row_count) AS rows FROM profstore.segments \gset
VACUUM FULL t;
SELECT pg_relation_filenode('t') <> :file_before AS new_file;
SELECT count(*), count(value), sum(value) FROM t;
SELECT age(relfrozenxid) < 100000 AS table_is_recent,
	   (SELECT age(t.relfrozenxid) < 100000 FROM pg_class t WHERE t.oid = c.reltoastrelid) AS toast_is_recent
FROM pg_class c WHERE relname = 't';
SELECT sum(row_count) = :rows AS same_rows FROM profstore.segments;
INSERT INTO t VALUES ('2026-01-03Z', 1, 1, 1);
SELECT count(*) FROM t;
VACUUM FULL t;
VACUUM FULL t;
SELECT count(*), count(value), sum(value) FROM t;

-- Rows stored before an ADD COLUMN keep its default, although PostgreSQL forgets the default in a rewrite.
CREATE TABLE altered (a int4) USING profstore;
INSERT INTO altered VALUES (1);
ALTER TABLE altered ADD COLUMN b int8 DEFAULT -7;
INSERT INTO altered VALUES (2, 2);
VACUUM FULL altered;
ALTER TABLE altered ADD COLUMN c float4 DEFAULT 1.5, ADD COLUMN d date;
INSERT INTO altered VALUES (3, NULL, NULL, NULL);
VACUUM FULL altered;
VACUUM FULL altered;
SELECT * FROM altered ORDER BY a;
SELECT attname FROM pg_attribute WHERE attrelid = 'altered'::regclass AND atthasmissing;
ALTER TABLE altered DROP COLUMN b;
VACUUM FULL altered;
ALTER TABLE altered ADD COLUMN b int8;
SELECT * FROM altered ORDER BY a;
ALTER TABLE altered ALTER COLUMN a TYPE int8;
SELECT * FROM altered ORDER BY a;
DROP TABLE altered;

-- A rewrite sets relfrozenxid, and VACUUM advances it.
ALTER TABLE t ALTER COLUMN value TYPE int4;
SELECT relfrozenxid <> '0' AS has_horizon FROM pg_class WHERE relname = 't';
VACUUM t;
SELECT age(relfrozenxid) < 100000 AS recent FROM pg_class WHERE relname = 't';

-- Sizes: the main relation holds one metapage, the TOAST relation holds the values of merged segments.
SELECT profstore.compact('t') > 0 AS compacted;
SELECT pg_relation_size('t') = current_setting('block_size')::int8 AS one_page, pg_table_size('t') > 2 * current_setting('block_size')::int8 AS toast;

SET allow_in_place_tablespaces = on;
CREATE TABLESPACE columnar_space LOCATION '';
ALTER TABLE t SET TABLESPACE columnar_space;
SELECT count(*), sum(value::int8) FROM t;
INSERT INTO t VALUES ('2026-01-03Z', 1, 1, 1);
ALTER TABLE t SET TABLESPACE pg_default;
SELECT count(*) FROM t;
DROP TABLESPACE columnar_space;
DROP TABLE t;
SELECT sum(row_count) FROM profstore.segments;
