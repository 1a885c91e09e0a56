
-- First part of every install and update script. CREATE EXTENSION puts the schema first in the search path, so objects that others have
-- made in it must not be found: they would run with the rights of the superuser who runs the script.
SET LOCAL search_path = pg_catalog, pg_temp;

DO $head$
DECLARE
	schema text;
	others text;
BEGIN
	FOREACH schema IN ARRAY '{profstore,profstore_internal}'::text[] LOOP
		SELECT r.rolname INTO others
		FROM pg_namespace AS n JOIN pg_roles AS r ON r.oid = n.nspowner
		WHERE n.nspname = schema AND NOT r.rolsuper;
		IF FOUND THEN
			RAISE object_not_in_prerequisite_state USING
				MESSAGE = format('schema "%s" belongs to role "%s", which is not a superuser', schema, others),
				DETAIL = 'The owner of the schema could create functions there that run with the rights of a superuser.',
				HINT = format('Inspect its contents, then rename it, or run ALTER SCHEMA %I OWNER TO CURRENT_USER.', schema);
		END IF;

		SELECT string_agg(DISTINCT coalesce(quote_ident(r.rolname), 'PUBLIC'), ', ') INTO others
		FROM pg_namespace AS n, aclexplode(n.nspacl) AS a LEFT JOIN pg_roles AS r ON r.oid = a.grantee
		WHERE n.nspname = schema AND a.privilege_type = 'CREATE' AND r.rolsuper IS NOT TRUE;
		IF others IS NOT NULL THEN
			RAISE object_not_in_prerequisite_state USING
				MESSAGE = format('roles that are not superusers may create objects in schema "%s"', schema),
				DETAIL = format('CREATE is granted to %s.', others),
				HINT = format('Run REVOKE CREATE ON SCHEMA %I FROM %s.', schema, others);
		END IF;

		-- every object in a schema depends on the schema; an owner that is not listed is the bootstrap superuser
		SELECT string_agg(format('%s, which belongs to role "%s"', pg_describe_object(d.classid, d.objid, 0), r.rolname), '; ' ORDER BY d.classid, d.objid) INTO others
		FROM pg_namespace AS n
			JOIN pg_depend AS d ON d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid
			JOIN pg_shdepend AS o ON (o.classid, o.objid, o.deptype) = (d.classid, d.objid, 'o')
				AND o.dbid = (SELECT b.oid FROM pg_database AS b WHERE b.datname = current_database())
			JOIN pg_roles AS r ON r.oid = o.refobjid
		WHERE n.nspname = schema AND NOT r.rolsuper
			AND NOT EXISTS (SELECT FROM pg_class AS c WHERE d.classid = 'pg_class'::regclass AND c.oid = d.objid AND c.relispartition)
			AND NOT EXISTS (SELECT FROM pg_depend AS m JOIN pg_extension AS x ON x.oid = m.refobjid
				WHERE (m.classid, m.objid, m.refclassid, m.deptype, x.extname) = (d.classid, d.objid, 'pg_extension'::regclass, 'e', 'profstore'));
		IF others IS NOT NULL THEN
			RAISE object_not_in_prerequisite_state USING
				MESSAGE = format('schema "%s" has objects of roles that are not superusers', schema),
				DETAIL = format('There is %s.', others),
				HINT = 'Inspect them, then move them with ALTER ... SET SCHEMA.';
		END IF;
	END LOOP;
END
$head$;
