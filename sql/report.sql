-- report_html(): a page without Grafana and, except for its flame graph, without scripts. extension/test/page opens some in a browser.
\i sql/fixtures/preamble.sql

-- the contents of a page, one line for each element with text
CREATE FUNCTION page_text(page text, part text) RETURNS SETOF text LANGUAGE sql AS
$$
SELECT line FROM regexp_split_to_table(regexp_replace(regexp_replace(substring(page FROM '<section id="' || part || '".*?</section>'),
	'</(dt|td|th|span|text|code|p|h2|b|bdi)>', ' ', 'g'), '<[^>]*>', '|', 'g'), '[| ]*\|[| ]*') WITH ORDINALITY AS l(line, n) WHERE line !~ '^\s*$' ORDER BY n
$$;

SELECT put_scrape(:'cpu', '{"node": "a", "service": "x"}', '2026-01-01 09:00Z', '{"main;foo;bar": 40000000000, "main;gone": 10000000000}');
SELECT put_scrape(:'cpu', '{"node": "a", "service": "x"}', '2026-01-01 10:00Z', '{"main;foo;bar": 50000000000, "main;foo": 30000000000, "main;[incomplete]": 20000000000}');
SELECT put_scrape(:'cpu', '{"node": "b", "service": "x"}', '2026-01-01 10:30Z', '{"main;foo;bar": 100000000000}');
INSERT INTO profstore.losses (time, node, reason, count) VALUES ('2026-01-01 10:10Z', 'a', 'ring_full', 7), ('2026-01-01 10:20Z', 'a', 'ring_full', 5),
	('2026-01-01 10:20Z', 'a', 'incomplete.no_table', 9), ('2026-01-01 10:20Z', 'elsewhere', 'ring_full', 100), ('2026-01-01 11:00Z', 'a', 'late', 1);

SELECT page_text(r, part) AS text FROM profstore.report_html(:'cpu' || '{service="x"}', '2026-01-01 10:00Z', '2026-01-01 11:00Z') AS r, unnest('{report,hottest,changed,labels,sql}'::text[]) AS part;

-- totals equal those of the other views
SELECT (SELECT self FROM profstore.top(:'cpu', '2026-01-01 10:00Z', '2026-01-01 11:00Z') WHERE function = 'bar') =
	substring(r FROM 'bar</bdi></td><td class="number" data-value="(\d+)"')::int8 AS same
FROM profstore.report_html(:'cpu', '2026-01-01 10:00Z', '2026-01-01 11:00Z') AS r;

-- the rows equal the result of the SQL that the page shows
SELECT profstore.report_html(:'cpu' || '{service="x"}', '2026-01-01 10:00Z', '2026-01-01 11:00Z', focus => 'b.r', hide => 'main', title => E'it''s\n\\"', max_nodes => 100) AS page \gset
SELECT replace(replace(replace(replace(split_part(substring(:'page' FROM '<pre><code>(.*)</code></pre>'), E'\n\\g', 1), '&quot;', '"'), '&lt;', '<'), '&gt;', '>'), '&amp;', '&') AS query \gset
\set ECHO none
SELECT (:query) = :'page' AS same;
\set ECHO all

-- another selection, another range; both ends infinite
SELECT page_text(r, 'report') AS text FROM profstore.report_html(:'cpu' || '{node="b"}', '2026-01-01 10:00Z', '2026-01-01 11:00Z', '2026-01-01 08:00Z', '2026-01-01 10:00Z', :'cpu' || '{node=~"a|c", job!="x"}',
	focus => 'bar') AS r;
SELECT page_text(r, 'report') AS text FROM profstore.report_html(:'cpu', '-infinity', 'infinity') AS r;

-- profile types whose values cannot be added over time
SELECT put_scrape('memory:inuse:bytes:space:bytes', '{"node": "m"}', '2026-01-01 10:00Z' , '{"main;alloc": 3145728}');
SELECT page_text(r, part) AS text FROM profstore.report_html('memory:inuse', '2026-01-01 10:00Z', '2026-01-01 11:00Z') AS r, unnest('{report,hottest,labels}'::text[]) AS part;

