-- Queries whose sums exceed work_mem: the results equal those with much memory, and those computed by hand.
\i sql/fixtures/preamble.sql
\i sql/fixtures/test_module.sql
\set VERBOSITY terse
\set heap 'heap:inuse:bytes:space:bytes'

-- 20,000 stacks; the value of each is its number
SELECT profstore.import_folded((SELECT string_agg(format('main;f%s;g%s %s', i % 100, i, i), E'\n') FROM generate_series(1, 20000) AS i),
	'{"__name__": "numbers"}', '2026-01-01');
CREATE TABLE numbered AS
SELECT value AS number, stack_id FROM profstore.samples;
SELECT count(*), count(DISTINCT stack_id) FROM numbered;

-- delta: three series with every stack, with all stacks but one, and with values that cancel each other
SELECT (profstore.intern_series(array_fill(:'cpu'::text, ARRAY[3]), ARRAY['{"n": "0"}', '{"n": "1"}', '{"n": "2"}']::jsonb[], '{0,0,0}'))[1] AS first \gset
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT '2026-01-01 10:00Z', :first + s, stack_id, CASE WHEN s = 2 AND number % 1000 = 0 THEN -2 ELSE 1 END * (number + 7) * (s + 1 - s / 2)
FROM numbered, generate_series(0, 2) AS s WHERE number <> s ORDER BY hashint8(number * 3 + s);
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT '2026-01-01 10:01Z', :first, stack_id, number + 7 FROM numbered WHERE number % 1000 = 0;
CREATE VIEW expected_cpu AS
SELECT format('main;f%s;g%s', number % 100, number) AS stack, sum(value)::int8 AS value
FROM profstore.samples JOIN numbered USING (stack_id) WHERE series_id BETWEEN :first AND :first + 2 GROUP BY number HAVING sum(value) <> 0;

-- instant: averages over 3, 6 and 7 scrapes, which together end in halves, positive and negative
SELECT (profstore.intern_series(array_fill(:'heap'::text, ARRAY[3]), ARRAY['{"n": "3"}', '{"n": "6"}', '{"n": "7"}']::jsonb[], '{0,0,0}'))[1] AS first \gset
CREATE TABLE scrapes AS
SELECT :first + ord - 1 AS series_id, n, timestamptz '2026-01-01 10:00Z' + i * interval '1 s' AS "time"
FROM unnest('{3,6,7}'::int[]) WITH ORDINALITY AS u(n, ord), generate_series(1, n) AS i;
INSERT INTO profstore.samples (time, series_id, stack_id, value) SELECT time, series_id, 0, 0 FROM scrapes;
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT s.time, s.series_id, d.stack_id, (hashint8(d.number + s.n) % 3) * d.number
FROM numbered AS d CROSS JOIN LATERAL (SELECT * FROM scrapes OFFSET d.number % 3 LIMIT 5 + d.number % 9) AS s ORDER BY hashint8(d.number);
CREATE VIEW expected_heap AS
SELECT format('main;f%s;g%s', number % 100, number) AS stack, round(sum(value))::int8 AS value
FROM (SELECT number, sum(value)::numeric / (SELECT n FROM scrapes AS s WHERE s.series_id = d.series_id LIMIT 1) AS value
	FROM profstore.samples AS d JOIN numbered USING (stack_id) WHERE series_id BETWEEN :first AND :first + 2 GROUP BY number, series_id) AS averages
GROUP BY number HAVING round(sum(value)) <> 0;

-- 100,000 scrapes of one series, and one scrape of another
SELECT (profstore.intern_series(array_fill('ticks:n:count:n:count'::text, ARRAY[2]), ARRAY['{"n": "1"}', '{"n": "2"}']::jsonb[], '{0,0}'))[1] AS first \gset
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT timestamptz '2026-01-01 11:00Z' + i * interval '1 ms', :first, (SELECT stack_id FROM numbered WHERE number = 1), 7 FROM generate_series(1, 100000) AS i;
INSERT INTO profstore.samples (time, series_id, stack_id, value) VALUES ('2026-01-01 11:00Z', :first + 1, (SELECT stack_id FROM numbered WHERE number = 2), 5);
SELECT profstore.touch_series(array_agg(id), '2026-01-01', '2026-01-02') FROM profstore.series;

