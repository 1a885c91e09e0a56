-- report: a selection as a page, for people without Grafana. Summary, graph and tables are HTML without scripts; the flame graph of
-- flamegraph_diff_html follows, whose page has a marker for each part. All functions run with the privileges of the caller.

CREATE FUNCTION profstore_internal.html(value text) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
SELECT regexp_replace(replace(replace(replace(replace(value, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'),
	'[\x01-\x08\x0b-\x0c\x0e-\x1f\x7f]', '&#65533;', 'g');
END;
COMMENT ON FUNCTION profstore_internal.html IS 'escapes a text for HTML, between tags or in double quotes; control characters become U+FFFD';

-- Escapes a name for HTML: cut to 160 characters, and isolated against right-to-left text (<bdi>).
CREATE FUNCTION profstore_internal.html_name(name text) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
SELECT '<bdi title="' || profstore_internal.html(profstore.short_name(name, 1000)) || '">' ||
	profstore_internal.html(profstore.short_name(name, 160)) || '</bdi>';
END;
COMMENT ON FUNCTION profstore_internal.html_name IS 'a name for a cell of a table, shortened; hovering shows more of it';

CREATE FUNCTION profstore_internal.report_rate(value float8, profile_type text, unit text, delta bool) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT CASE WHEN value IS NULL THEN ''
	WHEN NOT delta THEN profstore.readable(value, unit)
	WHEN unit <> 'nanoseconds' THEN profstore.readable(value, unit) || '/s'
	WHEN value = 0 THEN '0'
	ELSE trim_scale(round(value::numeric, greatest(0, least(9, 2 - floor(log(abs(value)))::int4))))::text END ||
	CASE WHEN delta AND unit = 'nanoseconds' AND value IS NOT NULL
		THEN CASE WHEN profile_type LIKE 'process_cpu:%' THEN ' cores' ELSE ' s/s' END ELSE '' END;
END;
COMMENT ON FUNCTION profstore_internal.report_rate IS 'a value of timeseries() with its unit';

CREATE FUNCTION profstore_internal.report_share(value float8, whole float8) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT CASE WHEN value IS NULL OR coalesce(whole, 0) = 0 THEN ''
	ELSE round((100 * value / whole)::numeric, CASE WHEN abs(100 * value / whole) < 1 THEN 2 ELSE 1 END)::text || ' %' END;
END;
COMMENT ON FUNCTION profstore_internal.report_share IS 'a part of a whole in per cent; empty if the whole is 0 or NULL';

-- Table cell of a change: sign, word and colour.
CREATE FUNCTION profstore_internal.report_change(base float8, value float8, size text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT format('<td class="number %s" data-value="%s">%s</td>', CASE sign(v.value - v.base) WHEN 1 THEN 'grown' WHEN -1 THEN 'shrunk' ELSE 'same' END, v.value - v.base,
	CASE WHEN v.value = v.base THEN 'none'
		ELSE CASE WHEN v.value > v.base THEN '+' ELSE '&minus;' END || profstore_internal.html(size) || ' <span class="share">' ||
			CASE WHEN v.base = 0 THEN 'new' WHEN v.value = 0 THEN 'gone'
				ELSE CASE WHEN v.value > v.base THEN '+' ELSE '&minus;' END || profstore_internal.report_share(abs(v.value - v.base), abs(v.base)) END || '</span>' END)
FROM (SELECT coalesce(report_change.base, 0), coalesce(report_change.value, 0)) AS v(base, value);
END;
COMMENT ON FUNCTION profstore_internal.report_change IS 'a cell with the change from base to value; size: the change as text';

-- Table cell of a value, its share of the total and a bar of that length.
CREATE FUNCTION profstore_internal.report_part(value float8, whole float8, readable text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT format('<td class="number" data-value="%s" style="--part:%s%%">%s <span class="share">%s</span></td>', coalesce(value, 0),
	CASE WHEN whole <> 0 THEN round(greatest(0, least(100, 100 * value / whole))::numeric, 2) ELSE 0 END, profstore_internal.html(readable),
	profstore_internal.report_share(value, whole));
END;
COMMENT ON FUNCTION profstore_internal.report_part IS 'a cell with a value and its share of the whole';

-- Line graph of both ranges, drawn by the time since the beginning of each. Ticks are round in the session's time zone.
CREATE FUNCTION profstore_internal.report_series(selector text, from_ts timestamptz, to_ts timestamptz, base_from timestamptz,
								base_to timestamptz, base_selector text, profile_type text, unit text, delta bool, @FILTERS@) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED COST 20000 SET client_min_messages = warning -- a side may be empty
BEGIN ATOMIC
WITH points AS MATERIALIZED (
	SELECT s.side, greatest(0, extract(epoch FROM s.time - s.begin)::float8) AS at, s.value
	FROM (SELECT 'now' AS side, from_ts AS begin, t.time, t.value
		FROM profstore.timeseries(selector, from_ts, to_ts, @PASSED_FILTERS@) AS t
		UNION ALL
		SELECT 'base', base_from, t.time, t.value
		FROM profstore.timeseries(coalesce(base_selector, selector), base_from, base_to, @PASSED_FILTERS@) AS t) AS s
), frame AS MATERIALIZED (
	SELECT f.length, f.zone, y.step AS y_step, floor(f.least / y.step) * y.step AS y_least, greatest(1, ceil(f.most / y.step)) * y.step AS y_most,
		(SELECT min(s) FROM unnest('{1,2,5,10,15,30,60,120,300,600,900,1800,3600,7200,10800,21600,43200,86400,172800,604800,1209600,2592000,7776000,31536000,315360000}'::int4[]) AS s
			WHERE f.length / s <= 8) AS x_step
	FROM (SELECT extract(epoch FROM to_ts - from_ts)::float8, extract(timezone FROM from_ts)::float8, least(0, min(p.value)), greatest(0, max(p.value)) FROM points AS p)
			AS f(length, zone, least, most)
	CROSS JOIN LATERAL (SELECT CASE WHEN f.most = f.least THEN 1 ELSE (f.most - f.least) / 4 END) AS q(quarter)
	CROSS JOIN LATERAL (SELECT 10 ^ floor(log(q.quarter))) AS d(decade)
	CROSS JOIN LATERAL (SELECT CASE WHEN unit = 'bytes' THEN 2 ^ ceil(log(2, q.quarter::numeric))::float8
		WHEN q.quarter <= d.decade THEN d.decade WHEN q.quarter <= 2 * d.decade THEN 2 * d.decade
		WHEN q.quarter <= 5 * d.decade THEN 5 * d.decade ELSE 10 * d.decade END) AS y(step)
), placed AS (
	SELECT p.side, p.at, round((78 + 852 * p.at / f.length)::numeric, 1) AS x, round((188 - 176 * (p.value - f.y_least) / (f.y_most - f.y_least))::numeric, 1) AS y,
		p.at - lag(p.at) OVER (PARTITION BY p.side ORDER BY p.at) AS since
	FROM points AS p CROSS JOIN frame AS f
	WHERE p.at < f.length
), runs AS (
	-- a line ends where a bucket is absent
	SELECT b.side, b.run, string_agg(b.x || ',' || b.y, 'L' ORDER BY b.at) || CASE WHEN count(*) = 1 THEN 'm-3,0h6' ELSE '' END AS line, min(b.x) AS first, max(b.x) AS last
	FROM (SELECT a.*, count(*) FILTER (WHERE a.since IS NULL OR a.since > 1.5 * a.step) OVER (PARTITION BY a.side ORDER BY a.at) AS run
		FROM (SELECT c.*, min(c.since) FILTER (WHERE c.at > c.since) OVER (PARTITION BY c.side) AS step FROM placed AS c) AS a) AS b
	GROUP BY b.side, b.run
), lines AS (
	SELECT coalesce(string_agg('M' || r.line, '' ORDER BY r.run) FILTER (WHERE r.side = 'now'), '') AS now,
		coalesce(string_agg('M' || r.line, '' ORDER BY r.run) FILTER (WHERE r.side = 'base'), '') AS base,
		coalesce(string_agg('M' || r.line || 'L' || r.last || ',188L' || r.first || ',188Z', '' ORDER BY r.run) FILTER (WHERE r.side = 'now' AND r.first < r.last), '') AS area
	FROM runs AS r
), y_ticks AS (
	SELECT string_agg(format('<path class="grid" stroke="#dfe2e8" d="M78,%1$sH930"/><text x="70" y="%1$s" dy="4" text-anchor="end">%2$s</text>',
		round((188 - 176 * (v - f.y_least) / (f.y_most - f.y_least))::numeric, 1),
		profstore_internal.html(profstore_internal.report_rate(v, profile_type, unit, delta))), '') AS svg
	FROM frame AS f CROSS JOIN LATERAL generate_series(0, round((f.y_most - f.y_least) / f.y_step)::int4) AS n CROSS JOIN LATERAL (SELECT f.y_least + n * f.y_step) AS t(v)
), x_ticks AS (
	SELECT string_agg(format('<text x="%s" y="207" text-anchor="middle">%s</text>', round((78 + 852 * t.at / f.length)::numeric, 1),
		to_char(from_ts + make_interval(secs => t.at), CASE WHEN f.x_step < 60 THEN 'HH24:MI:SS' WHEN f.x_step < 86400 THEN 'HH24:MI' ELSE 'YYYY-MM-DD' END)), '') AS svg
	FROM frame AS f
	CROSS JOIN LATERAL (SELECT extract(epoch FROM from_ts)::float8 + f.zone) AS b(local)
	CROSS JOIN LATERAL generate_series(0, 9) AS n
	CROSS JOIN LATERAL (SELECT (ceil(b.local / f.x_step) + n) * f.x_step - b.local) AS t(at)
	WHERE t.at <= f.length
)
SELECT format('<figure><figcaption><b>Over time</b> <span class="key now">this range</span> <span class="key base">compared with</span></figcaption>'
	'<svg class="series" viewBox="0 0 960 216" role="img" aria-label="Over time: least %s, most %s in this range" font-size="11" fill="#626a78">'
	'%s%s<path class="area" fill="#0b61a4" fill-opacity="0.15" d="%s"/><path class="base" fill="none" stroke="#8a6d3b" stroke-dasharray="5 4" d="%s"/>'
	'<path class="now" fill="none" stroke="#0b61a4" d="%s"/></svg></figure>',
	(SELECT profstore_internal.html(profstore_internal.report_rate(min(p.value), profile_type, unit, delta)) FROM points AS p WHERE p.side = 'now'),
	(SELECT profstore_internal.html(profstore_internal.report_rate(max(p.value), profile_type, unit, delta)) FROM points AS p WHERE p.side = 'now'),
	(SELECT svg FROM y_ticks), (SELECT svg FROM x_ticks), lines.area, lines.base, lines.now)
FROM lines;
END;
COMMENT ON FUNCTION profstore_internal.report_series IS 'series graph of a report as SVG: a selection and, dashed, the one that it is compared with';

CREATE FUNCTION profstore_internal.report_functions(selector text, from_ts timestamptz, to_ts timestamptz, base_from timestamptz,
								base_to timestamptz, base_selector text, max_rows int4, unit text, whole float8, @FRAME_FILTERS@) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED COST 20000
BEGIN ATOMIC
WITH functions AS MATERIALIZED (
	SELECT t.*, row_number() OVER (ORDER BY t.self DESC, t.total DESC, t.function COLLATE "C") AS by_self,
		row_number() OVER (ORDER BY abs(t.self_delta) DESC, abs(t.total_delta) DESC, t.function COLLATE "C") AS by_change, count(*) OVER () AS count
	FROM profstore.top_diff(selector, base_from, base_to, from_ts, to_ts, base_selector, max_rows => CASE WHEN max_rows < 0 THEN max_rows END, @PASSED_FRAME_FILTERS@) AS t
), cells AS (
	SELECT f.by_self, f.by_change, f.self, f.total, f.self_delta, f.total_delta, f.count,
		'<tr><td>' || profstore_internal.html_name(f.function) || '</td>' ||
		profstore_internal.report_part(f.self, whole, profstore.readable(f.self, unit)) ||
		profstore_internal.report_change(f.base_self, f.self, profstore.readable(abs(f.self_delta), unit)) ||
		profstore_internal.report_part(f.total, whole, profstore.readable(f.total, unit)) ||
		profstore_internal.report_change(f.base_total, f.total, profstore.readable(abs(f.total_delta), unit)) || E'</tr>\n' AS row
	FROM functions AS f WHERE coalesce(f.by_self <= max_rows OR f.by_change <= max_rows, true)
), tables AS (
	SELECT 1 AS place, 'hottest' AS id, 'Hottest functions' AS title, string_agg(c.row, '' ORDER BY c.by_self) AS rows, count(*) AS shown, max(c.count) AS count,
		'functions, by their own value' AS kind
	FROM cells AS c WHERE coalesce(c.by_self <= max_rows, true) AND (c.self <> 0 OR c.total <> 0)
	UNION ALL
	SELECT 2, 'changed', 'What changed most', string_agg(c.row, '' ORDER BY c.by_change), count(*), max(c.count), 'functions, by the change of their own value'
	FROM cells AS c WHERE coalesce(c.by_change <= max_rows, true) AND (c.self_delta <> 0 OR c.total_delta <> 0)
)
SELECT string_agg(format('<section id="%s" aria-labelledby="%s-title"><h2 id="%s-title">%s</h2>', t.id, t.id, t.id, t.title) ||
	CASE WHEN t.rows IS NULL THEN '<p class="quiet">None.</p>'
	ELSE '<table><thead><tr><th scope="col">Function</th><th scope="col" class="number">Self</th><th scope="col" class="number">Change of self</th>'
		'<th scope="col" class="number">Total</th><th scope="col" class="number">Change of total</th></tr></thead><tbody>' || t.rows || '</tbody></table>'
		'<p class="quiet">' || t.shown || ' of ' || t.count || ' ' || t.kind || '.</p>' END || '</section>', '' ORDER BY t.place)
FROM tables AS t;
END;
COMMENT ON FUNCTION profstore_internal.report_functions IS 'tables of functions of a report: by their own value, and by its change';

-- The files whose lines cost most, each with its costliest lines and the three before and after each. Without a stored text only lines with a cost are
-- known. Files whose functions cost nothing themselves are left out. A relative path names another file in each program; an absolute path is taken for
-- one file, so that the builds of a program have a common table.
CREATE FUNCTION profstore_internal.report_lines(selector text, from_ts timestamptz, to_ts timestamptz, max_rows int4, unit text, whole float8, @FILTERS@) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED COST 20000
BEGIN ATOMIC
WITH files AS MATERIALIZED (
	SELECT t.file, p.program, sum(t.self) AS self, row_number() OVER (ORDER BY sum(t.self) DESC, t.file COLLATE "C", p.program COLLATE "C") AS place, count(*) OVER () AS count
	FROM profstore.top(selector, from_ts, to_ts, max_rows => NULL, @PASSED_FILTERS@, granularity => 'mapping_file') AS t
	CROSS JOIN LATERAL (SELECT CASE WHEN t.file !~ '^(/|\w:[\\/])' THEN regexp_replace(coalesce(t.mapping, ''), '^.*/', '') END) AS p(program)
	WHERE t.file <> '' GROUP BY t.file, p.program HAVING sum(t.self) > 0
), lines AS MATERIALIZED (
	SELECT f.place, s.line, s.self, s.total, s.text,
		row_number() OVER (PARTITION BY f.place ORDER BY s.self DESC, s.total DESC, s.line) <= coalesce(max_rows, 1000) AND s.total <> 0 AS is_costly
	FROM files AS f
	CROSS JOIN LATERAL profstore.frame_filter(f.file, CASE WHEN f.program IS NULL THEN 'file' ELSE 'mapping_file' END, f.file, f.program) AS frames
	CROSS JOIN LATERAL profstore.source(selector, from_ts, to_ts, filename => frames.filter, @PASSED_FILTERS@) AS s
	WHERE f.place <= 5 AND s.line IS NOT NULL
), shown AS MATERIALIZED (
	SELECT n.*, n.line - lag(n.line, 1, n.line - 1) OVER (PARTITION BY n.place ORDER BY n.line) > 1 AS is_after_gap
	FROM (SELECT l.*, max(l.line) FILTER (WHERE l.is_costly) OVER (PARTITION BY l.place ORDER BY l.line RANGE BETWEEN 3 PRECEDING AND 3 FOLLOWING) AS near FROM lines AS l) AS n
	WHERE n.near IS NOT NULL AND (n.is_costly OR n.text IS NOT NULL)
), tables AS (
	SELECT f.place, '<h3>' || profstore_internal.html_name(f.file) || coalesce(' of ' || profstore_internal.html_name(nullif(f.program, '')), '') || ' <span class="share">' || profstore_internal.report_share(f.self, whole) || '</span></h3>'
		'<table class="code"><thead><tr><th scope="col" class="number">Line</th><th scope="col">Text</th><th scope="col" class="number">Self</th><th scope="col" class="number">Total</th></tr></thead><tbody>' ||
		string_agg(CASE WHEN l.is_after_gap THEN E'<tr class="gap"><td colspan="4">&hellip;</td></tr>\n' ELSE '' END || '<tr><td class="number" data-value="' || l.line || '">' || l.line ||
			'</td><td><code>' || coalesce(profstore_internal.html(left(l.text, 500)), '') || '</code></td>' ||
			CASE WHEN l.total = 0 THEN '<td></td><td></td>' ELSE profstore_internal.report_part(l.self, whole, profstore.readable(l.self, unit)) ||
				profstore_internal.report_part(l.total, whole, profstore.readable(l.total, unit)) END || E'</tr>\n', '' ORDER BY l.line) || '</tbody></table>' ||
		CASE WHEN bool_and(l.text IS NULL) THEN '<p class="quiet">No text is stored for it.</p>' ELSE '' END AS html
	FROM files AS f JOIN shown AS l USING (place) GROUP BY f.place, f.file, f.program, f.self
)
SELECT CASE WHEN count(*) = 0 THEN '' ELSE '<section id="lines" aria-labelledby="lines-title"><h2 id="lines-title">Hottest lines</h2>' || string_agg(t.html, '' ORDER BY t.place) ||
	'<p class="quiet">' || count(*) || ' of ' || (SELECT max(f.count) FROM files AS f) || ' files, by the own values of their functions.</p></section>' END
FROM tables AS t;
END;
COMMENT ON FUNCTION profstore_internal.report_lines IS 'tables of a report, one for each of the five costliest source files: lines with their values';

-- The widest possible bucket, 1970 to 2069, gives the rate of the whole range for every type.
CREATE FUNCTION profstore_internal.report_labels(selector text, from_ts timestamptz, to_ts timestamptz, base_from timestamptz,
								base_to timestamptz, base_selector text, profile_type text, unit text, delta bool, @FILTERS@) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED COST 20000 SET client_min_messages = warning -- a side may be empty
BEGIN ATOMIC
WITH sets AS MATERIALIZED (
	SELECT s.labels FROM profstore.series(selector, from_ts, to_ts) AS s
	UNION SELECT s.labels FROM profstore.series(coalesce(base_selector, selector), base_from, base_to) AS s
), differing AS MATERIALIZED (
	SELECT k.label, count(DISTINCT s.labels ->> k.label) AS count, row_number() OVER (ORDER BY count(DISTINCT s.labels ->> k.label), k.label COLLATE "C") AS place
	FROM sets AS s CROSS JOIN LATERAL jsonb_object_keys(s.labels) AS k(label)
	GROUP BY k.label HAVING count(DISTINCT s.labels ->> k.label) + (count(*) < (SELECT count(*) FROM sets))::int4 > 1
), chosen AS MATERIALIZED (
	SELECT coalesce(array_agg(d.label ORDER BY d.place), '{}') AS labels FROM differing AS d WHERE d.place <= 6
), rates AS MATERIALIZED (
	SELECT t.labels, t.value AS now, 0::float8 AS base
	FROM chosen AS c CROSS JOIN LATERAL profstore.timeseries(selector, from_ts, to_ts, interval '36500 days', c.labels,
		@PASSED_FILTERS@) AS t
	WHERE c.labels <> '{}'
	UNION ALL
	SELECT t.labels, 0, t.value
	FROM chosen AS c CROSS JOIN LATERAL profstore.timeseries(coalesce(base_selector, selector), base_from, base_to,
		interval '36500 days', c.labels, @PASSED_FILTERS@) AS t
	WHERE c.labels <> '{}'
), sums AS (
	SELECT d.place, d.label, v.value, v.now, v.base, sum(v.now) OVER (PARTITION BY d.label) AS whole,
		row_number() OVER (PARTITION BY d.label ORDER BY greatest(v.now, v.base) DESC, v.value COLLATE "C") AS rank
	FROM differing AS d
	CROSS JOIN LATERAL (SELECT r.labels ->> d.label, sum(r.now), sum(r.base) FROM rates AS r GROUP BY 1) AS v(value, now, base)
	WHERE d.place <= 6
), rows AS (
	SELECT s.place, s.label, least(s.rank, 11) AS rank,
		CASE WHEN s.rank <= 10 THEN coalesce(profstore_internal.html_name(nullif(min(s.value), '')), '<i>(none)</i>') ELSE '<i>' || count(*) || ' others</i>' END AS name,
		sum(s.now) AS now, sum(s.base) AS base, min(s.whole) AS whole
	FROM sums AS s
	GROUP BY s.place, s.label, least(s.rank, 11), s.rank <= 10
), tables AS (
	SELECT r.place, '<table><thead><tr><th scope="col">' || profstore_internal.html_name(r.label) || '</th><th scope="col" class="number">This range</th>'
		'<th scope="col" class="number">Before</th><th scope="col" class="number">Change</th></tr></thead><tbody>' ||
		string_agg('<tr><td>' || r.name || '</td>' ||
			profstore_internal.report_part(r.now, r.whole, profstore_internal.report_rate(r.now, profile_type, unit, delta)) ||
			'<td class="number">' || profstore_internal.html(profstore_internal.report_rate(r.base, profile_type, unit, delta)) || '</td>' ||
			profstore_internal.report_change(r.base, r.now, profstore_internal.report_rate(abs(r.now - r.base), profile_type, unit, delta)) || E'</tr>\n', '' ORDER BY r.rank) ||
		'</tbody></table>' AS html
	FROM rows AS r GROUP BY r.place, r.label
)
SELECT '<section id="labels" aria-labelledby="labels-title"><h2 id="labels-title">Labels that differ</h2>' ||
	coalesce((SELECT string_agg(t.html, '' ORDER BY t.place) FROM tables AS t), '<p class="quiet">All series have the same labels.</p>') ||
	(SELECT CASE WHEN max(d.place) > 6 THEN '<p class="quiet">Six of ' || max(d.place) || ' labels, those of the fewest values.</p>' ELSE '' END FROM differing AS d) || '</section>';
END;
COMMENT ON FUNCTION profstore_internal.report_labels IS 'tables of a report, one for each label that has several values: mean rates of both ranges';

CREATE FUNCTION profstore_internal.report_losses(selector text, from_ts timestamptz, to_ts timestamptz) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT coalesce((SELECT string_agg(CASE WHEN l.place <= 5 THEN l.count || ' ' || profstore_internal.html(l.reason) WHEN l.place = 6 THEN l.reasons - 5 || ' more reasons' END, ', '
		ORDER BY l.place)
	FROM (SELECT o.reason, sum(o.count) AS count, row_number() OVER (ORDER BY sum(o.count) DESC, o.reason COLLATE "C") AS place, count(*) OVER () AS reasons
		FROM profstore.losses AS o
		WHERE o.time >= from_ts AND o.time < to_ts AND o.reason NOT LIKE 'incomplete.%'
			AND o.node IN (SELECT s.labels ->> 'node' FROM profstore.matching_series(selector) AS s)
		GROUP BY o.reason) AS l), 'nothing was reported');
END;
COMMENT ON FUNCTION profstore_internal.report_losses IS 'losses of the hosts of a selection in a range, in words';

CREATE FUNCTION profstore_internal.report_fact(name text, value text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT CASE WHEN value <> '' THEN '<div><dt>' || name || '</dt><dd>' || value || '</dd></div>' ELSE '' END;
END;
COMMENT ON FUNCTION profstore_internal.report_fact IS 'an entry of the summary of a report: HTML; nothing for an empty value';

CREATE FUNCTION profstore_internal.report_time(at timestamptz) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT replace(to_char(at, 'YYYY-MM-DD HH24:MI:SS.USTZH:TZM'), '.000000', '');
END;
COMMENT ON FUNCTION profstore_internal.report_time IS 'a time as SQL has it, whatever DateStyle';

CREATE FUNCTION profstore_internal.report_range(from_ts timestamptz, to_ts timestamptz) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT to_char(from_ts, 'YYYY-MM-DD HH24:MI:SS') || ' &ndash; ' ||
	to_char(to_ts, CASE WHEN date_trunc('day', from_ts) = date_trunc('day', to_ts) THEN 'HH24:MI:SS TZ' ELSE 'YYYY-MM-DD HH24:MI:SS TZ' END);
END;
COMMENT ON FUNCTION profstore_internal.report_range IS 'a range of time as HTML; the end has a day only if it differs';

CREATE FUNCTION profstore.report_html(@SELECTION@, base_from timestamptz DEFAULT NULL, base_to timestamptz DEFAULT NULL,
								base_selector text DEFAULT NULL, max_nodes int4 DEFAULT 8192, max_rows int4 DEFAULT 25,
								@FRAME_FILTERS@, title text DEFAULT NULL)
	RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100000
BEGIN ATOMIC
WITH matched AS MATERIALIZED (
	SELECT count(*) AS series, min(m.profile_type) AS profile_type, coalesce(min(m.unit), '') AS unit, coalesce(bool_and(m.delta), true) AS delta,
		min(m.first_seen) AS first_seen, max(m.last_seen) + interval '1 minute' AS last_seen
	FROM profstore.matching_series(selector) AS m
), ranges AS MATERIALIZED (
	-- an infinite end is replaced by the time at which a series was first or last seen; the default base is the range of equal length before
	SELECT r.from_ts, r.to_ts, coalesce(base_from, coalesce(base_to, r.from_ts) - (r.to_ts - r.from_ts)) AS base_from, coalesce(base_to, r.from_ts) AS base_to
	FROM matched AS m CROSS JOIN LATERAL (SELECT CASE WHEN NOT isfinite(report_html.from_ts) THEN coalesce(m.first_seen, now() - interval '1 hour') ELSE report_html.from_ts END,
		CASE WHEN NOT isfinite(report_html.to_ts) THEN coalesce(m.last_seen, now()) ELSE report_html.to_ts END) AS r(from_ts, to_ts)
), sums AS MATERIALIZED (
	SELECT s.whole, s.kept, b.kept AS base, i.ignored AS incomplete, i.whole AS all_stacks
	FROM ranges AS r
	CROSS JOIN LATERAL profstore.filtered_share(selector, r.from_ts, r.to_ts, @PASSED_FILTERS@) AS s
	CROSS JOIN LATERAL profstore.filtered_share(coalesce(base_selector, selector), r.base_from, r.base_to, @PASSED_FILTERS@) AS b
	CROSS JOIN LATERAL profstore.filtered_share(selector, r.from_ts, r.to_ts, ignore => '^\[(incomplete|truncated)\]$') AS i
), stored AS MATERIALIZED (
	SELECT profstore.stored_rows(selector, r.from_ts, r.to_ts) AS rows FROM ranges AS r
), head AS (
	SELECT '<section id="report" aria-label="Summary">' ||
		CASE WHEN m.series = 0 AND s.base = 0 THEN '<p class="empty nothing" role="status"><b>Nothing to show:</b> no series matches the selector. <code>SELECT * FROM profstore.profile_types()</code> lists what there is.</p>'
			WHEN s.whole = 0 AND s.base = 0 AND t.rows > 0 THEN '<p class="empty nothing" role="status"><b>Nothing to show:</b> the samples in this range add up to 0.</p>'
			WHEN s.whole = 0 AND s.base = 0 THEN '<p class="empty nothing" role="status"><b>Nothing to show:</b> the series have no samples in this range, nor in the one before. They were seen from '
				|| to_char(m.first_seen, 'YYYY-MM-DD HH24:MI:SS TZ') || ' to ' || to_char(m.last_seen - interval '1 minute', 'YYYY-MM-DD HH24:MI:SS TZ') || '.</p>'
			WHEN s.kept = 0 AND s.base = 0 THEN '<p class="empty nothing" role="status"><b>Nothing to show:</b> no stack passes the filters.</p>'
			WHEN s.kept = 0 THEN '<p class="empty" role="status"><b>Nothing in this range:</b> all that is shown is of what it is compared with.</p>' ELSE '' END ||
		'<dl>' ||
		CASE WHEN m.series > 0 THEN '<div class="main"><dt>Total</dt><dd><b>' || profstore_internal.html(profstore.readable(s.kept, m.unit)) || '</b>' ||
			CASE WHEN s.kept <> s.whole THEN ', ' || profstore_internal.report_share(s.kept, s.whole) || ' of ' || profstore_internal.html(profstore.readable(s.whole, m.unit)) ELSE '' END ||
			'</dd></div><div class="main"><dt>Before</dt><dd><b>' || CASE WHEN s.base = 0 THEN 'nothing' ELSE profstore_internal.html(profstore.readable(s.base, m.unit)) ||
			'</b> ' || CASE WHEN r.to_ts - r.from_ts <> r.base_to - r.base_from THEN '(a range of other length)'
				WHEN s.kept = s.base THEN 'the same' WHEN s.kept > s.base THEN '+' || profstore_internal.report_share(s.kept - s.base, s.base) || ' since'
				ELSE '&minus;' || profstore_internal.report_share(s.base - s.kept, s.base) || ' since' END END || '</dd></div>' ELSE '' END ||
		profstore_internal.report_fact('Profile type', '<code>' || profstore_internal.html_name(coalesce(m.profile_type, p.profile_type, 'any')) || '</code>') ||
		profstore_internal.report_fact('Matchers', coalesce((SELECT string_agg('<code>' || profstore_internal.html_name(c.label || c.operator || '"' || CASE WHEN c.operator LIKE '%~' THEN regexp_replace(c.value, '^\^\(\?:(.*)\)\$$', '\1') ELSE c.value END || '"') || '</code>', ' ')
			FROM unnest(p.labels, p.operators, p."values") AS c(label, operator, value)), 'none')) ||
		profstore_internal.report_fact('Range', profstore_internal.report_range(r.from_ts, r.to_ts)) ||
		profstore_internal.report_fact('Compared with', profstore_internal.report_range(r.base_from, r.base_to) ||
			coalesce(' of <code>' || profstore_internal.html_name(base_selector) || '</code>', '')) ||
		profstore_internal.report_fact('Filters', (SELECT string_agg(f.name || ' <code>' || profstore_internal.html_name(f.value) || '</code>', ' ')
			FROM (VALUES @FILTER_VALUES@) AS f(name, value) WHERE f.value <> '')) ||
		profstore_internal.report_fact('Series', m.series::text) ||
		profstore_internal.report_fact('Rows stored', to_char(t.rows, 'FM999,999,999,999,999,990')) ||
		profstore_internal.report_fact('Whole stacks', CASE WHEN s.all_stacks <> 0 THEN profstore_internal.report_share(s.all_stacks - s.incomplete, s.all_stacks) || ' of the value' END) ||
		profstore_internal.report_fact('Lost', profstore_internal.report_losses(selector, r.from_ts, r.to_ts)) || '</dl>' ||
		CASE WHEN s.kept <> 0 OR s.base <> 0 THEN profstore_internal.report_series(selector, r.from_ts, r.to_ts, r.base_from, r.base_to, base_selector, m.profile_type, m.unit, m.delta,
			@PASSED_FILTERS@) ELSE '' END || '</section>' AS html
	FROM matched AS m CROSS JOIN ranges AS r CROSS JOIN sums AS s CROSS JOIN stored AS t CROSS JOIN LATERAL profstore.parse_selector(selector) AS p
), tail AS (
	SELECT CASE WHEN s.kept <> 0 OR s.base <> 0 THEN
		profstore_internal.report_functions(selector, r.from_ts, r.to_ts, r.base_from, r.base_to, base_selector, max_rows, m.unit, s.kept, @PASSED_FRAME_FILTERS@) ||
		CASE WHEN s.kept <> 0 THEN profstore_internal.report_lines(selector, r.from_ts, r.to_ts, max_rows, m.unit, s.kept, @PASSED_FILTERS@) ELSE '' END ||
		profstore_internal.report_labels(selector, r.from_ts, r.to_ts, r.base_from, r.base_to, base_selector, m.profile_type, m.unit, m.delta, @PASSED_FILTERS@)
		ELSE '' END ||
		'<section id="sql" aria-labelledby="sql-title"><h2 id="sql-title">The SQL that made it</h2><pre><code>' ||
		profstore_internal.html('SELECT profstore.report_html(' || quote_literal(selector) || (SELECT string_agg(a.name || CASE WHEN a.place IN (6, 7) THEN a.value ELSE quote_literal(a.value) END, '' ORDER BY a.place)
			FROM (VALUES (1, E',\n  from_ts => ', profstore_internal.report_time(r.from_ts)), (2, E', to_ts => ', profstore_internal.report_time(r.to_ts)), (3, E',\n  base_from => ', profstore_internal.report_time(r.base_from)), (4, E', base_to => ', profstore_internal.report_time(r.base_to)),
				(5, E',\n  base_selector => ', base_selector), (6, E',\n  max_nodes => ', max_nodes::text), (7, E', max_rows => ', max_rows::text)) AS a(place, name, value)
			WHERE a.value IS NOT NULL) ||
			coalesce((SELECT string_agg(E',\n  ' || f.name || ' => ' || quote_literal(f.value), '') FROM (VALUES @FILTER_VALUES@) AS f(name, value)), '') ||
			coalesce(E',\n  granularity => ' || quote_literal(granularity), '') || coalesce(E',\n  title => ' || quote_literal(title), '') || E')\n\\g (tuples_only format=unaligned) report.html') ||
		'</code></pre></section>' AS html
	FROM matched AS m CROSS JOIN ranges AS r CROSS JOIN sums AS s
)
SELECT replace(replace(replace(profstore.flamegraph_diff_html(selector, r.base_from, r.base_to, r.from_ts, r.to_ts, base_selector, max_nodes => max_nodes, @PASSED_FRAME_FILTERS@, title => title), '<!-- report -->', head.html), '<!-- tail -->', tail.html),
	'<!-- title -->', profstore_internal.html(coalesce(title, selector)))
FROM ranges AS r CROSS JOIN head CROSS JOIN tail;
END;
COMMENT ON FUNCTION profstore.report_html IS 'report of a selection as one self-contained HTML page: summary, series graph, flame graph, changes since the range before (or base_from to base_to), tables, source lines with their values; for mail, builds and printing; without scripts only the flame graph is missing';
