-- A dictionary partition that grows while a session queries it: every answer must equal one computed from the stacks as texts.
\i sql/fixtures/preamble.sql
\i sql/fixtures/test_module.sql

-- the stored stacks as texts
CREATE TABLE stored (time timestamptz, stack text, value int8);

-- a scrape of random stacks: with few names, so that paths are shared, recursion is common, and stacks end inside others
CREATE PROCEDURE put_random(at timestamptz, stack_count int4, depth int4) LANGUAGE plpgsql AS $$
DECLARE
	stacks jsonb;
BEGIN
	SELECT jsonb_object_agg(stack, value) INTO stacks
	FROM (SELECT 'main' || string_agg(';f' || floor(random() * random() * 6)::int4, '') AS stack, min(1 + n) AS value
		FROM generate_series(1, stack_count) AS n, generate_series(1, 1 + floor(random() * depth)::int4) AS level
		GROUP BY n) AS made;
	PERFORM put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '{"node": "a"}', at, stacks);
	INSERT INTO stored SELECT at, key, value::int8 FROM jsonb_each_text(stacks);
END
$$;

-- rows of a flame graph, each with its whole path
CREATE FUNCTION ways(selector text, from_ts timestamptz, to_ts timestamptz, filter text) RETURNS TABLE (way text, value int8) LANGUAGE plpgsql AS $$
DECLARE
	names text[] := '{}';
	flame record;
BEGIN
	FOR flame IN SELECT f.level, f.label, f.value FROM profstore.flamegraph(selector, from_ts, to_ts, NULL, focus => filter) AS f WHERE f.level > 0 ORDER BY f.ord LOOP
		names := names[1:flame.level - 1] || flame.label;
		way := array_to_string(names, ';');
		value := flame.value;
		RETURN NEXT;
	END LOOP;
END
$$;

-- differences between the views and the texts over a range
CREATE FUNCTION differences(from_ts timestamptz, to_ts timestamptz, filter text DEFAULT NULL) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
	cpu text := 'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{}';
	found int8;
	sum int8 := 0;
BEGIN
	CREATE TEMP TABLE wanted ON COMMIT DROP AS
		SELECT stack, sum(value)::int8 AS value FROM stored
		WHERE time >= from_ts AND time < to_ts AND (filter IS NULL OR stack ~ ('(^|;)' || filter || '(;|$)')) GROUP BY stack;
	SELECT count(*) INTO found FROM wanted FULL JOIN profstore.folded(cpu, from_ts, to_ts, focus => '^' || filter || '$') AS got USING (stack)
	WHERE wanted.value IS DISTINCT FROM got.value;
	sum := sum + found;
	SELECT count(*) INTO found
	FROM (SELECT f AS "function", sum(value)::int8 AS total, coalesce(sum(value) FILTER (WHERE stack ~ ('(^|;)' || f || '$')), 0)::int8 AS self
		FROM wanted, LATERAL (SELECT DISTINCT f FROM string_to_table(stack, ';') AS f) AS frames GROUP BY f) AS wanted
	FULL JOIN profstore.top(cpu, from_ts, to_ts, NULL, focus => '^' || filter || '$') AS got USING ("function")
	WHERE (wanted.self, wanted.total) IS DISTINCT FROM (got.self, got.total);
	sum := sum + found;
	-- every node, with the value of all stacks that begin with its path
	SELECT count(*) INTO found
	FROM (SELECT array_to_string((string_to_array(stack, ';'))[1:level], ';') AS way, sum(value)::int8 AS value
		FROM wanted, LATERAL generate_series(1, cardinality(string_to_array(stack, ';'))) AS level GROUP BY way) AS wanted
	FULL JOIN ways(cpu, from_ts, to_ts, '^' || filter || '$') AS got USING (way)
	WHERE wanted.value IS DISTINCT FROM got.value;
	sum := sum + found;
	DROP TABLE wanted;
	RETURN sum;
END
$$;

SELECT setseed(0.5);
CREATE PROCEDURE grow(rounds int4, stack_count int4, depth int4) LANGUAGE plpgsql AS $$
DECLARE
	at timestamptz := (SELECT coalesce(max(time) + interval '1 minute', '2026-01-01 00:00Z') FROM stored);
	sum int8 := 0;
BEGIN
	FOR n IN 1 .. rounds LOOP
		CALL put_random(at, stack_count, depth);
		COMMIT;
		-- all samples, only the newest scrape (few stacks), and those that a filter keeps
		sum := sum + differences('-infinity', 'infinity') + differences(at, at + interval '1 second') + differences('-infinity', 'infinity', 'f3');
		COMMIT;
		at := at + interval '1 minute';
	END LOOP;
	RAISE INFO '% differences', sum;
