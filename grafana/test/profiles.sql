-- Data for the dashboards' tests: psql -v fixtures=DIR -f profiles.sql. Labels and names contain characters that are special in SQL,
-- selectors, regular expressions and the panel.

\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION profstore;
\i :fixtures/profiles.sql

SELECT put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', labels, at, stacks)
FROM (VALUES
	('{"comm": "web", "node": "a"}'::jsonb, '2026-01-01 09:30Z'::timestamptz, '{"main;serve;parse": 7000000000, "main;serve;old_way": 2000000000, "main;idle": 10000000}'::jsonb),
	('{"comm": "web", "node": "a"}', '2026-01-01 10:10Z', '{"main;serve;parse": 4000000000, "main;serve;new_way": 3000000000, "main;constructor;__proto__": 50000000}'),
	('{"comm": "o''brien \"x\" a|b.*\\c $one$ 7%2B \u00e9", "node": "b"}', '2026-01-01 10:20Z', '{"main;std::vector<int>::push_back(int&&)": 5000000000, "main;recurse;recurse;recurse": 60000000}'),
	('{"node": "c"}', '2026-01-01 10:20:30Z', '{"main;line\nbreak;with a very long name": 70000000}')) scrapes(labels, at, stacks);
SELECT put_scrape('memory:inuse_space:bytes:space:bytes', '{"comm": "web", "node": "a"}', at, stacks)
FROM (VALUES
	('2026-01-01 10:05Z'::timestamptz, '{"main;serve;cache": 1048576, "main;serve": 4096}'::jsonb),
	('2026-01-01 10:06Z', '{"main;serve;cache": 3145728}')) scrapes(at, stacks);

-- Two devices, and what Parca's agents send of them.
SELECT put_scrape(type, labels, '2026-01-01 10:10Z', stacks)
FROM (VALUES
	('gpu:active:nanoseconds:gpu:nanoseconds:delta', '{"node": "a", "gpu": "0"}'::jsonb, '{"NVIDIA H100": 7000000000}'::jsonb),
	('gpu:active:nanoseconds:gpu:nanoseconds:delta', '{"node": "a", "gpu": "1", "comm": "web"}', '{"NVIDIA H100": 2000000000}'),
	('gpu:energy:millijoules:energy:millijoules:delta', '{"node": "a", "gpu": "0"}', '{"NVIDIA H100": 4000000}'),
	('gpu:memory:bytes:space:bytes', '{"node": "a", "gpu": "1", "comm": "web"}', '{"NVIDIA H100": 1073741824}'),
	('gpu:launches:count:launches:count:delta', '{"node": "a", "comm": "web"}', '{"main;step;cuLaunchKernel": 90000, "main;step;cuGraphLaunch": 10000}'),
	('gpu:kernel_time:nanoseconds:gpu:nanoseconds:delta', '{"node": "a", "gpu": "0", "comm": "web"}', '{"main;step;cuLaunchKernel;void gemm<float, 4>(float*)": 3000000000, "[launch not sampled];relu": 1000000000}'),
	('gpu:copy_time:nanoseconds:copy:nanoseconds:delta', '{"node": "a", "gpu": "0", "comm": "web", "copy": "htod"}', '{"[copy htod]": 2000000000}'),
	('gpu:copy_time:nanoseconds:copy:nanoseconds:delta', '{"node": "a", "gpu": "1", "comm": "web", "copy": "htod"}', '{"[copy htod]": 1000000000}'),
	('gpu:copy_time:nanoseconds:copy:nanoseconds:delta', '{"node": "a", "gpu": "0", "comm": "web", "copy": "set"}', '{"[copy set]": 500000000}'),
	('gpu:copy:bytes:copy:bytes:delta', '{"node": "a", "gpu": "0", "comm": "web", "copy": "htod"}', '{"[copy htod]": 60000000000}'),
	('gpu:copy:bytes:copy:bytes:delta', '{"node": "a", "gpu": "0", "comm": "web", "copy": "set"}', '{"[copy set]": 500000000000}'),
	('parca_agent:gpu_kernel_time:nanoseconds:gpu_kernel_time:nanoseconds:delta', '{"node": "b"}', '{"main;step;gemm": 5000000000}'),
	('parca_agent:gpu_pcsample:count:samples:count:delta', '{"node": "b"}', '{"main;step;gemm": 7}')) AS scrapes(type, labels, stacks);

