-- Rows of a columnar table are visible in the same cases as rows of a heap table.
CREATE TABLE t (a int4) USING profstore;

-- Rollback and savepoints, nested ones too.
BEGIN;
INSERT INTO t VALUES (1);
ROLLBACK;
SELECT * FROM t;

BEGIN;
INSERT INTO t VALUES (1);
SAVEPOINT s1;
INSERT INTO t VALUES (2);
SAVEPOINT s2;
INSERT INTO t VALUES (3);
SELECT * FROM t ORDER BY a;
ROLLBACK TO s2;
SELECT * FROM t ORDER BY a;
INSERT INTO t VALUES (4);
RELEASE s1;
INSERT INTO t VALUES (5);
SAVEPOINT s3;
INSERT INTO t VALUES (6);
ROLLBACK TO s3;
SELECT * FROM t ORDER BY a;
COMMIT;
SELECT * FROM t ORDER BY a;
SELECT row_count FROM profstore.segments;

-- Rows of an outer subtransaction wait while an inner one writes its own.
TRUNCATE t;
BEGIN;
INSERT INTO t VALUES (1);
SAVEPOINT s1;
SET LOCAL profstore.write_buffer_size = '64kB';
INSERT INTO t SELECT g FROM generate_series(1001, 40000) g;
SELECT count(*), min(a), max(a) FROM t;
SELECT count(*) > 1 AS written FROM profstore.segments;
ROLLBACK TO s1;
SELECT count(*), min(a), max(a) FROM t;
COMMIT;
SELECT * FROM t;

-- A rollback restores a table after TRUNCATE and DROP.
BEGIN;
INSERT INTO t VALUES (2);
SAVEPOINT s1;
TRUNCATE t;
INSERT INTO t VALUES (3);
SELECT * FROM t ORDER BY a;
ROLLBACK TO s1;
SELECT * FROM t ORDER BY a;
TRUNCATE t;
INSERT INTO t VALUES (4);
COMMIT;
SELECT * FROM t ORDER BY a;

BEGIN;
INSERT INTO t VALUES (5);
SAVEPOINT s1;
DROP TABLE t;
ROLLBACK TO s1;
SELECT * FROM t ORDER BY a;
COMMIT;
SELECT * FROM t ORDER BY a;

-- A table that is created and truncated in one transaction.
BEGIN;
CREATE TABLE fresh (a int4) USING profstore;
INSERT INTO fresh VALUES (1);
TRUNCATE fresh;
INSERT INTO fresh VALUES (2);
SAVEPOINT s1;
TRUNCATE fresh;
INSERT INTO fresh VALUES (3);
ROLLBACK TO s1;
SELECT * FROM fresh;
COMMIT;
SELECT * FROM fresh;
BEGIN;
TRUNCATE fresh;
INSERT INTO fresh VALUES (4);
TRUNCATE fresh;
INSERT INTO fresh VALUES (5);
ROLLBACK;
SELECT * FROM fresh;

-- A volatile function sees earlier inserts of its caller, except those of the calling statement.
CREATE FUNCTION count_t() RETURNS int8 LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	RETURN (SELECT count(*) FROM t);
END $$;
CREATE FUNCTION insert_t(value int4) RETURNS int8 LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	INSERT INTO t VALUES (value);
	RETURN (SELECT count(*) FROM t);
END $$;
CREATE TABLE heap_t (a int4);
TRUNCATE t;
BEGIN;
INSERT INTO t SELECT count_t() FROM generate_series(1, 3);
SELECT array_agg(a ORDER BY a) FROM t;
SELECT insert_t(100) AS seen, (SELECT count(*) FROM t) AS by_caller;
SELECT insert_t(g) FROM generate_series(101, 103) g;
INSERT INTO t SELECT insert_t(200 + g) FROM generate_series(1, 2) g;
SELECT array_agg(a ORDER BY a) FROM t;
COMMIT;
SELECT array_agg(a ORDER BY a) FROM t;

-- One exception block per row.
TRUNCATE t;
DO $$
BEGIN
	FOR i IN 1..1000 LOOP
		BEGIN
			INSERT INTO t VALUES (i);
			IF i % 10 = 0 THEN
				RAISE division_by_zero;
			END IF;
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
	END LOOP;
END $$;
SELECT count(*), sum(a) FROM t;

-- More single-row statements in one transaction than a segment has room for rows.
TRUNCATE t;
DO $$
BEGIN
	FOR i IN 1..140000 LOOP
		INSERT INTO t VALUES (i);
	END LOOP;
END $$;
SELECT count(*), sum(a::int8), count(DISTINCT a) FROM t;
SELECT count(*) FROM profstore.segments s
WHERE storage_id = (SELECT max(storage_id) FROM profstore.segments);

-- Rows that deferred triggers insert at commit are stored.
CREATE FUNCTION insert_late() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t VALUES (NEW.a);
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON heap_t DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION insert_late();
TRUNCATE t;
INSERT INTO heap_t VALUES (77);
SELECT * FROM t;

-- SET TABLESPACE gives a table a new file, which holds earlier rows. A truncation of that file that is rolled back restores them.
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE columnar_truncated LOCATION '';
CREATE TABLE moved (a int4) USING profstore;
INSERT INTO moved VALUES (1);
BEGIN;
INSERT INTO moved VALUES (2);
SAVEPOINT s1;
INSERT INTO moved VALUES (3);
ALTER TABLE moved SET TABLESPACE columnar_truncated;
INSERT INTO moved VALUES (4);
TRUNCATE moved;
INSERT INTO moved VALUES (5);
TRUNCATE moved;
INSERT INTO moved VALUES (6);
SELECT * FROM moved;
ROLLBACK TO s1;
INSERT INTO moved VALUES (7);
SELECT * FROM moved ORDER BY a;
COMMIT;
SELECT * FROM moved ORDER BY a;
DROP TABLE moved;
DROP TABLESPACE columnar_truncated;

-- PL/pgSQL evaluates an expression with a snapshot that no query has. A VOLATILE function fills segments with rows from before and
-- after this snapshot, and a STABLE function reads them: it must see the earlier rows and none of the later ones
CREATE TABLE between_them (a int4) USING profstore;
CREATE FUNCTION fill_between(commands int4, count int4) RETURNS int8 LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. commands LOOP
		INSERT INTO between_them SELECT g FROM generate_series(1, count) AS g;
	END LOOP;
	RETURN 0;
END
$$;
CREATE FUNCTION count_between() RETURNS int8 LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (SELECT count(*) FROM between_them); END $$;
DO $$
DECLARE
	seen int8;
BEGIN
	INSERT INTO between_them VALUES (1), (2), (3);
	seen := fill_between(2, 10) + count_between();
	RAISE WARNING 'nothing is written: %', seen;
	seen := fill_between(3, 100000) + count_between();
	RAISE WARNING 'wrong, were it not 23: %', seen;
EXCEPTION WHEN feature_not_supported THEN
	RAISE WARNING '%', SQLERRM;
END
$$;
DO $$
DECLARE
	seen int8;
BEGIN
	INSERT INTO between_them VALUES (1), (2), (3);
	PERFORM fill_between(3, 100000);
	seen := count_between();
	RAISE WARNING 'by statements of their own: %', seen;
END
$$;
SELECT count(*) FROM between_them;
DROP TABLE between_them;
DROP FUNCTION fill_between, count_between;
