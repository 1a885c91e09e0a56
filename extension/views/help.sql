-- query: an example for every function, and help(), which lists them. Comes last: the examples are joined to the comments
-- of all rooms, so that \df+ shows both. What begins with "internal: " needs none. Results that go to people fit into 120 columns, whatever names are in
-- them; those that go to other tools go to a file, as psql writes it.

CREATE FUNCTION profstore.help(name text DEFAULT NULL)
	RETURNS TABLE ("function" text, description text, example text)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
-- 36 and 54 characters a line make at most 120 columns with the longest name
SELECT p.proname,
	rtrim(regexp_replace(regexp_replace(regexp_replace(c.parts[1], '\s+', ' ', 'g'), '(\S{36})', '\1 ', 'g'), '(.{1,36})(\s+|$)', E'\\1\n', 'g'), E'\n'),
	c.parts[2]
FROM pg_catalog.pg_proc p
CROSS JOIN LATERAL regexp_match(obj_description(p.oid, 'pg_proc'), E'^(.*)\nExample:\n(.*)$') c(parts)
WHERE p.pronamespace = 'profstore'::regnamespace AND c.parts IS NOT NULL AND (help.name IS NULL OR p.proname ~ help.name)
ORDER BY p.proname, p.oid;
END;
COMMENT ON FUNCTION profstore.help(text) IS 'the functions of profstore, with an example each; name: only those whose name it matches as a regular expression';

DO $comments$
DECLARE
	type text := '''process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta''';
	hottest text := E'(\n  SELECT function FROM profstore.top(''process_cpu'')\n  LIMIT 1)';
	sums text := E'(SELECT profstore.merge_stacks(stack_id, value)\n   FROM profstore.samples\n   JOIN profstore.matching_series(''process_cpu'')\n   USING (series_id)\n   WHERE time >= now() - interval ''1 hour'')';
	function_name text;
	example text;
	oid_found oid;