-- A pause of ten minutes between samples.
SELECT put_scrape('wallclock:wall:nanoseconds:wall:nanoseconds:delta', '{"comm": "web"}', at, '{"main;wait": 1000000000}')
FROM generate_series('2026-01-01 10:00Z'::timestamptz, '2026-01-01 10:20Z', '30 s') AS at
WHERE at NOT BETWEEN '2026-01-01 10:05Z' AND '2026-01-01 10:15Z';

-- Code of two mappings with and without functions and lines, and code of no mapping.
SELECT profstore.intern_mappings('{aa,bb}', '{/usr/bin/web,/usr/lib/libx.so}') AS mappings,
	profstore.intern_functions('{serve,parse}', '{serve,parse}', '{/src/web.c,/src/parse (1).c}', '{1,2}') AS functions \gset
SELECT profstore.intern_locations(ARRAY[m[1], m[1], m[1], m[2], m[2], m[2], 0, 0], '{16,32,48,64,80,96,112,0}', '{1,1,1,1,0,0,0,1}', ARRAY[f[1], f[1], f[2], f[2], f[1]], '{5,6,7,8,9}') AS l
FROM (VALUES (:'mappings'::int[], :'functions'::int[])) AS v(m, f) \gset
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT '2026-01-01 10:10Z', (profstore.intern_series(ARRAY['places:n:count:n:count:delta'], ARRAY['{"comm": "web"}'::jsonb], '{0}'))[1], s.id, (10 ^ s.n)::int8
FROM (VALUES (:'l'::int[])) AS v(l), unnest(profstore.intern_stacks('places', '{1,2,2,3,3,1,2}', ARRAY[l[1], l[3], l[1], l[4], l[2], l[5], l[3], l[1], l[6], l[3], l[2], l[7], l[8], l[2]])) WITH ORDINALITY AS s(id, n);
SELECT profstore.touch_series(array_agg(s.series_id), '2026-01-01 10:10Z', '2026-01-01 10:10Z') FROM profstore.matching_series('places:n:count:n:count:delta') AS s;

-- The text of one of the files.
SELECT profstore.put_sources('aa', '{/src/web.c}', ARRAY[E'#include "web.h"\n\n// serves\nint serve(int a)\n{\n\treturn a;\n}\n']);

-- A file of one relative path in two programs, and a file of a longer path that ends in it.
SELECT profstore.intern_functions('{only,only,only}', '{only,only,only}', '{rel.c,rel.c,lib/rel.c}', '{1,1,2}') AS functions \gset
SELECT profstore.intern_locations(ARRAY[m[1], m[2], m[1]], '{208,208,224}', '{1,1,1}', ARRAY[f[1], f[2], f[3]], '{1,1,2}') AS relative
FROM (VALUES (:'mappings'::int[], :'functions'::int[])) AS v(m, f) \gset
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT '2026-01-01 10:10Z', (profstore.intern_series(ARRAY['paths:n:count:n:count:delta'], ARRAY['{"comm": "web"}'::jsonb], '{0}'))[1], s.id, s.value
FROM unnest(profstore.intern_stacks('paths', '{1,1,1}', :'relative'), '{100,20,3}'::int8[]) AS s(id, value);
SELECT profstore.touch_series(array_agg(s.series_id), '2026-01-01 10:10Z', '2026-01-01 10:10Z') FROM profstore.matching_series('paths:n:count:n:count:delta') AS s;
SELECT profstore.put_sources('aa', '{rel.c,lib/rel.c}', ARRAY[E'of web\n', E'of its\nlibrary\n']), profstore.put_sources('bb', '{rel.c}', ARRAY[E'of libx\n']);

-- Samples that add up to 0.
SELECT put_scrape('zeros:n:count:n:count:delta', '{"comm": "web", "node": "a"}', '2026-01-01 10:10Z', '{"main;lock": 0, "main;wait": 0}');

-- More lines than a graph shows; later ones have larger values.
SELECT put_scrape('lines:n:count:n:count:delta', jsonb_build_object('comm', 'l' || lpad(n::text, 2, '0')), at, jsonb_build_object('main', n))
FROM generate_series(1, 12) AS n, unnest('{2026-01-01 10:00:30Z,2026-01-01 10:01Z}'::timestamptz[]) AS at;