-- ranges that begin long before 1970; a limit of all functions
SELECT page_text(r, 'labels') AS text FROM profstore.report_html(:'cpu' || '{service="x"}', '1900-01-01', '2026-01-02') AS r;
SELECT page_text(r, 'labels') AS text FROM profstore.report_html(:'cpu' || '{service="x"}', '0001-01-01', '2026-01-02') AS r LIMIT 3;
SELECT max_rows, count(*) AS functions FROM unnest('{NULL,1}'::int4[]) AS max_rows, profstore.report_html(:'cpu' || '{service="x"}', '2026-01-01 10:00Z', '2026-01-01 11:00Z', max_rows => max_rows) AS r,
	regexp_matches(substring(r FROM '<section id="hottest".*?</section>'), '<bdi', 'g') GROUP BY 1 ORDER BY 1;

-- empty, for each of three reasons; and samples only in the range of comparison
RESET client_min_messages;
SELECT page_text(profstore.report_html('none:such:count::', '2026-01-01 10:00Z', '2026-01-01 11:00Z'), 'report') AS text;
SELECT page_text(profstore.report_html(:'cpu', '2026-01-03', '2026-01-04'), 'report') AS text;
SELECT page_text(profstore.report_html(:'cpu', '2026-01-01 10:00Z', '2026-01-01 11:00Z', focus => 'nowhere'), 'report') AS text;
SELECT page_text(profstore.report_html(:'cpu', '2026-01-01 11:00Z', '2026-01-01 12:00Z'), 'report') AS text;

-- source lines: with their text, and three lines around each costly one; without a text; hostile names and texts
SELECT profstore.intern_mappings('{a1b2}', '{/bin/shop}') AS m, profstore.intern_functions('{cart,pay,other}', '{cart,pay,other}', '{/src/cart.c,/src/cart.c,/src/<b>.c}', '{1,20,1}') AS f \gset
SELECT profstore.put_sources('a1b2', '{/src/cart.c}', array[(SELECT string_agg(CASE i WHEN 22 THEN E'\tpay("</script>", a && b);' ELSE 'line ' || i END, E'\n' ORDER BY i) FROM generate_series(1, 40) AS i)]);
SELECT profstore.intern_locations(array_fill(m[1], '{4}'), '{16,32,48,64}', '{1,1,1,1}', array[f[1], f[2], f[2], f[3]], '{2,22,24,7}') AS l FROM (VALUES (:'m'::int[], :'f'::int[])) AS v(m, f) \gset
SELECT (profstore.intern_series(array[:'cpu'], array['{"node": "lines"}'::jsonb], '{0}'))[1] AS s \gset
INSERT INTO profstore.samples SELECT '2026-01-01 10:00Z', :s, u.id, u.value
FROM (SELECT unnest(profstore.intern_stacks('p', '{2,2,1}', array[l[2], l[1], l[3], l[1], l[4]])) AS id, unnest('{40000000000,20000000000,10000000000}'::int8[]) AS value FROM (VALUES (:'l'::int[])) AS v(l)) AS u;
SELECT profstore.touch_series(array[:s], '2026-01-01 10:00Z', '2026-01-01 10:00Z');
SELECT page_text(profstore.report_html(:'cpu' || '{node="lines"}', '2026-01-01 10:00Z', '2026-01-01 11:00Z'), 'lines') AS text;
SELECT page_text(profstore.report_html(:'cpu' || '{node="lines"}', '2026-01-01 10:00Z', '2026-01-01 11:00Z', max_rows => 1, focus => 'pay'), 'lines') AS text;
SELECT page_text(profstore.report_html(:'cpu' || '{service="x"}', '2026-01-01 10:00Z', '2026-01-01 11:00Z'), 'lines') AS text;

