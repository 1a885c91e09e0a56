-- Isolation of roles: a writer cannot change rows of another writer, and a reader with a selector learns nothing about other hosts.
CREATE ROLE regress_pfs_a;
CREATE ROLE regress_pfs_b;
CREATE ROLE regress_pfs_all;
CREATE ROLE regress_pfs_team;
SELECT profstore.grant_write('regress_pfs_a'), profstore.grant_write('regress_pfs_b'),
	profstore.grant_read('regress_pfs_all'), profstore.grant_read('regress_pfs_team');
SELECT profstore.ensure_partitions('2026-03-01Z', '2026-03-01Z');
\set VERBOSITY terse

-- which role owns a row, also in functions that run as their owner
CREATE FUNCTION public.as_owner() RETURNS text LANGUAGE sql SECURITY DEFINER RETURN current_user || ', for ' || profstore.calling_role();
SELECT profstore.calling_role() = session_user AS mine;
SET ROLE regress_pfs_a;
SELECT profstore.calling_role(), replace(public.as_owner(), (SELECT rolname FROM pg_roles WHERE oid = 10), 'superuser') AS as_owner;
RESET ROLE;
DROP FUNCTION public.as_owner();

-- batches of a writer belong to its role
SET ROLE regress_pfs_a;
SELECT profstore.begin_batch('00000000-0000-0000-0000-00000000000a', 1, profstore.epoch());
SET ROLE regress_pfs_b;
SELECT profstore.begin_batch('00000000-0000-0000-0000-00000000000a', 1000, profstore.epoch());
SELECT profstore.begin_batch('00000000-0000-0000-0000-00000000000a', 1, profstore.epoch());
SET ROLE regress_pfs_a;
SELECT profstore.begin_batch('00000000-0000-0000-0000-00000000000a', 2, profstore.epoch());
SELECT profstore.begin_batch('00000000-0000-0000-0000-00000000000a', 2, profstore.epoch());
RESET ROLE;
SELECT last_batch, role FROM profstore.writers;

-- equal content has one id per role
SET ROLE regress_pfs_a;
SELECT (profstore.intern_series('{cpu:cpu:nanoseconds:cpu:nanoseconds:delta}', array['{"node": "n1"}']::jsonb[], '{1}'))[1] AS series_a,
	(profstore.intern_mappings('{aa}', '{/bin/a}'))[1] AS mapping_a \gset
SET ROLE regress_pfs_b;
SELECT (profstore.intern_series('{cpu:cpu:nanoseconds:cpu:nanoseconds:delta}', array['{"node": "n1"}']::jsonb[], '{1}'))[1] AS series_b,
	(profstore.intern_mappings('{aa}', '{/bin/a}'))[1] AS mapping_b \gset
SELECT (profstore.intern_series('{cpu:cpu:nanoseconds:cpu:nanoseconds:delta}', array['{"node": "n1"}']::jsonb[], '{1}'))[1] = :series_b AS known,
	(profstore.intern_mappings('{aa}', '{/bin/a}'))[1] = :mapping_b AS known, :series_a <> :series_b AND :mapping_a <> :mapping_b AS apart;

-- symbolizers may only answer for mappings of their own role, and for none without a mapping
SELECT (profstore.intern_functions('{planted}', '{planted}', '{p.c}', '{1}'))[1] AS planted \gset
SELECT profstore.intern_locations(array[:mapping_a], '{16}', '{1}', array[:planted], '{1}');
SELECT cardinality(profstore.intern_locations(array[:mapping_b, 0], '{16,16}', '{1,1}', array[:planted, :planted], '{1,1}'));
SET ROLE regress_pfs_a;
SELECT (profstore.intern_mappings('{aa}', '{/bin/a}'))[1] AS mapping_a \gset
SELECT profstore.intern_locations(array[:mapping_a, 0], '{16,16}', '{0,0}', '{}', '{}') AS locations_a \gset
-- interning does not return ids of another role's known locations
SELECT profstore.intern_locations(array[:mapping_b], '{16}', '{1}', array[:planted], '{1}');
RESET ROLE;
SELECT mapping = 0 AS nowhere, function_ids, symbolization FROM profstore.locations WHERE id = ANY (:'locations_a'::int4[]) ORDER BY 1;

