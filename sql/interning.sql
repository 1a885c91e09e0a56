-- Interning: arrays go in, ids come out; equal content has one id.
SET search_path = profstore, public;

-- profile types and series
SELECT intern_profile_types('{process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta,memory:inuse_space:bytes:space:bytes,process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta}');
SELECT * FROM profile_types ORDER BY id;
SELECT intern_series('{process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta,process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta,goroutine:goroutine:count::}',
	array['{"service": "a", "node": "n1"}', '{"node": "n1", "service": "a", "zone": ""}', '{}']::jsonb[], '{1,1,0}');
SELECT intern_series('{goroutine:goroutine:count::,process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta}',
	array['{}', '{"node": "n1", "service": "a"}']::jsonb[], '{0,2}');
SELECT id, profile_type, labels, period, first_seen IS NULL AND last_seen IS NULL AS untouched FROM series ORDER BY id;

-- touching extends first_seen and last_seen, to the precision of a minute
SELECT touch_series('{1,2}', '2020-01-01 00:00Z', '2020-01-02 00:00Z');
SELECT id, first_seen = '2020-01-01 00:00Z' AS widened, last_seen = '2020-01-02 00:00Z' AS kept FROM series ORDER BY id;
SELECT now() + interval '1 day' AS tomorrow \gset
SELECT touch_series('{1}', :'tomorrow', :'tomorrow');
SELECT touch_series('{1}', :'tomorrow', :'tomorrow'::timestamptz + interval '59 s');
SELECT last_seen = :'tomorrow' AS within_a_minute FROM series WHERE id = 1;
SELECT touch_each_series('{1,2}', '{2019-01-01 00:00Z,2018-01-01 00:00Z}', '{2019-01-02 00:00Z,2018-01-02 00:00Z}');
SELECT id, first_seen FROM series ORDER BY id;
SELECT touch_each_series('{1,2}', '{2019-01-01 00:00Z}', '{2019-01-02 00:00Z}');
SELECT touch_each_series('{1}', '{1969-01-01 00:00Z}', '{2019-01-02 00:00Z}');

-- mappings, functions
SELECT intern_mappings('{aa,bb,aa,""}', '{/bin/a,/bin/b,/bin/a,[vdso]}');
SELECT intern_mappings('{bb,bb}', '{/bin/b,/bin/c}');
SELECT intern_functions('{main,f,main}', '{main,_Z1fv,main}', '{a.c,a.cc,a.c}', '{1,2,1}');
SELECT intern_functions('{main,main}', '{main,main}', '{a.c,a.c}', '{1,7}');

-- locations: the counts of lines divide the arrays of functions and lines
SELECT intern_locations('{1,1,2,0}', '{16,32,16,0}', '{1,2,0,1}', '{1,2,1,2}', '{5,6,7,0}') AS first \gset
SELECT mapping, address, function_ids, lines, symbolization FROM locations ORDER BY mapping, address;
SELECT intern_locations('{1,1,2,0}', '{16,32,16,0}', '{1,2,0,1}', '{1,2,1,2}', '{5,6,7,0}') = :'first' AS same;
-- without lines, a stored location at the address is used, a symbolized one first
SELECT intern_locations('{2}', '{16}', '{1}', '{2}', '{9}') AS symbolized \gset
SELECT intern_locations('{2,1}', '{16,32}', '{0,0}', '{}', '{}') = :'symbolized'::int4[] || (:'first'::int4[])[2] AS same;
-- frames without an address differ by their lines; addresses of the upper half are negative
SELECT cardinality(array(SELECT DISTINCT unnest(intern_locations('{0,0,0}', '{0,0,0}', '{1,1,1}', '{1,2,1}', '{0,0,1}'))));
SELECT intern_locations('{1}', '{-2130706432}', '{0}', '{}', '{}') = intern_locations('{1}', '{-2130706432}', '{0}', '{}', '{}') AS same;
-- empty arrays return no ids
SELECT intern_series('{}', '{}', '{}'), intern_mappings('{}', '{}'), intern_functions('{}', '{}', '{}', '{}'),
	intern_locations('{}', '{}', '{}', '{}', '{}'), intern_stacks('p', '{}', '{}');

