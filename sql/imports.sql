-- Imports: bytes that are not text, empty files, the times at which series were seen, days and times.
\set pprof on
\i sql/fixtures/preamble.sql
\set VERBOSITY terse

-- a zero byte, another encoding, a truncated and an overlong character: in a function, file, build ID, label, unit of a type, comment
SELECT message(6, '') || message(6, 'cpu') || message(6, '\x6e616e6f00') || message(6, '\x6d61696e00ff') || message(6, '\x00') || message(6, '\x2f62696e2fe4') || message(6, '\x6162c3') || message(6, '\x68c3b6eda080f5')
	|| sample_type(1, 2) || mapping(1, 0, 0, 0, 5, 6) || func(1, 3, 4, 5, 1) || location(1, 1, 16, '{1}', '{2}') || sample('{1}', '{7}', label(1, 7)) || number(9, 1700000000000000000) || number(10, 1) || number(13, 3) AS profile \gset
SELECT profstore.import_pprof(:'profile');
SELECT profile_type, labels FROM profstore.series();
SELECT name, system_name, filename FROM profstore.functions;
SELECT build_id, file FROM profstore.mappings;
SELECT comments FROM profstore.file_notes;
SELECT stack, value FROM profstore.folded((SELECT profile_type FROM profstore.series()), '-infinity', 'infinity');

-- a file without a stack is not a profile; a pprof file without samples is an empty scrape; an empty file is an error
SELECT profstore.import_folded('');
SELECT profstore.import_folded(E'\n# a comment\n\n');
SELECT profstore.import_perf_script('');
SELECT profstore.import_perf_script(E'# a comment\n');
SELECT profstore.import_pprof('');
SELECT profstore.import_pprof(strings('', 'empty') || sample_type(1, 1) || number(9, 1700000000000000000), '{"kind": "empty"}');
SELECT time, stack_id, value FROM profstore.samples WHERE series_id = (SELECT series_id FROM profstore.series('{kind="empty"}'));

-- a series was seen at the times of its samples, not at the import; each series has its own times
SELECT profstore.import_folded('a 1', '{"kind": "old"}', '2020-02-02 12:00Z');
SELECT first_seen, last_seen FROM profstore.series('{kind="old"}');
SELECT profstore.import_folded('a 1', '{"kind": "old"}', '2020-02-01 12:00Z');
SELECT profstore.import_folded('a 1', '{"kind": "old"}', '2020-02-03 12:00Z');
SELECT first_seen, last_seen FROM profstore.series('{kind="old"}');
SELECT first_seen, last_seen FROM profstore.profile_types() WHERE profile_type LIKE 'folded:%';
SELECT count(*) FROM profstore.series('{kind="old"}', now() - interval '1 hour', now());
SELECT profstore.label_values('kind', from_ts => '2020-02-02 13:00Z', to_ts => '2020-02-02 14:00Z');
SELECT profstore.label_names(from_ts => now() - interval '1 hour');
SELECT E'early 1 100.0: 1 cycles:\n\t1 f (x)\n\nlate 1 4000.5: 1 cycles:\n\t1 f (x)\n\nearly 1 160.25: 1 cycles:\n\t1 f (x)\n' AS script \gset
SELECT profstore.import_perf_script(:'script', at => '2020-03-01 12:00Z');
SELECT labels ->> 'comm' AS comm, first_seen, last_seen FROM profstore.series('{comm!=""}');
-- a series that is new to the dictionary accepts any time
SELECT profstore.intern_series('{a:b:c:::delta}', '{"{\"kind\": \"untold\"}"}', '{0}') AS untold \gset
SELECT first_seen, last_seen FROM profstore.series('{kind="untold"}', '2000-01-01', '2000-01-02');
SELECT profstore.touch_series(:'untold', '2020-04-01', '2020-04-02');
SELECT first_seen, last_seen FROM profstore.series('{kind="untold"}');
SELECT count(*) FROM profstore.series('{kind="untold"}', '2020-03-30', '2020-04-01');
-- young rows are not collected, even if their samples have old times
SELECT count(*) FROM (SELECT * FROM profstore.collect_dictionary() UNION ALL SELECT * FROM profstore.collect_dictionary()) AS c WHERE relation = 'profstore.series'::regclass AND condemned + removed > 0;
UPDATE profstore.series SET interned = now() - interval '2 hours' WHERE id = (:'untold'::int[])[1];
SELECT sum(condemned), sum(removed) FROM profstore.collect_dictionary() WHERE relation = 'profstore.series'::regclass;

-- only days with samples get partitions: here two, the second of which begins with the last sample
SELECT tableoid::regclass AS partition, time FROM profstore.samples WHERE series_id IN (SELECT series_id FROM profstore.series('{comm!=""}')) ORDER BY time;
SELECT profstore.import_perf_script(E'a 1 0.0: 1 cycles:\n\t1 f (x)\n\na 1 86400.0: 1 cycles:\n\t1 f (x)\n', '{"kind": "midnight"}', '2020-05-01 00:00Z');
SELECT profstore.import_perf_script(E'a 1 0.0: 1 cycles:\n\t1 f (x)\n\na 1 259200.0: 1 cycles:\n\t1 f (x)\n', '{"kind": "gap"}', '2020-06-01 12:00Z');
SELECT tableoid::regclass AS partition, time FROM profstore.samples WHERE series_id IN (SELECT series_id FROM profstore.series('{kind=~"midnight|gap"}')) ORDER BY time;
SELECT relid FROM pg_partition_tree('profstore.samples') WHERE isleaf ORDER BY relid::text;
SELECT profstore.import_perf_script((SELECT string_agg(format(E'a 1 %s.0: 1 cycles:\n\t1 f (x)\n\n', i * 86400), '') FROM generate_series(0, 366) AS i), at => '2010-01-01');

