-- Functions for writers. Interning functions take arrays and return an id for each element, in order; a repeated call
-- returns ids of equal content. They run as the extension's owner, and only grant_write grants them.

CREATE FUNCTION profstore_internal.begin_interning(caller text, VARIADIC arrays "any") RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_begin_interning';
COMMENT ON FUNCTION profstore_internal.begin_interning(text, "any") IS 'checks that arrays have equal length and no nulls; pins the epoch; makes the transaction''s commit wait for the disk';
REVOKE EXECUTE ON FUNCTION profstore_internal.begin_interning(text, "any") FROM PUBLIC;

CREATE FUNCTION profstore.parse_profile_type(profile_type text,
											 OUT name text, OUT sample_type text, OUT sample_unit text,
											 OUT period_type text, OUT period_unit text, OUT delta bool)
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	parts text[] := string_to_array(profile_type, ':');
BEGIN
	IF cardinality(parts) NOT IN (5, 6) OR coalesce(parts[6], 'delta') <> 'delta'
		OR profile_type !~ '^([^[:space:][:cntrl:]:{}",]{1,255}:){3}[^[:space:][:cntrl:]:{}",]{0,255}:[^[:space:][:cntrl:]:{}",]{0,255}(:delta)?$'
	THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('invalid profile type: "%s"', profile_type),
			HINT = 'A profile type has the form name:sample_type:sample_unit:period_type:period_unit[:delta].';
	END IF;
	name := parts[1];
	sample_type := parts[2];
	sample_unit := parts[3];
	period_type := parts[4];
	period_unit := parts[5];
	delta := cardinality(parts) = 6;
END
$$;
COMMENT ON FUNCTION profstore.parse_profile_type(text) IS 'parts of name:sample_type:sample_unit:period_type:period_unit[:delta]';

CREATE FUNCTION profstore.normalize_labels(labels jsonb) RETURNS jsonb
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_normalize_labels';
COMMENT ON FUNCTION profstore.normalize_labels(jsonb) IS 'checks a label set, and removes labels with an empty value, which means that they are absent';

-- Each function is one statement: it finds known content, stores the rest, and joins both in the order of the input. If another
-- transaction commits in between, equal content gets a second row. Functions that every batch calls are written in C.

CREATE FUNCTION profstore.intern_profile_types(profile_types text[]) RETURNS int4[]
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT profstore_internal.begin_interning('intern_profile_types', profile_types);

	WITH input AS MATERIALIZED
		(SELECT t.*, i.ord,
			(SELECT min(k.id) FROM profstore.profile_types AS k
			 WHERE (k.name, k.sample_type, k.sample_unit, k.period_type, k.period_unit, k.delta)
				 = (t.name, t.sample_type, t.sample_unit, t.period_type, t.period_unit, t.delta)) AS id
		 FROM unnest(profile_types) WITH ORDINALITY AS i(profile_type, ord),
			 profstore.parse_profile_type(i.profile_type) AS t),
	added AS
		(INSERT INTO profstore.profile_types (name, sample_type, sample_unit, period_type, period_unit, delta)
		 SELECT i.name, i.sample_type, i.sample_unit, i.period_type, i.period_unit, i.delta
		 FROM input AS i WHERE i.id IS NULL
		 GROUP BY i.name, i.sample_type, i.sample_unit, i.period_type, i.period_unit, i.delta ORDER BY min(i.ord)
		 RETURNING *)
	SELECT coalesce(array_agg(coalesce(i.id, a.id) ORDER BY i.ord), '{}')
	FROM input AS i
		LEFT JOIN added AS a ON (a.name, a.sample_type, a.sample_unit, a.period_type, a.period_unit, a.delta)
			= (i.name, i.sample_type, i.sample_unit, i.period_type, i.period_unit, i.delta);
END;
COMMENT ON FUNCTION profstore.intern_profile_types(text[]) IS 'ids of profile types given in their string form';
REVOKE EXECUTE ON FUNCTION profstore.intern_profile_types(text[]) FROM PUBLIC;

CREATE FUNCTION profstore.intern_series(profile_types text[], labels jsonb[], periods int8[]) RETURNS int4[]
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_intern_series';
COMMENT ON FUNCTION profstore.intern_series(text[], jsonb[], int8[]) IS 'ids of the caller''s series: profile type in its string form, labels, period';
REVOKE EXECUTE ON FUNCTION profstore.intern_series(text[], jsonb[], int8[]) FROM PUBLIC;

