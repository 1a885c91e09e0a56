-- Filters by function, file, mapping and address, names by granularity, and filtered_share(), compared with plain SQL.
\set fleet on
\i sql/fixtures/preamble.sql

CREATE TABLE sums AS
SELECT stack_id, value FROM oracle_sums(:'cpu', '{}', '2026-01-01', '2026-01-03');
-- the expected conditions as SQL over one frame; NULL means no filter
CREATE FUNCTION oracle_stacks(focus text, ignore text, show text, hide text, name text, folding bool DEFAULT false)
	RETURNS TABLE (stack text[], value numeric) LANGUAGE plpgsql AS
$$
BEGIN
	RETURN QUERY EXECUTE format('
		WITH judged AS
			(SELECT s.stack_id, s.value, f.ord, %5$s AS name, coalesce(bool_or(%1$s) OVER (PARTITION BY s.stack_id), false) AS focused,
				coalesce(bool_or(%2$s) OVER (PARTITION BY s.stack_id), false) AS ignored, f.ord IS NOT NULL AND (%3$s) AND NOT (%4$s) AS shown
			 FROM sums AS s LEFT JOIN frames AS f USING (stack_id)),
		visible AS
			(SELECT *, lag(name) OVER (PARTITION BY stack_id ORDER BY ord) AS outer_name FROM judged WHERE shown AND (%7$L OR focused) AND NOT ignored),
		named AS
			(SELECT stack_id, value, array_agg(name ORDER BY ord) AS names FROM visible WHERE NOT %6$L OR name IS DISTINCT FROM outer_name GROUP BY stack_id, value
			 UNION ALL
			 SELECT stack_id, value, ''{}'' FROM sums WHERE stack_id = 0 AND %8$L)
		SELECT names, sum(value) FROM named GROUP BY names',
		coalesce(focus, 'true'), coalesce(ignore, 'false'), coalesce(show, 'true'), coalesce(hide, 'false'), name, folding, focus IS NULL,
		focus IS NULL AND show IS NULL AND hide IS NULL);
END
$$;
-- pairs of a filter and its condition
CREATE TABLE cases (n int GENERATED ALWAYS AS IDENTITY, filter text, condition text);
INSERT INTO cases (filter, condition) VALUES
	('fn1', $$function ~ 'fn1'$$), ('^fn2$|^fn3', $$function ~ '^fn2$|^fn3'$$), ('so]', $$function LIKE '[%]'$$),
	('{function="fn5"}', $$function = 'fn5'$$), ('{function!="fn5"}', $$function <> 'fn5'$$), ('{function=~"fn5"}', $$function = 'fn5'$$),
	('{function=~"(?i)FN1."}', $$function ~ '^fn1.$'$$), ('{function!~"fn.*"}', $$function !~ '^fn'$$), ('{function*="n2"}', $$function LIKE '%n2%'$$),
	('{function!*="n2"}', $$function NOT LIKE '%n2%'$$), ('{system_name="fn7"}', $$system_name = 'fn7'$$), ('{file="file3.c"}', $$file = 'file3.c'$$),
	('{file!="file3.c"}', $$file <> 'file3.c'$$), ('{file=""}', $$file = ''$$), ('{line="7"}', $$line = 7$$), ('{line="0"}', $$line = 0$$),
	('{line=~"[1-9].*"}', $$line > 0$$), ('{mapping="lib1.so"}', $$lib = '/usr/lib/lib1.so'$$), ('{mapping="/usr/lib/lib1.so"}', $$lib = '/usr/lib/lib1.so'$$),
	('{mapping="lib"}', 'false'), ('{mapping=~"lib[12].so"}', $$lib ~ 'lib[12].so$'$$), ('{mapping=~"/usr/.*2.so"}', $$lib ~ 'lib2.so$'$$),
	('{mapping!="lib1.so"}', $$lib <> '/usr/lib/lib1.so'$$), ('{build_id="b2"}', $$build_id = 'b2'$$), ('{build_id!="b2"}', $$build_id <> 'b2'$$),
	('{address="0x1070"}', $$address = '0x1070'$$), ('{address="4208"}', $$address = '0x1070'$$), ('{address=~"0x10.*"}', $$address LIKE '0x10%'$$),
	('{address*="13"}', $$address LIKE '%13%'$$), (' { mapping = "lib0.so" , function *= "1" , file != ''file1.c'' } ',
		$$lib ~ 'lib0.so$' AND function LIKE '%1%' AND file <> 'file1.c'$$), ('{}', 'true');

