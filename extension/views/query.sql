-- query: selectors, and the views over samples that people type; for @NAMES@ among arguments see arguments.sed

CREATE FUNCTION profstore.parse_selector(selector text, OUT profile_type text, OUT labels text[], OUT operators text[],
							   OUT "values" text[])
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_parse_selector';
COMMENT ON FUNCTION profstore.parse_selector IS 'the parts of a selector; the value of =~ and !~ is an anchored regular expression';

-- Quotes a value for a matcher.
CREATE FUNCTION profstore_internal.matched(value text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN '"' || replace(replace(replace(value, '\', '\\'), '"', '\"'), E'\n', '\n') || '"';
COMMENT ON FUNCTION profstore_internal.matched(text) IS 'a value in the quotes of selectors and filters';

-- Writes a selector from a dashboard's variable, whose values are an array; escapes all special characters in them.
CREATE FUNCTION profstore.selector(profile_type text, labels jsonb DEFAULT '{}', matchers text DEFAULT NULL)
	RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT coalesce(profile_type, '') || '{' || concat_ws(', ', string_agg(
	quoted.label || CASE WHEN quoted.count = 1 THEN '=' ELSE '=~' END || profstore_internal.matched(quoted.value), ', ' ORDER BY quoted.label),
	-- matchers as a user typed them, with or without braces
	(SELECT nullif(CASE WHEN t.typed LIKE '{%}' THEN substr(t.typed, 2, length(t.typed) - 2) ELSE t.typed END, '')
	 FROM (SELECT btrim(matchers, E' \t\r\n')) t(typed))) || '}'
FROM (SELECT l.label, count(*) AS count,
		-- one value becomes an equality matcher, several a regular expression in which their special characters are escaped
		CASE WHEN count(*) = 1 THEN min(v.value)
		ELSE string_agg(regexp_replace(v.value, '([^[:alnum:]_])', '\\\1', 'g'), '|' ORDER BY v.value COLLATE "C") END AS value
	FROM jsonb_each(labels) l(label, wanted)
	CROSS JOIN LATERAL jsonb_array_elements_text(
		CASE jsonb_typeof(l.wanted) WHEN 'array' THEN l.wanted ELSE jsonb_build_array(l.wanted) END) v(value)
	GROUP BY l.label
	HAVING bool_and(v.value IS NOT NULL)) quoted;
END;
COMMENT ON FUNCTION profstore.selector IS 'a selector from a profile type and an object of labels: a text is the value, of an array one of the values, null any value; quotes what needs it. More matchers are taken as they are: a="b", c!~"d"';

-- The profile type in a selector may be abbreviated to its first components.
CREATE FUNCTION profstore_internal.full_profile_type(name text)
	RETURNS text
	LANGUAGE c STABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_full_profile_type';
COMMENT ON FUNCTION profstore_internal.full_profile_type IS 'the profile type that begins with these components; the name itself if it has all five, or no type matches; an error if several match';

-- Equality matchers find series by the index on labels; all other matchers are tested for each of these series.
CREATE FUNCTION profstore.matching_series(selector text)
	RETURNS TABLE (series_id int4, profile_type text, unit text, delta bool, labels jsonb, period int8,
			   first_seen timestamptz, last_seen timestamptz)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
WITH p AS
	(SELECT profstore_internal.full_profile_type(s.profile_type) AS profile_type, s.labels, s.operators, s."values",
			(SELECT coalesce(jsonb_object_agg(m.label, m.value), '{}')
			FROM unnest(s.labels, s.operators, s."values") m(label, operator, value)
			WHERE m.operator = '=' AND m.value <> '') AS required
	 FROM profstore.parse_selector(selector) s)
SELECT s.id, n.profile_type, t.sample_unit, t.delta, s.labels, s.period, s.first_seen, s.last_seen
FROM p
CROSS JOIN profstore.profile_types t
CROSS JOIN LATERAL (SELECT concat_ws(':', t.name, t.sample_type, t.sample_unit, t.period_type, t.period_unit,
									 CASE WHEN t.delta THEN 'delta' END)) n(profile_type)
JOIN (SELECT i.* FROM p JOIN profstore.series i ON i.labels @> p.required WHERE p.required <> '{}'
	  UNION ALL
	  SELECT i.* FROM p CROSS JOIN profstore.series i WHERE p.required = '{}') s ON s.profile_type = t.id
WHERE (p.profile_type IS NULL OR n.profile_type = p.profile_type)
  AND (coalesce(cardinality(p.labels), 0) = 0 OR NOT EXISTS (
	SELECT FROM unnest(p.labels, p.operators, p."values") m(label, operator, value)
	WHERE NOT CASE m.operator
		WHEN '=' THEN coalesce(s.labels ->> m.label, '') = m.value
		WHEN '!=' THEN coalesce(s.labels ->> m.label, '') <> m.value
		WHEN '=~' THEN coalesce(s.labels ->> m.label, '') ~ (m.value COLLATE "C")
		WHEN '!~' THEN coalesce(s.labels ->> m.label, '') !~ (m.value COLLATE "C")
	END));
END;
COMMENT ON FUNCTION profstore.matching_series IS 'all series rows that a selector picks, as the caller sees them (NULL: every series); one series may be stored under several ids';

CREATE FUNCTION profstore.profile_types()
	RETURNS TABLE (profile_type text, unit text, delta bool, first_seen timestamptz, last_seen timestamptz)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT n.profile_type, t.sample_unit, t.delta, min(s.first_seen), max(s.last_seen)
FROM profstore.profile_types t
CROSS JOIN LATERAL (SELECT concat_ws(':', t.name, t.sample_type, t.sample_unit, t.period_type, t.period_unit,
									 CASE WHEN t.delta THEN 'delta' END)) n(profile_type)
JOIN (SELECT i.profile_type, min(i.first_seen), max(i.last_seen) FROM profstore.series i GROUP BY i.profile_type) s(profile_type, first_seen, last_seen)
	ON s.profile_type = t.id
GROUP BY n.profile_type, t.sample_unit, t.delta
ORDER BY n.profile_type COLLATE "C";
END;
COMMENT ON FUNCTION profstore.profile_types IS 'the profile types that have series; profile_type is what a selector begins with';

CREATE FUNCTION profstore.series(selector text DEFAULT NULL, from_ts timestamptz DEFAULT NULL, to_ts timestamptz DEFAULT NULL)
	RETURNS TABLE (series_id int4, profile_type text, labels jsonb, first_seen timestamptz, last_seen timestamptz)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT min(m.series_id), m.profile_type, m.labels, min(m.first_seen), max(m.last_seen)
FROM profstore.matching_series(selector) m
GROUP BY m.profile_type, m.labels, m.period
-- last_seen is up to a minute old. A series that two writers have stored has two rows, and qualifies if one of them does. (NULL: not reported
-- yet, so any time is possible.)
HAVING bool_or((m.last_seen + interval '1 minute' < from_ts OR m.first_seen >= to_ts) IS NOT TRUE)
ORDER BY m.profile_type COLLATE "C", m.labels, min(m.series_id);
END;
COMMENT ON FUNCTION profstore.series IS 'series that a selector picks (NULL: all) and that were seen in [from_ts, to_ts)';

CREATE FUNCTION profstore.label_names(selector text DEFAULT NULL, from_ts timestamptz DEFAULT NULL,
							to_ts timestamptz DEFAULT NULL)
	RETURNS TABLE (label text)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT DISTINCT k.label COLLATE "C"
FROM profstore.matching_series(selector) s
CROSS JOIN LATERAL jsonb_object_keys(s.labels) k(label)
WHERE (s.last_seen + interval '1 minute' < from_ts OR s.first_seen >= to_ts) IS NOT TRUE
ORDER BY 1;
END;
COMMENT ON FUNCTION profstore.label_names IS 'names of the labels of the series that a selector picks (NULL: all) and that were seen in [from_ts, to_ts)';

CREATE FUNCTION profstore.label_values(label text, selector text DEFAULT NULL, from_ts timestamptz DEFAULT NULL,
							 to_ts timestamptz DEFAULT NULL)
	RETURNS TABLE (value text)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT DISTINCT (s.labels ->> label) COLLATE "C"
FROM profstore.matching_series(selector) s
WHERE s.labels ->> label IS NOT NULL
  AND (s.last_seen + interval '1 minute' < from_ts OR s.first_seen >= to_ts) IS NOT TRUE
ORDER BY 1;
END;
COMMENT ON FUNCTION profstore.label_values IS 'values of a label among the series that a selector picks (NULL: all) and that were seen in [from_ts, to_ts)';

-- Functions that scan samples are PARALLEL RESTRICTED, because they first write the buffered rows of their transaction, which only the leader
-- process has.

CREATE FUNCTION profstore_internal.scan_support(internal) RETURNS internal
	LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'profstore_scan_support';
COMMENT ON FUNCTION profstore_internal.scan_support IS 'planner support: rows and costs of functions that read samples';

CREATE FUNCTION profstore.timeseries(@SELECTION@, step interval DEFAULT NULL, by text[] DEFAULT '{}', @FILTERS@,
								@TRACE@, absolute bool DEFAULT false, origin timestamptz DEFAULT NULL)
	RETURNS TABLE ("time" timestamptz, metric text, labels jsonb, value float8)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_timeseries';
COMMENT ON FUNCTION profstore.timeseries IS 'rate per second in buckets of step (NULL: chosen from the range), nanoseconds as seconds: the sum of the samples in a bucket, divided by the time of the windows that begin in it and in the range; of instant types the value; one line per combination of the labels in by; absolute: sums instead of rates, of nanoseconds in seconds; origin: a time at which a bucket begins';

CREATE FUNCTION profstore.flamegraph(@SELECTION@, max_nodes int4 DEFAULT 8192, inverted bool DEFAULT false,
								@FRAME_FILTERS@, by text[] DEFAULT '{}', @TRACE@)
	RETURNS TABLE (ord int4, level int4, value int8, self int8, label text, truncated bool, file text, line int4,
			   mapping text)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 8192 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamegraph';
COMMENT ON FUNCTION profstore.flamegraph IS 'merged stacks as a tree in depth-first order (ORDER BY ord), as the flame-graph panel of Grafana takes it; inverted: from the leaves; by: values of these labels come before the first frame';

CREATE FUNCTION profstore.flamegraph_diff(@COMPARISON@, max_nodes int4 DEFAULT 8192, @FRAME_FILTERS@, @TRACE@,
								@BASE_TRACE@)
	RETURNS TABLE (ord int4, level int4, value int8, self int8, label text, truncated bool, file text, line int4,
			   mapping text, "valueRight" int8, "selfRight" int8)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 ROWS 8192 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_diff';
COMMENT ON FUNCTION profstore.flamegraph_diff IS 'two selections in one flame graph (ORDER BY ord): value and self are the base''s, "valueRight" and "selfRight" those of [from_ts, to_ts); by rate, as over the longer of the two ranges, or absolute, padded to equal totals';

CREATE FUNCTION profstore.top(@SELECTION@, max_rows int4 DEFAULT 100, @FRAME_FILTERS@, @TRACE@)
	RETURNS TABLE ("function" text, self int8, total int8, self_share float8, total_share float8, file text,
			   mapping text, kind text)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 100 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_top';
COMMENT ON FUNCTION profstore.top IS 'functions by their own value (self), with all below them (total, a recursive function counted once), and both as shares of the whole';

CREATE FUNCTION profstore.top_diff(@COMPARISON@, max_rows int4 DEFAULT 100, @FRAME_FILTERS@, @TRACE@, @BASE_TRACE@)
	RETURNS TABLE ("function" text, base_self int8, self int8, self_delta int8, base_total int8, total int8,
			   total_delta int8, file text, mapping text)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 ROWS 100 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_top_diff';
COMMENT ON FUNCTION profstore.top_diff IS 'functions by the change of their own value since the base; compared by rate, scaled to the longer of the two ranges, unless absolute';

CREATE FUNCTION profstore.callers(@SELECTION@, "function" text DEFAULT NULL, max_nodes int4 DEFAULT 8192,
								@FRAME_FILTERS@, @TRACE@)
	RETURNS TABLE ("function" text, self int8, total int8, share float8, level int4)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_callers';
COMMENT ON FUNCTION profstore.callers IS 'callers of a function, as a tree in depth-first order: level 0 is the function, level 1 its callers; total is the value of the stacks through the caller, share its part of the function''s total, self the value of stacks without a further caller';

CREATE FUNCTION profstore.callees(@SELECTION@, "function" text DEFAULT NULL, max_nodes int4 DEFAULT 8192,
								@FRAME_FILTERS@, @TRACE@)
	RETURNS TABLE ("function" text, self int8, total int8, share float8, level int4)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_callees';
COMMENT ON FUNCTION profstore.callees IS 'callees of a function, as a tree in depth-first order: level 0 is the function, level 1 its callees; share is the part of the function''s total';

CREATE FUNCTION profstore.folded(@SELECTION@, @FRAME_FILTERS@, @TRACE@)
	RETURNS TABLE (stack text, value int8)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 10000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_folded';
COMMENT ON FUNCTION profstore.folded IS 'merged stacks as text, root first, frames joined by ";": the folded format of flamegraph.pl and speedscope';

CREATE FUNCTION profstore.stacks_of(@SELECTION@, @FRAME_FILTERS@, @TRACE@)
	RETURNS TABLE (stack text[], value int8)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 10000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_stacks_of';
COMMENT ON FUNCTION profstore.stacks_of IS 'merged stacks as arrays of function names, root first, with their values';

CREATE FUNCTION profstore.last_scan(OUT segments int8, OUT skipped int8, OUT summed int8, OUT "read" int8,
						  OUT blocks_read int8, OUT blocks_skipped int8, OUT bytes_read int8)
	LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'profstore_last_scan';
COMMENT ON FUNCTION profstore.last_scan IS 'segments that the last query of this session had: all, skipped by ranges, read as sums, read as rows; blocks read and skipped, and encoded bytes read';

CREATE FUNCTION profstore.short_name(name text, width int4 DEFAULT 60)
	RETURNS text
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_short_name';
COMMENT ON FUNCTION profstore.short_name IS 'a name of a function in at most width characters, for people: one that is longer loses the hash of Rust, then the parts in brackets after names (arguments of templates, generics, functions), then its middle';

-- The units of the HTML pages (format.js), in ASCII. A unit begins at the value that the next smaller one would round up to it: 999.5 ms is 1 s.
CREATE FUNCTION profstore.readable(value float8, unit text)
	RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
SELECT trim_scale(round(n.number::numeric, CASE WHEN abs(n.number) >= 100 THEN 0 WHEN abs(n.number) >= 10 THEN 1 ELSE 2 END)) || s.name ||
	CASE WHEN s.unit = '' AND readable.unit NOT IN ('', 'count') THEN ' ' || readable.unit ELSE '' END
FROM (VALUES ('nanoseconds', 36e11 - 3e9, 36e11, ' h'), ('nanoseconds', 6e10 - 5e7, 6e10, ' min'), ('nanoseconds', 1e9 - 5e5, 1e9, ' s'),
	('nanoseconds', 1e6 - 500, 1e6, ' ms'), ('nanoseconds', 1e3 - 0.5, 1e3, ' us'), ('nanoseconds', 0, 1, ' ns'),
	('bytes', 2 ^ 40 - 2 ^ 29, 2 ^ 40, ' TiB'), ('bytes', 2 ^ 30 - 2 ^ 19, 2 ^ 30, ' GiB'), ('bytes', 2 ^ 20 - 2 ^ 9, 2 ^ 20, ' MiB'),
	('bytes', 2 ^ 10 - 0.5, 2 ^ 10, ' KiB'), ('bytes', 0, 1, ' B'),
	('', 1e9 - 5e5, 1e9, ' G'), ('', 1e6 - 500, 1e6, ' M'), ('', 1e4 - 0.5, 1e3, ' k'), ('', 0, 1, '')) s(unit, least, divisor, name)
CROSS JOIN LATERAL (SELECT value / s.divisor) n(number)
WHERE s.unit = CASE WHEN readable.unit IN ('nanoseconds', 'bytes') THEN readable.unit ELSE '' END AND abs(value) >= s.least
ORDER BY s.least DESC
LIMIT 1;
END;
COMMENT ON FUNCTION profstore.readable IS 'a value with its unit, for people: nanoseconds as ns, us, ms, s, min or h, bytes as B, KiB, MiB, GiB or TiB, counts and others with k, M or G';

-- Each level of the tree is indented by a blank, up to half of the width that the numbers leave of 120 columns.
CREATE FUNCTION profstore.flamegraph_text(@SELECTION@, max_nodes int4 DEFAULT 100, inverted bool DEFAULT false,
								@FRAME_FILTERS@, by text[] DEFAULT '{}', @TRACE@)
	RETURNS TABLE (share text, total text, self text, frame text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED COST 20000 ROWS 100
BEGIN ATOMIC
SELECT format('%7s', to_char(100 * f.value::float8 / nullif(first_value(f.value) OVER (ORDER BY f.ord), 0), 'FM9999990.0') || ' %'),
	format('%8s', profstore.readable(f.value, u.unit)), format('%8s', profstore.readable(nullif(f.self, 0), u.unit)),
	repeat(' ', n.indent) || profstore.short_name(f.label, 84 - n.indent)
FROM profstore.flamegraph(selector, from_ts, to_ts, max_nodes, inverted, @PASSED_FRAME_FILTERS@, by => by, @PASSED_TRACE@) f
CROSS JOIN (SELECT coalesce(min(m.unit), '') FROM profstore.matching_series(selector) m) u(unit)
CROSS JOIN LATERAL (SELECT least(f.level, 40)) n(indent)
ORDER BY f.ord;
END;
COMMENT ON FUNCTION profstore.flamegraph_text IS 'flame graph as an indented tree, to read in a terminal: the part that a frame has of all, its value with all below it, and its own';
