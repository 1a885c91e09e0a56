-- flamegraph(): the columns and order that Grafana's flame graph panel requires, over stored profiles.
\i sql/fixtures/preamble.sql
RESET client_min_messages;

-- empty: nothing stored, an unknown type, an unknown label, an empty range: the root alone is returned, with the value 0
SELECT * FROM profstore.flamegraph(:'cpu', '2026-01-01', '2026-01-02');
SELECT put_scrape(:'cpu', '{"node": "a"}', '2026-01-01 10:00Z',
	'{"main;foo;bar": 50, "main;foo": 30, "main;baz;bar": 20, "main;foo;foo;bar": 7, "idle": 3}');
SELECT put_scrape(:'cpu', '{"node": "b"}', '2026-01-01 11:00Z', '{"main;foo;bar": 500}');
SELECT level, value, self, label FROM profstore.flamegraph('no:such:type:at:all{x="y"}', '2026-01-01', '2026-01-02');
SELECT level, value, self, label FROM profstore.flamegraph(:'cpu' || '{node="z"}', '2026-01-01', '2026-01-02');
SELECT level, value, self, label FROM profstore.flamegraph(:'cpu', '2026-01-01 10:00Z', '2026-01-01 10:00Z');
SELECT level, value, self, label FROM profstore.flamegraph(:'cpu', '2026-01-05', '2026-01-06');

-- order: depth first, siblings by descending value, then by label; the range includes its start and excludes its end
SELECT * FROM profstore.flamegraph(:'cpu' || '{node="a"}', '2026-01-01 10:00Z', '2026-01-01 11:00Z') ORDER BY ord;
SELECT ord, level, value, self, label FROM profstore.flamegraph(:'cpu', '2026-01-01', '2026-01-02') ORDER BY ord;
SELECT value FROM profstore.flamegraph(:'cpu', '2026-01-01 10:00:00.000001Z', '2026-01-01 11:00Z');
SELECT value FROM profstore.flamegraph(:'cpu', '-infinity', 'infinity') WHERE ord = 0;
SELECT ord, level, value, self, label FROM profstore.flamegraph(:'cpu' || '{node="a"}', '2026-01-01', '2026-01-02', inverted => true);

-- the types of the columns, from which Grafana's data source derives its own
SELECT DISTINCT pg_typeof(ord) AS ord, pg_typeof(level) AS level, pg_typeof(value) AS value, pg_typeof(self) AS self, pg_typeof(label) AS label,
	pg_typeof(truncated) AS truncated, pg_typeof(file) AS file, pg_typeof(line) AS line, pg_typeof(mapping) AS mapping
FROM profstore.flamegraph(:'cpu', '2026-01-01', '2026-01-02');

-- limits
SELECT ord, level, value, self, label, truncated FROM profstore.flamegraph(:'cpu' || '{node="a"}', '2026-01-01', '2026-01-02', max_nodes => 5);
SELECT ord, level, value, self, label, truncated FROM profstore.flamegraph(:'cpu' || '{node="a"}', '2026-01-01', '2026-01-02', max_nodes => 1);
SELECT count(*) FROM profstore.flamegraph(:'cpu' || '{node="a"}', '2026-01-01', '2026-01-02', max_nodes => NULL);

-- labels with characters that could confuse a viewer
SELECT put_scrape(:'cpu', '{"node": "labels"}', '2026-01-01 12:00Z', jsonb_build_object(
	'constructor;toString;valueOf;__proto__;hasOwnProperty', 5, 'other', 4, E'line\nbreak\ttab', 3, ' ', 2, '"quotes"''&<b>', 1, repeat('x', 65536), 6, 'größe→', 7,
	'constructorX;__x', 8));
SELECT level, value, length(label), left(label, 30) AS label, truncated FROM profstore.flamegraph(:'cpu' || '{node="labels"}', '2026-01-01', '2026-01-02');
SELECT profstore.intern_functions('{"",""}', '{"","_Zx"}', '{"",""}', '{0,0}') AS functions \gset
SELECT profstore.intern_mappings('{abc,""}', '{/usr/bin/tool,""}') AS mappings \gset
SELECT profstore.intern_locations(ARRAY[(:'mappings'::int[])[1], (:'mappings'::int[])[2], 0, 0, 0], '{4096,-1,255,0,0}', '{0,0,0,1,1}', :'functions', '{0,0}') AS locations \gset
INSERT INTO profstore.samples SELECT '2026-01-01 13:00Z', (profstore.intern_series(ARRAY[:'cpu'], ARRAY['{"node": "unnamed"}'::jsonb], '{0}'))[1],
	unnest(profstore.intern_stacks('p', '{1,1,1,1,1}', :'locations')), 1;
SELECT level, value, label, mapping FROM profstore.flamegraph(:'cpu' || '{node="unnamed"}', '2026-01-01', '2026-01-02');

