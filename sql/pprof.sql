-- import_pprof and pprof
\set pprof on
\i sql/fixtures/preamble.sql
RESET client_min_messages;

-- Two sample types, an inlined call, a position-independent executable, labels of every kind, a key that occurs twice.
--             1          2        3      4              5         6       7        8        9          10     11    12        13      14        15
SELECT strings('', 'samples', 'count', 'cpu', 'nanoseconds', 'main', 'work', 'inner', 'app.c', '/bin/app', 'ab12', 'thread-id', 'seven', 'size', 'bytes', 'host', 'libc.so', '_Z5innerv')
	|| sample_type(1, 2) || sample_type(3, 4)
	|| message(11, number(1, 3) || number(2, 4)) || number(12, 10000000)
	|| number(9, 1700000000123456000) || number(10, 30000000000)
	|| mapping(1, x'555555554000'::int8, x'555555560000'::int8, x'1000'::int8, 9, 10)
	|| mapping(2, x'7fff00000000'::int8, x'7fff00100000'::int8, 0, 16, 0)
	|| location(1, 1, x'555555554010'::int8, '{7,6}', '{12,30}')
	|| location(2, 1, x'555555554100'::int8, '{5}', '{7}')
	|| location(3, 2, x'7fff00000abc'::int8, '{}', '{}')
	|| func(5, 5, 5, 8, 1) || func(6, 6, 6, 8, 20) || func(7, 7, 17, 8, 10)
	|| sample('{1,2}', '{3,30000000}')
	|| sample('{1,2}', '{1,10000000}')
	|| sample('{3,1,2}', '{1,10000000}', label(11, 12) || label(13, 0, 64, 14))
	|| sample('{3,2}', '{2,20000000}', label(15, 12) || label(15, 2))
	|| sample('{}', '{5,0}') AS profile \gset

SELECT profstore.import_pprof(:'profile', '{"__name__": "process_cpu", "service": "app"}');
SELECT profile_type, labels FROM profstore.series();
SELECT key FROM profstore.dictionary_partitions;
SELECT m.build_id, m.file, to_hex(l.address) AS address, l.lines, array(SELECT f.name || ' ' || f.system_name || ' ' || f.start_line
		FROM unnest(l.function_ids) WITH ORDINALITY AS u(id, ord) JOIN profstore.functions f USING (id) ORDER BY ord) AS functions
FROM profstore.locations l JOIN profstore.mappings m ON m.id = l.mapping ORDER BY l.id;
SELECT t.sample_type, p.time, s.labels ->> 'size' AS size, p.value, s.period
FROM profstore.samples p JOIN profstore.series s ON s.id = p.series_id JOIN profstore.profile_types t ON t.id = s.profile_type
ORDER BY t.sample_type, p.value, size;
SELECT * FROM profstore.folded('process_cpu:samples:count:cpu:nanoseconds:delta{}', '-infinity', 'infinity') ORDER BY stack;

-- An exported profile is imported as the same series and stacks.
SELECT profstore.import_pprof(profstore.pprof('process_cpu:samples:count:cpu:nanoseconds:delta{}', '2023-11-14 22:13:20.123456+00',
	'2023-11-14 22:13:50.123456+00', sample_labels => true), '{"__name__": "process_cpu"}', '2024-01-01 00:00+00');
SELECT count(DISTINCT series_id) AS series, sum(value) FILTER (WHERE time < '2024-01-01') AS original,
	sum(value) FILTER (WHERE time >= '2024-01-01') AS copy
FROM profstore.samples WHERE series_id IN (SELECT series_id FROM profstore.series('process_cpu:samples:count:cpu:nanoseconds:delta{}'));
(SELECT series_id, stack_id, value FROM profstore.samples WHERE time < '2024-01-01'
	AND series_id IN (SELECT series_id FROM profstore.series('process_cpu:samples:count:cpu:nanoseconds:delta{}')))
