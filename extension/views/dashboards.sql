-- dashboards: functions for pages on which people type expressions. A wrong expression is reported once, as text, and the rest of the page is
-- empty.

CREATE FUNCTION profstore.selection_error(selector text, @FILTERS@) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET client_min_messages = warning AS
$$
DECLARE
	message text;
	detail text;
BEGIN
	PERFORM profstore.parse_selector(selector);
	PERFORM profstore.filtered_share('none:none:none:none:none', 'epoch', 'epoch'::timestamptz + interval '1 s', @PASSED_FILTERS@);
	RETURN NULL;
EXCEPTION WHEN data_exception OR syntax_error THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	-- leave out the lines of the detail that show the position
	RETURN concat_ws(': ', message, nullif(rtrim(split_part(detail, E'\n', 1), ':'), ''));
END
$$;
COMMENT ON FUNCTION profstore.selection_error IS 'the error in a selector, or in the first malformed filter; NULL if there is none';

CREATE FUNCTION profstore.valid_filter(filter text) RETURNS text
	LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN profstore.selection_error(NULL, filter) IS NULL THEN filter END;
COMMENT ON FUNCTION profstore.valid_filter IS 'the filter, or NULL if it is malformed; then valid_selector() makes the page empty';

CREATE FUNCTION profstore.valid_selector(selector text, @FILTERS@) RETURNS text
	LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN profstore.selection_error(selector, @PASSED_FILTERS@) IS NULL THEN selector ELSE 'none:none:none:none:none' END;
COMMENT ON FUNCTION profstore.valid_selector IS 'the selector; if the selector or a filter is malformed, a selector that selects nothing, so that a dashboard is empty';

CREATE FUNCTION profstore.valid_time(value text, zone text DEFAULT NULL) RETURNS timestamptz
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	session_zone text := current_setting('TimeZone');
BEGIN
	-- links from a point in a graph contain milliseconds since 1970
	IF value ~ '^\s*\d{11,13}\s*$' THEN
		RETURN to_timestamp(value::float8 / 1000);
	END IF;
	BEGIN
		PERFORM set_config('TimeZone', zone, true) WHERE zone <> '';
	EXCEPTION WHEN data_exception THEN
		NULL; -- not a zone of this server: the session's
	END;
	value := CASE WHEN isfinite(value::timestamptz) THEN extract(epoch FROM value::timestamptz)::text END;
	PERFORM set_config('TimeZone', session_zone, true);
	RETURN to_timestamp(value::float8);
EXCEPTION WHEN data_exception THEN
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION profstore.valid_time IS 'the time given as a text or as a number of milliseconds since 1970, or NULL if it is malformed; zone: time zone of a text without one, instead of the session''s. For pages on which people type';

CREATE FUNCTION profstore.selection_status(@SELECTION@, @FILTERS@, matchers text DEFAULT NULL, OUT status text,
								OUT is_empty bool, OUT series int8, OUT kept_share float8, OUT first_seen timestamptz,
								OUT last_seen timestamptz)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET client_min_messages = warning AS
$$
DECLARE
	whole int8;
	kept int8;
	place int4;
	has_samples bool;
