-- Collection of rows without references. A row is removed in two runs. The first run condemns it and begins a new epoch, under
-- which interning does not return the row. A later run removes the row, if all transactions that pinned earlier epochs have
-- ended and still nothing refers to it. So nobody waits, and no id is removed that a transaction may still store.

CREATE FUNCTION profstore_internal.referenced_by_tables(tables oid[], stack_columns name[], OUT partitions bytea, OUT series bytea)
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_referenced_by_tables';
COMMENT ON FUNCTION profstore_internal.referenced_by_tables(oid[], name[]) IS 'bitmaps of dictionary partitions and series that rows of these tables, and of their partitions, refer to; NULL: a lock is not available';
REVOKE EXECUTE ON FUNCTION profstore_internal.referenced_by_tables(oid[], name[]) FROM PUBLIC;

CREATE FUNCTION profstore_internal.referenced_by_tables(tables oid[], stack_columns name[], greatest_partition int4, greatest_series int4,
	OUT partitions bytea, OUT series bytea)
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_referenced_by_tables';
COMMENT ON FUNCTION profstore_internal.referenced_by_tables(oid[], name[], int4, int4) IS 'bitmaps of dictionary partitions and series, up to these ids, that rows of these tables refer to; for nodes of distributed samples, because the dictionary is on the coordinator';
REVOKE EXECUTE ON FUNCTION profstore_internal.referenced_by_tables(oid[], name[], int4, int4) FROM PUBLIC;

CREATE FUNCTION profstore_internal.join_bitmaps(one bytea, other bytea) RETURNS bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_join_bitmaps';
COMMENT ON FUNCTION profstore_internal.join_bitmaps(bytea, bytea) IS 'a bitmap with all bits that are set in either bitmap';
REVOKE EXECUTE ON FUNCTION profstore_internal.join_bitmaps(bytea, bytea) FROM PUBLIC;

CREATE FUNCTION profstore_internal.referenced_by_stacks() RETURNS bytea
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_referenced_by_stacks';
COMMENT ON FUNCTION profstore_internal.referenced_by_stacks() IS 'bitmap of locations that nodes of the stack tree refer to';
REVOKE EXECUTE ON FUNCTION profstore_internal.referenced_by_stacks() FROM PUBLIC;

CREATE FUNCTION profstore_internal.referenced_by_locations(OUT functions bytea, OUT mappings bytea)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_referenced_by_locations';
COMMENT ON FUNCTION profstore_internal.referenced_by_locations() IS 'bitmaps of functions and mappings that locations refer to';
REVOKE EXECUTE ON FUNCTION profstore_internal.referenced_by_locations() FROM PUBLIC;

CREATE FUNCTION profstore_internal.condemn_sealed(names text, referenced bytea) RETURNS int8
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_condemn_sealed';
COMMENT ON FUNCTION profstore_internal.condemn_sealed(text, bytea) IS 'moves packed functions or locations that a bitmap lacks to the young rows, condemned; returns how many; the caller must hold the lock on the row of the epoch';
REVOKE EXECUTE ON FUNCTION profstore_internal.condemn_sealed(text, bytea) FROM PUBLIC;

CREATE FUNCTION profstore_internal.has_id(ids bytea, id int4) RETURNS bool
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN CASE WHEN id < 8::int8 * octet_length(ids) THEN get_bit(ids, id::int8) = 1 ELSE false END;
COMMENT ON FUNCTION profstore_internal.has_id(bytea, int4) IS 'true if an id is in a bitmap';

CREATE FUNCTION profstore_internal.begin_dictionary_upkeep() RETURNS bool
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_begin_dictionary_upkeep';
COMMENT ON FUNCTION profstore_internal.begin_dictionary_upkeep() IS 'prevents other transactions from moving or removing rows of the dictionary; false: one is doing so';
REVOKE EXECUTE ON FUNCTION profstore_internal.begin_dictionary_upkeep() FROM PUBLIC;

CREATE FUNCTION profstore.compact_dictionary(max_partitions int4 DEFAULT NULL) RETURNS int8
	LANGUAGE c VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_compact_dictionary';
COMMENT ON FUNCTION profstore.compact_dictionary(int4) IS 'merges small chunks of the stack tree, and packs functions and locations; returns how many chunks it merged; compact() calls it for samples';
REVOKE EXECUTE ON FUNCTION profstore.compact_dictionary(int4) FROM PUBLIC;

CREATE FUNCTION profstore_internal.is_epoch_pinned_before() RETURNS bool
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	SELECT EXISTS (SELECT FROM pg_catalog.pg_locks AS l, profstore.epoch AS e
		WHERE l.locktype = 'object' AND l.classid = 'profstore.epoch'::regclass
			AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
			AND l.objid <> (e.ids & 4294967295)::oid);
END;
REVOKE EXECUTE ON FUNCTION profstore_internal.is_epoch_pinned_before() FROM PUBLIC;
COMMENT ON FUNCTION profstore_internal.is_epoch_pinned_before() IS 'true if a running transaction has pinned another epoch than the present one';

CREATE FUNCTION profstore.collect_dictionary(min_age interval DEFAULT '1 hour')
	RETURNS TABLE (relation regclass, removed int8, condemned int8)
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS
$$
#variable_conflict use_column
DECLARE
	kinds name[] := '{dictionary_partitions,series,locations,functions,mappings}';
	-- a young row may still wait for its first sample; condemning it would only make its writer intern it again
	ages text[] := array['t.created < $2', 'greatest(t.last_seen, t.interned) < $2', 'true', 'true', 'true'];
	bitmaps bytea[];
	stored regclass; -- where rows of the kind that may be condemned are
	gone int4[];
	any_removed bool := false;
	any_condemned bool := false;
