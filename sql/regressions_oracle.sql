-- The statistic of regressions() written again in SQL, after its description, for its three designs; both must agree to nine digits.
\i sql/fixtures/preamble.sql
\i sql/fixtures/deploys.sql
\set SHOW_CONTEXT never
-- 15 functions on 9 hosts, 14 periods of the base and one after; functions follow the load, and one host gets slow. In pool b nine other hosts
-- take the place of those of the base.
CREATE TABLE cells AS
SELECT 'a' AS pool, 'f' || f AS function, h AS host, k AS period,
	(3600e9 / (f + 4) * l.load * l.load ^ (0.02 * (f % 5 - 2)) * noise(0.15, concat(f, ' host ', h)) * noise(0.003, concat(f, ' common ', k)) * noise(0.02, concat(f, ' ', h, ' ', k))
		* CASE WHEN k = 14 AND f = 3 THEN 1.08 WHEN k = 14 AND h = 9 AND f % 4 = 0 THEN 1.5 ELSE 1 END
		* (NOT (f = 11 AND h = 2))::int)::int8 AS value
FROM generate_series(1, 15) AS f, generate_series(1, 9) AS h, generate_series(0, 14) AS k
CROSS JOIN LATERAL (SELECT noise(0.05, concat(h, ' load ', k)) * (1 + 0.3 * sin(k / 3.0)) * (1 + h / 9.0) AS load) l;
INSERT INTO cells SELECT 'b', function, host + CASE WHEN period = 14 THEN 10 ELSE 0 END, period, value FROM cells;
SELECT count(put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', jsonb_build_object('node', 'n' || host, 'pool', pool), timestamptz '2026-01-01 00:00Z' + make_interval(hours => period, mins => minute),
	(SELECT jsonb_object_agg('main;' || function, value / CASE WHEN period = 14 THEN 2 ELSE 1 END + CASE WHEN minute = 40 THEN value % 2 ELSE 0 END) FROM cells c WHERE c.pool = s.pool AND c.host = s.host AND c.period = s.period AND value > 0)))
FROM (SELECT DISTINCT pool, host, period FROM cells) s, unnest('{0,10,40}'::int[]) AS minute
WHERE (minute = 0) = (period < 14);
UPDATE profstore.series SET period = 10000000;

