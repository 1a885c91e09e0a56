-- Every way in which rows get into segments: the number of segments, their level, and the order of rows.
CREATE VIEW layout AS
SELECT level, row_count, byte_count < row_count * 8 AS dense, stream_ids IS NULL AS packed
FROM profstore.segments ORDER BY storage_id, segment_no;

CREATE TABLE t (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
CREATE TABLE h (LIKE t);
INSERT INTO h
SELECT '2026-01-01Z'::timestamptz + i % 100 * interval '1 s', i % 20, (i * 7919) % 5000, i % 1000
FROM generate_series(1, 40000) i;

-- One segment per transaction and table, independent of the number of statements.
INSERT INTO t VALUES ('2026-01-01Z', 1, 2, 3);
BEGIN;
INSERT INTO t VALUES ('2026-01-01Z', 1, 2, 3);
INSERT INTO t VALUES ('2026-01-01Z', 1, 2, 3), ('2026-01-01Z', NULL, 2, NULL);
INSERT INTO t SELECT * FROM h LIMIT 10;
COMMIT;
TABLE layout;

-- Segments of low levels keep their streams in one value, large ones too. Segments of the last level store each stream by TOAST.
TRUNCATE t;
INSERT INTO t SELECT * FROM h LIMIT 3000;
INSERT INTO t SELECT * FROM h LIMIT 16384;
INSERT INTO t SELECT * FROM h;
TABLE layout;
SELECT time_min = extract(epoch FROM '2026-01-01Z'::timestamptz - '2000-01-01Z') * 1000000 AS time_min,
	   time_max - time_min AS time_span, key_min, key_max, segment_no >> 48 AS epoch
FROM profstore.segments ORDER BY segment_no DESC LIMIT 1;
SELECT profstore.compact('t');
TABLE layout;

-- Rows are sorted by (series_id, stack_id, time).
TRUNCATE t;
INSERT INTO t SELECT * FROM h;
SELECT count(*) FILTER (WHERE (series_id, stack_id, time) < (p_series, p_stack, p_time)) AS out_of_order, count(*)
FROM (SELECT *, lag(series_id) OVER () AS p_series, lag(stack_id) OVER () AS p_stack, lag(time) OVER () AS p_time
	  FROM t) x;
SELECT count(*) FROM (SELECT * FROM h EXCEPT ALL SELECT * FROM t) x;
SELECT count(*) FROM (SELECT * FROM t EXCEPT ALL SELECT * FROM h) x;

-- Each row has an address of its own within a scan.
SELECT count(DISTINCT ctid) FROM t;

-- A table without these columns keeps the order of insertion.
CREATE TABLE plain (a int4, b int4) USING profstore;
INSERT INTO plain SELECT 1000 - i, i FROM generate_series(1, 2000) i;
SELECT count(*) FROM (SELECT b - lag(b) OVER () AS step FROM plain) x WHERE step <> 1;

-- COPY, text and binary, in and out.
COPY t TO STDOUT (FORMAT csv) \g /dev/null
CREATE TABLE copied (LIKE t) USING profstore;
COPY copied FROM STDIN (FORMAT csv, FORCE_NULL (series_id));
2026-01-01 00:00:00+00,1,2,3
2026-01-01 00:00:01+00,"",5,6
\.
SELECT time AT TIME ZONE 'UTC' AS time, series_id, stack_id, value FROM copied ORDER BY time;
COPY copied FROM STDIN;
2026-01-01 00:00:00+00	1	2	3
2026-01-01 00:00:00+00	1	x	3
\.
SELECT count(*) FROM copied;

-- An INSERT does not see the rows that it adds; RETURNING, defaults and generated columns work.
TRUNCATE t;
INSERT INTO t SELECT * FROM h LIMIT 10;
INSERT INTO t SELECT * FROM t;
SELECT count(*) FROM t;
CREATE TABLE extras
(
	id int8 GENERATED ALWAYS AS IDENTITY, a int4 DEFAULT 7, twice int4 GENERATED ALWAYS AS (a * 2) STORED,
	CHECK (a > 0)
) USING profstore;
INSERT INTO extras DEFAULT VALUES RETURNING *;
INSERT INTO extras (a) VALUES (1), (2) RETURNING id, twice;
INSERT INTO extras (a) VALUES (-1);
INSERT INTO extras (a) VALUES (5) ON CONFLICT DO NOTHING RETURNING a;
TABLE extras ORDER BY id;

-- With a small buffer, several segments are written during one statement; the rows are the same.
SET profstore.write_buffer_size = '64kB';
TRUNCATE t;
INSERT INTO t SELECT * FROM h;
SELECT count(*) > 10 AS many, sum(row_count) FROM profstore.segments
WHERE storage_id = (SELECT max(storage_id) FROM profstore.segments);
SELECT count(*) FROM (SELECT * FROM h EXCEPT ALL SELECT * FROM t) x;
RESET profstore.write_buffer_size;

-- Triggers: BEFORE ROW may change the row, AFTER STATEMENT sees all rows.
CREATE FUNCTION add_thousand() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.a := NEW.a + 1000;
	RETURN NEW;
END $$;
CREATE FUNCTION tell_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE 'inserted: % rows, sum %', (SELECT count(*) FROM fresh), (SELECT sum(a) FROM fresh);
	RETURN NULL;
END $$;
CREATE TRIGGER change BEFORE INSERT ON plain FOR EACH ROW EXECUTE FUNCTION add_thousand();
CREATE TRIGGER tell AFTER INSERT ON plain REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT
	EXECUTE FUNCTION tell_rows();
INSERT INTO plain VALUES (1, 1), (2, 2);
COPY plain FROM STDIN;
3	3
4	4
\.
SELECT * FROM plain WHERE a > 1000 ORDER BY a;
