-- The custom scan and the custom aggregate, compared with a heap table of the same rows: every type, condition and aggregate that
-- they support, with NULLs, extreme values and rows that wait in memory, alone and in parallel.
CREATE DOMAIN small AS int4 CHECK (VALUE < 100);
CREATE TABLE h (time timestamptz, series_id int4, stack_id int8, value int8, i2 int2, i4 int4, b bool, d date, t time,
                ts timestamp, o oid, rc regclass, f4 float4, f8 float8, dom small, n int8);
CREATE TABLE c (LIKE h) USING profstore;

INSERT INTO h
SELECT CASE g % 97 WHEN 0 THEN NULL WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity' ELSE timestamptz '2026-01-01Z' + g / 7 * interval '10 s' END,
       nullif(g % 13, 5), nullif((g * 7919) % 300, 17),
       CASE g % 101 WHEN 0 THEN 9223372036854775807 WHEN 1 THEN -9223372036854775808 WHEN 2 THEN NULL ELSE (g * 31) % 5000 - 2500 END,
       CASE g % 53 WHEN 0 THEN 32767 WHEN 1 THEN -32768 WHEN 2 THEN NULL ELSE g % 100 END,
       CASE g % 59 WHEN 0 THEN 2147483647 WHEN 1 THEN -2147483648 WHEN 2 THEN NULL ELSE g % 1000 END,
       CASE g % 3 WHEN 0 THEN true WHEN 1 THEN false END,
       CASE g % 41 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN NULL ELSE date '2026-01-01' + g / 400 END,
       CASE WHEN g % 5 > 0 THEN time '00:00' + g * interval '1 s' END,
       CASE g % 43 WHEN 0 THEN 'infinity' WHEN 1 THEN NULL ELSE timestamp '2026-01-01' + g / 7 * interval '10 s' END,
       CASE g % 61 WHEN 0 THEN 4294967295 WHEN 1 THEN 0 WHEN 2 THEN NULL ELSE 2147483600 + g::int8 % 100 END::oid,
       CASE WHEN g % 2 = 0 THEN 'pg_class'::regclass END,
       CASE g % 67 WHEN 0 THEN 'NaN' WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity' WHEN 3 THEN NULL WHEN 4 THEN -0.0 WHEN 5 THEN 0 WHEN 6 THEN 0.1 ELSE g - 5000 END,
       CASE g % 71 WHEN 0 THEN 'NaN' WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity' WHEN 3 THEN NULL WHEN 4 THEN -0.0 WHEN 5 THEN 0 WHEN 6 THEN 0.1 ELSE (g - 5000) / 8.0 END,
       nullif(g % 50, 3), NULL
FROM generate_series(0, 9999) AS g;
INSERT INTO c SELECT * FROM h WHERE value % 2 = 0;
INSERT INTO c SELECT * FROM h WHERE value % 2 <> 0 OR value IS NULL;
ANALYZE h;
ANALYZE c;

-- Counts the queries that return the same rows from both tables, and names the others. @ stands for the table.
CREATE FUNCTION same(queries text[], OUT checked int, OUT differing text[], OUT without_node text[]) LANGUAGE plpgsql AS $$
DECLARE
	query text;
	expected text;
	actual text;
	line text;
	plan text;
BEGIN
	checked := 0;
	FOREACH query IN ARRAY queries LOOP
		EXECUTE format('SELECT string_agg(q::text, E''\n'' ORDER BY q::text) FROM (%s) AS q', replace(query, '@', 'h')) INTO expected;
		EXECUTE format('SELECT string_agg(q::text, E''\n'' ORDER BY q::text) FROM (%s) AS q', replace(query, '@', 'c')) INTO actual;
		checked := checked + 1;
		IF expected IS DISTINCT FROM actual THEN differing := differing || query; END IF;
		plan := '';
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '@', 'c') LOOP plan := plan || line; END LOOP;
		IF plan !~ 'Profstore(Scan|Agg)' OR (query ~ '(sum|count|min|max|avg)\(' AND plan !~ 'ProfstoreAgg') THEN without_node := without_node || query; END IF;
	END LOOP;
END
$$;

