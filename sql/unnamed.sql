-- Functions without a symbol, named by their start address: a symbol replaces such a name, and equal code is recognized in other builds.
\i sql/fixtures/preamble.sql

-- Two builds of one file. In the second, f has moved to the place of g; of h only the neighbours are known, of k only the build.
SELECT m[1] AS old, m[2] AS new FROM profstore.intern_mappings('{aa11,bb22}', '{/opt/hard,/opt/v2/hard}') AS m \gset
CREATE FUNCTION put_unnamed(mapping int, starts text[], keys text[]) RETURNS int[] LANGUAGE sql AS
$$
	SELECT profstore.intern_locations(array_fill(mapping, array[cardinality(starts)]), array_agg(('x' || lpad(start, 16, '0'))::bit(64)::int8 + 4 ORDER BY ord),
		array_fill(1, array[cardinality(starts)]),
		profstore.intern_functions(array_agg('hard+0x' || start ORDER BY ord), array_agg('hard+0x' || start || '#' || key ORDER BY ord),
			array_fill(''::text, array[cardinality(starts)]), array_fill(0, array[cardinality(starts)])),
		array_fill(-1, array[cardinality(starts)]))
	FROM unnest(starts, keys) WITH ORDINALITY AS u(start, key, ord)
$$;
SELECT put_unnamed(:old, '{1540,1580,15c0,1600}', '{o000000000001n0000000000f1,o000000000002n0000000000f2,n0000000000f3,b0000000000b1}') AS before \gset
SELECT put_unnamed(:new, '{1580,1700,15c0,1600}', '{o000000000001n0000000000e1,o000000000002n0000000000e2,n0000000000f3,b0000000000b2}') AS after \gset
CREATE FUNCTION put_samples(at timestamptz, build text, locations int[], VARIADIC counts int8[]) RETURNS void LANGUAGE plpgsql AS
$$
DECLARE
	series int := (profstore.intern_series('{jobs:run:count:run:count:delta}', array[jsonb_build_object('build', build)], '{0}'))[1];
BEGIN
	PERFORM profstore.ensure_partitions(at, at + interval '1 second');
	INSERT INTO profstore.samples (time, series_id, stack_id, value)
	SELECT at, series, (profstore.intern_stacks('p', '{1}', array[l]))[1], c FROM unnest(locations, counts) AS u(l, c);
	PERFORM profstore.touch_series(array[series], at, at);
END
$$;
SELECT put_samples('2026-01-01 10:00Z', 'old', :'before', 10, 20, 30, 40);
SELECT put_samples('2026-01-01 11:00Z', 'new', :'after', 12, 23, 34, 45);

-- one row for a function in both builds, also if it moved; two rows if nothing shows that it is the same
SELECT function, self, mapping FROM profstore.top(:'jobs', '2026-01-01', '2026-01-02') ORDER BY self;
SELECT function, base_self, self FROM profstore.top_diff(:'jobs', '2026-01-01 10:00Z', '2026-01-01 11:00Z', '2026-01-01 11:00Z', '2026-01-01 12:00Z') ORDER BY self, base_self;
SELECT label, value, "valueRight" FROM profstore.flamegraph_diff(:'jobs', '2026-01-01 10:00Z', '2026-01-01 11:00Z', '2026-01-01 11:00Z', '2026-01-01 12:00Z')
WHERE level > 0 ORDER BY value, "valueRight";
SELECT stack, value FROM profstore.folded(:'jobs', '2026-01-01', '2026-01-02') ORDER BY value;
SELECT level, function, total FROM profstore.callers(:'jobs', '2026-01-01', '2026-01-02', 'hard+0x1600#b0000000000b2');
SELECT function, self FROM profstore.top(:'jobs', '2026-01-01', '2026-01-02', focus => '^hard\+0x1540') ORDER BY self;
-- other granularities add to the name
SELECT function, self FROM profstore.top(:'jobs', '2026-01-01', '2026-01-02', granularity => 'address') ORDER BY self;
SELECT function, self FROM profstore.top(:'jobs', '2026-01-01', '2026-01-02', granularity => 'line') ORDER BY self;
SELECT function, self FROM profstore.top(:'jobs', '2026-01-01', '2026-01-02', granularity => 'mapping') ORDER BY self;

-- pairs of a build and another build
SELECT * FROM profstore.same_functions('aa11', 'bb22');
SELECT count(*) FROM profstore.same_functions('bb22', 'zz');

-- text that is no such key belongs to the name
SELECT put_unnamed(:old, '{2000,2040,2080}', '{"",x000000000001,o00000000000}') AS odd \gset
SELECT put_samples('2026-01-01 12:00Z', 'odd', :'odd', 1, 2, 3);
SELECT function, self FROM profstore.top(:'jobs', '2026-01-01 12:00Z', '2026-01-02') ORDER BY self;

-- exports do not contain line -1, and an imported profile ranks like the original
SELECT profstore.pprof(:'jobs', '2026-01-01 10:00Z', '2026-01-01 11:00Z') AS file \gset
SELECT count(*) AS locations FROM profstore.locations WHERE mapping = :old \gset
SELECT profstore.import_pprof(:'file'::bytea, '{"build": "again"}');
SELECT count(*) - :locations AS more FROM profstore.locations WHERE mapping = :old;

-- addresses stay open until they have lines; a symbol replaces a start address, lines replace both, and ids stay
SELECT profstore.find_symbol_work();
SELECT build_id, open FROM profstore.symbol_states ORDER BY build_id;
SELECT to_hex(address) AS address, is_named FROM profstore.open_addresses('bb22');
SELECT (profstore.intern_functions('{real,inlined}', '{real,inlined}', '{"",a.c}', '{0,0}')) AS f \gset
SELECT profstore.intern_locations(array[:new, :new], array[x'1584'::int8, x'1704'::int8], '{1,2}', (:'f'::int[])[1:1] || (:'f'::int[])[2:2] || (:'f'::int[])[1:1], '{0,5,6}') = (:'after'::int[])[1:2] AS same_ids;
SELECT to_hex(address) AS address, is_named FROM profstore.open_addresses('bb22');
SELECT put_unnamed(:new, '{1580,1700}', '{o000000000001n0000000000e1,o000000000002n0000000000e2}') = (:'after'::int[])[1:2] AS same_ids;
SELECT function, self FROM profstore.top(:'jobs', '2026-01-01 11:00Z', '2026-01-01 12:00Z') ORDER BY self;
-- wrong names can be reset; start addresses stay, because they do not come from symbolizers
SELECT profstore.forget_answers('bb22', 'wrong');
SELECT function, self FROM profstore.top(:'jobs', '2026-01-01 11:00Z', '2026-01-01 12:00Z') ORDER BY self;