-- inlined calls are separate frames; file and line give the start of the function
SELECT profstore.intern_functions('{inner,middle,outer}', '{inner,middle,outer}', '{a.c,b.c,c.c}', '{10,20,0}') AS functions \gset
SELECT profstore.intern_locations(ARRAY[(:'mappings'::int[])[1]], '{8192}', '{3}', :'functions', '{11,22,33}') AS locations \gset
INSERT INTO profstore.samples SELECT '2026-01-01 13:00Z', (profstore.intern_series(ARRAY[:'cpu'], ARRAY['{"node": "inlined"}'::jsonb], '{0}'))[1],
	unnest(profstore.intern_stacks('p', '{1}', :'locations')), 1;
SELECT level, value, self, label, file, line, mapping FROM profstore.flamegraph(:'cpu' || '{node="inlined"}', '2026-01-01', '2026-01-02');

-- ORDER BY ord gives the same order after joins and in parallel plans
SELECT string_agg(label, ' ' ORDER BY f.ord) FROM profstore.flamegraph(:'cpu' || '{node="a"}', '2026-01-01', '2026-01-02') AS f
	FULL JOIN generate_series(0, 7) AS g(ord) USING (ord);

-- filters
\set a 'profstore.flamegraph(' :'cpu' '||\'{node="a"}\', \'2026-01-01\', \'2026-01-02\''
SELECT level, value, self, label FROM :a, focus => '^baz$');
SELECT level, value, self, label FROM :a, ignore => 'foo');
SELECT level, value, self, label FROM :a, hide => 'foo');
SELECT level, value, self, label FROM :a, show => 'bar|idle');
SELECT level, value, self, label FROM :a, focus => 'foo', ignore => 'baz', show => 'o', hide => 'nothing');
SELECT level, value, self, label FROM :a, focus => 'nowhere');
SELECT level, value, self, label FROM :a, focus => '', ignore => '', show => '', hide => '');

-- only partitions that overlap the range are opened
SELECT profstore.ensure_partitions('2025-12-30', '2026-01-05');
BEGIN;
SELECT value FROM profstore.flamegraph(:'cpu' || '{node="a"}', '2026-01-01 00:00Z', '2026-01-02 00:00Z') WHERE ord = 0;
SELECT value FROM profstore.flamegraph(:'cpu' || '{node="a"}', '2026-01-03 23:59Z', '2026-01-04 00:00:01Z') WHERE ord = 0;
SELECT relation::regclass FROM pg_locks WHERE pid = pg_backend_pid() AND relation::regclass::text ~ 'samples_[0-9]' ORDER BY 1;
COMMIT;

-- a transaction sees its own samples, and no longer after their rollback
BEGIN;
SELECT put_scrape(:'cpu', '{"node": "own"}', '2026-01-01 14:00Z', '{"main;own": 1}');
SELECT level, label FROM profstore.flamegraph(:'cpu' || '{node="own"}', '2026-01-01', '2026-01-02');
ROLLBACK;
SELECT level, label FROM profstore.flamegraph(:'cpu' || '{node="own"}', '2026-01-01', '2026-01-02');

-- errors
\pset tuples_only on
SELECT failure($$SELECT profstore.flamegraph('{node="a"}', '2026-01-01', '2026-01-02')$$);
SELECT failure($$SELECT profstore.flamegraph(NULL, '2026-01-01', '2026-01-02')$$);
SELECT failure($$SELECT profstore.flamegraph('t:a:b:c:d', NULL, '2026-01-02')$$);
SELECT failure($$SELECT profstore.flamegraph('t:a:b:c:d', '2026-01-01', NULL)$$);
SELECT failure($$SELECT profstore.flamegraph('t:a:b:c:d', '2026-01-02 00:00Z', '2026-01-01 00:00Z')$$);
SELECT failure($$SELECT profstore.flamegraph('t:a:b:c:d', '2026-01-01', '2026-01-02', max_nodes => 0)$$);
SELECT failure($$SELECT profstore.flamegraph('t:a:b:c:d', '2026-01-01', '2026-01-02', focus => '(')$$);
SELECT failure($$SELECT profstore.flamegraph('t:a:b:c:d{', '2026-01-01', '2026-01-02')$$);
INSERT INTO profstore.samples SELECT '2026-01-01 15:00Z', (profstore.intern_series(ARRAY[:'cpu'], ARRAY['{"node": "large"}'::jsonb], '{0}'))[1], id, 9223372036854775807
	FROM (VALUES (put_stack('main;x')), (put_stack('main;x')), (put_stack('main;y'))) AS s(id);
SELECT failure(format($$SELECT profstore.flamegraph('%s{node="large"}', '2026-01-01', '2026-01-02')$$, :'cpu'));
SELECT failure(format($$SELECT profstore.top('%s{node="large"}', '2026-01-01', '2026-01-02', show => 'y')$$, :'cpu'));
INSERT INTO profstore.samples SELECT '2026-01-01 15:00Z', (profstore.intern_series(ARRAY[:'cpu'], ARRAY['{"node": "lost"}'::jsonb], '{0}'))[1], 1234567, 1;
SELECT regexp_replace(failure(format($$SELECT profstore.flamegraph('%s{node="lost"}', '2026-01-01', '2026-01-02')$$, :'cpu')), '\n.*', '');

