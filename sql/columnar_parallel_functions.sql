-- Functions marked PARALLEL SAFE may read tables. In a worker they must see the changes of the leader's transaction.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
CREATE TABLE numbers AS SELECT g AS a FROM generate_series(1, 5000) AS g;
ANALYZE numbers;
CREATE TABLE t (a int4, b int8) USING profstore;
INSERT INTO t SELECT g, g FROM generate_series(1, 10) g;
CREATE FUNCTION count_sql(factor int4) RETURNS int8 LANGUAGE sql STABLE PARALLEL SAFE AS 'SELECT count(*) * factor FROM public.t';
CREATE FUNCTION count_plpgsql(factor int4) RETURNS int8 LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS 'BEGIN RETURN (SELECT count(*) * factor FROM t); END';
CREATE VIEW counted AS SELECT count_plpgsql(1) AS count;
CREATE DOMAIN counted_number AS int4 CHECK (count_plpgsql(1) < 12);
-- Returns the answers of the workers, once if they agree. EXECUTE allows parallel workers; SELECT INTO would not.
CREATE FUNCTION answers(OUT by_sql text, OUT by_plpgsql text, OUT by_view text, OUT workers text) LANGUAGE plpgsql AS
$$
DECLARE
	line text;
BEGIN
	EXECUTE $q$SELECT string_agg(c, ',') FROM (SELECT DISTINCT count_sql(1)::text AS c FROM numbers WHERE a > 4990 ORDER BY c) AS x$q$ INTO by_sql;
	EXECUTE $q$SELECT string_agg(c, ',') FROM (SELECT DISTINCT count_plpgsql(1)::text AS c FROM numbers WHERE a > 4990 ORDER BY c) AS x$q$ INTO by_plpgsql;
	EXECUTE $q$SELECT string_agg(c, ',') FROM (SELECT DISTINCT count::text AS c FROM numbers, counted WHERE a > 4990 ORDER BY c) AS x$q$ INTO by_view;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count_plpgsql(1) FROM numbers WHERE a > 4990'
	LOOP
		workers := coalesce(workers, substring(line FROM 'Workers Launched: .*'));
	END LOOP;
END
$$;
SELECT * FROM answers();
BEGIN;
INSERT INTO t VALUES (11, 11);
SELECT * FROM answers();
SAVEPOINT s;
-- rows of an outer subtransaction cannot be written: the leader runs the plan without workers
INSERT INTO t VALUES (12, 12);
SELECT * FROM answers();
SAVEPOINT s2;
INSERT INTO t VALUES (13, 13);
SAVEPOINT s3;
SELECT * FROM answers();
ROLLBACK TO s2;
SELECT * FROM answers();
ROLLBACK TO s;
SELECT * FROM answers();
-- the check of a domain
INSERT INTO t VALUES (12, 12);
SELECT sum(a::counted_number) FROM numbers;
ROLLBACK;

-- A cursor sees the rows of the moment when it was opened, also after later inserts.
BEGIN;
INSERT INTO t VALUES (11, 11);
DECLARE c CURSOR FOR SELECT count(*) OVER (), a FROM t ORDER BY a DESC;
FETCH 1 FROM c;
DECLARE d CURSOR FOR SELECT count(*) FROM t;
INSERT INTO t VALUES (12, 12);
SELECT * FROM answers();
FETCH 1 FROM c;
FETCH 1 FROM d;
SET TRANSACTION READ ONLY;
SELECT * FROM answers();
COMMIT;
SELECT * FROM answers();

-- A function that runs such a query between its other statements.
CREATE FUNCTION insert_and_count(n int4) RETURNS text LANGUAGE plpgsql AS
$$
BEGIN
	INSERT INTO t VALUES (n, n);
	RETURN (SELECT by_plpgsql FROM answers());
END
$$;
SELECT string_agg(insert_and_count(n), ',' ORDER BY n) FROM generate_series(20, 22) AS n;
-- CREATE TABLE AS, materialized views and EXPLAIN, which stores no rows unless it executes the plan.
BEGIN;
INSERT INTO t VALUES (40, 40);
CREATE TABLE made AS SELECT DISTINCT count_plpgsql(1) AS count FROM numbers WHERE a > 4990;
CREATE MATERIALIZED VIEW seen AS SELECT DISTINCT count_sql(1) AS count FROM numbers WHERE a > 4990;
INSERT INTO t VALUES (41, 41);
SELECT count(*) AS segments FROM profstore.segments WHERE storage_id = profstore.storage_id('t') \gset
EXPLAIN (COSTS OFF) SELECT count_plpgsql(1) FROM numbers WHERE a > 4990;
SELECT count(*) - :segments AS written FROM profstore.segments WHERE storage_id = profstore.storage_id('t');
REFRESH MATERIALIZED VIEW seen;
SELECT m.count, s.count FROM made m, seen s;
COMMIT;

-- Every query runs in a worker, with the same answer as in one process.
CREATE FUNCTION totals(OUT rows int8, OUT sum numeric) LANGUAGE plpgsql STABLE PARALLEL SAFE AS 'BEGIN SELECT count(*), sum(b) INTO rows, sum FROM t; END';
BEGIN;
INSERT INTO t SELECT g, g FROM generate_series(50, 60) g;
SAVEPOINT s;
INSERT INTO t SELECT g, g FROM generate_series(61, 70) g;
SELECT * FROM totals();
SELECT set_config(name, 'regress', true) IS NOT NULL AS forced FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT * FROM totals();
SELECT * FROM counted;
RELEASE s;
SELECT * FROM totals();
COMMIT;

-- Stacks, locations and functions that this transaction has interned are visible to its workers.
\i sql/fixtures/preamble.sql
CREATE FUNCTION folded_in_worker(sums profstore.stack_sums) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS
	'SELECT string_agg(stack || '' '' || value, '','' ORDER BY stack) FROM profstore.folded_of(sums)';
SELECT profstore.merge_stacks(put_stack('root;leaf'), 1) AS sums \gset before_
BEGIN;
SELECT profstore.merge_stacks(put_stack('root;middle;leaf' || g), g) AS sums FROM generate_series(1, 3) AS g \gset
SELECT DISTINCT folded_in_worker(:'sums') FROM numbers WHERE a > 4990;
SAVEPOINT s;
SELECT profstore.merge_stacks(put_stack('root;middle;leaf1;deeper'), 5) AS sums \gset own_
SELECT DISTINCT folded_in_worker(:'own_sums'), folded_in_worker(:'before_sums') FROM numbers WHERE a > 4990;
EXPLAIN (COSTS OFF) SELECT folded_in_worker(:'own_sums') FROM numbers WHERE a > 4990;
ROLLBACK;
