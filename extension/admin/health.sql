-- health(): a row for each check of writers, storage and upkeep. record_health(), which the background worker calls in every round, remembers the
-- states, so that health() knows when each of them began.

-- Collectors report about themselves, every 30 s while the database accepts their batches.
CREATE TABLE profstore.collectors
(
	name     text NOT NULL,
	program  text NOT NULL,
	version  text NOT NULL,
	started  timestamptz NOT NULL,
	clock    timestamptz NOT NULL,
	reported timestamptz NOT NULL DEFAULT clock_timestamp(),
	stopped  bool NOT NULL DEFAULT false,
	metrics  jsonb NOT NULL DEFAULT '{}',
	role     text COLLATE "C" NOT NULL DEFAULT profstore.calling_role(),
	PRIMARY KEY (name, program, role)
) WITH (fillfactor = 70);
COMMENT ON TABLE profstore.collectors IS 'collectors that report about themselves: see report_collector() and collector_metrics()';
COMMENT ON COLUMN profstore.collectors.name IS 'host of an agent, or name of a scraper or receiver';
COMMENT ON COLUMN profstore.collectors.program IS 'agent, scrape or receive';
COMMENT ON COLUMN profstore.collectors.version IS 'version of the program';
COMMENT ON COLUMN profstore.collectors.started IS 'start of the process, by its clock';
COMMENT ON COLUMN profstore.collectors.clock IS 'time of the last report, by the clock of the collector';
COMMENT ON COLUMN profstore.collectors.reported IS 'time of the last report, by the clock of the server';
COMMENT ON COLUMN profstore.collectors.stopped IS 'true if the process has ended normally';
COMMENT ON COLUMN profstore.collectors.metrics IS 'its counters and gauges, by the names that its page /metrics shows';
COMMENT ON COLUMN profstore.collectors.role IS 'role that stored it';
SELECT pg_extension_config_dump('profstore.collectors', '');
ALTER TABLE profstore.collectors ENABLE ROW LEVEL SECURITY;
CREATE POLICY profstore_writers ON profstore.collectors USING (role = current_user);
CREATE POLICY profstore_readers ON profstore.collectors FOR SELECT
	USING ((SELECT profstore_internal.sees_all_series()) OR (name, role) IN (SELECT v.node, v.role FROM profstore_internal.visible_nodes() AS v));

CREATE FUNCTION profstore.report_collector(name text, program text, version text, started timestamptz, clock timestamptz, stopped bool,
										   metrics text[], figures int8[]) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	IF cardinality(metrics) <> cardinality(figures) OR cardinality(metrics) > 512 OR octet_length(name) > 300 OR octet_length(version) > 64
		OR NOT isfinite(started) OR NOT isfinite(clock) OR program !~ '^[a-z]{1,16}$' OR EXISTS (SELECT FROM unnest(metrics) AS m(metric) WHERE m.metric !~ '^[a-z][a-z0-9_]{0,62}$' OR m.metric IS NULL)
	THEN
		RAISE invalid_parameter_value USING
			MESSAGE = 'invalid report of a collector',
			DETAIL = 'A report has finite times, a name of at most 300 bytes, and a figure for each of at most 512 metrics, whose names are lower-case identifiers.';
	END IF;
	INSERT INTO profstore.collectors AS c (name, program, version, started, clock, stopped, metrics)
	SELECT report_collector.name, report_collector.program, report_collector.version, report_collector.started, report_collector.clock,
		report_collector.stopped, coalesce(jsonb_object_agg(f.metric, f.figure) FILTER (WHERE f.figure IS NOT NULL), '{}')
	FROM unnest(report_collector.metrics, figures) AS f(metric, figure)
	ON CONFLICT ON CONSTRAINT collectors_pkey DO UPDATE
		SET version = EXCLUDED.version, started = EXCLUDED.started, clock = EXCLUDED.clock, reported = EXCLUDED.reported,
			stopped = EXCLUDED.stopped, metrics = EXCLUDED.metrics;
END
$$;
COMMENT ON FUNCTION profstore.report_collector(text, text, text, timestamptz, timestamptz, bool, text[], int8[]) IS 'stores the state of the caller''s collector: name, program, version, start, clock, whether it is about to end, and metrics';
REVOKE EXECUTE ON FUNCTION profstore.report_collector(text, text, text, timestamptz, timestamptz, bool, text[], int8[]) FROM PUBLIC;

