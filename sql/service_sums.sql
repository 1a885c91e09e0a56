-- Roll-ups also replace samples for some series of a type, if no other series has their stacks.
\i sql/fixtures/preamble.sql
\set cpu 'cpu:cpu:count:cpu:count:delta'

-- stacks of one frame; the programs "web" and "own" belong to one service each, "shared" to two
CREATE TABLE programs AS
SELECT program, program || n AS name, put_stack(program || n, program) AS stack_id
FROM unnest(ARRAY['web', 'shared', 'own']) AS program, generate_series(1, 40) AS n;
CREATE TABLE services AS
SELECT node, service, (profstore.intern_series(ARRAY[:'cpu'], ARRAY[jsonb_build_object('node', node, 'service', service)], ARRAY[1::int8]))[1] AS series_id
FROM unnest(ARRAY['s1', 's2', 's3']) AS service, unnest(ARRAY['a', 'b']) AS node;
SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-01Z');
CREATE TABLE heap (LIKE profstore.samples);
SELECT setseed(0.5);
CREATE PROCEDURE insert_services(from_ts timestamptz, rows int4) LANGUAGE sql AS $$
WITH made AS
	(SELECT from_ts + floor(random() * 240) * interval '10 s', s.series_id, p.stack_id, (1e9 * random() - 1e8)::int8
	 FROM services AS s JOIN programs AS p ON s.service || p.program IN ('s1web', 's2shared', 's3shared', 's3own'), generate_series(1, rows / 320)),
	stored AS (INSERT INTO profstore.samples (time, series_id, stack_id, value) SELECT * FROM made RETURNING *)
INSERT INTO heap SELECT * FROM stored
$$;
CALL insert_services('2026-01-01 21:00Z', 60000);
SELECT profstore.compact();
CALL insert_services('2026-01-01 21:10Z', 2000);
CALL insert_services('2026-01-01 21:05Z', 2000);
SELECT profstore.compact();
SELECT width / 60000000 AS minutes, cardinality(segments) AS segments, cardinality(series) AS series, cardinality(stack_series) AS stack_series
FROM profstore.rollups ORDER BY width;
SELECT * FROM profstore.verify();

-- sums of the views compared with heap, and the segments read for them
CREATE PROCEDURE compare(labels text, from_ts timestamptz DEFAULT '2026-01-01 00:00Z') LANGUAGE plpgsql AS $$
DECLARE
	selector text := 'cpu:cpu:count:cpu:count:delta' || labels;
	wrong int8;
	right_ones int8;
	scan record;
BEGIN
	SELECT count(*) FILTER (WHERE f.value IS DISTINCT FROM h.value), count(*) FILTER (WHERE f.value = h.value) INTO wrong, right_ones
	FROM profstore.folded(selector, from_ts, '2026-01-02 00:00Z') AS f
		FULL JOIN (SELECT p.name, sum(h.value) AS value FROM heap AS h JOIN programs AS p USING (stack_id)
				   WHERE h.series_id IN (SELECT series_id FROM profstore.matching_series(selector)) AND h.time >= from_ts GROUP BY 1) AS h ON h.name = f.stack;
	SELECT * INTO scan FROM profstore.last_scan();
	RAISE WARNING '%: % right, % wrong; % segments, % skipped, % summed, % read; one block: %', labels, right_ones, wrong,
		scan.segments, scan.skipped, scan.summed, scan."read", scan.blocks_read = 1;
END
$$;
CALL compare('{}');
-- a service whose program no other service runs
CALL compare('{service="s1"}');
-- programs that another service runs too
CALL compare('{service="s2"}');
CALL compare('{service="s3"}');
-- both services of a shared program
CALL compare('{service!="s1"}');
CALL compare('{service=~"s[12]"}');
-- some of a service's series
CALL compare('{service="s1",node="a"}');
CALL compare('{service="none"}');
CALL compare('{service="s1"}', '2026-01-01 21:20Z');

-- plain SQL that counts rows
CREATE PROCEDURE compare_sql(wanted text) LANGUAGE plpgsql AS $$
DECLARE
	ids int4[] := ARRAY(SELECT series_id FROM services WHERE service ~ wanted);
	answers int8[];
BEGIN
	EXECUTE format('SELECT ARRAY[count(*), count(*) FILTER (WHERE s.value = h.value AND s.rows = h.rows)]
		FROM (SELECT stack_id, sum(value) AS value, count(*) AS rows FROM profstore.samples WHERE series_id = ANY (%1$L) GROUP BY 1) AS s
			FULL JOIN (SELECT stack_id, sum(value) AS value, count(*) AS rows FROM heap WHERE series_id = ANY (%1$L) GROUP BY 1) AS h USING (stack_id)', ids) INTO answers;
	RAISE WARNING '%: % stacks, % right', wanted, answers[1], answers[2];
END
$$;
CALL compare_sql('s1');
CALL compare_sql('s[23]');
CALL compare_sql('s[13]');

-- a second service starts to run the program of the first
BEGIN;
INSERT INTO profstore.samples SELECT time, (SELECT series_id FROM services WHERE service = 's2' AND node = 'a'), stack_id, value FROM heap
WHERE series_id IN (SELECT series_id FROM services WHERE service = 's1') LIMIT 1000;
INSERT INTO heap SELECT time, series_id, stack_id, value FROM profstore.samples EXCEPT ALL TABLE heap;
SELECT count(*) FROM heap;
CALL compare('{service="s1"}');
CALL compare('{service="s2"}');
ROLLBACK;

-- verify reports wrong service entries
BEGIN;
UPDATE profstore.rollups SET stack_series = stack_series[2:];
SELECT stream, problem FROM profstore.verify();
ROLLBACK;
-- missing service entries change no answer
UPDATE profstore.rollups SET stack_series = '{}';
CALL compare('{service="s1"}');
CALL compare('{}');
