-- What the database has of the runs of init, a line for each thing that "run" judges.
--
-- "share PROGRAM SAMPLES SIXTY THIRTY TEN WHOLE": of each program the samples in its own code, shares of them in percent, and how many of them
-- have a stack that reaches its root.
WITH RECURSIVE sampled AS (
	SELECT r.labels ->> 'exe' AS exe, s.stack_id, s.value / r.period AS samples
	FROM profstore.samples s JOIN profstore.series r ON r.id = s.series_id WHERE starts_with(r.labels ->> 'exe', '/programs/')),
leaves AS (
	SELECT exe, stack_id, samples, f.name
	FROM sampled JOIN profstore.stacks t ON t.id = stack_id JOIN profstore.locations l ON l.id = t.location
		JOIN profstore.functions f ON f.id = l.function_ids[1] WHERE f.name LIKE 'burn\_%'),
up AS (
	SELECT exe, samples, name, stack_id AS node FROM leaves
	UNION ALL SELECT exe, samples, name, t.parent FROM up JOIN profstore.stacks t ON t.id = up.node WHERE t.parent <> 0),
roots AS (
	SELECT exe, samples, up.name, coalesce(f.name, '') <> '[incomplete]' AS whole
	FROM up JOIN profstore.stacks t ON t.id = up.node JOIN profstore.locations l ON l.id = t.location
		LEFT JOIN profstore.functions f ON f.id = l.function_ids[array_upper(l.function_ids, 1)] WHERE t.parent = 0)
SELECT 'share', regexp_replace(exe, '.*/', ''), sum(samples), round(100 * sum(samples) FILTER (WHERE name = 'burn_sixty') / sum(samples), 1),
	round(100 * sum(samples) FILTER (WHERE name = 'burn_thirty') / sum(samples), 1), round(100 * sum(samples) FILTER (WHERE name = 'burn_ten') / sum(samples), 1),
	round(100 * sum(samples) FILTER (WHERE whole) / sum(samples), 1)
FROM roots GROUP BY exe ORDER BY exe;
-- "labels PROGRAM SIXTY THIRTY NONE": samples of work() by what the program's threads said of it.
SELECT 'labels', program, round(sum(total) FILTER (WHERE part = 'sixty') * 199 / 1e9),
	round(sum(total) FILTER (WHERE part = 'thirty') * 199 / 1e9), round(sum(total) FILTER (WHERE part = '') * 199 / 1e9)
FROM unnest('{labels_c,labels_go_static}'::text[]) AS program, unnest('{sixty,thirty,""}'::text[]) AS part,
	profstore.top(format('process_cpu:cpu{exe="/programs/%s",part="%s"}', program, part), max_rows => 1000000)
WHERE function ~ '(^|[.])work$' GROUP BY program ORDER BY program;
-- "interpreted LANGUAGE SAMPLES SIXTY THIRTY TEN NAMED": samples in these functions, Perl's with their package, and shares in percent; of all
-- samples of the program, the percentage in these functions.
WITH programs AS (SELECT name, format('process_cpu:cpu{exe=~"/usr/bin/%s.*"}', name) AS selector FROM unnest('{perl,python}'::text[]) AS name),
totals AS (
	SELECT name, (SELECT sum(value) FROM profstore.series(selector) JOIN profstore.samples USING (series_id)) AS everything, function, total
	FROM programs, profstore.top(selector, max_rows => 1000000) WHERE function ~ '^(main::)?(sixty|thirty|ten)$')
SELECT 'interpreted', name, round(sum(total) * 199 / 1e9), round(100 * sum(total) FILTER (WHERE function ~ 'sixty') / sum(total), 1),
	round(100 * sum(total) FILTER (WHERE function ~ 'thirty') / sum(total), 1), round(100 * sum(total) FILTER (WHERE function ~ 'ten') / sum(total), 1),
	round(100 * sum(total) / max(everything), 1)
FROM totals GROUP BY name ORDER BY name;
-- "pushed FUNCTION VALUE": the profile that the receiver stored.
SELECT 'pushed', function, self FROM profstore.top('process_cpu:samples{service_name="shop"}') WHERE self > 0;
-- "workers SAMPLES OTHERS": of threads that the kernel made in a program's name, and how many of them have something that is not the kernel's.
WITH RECURSIVE sampled AS (
	SELECT s.stack_id, sum(s.value / r.period) AS samples
	FROM profstore.samples s JOIN profstore.series r ON r.id = s.series_id WHERE r.labels ->> 'exe' = '/programs/vhost' GROUP BY s.stack_id),
up AS (
	SELECT stack_id, samples, stack_id AS node FROM sampled
	UNION ALL SELECT stack_id, samples, t.parent FROM up JOIN profstore.stacks t ON t.id = up.node WHERE t.parent <> 0),
stacks AS (
	SELECT stack_id, max(samples) AS samples, bool_or(f.name = 'vhost_task_fn') AS worker, bool_or(m.file IS NULL OR m.file !~ '^\[.*\]$') AS other
	FROM up JOIN profstore.stacks t ON t.id = up.node JOIN profstore.locations l ON l.id = t.location
		LEFT JOIN profstore.functions f ON f.id = l.function_ids[1] LEFT JOIN profstore.mappings m ON m.id = l.mapping
	GROUP BY stack_id)
SELECT 'workers', coalesce(sum(samples) FILTER (WHERE worker), 0), coalesce(sum(samples) FILTER (WHERE worker AND other), 0) FROM stacks;
-- "told FUNCTION NANOSECONDS": what the program waited there; "all" is the sum.
SELECT 'told', function, total FROM profstore.top('wallclock{exe="/programs/waits"}', max_rows => 1000000)
WHERE function IN ('sleep_sixty', 'sleep_thirty', 'sleep_ten', 'hold_lock', 'wait_for_lock', 'read_disk') ORDER BY function;
SELECT 'told all', sum(value) FROM profstore.series('wallclock{exe="/programs/waits"}') JOIN profstore.samples USING (series_id);
-- "told faults NUMBER SIXTY THIRTY TEN" and "told bytes …": what was counted, and shares in percent.
WITH kinds (name, type, exe, prefix) AS (
	VALUES ('faults', 'page_faults', 'probed', 'touch'), ('bytes', 'memory:alloc_space', 'allocating', 'allocate'))
SELECT 'told', name, max(total) FILTER (WHERE function IS NULL), round(max(100 * total_share::numeric) FILTER (WHERE function = prefix || '_sixty'), 1),
	round(max(100 * total_share::numeric) FILTER (WHERE function = prefix || '_thirty'), 1), round(max(100 * total_share::numeric) FILTER (WHERE function = prefix || '_ten'), 1)
FROM kinds, LATERAL (
	SELECT function, total, total_share FROM profstore.top(type || '{exe="/programs/' || exe || '"}', max_rows => 1000000)
	UNION ALL SELECT NULL, sum(value), NULL FROM profstore.samples JOIN profstore.series(type || '{exe="/programs/' || exe || '"}') USING (series_id)) AS functions
GROUP BY name ORDER BY name;
SELECT 'stacks of', exe, stacks, 'whole', complete FROM profstore.unwind_quality WHERE exe LIKE '/%' ORDER BY stacks DESC LIMIT 16;
