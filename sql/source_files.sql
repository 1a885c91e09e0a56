-- source() shows the text of a file that is stored for the build with the largest cost.
\i sql/fixtures/preamble.sql
CREATE ROLE regress_pfs_source_writer;
CREATE ROLE regress_pfs_source_reader;
CREATE ROLE regress_pfs_source_shop;
SELECT profstore.grant_write('regress_pfs_source_writer'), profstore.grant_read('regress_pfs_source_reader'), profstore.grant_read('regress_pfs_source_shop');

-- two builds of one file, the second one with a line more
SET ROLE regress_pfs_source_writer;
SELECT profstore.intern_mappings('{a1a1,b2b2}', '{/bin/app,/bin/app}') AS m, profstore.intern_functions('{work,other}', '{work,other}', '{/src/app/a.c,/src/app/b.c}', '{2,1}') AS f \gset
SELECT profstore.intern_locations(array[m[1], m[1], m[2], m[2]], '{16,32,16,32}', '{1,1,1,1}', array[f[1], f[2], f[1], f[2]], '{2,7,3,7}') AS l
FROM (VALUES (:'m'::int[], :'f'::int[])) AS v(m, f) \gset
RESET ROLE;
SELECT profstore.ensure_partitions('2026-01-01', '2026-01-01 23:00Z');
INSERT INTO profstore.samples SELECT '2026-01-01 10:00Z', (profstore.intern_series(array[:'jobs'], array['{"service": "shop"}'::jsonb], '{0}'))[1], s.id, s.value
FROM (SELECT unnest(profstore.intern_stacks('p', '{1,1,1}', array[l[1], l[3], l[2]])) AS id, unnest('{10,20,5}'::int[]) AS value FROM (VALUES (:'l'::int[])) AS v(l)) AS s;
SELECT profstore.touch_series(array_agg(series_id), '2026-01-01 10:00Z', '2026-01-01 10:00Z') FROM profstore.matching_series(:'jobs');
\set lines 'profstore.source(' :'jobs' ', \'2026-01-01\', \'2026-01-02\''

SELECT * FROM :lines, 'a.c');
SET ROLE regress_pfs_source_writer;
SELECT profstore.put_sources('a1a1', '{/src/app/a.c,/src/app/b.c}', array[E'int work()\n{ return 1; }\n', E'b\n']);
SELECT profstore.put_sources('b2b2', '{/src/app/a.c,/src/app/a.c}', array[E'// new\nint work()\n{ return 1; }\n', E'// new\nint work()\n{ return 1; }\n']);
RESET ROLE;
SELECT * FROM :lines, 'a.c');
SELECT * FROM :lines, 'app/a.c', contents => E'given\n');
SELECT * FROM :lines, 'b.c');
SELECT * FROM :lines, '/src/app/none.c');
-- the last parts of a path are whole
SELECT profstore.source_text(array[m[2], m[1]], 'pp/a.c') IS NULL AS part, profstore.source_text(array[0, m[1]], 'app/a.c'), profstore.source_text(array[m[2], m[1]], 'b.c')
FROM (VALUES (:'m'::int[])) AS v(m);

-- equal texts are stored once; those that no build has are removed
SET ROLE regress_pfs_source_writer;
SELECT profstore.put_sources('a1a1', '{/src/app/b.c,/src/copy.c}', array[E'// new\nint work()\n{ return 1; }\n', E'// new\nint work()\n{ return 1; }\n']);
RESET ROLE;
SELECT build_id, path, bytes FROM profstore.source_files JOIN profstore.source_texts USING (role, digest) ORDER BY 1, 2;
SET ROLE regress_pfs_source_writer;
SELECT profstore.remove_sources('b2b2'), profstore.remove_sources('b2b2');
RESET ROLE;
SELECT count(*) FROM profstore.source_texts;

-- limits
\set VERBOSITY terse
SET ROLE regress_pfs_source_writer;
SELECT profstore.put_sources('a1a1', '{x}', array[repeat('x', 4194305)]);
SELECT profstore.put_sources('a1a1', array[repeat('x', 1025)], '{y}');
SELECT profstore.put_sources('../a1', '{x}', '{y}');
SELECT profstore.put_sources('a1a1', '{x,y}', '{y}');
RESET ROLE;

-- texts of another role do not count for these mappings, and are not removed by it
SELECT profstore.grant_write('regress_pfs_source_reader');
SET ROLE regress_pfs_source_reader;
SELECT profstore.put_sources('b2b2', '{/src/app/a.c}', '{lie}');
SELECT profstore.remove_sources('a1a1');
SELECT line, self, text FROM :lines, 'a.c');
SELECT count(*) FROM profstore.source_texts;
RESET ROLE;

-- a role without privileges on the texts has lines alone, and so has one that sees some series
REVOKE SELECT ON profstore.source_texts FROM regress_pfs_source_reader;
SET ROLE regress_pfs_source_reader;
SELECT line, self, text FROM :lines, 'a.c');
RESET ROLE;
CREATE POLICY everybody ON profstore.series USING (true);
CREATE POLICY shop ON profstore.series AS RESTRICTIVE TO regress_pfs_source_shop USING (labels ->> 'service' = 'shop');
ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
SET ROLE regress_pfs_source_shop;
SELECT line, self, text FROM :lines, 'a.c');
RESET ROLE;
DROP POLICY everybody ON profstore.series;
DROP POLICY shop ON profstore.series;
ALTER TABLE profstore.series DISABLE ROW LEVEL SECURITY;
DELETE FROM profstore.source_files;
DELETE FROM profstore.source_texts;
DROP OWNED BY regress_pfs_source_writer, regress_pfs_source_reader, regress_pfs_source_shop;
DROP ROLE regress_pfs_source_writer, regress_pfs_source_reader, regress_pfs_source_shop;
