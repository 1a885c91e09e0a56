-- Samples with stack or series ids that the dictionary lacks, and values whose sum overflows: every view still answers, and one
-- WARNING describes the damage. The expected values come from a heap copy with numeric sums, clamped to the range of bigint.
\i sql/fixtures/preamble.sql
\set heap 'memory:inuse_space:bytes:space:bytes'
\set range '\'2026-01-01\', \'2026-01-02\''
CREATE FUNCTION clip(value numeric) RETURNS int8 LANGUAGE sql IMMUTABLE RETURN least(greatest(value, -9223372036854775808), 9223372036854775807)::int8;
CREATE FUNCTION series_of(selector text) RETURNS int4 LANGUAGE sql RETURN (SELECT max(series_id) FROM profstore.series(selector));

-- Unknown stacks: in a partition that has other stacks, in a missing partition, without a partition, with a negative id.
SELECT put_scrape(:'cpu', '{"node": "unknown"}', '2026-01-01 10:00Z', '{"main;work": 10, "main;idle": 5}');
\set sel '\'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="unknown"}\''
INSERT INTO profstore.samples SELECT '2026-01-01 10:00:30Z', series_of(:sel), put_stack('main;work') + d, v
	FROM (VALUES (1000000, 100), (1000001, 50)) AS x(d, v);
INSERT INTO profstore.samples SELECT '2026-01-01 10:01Z', series_of(:sel), id, 7 FROM (VALUES (77), ((1::int8 << 40) * 4000 + 5), (9223372036854775807), (-5)) AS x(id);
SELECT * FROM profstore.flamegraph(:sel, :range);
SELECT label, value FROM profstore.flamegraph(:sel, :range, inverted => true, focus => 'unknown stack') WHERE level < 2;
SELECT function, self, total FROM profstore.top(:sel, :range);
SELECT * FROM profstore.callers(:sel, :range, '[unknown stack]');
SELECT label, value FROM profstore.sandwich(:sel, :range, 'main');
SELECT * FROM profstore.folded(:sel, :range) ORDER BY stack;
SELECT * FROM profstore.stacks_of(:sel, :range, ignore => 'work') ORDER BY stack;
SELECT caller, callee, value FROM profstore.callgraph(:sel, :range);
SELECT value FROM profstore.timeseries(:sel, :range, step => '1 day', focus => 'unknown');
SELECT sum(value) FROM profstore.heatmap(:sel, :range, focus => 'main');
SELECT level, label, samples, value FROM profstore.flamechart(:sel, :range) ORDER BY 1, 2, 4;
SELECT (profstore.filtered_share(:sel, :range, ignore => 'unknown')).*;
SELECT function, self, self_delta FROM profstore.top_diff(:sel, '2026-01-01 10:00Z', '2026-01-01 10:00:10Z', :range, absolute => true);
SELECT label, value, "valueRight" FROM profstore.flamegraph_diff(:sel, '2026-01-01 10:00Z', '2026-01-01 10:00:10Z', :range, absolute => true);
SELECT line, self FROM profstore.source(:sel, :range, 'a.c');
SELECT f ->> 'name' AS frame FROM jsonb_array_elements(profstore.speedscope(:sel, :range) -> 'shared' -> 'frames') AS f ORDER BY 1;
SELECT c ->> 'name' AS child FROM jsonb_array_elements(profstore.flamegraph_json(:sel, :range) -> 'children') AS c ORDER BY 1;
SELECT position('[unknown stack]' IN profstore.flamegraph_html(:sel, :range)) > 0 AS html,
	position('[unknown stack]' IN profstore.firefox_profile(:sel, :range)::text) > 0 AS firefox;
