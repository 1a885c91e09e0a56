-- Generates pages to test, each with SQL results to compare: psql -v fixtures=DIR -f profile.sql, in the directory of the files
-- Contains names with characters of HTML and JavaScript syntax; the hottest function is "hottest".

\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION profstore;
\i :fixtures/profiles.sql

SELECT put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '{"node": "web-1"}', '2026-01-01 10:00Z', $$
{
	"_start;main;serve;hottest": 4000000000,
	"_start;main;serve;hottest;memcpy": 1000000000,
	"_start;main;serve;parse;hottest": 1500000000,
	"_start;main;serve;parse": 700000000,
	"_start;main;std::vector<std::pair<int, char const*> >::push_back(std::pair<int, char const*>&&)": 900000000,
	"_start;main;</script><script>alert(1)</script>": 300000000,
	"_start;main;constructor;__proto__;toString": 400000000,
	"_start;main;recurse;recurse;recurse": 600000000,
	"do_syscall_64;vfs_read": 800000000
}
$$);

-- the hour before: other values, one function that disappears later, and without the function that is new in the later hour
SELECT put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '{"node": "web-1"}', '2026-01-01 09:00Z', $$
{
	"_start;main;serve;hottest": 2000000000,
	"_start;main;serve;hottest;memcpy": 1000000000,
	"_start;main;serve;parse;hottest": 3000000000,
	"_start;main;serve;gone": 500000000,
	"_start;main;recurse;recurse;recurse": 900000000
}
$$);

-- two functions of one file, one of another
DO $$
DECLARE
	names text[] := '{first_in_a,second_in_a,only_in_b}';
	functions int[] := profstore.intern_functions(names, names, '{/src/a.c,/src/a.c,/src/b.c}', '{1,9,1}');
	mapping int := (profstore.intern_mappings('{f11e}', '{/bin/program}'))[1];
	locations int[] := profstore.intern_locations(array_fill(mapping, '{3}'), '{16,32,48}', '{1,1,1}', functions, '{1,9,1}');
	series int := (profstore.intern_series('{process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta}', ARRAY['{"node": "files"}']::jsonb[], '{0}'))[1];
BEGIN
	INSERT INTO profstore.samples (time, series_id, stack_id, value)
	SELECT '2026-01-01 10:00Z', series, stack, value
	FROM unnest(profstore.intern_stacks('test', '{1,1,1}', locations), '{200000000,300000000,400000000}'::int8[]) AS s(stack, value);
	PERFORM profstore.touch_series(ARRAY[series], '2026-01-01 10:00Z', '2026-01-01 10:00Z');
END
$$;

SELECT profstore.put_sources('f11e', '{/src/a.c}', ARRAY[E'int first_in_a(void)\n{\n\treturn puts("</script><script>alert(1)</script>" && b);\n}\n\n// long: ' || repeat('x', 3000) || E'\n\n\nint second_in_a(void)\n{\n}\n']);

-- a stack deeper than the recursion limit of a browser
SELECT profstore.import_folded((SELECT string_agg('level' || n, ';' ORDER BY n) FROM generate_series(1, 4000) AS n) || ';hottest 7000000000',
	'{"__name__": "process_cpu", "node": "deep"}', '2026-01-01 10:00Z', 'cpu', 'nanoseconds');

-- more frames than a page shows, with names, files, lines and mappings as long as in C++
DO $$
DECLARE
	n int := 3000;
	names text[] := (SELECT array_agg(format('storage::engine::BTreeIndex<unsigned long>::step_%s(storage::Cursor&)', i)) FROM generate_series(1, n) AS i);
	functions int[] := profstore.intern_functions(names, names, (SELECT array_agg(format('/usr/src/application/src/storage/engine/file_%s.cc', i % 200)) FROM generate_series(1, n) AS i), array_fill(1, ARRAY[n]));
	mappings int[] := profstore.intern_mappings('{a1,b2}', '{/usr/lib/x86_64-linux-gnu/libstorage-engine.so.4,/opt/application/bin/application-server}');
	locations int[] := profstore.intern_locations((SELECT array_agg(mappings[1 + i % 2]) FROM generate_series(1, n) AS i),
		(SELECT array_agg(i * 16::int8) FROM generate_series(1, n) AS i), array_fill(1, ARRAY[n]), functions, (SELECT array_agg(i) FROM generate_series(1, n) AS i));
	series int := (profstore.intern_series('{process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta}', ARRAY['{"node": "heavy"}']::jsonb[], '{0}'))[1];
	depth int := 30;
	count int := 1200;