CREATE FUNCTION profstore.collector_metrics()
	RETURNS TABLE (name text, program text, metric text, value int8, reported timestamptz, role text)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT c.name, c.program, 'profstore_' || c.program || '_' || m.key, m.value::int8, c.reported, c.role
FROM profstore.collectors AS c CROSS JOIN LATERAL jsonb_each_text(c.metrics) AS m(key, value)
ORDER BY c.name, c.program, m.key;
END;
COMMENT ON FUNCTION profstore.collector_metrics() IS 'the figures of the pages /metrics of the collectors that the caller sees, as of their last reports';

-- Limits of the checks.

CREATE FUNCTION profstore_internal.health_checks()
	RETURNS TABLE (place int4, check_name text, warn float8, bad float8, unit text)
	LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 15
BEGIN ATOMIC
VALUES (1, 'silent', 90, 180, 's'), (2, 'lag', 120, 600, 's'), (3, 'spool', 0.1, 0.7, 'share'), (4, 'losses', 1, 10000, 'samples'), (5, 'targets', 0.01, 0.5, 'share'),
	(6, 'clock', 5, 60, 's'), (7, 'version', 1, 2, 'difference'), (8, 'upkeep', 600, 3600, 's'), (9, 'partitions', 3600, 0, 's ahead'),
	(10, 'compaction', 200, 2000, 'segments'), (11, 'retention', 7200, 86400, 's'), (12, 'bloat', 3, 6, 'times'), (13, 'dictionary', 1, 3, 'times'),
	(14, 'collection', 172800, 604800, 's'), (15, 'ids', 0.5, 0.9, 'share'), (16, 'symbols', 1, 100, 'builds'), (17, 'unsymbolized', 0.5, 0.9, 'share');
END;
COMMENT ON FUNCTION profstore_internal.health_checks() IS 'checks of health() in its order, with the values above which (for partitions: below which) a check warns or is bad';

CREATE TABLE profstore.health_limits
(
	check_name text PRIMARY KEY,
	warn       float8,
	bad        float8
);
COMMENT ON TABLE profstore.health_limits IS 'limits that replace those of health(): see set_health_limits()';
COMMENT ON COLUMN profstore.health_limits.check_name IS 'the check';
COMMENT ON COLUMN profstore.health_limits.warn IS 'value from which the check warns; null: never';
COMMENT ON COLUMN profstore.health_limits.bad IS 'value from which the check is bad; null: never';
SELECT pg_extension_config_dump('profstore.health_limits', '');

CREATE FUNCTION profstore.set_health_limits(check_name text, warn float8, bad float8) RETURNS void
	LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	IF NOT EXISTS (SELECT FROM profstore_internal.health_checks() AS c WHERE c.check_name = set_health_limits.check_name) THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('unrecognized check: "%s"', check_name),
			HINT = format('The checks are %s.', (SELECT string_agg(c.check_name, ', ' ORDER BY c.place) FROM profstore_internal.health_checks() AS c));
	END IF;
	INSERT INTO profstore.health_limits AS l (check_name, warn, bad) VALUES (set_health_limits.check_name, set_health_limits.warn, set_health_limits.bad)
	ON CONFLICT ON CONSTRAINT health_limits_pkey DO UPDATE SET warn = EXCLUDED.warn, bad = EXCLUDED.bad;
END
$$;
COMMENT ON FUNCTION profstore.set_health_limits(text, float8, float8) IS 'values from which a check of health() warns and is bad, in the unit that it shows; NULL: never';
REVOKE EXECUTE ON FUNCTION profstore.set_health_limits(text, float8, float8) FROM PUBLIC;

CREATE FUNCTION profstore.reset_health_limits(check_name text DEFAULT NULL) RETURNS int8
	LANGUAGE sql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH gone AS (DELETE FROM profstore.health_limits AS l WHERE reset_health_limits.check_name IS NULL OR l.check_name = reset_health_limits.check_name RETURNING 1)
	SELECT count(*) FROM gone;
END;
COMMENT ON FUNCTION profstore.reset_health_limits(text) IS 'gives a check of health(), or all of them, their own limits again; returns how many had others';
REVOKE EXECUTE ON FUNCTION profstore.reset_health_limits(text) FROM PUBLIC;

-- States of the checks as they were recorded last. The table is not dumped, because a restored database has states of its own.

