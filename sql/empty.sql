-- If no sample matches a selection, each function that selects raises one NOTICE per statement, except filtered_share: its numbers show it.
\i sql/fixtures/preamble.sql
RESET client_min_messages;
\pset tuples_only on
SELECT put_scrape(:'cpu', '{"node": "a"}', '2026-01-01 10:00Z', '{"main;f": 40}');
CREATE TABLE calls (n int GENERATED ALWAYS AS IDENTITY, call text);
INSERT INTO calls (call) SELECT name || '(%s)' FROM unnest('{flamegraph,flamegraph_text,top,folded,stacks_of,callgraph,callgraph_dot,timeseries,heatmap,
	flamechart,flamegraph_html,flamegraph_json,speedscope,firefox_profile,pprof,report_html}'::text[]) WITH ORDINALITY AS f(name, n) ORDER BY n;
INSERT INTO calls (call) VALUES ('flamegraph(%s, by => ''{node}'')'), ('callers(%s, function => ''f'')'), ('callees(%s, function => ''f'')'), ('sandwich(%s, function => ''f'')'),
	('source(%s, filename => ''a.c'')'), ('top_diff(%s)'), ('flamegraph_diff(%s)'), ('flamegraph_diff_html(%s)');
-- after one sample is added that matches all of these selections, none raises a NOTICE
SELECT put_scrape(:'cpu', '{"node": "b"}', now() - interval '10 min', '{"main;f": 40}');
SELECT format('SELECT count(*) > 0 FROM profstore.' || call, quote_literal(:'cpu' || '{node="b"}')) FROM calls WHERE call !~ 'source' ORDER BY n \gexec
\set VERBOSITY terse
-- no series matches
SELECT format('SELECT count(*) FROM profstore.' || call, quote_literal(:'cpu' || '{node="nowhere"}')) FROM calls ORDER BY n \gexec
-- no samples in the last hour
SELECT format('SELECT count(*) FROM profstore.' || call, quote_literal(:'cpu' || '{node="a"}')) FROM calls ORDER BY n \gexec
-- a filter that removes all samples: a series graph then has the value 0
SELECT format('SELECT count(*) FROM profstore.' || call, quote_literal(:'cpu') || ', focus => ''nosuch''') FROM calls ORDER BY n \gexec
-- a file without frames, a function without stacks
SELECT * FROM profstore.source(:'cpu', filename => 'a.c');
SELECT * FROM profstore.callers(:'cpu', function => 'nosuch');
\set VERBOSITY default
SELECT * FROM profstore.folded(:'cpu' || '{node="nowhere"}');
SELECT * FROM profstore.folded(:'cpu' || '{node="a"}');
SELECT * FROM profstore.sandwich(:'cpu', function => 'nosuch');
-- an unknown profile type has a NOTICE of its own, also once per statement
SELECT * FROM profstore.top('nosuch:nosuch:nosuch:nosuch:nosuch');
SELECT count(*) FROM generate_series(1, 3) AS g CROSS JOIN LATERAL profstore.top(:'cpu' || '{node="nowhere"}', now() - g * interval '1 hour') AS t;
