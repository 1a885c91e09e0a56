-- Row policies that users add to the extension's tables. pg_dump saves the privileges of an extension's tables but not their policies, so a
-- restored database would show all rows to roles that a policy had restricted. The function row_policies() returns policies as rows: the
-- condition of the configuration table makes pg_dump read them from the catalog. Restored rows become policies when they are inserted, or when
-- privileges are granted, which a restore does last. If that fails, a policy that shows no rows takes their place.
--
-- Names that begin with profstore_ are reserved for the extension's own policies.

CREATE FUNCTION profstore.row_policies()
	RETURNS TABLE (relation text, policy text, command text)
	LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH members AS
		(SELECT c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity
		 FROM pg_class AS c
			JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = 0 AND d.deptype = 'e'
			JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
		 WHERE e.extname = 'profstore' AND c.relkind IN ('r', 'p') AND c.relname <> 'restored_policies')
	SELECT m.relname::text, '',
		format('ALTER TABLE profstore.%I %s', m.relname,
			concat_ws(', ', CASE WHEN m.relrowsecurity THEN 'ENABLE ROW LEVEL SECURITY' END,
				CASE WHEN m.relforcerowsecurity THEN 'FORCE ROW LEVEL SECURITY' END))
	FROM members AS m
	WHERE m.relrowsecurity OR m.relforcerowsecurity
	UNION ALL
	SELECT m.relname::text, p.polname::text,
		concat(format('CREATE POLICY %I ON profstore.%I AS %s FOR %s TO %s', p.polname, m.relname,
				CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
				CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
				(SELECT string_agg(coalesce(quote_ident(a.rolname), 'PUBLIC'), ', ' ORDER BY a.rolname)
				 FROM unnest(p.polroles) AS r(oid) LEFT JOIN pg_roles AS a ON a.oid = r.oid)),
			' USING (' || pg_get_expr(p.polqual, p.polrelid) || ')',
			' WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')')
	FROM members AS m JOIN pg_policy AS p ON p.polrelid = m.oid
	WHERE NOT starts_with(p.polname::text, 'profstore_');
END;
COMMENT ON FUNCTION profstore.row_policies() IS 'row policies of users on tables of the extension, and the tables'' row security, as commands that make them; pg_dump saves these rows';

CREATE TABLE profstore.restored_policies
(
	relation text NOT NULL,
	policy   text NOT NULL,
	command  text NOT NULL
);
REVOKE ALL ON profstore.restored_policies FROM PUBLIC;
COMMENT ON TABLE profstore.restored_policies IS 'row policies that came with a dump and are not policies yet, see apply_policies; a dump has those of row_policies() in it';
COMMENT ON COLUMN profstore.restored_policies.relation IS 'table of the extension';
COMMENT ON COLUMN profstore.restored_policies.policy IS 'name; empty: whether the table has row security';
COMMENT ON COLUMN profstore.restored_policies.command IS 'command that makes it';
SELECT pg_extension_config_dump('profstore.restored_policies',
	'UNION ALL SELECT p.relation, p.policy, p.command FROM profstore.row_policies() AS p WHERE NOT EXISTS (SELECT FROM profstore.restored_policies AS r WHERE (r.relation, r.policy) = (p.relation, p.policy))');

-- Uses a lock on a table, because any role can take an advisory lock, but only roles with privileges on the table can lock it.
CREATE FUNCTION profstore_internal.lock_policies() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	LOCK TABLE profstore.restored_policies IN SHARE ROW EXCLUSIVE MODE;
END
$$;
COMMENT ON FUNCTION profstore_internal.lock_policies() IS 'keeps others from changing policies: a parallel restore copies rows of policies and of readers at the same time, and both change the same tables';
REVOKE EXECUTE ON FUNCTION profstore_internal.lock_policies() FROM PUBLIC;

CREATE FUNCTION profstore_internal.has_stand_in(relation text) RETURNS bool
	LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT EXISTS (SELECT FROM pg_policy AS p
		WHERE p.polrelid = to_regclass(format('profstore.%I', relation)) AND p.polname = 'profstore_stand_in');
END;
COMMENT ON FUNCTION profstore_internal.has_stand_in(text) IS 'whether a table shows nothing because its restored policies could not be made';

CREATE FUNCTION profstore_internal.deny_reading(relation text) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	EXECUTE format('ALTER TABLE profstore.%I ENABLE ROW LEVEL SECURITY', relation);
	IF NOT profstore_internal.has_stand_in(relation) THEN
		EXECUTE format('CREATE POLICY profstore_stand_in ON profstore.%I AS RESTRICTIVE FOR SELECT USING (false)', relation);
	END IF;
END
$$;
COMMENT ON FUNCTION profstore_internal.deny_reading(text) IS 'denies reading of a table to all but its owner and superusers';
REVOKE EXECUTE ON FUNCTION profstore_internal.deny_reading(text) FROM PUBLIC;

CREATE FUNCTION profstore.apply_policies() RETURNS int4
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	name text;
	wanted record;
	made int4 := 0;