-- Conditions: each operator on each type, with constants inside the range of stored values, at its ends and outside.
CREATE TABLE quals (type text, columns text[], constants text[]);
INSERT INTO quals VALUES
	('int', '{series_id,stack_id,value,i2,i4,dom}', '{0,5,12,-32768,32767,2147483647,-2147483648,9223372036854775807,-9223372036854775808,77::int2,100::int8,NULL}'),
	('timestamptz', '{time}', '{''2026-01-01 01:00Z'',infinity,-infinity,''2026-01-01''::date,''infinity''::date,''5874897-01-01''::date,''2026-01-01 02:00''::timestamp,NULL}'),
	('timestamp', '{ts}', '{''2026-01-01 01:00'',''infinity'',''-infinity'',''2026-01-02''::date,''5874897-01-01''::date,NULL}'),
	('date', '{d}', '{''2026-01-10'',''infinity'',''-infinity'',NULL}'),
	('time', '{t}', '{''01:00'',''00:00'',''24:00'',NULL}'),
	('oid', '{o,rc}', '{0,2147483650,4294967295,1259,NULL}'),
	('float', '{f4,f8}', '{0,-0.0::float8,0.1::float8,0.1::float4,-4000,''NaN''::float8,''NaN''::float4,''infinity''::float8,''-infinity''::float8,NULL::float8}');
UPDATE quals SET constants = array_replace(array_replace(constants, 'infinity', '''infinity'''), '-infinity', '''-infinity''');
UPDATE quals SET constants = (SELECT array_agg(c || '::oid') FROM unnest(constants) AS c) WHERE type = 'oid';

CREATE VIEW queries AS
SELECT format('SELECT %s, value FROM @ WHERE %s', col, qual) AS query
FROM (SELECT col, format('%s %s %s', col, op, const) AS qual
      FROM quals, unnest(columns) AS col, unnest(constants) AS const, unnest('{=,<,<=,>,>=}'::text[]) AS op WHERE const IS NOT NULL AND const NOT LIKE 'NULL%'
      UNION ALL
      SELECT col, format('%s > %s', const, col) FROM quals, unnest(columns) AS col, unnest(constants[1:2]) AS const
      UNION ALL
      SELECT col, format('%s IN (%s, %s)', col, constants[1], constants[2]) FROM quals, unnest(columns) AS col
      UNION ALL
      SELECT col, format('%s IS %s', col, test) FROM quals, unnest(columns) AS col, unnest('{"NULL",NOT NULL}'::text[]) AS test
      UNION ALL
      SELECT 'b', qual FROM unnest('{b,NOT b,b IS NULL,b IS NOT NULL,b IS TRUE,b IS FALSE,b = (1 = 1),n IS NULL,n IS NOT NULL,n = 1,n > 0}'::text[]) AS qual
      UNION ALL
      SELECT 'i4', qual FROM unnest('{i4 BETWEEN 5 AND 500,i4 > 5 AND i2 < 50 AND b,i4 = ANY (NULL::int[]),"i4 = ANY (''{}'')","i4 = ANY (ARRAY[1,NULL,1,7])",i4 % 7 = 3 AND i2 > 50,i4 <> 7,series_id = i2,"i2 = ANY (ARRAY[70000,7])"}'::text[]) AS qual) AS all_quals;

SELECT count(*) FROM queries;
SELECT r.* FROM (SELECT array_agg(query ORDER BY query) AS list FROM queries) AS q, same(q.list) AS r;
SELECT r.* FROM (SELECT array_agg(replace(query, 'SELECT ', 'SELECT ctid IS NOT NULL, @.tableoid = ''@''::regclass, @, ') ORDER BY query) AS list FROM queries WHERE query ~ '(time|f8) (=|IN)') AS q, same(q.list) AS r;
SELECT r.* FROM (SELECT array_agg(regexp_replace(query, 'SELECT .*? FROM', 'SELECT count(*), sum(i4), min(time), max(o) FROM') ORDER BY query) AS list FROM queries WHERE query !~ ' % |<>|= i2|''NaN''') AS q, same(q.list) AS r;