-- times and notes of series: only those of the own role, and only values that samples may have
SET ROLE regress_pfs_b;
SELECT profstore.touch_series(array[:series_a], '2026-01-01Z', '2026-01-01Z');
SELECT profstore.keep_file_notes(array[:series_b, :series_a], '{planted}', '', '', '', '');
\set VERBOSITY sqlstate
SELECT profstore.touch_series(array[:series_b], '2026-01-01Z', 'infinity');
SELECT profstore.touch_series(array[:series_b], '-infinity', '2026-01-01Z');
SELECT profstore.touch_series(array[:series_b], '1969-12-31Z', '2026-01-01Z');
SELECT profstore.touch_series(array[:series_b], '2026-01-02Z', '2026-01-01Z');
SELECT profstore.touch_series(array[:series_b], now(), now() + interval '8 days');
\set VERBOSITY terse
SELECT profstore.touch_series(array[:series_b], '2026-01-01Z', now() + interval '6 days');
SELECT profstore.keep_file_notes(array[:series_b], '{mine}', '', '', '', '');
RESET ROLE;
SELECT n.series_id = :series_b AS own, n.comments FROM profstore.file_notes AS n;
SELECT s.id = :series_b AS own, s.first_seen IS NOT DISTINCT FROM '2026-01-01Z' AS touched FROM profstore.series AS s WHERE s.id IN (:series_a, :series_b) ORDER BY s.id;

-- views combine equal content of two roles
SET ROLE regress_pfs_a;
SELECT (profstore.intern_locations(array[:mapping_a], '{32}', '{0}', '{}', '{}'))[1] AS place_a \gset
SELECT (profstore.intern_stacks('aa', '{1}', array[:place_a]))[1] AS stack_a \gset
INSERT INTO profstore.samples VALUES ('2026-03-01 12:00Z', :series_a, :stack_a, 1);
SET ROLE regress_pfs_b;
SELECT (profstore.intern_locations(array[:mapping_b], '{32}', '{0}', '{}', '{}'))[1] AS place_b \gset
SELECT (profstore.intern_stacks('aa', '{1}', array[:place_b]))[1] AS stack_b \gset
INSERT INTO profstore.samples VALUES ('2026-03-01 12:00Z', :series_b, :stack_b, 2);
SET ROLE regress_pfs_all;
SELECT :stack_a <> :stack_b AS apart;
SELECT stack, value FROM profstore.folded('cpu:cpu:nanoseconds:cpu:nanoseconds:delta{}', '2026-03-01Z', '2026-03-02Z');
SELECT count(*) FROM profstore.series('cpu:cpu:nanoseconds:cpu:nanoseconds:delta{}');

-- samples may name any series id: the work for them is limited by the size of the dictionary
SET ROLE regress_pfs_b;
INSERT INTO profstore.samples VALUES ('2026-03-01 12:00Z', 2147483647, 0, 1);
RESET ROLE;
SELECT octet_length(r.series) < 1000 AS small, profstore_internal.has_id(r.series, :series_a) AND profstore_internal.has_id(r.series, :series_b) AS marked
FROM profstore_internal.referenced_by_tables(array['profstore.samples'::regclass::oid], '{stack_id}') AS r;

-- tables about hosts: a writer sees and changes rows of its own role
INSERT INTO profstore.targets (name, role) VALUES ('n2', '');
SET ROLE regress_pfs_a;
INSERT INTO profstore.targets AS t (name, health) VALUES ('n1', 'up') ON CONFLICT (name, role) DO UPDATE SET health = 'up';
INSERT INTO profstore.targets AS t (name, health) VALUES ('n1', 'up') ON CONFLICT (name, role) DO UPDATE SET last_seen = greatest(t.last_seen, excluded.last_seen);
INSERT INTO profstore.losses (node, reason, count) VALUES ('n1', 'x', 1);
SET ROLE regress_pfs_b;
INSERT INTO profstore.targets AS t (name, health) VALUES ('n1', 'down'), ('n3', 'up') ON CONFLICT (name, role) DO UPDATE SET health = excluded.health;
INSERT INTO profstore.losses (node, reason, count) VALUES ('n3', 'x', 3);
INSERT INTO profstore.unwind_counts (day, node, exe, stacks, complete) VALUES (current_date, 'n1', '/a', 2, 1), (current_date, 'n3', '/a', 2, 1);
INSERT INTO profstore.losses (node, reason, count, role) VALUES ('n1', 'x', 1, 'regress_pfs_a');
UPDATE profstore.targets SET health = 'down';
SELECT name, health, role FROM profstore.targets ORDER BY name;
SET ROLE regress_pfs_a;
INSERT INTO profstore.unwind_counts AS c (day, node, exe, stacks, complete) VALUES (current_date, 'n1', '/a', 1, 1)
	ON CONFLICT (day, node, exe, role) DO UPDATE SET stacks = c.stacks + excluded.stacks, complete = c.complete + excluded.complete;