BEGIN
	PERFORM profstore_internal.lock_policies();
	-- make the policies again, because a role may have been missing before
	IF EXISTS (SELECT FROM profstore.readers) THEN
		PERFORM profstore_internal.apply_readers();
	END IF;
	FOR name IN SELECT DISTINCT r.relation FROM profstore.restored_policies AS r WHERE to_regclass(format('profstore.%I', r.relation)) IS NOT NULL ORDER BY 1 LOOP
		BEGIN
			FOR wanted IN
				SELECT r.policy, r.command, p.command IS NOT NULL AS is_there
				FROM profstore.restored_policies AS r LEFT JOIN profstore.row_policies() AS p USING (relation, policy)
				WHERE r.relation = name AND r.command IS DISTINCT FROM p.command
				ORDER BY r.policy
			LOOP
				IF wanted.is_there AND wanted.policy <> '' THEN
					EXECUTE format('DROP POLICY %I ON profstore.%I', wanted.policy, name);
				END IF;
				EXECUTE wanted.command;
				made := made + 1;
			END LOOP;
			IF profstore_internal.has_stand_in(name) THEN
				EXECUTE format('DROP POLICY profstore_stand_in ON profstore.%I', name);
			END IF;
			DELETE FROM profstore.restored_policies AS r WHERE r.relation = name;
		EXCEPTION WHEN OTHERS THEN
			IF EXISTS (SELECT FROM profstore.restored_policies AS r WHERE r.relation = name AND r.policy = '')
				OR (SELECT c.relrowsecurity FROM pg_class AS c WHERE c.oid = format('profstore.%I', name)::regclass)
			THEN
				PERFORM profstore_internal.deny_reading(name);
			END IF;
			RAISE WARNING USING
				MESSAGE = format('row policies of table "profstore.%s" could not be restored: %s', name, SQLERRM),
				DETAIL = 'Until they are restored, only the table''s owner and superusers see its rows.',
				HINT = 'Create the missing objects, for example roles, then run SELECT profstore.apply_policies().';
		END;
	END LOOP;
	RETURN made;
END
$$;
COMMENT ON FUNCTION profstore.apply_policies() IS 'creates the row policies of a restored dump; the restore calls it, too, but if roles or functions were missing, reading is denied until the next call; returns the number of policies';
REVOKE EXECUTE ON FUNCTION profstore.apply_policies() FROM PUBLIC;

CREATE FUNCTION profstore_internal.apply_restored() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	PERFORM profstore.apply_policies();
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION profstore_internal.apply_restored() IS 'trigger: creates the row policies that profstore.restored_policies lists';
REVOKE EXECUTE ON FUNCTION profstore_internal.apply_restored() FROM PUBLIC;
CREATE TRIGGER apply AFTER INSERT ON profstore.restored_policies
	FOR EACH STATEMENT EXECUTE FUNCTION profstore_internal.apply_restored();
ALTER TABLE profstore.restored_policies ENABLE ALWAYS TRIGGER apply;
COMMENT ON TRIGGER apply ON profstore.restored_policies IS 'makes policies of restored rows';

-- pg_restore --disable-triggers switches the extension's triggers off, and on again as ordinary triggers. This function makes the policies that
-- these triggers would have made.
CREATE FUNCTION profstore_internal.after_restore() RETURNS event_trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	missed record;
BEGIN
	-- roles that may not use the schema need nothing; if the schema was renamed, another schema may have its name
	IF NOT EXISTS (SELECT FROM pg_extension AS e
		WHERE e.extname = 'profstore' AND e.extnamespace = to_regnamespace('profstore') AND pg_has_role(e.extowner, 'USAGE'))
	THEN
		RETURN;
	END IF;
	IF tg_tag = 'GRANT' THEN
		IF EXISTS (SELECT FROM profstore.restored_policies AS r WHERE NOT profstore_internal.has_stand_in(r.relation)) THEN
			PERFORM profstore.apply_policies();
		END IF;
		RETURN;
	END IF;
	FOR missed IN
		SELECT t.tgrelid::regclass AS relation, t.tgname AS name
		FROM pg_event_trigger_ddl_commands() AS c JOIN pg_trigger AS t ON t.tgrelid = c.objid
		WHERE c.classid = 'pg_class'::regclass AND t.tgenabled = 'O'
			AND (t.tgrelid, t.tgname) IN (('profstore.restored_policies'::regclass, 'apply'), ('profstore.readers'::regclass, 'apply_readers'), ('profstore.stack_chunks'::regclass, 'stamp'))
	LOOP
		EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', missed.relation, missed.name);
		IF missed.name = 'stamp' THEN
			PERFORM profstore.bump_epoch();
		ELSE
			PERFORM profstore.apply_policies();
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION profstore_internal.after_restore() IS 'event trigger: creates the row policies of a restored dump before a role is granted the right to read, also after a restore without triggers';
REVOKE EXECUTE ON FUNCTION profstore_internal.after_restore() FROM PUBLIC;
CREATE EVENT TRIGGER profstore_after_restore ON ddl_command_end
	WHEN TAG IN ('GRANT', 'ALTER TABLE')
	EXECUTE FUNCTION profstore_internal.after_restore();
ALTER EVENT TRIGGER profstore_after_restore ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER profstore_after_restore IS 'keeps row policies and caches right when a dump is restored';
