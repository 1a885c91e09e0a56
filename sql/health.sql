-- health(): each check becomes ok, warn and bad for real states of the database, and the commands that it suggests work.
SET client_min_messages = warning;
CREATE ROLE regress_pfs_collector;
CREATE ROLE regress_pfs_watcher;
CREATE ROLE regress_pfs_narrow;
SELECT profstore.grant_write('regress_pfs_collector'), profstore.grant_read('regress_pfs_watcher'), profstore.grant_read('regress_pfs_narrow'), profstore.grant_maintain('regress_pfs_watcher');
\set states 'SELECT object, status, value IS NULL AS unknown, since IS NOT NULL AS recorded, substring(action FROM ''^\\w+ *[*]?(?: FROM)? *(?:profstore[.])?\\w+'') AS action FROM profstore.health() WHERE check_name ='
-- runs the suggested commands of a check, and shows their errors
CREATE FUNCTION public.actions(of text) RETURNS SETOF text LANGUAGE sql AS $$SELECT DISTINCT action FROM profstore.health() WHERE check_name = of AND action IS NOT NULL ORDER BY 1$$;

-- a new database: upkeep has never run, and no retention is set
SELECT check_name, object, status FROM profstore.health();

-- silence: the writer "quiet" has not stored anything for minutes, "mute" for longer; "gone" was stopped
SET ROLE regress_pfs_collector;
INSERT INTO profstore.targets (name, health, last_seen) VALUES ('here', 'up', now()), ('quiet', 'up', now() - interval '100 s'), ('mute', 'up', now() - interval '200 s'),
	('gone', 'up', now() - interval '2 days'), ('ended', 'stopped', now() - interval '2 days');
RESET ROLE;
:states 'silent';
SELECT object, since = (SELECT last_seen FROM profstore.targets WHERE name = object) + bad * interval '1 s' AS since_the_limit FROM profstore.health() WHERE check_name = 'silent' AND status = 'bad';
SELECT public.actions('silent');
\o /dev/null
SELECT public.actions('silent') \gexec
\o
:states 'silent';

-- reports of writers: lag, spool, clock, version
SET ROLE regress_pfs_collector;
UPDATE profstore.targets SET last_seen = now() - interval '200 s' WHERE name = 'quiet';
UPDATE profstore.targets SET last_seen = now() - interval '700 s' WHERE name = 'mute';
SELECT extversion AS version FROM pg_extension WHERE extname = 'profstore' \gset
SELECT profstore.report_collector('here', 'agent', :'version', now(), clock_timestamp(), false, '{spooled_bytes,spool_limit_bytes}', '{5,100}'),
	profstore.report_collector('quiet', 'agent', '0.1', now(), clock_timestamp() + interval '10 s', false, '{spooled_bytes,spool_limit_bytes}', '{20,100}'),
	profstore.report_collector('mute', 'agent', :'version', now(), clock_timestamp() - interval '100 s', false, '{spooled_bytes,spool_limit_bytes}', '{80,100}'),
	profstore.report_collector('receive@here', 'receive', :'version', now(), clock_timestamp(), false, '{rows_stored_total,queued_bytes}', '{7,NULL}'),
	profstore.report_collector('scrape@here', 'scrape', :'version', now(), clock_timestamp(), true, '{}', '{}');
RESET ROLE;
:states 'silent';
:states 'lag';
:states 'spool';
:states 'clock';
:states 'version';
SELECT name, program, metric, value, role FROM profstore.collector_metrics();
\o /dev/null
SELECT public.actions(c) FROM unnest('{lag,spool,clock,version}'::text[]) AS c \gexec
\o
BEGIN;
UPDATE pg_extension SET extversion = '0.1' WHERE extname = 'profstore';
SELECT object, status, action FROM profstore.health() WHERE check_name = 'version' AND object = 'extension';
ROLLBACK;
-- a report has a limited size, and its role is that of the caller
SET ROLE regress_pfs_collector;
SELECT profstore.report_collector('here', 'agent', '1', now(), now(), false, '{a,b}', '{1}');
SELECT profstore.report_collector('here', 'agent', '1', now(), now(), false, '{"a b"}', '{1}');
SELECT profstore.report_collector('here', 'agent', '1', now(), now(), false, (SELECT array_agg('m' || i) FROM generate_series(1, 513) AS i), array_fill(1, ARRAY[513]));
SELECT profstore.report_collector(repeat('x', 301), 'agent', '1', now(), now(), false, '{}', '{}');
SELECT count(*) FROM profstore.collectors;
RESET ROLE;