CREATE TABLE profstore.health_states
(
	check_name text NOT NULL,
	object     text NOT NULL,
	role       text COLLATE "C" NOT NULL DEFAULT '',
	status     text NOT NULL,
	since      timestamptz NOT NULL DEFAULT clock_timestamp(),
	recorded   timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (check_name, object, role)
) WITH (fillfactor = 70);
REVOKE ALL ON profstore.health_states FROM PUBLIC;
COMMENT ON TABLE profstore.health_states IS 'states of the checks of health() as record_health() saw them last';
COMMENT ON COLUMN profstore.health_states.check_name IS 'the check';
COMMENT ON COLUMN profstore.health_states.object IS 'object that is checked';
COMMENT ON COLUMN profstore.health_states.role IS 'role that stored it; empty: the check is about storage or upkeep';
COMMENT ON COLUMN profstore.health_states.status IS 'ok, warn or bad';
COMMENT ON COLUMN profstore.health_states.since IS 'when this state was recorded first';
COMMENT ON COLUMN profstore.health_states.recorded IS 'when the row was written: after a change of state; the row of check upkeep at every call';

CREATE FUNCTION profstore_internal.recorded_health() RETURNS TABLE (check_name text, object text, role text, status text, since timestamptz)
	LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT s.check_name, s.object, s.role, s.status, s.since FROM profstore.health_states AS s;
END;
COMMENT ON FUNCTION profstore_internal.recorded_health() IS 'rows of health_states, of all roles';

-- Values of the checks. Those about hosts come from rows that the caller may read. Those about storage are sums without names, read as the owner.
-- If began is set, the value is the seconds since then. If forced is set, it is the status, whatever the limits are.

CREATE FUNCTION profstore_internal.storage_facts()
	RETURNS TABLE (check_name text, object text, value float8, began timestamptz, forced text, action text)
	LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH bytes AS MATERIALIZED
		(SELECT coalesce(sum(pg_total_relation_size(c.oid)) FILTER (WHERE p.relation IS NOT NULL OR c.relname IN ('segments', 'rollups', 'row_ledger')), 0)::float8 AS samples,
			coalesce(sum(pg_total_relation_size(c.oid)) FILTER (WHERE c.relname ~ '^(series|mappings|function_|location_|dictionary_|stack_chunks)'), 0)::float8 AS dictionary,
			(SELECT coalesce(sum(s.byte_count + pg_column_size(s.header) + s.summary_byte_count + coalesce(pg_column_size(s.summary), 0)), 0)::float8 FROM profstore.segments AS s)
				+ (SELECT coalesce(sum(pg_column_size(r.header) + pg_column_size(r.payload)), 0)::float8 FROM profstore.rollups AS r) AS encoded,
			67108864::float8 AS allowance
		 FROM pg_class AS c
			LEFT JOIN profstore.partitions() AS p ON p.relation = c.oid AND p.parent <> 'profstore.trace_samples'::regclass
		 WHERE c.relnamespace = 'profstore'::regnamespace AND c.relkind = 'r')
	SELECT 'upkeep', 'background worker', CASE WHEN u.recorded > now() THEN 0 ELSE extract(epoch FROM now() - u.recorded)::float8 END, u.recorded, CASE WHEN u.recorded IS NULL THEN 'warn' END,
		'SELECT name, setting FROM pg_settings WHERE name = ''shared_preload_libraries'' OR name IN (''profstore.compaction'', ''profstore.retention'')'
	FROM (SELECT max(s.recorded) AS recorded FROM profstore.health_states AS s WHERE s.check_name = 'upkeep') AS u
	UNION ALL
	-- writers also create missing partitions, but then all of them try it at midnight
	SELECT 'partitions', 'samples', CASE WHEN EXISTS (SELECT FROM profstore.writers AS w WHERE w.last_seen > now() - interval '1 hour')
			THEN greatest(extract(epoch FROM (SELECT max(p.to_ts) FROM profstore.partitions() AS p WHERE p.parent = 'profstore.samples'::regclass AND p.from_ts <= now() + interval '1 day') - now()), 0)::float8 END,
		NULL, NULL, 'SELECT profstore.ensure_partitions(now(), now() + interval ''1 day'')'
	UNION ALL
	SELECT 'compaction', 'segments', count(*)::float8, NULL, NULL, 'CALL profstore.compact_in_steps()'
	FROM profstore.segments AS s WHERE s.level = 0 AND profstore_internal.stored_time(s.time_max) < now() - interval '1 hour'
	UNION ALL
	SELECT 'retention', 'samples and sums', greatest(extract(epoch FROM now() - due.due), 0)::float8, due.due, CASE WHEN NOT due.is_set THEN 'warn' END,
		CASE WHEN due.is_set THEN 'CALL profstore.apply_retention()' ELSE 'SELECT profstore.set_retention(interval ''30 days'', interval ''90 days'', interval ''2 years'')' END
	FROM (SELECT r.one IS NOT NULL AS is_set,
			(SELECT min(p.to_ts + k.kept) FROM profstore.partitions() AS p
				JOIN (VALUES ('profstore.samples'::regclass, r.raw), ('profstore.samples_minute', r.minute), ('profstore.samples_hour', r.hour)) AS k(parent, kept) ON k.parent = p.parent
			 WHERE p.to_ts + k.kept < now()) AS due
		  FROM (VALUES (true)) AS always(one) LEFT JOIN profstore.retention AS r ON r.one = always.one) AS due
	UNION ALL
	SELECT 'bloat', 'samples', b.samples / (b.encoded + b.allowance), NULL, NULL, 'CALL profstore.compact_in_steps()' FROM bytes AS b
	UNION ALL
	SELECT 'dictionary', 'names and stacks', b.dictionary / (b.samples + b.allowance), NULL, NULL, 'SELECT * FROM profstore.collect_dictionary()' FROM bytes AS b
	UNION ALL
	SELECT 'collection', 'dictionary', greatest(extract(epoch FROM now() - e.collected), 0)::float8, e.collected, NULL, 'SELECT * FROM profstore.collect_dictionary()' FROM profstore.epoch AS e
	UNION ALL
	SELECT 'ids', c.relname::text, coalesce(pg_sequence_last_value(c.oid), 0)::float8 / s.seqmax, NULL, NULL, 'SELECT * FROM profstore.collect_dictionary()'
	FROM pg_class AS c JOIN pg_sequence AS s ON s.seqrelid = c.oid
	WHERE c.relnamespace = 'profstore'::regnamespace AND c.relname IN ('profile_type_ids', 'series_ids', 'mapping_ids', 'function_ids', 'location_ids', 'dictionary_partition_ids', 'node_numbers')
	UNION ALL
	SELECT 'version', 'extension', CASE WHEN v.module = v.extension THEN 0 ELSE 2 END, NULL, NULL, 'ALTER EXTENSION profstore UPDATE'
	FROM (SELECT split_part(profstore.version(), ' ', 2) AS module, e.extversion AS extension FROM pg_extension AS e WHERE e.extname = 'profstore') AS v;