-- stacks come leaf first; the node of the leaf stands for the stack, and outer frames are shared as a prefix
SELECT intern_stacks('exe', '{2,1,0,3}', '{1,2,2,3,1,2}') AS ids \gset
SELECT id % (1::int8 << 40) AS node, parent % (1::int8 << 40) AS parent, location FROM stacks ORDER BY id;
SELECT array(SELECT unnest(:'ids'::int8[]) % (1::int8 << 40)) AS nodes;
SELECT intern_stacks('exe', '{3,1,2}', '{3,1,2,2,1,2}') = array[(:'ids'::int8[])[4], (:'ids'::int8[])[2], (:'ids'::int8[])[1]] AS same;
-- another partition has other ids
SELECT array(SELECT unnest(intern_stacks('other', '{2}', '{1,2}')) >> 40) AS partition;
SELECT id, key FROM dictionary_partitions ORDER BY id;

-- several partitions in one call
SELECT intern_stacks_by_partition('{exe,third,exe,other}', '{2,1,0,1}', '{2,0,1,2}', '{1,2,3,1,2}') AS several \gset
SELECT (:'several'::int8[])[1] = (intern_stacks('exe', '{2}', '{1,2}'))[1] AS same, (:'several'::int8[])[2] AS empty,
	(:'several'::int8[])[3] = (intern_stacks('third', '{1}', '{3}'))[1] AS same, (:'several'::int8[])[4] = (intern_stacks('other', '{2}', '{1,2}'))[1] AS same;
SELECT intern_stacks_by_partition('{}', '{}', '{}', '{}');
SELECT key FROM dictionary_partitions ORDER BY id;

-- calls that are refused
\set VERBOSITY terse
SELECT intern_stacks_by_partition('{exe}', '{1,1}', '{1,1}', '{1,1}');
SELECT intern_stacks_by_partition('{exe}', '{2}', '{1}', '{1}');
SELECT intern_stacks_by_partition('{exe,NULL}', '{1,0}', '{1}', '{1}');
SELECT intern_stacks_by_partition('{exe}', '{-1}', '{1}', '{1}');
SELECT intern_stacks_by_partition('{exe}', '{1}', '{2}', '{1}');
SELECT intern_stacks_by_partition('{exe,""}', '{1,0}', '{1}', '{1}');
SELECT intern_profile_types('{a:b:c:d}');
SELECT intern_profile_types('{a:b:c:d:e:f}');
SELECT intern_profile_types('{"a:b{:c:d:e"}');
SELECT intern_profile_types('{":b:c:d:e"}');
SELECT intern_series('{a:b:c:d:e}', array['[]']::jsonb[], '{1}');
SELECT intern_series('{a:b:c:d:e}', array['"a"']::jsonb[], '{1}');
SELECT intern_series('{a:b:c:d:e}', array['{"0a": "x"}']::jsonb[], '{1}');
SELECT intern_series('{a:b:c:d:e}', array['{"a-b": "x"}']::jsonb[], '{1}');
SELECT intern_series('{a:b:c:d:e}', array['{"": "x"}']::jsonb[], '{1}');
SELECT intern_series('{a:b:c:d:e}', array['{"a": {"b": "c"}}']::jsonb[], '{1}');
SELECT intern_series('{a:b:c:d:e}', array['{"a": null}']::jsonb[], '{1}');
SELECT intern_series('{a:b:c:d:e}', array['{"a": 1}']::jsonb[], '{1}');
SELECT intern_series('{a:b:c:d:e}', array['{}', '{}']::jsonb[], '{1}');
SELECT intern_mappings('{a,NULL}', '{b,c}');
SELECT intern_mappings('{{a},{b}}', '{{a},{b}}');
SELECT intern_locations('{1}', '{1}', '{2}', '{1}', '{1}');
SELECT intern_locations('{1}', '{1}', '{-1}', '{1}', '{1}');
SELECT intern_locations('{1}', '{1}', '{1}', '{99}', '{1}');
SELECT intern_locations('{99}', '{1}', '{0}', '{}', '{}');
SELECT intern_stacks('', '{1}', '{1}');
SELECT intern_stacks(repeat('x', 256), '{1}', '{1}');
SELECT intern_stacks('exe', '{2}', '{1}');
SELECT intern_stacks('exe', '{-1}', '{}');
SELECT intern_stacks('exe', '{1}', '{NULL}');
SELECT intern_stacks('exe', '{2}', '{1,9999}');
SELECT intern_stacks('exe', '{1}', '{-5}');
SELECT intern_stacks('exe', '{1}', '{0}');
\set VERBOSITY default
-- a failed call stores nothing
SELECT count(*) FROM stacks;

