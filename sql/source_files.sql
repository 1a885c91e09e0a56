-- source() shows the text of a file as stored for the build with the largest cost.
\i sql/fixtures/preamble.sql
CREATE ROLE regress_pfs_source_writer;
CREATE ROLE regress_pfs_source_reader;
CREATE ROLE regress_pfs_source_shop;
SELECT profstore.grant_write('regress_pfs_source_writer'), profstore.grant_read('regress_pfs_source_reader'), profstore.grant_read('regress_pfs_source_shop');

-- two builds of one file, the second with one more line
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
-- matchers of frames instead of a path: lines of a build have the text of that build
SELECT * FROM :lines, '{file="a.c", build_id="a1a1"}');
SELECT * FROM :lines, '{file=~".*/[ab]\\.c"}', contents => '');
SELECT * FROM :lines, '{file="a.c", mapping="other"}');
SELECT * FROM :lines, '{path="a.c"}');
SELECT * FROM :lines, '{standard input}');
-- a path matches by its last whole components
SELECT profstore.source_text(array[m[2], m[1]], 'pp/a.c') IS NULL AS part, profstore.source_text(array[0, m[1]], 'app/a.c'), profstore.source_text(array[m[2], m[1]], 'b.c')
FROM (VALUES (:'m'::int[])) AS v(m);

-- equal texts are stored once; texts without a build are removed
SET ROLE regress_pfs_source_writer;
SELECT profstore.put_sources('a1a1', '{/src/app/b.c,/src/copy.c}', array[E'// new\nint work()\n{ return 1; }\n', E'// new\nint work()\n{ return 1; }\n']);
RESET ROLE;
SELECT build_id, path, bytes FROM profstore.source_files JOIN profstore.source_texts USING (role, digest) ORDER BY 1, 2;
SET ROLE regress_pfs_source_writer;
SELECT profstore.remove_sources('b2b2'), profstore.remove_sources('b2b2');
RESET ROLE;
SELECT count(*) FROM profstore.source_texts;

-- series with a git reference: files of the repository, whose paths differ from those of the compiler
SET ROLE regress_pfs_source_writer;
SELECT profstore.intern_mappings('{c3c3}', '{/bin/web}') AS m, profstore.intern_functions('{serve}', '{serve}', '{/builds/web/src/serve.c}', '{1}') AS f \gset
SELECT profstore.intern_locations(array[m[1]], '{16}', '{1}', array[f[1]], '{2}') AS l FROM (VALUES (:'m'::int[], :'f'::int[])) AS v(m, f) \gset
SELECT profstore.put_sources('git:v1', '{src/serve.c,vendor/src/serve.c}', array[E'// v1\nserve\n', E'// a copy\n']),
	profstore.put_sources('git:https://git.example/web@v1', '{src/serve.c}', array[E'// v1 of web\nserve\n']), profstore.put_sources('git:v2', '{src/serve.c}', array[E'// v2\nserve\n']);
SELECT profstore.intern_series(array[:'jobs', :'jobs', :'jobs', :'jobs'], array['{"service": "plain"}', '{"service": "old", "service_git_ref": "v1"}', '{"service": "new", "service_git_ref": "v2"}',
	'{"service": "web", "service_git_ref": "v1", "service_repository": "https://git.example/web"}']::jsonb[], '{0,0,0,0}') AS s, (profstore.intern_stacks('p', '{1}', :'l'))[1] AS k \gset
