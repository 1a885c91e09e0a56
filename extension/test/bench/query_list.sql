-- Stores the statements that "query" measures in table bench_queries, for a fleet's profiles of the given minutes and hours.
--
--   psql -v minutes=60 -v hours=1 -f query_list.sql
\set ON_ERROR_STOP 1
CREATE TABLE bench_first (what text, cpu_ms float8, memory_mb float8, cpu_to_reach text, memory_to_reach text);
CREATE TABLE bench_queries
	(n serial, what text, query text, runs int4, cold bool DEFAULT false, one_hour text DEFAULT '', hours text DEFAULT '', month text DEFAULT '', to_reach text, cold_ms numeric);

SELECT timestamptz '2026-01-01 00:00Z' + :minutes * interval '1 min' AS end_ts, timestamptz '2026-01-01 00:00Z' + :minutes / 2 * interval '1 min' AS middle \gset
SELECT format('(%L, %L, %L', type || '{}', begin_ts, :'end_ts') AS all,
	format('(%L, %L, %L', type || '{service="service4"}', begin_ts, :'end_ts') AS one_service,
	format('(%L, %L, %L', type || '{node="node3",service="service4"}', begin_ts, :'end_ts') AS one_series,
	format('(%L, %L, %L', type || '{node="node3",service="service4"}', begin_ts + interval '1 hour', begin_ts + interval '2 hours') AS series_hour,
	format('(%L, %L, %L', type || '{}', begin_ts + interval '7 min', begin_ts + interval '8 min') AS one_minute,
	format('(%L, %L, %L, %L, %L', type || '{}', begin_ts, :'middle', :'middle', :'end_ts') AS halves,
	format('%L', :hours * interval '10 s') AS step,
	'SELECT labels->>''service'', sum(value) FROM profstore.samples JOIN profstore.series ON series.id = series_id GROUP BY 1' AS join
FROM (SELECT 'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', timestamptz '2026-01-01 00:00Z') AS constants(type, begin_ts) \gset
INSERT INTO bench_queries (what, query, runs, cold, one_hour, hours) VALUES
	('flame graph of all', 'SELECT count(*) FROM profstore.flamegraph' || :'all' || ')', 6, true, '<= 15', '<= 60'),
	('flame graph of all, one function in focus', 'SELECT count(*) FROM profstore.flamegraph' || :'all' || ', focus => ''function12'')', 6, true, '+ 50 %', '+ 50 %'),
	('flame graph of all, one function hidden', 'SELECT count(*) FROM profstore.flamegraph' || :'all' || ', hide => ''function12'')', 6, false, '+ 50 %', '+ 50 %'),
	('flame graph of one service', 'SELECT count(*) FROM profstore.flamegraph' || :'one_service' || ')', 6, false, '<= 12', ''),
	('flame graph of one series', 'SELECT count(*) FROM profstore.flamegraph' || :'one_series' || ')', 6, false, '<= 5', ''),
	('flame graph of all series, one minute', 'SELECT count(*) FROM profstore.flamegraph' || :'one_minute' || ')', 6, false, '<= 15', ''),
	('diff of the two halves', 'SELECT count(*) FROM profstore.flamegraph_diff' || :'halves' || ')', 6, true, '<= 30', '<= 120'),
	('series graph by service, 360 steps', 'SELECT count(*) FROM profstore.timeseries' || :'all' || ', ' || :'step' || ', ''{service}'')', 6, true, '<= 30', ''),
	('the same, one function in focus', 'SELECT count(*) FROM profstore.timeseries' || :'all' || ', ' || :'step' || ', ''{service}'', focus => ''function12'')', 3, false, '<= 60', ''),
	('the same, another focus each time', 'SELECT count(*) FROM profstore.timeseries' || :'all' || ', ' || :'step' || ', ''{service}'', focus => ''function12|^'' || random())', 3, false, '', ''),
	('exact tree, not truncated', 'SELECT count(*) FROM profstore.flamegraph' || :'all' || ', NULL)', 3, false, '<= 300', ''),
	('sums by service in SQL, joined with series', 'SELECT count(*) FROM (' || :'join' || ') AS sums', 6, true, '<= 60', '<= 60'),
	('top', 'SELECT count(*) FROM profstore.top' || :'all' || ')', 3, true, '', ''),
	('pprof', 'SELECT length(profstore.pprof' || :'all' || '))', 2, true, '<= 150', '');
INSERT INTO bench_queries (what, query, runs, cold, hours, month)
SELECT what, query, 6, false, goal, goal
FROM (VALUES
	('flame graph of one series, one hour', 'SELECT count(*) FROM profstore.flamegraph' || :'series_hour' || ')', '<= 5'),
	('series graph by service, a day a step', 'SELECT count(*) FROM profstore.timeseries' || :'all' || ', ''1 day'', ''{service}'')', '')) AS of_more(what, query, goal)
WHERE :hours > 1;
UPDATE bench_queries SET month = '<= 150' WHERE what = 'flame graph of all';
UPDATE bench_queries SET month = '<= 20' WHERE what IN ('flame graph of one series', 'flame graph of one series, one hour');
UPDATE bench_queries SET to_reach = CASE WHEN :hours > 24 THEN month WHEN :hours > 1 THEN hours ELSE one_hour END;
