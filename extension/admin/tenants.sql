-- Tables with rows about hosts, besides samples: losses, targets, deploys, counts of unwinding. A writer sees and changes the rows that its role
-- has stored. A reader sees all rows or, if row policies on series hide some series from it, those of the hosts of the series that it sees.

CREATE FUNCTION profstore_internal.sees_all_series() RETURNS bool
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN has_table_privilege('profstore.series'::regclass, 'SELECT')
		AND (NOT row_security_active('profstore.series'::regclass) OR profstore_internal.reads_everything(current_user));
COMMENT ON FUNCTION profstore_internal.sees_all_series() IS 'whether the caller may read series, and no row policy hides any from it';

-- Each host comes with the role that stored its series. A writer may give its series the label of any host, but must not make rows of other roles
-- visible by it.
CREATE FUNCTION profstore_internal.visible_nodes() RETURNS TABLE (node text, role text)
	LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100 SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	IF has_table_privilege('profstore.series', 'SELECT') THEN
		RETURN QUERY SELECT DISTINCT s.labels ->> 'node', s.role FROM profstore.series AS s WHERE s.labels ? 'node';
	END IF;
END
$$;
COMMENT ON FUNCTION profstore_internal.visible_nodes() IS 'values of the label node in the series that the caller sees, and the roles that stored these';

CREATE FUNCTION profstore_internal.sees_series_with(labels jsonb) RETURNS bool
	LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	RETURN has_table_privilege('profstore.series', 'SELECT') AND EXISTS (SELECT FROM profstore.series AS s WHERE s.labels @> sees_series_with.labels);
END
$$;
COMMENT ON FUNCTION profstore_internal.sees_series_with(jsonb) IS 'whether the caller sees any series that has these labels';

ALTER TABLE profstore.losses ENABLE ROW LEVEL SECURITY;
CREATE POLICY profstore_writers ON profstore.losses USING (role = current_user);
CREATE POLICY profstore_readers ON profstore.losses FOR SELECT
	USING ((SELECT profstore_internal.sees_all_series()) OR (node, role) IN (SELECT v.node, v.role FROM profstore_internal.visible_nodes() AS v));

ALTER TABLE profstore.targets ENABLE ROW LEVEL SECURITY;
CREATE POLICY profstore_writers ON profstore.targets USING (role = current_user);
CREATE POLICY profstore_readers ON profstore.targets FOR SELECT
	USING ((SELECT profstore_internal.sees_all_series()) OR (name, role) IN (SELECT v.node, v.role FROM profstore_internal.visible_nodes() AS v));

ALTER TABLE profstore.deploys ENABLE ROW LEVEL SECURITY;
CREATE POLICY profstore_writers ON profstore.deploys USING (role = current_user);
-- a deploy without labels is about all series, so a role with a selector must not see it
CREATE POLICY profstore_readers ON profstore.deploys FOR SELECT
	USING ((SELECT profstore_internal.sees_all_series())
		OR (labels <> '{}' OR NOT (SELECT profstore_internal.has_selector(current_user))) AND profstore_internal.sees_series_with(labels));

-- A host may run executables of several tenants, so a role with a selector sees no paths of executables.
ALTER TABLE profstore.unwind_counts ENABLE ROW LEVEL SECURITY;
CREATE POLICY profstore_writers ON profstore.unwind_counts USING (role = current_user);
CREATE POLICY profstore_readers ON profstore.unwind_counts FOR SELECT
	USING ((SELECT profstore_internal.sees_all_series())
		OR NOT (SELECT profstore_internal.has_selector(current_user)) AND (node, role) IN (SELECT v.node, v.role FROM profstore_internal.visible_nodes() AS v));

-- A view reads with the privileges of its owner, to whom no policy applies. security_barrier prevents functions in a query from seeing rows that the
-- view would hide.
CREATE VIEW profstore.unwind_quality WITH (security_barrier) AS
SELECT node, exe, sum(stacks)::int8 AS stacks, sum(complete)::int8 AS complete
FROM profstore.unwind_counts
WHERE day >= (now() AT TIME ZONE 'UTC')::date - 7
	AND ((SELECT profstore_internal.sees_all_series())
		OR NOT (SELECT profstore_internal.has_selector(current_user)) AND (node, role) IN (SELECT v.node, v.role FROM profstore_internal.visible_nodes() AS v))
GROUP BY node, exe;
COMMENT ON VIEW profstore.unwind_quality IS 'numbers of user stacks, and of complete ones, in the last seven days, by host and executable; includes hosts with series that the caller sees';
COMMENT ON COLUMN profstore.unwind_quality.node IS 'host of the agent';
COMMENT ON COLUMN profstore.unwind_quality.exe IS 'path of the executable; empty if unknown, or if an agent had too many';
COMMENT ON COLUMN profstore.unwind_quality.stacks IS 'samples with a user stack';
COMMENT ON COLUMN profstore.unwind_quality.complete IS 'samples whose user stack reaches a proven root';

CREATE FUNCTION profstore.target_states(silent_after interval DEFAULT '3 minutes')
	RETURNS TABLE (name text, state text, last_seen timestamptz, last_error text, role text)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT t.name, CASE WHEN t.health = 'up' AND t.last_seen < now() - silent_after THEN 'silent' ELSE t.health END, t.last_seen, t.last_error, t.role
FROM profstore.targets AS t ORDER BY t.last_seen, t.name, t.role;
END;
COMMENT ON FUNCTION profstore.target_states(interval) IS 'agents and scrape targets that the caller sees, those first that have been silent for longest; state: up, down, stopped (ended normally), unknown from a start on until the first sample or attempt, or silent: nothing was stored for silent_after';