CREATE FUNCTION profstore_internal.check_series(series_ids int4[]) RETURNS void
	LANGUAGE c STABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_check_series';
COMMENT ON FUNCTION profstore_internal.check_series(int4[]) IS 'raises an error if another role than the caller''s has interned one of these series';
REVOKE EXECUTE ON FUNCTION profstore_internal.check_series(int4[]) FROM PUBLIC;

CREATE FUNCTION profstore.touch_series(series_ids int4[], first_time timestamptz, last_time timestamptz) RETURNS void
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_touch_series';
COMMENT ON FUNCTION profstore.touch_series(int4[], timestamptz, timestamptz) IS 'records that series of the caller have samples between these times; applied at commit, and takes no lock until then';
REVOKE EXECUTE ON FUNCTION profstore.touch_series(int4[], timestamptz, timestamptz) FROM PUBLIC;

CREATE FUNCTION profstore.touch_each_series(series_ids int4[], first_times timestamptz[], last_times timestamptz[]) RETURNS void
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_touch_each_series';
COMMENT ON FUNCTION profstore.touch_each_series(int4[], timestamptz[], timestamptz[]) IS 'like touch_series, with times for each series';
REVOKE EXECUTE ON FUNCTION profstore.touch_each_series(int4[], timestamptz[], timestamptz[]) FROM PUBLIC;

CREATE FUNCTION profstore.intern_mappings(build_ids text[], files text[]) RETURNS int4[]
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_intern_mappings';
COMMENT ON FUNCTION profstore.intern_mappings(text[], text[]) IS 'ids of the caller''s mappings';
REVOKE EXECUTE ON FUNCTION profstore.intern_mappings(text[], text[]) FROM PUBLIC;

CREATE FUNCTION profstore.intern_functions(names text[], system_names text[], filenames text[], start_lines int4[])
	RETURNS int4[]
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_intern_functions';
COMMENT ON FUNCTION profstore.intern_functions(text[], text[], text[], int4[]) IS 'ids of functions';
REVOKE EXECUTE ON FUNCTION profstore.intern_functions(text[], text[], text[], int4[]) FROM PUBLIC;

CREATE FUNCTION profstore_internal.answer_rank(lines int4[], has_build_id bool) RETURNS int4
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_answer_rank';
COMMENT ON FUNCTION profstore_internal.answer_rank(int4[], bool) IS 'rank of an answer, the symbols of an address; the greater one is better: 0 none, 1 the start of a function without a symbol (line -1), 2 a symbol, 3 lines or inlined calls';

-- If a location has a mapping and an address, the best of stored and new answers wins (dictionary/intern/answers.h). Mappings are the
-- caller's own, so it gets and changes only locations that its own role has stored.
CREATE FUNCTION profstore.intern_locations(mappings int4[], addresses int8[], line_counts int4[],
										   function_ids int4[], lines int4[])
	RETURNS int4[]
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_intern_locations';
COMMENT ON FUNCTION profstore.intern_locations(int4[], int8[], int4[], int4[], int4[]) IS 'ids of locations in the caller''s mappings, or in none; function_ids and lines hold line_counts[i] elements for each, innermost first; a stored one in a mapping gets a better answer when the transaction commits';
REVOKE EXECUTE ON FUNCTION profstore.intern_locations(int4[], int8[], int4[], int4[], int4[]) FROM PUBLIC;

CREATE FUNCTION profstore.intern_stacks(partition text, depths int4[], location_ids int4[]) RETURNS int8[]
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_intern_stacks';
COMMENT ON FUNCTION profstore.intern_stacks(text, int4[], int4[]) IS 'ids of stack traces in a dictionary partition; location_ids holds depths[i] elements for each, leaf first; depth 0 is stack 0';
REVOKE EXECUTE ON FUNCTION profstore.intern_stacks(text, int4[], int4[]) FROM PUBLIC;

CREATE FUNCTION profstore.intern_stacks_by_partition(partitions text[], stack_counts int4[], depths int4[], location_ids int4[])
	RETURNS int8[]
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_intern_stacks_by_partition';
COMMENT ON FUNCTION profstore.intern_stacks_by_partition(text[], int4[], int4[], int4[]) IS 'like intern_stacks, for several dictionary partitions: depths holds stack_counts[i] elements for each';
REVOKE EXECUTE ON FUNCTION profstore.intern_stacks_by_partition(text[], int4[], int4[], int4[]) FROM PUBLIC;

