-- The column types that a columnar table supports: every value is read back unchanged.
CREATE DOMAIN positive AS int8 CHECK (VALUE > 0);
CREATE TABLE kinds
(
	b bool, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8,
	d date, t time, ts timestamp, tz timestamptz, o oid, rc regclass, p positive
) USING profstore;

INSERT INTO kinds VALUES
	(true, 32767, 2147483647, 9223372036854775807, 'NaN', 'Infinity', 'infinity', '24:00', 'infinity', 'infinity',
	 4294967295, 'pg_class', 1),
	(false, -32768, -2147483648, -9223372036854775808, '-0', '-Infinity', '-infinity', '00:00', '-infinity',
	 '-infinity', 0, 'pg_proc', 9223372036854775807),
	(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(true, 0, 0, 0, 3.4028235e38, 2.2250738585072014e-308, '4714-11-24 BC', '12:34:56.789012', '294276-12-31 23:59:59.999999',
	 '2026-01-02 03:04:05.678901+00', 2147483648, 'pg_type', 42);
SET timezone = 'UTC';
SELECT * FROM kinds ORDER BY i8 NULLS LAST;
SELECT f4 = 'NaN' AS nan, o > 4294967294 AS large_oid FROM kinds WHERE i2 = 32767;
INSERT INTO kinds (p) VALUES (0);

-- Long runs of values of every kind, over several blocks, compared with the same rows in heap.
CREATE TABLE kinds_heap (LIKE kinds);
INSERT INTO kinds_heap
SELECT i % 3 = 0, i % 30000 - 15000, i * 7919, i::int8 * 1000003 * 9176, i / 7.0, i::float8 * 1e300,
	   '2026-01-01'::date + i % 400, '00:00'::time + i * interval '1 ms',
	   '2026-01-01'::timestamp + i * interval '1 s', '2026-01-01Z'::timestamptz + i * interval '1 ms',
	   (i::int8 * 429497)::oid, 'pg_class', CASE WHEN i % 5 = 0 THEN NULL ELSE i END
FROM generate_series(1, 5000) i;
CREATE TABLE kinds_more (LIKE kinds) USING profstore;
INSERT INTO kinds_more SELECT * FROM kinds_heap;
SELECT count(*) FROM kinds_more;
SELECT count(*) FROM (SELECT * FROM kinds_heap EXCEPT ALL SELECT * FROM kinds_more) x;
SELECT count(*) FROM (SELECT * FROM kinds_more EXCEPT ALL SELECT * FROM kinds_heap) x;

-- A table without columns; a table with many columns.
CREATE TABLE nothing () USING profstore;
INSERT INTO nothing DEFAULT VALUES;
\echo :SQLSTATE
SELECT count(*) FROM nothing;
SELECT format('CREATE TABLE wide (%s) USING profstore', string_agg(format('c%s int8', i), ', ')) AS create_wide
FROM generate_series(1, 1000) i \gset
:create_wide;
INSERT INTO wide (c1, c500, c1000) SELECT i, i * 2, i * 3 FROM generate_series(1, 3000) i;
SELECT count(*), sum(c1), sum(c500), sum(c1000), count(c2) FROM wide;

-- CREATE TABLE and ALTER TABLE refuse other types.
CREATE TABLE refused (id int8, name text) USING profstore;
\echo :SQLSTATE
CREATE TABLE refused USING profstore AS SELECT 1.5 AS n;
\echo :SQLSTATE
CREATE TABLE refused (a int8[]) USING profstore;
\echo :SQLSTATE
ALTER TABLE kinds ADD COLUMN j jsonb;
\echo :SQLSTATE
ALTER TABLE kinds ALTER COLUMN i4 TYPE numeric;
\echo :SQLSTATE
CREATE TABLE plain (a int8, b text);
ALTER TABLE plain SET ACCESS METHOD profstore;
\echo :SQLSTATE
CREATE TABLE parent (a int8, b text) PARTITION BY RANGE (a);
CREATE TABLE child PARTITION OF parent FOR VALUES FROM (0) TO (1) USING profstore;
\echo :SQLSTATE