BEGIN
	IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
		RAISE feature_not_supported USING
			MESSAGE = 'cannot collect the dictionary in a REPEATABLE READ or SERIALIZABLE transaction',
			HINT = 'Use READ COMMITTED.';
	END IF;
	IF NOT profstore_internal.begin_dictionary_upkeep() THEN
		RETURN;
	END IF;
	IF (SELECT e.condemned_by = pg_current_xact_id() FROM profstore.epoch AS e)
		OR (SELECT e.condemned_by IS NOT NULL AND profstore_internal.is_epoch_pinned_before() FROM profstore.epoch AS e)
	THEN
		RAISE NOTICE USING
			MESSAGE = 'skipping the collection of the dictionary: a transaction from before the last collection is still running',
			HINT = 'Collect again later.';
		RETURN;
	END IF;

	SELECT array[r.partitions, r.series] INTO bitmaps
	FROM (SELECT array_agg(s.relation::oid) AS tables, array_agg(s.column_name) AS columns FROM profstore.stack_references() AS s
		  WHERE NOT profstore_internal.is_spread(s.relation)) AS s,
		profstore_internal.referenced_by_tables(s.tables, s.columns) AS r;
	IF bitmaps[1] IS NULL THEN
		RETURN;
	END IF;
	IF profstore_internal.is_spread('profstore.samples') THEN
		SELECT array[profstore_internal.join_bitmaps(bitmaps[1], r.partitions), profstore_internal.join_bitmaps(bitmaps[2], r.series)] INTO bitmaps
		FROM profstore_internal.referenced_by_shards() AS r;
		IF bitmaps[1] IS NULL THEN
			RETURN;
		END IF;
	END IF;
	-- lock the epoch before the rows, because writers that wait for the epoch hold locks on rows
	BEGIN
		PERFORM FROM profstore.epoch FOR UPDATE;
	EXCEPTION WHEN lock_not_available THEN
		RAISE NOTICE USING
			MESSAGE = 'skipping the collection of the dictionary: another transaction has changed names and is still running',
			HINT = 'Collect again later.';
		RETURN;
	END;
	FOR kind IN 1 .. cardinality(kinds) LOOP
		relation := 'profstore.' || kinds[kind];
		stored := CASE kinds[kind] WHEN 'locations' THEN 'profstore.location_rows' WHEN 'functions' THEN 'profstore.function_rows'
			ELSE relation END;
		IF kinds[kind] = 'locations' THEN
			bitmaps[kind] := profstore_internal.referenced_by_stacks();
		ELSIF kinds[kind] = 'functions' THEN
			SELECT bitmaps || array[r.functions, r.mappings] INTO bitmaps FROM profstore_internal.referenced_by_locations() AS r;
		END IF;

		EXECUTE format('WITH gone AS (DELETE FROM %s AS t WHERE t.condemned AND NOT profstore_internal.has_id($1, t.id) RETURNING t.id) SELECT coalesce(array_agg(id), ''{}'') FROM gone',
			stored) INTO gone USING bitmaps[kind];
		removed := cardinality(gone);
		IF kinds[kind] = 'dictionary_partitions' THEN
			DELETE FROM profstore.stack_chunks AS c WHERE c.partition_id = ANY (gone);
		ELSIF kinds[kind] = 'series' THEN
			DELETE FROM profstore.file_notes AS n WHERE n.series_id = ANY (gone);
		END IF;
		-- rows that are referred to again were stored by transactions that began before the rows were condemned
		EXECUTE format('UPDATE %s SET condemned = false WHERE condemned', stored);

		EXECUTE format('UPDATE %1$s SET condemned = true WHERE id IN (SELECT t.id FROM %1$s AS t WHERE NOT t.condemned AND %2$s AND NOT profstore_internal.has_id($1, t.id) FOR UPDATE SKIP LOCKED)',
			stored, ages[kind]) USING bitmaps[kind], now() - min_age;
		GET DIAGNOSTICS condemned = ROW_COUNT;
		IF kinds[kind] IN ('locations', 'functions') THEN
			condemned := condemned + profstore_internal.condemn_sealed(kinds[kind], bitmaps[kind]);
		END IF;
		any_removed := any_removed OR removed > 0;
		any_condemned := any_condemned OR condemned > 0;
		RETURN NEXT;
	END LOOP;
	UPDATE profstore.epoch AS e
	SET ids = e.ids + any_condemned::int4, removals = e.removals + any_removed::int4,
		condemned_by = CASE WHEN any_condemned THEN pg_current_xact_id() END,
		collected = now();
END
$$;
COMMENT ON FUNCTION profstore.collect_dictionary(interval) IS 'removes condemned rows of the dictionary that still have no reference, and condemns rows older than min_age that nothing refers to now; does nothing, with a NOTICE, if it would have to wait for a lock';
REVOKE EXECUTE ON FUNCTION profstore.collect_dictionary(interval) FROM PUBLIC;

CREATE FUNCTION profstore_internal.is_collection_due() RETURNS bool
	LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT e.collected < now() - CASE WHEN e.condemned_by IS NULL THEN interval '1 day' ELSE interval '1 hour' END
	FROM profstore.epoch AS e;
END;
COMMENT ON FUNCTION profstore_internal.is_collection_due() IS 'true if the last collect_dictionary() is a day ago, or an hour ago if it left condemned rows';
REVOKE EXECUTE ON FUNCTION profstore_internal.is_collection_due() FROM PUBLIC;