BEGIN
	INSERT INTO profstore.samples (time, series_id, stack_id, value)
	SELECT '2026-01-01 09:00Z'::timestamptz + h * interval '1 hour', series, stack, 123456789 + 7919 * ord * (h + 1)
	FROM unnest(profstore.intern_stacks('heavy', array_fill(depth, ARRAY[count]),
		(SELECT array_agg(locations[1 + (s * 7 + d * 31 * (s % 97)) % n] ORDER BY s, d) FROM generate_series(1, count) AS s, generate_series(1, depth) AS d)))
		WITH ORDINALITY AS u(stack, ord), generate_series(0, 1) AS h;
	PERFORM profstore.touch_series(ARRAY[series], '2026-01-01 09:00Z', '2026-01-01 10:00Z');
END
$$;

\set cpu '\'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="web-1"}\''
\set hour '\'2026-01-01 10:00Z\', \'2026-01-01 11:00Z\''
\set before '\'2026-01-01 09:00Z\', \'2026-01-01 10:00Z\''
\pset tuples_only on
\pset format unaligned
SELECT profstore.flamegraph_html(:cpu, :hour)
\g flame.html
SELECT profstore.flamegraph_html(:cpu, :hour, inverted => true)
\g inverted.html
SELECT profstore.flamegraph_html('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="files"}', :hour)
\g files.html
SELECT profstore.flamegraph_html('process_cpu:cpu:nanoseconds:::delta{node="deep"}', :hour)
\g deep.html
SELECT profstore.flamegraph_diff_html(:cpu, :before, :hour)
\g diff.html
SELECT profstore.flamegraph_html(:cpu, :hour, focus => 'hottest')
\g focus.html
SELECT profstore.flamegraph_diff_html(:cpu, :before, :hour, focus => 'hottest')
\g focus_diff.html
SELECT profstore.report_html(:cpu, :hour)
\g report.html
SELECT profstore.report_html('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="nowhere"}', :hour)
\g nothing.html
SELECT profstore.report_html('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="heavy"}', :hour)
\g heavy.html
SELECT profstore.report_html('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="files"}', :hour)
\g lines.html
SELECT coalesce(json_agg(s ORDER BY s.line), '[]') FROM profstore.source('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="files"}', :hour, filename => '/src/a.c') AS s
\g lines.json
SELECT profstore.speedscope(:cpu, :hour)
\g speedscope.json
SELECT profstore.flamegraph_json(:cpu, :hour)
\g d3.json

-- both sides of a function, depth first, siblings in the order of their paths
CREATE FUNCTION sandwich_json(name text) RETURNS json LANGUAGE sql AS
$$
SELECT json_build_object('callers', json_agg(row ORDER BY ord) FILTER (WHERE side = 'callers'),
	'callees', json_agg(row ORDER BY ord) FILTER (WHERE side = 'callees'))
FROM (SELECT side, ord, json_build_object('level', level, 'name', label, 'value', value) AS row
	FROM profstore.sandwich('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="web-1"}', '2026-01-01 10:00Z', '2026-01-01 11:00Z', name)) s
$$;
SELECT json_build_object('hottest', sandwich_json('hottest'), 'parse', sandwich_json('parse'), 'recurse', sandwich_json('recurse'))
\g sandwich.json
SELECT json_agg(json_build_object('name', function, 'base_self', base_self, 'self', self, 'base_total', base_total, 'total', total) ORDER BY function COLLATE "C")
FROM profstore.top_diff(:cpu, :before, :hour)
\g diff.json
