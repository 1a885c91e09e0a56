-- Prepared transactions: rows become visible with COMMIT PREPARED, which may run in any session.
CREATE TABLE t (a int4) USING profstore;
BEGIN;
INSERT INTO t VALUES (1);
SAVEPOINT s;
INSERT INTO t SELECT generate_series(2, 20000);
PREPARE TRANSACTION 'columnar_1';
SELECT count(*) FROM t;
BEGIN;
INSERT INTO t VALUES (-1);
PREPARE TRANSACTION 'columnar_2';
INSERT INTO t VALUES (0);
\c
SELECT count(*) FROM t;
COMMIT PREPARED 'columnar_1';
ROLLBACK PREPARED 'columnar_2';
SELECT count(*), min(a), max(a) FROM t;
BEGIN;
TRUNCATE t;
PREPARE TRANSACTION 'columnar_3';
ROLLBACK PREPARED 'columnar_3';
SELECT count(*) FROM t;
BEGIN;
DROP TABLE t;
PREPARE TRANSACTION 'columnar_4';
COMMIT PREPARED 'columnar_4';
SELECT count(*) FROM profstore.segments;
