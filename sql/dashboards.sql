-- Functions that dashboards call with what users type: checks of expressions, descriptions of a selection in words, deploys.
\i sql/fixtures/preamble.sql
SELECT put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', labels, at, stacks)
FROM (VALUES
	('{"comm": "web", "node": "a"}'::jsonb, '2026-01-01 10:10Z'::timestamptz, '{"main;serve": 4000000000, "main;idle": 1000}'::jsonb),
	('{"comm": "db", "node": "b"}', '2026-01-01 10:20Z', '{"main;read": 5000000000}')) scrapes(labels, at, stacks);
SET TimeZone = 'UTC';

-- typed label matchers are added to the chosen ones
SELECT profstore.selector('process_cpu:cpu', '{"node": ["a"], "comm": null}', matchers)
FROM unnest(ARRAY[NULL, '', ' ', 'comm!~"d.*"', '{comm!~"d.*"}', E' {comm="a b}", x!="y"}\n']) WITH ORDINALITY AS m(matchers, ord) ORDER BY ord;
SELECT profstore.selector('process_cpu:cpu', '{}', 'comm!~"d.*"');
SELECT matchers, (SELECT array_agg(m.labels ->> 'comm') FROM profstore.matching_series(profstore.selector('process_cpu:cpu', '{"node": ["a", "b"]}', matchers)) AS m)
FROM unnest('{"comm!~\"d.*\"","comm=\"db\""}'::text[]) AS matchers;

-- a malformed matcher selects nothing and raises no error
SELECT selector, focus, profstore.valid_selector(selector, focus) AS valid_selector, profstore.valid_filter(focus) AS valid_filter
FROM (VALUES ('process_cpu:cpu', 'serve'), ('process_cpu:cpu', NULL), ('process_cpu:cpu', ''), ('process_cpu:cpu', '(serve'), ('process_cpu:cpu', '{mapping='), ('process_cpu:cpu{', 'serve'),
	('process_cpu:cpu{comm=~"("}', 'serve'), (NULL, 'serve')) AS v(selector, focus);
SELECT profstore.valid_selector('process_cpu:cpu'), profstore.valid_selector('process_cpu:cpu', hide => '[');
SELECT status FROM profstore.selection_status('process_cpu:cpu', hide => '[');
SELECT value, label FROM profstore.flamegraph(profstore.valid_selector('process_cpu:cpu', '(serve'), '2026-01-01 10:00Z', '2026-01-01 11:00Z', focus => profstore.valid_filter('(serve')) ORDER BY ord;
SELECT value, profstore.valid_time(value) FROM unnest('{2026-01-01 10:00Z,1767261600000,2026-13-01,noon-ish,"",infinity,20260101100000,9999999999,1 day,"2026-01-01''",NULL}'::text[]) WITH ORDINALITY AS v(value, ord) ORDER BY ord;
-- a timestamp without a zone is read in the given zone; the session's setting does not change
SELECT value, zone, profstore.valid_time(value, zone)
FROM (VALUES (1, '2026-01-01 10:00', 'Asia/Tokyo'), (2, '2026-07-01 10:00', 'America/New_York'), (3, '2026-01-01 10:00Z', 'Asia/Tokyo'), (4, '1767261600000', 'Asia/Tokyo'), (5, '2026-01-01 10:00', ''),
	(6, '2026-01-01 10:00', 'no/zone'), (7, 'noon-ish', 'Asia/Tokyo'), (8, NULL, 'Asia/Tokyo'), (9, '2026-01-01 10:00', NULL)) AS v(ord, value, zone) ORDER BY ord;
SHOW TimeZone;
-- errors that do not concern the typed text are not suppressed
SET statement_timeout = '1ms';
SELECT profstore.valid_filter('a') FROM generate_series(1, 1000000);
RESET statement_timeout;

