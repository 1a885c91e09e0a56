-- Runs every example of help() on samples like those of "make demo", with long names: each fits into 120 columns and returns rows.
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- short_name: a name that fits stays unchanged, a longer one is shortened by as little as necessary
SELECT width, profstore.short_name(name, width) FROM (VALUES
	(1, 8, 'main'), (2, 40, 'std::vector<std::pair<int, long>, std::allocator<std::pair<int, long>>>::push_back(std::pair<int, long> const&)'),
	(3, 40, 'net/http.(*Server).Serve.func1[go.shape.struct { a int; b string },go.shape.int]'),
	(4, 70, '<alloc::vec::Vec<core::option::Option<u8>> as core::iter::traits::collect::FromIterator<T>>::from_iter::h0123456789abcdef'),
	(5, 40, 'core::ptr::drop_in_place::<alloc::boxed::Box<dyn core::ops::function::Fn()>>'),
	(6, 40, 'crate::module::function::h0123456789abcdef'), (7, 48, 'crate::module::function::h0123456789abcdefg_and_so_on'),
	(8, 40, '(anonymous namespace)::f(int, long, char const*, std::string)'),
	(9, 40, 'ns::Matrix<double, 3, 3>::operator()(unsigned long, unsigned long) const'),
	(10, 40, 'ns::operator<< <char, std::char_traits<char> >(std::basic_ostream<char>&, char const*)'),
	(11, 40, 'std::function<void (int)>::operator->(int, int, int, std::string)'),
	(12, 40, 'a<b(c->d)>::really_long_name_of_a_member_function(x => y, z)'),
	(13, 12, 'ünïcödé_nämé_thät_is_löng'), (14, 8, '123456789'), (15, 9, '123456789'), (16, 20, 'unbalanced<a(b::cccccccccccccccccccccccccc'),
	(17, 10, '>>>>>>]]]]))))operator'), (18, 60, ''), (19, 60, NULL)) AS v(n, width, name) ORDER BY n;
SELECT length(profstore.short_name(repeat('a', 100))), length(profstore.short_name(repeat('a<', 1000) || repeat('>', 1000)));
SELECT profstore.short_name('main', 7);

-- Two stacks of long names, as sums of ten seconds, three of them, with functions and files that no example names.
SELECT profstore.ensure_partitions(now() - interval '1 day', now() + interval '1 day') > 0 AS made;
SELECT (profstore.intern_series(ARRAY['process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta'], ARRAY[jsonb_build_object('node', 'a',
	'comm', 'postgres', 'pod', repeat('long-name-', 9))], '{52631579}'))[1] AS series \gset
SELECT profstore.intern_functions(names, names, array_fill('/usr/src/' || repeat('deep/', 40) || 'source.c', ARRAY[5]), '{1,2,3,4,5}') AS functions
FROM (VALUES (ARRAY['outermost', 'innermost', 'std::vector<' || repeat('std::pair<int, long>, ', 20) || 'int>::push_back(std::pair<int, long> const&)',
	'main.(*Server[go.shape.struct{' || repeat(' a int;', 30) || ' }]).' || repeat('Method', 30), '<alloc::' || repeat('vec::', 40) || 'Vec<u8> as Drop>::drop::h0123456789abcdef'])) AS v(names) \gset
SELECT (profstore.intern_mappings('{a1b2}', ARRAY['/usr/lib/' || repeat('deep/', 40) || 'libc.so.6']))[1] AS mapping \gset
SELECT profstore.intern_locations(array_fill(:mapping, ARRAY[5]), '{16,32,48,64,80}', '{1,1,1,1,1}', :'functions', '{11,12,13,14,15}') AS locations \gset
SELECT profstore.intern_stacks('tool', '{4,4}', ARRAY[l[2], l[3], l[4], l[1], l[2], l[5], l[3], l[1]]) AS stacks FROM (VALUES (:'locations'::int[])) AS v(l) \gset
INSERT INTO profstore.samples SELECT now() - s * interval '10 s', :series, stack, 52631579000 FROM generate_series(1, 3) AS s, unnest(:'stacks'::int8[]) AS stack;
SELECT profstore.touch_series(ARRAY[:series], min(time), max(time)) FROM profstore.samples;

-- output for other tools ends with the file that psql writes
SELECT function, substring(example FROM '\n(\\g .*)$') AS goes FROM profstore.help('.') WHERE example ~ '\n\\g ' ORDER BY 1;
SELECT 'aligned' AS format \g (tuples_only format=unaligned) /dev/null
-- The output names the function before each example. All but CALL run in a transaction that is rolled back.
\set ECHO none
\set file `mktemp`
\pset format aligned
\pset footer on
\o :file
SELECT CASE WHEN example !~ '^CALL' THEN 'BEGIN' END, format('SELECT %L AS example_of', function), regexp_replace(example, '\n\\g .*$', ''), CASE WHEN example !~ '^CALL' THEN 'ROLLBACK' END
FROM (SELECT * FROM profstore.help('.') UNION ALL SELECT * FROM profstore.help('why')) AS h WHERE example !~ '\n\\g ' \gexec
\o /dev/null
SELECT regexp_replace(example, '\n\\g .*$', '') FROM profstore.help('.') WHERE example ~ '\n\\g ' \gexec
\o
\setenv file :file
\set shown `cat "$file"`
\o :file
\pset format wrapped
\pset columns 120
\x on
\df+ profstore.*
\x off
\pset format unaligned
\pset footer off
\o
\set described `cat "$file"; rm "$file"`
CREATE TABLE lines AS SELECT *, count(*) FILTER (WHERE line ~ '^ *example_of *$') OVER (ORDER BY n) AS example
	FROM string_to_table(:'shown', E'\n') WITH ORDINALITY AS l(line, n);
\set ECHO all
SELECT count(DISTINCT example) > 50 AS many FROM lines;
-- wider than 120 columns
SELECT (SELECT line FROM lines AS f WHERE f.example = l.example ORDER BY n OFFSET 2 LIMIT 1) AS example, max(length(line)) FROM lines AS l WHERE length(line) > 120 GROUP BY 1;
-- without rows: regressions(): there is only one host; anomalies(): there is one day; claim_symbol_work(), open_addresses() and find_debuginfo(): no address waits for lines, and nothing was uploaded; same_functions(): all functions have symbols; verify(), which has found nothing, drop_before(): nothing is as old, and remove_segment(): no segment has that number
SELECT (SELECT line FROM lines AS f WHERE f.example = l.example ORDER BY n OFFSET 2 LIMIT 1) AS example FROM lines AS l WHERE line = '(0 rows)';
-- the same for the output of \df+
SELECT count(*) FILTER (WHERE line LIKE 'Description%') > 50 AS many, max(length(line)) <= 120 AS narrow FROM string_to_table(:'described', E'\n') AS line;