SELECT name, health, role FROM profstore.targets ORDER BY name;
SELECT node, stacks FROM profstore.unwind_counts;

-- a reader sees all rows; with a selector, only those of hosts with series that it sees
RESET ROLE;
CREATE FUNCTION public.seen() RETURNS TABLE (what text, nodes text) LANGUAGE sql AS $$
	SELECT 'targets', string_agg(name, ',' ORDER BY name) FROM profstore.targets
	UNION ALL SELECT 'losses', string_agg(node, ',' ORDER BY node) FROM profstore.losses
	UNION ALL SELECT 'counts', string_agg(node, ',' ORDER BY node) FROM profstore.unwind_counts
	UNION ALL SELECT 'quality', string_agg(node || ' ' || stacks, ',' ORDER BY node) FROM profstore.unwind_quality $$;
SET ROLE regress_pfs_team;
SELECT * FROM public.seen();
RESET ROLE;
ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
SET ROLE regress_pfs_team;
SELECT * FROM public.seen();
RESET ROLE;
CREATE POLICY team ON profstore.series TO regress_pfs_team USING (labels ->> 'node' = 'n1');
CREATE POLICY everything ON profstore.series TO regress_pfs_all USING (true);
SET ROLE regress_pfs_team;
SELECT * FROM public.seen();
SET ROLE regress_pfs_all;
SELECT * FROM public.seen();
-- writers keep their privileges, and are not readers
SET ROLE regress_pfs_a;
INSERT INTO profstore.targets AS t (name, health) VALUES ('n1', 'up') ON CONFLICT (name, role) DO UPDATE SET last_seen = greatest(t.last_seen, excluded.last_seen);
SELECT name FROM profstore.targets;
RESET ROLE;
DROP POLICY team ON profstore.series;
DROP POLICY everything ON profstore.series;
ALTER TABLE profstore.series DISABLE ROW LEVEL SECURITY;
DROP FUNCTION public.seen();

-- plain SQL and statistics give a reader with a selector no label of a hidden series
SELECT profstore.import_folded('main;work 1', '{"service": "HIDDEN_service", "node": "HIDDEN_node", "team": "HIDDEN_team"}', '2026-03-01 12:00Z');
INSERT INTO profstore.targets (name, labels) VALUES ('HIDDEN_node', '{"service": "HIDDEN_service"}');
INSERT INTO profstore.losses (node, reason, count) VALUES ('HIDDEN_node', 'x', 1);
INSERT INTO profstore.unwind_counts (day, node, exe, stacks, complete) VALUES (current_date, 'HIDDEN_node', '/a', 1, 1);
INSERT INTO profstore.deploys (version, labels) VALUES ('1', '{"service": "HIDDEN_service"}');
ANALYZE profstore.series, profstore.dictionary_partitions, profstore.targets, profstore.losses, profstore.unwind_counts, profstore.deploys;
CREATE FUNCTION public.leaks() RETURNS TABLE (relation text, rows int8) LANGUAGE plpgsql AS $$
DECLARE
	columns text;
