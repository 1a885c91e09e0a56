-- Retention: old samples become sums by the minute, then by the hour, and are then removed.

CREATE TABLE profstore.samples_minute (LIKE profstore.samples) PARTITION BY RANGE (time);
COMMENT ON TABLE profstore.samples_minute IS 'sums of old samples by the minute; partitioned by UTC day (samples_minute_YYYYMMDD)';

CREATE TABLE profstore.samples_hour (LIKE profstore.samples) PARTITION BY RANGE (time);
COMMENT ON TABLE profstore.samples_hour IS 'sums of old samples by the hour; partitioned by UTC month (samples_hour_YYYYMM)';

DO
$$
DECLARE
	tier text;
BEGIN
	FOREACH tier IN ARRAY '{samples_minute,samples_hour}'::text[] LOOP
		EXECUTE format('COMMENT ON COLUMN profstore.%s.time IS ''start of the bucket''', tier);
		EXECUTE format('COMMENT ON COLUMN profstore.%s.series_id IS ''id in series''', tier);
		EXECUTE format('COMMENT ON COLUMN profstore.%s.stack_id IS ''id in stacks of the leaf frame, 0 for the empty stack; negative, in series of instant types, for a scrape: -1 - microseconds after the start of the bucket''', tier);
		EXECUTE format('COMMENT ON COLUMN profstore.%s.value IS ''sum over the bucket, over all scrapes in it for instant types; 0 for a scrape''', tier);
	END LOOP;
END
$$;

CREATE TABLE profstore.retention
(
	one    bool PRIMARY KEY DEFAULT true CHECK (one),
	raw    interval,
	minute interval,
	hour   interval
);
COMMENT ON TABLE profstore.retention IS 'how long samples and their sums are kept; no row: for ever. Change it with set_retention';
COMMENT ON COLUMN profstore.retention.one IS 'always true, which limits the table to one row';
COMMENT ON COLUMN profstore.retention.raw IS 'age up to which samples are kept as they are, in whole UTC days; NULL: for ever';
COMMENT ON COLUMN profstore.retention.minute IS 'age up to which sums by the minute are kept; NULL: none are made';
COMMENT ON COLUMN profstore.retention.hour IS 'age up to which sums by the hour are kept; NULL: none are made';
SELECT pg_extension_config_dump('profstore.retention', '');

CREATE TABLE profstore.retention_log
(
	time     timestamptz NOT NULL DEFAULT clock_timestamp(),
	relation text NOT NULL,
	action   text NOT NULL CHECK (action IN ('minute', 'hour', 'drop', 'empty')),
	rows     int8 NOT NULL,
	sums     int8
);
COMMENT ON TABLE profstore.retention_log IS 'actions of retention; entries are kept for a year';
COMMENT ON COLUMN profstore.retention_log.time IS 'time of the action';
COMMENT ON COLUMN profstore.retention_log.relation IS 'name of the partition';
COMMENT ON COLUMN profstore.retention_log.action IS 'minute, hour: rows were replaced by sums in that tier; drop: rows were removed; empty: a partition without rows was dropped';
COMMENT ON COLUMN profstore.retention_log.rows IS 'number of rows that the action removed from the partition';
COMMENT ON COLUMN profstore.retention_log.sums IS 'number of sums that replaced these rows in the tier; NULL for drop and empty';
SELECT pg_extension_config_dump('profstore.retention_log', '');

CREATE FUNCTION profstore.set_retention(raw interval, minute interval DEFAULT NULL, hour interval DEFAULT NULL) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS
$$
DECLARE
	name text;
	length interval;
