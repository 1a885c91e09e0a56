-- Columnar tables as partitions, alone and together with heap partitions.
SET timezone = 'UTC';
CREATE TABLE p (time timestamptz NOT NULL, series_id int4, stack_id int8, value int8) PARTITION BY RANGE (time);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2026-01-01Z') TO ('2026-01-02Z') USING profstore;
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM ('2026-01-02Z') TO ('2026-01-03Z') USING profstore;
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM ('2026-01-03Z') TO ('2026-01-04Z');
INSERT INTO p
SELECT '2026-01-01Z'::timestamptz + i * interval '1 minute', i % 3, i % 10, i FROM generate_series(0, 4319) i;
SELECT tableoid::regclass AS part, count(*), sum(value) FROM p GROUP BY 1 ORDER BY 1;
SELECT count(*), sum(value) FROM p WHERE time >= '2026-01-01 12:00Z' AND time < '2026-01-02 12:00Z';
EXPLAIN (COSTS OFF) SELECT count(*) FROM p WHERE time >= '2026-01-02 12:00Z' AND time < '2026-01-02 13:00Z';
INSERT INTO p VALUES ('2027-01-01Z', 1, 1, 1);

-- One segment per partition and transaction, in whatever order rows of the partitions come.
SELECT row_count FROM profstore.segments ORDER BY segment_no;
COPY p FROM STDIN;
2026-01-01 00:00:00+00	1	1	1
2026-01-02 00:00:00+00	1	1	1
2026-01-01 00:00:00+00	1	1	1
2026-01-03 00:00:00+00	1	1	1
2026-01-02 00:00:00+00	1	1	1
\.
SELECT row_count FROM profstore.segments ORDER BY segment_no;

-- More partitions than COPY buffers at a time.
CREATE TABLE many (a int4, b int4) PARTITION BY LIST (a);
DO $$
BEGIN
	FOR i IN 1..80 LOOP
		EXECUTE format('CREATE TABLE many_%s PARTITION OF many FOR VALUES IN (%s) USING profstore', i, i);
	END LOOP;
END $$;
COPY many FROM PROGRAM 'awk ''BEGIN { for (i = 1; i <= 40000; i++) print i % 80 + 1 "\t" i }''';
SELECT count(*), sum(b), count(DISTINCT a) FROM many;
SELECT count(*), min(row_count), max(row_count) FROM profstore.segments WHERE row_count = 500;
DROP TABLE many;

-- DETACH and ATTACH; rows moved between access methods; DROP.
ALTER TABLE p DETACH PARTITION p1;
SELECT count(*) FROM p;
ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM ('2026-01-01Z') TO ('2026-01-02Z');
SELECT count(*) FROM p;
WITH moved AS (DELETE FROM p3 WHERE value % 2 = 0 RETURNING *)
INSERT INTO p SELECT time - interval '1 day', series_id, stack_id, value FROM moved;
SELECT tableoid::regclass AS part, count(*) FROM p GROUP BY 1 ORDER BY 1;
UPDATE p SET time = time - interval '1 day' WHERE tableoid = 'p3'::regclass AND value = 2881;
DROP TABLE p1;
TRUNCATE p;
SELECT count(*) FROM p;
SELECT count(*) FROM profstore.segments;
CREATE INDEX ON p (time);
SET enable_partitionwise_aggregate = on;
INSERT INTO p SELECT '2026-01-02Z'::timestamptz + i * interval '1 minute', i, i, i FROM generate_series(0, 2879) i;
SELECT count(*), sum(value) FROM p;
