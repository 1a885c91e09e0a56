-- The cost of code in money: CPU time multiplied by prices in a table of the caller, which has the columns labels (jsonb), core_hour and valid_from.
-- The price of a series comes from the rows whose labels the series has: from the row with the most labels, and among equals from the newest valid one.

CREATE FUNCTION profstore_internal.require_cpu_time(selector text) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	chosen record;
BEGIN
	SELECT m.profile_type, m.unit, m.delta INTO chosen FROM profstore.matching_series(selector) m ORDER BY m.delta, m.profile_type LIMIT 1;
	IF NOT FOUND THEN
		RAISE NOTICE 'the selection is empty' USING DETAIL = 'No series matches the selector.', HINT = 'profstore.series() lists series, and when they were seen.';
	END IF;
	IF chosen.unit <> 'nanoseconds' OR NOT chosen.delta THEN
		RAISE invalid_parameter_value USING MESSAGE = 'costs require a profile type of CPU time', DETAIL = format('The selector picks %s.', chosen.profile_type),
			HINT = 'Select a type such as process_cpu:cpu.';
	END IF;
	RETURN chosen.profile_type;
END
$$;
COMMENT ON FUNCTION profstore_internal.require_cpu_time IS 'the profile type of a selector, which must be nanoseconds that add up; NULL if it picks nothing';

-- The labels that prices depend on.
CREATE FUNCTION profstore_internal.price_labels(prices regclass) RETURNS text[]
	LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	names text[];
	type_names text;
BEGIN
	IF prices IS NULL THEN
		RETURN '{}';
	END IF;
	SELECT string_agg(a.attname, ',' ORDER BY a.attname) INTO type_names FROM pg_attribute a
	WHERE a.attrelid = prices AND NOT a.attisdropped AND (a.attname, a.atttypid::regtype::text) IN (('labels', 'jsonb'), ('core_hour', 'numeric'),
		('core_hour', 'double precision'), ('valid_from', 'timestamp with time zone'));
	IF type_names IS DISTINCT FROM 'core_hour,labels,valid_from' THEN
		RAISE invalid_parameter_value USING MESSAGE = format('table %s is not a table of prices', prices),
			HINT = 'It must have the columns labels (jsonb), core_hour (numeric or double precision) and valid_from (timestamp with time zone).';
	END IF;
	EXECUTE format('SELECT coalesce(array_agg(DISTINCT k ORDER BY k), ''{}'') FROM %s AS p, jsonb_object_keys(p.labels) AS k', prices) INTO names;
	RETURN names;
END
$$;
COMMENT ON FUNCTION profstore_internal.price_labels IS 'labels that rows of a table of prices name; an error if it lacks a column';

CREATE FUNCTION profstore_internal.price_of(prices regclass, labels jsonb, at timestamptz) RETURNS float8
	LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	price float8;
BEGIN
	IF prices IS NOT NULL THEN
		EXECUTE format('SELECT p.core_hour FROM %s AS p WHERE $1 @> p.labels AND p.valid_from <= $2
			ORDER BY (SELECT count(*) FROM jsonb_object_keys(p.labels)) DESC, p.valid_from DESC, p.labels::text LIMIT 1', prices) INTO price USING labels, at;
	END IF;
	RETURN price;
END
$$;
COMMENT ON FUNCTION profstore_internal.price_of IS 'price of a core hour of series with these labels at a time; NULL if the table has none';

-- Without a step, costs are computed by day and added up, so that a new price counts from its day on.
CREATE FUNCTION profstore.cost_of(@SELECTION@, prices regclass DEFAULT NULL, by text[] DEFAULT '{service}', step interval DEFAULT NULL, @FILTERS@)
	RETURNS TABLE ("time" timestamptz, labels jsonb, cores float8, core_hours float8, cost float8)
	LANGUAGE sql STABLE PARALLEL RESTRICTED COST 20000 ROWS 100
BEGIN ATOMIC
WITH known AS MATERIALIZED (
	SELECT profstore_internal.require_cpu_time(selector) AS profile_type, by || profstore_internal.price_labels(prices) AS names),
buckets AS (
	SELECT CASE WHEN step IS NULL THEN from_ts ELSE t.time END AS begins, t.value / 3600 AS hours,
		(SELECT coalesce(jsonb_object_agg(l.key, l.value), '{}') FROM jsonb_each(t.labels) l WHERE l.key = ANY (by)) AS kept,
		profstore_internal.price_of(prices, t.labels, greatest(t.time, from_ts)) AS price
	FROM known k
	CROSS JOIN LATERAL profstore.timeseries(selector, from_ts, to_ts, coalesce(step, '1 day'), k.names, @PASSED_FILTERS@, absolute => true) t
	WHERE k.profile_type IS NOT NULL)
SELECT b.begins, b.kept, sum(b.hours) * 3600 / extract(epoch FROM least(b.begins + step, to_ts) - greatest(b.begins, from_ts))::float8, sum(b.hours),
	CASE WHEN count(b.price) = count(*) THEN sum(b.hours * b.price) END
FROM buckets b GROUP BY 1, 2 ORDER BY 1, 5 DESC NULLS LAST, 4 DESC, 2;
END;
COMMENT ON FUNCTION profstore.cost_of IS 'cores, core hours and their cost, by labels, over time with a step: prices is a table with labels, core_hour and valid_from; cost is NULL if a part has no price';

CREATE FUNCTION profstore.cost_of_functions(@SELECTION@, prices regclass DEFAULT NULL, max_rows int4 DEFAULT 100, @FRAME_FILTERS@)
	RETURNS TABLE ("function" text, self_core_hours float8, core_hours float8, self_cost float8, cost float8, file text, mapping text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED COST 20000 ROWS 100
BEGIN ATOMIC
WITH known AS MATERIALIZED (
	SELECT profstore_internal.require_cpu_time(selector) AS profile_type, profstore_internal.price_labels(prices) AS names),
-- an empty label selects the series that lack it
priced AS (
	SELECT DISTINCT k.profile_type, (SELECT coalesce(jsonb_object_agg(n.name, coalesce(m.labels ->> n.name, '')), '{}') FROM unnest(k.names) n(name)) AS chosen,
		(SELECT coalesce(jsonb_object_agg(n.name, m.labels -> n.name), '{}') FROM unnest(k.names) n(name) WHERE m.labels ? n.name) AS present
	FROM known k
	CROSS JOIN LATERAL profstore.matching_series(selector) m),
parts AS (
	SELECT t.function, t.file, t.mapping, t.self / 3600e9::float8 AS self_hours, t.total / 3600e9::float8 AS hours,
		profstore_internal.price_of(prices, p.present, from_ts) AS price
	FROM priced p
	CROSS JOIN LATERAL profstore.top(profstore.selector(p.profile_type, p.chosen, substring(selector FROM '\{.*\}')), from_ts, to_ts, max_rows => NULL,
		@PASSED_FRAME_FILTERS@) t)
SELECT s.function, sum(s.self_hours), sum(s.hours), CASE WHEN count(s.price) = count(*) THEN sum(s.self_hours * s.price) END,
	CASE WHEN count(s.price) = count(*) THEN sum(s.hours * s.price) END, s.file, s.mapping
FROM parts s GROUP BY s.function, s.file, s.mapping
ORDER BY 4 DESC NULLS LAST, 2 DESC, 1 LIMIT max_rows;
END;
COMMENT ON FUNCTION profstore.cost_of_functions IS 'core hours and cost of functions: self_cost of their own code, cost with all below them; prices is a table with labels, core_hour and valid_from, as of the beginning of the range';