-- the description in words
SELECT s.status, s.is_empty, s.series, round(s.kept_share::numeric, 6) AS kept_share, s.last_seen
FROM (VALUES
	(1, 'process_cpu:cpu', '10:00', NULL), (2, 'process_cpu:cpu{node="a"}', '10:00', NULL), (3, 'process_cpu:cpu', '10:00', 'serve'), (4, 'process_cpu:cpu', '10:00', 'idle'),
	(5, 'process_cpu:cpu', '10:00', 'nothing'), (6, 'process_cpu:cpu{node="c"}', '10:00', NULL), (7, 'process_cpu:cpu', '08:00', NULL), (8, 'process_cpu:cpu', '12:00', NULL),
	(9, 'process_cpu:cpu', '10:00', '(serve'), (10, 'process_cpu:cpu{node=', '10:00', NULL), (11, 'process_cpu:cpu{node=~"("}', '10:00', NULL), (12, 'no:such:type:at:all', '10:00', NULL))
	AS v(ord, selector, begin, focus)
CROSS JOIN LATERAL profstore.selection_status(selector, ('2026-01-01Z' || '')::timestamptz + begin::interval, '2026-01-01Z'::timestamptz + begin::interval + interval '1 hour', focus) AS s
ORDER BY ord;
SELECT status, is_empty FROM profstore.selection_status('process_cpu:cpu', '2026-01-01 10:15Z', '2026-01-01 10:16Z');
-- samples with the value 0 count as samples
SELECT put_scrape('locks:waits:count:waits:count:delta', '{}', '2026-01-01 10:10Z', '{"main;lock": 0, "main;wait": 0}');
SELECT status, is_empty FROM profstore.selection_status('locks:waits', '2026-01-01 10:00Z', '2026-01-01 11:00Z');
SELECT status, is_empty FROM profstore.selection_status('locks:waits', '2026-01-01 10:00Z', '2026-01-01 11:00Z', 'main');
SELECT status FROM profstore.selection_status('locks:waits', '2026-01-01 11:00Z', '2026-01-01 12:00Z');
SELECT substring(profstore.report_html('locks:waits', '2026-01-01 10:00Z', '2026-01-01 11:00Z') FROM 'Nothing to show:</b> ([^<]*)') AS report;
SET client_min_messages = notice;
SELECT * FROM profstore.top('locks:waits', '2026-01-01 10:00Z', '2026-01-01 11:00Z');
SET client_min_messages = warning;
-- errors in matchers give the position within the typed text
SELECT matchers, s.status FROM unnest('{node=,"  comm=\"web\", x","{node=}",node=\"a\",node=~\"(\",""}'::text[]) WITH ORDINALITY AS m(matchers, ord)
CROSS JOIN LATERAL profstore.selection_status(profstore.selector('process_cpu:cpu', '{"comm": "web"}', matchers), '2026-01-01 10:00Z', '2026-01-01 11:00Z', matchers => matchers) AS s ORDER BY ord;

-- kinds of frames: the frames that each filter removes
SELECT put_scrape('kinds:n:count:n:count:delta', '{}', '2026-01-01 10:10Z', '{"main;malloc;_int_malloc": 1, "main;malloc_stats": 2, "runtime.mallocgc;runtime.memclr": 4, "main;operator new(unsigned long)": 8, "my_runtime;Py_Main;PyObject_Call": 16, "tokio::runtime::run;app::serve": 32}');
SELECT kind, profstore.frames_of(kind) IS NOT NULL AS is_known, profstore.valid_filter(profstore.frames_of(kind)) IS NOT NULL AS is_valid,
	(SELECT string_agg(label || ' ' || value, ', ' ORDER BY label) FROM profstore.flamegraph('kinds:n', '2026-01-01 10:00Z', '2026-01-01 11:00Z', hide => profstore.frames_of(kind)) WHERE level > 0) AS frames
FROM unnest('{kernel,native,libc,allocators,runtimes,none}'::text[]) AS kind;
SELECT profstore.frames_of(NULL);

