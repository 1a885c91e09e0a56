-- Unusual cases that the test with random statements has found.
SET timezone = 'UTC';

-- a rewrite that adds a column keeps the NULLs of the other columns
CREATE TABLE widened (id int4, a int8, b int2) USING profstore;
INSERT INTO widened SELECT g, nullif(g % 3, 0), nullif(g % 4, 1) FROM generate_series(1, 4) g;
ALTER TABLE widened ADD COLUMN c float8 DEFAULT random();
SELECT id, a, b, c IS NOT NULL AS c FROM widened ORDER BY id;
ALTER TABLE widened ADD COLUMN d int8 GENERATED ALWAYS AS (id * 10) STORED, ADD COLUMN e int4, ALTER COLUMN a TYPE float4;
SELECT id, a, b, c IS NOT NULL AS c, d, e FROM widened ORDER BY id;
-- a rewrite of another column keeps the default of rows stored before ADD COLUMN; so does a merge
ALTER TABLE widened ADD COLUMN f int2 DEFAULT 7;
INSERT INTO widened (id) VALUES (5);
ALTER TABLE widened ALTER COLUMN e TYPE int8;
SELECT id, f FROM widened ORDER BY id;
ALTER TABLE widened ADD COLUMN g float8 DEFAULT 0.25;
INSERT INTO widened (id) VALUES (6);
SELECT profstore.compact('widened');
ALTER TABLE widened ALTER COLUMN g SET DEFAULT 0.5;
INSERT INTO widened (id) VALUES (7);
SELECT id, f, g FROM widened ORDER BY id;
SELECT profstore.compact('widened');
SELECT id, f, g FROM widened ORDER BY id;
DROP TABLE widened;

-- infinite times: compaction ends, and the rows are unchanged
CREATE TABLE infinite (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
INSERT INTO infinite VALUES ('-infinity', 1, 1, 1), ('2026-01-01', 1, 1, 2);
INSERT INTO infinite VALUES ('infinity', 1, 1, 3), (NULL, 2, 1, 4);
INSERT INTO infinite VALUES ('2026-01-01', 1, 2, 5);
SELECT profstore.compact('infinite') >= 0 AS ended;
SELECT * FROM infinite ORDER BY value;
SELECT * FROM profstore.verify('infinite');
DROP TABLE infinite;
CREATE TABLE infinite (time int8, series_id int4, stack_id int8, value int8) USING profstore;
INSERT INTO infinite VALUES (-9223372036854775808, 1, 1, 1), (0, 1, 1, 2);
INSERT INTO infinite VALUES (9223372036854775807, 1, 1, 3), (NULL, 2, 1, 4);
SELECT profstore.compact('infinite') >= 0 AS ended;
SELECT * FROM infinite ORDER BY value;
SELECT * FROM profstore.verify('infinite');
DROP TABLE infinite;

-- key columns that are renamed: segments that were sorted and summed by the old names are not reported as damaged
CREATE TABLE renamed (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
INSERT INTO renamed SELECT timestamptz '2026-01-01 00:00Z' + g / 185 * interval '10 s', 8, g % 50, g FROM generate_series(1, 3000) g;
SELECT profstore.compact('renamed');
INSERT INTO renamed SELECT timestamptz '2026-01-01 00:00Z' + g / 185 * interval '10 s', 8, g % 50, g FROM generate_series(1, 3000) g;
ALTER TABLE renamed RENAME stack_id TO other;
SELECT * FROM profstore.verify('renamed');
ALTER TABLE renamed RENAME value TO stack_id;
ALTER TABLE renamed RENAME other TO value;
SELECT * FROM profstore.verify('renamed');
SELECT stack_id, count(*), sum(value) FROM renamed GROUP BY 1 ORDER BY 1 LIMIT 2;
SELECT profstore.compact('renamed');
SELECT stack_id, count(*), sum(value) FROM renamed GROUP BY 1 ORDER BY 1 LIMIT 2;
SELECT * FROM profstore.verify('renamed');
DROP TABLE renamed;

-- indexes that a user adds to the segment directory are maintained, and REINDEX CONCURRENTLY loses no row
CREATE TABLE indexed (a int4) USING profstore;
CREATE INDEX segments_rows ON profstore.segments (row_count);
CREATE INDEX segments_partial ON profstore.segments ((row_count + level)) WHERE row_count > 4;
INSERT INTO indexed SELECT generate_series(1, 5);
SET enable_seqscan = off;
SELECT count(*) FROM profstore.segments WHERE row_count = 5;
SELECT count(*) FROM profstore.segments WHERE row_count + level = 5 AND row_count > 4;
RESET enable_seqscan;
DROP INDEX profstore.segments_rows, profstore.segments_partial;
REINDEX TABLE CONCURRENTLY profstore.segments;
INSERT INTO indexed VALUES (6);
SELECT count(*) FROM indexed;
DROP TABLE indexed;