EXCEPT SELECT series_id, stack_id, value FROM profstore.samples WHERE time >= '2024-01-01';

-- Equal samples give equal bytes; without labels, equal stacks are merged.
SELECT profstore.pprof('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{}', '-infinity', 'infinity')
	= profstore.pprof('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{}', '-infinity', 'infinity') AS equal;
SELECT profstore.import_pprof(profstore.pprof('process_cpu:samples:count:cpu:nanoseconds:delta{}', '-infinity', '2024-01-01'), '{"__name__": "merged"}');
SELECT * FROM profstore.folded('merged:samples:count:cpu:nanoseconds:delta{}', '-infinity', 'infinity') ORDER BY stack;
SELECT profstore.import_pprof(profstore.pprof('process_cpu:samples:count:cpu:nanoseconds:delta{}', '-infinity', '2024-01-01',
	focus => 'work', hide => '^inner$'), '{"__name__": "filtered"}');
SELECT * FROM profstore.folded('filtered:samples:count:cpu:nanoseconds:delta{}', '-infinity', 'infinity') ORDER BY stack;
SELECT profstore.import_pprof(profstore.pprof('none:samples:count::{}', '-infinity', 'infinity'), '{"__name__": "empty"}');

-- Export and import keep the range, and sums stay equal. Without a range, the export covers the times in which the series were seen.
SELECT profstore.import_folded('main;f 3', '{"__name__": "trip"}', '2024-02-01 10:00Z');
SELECT profstore.import_folded('main;f 4', '{"__name__": "trip"}', '2024-02-01 11:00Z');
SELECT profstore.import_pprof(profstore.pprof('trip', '2024-02-01 09:00Z', '2024-02-01 12:00Z'), '{"__name__": "bounded"}');
SELECT profstore.import_pprof(profstore.pprof('trip', '-infinity', 'infinity'), '{"__name__": "unbounded"}');
SELECT profile_type, first_seen, last_seen FROM profstore.profile_types() WHERE profile_type ~ '^(trip|(un)?bounded):';
SELECT profstore.pprof('trip', '2024-02-01 09:00Z', '2024-02-01 12:00Z') = profstore.pprof('bounded', '2024-02-01 09:00Z', '2024-02-01 12:00Z') AS bounded,
	profstore.pprof('trip', '-infinity', 'infinity') = profstore.pprof('unbounded', '2024-02-01 10:00Z', '2024-02-01 11:01Z') AS unbounded;
SELECT length(profstore.pprof('trip', '2024-03-01', '2024-03-02')) > 0 AS is_file;
SELECT m.profile_type, p.stack_id, p.value FROM profstore.samples p JOIN profstore.matching_series('empty:samples:count::{}') m USING (series_id);

-- Only some keys become labels; a key with a name that the import itself uses is renamed.
SELECT profstore.import_pprof(:'profile', '{"__name__": "some"}', sample_labels => '{thread-id}');
SELECT profstore.import_pprof(:'profile', '{"__name__": "some", "host": "h1"}', sample_labels => '{host}');
SELECT labels FROM profstore.series('some:cpu:nanoseconds:cpu:nanoseconds:delta{}');

-- File-wide notes such as comments are stored once and exported again; default stack ends (drop_frames) are applied.
--                 1          2        3       4         5      6            7          8                      9               10           11
SELECT strings('', 'samples', 'count', 'main', 'malloc', 'brk', 'a comment', 'another', 'https://example.org', 'malloc|new.*', 'new_thing', 'm.c')
	|| number(7, 9) || number(8, 10) || number(13, 6) || number(13, 7) || number(14, 1) || number(15, 8)
	|| sample_type(1, 2) || func(1, 3, 3, 11, 1) || func(2, 4, 4, 11, 10) || func(3, 5, 5, 11, 20)
	|| location(1, 0, 1, '{1}', '{2}') || location(2, 0, 2, '{3,2}', '{21,11}') || location(3, 0, 3, '{3,1}', '{22,3}')
	|| sample('{2,1}', '{5}') || sample('{3}', '{7}') AS noted \gset
