-- Generates a stack dictionary like that of a fleet: many builds of programs, each with a dictionary partition, filled by several
-- interning transactions.
--
--   psql -v partitions=2000 -v templates=8 -v stacks=2600 -f dictionary.sql      in a database with the extension
--
-- 2,600 stacks of 10 to 40 frames make about 25,000 nodes: outer frames are shared by many stacks, the inner ones are a stack's
-- own. Programs have 5,000 frames each; 40 sets of them, since builds share libraries. As many
-- partitions as "templates" go through the interning functions; the others are copies of them, row by row. All numbers come from hashes,
-- so two runs make the same stacks.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;

-- stacks of a partition, leaf first; frames are numbers 0 .. 4999
CREATE OR REPLACE FUNCTION public.make_stacks(partition int4, first int4, last int4, OUT depths int4[], OUT frames int4[]) LANGUAGE sql AS $$
	WITH stack AS MATERIALIZED
		(SELECT s, 10 + (hashint8extended(s, partition) & 31)::int4 % 31 AS depth FROM generate_series(first, last) AS s)
	SELECT (SELECT array_agg(depth ORDER BY s) FROM stack),
		(SELECT array_agg((hashint8extended(((s >> greatest(0, 12 - d * 2 / 3))::int8 << 8) + d, partition) & 1048575)::int4 % 5000 ORDER BY s, d DESC)
		 FROM stack, generate_series(1, depth) AS d)
$$;

CREATE OR REPLACE FUNCTION public.make_locations() RETURNS int4[] LANGUAGE sql AS $$
	SELECT array_agg(l ORDER BY part, ord)
	FROM generate_series(0, 9) AS part,
		LATERAL (SELECT array_agg(part * 20000 + i) AS items FROM generate_series(1, 20000) AS i) AS n,
		LATERAL unnest(profstore.intern_locations(
			array(SELECT 0 FROM unnest(n.items)), array(SELECT 0::int8 FROM unnest(n.items)), array(SELECT 1 FROM unnest(n.items)),
			profstore.intern_functions(
				array(SELECT 'library_' || i / 5000 || '::module_' || i / 50 || '::function_' || i FROM unnest(n.items) AS i),
				array(SELECT '_ZN' || i FROM unnest(n.items) AS i),
				array(SELECT 'src/module_' || i / 50 || '.cc' FROM unnest(n.items) AS i), array(SELECT i FROM unnest(n.items) AS i)),
			array(SELECT i % 400 FROM unnest(n.items) AS i))) WITH ORDINALITY AS u(l, ord)
$$;

CREATE OR REPLACE FUNCTION public.intern(partition int4, first int4, last int4, locations int4[]) RETURNS int8[] LANGUAGE sql AS $$
	SELECT profstore.intern_stacks('build_' || partition, m.depths,
		array(SELECT locations[1 + partition % 40 * 5000 + f] FROM unnest(m.frames) WITH ORDINALITY AS u(f, ord) ORDER BY ord))
	FROM public.make_stacks(partition, first, last) AS m
$$;

CREATE OR REPLACE PROCEDURE public.make_dictionary(partitions int4, templates int4, stacks int4) LANGUAGE plpgsql AS $$
DECLARE
	locations int4[] := public.make_locations();
BEGIN
	COMMIT;
	FOR round IN 0 .. 9 LOOP
		FOR partition IN 0 .. templates - 1 LOOP
			PERFORM public.intern(partition, round * stacks / 10, (round + 1) * stacks / 10 - 1, locations);
			COMMIT;
		END LOOP;
	END LOOP;

	-- a fast way: node numbers are unique only within a partition, so chunks may be copied to another one
	FOR copy IN templates .. partitions - 1 BY templates LOOP
		WITH made AS (INSERT INTO profstore.dictionary_partitions (key)
					  SELECT 'build_' || copy + t FROM generate_series(0, least(templates, partitions - copy) - 1) AS t RETURNING id, key)
		INSERT INTO profstore.stack_chunks
		SELECT m.id, c.node_count, c.first_node, c.last_node, c.xid, c.payload
		FROM made AS m
			JOIN profstore.dictionary_partitions AS p ON p.key = 'build_' || substr(m.key, 7)::int4 - copy
			JOIN profstore.stack_chunks AS c ON c.partition_id = p.id;
		COMMIT;
	END LOOP;
END
$$;
CALL public.make_dictionary(:partitions, :templates, :stacks);