-- names that were rolled back are forgotten, even if the next transaction reaches the same epoch number
SELECT put_scrape(:'cpu', '{"node": "names"}', '2026-01-01 16:00Z', '{"main;renamed": 1}');
\set names '(SELECT string_agg(label, '' '' ORDER BY ord) FROM profstore.flamegraph(''process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="names"}'', ''2026-01-01'', ''2026-01-02''))'
BEGIN;
UPDATE profstore.functions SET name = 'never' WHERE name = 'renamed';
SELECT profstore.bump_names();
SELECT :names;
ROLLBACK;
UPDATE profstore.functions SET name = 'again' WHERE name = 'renamed';
SELECT profstore.bump_names();
SELECT :names;
BEGIN;
SAVEPOINT s;
UPDATE profstore.functions SET name = 'never' WHERE name = 'again';
SELECT profstore.bump_names();
SELECT :names;
ROLLBACK TO s;
UPDATE profstore.functions SET name = 'at last' WHERE name = 'again';
SELECT profstore.bump_names();
COMMIT;
SELECT :names;

-- in a terminal: values with their units, and the tree as text
SELECT value, profstore.readable(value, 'nanoseconds') AS time, profstore.readable(value, 'bytes') AS bytes, profstore.readable(value, 'count') AS count, profstore.readable(value, 'cycles') AS cycles
FROM unnest('{0,1,999,1000,1023,1024,9999,10000,12345678,-1500000,59999999999,60000000000,123456789012,9007199254740993,9223372036854775807}'::int8[]) AS value;
-- a value that rounds up to 1,000 is shown in the next larger unit
SELECT unit, string_agg(profstore.readable(value, unit), ', ' ORDER BY ord) AS around FROM (VALUES ('nanoseconds', '{999.4,999.5,999499,999500,999999,999499999,999500000,999999999,59949999999,59950000000,3596999999999,3597000000000}'::float8[]),
	('bytes', '{1023.4,1023.5,1048063,1048064,1073217535,1073217536,1098974756863,1098974756864}'), ('count', '{9999.4,9999.5,999499,999500,999499999,999500000,-999500000}')) AS v(unit, list),
	unnest(list) WITH ORDINALITY AS u(value, ord) GROUP BY unit ORDER BY unit;
SELECT profstore.readable(0.25, 'count'), profstore.readable(1234.5678, 'bytes'), profstore.readable(7, ''), profstore.readable('NaN', 'bytes'), profstore.readable('Infinity', 'nanoseconds'),
	profstore.readable(NULL, 'bytes') IS NULL AND profstore.readable(1, NULL) IS NULL AS nulls;
SELECT profstore.import_folded(E'main;serve;read 1500000000\nmain;serve;parse 250000000\nmain;serve 7000000\nmain;a_name_that_is_longer_than_what_is_left_for_it::so_its_middle_goes::and_both_of_its_ends_stay 20000\n'
	|| (SELECT string_agg('f' || i, ';' ORDER BY i) || ' 40000000' FROM generate_series(1, 45) AS i), '{"__name__": "text", "node": "a"}', '2026-01-05', 'cpu', 'nanoseconds'),
	profstore.import_folded('main;keep 3145728', '{"__name__": "text"}', '2026-01-05', 'space', 'bytes');
SELECT * FROM profstore.flamegraph_text('text:cpu', '2026-01-05', '2026-01-06', focus => 'main', by => '{node}');
SELECT share, frame FROM profstore.flamegraph_text('text:cpu', '2026-01-05', '2026-01-06', focus => 'f1') OFFSET 39;
SELECT * FROM profstore.flamegraph_text('text:cpu', '2026-01-05', '2026-01-06', 3, true, ignore => 'f1');
SELECT * FROM profstore.flamegraph_text('text:space', '2026-01-05', '2026-01-06');
SELECT * FROM profstore.flamegraph_text('text:space', '2026-01-06', '2026-01-07');
SELECT * FROM profstore.flamegraph_text(NULL);
-- the text equals the flame graph, line by line
SELECT profstore.import_folded((SELECT string_agg(format('a%s;b%s;c%s 1', i % 2, i % 3, i % 7), E'\n') FROM generate_series(1, 50) AS i), '{"__name__": "text"}', '2026-01-05', 'few');
SELECT count(*) AS lines, count(*) FILTER (WHERE ltrim(t.frame) = f.label AND length(t.frame) - length(ltrim(t.frame)) = f.level AND t.total::numeric = f.value AND coalesce(nullif(trim(t.self), ''), '0')::numeric = f.self) AS same
FROM (SELECT row_number() OVER () AS n, * FROM profstore.flamegraph_text('text:few', '-infinity', 'infinity')) AS t
FULL JOIN (SELECT row_number() OVER (ORDER BY ord) AS n, * FROM profstore.flamegraph('text:few', '-infinity', 'infinity')) AS f USING (n);