SELECT profstore.import_pprof(:'noted', '{"__name__": "noted"}', '2024-01-01');
SELECT profstore.import_pprof(:'noted', '{"__name__": "noted"}', '2024-01-02');
SELECT profstore.import_pprof(:'noted', '{"__name__": "whole"}', '2024-01-01', prune => false);
SELECT profstore.import_pprof(profstore.pprof('noted:samples:count::', '-infinity', 'infinity'), '{"__name__": "exported"}');
SELECT profstore.import_pprof(strings('', 'samples', 'count', 'later', 'a comment') || sample_type(1, 2) || number(13, 4) || number(13, 3), '{"__name__": "exported"}', '2024-01-03');
SELECT profstore.import_pprof(profstore.pprof('exported:samples:count::', '-infinity', 'infinity'), '{"__name__": "merged_notes"}');
SELECT m.profile_type, n.default_type, n.comments, n.doc_url, n.drop_frames, n.keep_frames
FROM profstore.file_notes n JOIN profstore.matching_series(NULL) m USING (series_id) ORDER BY m.profile_type, n.comments;
SELECT * FROM profstore.folded('noted:samples:count::', '2024-01-01', '2024-01-02') ORDER BY stack;
SELECT * FROM profstore.folded('whole:samples:count::', '2024-01-01', '2024-01-02') ORDER BY stack;
SELECT strings('', 'samples', 'count', '(') || sample_type(1, 2) || number(7, 3) AS invalid \gset
SELECT profstore.import_pprof(:'invalid');
SELECT profstore.import_pprof(:'invalid', '{"__name__": "invalid"}', prune => false);
-- valid as one expression, but not as a match of whole names
SELECT profstore.import_pprof(strings('', 'samples', 'count', '(?i)x') || sample_type(1, 2) || number(7, 3));

-- A refused file stores nothing.
SELECT count(*) AS before FROM profstore.samples \gset
SELECT profstore.import_pprof(NULL);
SELECT profstore.import_pprof(:'profile', NULL);
SELECT profstore.import_pprof(:'profile', '[]');
SELECT profstore.import_pprof(:'profile', '{"a-b": "c"}');
SELECT profstore.import_pprof(strings('', 'a') || sample_type(1, 1), at => '1969-12-31');
CREATE FUNCTION refusal(profile bytea, OUT code text, OUT message text, OUT detail text, OUT context text) LANGUAGE plpgsql AS
$$
BEGIN
	PERFORM profstore.import_pprof(profile);
	message := 'imported';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
	context := substring(context FROM '^text of .*?profile');