BEGIN
	FOR name, length IN VALUES ('raw', set_retention.raw), ('minute', set_retention.minute), ('hour', set_retention.hour)
	LOOP
		IF length <= interval '0' THEN
			RAISE invalid_parameter_value USING
				MESSAGE = format('%s must be greater than zero', name),
				DETAIL = format('It is %s.', length),
				HINT = CASE name WHEN 'raw' THEN 'NULL keeps samples for ever.' ELSE format('NULL makes no sums by the %s.', name) END;
		END IF;
	END LOOP;
	IF set_retention.raw IS NULL AND coalesce(set_retention.minute, set_retention.hour) IS NOT NULL THEN
		RAISE invalid_parameter_value USING
			MESSAGE = 'minute and hour require a limit on the age of samples, but raw is NULL',
			HINT = 'Pass raw, the time for which samples are kept unchanged.';
	ELSIF set_retention.raw > set_retention.minute OR greatest(set_retention.raw, set_retention.minute) > set_retention.hour THEN
		RAISE invalid_parameter_value USING
			MESSAGE = 'a coarser tier must be kept at least as long as a finer one',
			DETAIL = format('raw is %s, minute %s, hour %s.', set_retention.raw, coalesce(set_retention.minute::text, 'NULL'), coalesce(set_retention.hour::text, 'NULL'));
	END IF;
	INSERT INTO profstore.retention AS r (raw, minute, hour) VALUES (set_retention.raw, set_retention.minute, set_retention.hour)
	ON CONFLICT ON CONSTRAINT retention_pkey DO UPDATE SET raw = EXCLUDED.raw, minute = EXCLUDED.minute, hour = EXCLUDED.hour;
END
$$;
COMMENT ON FUNCTION profstore.set_retention(interval, interval, interval) IS 'how long samples are kept as they are (NULL: for ever), and their sums by the minute and by the hour (NULL: none are made)';
REVOKE EXECUTE ON FUNCTION profstore.set_retention(interval, interval, interval) FROM PUBLIC;

-- Parses a partition's bounds from the text of pg_get_expr(), under settings that make it unambiguous. pg_get_expr() gets 0 for the table's OID,
-- which the expression does not need, so it waits for no lock.
CREATE FUNCTION profstore.partitions()
	RETURNS TABLE (parent regclass, relation regclass, from_ts timestamptz, to_ts timestamptz)
	LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' SET timezone = 'UTC' AS
