-- Queries of PostgreSQL servers on profiled hosts. A part of a sample that belongs to a query is a row of trace_samples: its span is the query id,
-- its trace the bytes "pgquery", a zero, and the system identifier of the server (admin/query_labels.c).

CREATE FUNCTION profstore.top_queries(@SELECTION@, max_rows int4 DEFAULT 100, statements regclass DEFAULT NULL)
	RETURNS TABLE (query_id int8, database text, role text, value int8, share float8, calls int8, mean_exec_time float8, query text, system_identifier int8)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 20000 ROWS 100 SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	known text;
	whole int8;
	column_names text;
BEGIN
	IF max_rows < 0 THEN
		RAISE invalid_parameter_value USING MESSAGE = 'max_rows must not be negative', HINT = 'NULL means no limit.';
	END IF;
	IF statements IS NOT NULL THEN
		SELECT string_agg(a.attname, ',' ORDER BY a.attname) INTO column_names FROM pg_attribute a
		WHERE a.attrelid = statements AND NOT a.attisdropped AND (a.attname, a.atttypid::regtype::text) IN (('system_identifier', 'bigint'), ('queryid', 'bigint'),
			('database', 'text'), ('role', 'text'), ('calls', 'bigint'), ('total_exec_time', 'double precision'), ('query', 'text'));
		IF column_names IS DISTINCT FROM 'calls,database,query,queryid,role,system_identifier,total_exec_time' THEN
			RAISE invalid_parameter_value USING MESSAGE = format('table %s is not a table of statements', statements),
				HINT = 'It must have the columns system_identifier, queryid, calls (bigint), database, role, query (text) and total_exec_time (double precision).';
		END IF;
		known := format('SELECT s.system_identifier, s.queryid, s.database, s.role, s.calls, s.total_exec_time, s.query FROM %s AS s', statements);
	ELSE
		-- the view, if the caller may read it, and the module is loaded; of statements that clients sent, not those inside functions
		SELECT format('SELECT c.system_identifier, s.queryid, d.datname::text, r.rolname::text, s.calls, s.total_exec_time, s.query
			FROM %s AS s, pg_control_system() AS c, pg_database AS d, pg_roles AS r WHERE d.oid = s.dbid AND r.oid = s.userid %s', v.oid::regclass,
			(SELECT 'AND s.toplevel' FROM pg_attribute t WHERE t.attrelid = v.oid AND t.attname = 'toplevel'))
		INTO known
		FROM pg_extension e
		JOIN pg_class v ON v.relnamespace = e.extnamespace AND v.relname = 'pg_stat_statements'
		JOIN pg_attribute a ON a.attrelid = v.oid AND a.attname = 'total_exec_time'
		WHERE e.extname = 'pg_stat_statements' AND current_setting('pg_stat_statements.max', true) IS NOT NULL
			AND has_schema_privilege(e.extnamespace, 'USAGE') AND has_table_privilege(v.oid, 'SELECT')
			AND has_function_privilege('pg_control_system()', 'EXECUTE');
	END IF;
	known := coalesce(known, 'SELECT NULL::int8, NULL::int8, NULL::text, NULL::text, NULL::int8, NULL::float8, NULL::text WHERE false');
	IF EXISTS (SELECT FROM profstore.matching_series(selector) AS m WHERE NOT m.delta) THEN
		RAISE invalid_parameter_value USING MESSAGE = 'queries require a profile type whose values add up', HINT = 'Select a type such as process_cpu:cpu.';
	END IF;
	SELECT f.kept INTO whole FROM profstore.filtered_share(selector, from_ts, to_ts) AS f;
	IF whole = 0 THEN
		RAISE NOTICE 'the selection is empty' USING HINT = 'profstore.series() lists series, and when they were seen.',
			DETAIL = CASE WHEN EXISTS (SELECT FROM profstore.matching_series(selector)) THEN 'Its series have no samples in the range, or their sum is 0.'
				ELSE 'No series matches the selector.' END;
	END IF;
	FOR query_id, database, role, value, share, calls, mean_exec_time, query, system_identifier IN EXECUTE format($query$
		WITH sums AS MATERIALIZED (
			SELECT t.trace_id, t.span_id, m.labels ->> 'database' AS database, m.labels ->> 'role' AS role, sum(t.value)::int8 AS value
			FROM profstore.trace_samples AS t JOIN profstore.matching_series($1) AS m USING (series_id)
			WHERE t."time" >= $2 AND t."time" < $3 AND t.span_id IS NOT NULL
				AND t.trace_id BETWEEN '70677175-6572-7900-0000-000000000000' AND '70677175-6572-7900-ffff-ffffffffffff'
			GROUP BY 1, 2, 3, 4),
		top AS (
			SELECT ('x' || encode(s.span_id, 'hex'))::bit(64)::int8 AS query_id, s.database, s.role, s.value,
				('x' || replace(right(s.trace_id::text, 17), '-', ''))::bit(64)::int8 AS system_identifier
			FROM sums AS s
			UNION ALL
			SELECT NULL, NULL, NULL, $4 - coalesce(sum(s.value), 0)::int8, NULL FROM sums AS s HAVING $4 > coalesce(sum(s.value), 0)
			ORDER BY value DESC, query_id LIMIT $5),
		known AS (
			SELECT k.system_identifier, k.query_id, k.database, k.role, sum(k.calls)::int8 AS calls,
				sum(k.total_exec_time) / nullif(sum(k.calls), 0)::float8 AS mean_exec_time, min(k.query) AS query
			FROM (%s) AS k(system_identifier, query_id, database, role, calls, total_exec_time, query)
			WHERE k.query_id IN (SELECT t.query_id FROM top AS t)
			GROUP BY 1, 2, 3, 4)
		SELECT t.query_id, t.database, t.role, t.value, t.value / nullif($4, 0)::float8, k.calls, k.mean_exec_time, k.query, t.system_identifier
		FROM top AS t
		LEFT JOIN known AS k USING (system_identifier, query_id, database, role)
		ORDER BY t.value DESC, t.query_id$query$, known) USING selector, from_ts, to_ts, whole, max_rows
	LOOP
		IF query_id IS NULL AND value = whole THEN
			RAISE NOTICE 'no sample of the selection has a query id' USING
				HINT = 'Set profstore.query_labels and compute_query_id in the profiled server, and --custom-labels database,role,trace_id,span_id of its agent.';
		END IF;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION profstore.top_queries IS 'queries of profiled PostgreSQL servers by CPU time, or another delta type: query_id NULL: samples outside of queries; calls, mean_exec_time (ms) and query are those of pg_stat_statements, as far as the caller may read it, or of the table statements; query_id => of flamegraph() and others selects one';