END
$$;
SELECT r.* FROM (VALUES
	(1, ('')::bytea),
	(2, ('some text')::bytea),
	(3, (substr(:'profile'::bytea, 1, 400))::bytea),
	(4, (strings('x'))::bytea),
	(5, (strings('', 'a') || sample_type(1, 9))::bytea),
	(6, (strings('', 'a') || sample_type(1, 1) || sample_type(1, 1))::bytea),
	(7, (strings('', 'a') || sample_type(1, 1) || sample('{}', '{1,2}'))::bytea),
	(8, (strings('', 'a') || sample_type(1, 1) || sample('{4}', '{1}'))::bytea),
	(9, (strings('', 'a') || sample_type(1, 1) || location(1, 3, 0, '{}', '{}'))::bytea),
	(10, (strings('', 'a') || sample_type(1, 1) || location(1, 0, 0, '{1}', '{1}'))::bytea),
	(11, (strings('', 'a') || sample_type(1, 1) || location(1, 0, 0, '{}', '{}') || location(1, 0, 0, '{}', '{}'))::bytea),
	(12, (strings('', 'a') || sample_type(1, 1) || location(2, 0, 0, '{}', '{}') || location(2, 0, 0, '{}', '{}'))::bytea),
	(13, (strings('', 'a') || sample_type(1, 1) || location(0, 0, 0, '{}', '{}'))::bytea),
	(14, (strings('', 'a') || sample_type(1, 1) || func(1, 1, 1, 1, 3000000000))::bytea),
	(15, (strings('', 'a') || sample_type(1, 1) || func(1, 1, 1, 1, 1) || location(1, 0, 0, '{1}', '{-1}'))::bytea),
	(19, (strings('', 'a') || sample_type(1, 1) || '\x12ffffffffffffffff7f')::bytea),
	(20, (strings('', 'a') || sample_type(1, 1) || number(9, 1) || number(9, 1))::bytea),
	(21, ('\x1f8b08')::bytea),
	(22, ('\x1f8b0800000000000003ffff')::bytea),
	(23, (strings('', 'a') || sample_type(1, 1) || location(1, 0, 0, '{}', '{}') || sample(array_fill(1::int8, array[65537]), '{1}'))::bytea),
	(24, (strings('', 'a') || sample_type(1, 1) || func(1, 1, 1, 1, 1) || location(1, 0, 0, array_fill(1::int8, array[4097]), array_fill(1::int8, array[4097])))::bytea),
	(25, (strings('', 'a') || sample_type(1, 1) || sample('{}', '{1}', decode(repeat(encode(label(1, 1), 'hex'), 257), 'hex')))::bytea),
	(26, (strings('', 'a') || decode(repeat(encode(sample_type(1, 1), 'hex'), 65), 'hex'))::bytea),
	(27, (strings('', 'a') || sample_type(-1, 1))::bytea),
	(28, (strings('', 'a') || sample_type(1, 1) || number(13, 99))::bytea),
	(29, (strings('', 'a') || sample_type(1, 1) || number(7, 99))::bytea),
	(30, (strings('', 'a') || sample_type(1, 1) || number(14, -1))::bytea),
	(32, (strings('', 'a', '[') || sample_type(1, 1) || number(7, 1) || number(8, 2))::bytea)) AS p(ord, profile), refusal(p.profile) AS r ORDER BY ord;
-- A file cut at each byte, and with every third bit inverted, is imported or fails with an error about the data, not an internal one.
CREATE FUNCTION outcome(profile bytea) RETURNS text LANGUAGE plpgsql AS
$$
BEGIN
	PERFORM profstore.import_pprof(profile);
	RAISE 'imported' USING ERRCODE = 'ZZ000';
EXCEPTION WHEN OTHERS THEN
	RETURN left(SQLSTATE, 2);
END
$$;
SELECT DISTINCT outcome(substr(:'noted'::bytea, 1, n)) AS truncated FROM generate_series(0, length(:'noted'::bytea)) AS n ORDER BY 1;
SELECT DISTINCT outcome(set_bit(:'noted'::bytea, n, 1 - get_bit(:'noted'::bytea, n))) AS flipped
FROM generate_series(0, length(:'noted'::bytea) * 8 - 1, 3) AS n ORDER BY 1;
-- a megabyte of zeros
\set bomb H4sIAAAAAAAC/+3BAQEAAACCIP+vbkhAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAArwaey3kSQEIPAA==
SET profstore.import_max_size = '64kB';
SELECT * FROM refusal(decode(:'bomb', 'base64'));
SELECT * FROM refusal(decode(repeat('00', 70000), 'hex'));
-- the decompression of half a gigabyte of zeros can be cancelled
SET profstore.import_max_size = '511MB';
SET statement_timeout = '20ms';
SELECT profstore.import_pprof(decode(repeat(encode(decode(:'bomb', 'base64'), 'hex'), 512), 'hex'));
RESET statement_timeout;
RESET profstore.import_max_size;
SELECT count(*) = :before AS untouched FROM profstore.samples;