-- each pair as each of the four filters, alone and with a second filter
CREATE FUNCTION differences(focus text, ignore text, show text, hide text, expected text[], granularity text DEFAULT 'function', name text DEFAULT 'function',
	folding bool DEFAULT false) RETURNS int8 LANGUAGE sql AS
$$
WITH got AS MATERIALIZED (SELECT stack, value::numeric FROM profstore.stacks_of('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '2026-01-01', '2026-01-03',
		focus, ignore, show, hide, granularity)),
	oracle AS MATERIALIZED (SELECT * FROM oracle_stacks(expected[1], expected[2], expected[3], expected[4], name, folding))
SELECT (SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE oracle) AS x) + (SELECT count(*) FROM (TABLE oracle EXCEPT ALL TABLE got) AS x)
$$;
SELECT filter, condition FROM cases
WHERE differences(filter, NULL, NULL, NULL, ARRAY[condition, NULL, NULL, NULL]) + differences(NULL, filter, NULL, NULL, ARRAY[NULL, condition, NULL, NULL])
	+ differences(NULL, NULL, filter, NULL, ARRAY[NULL, NULL, condition, NULL]) + differences(NULL, NULL, NULL, filter, ARRAY[NULL, NULL, NULL, condition]) <> 0;
SELECT count(*) AS pairs, sum(differences(a.filter, b.filter, NULL, NULL, ARRAY[a.condition, b.condition, NULL, NULL])
	+ differences(a.filter, NULL, b.filter, NULL, ARRAY[a.condition, NULL, b.condition, NULL])
	+ differences(NULL, a.filter, b.filter, 'fn4', ARRAY[NULL, a.condition, b.condition, $$function ~ 'fn4'$$])) AS differences
FROM cases AS a JOIN cases AS b ON b.n = (a.n * 7) % 31 + 1;
-- most filters match some stacks, but not all
SELECT count(*) > 15 AS selective FROM cases
WHERE (SELECT kept_share > 0.05 AND kept_share < 0.95 FROM profstore.filtered_share(:'cpu', '2026-01-01', '2026-01-03', filter));

-- names at each granularity
SELECT granularity, differences(NULL, NULL, NULL, NULL, '{}', granularity, name, folding) AS differences,
	differences('fn1', NULL, NULL, '{mapping="lib2.so"}', ARRAY[$$function ~ 'fn1'$$, NULL, NULL, $$lib ~ '2.so'$$], granularity, name, folding) AS with_filters
FROM (VALUES ('function', 'function', false), (NULL, 'function', false),
	('line', $$CASE WHEN file = '' THEN function ELSE format('%s %s:%s', function, file, line) END$$, false),
	('file', $$CASE WHEN file = '' THEN regexp_replace(lib, '.*/', '') ELSE file END$$, true),
	('mapping', $$regexp_replace(lib, '.*/', '')$$, true),
	('mapping_file', $$regexp_replace(lib, '.*/', '') || CASE WHEN file = '' THEN '' ELSE '!' || file END$$, true),
	('mapping_function', $$CASE WHEN file = '' THEN function ELSE regexp_replace(lib, '.*/', '') || '!' || function END$$, false),
	('address', $$format('%s%s %s', CASE WHEN file <> '' THEN function || ' ' END, regexp_replace(lib, '.*/', ''), address)$$, false))
	AS g(granularity, name, folding);
