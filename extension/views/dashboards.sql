-- dashboards: what pages ask on which people type. A wrong expression is told once, in words, and leaves the rest of the page empty.

CREATE FUNCTION profstore.selection_error(selector text, focus text DEFAULT NULL, ignore text DEFAULT NULL, show text DEFAULT NULL,
								hide text DEFAULT NULL) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET client_min_messages = warning AS
$$
DECLARE
	message text;
	detail text;
BEGIN
	PERFORM profstore.parse_selector(selector);
	PERFORM profstore.filtered_share('none:none:none:none:none', 'epoch', 'epoch'::timestamptz + interval '1 s', focus, ignore, show, hide);
	RETURN NULL;
EXCEPTION WHEN data_exception OR syntax_error THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	-- without the lines that point at the place
	RETURN concat_ws(': ', message, nullif(rtrim(split_part(detail, E'\n', 1), ':'), ''));
END
$$;
COMMENT ON FUNCTION profstore.selection_error(text, text, text, text, text) IS 'what is wrong with a selector or with the first wrong one of the filters; NULL where nothing is';

CREATE FUNCTION profstore.valid_filter(filter text) RETURNS text
	LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN profstore.selection_error(NULL, filter) IS NULL THEN filter END;
COMMENT ON FUNCTION profstore.valid_filter(text) IS 'the filter, or NULL where it is malformed: beside valid_selector, for pages that are to stay empty then';

CREATE FUNCTION profstore.valid_selector(selector text, focus text DEFAULT NULL, ignore text DEFAULT NULL, show text DEFAULT NULL,
								hide text DEFAULT NULL) RETURNS text
	LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN profstore.selection_error(selector, focus, ignore, show, hide) IS NULL THEN selector ELSE 'none:none:none:none:none' END;
COMMENT ON FUNCTION profstore.valid_selector(text, text, text, text, text) IS 'the selector, or one that picks nothing where it or one of the filters is malformed: for pages that are to stay empty then';

CREATE FUNCTION profstore.valid_time(value text) RETURNS timestamptz
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE STRICT SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	-- what links have where they stand for a point in a graph
	IF value ~ '^\s*\d{11,13}\s*$' THEN
		RETURN to_timestamp(value::float8 / 1000);
	END IF;
	RETURN CASE WHEN isfinite(value::timestamptz) THEN value::timestamptz END;
EXCEPTION WHEN data_exception THEN
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION profstore.valid_time(text) IS 'the time that a text or a number of milliseconds since 1970 tells, or NULL where it is malformed: for pages on which people type';

CREATE FUNCTION profstore.selection_status(selector text, from_ts timestamptz DEFAULT now() - interval '1 hour',
								to_ts timestamptz DEFAULT now(), focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, OUT status text, OUT is_empty bool,
								OUT series int8, OUT kept_share float8, OUT first_seen timestamptz, OUT last_seen timestamptz)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET client_min_messages = warning AS
$$
DECLARE
	whole int8;
	kept int8;
BEGIN
	is_empty := true;
	status := profstore.selection_error(selector, focus, ignore, show, hide);
	IF status IS NOT NULL THEN
		RETURN;
	END IF;
	SELECT count(*), min(m.first_seen), max(m.last_seen) INTO series, first_seen, last_seen FROM profstore.matching_series(selector) AS m;
	IF series = 0 THEN
		status := CASE WHEN EXISTS (SELECT FROM profstore.series) THEN 'No series fits. Choose another type, label or value.'
			ELSE 'Nothing is stored yet. Start profstore-collector agent, or import a profile.' END;
		RETURN;
	END IF;
	SELECT f.whole, f.kept, f.kept_share INTO whole, kept, kept_share FROM profstore.filtered_share(selector, from_ts, to_ts, focus, ignore, show, hide) AS f;
	is_empty := kept = 0;
	status := CASE
		WHEN whole = 0 AND last_seen < from_ts THEN format('No samples in this range; the last are of %s. Widen the range.', to_char(last_seen, 'YYYY-MM-DD HH24:MI'))
		WHEN whole = 0 AND first_seen >= to_ts THEN format('No samples in this range; the first are of %s. Widen the range.', to_char(first_seen, 'YYYY-MM-DD HH24:MI'))
		WHEN whole = 0 THEN 'No samples in this range. Widen it.'
		WHEN kept = 0 THEN 'No stack passes the filters. Clear one of them.'
		WHEN kept_share < 0.0001 THEN 'The filters keep less than 0.01 %'
		WHEN kept < whole THEN format('The filters keep %s %%', round((100 * kept_share)::numeric, CASE WHEN kept_share < 0.01 THEN 2 ELSE 1 END))
		ELSE format('%s series', series) END;
END
$$;
COMMENT ON FUNCTION profstore.selection_status(text, timestamptz, timestamptz, text, text, text, text) IS 'a selection in words, for the head of a page: what is wrong with it, why it is empty, or how much the filters keep';