-- random stacks, which the view returns frame by frame
SELECT setseed(0.25);
SELECT count(*) FROM unnest(intern_locations((SELECT array_agg(1) FROM generate_series(1, 200)),
	(SELECT array_agg(1000 + g) FROM generate_series(1, 200) AS g), (SELECT array_agg(0) FROM generate_series(1, 200)), '{}', '{}'));
CREATE TABLE public.wanted AS
	SELECT n, d.depth, array(SELECT (1 + floor(random() * (3 + 2 * (d.depth % 4))))::int4 + 6 FROM generate_series(1, d.depth)) AS frames
	FROM generate_series(1, 3000) AS n, LATERAL (SELECT (floor(random() * 12) + 0 * n)::int4 AS depth) AS d;
ALTER TABLE public.wanted ADD COLUMN id int8;
-- in calls of 500 stacks, with cold and with warm caches
DO $$
DECLARE
	first int;
	ids int8[];
BEGIN
	FOR first IN SELECT generate_series(1, 3000, 500) LOOP
		SELECT profstore.intern_stacks('random', array_agg(w.depth ORDER BY w.n),
			coalesce((SELECT array_agg(f.frame ORDER BY v.n, f.ord) FROM public.wanted AS v, unnest(v.frames) WITH ORDINALITY AS f(frame, ord)
					  WHERE v.n BETWEEN first AND first + 499), '{}'))
		INTO ids FROM public.wanted AS w WHERE w.n BETWEEN first AND first + 499;
		UPDATE public.wanted SET id = ids[n - first + 1] WHERE n BETWEEN first AND first + 499;
	END LOOP;
END
$$;
WITH RECURSIVE tree AS MATERIALIZED (SELECT * FROM stacks),
walk AS (
	SELECT DISTINCT w.id AS leaf, w.id AS at, '{}'::int4[] AS frames FROM public.wanted AS w
	UNION ALL
	SELECT walk.leaf, t.parent, walk.frames || t.location FROM walk JOIN tree AS t ON t.id = walk.at)
SELECT count(*) AS stacks, count(*) FILTER (WHERE w.frames <> b.frames) AS wrong, count(DISTINCT w.frames) = count(DISTINCT w.id) AS one_id_each
FROM public.wanted AS w JOIN walk AS b ON b.leaf = w.id AND b.at = 0;
SELECT bool_and(parent < id) AS parents_first FROM stacks;
\c
SET search_path = profstore, public;
-- a new session finds all of them
SELECT intern_stacks('random', array_agg(w.depth ORDER BY w.n),
	(SELECT array_agg(f.frame ORDER BY v.n, f.ord) FROM public.wanted AS v, unnest(v.frames) WITH ORDINALITY AS f(frame, ord)))
	= array_agg(w.id ORDER BY w.n) AS same
FROM public.wanted AS w;
DROP TABLE public.wanted;

-- known and new stacks in one call, some of them twice: one id for each, in the order of the input
SELECT intern_locations('{1,1,2,1,1,1}', '{64,16,80,64,32,64}', '{1,1,0,1,2,2}', '{1,1,1,2,1,1,2}', '{3,5,3,6,7,3,4}') AS mixed \gset
SELECT array(SELECT (l.mapping, l.address, l.function_ids, l.lines)::text
	FROM unnest(:'mixed'::int4[]) WITH ORDINALITY AS i(id, ord) JOIN locations AS l USING (id) ORDER BY i.ord) AS content,
	(:'mixed'::int4[])[1] = (:'mixed'::int4[])[4] AS one_id, (:'mixed'::int4[])[2] = (:'first'::int4[])[1] AS known;
