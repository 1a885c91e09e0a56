-- profstore.verify returns nothing for undamaged tables, and a row for each kind of damage.
CREATE TABLE t (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
INSERT INTO t SELECT '2026-01-01Z', g % 7, hashint4(g), nullif(g % 10, 3) FROM generate_series(1, 3000) AS g;
INSERT INTO t SELECT '2026-01-01Z', g % 7, hashint4(g), nullif(g % 10, 3) FROM generate_series(1, 40000) AS g;
INSERT INTO t VALUES (NULL, NULL, NULL, NULL), ('2026-01-02Z', 1, 1, 1);
CREATE TABLE plain (a float8, b bool) USING profstore;
INSERT INTO plain SELECT g, g % 2 = 0 FROM generate_series(1, 5000) AS g;
SELECT * FROM profstore.verify('t');
SELECT * FROM profstore.verify('plain');
SELECT * FROM profstore.verify();
SELECT profstore.compact('t');
SELECT * FROM profstore.verify('t');

SET timezone = 'UTC';
SELECT relation, level, segments, rows, bytes > 0 AS bytes, time_from, time_to, series_from, series_to FROM profstore.segment_stats WHERE relation IN ('t'::regclass, 'plain'::regclass) ORDER BY relation::text, level;

-- single segments; infinite times
INSERT INTO t VALUES ('infinity', 3, 1, 1), ('-infinity', 2, 1, 1);
SELECT level, rows, bytes > 0 AS bytes, summary_bytes, time_from, time_to, series_from, series_to FROM profstore.segment_details WHERE relation = 't'::regclass ORDER BY segment;
SELECT level, segments, rows, time_from, time_to FROM profstore.segment_stats WHERE relation = 't'::regclass ORDER BY level;
DELETE FROM profstore.segments WHERE storage_id = profstore.storage_id('t') AND time_max = 9223372036854775807;
SELECT problem FROM profstore.verify('t');
INSERT INTO profstore.row_ledger VALUES (profstore.storage_id('t'), -2);
SELECT problem FROM profstore.verify('t');

-- damage, each kind in a transaction that is rolled back
BEGIN;
SAVEPOINT s;
UPDATE profstore.segments SET payload = set_byte(payload, 100, 255 - get_byte(payload, 100)) WHERE storage_id = profstore.storage_id('plain');
SELECT relation, stream, regexp_replace(problem, 'Segment \d+', 'Segment n') AS problem FROM profstore.verify('plain');
ROLLBACK TO s;
UPDATE profstore.segments SET header = set_byte(header, 20, 255 - get_byte(header, 20)) WHERE storage_id = profstore.storage_id('plain');
SELECT relation, stream, regexp_replace(problem, 'Segment \d+', 'Segment n') AS problem FROM profstore.verify('plain');
ROLLBACK TO s;
UPDATE profstore.segments SET header = set_byte(header, 4, 9) WHERE storage_id = profstore.storage_id('plain');
SELECT relation, stream, regexp_replace(problem, 'Segment \d+', 'Segment n') AS problem FROM profstore.verify('plain');
ROLLBACK TO s;
UPDATE profstore.segments SET row_count = row_count - 1 WHERE storage_id = profstore.storage_id('plain');
SELECT relation, stream, regexp_replace(problem, 'Segment \d+', 'Segment n') AS problem FROM profstore.verify('plain');
ROLLBACK TO s;
UPDATE profstore.segments SET byte_count = byte_count + 1 WHERE storage_id = profstore.storage_id('plain');
SELECT relation, stream, problem FROM profstore.verify('plain');
ROLLBACK TO s;
UPDATE profstore.segments SET payload = substr(payload, 1, length(payload) - 1) WHERE storage_id = profstore.storage_id('plain');
SELECT relation, stream, regexp_replace(problem, 'Segment \d+', 'Segment n') AS problem FROM profstore.verify('plain');
ROLLBACK TO s;
UPDATE profstore.segments SET time_max = time_max + 1, key_min = NULL WHERE storage_id = profstore.storage_id('t');
SELECT relation, stream, problem FROM profstore.verify('t');
ROLLBACK TO s;
UPDATE profstore.segments SET stream_ids = array_remove(stream_ids, stream_ids[3]) WHERE storage_id = profstore.storage_id('t');
SELECT relation, stream, regexp_replace(problem, '(Segment|TOAST value) \d+', '\1 n', 'g') AS problem FROM profstore.verify('t');
ROLLBACK TO s;
UPDATE profstore.segments SET stream_ids = array_replace(stream_ids, stream_ids[3], 1::oid) WHERE storage_id = profstore.storage_id('t');
SELECT relation, stream, regexp_replace(problem, '(pg_toast_|TOAST value )\d+', '\1n') AS problem FROM profstore.verify('t');
ROLLBACK TO s;
-- missing and duplicate segments: small ones are counted, large ones leave their streams behind
DELETE FROM profstore.segments WHERE storage_id = profstore.storage_id('plain');
SELECT relation, segment, problem FROM profstore.verify('plain');
ROLLBACK TO s;
INSERT INTO profstore.segments SELECT (jsonb_populate_record(s, '{"segment_no": 1}')).* FROM profstore.segments AS s WHERE storage_id = profstore.storage_id('plain');
SELECT relation, segment, problem FROM profstore.verify('plain');
ROLLBACK TO s;
DELETE FROM profstore.segments WHERE storage_id = profstore.storage_id('t');
SELECT regexp_replace(problem, 'value \d+', 'value n') AS problem, count(*) FROM profstore.verify('t') GROUP BY 1 ORDER BY 1;
ROLLBACK TO s;
INSERT INTO profstore.segments SELECT (jsonb_populate_record(s, '{"segment_no": 1}')).* FROM profstore.segments AS s WHERE storage_id = profstore.storage_id('t');
SELECT segment = 1 AS copy, regexp_replace(problem, '(value|segment) \d+', '\1 n', 'g') AS problem, count(*) FROM profstore.verify('t') GROUP BY 1, 2 ORDER BY 1, 2;
ROLLBACK TO s;
-- the transaction's own rows, with a rolled back savepoint, and a removal
INSERT INTO plain VALUES (1, true);
SAVEPOINT own;
INSERT INTO plain SELECT g, true FROM generate_series(1, 200000) AS g;
SELECT problem FROM profstore.verify('plain');
ROLLBACK TO own;
INSERT INTO t VALUES ('2026-01-02Z', 1, 1, 1);
SELECT profstore.compact('t') > 0 AS merged;
SELECT problem FROM profstore.verify('t') UNION ALL SELECT problem FROM profstore.verify('plain');
SELECT rows > 0 AS removed FROM profstore_internal.remove_segments('t', 'infinity');
SELECT problem FROM profstore.verify('t');
TRUNCATE t;
SELECT problem FROM profstore.verify('t');
ROLLBACK TO s;
-- columns that no longer are the key: not reported as damage
ALTER TABLE t RENAME COLUMN stack_id TO old;
ALTER TABLE t RENAME COLUMN value TO stack_id;
SELECT relation, stream, problem FROM profstore.verify('t');
ROLLBACK;

-- privileges
CREATE ROLE verify_other;
GRANT USAGE ON SCHEMA profstore TO verify_other;
SET ROLE verify_other;
SELECT count(*) FROM profstore.segment_stats;
SELECT count(*) FROM profstore.segment_details;
SELECT * FROM profstore.verify('t');
RESET ROLE;
GRANT pg_read_all_stats TO verify_other;
SET ROLE verify_other;
SELECT count(*) > 0 AS sees FROM profstore.segment_stats;
RESET ROLE;
REVOKE USAGE ON SCHEMA profstore FROM verify_other;
DROP ROLE verify_other;
SELECT * FROM profstore.verify('pg_class');
SELECT profstore.storage_id('pg_class') IS NULL AS none;
DROP TABLE t, plain;
