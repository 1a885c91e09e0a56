-- Readers of some series. A role with a selector sees the series that match it, through row policies on the tables whose rows belong to series.
-- The role may not read samples and the dictionary itself: functions in C read them for it, only for the series that it sees (base/privileges.h).
-- The policies exist once there is a selector. For roles without a selector there is a policy that is always true and costs nothing.

CREATE TABLE profstore.readers
(
	role     text COLLATE "C" PRIMARY KEY,
	selector text
);
REVOKE ALL ON profstore.readers FROM PUBLIC;
COMMENT ON TABLE profstore.readers IS 'roles that may read by grant_read(), and their selectors; empty until a role has a selector';
COMMENT ON COLUMN profstore.readers.role IS 'name of the role';
COMMENT ON COLUMN profstore.readers.selector IS 'series that the role sees; NULL: all';
SELECT pg_extension_config_dump('profstore.readers', '');

-- The role is an argument, because current_user is the owner in functions that run as the owner.
CREATE FUNCTION profstore_internal.reads_everything(reader name) RETURNS bool
	LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT (pg_has_role(reads_everything.reader, 'pg_read_all_data', 'USAGE')
			OR EXISTS (SELECT FROM profstore.readers AS r JOIN pg_roles AS a ON a.rolname = r.role
				WHERE r.selector IS NULL AND pg_has_role(reads_everything.reader, a.oid, 'USAGE')))
		AND NOT EXISTS (SELECT FROM pg_policy AS p
			WHERE p.polrelid = 'profstore.series'::regclass AND p.polname NOT IN ('profstore_everything', 'profstore_selected'));
END;
COMMENT ON FUNCTION profstore_internal.reads_everything(name) IS 'whether a role reads all series although other roles have selectors, and no policy of users may hide any from it';

CREATE FUNCTION profstore_internal.has_selector(reader name) RETURNS bool
	LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT EXISTS (SELECT FROM profstore.readers AS r JOIN pg_roles AS a ON a.rolname = r.role
		WHERE r.selector IS NOT NULL AND pg_has_role(has_selector.reader, a.oid, 'USAGE'));
END;
COMMENT ON FUNCTION profstore_internal.has_selector(name) IS 'whether a role has a selector, or the privileges of a role that has one';

CREATE FUNCTION profstore_internal.selected_series(reader name) RETURNS SETOF int4
	LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	of_role text;
BEGIN
	FOR of_role IN
		SELECT r.selector FROM profstore.readers AS r JOIN pg_roles AS a ON a.rolname = r.role
		WHERE r.selector IS NOT NULL AND pg_has_role(selected_series.reader, a.oid, 'USAGE')
	LOOP
		RETURN QUERY SELECT m.series_id FROM profstore.matching_series(of_role) AS m;
	END LOOP;
END
$$;
COMMENT ON FUNCTION profstore_internal.selected_series(name) IS 'series that match the selectors of a role, or of roles whose privileges it has';

CREATE FUNCTION profstore_internal.apply_readers() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET client_min_messages = warning AS
$$
DECLARE
	everyone text;
	part record;
BEGIN
	PERFORM profstore_internal.lock_policies();
	-- pg_read_all_data grants the privilege to read, but row policies still apply to its members
	SELECT string_agg(quote_ident(a.rolname), ', ' ORDER BY a.rolname) INTO everyone
	FROM pg_roles AS a
	WHERE a.rolname = 'pg_read_all_data' OR EXISTS (SELECT FROM profstore.readers AS r WHERE r.role = a.rolname AND r.selector IS NULL);
	FOR part IN SELECT * FROM (VALUES
		('series', 'id = ANY (ARRAY(SELECT profstore_internal.selected_series(current_user)))'),
		('profile_types', 'id IN (SELECT s.profile_type FROM profstore.series AS s)'),
		('file_notes', 'series_id IN (SELECT s.id FROM profstore.series AS s)'),
		('trace_samples', 'series_id IN (SELECT s.id FROM profstore.series AS s)')) AS p(relation, condition)
	LOOP
		EXECUTE format('DROP POLICY IF EXISTS profstore_everything ON profstore.%I', part.relation);
		EXECUTE format('DROP POLICY IF EXISTS profstore_selected ON profstore.%I', part.relation);
		EXECUTE format('ALTER TABLE profstore.%I ENABLE ROW LEVEL SECURITY', part.relation);
		EXECUTE format('CREATE POLICY profstore_selected ON profstore.%I FOR SELECT USING (%s)', part.relation, part.condition);
		EXECUTE format('CREATE POLICY profstore_everything ON profstore.%I FOR SELECT TO %s USING (true)', part.relation, everyone);
	END LOOP;