BEGIN
	FOR function_name, example IN VALUES
		-- what there is
		('help', $$SELECT * FROM profstore.help('flame')$$),
		('profile_types', E'SELECT profile_type, unit, delta,\n  last_seen::timestamptz(0)\nFROM profstore.profile_types()'),
		('label_names', $$SELECT * FROM profstore.label_names()$$),
		('label_values', $$SELECT * FROM profstore.label_values('comm')$$),
		('series', E'SELECT series_id, key,\n  profstore.short_name(value) AS value\nFROM profstore.series(), jsonb_each_text(labels)'),
		('matching_series', E'SELECT series_id, period, last_seen::timestamptz(0)\nFROM profstore.matching_series(''process_cpu'')'),
		('selector', E'SELECT profstore.selector(''process_cpu'',\n  ''{"node": "a"}'')'),
		('parse_selector', $$SELECT * FROM profstore.parse_selector('{node=~"a"}')$$),
		('parse_profile_type', E'SELECT * FROM profstore.parse_profile_type(\n  {type})'),
		('normalize_labels', $$SELECT profstore.normalize_labels('{"a": ""}')$$),
		-- views
		('flamegraph', E'SELECT level, value, self,\n  profstore.short_name(label) AS label\nFROM profstore.flamegraph(''process_cpu'')\nORDER BY ord'),
		('flamegraph_text', $$SELECT * FROM profstore.flamegraph_text('process_cpu')$$),
		('flamegraph_diff', E'SELECT level, value, "valueRight",\n  profstore.short_name(label) AS label\nFROM profstore.flamegraph_diff(''process_cpu'')\nORDER BY ord'),
		('top', E'SELECT profstore.short_name(function) AS function,\n  profstore.readable(self, ''nanoseconds'') AS self\nFROM profstore.top(''process_cpu'')'),
		('top_diff', E'SELECT profstore.short_name(function) AS function,\n  self, self_delta\nFROM profstore.top_diff(''process_cpu'')'),
		('timeseries', E'SELECT time::timestamptz(0), value,\n  profstore.short_name(metric) AS metric\nFROM profstore.timeseries(\n  ''process_cpu'', by => ''{comm}'')'),
		('callers', E'SELECT level, total,\n  profstore.short_name(function) AS function\nFROM profstore.callers(\n  ''process_cpu'', function => {hottest})'),
		('callees', E'SELECT level, total,\n  profstore.short_name(function) AS function\nFROM profstore.callees(\n  ''process_cpu'', function => (\n  SELECT function FROM profstore.top(''process_cpu'')\n  ORDER BY total DESC LIMIT 1))'),
		('sandwich', E'SELECT side, level, value,\n  profstore.short_name(label) AS label\nFROM profstore.sandwich(\n  ''process_cpu'', function => {hottest})\nORDER BY ord'),
		('callgraph', E'SELECT profstore.short_name(caller, 45) AS caller,\n  profstore.short_name(callee, 45) AS callee, value\nFROM profstore.callgraph(\n  ''process_cpu'', max_nodes => 20)'),
		('callgraph_dot', E'SELECT profstore.callgraph_dot(''process_cpu'')\n\\g (tuples_only format=unaligned) calls.dot'),
		('source', E'SELECT line, self, total, left(text, 60) AS text\nFROM profstore.source(\n  ''process_cpu'', filename => (\n  SELECT file FROM profstore.top(''process_cpu'',\n    max_rows => NULL)\n  WHERE file <> '''' LIMIT 1))'),
		('filtered_share', E'SELECT * FROM profstore.filtered_share(\n  ''process_cpu'', ignore => ''{mapping="libc.so.6"}'')'),
		('folded', E'SELECT stack || '' '' || value\nFROM profstore.folded(''process_cpu'')\n\\g (tuples_only format=unaligned) cpu.folded'),
		('stacks_of', E'SELECT value, profstore.short_name(\n  array_to_string(stack, '' > ''), 90) AS stack\nFROM profstore.stacks_of(''process_cpu'')'),
		('heatmap', E'SELECT * FROM profstore.heatmap(''process_cpu'')'),
		('flamechart', E'SELECT lane, level, end_time - start_time AS length,\n  profstore.short_name(label) AS label\nFROM profstore.flamechart(''process_cpu'',\n  (SELECT max(last_seen) - interval ''20 s''\n   FROM profstore.series(''process_cpu'')))'),
		('last_scan', E'SELECT count(*)\nFROM profstore.folded(''process_cpu'');\nSELECT * FROM profstore.last_scan()'),
		('short_name', E'SELECT profstore.short_name(\n  ''std::vector<std::pair<int, long>>::push_back(int)'',\n  30)'),
		('readable', $$SELECT profstore.readable(12345678901, 'nanoseconds')$$),
		('shared_cache', E'SELECT * FROM profstore.shared_cache()'),
		-- merging by hand
		('merge_stacks(int8, int8)', E'SELECT count(*), sum(value)\nFROM profstore.stacks_in((\n  SELECT profstore.merge_stacks(stack_id, value)\n  FROM profstore.samples\n  WHERE time >= now() - interval ''1 hour''))'),
		('merge_stacks(profstore.stack_sums)', E'SELECT profstore.merge_stacks(s) FROM unnest(\n  ''{"{0:1}","{0:2}"}''::profstore.stack_sums[]) s'),
		('flamegraph_of', E'SELECT level, value, self,\n  profstore.short_name(label) AS label\nFROM profstore.flamegraph_of(\n  {sums})\nORDER BY ord'),
		('flamegraph_diff_of', E'WITH half(late, sums) AS (\n  SELECT time >= now() - interval ''30 minutes'',\n    profstore.merge_stacks(stack_id, value)\n  FROM profstore.samples\n  WHERE time >= now() - interval ''1 hour'' GROUP BY 1)\nSELECT level, value, "valueRight",\n  profstore.short_name(label) AS label\nFROM profstore.flamegraph_diff_of(\n  (SELECT sums FROM half WHERE NOT late),\n  (SELECT sums FROM half WHERE late)) ORDER BY ord'),
		('top_of', E'SELECT profstore.short_name(function) AS function,\n  self, total\nFROM profstore.top_of(\n  {sums})'),
		('callgraph_of', E'SELECT profstore.short_name(caller, 45) AS caller,\n  profstore.short_name(callee, 45) AS callee, value\nFROM profstore.callgraph_of(\n  {sums})'),
		('folded_of', E'SELECT value, profstore.short_name(stack, 90) AS stack\nFROM profstore.folded_of(\n  {sums})'),
		('stacks_in', $$SELECT * FROM profstore.stacks_in('{0:12}')$$),
		-- exchange
		('flamegraph_html', E'SELECT profstore.flamegraph_html(''process_cpu'')\n\\g (tuples_only format=unaligned) cpu.html'),
		('flamegraph_diff_html', E'SELECT profstore.flamegraph_diff_html(''process_cpu'')\n\\g (tuples_only format=unaligned) diff.html'),
		('pprof', E'SELECT encode(profstore.pprof(''process_cpu''),\n  ''base64'')\n\\g (tuples_only format=unaligned) | base64 -d >cpu.pb'),
		('import_pprof', E'SELECT profstore.import_pprof(\n  profstore.pprof(''process_cpu''),\n  ''{"job": "copy"}'', at => now())'),
		('speedscope', E'SELECT profstore.speedscope(''process_cpu'')\n\\g (tuples_only format=unaligned) cpu.json'),
		('flamegraph_json', E'SELECT profstore.flamegraph_json(''process_cpu'')\n\\g (tuples_only format=unaligned) cpu.json'),
		('firefox_profile', E'SELECT profstore.firefox_profile(''process_cpu'')\n\\g (tuples_only format=unaligned) cpu.json'),
		('import_folded', E'SELECT profstore.import_folded(\n  E''main;work 12\\nmain;rest 3'', at => now())'),
		('import_perf_script', E'SELECT profstore.import_perf_script(\n  E''tool 7 1.5: 1 cycles:\\n\\t10 main (/bin/tool)\\n'',\n  at => now())'),
		-- storing
		('ensure_partitions', E'SELECT profstore.ensure_partitions(\n  now(), now() + interval ''1 day'')'),
		('epoch', E'SELECT profstore.epoch()'),
		('begin_batch', E'SELECT profstore.begin_batch(\n  gen_random_uuid(), 1, profstore.epoch())'),
		('pin_epoch', E'SELECT profstore.pin_epoch(profstore.epoch())'),
		('intern_profile_types', E'SELECT profstore.intern_profile_types(ARRAY[\n  {type}\n])'),
		('intern_series', E'SELECT profstore.intern_series(ARRAY[\n  {type}\n], ARRAY[''{"node": "a"}''::jsonb], ''{52631579}'')'),
		('intern_functions', E'SELECT profstore.intern_functions(\n  ''{main}'', ''{main}'', ''{main.c}'', ''{10}'')'),
		('intern_mappings', E'SELECT profstore.intern_mappings(\n  ''{a1b2}'', ''{/usr/bin/tool}'')'),
		('intern_locations', E'SELECT profstore.intern_locations(\n  ''{0}'', ''{4096}'', ''{0}'', ''{}'', ''{}'')'),
		('intern_stacks', E'SELECT profstore.intern_stacks(''tool'', ''{0}'', ''{}'')'),
		('touch_series', E'SELECT profstore.touch_series(\n  ''{7}'', now() - interval ''10 s'', now())'),
		('calling_role', E'SELECT profstore.calling_role()'),
		('bump_names', E'SELECT profstore.bump_names()'),
		('bump_epoch', E'SELECT profstore.bump_epoch()'),
		-- keeping
		('grant_read', E'SELECT profstore.grant_read(''pg_monitor'')'),
		('grant_write', E'SELECT profstore.grant_write(''pg_monitor'')'),
		('grant_maintain', E'SELECT profstore.grant_maintain(''pg_monitor'')'),
		('row_policies', E'SELECT relation, policy\nFROM profstore.row_policies()'),
		('apply_policies', E'SELECT profstore.apply_policies()'),
		('compact', E'SELECT profstore.compact()'),
		('verify', E'SELECT * FROM profstore.verify()'),
		('remove_samples', E'SELECT profstore.remove_samples(\n  ''profstore.samples'', ''value < 0'')'),
		('compact_dictionary', E'SELECT profstore.compact_dictionary()'),
		('collect_dictionary', E'SELECT * FROM profstore.collect_dictionary()'),
		('set_retention', E'SELECT profstore.set_retention(interval ''14 days'')'),
		('apply_retention', E'CALL profstore.apply_retention()'),
		('partitions', E'SELECT * FROM profstore.partitions()'),
		('drop_before', E'SELECT * FROM profstore.drop_before(\n  now() - interval ''90 days'')'),
		('track_stacks', E'SELECT profstore.track_stacks(\n  ''profstore.samples'', ''stack_id'')'),
		('untrack_stacks', E'SELECT profstore.untrack_stacks(\n  ''profstore.samples'')'),
		('stack_references', E'SELECT * FROM profstore.stack_references()'),
		('storage_id', E'SELECT relation, profstore.storage_id(relation)\nFROM profstore.partitions()')
	LOOP
		oid_found := CASE WHEN function_name LIKE '%)' THEN ('profstore.' || function_name)::regprocedure::oid
			ELSE ('profstore.' || function_name)::regproc::oid END;
		EXECUTE format('COMMENT ON ROUTINE %s IS %L', oid_found::regprocedure,
			format(E'%s\nExample:\n%s', obj_description(oid_found, 'pg_proc'), replace(replace(replace(example, '{type}', type), '{hottest}', hottest), '{sums}', sums)));
	END LOOP;
END
$comments$;