-- a frame's filter, as filter() returns it, keeps all stacks with that frame, whatever the name contains beside the function
SELECT g.granularity, count(*) > 2 AS several, count(*) FILTER (WHERE s.kept <> t.total) AS differences, count(*) FILTER (WHERE p.total < t.total) AS of_others
FROM unnest('{function,line,file,mapping,mapping_function,mapping_file,address}'::text[]) WITH ORDINALITY AS g(granularity, ord)
CROSS JOIN LATERAL profstore.top(:'cpu', '2026-01-01', '2026-01-03', 40, granularity => g.granularity) AS t
CROSS JOIN LATERAL profstore.frame_filter(t.function, g.granularity, t.file, t.mapping) AS f
CROSS JOIN LATERAL profstore.filtered_share(:'cpu', '2026-01-01', '2026-01-03', f.filter) AS s
LEFT JOIN profstore.top(:'cpu', '2026-01-01', '2026-01-03', NULL) AS p ON p.function = f.function
GROUP BY g.ord, 1 ORDER BY g.ord;
SELECT v.name, f.* FROM (VALUES
	(1, 'a.b', NULL, NULL, NULL), (2, 'f("x") C:\a b.c:12', 'line', 'C:\a b.c', '/lib/x.so'), (3, 'f a.c:12', 'line', NULL, NULL), (4, '[x.so]', 'line', NULL, '/lib/x.so'),
	(5, 'f(int) x.so 0x1a', 'address', 'a.c', '/lib/x.so'), (6, 'x.so 0x1a', 'address', NULL, '/lib/x.so'), (7, '[vdso] 0x1a', 'address', NULL, '[vdso]'), (8, '0x1a', 'address', NULL, NULL),
	(9, 'f 0x1a', 'address', 'a.c', NULL), (10, 'f', 'address', 'a.c', '/lib/x.so'), (11, 'x.so!a!b', 'mapping_function', 'a.c', '/lib/x.so'), (12, '[x.so]', 'mapping_function', NULL, '/lib/x.so'),
	(13, '/src/a.c', 'file', '/src/a.c', '/lib/x.so'), (14, 'x.so', 'file', NULL, '/lib/x.so'), (15, '[unknown]', 'file', NULL, NULL), (16, '[unknown]', 'mapping', 'a.c', NULL), (17, NULL, 'line', NULL, NULL),
	(18, 'x.so!a.c', 'mapping_file', 'a.c', '/lib/x.so'), (19, 'src/a.c', 'mapping_file', 'src/a.c', NULL), (20, 'x.so', 'mapping_file', NULL, '/lib/x.so'))
	AS v(n, name, granularity, file, lib) CROSS JOIN LATERAL profstore.frame_filter(v.name, v.granularity, v.file, v.lib) AS f ORDER BY v.n;
-- every view applies filters
SELECT level, value, label FROM profstore.flamegraph(:'cpu' || '{node="c"}', '2026-01-01', '2026-01-03', granularity => 'mapping', max_nodes => 5);
SELECT function, self, total FROM profstore.top(:'cpu' || '{node="c"}', '2026-01-01', '2026-01-03', granularity => 'file', max_rows => 3);
SELECT function, base_self, self FROM profstore.top_diff(:'cpu' || '{node="c"}', '2026-01-01', '2026-01-02', '2026-01-02', '2026-01-03', granularity => 'mapping', max_rows => 2);
SELECT level, label, value, "valueRight" FROM profstore.flamegraph_diff(:'cpu' || '{node="c"}', '2026-01-01', '2026-01-02', '2026-01-02', '2026-01-03',
	granularity => 'mapping', max_nodes => 4);
SELECT level, function, total FROM profstore.callees(:'cpu' || '{node="c"}', '2026-01-01', '2026-01-03', 'lib1.so', granularity => 'mapping', max_nodes => 4);
SELECT level, function, total FROM profstore.callers(:'cpu' || '{node="c"}', '2026-01-01', '2026-01-03', 'lib1.so', granularity => 'mapping', max_nodes => 4);
SELECT count(*) FROM profstore.folded(:'cpu', '2026-01-01', '2026-01-03', granularity => 'mapping', hide => '{mapping="lib1.so"}') WHERE stack ~ 'lib1';

-- groups: below each value of the labels is the flame graph of only its series
SELECT level, label, value FROM profstore.flamegraph(:'cpu', '2026-01-01', '2026-01-03', NULL, by => '{service}') WHERE level < 2;
SELECT level, label, value FROM profstore.flamegraph(:'cpu', '2026-01-01', '2026-01-03', NULL, inverted => true, focus => 'fn1', by => '{service,node}') WHERE level < 2;
CREATE FUNCTION below(by_value text, inverted bool) RETURNS TABLE (ord int8, level int, value int8, self int8, label text, file text, line int, lib text) LANGUAGE sql AS
$$
WITH f AS MATERIALIZED (SELECT * FROM profstore.flamegraph('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '2026-01-01', '2026-01-03', NULL, inverted, ignore => 'fn20',
		by => '{service}')),
	g AS (SELECT *, count(*) FILTER (WHERE f.level = 1) OVER (ORDER BY f.ord) AS n FROM f)
