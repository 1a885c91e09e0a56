-- Functions whose cost a deploy has changed. SQL finds the deploy and its periods; C sums up and judges (regressions.c).

-- A deploy fits a selector if some series that it picks has the deploy's labels.
CREATE FUNCTION profstore_internal.fitting_deploys(selector text)
	RETURNS TABLE ("time" timestamptz, version text)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
WITH picked AS MATERIALIZED (SELECT DISTINCT m.labels FROM profstore.matching_series(selector) m)
SELECT d.time, d.version
FROM profstore.deploys d
WHERE EXISTS (SELECT FROM picked p WHERE p.labels @> d.labels);
END;
COMMENT ON FUNCTION profstore_internal.fitting_deploys IS 'deploys of series that a selector picks';

-- The time after a deploy ends at the next deploy, after 8 hours or now; the base begins after the deploy before. Both are divided into periods
-- of equal length: with a short base, the time after is cut, because the noise of the past needs at least three periods, and is known better from
-- six. The first five minutes of a version are left out: caches are cold. Deploys that fit come in the order of their times.
CREATE FUNCTION profstore_internal.regression_periods(times timestamptz[], versions text[], first_seen timestamptz, deploy text, at timestamptz,
		time_after interval, base interval)
	RETURNS TABLE (version text, deploy_time timestamptz, base_from timestamptz, after_from timestamptz, after_to timestamptz, length interval,
		base_count int4)
	LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	warm_up CONSTANT interval := '5 minutes';
	longest CONSTANT float8 := 8 * 3600;
	known int4 := coalesce(cardinality(times), 0);
	available float8;
	base_seconds float8;
	seconds float8;
BEGIN
	deploy_time := at;
	version := deploy;
	FOR i IN REVERSE known..1 LOOP
		EXIT WHEN deploy_time IS NOT NULL;
		CONTINUE WHEN times[i] > now() OR versions[i] <> deploy;
		deploy_time := times[i];
		version := versions[i];
	END LOOP;
	IF deploy_time IS NULL THEN
		RAISE invalid_parameter_value USING
			MESSAGE = CASE WHEN deploy IS NULL THEN 'no deploy fits the selector' ELSE format('no deploy of version "%s" fits the selector', deploy) END,
			HINT = CASE WHEN known = 0 THEN 'Store deploys in profstore.deploys, or pass the time of one as "at".'
				ELSE format('The newest deploy that fits is of version "%s".', versions[known]) END;
	END IF;
	IF time_after <= interval '0' OR base <= interval '0' THEN
		RAISE invalid_parameter_value USING MESSAGE = 'time_after and base must be positive';
	END IF;
	available := extract(epoch FROM least((SELECT min(t) FROM unnest(times) t WHERE t > deploy_time), now()) - (deploy_time + warm_up));
	IF available < 60 AND deploy_time + warm_up + interval '1 minute' <= now() THEN
		RAISE object_not_in_prerequisite_state USING MESSAGE = 'the next deploy came less than six minutes after this one',
			HINT = 'Pass the next deploy instead.';
	END IF;
	base_seconds := coalesce(extract(epoch FROM deploy_time -
		greatest((SELECT max(t) + warm_up FROM unnest(times) t WHERE t < deploy_time), deploy_time - base, first_seen)), 0);
	seconds := coalesce(extract(epoch FROM time_after), least(longest, greatest(base_seconds / 6, 600)));
	-- periods last whole minutes, so that they have whole windows of samples
	seconds := greatest(floor(least(seconds, available) / 60) * 60, 60);
	length := make_interval(secs => seconds);
	base_count := least(greatest(floor(base_seconds / seconds), 1), 24);
	base_from := deploy_time - base_count * length;
	after_from := deploy_time + warm_up;
	after_to := after_from + length;
	RETURN NEXT;
END
$$;
COMMENT ON FUNCTION profstore_internal.regression_periods IS 'the chosen deploy, and the periods of equal length before and after it that are compared';

CREATE FUNCTION profstore_internal.regression_plan(selector text, deploy text, at timestamptz, time_after interval, base interval)
	RETURNS TABLE (version text, deploy_time timestamptz, base_from timestamptz, after_from timestamptz, after_to timestamptz, length interval,
		base_count int4)
	LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
SELECT p.*
FROM (SELECT array_agg(f.time ORDER BY f.time, f.version) AS times, array_agg(f.version ORDER BY f.time, f.version) AS versions
	  FROM profstore_internal.fitting_deploys(selector) f) d
CROSS JOIN LATERAL profstore_internal.regression_periods(d.times, d.versions, (SELECT min(m.first_seen) FROM profstore.matching_series(selector) m),
	deploy, at, time_after, base) p;
END;
COMMENT ON FUNCTION profstore_internal.regression_plan IS 'the deploy and the periods that regressions() compares';

