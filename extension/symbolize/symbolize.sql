-- Symbolization after storing. A writer stores addresses for which it has no symbols. A symbolizer claims their build IDs, finds debug information,
-- and interns better answers under the writer's role. All functions here are limited to the caller's own mappings.

CREATE TABLE profstore.symbol_work
(
	build_id text COLLATE "C" NOT NULL,
	role     text COLLATE "C" NOT NULL DEFAULT profstore.calling_role(),
	open     int8 NOT NULL CHECK (open >= 0),
	answered int8 NOT NULL DEFAULT 0 CHECK (answered >= 0),
	wanted   timestamptz NOT NULL DEFAULT now(),
	attempts int4 NOT NULL DEFAULT 0 CHECK (attempts >= 0),
	worker   text,
	lease    timestamptz,
	tried    timestamptz,
	source   text,
	error    text,
	PRIMARY KEY (build_id, role),
	CHECK ((worker IS NULL) = (lease IS NULL))
) WITH (fillfactor = 70);
CREATE INDEX symbol_work_wanted ON profstore.symbol_work (role, wanted) WHERE open > 0;
COMMENT ON TABLE profstore.symbol_work IS 'builds with addresses that have no lines yet, and the search for their debug information';
COMMENT ON COLUMN profstore.symbol_work.build_id IS 'of the mappings, hexadecimal';
COMMENT ON COLUMN profstore.symbol_work.role IS 'role that interned the mappings';
COMMENT ON COLUMN profstore.symbol_work.open IS 'addresses without lines, as of the last count';
COMMENT ON COLUMN profstore.symbol_work.answered IS 'number of better answers that were stored, except those of a symbolizer that was killed before it settled its claim';
COMMENT ON COLUMN profstore.symbol_work.wanted IS 'time before which no symbolizer tries the build';
COMMENT ON COLUMN profstore.symbol_work.attempts IS 'attempts since the last one that found something';
COMMENT ON COLUMN profstore.symbol_work.worker IS 'symbolizer that has claimed it; null: none';
COMMENT ON COLUMN profstore.symbol_work.lease IS 'when the claim ends; null: it is not claimed';
COMMENT ON COLUMN profstore.symbol_work.tried IS 'end of the last attempt';
COMMENT ON COLUMN profstore.symbol_work.source IS 'where debug information was found last; null: nowhere so far';
COMMENT ON COLUMN profstore.symbol_work.error IS 'why the last attempt left addresses without lines; null: it did not';
ALTER TABLE profstore.symbol_work ENABLE ROW LEVEL SECURITY;
CREATE POLICY profstore_writers ON profstore.symbol_work USING (role = current_user);
CREATE POLICY profstore_readers ON profstore.symbol_work FOR SELECT USING ((SELECT profstore_internal.sees_all_series()));
SELECT pg_extension_config_dump('profstore.symbol_work', '');

-- For a known build only the number of addresses is updated. If the number has grown, and debug information was found before, the build is tried
-- again at once.
CREATE FUNCTION profstore.find_symbol_work(packed bool DEFAULT false) RETURNS int8
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	builds text[];
	counts int8[];
	changed int8;
BEGIN
	WITH mine AS MATERIALIZED
		(SELECT m.id, m.build_id FROM profstore.mappings AS m WHERE m.role = profstore.calling_role() AND m.build_id <> ''),
	open AS
		(SELECT l.mapping FROM profstore.location_rows AS l
		 WHERE l.address <> 0 AND NOT l.condemned AND profstore_internal.answer_rank(l.lines, true) < 3
		 UNION ALL
		 SELECT l.mapping FROM profstore.location_chunks AS c, profstore_internal.chunk_locations(c.number, c.present, c.payload) AS l
		 WHERE packed AND l.address <> 0 AND NOT l.condemned AND profstore_internal.answer_rank(l.lines, true) < 3)
	SELECT coalesce(array_agg(b.build_id), '{}'), coalesce(array_agg(b.open), '{}') INTO builds, counts
	FROM (SELECT mine.build_id, count(*) AS open FROM open JOIN mine ON mine.id = open.mapping GROUP BY mine.build_id ORDER BY mine.build_id) AS b;

	INSERT INTO profstore.symbol_work AS w (build_id, open) SELECT f.build_id, f.open FROM unnest(builds, counts) AS f(build_id, open)
	ON CONFLICT ON CONSTRAINT symbol_work_pkey DO UPDATE
		SET open = CASE WHEN packed THEN EXCLUDED.open ELSE greatest(w.open, EXCLUDED.open) END,
			wanted = CASE WHEN EXCLUDED.open > w.open AND w.error IS NULL THEN least(w.wanted, now()) ELSE w.wanted END
		WHERE w.open < EXCLUDED.open OR packed AND w.open <> EXCLUDED.open;
	GET DIAGNOSTICS changed = ROW_COUNT;
	IF packed THEN
		UPDATE profstore.symbol_work AS w SET open = 0
		WHERE w.role = profstore.calling_role() AND w.open > 0 AND w.build_id <> ALL (builds);
	END IF;
	RETURN changed;
