-- help: a topic and an example for every function, and help(), which lists them. This script comes last, since it joins both to the comments of
-- all rooms, which \df+ shows. Results meant for people fit into 120 columns whatever names they contain; results meant for other tools are
-- written to a file with psql.

-- Questions as people ask them, in the order in which an investigation goes, each with the one query that answers it, and with the first rows of
-- the answer on the data of sql/fixtures/demo_fleet.sql, as psql prints them unaligned. sql/why.sql compares these with what the queries return.
CREATE FUNCTION profstore_internal.questions()
	RETURNS TABLE (place int4, "function" text, question text, query text, answer text)
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
VALUES
	(1, 'cost_of', 'Who burns most CPU time on a node?', E'SELECT labels ->> ''comm'' AS program,\n  round(cores::numeric, 2) AS cores\nFROM profstore.cost_of(''process_cpu:cpu{node=~".+"}'',\n  by => ''{comm}'')\nORDER BY cores DESC LIMIT 10',
		E'program | cores\nshop | 4.15\npostgres | 2.40'),
	(2, 'top', 'Which functions cost most?', E'SELECT profstore.short_name(function) AS function,\n  round(self_share::numeric, 3) AS self_share,\n  round(total_share::numeric, 3) AS total_share\nFROM profstore.top(''process_cpu:cpu'') LIMIT 10',
		E'function | self_share | total_share\nrender_page | 0.244 | 0.390\nindex_getnext | 0.214 | 0.214\nparse_json | 0.183 | 0.183\n...'),
	(3, 'callers', 'Why is that function called so much?', E'SELECT level, round(share::numeric, 3) AS share,\n  profstore.short_name(function) AS function\nFROM profstore.callers(''process_cpu:cpu'', function => (\n  SELECT function\n  FROM profstore.top(''process_cpu:cpu'') LIMIT 1))',
		E'level | share | function\n0 | 1.000 | render_page\n1 | 1.000 | serve\n2 | 1.000 | main'),
	(4, 'top_queries', 'Which SQL query burns the CPU of my database server?', E'SELECT coalesce(profstore.short_name(query, 40),\n  query_id::text, ''outside of queries'') AS query,\n  database, role, round(share::numeric, 3) AS share\nFROM profstore.top_queries(\n  ''process_cpu:cpu{comm="postgres"}'', max_rows => 10)',
		E'query | database | role | share\n6403418923715811251 | shop | web | 0.583\n-8072430946271513487 | shop | web | 0.250\n1795052719382374022 | shop | web | 0.125\noutside of queries |  |  | 0.042'),
	(5, 'top_diff', 'What got slower since yesterday?', E'SELECT profstore.short_name(function) AS function,\n  profstore.readable(self_delta, ''nanoseconds'') AS more\nFROM profstore.top_diff(''process_cpu:cpu'',\n  base_from => now() - interval ''25 hours'',\n  base_to => now() - interval ''24 hours'')\nORDER BY self_delta DESC LIMIT 10',
		E'function | more\nprice_of | 9.32 min\nindex_getnext | 5.58 s\nrender_page | 5.37 s\n...'),
	(6, 'regressions', 'Did the deploy make a function slower?', E'SELECT profstore.short_name(function) AS function,\n  status, round(change::numeric, 3) AS change,\n  round(cores::numeric, 2) AS cores\nFROM profstore.regressions(''process_cpu:cpu'',\n  at => now() - interval ''30 min'')',
		E'function | status | change | cores\nprice_of | regression | 0.400 | 0.34'),
	(7, 'regressions_basis', 'Why does it find nothing, and what could it find?', E'SELECT hosts, periods, reason,\n  round(detectable_at_1_percent::numeric, 3) AS detectable\nFROM profstore.regressions_basis(''process_cpu:cpu'',\n  at => now() - interval ''30 min'')',
		E'hosts | periods | reason | detectable\n4 | 24 |  | 0.029'),
	(8, 'anomalies', 'Which hours of today were unlike other days, and which function made them so?', E'SELECT time::timestamptz(0),\n  round(distance::numeric, 2) AS distance,\n  profstore.short_name(function, 40) AS function\nFROM profstore.anomalies(''process_cpu:cpu'')',
		E'time | distance | function\n2026-03-09 21:00:00+00 | 0.51 | heap_getnext'),
	(9, 'timeseries', 'When did it begin?', E'SELECT time::timestamptz(0),\n  profstore.short_name(metric, 40) AS program,\n  round((value - lag(value) OVER (PARTITION BY metric\n    ORDER BY time))::numeric, 1) AS more_cores\nFROM profstore.timeseries(''process_cpu:cpu'',\n  step => interval ''1 min'', by => ''{comm}'')\nORDER BY 3 DESC NULLS LAST LIMIT 1',
		E'time | program | more_cores\n2026-03-09 14:30:00+00 | shop | 0.3'),
	(10, 'health', 'What does this alert mean?', E'SELECT check_name, status,\n  profstore.short_name(action, 40) AS action\nFROM profstore.health() WHERE status <> ''ok''',
		E'check_name | status | action\nupkeep | warn | SELECT name, settin...'' OR name IN (...)\nretention | warn | SELECT profstore.set_retention(...)'),
	(11, 'selection_status', 'Why is there nothing to see?', E'SELECT status\nFROM profstore.selection_status(''process_cpu:cpu'')',
		E'status\n8 series'),
	(12, 'cost_of_functions', 'What does a function cost?', E'SELECT profstore.short_name(function) AS function,\n  round(core_hours::numeric, 1) AS core_hours\nFROM profstore.cost_of_functions(''process_cpu:cpu'',\n  now() - interval ''1 day'', max_rows => 10)',
		E'function | core_hours\nrender_page | 54.2\nindex_getnext | 31.5\nparse_json | 27.0\n...');
