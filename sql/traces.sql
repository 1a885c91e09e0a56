-- Traces: rows that assign samples to a trace or a span, and every view restricted to these samples.
\set pprof on
\i sql/fixtures/preamble.sql

SELECT put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '{"job": "a"}', '2026-01-01 10:00Z', '{"main;work;copy": 30, "main;work": 12, "main;idle": 5}');
SELECT put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '{"job": "b"}', '2026-01-01 10:00Z', '{"main;work;copy": 7}');
SELECT put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '{"job": "a"}', '2026-01-02 10:00Z', '{"main;work;copy": 100}');
SELECT put_scrape('goroutine:goroutine:count::', '{"job": "a"}', '2026-01-01 10:00Z', '{"main;wait": 4}');

-- the part of a sample that belongs to a trace, found by stack and time
CREATE FUNCTION keep(job text, at timestamptz, stack text, value int8, trace text, span text) RETURNS void LANGUAGE sql
BEGIN ATOMIC
	SELECT profstore.keep_traces(ARRAY[at], ARRAY[s.series_id], ARRAY[put_stack(stack)], ARRAY[value], ARRAY[trace::uuid], ARRAY[decode(span, 'hex')])
	FROM profstore.series(format('process_cpu:cpu{job="%s"}', job)) AS s;
END;
SELECT keep('a', '2026-01-01 10:00Z', 'main;work;copy', 20, '4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7');
SELECT keep('a', '2026-01-01 10:00Z', 'main;work;copy', 5, '4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b8');
SELECT keep('a', '2026-01-01 10:00Z', 'main;work', 12, '4bf92f3577b34da6a3ce929d0e0e4736', NULL);
SELECT keep('b', '2026-01-01 10:00Z', 'main;work;copy', 7, '4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7');
SELECT keep('a', '2026-01-02 10:00Z', 'main;work;copy', 99, '4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7');
SELECT keep('a', '2026-01-01 10:00Z', 'main;idle', 2, '00000000000000000000000000000001', '00f067aa0ba902b7');
SELECT keep('a', '2026-01-01 10:00Z', 'main;idle', 3, NULL, 'aaaaaaaaaaaaaaaa');
SELECT profstore.keep_traces(ARRAY['2026-01-01 10:00Z'::timestamptz], ARRAY[s.series_id], ARRAY[put_stack('main;wait')], '{4}', ARRAY['4bf92f3577b34da6a3ce929d0e0e4736'::uuid], '{NULL}')
FROM profstore.series('goroutine:goroutine') AS s;
SELECT relation, from_ts, to_ts FROM profstore.partitions() WHERE parent = 'profstore.trace_samples'::regclass;
SELECT indexdef FROM pg_indexes WHERE tablename = 'trace_samples_20260101' ORDER BY indexname;

-- each sample counts once, however many traces it has
SELECT label, value, self FROM profstore.flamegraph('process_cpu:cpu', '2026-01-01Z', '2026-01-03Z') ORDER BY ord;
-- one trace; in a range, of one series; ids in every accepted spelling
SELECT label, value, self FROM profstore.flamegraph('process_cpu:cpu', '2026-01-01Z', '2026-01-03Z', trace => '4bf92f3577b34da6a3ce929d0e0e4736') ORDER BY ord;
SELECT label, value, self FROM profstore.flamegraph('process_cpu:cpu{job="a"}', '2026-01-01Z', '2026-01-02Z', trace => '4BF92F35-77B3-4DA6-A3CE-929D0E0E4736') ORDER BY ord;
-- one span of the trace; a span without a given trace; an unknown span
SELECT * FROM profstore.folded('process_cpu:cpu', '2026-01-01Z', '2026-01-02Z', trace => '4bf92f3577b34da6a3ce929d0e0e4736', span => '00f067aa0ba902b8');
SELECT * FROM profstore.folded('process_cpu:cpu', '2026-01-01Z', '2026-01-02Z', span => '00F067AA0BA902B7') ORDER BY stack;
SELECT * FROM profstore.folded('process_cpu:cpu', '2026-01-01Z', '2026-01-02Z', span => 'aaaaaaaaaaaaaaaa');
-- an unknown trace; an invalid id
SELECT label, value FROM profstore.flamegraph('process_cpu:cpu', '2026-01-01Z', '2026-01-03Z', trace => 'ffffffffffffffffffffffffffffffff');
SELECT failure($$SELECT * FROM profstore.top('process_cpu:cpu', trace => '4bf92f3577b34da6')$$);
SELECT failure(format($$SELECT * FROM profstore.top('process_cpu:cpu', span => %L)$$, span)) FROM unnest('{0,00f067aa0ba902bx,00f067aa0ba902b7ff,""}'::text[]) AS span;

