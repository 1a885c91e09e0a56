-- Effects of DDL on stored rows. After a table's files are dropped, the segment directory has no entries for them.
CREATE VIEW segments_left AS SELECT count(*) AS segments, coalesce(sum(row_count), 0) AS rows FROM profstore.segments;

-- ADD COLUMN with and without a default, on stored and waiting rows; DROP COLUMN.
CREATE TABLE t (a int4, b int4) USING profstore;
INSERT INTO t VALUES (1, 10);
ALTER TABLE t ADD COLUMN c int8;
INSERT INTO t VALUES (2, 20, 200);
BEGIN;
INSERT INTO t VALUES (3, 30, 300);
ALTER TABLE t ADD COLUMN d int8 DEFAULT 99;
INSERT INTO t VALUES (4, 40, 400, 4);
SELECT * FROM t ORDER BY a;
ALTER TABLE t DROP COLUMN b;
INSERT INTO t VALUES (5, 500, 5);
SELECT * FROM t ORDER BY a;
COMMIT;
SELECT * FROM t ORDER BY a;
ALTER TABLE t ADD COLUMN b date DEFAULT '2026-01-01';
SELECT * FROM t WHERE b = '2026-01-01' ORDER BY a;
ALTER TABLE t ALTER COLUMN d SET DEFAULT 7;
INSERT INTO t (a) VALUES (6);
SELECT * FROM t ORDER BY a;

-- Adding a column in a subtransaction that fails.
BEGIN;
INSERT INTO t (a) VALUES (7);
SAVEPOINT s;
ALTER TABLE t ADD COLUMN e int4;
INSERT INTO t (a, e) VALUES (8, 8);
ROLLBACK TO s;
INSERT INTO t (a) VALUES (9);
COMMIT;
SELECT a FROM t WHERE a > 6 ORDER BY a;

-- Rewrites of a table: another column type, a volatile default, another access method; waiting rows are included.
BEGIN;
INSERT INTO t (a) VALUES (10);
ALTER TABLE t ALTER COLUMN a TYPE int8;
INSERT INTO t (a) VALUES (11);
COMMIT;
ALTER TABLE t ADD COLUMN r float8 DEFAULT random();
SELECT count(*), count(DISTINCT r) FROM t;
ALTER TABLE t DROP COLUMN r;
ALTER TABLE t SET ACCESS METHOD heap;
SELECT * FROM segments_left;
SELECT count(*), sum(a) FROM t;
ALTER TABLE t SET ACCESS METHOD profstore;
SELECT count(*), sum(a) FROM t;
SELECT * FROM segments_left;

-- A rewrite that is rolled back.
BEGIN;
ALTER TABLE t ALTER COLUMN a TYPE int4;
INSERT INTO t (a) VALUES (12);
ROLLBACK;
SELECT count(*), sum(a) FROM t;
SELECT * FROM segments_left;

-- A large segment of a table that was heap: its values are in the main relation, as the table has no TOAST relation.
CREATE TABLE from_heap AS SELECT g AS a FROM generate_series(1, 20000) g;
ALTER TABLE from_heap SET ACCESS METHOD profstore;
INSERT INTO from_heap SELECT * FROM from_heap;
SELECT count(*), sum(a::int8) FROM from_heap;

-- CREATE TABLE AS, SELECT INTO, materialized views.
CREATE TABLE ctas USING profstore AS SELECT g AS a FROM generate_series(1, 20000) g;
SET default_table_access_method = profstore;
SELECT a INTO into_table FROM ctas WHERE a <= 10;
CREATE MATERIALIZED VIEW mv AS SELECT a / 100 AS hundred, count(*) AS n FROM ctas GROUP BY 1;
RESET default_table_access_method;
SELECT count(*), sum(n) FROM mv;
INSERT INTO ctas SELECT 5;
REFRESH MATERIALIZED VIEW mv;
SELECT count(*), sum(n) FROM mv;
CREATE TABLE no_data USING profstore AS SELECT 1 AS a WITH NO DATA;
SELECT count(*) FROM no_data;

