-- top() and folded()
\i sql/fixtures/preamble.sql
RESET client_min_messages;

-- no samples: no function
SELECT * FROM profstore.top(:'cpu', '2026-01-01', '2026-01-02');
SELECT * FROM profstore.folded(:'cpu', '2026-01-01', '2026-01-02');

-- a recursive function counts once per stack, direct or indirect recursion
SELECT put_scrape(:'cpu', '{"node": "a"}', '2026-01-01 10:00Z',
	'{"main;f;f;f": 40, "main;f;g;f": 30, "main;g;f;g": 20, "main": 10}');
SELECT * FROM profstore.top(:'cpu', '2026-01-01', '2026-01-02');
SELECT function, self, total FROM profstore.top(:'cpu', '2026-01-01', '2026-01-02', max_rows => 1);
SELECT count(*) FROM profstore.top(:'cpu', '2026-01-01', '2026-01-02', max_rows => 0);
SELECT count(*) FROM profstore.top(:'cpu', '2026-01-01', '2026-01-02', max_rows => NULL);
SELECT function, self, total FROM profstore.top(:'cpu', '2026-01-01', '2026-01-02', focus => 'g', hide => 'main');
SELECT profstore.top(:'cpu', '2026-01-01', '2026-01-02', max_rows => -1);

-- folded: root first; characters that separate frames or lines are replaced; a stack without frames has a name
SELECT * FROM profstore.folded(:'cpu', '2026-01-01', '2026-01-02');
SELECT profstore.intern_functions(ARRAY['a;b', E'c\nd'], '{"",""}', '{"",""}', '{0,0}') AS functions \gset
SELECT profstore.intern_locations('{0,0}', '{0,0}', '{1,1}', :'functions', '{0,0}') AS locations \gset
INSERT INTO profstore.samples SELECT '2026-01-01 11:00Z', (profstore.intern_series(ARRAY[:'cpu'], ARRAY['{"node": "b"}'::jsonb], '{0}'))[1], s.id, 3
	FROM unnest(profstore.intern_stacks('p', '{2,0}', :'locations')) AS s(id);
SELECT * FROM profstore.folded(:'cpu' || '{node="b"}', '2026-01-01', '2026-01-02');
SELECT function, self, total, self_share FROM profstore.top(:'cpu' || '{node="b"}', '2026-01-01', '2026-01-02');

-- equal functions of two files are one; the file that was stored first is shown
SELECT profstore.intern_functions('{twin,twin}', '{twin,twin}', '{one.c,two.c}', '{1,2}') AS functions \gset
SELECT profstore.intern_locations('{0,0}', '{0,0}', '{1,1}', :'functions', '{0,0}') AS locations \gset
INSERT INTO profstore.samples SELECT '2026-01-01 12:00Z', (profstore.intern_series(ARRAY[:'cpu'], ARRAY['{"node": "c"}'::jsonb], '{0}'))[1], s.id, 3
	FROM unnest(profstore.intern_stacks('p', '{1,1}', :'locations')) AS s(id);
SELECT * FROM profstore.top(:'cpu' || '{node="c"}', '2026-01-01', '2026-01-02');

-- stripped code forms one function per library, unless addresses are requested; sums stay equal
SELECT profstore.intern_mappings('{aa,bb,cc}', '{/usr/lib/libz.so.1,/opt/other/libz.so.1,[vdso]}') AS mappings \gset
SELECT profstore.intern_locations(m.m || ARRAY[0, m.m[1]], '{16,32,48,64,80}', '{0,0,0,0,0}', '{}', '{}') AS locations FROM (SELECT :'mappings'::int4[]) AS m(m) \gset
INSERT INTO profstore.samples SELECT '2026-01-01 13:00Z', (profstore.intern_series(ARRAY[:'cpu'], ARRAY['{"node": "d"}'::jsonb], '{0}'))[1], s.id, (10 ^ s.n)::int8
	FROM unnest(profstore.intern_stacks('p', '{1,2,1,1}', :'locations')) WITH ORDINALITY AS s(id, n);
SELECT function, self, total, mapping FROM profstore.top(:'cpu' || '{node="d"}', '2026-01-01', '2026-01-02');
SELECT function, self, total, mapping FROM profstore.top(:'cpu' || '{node="d"}', '2026-01-01', '2026-01-02', granularity => 'address');
SELECT function, base_self, self, total FROM profstore.top_diff(:'cpu' || '{node="d"}', '2026-01-01', '2026-01-02', '2026-01-01', '2026-01-02', base_selector => :'cpu' || '{node="c"}');
SELECT label, value FROM profstore.flamegraph(:'cpu' || '{node="d"}', '2026-01-01', '2026-01-02') ORDER BY ord;
SELECT function, self FROM profstore.top(:'cpu' || '{node="d"}', '2026-01-01', '2026-01-02', focus => '^\[libz', granularity => 'line');
SELECT level, function, total FROM profstore.callers(:'cpu' || '{node="d"}', '2026-01-01', '2026-01-02', '[libz.so.1]');

-- the kind of a frame follows from its mapping, whatever name a profiler uses for a runtime
SELECT profstore.intern_mappings(array_agg(''::text ORDER BY n), array_agg(name ORDER BY n)) AS mappings, array_agg(16 ORDER BY n) AS addresses, array_agg(0 ORDER BY n) AS lines,
	array_agg(1 ORDER BY n) AS depths
FROM unnest('{/usr/bin/app,"/usr/bin/[",app.exe,[vdso],[kernel.kallsyms],[nf_tables],[jit],"[anon:v8]",/tmp/perf-12.map,[python],[cpython],[javascript],[v8js],[v8],[jvm],[hotspot],[ruby],[php],[perl],[luajit],[dotnet],[erlang],[beam],[go],"[unknown mapping]"}'::text[])
	WITH ORDINALITY AS v(name, n) \gset
SELECT profstore.intern_locations(:'mappings', :'addresses', :'lines', '{}', '{}') AS locations \gset
INSERT INTO profstore.samples SELECT '2026-01-01 14:00Z', (profstore.intern_series(ARRAY[:'cpu'], ARRAY['{"node": "e"}'::jsonb], '{0}'))[1], s.id, 1
	FROM unnest(profstore.intern_stacks('p', :'depths', :'locations')) AS s(id);
SELECT mapping, kind FROM profstore.top(:'cpu' || '{node="e"}', '2026-01-01', '2026-01-02', granularity => 'address') ORDER BY mapping COLLATE "C";
SELECT string_agg(mapping, ' ' ORDER BY mapping COLLATE "C") AS python FROM profstore.top(:'cpu' || '{node="e"}', '2026-01-01', '2026-01-02', granularity => 'address', focus => '{kind="python"}');
-- frames without a mapping have no kind
SELECT function, kind FROM profstore.top(:'cpu' || '{node="c"}', '2026-01-01', '2026-01-02');

-- a profile type without any series is reported as unknown; a type without series for the given labels is not
SELECT * FROM profstore.top('process_cpu:cpu:nanosecond:cpu:nanoseconds:delta', '2026-01-01', '2026-01-02');
SELECT * FROM profstore.top_diff('process_cpu:cpu:nanoseconds:cpu:nanoseconds', '2026-01-01', '2026-01-02', '2026-01-02', '2026-01-03');
SELECT * FROM profstore.top('memory:inuse_space:bytes:space:bytes', '2026-01-01', '2026-01-02');
SELECT * FROM profstore.top(:'cpu' || '{node="nowhere"}', '2026-01-01', '2026-01-02');