SELECT profstore.import_pprof(profstore.pprof(:sel, :range), '{"node": "again"}') AS imported;
SELECT label, value FROM profstore.flamegraph(replace(:sel, 'unknown', 'again'), '-infinity', 'infinity');
SELECT label, value FROM profstore.flamegraph_of((SELECT profstore.merge_stacks(stack_id, value) FROM profstore.samples WHERE series_id = series_of(:sel)));
SELECT function, self FROM profstore.top_of((SELECT profstore.merge_stacks(stack_id, value) FROM profstore.samples WHERE series_id = series_of(:sel)));
-- one WARNING for two functions in a statement, and none if no stack is unknown
SELECT count(*) FROM profstore.top(:sel, :range), profstore.folded(:sel, :range);
SELECT count(*) FROM profstore.top(:sel, '2026-01-01 10:00Z', '2026-01-01 10:00:10Z');
-- the same with little memory, in which stacks are read in several parts
CREATE TABLE many AS SELECT 9000000000000 + g AS stack_id FROM generate_series(1, 3000) AS g;
INSERT INTO profstore.samples SELECT '2026-01-01 11:00Z', series_of(:sel), stack_id, 1 FROM many;
SELECT sum(value) FROM profstore.folded(:sel, :range) WHERE stack LIKE '%unknown%';
SET work_mem = 64;
SET hash_mem_multiplier = 1;
SELECT sum(value) FROM profstore.folded(:sel, :range) WHERE stack LIKE '%unknown%';
SELECT function, self FROM profstore.top(:sel, :range);
SELECT caller, callee, value FROM profstore.callgraph(:sel, :range);
RESET work_mem;
RESET hash_mem_multiplier;
SELECT relation, problem FROM profstore.verify();
INSERT INTO profstore.samples VALUES ('2026-01-01 12:00Z', 2000000, 0, 1), ('2026-01-01 12:00Z', 0, 0, 1);
SELECT relation, problem FROM profstore.verify();
TRUNCATE profstore.samples;
SELECT * FROM profstore.verify();

-- Ids of strings that the dictionary lacks.
SELECT put_scrape(:'cpu', '{"node": "names"}', '2026-01-01 10:00Z', '{"main;gone": 3, "main;there": 4, "main;lost;inner": 8}');
\set sel '\'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="names"}\''
CREATE TABLE saved AS SELECT * FROM profstore.functions WHERE name = 'gone';
DELETE FROM profstore.functions WHERE name = 'gone';
DELETE FROM profstore.locations WHERE function_ids[1] = (SELECT max(id) FROM profstore.functions WHERE name = 'lost');
UPDATE profstore.locations SET mapping = 4711 WHERE function_ids[1] = (SELECT max(id) FROM profstore.functions WHERE name = 'there');
SELECT profstore.bump_names();
SELECT label, value FROM profstore.flamegraph(:sel, :range);
SELECT * FROM profstore.folded(:sel, :range, ignore => 'unknown function') ORDER BY stack;
SELECT profstore.import_pprof(profstore.pprof(:sel, :range), '{"node": "names again"}') AS imported;
-- a string that is restored is visible at once
INSERT INTO profstore.functions SELECT * FROM saved;
SELECT stack FROM profstore.folded(:sel, :range) ORDER BY stack;
-- a dictionary chunk is missing: the children of its nodes appear below a node that reports the loss
SELECT put_scrape(:'cpu', '{"node": "chunks"}', '2026-01-01 10:00Z', '{"main": 1}');
SELECT put_stack('outer;inner', 'chunks') IS NOT NULL AS put;
INSERT INTO profstore.samples SELECT '2026-01-01 10:00Z', series_of(replace(:sel, 'names', 'chunks')), put_stack('outer;inner;leaf', 'chunks'), 5;
DELETE FROM profstore.stack_chunks WHERE ctid = (SELECT min(c.ctid) FROM profstore.stack_chunks AS c JOIN profstore.dictionary_partitions AS p ON p.id = c.partition_id WHERE p.key = 'chunks');
SELECT profstore.bump_epoch() > 0 AS bumped;
SELECT label, value FROM profstore.flamegraph(replace(:sel, 'names', 'chunks'), :range);
SELECT label, value FROM profstore.flamegraph(replace(:sel, 'names', 'chunks'), :range);