END
$$;
CALL grow(10, 10, 8);
CALL grow(2, 100, 10);
-- partitions much smaller than the existing one get a tree of their own
CALL grow(8, 2, 30);
SELECT shapes > 1 AS several FROM tree_shapes();

-- a large partition grows by one stack between queries: the work depends on the new stacks, not on the partition's size
CREATE FUNCTION add_stacks(stack_count int4) RETURNS int8 LANGUAGE sql AS $$
	WITH stored AS (INSERT INTO profstore.samples
		SELECT '2026-01-01 23:00Z', (SELECT min(id) FROM profstore.series), id, 1
		FROM profstore.intern_stacks('grown', array_fill(10, ARRAY[stack_count]),
			ARRAY(SELECT ids[1 + floor(random() * cardinality(ids))::int4] FROM (SELECT array_agg(id ORDER BY id) AS ids FROM profstore.locations) AS known,
				generate_series(1, 10 * stack_count))) AS made(ids), unnest(ids) AS id
		RETURNING 1)
	SELECT count(*) FROM stored
$$;
CREATE PROCEDURE grow_by_one(rounds int4) LANGUAGE plpgsql AS $$
DECLARE
	rows int8;
BEGIN
	FOR n IN 1 .. rounds LOOP
		PERFORM add_stacks(1);
		COMMIT;
		SELECT count(*) INTO rows FROM profstore.flamegraph('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{}', '2026-01-01 23:00Z', '2026-01-02 00:00Z');
	END LOOP;
END
$$;
SELECT add_stacks(3000);
SELECT count(*) > 0 AS some FROM profstore.flamegraph('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{}', '2026-01-01 23:00Z', '2026-01-02 00:00Z');
SELECT nodes AS nodes_before, placings AS placings_before FROM tree_shapes() \gset
CALL grow_by_one(100);
SELECT nodes > 15000 AS large, nodes - :nodes_before BETWEEN 500 AND 1000 AS grown, shapes BETWEEN 3 AND 40 AS several,
	placings > :placings_before AS extended, placings - :placings_before < 30 * (nodes - :nodes_before) AS in_proportion FROM tree_shapes();
INSERT INTO stored SELECT '2026-01-01 23:00Z', stack, value FROM profstore.folded('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{}', '2026-01-01 23:00Z', '2026-01-02 00:00Z');

-- nodes of this transaction, and none after a rollback
BEGIN;
CALL put_random('2026-01-01 10:00Z', 20, 10);
SELECT differences('-infinity', 'infinity');
SAVEPOINT s;
CALL put_random('2026-01-01 11:00Z', 20, 10);
SELECT differences('-infinity', 'infinity');
ROLLBACK TO s;
SELECT differences('-infinity', 'infinity');
ROLLBACK;
SELECT differences('-infinity', 'infinity');

-- a fresh session
\c
SET client_min_messages = warning;
SELECT count(*) > 100 AS many FROM stored;
SELECT differences('-infinity', 'infinity'), differences('2026-01-01 00:05Z', '2026-01-01 00:06Z'), differences('-infinity', 'infinity', 'f1');

-- cached names are discarded when names change
\set all '''process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{}'', ''-infinity'', ''infinity'''
SELECT (SELECT count(*) > 0 FROM profstore.folded(:all, focus => '^f1$')) AS f1, (SELECT count(*) > 0 FROM profstore.folded(:all, focus => '^renamed$')) AS renamed;
UPDATE profstore.functions SET name = 'renamed' WHERE name = 'f1';
SELECT profstore.bump_names();
SELECT (SELECT count(*) > 0 FROM profstore.folded(:all, focus => '^f1$')) AS f1, (SELECT count(*) > 0 FROM profstore.folded(:all, focus => '^renamed$')) AS renamed;
SELECT count(*) FILTER (WHERE "function" = 'f1') AS f1, count(*) FILTER (WHERE "function" = 'renamed') AS renamed FROM profstore.top(:all, NULL);

-- a session that only stores stacks: the memory of its tree is at most a quarter larger than that of its nodes
\c
CREATE TABLE sizes (nodes int8, bytes int8);
CREATE PROCEDURE grow_tree(rounds int4) LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN 1 .. rounds LOOP
		PERFORM profstore.intern_stacks('stored only', array_fill(10, ARRAY[400]),
			ARRAY(SELECT ids[1 + floor(random() * cardinality(ids))::int4] FROM (SELECT array_agg(id ORDER BY id) AS ids FROM profstore.locations) AS known,
				generate_series(1, 4000)));
		COMMIT;
		INSERT INTO sizes SELECT nodes, (SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name = 'profstore stack tree') FROM tree_shapes();
	END LOOP;
END
$$;
CALL grow_tree(20);
SELECT max(nodes) > 40000 AS large, max(bytes / nodes) < 48 AS close FROM sizes WHERE nodes >= 16384;
