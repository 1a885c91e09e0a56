-- Parallel scans return every row once, including the rows that wait in the leader's memory.
SET profstore.enable_scan = off;
SET profstore.enable_agg = off;
CREATE TABLE t (a int4, b int8) USING profstore;
INSERT INTO t SELECT g, g FROM generate_series(1, 100000) g;
INSERT INTO t SELECT g, g FROM generate_series(100001, 110000) g;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT count(*), sum(b) FROM t;
SELECT count(*), sum(b), count(DISTINCT a) FROM t;
SET parallel_leader_participation = off;
SELECT count(*), sum(b) FROM t;
BEGIN;
INSERT INTO t VALUES (0, 1000000);
SELECT count(*), sum(b) FROM t;
SAVEPOINT s;
INSERT INTO t VALUES (0, 1000000);
SELECT count(*), sum(b) FROM t;
ROLLBACK TO s;
SELECT count(*), sum(b) FROM t;
ROLLBACK;
SELECT count(*), sum(b) FROM t;

-- Rescans of a parallel scan.
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT v.x, (SELECT count(*) FROM t WHERE t.a > v.x) FROM (VALUES (1), (100000), (109999)) v (x);

RESET parallel_leader_participation;
INSERT INTO t SELECT g, g FROM generate_series(1, 400000) g;

-- The leader writes while workers scan.
CREATE TABLE copy USING profstore AS SELECT * FROM t WHERE b > 0;
EXPLAIN (COSTS OFF) CREATE TABLE copy2 USING profstore AS SELECT * FROM t WHERE b > 0;
SELECT count(*), sum(b), count(DISTINCT a) FROM copy;

-- A worker that scans a whole table for its part of a join must also see the rows that wait in the leader's memory.
SET profstore.enable_scan = on;
SET profstore.enable_agg = on;
SET parallel_leader_participation = off;
CREATE TABLE outer_rows AS SELECT g AS a FROM generate_series(0, 20000) AS g;
ANALYZE outer_rows;
CREATE TABLE inner_rows (a int4) USING profstore;
BEGIN;
INSERT INTO inner_rows SELECT g FROM generate_series(1, 100) AS g;
SET LOCAL enable_parallel_hash = off;
SET LOCAL enable_hashjoin = on;
SELECT count(*) FROM outer_rows JOIN inner_rows USING (a);
SET LOCAL profstore.enable_scan = off;
SELECT count(*) FROM outer_rows JOIN inner_rows USING (a);
COMMIT;
