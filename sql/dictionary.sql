-- The dictionary of stacks: chunks, caches, transactions.
SET search_path = profstore, public;
SELECT cardinality(intern_mappings('{aa}', '{/bin/a}')),
	cardinality(intern_locations((SELECT array_agg(1) FROM generate_series(1, 1000)),
		(SELECT array_agg(g) FROM generate_series(1, 1000) AS g), (SELECT array_agg(0) FROM generate_series(1, 1000)), '{}', '{}'));

-- nodes that a rolled back savepoint added are removed from tables and caches
BEGIN;
SELECT intern_stacks('exe', '{1}', '{1}') AS kept \gset
SAVEPOINT s;
SELECT intern_stacks('exe', '{2}', '{2,1}') AS dropped \gset
SELECT intern_stacks('exe', '{2}', '{2,1}') = :'dropped' AS seen_before_rollback;
SELECT intern_stacks('new', '{1}', '{7}') AS dropped_partition \gset
ROLLBACK TO s;
SELECT intern_stacks('exe', '{1}', '{1}') = :'kept' AS kept;
SELECT intern_stacks('exe', '{2}', '{2,1}') AS again \gset
SELECT (:'again'::int8[])[1] > (:'dropped'::int8[])[1] AS other_id;
SELECT intern_stacks('new', '{1}', '{7}') AS again_partition \gset
SELECT (:'again_partition'::int8[])[1] >> 40 > (:'dropped_partition'::int8[])[1] >> 40 AS other_partition;
RELEASE s;
COMMIT;
SELECT intern_stacks('exe', '{2}', '{2,1}') = :'again' AND intern_stacks('new', '{1}', '{7}') = :'again_partition' AS kept;
SELECT count(*) FROM stacks;
SELECT key FROM dictionary_partitions ORDER BY id;

-- a released savepoint within one that is rolled back
BEGIN;
SAVEPOINT a;
SAVEPOINT b;
SELECT intern_stacks('exe', '{3}', '{3,2,1}') AS dropped \gset
RELEASE b;
ROLLBACK TO a;
SELECT intern_stacks('exe', '{3}', '{3,2,1}') <> :'dropped' AS other_id;
ROLLBACK;
SELECT count(*) FROM stacks;

-- an error in the middle of a transaction
BEGIN;
SELECT cardinality(intern_stacks('exe', '{1,1}', '{10,11}'));
SELECT intern_stacks('exe', '{1}', '{123456}');
ROLLBACK;
SELECT count(*) FROM stacks;
DO $$
BEGIN
	PERFORM profstore.intern_stacks('exe', '{2}', '{20,1}');
	RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN
	PERFORM profstore.intern_stacks('exe', '{2}', '{21,1}');
END
$$;
SELECT count(*) FROM stacks WHERE location IN (20, 21);

-- locations of a rolled back transaction are not treated as stored
BEGIN;
SELECT (intern_locations('{1}', '{77777}', '{0}', '{}', '{}'))[1] AS location \gset
SELECT cardinality(intern_stacks('exe', '{1}', array[:location]));
ROLLBACK;
\set VERBOSITY sqlstate
SELECT intern_stacks('exe', '{1}', array[:location]);
\set VERBOSITY default

-- chunks: long ones are split, small ones packed together
SELECT count(*) AS nodes FROM unnest(intern_stacks('large', (SELECT array_agg(2) FROM generate_series(1, 100000)),
	(SELECT array_agg(f ORDER BY g, o) FROM generate_series(1, 100000) AS g, unnest(array[1 + g % 1000, 1 + g / 1000]) WITH ORDINALITY AS u(f, o))));
SELECT node_count, last_node - first_node + 1 >= node_count AS in_range FROM stack_chunks WHERE partition_id = (SELECT id FROM dictionary_partitions WHERE key = 'large') ORDER BY xid, first_node;
SELECT count(*), count(DISTINCT id), bool_and(parent < id) FROM stacks WHERE id >> 40 = (SELECT id FROM dictionary_partitions WHERE key = 'large');
SELECT sum(octet_length(payload)) / sum(node_count)::numeric < 6 AS packed FROM stack_chunks WHERE node_count > 10000;