SELECT row_number() OVER (ORDER BY g.ord), g.level - 1, g.value, g.self, CASE WHEN g.level = 1 THEN 'total' ELSE g.label END, g.file, g.line, g.mapping
FROM g WHERE g.n = (SELECT h.n FROM g AS h WHERE h.level = 1 AND h.label = by_value)
$$;
SELECT v.name, i.inverted, (SELECT count(*) FROM below(v.name, i.inverted)) > 100 AS many,
	(SELECT count(*) FROM (SELECT * FROM below(v.name, i.inverted) EXCEPT ALL SELECT ord + 1, level, value, self, label, file, line, mapping
		FROM profstore.flamegraph(:'cpu' || v.matcher, '2026-01-01', '2026-01-03', NULL, i.inverted, ignore => 'fn20')) AS d) AS differences
FROM (VALUES ('web', '{service="web"}'), ('db', '{service="db"}'), ('service=""', '{service=""}')) AS v(name, matcher), (VALUES (false), (true)) AS i(inverted);
SELECT level, label, value, self FROM profstore.flamegraph(:'cpu', '2026-02-01', '2026-02-03', by => '{service}');
SELECT count(*), min(level), max(value) = (SELECT value FROM profstore.flamegraph(:'cpu', '2026-01-01', '2026-01-03', 1)) AS same_total, sum(self) = max(value) AS sums_up
FROM profstore.flamegraph(:'cpu', '2026-01-01', '2026-01-03', 50, by => '{node}');

-- the share: the kept part equals the total of the flame graph
SELECT count(*) FROM cases CROSS JOIN LATERAL profstore.filtered_share(:'cpu', '2026-01-01', '2026-01-03', ignore => filter, hide => 'fn') AS s
	JOIN LATERAL profstore.flamegraph(:'cpu', '2026-01-01', '2026-01-03', max_nodes => 1, ignore => filter, hide => 'fn') AS f ON true
WHERE s.kept <> f.value OR s.whole <> s.kept + s.not_focused + s.ignored + s.without_frames OR abs(s.kept_share - s.kept / s.whole::float8) > 1e-12;
-- exports record the dropped part; without filters they record none
SELECT count(*) FROM cases CROSS JOIN LATERAL profstore.filtered_share(:'cpu', '2026-01-01', '2026-01-03', filter) AS s
	JOIN LATERAL profstore.flamegraph_json(:'cpu', '2026-01-01', '2026-01-03', max_nodes => 1, focus => filter) AS f ON true
WHERE (f ->> 'value')::int8 <> s.kept OR (f ->> 'whole')::int8 IS DISTINCT FROM s.whole;
SELECT profstore.flamegraph_json(:'cpu', '2026-01-01', '2026-01-03', max_nodes => 1, granularity => 'mapping') ? 'whole' AS unfiltered;
SELECT put_scrape('jobs:run:count:run:count:delta', '{}', '2026-01-01 10:00Z', '{"main;a": 40, "main;b": 30, "main;a;b": 20, "other": 10}');
SELECT * FROM profstore.filtered_share('jobs:run:count:run:count:delta', '2026-01-01', '2026-01-02');
SELECT * FROM profstore.filtered_share('jobs:run:count:run:count:delta', '2026-01-01', '2026-01-02', focus => 'main', ignore => 'b', hide => 'main|a');
SELECT * FROM profstore.filtered_share('jobs:run:count:run:count:delta', '2026-01-03', '2026-01-04', focus => 'main');
SELECT profstore.flamegraph_json('jobs:run:count:run:count:delta', '2026-01-01', '2026-01-02', focus => 'main', ignore => 'b');
SELECT profstore.speedscope('jobs:run:count:run:count:delta', '2026-01-01', '2026-01-02', focus => 'main', ignore => 'b') -> 'name' AS speedscope;
-- after import, the file still records it
SELECT profstore.import_pprof(profstore.pprof('jobs:run:count:run:count:delta', '2026-01-01', '2026-01-02', focus => 'main', ignore => 'b'), '{"__name__": "kept"}');
SELECT profstore.import_pprof(profstore.pprof('jobs:run:count:run:count:delta', '2026-01-01', '2026-01-02'), '{"__name__": "all"}');
SELECT profstore.import_pprof(profstore.pprof('jobs:run:count:run:count:delta', '2026-01-03', '2026-01-04', hide => 'a'), '{"__name__": "none"}');
SELECT t.name, n.comments FROM profstore.file_notes AS n JOIN profstore.series AS s ON s.id = n.series_id JOIN profstore.profile_types AS t ON t.id = s.profile_type
ORDER BY 1;