-- losses within ten minutes
SET ROLE regress_pfs_collector;
INSERT INTO profstore.losses (time, node, reason, count) VALUES (now() - interval '20 minutes', 'here', 'ring_full', 5), (now(), 'here', 'incomplete.x', 5),
	(now(), 'quiet', 'ring_full', 5), (now(), 'mute', 'ring_full', 9999), (now(), 'mute', 'spool_full', 1);
RESET ROLE;
:states 'losses';
\o /dev/null
SELECT public.actions('losses') \gexec
\o

-- targets of scrapers
SET ROLE regress_pfs_collector;
INSERT INTO profstore.targets (name, health, scraper) SELECT 's' || s || '/' || i, CASE WHEN i <= down THEN 'down' ELSE 'up' END, 'scrape' || s
FROM (VALUES (1, 0), (2, 1), (3, 5)) AS v(s, down), generate_series(1, 10) AS i;
RESET ROLE;
:states 'targets';
\o /dev/null
SELECT public.actions('targets') \gexec
\o

-- upkeep: its last run is now, ten minutes ago, and hours ago
:states 'upkeep';
SET ROLE regress_pfs_watcher;
SELECT profstore.record_health() > 0 AS recorded;
RESET ROLE;
:states 'upkeep';
UPDATE profstore.health_states SET recorded = now() - interval '700 s' WHERE check_name = 'upkeep';
:states 'upkeep';
UPDATE profstore.health_states SET recorded = now() - interval '2 hours' WHERE check_name = 'upkeep';
:states 'upkeep';
\o /dev/null
SELECT public.actions('upkeep') \gexec
SELECT profstore.record_health();
\o
:states 'upkeep';

-- partitions: a writer stores while none exists; then the one of tomorrow is missing
:states 'partitions';
SET ROLE regress_pfs_collector;
SELECT profstore.begin_batch('00000000-0000-0000-0000-00000000000a', 1, profstore.epoch());
RESET ROLE;
:states 'partitions';
\o /dev/null
SELECT public.actions('partitions') \gexec
\o
:states 'partitions';
SELECT profstore.set_health_limits('partitions', 1000000, 0);
:states 'partitions';

-- compaction: segments that have waited for more than an hour
SELECT profstore.ensure_partitions(now() - interval '1 day', now()) > 0 AS made, profstore.set_health_limits('compaction', 2, 3);
INSERT INTO profstore.samples VALUES (now() - interval '1 day', 1, 0, 1);
:states 'compaction';
INSERT INTO profstore.samples VALUES (now() - interval '1 day', 1, 0, 1);
:states 'compaction';
INSERT INTO profstore.samples VALUES (now() - interval '1 day', 1, 0, 1);
:states 'compaction';
SELECT public.actions('compaction') \gexec
:states 'compaction';

-- retention: not set, set, overdue
:states 'retention';
\o /dev/null
SELECT public.actions('retention') \gexec
\o
:states 'retention';
SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-01Z');
INSERT INTO profstore.samples VALUES ('2026-01-01Z', 1, 0, 1);
SELECT profstore.set_retention('40 days');
:states 'retention';
SELECT profstore.set_health_limits('retention', 60, 'infinity');
:states 'retention';
SELECT since = '2026-02-11Z'::timestamptz + interval '60 s' AS since_the_limit FROM profstore.health() WHERE check_name = 'retention';
SELECT public.actions('retention') \gexec
:states 'retention';

