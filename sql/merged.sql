-- merge_stacks(), the type stack_sums and its views, compared with the functions over samples.
\set fleet on
\i sql/fixtures/preamble.sql

-- the text form, and invalid text
SELECT '{}'::profstore.stack_sums, ' { 1:10 , 5 : -3,9223372036854775807:-9223372036854775808 } '::profstore.stack_sums, '{0:1,7:0}'::profstore.stack_sums;
SELECT ''::profstore.stack_sums;
SELECT '{1:2'::profstore.stack_sums;
SELECT '{2:1,1:1}'::profstore.stack_sums;
SELECT '{1:1,1:1}'::profstore.stack_sums;
SELECT '{-1:1}'::profstore.stack_sums;
SELECT '{1:1}x'::profstore.stack_sums;
SELECT '{1:99999999999999999999}'::profstore.stack_sums;
SELECT * FROM profstore.stacks_in('{1:10,5:-3}');
SELECT * FROM profstore.stacks_in(NULL);

-- the aggregate: NULLs, no rows, zeros, overflow
SELECT profstore.merge_stacks(s, v) FROM (VALUES (1, 2), (3, 4), (1, 5), (NULL, 1), (9, NULL), (7, 1), (7, -1)) AS t(s, v);
SELECT profstore.merge_stacks(1, 1) FILTER (WHERE false) AS nothing, profstore.merge_stacks(NULL::profstore.stack_sums) AS none;
SELECT profstore.merge_stacks(s) FROM unnest('{"{1:1,2:2}","{2:-2,3:3}",NULL}'::profstore.stack_sums[]) AS s;
SELECT profstore.merge_stacks(1, 9223372036854775807) FROM generate_series(1, 2);
SELECT profstore.merge_stacks(-1, 1);

-- values stored in a table, grouped, merged again, and copied in both formats
CREATE TABLE kept AS SELECT date_trunc('hour', time) AS hour, profstore.merge_stacks(stack_id, value) AS sums
	FROM profstore.samples WHERE series_id IN (SELECT series_id FROM profstore.matching_series(:'cpu')) GROUP BY 1;
CREATE TABLE copied (LIKE kept);
\copy kept TO PROGRAM 'cat >"$PG_ABS_BUILDDIR/merged.copy"'
\copy copied FROM PROGRAM 'cat "$PG_ABS_BUILDDIR/merged.copy"'
\copy kept TO PROGRAM 'cat >"$PG_ABS_BUILDDIR/merged.copy"' (FORMAT binary)
\copy copied FROM PROGRAM 'cat "$PG_ABS_BUILDDIR/merged.copy"; rm "$PG_ABS_BUILDDIR/merged.copy"' (FORMAT binary)
SELECT (SELECT count(*) FROM copied) = 2 * (SELECT count(*) FROM kept) AS copied;
SELECT count(*) FROM kept AS k JOIN copied AS c USING (hour) WHERE k.sums::text <> c.sums::text;
SELECT count(*) > 5 FROM kept;
CREATE TABLE whole AS SELECT (SELECT profstore.merge_stacks(sums) FROM kept) AS sums;
SELECT (SELECT sums::text FROM whole) = profstore.merge_stacks(stack_id, value)::text AS same
FROM profstore.samples WHERE series_id IN (SELECT series_id FROM profstore.matching_series(:'cpu'));
SELECT count(*) AS differences FROM whole CROSS JOIN LATERAL (SELECT stack_id, value FROM profstore.stacks_in(sums)
	EXCEPT ALL SELECT stack_id, value::int8 FROM oracle_sums(:'cpu', '{}', '2026-01-01', '2026-01-03')) AS d;

-- views
\set range '\'2026-01-01\', \'2026-01-03\''
SELECT count(*) AS differences FROM whole CROSS JOIN LATERAL (SELECT * FROM profstore.flamegraph_of(sums, 400) EXCEPT ALL SELECT * FROM profstore.flamegraph(:'cpu', :range, 400)) AS d;
SELECT count(*) AS differences FROM whole CROSS JOIN LATERAL (SELECT * FROM profstore.flamegraph_of(sums, NULL, true, focus => 'fn1', hide => '{mapping="lib0.so"}', granularity => 'file')
	EXCEPT ALL SELECT * FROM profstore.flamegraph(:'cpu', :range, NULL, true, focus => 'fn1', hide => '{mapping="lib0.so"}', granularity => 'file')) AS d;
SELECT count(*) AS differences FROM whole CROSS JOIN LATERAL (SELECT * FROM profstore.top_of(sums, NULL, ignore => 'fn2') EXCEPT ALL SELECT * FROM profstore.top(:'cpu', :range, NULL, ignore => 'fn2')) AS d;
SELECT count(*) AS differences FROM whole CROSS JOIN LATERAL (SELECT * FROM profstore.folded_of(sums, show => 'fn2') EXCEPT ALL SELECT * FROM profstore.folded(:'cpu', :range, show => 'fn2')) AS d;
SELECT (SELECT count(*) FROM profstore.folded_of(sums)) = (SELECT count(*) FROM profstore.folded(:'cpu', :range)) AS same,
	(SELECT count(*) FROM profstore.top_of(sums, NULL)) = (SELECT count(*) FROM profstore.top(:'cpu', :range, NULL)) AS same_too FROM whole;