END
$$;
COMMENT ON FUNCTION profstore.find_symbol_work(bool) IS 'counts the addresses without lines in the caller''s mappings, in symbol_work: among locations that are not packed yet, or in all; returns how many builds are new or have another number';
REVOKE EXECUTE ON FUNCTION profstore.find_symbol_work(bool) FROM PUBLIC;

-- Several symbolizers may work for one role: each skips the rows that another one is claiming. If a symbolizer ends without settling its claims, they
-- expire with the lease.
CREATE FUNCTION profstore.claim_symbol_work(worker text, max_builds int4, lease interval DEFAULT '5 minutes')
	RETURNS TABLE (build_id text, files text[])
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH claimed AS
		(UPDATE profstore.symbol_work AS w SET worker = claim_symbol_work.worker, lease = clock_timestamp() + claim_symbol_work.lease
		 WHERE w.role = profstore.calling_role() AND w.build_id = ANY (ARRAY
			(SELECT c.build_id FROM profstore.symbol_work AS c
			 WHERE c.role = profstore.calling_role() AND c.open > 0 AND c.wanted <= clock_timestamp()
				AND (c.lease IS NULL OR c.lease < clock_timestamp())
			 ORDER BY c.wanted, c.build_id LIMIT max_builds FOR UPDATE SKIP LOCKED))
		 RETURNING w.build_id)
	SELECT c.build_id, array_agg(m.file ORDER BY m.file)
	FROM claimed AS c JOIN profstore.mappings AS m ON m.build_id = c.build_id AND m.role = profstore.calling_role()
	GROUP BY c.build_id ORDER BY c.build_id;
END;
COMMENT ON FUNCTION profstore.claim_symbol_work(text, int4, interval) IS 'claims builds for a symbolizer, in the order in which they became due; no other symbolizer gets them until settle_symbol_work() or the end of the lease; files: paths of the build''s mappings';
REVOKE EXECUTE ON FUNCTION profstore.claim_symbol_work(text, int4, interval) FROM PUBLIC;

CREATE FUNCTION profstore.open_addresses(build_id text) RETURNS TABLE (mapping int4, address int8, is_named bool)
	LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT l.mapping, l.address, bool_or(profstore_internal.answer_rank(l.lines, true) = 2)
	FROM profstore.locations AS l JOIN profstore.mappings AS m ON m.id = l.mapping
	WHERE m.build_id = open_addresses.build_id AND m.build_id <> '' AND m.role = profstore.calling_role()
		AND l.address <> 0 AND NOT l.condemned AND profstore_internal.answer_rank(l.lines, true) < 3
	GROUP BY l.mapping, l.address ORDER BY l.address, l.mapping;
END;
COMMENT ON FUNCTION profstore.open_addresses(text) IS 'addresses without lines in the caller''s mappings of a build, and whether each has the name of a symbol: ELF virtual addresses';
REVOKE EXECUTE ON FUNCTION profstore.open_addresses(text) FROM PUBLIC;