-- restored rows get the number of the restoring transaction
BEGIN;
CREATE TABLE public.backup AS SELECT * FROM stack_chunks WHERE partition_id = 1;
DELETE FROM stack_chunks WHERE partition_id = 1;
UPDATE public.backup SET xid = '3';
INSERT INTO stack_chunks SELECT * FROM public.backup;
SELECT bool_and(xid = pg_current_xact_id()) AS stamped FROM stack_chunks WHERE partition_id = 1;
ROLLBACK;

-- the epochs of ids and of names
SELECT epoch() AS before \gset
SELECT bump_epoch() > :before AS later;
SELECT bump_names();
SELECT epoch() > :before AS later;
SELECT intern_stacks('exe', '{2}', '{2,1}') = :'again' AS kept;
BEGIN;
DELETE FROM epoch;
SELECT epoch();
ROLLBACK;

-- damaged chunks are reported, and their content is not used
CREATE FUNCTION public.damage(change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
BEGIN
	EXECUTE 'UPDATE profstore.stack_chunks SET ' || change || ' WHERE partition_id = 1 AND node_count = 2';
	PERFORM count(*) FROM profstore.stacks;
	RETURN 'believed';
EXCEPTION WHEN data_corrupted OR feature_not_supported THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	RETURN detail;
END
$$;
SELECT cardinality(intern_stacks('exe', '{2}', '{31,30}'));
SELECT public.damage('payload = ''''');
SELECT public.damage('payload = substr(payload, 1, 20)');
SELECT public.damage('payload = set_byte(payload, 17, 77)');
SELECT public.damage('node_count = 3');
SELECT public.damage('first_node = first_node - 1');
SELECT public.damage('last_node = last_node + 1');
SELECT public.damage('last_node = 0');
SELECT public.damage('first_node = -1');
-- each byte of a chunk damaged, and the chunk cut to each shorter length
SELECT public.damage(format('payload = set_byte(payload, %s, get_byte(payload, %s) # 255)', at, at)), count(*)
FROM (SELECT generate_series(0, octet_length(payload) - 1) AS at FROM stack_chunks WHERE partition_id = 1 AND node_count = 2) AS bytes GROUP BY 1;
SELECT public.damage(format('payload = substr(payload, 1, %s)', bytes)), count(*)
FROM (SELECT generate_series(0, octet_length(payload) - 1) AS bytes FROM stack_chunks WHERE partition_id = 1 AND node_count = 2) AS lengths GROUP BY 1 ORDER BY 1;
DROP FUNCTION public.damage(text);

-- chunks with a valid checksum and invalid content: every check after the checksum
CREATE FUNCTION public.decode(payload bytea, nodes int4) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	RETURN (SELECT string_agg(format('%s>%s@%s', n.parent % (1::int8 << 40), n.id % (1::int8 << 40), n.location), ' ')
			FROM profstore_internal.chunk_nodes(1, nodes, 65, 67, payload) AS n);
EXCEPTION WHEN data_corrupted OR feature_not_supported THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN concat_ws(': ', SQLSTATE, detail);
END
$$;
SELECT what, public.decode(decode(payload, 'hex'), nodes) FROM (VALUES
	('the example of chunk_format.h', 3, '010000000d00000003000000435a36ef020302000300010281010e0401'),
	('runs with gaps', 3, '010000001100000003000000e58a2d4a06030200010001000100010281010e0401'),
	('another version', 3, '020000000d00000003000000e4066b9d020302000300010281010e0401'),
	('a reserved bit', 3, '010200000d00000003000000aea9459e020302000300010281010e0401'),
	('a reserved byte', 3, '010001000d000000030000007baae59a020302000300010281010e0401'),
	('no nodes', 0, '010000000d00000000000000a23e1b0f020302000300010281010e0401'),
	('two nodes less', 1, '010000000d00000001000000fde2ff50020302000300010281010e0401'),
	('too many nodes', 65537, '010000000d00000001000100fc1f7137020302000300010281010e0401'),
	('a body longer than said', 3, '0100000005000000030000002bb56587020302000300010281010e0401'),
	('a body of 4 GB', 3, '01000000ffffffff030000001ca0e38f020302000300010281010e0401'),
	('no zstd frame', 3, '010100000d00000003000000cd987955020302000300010281010e0401'),
	('an empty body', 3, '01000000000000000300000054e83378'),
	('a part too long', 3, '010000000e00000003000000f346ce8ac8010302000300010281010e0401'),
	('a part of 2^64 - 1 bytes', 3, '010000001600000003000000e1a68016ffffffffffffffffff010302000300010281010e0401'),
	('a run of no nodes', 3, '010000000f0000000300000017e4eae80403020000000300010281010e0401'),
	('a run too long', 3, '010000000d0000000300000059945628020302000400010281010e0401'),
	('a run of 2^64 - 1 nodes', 3, '010000001600000003000000d4b0a54b0b030200ffffffffffffffffff0100010281010e0401'),
	('a gap over the last node', 3, '010000000f00000003000000bccb9e630403020001050200010281010e0401'),
	('a gap of 2^64 - 1', 3, '010000001800000003000000b07478460d03020002ffffffffffffffffff010100010281010e0401'),
	('a run behind the last node', 4, '010000001100000004000000af11e760040402000300010001020181010e040102'),
	('another first node', 2, '010000000b00000002000000d4a7fb050202020102000181010e04'),
	('numbers left over', 3, '010000000e00000003000000ba81963003030200030000010281010e0401'),
	('a parent before the first node', 3, '010000000d000000030000001b2f3357020302000300020281010e0401'),
	('a parent that is no less', 3, '010000000f00000003000000077287260203040003000100810186010e0401'),
	('a parent below the root', 3, '010000000d000000030000001b85149f020302000300010283010e0401'),
	('an external too few', 3, '010000000d0000000300000080faba34020302000300010081010e0401'),
	('an external too many', 3, '010000000e00000003000000da28ed8002030300030001028101020e0401'),
	('a parent too many', 3, '010000000e0000000300000062be2a3302040200030001020181010e0401'),
	('location 0', 3, '010000000d0000000300000078f2d072020302000300010281010e0d02'),
	('a location over 2^31 - 1', 3, '010000001100000003000000098e820e020302000300010281010e808080801002'),
	('a location too few', 3, '010000000c0000000300000053dbde5f020302000300010281010e04'),
	('a location too many', 3, '010000000e00000003000000f1605b31020302000300010281010e040202'),
	('a number of eleven bytes', 3, '0100000016000000030000009020779b02030b0003000102ffffffffffffffffffff010e0401')
) AS cases (what, nodes, payload);
DROP FUNCTION public.decode(bytea, int4);

-- a node whose parent is in no chunk
BEGIN;
SELECT cardinality(intern_stacks('orphan', '{1}', '{1}'));
COMMIT;
SELECT cardinality(intern_stacks('orphan', '{2}', '{2,1}'));
DELETE FROM stack_chunks WHERE ctid = (SELECT min(c.ctid) FROM stack_chunks AS c JOIN dictionary_partitions AS p ON p.id = c.partition_id WHERE p.key = 'orphan');
SELECT bump_epoch() > 0 AS bumped;
SELECT cardinality(intern_stacks('orphan', '{2}', '{2,1}'));
-- new stacks are not added below the substitute of a missing node
SELECT intern_stacks('orphan', '{1}', '{2147483647}');
SELECT intern_stacks('orphan', '{2}', '{2,2147483647}');