CREATE FUNCTION digamma(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE
	AS $$SELECT ln(x + 30) - 1 / (2 * (x + 30)) - 1 / (12 * (x + 30) ^ 2) + 1 / (120 * (x + 30) ^ 4) - 1 / (252 * (x + 30) ^ 6) - (SELECT sum(1 / (x + i)) FROM generate_series(0, 29) i)$$;
CREATE FUNCTION trigamma(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE
	AS $$SELECT 1 / (x + 30) + 1 / (2 * (x + 30) ^ 2) + 1 / (6 * (x + 30) ^ 3) - 1 / (30 * (x + 30) ^ 5) + 1 / (42 * (x + 30) ^ 7) + (SELECT sum(1 / (x + i) ^ 2) FROM generate_series(0, 29) i)$$;
CREATE FUNCTION trigamma_inverse(y float8) RETURNS float8 LANGUAGE sql IMMUTABLE
	AS $$
	WITH RECURSIVE halves AS (
		SELECT 0 AS n, 1e-6::float8 AS low, 1e6::float8 AS high
		UNION ALL
		SELECT n + 1, CASE WHEN trigamma(sqrt(low * high)) > y THEN sqrt(low * high) ELSE low END, CASE WHEN trigamma(sqrt(low * high)) > y THEN high ELSE sqrt(low * high) END
		FROM halves WHERE n < 100)
	SELECT low FROM halves WHERE n = 100
$$;
-- ln of the gamma function by Stirling's series, and the upper tail of Student's distribution by Simpson's rule over atan(t / sqrt(freedom))
CREATE FUNCTION lngamma(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE
	AS $$SELECT (x + 29.5) * ln(x + 30) - (x + 30) + ln(2 * pi()) / 2 + 1 / (12 * (x + 30)) - 1 / (360 * (x + 30) ^ 3) + 1 / (1260 * (x + 30) ^ 5) - (SELECT sum(ln(x + i)) FROM generate_series(0, 29) i)$$;
CREATE FUNCTION student_tail(t float8, freedom float8) RETURNS float8 LANGUAGE sql IMMUTABLE
	AS $$
	SELECT exp(lngamma((freedom + 1) / 2) - lngamma(freedom / 2)) / sqrt(pi()) * (pi() / 2 - a) / 6000
		* sum(CASE WHEN i IN (0, 2000) THEN 1 WHEN i % 2 = 1 THEN 4 ELSE 2 END * greatest(cos(a + (pi() / 2 - a) * i / 2000), 0) ^ (freedom - 1))
	FROM (SELECT atan(t / sqrt(freedom)) AS a) x, generate_series(0, 2000) i GROUP BY a
$$;
SELECT abs(student_tail(2, 3.5) / 0.06306926128795672 - 1) < 1e-11 AS tail, abs(trigamma_inverse(0.035) - 29.0693) < 1e-3 AS inverse;

CREATE TABLE sums AS SELECT function, host, period, value::float8 AS s, sum(value) OVER (PARTITION BY host, period)::float8 AS n FROM cells WHERE pool = 'a';
-- the canary's new version is on the hosts of odd numbers
CREATE TABLE groups AS SELECT host, g.part FROM generate_series(1, 9) AS host, LATERAL (VALUES ('all'), (CASE WHEN host % 2 = 1 THEN 'new' ELSE 'old' END)) AS g(part);
-- how shares follow the load, within the hosts of the base
CREATE TABLE slopes AS
WITH logs AS (
	SELECT function, host, period, ln(n) AS x, ln((s + 5e6) / n) AS y FROM sums WHERE period < 14),
centred AS (
	SELECT function, host, period, x - avg(x) OVER w AS x, y - avg(y) OVER w AS y FROM logs WINDOW w AS (PARTITION BY function, host)),
by_host AS (
	SELECT function, host, sum(x * y) AS crossed, sum(x * x) AS loads, sum(y * y) AS shares, count(*) - 1 AS freedom FROM centred GROUP BY 1, 2),
by_function AS (
	SELECT b.function, sum(crossed) AS crossed, sum(loads) AS loads, sum(shares) AS shares, sum(freedom) AS freedom, p.share
	FROM by_host b
	JOIN (SELECT function, sum(s) / sum(n) AS share FROM sums WHERE period < 14 GROUP BY 1) p USING (function)
	GROUP BY 1, 6),
errors AS (
	SELECT c.function, c.host, c.period, c.x * (c.y - f.crossed / f.loads * c.x) AS error FROM centred c JOIN by_function f USING (function)),
-- correlated within hosts and within periods
clusters AS (
	SELECT e.function, (SELECT sum(h.error ^ 2) FROM (SELECT sum(error) AS error FROM errors WHERE function = e.function GROUP BY host) h) AS hosts,
		(SELECT sum(p.error ^ 2) FROM (SELECT sum(error) AS error FROM errors WHERE function = e.function GROUP BY period) p) AS times, sum(e.error ^ 2) AS cells
	FROM errors e GROUP BY 1),
noise AS (SELECT sum(share ^ 2 * shares / freedom) AS noise FROM by_function),
raw AS (
	SELECT f.function, f.share, (f.crossed - f.share * f.shares + noise * f.freedom) / (f.loads - noise * f.freedom) AS slope,
		(c.hosts + greatest(c.times - c.cells, 0)) / (f.loads - noise * f.freedom) ^ 2 AS variance, f.loads > 2 * noise * f.freedom AS known
	FROM by_function f JOIN clusters c USING (function), noise),
prior AS (SELECT greatest(avg(slope ^ 2 - variance), 0) AS prior, bool_and(known) AS known FROM raw)
SELECT function, slope * prior.prior / (prior.prior + variance) AS slope, variance * prior.prior / (prior.prior + variance) AS variance, prior.known
FROM raw, prior;
SELECT bool_and(known) AS known, max(abs(slope)) > 0.001 AS found FROM slopes;

-- each period of the base, and at last the one after, taken for the time after a deploy
CREATE TABLE changes AS
WITH sides AS (
	SELECT c.c, part, function, host, sum(s) FILTER (WHERE period < 14 AND period <> c) AS b, sum(s) FILTER (WHERE period = c) AS a,
		sum(n) FILTER (WHERE period < 14 AND period <> c) AS nb, sum(n) FILTER (WHERE period = c) AS na, avg(n) FILTER (WHERE period < 14 AND period <> c) AS usual
	FROM sums JOIN groups USING (host), generate_series(0, 14) AS c(c) GROUP BY 1, 2, 3, 4),
hosts AS (
	SELECT DISTINCT c, part, host, nb, na, usual, 1 / (1 / nb + 1 / na) AS w FROM sides),
bounded AS (
	SELECT c, part, host, least(w / sum(w) OVER p, 3.0 / count(*) OVER p) AS w, avg(ln(na / usual)) OVER p AS load FROM hosts WINDOW p AS (PARTITION BY c, part)),
weights AS (
	SELECT c, part, host, w / sum(w) OVER (PARTITION BY c, part) AS w, load FROM bounded),
shares AS (
	SELECT c, part, function, host, w, load, b / nb AS sb, a / na AS sa, ln((a + 5e6) / na) - ln((b + 5e6) / nb) AS ratio, sqrt(1e7 / (a + 5e6) + 1e7 / (b + 5e6)) AS counting, a + b > 0 AS has_any
	FROM sides JOIN weights USING (c, part, host)),
middles AS (
	SELECT c, part, function, percentile_cont(0.5) WITHIN GROUP (ORDER BY ratio) FILTER (WHERE has_any) AS middle FROM shares GROUP BY 1, 2, 3),
deviations AS (
	SELECT c, part, function, middle, 1.4826 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(ratio - middle)) FILTER (WHERE has_any) AS deviation
	FROM shares JOIN middles USING (c, part, function) GROUP BY 1, 2, 3, 4),
moved AS (
	SELECT s.*, CASE WHEN has_any AND abs(ratio - middle) > 4 * greatest(deviation, counting) THEN sb * exp(middle + sign(ratio - middle) * 4 * greatest(deviation, counting)) ELSE sa END AS kept
	FROM shares s JOIN deviations USING (c, part, function)),
totals AS (
	SELECT c, part, function, load, sum(w * sb) AS base_share, sum(w * sa) AS share, sum(w * kept) AS after, sum(w * (sb + kept)) ^ 2 / sum((w * (sb + kept)) ^ 2) AS hosts, count(*) FILTER (WHERE kept <> sa) AS far_hosts
	FROM moved GROUP BY 1, 2, 3, 4)
SELECT t.c, t.part, t.function, t.load, t.base_share, t.share, t.hosts, t.far_hosts, ln(t.after / t.base_share) - sl.slope * t.load AS change,
	t.hosts / (t.hosts - 1) * (SELECT sum((m.w * (m.kept / t.after - m.sb / t.base_share)) ^ 2) FROM moved m WHERE m.c = t.c AND m.part = t.part AND m.function = t.function) AS variance
FROM totals t JOIN slopes sl USING (function);

-- other hosts: sums of each side; hosts are weighted by their samples, and no slope is known
CREATE TABLE other_changes AS
WITH sums AS (
	SELECT function, host, period, value::float8 AS s, sum(value) OVER (PARTITION BY host, period)::float8 AS n FROM cells WHERE pool = 'b'),
sides AS (
	SELECT c.c, period = c AS is_after, function, host, sum(s) AS s, sum(n) AS n FROM sums, generate_series(0, 14) AS c(c) WHERE period < 14 OR period = c GROUP BY 1, 2, 3, 4),
totals AS (
	SELECT c, is_after, function, sum(s) AS s, sum(n) AS n, sum(s) ^ 2 / sum(s ^ 2) AS hosts FROM sides GROUP BY 1, 2, 3),
spreads AS (
	SELECT t.*, hosts / (hosts - 1) * (SELECT sum((d.s / t.s - d.n / t.n) ^ 2) FROM sides d WHERE d.c = t.c AND d.is_after = t.is_after AND d.function = t.function) AS variance FROM totals t)
SELECT c, function, b.s / b.n AS base_share, a.s / a.n AS share, ln(a.s / a.n) - ln(b.s / b.n) AS change, a.variance + b.variance AS variance, least(a.hosts, b.hosts) - 1 AS freedom
FROM spreads a JOIN spreads b USING (c, function) WHERE a.is_after AND NOT b.is_after;

-- a canary's change is that of the new hosts less that of the others; degrees of freedom by Welch's formula
CREATE TABLE contrasts AS
WITH changes AS (
	SELECT 'paired' AS design, c, function, load, base_share, share, hosts - 1 AS freedom, far_hosts, change, variance FROM changes WHERE part = 'all'
	UNION ALL
	SELECT 'canary', c, function, n.load - o.load, n.base_share, n.share, (n.variance + o.variance) ^ 2 / (n.variance ^ 2 / (n.hosts - 1) + o.variance ^ 2 / (o.hosts - 1)),
		n.far_hosts + o.far_hosts, n.change - o.change, n.variance + o.variance
	FROM changes n JOIN changes o USING (c, function) WHERE n.part = 'new' AND o.part = 'old'
	UNION ALL
	SELECT 'other hosts', c, function, 0, base_share, share, freedom, 0, change, variance FROM other_changes),
capped AS (
	SELECT design, c, function, change, least(base_share, (SELECT percentile_disc(0.79) WITHIN GROUP (ORDER BY o.base_share) FROM changes o WHERE o.design = changes.design AND o.c = changes.c)) AS weight FROM changes),
passed AS (
	SELECT design, c, change, sum(weight) OVER (PARTITION BY design, c ORDER BY change) AS passed, sum(weight) OVER (PARTITION BY design, c) AS whole FROM capped),
reference AS (
	SELECT design, c, min(change) FILTER (WHERE passed >= whole / 2) AS reference FROM passed GROUP BY 1, 2)
SELECT design, c, function, load, base_share, share, freedom, far_hosts, change - reference AS change, reference, variance FROM changes JOIN reference USING (design, c);

CREATE TABLE oracle AS
WITH past AS (
	SELECT design, function, count(*) - 1 AS freedom, sum(change ^ 2 / variance) / (count(*) - 1) AS excess FROM contrasts WHERE c < 14 GROUP BY 1, 2),
logs AS (
	SELECT design, freedom, ln(excess) - digamma(freedom / 2.0) + ln(freedom / 2.0) AS z FROM past),
spread AS (
	SELECT design, avg(z) AS mean, var_samp(z) - avg(trigamma(freedom / 2.0)) AS spread FROM logs GROUP BY 1),
prior AS (
	SELECT design, CASE WHEN spread > 0.01 THEN least(2 * trigamma_inverse(spread), 100) ELSE 100 END AS d0, mean, spread FROM spread),
drawn AS (
	SELECT design, d0, CASE WHEN spread > 0.01 THEN exp(mean + digamma(d0 / 2) - ln(d0 / 2)) ELSE exp(mean) END AS e0 FROM prior),
judged AS (
	SELECT design, c.function, c.base_share, c.share, c.change, c.far_hosts, least(c.freedom, d0 + p.freedom) AS freedom,
		sqrt(greatest((c.variance + CASE WHEN c.load = 0 THEN 0 ELSE sl.variance * c.load ^ 2 END) * greatest((d0 * e0 + p.freedom * p.excess) / (d0 + p.freedom), 1),
			(SELECT avg(r.reference ^ 2) FROM (SELECT DISTINCT o.c, o.reference FROM contrasts o WHERE o.design = c.design AND o.c < 14) r))) AS error
	FROM contrasts c JOIN past p USING (design, function) JOIN drawn USING (design) JOIN slopes sl USING (function) WHERE c.c = 14),
tested AS (
	SELECT *, least(1, student_tail((abs(change) - ln(1 + 0.0001 / 2)) / error, freedom) + student_tail((abs(change) + ln(1 + 0.0001 / 2)) / error, freedom)) AS p FROM judged)
SELECT *, least(1, 2 * min(p * 15 / rank) OVER (PARTITION BY design ORDER BY p DESC ROWS UNBOUNDED PRECEDING)) AS q FROM (SELECT *, rank() OVER (PARTITION BY design ORDER BY p) AS rank FROM tested) r;

CREATE FUNCTION near(a float8, b float8) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT abs(a - b) <= 1e-9 * greatest(abs(a), abs(b))';
\set arguments 'at => ''2026-01-01 14:00Z'', time_after => ''1 hour'', min_change => 0.0001, max_fdr => 1, max_rows => NULL'
CREATE TABLE answers AS
SELECT 'paired' AS design, r.* FROM profstore.regressions('process_cpu:cpu{pool="a"}', :arguments) AS r
UNION ALL SELECT 'canary', r.* FROM profstore.regressions('process_cpu:cpu{pool="a"}', canary => 'process_cpu:cpu{node=~"n[2468]"}', :arguments) AS r
UNION ALL SELECT 'other hosts', r.* FROM profstore.regressions('process_cpu:cpu{pool="b"}', :arguments) AS r;
SELECT design, count(*) > 12 AS enough, bool_and(near(r.base_share, o.base_share)) AS base_share, bool_and(near(r.share, o.share)) AS share, bool_and(near(ln(1 + r.change), o.change)) AS change,
	bool_and(near(student_tail((ln(1 + r.change_high) - ln(1 + r.change_low)) / 2 / o.error, o.freedom), 0.025)) AS error, bool_and(near(r.p_value, o.p)) AS p, bool_and(near(r.q_value, o.q)) AS q,
	bool_and(r.far_hosts = o.far_hosts) AS far_hosts, sum(o.far_hosts) > 0 AS some_far, min(o.q) < 0.01 AS found
FROM answers r JOIN oracle o USING (design, function) WHERE r.measure = 'self' GROUP BY 1 ORDER BY 1;