CREATE FUNCTION profstore_internal.regression_rows(selector text, from_ts timestamptz, to_ts timestamptz, after_from timestamptz, length interval,
		base_count int4, version text, host text, canary text, rate text, min_change float8, max_fdr float8, max_rows int4, @FRAME_FILTERS@)
	RETURNS TABLE ("function" text, status text, base_share float8, share float8, change float8, change_low float8, change_high float8,
		p_value float8, q_value float8, cores float8, cores_low float8, cores_high float8, measure text, renamed_from text, within text,
		detectable float8, hosts int4, far_hosts int4, file text, mapping text)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 ROWS 100
	AS 'MODULE_PATHNAME', 'profstore_regression_rows';
COMMENT ON FUNCTION profstore_internal.regression_rows IS 'functions whose cost changed between the periods of a base and a time after them';

CREATE FUNCTION profstore_internal.regression_basis(selector text, from_ts timestamptz, to_ts timestamptz, after_from timestamptz, length interval,
		base_count int4, version text, host text, canary text, rate text, min_change float8, max_fdr float8, @FRAME_FILTERS@)
	RETURNS TABLE (method text, hosts int4, paired_share float8, samples_before int8, samples_after int8, tested int4, left_out int4,
		load_change float8, reference float8, whole_change float8, whole_change_low float8, whole_change_high float8, detectable_at_1_percent float8, reason text, warning text)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 ROWS 1
	AS 'MODULE_PATHNAME', 'profstore_regression_basis';
COMMENT ON FUNCTION profstore_internal.regression_basis IS 'the data on which the answer of regression_rows() is based';

CREATE FUNCTION profstore.regressions(selector text, deploy text DEFAULT NULL, at timestamptz DEFAULT NULL, time_after interval DEFAULT NULL,
		base interval DEFAULT NULL, host text DEFAULT 'node', canary text DEFAULT NULL, rate text DEFAULT NULL, min_change float8 DEFAULT 0.005,
		max_fdr float8 DEFAULT 0.05, max_rows int4 DEFAULT 100, @FRAME_FILTERS@)
	RETURNS TABLE ("function" text, status text, base_share float8, share float8, change float8, change_low float8, change_high float8,
		p_value float8, q_value float8, cores float8, cores_low float8, cores_high float8, measure text, renamed_from text, within text,
		detectable float8, hosts int4, far_hosts int4, file text, mapping text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED COST 20000 ROWS 100
BEGIN ATOMIC
SELECT r.*
FROM profstore_internal.regression_plan(selector, deploy, at, time_after, base) p
CROSS JOIN LATERAL profstore_internal.regression_rows(selector, p.base_from, p.after_to, p.after_from, p.length, p.base_count, p.version, host,
	canary, rate, min_change, max_fdr, max_rows, @PASSED_FRAME_FILTERS@) r
ORDER BY r.cores DESC, r."function" COLLATE "C", r.measure;
END;
COMMENT ON FUNCTION profstore.regressions IS 'functions whose cost a deploy changed (NULL: the newest deploy of the selection), largest loss of cores first; hosts are the units of observation, distinguished by a label; canary: a selector of the series that keep the old version; rate: a query of requests per second, with which the cost of a request is judged, too';

CREATE FUNCTION profstore.regressions_basis(selector text, deploy text DEFAULT NULL, at timestamptz DEFAULT NULL,
		time_after interval DEFAULT NULL, base interval DEFAULT NULL, host text DEFAULT 'node', canary text DEFAULT NULL,
		rate text DEFAULT NULL, min_change float8 DEFAULT 0.005, max_fdr float8 DEFAULT 0.05, @FRAME_FILTERS@)
	RETURNS TABLE (version text, method text, deploy_time timestamptz, base_from timestamptz, base_to timestamptz, after_from timestamptz,
		after_to timestamptz, periods int4, hosts int4, paired_share float8, samples_before int8, samples_after int8, tested int4, left_out int4,
		load_change float8, reference float8, whole_change float8, whole_change_low float8, whole_change_high float8, detectable_at_1_percent float8, reason text, warning text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED COST 20000 ROWS 1
BEGIN ATOMIC
SELECT p.version, b.method, p.deploy_time, p.base_from, p.deploy_time, p.after_from, p.after_to, p.base_count, b.hosts, b.paired_share,
	b.samples_before, b.samples_after, b.tested, b.left_out, b.load_change, b.reference, b.whole_change, b.whole_change_low, b.whole_change_high, b.detectable_at_1_percent, b.reason, b.warning
FROM profstore_internal.regression_plan(selector, deploy, at, time_after, base) p
CROSS JOIN LATERAL profstore_internal.regression_basis(selector, p.base_from, p.after_to, p.after_from, p.length, p.base_count, p.version, host,
	canary, rate, min_change, max_fdr, @PASSED_FRAME_FILTERS@) b;
END;
COMMENT ON FUNCTION profstore.regressions_basis IS 'the data that regressions() compared: periods, hosts, samples, the smallest change that would be found, the reason if there is no answer, and a warning if the traffic may have changed with the deploy';
