-- "share PROGRAM SAMPLES SIXTY THIRTY TEN WHOLE": of each program, in percent of samples in its own code; and those whose stack has a root.
WITH RECURSIVE sampled AS (
	SELECT r.labels ->> 'exe' AS exe, s.stack_id, s.value / r.period AS samples
	FROM profstore.samples s JOIN profstore.series r ON r.id = s.series_id WHERE starts_with(r.labels ->> 'exe', '/programs/')),
leaves AS (
	SELECT exe, sum(samples) AS all_samples, sum(samples) FILTER (WHERE name LIKE 'burn\_%') AS own,
		sum(samples) FILTER (WHERE name = 'burn_sixty') AS sixty, sum(samples) FILTER (WHERE name = 'burn_thirty') AS thirty,
		sum(samples) FILTER (WHERE name = 'burn_ten') AS ten
	FROM sampled JOIN profstore.stacks t ON t.id = stack_id JOIN profstore.locations l ON l.id = t.location
		LEFT JOIN profstore.functions f ON f.id = l.function_ids[1] GROUP BY exe),
up AS (
	SELECT exe, samples, stack_id AS node FROM sampled
	UNION ALL SELECT exe, samples, t.parent FROM up JOIN profstore.stacks t ON t.id = up.node WHERE t.parent <> 0),
roots AS (
	SELECT exe, sum(samples) FILTER (WHERE f.name <> '[incomplete]') AS whole
	FROM up JOIN profstore.stacks t ON t.id = up.node JOIN profstore.locations l ON l.id = t.location
		LEFT JOIN profstore.functions f ON f.id = l.function_ids[array_upper(l.function_ids, 1)] WHERE t.parent = 0 GROUP BY exe)
SELECT 'share', regexp_replace(exe, '.*/', ''), all_samples, round(100 * sixty / own, 1), round(100 * thirty / own, 1), round(100 * ten / own, 1),
	round(100 * whole / all_samples, 1)
FROM leaves JOIN roots USING (exe) ORDER BY exe;