-- A trace: one second of new_way in web.
SELECT profstore.keep_traces(array_agg(s.time), array_agg(s.series_id), array_agg(s.stack_id), array_agg(1000000000::int8), array_agg('0af7651916cd43dd8448eb211c80319c'::uuid), '{NULL}')
FROM profstore.samples AS s WHERE s.stack_id = put_stack('main;serve;new_way');

-- Queries of a PostgreSQL server: in web most CPU time is of query 42; waits have database, role and texts.
CREATE FUNCTION pg_temp.run(series text, stack text, amount int8, query_id int8) RETURNS void LANGUAGE sql AS
$$
	SELECT profstore.keep_traces(array_agg(s.time), array_agg(s.series_id), array_agg(s.stack_id), array_agg(amount), array_agg('70677175-6572-7900-6124-fee993bc0001'::uuid),
		array_agg(decode(lpad(to_hex(query_id), 16, '0'), 'hex')))
	FROM profstore.samples AS s JOIN profstore.matching_series(series) USING (series_id) WHERE s.stack_id = put_stack(stack) AND s.time IN ('2026-01-01 10:10Z', '2026-01-01 10:20Z')
$$;
SELECT put_scrape('wallclock:wall:nanoseconds:wall:nanoseconds:delta', '{"comm": "postgres", "database": "shop", "role": "shop"}', '2026-01-01 10:20Z', '{"main;PostgresMain;ExecutorRun": 6000000000}');
SELECT pg_temp.run('process_cpu:cpu{comm="web"}', 'main;serve;parse', 2500000000, 42), pg_temp.run('process_cpu:cpu{comm="web"}', 'main;serve;parse', 1000000000, -7),
	pg_temp.run('process_cpu:cpu{comm="web"}', 'main;serve;new_way', 500000000, -7), pg_temp.run('wallclock:wall{comm="postgres"}', 'main;PostgresMain;ExecutorRun', 4000000000, 42);
CREATE VIEW "texts; of shop" AS
SELECT 7000000000000000001 AS system_identifier, 42::int8 AS queryid, 'shop'::text AS database, 'shop'::text AS role, 8::int8 AS calls, 20::float8 AS total_exec_time, E'SELECT\n  $1'::text AS query;

-- Data for the alert rules, which run for the day after: a service whose cost rises, one whose cost falls, a function with a large share,
-- losses, silence.
SELECT put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', labels, at, stacks)
FROM (VALUES
	('{"service": "api"}'::jsonb, '2026-02-01 10:30Z'::timestamptz, '{"main;busy": 100000000000, "main;rest": 900000000000}'::jsonb),
	('{"service": "api"}', '2026-02-02 10:30Z', '{"main;busy": 1100000000000, "main;a": 300000000000, "main;b": 300000000000, "main;c": 300000000000}'),
	('{"service": "quiet"}', '2026-02-01 10:30Z', '{"main;rest": 1000000000000}'),
	('{"service": "quiet"}', '2026-02-02 10:30Z', '{"main;rest": 1000000000000}'),
	('{"service": "short"}', '2026-02-01 10:20Z', '{"main;a": 1000000000000}'),
	('{"service": "short"}', '2026-02-01 10:40Z', '{"main;a": 1000000000000}'),
	('{"service": "short"}', '2026-02-02 10:30Z', '{"main;a": 450000000000, "main;b": 450000000000, "main;c": 450000000000, "main;d": 450000000000}')) scrapes(labels, at, stacks);
-- Later, CPU time in a mapping without names.
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT '2026-02-02 12:10Z', s.series_id, stack.id, 1000
FROM profstore.matching_series('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{service="quiet"}') AS s,
	(VALUES (:'l'::int[])) AS v(l), unnest(profstore.intern_stacks('places', '{1}', ARRAY[l[5]])) AS stack(id);
