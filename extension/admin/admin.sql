-- Privileges. The functions run with the caller's privileges, so the caller must own the extension's objects or be a superuser.

CREATE FUNCTION profstore_internal.revoke_from(privilege text, rel regclass, role regrole) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	IF EXISTS (SELECT FROM pg_class AS c, aclexplode(c.relacl) AS a
		WHERE c.oid = rel AND c.relowner <> role AND a.grantee = role AND a.privilege_type = privilege)
	THEN
		EXECUTE format('REVOKE %s ON %s FROM %s', privilege, rel, role);
	END IF;
END
$$;
COMMENT ON FUNCTION profstore_internal.revoke_from(text, regclass, regrole) IS 'revokes from a role a privilege on a whole table that an earlier version may have granted; the owner keeps it';
REVOKE EXECUTE ON FUNCTION profstore_internal.revoke_from(text, regclass, regrole) FROM PUBLIC;

CREATE FUNCTION profstore_internal.set_reader(role regrole, selector text) RETURNS void
	LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	INSERT INTO profstore.readers AS r (role, selector) SELECT a.rolname, set_reader.selector FROM pg_roles AS a WHERE a.oid = set_reader.role
	ON CONFLICT ON CONSTRAINT readers_pkey DO UPDATE SET selector = EXCLUDED.selector;
END
$$;
COMMENT ON FUNCTION profstore_internal.set_reader(regrole, text) IS 'sets the selector of a role; NULL: it reads everything';
REVOKE EXECUTE ON FUNCTION profstore_internal.set_reader(regrole, text) FROM PUBLIC;

CREATE FUNCTION profstore_internal.check_granted_selector(selector text) RETURNS void
	LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	profile_type text;
BEGIN
	SELECT p.profile_type INTO profile_type FROM profstore.parse_selector(selector) AS p;
	IF cardinality(string_to_array(profile_type, ':')) < 5 THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('profile type "%s" is abbreviated', profile_type),
			DETAIL = 'Series that are stored later could make it ambiguous.',
			HINT = 'Name all of its parts, or none of it: {label="value"}.';
	END IF;
END
$$;
COMMENT ON FUNCTION profstore_internal.check_granted_selector(text) IS 'raises an error for a selector that is invalid, or could become ambiguous';
REVOKE EXECUTE ON FUNCTION profstore_internal.check_granted_selector(text) FROM PUBLIC;