-- Aggregates: each on each type, without a key and by each key, with FILTER and HAVING.
CREATE VIEW aggregates AS
SELECT format('SELECT %s FROM @ %s', list, rest) AS query
FROM (SELECT string_agg(format('%s(%s)', f, col), ', ') AS list
      FROM unnest('{sum,avg,min,max,count}'::text[]) AS f, unnest('{series_id,stack_id,value,i2,i4,dom,n}'::text[]) AS col
      UNION ALL
      SELECT string_agg(format('%s(%s)', f, col), ', ') FROM unnest('{min,max,count}'::text[]) AS f, unnest('{time,d,t,ts,o}'::text[]) AS col
      UNION ALL
      SELECT 'count(*), count(1), count(b), count(f4), count(f8), count(rc), count(time) FILTER (WHERE b), sum(value) FILTER (WHERE i4 > 500 AND f8 < 100), avg(i2) FILTER (WHERE NOT b), min(i4) FILTER (WHERE n = 1)'
      UNION ALL
      SELECT '1 + sum(i4) * 2, sum(i4) + count(*)') AS lists,
     unnest('{"",WHERE series_id = 3,WHERE series_id = 300,WHERE time > ''2026-01-01 01:00Z''}'::text[]) AS rest
UNION ALL
SELECT format('SELECT %s, sum(value), count(*), avg(i4), min(i2), max(time) FROM @ GROUP BY %s', keys, keys)
FROM unnest('{series_id,stack_id,value,i2,i4,b,d,t,ts,o,rc,dom,n,time}'::text[]) AS keys
UNION ALL
SELECT format('SELECT %s, sum(value) FROM @ WHERE i4 >= 0 GROUP BY %s HAVING count(*) > 3 AND sum(i4) > 1000', keys, keys)
FROM unnest('{"series_id, b","stack_id, series_id","series_id, b, d","date_bin(''1 h'', time, ''2000-01-01'')","date_trunc(''hour'', time), b","date_bin(''1 h'', ts, ''2026-01-01 00:07'')",stack_id % 10,i4 / 100,"stack_id & 7, i2","time::date","value > 5, b"}'::text[]) AS keys;

SELECT count(*) FROM aggregates;
SELECT r.* FROM (SELECT array_agg(query ORDER BY query) AS list FROM aggregates) AS q, same(q.list) AS r;

-- Rows that wait in memory, including those of a savepoint.
BEGIN;
INSERT INTO h SELECT * FROM h WHERE series_id = 3;
INSERT INTO c SELECT * FROM c WHERE series_id = 3;
SAVEPOINT s;
INSERT INTO c SELECT * FROM c WHERE series_id = 4;
ROLLBACK TO s;
SELECT r.* FROM (SELECT array_agg(query ORDER BY query) AS list FROM queries WHERE query ~ 'series_id|f8') AS q, same(q.list) AS r;
SELECT r.* FROM (SELECT array_agg(query ORDER BY query) AS list FROM aggregates) AS q, same(q.list) AS r;
ROLLBACK;

-- In parallel.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT series_id, sum(value), avg(value) FROM c WHERE i4 > 5 GROUP BY series_id HAVING count(*) > 3 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT time FROM c WHERE i4 > 5 AND i4 % 7 = 0;
EXPLAIN (COSTS OFF) SELECT series_id % 3 * 2, sum(value) FROM c GROUP BY series_id % 3 ORDER BY 1;
SELECT series_id % 3 * 2, sum(value) FROM c GROUP BY series_id % 3 ORDER BY 1;
SELECT r.* FROM (SELECT array_agg(query ORDER BY query) AS list FROM queries WHERE query ~ 'series_id|f8') AS q, same(q.list) AS r;
SELECT checked, differing FROM (SELECT array_agg(query ORDER BY query) AS list FROM aggregates) AS q, same(q.list) AS r;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- Empty tables, and tables with only NULLs.
TRUNCATE h, c;
SELECT checked, differing FROM (SELECT array_agg(query ORDER BY query) AS list FROM aggregates) AS q, same(q.list) AS r;
INSERT INTO h (series_id) SELECT NULL FROM generate_series(1, 3000);
INSERT INTO c SELECT * FROM h;
SELECT checked, differing FROM (SELECT array_agg(query ORDER BY query) AS list FROM aggregates) AS q, same(q.list) AS r;
SELECT checked, differing FROM (SELECT array_agg(query ORDER BY query) AS list FROM queries WHERE query ~ 'NULL') AS q, same(q.list) AS r;