-- views of two values: halves of the time, equal to flamegraph_diff, and shares of calls in the whole
CREATE TEMP TABLE half AS SELECT time < '2026-01-02' AS is_first, profstore.merge_stacks(stack_id, value) AS sums FROM profstore.samples
WHERE series_id IN (SELECT series_id FROM profstore.matching_series(:'cpu')) GROUP BY 1;
SELECT count(*) AS halves FROM half;
SELECT count(*) AS differences FROM half AS a JOIN half AS b ON a.is_first AND NOT b.is_first CROSS JOIN LATERAL
	(SELECT * FROM profstore.flamegraph_diff_of(a.sums, b.sums, 400, hide => 'fn2')
	 EXCEPT ALL SELECT * FROM profstore.flamegraph_diff(:'cpu', '2026-01-01', '2026-01-02', '2026-01-02', '2026-01-03', absolute => true, max_nodes => 400, hide => 'fn2')) AS d;
SELECT (SELECT count(*) FROM half AS a JOIN half AS b ON a.is_first AND NOT b.is_first CROSS JOIN LATERAL profstore.flamegraph_diff_of(a.sums, b.sums)) > 10 AS has_rows;
SELECT count(*) AS differences FROM whole CROSS JOIN LATERAL (SELECT * FROM profstore.callgraph_of(sums, 10, focus => 'fn1') EXCEPT ALL SELECT * FROM profstore.callgraph(:'cpu', :range, 10, focus => 'fn1')) AS d;
SELECT (SELECT count(*) FROM profstore.callgraph_of(sums)) = (SELECT count(*) FROM profstore.callgraph(:'cpu', :range)) AS same_too FROM whole;
SELECT level, value, self, label, "valueRight", "selfRight" FROM profstore.flamegraph_diff_of('{0:3}', NULL);
SELECT level, value, self, label FROM profstore.flamegraph_of(NULL);
SELECT level, value, self, label FROM profstore.flamegraph_of('{0:3}');
SELECT * FROM profstore.top_of('{}');
SELECT profstore.flamegraph_of('{1099511627777123:3}');
SELECT profstore.top_of('{}', -1);

-- in parallel, over a heap table
CREATE TABLE many AS SELECT (1 + g % 20000)::int8 AS stack_id, g::int8 AS value FROM generate_series(1, 200000) AS g;
ANALYZE many;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT profstore.merge_stacks(stack_id, value) FROM many;
WITH merged AS MATERIALIZED (SELECT profstore.merge_stacks(stack_id, value) AS sums FROM many)
SELECT count(*), count(*) FILTER (WHERE m.value <> o.value) AS wrong FROM merged CROSS JOIN LATERAL profstore.stacks_in(sums) AS m
	FULL JOIN (SELECT stack_id, sum(value) AS value FROM many GROUP BY 1) AS o USING (stack_id) WHERE m.stack_id IS NOT NULL AND o.stack_id IS NOT NULL;

-- invalid bytes: version, count, then steps and values
CREATE TABLE bytes (sums profstore.stack_sums);
\copy bytes FROM PROGRAM 'printf "PGCOPY\012\377\015\012\000\000\000\000\000\000\000\000\000\000\001\000\000\000\004\001\001\005\006\377\377"' (FORMAT binary)
TABLE bytes;
\copy bytes FROM PROGRAM 'printf "PGCOPY\012\377\015\012\000\000\000\000\000\000\000\000\000\000\001\000\000\000\004\002\001\005\006\377\377"' (FORMAT binary)
\copy bytes FROM PROGRAM 'printf "PGCOPY\012\377\015\012\000\000\000\000\000\000\000\000\000\000\001\000\000\000\004\000\001\005\006\377\377"' (FORMAT binary)
\copy bytes FROM PROGRAM 'printf "PGCOPY\012\377\015\012\000\000\000\000\000\000\000\000\000\000\001\000\000\000\004\001\002\005\006\377\377"' (FORMAT binary)
\copy bytes FROM PROGRAM 'printf "PGCOPY\012\377\015\012\000\000\000\000\000\000\000\000\000\000\001\000\000\000\004\001\001\005\000\377\377"' (FORMAT binary)
\copy bytes FROM PROGRAM 'printf "PGCOPY\012\377\015\012\000\000\000\000\000\000\000\000\000\000\001\000\000\000\006\001\002\005\006\000\006\377\377"' (FORMAT binary)
\copy bytes FROM PROGRAM 'printf "PGCOPY\012\377\015\012\000\000\000\000\000\000\000\000\000\000\001\000\000\000\005\001\001\005\006\007\377\377"' (FORMAT binary)
\copy bytes FROM PROGRAM 'printf "PGCOPY\012\377\015\012\000\000\000\000\000\000\000\000\000\000\001\000\000\000\000\377\377"' (FORMAT binary)