CREATE FUNCTION profstore.grant_read(role regrole) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	-- a selector must not be lifted by accident, as when all grants are repeated
	IF EXISTS (SELECT FROM profstore.readers AS r JOIN pg_roles AS a ON a.rolname = r.role WHERE a.oid = grant_read.role AND r.selector IS NOT NULL) THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('role "%s" has a selector', role),
			HINT = format('Pass the selector again: SELECT profstore.grant_read(%L, selector); or lift it first: DELETE FROM profstore.readers WHERE role = %L.',
				role, (SELECT a.rolname FROM pg_roles AS a WHERE a.oid = grant_read.role));
	END IF;
	IF EXISTS (SELECT FROM profstore.readers) THEN
		PERFORM profstore_internal.set_reader(role, NULL);
	END IF;
	EXECUTE format('GRANT USAGE ON SCHEMA profstore TO %s', role);
	EXECUTE format('GRANT SELECT ON profstore.samples, profstore.samples_minute, profstore.samples_hour, profstore.trace_samples, profstore.profile_types, profstore.series, profstore.mappings,
		profstore.functions, profstore.locations, profstore.stack_chunks,
		profstore.stacks, profstore.epoch, profstore.losses, profstore.targets, profstore.deploys,
		profstore.unwind_counts, profstore.unwind_quality, profstore.file_notes, profstore.retention, profstore.retention_log, profstore.symbol_work, profstore.debuginfo, profstore.source_texts, profstore.source_files, profstore.source_paths, profstore.collectors, profstore.health_limits TO %s', role);
	-- the key of a partition made by an import is a label, which row policies on series may hide
	PERFORM profstore_internal.revoke_from('SELECT', 'profstore.dictionary_partitions', role);
	EXECUTE format('GRANT SELECT (id, created, condemned) ON profstore.dictionary_partitions TO %s', role);
END
$$;
COMMENT ON FUNCTION profstore.grant_read(regrole) IS 'grants a role the privileges to query: for dashboards and people';
REVOKE EXECUTE ON FUNCTION profstore.grant_read(regrole) FROM PUBLIC;

-- The first selector makes row policies apply to all roles, so roles that read everything by then are entered as readers before.
CREATE FUNCTION profstore.grant_read(role regrole, selector text) RETURNS void
	LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	readable regclass;
BEGIN
	IF role IS NULL OR selector IS NULL THEN
		RAISE null_value_not_allowed USING
			MESSAGE = 'grant_read requires a role and a selector',
			HINT = 'Without a selector, grant_read(role) lets a role read everything.';
	END IF;
	PERFORM profstore_internal.check_granted_selector(selector);
	IF EXISTS (SELECT FROM pg_roles AS a WHERE a.oid = role AND (a.rolsuper OR a.rolbypassrls)) THEN
		RAISE invalid_grant_operation USING MESSAGE = format('role "%s" bypasses row security, so a selector cannot restrict it', role);
	END IF;
	IF EXISTS (SELECT FROM pg_policy AS p
		WHERE p.polrelid IN ('profstore.series'::regclass, 'profstore.profile_types'::regclass, 'profstore.file_notes'::regclass, 'profstore.trace_samples'::regclass)
			AND NOT starts_with(p.polname::text, 'profstore_'))
	THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = 'selectors cannot be granted beside row policies of your own on tables of series',
			DETAIL = 'The table profstore.series, profile_types, file_notes or trace_samples has such a policy.',
			HINT = 'Drop these policies (SELECT * FROM profstore.row_policies()), or write one for this role, too.';
	END IF;

	IF NOT EXISTS (SELECT FROM profstore.readers) THEN
		PERFORM profstore_internal.set_reader(a.grantee, NULL)
		FROM pg_class AS c, aclexplode(c.relacl) AS a
		WHERE c.oid = 'profstore.series'::regclass AND a.privilege_type = 'SELECT' AND a.grantee NOT IN (0, c.relowner, role);
	END IF;
	PERFORM profstore_internal.revoke_from('SELECT', c.oid, role) FROM pg_class AS c
	WHERE c.relnamespace = 'profstore'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND c.relname NOT IN ('debuginfo', 'targets', 'unwind_counts');
	EXECUTE format('REVOKE SELECT (id, created, condemned) ON profstore.dictionary_partitions FROM %s', role);
	EXECUTE format('GRANT USAGE ON SCHEMA profstore TO %s', role);
	EXECUTE format('GRANT SELECT ON profstore.selected_samples, profstore.trace_samples, profstore.profile_types, profstore.series, profstore.file_notes,
		profstore.losses, profstore.targets, profstore.deploys, profstore.retention TO %s', role);
	PERFORM profstore_internal.set_reader(role, selector);

	-- memberships of every kind count, because SET ROLE needs no inherited privilege
	SELECT c.oid INTO readable FROM pg_class AS c JOIN pg_roles AS a ON pg_has_role(grant_read.role, a.oid, 'MEMBER')
	WHERE c.relnamespace = 'profstore'::regnamespace AND c.relkind IN ('r', 'p', 'v')
		AND c.relname IN ('samples', 'samples_minute', 'samples_hour', 'mappings', 'functions', 'function_rows', 'function_chunks', 'locations', 'location_rows', 'location_chunks',
			'dictionary_partitions', 'stack_chunks', 'stacks', 'readers')
		AND has_any_column_privilege(a.oid, c.oid, 'SELECT')
	ORDER BY c.relname LIMIT 1;
	IF readable IS NOT NULL THEN
		RAISE invalid_grant_operation USING
			MESSAGE = format('role "%s" could read all of table %s', role, readable),
			DETAIL = 'The role has the privilege through another role or PUBLIC, or as the owner.',
			HINT = 'Revoke that privilege, or the membership, first.';
	END IF;
END
$$;
COMMENT ON FUNCTION profstore.grant_read(regrole, text) IS 'grants a role the privileges to query the series that match a selector, and revokes those to read other series; for tenants';
REVOKE EXECUTE ON FUNCTION profstore.grant_read(regrole, text) FROM PUBLIC;

CREATE FUNCTION profstore_internal.give_writing(role regrole) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	EXECUTE format('GRANT USAGE ON SCHEMA profstore TO %s', role);
	EXECUTE format('GRANT INSERT ON profstore.samples, profstore.losses TO %s', role);
	EXECUTE format('GRANT SELECT, INSERT ON profstore.targets, profstore.unwind_counts TO %s', role);
	EXECUTE format('GRANT SELECT ON profstore.debuginfo TO %s', role);
	-- UPDATE of a whole table would allow LOCK TABLE in every mode, which locks out all other roles
	PERFORM profstore_internal.revoke_from('UPDATE', 'profstore.targets', role), profstore_internal.revoke_from('UPDATE', 'profstore.unwind_counts', role);
	EXECUTE format('GRANT UPDATE (labels, health, last_error, last_seen, last_scrape, duration, samples, scraper, skipped) ON profstore.targets TO %s', role);
	EXECUTE format('GRANT UPDATE (stacks, complete) ON profstore.unwind_counts TO %s', role);
	EXECUTE format('GRANT EXECUTE ON FUNCTION profstore.intern_profile_types, profstore.intern_series,
		profstore.touch_series, profstore.touch_each_series, profstore.intern_mappings, profstore.intern_functions, profstore.intern_locations,
		profstore.intern_stacks, profstore.intern_stacks_by_partition, profstore.keep_file_notes, profstore.epoch, profstore.pin_epoch, profstore.begin_batch, profstore.take_receipts, profstore.keep_traces, profstore.ensure_partitions,
		profstore.find_symbol_work, profstore.claim_symbol_work, profstore.open_addresses, profstore.settle_symbol_work, profstore.want_symbols, profstore.forget_answers,
		profstore.begin_debuginfo, profstore.put_debuginfo, profstore.finish_debuginfo, profstore.find_debuginfo, profstore.debuginfo_state, profstore.read_debuginfo, profstore.remove_debuginfo,
		profstore.put_sources, profstore.remove_sources, profstore.map_sources, profstore.unmap_sources, profstore.missing_sources, profstore.report_collector TO %s', role);
END
$$;
COMMENT ON FUNCTION profstore_internal.give_writing(regrole) IS 'grants the privileges of writers';
REVOKE EXECUTE ON FUNCTION profstore_internal.give_writing(regrole) FROM PUBLIC;

CREATE FUNCTION profstore_internal.is_marked_writer(role regrole) RETURNS bool
	LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT EXISTS (SELECT FROM pg_proc AS p, aclexplode(p.proacl) AS a
		WHERE p.oid = 'profstore_internal.bound_writer()'::regprocedure AND a.grantee = role AND a.grantee <> p.proowner);
END;
COMMENT ON FUNCTION profstore_internal.is_marked_writer(regrole) IS 'whether a role has the privilege that marks writers with a selector';
REVOKE EXECUTE ON FUNCTION profstore_internal.is_marked_writer(regrole) FROM PUBLIC;

-- SET ROLE needs no inherited privilege, so memberships of every kind count.
CREATE FUNCTION profstore_internal.check_bound_writer(role regrole) RETURNS void
	LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	other name;
	changed regclass;
BEGIN
	IF profstore_internal.is_spread('profstore.samples') THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = 'a selector cannot restrict writers of distributed samples',
			HINT = 'Let one collector store the samples of all tenants: workers store rows without checking the selector of their writer.';
	END IF;
	IF EXISTS (SELECT FROM pg_roles AS a WHERE a.oid = role AND a.rolsuper) THEN
		RAISE invalid_grant_operation USING MESSAGE = format('role "%s" is a superuser, so a selector cannot restrict it', role);
	END IF;
	IF EXISTS (SELECT FROM pg_roles AS a WHERE a.oid = role AND a.rolbypassrls) THEN
		RAISE invalid_grant_operation USING MESSAGE = format('role "%s" bypasses row security, so a selector cannot restrict it', role);
	END IF;
	SELECT a.rolname INTO other FROM pg_roles AS a
	WHERE a.oid <> role AND pg_has_role(role, a.oid, 'MEMBER')
		AND (a.rolsuper OR has_table_privilege(a.oid, 'profstore.samples', 'INSERT')
			AND NOT EXISTS (SELECT FROM profstore.bound_writers AS b WHERE b.role = a.rolname))
	ORDER BY a.rolname LIMIT 1;
	IF other IS NOT NULL THEN
		RAISE invalid_grant_operation USING
			MESSAGE = format('role "%s" could store any series as role "%s", of which it is a member', role, other),
			HINT = 'Revoke that membership, or give that role a selector, first.';
	END IF;
	SELECT c.oid INTO changed FROM pg_class AS c JOIN pg_roles AS a ON pg_has_role(role, a.oid, 'MEMBER')
	WHERE c.relnamespace = 'profstore'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname NOT IN ('samples', 'losses', 'targets', 'unwind_counts')
		AND NOT EXISTS (SELECT FROM pg_inherits AS i WHERE i.inhrelid = c.oid)
		AND (has_any_column_privilege(a.oid, c.oid, 'INSERT, UPDATE') OR has_table_privilege(a.oid, c.oid, 'DELETE, TRUNCATE, TRIGGER'))
	ORDER BY c.relname LIMIT 1;
	IF changed IS NOT NULL THEN
		RAISE invalid_grant_operation USING
			MESSAGE = format('role "%s" could change table %s', role, changed),
			DETAIL = 'The role has the privilege through another role or PUBLIC, or as the owner.',
			HINT = 'Revoke that privilege, or the membership, first.';
	END IF;
END
$$;
COMMENT ON FUNCTION profstore_internal.check_bound_writer(regrole) IS 'raises an error for a role that a selector of writers cannot restrict';
REVOKE EXECUTE ON FUNCTION profstore_internal.check_bound_writer(regrole) FROM PUBLIC;

CREATE FUNCTION profstore.grant_write(role regrole) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	IF EXISTS (SELECT FROM profstore.bound_writers AS b JOIN pg_roles AS a ON a.rolname = b.role WHERE a.oid = grant_write.role) THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('role "%s" has a selector', role),
			HINT = format('Pass the selector again: SELECT profstore.grant_write(%L, selector); or remove it first: DELETE FROM profstore.bound_writers WHERE role = %L.',
				role, (SELECT a.rolname FROM pg_roles AS a WHERE a.oid = grant_write.role));
	END IF;
	IF profstore_internal.is_marked_writer(role) THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('role "%s" had a selector under another name', role),
			HINT = format('Pass a selector again: SELECT profstore.grant_write(%1$L, selector); or lift it first: SELECT profstore.revoke_access(%1$L).', role);
	END IF;
	PERFORM profstore_internal.give_writing(role);
END
$$;
COMMENT ON FUNCTION profstore.grant_write(regrole) IS 'grants a role the privileges to store samples, not to read them: for collectors';
REVOKE EXECUTE ON FUNCTION profstore.grant_write(regrole) FROM PUBLIC;

CREATE FUNCTION profstore.grant_write(role regrole, selector text) RETURNS void
	LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	IF role IS NULL OR selector IS NULL THEN
		RAISE null_value_not_allowed USING
			MESSAGE = 'grant_write requires a role and a selector',
			HINT = 'Without a selector, grant_write(role) lets a role store any series.';
	END IF;
	PERFORM profstore_internal.check_granted_selector(selector);
	PERFORM profstore_internal.check_bound_writer(role);
	INSERT INTO profstore.bound_writers AS b (role, selector) SELECT a.rolname, grant_write.selector FROM pg_roles AS a WHERE a.oid = grant_write.role
	ON CONFLICT ON CONSTRAINT bound_writers_pkey DO UPDATE SET selector = EXCLUDED.selector;
	PERFORM profstore_internal.give_writing(role);
END
$$;
COMMENT ON FUNCTION profstore.grant_write(regrole, text) IS 'grants a role the privileges to store series that match a selector; for collectors of tenants';
REVOKE EXECUTE ON FUNCTION profstore.grant_write(regrole, text) FROM PUBLIC;

CREATE FUNCTION profstore.grant_maintain(role regrole) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	EXECUTE format('GRANT USAGE ON SCHEMA profstore TO %s', role);
	EXECUTE format('GRANT SELECT ON profstore.retention, profstore.retention_log, profstore.tracked_stacks TO %s', role);
	EXECUTE format('GRANT EXECUTE ON FUNCTION profstore.ensure_partitions, profstore.set_retention, profstore.drop_before, profstore.track_stacks,
		profstore.untrack_stacks, profstore.stack_references, profstore.collect_dictionary, profstore.compact_dictionary,
		profstore.record_health, profstore.set_health_limits, profstore.reset_health_limits, profstore.forget_collector TO %s', role);
	EXECUTE format('GRANT EXECUTE ON PROCEDURE profstore.apply_retention TO %s', role);
END
$$;
COMMENT ON FUNCTION profstore.grant_maintain(regrole) IS 'grants a role the privileges to maintain data: to set and run retention, drop old samples, track stacks, compact and collect the dictionary; for cron jobs';
REVOKE EXECUTE ON FUNCTION profstore.grant_maintain(regrole) FROM PUBLIC;

-- DROP ROLE refuses a role that has privileges or stands in a policy. The rows that name it go first: their triggers change policies and marks.
CREATE FUNCTION profstore.revoke_access(role regrole) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	role_name name := (SELECT a.rolname FROM pg_roles AS a WHERE a.oid = revoke_access.role);
	part text;
BEGIN
	IF role_name IS NULL THEN
		RAISE undefined_object USING MESSAGE = format('role with OID %s does not exist', role::oid);
	END IF;
	IF (SELECT e.extowner FROM pg_extension AS e WHERE e.extname = 'profstore') = role THEN
		RAISE invalid_grant_operation USING
			MESSAGE = format('role "%s" owns the extension', role_name),
			HINT = 'An owner keeps its privileges.';
	END IF;
	DELETE FROM profstore.readers AS r WHERE r.role = role_name;
	DELETE FROM profstore.bound_writers AS b WHERE b.role = role_name;
	FOREACH part IN ARRAY '{profstore,profstore_internal}'::text[] LOOP
		EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM %I', part, role_name);
		EXECUTE format('REVOKE ALL ON ALL SEQUENCES IN SCHEMA %I FROM %I', part, role_name);
		EXECUTE format('REVOKE ALL ON ALL ROUTINES IN SCHEMA %I FROM %I', part, role_name);
		EXECUTE format('REVOKE ALL ON SCHEMA %I FROM %I', part, role_name);
	END LOOP;
END
$$;
COMMENT ON FUNCTION profstore.revoke_access(regrole) IS 'revokes what grant_read, grant_write and grant_maintain have granted to a role, selectors included, so that DROP ROLE can remove the role; rows that it has stored stay';
REVOKE EXECUTE ON FUNCTION profstore.revoke_access(regrole) FROM PUBLIC;