-- The count of open addresses may be too high, because a writer may have answered some. If a symbolizer finds none, and nothing failed, it becomes 0:
-- otherwise the build would be claimed again at once, for ever.
-- After a failure the next attempt waits 2 minutes, and twice as long after each further failure, up to a day. A random tenth more or less keeps
-- builds that failed together from being tried together.
CREATE FUNCTION profstore.settle_symbol_work(build_id text, worker text, answered int8, source text, error text) RETURNS bool
	LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	UPDATE profstore.symbol_work AS w
	SET worker = NULL, lease = NULL, tried = clock_timestamp(),
		open = CASE WHEN settle_symbol_work.error IS NULL AND settle_symbol_work.answered = 0 THEN 0
			ELSE greatest(w.open - settle_symbol_work.answered, 0) END,
		answered = w.answered + settle_symbol_work.answered,
		source = coalesce(settle_symbol_work.source, w.source),
		error = settle_symbol_work.error,
		attempts = CASE WHEN settle_symbol_work.error IS NULL THEN 0 ELSE w.attempts + 1 END,
		wanted = CASE WHEN settle_symbol_work.error IS NULL THEN clock_timestamp()
			ELSE clock_timestamp() + least(interval '2 minutes' * 2 ^ least(w.attempts, 10), interval '1 day') * (0.9 + random() / 5) END
	WHERE w.build_id = settle_symbol_work.build_id AND w.role = profstore.calling_role() AND w.worker = settle_symbol_work.worker;
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION profstore.settle_symbol_work(text, text, int8, text, text) IS 'ends a symbolizer''s claim and records the number of stored answers, the source of the debug information, and why addresses are left (null: none are); false if another symbolizer has the claim by now';
REVOKE EXECUTE ON FUNCTION profstore.settle_symbol_work(text, text, int8, text, text) FROM PUBLIC;

CREATE FUNCTION profstore.want_symbols(build_id text DEFAULT NULL) RETURNS int8
	LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	builds int8;
BEGIN
	UPDATE profstore.symbol_work AS w SET wanted = now(), attempts = 0
	WHERE w.role = profstore.calling_role() AND w.open > 0 AND (want_symbols.build_id IS NULL OR w.build_id = want_symbols.build_id);
	GET DIAGNOSTICS builds = ROW_COUNT;
	IF builds > 0 THEN
		NOTIFY profstore_symbols;
	END IF;
	RETURN builds;
END
$$;
COMMENT ON FUNCTION profstore.want_symbols(text) IS 'lets symbolizers try a build, or all builds of the caller, again at once; call it when debug information has become available; returns the number of builds';
REVOKE EXECUTE ON FUNCTION profstore.want_symbols(text) FROM PUBLIC;

-- The epoch's row is locked first, as by writers of better answers, and until the transaction ends. Other tenants' commits wait for that lock, so a
-- writer with a selector must not take it.
CREATE FUNCTION profstore.forget_answers(build_id text, reason text) RETURNS int8
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	forgotten int8;
BEGIN
	IF profstore_internal.is_marked_writer(quote_ident(profstore.calling_role())::regrole) THEN
		RAISE insufficient_privilege USING
			MESSAGE = 'permission denied to remove answers',
			DETAIL = format('Role %I writes only the series of a selector.', profstore.calling_role()),
			HINT = 'Upload better debug information, or let a writer without a selector symbolize for all.';
	END IF;
	IF NOT EXISTS (SELECT FROM profstore.mappings AS m
		WHERE m.build_id = forget_answers.build_id AND m.build_id <> '' AND m.role = profstore.calling_role()) THEN
		RETURN 0;
	END IF;
	PERFORM profstore.bump_names();
	UPDATE profstore.locations AS l SET function_ids = '{}', lines = '{}', symbolization = 'p'
	FROM profstore.mappings AS m
	WHERE m.id = l.mapping AND m.build_id = forget_answers.build_id AND m.build_id <> '' AND m.role = profstore.calling_role()
		AND l.address <> 0 AND profstore_internal.answer_rank(l.lines, true) > 1;
	GET DIAGNOSTICS forgotten = ROW_COUNT;
	INSERT INTO profstore.symbol_work AS w (build_id, open, error)
	SELECT forget_answers.build_id, forgotten, format('answers were taken back: %s', reason) WHERE forgotten > 0
	ON CONFLICT ON CONSTRAINT symbol_work_pkey DO UPDATE
		SET open = w.open + EXCLUDED.open, answered = greatest(w.answered - EXCLUDED.open, 0), error = EXCLUDED.error, wanted = now(), attempts = 0, worker = NULL, lease = NULL;
	IF forgotten > 0 THEN
		NOTIFY profstore_symbols;
	END IF;
	RETURN forgotten;