-- of equal rows, the smallest id is used for all, unless it is marked for collection
BEGIN;
INSERT INTO locations (id, mapping, address, function_ids, lines, symbolization)
	SELECT 1000 + n, 1, 16, '{1}', '{5}', 's' FROM generate_series(1, 2) AS n;
SELECT intern_locations('{1}', '{16}', '{1}', '{1}', '{5}') = (:'first'::int4[])[1:1] AS smallest;
UPDATE locations SET condemned = true WHERE id = (:'first'::int4[])[1];
SELECT intern_locations('{1}', '{16}', '{1}', '{1}', '{5}') AS smallest;
UPDATE locations SET condemned = true WHERE id > 1000;
SELECT (intern_locations('{1}', '{16}', '{1}', '{1}', '{5}'))[1] <> ALL (array[(:'first'::int4[])[1], 1001, 1002]) AS new;
ROLLBACK;

-- of two answers for one address the better one is kept, in place, after the transaction commits
SELECT names AS names_before FROM epoch \gset
SELECT (intern_functions('{sym,inl}', '{sym,inl}', '{"",a.c}', '{0,3}')) AS answers \gset
SELECT intern_locations('{1}', '{4096}', '{0}', '{}', '{}') AS place \gset
SELECT id AS place_id FROM unnest(:'place'::int4[]) AS id \gset
-- no answer, then a symbol, a line, inlined calls: still one location
SELECT intern_locations('{1}', '{4096}', '{1}', (:'answers'::int4[])[1:1], '{0}') = :'place' AS same;
SELECT function_ids = (:'answers'::int4[])[1:1] AS changed, lines, symbolization FROM locations WHERE id = :place_id;
SELECT intern_locations('{1}', '{4096}', '{2}', ARRAY[(:'answers'::int4[])[2], (:'answers'::int4[])[1]], '{11,12}') = :'place' AS same;
SELECT function_ids = ARRAY[(:'answers'::int4[])[2], (:'answers'::int4[])[1]] AS changed, lines, symbolization FROM locations WHERE id = :place_id;
SELECT names - :names_before AS changes FROM epoch;
-- a poorer answer returns the stored location and changes nothing
SELECT intern_locations('{1,1,1}', '{4096,4096,4096}', '{0,1,1}', ARRAY[(:'answers'::int4[])[1], (:'answers'::int4[])[2]], '{0,0}')
	= array_fill(:place_id, ARRAY[3]) AS same;
SELECT lines FROM locations WHERE id = :place_id;
SELECT names - :names_before AS changes FROM epoch;
-- an equally good but different answer becomes a second location
SELECT (intern_locations('{1}', '{4096}', '{1}', (:'answers'::int4[])[1:1], '{99}'))[1] > :place_id AS another;
-- two answers in one call: the better one is kept, in either order
SELECT intern_locations('{1,1,1}', '{8192,8192,8192}', '{1,1,0}', ARRAY[(:'answers'::int4[])[1], (:'answers'::int4[])[1]], '{0,7}') AS at_once \gset
SELECT count(DISTINCT id), max(l.lines) AS lines FROM unnest(:'at_once'::int4[]) AS id JOIN locations AS l USING (id);
-- two stored before, a symbol and a line: the location with the symbol gets the line, and is used for both
INSERT INTO locations (id, mapping, address, function_ids, lines, symbolization)
	VALUES (2001, 1, 12288, (:'answers'::int4[])[1:1], '{0}', 's'), (2002, 1, 12288, (:'answers'::int4[])[1:1], '{5}', 's');
