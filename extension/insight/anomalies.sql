-- Windows whose mix of functions differs from that of the same hour of other days.
--
-- The distance of a window is half of the sum of the differences of all functions' shares from their medians of the other days: the part of the
-- values that would have to change functions. Its noise is what the other days show: the distance of each from the medians of the rest. At least
-- three other days are needed.

CREATE FUNCTION profstore.anomalies(selector text, from_ts timestamptz DEFAULT now() - interval '1 day', to_ts timestamptz DEFAULT now(),
		step interval DEFAULT '1 hour', days int4 DEFAULT 7, min_change float8 DEFAULT 0.05, @FRAME_FILTERS@)
	RETURNS TABLE ("time" timestamptz, distance float8, usual_distance float8, "function" text, share float8, usual_share float8, days_compared int4)
	LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100000 ROWS 100
BEGIN ATOMIC
WITH windows AS MATERIALIZED (
	SELECT w.begins, d.day
	FROM generate_series(from_ts, to_ts - step, step) w(begins)
	CROSS JOIN generate_series(0, days) d(day)),
shares AS MATERIALIZED (
	SELECT w.begins, w.day, t.function, sum(t.self_share) AS share
	FROM windows w
	CROSS JOIN LATERAL profstore.top(selector, w.begins - w.day * interval '1 day', w.begins - w.day * interval '1 day' + step, max_rows => 1000,
		@PASSED_FRAME_FILTERS@) t
	GROUP BY 1, 2, 3),
present AS (
	SELECT DISTINCT s.begins, s.day FROM shares s WHERE s.share > 0),
-- each day of a window in turn: the window itself is day 0, the others show what is usual
each AS (
	SELECT p.begins, p.day, f.function, coalesce(s.share, 0) AS share
	FROM present p
	JOIN (SELECT DISTINCT s.begins, s.function FROM shares s) f ON f.begins = p.begins
	LEFT JOIN shares s ON s.begins = p.begins AND s.day = p.day AND s.function = f.function),
differences AS (
	SELECT e.begins, e.day, e.function, e.share, o.usual, o.compared
	FROM each e
	CROSS JOIN LATERAL (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY r.share) AS usual, count(*) AS compared
		FROM each r WHERE r.begins = e.begins AND r.function = e.function AND r.day > 0 AND r.day <> e.day) o),
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
