-- The objects on which odd_arguments.pl calls functions: samples of several types in partitions, in tiers and waiting, tables of every
-- kind, and bytes to damage. Database "fuzz" has all of them with the extension; "empty" has no samples.
SET client_min_messages = error;
SET timezone = 'UTC';
CREATE SCHEMA fuzz;
GRANT ALL ON SCHEMA fuzz TO PUBLIC;
SET search_path = fuzz;

-- Profiles by name: stacks are written root first, "main;work".
CREATE FUNCTION put_stack(stack text) RETURNS int8 LANGUAGE plpgsql AS
$$
DECLARE
	names text[] := string_to_array(stack, ';');
	depth int := cardinality(names);
	mapping int := (profstore.intern_mappings('{a1b2}', '{/usr/lib/libc.so.6}'))[1];
	locations int[];
BEGIN
	locations := profstore.intern_locations(array_fill(mapping, ARRAY[depth]), array(SELECT ord::int8 * 4096 FROM generate_series(1, depth) AS ord),
		array_fill(1, ARRAY[depth]), profstore.intern_functions(names, names, array_fill('main.c'::text, ARRAY[depth]), array_fill(7, ARRAY[depth])),
		array_fill(8, ARRAY[depth]));
	RETURN (profstore.intern_stacks('tool', ARRAY[depth], array(SELECT l FROM unnest(locations) WITH ORDINALITY AS u(l, ord) ORDER BY ord DESC)))[1];
END
$$;

-- Rows for every quarter of an hour of four days.
CREATE FUNCTION put_samples(profile_type text, labels jsonb, stacks int8[]) RETURNS void LANGUAGE plpgsql AS
$$
DECLARE
	series int := (profstore.intern_series(ARRAY[profile_type], ARRAY[labels], '{52631579}'))[1];
BEGIN
	INSERT INTO profstore.samples
	SELECT t, series, stacks[1 + i % cardinality(stacks)], (i % 7) * 52631579
	FROM generate_series('2026-01-01 00:00:10Z'::timestamptz, '2026-01-04 23:59Z', '15 min') WITH ORDINALITY AS g(t, i);
	PERFORM profstore.touch_series(ARRAY[series], '2026-01-01 00:00:10Z', '2026-01-04 23:59Z');
END
$$;

CREATE TABLE own (series_id int4, stack_id int8, "time" timestamptz, value int8) USING profstore;
CREATE TABLE heap (stack_id int8, other int4, value int8);
CREATE TABLE lists (id int4, stack_id int8[]);
CREATE TABLE parted ("time" timestamptz, stack_id int8) PARTITION BY RANGE ("time");
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM ('2026-01-01Z') TO ('2026-01-02Z') USING profstore;
CREATE UNLOGGED TABLE unlogged (stack_id int8);
CREATE INDEX heap_index ON heap (stack_id);
CREATE SEQUENCE numbers;
CREATE TYPE pair AS (a int4, b int8);
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE FOREIGN TABLE far (stack_id int8) SERVER nowhere;
CREATE VIEW look AS SELECT * FROM own;
CREATE MATERIALIZED VIEW seen USING profstore AS SELECT 1::int4 AS a;

SELECT NOT :empty AS filled \gset
\if :filled
SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-05Z');
SELECT array_agg(put_stack(s)) AS stacks FROM (VALUES ('main'), ('main;work'), ('main;work;memcpy'), ('main;work;malloc'), ('main;rest'),
	('main;work;work;work'), ('start;ünïcödé;std::vector<std::pair<int, long>>::push_back(int)'), ('a;b;c;d;e;f;g;h'),
	('main;main;main'), ('a;a;a'), ('b;b;b')) AS v(s) \gset