BEGIN
	is_empty := true;
	-- test the matchers first, so that an error counts positions in the text that was typed
	matchers := btrim(matchers, E' \t\r\n');
	status := profstore.selection_error(CASE WHEN matchers NOT LIKE '{%}' THEN '{' || matchers || '}' ELSE matchers END);
	IF status IS NOT NULL THEN
		place := substring(status FROM ': Line 1, column (\d+)$')::int4 - CASE WHEN matchers LIKE '{%}' THEN 0 ELSE 1 END;
		status := regexp_replace(regexp_replace(status, '^invalid selector', 'invalid matchers'), ': Line 1, column \d+$', format(' at character %s', place));
		RETURN;
	END IF;
	status := profstore.selection_error(selector, @PASSED_FILTERS@);
	IF status IS NOT NULL THEN
		RETURN;
	END IF;
	SELECT count(*), min(m.first_seen), max(m.last_seen) INTO series, first_seen, last_seen FROM profstore.matching_series(selector) AS m;
	IF series = 0 THEN
		status := CASE WHEN EXISTS (SELECT FROM profstore.series) THEN 'No series fits. Choose another type, label or value.'
			ELSE 'Nothing is stored yet. Start profstore-collector agent, or import a profile.' END;
		RETURN;
	END IF;
	SELECT f.whole, f.kept, f.kept_share INTO whole, kept, kept_share FROM profstore.filtered_share(selector, from_ts, to_ts, @PASSED_FILTERS@) AS f;
	is_empty := kept = 0;
	IF whole = 0 THEN
		has_samples := profstore.stored_rows(selector, from_ts, to_ts) > 0;
	END IF;
	status := CASE
		WHEN has_samples THEN 'The samples in this range add up to 0.'
		WHEN whole = 0 AND last_seen < from_ts THEN format('No samples in this range; the last are of %s. Widen the range.', to_char(last_seen, 'YYYY-MM-DD HH24:MI'))
		WHEN whole = 0 AND first_seen >= to_ts THEN format('No samples in this range; the first are of %s. Widen the range.', to_char(first_seen, 'YYYY-MM-DD HH24:MI'))
		WHEN whole = 0 THEN 'No samples in this range. Widen it.'
		WHEN kept = 0 THEN 'No stack passes the filters. Clear one of them.'
		WHEN kept_share < 0.0001 THEN 'The filters keep less than 0.01 %'
		WHEN kept < whole THEN format('The filters keep %s %%', round((100 * kept_share)::numeric, CASE WHEN kept_share < 0.01 THEN 2 ELSE 1 END))
		ELSE format('%s series', series) END;
END
$$;
COMMENT ON FUNCTION profstore.selection_status IS 'the state of a selection in words, for the head of a page: its error, the reason why it is empty, or the share that the filters keep; matchers: the part of the selector that the user typed, to which the position in an error refers';