END;
COMMENT ON FUNCTION profstore_internal.questions() IS 'questions of people, with the query that answers each, and its answer on data of a demo';

CREATE FUNCTION profstore.help(name text)
	RETURNS TABLE (topic text, "function" text, description text, example text)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
-- a comment's first clause is cut to 74 characters in the list, and to 27 or 54 beside examples, so that a row has at most 120 columns with the
-- longest topic and name
SELECT h.topic, h.function, h.description, h.example
FROM (
SELECT c.parts[2], p.proname::text,
	CASE WHEN help.name IS NULL THEN CASE WHEN length(d.clause) <= 74 THEN d.clause ELSE split_part(d.clause, ', ', 1) END
		ELSE rtrim(regexp_replace(regexp_replace(d.whole, '(\S{27})', '\1 ', 'g'), '(.{1,27})(\s+|$)', E'\\1\n', 'g'), E'\n') END,
	CASE WHEN help.name IS NOT NULL THEN c.parts[3] END,
	array_position('{graphs,tables,series,merging,exchange,writing,upkeep,roles,tools}', c.parts[2]), p.proname, p.oid
FROM pg_catalog.pg_proc p
CROSS JOIN LATERAL regexp_match(obj_description(p.oid, 'pg_proc'), E'^(.*)\nTopic: (\\w+)\nExample:\n(.*)$') c(parts)
CROSS JOIN LATERAL (SELECT regexp_replace(c.parts[1], '\s+', ' ', 'g'), substring(c.parts[1], '^(.*?)(?:: |; |\. | \(|$)')) d(whole, clause)
WHERE p.pronamespace = 'profstore'::regnamespace AND c.parts IS NOT NULL AND (help.name IS NULL OR p.proname ~ help.name OR c.parts[2] = help.name)
UNION ALL
SELECT 'why', q.function, rtrim(regexp_replace(q.question, '(.{1,27})(\s+|$)', E'\\1\n', 'g'), E'\n'),
	q.query || E'\n' || regexp_replace(q.answer, '^', '-- ', 'gn'), q.place, NULL, NULL
FROM profstore_internal.questions() q
WHERE help.name = 'why') AS h(topic, "function", description, example, place, proname, oid)
ORDER BY h.place, h.proname, h.oid;
END;
COMMENT ON FUNCTION profstore.help(text) IS 'functions in detail, with an example: those of the topic, and those whose name it matches as a regular expression; NULL: all, a line each; why: questions, each with the query that answers it, and below it the first rows of an answer';