SELECT intern_locations('{1}', '{12288}', '{1}', (:'answers'::int4[])[1:1], '{0}');
SELECT id, lines FROM locations WHERE address = 12288 ORDER BY id;
-- without a build ID, answers for an address may concern different files: only "any answer" replaces "no answer"
SELECT (intern_mappings('{""}', '{/bin/unidentified}'))[1] AS path \gset
SELECT intern_locations(ARRAY[:path], '{16}', '{0}', '{}', '{}') AS first \gset
SELECT intern_locations(ARRAY[:path], '{16}', '{1}', (:'answers'::int4[])[1:1], '{0}') = :'first' AS same;
SELECT intern_locations(ARRAY[:path], '{16}', '{1}', (:'answers'::int4[])[2:2], '{3}') = :'first' AS same;
SELECT count(*), min(lines), max(lines) FROM locations WHERE mapping = :path;
-- a rolled back answer, also to a savepoint, changes nothing; of several the best is kept
SELECT intern_locations('{1}', '{20480}', '{1}', (:'answers'::int4[])[1:1], '{0}') AS kept \gset
BEGIN;
SAVEPOINT s;
SELECT intern_locations('{1}', '{20480}', '{1}', (:'answers'::int4[])[1:1], '{1}') = :'kept' AS same;
ROLLBACK TO s;
SAVEPOINT s;
SELECT intern_locations('{1}', '{20480}', '{1}', (:'answers'::int4[])[1:1], '{2}') = :'kept' AS same;
RELEASE s;
SELECT intern_locations('{1}', '{20480}', '{1}', (:'answers'::int4[])[1:1], '{3}') = :'kept' AS same;
SELECT lines AS not_yet FROM locations WHERE address = 20480;
COMMIT;
SELECT lines FROM locations WHERE address = 20480;
-- if a savepoint takes back the better answer, the earlier one is valid again; answers of that subtransaction are compared again
SELECT (:'answers'::int4[])[1] AS sym, (:'answers'::int4[])[2] AS inl \gset
SELECT cardinality(intern_locations('{1,1,1,1,1}', '{28673,28674,28675,28676,28677}', '{0,0,0,0,0}', '{}', '{}')) AS places;
BEGIN;
SELECT intern_locations('{1,1,1}', '{28673,28674,28675}', '{1,1,1}', ARRAY[:sym, :sym, :sym], '{0,0,6}') IS NOT NULL AS told;
SAVEPOINT s;
SELECT intern_locations('{1,1,1,1,1}', '{28673,28674,28675,28676,28677}', '{1,1,1,1,1}', ARRAY[:inl, :inl, :inl, :inl, :inl], '{7,7,0,7,7}') IS NOT NULL AS told;
SAVEPOINT t;
SELECT intern_locations('{1,1}', '{28673,28677}', '{1,1}', ARRAY[:sym, :sym], '{8,8}') IS NOT NULL AS told;
ROLLBACK TO t;
ROLLBACK TO s;
SELECT intern_locations('{1,1}', '{28674,28676}', '{1,1}', ARRAY[:sym, :inl], '{9,0}') IS NOT NULL AS told;
COMMIT;
SELECT address, function_ids = ARRAY[:sym] AS sym, lines FROM locations WHERE address BETWEEN 28673 AND 28677 ORDER BY address;
BEGIN;
SELECT intern_locations('{1}', '{28677}', '{1}', ARRAY[:sym], '{0}') IS NOT NULL AS told;
SAVEPOINT s;
SELECT intern_locations('{1,1}', '{28673,28677}', '{1,1}', ARRAY[:inl, :inl], '{7,7}') IS NOT NULL AS told;
RELEASE s;
COMMIT;
SELECT address, function_ids = ARRAY[:sym] AS sym, lines FROM locations WHERE address IN (28673, 28677) ORDER BY address;
-- an answer that is given repeatedly is stored once
BEGIN;
SELECT count(intern_locations('{1,1}', '{20480,28676}', '{1,1}', ARRAY[:sym, :inl], ARRAY[3, 5 + n])) FROM generate_series(1, 10000) AS n;
SELECT sum(used_bytes) < 100000 AS small FROM pg_backend_memory_contexts WHERE name = 'TopTransactionContext';
COMMIT;
SELECT lines FROM locations WHERE address = 28676;
-- a function id that does not exist
SELECT (intern_locations('{1}', '{24576}', '{0}', '{}', '{}')) IS NOT NULL AS stored;
SELECT intern_locations('{1}', '{24576}', '{1}', '{99999}', '{1}');
SELECT function_ids, symbolization FROM locations WHERE address = 24576;