SELECT put_samples('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '{"node": "a", "comm": "postgres"}', :'stacks');
SELECT put_samples('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '{"node": "b", "comm": "it''s"}', :'stacks');
SELECT put_samples('memory:inuse_space:bytes:space:bytes', '{"node": "a"}', :'stacks');
INSERT INTO own SELECT i % 3, 1 + i % 5, '2026-01-01Z'::timestamptz + i * interval '1 s', i FROM generate_series(1, 600) AS i;
INSERT INTO heap SELECT 1 + i % 5, i, i FROM generate_series(1, 100) AS i;
SELECT profstore.track_stacks('own', 'stack_id');
SELECT profstore.compact('profstore.samples_20260101'), profstore.compact('own');
SELECT profstore.set_retention('1 day', '1000 years', '2000 years');
SELECT profstore_internal.move_to_tier('profstore.samples_20260101', 'minute'), profstore_internal.move_to_tier('profstore.samples_20260102', 'hour');
SELECT profstore_internal.drop_partition('profstore.samples_20260101', true), profstore_internal.drop_partition('profstore.samples_20260102', true);
\endif

CREATE TABLE sums AS SELECT 'delta' AS name, profstore.merge_stacks(stack_id, value) AS sums FROM profstore.samples WHERE series_id < 3
	UNION ALL SELECT 'heap', profstore.merge_stacks(stack_id, value) FROM heap;

-- Bytes to damage.
CREATE TABLE payloads (name text, bytes bytea);
INSERT INTO payloads
SELECT 'pprof', profstore.pprof('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '2026-01-01Z', '2026-01-05Z', sample_labels => true)
UNION ALL SELECT 'raw', '\x0a040801100212060a0101120105220808012204080110092a0408011003320032036370753205636f756e7432046d61696e'
UNION ALL (SELECT 'chunk', payload FROM profstore.stack_chunks LIMIT 1)
UNION ALL (SELECT 'segment', header FROM profstore.segments ORDER BY row_count DESC LIMIT 1)
UNION ALL SELECT 'sums', profstore_internal.stack_sums_send(sums) FROM sums WHERE name = 'heap'
UNION ALL SELECT 'ids', profstore_internal.referenced_by_stacks();

-- Returns the bytes with some of them changed, cut off or doubled, equal for every call with one seed.
CREATE FUNCTION spoil(of_name text, seed int4) RETURNS bytea LANGUAGE plpgsql STABLE SET statement_timeout = 0 AS
$$
DECLARE
	spoiled bytea := (SELECT bytes FROM fuzz.payloads WHERE name = of_name);
	size int := coalesce(length(spoiled), 0);
	dice int8 := abs(hashint4extended(seed, 1) / 2);
	at int := dice % greatest(size, 1);
BEGIN
	IF size = 0 THEN
		RETURN '\x';
	END IF;
	FOR i IN 1 .. dice % 4 LOOP
		spoiled := set_byte(spoiled, ((at::int8 * i * 31) % size)::int, ((dice >> (8 * i)) & 255)::int);
	END LOOP;
	RETURN CASE (dice / 7) % 4 WHEN 0 THEN substr(spoiled, 1, at) WHEN 1 THEN substr(spoiled, 1, at) || substr(spoiled, at / 2) ELSE spoiled END;
END
$$;

-- All stored data that this session sees: rows of every table except catalogs, the output of views and functions over the dictionary,
-- relations and privileges. Sequences are left out, because a rollback does not reset them; so are states of health, which the
-- background worker records at any time.
CREATE FUNCTION stored() RETURNS text LANGUAGE plpgsql SECURITY DEFINER
	SET search_path = pg_catalog SET timezone = 'UTC' SET datestyle = 'ISO' SET intervalstyle = 'postgres' SET work_mem = '16MB' SET row_security = on
	SET client_min_messages = error SET default_transaction_read_only = off AS
$$
DECLARE
	relation record;
	sum numeric;
	all_of text := '';
BEGIN
	FOR relation IN SELECT c.oid::regclass AS name, c.relkind, format('%s %s %s', c.oid::regclass, c.relkind, c.relacl) AS shown FROM pg_class AS c
		WHERE c.relnamespace IN ('profstore'::regnamespace, 'fuzz'::regnamespace) ORDER BY c.oid::regclass::text LOOP
		sum := NULL;
		IF relation.relkind = 'r' AND relation.name::text NOT IN ('profstore.segments', 'profstore.health_states') OR relation.name = 'profstore.stacks'::regclass THEN
			EXECUTE format('SELECT sum(hashtextextended(t::text, 0)::numeric) FROM %s AS t', relation.name) INTO sum;
		END IF;
		all_of := all_of || relation.shown || coalesce(sum::text, '') || E'\n';
	END LOOP;
	SELECT concat(all_of, sum(hashtextextended(concat(p.oid, p.proacl), 0)::numeric)) INTO all_of FROM pg_proc AS p WHERE p.pronamespace IN ('profstore'::regnamespace, 'profstore_internal'::regnamespace);
	SELECT concat(all_of, sum(hashtextextended(concat(s.series_id, s.profile_type, s.unit, s.labels, s.period, s.first_seen, s.last_seen), 0)::numeric))
		INTO all_of FROM profstore.matching_series(NULL) AS s;
	FOR relation IN SELECT DISTINCT t.profile_type FROM profstore.profile_types() AS t ORDER BY 1 LOOP
		BEGIN
			SELECT concat(all_of, sum(hashtextextended(concat(f), 0)::numeric)) INTO all_of
			FROM profstore.folded(relation.profile_type, '2025-01-01Z', '2027-01-01Z') AS f;
		EXCEPTION WHEN OTHERS THEN
			IF sqlstate = 'XX000' THEN
				RAISE;
			END IF;
			all_of := all_of || sqlerrm;
		END;
	END LOOP;
	RETURN md5(all_of);
END
$$;
-- Memory of this session beyond its transaction, without caches of the catalog, which grow when relations are created and dropped.
CREATE FUNCTION held() RETURNS int8 LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS
$$
	SELECT sum(used_bytes)::int8 FROM pg_backend_memory_contexts
	WHERE name IN ('TopMemoryContext', 'SPI Plan', 'CachedPlanSource', 'CachedPlanQuery', 'CachedPlan') OR name ILIKE 'profstore%'
$$;

-- Resources that a session must not hold at its end: files, locks.
CREATE FUNCTION left_over() RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS
$$
	SELECT concat((SELECT string_agg(name, ' ') FROM pg_ls_tmpdir()),
		(SELECT string_agg(concat(locktype, mode), ' ') FROM pg_locks WHERE pid = pg_backend_pid() AND locktype NOT IN ('relation', 'virtualxid')))
$$;
GRANT SELECT ON ALL TABLES IN SCHEMA fuzz TO PUBLIC;
