-- Every object has a comment; help() lists every public function by topic with an example, in 120 columns. examples.sql runs the examples.
SET timezone = 'UTC';
SET client_min_messages = warning;
-- objects without a comment
SELECT p.oid::regprocedure AS function FROM pg_proc AS p
WHERE p.pronamespace IN ('profstore'::regnamespace, 'profstore_internal'::regnamespace) AND obj_description(p.oid, 'pg_proc') IS NULL ORDER BY 1;
SELECT c.oid::regclass AS relation FROM pg_class AS c
WHERE c.relnamespace = 'profstore'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND obj_description(c.oid, 'pg_class') IS NULL ORDER BY 1;
SELECT t.oid::regtype AS type FROM pg_type AS t WHERE t.typnamespace = 'profstore'::regnamespace AND t.typtype IN ('b', 'd', 'e', 'r')
	AND t.typelem = 0 AND t.typrelid = 0 AND obj_description(t.oid, 'pg_type') IS NULL ORDER BY 1;
SELECT a.amname FROM pg_am AS a WHERE a.amname = 'profstore' AND obj_description(a.oid, 'pg_am') IS NULL;
SELECT pg_describe_object(d.classid, d.objid, 0) AS event_trigger FROM pg_depend AS d JOIN pg_event_trigger AS e ON d.classid = 'pg_event_trigger'::regclass AND d.objid = e.oid
WHERE d.deptype = 'e' AND obj_description(e.oid, 'pg_event_trigger') IS NULL;

-- The functions for people, dashboards, writers and maintainers: a change of this list changes the interface. Others are internal.
\pset tuples_only on
SELECT topic, string_agg(function, ' ' ORDER BY n) AS functions FROM profstore.help(NULL) WITH ORDINALITY AS h(topic, function, description, example, n)
GROUP BY topic ORDER BY min(n);
\pset tuples_only off
-- functions that help() omits
SELECT p.oid::regprocedure AS function FROM pg_proc AS p WHERE p.pronamespace = 'profstore'::regnamespace EXCEPT
SELECT p.oid FROM profstore.help(NULL) AS h JOIN pg_proc AS p ON p.pronamespace = 'profstore'::regnamespace AND p.proname = h.function;
SELECT function FROM profstore.help('.') AS h WHERE strpos(example, h.function) = 0 OR description = '';
SELECT function FROM profstore.help(NULL) WHERE description = '' OR example IS NOT NULL;
-- help() without a topic omits functions that collectors alone call
SELECT topic, function FROM profstore.help(NULL) AS h EXCEPT ALL SELECT topic, function FROM profstore.help() AS h WHERE topic <> 'writing' EXCEPT SELECT topic, function FROM profstore.help('writing') AS h;
SELECT count(*) FROM profstore.help() WHERE topic = 'writing';
SELECT * FROM profstore.help('^(profile_types|top)$');
SELECT function FROM profstore.help('roles');
-- questions, each answered by the function that help() names for it
SELECT replace(description, E'\n', ' ') AS question, function FROM profstore.help('why');
SELECT count(*) AS wrong FROM profstore.help('why') AS h WHERE strpos(example, 'profstore.' || function) = 0 OR topic <> 'why';

-- Nobody has USAGE on the inner schema, which contains only functions; callers reach them by OID or as their owner. So no function whose
-- body is a string may look up names in that schema, unless it runs as its owner: it would fail for other roles.
CREATE ROLE regress_pfs_all;
SELECT profstore.grant_read('regress_pfs_all'), profstore.grant_write('regress_pfs_all'), profstore.grant_maintain('regress_pfs_all');
SELECT nspacl, pg_has_role(nspowner, 'USAGE') AS own FROM pg_namespace WHERE nspname = 'profstore_internal';
SELECT DISTINCT d.classid::regclass FROM pg_depend AS d WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = 'profstore_internal'::regnamespace;
SELECT p.oid::regprocedure AS function FROM pg_proc AS p
WHERE p.prosrc ~ 'profstore_internal\.' AND NOT p.prosecdef AND has_function_privilege('regress_pfs_all', p.oid, 'EXECUTE');
SELECT count(*) > 0 AS some_run_as_owner FROM pg_proc AS p WHERE p.prosrc ~ 'profstore_internal\.' AND p.prosecdef;
DROP OWNED BY regress_pfs_all;
DROP ROLE regress_pfs_all;

-- output for people fits into 120 columns
SELECT max(length(function)) AS function, max((SELECT max(length(l)) FROM string_to_table(description, E'\n') AS l)) AS description,
	max((SELECT max(length(l)) FROM string_to_table(example, E'\n') AS l)) AS example FROM profstore.help('.');
SELECT max(length(topic)) AS topic, max(length(function)) AS function, max(length(description)) AS description, bool_or(description ~ '\n') AS more_lines FROM profstore.help();

-- names that would need quotes: arguments, results and columns with keywords (except such as may name columns) or uppercase letters
WITH names(name) AS
	(SELECT unnest(proargnames) FROM pg_proc WHERE pronamespace = 'profstore'::regnamespace
	 UNION SELECT a.attname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid WHERE c.relnamespace = 'profstore'::regnamespace)
SELECT name FROM names LEFT JOIN pg_get_keywords() ON word = name
WHERE name <> '' AND (catcode IN ('R', 'T') OR catcode IS NULL AND quote_ident(name) <> name) ORDER BY name COLLATE "C";