BEGIN
	FOR relation, columns IN
		SELECT c.oid::regclass, string_agg(format('t.%I::text', a.attname), ', ') FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
		WHERE (c.relnamespace IN ('profstore'::regnamespace, 'profstore_internal'::regnamespace) OR c.relname IN ('pg_stats', 'pg_stats_ext', 'pg_stats_ext_exprs'))
			AND c.relkind IN ('r', 'p', 'v', 'm') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
			AND has_schema_privilege(c.relnamespace, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
		GROUP BY c.oid ORDER BY c.relname
	LOOP
		EXECUTE format('SELECT count(*) FROM %s AS t WHERE concat_ws($1, %s) LIKE $2', relation, columns) INTO rows USING ' ', '%HIDDEN%';
		CONTINUE WHEN rows = 0;
		RETURN NEXT;
	END LOOP;
END $$;
SET ROLE regress_pfs_all;
SELECT relation FROM public.leaks();
RESET ROLE;
ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
CREATE POLICY team ON profstore.series TO regress_pfs_team USING (labels ->> 'node' = 'n1');
SET ROLE regress_pfs_team;
SELECT count(*) FROM profstore.series;
SELECT * FROM public.leaks();
SELECT * FROM profstore.label_values('service');
RESET ROLE;
DROP POLICY team ON profstore.series;
ALTER TABLE profstore.series DISABLE ROW LEVEL SECURITY;
DROP FUNCTION public.leaks();

-- chunks that replication or a restore adds get the number of the adding transaction, too
SET session_replication_role = replica;
INSERT INTO profstore.stack_chunks SELECT 8000000, c.node_count, c.first_node, c.last_node, '3', c.payload FROM profstore.stack_chunks AS c LIMIT 1;
RESET session_replication_role;
SELECT xid <> '3' AS stamped FROM profstore.stack_chunks WHERE partition_id = 8000000;
DELETE FROM profstore.stack_chunks WHERE partition_id = 8000000;

-- code of a role that runs in ANALYZE, CREATE INDEX, REFRESH or autovacuum has only that role's privileges
GRANT CREATE ON SCHEMA public TO regress_pfs_b;
SELECT profstore.intern_mappings('{bait}', '{/bin/bait}') IS NOT NULL AS stored;
INSERT INTO profstore.targets (name) VALUES ('bait');
SET ROLE regress_pfs_b;
CREATE FUNCTION public.planted(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN
		RAISE NOTICE '% calls as %, sees % targets', current_user, profstore.calling_role(), (SELECT count(*) FROM profstore.targets AS t WHERE t.name = 'bait');
		RETURN cardinality(profstore.intern_mappings('{bait}', '{/bin/bait}'));
	EXCEPTION WHEN insufficient_privilege THEN
		RAISE NOTICE '%', SQLERRM;
		RETURN 0;
	END $$;
CREATE TABLE public.bait AS SELECT 1 AS i;
CREATE MATERIALIZED VIEW public.caught AS SELECT public.planted(1), t.name FROM (SELECT 1) AS one LEFT JOIN profstore.targets AS t ON t.name = 'bait' WITH NO DATA;
RESET ROLE;
CREATE INDEX bait_planted ON public.bait (public.planted(i));
ANALYZE public.bait;
REFRESH MATERIALIZED VIEW public.caught;
SELECT * FROM public.caught;
SELECT count(*) FROM profstore.mappings AS m WHERE m.build_id = 'bait';
DROP MATERIALIZED VIEW public.caught;
DROP TABLE public.bait;
DROP FUNCTION public.planted(int);
REVOKE CREATE ON SCHEMA public FROM regress_pfs_b;
-- a function of one role that others call neither reads nor stores as the caller
SET ROLE regress_pfs_b;
INSERT INTO profstore.targets (name) VALUES ('of b');
RESET ROLE;
CREATE FUNCTION public.of_b() RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	INSERT INTO profstore.losses (node, reason, count) VALUES ('b', 'x', 1);
	SELECT string_agg(name, ',') FROM profstore.targets WHERE name LIKE 'of _' $$;
ALTER FUNCTION public.of_b() OWNER TO regress_pfs_b;
SET ROLE regress_pfs_a;
INSERT INTO profstore.targets (name) VALUES ('of a');
SELECT public.of_b();
RESET ROLE;
DROP FUNCTION public.of_b();
SELECT role FROM profstore.losses WHERE node = 'b';

DROP OWNED BY regress_pfs_a, regress_pfs_b, regress_pfs_all, regress_pfs_team;
DROP ROLE regress_pfs_a, regress_pfs_b, regress_pfs_all, regress_pfs_team;