-- every view accepts a trace, with the same answer as for a selection of only its samples
\set of 'trace => ''4bf92f3577b34da6a3ce929d0e0e4736'''
\set day '''process_cpu:cpu'', ''2026-01-01Z'', ''2026-01-02Z'''
SELECT function, self, total FROM profstore.top(:day, :of);
SELECT function, self, total FROM profstore.callers(:day, 'copy', :of);
SELECT function, self, total FROM profstore.callees(:day, 'work', :of);
SELECT side, label, value FROM profstore.sandwich(:day, 'work', :of) ORDER BY side, ord;
SELECT stack, value FROM profstore.stacks_of(:day, :of) ORDER BY stack;
SELECT caller, callee, value FROM profstore.callgraph(:day, :of) ORDER BY 1, 2;
SELECT profstore.callgraph_dot(:day, :of) LIKE '%work%' AS draws;
SELECT time, value * 60 * 1e9 AS value FROM profstore.timeseries(:day, step => '1 min', :of);
SELECT time, value * 60 * 1e9 AS value FROM profstore.timeseries(:day, step => '1 min', focus => 'copy', :of);
SELECT * FROM profstore.heatmap(:day, '1 min', 1, :of);
SELECT * FROM profstore.heatmap(:day, '1 min', 1, focus => 'copy', :of);
SELECT sum(value), sum(samples) FROM profstore.flamechart(:day, '1 s', :of) WHERE level = 0;
SELECT whole, kept FROM profstore.filtered_share(:day, focus => 'copy', :of);
SELECT total, frame FROM profstore.flamegraph_text(:day, :of);
SELECT profstore.flamegraph_json(:day, :of) ->> 'value' AS json, profstore.speedscope(:day, :of) #> '{profiles,0,weights}' AS speedscope,
	jsonb_array_length(profstore.firefox_profile(:day, :of) #> '{threads,0,samples,weight}') AS firefox;
SELECT count(*) FROM profstore.source(:day, filename => 'none', :of);
SELECT profstore.flamegraph_html(:day, :of) <> profstore.flamegraph_html(:day) AS html;
SELECT profstore.import_pprof(profstore.pprof(:day, :of), '{"__name__": "traced", "job": "round"}') AS stored;
SELECT * FROM profstore.folded('traced', '-infinity', 'infinity');
-- groups of series, and a prepared statement
SELECT label, value FROM profstore.flamegraph(:day, by => '{job}', :of) ORDER BY ord;
-- a trace compared with all samples, and with another trace
SELECT label, value, "valueRight" FROM profstore.flamegraph_diff('process_cpu:cpu', '2026-01-01Z', '2026-01-02Z', '2026-01-01Z', '2026-01-02Z', absolute => true, :of) ORDER BY ord;
SELECT function, base_self, self FROM profstore.top_diff('process_cpu:cpu', '2026-01-01Z', '2026-01-02Z', '2026-01-01Z', '2026-01-02Z', absolute => true,
	:of, span => '00f067aa0ba902b7', base_trace => '00000000000000000000000000000001', base_span => '00f067aa0ba902b7');
-- an instant type: the part of its scrapes that belongs to the trace
SELECT label, value FROM profstore.flamegraph('goroutine:goroutine', '2026-01-01Z', '2026-01-02Z', :of) ORDER BY ord;
SELECT label, value FROM profstore.flamegraph('last_over_time(goroutine:goroutine)', '2026-01-01Z', '2026-01-02Z', :of) ORDER BY ord;

-- more rows than a block holds, and rows that wait in the transaction
BEGIN;
SELECT profstore.keep_traces(array_fill('2026-01-01 11:00Z'::timestamptz, ARRAY[5000]), array_fill(s.series_id, ARRAY[5000]), array_fill(put_stack('main;many'), ARRAY[5000]),
	(SELECT array_agg(i) FROM generate_series(1, 5000) AS i), array_fill('00000000000000000000000000000002'::uuid, ARRAY[5000]), array_fill(NULL::bytea, ARRAY[5000]))
FROM profstore.series('process_cpu:cpu{job="a"}') AS s;
SELECT * FROM profstore.folded(:day, trace => '00000000000000000000000000000002');
SELECT value FROM profstore.timeseries(:day, step => '1 day', focus => 'none', trace => '00000000000000000000000000000002');
ROLLBACK;
-- joins with an application's own table of spans, in plain SQL and by function
CREATE TABLE spans (trace_id text, span_id text, name text);
INSERT INTO spans VALUES ('4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7', 'GET /'), ('4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b8', 'SELECT');
SELECT s.name, sum(t.value) FROM spans AS s JOIN profstore.trace_samples AS t ON t.trace_id = s.trace_id::uuid AND t.span_id = decode(s.span_id, 'hex') GROUP BY 1 ORDER BY 1;
SELECT s.name, f.stack, f.value FROM spans AS s CROSS JOIN LATERAL profstore.folded(:day, trace => s.trace_id::uuid, span => s.span_id) AS f ORDER BY 1, 2;
EXPLAIN (COSTS OFF) SELECT sum(value) FROM profstore.trace_samples WHERE trace_id = '4bf92f3577b34da6a3ce929d0e0e4736' AND time >= '2026-01-01Z' AND time < '2026-01-02Z';

-- pprof files: labels with ids, in any spelling of the key, make no series; an invalid id stays a label. Equal rows add up, zeros go.
CREATE FUNCTION traced(VARIADIC labels text[]) RETURNS int8 LANGUAGE sql
BEGIN ATOMIC
	SELECT profstore.import_pprof(sample_type(1, 2) || strings(VARIADIC '{"",cpu,nanoseconds,main,main.c,job,work}' || labels) || location(1, 0, 0, '{1}', '{1}') || location(2, 0, 0, '{2}', '{1}')
		|| func(1, 3, 3, 4, 1) || func(2, 6, 6, 4, 2) || number(9, 1767261600000000000) || number(10, 1000000000)
		|| sample('{2,1}', '{10}', label(7, 8) || label(9, 10)) || sample('{2,1}', '{5}', label(7, 8) || label(9, 10)) || sample('{1}', '{4}', label(7, 8))
		|| sample('{1}', '{3}', label(9, 10)) || sample('{1}', '{100}') || sample('{2,2,1}', '{7}', label(7, 8)) || sample('{2,2,1}', '{-7}'), '{"__name__": "file"}');
END;
CREATE VIEW kept AS SELECT t.trace_id, encode(t.span_id, 'hex') AS span, t.value, s.labels, t.time = '2026-01-01 10:00Z' AS is_then, x.value AS of
FROM profstore.trace_samples AS t JOIN profstore.samples AS x USING (time, series_id, stack_id) JOIN profstore.series('file') AS s USING (series_id);
SELECT traced('trace_id', '4bf92f3577b34da6a3ce929d0e0e4736', 'span_id', '00f067aa0ba902b7');
SELECT * FROM kept ORDER BY value;
SELECT labels FROM profstore.series('file');
SELECT * FROM profstore.folded('file', '2026-01-01Z', '2026-01-02Z', trace => '4bf92f3577b34da6a3ce929d0e0e4736') ORDER BY stack;
SELECT traced('TraceID', '5BF92F3577B34DA6A3CE929D0E0E4736', 'span id', '10F067AA0BA902B7'), traced('otel.trace.id', '6bf92f35-77b3-4da6-a3ce-929d0e0e4736', 'spanID', '20f067aa0ba902b7'),
	traced('trace-id', 'a3ce929d0e0e4736', 'spanid', '30f067aa0ba902b7');
SELECT DISTINCT trace_id, span, value FROM kept WHERE trace_id IS NOT NULL ORDER BY 1, 3;
SELECT labels FROM profstore.series('file');
SELECT traced('trace_id', '00000000000000000000000000000000', 'span_id', '123'), traced('trace', '4bf92f3577b34da6a3ce929d0e0e4736', 'trace_id', 'x');
SELECT labels FROM profstore.series('file') ORDER BY labels;
SELECT count(DISTINCT trace_id) FROM kept;
SELECT * FROM profstore.verify();

-- rows that cannot be stored
SELECT failure($$SELECT profstore.keep_traces('{2026-01-01 10:00Z}', '{1}', '{1}', '{1,2}', '{NULL}', '{NULL}')$$);
SELECT failure($$SELECT profstore.keep_traces('{2026-01-01 10:00Z}', '{1}', '{1}', '{1}', '{NULL}', '{NULL}')$$);
SELECT failure($$SELECT profstore.keep_traces('{2026-01-01 10:00Z}', '{1}', '{1}', '{1}', '{NULL}', '{"\\x00"}')$$);
SELECT failure($$SELECT profstore.keep_traces('{infinity}', '{1}', '{1}', '{1}', '{00000000000000000000000000000001}', '{NULL}')$$);
SELECT failure($$SELECT profstore.keep_traces(array_agg(day), array_agg(1), array_agg(0::int8), array_agg(1::int8), array_agg('00000000000000000000000000000001'::uuid), array_agg(NULL::bytea))
	FROM generate_series('2020-01-01Z'::timestamptz, '2021-01-01Z', '1 day') AS day$$);
SELECT profstore.keep_traces('{}', '{}', '{}', '{}', '{}', '{}');

-- privileges: writers store and do not read; readers read as far as policies on series and on traces allow
CREATE ROLE traces_writer;
CREATE ROLE traces_reader;
SELECT profstore.grant_write('traces_writer'), profstore.grant_read('traces_reader');
SET ROLE traces_writer;
SELECT profstore.keep_traces('{2026-01-01 10:00Z}', '{1}', '{0}', '{1}', '{00000000000000000000000000000003}', '{NULL}');
SELECT failure('SELECT * FROM profstore.trace_samples');
SET ROLE traces_reader;
SELECT sum(value) FROM profstore.trace_samples WHERE trace_id = '00000000000000000000000000000003';
SELECT * FROM profstore.verify();
SELECT failure($$SELECT profstore.keep_traces('{2026-01-01 10:00Z}', '{1}', '{0}', '{1}', '{00000000000000000000000000000003}', '{NULL}')$$);
RESET ROLE;
ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_a ON profstore.series FOR SELECT TO traces_reader USING (labels ->> 'job' = 'a');
SET ROLE traces_reader;
SELECT * FROM profstore.folded(:day, :of) ORDER BY stack;
RESET ROLE;
-- the example of the README
ALTER TABLE profstore.trace_samples ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON profstore.trace_samples USING (series_id IN (SELECT id FROM profstore.series));
SET ROLE traces_reader;
SELECT count(*), count(DISTINCT series_id) AS series FROM profstore.trace_samples WHERE time >= '2026-01-01Z' AND time < '2026-01-02Z' AND trace_id = '4bf92f3577b34da6a3ce929d0e0e4736';
SELECT * FROM profstore.folded(:day, :of) ORDER BY stack;
RESET ROLE;
DROP POLICY visible ON profstore.trace_samples;
CREATE POLICY of_spans ON profstore.trace_samples FOR SELECT TO traces_reader USING (span_id IS NOT NULL);
SET ROLE traces_reader;
SELECT * FROM profstore.folded(:day, :of) ORDER BY stack;
RESET ROLE;
REVOKE SELECT ON profstore.trace_samples FROM traces_reader;
SET ROLE traces_reader;
SELECT failure($$SELECT * FROM profstore.folded('process_cpu:cpu', '2026-01-01Z', '2026-01-02Z', trace => '4bf92f3577b34da6a3ce929d0e0e4736')$$);
SELECT count(*) FROM profstore.folded(:day);
RESET ROLE;
DROP POLICY of_a ON profstore.series;
DROP POLICY of_spans ON profstore.trace_samples;
ALTER TABLE profstore.series DISABLE ROW LEVEL SECURITY;
ALTER TABLE profstore.trace_samples DISABLE ROW LEVEL SECURITY;
DROP OWNED BY traces_writer;
DROP OWNED BY traces_reader;
DROP ROLE traces_writer;
DROP ROLE traces_reader;

-- verify() reports the trace rows that a writer stored above without samples; trace rows are removed with their samples
SELECT * FROM profstore.verify();
SELECT profstore.remove_samples('profstore.samples', 'value = 7');
SELECT * FROM profstore.verify();
SELECT * FROM profstore.folded(:day, :of) ORDER BY stack;
SELECT * FROM profstore.drop_before('2026-01-01 10:30Z') ORDER BY relation;
SELECT relation, dropped, rows FROM profstore.drop_before('2026-01-02 00:00Z') ORDER BY relation;
SELECT tableoid::regclass, count(*) FROM profstore.trace_samples GROUP BY 1;
SELECT profstore.set_retention('1 day', '1000 years');
-- retain() removes the trace samples of a partition, too
SELECT * FROM profstore_internal.retain('profstore.samples_20260102', 'minute', now());
SELECT count(*) FROM profstore.trace_samples;
SELECT * FROM profstore.verify();
CALL profstore.apply_retention();
SELECT count(*) FROM profstore.trace_samples;
SELECT relation, action, rows FROM profstore.retention_log WHERE relation LIKE '%trace%' ORDER BY time, relation;
-- tiers keep the sums, without their traces
SELECT value FROM profstore.flamegraph('process_cpu:cpu', '2026-01-02Z', '2026-01-03Z') LIMIT 1;
SELECT label, value FROM profstore.flamegraph('process_cpu:cpu', '2026-01-02Z', '2026-01-03Z', :of);