INSERT INTO profstore.samples SELECT '2026-01-01 12:00Z'::timestamptz + n * interval '1 minute', s, :k, 1 FROM unnest(:'s'::int[]) WITH ORDINALITY AS u(s, n);
SELECT count(profstore.touch_series(array[s], '2026-01-01 12:00Z', '2026-01-01 12:00Z'::timestamptz + n * interval '1 minute')) FROM unnest(:'s'::int[]) WITH ORDINALITY AS u(s, n);
RESET ROLE;
\set text 'AS q(selector), profstore.source(q.selector, \'2026-01-01\', \'2026-01-02\', \'src/serve.c\') AS s WHERE s.line = 1 OR s.text IS NULL'
-- no directory is mapped yet
SELECT s.* FROM (SELECT :'jobs' || '{service="old"}') :text;
SET ROLE regress_pfs_source_writer;
SELECT profstore.map_sources('/builds/web/', '');
RESET ROLE;
SELECT service, s.line, s.self, s.text FROM unnest('{old,new,web,plain}'::text[]) AS service, LATERAL (SELECT :'jobs' || '{service="' || service || '"}') :text;
-- of several references that of the series which was seen last
SELECT s.text FROM (SELECT :'jobs' || '{service=~"old|new"}') :text;
-- the build's own files come first; the longest directory that is mapped counts; relative paths need none
SET ROLE regress_pfs_source_writer;
SELECT profstore.put_sources('c3c3', '{/builds/web/src/serve.c}', array[E'// of the build\nserve\n']);
RESET ROLE;
SELECT s.text FROM (SELECT :'jobs' || '{service="old"}') :text;
SET ROLE regress_pfs_source_writer;
SELECT profstore.remove_sources('c3c3'), profstore.map_sources('/builds/web/src/', 'vendor/src/');
RESET ROLE;
SELECT s.text FROM (SELECT :'jobs' || '{service="old"}') :text;
-- a path below a mapped directory counts as a whole: serve.c of the root is not src/serve.c
SELECT profstore.source_text('{}', './src/serve.c', :'s') IS NOT NULL AS dotted, profstore.source_text('{}', '/builds/website/src/serve.c', :'s') IS NOT NULL AS other,
	profstore.source_text('{}', '/builds/web/serve.c', :'s') IS NOT NULL AS part;
-- paths as compilers write them, with "." and ".."
SELECT n.name, profstore.source_text('{}', n.name, :'s') IS NOT NULL AS found
FROM unnest('{/builds/web/build/../src/serve.c,/builds/web/./a/b/../..//src/serve.c,../../src/serve.c,src/../serve.c,/../src/serve.c,..,/,""}'::text[]) WITH ORDINALITY AS n(name, place) ORDER BY n.place;
-- directories of another role do not count, and are not removed by it
SELECT profstore.grant_write('regress_pfs_source_shop');
SET ROLE regress_pfs_source_shop;
SELECT profstore.map_sources('/builds/web/src/', 'lies/'), profstore.unmap_sources('/builds/web/');
RESET ROLE;
SELECT s.text FROM (SELECT :'jobs' || '{service="old"}') :text;
SET ROLE regress_pfs_source_writer;
SELECT profstore.unmap_sources('/builds/web/src/'), profstore.unmap_sources('/builds/web/src/');
-- absolute paths without a text
SELECT build, profstore.missing_sources(build, 10) FROM unnest('{a1a1,b2b2,c3c3,d4d4}'::text[]) AS build;
SELECT profstore.missing_sources('b2b2', 1);
RESET ROLE;

-- limits
\set VERBOSITY terse
SET ROLE regress_pfs_source_writer;
SELECT profstore.put_sources('a1a1', '{x}', array[repeat('x', 4194305)]);
SELECT profstore.put_sources('a1a1', array[repeat('x', 1025)], '{y}');
SELECT profstore.put_sources('../a1', '{x}', '{y}');
SELECT profstore.put_sources('a1a1', '{x,y}', '{y}');
SELECT profstore.put_sources('git:', '{x}', '{y}');
SELECT profstore.put_sources('git:a b', '{x}', '{y}');
SELECT profstore.map_sources('/builds', '');
SELECT profstore.map_sources('/builds/', 'src');
SELECT count(profstore.map_sources('/' || i || '/', '')) FROM generate_series(1, 100) AS i;
RESET ROLE;

-- texts from another role are not used for these mappings, and this role does not remove them
SELECT profstore.grant_write('regress_pfs_source_reader');
SET ROLE regress_pfs_source_reader;
SELECT profstore.put_sources('b2b2', '{/src/app/a.c}', '{lie}');
SELECT profstore.remove_sources('a1a1');
SELECT line, self, text FROM :lines, 'a.c');
SELECT count(*) FROM profstore.source_texts;
RESET ROLE;

-- a role without privileges on the texts gets line numbers only, and so does a role with restricted series
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
DELETE FROM profstore.source_paths;
DELETE FROM profstore.source_files;
DELETE FROM profstore.source_texts;
DROP OWNED BY regress_pfs_source_writer, regress_pfs_source_reader, regress_pfs_source_shop;
DROP ROLE regress_pfs_source_writer, regress_pfs_source_reader, regress_pfs_source_shop;
