-- The privileges that grant_read and grant_write give, and the actions that are refused without them.
CREATE ROLE regress_pfs_reader;
CREATE ROLE regress_pfs_writer;
CREATE ROLE regress_pfs_nobody;
SELECT profstore.grant_read('regress_pfs_reader');
SELECT profstore.grant_write('regress_pfs_writer');
SELECT profstore.ensure_partitions('2026-03-01 00:00Z', '2026-03-01 00:00Z');
\set VERBOSITY terse

SET ROLE regress_pfs_writer;
SELECT profstore.ensure_partitions('2026-03-02 00:00Z', '2026-03-02 00:00Z');
SELECT profstore.begin_batch('00000000-0000-0000-0000-00000000000a', 1, profstore.epoch());
SELECT profstore.intern_series('{a:b:c:d:e}', array['{}']::jsonb[], '{1}'), profstore.intern_mappings('{a}', '{b}'),
	profstore.intern_functions('{f}', '{f}', '{}'::text[] || ''::text, '{1}');
SELECT profstore.intern_locations('{1}', '{16}', '{1}', '{1}', '{1}');
SELECT cardinality(profstore.intern_stacks('exe', '{1}', '{1}'));
SELECT profstore.touch_series('{1}', '2026-03-01', '2026-03-01');
INSERT INTO profstore.samples VALUES ('2026-03-01 12:00Z', 1, (1::int8 << 40) + 1, 1);
COPY profstore.samples FROM stdin;
2026-03-02 00:00:00Z	1	0	5
\.
INSERT INTO profstore.losses (node, reason, count) VALUES ('n1', 'x', 1);
INSERT INTO profstore.targets (name) VALUES ('n1') ON CONFLICT (name, role) DO UPDATE SET last_seen = now();
UPDATE profstore.targets SET last_seen = now() WHERE name = 'n1';
INSERT INTO profstore.unwind_counts AS c (day, node, exe, stacks, complete) VALUES ('2026-03-01', 'n1', '/a', 2, 1)
	ON CONFLICT (day, node, exe, role) DO UPDATE SET stacks = c.stacks + excluded.stacks;
-- a role with grant_write may store, but not read or remove samples
SELECT count(*) FROM profstore.samples;
SELECT count(*) FROM profstore.stacks;
SELECT count(*) FROM profstore.series;
DELETE FROM profstore.losses;
UPDATE profstore.writers SET last_batch = 0;
SELECT profstore.bump_epoch();
SELECT profstore.bump_names();
SELECT profstore.grant_read('regress_pfs_writer');
SELECT profstore_internal.begin_interning('x', '{}'::text[]);
RESET ROLE;

-- the role cannot block others: it may not take table locks that stop readers or writers, which an earlier version allowed
CREATE FUNCTION public.strong_locks() RETURNS TABLE (relation regclass, mode text) LANGUAGE plpgsql AS $$
BEGIN
	FOR relation, mode IN
		SELECT c.oid, m.mode FROM pg_class AS c, unnest('{SHARE UPDATE EXCLUSIVE,SHARE,SHARE ROW EXCLUSIVE,EXCLUSIVE,ACCESS EXCLUSIVE}'::text[]) AS m(mode)
		WHERE c.relnamespace IN ('profstore'::regnamespace, 'profstore_internal'::regnamespace) AND c.relkind IN ('r', 'p', 'v') ORDER BY c.relname, m.mode
	LOOP
		BEGIN
			EXECUTE format('LOCK TABLE %s IN %s MODE', relation, mode);
			RETURN NEXT;
		EXCEPTION WHEN insufficient_privilege THEN
			NULL;
		END;
	END LOOP;
END $$;
SET ROLE regress_pfs_writer;
SELECT * FROM public.strong_locks();
RESET ROLE;
-- the role may change every column except those of the key
SELECT a.attrelid::regclass AS relation, string_agg(a.attname, ', ' ORDER BY a.attnum) AS columns_it_cannot_change
FROM pg_attribute AS a
WHERE a.attrelid IN ('profstore.targets'::regclass, 'profstore.unwind_counts'::regclass) AND a.attnum > 0 AND NOT a.attisdropped
	AND NOT has_column_privilege('regress_pfs_writer', a.attrelid, a.attnum, 'UPDATE')
GROUP BY 1 ORDER BY 1;
GRANT UPDATE ON profstore.targets, profstore.unwind_counts TO regress_pfs_writer;
GRANT SELECT ON profstore.dictionary_partitions TO regress_pfs_reader;
SET ROLE regress_pfs_writer;
SELECT count(*) FROM public.strong_locks();
RESET ROLE;
SELECT profstore.grant_write('regress_pfs_writer'), profstore.grant_read('regress_pfs_reader');
SET ROLE regress_pfs_writer;
SELECT * FROM public.strong_locks();
UPDATE profstore.targets SET last_seen = now() WHERE name = 'n1';
SET ROLE regress_pfs_reader;
SELECT * FROM public.strong_locks();
-- the key of a dictionary partition may contain a label of a hidden series
SELECT count(key) FROM profstore.dictionary_partitions;
SELECT count(id) FROM profstore.dictionary_partitions;
RESET ROLE;
DROP FUNCTION public.strong_locks();

SET ROLE regress_pfs_reader;
SELECT count(*) FROM profstore.samples;
SELECT count(*) FROM profstore.stacks;
SELECT count(*) FROM profstore.series;
SELECT count(*) FROM profstore.losses;
SELECT count(*) FROM profstore.writers;
SELECT profstore.epoch();
SELECT profstore.ensure_partitions('2026-03-01 00:00Z', '2026-03-01 00:00Z');
SELECT profstore.intern_stacks('exe', '{1}', '{1}');
INSERT INTO profstore.samples VALUES ('2026-03-01 12:00Z', 1, 1, 1);
RESET ROLE;

