-- Every object has a comment; help() lists every public function, with an example, in 120 columns. That the examples run: examples.sql.
SET timezone = 'UTC';
SET client_min_messages = warning;
-- what has no comment
SELECT p.oid::regprocedure AS function FROM pg_proc AS p WHERE p.pronamespace = 'profstore'::regnamespace AND obj_description(p.oid, 'pg_proc') IS NULL ORDER BY 1;
SELECT c.oid::regclass AS relation FROM pg_class AS c
WHERE c.relnamespace = 'profstore'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND obj_description(c.oid, 'pg_class') IS NULL ORDER BY 1;
SELECT t.oid::regtype AS type FROM pg_type AS t WHERE t.typnamespace = 'profstore'::regnamespace AND t.typtype IN ('b', 'd', 'e', 'r')
	AND t.typelem = 0 AND t.typrelid = 0 AND obj_description(t.oid, 'pg_type') IS NULL ORDER BY 1;
SELECT a.amname FROM pg_am AS a WHERE a.amname = 'profstore' AND obj_description(a.oid, 'pg_am') IS NULL;
SELECT pg_describe_object(d.classid, d.objid, 0) AS event_trigger FROM pg_depend AS d JOIN pg_event_trigger AS e ON d.classid = 'pg_event_trigger'::regclass AND d.objid = e.oid
WHERE d.deptype = 'e' AND obj_description(e.oid, 'pg_event_trigger') IS NULL;

-- public functions without an example: those that people may call, and whose comment does not say that they are internal
SELECT p.oid::regprocedure AS function FROM pg_proc AS p
WHERE p.pronamespace = 'profstore'::regnamespace AND obj_description(p.oid, 'pg_proc') NOT LIKE 'internal: %' AND obj_description(p.oid, 'pg_proc') NOT LIKE E'%\nExample:\n%'
	AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype, 'table_am_handler'::regtype) ORDER BY 1;
SELECT count(*) > 40 AS many FROM profstore.help();
SELECT function FROM profstore.help() AS h WHERE strpos(example, h.function) = 0 OR description = '';
SELECT * FROM profstore.help('^(profile_types|top)$');

-- what people see fits into 120 columns
SELECT max(length(function)) AS function, max((SELECT max(length(l)) FROM string_to_table(description, E'\n') AS l)) AS description,
	max((SELECT max(length(l)) FROM string_to_table(example, E'\n') AS l)) AS example FROM profstore.help();

-- what people could only type in quotes: names of arguments, results and columns that are keywords (all but those that name columns) or not in small letters
WITH names(name) AS
	(SELECT unnest(proargnames) FROM pg_proc WHERE pronamespace = 'profstore'::regnamespace
	 UNION SELECT a.attname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid WHERE c.relnamespace = 'profstore'::regnamespace)
SELECT name FROM names LEFT JOIN pg_get_keywords() ON word = name
WHERE name <> '' AND (catcode IN ('R', 'T') OR catcode IS NULL AND quote_ident(name) <> name) ORDER BY name COLLATE "C";
