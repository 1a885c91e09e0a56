-- Imports of folded stacks, perf script, speedscope, d3-flame-graph and the Firefox Profiler
SET timezone = 'UTC';

-- Function names may contain blanks, the last word is the value; suffixes such as _[k] are removed, kernel frames get their file.
SELECT profstore.import_folded(E'# a comment\nmain;a b;read_[k] 5\nmain;c_[i] 6\r\nmain;c 1\n\n  [empty stack] 2\nmain;;low -3\n',
	'{"service": "s"}', '2026-01-01');
SELECT * FROM profstore.folded('folded:samples:count:::delta', '-infinity', 'infinity') ORDER BY stack;
SELECT f.name, m.file FROM profstore.locations l JOIN profstore.functions f ON f.id = l.function_ids[1]
	LEFT JOIN profstore.mappings m ON m.id = l.mapping ORDER BY f.name;
SELECT key FROM profstore.dictionary_partitions;

-- The output of folded() is imported as the same stacks.
SELECT profstore.import_folded(string_agg(stack || ' ' || value, E'\n'), '{"__name__": "copy"}', '2026-01-01', 'space', 'bytes')
FROM profstore.folded('folded:samples:count:::delta', '-infinity', 'infinity');
SELECT count(*) FROM (SELECT * FROM profstore.folded('folded:samples:count:::delta', '-infinity', 'infinity')
	EXCEPT SELECT * FROM profstore.folded('copy:space:bytes:::delta', '-infinity', 'infinity')) AS d;

SELECT profstore.import_folded('main');
SELECT profstore.import_folded(E'main 1\nmain 1.5');
SELECT profstore.import_folded('main 9223372036854775808');
SELECT profstore.import_folded(repeat('f;', 70000) || 'g 1');
SELECT profstore.import_folded('main 1', sample_type => NULL);
SELECT profstore.import_folded('');
BEGIN READ ONLY;
SELECT profstore.import_folded('main 1');
ROLLBACK;

SELECT E'java 24636/24640 [003]  1794.123456:   10101010 cpu-clock:u:\n\t    7f2a3c012a40 inner (inlined)\n\t    7f2a3c012a40 outer(int, char*)+0x20 (/usr/lib/libx.so (deleted))\n\tffffffff81a00c6a do_syscall_64+0x5a ([kernel.kallsyms])\n\n    my thread 12 [000]  1795.000000:   sched:sched_switch: \n\t55d0 [unknown] (/bin/my)\n  source.c:12\n\n    my thread 12 [001]  1796.5:  7 cycles:ppp: \n\nswapper     0 cycles: \n\tffffffff81a00c6a do_idle+0xa ([kernel.kallsyms])\n' AS script \gset
SELECT profstore.import_perf_script(:'script', at => '2026-01-02 00:00:00');
SELECT m.profile_type, p.time, m.labels, p.value, p.stack_id <> 0 AS stack
FROM profstore.samples p JOIN profstore.matching_series('{comm!=""}') m USING (series_id) ORDER BY p.time, m.profile_type, p.value, m.labels;
SELECT * FROM profstore.folded('perf:cpu-clock:nanoseconds:::delta', '-infinity', 'infinity');
SELECT * FROM profstore.folded('perf:cycles:count:::delta', '-infinity', 'infinity');
SELECT * FROM profstore.folded('perf:sched_sched_switch:count:::delta', '-infinity', 'infinity');
SELECT profstore.import_perf_script(:'script', '{"__name__": "all"}', '2026-01-03', NULL);
SELECT labels FROM profstore.series('all:cycles:count:::delta') ORDER BY labels;
SELECT profstore.import_perf_script(E'a 1 cycles:\n\t12 f (x)\nno event');
SELECT profstore.import_perf_script(E'\t12 f (x)\na 1 cycles:\n');
SELECT profstore.import_perf_script('nothing');

SELECT jsonb_pretty(profstore.speedscope('folded:samples:count:::delta', '-infinity', 'infinity'));
-- The output of speedscope() is imported as the same stacks, including values below 0.
SELECT profstore.import_pprof(convert_to(profstore.speedscope('folded:samples:count:::delta', '-infinity', 'infinity')::text, 'UTF8'), '{"__name__": "viewed"}', '2026-01-01');
SELECT count(*), sum(value) FROM profstore.folded('viewed:samples:count:::delta', '-infinity', 'infinity');
SELECT stack, value FROM profstore.folded('folded:samples:count:::delta', '-infinity', 'infinity') EXCEPT SELECT stack, value FROM profstore.folded('viewed:samples:count:::delta', '-infinity', 'infinity');
-- An error about an unsupported format names the format, and has a hint.
SELECT profstore.import_pprof('PERFILE2');
SELECT profstore.import_folded('{"meta": {}, "threads": []}');
SELECT profstore.import_pprof(convert_to(E'{"nodes": [], "startTime": 0,\n "samples": 7}', 'UTF8'));
SELECT profstore.import_perf_script(E'main;f 1\n');
SELECT jsonb_pretty(profstore.flamegraph_json('perf:cpu-clock:nanoseconds:::delta', '-infinity', 'infinity'));
SELECT profstore.firefox_profile('perf:cpu-clock:nanoseconds:::delta', '-infinity', 'infinity') #> '{threads,0}' AS thread;
SELECT profstore.speedscope('none:a:b::', '-infinity', 'infinity') -> 'profiles' AS empty;
SELECT jsonb_path_query_array(profstore.firefox_profile('none:a:b::', '-infinity', 'infinity'), '$.threads[0].*.length') AS empty;
