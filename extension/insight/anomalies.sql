-- Windows whose mix of functions differs from that of the same hour of other days.
-- The distance of a window is half of the sum of the differences of all functions' shares from their medians on the other days. It is the part of
-- the values that would have to move to other functions. The noise of the distance follows from the other days: the distance of each from the
-- medians of the rest. At least three other days are needed.

CREATE FUNCTION profstore.anomalies(selector text, from_ts timestamptz DEFAULT now() - interval '1 day', to_ts timestamptz DEFAULT now(),
		step interval DEFAULT '1 hour', days int4 DEFAULT 7, min_change float8 DEFAULT 0.05, @FRAME_FILTERS@)
	RETURNS TABLE ("time" timestamptz, distance float8, usual_distance float8, "function" text, share float8, usual_share float8, days_compared int4)
	LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100000 ROWS 100
BEGIN ATOMIC
WITH ends AS MATERIALIZED (
	-- an infinite end is replaced by the time at which a series was first or last seen
	SELECT CASE WHEN isfinite(anomalies.from_ts) THEN anomalies.from_ts ELSE min(m.first_seen) END AS from_ts,
		CASE WHEN isfinite(anomalies.to_ts) THEN anomalies.to_ts ELSE max(m.last_seen) + interval '1 minute' END AS to_ts
	FROM profstore.matching_series(selector) m),
windows AS MATERIALIZED (
	SELECT w.begins, d.day
	FROM ends e
	CROSS JOIN LATERAL generate_series(e.from_ts, e.to_ts - step, step) w(begins)
	CROSS JOIN generate_series(0, days) d(day)),
shares AS MATERIALIZED (
	SELECT w.begins, w.day, t.function, sum(t.self_share) AS share
	FROM windows w
	CROSS JOIN LATERAL profstore.top(selector, w.begins - w.day * interval '1 day', w.begins - w.day * interval '1 day' + step, max_rows => 1000,
		@PASSED_FRAME_FILTERS@) t
	GROUP BY 1, 2, 3),
present AS (
	SELECT DISTINCT s.begins, s.day FROM shares s WHERE s.share > 0),
-- each day of a window in turn; day 0 is the window itself, the other days show usual shares. A function that a day lacks has 0 there: rows of zeros
-- are added instead of joined, because the planner knows no size of these sets, and may compare each row with all of its day.
each AS MATERIALIZED (
	SELECT s.begins, s.day, s.function, sum(s.share) AS share
	FROM (SELECT n.begins, n.day, n.function, n.share FROM shares n
		UNION ALL
		SELECT p.begins, p.day, f.function, 0 FROM present p JOIN (SELECT DISTINCT n.begins, n.function FROM shares n) f ON f.begins = p.begins) s
	GROUP BY 1, 2, 3),
-- the shares of a function on the other days in order, and the place of each day among them (for the window itself: none of these)
others AS (
	SELECT e.begins, e.function, array_agg(e.share ORDER BY e.share, e.day) AS shares, count(*)::int4 AS days
	FROM each e WHERE e.day > 0 GROUP BY 1, 2),
placed AS (
	SELECT e.begins, e.day, e.function, e.share, o.shares, o.days - (e.day > 0)::int4 AS compared,
		CASE WHEN e.day > 0 THEN row_number() OVER (PARTITION BY e.begins, e.function, e.day > 0 ORDER BY e.share, e.day) ELSE o.days + 1 END AS place
	FROM each e
	JOIN others o ON o.begins = e.begins AND o.function = e.function),
-- the median of the others: the mean of the middle two shares, or twice of the middle one, without the day's own
differences AS MATERIALIZED (
	SELECT p.begins, p.day, p.function, p.share, p.compared,
		(p.shares[m.low + (m.low >= p.place)::int4] + p.shares[m.high + (m.high >= p.place)::int4]) / 2 AS usual
	FROM placed p
	CROSS JOIN LATERAL (SELECT (p.compared + 1) / 2, p.compared / 2 + 1) m(low, high)
	WHERE p.compared > 0),
distances AS (
	SELECT d.begins, d.day, sum(abs(d.share - d.usual)) / 2 AS distance FROM differences d WHERE d.usual IS NOT NULL GROUP BY 1, 2),
judged AS (
	SELECT d.begins, d.distance, (SELECT max(o.distance) FROM distances o WHERE o.begins = d.begins AND o.day > 0) AS usual_distance
	FROM distances d WHERE d.day = 0)
SELECT j.begins, j.distance, j.usual_distance, m.function, m.share, m.usual, m.compared::int4
FROM judged j
CROSS JOIN LATERAL (SELECT d.function, d.share, d.usual, d.compared FROM differences d WHERE d.begins = j.begins AND d.day = 0
	ORDER BY abs(d.share - d.usual) DESC, d.function COLLATE "C" LIMIT 1) m
WHERE m.compared >= 3 AND j.distance >= min_change AND j.distance > 1.5 * j.usual_distance
ORDER BY j.begins;
END;
COMMENT ON FUNCTION profstore.anomalies IS 'windows whose mix of functions departs from other days: each with the function that departs most; other days are compared at the same time; distance is the part of all values that lies in other functions than usual, usual_distance the largest of the other days';