END
$$;
COMMENT ON FUNCTION profstore.forget_answers(text, text) IS 'removes wrong names and lines of a build from the caller''s mappings, so that its addresses are looked up again; returns the number of locations';
REVOKE EXECUTE ON FUNCTION profstore.forget_answers(text, text) FROM PUBLIC;

CREATE VIEW profstore.symbol_states WITH (security_barrier) AS
SELECT w.build_id, f.files, w.role,
	CASE WHEN w.lease > now() THEN 'working' WHEN w.open = 0 THEN 'done' WHEN w.tried IS NULL THEN 'new'
		WHEN w.answered > 0 THEN 'partly' ELSE 'missing' END AS state,
	w.open, w.answered, w.source, w.error, w.tried, CASE WHEN w.open > 0 THEN w.wanted END AS next_try
FROM profstore.symbol_work AS w,
	LATERAL (SELECT array_agg(m.file ORDER BY m.file) AS files FROM profstore.mappings AS m WHERE m.build_id = w.build_id AND m.role = w.role) AS f
WHERE w.role = current_user OR (SELECT profstore_internal.sees_all_series());
COMMENT ON VIEW profstore.symbol_states IS 'builds whose addresses had no lines when they were stored, with the state of their symbolization; builds of all roles if you see all series';
COMMENT ON COLUMN profstore.symbol_states.build_id IS 'hexadecimal';
COMMENT ON COLUMN profstore.symbol_states.files IS 'paths of its mappings';
COMMENT ON COLUMN profstore.symbol_states.role IS 'role that interned the mappings';
COMMENT ON COLUMN profstore.symbol_states.state IS 'new: not tried; working: claimed by a symbolizer; missing: no debug information found; partly: some addresses have none; done';
COMMENT ON COLUMN profstore.symbol_states.open IS 'addresses without lines, as of the last count';
COMMENT ON COLUMN profstore.symbol_states.answered IS 'better answers that symbolizers have stored';
COMMENT ON COLUMN profstore.symbol_states.source IS 'where debug information was found last';
COMMENT ON COLUMN profstore.symbol_states.error IS 'why the last attempt left addresses without lines';
COMMENT ON COLUMN profstore.symbol_states.tried IS 'end of the last attempt';
COMMENT ON COLUMN profstore.symbol_states.next_try IS 'time before which no symbolizer tries the build; null: no address is open';
GRANT SELECT ON profstore.symbol_states TO PUBLIC;

-- Views do not need this function: they merge functions with an equal key by themselves (tree/frames/unnamed_keys.h).
CREATE FUNCTION profstore.same_functions(build_id text, other_build_id text) RETURNS TABLE (file text, start text, other_start text, matched_by text)
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	WITH keys AS MATERIALIZED
		(SELECT DISTINCT m.build_id, substring(f.name FROM '^(.*)\+0x[0-9a-f]+$') AS file, substring(f.name FROM '\+(0x[0-9a-f]+)$') AS start, k.key[1] AS key
		 FROM profstore.mappings AS m
			JOIN profstore.locations AS l ON l.mapping = m.id
			JOIN profstore.functions AS f ON f.id = l.function_ids[1],
			regexp_matches(substring(f.system_name FROM '#([onb0-9a-f]+)$'), '[on][0-9a-f]{12}', 'g') AS k(key)
		 WHERE m.build_id IN (same_functions.build_id, other_build_id) AND l.lines[1] = -1)
	SELECT a.file, a.start, b.start, CASE max(left(a.key, 1)) WHEN 'o' THEN 'code' ELSE 'neighbours' END
	FROM keys AS a JOIN keys AS b ON b.key = a.key AND b.file = a.file
	WHERE a.build_id = same_functions.build_id AND b.build_id = other_build_id
	GROUP BY a.file, a.start, b.start ORDER BY a.file, length(a.start), a.start, length(b.start), b.start;
END;
COMMENT ON FUNCTION profstore.same_functions(text, text) IS 'functions without a symbol that two builds of a file have in common, among sampled ones: where each begins in both builds, and whether it was recognized by its own code or by that of its neighbours';