END;
COMMENT ON FUNCTION profstore_internal.storage_facts() IS 'values of the checks of health() that concern storage and upkeep';

CREATE FUNCTION profstore_internal.writer_facts()
	RETURNS TABLE (check_name text, object text, role text, value float8, began timestamptz, forced text, action text)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	WITH stored AS
		(SELECT t.name, t.role, t.last_seen FROM profstore.targets AS t WHERE t.scraper IS NULL AND t.health <> 'stopped'),
	-- names are cut, because health_states has an index on objects, which cannot store long texts
	writers AS MATERIALIZED
		(SELECT coalesce(c.name, s.name) AS name, left(coalesce(c.name, s.name), 200) AS object, c.program, coalesce(c.role, s.role) AS role, c.version, c.reported, c.clock, c.metrics, s.last_seen,
			least(greatest(c.reported, s.last_seen), now()) AS contact
		 FROM (SELECT * FROM profstore.collectors AS c WHERE NOT c.stopped) AS c FULL JOIN stored AS s ON s.name = c.name AND s.role = c.role)
	SELECT 'silent', w.object, w.role, extract(epoch FROM now() - w.contact)::float8, w.contact, CASE WHEN w.contact < now() - interval '1 day' THEN 'warn' END,
		CASE WHEN w.contact < now() - interval '1 day' THEN format('SELECT profstore.forget_collector(%L, %L)', w.name, w.role)
			ELSE format('SELECT * FROM profstore.target_states() WHERE name = %L AND role = %L', w.name, w.role) END
	FROM writers AS w
	UNION ALL
	-- only agents have samples in every interval; those that neither report nor store any more are left out
	SELECT 'lag', w.object, w.role, greatest(extract(epoch FROM now() - w.last_seen), 0)::float8, NULL, NULL,
		format('SELECT metric, value FROM profstore.collector_metrics() WHERE name = %L AND role = %L', w.name, w.role)
	FROM writers AS w WHERE w.program = 'agent' AND w.last_seen IS NOT NULL AND w.contact >= now() - interval '3 minutes'
	UNION ALL
	SELECT 'spool', w.object, w.role, (w.metrics ->> 'spooled_bytes')::float8 / nullif((w.metrics ->> 'spool_limit_bytes')::float8, 0), NULL, NULL,
		format('SELECT metric, value FROM profstore.collector_metrics() WHERE name = %L AND role = %L AND metric ~ ''spool|queue|database''', w.name, w.role)
	FROM writers AS w WHERE (w.metrics ->> 'spool_limit_bytes')::float8 > 0
	UNION ALL
	-- losses of a node whose clock is a little ahead count, but not losses with a time of tomorrow
	SELECT 'losses', left(l.node, 200), l.role, coalesce(sum(l.count) FILTER (WHERE l.time > now() - interval '10 minutes'), 0)::float8, NULL, NULL,
		format('SELECT reason, sum(count) FROM profstore.losses WHERE node = %L AND role = %L AND time > now() - interval ''1 hour'' GROUP BY reason', l.node, l.role)
	FROM profstore.losses AS l
	WHERE l.time > now() - interval '1 hour' AND l.time < now() + interval '1 day' AND l.reason !~ '^incomplete\.' AND l.count > 0 GROUP BY l.node, l.role
	UNION ALL
	SELECT 'targets', left(t.scraper, 200), t.role, avg((t.health = 'down')::int4)::float8, NULL, NULL, format('SELECT * FROM profstore.target_states() WHERE state = ''down'' AND role = %L', t.role)
	FROM profstore.targets AS t WHERE t.scraper IS NOT NULL AND t.health IN ('up', 'down') GROUP BY t.scraper, t.role
	UNION ALL
	SELECT 'clock', w.object, w.role, abs(extract(epoch FROM w.clock - w.reported))::float8, NULL, NULL,
		format('SELECT name, clock, reported FROM profstore.collectors WHERE name = %L AND role = %L', w.name, w.role)
	FROM writers AS w WHERE w.clock IS NOT NULL
	UNION ALL
	SELECT 'version', w.object || ' ' || w.program, w.role, CASE WHEN w.version = e.extversion THEN 0 ELSE 1 END, NULL, NULL,
		format('SELECT name, program, version FROM profstore.collectors WHERE role = %L AND version <> (SELECT extversion FROM pg_extension WHERE extname = ''profstore'')', w.role)
	FROM writers AS w, pg_extension AS e WHERE e.extname = 'profstore' AND w.version IS NOT NULL
	UNION ALL
	SELECT 'symbols', s.role, s.role, count(*) FILTER (WHERE s.state <> 'working' AND s.next_try < now() - interval '1 hour')::float8, NULL, NULL,
		format('SELECT build_id, files, state, next_try FROM profstore.symbol_states WHERE open > 0 AND role = %L ORDER BY next_try', s.role)
	FROM profstore.symbol_states AS s GROUP BY s.role
	UNION ALL
	SELECT 'unsymbolized', s.role, s.role, avg((s.state = 'missing')::int4)::float8, NULL, NULL,
		format('SELECT build_id, files, error FROM profstore.symbol_states WHERE state = ''missing'' AND role = %L', s.role)
	FROM profstore.symbol_states AS s WHERE s.state <> 'new' GROUP BY s.role;
