-- profstore.remove_samples deletes rows by a condition, and keeps all others.
SET timezone = 'UTC';
SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-04Z');
INSERT INTO profstore.samples SELECT '2026-01-01Z'::timestamptz + g % 3 * interval '1 day', g % 5, g, g FROM generate_series(1, 60000) AS g;
SELECT profstore.compact() > 0 AS compacted;
-- rows that no view can show: an unknown stack, values that overflow when summed
INSERT INTO profstore.samples VALUES ('2026-01-02Z', 1, 4611686018427387904, 1), ('2026-01-02Z', 1, 7, 9223372036854775807), ('2026-01-02Z', 1, 7, 9223372036854775807);
CREATE VIEW state AS
SELECT tableoid::regclass AS part, count(*), sum(value), min(stack_id), max(stack_id) FROM profstore.samples GROUP BY 1 ORDER BY 1;
TABLE state;
CREATE TABLE files AS SELECT c.oid::regclass AS part, relfilenode, relacl FROM pg_class c WHERE c.relname LIKE 'samples\_2026%';
SELECT profstore.remove_samples('profstore.samples', $$stack_id = 4611686018427387904 OR value > 9e18::int8$$);
TABLE state;
SELECT * FROM profstore.verify() WHERE problem NOT LIKE '%not in the dictionary%';
-- partitions without matching rows keep their files
SELECT part, pg_relation_filenode(part) = relfilenode AS same FROM files ORDER BY 1;
SELECT profstore.remove_samples('profstore.samples', 'false'), profstore.remove_samples('profstore.samples', 'NULL'), profstore.remove_samples('profstore.samples', 'value < 0 -- and nothing else');
-- conditions with subqueries, and a condition that concerns one partition
SELECT profstore.remove_samples('profstore.samples_20260101', 'stack_id IN (SELECT 3 * g FROM generate_series(1, 100) g) OR series_id = 4');
TABLE state;
SELECT * FROM profstore.verify() WHERE problem NOT LIKE '%not in the dictionary%';
SELECT profstore.compact() > 0 AS compacted;
TABLE state;
SELECT * FROM profstore.verify() WHERE problem NOT LIKE '%not in the dictionary%';

-- rolled back, also to a savepoint; waiting rows, also those of an outer transaction level
BEGIN;
INSERT INTO profstore.samples SELECT '2026-01-03Z', 9, g, -1 FROM generate_series(1, 10) AS g;
SAVEPOINT a;
INSERT INTO profstore.samples SELECT '2026-01-03Z', 8, g, -1 FROM generate_series(1, 10) AS g;
SELECT profstore.remove_samples('profstore.samples', 'value = -1 AND stack_id <= 5');
SELECT series_id, count(*), max(stack_id) FROM profstore.samples WHERE value = -1 GROUP BY 1 ORDER BY 1;
SELECT * FROM profstore.verify() WHERE problem NOT LIKE '%not in the dictionary%';
INSERT INTO profstore.samples VALUES ('2026-01-03Z', 7, 1, -1);
ROLLBACK TO a;
SELECT series_id, count(*), max(stack_id) FROM profstore.samples WHERE value = -1 GROUP BY 1 ORDER BY 1;
SELECT profstore.remove_samples('profstore.samples_20260103', 'value = -1 AND stack_id > 3');
COMMIT;
SELECT series_id, count(*), max(stack_id) FROM profstore.samples WHERE value = -1 GROUP BY 1 ORDER BY 1;
BEGIN;
SELECT profstore.remove_samples('profstore.samples', 'true') > 0 AS removed;
TABLE state;
ROLLBACK;
TABLE state;
SELECT * FROM profstore.verify() WHERE problem NOT LIKE '%not in the dictionary%';

-- any columnar table: with dropped columns, or columns added with a default
CREATE TABLE t (a int4, gone int8, b float8 NOT NULL DEFAULT 1, CHECK (a < 100)) USING profstore;
INSERT INTO t SELECT g, g, g FROM generate_series(1, 10) AS g;
ALTER TABLE t DROP COLUMN gone, ADD COLUMN c int4 DEFAULT 42;
INSERT INTO t VALUES (11, 11, NULL);
GRANT SELECT ON t TO PUBLIC;
COMMENT ON TABLE t IS 'kept';
SELECT profstore.remove_samples('t', 'a % 2 = 0 AND t.b > 2');
SELECT * FROM t ORDER BY a;
SELECT relacl IS NOT NULL AS acl, obj_description(oid), (SELECT count(*) FROM pg_constraint WHERE conrelid = c.oid AND contype = 'c') AS checks FROM pg_class AS c WHERE oid = 't'::regclass;
SELECT * FROM profstore.verify('t');

-- the roles that may call it, and calls that are refused
CREATE ROLE regress_profstore_remove;
CREATE TABLE heap (a int4);
SELECT profstore.remove_samples('heap', 'true');
SELECT profstore.remove_samples('t', 'a');
SELECT profstore.remove_samples('t', 'nothing = 1');
SELECT profstore.remove_samples('t', 'true); DROP TABLE heap; SELECT (true');
SELECT profstore.remove_samples('t', 'true'), a FROM t;
SELECT profstore.remove_samples('t', NULL);
SELECT profstore.remove_samples(0, 'true');
CREATE FUNCTION adds() RETURNS bool LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (50); RETURN true; END $$;
SELECT profstore.remove_samples('t', 'adds()');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT profstore.remove_samples('t', 'true');
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t;
FETCH c;
SELECT profstore.remove_samples('t', 'true');
ROLLBACK;
SELECT profstore.grant_maintain('regress_profstore_remove');
SET ROLE regress_profstore_remove;
SELECT profstore.remove_samples('t', 'true');
SELECT profstore.remove_samples('profstore.samples', 'true');
RESET ROLE;
-- refused: a row policy that hides rows from the owner would make them disappear
GRANT CREATE ON SCHEMA public TO regress_profstore_remove;
ALTER TABLE t OWNER TO regress_profstore_remove;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON t USING (a < 5);
SET ROLE regress_profstore_remove;
SELECT profstore.remove_samples('t', 'a = 1');
RESET ROLE;
ALTER TABLE t FORCE ROW LEVEL SECURITY;
SET ROLE regress_profstore_remove;
SELECT profstore.remove_samples('t', 'a = 3');
RESET ROLE;
ALTER TABLE t NO FORCE ROW LEVEL SECURITY;
SELECT * FROM t ORDER BY a;
SELECT * FROM profstore.verify('t');
DROP TABLE t, heap;
DROP OWNED BY regress_profstore_remove;
DROP ROLE regress_profstore_remove;
