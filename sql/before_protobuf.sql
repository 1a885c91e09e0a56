-- Formats older than protobuf: errors name the text formats that Go writes, and the byte at which a file is invalid. Nothing is stored.
SELECT profstore.import_pprof(convert_to(E'goroutine profile: total 3\n2 @ 0x46f5c2 0x46f000\n#\t0x46f5c1\tmain.inner+0x21\t\t/src/main.go:7\n#\t0x46f5c1\tmain.outer+0x1\t/src/main.go:17\n#\t0x46efff\tmain.main+0x1f\t/src/main.go:9\n\n1 @\n', 'UTF8'), '{"kind": "text"}', '2020-01-01');
SELECT stack, value FROM profstore.folded('goroutine:goroutine:count:goroutine:count{kind="text"}', '-infinity', 'infinity') ORDER BY stack;
SELECT address, lines FROM profstore.locations ORDER BY address;

CREATE FUNCTION refuse(profile text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	PERFORM profstore.import_pprof(convert_to(profile, 'UTF8'), '{"kind": "refused"}');
	RETURN 'stored';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN sqlstate || ' ' || sqlerrm || '. ' || detail;
END $$;
SELECT refuse(profile) FROM (VALUES
	(E'goroutine profile: total 3\n2 @ 0x46f5c2\n2 0x46f000\n'),
	(E'goroutine profile: total 3\n99999999999999999999 @ 0x1\n'),
	(E'goroutine profile: total 3\n2 @ 0x12345678123456781\n'),
	(E'heap profile: 1: 2 [3: 4] @ heapless\n'),
	(E'heap profile: 1: 2 [3: 4 @ heap/1\n'),
	(E'heap profile: 1: 2 [3: 4] @ heap/1024\n0: 8 [1: 8] @ 0x1\n'),
	(E'heap profile: 1: 2 [3: 4] @ heap/1024\n1: 8 [0: 8] @ 0x1\n'),
	(E'heap profile: 1: 2 [3: 4] @ heap_v2/9000000000000000000\n9000000000: 1 [0: 0] @ 0x1\n'),
	(E'--- mutex:\ncycles/second=x\n'),
	(E'--- mutex:\ncolour=blue\n'),
	(E'--- mutex:\nsampling period=9000000000000000000\n1 2 @ 0x1\n'),
	(E'--- threadz 1 ---\n--- Fred ---\n'),
	(E'--- heapz 1 ---\nformat = cobol\n'),
	(E'--- heapz 1 ---\nformat = java\n 1 0 @ 0x1\n'),
	(E'heap profile: 1: 2 [3: 4] @ heapprofile\nMAPPED_LIBRARIES:\n' || repeat(E'a=b\n', 17)),
	(E'heap profile: 1: 2 [3: 4] @ heapprofile\nMAPPED_LIBRARIES:\n' || repeat('$', 256) || E'=b\n400000-500000 r-xp 0 00:00 1 ' || repeat('$', 256) || E'\n')) AS p(profile);
-- Words of 32 bits. Then a sample with more addresses than the file holds, half a sample, and a count times period that exceeds 64 bits
SELECT profstore.import_pprof('\x00000000030000000000000010270000000000000100000003000000aa000000', '{"kind": "refused"}');
SELECT profstore.import_pprof('\x000000000000000003000000000000000000000000000000102700000000000000000000000000000000000000000040010000000000000042000000000000', '{"kind": "refused"}');
SELECT profstore.import_pprof('\x0000000000000000030000000000000000000000000000001027000000000000000000000000000000000000000000400100000000000000420000000000000000', '{"kind": "refused"}');
SELECT count(*) FROM profstore.series WHERE labels @> '{"kind": "refused"}';
DROP FUNCTION refuse;