$$
	SELECT i.inhparent::regclass, c.oid::regclass,
		coalesce(substring(b.bound FROM $re$FROM \('([^']*)'\)$re$)::timestamptz, '-infinity'),
		coalesce(substring(b.bound FROM $re$TO \('([^']*)'\)$re$)::timestamptz, 'infinity')
	FROM pg_catalog.pg_inherits AS i
		JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid,
		pg_catalog.pg_get_expr(c.relpartbound, 0) AS b(bound)
	WHERE i.inhparent IN ('profstore.samples'::regclass, 'profstore.samples_minute'::regclass, 'profstore.samples_hour'::regclass, 'profstore.trace_samples'::regclass)
	ORDER BY 1, 3;
$$;
COMMENT ON FUNCTION profstore.partitions() IS 'partitions of samples, of its tiers and of traces, with the times that they hold';

CREATE FUNCTION profstore_internal.move_to_tier(part regclass, tier text, OUT segments int8, OUT rows int8, OUT sums int8)
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_move_to_tier';
COMMENT ON FUNCTION profstore_internal.move_to_tier(regclass, text) IS 'replaces the rows of a partition by their sums in a tier (minute or hour), but does not drop the partition; returns NULL if another session locks the partition, or if it is not a columnar table';
REVOKE EXECUTE ON FUNCTION profstore_internal.move_to_tier(regclass, text) FROM PUBLIC;

CREATE FUNCTION profstore_internal.remove_segments(rel regclass, before timestamptz, OUT segments int8, OUT rows int8)
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_remove_segments';
COMMENT ON FUNCTION profstore_internal.remove_segments(regclass, timestamptz) IS 'removes segments of a table that lie wholly before a time; returns NULL if another session locks the table, or if it is not a columnar table';
REVOKE EXECUTE ON FUNCTION profstore_internal.remove_segments(regclass, timestamptz) FROM PUBLIC;

CREATE FUNCTION profstore_internal.require_local(rel regclass, what text) RETURNS void
	LANGUAGE c STABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_require_local';
COMMENT ON FUNCTION profstore_internal.require_local(regclass, text) IS 'an error if Citus has distributed a table: its rows are in shards, which the caller would miss';
REVOKE EXECUTE ON FUNCTION profstore_internal.require_local(regclass, text) FROM PUBLIC;

CREATE FUNCTION profstore_internal.is_vacated(rel regclass) RETURNS bool
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_is_vacated';
COMMENT ON FUNCTION profstore_internal.is_vacated(regclass) IS 'whether no transaction, however old its snapshot, can see a row of a table';
REVOKE EXECUTE ON FUNCTION profstore_internal.is_vacated(regclass) FROM PUBLIC;

CREATE FUNCTION profstore_internal.check_partition(part regclass) RETURNS regclass
	LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	parent regclass;
BEGIN
	SELECT i.inhparent INTO parent FROM pg_inherits AS i WHERE i.inhrelid = part;
	IF parent IN ('profstore.samples'::regclass, 'profstore.samples_minute'::regclass, 'profstore.samples_hour'::regclass, 'profstore.trace_samples'::regclass) THEN
		RETURN parent;
	END IF;
	RAISE wrong_object_type USING MESSAGE = format('"%s" is not a partition of samples or of one of its tiers', part);
END
$$;
COMMENT ON FUNCTION profstore_internal.check_partition(regclass) IS 'the parent of a partition of samples, of a tier or of traces; an error for any other table';
REVOKE EXECUTE ON FUNCTION profstore_internal.check_partition(regclass) FROM PUBLIC;

CREATE FUNCTION profstore_internal.is_foreign(part regclass) RETURNS bool
	LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT c.relkind = 'f' FROM pg_class AS c WHERE c.oid = part;
END;
COMMENT ON FUNCTION profstore_internal.is_foreign(regclass) IS 'whether a partition is a foreign table, whose rows are elsewhere';
REVOKE EXECUTE ON FUNCTION profstore_internal.is_foreign(regclass) FROM PUBLIC;

-- Counting reads all rows, or asks nodes, so it precedes the lock for which all other sessions wait. Until the transaction ends, only writers wait:
-- those to this partition, or, because COPY of Citus locks no partition, those to the distributed table.
CREATE FUNCTION profstore_internal.count_under_lock(part regclass, OUT rows int8)
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms' AS
$$
DECLARE
	spread bool := profstore_internal.is_spread(part);
BEGIN
	BEGIN
		IF spread THEN
			PERFORM profstore_internal.lock_here(profstore_internal.check_partition(part), 'SHARE ROW EXCLUSIVE');
		ELSE
			EXECUTE format('LOCK TABLE ONLY %s IN SHARE MODE', part);
		END IF;
	EXCEPTION
		WHEN lock_not_available THEN
			RAISE NOTICE 'partition % is not dropped yet: its lock is taken', part;
			RETURN;
	END;
	IF spread THEN
		rows := profstore_internal.count_stored(part);
	ELSE
		EXECUTE format('SELECT count(*) FROM ONLY %s', part) INTO rows;
	END IF;
END
$$;
COMMENT ON FUNCTION profstore_internal.count_under_lock(regclass) IS 'locks a heap partition (such as those of traces) or a distributed one, so that its number of rows cannot change until the transaction ends, and returns that number; NULL: the lock is not available';
REVOKE EXECUTE ON FUNCTION profstore_internal.count_under_lock(regclass) FROM PUBLIC;

-- Any role with USAGE on the schema can make views, functions and columns that depend on a partition. These must keep neither its rows nor its
-- name, so the emptied table is renamed and detached, and drop_put_aside() drops it later. Triggers of a partition that another role has attached
-- must not run as the owner of the extension.
CREATE FUNCTION profstore_internal.put_aside(part regclass, parent regclass) RETURNS regclass
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	name text := part::text;
	index regclass;
BEGIN
	EXECUTE format('ALTER TABLE %s DETACH PARTITION %s', parent, part);
	EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', part);
	EXECUTE format('TRUNCATE TABLE ONLY %s', part);
	FOR index IN SELECT i.indexrelid FROM pg_index AS i WHERE i.indrelid = part AND NOT EXISTS (SELECT FROM pg_constraint AS c WHERE c.conindid = i.indexrelid)
	LOOP
		EXECUTE format('DROP INDEX %s', index);
	END LOOP;
	EXECUTE format('ALTER TABLE %s OWNER TO CURRENT_USER', part);
	EXECUTE format('ALTER TABLE %s RENAME TO %I', part,
		format('%s_%s', left((SELECT c.relname FROM pg_class AS c WHERE c.oid = part), 30), replace(gen_random_uuid()::text, '-', '')));
	EXECUTE format('ALTER TABLE %s SET SCHEMA profstore_internal', part);
	EXECUTE format('COMMENT ON TABLE %s IS %L', part, format('empty, and no partition: objects of others still depend on what was %s', name));
	RETURN part;
END
$$;
COMMENT ON FUNCTION profstore_internal.put_aside(regclass, regclass) IS 'detaches a partition that others depend on, whose locks are held, empties it, and moves it to the schema profstore_internal under a new name';
REVOKE EXECUTE ON FUNCTION profstore_internal.put_aside(regclass, regclass) FROM PUBLIC;

CREATE FUNCTION profstore_internal.drop_put_aside() RETURNS int4
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	name text; -- not a regclass: one that has gone would be written as a number
	dropped int4 := 0;
BEGIN
	FOR name IN
		SELECT c.relname FROM pg_class AS c
		WHERE c.relnamespace = 'profstore_internal'::regnamespace AND c.relkind = 'r' AND c.relname ~ '_[0-9a-f]{32}$'
			AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
		ORDER BY c.oid
	LOOP
		BEGIN
			EXECUTE format('LOCK TABLE profstore_internal.%I IN ACCESS EXCLUSIVE MODE NOWAIT', name);
			EXECUTE format('DROP TABLE profstore_internal.%I', name);
			dropped := dropped + 1;
		EXCEPTION WHEN lock_not_available OR dependent_objects_still_exist OR undefined_table THEN
			NULL;
		END;
	END LOOP;
	RETURN dropped;
END
$$;
COMMENT ON FUNCTION profstore_internal.drop_put_aside() IS 'drops tables that put_aside has left, if nothing depends on them any more; returns how many';
REVOKE EXECUTE ON FUNCTION profstore_internal.drop_put_aside() FROM PUBLIC;

-- Drops a partition, under a lock for which every other session waits, so the wait for that lock is kept short; the lock on the parent comes
-- first, as in all other functions. An emptied partition is dropped only when no old snapshot can miss its former rows. A caller that drops
-- several heap or distributed partitions counts the rows of all of them first (counted; -1: this is the only one), and has locked distributed ones.
-- Nodes are asked before that lock, under one for which only writers wait.
CREATE FUNCTION profstore_internal.drop_partition(part regclass, emptied bool, counted int8 DEFAULT -1, OUT done bool, OUT blocked bool, OUT rows int8)
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms' AS
$$
DECLARE
	name text := part::text;
	parent regclass := profstore_internal.check_partition(part);
	has_segments bool := profstore.storage_id(part) IS NOT NULL;
	dependents text;
	aside regclass;
	spread bool := profstore_internal.is_spread(part);
BEGIN
	IF NOT spread THEN
		PERFORM profstore_internal.require_local(part, 'drop');
	END IF;
	IF profstore_internal.is_foreign(part) THEN
		RAISE feature_not_supported USING
			MESSAGE = format('cannot drop partition %s: it is a foreign table', name),
			HINT = format('Detach it: ALTER TABLE %s DETACH PARTITION %s.', parent, part);
	END IF;
	done := false;
	blocked := false;
	rows := 0;
	BEGIN
		IF emptied AND NOT profstore_internal.are_vacated(part) THEN
			RAISE NOTICE 'partition % is not dropped yet: late rows were added, or an older transaction may still read it', name;
			RETURN;
		END IF;
		IF spread OR NOT has_segments THEN
			rows := CASE WHEN counted < 0 THEN profstore_internal.count_under_lock(part) ELSE counted END;
			IF rows IS NULL THEN
				blocked := true;
				rows := 0;
				RETURN;
			END IF;
		END IF;
		IF emptied AND spread AND NOT profstore_internal.are_vacated(part) THEN
			RAISE NOTICE 'partition % is not dropped yet: late rows were added', name;
			RETURN;
		END IF;
		IF spread AND counted < 0 AND profstore_internal.lock_spread(ARRAY[part]) = '{}' THEN
			blocked := true;
			rows := 0;
			RETURN;
		END IF;
		PERFORM profstore_internal.lock_here(parent, 'ACCESS EXCLUSIVE');
		PERFORM profstore_internal.lock_here(part, 'ACCESS EXCLUSIVE');
		IF emptied AND NOT spread AND NOT profstore_internal.is_vacated(part) THEN
			RAISE NOTICE 'partition % is not dropped yet: late rows were added', name;
			RETURN;
		END IF;
		IF has_segments AND NOT spread THEN
			rows := profstore_internal.count_stored(part);
		END IF;
		BEGIN
			EXECUTE format('DROP TABLE %s', part);
		EXCEPTION
			WHEN dependent_objects_still_exist THEN
				GET STACKED DIAGNOSTICS dependents = PG_EXCEPTION_DETAIL;
				aside := profstore_internal.put_aside(part, parent);
				RAISE WARNING USING
					MESSAGE = format('partition %s was emptied and detached, but its table cannot be dropped', name),
					DETAIL = dependents,
					HINT = format('Drop these objects; retention then drops the empty table %s.', aside);
		END;
		INSERT INTO profstore.retention_log (relation, action, rows)
		VALUES (name, CASE WHEN emptied THEN 'empty' ELSE 'drop' END, drop_partition.rows);
		done := true;
	EXCEPTION
		WHEN lock_not_available THEN
			blocked := true;
			rows := 0;
			RAISE NOTICE 'partition % is not dropped yet: its lock is taken', name;
	END;
END
$$;
COMMENT ON FUNCTION profstore_internal.drop_partition(regclass, bool, int8) IS 'drops a partition, if its locks are available and, if it was emptied, no snapshot can miss its rows; if other objects depend on its table, an empty table stays for them in profstore_internal';
REVOKE EXECUTE ON FUNCTION profstore_internal.drop_partition(regclass, bool, int8) FROM PUBLIC;

CREATE FUNCTION profstore_internal.retention_steps()
	RETURNS TABLE (relation regclass, action text, before timestamptz)
	LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
BEGIN ATOMIC
	WITH cut AS
		(SELECT CASE p.parent WHEN 'profstore.samples'::regclass THEN now() - r.raw
					WHEN 'profstore.trace_samples'::regclass THEN now() - r.raw
					WHEN 'profstore.samples_minute'::regclass THEN now() - r.minute
					ELSE now() - r.hour END AS before,
			CASE WHEN p.parent = 'profstore.samples'::regclass AND r.minute IS NOT NULL THEN 'minute'
				WHEN p.parent = 'profstore.trace_samples'::regclass THEN 'drop'
				WHEN p.parent <> 'profstore.samples_hour'::regclass AND r.hour IS NOT NULL THEN 'hour'
				ELSE 'drop' END AS action,
			p.*
		 FROM profstore.retention AS r, profstore.partitions() AS p)
	SELECT c.relation, CASE WHEN c.to_ts <= c.before THEN c.action ELSE 'trim' END, c.before
	FROM cut AS c
	WHERE c.to_ts <= c.before OR (c.from_ts < c.before AND c.parent = 'profstore.samples_hour'::regclass)
	ORDER BY c.parent = 'profstore.samples'::regclass, c.to_ts;
END;
COMMENT ON FUNCTION profstore_internal.retention_steps() IS 'partitions that are due, and the action for each; trim: removes only the segments that are due';
REVOKE EXECUTE ON FUNCTION profstore_internal.retention_steps() FROM PUBLIC;

CREATE FUNCTION profstore_internal.retain(part regclass, action text, before timestamptz, OUT done bool, OUT rows int8)
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	parent regclass := profstore_internal.check_partition(part);
	made int8;
BEGIN
	IF parent = 'profstore.trace_samples'::regclass THEN
		EXECUTE format('DELETE FROM ONLY %s WHERE time < $1', part) USING before;
		GET DIAGNOSTICS rows = ROW_COUNT;
		done := true;
	ELSIF profstore_internal.is_spread(part) THEN
		SELECT s.done, s.rows, s.sums INTO done, rows, made FROM profstore_internal.retain_shards(part, action, before) AS s;
	ELSIF action = 'trim' THEN
		SELECT r.rows IS NOT NULL, coalesce(r.rows, 0) INTO done, rows FROM profstore_internal.remove_segments(part, before) AS r;
	ELSE
		SELECT m.rows IS NOT NULL, coalesce(m.rows, 0), m.sums INTO done, rows, made FROM profstore_internal.move_to_tier(part, action) AS m;
		IF parent = 'profstore.samples'::regclass AND done THEN
			PERFORM profstore_internal.forget_traces(part);
		END IF;
	END IF;
	IF rows > 0 THEN
		INSERT INTO profstore.retention_log (relation, action, rows, sums)
		VALUES (part::text, CASE action WHEN 'trim' THEN 'drop' ELSE retain.action END, retain.rows, made);
	END IF;
	DELETE FROM profstore.retention_log AS l WHERE l.time < now() - interval '1 year';
END
$$;
COMMENT ON FUNCTION profstore_internal.retain(regclass, text, timestamptz) IS 'does a step of retention, and logs it; done is false if a lock was taken or a node failed: then rows are those that were removed in spite of this';
REVOKE EXECUTE ON FUNCTION profstore_internal.retain(regclass, text, timestamptz) FROM PUBLIC;

CREATE PROCEDURE profstore.apply_retention()
	LANGUAGE c AS 'MODULE_PATHNAME', 'profstore_apply_retention';
COMMENT ON PROCEDURE profstore.apply_retention() IS 'applies the settings of set_retention, in short transactions: sums old samples into the tiers, drops old sums, then collects the dictionary; called by the background worker, otherwise call it from cron';
REVOKE EXECUTE ON PROCEDURE profstore.apply_retention() FROM PUBLIC;

CREATE FUNCTION profstore_internal.trim_before(part regclass, before timestamptz) RETURNS TABLE (relation text, dropped bool, rows int8)
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	done bool;
BEGIN
	SELECT r.done, r.rows INTO done, rows FROM profstore_internal.retain(part, 'trim', before) AS r;
	IF NOT done THEN
		RAISE WARNING USING
			MESSAGE = format('partition %s still has rows before %s', part, before),
			HINT = 'Call profstore.drop_before() again when the cause that the preceding message gives is removed.';
	END IF;
	IF rows > 0 OR NOT done THEN
		relation := part::text;
		dropped := false;
		RETURN NEXT;
	END IF;
END
$$;
COMMENT ON FUNCTION profstore_internal.trim_before(regclass, timestamptz) IS 'removes the segments of a partition, or rows of traces, that lie before a time, for drop_before(); no row if there were none; a WARNING if some had to stay';
REVOKE EXECUTE ON FUNCTION profstore_internal.trim_before(regclass, timestamptz) FROM PUBLIC;

CREATE FUNCTION profstore.drop_before(before timestamptz)
	RETURNS TABLE (relation text, dropped bool, rows int8)
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	part record;
	days regclass[];
	counts int8[];
	wanted regclass[]; -- distributed partitions that are to be dropped
	locked regclass[];
BEGIN
	PERFORM profstore_internal.require_local(t.oid, 'drop partitions of')
	FROM unnest('{profstore.samples,profstore.samples_minute,profstore.samples_hour,profstore.trace_samples}'::regclass[]) AS t(oid)
	WHERE NOT profstore_internal.is_spread(t.oid);
	IF profstore_internal.is_spread('profstore.samples') THEN
		PERFORM profstore_internal.prevent_in_block('profstore.drop_before()');
	END IF;
	FOR relation IN SELECT p.relation::text FROM profstore.partitions() AS p
		WHERE p.from_ts < drop_before.before AND profstore_internal.is_foreign(p.relation) ORDER BY p.to_ts LOOP
		RAISE WARNING USING
			ERRCODE = 'feature_not_supported',
			MESSAGE = format('partition %s is kept: it is a foreign table', relation),
			HINT = 'Detach it with ALTER TABLE ... DETACH PARTITION.';
	END LOOP;
	-- a drop holds a lock for which all other sessions wait, so what takes long precedes the first drop: partitions of traces, and of other servers,
	-- are counted, and rows are removed from partitions that stay
	SELECT array_agg(p.relation), array_agg(c.rows) INTO days, counts
	FROM profstore.partitions() AS p, profstore_internal.count_under_lock(p.relation) AS c
	WHERE (profstore.storage_id(p.relation) IS NULL AND NOT profstore_internal.is_foreign(p.relation) OR profstore_internal.is_spread(p.relation))
		AND p.to_ts <= drop_before.before;
	FOR part IN SELECT p.relation FROM profstore.partitions() AS p LEFT JOIN unnest(days, counts) AS d(relation, counted) ON d.relation = p.relation
		WHERE p.from_ts < drop_before.before AND (p.to_ts > drop_before.before OR d.relation IS NOT NULL AND d.counted IS NULL)
			AND NOT profstore_internal.is_foreign(p.relation)
		ORDER BY p.parent = 'profstore.trace_samples'::regclass DESC, p.to_ts LOOP
		RETURN QUERY SELECT t.* FROM profstore_internal.trim_before(part.relation, drop_before.before) AS t;
	END LOOP;
	-- a node removes rows in a transaction of its own, which would meet the locks that this one holds there; so it holds none meanwhile
	wanted := ARRAY(SELECT d.relation FROM unnest(days, counts) AS d(relation, rows) WHERE d.rows IS NOT NULL AND profstore_internal.is_spread(d.relation));
	LOOP
		locked := profstore_internal.lock_spread(wanted);
		EXIT WHEN locked = wanted;
		FOR part IN SELECT w.relation FROM unnest(wanted) AS w(relation) WHERE w.relation <> ALL (locked) LOOP
			RETURN QUERY SELECT t.* FROM profstore_internal.trim_before(part.relation, drop_before.before) AS t;
		END LOOP;
		wanted := locked;
	END LOOP;
	FOR part IN SELECT p.relation, d.counted FROM profstore.partitions() AS p LEFT JOIN unnest(days, counts) AS d(relation, counted) ON d.relation = p.relation
		WHERE p.to_ts <= drop_before.before AND (d.relation IS NULL OR d.counted IS NOT NULL) AND NOT profstore_internal.is_foreign(p.relation)
			AND (NOT profstore_internal.is_spread(p.relation) OR p.relation = ANY (wanted))
		ORDER BY p.parent = 'profstore.trace_samples'::regclass DESC, p.to_ts LOOP
		relation := part.relation::text;
		SELECT d.done, d.rows INTO dropped, rows FROM profstore_internal.drop_partition(part.relation, false, coalesce(part.counted, -1)) AS d;
		IF dropped THEN
			RETURN NEXT;
		ELSE
			RETURN QUERY SELECT t.* FROM profstore_internal.trim_before(part.relation, drop_before.before) AS t;
		END IF;
	END LOOP;
	PERFORM profstore_internal.drop_put_aside();
END
$$;
COMMENT ON FUNCTION profstore.drop_before(timestamptz) IS 'drops partitions of samples, tiers and traces that lie before a time; from other and locked partitions removes the segments, or rows of traces, that lie before it; returns each partition, whether it was dropped, and the removed rows; a WARNING for each that could not give up all of them';
REVOKE EXECUTE ON FUNCTION profstore.drop_before(timestamptz) FROM PUBLIC;

-- Tables of users that refer to stacks, in addition to samples and tiers.

CREATE TABLE profstore.tracked_stacks
(
	relation    regclass NOT NULL,
	column_name name NOT NULL,
	PRIMARY KEY (relation, column_name)
);
COMMENT ON TABLE profstore.tracked_stacks IS 'tables that refer to stacks, see track_stacks; entries of dropped tables mean nothing';
COMMENT ON COLUMN profstore.tracked_stacks.relation IS 'the table';
COMMENT ON COLUMN profstore.tracked_stacks.column_name IS 'its column with ids of stacks';
SELECT pg_extension_config_dump('profstore.tracked_stacks', '');

CREATE FUNCTION profstore.track_stacks(rel regclass, column_name name) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	column_type regtype;
	elsewhere regclass;
BEGIN
	IF (SELECT c.relkind NOT IN ('r', 'p', 'm') FROM pg_class AS c WHERE c.oid = rel) IS NOT FALSE THEN
		RAISE wrong_object_type USING
			MESSAGE = format('"%s" is not a table of this database', rel),
			DETAIL = 'References to stacks are looked for in tables, materialized views and partitions.';
	END IF;
	WITH RECURSIVE family AS
		(SELECT rel AS relation UNION SELECT i.inhrelid FROM family AS f JOIN pg_inherits AS i ON i.inhparent = f.relation)
	SELECT f.relation INTO elsewhere FROM family AS f JOIN pg_class AS c ON c.oid = f.relation WHERE c.relkind = 'f' LIMIT 1;
	IF FOUND THEN
		RAISE wrong_object_type USING
			MESSAGE = format('"%s" has a part that is a foreign table: "%s"', rel, elsewhere),
			DETAIL = 'References to stacks are not looked for there.';
	END IF;
	SELECT a.atttypid INTO column_type FROM pg_attribute AS a
	WHERE a.attrelid = rel AND a.attname = track_stacks.column_name AND a.attnum > 0 AND NOT a.attisdropped;
	IF column_type IS NULL THEN
		RAISE undefined_column USING MESSAGE = format('column "%s" of table "%s" does not exist', column_name, rel);
	ELSIF column_type <> 'int8'::regtype THEN
		RAISE datatype_mismatch USING
			MESSAGE = format('column "%s" of table "%s" is of type %s', column_name, rel, column_type),
			HINT = 'Ids of stacks are bigint.';
	END IF;
	DELETE FROM profstore.tracked_stacks AS t WHERE NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = t.relation);
	INSERT INTO profstore.tracked_stacks VALUES (rel, track_stacks.column_name) ON CONFLICT DO NOTHING;
END
$$;
COMMENT ON FUNCTION profstore.track_stacks(regclass, name) IS 'declares that a column refers to stacks, which keeps them in the dictionary as long as the column has them, until the table is dropped';
REVOKE EXECUTE ON FUNCTION profstore.track_stacks(regclass, name) FROM PUBLIC;

CREATE FUNCTION profstore.untrack_stacks(rel regclass) RETURNS bool
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH gone AS (DELETE FROM profstore.tracked_stacks AS t WHERE t.relation = rel RETURNING 1)
	SELECT EXISTS (SELECT FROM gone);
END;
COMMENT ON FUNCTION profstore.untrack_stacks(regclass) IS 'ends the tracking that track_stacks has begun; false: the table was not tracked';
REVOKE EXECUTE ON FUNCTION profstore.untrack_stacks(regclass) FROM PUBLIC;

CREATE FUNCTION profstore.stack_references()
	RETURNS TABLE (relation regclass, column_name name)
	LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	tracked record;
BEGIN
	RETURN QUERY SELECT t.oid, 'stack_id'::name
	FROM unnest('{profstore.samples,profstore.samples_minute,profstore.samples_hour,profstore.trace_samples}'::regclass[]) AS t(oid);
	FOR tracked IN SELECT t.* FROM profstore.tracked_stacks AS t JOIN pg_class AS c ON c.oid = t.relation LOOP
		IF NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = tracked.relation AND a.attname = tracked.column_name
					   AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid = 'int8'::regtype) THEN
			RAISE undefined_column USING
				MESSAGE = format('tracked column "%s" of table "%s" does not exist, or is not of type bigint', tracked.column_name, tracked.relation),
				HINT = 'Call profstore.untrack_stacks() and track_stacks() for the table.';
		END IF;
		relation := tracked.relation;
		column_name := tracked.column_name;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION profstore.stack_references() IS 'every column whose ids keep stacks in the dictionary: samples, tiers, traces, tracked tables; negative ids are not stacks. An error if a tracked column does not exist';
REVOKE EXECUTE ON FUNCTION profstore.stack_references() FROM PUBLIC;