-- Sums that overflow, positive and negative: in stored rows, in waiting rows, in stored sums, and over two dictionary partitions.
TRUNCATE profstore.samples;
CREATE TABLE big (time timestamptz, series_id int4, stack_id int8, value int8, stack text, p int4);
SELECT profstore.intern_series(array_fill(:'cpu'::text, ARRAY[2]), ARRAY['{"node": "big"}', '{"node": "big", "n": "2"}']::jsonb[], '{0,0}') IS NOT NULL AS interned;
\set sel '\'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="big"}\''
INSERT INTO big SELECT '2026-01-01 10:00Z'::timestamptz + g * interval '1 second', s.series_id, put_stack(n.stack, 'p' || n.p), v.value, n.stack, n.p
FROM generate_series(1, 40) AS g, profstore.series(:sel) AS s,
	(VALUES (1, 'main;a'), (2, 'main;a'), (1, 'main;b'), (2, 'main;b;c'), (1, 'rest;d'), (2, 'rest;d'), (1, '')) AS n(p, stack),
	LATERAL (SELECT (CASE WHEN n.stack = 'main;a' THEN 9000000000000000000
						  WHEN n.stack = 'main;b' THEN -9000000000000000000
						  WHEN n.stack = 'main;b;c' THEN CASE WHEN g <= 20 THEN 9223372036854775807 ELSE -9223372036854775807 END
						  WHEN n.stack = 'rest;d' AND n.p = 1 THEN CASE WHEN g % 2 = 0 THEN -9223372036854775808 ELSE 9223372036854775807 END
						  ELSE g END)::int8 AS value) AS v;
-- with little memory, these many stacks are read in several parts
INSERT INTO big SELECT '2026-01-01 10:00Z', series_of(:sel), put_stack(stack, 'p1'), CASE WHEN g % 3 = 0 THEN -9 ELSE 8 END * 1000000000000000000, stack, 1
FROM generate_series(1, 900) AS g, LATERAL (SELECT 'many;f' || g % 30 || ';leaf' || g AS stack) AS s;
CREATE VIEW stack_totals AS SELECT stack_id, stack, p, clip(sum(value)) AS value FROM big GROUP BY stack_id, stack, p HAVING sum(value) <> 0;
CREATE VIEW expected_top AS
	SELECT f AS function, clip(coalesce(sum(value) FILTER (WHERE f = split_part(stack, ';', -1)), 0)) AS self, clip(sum(value)) AS total
	FROM stack_totals, LATERAL (SELECT DISTINCT unnest(string_to_array(stack, ';'))) AS u(f) GROUP BY f;