-- Names of functions that most programs have in common. Frames of the kernel and of machine code are recognized by their mapping. All others are
-- recognized by names that are equal in all builds, because libraries may be linked statically.
CREATE FUNCTION profstore.frames_of(kind text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT CASE kind
	WHEN 'kernel' THEN '{kind="kernel"}'
	WHEN 'native' THEN '{kind="native"}'
	WHEN 'libc' THEN '{mapping=~"(libc|libm|libpthread|ld-linux|ld-musl|libc\\.musl)[-.0-9a-z_]*\\.so[.0-9]*"}'
	WHEN 'allocators' THEN '^(_*libc_)?(malloc|calloc|realloc|free|cfree|memalign|posix_memalign|aligned_alloc)$|^_int_(malloc|free|realloc)$|^(je|tc|mi)_\w*(alloc|free)|^operator (new|delete)|^tcache_|^malloc_consolidate$|^unlink_chunk|^sysmalloc|^runtime\.(mallocgc|newobject|growslice|makeslice)|^__rust_(alloc|dealloc|realloc)'
	WHEN 'runtimes' THEN '^runtime[./]|^(_?Py|_PyEval)|^(node|v8|uv_)[:_]|^(java|jdk|sun)[./]|^JavaThread|^tokio::|^std::rt::|^(_start|__libc_start_\w+|start_thread|clone3?|__clone3?)$'
END;
END;
COMMENT ON FUNCTION profstore.frames_of IS 'a filter that matches the frames of a kind: kernel, native (of programs and libraries, which leaves those of interpreters), libc, allocators, or runtimes (Go, Python, Node.js, Java, tokio); NULL for any other. For hide and ignore';

-- A frame's name includes the parts that its granularity adds to the function. The function returns a set, although of at most one row, because the
-- planner can inline it then.
CREATE FUNCTION profstore.frame_filter(name text, granularity text DEFAULT 'function', file text DEFAULT NULL, mapping text DEFAULT NULL)
	RETURNS TABLE ("function" text, filter text)
	LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
SELECT name, '^' || regexp_replace(name, '([^[:alnum:]_])', '\\\1', 'g') || '$' WHERE coalesce(granularity, 'function') = 'function' OR name IS NULL
UNION ALL
SELECT found."function", '{' || found.matchers || '}'
FROM (SELECT regexp_replace(coalesce(mapping, ''), '^.*/', ''), substring(name FROM '0x[0-9a-f]+$'), substring(name FROM ':(\d+)$')) AS part(mapping, address, line)
CROSS JOIN LATERAL (SELECT ' ' || file || ':' || part.line, ltrim(part.mapping || ' ') || part.address, part.mapping || '!') AS added(line, place, mapping)
CROSS JOIN LATERAL
	(SELECT 'function=' || profstore_internal.matched(name), 'mapping=' || profstore_internal.matched(part.mapping), 'address=' || profstore_internal.matched(part.address),
		-- a file without a directory is also the last part of other paths, which are not meant
		'file=' || profstore_internal.matched(coalesce(file, '')) || CASE WHEN file <> '' AND file NOT LIKE '%/%' THEN ', file!~".*/.*"' ELSE '' END) AS whole("function", mapping, address, path)
CROSS JOIN LATERAL (
	SELECT v."function", v.matchers
	FROM (VALUES
		(1, granularity = 'line' AND right(name, length(added.line)) = added.line, left(name, -length(added.line)),
			format('function=%s, %s, line="%s"', profstore_internal.matched(left(name, -length(added.line))), whole.path, part.line)),
		(2, granularity = 'line', name, whole."function" || ', file=""'),
		-- code without a function is one frame for its whole mapping at granularity function
		(3, granularity = 'address' AND name = added.place, CASE WHEN part.mapping = '' THEN name WHEN part.mapping LIKE '[%' THEN part.mapping ELSE '[' || part.mapping || ']' END,
			whole.mapping || ', ' || whole.address),
		(4, granularity = 'address' AND right(name, length(added.place) + 1) = ' ' || added.place, left(name, -length(added.place) - 1),
			format('function=%s, %s, %s', profstore_internal.matched(left(name, -length(added.place) - 1)), whole.mapping, whole.address)),
		(5, granularity = 'address', name, whole."function" || ', address="0"'),
		(6, granularity = 'mapping_function' AND part.mapping = '', name, whole."function" || ', mapping=""'),
		(7, granularity = 'mapping_function' AND starts_with(name, added.mapping), substr(name, length(added.mapping) + 1),
			format('function=%s, %s', profstore_internal.matched(substr(name, length(added.mapping) + 1)), whole.mapping)),
		(8, granularity = 'mapping_function', name, whole."function"),
		(9, granularity = 'file' AND name = file, NULL, whole.path),
		-- a frame without a file is named after its mapping
		(10, granularity = 'file', NULL, 'file="", ' || whole.mapping),
		(11, granularity = 'mapping', NULL, whole.mapping),
		(12, granularity = 'mapping_file', NULL, whole.path || ', ' || whole.mapping)) AS v(place, holds, "function", matchers)
	WHERE v.holds ORDER BY v.place LIMIT 1) AS found
WHERE granularity <> 'function' AND name IS NOT NULL;
END;
COMMENT ON FUNCTION profstore.frame_filter(text, text, text, text) IS 'a filter that matches exactly the frames of a name, given as top() returns name, file and mapping at that granularity, and the function of these frames (NULL at granularity file, mapping or mapping_file). For focus, and of files for filename of source()';

-- The path of a file within the repository is not stored. The part after the repository's name in the path of the build is taken as this path.
CREATE FUNCTION profstore.forge_url(repository text, ref text, file text, line int8 DEFAULT NULL) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT 'https://' || place.repository ||
	CASE WHEN place.repository ~ '^[^/]*gitlab' THEN '/-/blob/' WHEN place.repository ~ '^bitbucket\.' THEN '/src/' ELSE '/blob/' END ||
	ref || '/' ||
	(SELECT string_agg(CASE WHEN sign ~ '[A-Za-z0-9._~/-]' THEN sign ELSE regexp_replace(upper(encode(convert_to(sign, 'UTF8'), 'hex')), '(..)', '%\1', 'g') END, '' ORDER BY n)
	 FROM regexp_split_to_table(place.path, '') WITH ORDINALITY AS signs(sign, n)) ||
	coalesce(CASE WHEN place.repository ~ '^bitbucket\.' THEN '#lines-' ELSE '#L' END || nullif(greatest(line, 0), 0), '')
FROM
	(SELECT r.repository,
		CASE WHEN f.after_name IS NOT NULL THEN f.after_name
			WHEN file !~ '^([/<[]|\w:|[^/]*\.[^/]*/|\.)' AND file !~ '\.go$' THEN file END AS path
	 FROM (SELECT regexp_replace(CASE WHEN a.address ~ '^https?://' THEN regexp_replace(a.address, '^https?://([^@/]*@)?', '')
			-- turns git@host:path and ssh://host:port/path into host/path
			ELSE regexp_replace(regexp_replace(a.address, '^((ssh|git)://)?([^@/]*@)?', ''), '^([^:/]+):([0-9]+/)?', '\1/') END, '(\.git)?/*$', '') AS repository
		   FROM (SELECT btrim(forge_url.repository)) AS a(address)) AS r
	 CROSS JOIN LATERAL (SELECT substring(r.repository FROM '[^/]+$') AS name) AS n
	 CROSS JOIN LATERAL
		(SELECT substring('/' || file FROM '.*/' || regexp_replace(n.name, '([^[:alnum:]_])', '\\\1', 'g') || '(?:@[^/]+)?/([^/].*)$') AS after_name) AS f
	 WHERE r.repository ~ '^[A-Za-z0-9.-]+\.[A-Za-z]+(:[0-9]+)?(/[A-Za-z0-9._~-]+){2,}$') AS place
WHERE ref ~ '^[A-Za-z0-9._/-]+$' AND place.path <> '' AND place.path !~ '(^|/)\.\.(/|$)';
END;
COMMENT ON FUNCTION profstore.forge_url IS 'URL at which a forge shows a file of a repository, such as github.com/org/name, at a commit or tag; takes the labels service_repository and service_git_ref. NULL if the path does not lead into the repository';

CREATE FUNCTION profstore.type_title(profile_type text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT coalesce(
	(SELECT known.title FROM (VALUES ('cpu:nanoseconds', 'CPU time'), ('cpu:samples', 'CPU samples'), ('samples:count', 'Samples'), ('wall:nanoseconds', 'Waiting threads'),
		('wallclock:nanoseconds', 'Waiting threads'), ('inuse_space:bytes', 'Memory in use'), ('inuse_objects:count', 'Objects in use'), ('alloc_space:bytes', 'Memory allocated'),
		('alloc_objects:count', 'Objects allocated'), ('goroutine:count', 'Goroutines'), ('goroutines:count', 'Goroutines'), ('threadcreate:count', 'Threads created'))
		AS known(type, title)
	 WHERE known.type = t.part[2] || ':' || t.part[3]),
	(SELECT known.title FROM (VALUES ('mutex:delay', 'Waits for mutexes'), ('mutex:contentions', 'Mutex contentions'), ('block:delay', 'Blocked time'), ('block:contentions', 'Times blocked'))
		AS known(type, title)
	 WHERE known.type = t.part[1] || ':' || t.part[2]),
	upper(left(t.part[2], 1)) || replace(substr(t.part[2], 2), '_', ' ')) || ' (' || t.part[1] || ')'
FROM (SELECT string_to_array(profile_type, ':')) AS t(part)
WHERE cardinality(t.part) >= 3 AND t.part[1] <> '' AND t.part[2] <> '';
END;
COMMENT ON FUNCTION profstore.type_title IS 'a readable name of a profile type, such as CPU time (process_cpu); types that differ only in their periods share one. NULL for a text that is not a profile type';