SELECT profstore.touch_series(array_agg(s.series_id), '2026-02-02 12:10Z', '2026-02-02 12:10Z') FROM profstore.matching_series('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{service="quiet"}') AS s;
-- There, a function without a symbol, too; a symbolizer has found nothing for the build.
SELECT profstore.intern_functions('{libx.so+0x100}', '{libx.so+0x100#b000000000001}', '{""}', '{0}') AS unnamed \gset
SELECT profstore.intern_locations(array[(:'mappings'::int[])[2]], '{260}', '{1}', :'unnamed', '{-1}') AS start \gset
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT '2026-02-02 12:10Z', s.series_id, stack.id, 1
FROM profstore.matching_series('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{service="quiet"}') AS s,
	unnest(profstore.intern_stacks('places', '{1}', :'start')) AS stack(id);
SELECT profstore.find_symbol_work(), profstore.claim_symbol_work('test', 10), profstore.settle_symbol_work('bb', 'test', 0, NULL, 'no debug information found');
INSERT INTO profstore.losses (time, node, reason, count) VALUES ('2026-02-02 10:30Z', 'a', 'ring_full', 7), ('2026-02-02 10:30Z', 'a', 'incomplete.stack', 7);
DO $$ BEGIN CREATE ROLE profstore_grafana_writer; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
INSERT INTO profstore.targets (name, last_seen, role) VALUES ('gone', now() - interval '1 hour', 'profstore_grafana_writer'), ('here', now() + interval '10 minutes', 'profstore_grafana_writer'); -- tests take minutes
INSERT INTO profstore.targets (name, health, last_seen, role) VALUES ('ended', 'stopped', now() - interval '1 hour', 'profstore_grafana_writer'); -- no alert
-- A node that lost one sample of two hundred.
INSERT INTO profstore.samples (time, series_id, stack_id, value)
SELECT '2026-02-02 10:31Z', (profstore.intern_series('{process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta}', '{"{\"node\": \"b\"}"}', '{10000000}'))[1], put_stack('main'), 9950000000;
INSERT INTO profstore.losses (time, node, reason, count) VALUES ('2026-02-02 10:31Z', 'b', 'ring_full', 5);
-- Agents of two roles, with one name, whose clocks are an hour ahead: a check of health that is bad for each. The others are ok.
SELECT profstore.report_collector('skewed', 'agent', (SELECT extversion FROM pg_extension WHERE extname = 'profstore'), now(), clock_timestamp() + interval '1 hour', false, '{}', '{}');
INSERT INTO profstore.collectors (name, program, version, started, clock, role)
SELECT c.name, c.program, c.version, c.started, c.clock, 'profstore_grafana_writer' FROM profstore.collectors AS c WHERE c.name = 'skewed';
-- One target with two paths.
INSERT INTO profstore.targets (name, last_seen, role) SELECT 'job http://host:1/debug/pprof/' || path, now() - interval '1 hour', 'profstore_grafana_writer' FROM unnest('{heap,profile}'::text[]) AS path;
INSERT INTO profstore.deploys (time, version, labels) VALUES ('2026-01-01 10:15Z', '1.1 "quoted"', '{"comm": "web"}'), ('2026-01-01 10:16Z', '7', '{}');
INSERT INTO profstore.losses (time, node, reason, count) SELECT at, 'a', 'ring_full', 10 FROM unnest('{2026-01-01 10:30:10Z,2026-01-01 10:30:50Z,2026-01-01 10:31Z,2026-01-01 10:40Z}'::timestamptz[]) AS at;

-- A deploy that makes one function dearer, on six hosts, two months later.
\i :fixtures/deploys.sql
SELECT put_fleet(1, 6, 1434, 1444, false, '{"service": "shop"}'), put_fleet(1, 6, 1444, 1445, true, '{"service": "shop"}');
UPDATE profstore.series SET period = 10000000 WHERE labels @> '{"service": "shop"}';
INSERT INTO profstore.deploys (time, version, labels) VALUES ('2026-03-02 04:00Z', 'shop-2', '{"service": "shop"}'), ('2026-03-02 04:00Z', 'other', '{"service": "no such"}');

-- The role of the dashboards, with the settings that grafana/README.md recommends.
DO $$ BEGIN CREATE ROLE profstore_grafana_test LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
ALTER ROLE profstore_grafana_test SET default_transaction_read_only = on;
ALTER ROLE profstore_grafana_test SET statement_timeout = '30s';
ALTER ROLE profstore_grafana_test SET jit = off;
SELECT profstore.grant_read('profstore_grafana_test');
GRANT SELECT ON "texts; of shop" TO profstore_grafana_test;