SELECT * FROM expected_top WHERE function NOT LIKE '%f%' ORDER BY function;
-- Differences between each view and the expected rows; an empty result means that all agree.
CREATE FUNCTION differences(selector text) RETURNS SETOF text LANGUAGE plpgsql AS
$$
BEGIN
	RETURN QUERY SELECT 'top ' || a::text FROM
		(TABLE expected_top EXCEPT SELECT t.function, t.self, t.total FROM profstore.top(selector, '2026-01-01', '2026-01-02', NULL) AS t) AS a;
	RETURN QUERY SELECT 'tree ' || a::text FROM
		(SELECT function, total FROM expected_top WHERE function IN ('main', 'rest', 'many') EXCEPT
		 SELECT t.label, t.value FROM profstore.flamegraph(selector, '2026-01-01', '2026-01-02') AS t WHERE level = 1) AS a;
	RETURN QUERY SELECT 'root ' || a::text FROM
		(SELECT clip(sum(value)) FROM stack_totals EXCEPT SELECT t.value FROM profstore.flamegraph(selector, '2026-01-01', '2026-01-02', 1) AS t) AS a;
	RETURN QUERY SELECT 'inverted ' || a::text FROM
		(SELECT split_part(stack, ';', -1), clip(sum(value)) FROM stack_totals WHERE stack <> '' GROUP BY 1 EXCEPT
		 SELECT t.label, t.value FROM profstore.flamegraph(selector, '2026-01-01', '2026-01-02', NULL, true) AS t WHERE level = 1) AS a;
	RETURN QUERY SELECT 'folded ' || a::text FROM
		(SELECT coalesce(nullif(stack, ''), '[empty stack]'), clip(sum(value)) FROM stack_totals GROUP BY 1 HAVING clip(sum(value)) <> 0 EXCEPT
		 SELECT t.stack, t.value FROM profstore.folded(selector, '2026-01-01', '2026-01-02') AS t) AS a;
	RETURN QUERY SELECT 'callers ' || a::text FROM
		(SELECT total FROM expected_top WHERE function = 'a' EXCEPT SELECT t.total FROM profstore.callers(selector, '2026-01-01', '2026-01-02', 'a') AS t WHERE level = 0) AS a;
	RETURN QUERY SELECT 'edges ' || a::text FROM
		(SELECT clip(sum(value)) FROM stack_totals WHERE stack LIKE 'main;b%' EXCEPT
		 SELECT t.value FROM profstore.callgraph(selector, '2026-01-01', '2026-01-02') AS t WHERE caller = 'main' AND callee = 'b') AS a;
	RETURN QUERY SELECT 'merged ' || a::text FROM
		(SELECT t.stack_id, t.value FROM stack_totals AS t WHERE t.value <> 0 EXCEPT
		 SELECT s.stack_id, s.value FROM profstore.stacks_in((SELECT profstore.merge_stacks(m.stack_id, m.value) FROM profstore.samples AS m)) AS s) AS a;
	RETURN QUERY SELECT 'series ' || a::text FROM
		(SELECT time, sum(value)::float8 / 1e9 FROM big GROUP BY time EXCEPT
		 SELECT t.time, t.value FROM profstore.timeseries(selector, '2026-01-01', '2026-01-02', '1 second') AS t) AS a;
	RETURN QUERY SELECT 'filtered series ' || a::text FROM
		(SELECT time, sum(value)::float8 / 1e9 FROM big WHERE stack LIKE 'main%' GROUP BY time EXCEPT
		 SELECT t.time, t.value FROM profstore.timeseries(selector, '2026-01-01', '2026-01-02', '1 second', focus => 'main') AS t) AS a;
	RETURN QUERY SELECT 'heat map ' || a::text FROM
		(SELECT time, clip(sum(value)) FROM big GROUP BY time EXCEPT
		 SELECT t.time, t.value FROM profstore.heatmap(selector, '2026-01-01', '2026-01-02') AS t) AS a;
	RETURN QUERY SELECT 'plain ' || a::text FROM
		(SELECT stack_id, sum(value), count(*) FROM big GROUP BY stack_id EXCEPT SELECT m.stack_id, sum(m.value), count(*) FROM profstore.samples AS m GROUP BY m.stack_id) AS a;
	RETURN QUERY SELECT 'plain total ' || a::text FROM
		(SELECT sum(value) FROM big EXCEPT SELECT sum(m.value) FROM profstore.samples AS m) AS a;
END
$$;
BEGIN;
INSERT INTO profstore.samples SELECT time, series_id, stack_id, value FROM big;
SELECT * FROM differences(:sel);
COMMIT;
SELECT * FROM differences(:sel);
SELECT profstore.compact() > 0 AS compacted;
SELECT * FROM differences(:sel);
SELECT relation, problem FROM profstore.verify();
SET profstore.enable_summaries = off;
SELECT * FROM differences(:sel);
RESET profstore.enable_summaries;
SET client_min_messages = error;
SET work_mem = 64;
SET hash_mem_multiplier = 1;
SELECT * FROM differences(:sel);
RESET work_mem;
RESET hash_mem_multiplier;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 4;
SELECT * FROM differences(:sel);
SET profstore.enable_scan = off;
SET profstore.enable_agg = off;
SELECT * FROM differences(:sel);
RESET profstore.enable_scan;
RESET profstore.enable_agg;
RESET max_parallel_workers_per_gather;
RESET client_min_messages;

-- Children and "other" nodes, diffs, exports, flame charts, shares.
SELECT label, value, self FROM profstore.flamegraph(:sel, :range, 6);
SELECT function, base_total, total, total_delta FROM profstore.top_diff(:sel, '2026-01-01 10:00Z', '2026-01-01 10:00:20Z', '2026-01-01 10:00:20Z', '2026-01-02', absolute => true, ignore => 'many') ORDER BY function;
SELECT label, value, "valueRight" FROM profstore.flamegraph_diff(:sel, '2026-01-01 10:00Z', '2026-01-01 10:00:20Z', '2026-01-01 10:00:20Z', '2026-01-01 10:01Z') WHERE level < 2;
SELECT (profstore.filtered_share(:sel, :range, focus => 'main')).*;
SELECT max(value) FROM profstore.flamechart(:sel, :range) WHERE label = 'a';
SELECT length(profstore.pprof(:sel, :range)) > 0 AS pprof;
SELECT profstore.merge_stacks(s) FROM (VALUES ('{1:9223372036854775807,2:5}'::profstore.stack_sums), ('{1:9223372036854775807}'), ('{1:-9223372036854775807}')) AS v(s);
SELECT profstore.merge_stacks(1, v) FROM (VALUES (9223372036854775807), (9223372036854775807), (-9223372036854775807)) AS x(v);
SELECT g, profstore.merge_stacks(1, 9223372036854775807 - g) OVER (ORDER BY g) FROM generate_series(0, 2) AS g;