CREATE FUNCTION profstore.epoch() RETURNS int8
	LANGUAGE c VOLATILE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_epoch';
COMMENT ON FUNCTION profstore.epoch() IS 'the epoch under which ids are valid; it changes when ids are removed, in a restored database, and when a standby is promoted';
REVOKE EXECUTE ON FUNCTION profstore.epoch() FROM PUBLIC;

CREATE FUNCTION profstore.pin_epoch(epoch int8) RETURNS void
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_pin_epoch';
COMMENT ON FUNCTION profstore.pin_epoch(int8) IS 'keeps ids of that epoch valid until the transaction ends: call it before storing ids that another transaction has interned; SQLSTATE 55000 if the epoch has expired';
REVOKE EXECUTE ON FUNCTION profstore.pin_epoch(int8) FROM PUBLIC;

CREATE FUNCTION profstore.bump_epoch() RETURNS int8
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	UPDATE profstore.epoch SET ids = ids + 1;
	SELECT profstore.epoch();
END;
COMMENT ON FUNCTION profstore.bump_epoch() IS 'makes caches and writers discard all ids';
REVOKE EXECUTE ON FUNCTION profstore.bump_epoch() FROM PUBLIC;

CREATE FUNCTION profstore.bump_names() RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	UPDATE profstore.epoch SET names = names + 1;
END;
COMMENT ON FUNCTION profstore.bump_names() IS 'makes caches discard names; call it first in a transaction that changes stored locations, functions or mappings';
REVOKE EXECUTE ON FUNCTION profstore.bump_names() FROM PUBLIC;

CREATE FUNCTION profstore.begin_batch(writer uuid, batch int8, epoch int8) RETURNS bool
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	PERFORM profstore.pin_epoch(begin_batch.epoch);
	INSERT INTO profstore.writers AS w (writer, last_batch)
	VALUES (begin_batch.writer, begin_batch.batch)
	ON CONFLICT ON CONSTRAINT writers_pkey DO UPDATE
		SET last_batch = EXCLUDED.last_batch, last_seen = EXCLUDED.last_seen
		WHERE w.last_batch < EXCLUDED.last_batch AND w.role = EXCLUDED.role;
	IF FOUND THEN
		RETURN true;
	END IF;
	IF EXISTS (SELECT FROM profstore.writers AS w WHERE w.writer = begin_batch.writer AND w.role <> profstore.calling_role()) THEN
		-- the code is not that of a missing privilege, because the batch is wrong, and a collector must not wait for a grant
		RAISE invalid_parameter_value USING
			MESSAGE = format('writer %s belongs to another role', begin_batch.writer),
			HINT = 'Each writer chooses an id of its own, at random.';
	END IF;
	RETURN false;
END
$$;
COMMENT ON FUNCTION profstore.begin_batch(uuid, int8, int8) IS 'call it first in the transaction of a batch: false if the batch is stored already; SQLSTATE 55000 if the epoch under which its ids were interned has expired; locks the writer''s row until the end of the transaction; a writer belongs to one role';
REVOKE EXECUTE ON FUNCTION profstore.begin_batch(uuid, int8, int8) FROM PUBLIC;

-- If several transactions take a receipt, only one of them stores. The others wait for the first. Every call takes its receipts in one order, so
-- calls cannot deadlock. For each new receipt up to two old ones are deleted.
CREATE FUNCTION profstore.take_receipts(receipts uuid[]) RETURNS bool
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	taken int8;
BEGIN
	DELETE FROM profstore.receipts WHERE ctid = ANY (ARRAY
		(SELECT r.ctid FROM profstore.receipts AS r WHERE r.stored_at < now() - interval '1 hour' ORDER BY r.stored_at
		 LIMIT 2 * cardinality(take_receipts.receipts) FOR UPDATE SKIP LOCKED));
	INSERT INTO profstore.receipts (receipt) SELECT r FROM unnest(take_receipts.receipts) AS r ORDER BY r
	ON CONFLICT ON CONSTRAINT receipts_pkey DO NOTHING;
	GET DIAGNOSTICS taken = ROW_COUNT;
	RETURN taken = cardinality(take_receipts.receipts);