-- bloat and dictionary: shares that occur in every database
:states 'bloat';
SELECT profstore.set_health_limits(c, 0.000001, NULL) FROM unnest('{bloat,dictionary}'::text[]) AS c;
:states 'bloat';
:states 'dictionary';
SELECT profstore.set_health_limits(c, 0.000001, 0.000001) FROM unnest('{bloat,dictionary}'::text[]) AS c;
:states 'bloat';
:states 'dictionary';
SELECT public.actions('bloat') \gexec
\o /dev/null
SELECT public.actions('dictionary') \gexec
\o
SELECT profstore.reset_health_limits('bloat'), profstore.reset_health_limits(), profstore.reset_health_limits();
:states 'bloat';
:states 'dictionary';

-- collection of unused dictionary rows
:states 'collection';
UPDATE profstore.epoch SET collected = now() - interval '3 days';
:states 'collection';
UPDATE profstore.epoch SET collected = now() - interval '8 days';
:states 'collection';
\o /dev/null
SELECT public.actions('collection') \gexec
\o
:states 'collection';

-- ids near their limit
SELECT setval('profstore.series_ids', 1200000000), setval('profstore.dictionary_partition_ids', 8388606);
:states 'ids';
\o /dev/null
SELECT public.actions('ids') \gexec
\o

-- builds that wait for a symbolizer, and those for which it found nothing
SET ROLE regress_pfs_collector;
SELECT profstore.intern_mappings('{aa,bb}', '{/bin/a,/bin/b}') AS m \gset
SELECT cardinality(profstore.intern_locations(:'m', '{16,16}', '{0,0}', '{}', '{}'));
SELECT profstore.find_symbol_work();
RESET ROLE;
:states 'symbols';
:states 'unsymbolized';
UPDATE profstore.symbol_work SET wanted = now() - interval '2 hours';
:states 'symbols';
SELECT profstore.set_health_limits('symbols', 1, 2);
:states 'symbols';
\o /dev/null
SELECT public.actions('symbols') \gexec
\o
SET ROLE regress_pfs_collector;
SELECT build_id FROM profstore.claim_symbol_work('w', 2);
RESET ROLE;
:states 'symbols';
SET ROLE regress_pfs_collector;
SELECT profstore.settle_symbol_work('aa', 'w', 1, 'a file', NULL), profstore.settle_symbol_work('bb', 'w', 1, 'a file', NULL);
RESET ROLE;
:states 'unsymbolized';
UPDATE profstore.symbol_work SET open = 1, answered = 0, wanted = now() WHERE build_id = 'bb';
SET ROLE regress_pfs_collector;
SELECT build_id FROM profstore.claim_symbol_work('w', 2);
SELECT profstore.settle_symbol_work('bb', 'w', 0, NULL, 'none found');
RESET ROLE;
:states 'unsymbolized';
UPDATE profstore.symbol_work SET open = 1, answered = 0;
:states 'unsymbolized';
\o /dev/null
SELECT public.actions('unsymbolized') \gexec
\o

-- record_health() records since when a state lasts, and starts anew when the state changes; unchanged states keep their time
SELECT profstore.record_health() > 0 AS recorded;
UPDATE profstore.health_states SET since = '2026-01-01Z';
SELECT profstore.record_health() AS changed;
SELECT DISTINCT since = '2026-01-01Z' AS kept FROM profstore.health() WHERE check_name IN ('bloat', 'clock', 'spool', 'losses', 'unsymbolized');
SELECT profstore.set_health_limits('bloat', 0, 0);
SELECT status, since FROM profstore.health() WHERE check_name = 'bloat';
SELECT profstore.record_health() AS changed;
SELECT status, since > '2026-01-02Z' AS recorded FROM profstore.health() WHERE check_name = 'bloat';
SELECT profstore.forget_collector('mute') AS rows, profstore.record_health() AS changed;
SELECT count(*) FROM profstore.health_states WHERE object = 'mute' AND check_name <> 'losses';