-- An import keeps samples as separate rows if their sum would overflow.
SELECT profstore.import_folded(E'imported;x 9223372036854775807\nimported;x 9223372036854775807\nimported;x -5\n', '{"__name__": "i"}', '2026-01-01 15:00Z') AS rows;
SELECT sum(s.value) FROM profstore.samples AS s JOIN profstore.stacks AS k ON k.id = s.stack_id WHERE s.time = '2026-01-01 15:00Z';
DELETE FROM big;
TRUNCATE profstore.samples;

-- Instant types: averages are computed from exact sums.
SELECT profstore.intern_series(ARRAY[:'heap'], ARRAY['{"node": "big"}'::jsonb], '{0}') IS NOT NULL AS interned;
\set inuse '\'memory:inuse_space:bytes:space:bytes{node="big"}\''
INSERT INTO big SELECT '2026-01-01 10:00Z'::timestamptz + g * interval '1 second', series_of(:inuse), put_stack('heap;' || n), 9223372036854775807 - g * n, 'heap;' || n, n
	FROM generate_series(0, 9) AS g, generate_series(1, 3) AS n;
INSERT INTO profstore.samples SELECT time, series_id, stack_id, value FROM big;
SELECT stack, value, value = (SELECT clip(round(sum(b.value) / 10)) FROM big AS b WHERE b.stack = f.stack) AS exact FROM profstore.folded(:inuse, :range) AS f ORDER BY stack;
SELECT value = (SELECT sum(value) / 10 FROM big) AS exact FROM profstore.timeseries(:inuse, :range, '1 day');
SELECT label, value FROM profstore.flamegraph('last_over_time(' || :inuse || ')', :range);
SELECT value FROM profstore.timeseries('max_over_time(' || :inuse || ')', :range, '1 day');

-- Tiers: rows of one bucket whose sum overflows stay separate, and retention continues.
DELETE FROM big;
TRUNCATE profstore.samples;
INSERT INTO big SELECT '2026-01-01 10:00Z'::timestamptz + g * interval '1 second', series_of(:sel), put_stack('main;' || n), 9223372036854775807 - g, 'main;' || n, 1
	FROM generate_series(0, 99) AS g, generate_series(1, 2) AS n;
INSERT INTO big SELECT '2026-01-01 10:00Z', series_of(:sel), 123456789, 5, '[unknown stack]', 1;
INSERT INTO profstore.samples SELECT time, series_id, stack_id, value FROM big;
SELECT profstore.set_retention('1 day', '1000 years', '1000 years');
CALL profstore.apply_retention();
SELECT action, rows, sums > 3 AS several FROM profstore.retention_log ORDER BY time;
SELECT count(*) AS samples FROM profstore.samples;
SELECT * FROM (SELECT stack_id, sum(value) FROM profstore.samples_minute GROUP BY stack_id) AS t FULL JOIN (SELECT stack_id, sum(value) FROM big GROUP BY stack_id) AS b USING (stack_id, sum) WHERE t IS NULL OR b IS NULL;
SELECT stack, value, value = (SELECT clip(sum(b.value)) FROM big AS b WHERE b.stack = f.stack) AS exact FROM profstore.folded(:sel, :range) AS f ORDER BY stack;
SELECT relation, problem FROM profstore.verify('profstore.samples_minute');
SELECT profstore.set_retention('1 day', '1 day', '1000 years');
CALL profstore.apply_retention();
SELECT * FROM (SELECT stack_id, sum(value) FROM profstore.samples_hour GROUP BY stack_id) AS t FULL JOIN (SELECT stack_id, sum(value) FROM big GROUP BY stack_id) AS b USING (stack_id, sum) WHERE t IS NULL OR b IS NULL;
SELECT count(*) > 2 AS several FROM profstore.samples_hour;