-- a relative path is a file of its own in each program, and is not the file of a longer path that ends in it
SELECT profstore.intern_mappings('{a1b2,c3d4}', '{/bin/shop,/bin/till}') AS m, profstore.intern_functions('{main,main,main}', '{main,main,main}', '{main.c,lib/main.c,/src/main.c}', '{1,1,1}') AS f \gset
SELECT profstore.put_sources('a1b2', '{main.c,lib/main.c}', '{of shop,of its library}'), profstore.put_sources('c3d4', '{main.c}', '{of till}');
SELECT profstore.intern_locations(array[m[1], m[2], m[1], m[1], m[2]], '{160,160,176,192,192}', '{1,1,1,1,1}', array[f[1], f[1], f[2], f[3], f[3]], '{1,1,1,1,1}') AS l FROM (VALUES (:'m'::int[], :'f'::int[])) AS v(m, f) \gset
SELECT (profstore.intern_series(array[:'cpu'], array['{"node": "paths"}'::jsonb], '{0}'))[1] AS s \gset
INSERT INTO profstore.samples SELECT '2026-01-01 10:00Z', :s, u.id, u.value
FROM (SELECT unnest(profstore.intern_stacks('p', '{1,1,2,1,1}', array[l[1], l[2], l[3], l[1], l[4], l[5]])) AS id, unnest('{40000000000,10000000000,20000000000,10000000000,10000000000}'::int8[]) AS value FROM (VALUES (:'l'::int[])) AS v(l)) AS u;
SELECT profstore.touch_series(array[:s], '2026-01-01 10:00Z', '2026-01-01 10:00Z');
SELECT page_text(profstore.report_html(:'cpu' || '{node="paths"}', '2026-01-01 10:00Z', '2026-01-01 11:00Z'), 'lines') AS text;

-- errors are the same as those of the views
\set VERBOSITY terse
SELECT profstore.report_html(:'cpu' || '{node=');
SELECT profstore.report_html(:'cpu' || '{node=~"("}');
SELECT profstore.report_html(:'cpu', focus => '(');
SELECT profstore.report_html(:'cpu', '2026-01-02', '2026-01-01');
SELECT profstore.report_html(:'cpu', max_nodes => -1);
SELECT profstore.report_html(:'cpu', '2026-01-01 10:00Z', '2026-01-01 11:00Z', max_rows => -1);
SELECT profstore.report_html(NULL);
SELECT profstore.report_html(:'cpu', NULL, '2026-01-02');
SELECT profstore.report_html(:'cpu', '2026-01-01', NULL);
SET client_min_messages = warning;

-- names with markup, direction marks or control characters, and long names
SELECT put_scrape(:'cpu', jsonb_build_object('node', 'h', 'bad', '"><img src=x onerror=alert(1)>'), '2026-01-01 10:00Z', jsonb_build_object('</script><script>alert(1)</script>', 5, E'bell\u0007', 4, U&'right\202E left', 3,
	'<!-- tail -->', 2, '&lt;"''', 2, repeat('long', 16384), 1));
SELECT put_scrape(:'cpu', '{"node": "h"}', '2026-01-01 10:00Z', '{"a": 1}');
SELECT (SELECT string_agg(replace(substr(t, 1, 60), U&'\202E', '[RLO]'), E'\n') FROM page_text(r, 'hottest') AS t WHERE t !~ '^[-+0-9]|^none|^new') AS names,
	(SELECT count(*) FROM regexp_matches(r, '</script', 'g')) AS script_ends, (SELECT count(*) FROM regexp_matches(r, '<section id="sql"', 'g')) AS tails, r ~ E'\u0007' AS control, r ~ '<img' AS image,
	length(regexp_replace(r, '<script.*', '')) < 60000 AS bounded
FROM profstore.report_html(:'cpu' || '{node="h"}', '2026-01-01 10:00Z', '2026-01-01 11:00Z', title => '</title><script>') AS r;

-- the page shows only series that its caller may see
CREATE ROLE regress_pfs_reporter;
SELECT profstore.grant_read('regress_pfs_reporter');
ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
CREATE POLICY only_b ON profstore.series FOR SELECT TO regress_pfs_reporter USING (labels ->> 'node' = 'b');
SET ROLE regress_pfs_reporter;
SELECT page_text(r, 'report') AS text, r ~ 'ring_full|incomplete|onerror' AS leaks FROM profstore.report_html(:'cpu', '2026-01-01 10:00Z', '2026-01-01 11:00Z') AS r LIMIT 10;
RESET ROLE;
SELECT failure($$SET ROLE regress_pfs_reporter; SELECT count(*) FROM profstore.report_html('process_cpu:cpu', '2026-01-01 10:00Z', '2026-01-01 11:00Z')$$) AS works;
RESET ROLE;
DROP POLICY only_b ON profstore.series;
DROP OWNED BY regress_pfs_reporter;
DROP ROLE regress_pfs_reporter;