-- common names of profile types
SELECT type, profstore.type_title(type) FROM unnest('{process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta,memory:inuse_space:bytes:space:bytes,mutex:delay:nanoseconds:contentions:count,block:delay:nanoseconds:contentions:count:delta,x:live_bytes:bytes::,a:b,::::,"",NULL}'::text[]) AS type;

-- links to files on GitHub and similar hosts
SELECT repository, ref, file, line, profstore.forge_url(repository, ref, file, line)
FROM (VALUES (1, 'https://github.com/org/api', 'abc123', '/build/api/src/main.c', 7), (2, 'git@github.com:org/api.git', 'v1', 'github.com/org/api/pkg/a b#?.go', 0), (3, 'gitlab.example.com/group/sub/api/', 'main', 'api@v1.2/x.rs', NULL),
	(4, 'bitbucket.org/org/api', 'main', 'src/é.c', 3), (5, 'github.com/org/api', 'main', '/usr/include/vector', 3), (6, 'github.com/org/api', 'main', 'runtime/proc.go', 3),
	(7, 'github.com/org/api', 'main', 'github.com/other/lib/x.c', 3), (8, 'github.com/org/api', 'main', '/src/api/../../etc', 3), (9, 'javascript:alert(1)//a.b/c/d', 'main', 'a.c', 3), (10, 'github.com/org/api', 'x"><script>', 'a.c', 3),
	(11, 'github.com/org/a.i', 'main', '/src/api/a.c', 3), (12, NULL, 'main', 'a.c', 3), (13, 'github.com/org/api', NULL, 'a.c', 3), (14, 'github.com/org/api', 'main', '', 3), (15, 'ssh://git@host.example:2222/org/api.git', 'main', 'a.c', 1), (17, 'https://me@git.example:8443/org/api', 'main', 'a.c', 1), (16, 'github.com/org', 'main', 'a.c', 1))
	AS v(ord, repository, ref, file, line) ORDER BY ord;

-- deploys: only of series that the reader may see
CREATE ROLE regress_pfs_ci;
CREATE ROLE regress_pfs_page;
GRANT USAGE ON SCHEMA profstore TO regress_pfs_ci;
GRANT INSERT ON profstore.deploys TO regress_pfs_ci;
SELECT profstore.grant_read('regress_pfs_page');
SET ROLE regress_pfs_ci;
INSERT INTO profstore.deploys (time, version, labels) VALUES ('2026-01-01 10:12Z', '1.1', '{"comm": "web"}'), ('2026-01-01 10:13Z', '7', '{"comm": "db"}'), ('2026-01-01 10:14Z', 'all', '{}');
INSERT INTO profstore.deploys (version, labels) VALUES ('1.2', '"web"');
INSERT INTO profstore.deploys (version, role) VALUES ('1.2', 'somebody');
SELECT version FROM profstore.deploys;
SET ROLE regress_pfs_page;
SELECT time, version, labels, role FROM profstore.deploys ORDER BY time;
RESET ROLE;
ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
CREATE POLICY page ON profstore.series FOR SELECT TO regress_pfs_page USING (labels ->> 'comm' = 'web');
SET ROLE regress_pfs_page;
SELECT version FROM profstore.deploys ORDER BY time;
RESET ROLE;
DROP POLICY page ON profstore.series;
ALTER TABLE profstore.series DISABLE ROW LEVEL SECURITY;
DROP OWNED BY regress_pfs_ci, regress_pfs_page;
DROP ROLE regress_pfs_ci, regress_pfs_page;

-- the same functions before anything is stored
CREATE DATABASE regress_pfs_none;
\c regress_pfs_none
SET client_min_messages = warning;
CREATE EXTENSION profstore;
SELECT status, is_empty FROM profstore.selection_status('process_cpu:cpu');
\c postgres
DROP DATABASE regress_pfs_none;