-- cached results of filters are discarded when names change, and frames of one filter are not used for another
SELECT stack, value FROM profstore.folded('jobs:run:count:run:count:delta', '2026-01-01', '2026-01-02', focus => '^b$', hide => '^a$');
SELECT stack, value FROM profstore.folded('jobs:run:count:run:count:delta', '2026-01-01', '2026-01-02', focus => '^b$', show => '^a$');
UPDATE profstore.functions SET name = 'b' WHERE name = 'a';
SELECT profstore.bump_names();
SELECT stack, value FROM profstore.folded('jobs:run:count:run:count:delta', '2026-01-01', '2026-01-02', focus => '^b$', hide => '^a$');
SELECT stack, value FROM profstore.folded('jobs:run:count:run:count:delta', '2026-01-01', '2026-01-02', focus => '^b$', show => '^a$');

-- names that look like the filter syntax, and errors
SELECT put_scrape('jobs:run:count:run:count:delta', '{}', '2026-01-01 11:00Z', '{"main;operator{}": 1, "main;file:=/x": 2, "main;std::vector<int>::operator=": 4}');
SELECT stack, value FROM profstore.folded('jobs:run:count:run:count:delta', '2026-01-01 11:00Z', '2026-01-02', focus => 'file:=');
SELECT stack, value FROM profstore.folded('jobs:run:count:run:count:delta', '2026-01-01 11:00Z', '2026-01-02', focus => '{function*="{}"}');
SELECT stack, value FROM profstore.folded('jobs:run:count:run:count:delta', '2026-01-01 11:00Z', '2026-01-02', focus => '***=vector<int>::operator=');
\set empty 'profstore.filtered_share(\'jobs:run:count:run:count:delta\', \'2026-02-01\', \'2026-02-02\''
SELECT :empty, focus => '{mapping}');
SELECT :empty, focus => '{mapping="x"');
SELECT :empty, ignore => '{mapping^="x"}');
SELECT :empty, show => '{colour="x"}');
SELECT :empty, hide => '{address="main"}');
SELECT :empty, hide => '{line="-1"}');
SELECT :empty, focus => '{file=~"("}');
SELECT :empty, focus => '{file="a"} or');
-- errors give the name of the argument, also for compound expressions
SELECT :empty, focus => 'a(b');
SELECT :empty, ignore => '*');
SELECT :empty, show => '[');
SELECT :empty, focus => 'a', hide => 'b\');
SELECT profstore.top_diff('jobs:run:count:run:count:delta', '2026-02-01', '2026-02-02', '2026-02-01', '2026-02-02', base_selector => 'jobs:run:count:run:count:delta{a=~"("}');
-- an expression that starts with a brace is written with a backslash before it
SELECT :empty, focus => '{{closure}}');
SELECT stack, value FROM profstore.folded('jobs:run:count:run:count:delta', '2026-01-01 11:00Z', '2026-01-02', focus => '\{}');
SELECT profstore.top('jobs:run:count:run:count:delta', '2026-02-01', '2026-02-02', granularity => 'word');
-- selectors have no match by substring
SELECT profstore.top('jobs:run:count:run:count:delta{node*="x"}', '2026-02-01', '2026-02-02');

-- kinds: those of the mappings of the frames
SELECT profstore.bump_names();
UPDATE profstore.mappings SET file = CASE right(file, 4) WHEN '0.so' THEN '[kernel.kallsyms]' WHEN '1.so' THEN '[cpython]' ELSE file END;
SELECT v.filter, s.kept = o.value AS is_exact, s.kept BETWEEN s.whole * 0.05 AND s.whole * 0.95 AS is_selective
FROM (VALUES ('{kind="python"}', '{1}'::int[]), ('{kind="kernel"}', '{0}'), ('{kind="native"}', '{2}'), ('{kind!="native"}', '{0,1}'), ('{kind=~"k.*"}', '{0}'), ('{kind*="ativ"}', '{2}'),
	('{kind="python", mapping="[cpython]"}', '{1}'), ('{kind="ruby"}', '{}')) AS v(filter, libs)
CROSS JOIN LATERAL profstore.filtered_share(:'cpu', '2026-01-01', '2026-01-03', v.filter) AS s
CROSS JOIN LATERAL
	(SELECT coalesce(sum(sums.value), 0) AS value FROM sums
	 WHERE EXISTS (SELECT FROM frames AS f WHERE f.stack_id = sums.stack_id AND substring(f.lib FROM '(.).so$')::int = ANY (v.libs))) AS o;