CREATE FUNCTION profstore.help()
	RETURNS TABLE (topic text, "function" text, description text)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT h.topic, h.function, h.description
FROM profstore.help(NULL) WITH ORDINALITY AS h(topic, function, description, example, place)
WHERE h.topic <> 'writing' ORDER BY h.place;
END;
COMMENT ON FUNCTION profstore.help() IS 'the functions of profstore by topic, a line each, except those that only collectors call (topic writing)';

DO $comments$
DECLARE
	type text := '''process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta''';
	hottest text := E'(\n  SELECT function\n  FROM profstore.top(''process_cpu:cpu'') LIMIT 1)';
	sums text := E'(SELECT profstore.merge_stacks(stack_id, value)\n   FROM profstore.samples\n   JOIN profstore.matching_series(''process_cpu:cpu'')\n   USING (series_id)\n   WHERE time >= now() - interval ''1 hour'')';
	topic text;
	function_name text;
	example text;
	oid_found oid;
BEGIN
	FOR topic, function_name, example IN VALUES
		('graphs', 'flamegraph', E'SELECT level, value, self,\n  profstore.short_name(label) AS label\nFROM profstore.flamegraph(''process_cpu:cpu'')\nORDER BY ord'),
		('graphs', 'flamegraph_text', E'SELECT *\nFROM profstore.flamegraph_text(''process_cpu:cpu'')'),
		('graphs', 'flamegraph_diff', E'SELECT level, value, "valueRight",\n  profstore.short_name(label) AS label\nFROM profstore.flamegraph_diff(''process_cpu:cpu'')\nORDER BY ord'),
		('graphs', 'callers', E'SELECT level, total,\n  profstore.short_name(function) AS function\nFROM profstore.callers(\n  ''process_cpu:cpu'', function => {hottest})'),
		('graphs', 'callees', E'SELECT level, total,\n  profstore.short_name(function) AS function\nFROM profstore.callees(\n  ''process_cpu:cpu'', function => (\n  SELECT function\n  FROM profstore.top(''process_cpu:cpu'')\n  ORDER BY total DESC LIMIT 1))'),
		('graphs', 'sandwich', E'SELECT side, level, value,\n  profstore.short_name(label) AS label\nFROM profstore.sandwich(\n  ''process_cpu:cpu'', function => {hottest})\nORDER BY ord'),
		('graphs', 'callgraph', E'SELECT profstore.short_name(caller, 45) AS caller,\n  profstore.short_name(callee, 45) AS callee, value\nFROM profstore.callgraph(\n  ''process_cpu:cpu'', max_nodes => 20)'),
		('graphs', 'callgraph_dot', E'SELECT profstore.callgraph_dot(''process_cpu:cpu'')\n\\g (tuples_only format=unaligned) calls.dot'),
		('graphs', 'flamechart', E'SELECT lane, level, end_time - start_time AS length,\n  profstore.short_name(label) AS label\nFROM profstore.flamechart(''process_cpu:cpu'',\n  (SELECT max(last_seen) - interval ''20 s''\n   FROM profstore.series(''process_cpu:cpu'')))'),
		('tables', 'top', E'SELECT profstore.short_name(function) AS function,\n  profstore.readable(self, ''nanoseconds'') AS self\nFROM profstore.top(''process_cpu:cpu'')'),
		('tables', 'top_diff', E'SELECT profstore.short_name(function) AS function,\n  self, self_delta\nFROM profstore.top_diff(''process_cpu:cpu'')'),
		('tables', 'regressions', E'SELECT profstore.short_name(function) AS function,\n  status, change, cores\nFROM profstore.regressions(\n  ''process_cpu:cpu'',\n  at => now() - interval ''30 min'')'),
		('tables', 'regressions_basis', E'SELECT method, hosts, samples_before,\n  samples_after, reason\nFROM profstore.regressions_basis(\n  ''process_cpu:cpu'',\n  at => now() - interval ''30 min'')'),
		('tables', 'cost_of', E'SELECT labels, cores, core_hours\nFROM profstore.cost_of(\n  ''process_cpu:cpu'', by => ''{comm}'')'),
		('tables', 'cost_of_functions', E'SELECT profstore.short_name(function) AS function,\n  core_hours\nFROM profstore.cost_of_functions(''process_cpu:cpu'')'),
		('tables', 'top_queries', E'SELECT query_id, database, role, share,\n  profstore.short_name(query, 40) AS query\nFROM profstore.top_queries(''process_cpu:cpu'')'),
		('tables', 'anomalies', E'SELECT time::timestamptz(0), share, usual_share,\n  profstore.short_name(function) AS function\nFROM profstore.anomalies(''process_cpu:cpu'')'),
		('tables', 'timeseries', E'SELECT time::timestamptz(0), value,\n  profstore.short_name(metric) AS metric\nFROM profstore.timeseries(\n  ''process_cpu:cpu'', by => ''{comm}'')'),
		('tables', 'source', E'SELECT line, self, total, left(text, 60) AS text\nFROM profstore.source(\n  ''process_cpu:cpu'', filename => (\n  SELECT file FROM profstore.top(''process_cpu:cpu'',\n    max_rows => NULL)\n  WHERE file <> '''' LIMIT 1))'),
		('tables', 'filtered_share', E'SELECT * FROM profstore.filtered_share(\n  ''process_cpu:cpu'',\n  ignore => ''{mapping="libc.so.6"}'')'),
		('tables', 'folded', E'SELECT stack || '' '' || value\nFROM profstore.folded(''process_cpu:cpu'')\n\\g (tuples_only format=unaligned) cpu.folded'),
		('tables', 'stacks_of', E'SELECT value, profstore.short_name(\n  array_to_string(stack, '' > ''), 90) AS stack\nFROM profstore.stacks_of(''process_cpu:cpu'')'),
		('tables', 'heatmap', E'SELECT * FROM profstore.heatmap(''process_cpu:cpu'')'),
		('series', 'profile_types', E'SELECT profile_type, unit, delta,\n  last_seen::timestamptz(0)\nFROM profstore.profile_types()'),
		('series', 'label_names', $$SELECT * FROM profstore.label_names()$$),
		('series', 'label_values', $$SELECT * FROM profstore.label_values('comm')$$),
		('series', 'series', E'SELECT series_id, key,\n  profstore.short_name(value) AS value\nFROM profstore.series(), jsonb_each_text(labels)'),
		('series', 'matching_series', E'SELECT series_id, period, last_seen::timestamptz(0)\nFROM profstore.matching_series(''process_cpu:cpu'')'),
		('series', 'selector', E'SELECT profstore.selector(''process_cpu:cpu'',\n  ''{"node": "a"}'')'),
		('series', 'parse_selector', $$SELECT * FROM profstore.parse_selector('{node=~"a"}')$$),
		('series', 'parse_profile_type', E'SELECT * FROM profstore.parse_profile_type(\n  {type})'),
		('series', 'normalize_labels', $$SELECT profstore.normalize_labels('{"a": ""}')$$),
		('merging', 'merge_stacks(int8, int8)', E'SELECT count(*), sum(value)\nFROM profstore.stacks_in((\n  SELECT profstore.merge_stacks(stack_id, value)\n  FROM profstore.samples\n  WHERE time >= now() - interval ''1 hour''))'),
		('merging', 'merge_stacks(profstore.stack_sums)', E'SELECT profstore.merge_stacks(s) FROM unnest(\n  ''{"{0:1}","{0:2}"}''::profstore.stack_sums[]) s'),
		('merging', 'flamegraph_of', E'SELECT level, value, self,\n  profstore.short_name(label) AS label\nFROM profstore.flamegraph_of(\n  {sums})\nORDER BY ord'),
		('merging', 'flamegraph_diff_of', E'WITH half(late, sums) AS (\n  SELECT time >= now() - interval ''30 minutes'',\n    profstore.merge_stacks(stack_id, value)\n  FROM profstore.samples\n  WHERE time >= now() - interval ''1 hour'' GROUP BY 1)\nSELECT level, value, "valueRight",\n  profstore.short_name(label) AS label\nFROM profstore.flamegraph_diff_of(\n  (SELECT sums FROM half WHERE NOT late),\n  (SELECT sums FROM half WHERE late)) ORDER BY ord'),
		('merging', 'top_of', E'SELECT profstore.short_name(function) AS function,\n  self, total\nFROM profstore.top_of(\n  {sums})'),
		('merging', 'callgraph_of', E'SELECT profstore.short_name(caller, 45) AS caller,\n  profstore.short_name(callee, 45) AS callee, value\nFROM profstore.callgraph_of(\n  {sums})'),
		('merging', 'folded_of', E'SELECT value, profstore.short_name(stack, 90) AS stack\nFROM profstore.folded_of(\n  {sums})'),
		('merging', 'stacks_in', $$SELECT * FROM profstore.stacks_in('{0:12}')$$),
		('exchange', 'flamegraph_html', E'SELECT profstore.flamegraph_html(''process_cpu:cpu'',\n  by => ''{comm}'')\n\\g (tuples_only format=unaligned) cpu.html'),
		('exchange', 'flamegraph_diff_html', E'SELECT profstore.flamegraph_diff_html(\n  ''process_cpu:cpu'')\n\\g (tuples_only format=unaligned) diff.html'),
		('exchange', 'report_html', E'SELECT profstore.report_html(''process_cpu:cpu'')\n\\g (tuples_only format=unaligned) report.html'),
		('exchange', 'flamegraph_json', E'SELECT profstore.flamegraph_json(''process_cpu:cpu'')\n\\g (tuples_only format=unaligned) cpu.json'),
		('exchange', 'pprof', E'SELECT encode(profstore.pprof(''process_cpu:cpu''),\n  ''base64'')\n\\g (tuples_only format=unaligned) | base64 -d >cpu.pb'),
		('exchange', 'speedscope', E'SELECT profstore.speedscope(''process_cpu:cpu'')\n\\g (tuples_only format=unaligned) cpu.json'),
		('exchange', 'firefox_profile', E'SELECT profstore.firefox_profile(''process_cpu:cpu'')\n\\g (tuples_only format=unaligned) cpu.json'),
		('exchange', 'import_pprof', E'SELECT profstore.import_pprof(\n  profstore.pprof(''process_cpu:cpu''),\n  ''{"job": "copy"}'', at => now())'),
		('exchange', 'import_folded', E'SELECT profstore.import_folded(\n  E''main;work 12\\nmain;rest 3'', at => now())'),
		('exchange', 'import_perf_script', E'SELECT profstore.import_perf_script(\n  E''tool 7 1.5: 1 cycles:\\n\\t10 main (/bin/tool)\\n'',\n  at => now())'),
		('writing', 'ensure_partitions', E'SELECT profstore.ensure_partitions(\n  now(), now() + interval ''1 day'')'),
		('writing', 'epoch', E'SELECT profstore.epoch()'),
		('writing', 'begin_batch', E'SELECT profstore.begin_batch(\n  gen_random_uuid(), 1, profstore.epoch())'),
		('writing', 'take_receipts', E'SELECT profstore.take_receipts(\n  ARRAY[gen_random_uuid()])'),
		('writing', 'pin_epoch', E'SELECT profstore.pin_epoch(profstore.epoch())'),
		('writing', 'intern_profile_types', E'SELECT profstore.intern_profile_types(ARRAY[\n  {type}\n])'),
		('writing', 'intern_series', E'SELECT profstore.intern_series(ARRAY[\n  {type}\n], ARRAY[''{"node": "a"}''::jsonb], ''{52631579}'')'),
		('writing', 'intern_functions', E'SELECT profstore.intern_functions(\n  ''{main}'', ''{main}'', ''{main.c}'', ''{10}'')'),
		('writing', 'intern_mappings', E'SELECT profstore.intern_mappings(\n  ''{a1b2}'', ''{/usr/bin/tool}'')'),
		('writing', 'intern_locations', E'SELECT profstore.intern_locations(\n  ''{0}'', ''{4096}'', ''{0}'', ''{}'', ''{}'')'),
		('writing', 'intern_stacks', E'SELECT profstore.intern_stacks(''tool'', ''{0}'', ''{}'')'),
		('writing', 'intern_stacks_by_partition', E'SELECT profstore.intern_stacks_by_partition(\n  ''{tool}'', ''{1}'', ''{0}'', ''{}'')'),
		('writing', 'touch_series', E'SELECT profstore.touch_series(\n  ''{7}'', now() - interval ''10 s'', now())'),
		('writing', 'touch_each_series', E'SELECT profstore.touch_each_series(\n  ''{7}'', ARRAY[now() - interval ''10 s''], ARRAY[now()])'),
		('writing', 'keep_traces', E'SELECT profstore.keep_traces(\n  ARRAY[now()], ''{7}'', ''{0}'', ''{1}'',\n  ARRAY[gen_random_uuid()], ''{NULL}'')'),
		('writing', 'keep_file_notes', E'SELECT profstore.keep_file_notes(\n  ''{7}'', ''{note}'', '''', '''', '''', '''')'),
		('writing', 'find_symbol_work', E'SELECT profstore.find_symbol_work()'),
		('writing', 'claim_symbol_work', E'SELECT * FROM profstore.claim_symbol_work(\n  ''host/1'', 1)'),
		('writing', 'open_addresses', E'SELECT * FROM profstore.open_addresses(''a1b2'')'),
		('writing', 'settle_symbol_work', E'SELECT profstore.settle_symbol_work(\n  ''a1b2'', ''host/1'', 0, NULL, ''none found'')'),
		('writing', 'begin_debuginfo', E'SELECT * FROM profstore.begin_debuginfo(\n  ''a1b2c3d4a1b2c3d4'', sha256(''a''), 7, ''tool.debug'')'),
		('writing', 'put_debuginfo', E'SELECT profstore.put_debuginfo(\n  7, 0, ''\\x28b52ffd'')'),
		('writing', 'finish_debuginfo', E'SELECT profstore.finish_debuginfo(7)'),
		('writing', 'find_debuginfo', E'SELECT * FROM profstore.find_debuginfo(\n  ''a1b2c3d4a1b2c3d4'')'),
		('writing', 'debuginfo_state', E'SELECT profstore.debuginfo_state(\n  ''a1b2c3d4a1b2c3d4'', ''shop'', '''')'),
		('writing', 'read_debuginfo', E'SELECT profstore.read_debuginfo(7, 0)'),
		('writing', 'writer_protocols', E'SELECT * FROM profstore.writer_protocols()'),
		('writing', 'calling_role', E'SELECT profstore.calling_role()'),
		('writing', 'bump_names', E'SELECT profstore.bump_names()'),
		('writing', 'bump_epoch', E'SELECT profstore.bump_epoch()'),
		('upkeep', 'compact', E'SELECT profstore.compact()'),
		('upkeep', 'compact_in_steps', E'CALL profstore.compact_in_steps()'),
		('upkeep', 'verify', E'SELECT * FROM profstore.verify()'),
		('upkeep', 'remove_samples', E'SELECT profstore.remove_samples(\n  ''profstore.samples'', ''value < 0'')'),
		('upkeep', 'remove_segment', E'SELECT profstore.remove_segment(relation, segment)\nFROM profstore.segment_details\nWHERE segment = 4711'),
		('upkeep', 'set_retention', E'SELECT profstore.set_retention(interval ''14 days'')'),
		('upkeep', 'apply_retention', E'CALL profstore.apply_retention()'),
		('upkeep', 'partitions', E'SELECT * FROM profstore.partitions()'),
		('upkeep', 'distribute', E'CALL profstore.distribute()'),
		('upkeep', 'drop_before', E'SELECT * FROM profstore.drop_before(\n  now() - interval ''90 days'')'),
		('upkeep', 'compact_dictionary', E'SELECT profstore.compact_dictionary()'),
		('upkeep', 'collect_dictionary', E'SELECT * FROM profstore.collect_dictionary()'),
		('upkeep', 'track_stacks', E'SELECT profstore.track_stacks(\n  ''profstore.samples'', ''stack_id'')'),
		('upkeep', 'untrack_stacks', E'SELECT profstore.untrack_stacks(\n  ''profstore.samples'')'),
		('upkeep', 'stack_references', E'SELECT * FROM profstore.stack_references()'),
		('upkeep', 'storage_id', E'SELECT relation, profstore.storage_id(relation)\nFROM profstore.partitions()'),
		('upkeep', 'want_symbols', E'SELECT profstore.want_symbols()'),
		('writing', 'put_sources', E'SELECT profstore.put_sources(\n  ''a1b2c3d4a1b2c3d4'', ''{/src/main.c}'',\n  array[E''int main;\\n''])'),
		('writing', 'map_sources', E'SELECT profstore.map_sources(\n  ''/builds/server/'', '''')'),
		('upkeep', 'unmap_sources', E'SELECT profstore.unmap_sources(\n  ''/builds/server/'')'),
		('writing', 'missing_sources', E'SELECT profstore.missing_sources(\n  ''a1b2c3d4a1b2c3d4'', 10)'),
		('upkeep', 'remove_sources', E'SELECT profstore.remove_sources(\n  ''a1b2c3d4a1b2c3d4'')'),
		('tables', 'same_functions', E'SELECT * FROM profstore.same_functions(\n  ''a1b2c3d4a1b2c3d4'', ''e5f6a7b8e5f6a7b8'')'),
		('tables', 'source_text', E'SELECT profstore.source_text(\n  array_agg(id), ''main.c'')\nFROM profstore.mappings'),
		('upkeep', 'remove_debuginfo', E'SELECT profstore.remove_debuginfo(\n  ''a1b2c3d4a1b2c3d4'')'),
		('upkeep', 'forget_answers', E'SELECT profstore.forget_answers(\n  ''a1b2'', ''built from other sources'')'),
		('writing', 'report_collector', E'SELECT profstore.report_collector(\n  ''a'', ''agent'', ''1.0'', now(), now(), false,\n  ''{queued_bytes}'', ''{0}'')'),
		('upkeep', 'health', E'SELECT check_name, object, status,\n  since::timestamptz(0)\nFROM profstore.health()'),
		('upkeep', 'record_health', E'SELECT profstore.record_health()'),
		('upkeep', 'set_health_limits', E'SELECT profstore.set_health_limits(''lag'', 300, 1200)'),
		('upkeep', 'reset_health_limits', E'SELECT profstore.reset_health_limits()'),
		('upkeep', 'collector_metrics', E'SELECT name, metric, value\nFROM profstore.collector_metrics()'),
		('upkeep', 'forget_collector', E'SELECT profstore.forget_collector(''a'', role => ''w'')'),
		('upkeep', 'target_states', E'SELECT name, state, last_seen::timestamptz(0)\nFROM profstore.target_states()'),
		('roles', 'grant_read(regrole)', E'SELECT profstore.grant_read(''pg_monitor'')'),
		('roles', 'grant_read(regrole, text)', E'SELECT profstore.grant_read(''pg_monitor'',\n  ''{team="a"}'')'),
		('roles', 'grant_write(regrole)', E'SELECT profstore.grant_write(''pg_monitor'')'),
		('roles', 'grant_write(regrole, text)', E'SELECT profstore.grant_write(''pg_monitor'',\n  ''{team="a"}'')'),
		('roles', 'grant_maintain', E'SELECT profstore.grant_maintain(''pg_monitor'')'),
		('roles', 'revoke_access', E'SELECT profstore.revoke_access(''pg_monitor'')'),
		('roles', 'row_policies', E'SELECT relation, policy\nFROM profstore.row_policies()'),
		('roles', 'apply_policies', E'SELECT profstore.apply_policies()'),
		('tools', 'help()', $$SELECT * FROM profstore.help()$$),
		('tools', 'help(text)', $$SELECT * FROM profstore.help('graphs')$$),
		('tools', 'readable', $$SELECT profstore.readable(12345678901, 'nanoseconds')$$),
		('tools', 'short_name', E'SELECT profstore.short_name(\n  ''std::vector<std::pair<int, long>>::push_back(int)'',\n  30)'),
		('tools', 'selection_status', E'SELECT status, is_empty\nFROM profstore.selection_status(\n  ''process_cpu:cpu'')'),
		('tools', 'stored_rows', $$SELECT profstore.stored_rows('process_cpu:cpu')$$),
		('tools', 'selection_error', E'SELECT profstore.selection_error(''process_cpu:cpu{'')'),
		('tools', 'valid_selector', E'SELECT profstore.valid_selector(\n  ''process_cpu:cpu{'', ''main'')'),
		('tools', 'valid_filter', E'SELECT profstore.valid_filter(''^main''),\n  profstore.valid_filter(''(main'')'),
		('tools', 'valid_time', E'SELECT profstore.valid_time(''2026-11-01 12:00Z''),\n  profstore.valid_time(''noon-ish'')'),
		('tools', 'frames_of', $$SELECT profstore.frames_of('kernel')$$),
		('tools', 'frame_filter', E'SELECT *\nFROM profstore.frame_filter(''parse a.c:12'',\n  ''line'', ''a.c'')'),
		('tools', 'forge_url', E'SELECT profstore.forge_url(''github.com/org/api'',\n  ''v1.2'', ''/build/api/main.c'', 7)'),
		('tools', 'type_title', E'SELECT profstore.type_title(\n  {type})'),
		('tools', 'last_scan', E'SELECT count(*)\nFROM profstore.folded(''process_cpu:cpu'');\nSELECT * FROM profstore.last_scan()'),
		('tools', 'shared_cache', E'SELECT * FROM profstore.shared_cache()'),
		('tools', 'version', E'SELECT profstore.version()')
	LOOP
		oid_found := CASE WHEN function_name LIKE '%)' THEN ('profstore.' || function_name)::regprocedure::oid
			ELSE ('profstore.' || function_name)::regproc::oid END;
		EXECUTE format('COMMENT ON ROUTINE %s IS %L', oid_found::regprocedure,
			format(E'%s\nTopic: %s\nExample:\n%s', obj_description(oid_found, 'pg_proc'), topic, replace(replace(replace(example, '{type}', type), '{hottest}', hottest), '{sums}', sums)));
	END LOOP;
END
$comments$;
