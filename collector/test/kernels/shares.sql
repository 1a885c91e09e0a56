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
SELECT 'stacks of', exe, stacks, 'whole', complete FROM profstore.unwind_quality ORDER BY stacks DESC LIMIT 8;