END;
COMMENT ON FUNCTION profstore_internal.writer_facts() IS 'values of the checks of health() that concern writers, as far as the caller sees these';

CREATE FUNCTION profstore.health()
	RETURNS TABLE (check_name text, object text, role text, status text, since timestamptz, value float8, warn float8, bad float8, unit text, action text)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
WITH judged AS
	(SELECT c.place, c.check_name, f.object, f.role, f.value, f.began, f.action, b.warn, b.bad, c.unit,
		CASE WHEN f.forced IS NOT NULL THEN f.forced WHEN f.value IS NULL THEN 'ok'
			WHEN CASE WHEN c.warn > c.bad THEN f.value <= b.bad ELSE f.value >= b.bad END THEN 'bad'
			WHEN CASE WHEN c.warn > c.bad THEN f.value <= b.warn ELSE f.value >= b.warn END THEN 'warn' ELSE 'ok' END AS status
	 FROM (SELECT s.check_name, s.object, NULL::text AS role, s.value, s.began, s.forced, s.action FROM profstore_internal.storage_facts() AS s
			UNION ALL SELECT * FROM profstore_internal.writer_facts()) AS f
		JOIN profstore_internal.health_checks() AS c ON c.check_name = f.check_name
		LEFT JOIN profstore.health_limits AS l ON l.check_name = f.check_name
		CROSS JOIN LATERAL (SELECT CASE WHEN l.check_name IS NULL THEN c.warn ELSE l.warn END, CASE WHEN l.check_name IS NULL THEN c.bad ELSE l.bad END) AS b(warn, bad))