-- times outside the supported range, from the file or as an argument; nothing is stored
SELECT count(*) AS series FROM profstore.series \gset
SELECT profstore.import_pprof(strings('', 'a') || sample_type(1, 1) || sample('{}', '{1}') || number(10, 1) || number(9, t), '{"kind": "odd"}') FROM (VALUES (-1::int8)) AS v(t);
SELECT profstore.import_pprof(strings('', 'a') || sample_type(1, 1) || sample('{}', '{1}') || number(10, 1) || number(9, (-9223372036854775807 - 1)::int8), '{"kind": "odd"}');
SELECT profstore.import_pprof(strings('', 'a') || sample_type(1, 1) || sample('{}', '{1}') || number(10, 1) || number(9, 9223372036854775807), '{"kind": "odd"}');
SELECT profstore.import_pprof(strings('', 'a') || sample_type(1, 1) || sample('{}', '{1}') || number(10, 1) || number(9, 4102444800000000000), '{"kind": "odd"}');
SELECT profstore.import_folded('a 1', '{"kind": "odd"}', 'infinity');
SELECT profstore.import_folded('a 1', '{"kind": "odd"}', '-infinity');
SELECT profstore.import_perf_script(:'script', '{"kind": "odd"}', 'infinity');
SELECT profstore.import_perf_script(:'script', '{"kind": "odd"}', '294276-12-31 23:59:59Z');
SELECT profstore.import_perf_script(:'script', '{"kind": "odd"}', '4714-11-24 00:00:00+00 BC');
SELECT profstore.import_folded('a 1', '{"kind": "odd"}', '1969-12-31 23:59:59.999999Z');
SELECT count(*) = :series AS same, count(*) FILTER (WHERE labels @> '{"kind": "odd"}') AS odd FROM profstore.series;
-- a profile without a time gets the time of the import; an argument replaces the time of the file
BEGIN;
SELECT profstore.import_pprof(strings('', 'a') || sample_type(1, 1) || sample('{}', '{1}') || number(10, 1) || number(9, 0), '{"kind": "none"}');
SELECT time = now() AS now FROM profstore.samples WHERE series_id IN (SELECT series_id FROM profstore.series('{kind="none"}'));
SELECT profstore.import_pprof(strings('', 'a') || sample_type(1, 1) || sample('{}', '{1}') || number(10, 1) || number(9, -1), '{"kind": "by hand"}', '2020-07-01');
SELECT time FROM profstore.samples WHERE series_id IN (SELECT series_id FROM profstore.series('{kind="by hand"}'));
ROLLBACK;

-- samples older than the retention period are stored, and summed up by the next run of retention
SELECT profstore.set_retention('30 days', '100000 days');
CALL profstore.apply_retention();
SELECT profstore.import_folded('a 1', '{"kind": "old"}', '2020-02-01 12:00Z');
SELECT count(*), sum(value) FROM profstore.samples;
CALL profstore.apply_retention();
SELECT count(*), sum(value) FROM profstore.samples;
SET client_min_messages = warning;
SELECT stack, value FROM profstore.folded('folded:samples:count:::delta{kind="old"}', '2020-02-01 12:00Z', '2020-02-01 12:01Z');
RESET client_min_messages;

-- ids that a session remembers are forgotten after a rollback, after their rows are collected, and for another role
BEGIN;
SAVEPOINT before;
SELECT profstore.import_folded('fresh;leaf 1', '{"kind": "remembered"}', '2021-01-01 12:00Z');
ROLLBACK TO before;
SELECT profstore.import_folded('fresh;leaf 2', '{"kind": "remembered"}', '2021-01-01 12:00Z');
COMMIT;
SELECT profstore.import_folded('fresh;leaf 3', '{"kind": "remembered"}', '2021-01-01 12:00Z');
SELECT stack, value FROM profstore.folded('folded:samples:count:::delta{kind="remembered"}', '2021-01-01', '2021-01-02');
TRUNCATE profstore.samples;
UPDATE profstore.series SET interned = now() - interval '2 hours';
SELECT condemned > 0 AS condemned FROM profstore.collect_dictionary() WHERE relation = 'profstore.series'::regclass;
SELECT profstore.import_folded('fresh;leaf 4', '{"kind": "remembered"}', '2021-01-01 12:00Z');
SELECT stack, value FROM profstore.folded('folded:samples:count:::delta{kind="remembered"}', '2021-01-01', '2021-01-02');
-- this memory is limited to 16 MB, also within one import
SELECT profstore.import_folded(repeat('x', 4500000) || ';' || repeat('y', 4500000) || ' 1', '{"kind": "large"}', '2021-01-01 12:00Z');
SELECT sum(total_bytes) BETWEEN 4500000 AND 16777216 AS bounded FROM pg_backend_memory_contexts WHERE name = 'profstore known ids';
SELECT profstore.import_folded('fresh;leaf 4', '{"kind": "remembered"}', '2021-01-01 12:00Z');
SELECT sum(total_bytes) < 1000000 AS anew FROM pg_backend_memory_contexts WHERE name = 'profstore known ids';
CREATE ROLE regress_importer;
SELECT profstore.grant_write('regress_importer');
SET ROLE regress_importer;
SELECT profstore.import_folded('fresh;leaf 5', '{"kind": "remembered"}', '2021-01-01 12:00Z');
RESET ROLE;
SELECT role, count(*) FROM profstore.series WHERE labels @> '{"kind": "remembered"}' GROUP BY role ORDER BY role;
DROP OWNED BY regress_importer;
DROP ROLE regress_importer;