-- Inheritance and LIKE.
CREATE TABLE child () INHERITS (ctas) USING profstore;
INSERT INTO child VALUES (-1);
SELECT count(*), min(a) FROM ctas;
DROP TABLE child;

-- Views, column privileges and row security work as for any table.
CREATE ROLE columnar_reader;
SET ROLE columnar_reader;
SELECT count(*) FROM ctas;
SELECT count(*) FROM profstore.segments;
RESET ROLE;
GRANT SELECT, INSERT ON ctas TO columnar_reader;
ALTER TABLE ctas ENABLE ROW LEVEL SECURITY;
CREATE POLICY small ON ctas USING (a <= 3);
SET ROLE columnar_reader;
SELECT count(*) FROM ctas;
INSERT INTO ctas VALUES (2);
INSERT INTO ctas VALUES (4);
SELECT count(*) FROM ctas;
RESET ROLE;

-- All tables are dropped.
CREATE SCHEMA s CREATE TABLE st (a int4);
ALTER TABLE s.st SET ACCESS METHOD profstore;
INSERT INTO s.st VALUES (1);
\c
DROP SCHEMA s CASCADE;
\c
DROP TABLE t, from_heap;
\c
DROP MATERIALIZED VIEW mv;
\c
CREATE TABLE owned (a int4) USING profstore;
ALTER TABLE owned OWNER TO columnar_reader;
INSERT INTO owned VALUES (1);
\c
DROP OWNED BY columnar_reader;
DROP ROLE columnar_reader;
DROP TABLE ctas, into_table, no_data;
SELECT * FROM segments_left;
CREATE TABLE in_replica_role (a int4) USING profstore;
INSERT INTO in_replica_role VALUES (1);
\c
SET session_replication_role = replica;
DROP TABLE in_replica_role;
SELECT * FROM segments_left;
RESET session_replication_role;

-- DROP EXTENSION drops its tables.
CREATE TABLE last (a int4) USING profstore;
INSERT INTO last VALUES (1);
DROP VIEW segments_left;
DROP EXTENSION profstore;
SET client_min_messages = warning;
\c
SET client_min_messages = warning;
DROP EXTENSION profstore CASCADE;
SELECT count(*) FROM pg_class WHERE relname = 'last';
CREATE EXTENSION profstore;
CREATE TABLE again (a int4) USING profstore;
INSERT INTO again VALUES (1);
SELECT * FROM again;

-- A new extension numbers storages from 1 again, in the transaction that has rows waiting for a table of the dropped one.
BEGIN;
INSERT INTO again VALUES (2);
SAVEPOINT s;
SET LOCAL client_min_messages = warning;
DROP EXTENSION profstore CASCADE;
CREATE EXTENSION profstore;
CREATE TABLE anew (a int4) USING profstore;
INSERT INTO anew VALUES (3);
SELECT * FROM anew;
SAVEPOINT deeper;
TRUNCATE anew;
INSERT INTO anew VALUES (4);
SELECT * FROM anew;
ROLLBACK TO s;
SELECT * FROM again ORDER BY a;
DROP EXTENSION profstore CASCADE;
CREATE EXTENSION profstore;
CREATE TABLE anew (a int4) USING profstore;
INSERT INTO anew VALUES (5);
COMMIT;
SELECT * FROM anew;

-- Series that the transaction has touched in the dropped extension are not touched in the new one, nor if no extension is left.
BEGIN;
SELECT profstore.intern_series('{a:b:c::}', '{"{}"}', '{0}');
SELECT profstore.touch_series('{1}', '2020-01-01', '2020-01-02');
DROP EXTENSION profstore CASCADE;
CREATE EXTENSION profstore;
SELECT profstore.intern_series('{a:b:c::}', '{"{}"}', '{0}');
COMMIT;
SELECT id, first_seen FROM profstore.series;
BEGIN;
SELECT profstore.touch_series('{1}', '2020-01-01', '2020-01-02');
DROP EXTENSION profstore CASCADE;
COMMIT;
SELECT count(*) FROM pg_extension WHERE extname = 'profstore';
