-- query: an example for every function, and help(), which lists them. Comes last: the examples are joined to the comments
-- of all rooms, so that \df+ shows both. What begins with "internal: " needs none.

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

DO $install$
DECLARE
	type text := '''process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta''';
	hour text := 'now() - interval ''1 hour'', now()';
	day text := E'now() - interval ''25 hours'',\n  now() - interval ''24 hours''';
	function_name text;
	example text;
	oid_found oid;
BEGIN
	FOR function_name, example IN VALUES
		-- what there is
		('help', $$SELECT * FROM profstore.help('flame')$$),
		('profile_types', $$SELECT * FROM profstore.profile_types()$$),
		('label_names', $$SELECT * FROM profstore.label_names()$$),
		('label_values', $$SELECT * FROM profstore.label_values('comm')$$),
		('series', $$SELECT * FROM profstore.series('{node="a"}')$$),
		('matching_series', $$SELECT * FROM profstore.matching_series(NULL)$$),
		('selector', E'SELECT profstore.selector(\n  {type},\n  ''{"node": "a"}'')'),
		('parse_selector', $$SELECT * FROM profstore.parse_selector('{node=~"a"}')$$),
		('parse_profile_type', E'SELECT * FROM profstore.parse_profile_type(\n  {type})'),
		('normalize_labels', $$SELECT profstore.normalize_labels('{"a": ""}')$$),
		-- views
		('flamegraph', E'SELECT * FROM profstore.flamegraph(\n  {type},\n  {hour}) ORDER BY ord'),
		('flamegraph_diff', E'SELECT * FROM profstore.flamegraph_diff(\n  {type},\n  {day},\n  {hour}) ORDER BY ord'),
		('top', E'SELECT * FROM profstore.top(\n  {type},\n  {hour}, focus => ''malloc'')'),
		('top_diff', E'SELECT * FROM profstore.top_diff(\n  {type},\n  {day},\n  {hour})'),
		('timeseries', E'SELECT * FROM profstore.timeseries(\n  {type},\n  {hour}, by => ''{comm}'')'),
		('callers', E'SELECT * FROM profstore.callers(\n  {type},\n  {hour}, ''malloc'')'),
		('callees', E'SELECT * FROM profstore.callees(\n  {type},\n  {hour}, ''main'')'),
		('sandwich', E'SELECT * FROM profstore.sandwich(\n  {type},\n  {hour}, ''main'')\nORDER BY ord'),
		('callgraph', E'SELECT * FROM profstore.callgraph(\n  {type},\n  {hour}, max_nodes => 20)'),
		('callgraph_dot', E'SELECT profstore.callgraph_dot(\n  {type},\n  {hour})'),
		('source', E'SELECT * FROM profstore.source(\n  {type},\n  {hour}, ''main.c'')'),
		('filtered_share', E'SELECT * FROM profstore.filtered_share(\n  {type},\n  {hour},\n  ignore => ''{binary="libc.so.6"}'')'),
		('folded', E'SELECT stack || '' '' || value FROM profstore.folded(\n  {type},\n  {hour})'),
		('stacks_of', E'SELECT * FROM profstore.stacks_of(\n  {type},\n  {hour})'),
		('heatmap', E'SELECT * FROM profstore.heatmap(\n  {type},\n  now() - interval ''2 minutes'', now())'),
		('flamechart', E'SELECT * FROM profstore.flamechart(\n  {type},\n  now() - interval ''2 seconds'', now())'),
		('last_scan', E'SELECT * FROM profstore.last_scan()'),
		('shared_cache', E'SELECT * FROM profstore.shared_cache()'),
		-- merging by hand
		('merge_stacks(int8, int8)', E'SELECT profstore.merge_stacks(stack_id, value)\nFROM profstore.samples\nWHERE time >= now() - interval ''1 minute'''),
		('merge_stacks(profstore.stack_sums)', E'SELECT profstore.merge_stacks(s) FROM unnest(\n  ''{"{0:1}","{0:2}"}''::profstore.stack_sums[]) s'),
		('flamegraph_of', E'SELECT * FROM profstore.flamegraph_of(\n  (SELECT profstore.merge_stacks(stack_id, value)\n   FROM profstore.samples WHERE series_id = 7))\nORDER BY ord'),
		('flamegraph_diff_of', E'SELECT * FROM profstore.flamegraph_diff_of(\n  (SELECT profstore.merge_stacks(stack_id, value)\n   FROM profstore.samples WHERE series_id = 7),\n  (SELECT profstore.merge_stacks(stack_id, value)\n   FROM profstore.samples WHERE series_id = 8))\nORDER BY ord'),
		('top_of', E'SELECT * FROM profstore.top_of(\n  (SELECT profstore.merge_stacks(stack_id, value)\n   FROM profstore.samples WHERE series_id = 7))'),
		('callgraph_of', E'SELECT * FROM profstore.callgraph_of(\n  (SELECT profstore.merge_stacks(stack_id, value)\n   FROM profstore.samples WHERE series_id = 7))'),
		('folded_of', E'SELECT * FROM profstore.folded_of(\n  (SELECT profstore.merge_stacks(stack_id, value)\n   FROM profstore.samples WHERE series_id = 7))'),
		('stacks_in', $$SELECT * FROM profstore.stacks_in('{0:12}')$$),
		-- exchange
		('flamegraph_html', E'SELECT profstore.flamegraph_html(\n  {type},\n  {hour})'),
		('flamegraph_diff_html', E'SELECT profstore.flamegraph_diff_html(\n  {type},\n  {day},\n  {hour})'),
		('pprof', E'SELECT profstore.pprof(\n  {type},\n  {hour})'),
		('import_pprof', E'SELECT profstore.import_pprof(profstore.pprof(\n  {type},\n  {hour}),\n  ''{"job": "copy"}'', at => now())'),
		('speedscope', E'SELECT profstore.speedscope(\n  {type},\n  {hour})'),
		('flamegraph_json', E'SELECT profstore.flamegraph_json(\n  {type},\n  {hour})'),
		('firefox_profile', E'SELECT profstore.firefox_profile(\n  {type},\n  {hour})'),
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
		('bump_names', E'SELECT profstore.bump_names()'),
		('bump_epoch', E'SELECT profstore.bump_epoch()'),
		-- keeping
		('grant_read', E'SELECT profstore.grant_read(''pg_monitor'')'),
		('grant_write', E'SELECT profstore.grant_write(''pg_monitor'')'),
		('grant_maintain', E'SELECT profstore.grant_maintain(''pg_monitor'')'),
		('compact', E'SELECT profstore.compact()'),
		('verify', E'SELECT * FROM profstore.verify()'),
		('compact_dictionary', E'SELECT profstore.compact_dictionary()'),
		('collect_dictionary', E'SELECT * FROM profstore.collect_dictionary()'),
		('set_retention', E'SELECT profstore.set_retention(interval ''14 days'')'),
		('apply_retention', E'CALL profstore.apply_retention()'),
		('partitions', E'SELECT * FROM profstore.partitions()'),
		('drop_before', E'SELECT * FROM profstore.drop_before(\n  now() - interval ''90 days'')'),
		('track_stacks', E'SELECT profstore.track_stacks(\n  ''profstore.samples'', ''stack_id'')'),
		('untrack_stacks', E'SELECT profstore.untrack_stacks(\n  ''profstore.samples'')'),
		('stack_references', E'SELECT * FROM profstore.stack_references()'),
		('storage_id', E'SELECT profstore.storage_id(\n  ''profstore.samples'')')
	LOOP
		oid_found := CASE WHEN function_name LIKE '%)' THEN ('profstore.' || function_name)::regprocedure::oid
			ELSE ('profstore.' || function_name)::regproc::oid END;
		EXECUTE format('COMMENT ON ROUTINE %s IS %L', oid_found::regprocedure,
			format(E'%s\nExample:\n%s', obj_description(oid_found, 'pg_proc'), replace(replace(replace(example, '{type}', type), '{hour}', hour), '{day}', day)));
	END LOOP;
END
$install$;
