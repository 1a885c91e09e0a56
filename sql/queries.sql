-- Queries of PostgreSQL servers: parts of samples by query id, top_queries() with its texts, query_id => of the views.
\i sql/fixtures/preamble.sql
\set SHOW_CONTEXT never
SET extra_float_digits = 0;
SELECT put_scrape(:'cpu', '{"comm": "postgres", "database": "shop", "role": "web"}', '2026-01-01 10:00Z', '{"main;PostgresMain;ExecutorRun;ExecScan": 60, "main;PostgresMain;ExecutorRun;ExecSort": 30, "main;PostgresMain;parse": 7}');
SELECT put_scrape(:'cpu', '{"comm": "postgres", "database": "shop", "role": "batch"}', '2026-01-01 10:00Z', '{"main;PostgresMain;ExecutorRun;ExecScan": 10}');
SELECT put_scrape(:'cpu', '{"comm": "sshd"}', '2026-01-01 10:00Z', '{"main;read": 3}');
-- by the agent: the span is the query id, the trace the server
CREATE FUNCTION run(role text, stack text, value int8, server int8, query_id int8) RETURNS void LANGUAGE sql
BEGIN ATOMIC
	SELECT profstore.keep_traces('{2026-01-01 10:00Z}', ARRAY[s.series_id], ARRAY[put_stack(stack)], ARRAY[value], ARRAY[('7067717565727900' || lpad(to_hex(server), 16, '0'))::uuid],
		ARRAY[decode(lpad(to_hex(query_id), 16, '0'), 'hex')])
	FROM profstore.series(format('process_cpu:cpu{role="%s"}', role)) AS s;
END;
SELECT run('web', 'main;PostgresMain;ExecutorRun;ExecScan', 40, 7000000000000000001, 11), run('web', 'main;PostgresMain;ExecutorRun;ExecScan', 20, 7000000000000000001, -9223372036854775808),
	run('web', 'main;PostgresMain;ExecutorRun;ExecSort', 30, 7000000000000000001, -1), run('batch', 'main;PostgresMain;ExecutorRun;ExecScan', 10, 7000000000000000002, 11);
-- the span of another trace is no query
SELECT profstore.keep_traces('{2026-01-01 10:00Z}', ARRAY[s.series_id], ARRAY[put_stack('main;PostgresMain;parse')], '{7}', '{4bf92f3577b34da6a3ce929d0e0e4736}', '{"\\x00f067aa0ba902b7"}')
FROM profstore.series('process_cpu:cpu{role="web"}') AS s;
\set day '''process_cpu:cpu{comm="postgres"}'', ''2026-01-01Z'', ''2026-01-02Z'''

-- without statements; of one series; the first rows
SELECT query_id, database, role, value, round(share::numeric, 4) AS share, calls, query, system_identifier FROM profstore.top_queries(:day);
SELECT query_id, value, round(share::numeric, 4) AS share FROM profstore.top_queries('process_cpu:cpu{role="web"}', '2026-01-01Z', '2026-01-02Z');
SELECT query_id, value FROM profstore.top_queries(:day, max_rows => 2);
SELECT sum(value), round(sum(share)::numeric, 4) AS share FROM profstore.top_queries(:day);
-- one query in every view; ids are signed
SELECT level, value, label FROM profstore.flamegraph(:day, query_id => 11) ORDER BY ord;
SELECT * FROM profstore.folded(:day, query_id => -9223372036854775808);
SELECT * FROM profstore.folded(:day, query_id => -1);
SELECT function, self FROM profstore.top('process_cpu:cpu{role="batch"}', '2026-01-01Z', '2026-01-02Z', query_id => 11);
SELECT count(*) FROM profstore.folded(:day, query_id => 12);
SELECT * FROM profstore.folded(:day, query_id => 11, trace => '70677175-6572-7900-6124-fee993bc0002');
SELECT function, base_self, self FROM profstore.top_diff('process_cpu:cpu', '2026-01-01Z', '2026-01-02Z', '2026-01-01Z', '2026-01-02Z', absolute => true, base_query_id => -1, query_id => 11);
SELECT failure($$SELECT * FROM profstore.folded('process_cpu:cpu', query_id => 1, span => '0000000000000001')$$);
SELECT failure($$SELECT * FROM profstore.top_diff('process_cpu:cpu', base_query_id => 1, base_span => '0000000000000001')$$);

-- statements of other servers, of any table
CREATE TABLE known (system_identifier int8, queryid int8, database text, role text, calls int8, total_exec_time float8, query text);
INSERT INTO known VALUES (7000000000000000001, 11, 'shop', 'web', 3, 60, 'SELECT $1'), (7000000000000000001, 11, 'shop', 'web', 1, 20, 'SELECT $1'),
	(7000000000000000001, -1, 'shop', 'batch', 9, 9, 'of another role'), (7000000000000000002, 12, 'shop', 'batch', 9, 9, 'another query'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT query_id, role, value, calls, mean_exec_time, query FROM profstore.top_queries(:day, statements => 'known');
SELECT failure($$SELECT * FROM profstore.top_queries('process_cpu:cpu', statements => 'profstore.series')$$);
SELECT failure($$SELECT * FROM profstore.top_queries('process_cpu:cpu', statements => 'nothing')$$);
SELECT failure($$SELECT * FROM profstore.top_queries('process_cpu:cpu', max_rows => -1)$$);

SELECT put_scrape('goroutine:goroutine:count::', '{}', '2026-01-01 10:00Z', '{"main": 1}');
SELECT failure($$SELECT * FROM profstore.top_queries('goroutine')$$);

-- nothing has a query id; there is nothing
SET client_min_messages = notice;
SELECT query_id, value, share FROM profstore.top_queries('process_cpu:cpu{comm="sshd"}', '2026-01-01Z', '2026-01-02Z');
SELECT * FROM profstore.top_queries('process_cpu:cpu{comm="none"}', '2026-01-01Z', '2026-01-02Z');
SELECT * FROM profstore.top_queries('process_cpu:cpu{comm="sshd"}', '2025-01-01Z', '2025-01-02Z');
SET client_min_messages = warning;

-- a reader sees the queries of visible series
CREATE ROLE regress_pfs_tenant;
SELECT profstore.grant_read('regress_pfs_tenant', '{role="batch"}');
SET ROLE regress_pfs_tenant;
SELECT query_id, database, role, value FROM profstore.top_queries(:day);
SELECT * FROM profstore.folded(:day, query_id => -1);
SELECT failure($$SELECT * FROM profstore.top_queries('process_cpu:cpu', statements => 'known')$$);
RESET ROLE;
SELECT profstore.revoke_access('regress_pfs_tenant');
DROP ROLE regress_pfs_tenant;