CREATE FUNCTION differences(type text, expected regclass) RETURNS TABLE (too_much int8, missing int8, stacks int8) LANGUAGE plpgsql AS
$$
BEGIN
	CREATE TEMP TABLE got ON COMMIT DROP AS SELECT * FROM profstore.folded(type, '2026-01-01', '2026-01-02');
	RETURN QUERY EXECUTE format('SELECT (SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE %1$s) AS d),
		(SELECT count(*) FROM (TABLE %1$s EXCEPT ALL TABLE got) AS d), (SELECT count(*) FROM got)', expected);
	DROP TABLE got;
END
$$;

-- the results of top and filtered_share as one text
CREATE FUNCTION answers(type text) RETURNS text LANGUAGE sql AS
$$
SELECT md5(string_agg(t::text, E'\n' ORDER BY t.function)) || ' ' || (SELECT f::text FROM profstore.filtered_share(type, '2026-01-01', '2026-01-02', focus => '7', ignore => 'f9') AS f)
FROM profstore.top(type, '2026-01-01', '2026-01-02', max_rows => NULL, hide => 'g1.*2$') AS t
$$;
SET hash_mem_multiplier = 1;
SET work_mem = '1GB';
SELECT * FROM differences(:'cpu', 'expected_cpu');
SELECT * FROM differences(:'heap', 'expected_heap');
SELECT * FROM profstore.folded('ticks:n:count:n:count', '2026-01-01', '2026-01-02');
SELECT * FROM profstore.folded('last_over_time(ticks:n:count:n:count)', '2026-01-01', '2026-01-02');
SELECT type, spills(format('SELECT profstore.filtered_share(%L, %L, %L)', type, '2026-01-01', '2026-01-02'))
FROM (VALUES (1, :'cpu'), (2, :'heap'), (3, 'ticks:n:count:n:count')) AS t(ord, type) ORDER BY ord;
-- flame graphs of every kind: limited, whole, from the leaf, with filters, with frames of one name merged
CREATE FUNCTION flames(type text) RETURNS TABLE (kind text, rows text) LANGUAGE sql AS
$$
SELECT format('%s %s %s %s %s', n, inverted, focus, hide, granularity), (SELECT md5(string_agg(f::text, E'\n' ORDER BY ord))
	FROM profstore.flamegraph(type, '2026-01-01', '2026-01-02', n, inverted, focus => focus, hide => hide, granularity => granularity) AS f)
FROM (VALUES (1), (50), (8192), (NULL)) AS l(n), (VALUES (false), (true)) AS i(inverted),
	(VALUES (NULL, NULL, 'function'), ('7', NULL, 'function'), (NULL, 'f9|g1', 'function'), (NULL, NULL, 'mapping'), (NULL, NULL, 'address')) AS v(focus, hide, granularity)
$$;
CREATE TABLE flames AS
SELECT type, f.* FROM (VALUES (:'cpu'), (:'heap')) AS t(type), flames(type) AS f;
SELECT count(*), count(DISTINCT rows) FROM flames;
-- comparisons of some series with others, by rate over ranges of two lengths and absolute; each side lacks some stacks of the other
CREATE FUNCTION diffs(type text) RETURNS TABLE (kind text, rows text) LANGUAGE sql AS
$$
SELECT format('flame %s %s %s', n, absolute, hide), (SELECT md5(string_agg(f::text, E'\n' ORDER BY ord))
	FROM profstore.flamegraph_diff(type || '{n=~"0|1|3|6"}', '2026-01-01', '2026-01-02', '2026-01-01', '2026-01-03', type || '{n!~"0|3"}', absolute, n, hide => hide) AS f)
FROM (VALUES (1), (50), (NULL)) AS l(n), (VALUES (false), (true)) AS a(absolute), (VALUES (NULL), ('f9|g1')) AS v(hide)
UNION ALL
SELECT format('top %s', absolute), (SELECT md5(string_agg(f::text, E'\n' ORDER BY function))
	FROM profstore.top_diff(type || '{n=~"0|1|3|6"}', '2026-01-01', '2026-01-02', '2026-01-01', '2026-01-03', type || '{n!~"0|3"}', absolute, NULL) AS f)
FROM (VALUES (false), (true)) AS a(absolute)
$$;
INSERT INTO flames SELECT type, f.* FROM (VALUES (:'cpu'), (:'heap')) AS t(type), diffs(type) AS f;
-- one flame graph per series below one root: some fit in memory by themselves, some stop fitting as they grow
CREATE FUNCTION groups(type text) RETURNS TABLE (kind text, rows text) LANGUAGE sql AS
$$
SELECT format('by %s %s %s %s', n, inverted, focus, granularity), (SELECT md5(string_agg(f::text, E'\n' ORDER BY ord))
	FROM profstore.flamegraph(type, '2026-01-01', '2026-01-02', n, inverted, focus => focus, granularity => granularity, by => '{n}') AS f)
FROM (VALUES (50), (NULL)) AS l(n), (VALUES (false), (true)) AS i(inverted), (VALUES (NULL, 'function'), ('g19.*7$', 'function'), (NULL, 'mapping')) AS v(focus, granularity)
$$;
INSERT INTO flames SELECT type, f.* FROM (VALUES (:'cpu'), (:'heap'), (:'cpu' || '{n="0"}')) AS t(type), groups(type) AS f;
SELECT type, n, ord, level, value, label FROM (VALUES (:'cpu'), (:'heap')) AS t(type), (VALUES (1), (6)) AS l(n), profstore.flamegraph(type, '2026-01-01', '2026-01-02', n, by => '{n}') ORDER BY type, n, ord;
SELECT count(*), count(DISTINCT rows) FROM flames;
CREATE TABLE answers AS
SELECT type, answers(type) FROM (VALUES (:'cpu'), (:'heap')) AS t(type);
SELECT type, split_part(answers, ' ', 2) AS share FROM answers;
SET work_mem = '64kB';
SELECT type, answers(type) = answers AS same FROM answers;
SELECT * FROM (SELECT type, f.* FROM (VALUES (:'cpu'), (:'heap')) AS t(type), LATERAL (SELECT * FROM flames(type) UNION ALL SELECT * FROM diffs(type)) AS f) AS f EXCEPT TABLE flames;
SELECT type, f.* FROM (VALUES (:'cpu'), (:'heap'), (:'cpu' || '{n="0"}')) AS t(type), groups(type) AS f EXCEPT TABLE flames;
SELECT spills(format('SELECT * FROM profstore.flamegraph(%L, %L, %L, 1)', :'cpu', '2026-01-01', '2026-01-02'));
SELECT * FROM differences(:'cpu', 'expected_cpu');
SELECT * FROM differences(:'heap', 'expected_heap');
SELECT * FROM profstore.folded('ticks:n:count:n:count', '2026-01-01', '2026-01-02');
SELECT * FROM profstore.folded('last_over_time(ticks:n:count:n:count)', '2026-01-01', '2026-01-02');
SELECT type, spills(format('SELECT profstore.filtered_share(%L, %L, %L)', type, '2026-01-01', '2026-01-02'))
FROM (VALUES (1, :'cpu'), (2, :'heap'), (3, 'ticks:n:count:n:count')) AS t(ord, type) ORDER BY ord;
-- a group that fits before one that does not
SET work_mem = '3MB';
SELECT f.* FROM groups(:'cpu') AS f EXCEPT SELECT kind, rows FROM flames WHERE type = :'cpu';
-- the same answers with a third of the memory
SET work_mem = '1MB';
SELECT * FROM differences(:'cpu', 'expected_cpu');
SELECT * FROM differences(:'heap', 'expected_heap');

-- memory use: 50,000 stacks of 10 names, so that neither names nor shown nodes need much, and without a limit the stacks do
SELECT profstore.import_folded((SELECT string_agg(regexp_replace(lpad(i::text, 5, '0'), '(.)(.)(.)(.)(.)', 'f\1;f\2;f\3;f\4;f\5') || ' ' || i, E'\n') FROM generate_series(1, 50000) AS i),
	'{"__name__": "digits"}', '2026-01-01');
SELECT profile_type AS digits FROM profstore.profile_types() WHERE profile_type LIKE 'digits:%' \gset
-- each stack at a time of its own, in an order far from that of ids
SELECT (profstore.intern_series(ARRAY['turns:n:count:n:count:delta'], ARRAY['{}']::jsonb[], '{0}'))[1] AS turns \gset
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT timestamptz '2026-01-01 12:00Z' + row_number() OVER (ORDER BY hashint8(stack_id), stack_id) * interval '10 ms', :turns, stack_id, 1
FROM profstore.samples WHERE series_id IN (SELECT series_id FROM profstore.matching_series(:'digits'));
SELECT profstore.touch_series(ARRAY[:turns], '2026-01-01', '2026-01-02');
CREATE TABLE queries AS
-- the minimum memory of the server's sorts is most of the use: one sort for the sums of each side, one for the paths
SELECT ord, CASE WHEN name LIKE '%_diff' THEN 1800 ELSE 1200 END AS limit_kb, format('SELECT * FROM profstore.%s(%L, %L, %L%s)', name, :'digits', '2026-01-01', '2026-01-02', arguments) AS query
FROM (VALUES (1, 'flamegraph', ', 50'), (2, 'flamegraph', ', 50, inverted => true'), (3, 'flamegraph', ', 50, granularity => ''mapping'''), (4, 'top', ''), (5, 'top', ', focus => ''f7'''),
	(6, 'filtered_share', ', focus => ''f7'''), (7, 'flamegraph_diff', ', ''2026-01-01'', ''2026-01-02'', max_nodes => 50'), (8, 'top_diff', ', ''2026-01-01'', ''2026-01-02'''), (9, 'flamegraph', ', 50, by => ''{n}''')) AS q(ord, name, arguments);
-- a flame chart sorts stacks, samples and spans, two of them at a time; a pprof file is one value
INSERT INTO queries VALUES (10, 1200, 'SELECT * FROM profstore.flamechart(''turns:n:count:n:count:delta'', ''2026-01-01'', ''2026-01-02'')'),
	(11, 2200, format('SELECT profstore.pprof(%L, %L, %L)', :'digits', '2026-01-01', '2026-01-02'));
SET work_mem = '1GB';
SELECT ord, peak_kb(query) > limit_kb + 400 AS unbounded FROM queries ORDER BY ord;
CREATE VIEW chart AS
SELECT count(*) AS spans, sum(hashtextextended(f::text, 0)) AS sum FROM profstore.flamechart('turns:n:count:n:count:delta', '2026-01-01', '2026-01-02') AS f;
CREATE TABLE expected_chart AS TABLE chart;
SET work_mem = '64kB';
SELECT ord, CASE WHEN kb > limit_kb THEN kb ELSE 0 END AS too_much FROM (SELECT ord, limit_kb, peak_kb(query) AS kb FROM queries ORDER BY ord) AS q ORDER BY ord;
TABLE expected_chart EXCEPT TABLE chart;
SELECT spans > 200000 AS many FROM expected_chart;

-- a query that exceeds temp_file_limit fails, and leaves no files behind (PostgreSQL 18 quotes the setting's name)
\set VERBOSITY sqlstate
SET temp_file_limit = '500kB';
SELECT count(*) FROM profstore.flamegraph(:'digits', '2026-01-01', '2026-01-02', 50, by => '{n}');
SELECT count(*) FROM profstore.flamegraph_diff(:'digits', '2026-01-01', '2026-01-02', '2026-01-01', '2026-01-02');
RESET temp_file_limit;
\set VERBOSITY terse
SELECT count(*), max(value) FROM profstore.flamegraph(:'digits', '2026-01-01', '2026-01-02', 50, by => '{n}');