SELECT j.check_name, j.object, j.role, j.status,
	CASE WHEN j.began IS NOT NULL AND j.status <> 'ok' THEN j.began + least(j.value, CASE j.status WHEN 'bad' THEN j.bad ELSE j.warn END) * interval '1 s' ELSE r.since END,
	j.value, j.warn, j.bad, j.unit, CASE WHEN j.status <> 'ok' THEN j.action END
FROM judged AS j LEFT JOIN profstore_internal.recorded_health() AS r ON r.check_name = j.check_name AND r.object = j.object AND r.role = coalesce(j.role, '') AND r.status = j.status
ORDER BY array_position('{bad,warn,ok}', j.status), j.place, j.object, j.role;
END;
COMMENT ON FUNCTION profstore.health() IS 'a row for each check of writers, storage and upkeep, those first that are bad; role: of the writer it is about; status: ok, warn or bad; since when it is so: null if record_health() has not seen it yet; value, and those from which the check warns and is bad; action: a command that repairs it or shows more';

CREATE FUNCTION profstore.record_health() RETURNS int8
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	seen text[];
	changed int8;
BEGIN
	INSERT INTO profstore.health_states AS s (check_name, object, status)
	VALUES ('upkeep', 'background worker', 'ok')
	ON CONFLICT ON CONSTRAINT health_states_pkey DO UPDATE SET recorded = EXCLUDED.recorded;
	WITH present AS MATERIALIZED (SELECT h.check_name, h.object, coalesce(h.role, '') AS role, h.status FROM profstore.health() AS h WHERE h.check_name <> 'upkeep'),
	gone AS
		(DELETE FROM profstore.health_states AS s
		 WHERE s.check_name <> 'upkeep' AND NOT EXISTS (SELECT FROM present AS p WHERE (p.check_name, p.object, p.role) = (s.check_name, s.object, s.role))),
	written AS
		(INSERT INTO profstore.health_states AS s (check_name, object, role, status)
		 SELECT p.check_name, p.object, p.role, p.status
		 FROM (SELECT DISTINCT ON (check_name, object, role) * FROM present ORDER BY check_name, object, role, array_position('{bad,warn,ok}', status)) AS p
		 WHERE NOT EXISTS (SELECT FROM profstore.health_states AS k WHERE (k.check_name, k.object, k.role, k.status) = (p.check_name, p.object, p.role, p.status))
		 ON CONFLICT ON CONSTRAINT health_states_pkey DO UPDATE SET status = EXCLUDED.status, since = EXCLUDED.since, recorded = EXCLUDED.recorded
		 RETURNING 1)
	SELECT count(*) INTO changed FROM written;
	RETURN changed;
END
$$;
COMMENT ON FUNCTION profstore.record_health() IS 'remembers the states that health() shows, so that it knows since when they are so; returns how many have changed; the background worker calls it in every round';
REVOKE EXECUTE ON FUNCTION profstore.record_health() FROM PUBLIC;

CREATE FUNCTION profstore.forget_collector(name text, role text DEFAULT NULL) RETURNS int8
	LANGUAGE sql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH collectors AS
		(DELETE FROM profstore.collectors AS c
		 WHERE c.name = forget_collector.name AND (forget_collector.role IS NULL OR c.role = forget_collector.role COLLATE "C") RETURNING 1),
	targets AS
		(DELETE FROM profstore.targets AS t
		 WHERE t.name = forget_collector.name AND t.scraper IS NULL AND (forget_collector.role IS NULL OR t.role = forget_collector.role COLLATE "C") RETURNING 1)
	SELECT (SELECT count(*) FROM collectors) + (SELECT count(*) FROM targets);
END;
COMMENT ON FUNCTION profstore.forget_collector(text, text) IS 'removes the state of a host, scraper or receiver that does not come back, not its samples; role: only what this role has stored (NULL: any role); returns how many rows';
REVOKE EXECUTE ON FUNCTION profstore.forget_collector(text, text) FROM PUBLIC;
