-- Tables with rows on another server (distributed by Citus, or foreign partitions), and partitions that were renamed, moved or are heap.
-- No function treats such a table as empty: each refuses (0A000), warns, or answers correctly.
\i sql/fixtures/preamble.sql
SELECT profstore.ensure_partitions('2026-01-01', '2026-01-04');
SELECT profstore.import_folded('main;f 5', '{"service": "s"}', d) FROM generate_series('2026-01-01Z'::timestamptz, '2026-01-03Z', '1 day') AS d;
SELECT id AS series FROM profstore.series \gset
SELECT stack_id AS stack FROM profstore.samples LIMIT 1 \gset
SELECT profile_type AS type FROM profstore.profile_types() \gset
CREATE VIEW state AS
SELECT (SELECT count(*) FROM profstore.samples) AS samples, (SELECT sum(value) FROM profstore.samples) AS sum, (SELECT count(*) FROM profstore.samples_minute) AS minutes,
	(SELECT count(*) FROM profstore.partitions()) AS partitions, (SELECT count(*) FROM profstore.series) AS series, (SELECT count(*) FROM profstore.functions) AS functions,
	(SELECT count(*) FROM profstore.dictionary_partitions) AS dictionary, (SELECT count(*) FROM profstore.retention_log) AS log;
CREATE TABLE state_before AS TABLE state;
CREATE PROCEDURE compare() LANGUAGE sql AS $$ SELECT 1 / (SELECT count(*) FROM state NATURAL JOIN state_before) AS equal $$;
-- Returns the SQLSTATE of each statement, or "done"; every statement is rolled back.
CREATE FUNCTION outcomes() RETURNS TABLE (statement text, outcome text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH statement IN ARRAY ARRAY[
		'SELECT * FROM profstore.drop_before(''2026-01-03'')',
		'SELECT profstore_internal.drop_partition(''profstore.samples_20260101'', true)',
		'SELECT profstore_internal.drop_partition(''profstore.samples_20260101'', false)',
		'SELECT profstore_internal.move_to_tier(''profstore.samples_20260101'', ''minute'')',
		'SELECT profstore_internal.remove_segments(''profstore.samples_20260101'', ''infinity'')',
		'SELECT * FROM profstore.collect_dictionary(''0'')',
		'SELECT profstore.remove_samples(''profstore.samples_20260101'', ''true'')',
		'SELECT profstore.remove_samples(''profstore.samples'', ''true'')',
		'SELECT profstore.remove_segment(''profstore.samples_20260101'', 1)',
		'SELECT profstore.import_folded(''main;g 1'', ''{"service": "s"}'', ''2026-01-01'')',
		'SELECT profstore.intern_series(''{new:n:count:n:count:delta}'', ''{"{}"}'', ''{0}'')',
		'SELECT * FROM profstore.flamegraph((SELECT profile_type FROM profstore.profile_types()), ''2026-01-01'', ''2026-01-05'')',
		'SELECT * FROM profstore.top((SELECT profile_type FROM profstore.profile_types()), ''2026-01-01'', ''2026-01-05'')',
		'SELECT * FROM profstore.timeseries((SELECT profile_type FROM profstore.profile_types()), ''2026-01-01'', ''2026-01-05'')',
		'SELECT profstore.compact()', 'SELECT profstore.compact(''profstore.samples_20260101'')',
		'SELECT * FROM profstore.verify()', 'SELECT * FROM profstore.verify(''profstore.samples_20260101'')']
	LOOP
		outcome := '';
		BEGIN
			EXECUTE statement;
			outcome := 'done';
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		WHEN OTHERS THEN
			outcome := SQLSTATE;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
SET client_min_messages = warning;
SELECT DISTINCT outcome FROM outcomes();

-- a table with the name of the catalog of Citus simulates it
SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char");
RESET allow_system_table_mods;
SELECT DISTINCT outcome FROM outcomes();
INSERT INTO pg_catalog.pg_dist_partition SELECT p.relid, 'h' FROM pg_partition_tree('profstore.samples') AS p;
SELECT * FROM outcomes();
SELECT profstore.set_retention('1 day', '1000 years');
CALL profstore.apply_retention();
CALL profstore.compact_in_steps();
CALL compare();
TRUNCATE pg_catalog.pg_dist_partition;
-- a table of a tier, and one of the dictionary
INSERT INTO pg_catalog.pg_dist_partition VALUES ('profstore.samples_minute', 'h');
SELECT statement, outcome FROM outcomes() WHERE outcome <> 'done';
CALL profstore.apply_retention();
CALL compare();
TRUNCATE pg_catalog.pg_dist_partition;
INSERT INTO pg_catalog.pg_dist_partition VALUES ('profstore.trace_samples', 'h');
SELECT statement, outcome FROM outcomes() WHERE outcome <> 'done';
CALL profstore.apply_retention();
CALL compare();
TRUNCATE pg_catalog.pg_dist_partition;
INSERT INTO pg_catalog.pg_dist_partition VALUES ('profstore.series', 'n');
SELECT statement, outcome FROM outcomes() WHERE outcome <> 'done';
SELECT profstore.set_retention(NULL);
UPDATE profstore.epoch SET collected = '2000-01-01';
CALL profstore.apply_retention();
CALL compare();
TRUNCATE pg_catalog.pg_dist_partition;
INSERT INTO pg_catalog.pg_dist_partition VALUES ('profstore.location_rows', 'n'), ('profstore.function_rows', 'n'), ('profstore.mappings', 'n');
SELECT statement, outcome FROM outcomes() WHERE outcome <> 'done';
CALL compare();
SET allow_system_table_mods = on;
DROP TABLE pg_catalog.pg_dist_partition;
RESET allow_system_table_mods;

-- views that need rows of a distributed tier raise an error
BEGIN;
SELECT profstore_internal.move_to_tier('profstore.samples_20260101', 'minute');
SET LOCAL allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char");
INSERT INTO pg_catalog.pg_dist_partition VALUES ('profstore.samples_minute', 'h');
SELECT sum(self) FROM profstore.top(:'type', '2026-01-02', '2026-01-05');
SELECT sum(self) FROM profstore.top(:'type', '2026-01-01', '2026-01-05');
ROLLBACK;

-- a foreign partition
CREATE EXTENSION postgres_fdw;
DO $$BEGIN
EXECUTE format('CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L)', current_setting('unix_socket_directories'), current_setting('port'), current_database());
END$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER here;
CREATE TABLE far (LIKE profstore.samples);
INSERT INTO far VALUES ('2026-02-01 12:00Z', :series, :stack, 7);
CREATE FOREIGN TABLE far_day (time timestamptz NOT NULL, series_id int4 NOT NULL, stack_id int8 NOT NULL, value int8 NOT NULL) SERVER here OPTIONS (table_name 'far');
ALTER TABLE profstore.samples ATTACH PARTITION far_day FOR VALUES FROM ('2026-02-01Z') TO ('2026-02-02Z');
\set VERBOSITY terse
SELECT * FROM profstore.top(:'type', '2026-01-01', '2026-03-01');
SELECT sum(total) FROM profstore.top(:'type', '2026-01-01', '2026-02-01');
SELECT profstore.import_folded('main;f 11', '{"service": "s"}', '2026-02-01 13:00Z');
SELECT value FROM far ORDER BY time;
SELECT * FROM profstore.collect_dictionary('0');
SELECT profstore.remove_samples('profstore.samples', 'true');
SELECT profstore.remove_samples('far_day', 'true');
RESET client_min_messages;
SELECT * FROM profstore.verify();
SET client_min_messages = warning;
SELECT profstore_internal.drop_partition('far_day', false);
SELECT profstore.set_retention('1 day');
CALL profstore.apply_retention();
SELECT relation FROM profstore.partitions();
SELECT profstore.ensure_partitions('2026-01-01', '2026-01-02');
SELECT * FROM profstore.drop_before('2026-03-01');
SELECT count(*) FROM far;
SELECT relation FROM profstore.partitions();
ALTER TABLE profstore.samples DETACH PARTITION far_day;
DROP EXTENSION postgres_fdw CASCADE;

-- partitions that were renamed, moved to another schema, or have another access method
SELECT profstore.set_retention(NULL);
SELECT profstore.ensure_partitions('2026-01-01', '2026-01-04');
CREATE SCHEMA archive;
ALTER TABLE profstore.samples_20260101 SET SCHEMA archive;
ALTER TABLE profstore.samples_20260102 RENAME TO second_of_january;
ALTER TABLE profstore.samples_20260103 SET ACCESS METHOD heap;
SELECT profstore.ensure_partitions('2026-01-01', '2026-01-04');
SELECT profstore.import_folded('main;f 5', '{"service": "s"}', d) FROM generate_series('2026-01-01Z'::timestamptz, '2026-01-03Z', '1 day') AS d;
SELECT tableoid::regclass, value FROM profstore.samples ORDER BY time;
SELECT sum(self) FROM profstore.top(:'type', '2026-01-01', '2026-02-01');
SELECT profstore.remove_samples('profstore.samples', 'true');
SELECT * FROM profstore.verify();
SELECT profstore.set_retention('1 day', '1000 years');
CALL profstore.apply_retention();
SELECT relation FROM profstore.partitions();
SELECT sum(self) FROM profstore.top(:'type', '2026-01-01', '2026-02-01');
SELECT * FROM profstore.drop_before('2026-02-01');
