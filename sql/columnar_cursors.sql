-- Cursors on columnar tables: in both directions, with inserts of their own transaction after DECLARE, and held past the commit.
CREATE TABLE t (a int4) USING profstore;
INSERT INTO t SELECT generate_series(1, 3000);
INSERT INTO t SELECT generate_series(3001, 3010);

BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT a FROM t;
FETCH 2 c;
FETCH LAST c;
FETCH PRIOR c;
FETCH ABSOLUTE 1024 c;
FETCH NEXT c;
FETCH PRIOR c;
FETCH PRIOR c;
FETCH ABSOLUTE 3001 c;
FETCH PRIOR c;
FETCH FIRST c;
FETCH PRIOR c;
FETCH NEXT c;
MOVE FORWARD ALL c;
FETCH BACKWARD 3 c;
CLOSE c;
COMMIT;

-- A cursor sees the rows of the moment of DECLARE, also if its first FETCH comes after later inserts.
TRUNCATE t;
BEGIN;
INSERT INTO t VALUES (1);
DECLARE c1 SCROLL CURSOR FOR SELECT a FROM t;
INSERT INTO t VALUES (2);
DECLARE c2 CURSOR FOR SELECT a FROM t;
FETCH c2;
INSERT INTO t VALUES (3);
SET LOCAL profstore.write_buffer_size = '64kB';
INSERT INTO t SELECT generate_series(11, 20000);
SELECT count(*) FROM t;
FETCH ALL c1;
FETCH ALL c2;
FETCH FIRST c1;
ROLLBACK;

BEGIN;
INSERT INTO t VALUES (1);
DECLARE held CURSOR WITH HOLD FOR SELECT a FROM t;
INSERT INTO t VALUES (2);
COMMIT;
TRUNCATE t;
FETCH ALL held;
CLOSE held;

-- A cursor over rows of a subtransaction that was rolled back.
BEGIN;
INSERT INTO t VALUES (1);
SAVEPOINT s;
INSERT INTO t VALUES (2);
DECLARE c CURSOR FOR SELECT a FROM t;
FETCH c;
ROLLBACK TO s;
FETCH c;
ROLLBACK;
BEGIN;
INSERT INTO t VALUES (1);
DECLARE c CURSOR FOR SELECT a FROM t;
SAVEPOINT s;
INSERT INTO t VALUES (2);
ROLLBACK TO s;
INSERT INTO t VALUES (3);
FETCH ALL c;
COMMIT;

-- A plan that scans a table several times.
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
TRUNCATE t;
INSERT INTO t SELECT generate_series(1, 1500);
SELECT count(*) FROM (VALUES (1), (2), (3)) v (x) JOIN t ON t.a > v.x * 100;
SELECT count(*) FROM (VALUES (1), (2), (1500)) v (x) WHERE EXISTS (SELECT FROM t WHERE t.a = v.x);