-- queries read the dictionary with the caller's privileges, without the row security of the dictionary's tables
SELECT profstore.intern_stacks('exe', '{1}', '{1}') IS NOT NULL AS warm;
SET ROLE regress_pfs_reader;
SELECT stack, value FROM profstore.folded('a:b:c:d:e{}', '2026-03-01 00:00Z', '2026-03-02 00:00Z');
RESET ROLE;
REVOKE SELECT ON profstore.functions FROM regress_pfs_reader;
SET ROLE regress_pfs_reader;
SELECT stack, value FROM profstore.folded('a:b:c:d:e{}', '2026-03-01 00:00Z', '2026-03-02 00:00Z');
RESET ROLE;
-- error messages of the extension name the function that grants the missing privilege
\set VERBOSITY default
REVOKE SELECT ON profstore.functions, profstore.samples FROM regress_pfs_reader;
SET ROLE regress_pfs_reader;
SELECT stack, value FROM profstore.folded('a:b:c:d:e{}', '2026-03-01 00:00Z', '2026-03-02 00:00Z');
RESET ROLE;
GRANT SELECT ON profstore.samples TO regress_pfs_reader;
SET ROLE regress_pfs_reader;
SELECT stack, value FROM profstore.folded('a:b:c:d:e{}', '2026-03-01 00:00Z', '2026-03-02 00:00Z');
RESET ROLE;
SET ROLE regress_pfs_writer;
SELECT stack, value FROM profstore.folded('a:b:c:d:e{}', '2026-03-01 00:00Z', '2026-03-02 00:00Z');
RESET ROLE;
REVOKE INSERT ON profstore.samples FROM regress_pfs_writer;
SET ROLE regress_pfs_writer;
SELECT profstore.import_folded('main 1', at => '2026-03-01 00:00Z');
RESET ROLE;
GRANT INSERT ON profstore.samples TO regress_pfs_writer;
\set VERBOSITY terse
GRANT SELECT ON profstore.functions TO regress_pfs_reader;
ALTER TABLE profstore.location_rows ENABLE ROW LEVEL SECURITY;
SET ROLE regress_pfs_reader;
SELECT stack, value FROM profstore.folded('a:b:c:d:e{}', '2026-03-01 00:00Z', '2026-03-02 00:00Z');
RESET ROLE;
ALTER TABLE profstore.location_rows DISABLE ROW LEVEL SECURITY;

-- policies on series restrict the functions, not the other tables; file_notes can have a policy of its own
SELECT profstore.intern_series('{a:b:c:d:e,a:b:c:d:e}', array['{"team": "x"}', '{"team": "y"}']::jsonb[], '{1,1}') AS teams \gset
INSERT INTO profstore.samples SELECT '2026-03-01 13:00Z', s, 0, 2 FROM unnest(:'teams'::int[]) AS s;
INSERT INTO profstore.file_notes SELECT s.id, 'c', array['note of ' || (s.labels ->> 'team')], '', '', '' FROM profstore.series AS s WHERE s.labels ? 'team';
ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
CREATE POLICY team_x ON profstore.series FOR SELECT USING (labels ->> 'team' = 'x');
SET ROLE regress_pfs_reader;
SELECT sum(value) FROM profstore.folded('a:b:c:d:e{}', '2026-03-01 13:00Z', '2026-03-01 14:00Z');
SELECT sum(value) FROM profstore.samples WHERE time >= '2026-03-01 13:00Z' AND time < '2026-03-01 14:00Z';
SELECT comments FROM profstore.file_notes ORDER BY 1;
RESET ROLE;
ALTER TABLE profstore.file_notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON profstore.file_notes USING (series_id IN (SELECT id FROM profstore.series));
SET ROLE regress_pfs_reader;
SELECT comments FROM profstore.file_notes;
SELECT length(profstore.pprof('a:b:c:d:e{}', '2026-03-01 13:00Z', '2026-03-01 14:00Z')) > 0 AS exported;
RESET ROLE;
DROP POLICY visible ON profstore.file_notes;
ALTER TABLE profstore.file_notes DISABLE ROW LEVEL SECURITY;
DROP POLICY team_x ON profstore.series;
ALTER TABLE profstore.series DISABLE ROW LEVEL SECURITY;

SET ROLE regress_pfs_nobody;
SELECT count(*) FROM profstore.samples;
RESET ROLE;

-- functions refuse the name of a role that does not exist
SELECT profstore.grant_read('no_such_role');

-- functions that run as their owner set their search path; every object has a comment
SELECT proname FROM pg_proc
WHERE pronamespace IN ('profstore'::regnamespace, 'profstore_internal'::regnamespace) AND prosecdef
	AND NOT coalesce(proconfig @> array['search_path=pg_catalog, pg_temp'], false);
SELECT pg_describe_object(d.classid, d.objid, 0) AS lacks_a_comment
FROM pg_depend AS d
WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'profstore') AND d.deptype = 'e'
	AND d.classid IN ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_am'::regclass, 'pg_type'::regclass)
	AND obj_description(d.objid, (SELECT relname FROM pg_class WHERE oid = d.classid)) IS NULL
	AND NOT EXISTS (SELECT FROM pg_type AS t WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid AND (t.typrelid <> 0 OR t.typelem <> 0))
ORDER BY 1;
SELECT a.attrelid::regclass || '.' || a.attname AS lacks_a_comment
FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
WHERE c.relnamespace = 'profstore'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
	AND col_description(a.attrelid, a.attnum) IS NULL
ORDER BY 1;

DROP OWNED BY regress_pfs_reader, regress_pfs_writer;
DROP ROLE regress_pfs_reader, regress_pfs_writer, regress_pfs_nobody;