END
$$;
COMMENT ON FUNCTION profstore.take_receipts(uuid[]) IS 'call it in the transaction that stores data of clients: false if any of it was stored before, by any writer of the caller''s role; then roll the transaction back';
REVOKE EXECUTE ON FUNCTION profstore.take_receipts(uuid[]) FROM PUBLIC;

-- A protocol is the functions that a writer calls, with their arguments and order. A change that breaks older writers makes a
-- new one; functions of an older protocol are kept as long as it is listed here.
CREATE FUNCTION profstore.writer_protocols(OUT oldest int4, OUT newest int4)
	LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT 4, 4;
END;
COMMENT ON FUNCTION profstore.writer_protocols() IS 'writer protocols that this version of the extension serves: a collector whose protocol is not among them ends with an error';

-- Writers that grant_write() has restricted to the series of a selector.

CREATE TABLE profstore.bound_writers
(
	role     text COLLATE "C" PRIMARY KEY,
	selector text NOT NULL
);
REVOKE ALL ON profstore.bound_writers FROM PUBLIC;
COMMENT ON TABLE profstore.bound_writers IS 'writers that may store only series that match a selector';
COMMENT ON COLUMN profstore.bound_writers.role IS 'name of the role; its members are bound, too';
COMMENT ON COLUMN profstore.bound_writers.selector IS 'series that the role may store';
SELECT pg_extension_config_dump('profstore.bound_writers', '');

-- If a role is renamed, no row of bound_writers names it, but it keeps this privilege (dictionary/intern/bound_writer).
CREATE FUNCTION profstore_internal.bound_writer() RETURNS void
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT;
END;
COMMENT ON FUNCTION profstore_internal.bound_writer() IS 'does nothing: the privilege to execute it marks writers with a selector';
REVOKE EXECUTE ON FUNCTION profstore_internal.bound_writer() FROM PUBLIC;

CREATE FUNCTION profstore_internal.mark_bound_writer() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	-- a restored row may name a role that does not exist
	IF tg_op <> 'INSERT' AND to_regrole(quote_ident(OLD.role)) IS NOT NULL THEN
		EXECUTE format('REVOKE EXECUTE ON FUNCTION profstore_internal.bound_writer() FROM %I', OLD.role);
	END IF;
	IF tg_op <> 'DELETE' AND to_regrole(quote_ident(NEW.role)) IS NOT NULL THEN
		EXECUTE format('GRANT EXECUTE ON FUNCTION profstore_internal.bound_writer() TO %I', NEW.role);
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION profstore_internal.mark_bound_writer() IS 'trigger: keeps the privilege that marks writers with a selector';
REVOKE EXECUTE ON FUNCTION profstore_internal.mark_bound_writer() FROM PUBLIC;
CREATE TRIGGER mark AFTER INSERT OR UPDATE OF role OR DELETE ON profstore.bound_writers
	FOR EACH ROW EXECUTE FUNCTION profstore_internal.mark_bound_writer();
COMMENT ON TRIGGER mark ON profstore.bound_writers IS 'marks writers with a selector by a privilege';

CREATE FUNCTION profstore_internal.series_in_bounds(series_ids int4[], writer text) RETURNS bool
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	bound record;
	outside int4[] := series_ids;
BEGIN
	FOR bound IN
		SELECT b.selector FROM profstore.bound_writers AS b JOIN pg_roles AS a ON a.rolname = b.role WHERE pg_has_role(writer::name, a.oid, 'USAGE')
	LOOP
		outside := ARRAY(SELECT o.id FROM unnest(outside) AS o(id) WHERE o.id NOT IN (SELECT m.series_id FROM profstore.matching_series(bound.selector) AS m));
	END LOOP;
	RETURN outside = '{}';
END
$$;
COMMENT ON FUNCTION profstore_internal.series_in_bounds(int4[], text) IS 'whether each of these series matches one of the selectors of a writer';
REVOKE EXECUTE ON FUNCTION profstore_internal.series_in_bounds(int4[], text) FROM PUBLIC;

CREATE FUNCTION profstore_internal.require_proven(series_ids int4[], stack_ids int8[]) RETURNS void
	LANGUAGE c STABLE STRICT PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_require_proven';
COMMENT ON FUNCTION profstore_internal.require_proven(int4[], int8[]) IS 'raises an error if the caller is a writer with a selector, and one of these ids was not returned to it in this session';
REVOKE EXECUTE ON FUNCTION profstore_internal.require_proven(int4[], int8[]) FROM PUBLIC;