END
$$;
COMMENT ON FUNCTION profstore_internal.apply_readers() IS 'makes the row policies of readers';
REVOKE EXECUTE ON FUNCTION profstore_internal.apply_readers() FROM PUBLIC;

CREATE FUNCTION profstore_internal.lift_readers() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET client_min_messages = warning AS
$$
DECLARE
	relation regclass;
BEGIN
	FOREACH relation IN ARRAY '{profstore.series,profstore.profile_types,profstore.file_notes,profstore.trace_samples}'::regclass[] LOOP
		EXECUTE format('DROP POLICY IF EXISTS profstore_everything ON %s', relation);
		EXECUTE format('DROP POLICY IF EXISTS profstore_selected ON %s', relation);
		-- without a policy, row security would hide all rows
		IF NOT EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = relation) THEN
			EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', relation);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION profstore_internal.lift_readers() IS 'removes the row policies of readers';
REVOKE EXECUTE ON FUNCTION profstore_internal.lift_readers() FROM PUBLIC;

CREATE FUNCTION profstore_internal.apply_changed_readers() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	-- during a restore the table is empty, too
	IF EXISTS (SELECT FROM profstore.readers) THEN
		PERFORM profstore_internal.apply_readers();
	ELSIF EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = 'profstore.series'::regclass AND p.polname = 'profstore_selected') THEN
		PERFORM profstore_internal.lift_readers();
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION profstore_internal.apply_changed_readers() IS 'trigger: makes the row policies of readers';
REVOKE EXECUTE ON FUNCTION profstore_internal.apply_changed_readers() FROM PUBLIC;
CREATE TRIGGER apply_readers AFTER INSERT OR UPDATE OR DELETE ON profstore.readers
	FOR EACH STATEMENT EXECUTE FUNCTION profstore_internal.apply_changed_readers();
ALTER TABLE profstore.readers ENABLE ALWAYS TRIGGER apply_readers;
COMMENT ON TRIGGER apply_readers ON profstore.readers IS 'makes the row policies of readers, also of a restored dump';

-- Functions in C read samples and names for a role with a selector only if the role has the privilege to read this view.
CREATE VIEW profstore.selected_samples WITH (security_barrier) AS
SELECT s.time, s.series_id, s.stack_id, s.value
FROM profstore.samples AS s
WHERE s.series_id = ANY (ARRAY(SELECT profstore_internal.selected_series(current_user)));
COMMENT ON VIEW profstore.selected_samples IS 'samples of the series that match the selector of the caller, see grant_read; none for a role without a selector';
COMMENT ON COLUMN profstore.selected_samples.time IS 'start of the window in which the value was gathered';
COMMENT ON COLUMN profstore.selected_samples.series_id IS 'id in series';
COMMENT ON COLUMN profstore.selected_samples.stack_id IS 'id of the leaf frame in the stack dictionary, 0 for the empty stack';
COMMENT ON COLUMN profstore.selected_samples.value IS 'value in the unit of the profile type';

-- The function is in PL/pgSQL, because Citus cannot plan queries with parameters of SQL functions.
CREATE FUNCTION profstore_internal.count_rows(series_ids int4[], from_ts timestamptz, to_ts timestamptz) RETURNS int8
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	RETURN (SELECT count(*) FROM profstore.samples AS s WHERE s.series_id = ANY (series_ids) AND s.time >= from_ts AND s.time < to_ts)
		+ (SELECT count(*) FROM profstore.samples_minute AS s WHERE s.series_id = ANY (series_ids) AND s.time >= from_ts AND s.time < to_ts)
		+ (SELECT count(*) FROM profstore.samples_hour AS s WHERE s.series_id = ANY (series_ids) AND s.time >= from_ts AND s.time < to_ts);
END
$$;
COMMENT ON FUNCTION profstore_internal.count_rows(int4[], timestamptz, timestamptz) IS 'number of rows of series, whoever calls';

CREATE FUNCTION profstore.stored_rows(@SELECTION@) RETURNS int8
	LANGUAGE sql STABLE PARALLEL RESTRICTED COST 10000
BEGIN ATOMIC
	SELECT profstore_internal.count_rows(m.ids, from_ts, to_ts)
	FROM (SELECT array_agg(s.series_id) FROM profstore.matching_series(selector) AS s) AS m(ids)
	WHERE has_table_privilege('profstore.samples', 'SELECT') OR has_table_privilege('profstore.selected_samples', 'SELECT');
END;
COMMENT ON FUNCTION profstore.stored_rows IS 'number of rows that a selection has in samples and tiers, including those of value 0; NULL for a role that may not read samples';