-- a hostile writer: infinite times, names too long for an index, and names of another role's host and scraper
CREATE ROLE regress_pfs_hostile_collector;
SELECT profstore.grant_write('regress_pfs_hostile_collector');
CREATE FUNCTION public.other_rows() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('%s %s %s %s', check_name, object, status, value) FROM profstore.health() WHERE role = 'regress_pfs_collector' AND check_name IN ('losses', 'targets', 'version', 'symbols') ORDER BY 1$$;
CREATE TEMP TABLE others AS SELECT * FROM public.other_rows() AS row;
SET ROLE regress_pfs_collector;
INSERT INTO profstore.targets (name, health, last_seen) VALUES ('i', 'up', now());
SET ROLE regress_pfs_hostile_collector;
SELECT profstore.report_collector('h', 'agent', '1', 'infinity', now(), false, '{}', '{}');
SELECT profstore.report_collector('h', 'agent', '1', now(), '-infinity', false, '{}', '{}');
INSERT INTO profstore.targets (name, health, last_seen) VALUES ('h', 'up', '-infinity');
INSERT INTO profstore.losses (time, node, reason, count) VALUES ('infinity', 'h', 'x', 1);
INSERT INTO profstore.losses (node, reason, count) VALUES (repeat('x', 1025), 'x', 1);
INSERT INTO profstore.targets (name, health, last_seen, scraper) VALUES ('h', 'up', '294276-12-31', NULL), ('i', 'up', '4713-01-01 BC', NULL),
	(repeat('long', 30000), 'up', now(), NULL), ('j', 'down', now(), 'scrape1'), ('k', 'down', now(), (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 300) AS i));
SELECT profstore.report_collector(repeat('y', 300), 'agent', repeat('1', 64), '294276-12-31', '4713-01-01 BC', false, '{spooled_bytes,spool_limit_bytes}', '{9223372036854775807,1}');
INSERT INTO profstore.losses (time, node, reason, count) VALUES (now() + interval '2 days', 'later', 'x', 1), (now(), 'quiet', 'x', 9223372036854775807), (now(), 'quiet', 'x', 9223372036854775807);
RESET ROLE;
SELECT check_name, left(object, 8) AS object, status, length(object) AS length FROM profstore.health() WHERE role = 'regress_pfs_hostile_collector' ORDER BY check_name, object COLLATE "C";
SELECT profstore.record_health() > 0 AS recorded;
SELECT count(*) AS changed FROM (TABLE others EXCEPT SELECT * FROM public.other_rows()) AS o;
\o /dev/null
SELECT action FROM profstore.health() WHERE role = 'regress_pfs_hostile_collector' AND action IS NOT NULL \gexec
\o
SELECT role FROM profstore.targets WHERE name = 'i'; -- the action for the writer that is silent has removed its own state only
SELECT profstore.forget_collector('i', 'nobody') AS nobodys, profstore.forget_collector('i') AS anybodys, profstore.forget_collector(NULL) AS nothing;
DROP FUNCTION public.other_rows();
DROP OWNED BY regress_pfs_hostile_collector;
DROP ROLE regress_pfs_hostile_collector;

-- limits
SELECT profstore.set_health_limits('lags', 1, 2);

-- a reader whose series are restricted sees no other host; one without privileges sees nothing
SET ROLE regress_pfs_collector;
SELECT cardinality(profstore.intern_series('{cpu:a:b:c:d:delta,cpu:a:b:c:d:delta}', '{"{\"node\": \"here\"}","{\"node\": \"quiet\"}"}', '{1,1}'));
RESET ROLE;
ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
CREATE POLICY narrow ON profstore.series FOR SELECT TO regress_pfs_narrow USING (labels @> '{"node": "here"}');
SET ROLE regress_pfs_narrow;
SELECT DISTINCT object FROM profstore.health() WHERE check_name IN ('silent', 'lag', 'spool', 'clock', 'losses', 'targets', 'symbols', 'unsymbolized', 'version') ORDER BY 1;
SELECT DISTINCT name FROM profstore.collector_metrics();
SELECT profstore.record_health();
SELECT profstore.set_health_limits('lag', 1, 2);
SELECT profstore.forget_collector('here');
SELECT FROM profstore.health_states;
RESET ROLE;
DROP FUNCTION public.actions(text);
DROP OWNED BY regress_pfs_collector, regress_pfs_watcher, regress_pfs_narrow;
DROP ROLE regress_pfs_collector;
DROP ROLE regress_pfs_watcher;
DROP ROLE regress_pfs_narrow;
