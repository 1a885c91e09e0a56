-- Samples on several servers, by Citus, which is the user's installation: this script only calls its functions.

CREATE FUNCTION profstore_internal.check_nodes() RETURNS int4
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	node record;
	nodes int4 := 0;
BEGIN
	FOR node IN
		SELECT format('%s:%s', n.nodename, n.nodeport) AS name, n.shouldhaveshards, r.success, r.result
		FROM run_command_on_all_nodes(
				format('SELECT CASE WHEN profstore_internal.script_hash() = %L THEN current_setting(''max_prepared_transactions'') ELSE ''other build'' END', profstore_internal.script_hash())) AS r
			JOIN pg_dist_node AS n USING (nodeid)
		WHERE n.isactive AND n.noderole = 'primary'
	LOOP
		IF NOT node.success OR node.result = 'other build' THEN
			RAISE object_not_in_prerequisite_state USING
				MESSAGE = format('node %s does not have this build of profstore', node.name),
				DETAIL = CASE WHEN node.success THEN 'Its functions are of another build.' ELSE node.result END,
				HINT = 'Install one build on all nodes, then run ALTER EXTENSION profstore UPDATE on the coordinator.';
		ELSIF node.shouldhaveshards THEN
			nodes := nodes + 1;
			IF node.result::int4 = 0 THEN
				RAISE object_not_in_prerequisite_state USING
					MESSAGE = format('max_prepared_transactions of node %s is 0', node.name),
					DETAIL = 'Batches of samples are stored exactly once by two-phase commit.',
					HINT = format('Set max_prepared_transactions to %s or more, and restart the node.', current_setting('max_connections'));
			ELSIF node.result::int4 < current_setting('max_connections')::int4 THEN
				RAISE WARNING USING
					MESSAGE = format('max_prepared_transactions of node %s is %s', node.name, node.result),
					DETAIL = 'More writers than that cannot commit at the same time.',
					HINT = format('Set max_prepared_transactions to %s, the max_connections of the coordinator.', current_setting('max_connections'));
			END IF;
		END IF;
	END LOOP;
	IF nodes = 0 THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = 'no node of Citus takes shards',
			HINT = 'Add a node with citus_add_node().';
	END IF;
	RETURN nodes;
END
$$;
COMMENT ON FUNCTION profstore_internal.check_nodes() IS 'number of nodes that take shards; an error unless all nodes have this build and can prepare transactions';
REVOKE EXECUTE ON FUNCTION profstore_internal.check_nodes() FROM PUBLIC;

-- Citus reads shards as the role that runs the query. A role with a selector may not read shards, because they have the samples of all series.
CREATE FUNCTION profstore_internal.refuse_selected_samples() RETURNS SETOF profstore.samples
	LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	RAISE feature_not_supported USING
		MESSAGE = 'cannot read the view selected_samples of distributed samples',
		HINT = 'Call a function, such as profstore.top(), timeseries() or stacks_of(). They read the series of the selector.';
END
$$;
COMMENT ON FUNCTION profstore_internal.refuse_selected_samples() IS 'raises an error; the view selected_samples reads it after distribute()';

CREATE PROCEDURE profstore.distribute(shards_per_node int4 DEFAULT 2)
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	shards int4;
	part regclass;
BEGIN
	IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN
		RAISE feature_not_supported USING
			MESSAGE = 'this database does not have the extension citus',
			HINT = 'Install Citus on all servers, run CREATE EXTENSION citus on each, and add the workers with citus_add_node().';
	ELSIF EXISTS (SELECT FROM pg_dist_local_group AS g WHERE g.groupid <> 0) THEN
		RAISE feature_not_supported USING
			MESSAGE = 'this server is a worker of Citus',
			HINT = 'Connect to the coordinator.';
	ELSIF shards_per_node IS NULL OR shards_per_node NOT BETWEEN 1 AND 32 THEN
		RAISE invalid_parameter_value USING
			MESSAGE = 'shards_per_node must be between 1 and 32',
			HINT = 'Each shard sums its samples by itself, so few shards are faster; a node that is added later needs one at least.';
	END IF;
	SELECT p.logicalrelid INTO part FROM pg_dist_partition AS p
	WHERE p.logicalrelid IN ('profstore.samples'::regclass, 'profstore.samples_minute', 'profstore.samples_hour', 'profstore.shard_keys');
	IF FOUND THEN
		RAISE object_not_in_prerequisite_state USING MESSAGE = format('table %s is distributed already', part);
	END IF;
	IF EXISTS (SELECT FROM profstore.bound_writers) THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = 'samples cannot be distributed while a writer has a selector',
			DETAIL = 'Workers store rows without checking the selector of their writer.',
			HINT = 'Revoke the access of the roles in profstore.bound_writers with profstore.revoke_access() first.';
	END IF;
	shards := profstore_internal.check_nodes() * shards_per_node;
	PERFORM set_config('citus.shard_replication_factor', '1', true); -- a copy of a shard would be summed, too
	PERFORM create_distributed_table('profstore.samples', 'series_id', colocate_with => 'none', shard_count => shards);
	FOREACH part IN ARRAY '{profstore.samples_minute,profstore.samples_hour,profstore.shard_keys}'::regclass[] LOOP
		PERFORM create_distributed_table(part, CASE part WHEN 'profstore.shard_keys'::regclass THEN 'key' ELSE 'series_id' END,
			colocate_with => 'profstore.samples');
	END LOOP;
	-- rows that were in local partitions have been copied to shards, so empty the partitions
	FOR part IN SELECT p.relation FROM profstore.partitions() AS p WHERE p.parent <> 'profstore.trace_samples'::regclass LOOP
		IF (SELECT count(*) FROM profstore.segments AS s WHERE s.storage_id = profstore.storage_id(part)) > 0 THEN
			PERFORM truncate_local_data_after_distributing_table(part);
		END IF;
	END LOOP;
	CREATE OR REPLACE VIEW profstore.selected_samples WITH (security_barrier) AS
	SELECT r.time, r.series_id, r.stack_id, r.value FROM profstore_internal.refuse_selected_samples() AS r;
	DELETE FROM profstore.shard_ranges;
	INSERT INTO profstore.shard_ranges (key, low, high)
	SELECT k.key, s.shardminvalue::int4, s.shardmaxvalue::int4
	FROM pg_dist_shard AS s,
		LATERAL (SELECT min(i) AS key FROM generate_series(1, 100000) AS i WHERE hashint4(i) BETWEEN s.shardminvalue::int4 AND s.shardmaxvalue::int4) AS k
	WHERE s.logicalrelid = 'profstore.shard_keys'::regclass;
	INSERT INTO profstore.shard_keys (key) SELECT r.key FROM profstore.shard_ranges AS r;
END
$$;
COMMENT ON PROCEDURE profstore.distribute(int4) IS 'distributes samples and their sums over the nodes of Citus, by series; cannot be undone; names and writers stay on this server, the coordinator';
REVOKE EXECUTE ON PROCEDURE profstore.distribute(int4) FROM PUBLIC;

-- Upkeep. Each shard is maintained on its node, in a transaction of its own.

CREATE FUNCTION profstore_internal.compact_shards(rel regclass, max_segments int8) RETURNS int8
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT coalesce(sum(r::int8), 0)::int8
	FROM profstore_internal.answers_of_shards(ARRAY[rel], format('SELECT profstore.compact(%%1$L, %s)', least(max_segments, 2147483647))) AS r;
END;
COMMENT ON FUNCTION profstore_internal.compact_shards(regclass, int8) IS 'compact() of each shard of a table; max_segments for each';
REVOKE EXECUTE ON FUNCTION profstore_internal.compact_shards(regclass, int8) FROM PUBLIC;

CREATE FUNCTION profstore_internal.verify_shards(rel regclass) RETURNS TABLE (segment int8, stream int4, problem text)
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT v.segment, v.stream, format('%s: %s', v.relation, v.problem)
	FROM profstore_internal.answers_of_shards(ARRAY[rel], 'SELECT coalesce(json_agg(v), ''[]'') FROM profstore.verify(%1$L) AS v') AS r,
		json_to_recordset(r::json) AS v (relation text, segment int8, stream int4, problem text);
END;
COMMENT ON FUNCTION profstore_internal.verify_shards(regclass) IS 'verify() of each shard of a table, which problem names';
REVOKE EXECUTE ON FUNCTION profstore_internal.verify_shards(regclass) FROM PUBLIC;

-- Transactions that are prepared on a node, but that no backend of the coordinator is in any more: their rows lack the backend's locks and pins.
-- A backend that still lives may have left one, if the node went away between PREPARE and COMMIT PREPARED. The name that Citus gives a prepared
-- transaction has the backend's process id and the number of its transaction.
CREATE FUNCTION profstore_internal.ownerless_batches() RETURNS SETOF text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	names text[] := ARRAY(
		SELECT DISTINCT u.name
		FROM profstore_internal.answers_of_shards('{profstore.samples}',
				'SELECT string_agg(x.gid, '','') FROM pg_prepared_xacts AS x WHERE x.gid LIKE ''citus\_%%'' AND x.database = current_database()') AS r,
			unnest(string_to_array(r, ',')) AS u (name));
BEGIN
	-- backends are looked up after the nodes have answered: one that appears in both was not in doubt at that time
	RETURN QUERY
	SELECT u.name FROM unnest(names) AS u (name)
	WHERE NOT EXISTS
		(SELECT FROM get_all_active_transactions() AS t
		 WHERE t.process_id::text = split_part(u.name, '_', 3) AND t.transaction_number::text = split_part(u.name, '_', 4));
END
$$;
COMMENT ON FUNCTION profstore_internal.ownerless_batches() IS 'names of prepared transactions of nodes whose backend was not in them when it was looked up';
REVOKE EXECUTE ON FUNCTION profstore_internal.ownerless_batches() FROM PUBLIC;

-- A transaction that was being committed has no backend when it is looked up the first time, but is not prepared any more the second time.
CREATE FUNCTION profstore_internal.has_batch_in_doubt() RETURNS bool
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	names text[] := ARRAY(SELECT o FROM profstore_internal.ownerless_batches() AS o);
BEGIN
	RETURN names <> '{}' AND EXISTS (SELECT FROM profstore_internal.ownerless_batches() AS o WHERE o = ANY (names));
END
$$;
COMMENT ON FUNCTION profstore_internal.has_batch_in_doubt() IS 'whether a node has prepared rows whose transaction no process of the coordinator will end; Citus recovers them after some time';
REVOKE EXECUTE ON FUNCTION profstore_internal.has_batch_in_doubt() FROM PUBLIC;

CREATE FUNCTION profstore_internal.are_vacated(part regclass) RETURNS bool
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	IF NOT profstore_internal.is_spread(part) THEN
		RETURN profstore_internal.is_vacated(part);
	END IF;
	RETURN NOT profstore_internal.has_batch_in_doubt()
		AND (SELECT coalesce(bool_and(r::bool), false) FROM profstore_internal.answers_of_shards(ARRAY[part], 'SELECT profstore_internal.is_vacated(%1$L)') AS r);
END
$$;
COMMENT ON FUNCTION profstore_internal.are_vacated(regclass) IS 'true if is_vacated() is true for a partition or, if it is distributed, for all its shards';
REVOKE EXECUTE ON FUNCTION profstore_internal.are_vacated(regclass) FROM PUBLIC;

-- Citus sends LOCK on to the other nodes, where the lock_timeout of this session does not hold, so a wait there would have no end.
CREATE FUNCTION profstore_internal.lock_here(rel regclass, mode text) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET citus.enable_ddl_propagation = off AS
$$
BEGIN
	EXECUTE format('LOCK TABLE ONLY %s IN %s MODE', rel, mode);
END
$$;
COMMENT ON FUNCTION profstore_internal.lock_here(regclass, text) IS 'locks a table on this server only, also if it is distributed';
REVOKE EXECUTE ON FUNCTION profstore_internal.lock_here(regclass, text) FROM PUBLIC;

-- Runs on a node, in the transaction of the coordinator. Queries there lock shards, not the partition on the coordinator. Citus drops the table
-- itself on the node in another connection, so its locks are only tried: that connection would wait for them.
CREATE FUNCTION profstore_internal.lock_shard(build text, key int4, keys int4[], parents text[], parts text[], tables text[]) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms' AS
$$
DECLARE
	place int4 := array_position(keys, key);
BEGIN
	PERFORM profstore_internal.check_build(build);
	PERFORM profstore_internal.lock_here(parents[place]::regclass, 'ACCESS EXCLUSIVE');
	PERFORM profstore_internal.lock_here(parts[place]::regclass, 'ACCESS EXCLUSIVE');
	BEGIN
		PERFORM profstore_internal.lock_here(to_regclass(t.name), 'ACCESS EXCLUSIVE') FROM unnest(tables) AS t(name);
		RAISE no_data_found;
	EXCEPTION WHEN no_data_found THEN
		NULL; -- the locks were available, and are given up
	END;
END
$$;
COMMENT ON FUNCTION profstore_internal.lock_shard(text, int4, int4[], text[], text[], text[]) IS 'on a node: locks, until the transaction ends, the shard whose key is the second argument, and before it its parent; tries the locks of tables; an error after 200 ms, or if the coordinator has another build';
REVOKE EXECUTE ON FUNCTION profstore_internal.lock_shard(text, int4, int4[], text[], text[], text[]) FROM PUBLIC;

CREATE FUNCTION profstore_internal.lock_shards(part regclass) RETURNS bool
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS
$$
DECLARE
	build text := profstore_internal.script_hash();
	parent regclass := profstore_internal.check_partition(part);
	tables text[];
	own int4[]; -- keys of shards on this server
	keys int4[];
	parents text[];
	parts text[];
BEGIN
	SELECT array_agg(s.key), array_agg(s.tables[1]), array_agg(s.tables[2]), coalesce(array_agg(s.key) FILTER (WHERE s.node = 0), '{}')
	INTO keys, parents, parts, own
	FROM profstore_internal.shards(ARRAY[parent, part]) AS s;
	tables := ARRAY[parent, part]::text[];
	PERFORM profstore_internal.lock_shard(build, k.key, keys, parents, parts, CASE WHEN k.key = ANY (own) THEN '{}' ELSE tables END)
	FROM profstore.shard_keys AS k WHERE k.key = ANY (keys);
	RETURN true;
EXCEPTION
	WHEN lock_not_available THEN
		RAISE NOTICE 'partition % is not dropped yet: the lock of a shard is taken', part;
		RETURN false;
END
$$;
COMMENT ON FUNCTION profstore_internal.lock_shards(regclass) IS 'locks the shards of a partition on their nodes until the transaction ends; false: a lock was not available within 200 ms';
REVOKE EXECUTE ON FUNCTION profstore_internal.lock_shards(regclass) FROM PUBLIC;

-- Citus drops a shard in the connection that has locked it, so the DROP waits for no query of a node. Shards are locked first, because all other
-- sessions wait for the locks on the coordinator. If a lock is not available, an error gives up those that the function has taken.
CREATE FUNCTION profstore_internal.lock_spread(parts regclass[]) RETURNS regclass[]
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms' AS
$$
DECLARE
	available regclass[] := '{}';
	part regclass;
BEGIN
	FOREACH part IN ARRAY parts LOOP
		IF profstore_internal.lock_shards(part) THEN
			available := available || part;
		END IF;
	END LOOP;
	IF available <> parts THEN
		RAISE lock_not_available USING MESSAGE = 'some shards are in use';
	END IF;
	FOREACH part IN ARRAY parts LOOP
		PERFORM profstore_internal.lock_here(profstore_internal.check_partition(part), 'ACCESS EXCLUSIVE');
		PERFORM profstore_internal.lock_here(part, 'ACCESS EXCLUSIVE');
	END LOOP;
	RETURN parts;
EXCEPTION
	WHEN lock_not_available THEN
		IF available <> parts THEN
			RETURN available;
		END IF;
		RAISE NOTICE 'partition % is not dropped yet: its lock is taken', part;
		RETURN '{}';
END
$$;
COMMENT ON FUNCTION profstore_internal.lock_spread(regclass[]) IS 'locks distributed partitions that are to be dropped, shards first, and returns them; if some locks are not available, holds none, and returns the partitions with which to try again';
REVOKE EXECUTE ON FUNCTION profstore_internal.lock_spread(regclass[]) FROM PUBLIC;

CREATE FUNCTION profstore_internal.count_stored(part regclass) RETURNS int8
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	IF NOT profstore_internal.is_spread(part) THEN
		RETURN coalesce((SELECT sum(s.row_count) FROM profstore.segments AS s WHERE s.storage_id = profstore.storage_id(part)), 0);
	END IF;
	RETURN (SELECT coalesce(sum(r::int8), 0) FROM profstore_internal.answers_of_shards(ARRAY[part],
		'SELECT coalesce(sum(s.row_count), 0) FROM profstore.segments AS s WHERE s.storage_id = profstore.storage_id(%1$L)') AS r);
END
$$;
COMMENT ON FUNCTION profstore_internal.count_stored(regclass) IS 'rows in the segments of a partition, or of its shards';
REVOKE EXECUTE ON FUNCTION profstore_internal.count_stored(regclass) FROM PUBLIC;

CREATE FUNCTION profstore_internal.move_shard_to_tier(part regclass, target regclass, tier text, is_tier bool, instant int4[],
	OUT segments int8, OUT rows int8, OUT sums int8)
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_move_shard_to_tier';
COMMENT ON FUNCTION profstore_internal.move_shard_to_tier(regclass, regclass, text, bool, int4[]) IS 'move_to_tier() on a node, from a shard of a partition to the shard of a tier; instant: series of instant types';
REVOKE EXECUTE ON FUNCTION profstore_internal.move_shard_to_tier(regclass, regclass, text, bool, int4[]) FROM PUBLIC;

CREATE FUNCTION profstore_internal.ensure_tier_partitions(tier text, from_ts timestamptz, to_ts timestamptz) RETURNS void
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_ensure_tier_partitions';
COMMENT ON FUNCTION profstore_internal.ensure_tier_partitions(text, timestamptz, timestamptz) IS 'makes the partitions of a tier for a range of time';
REVOKE EXECUTE ON FUNCTION profstore_internal.ensure_tier_partitions(text, timestamptz, timestamptz) FROM PUBLIC;

CREATE FUNCTION profstore_internal.prepare_tier(part regclass, action text) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	IF action IN ('minute', 'hour') AND profstore_internal.is_spread(part) THEN
		PERFORM profstore_internal.ensure_tier_partitions(action, p.from_ts, p.to_ts) FROM profstore.partitions() AS p WHERE p.relation = part;
	END IF;
END
$$;
COMMENT ON FUNCTION profstore_internal.prepare_tier(regclass, text) IS 'makes the partitions that get the sums of a distributed partition; commit before retain()';
REVOKE EXECUTE ON FUNCTION profstore_internal.prepare_tier(regclass, text) FROM PUBLIC;

-- Runs on a node, in the transaction that removes the rows. If the coordinator's transaction fails later, its log does not have them.
CREATE FUNCTION profstore_internal.log_shard(shard regclass, action text, rows int8, sums int8) RETURNS text
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	DELETE FROM profstore.retention_log AS l WHERE l.time < now() - interval '1 year';
	INSERT INTO profstore.retention_log (relation, action, rows, sums)
	SELECT log_shard.shard::text, log_shard.action, log_shard.rows, log_shard.sums WHERE log_shard.rows > 0;
	SELECT log_shard.rows || ',' || coalesce(log_shard.sums, 0);
END;
COMMENT ON FUNCTION profstore_internal.log_shard(regclass, text, int8, int8) IS 'on a node: logs a step of retention of a shard, and returns rows and sums, or NULL if rows is NULL';
REVOKE EXECUTE ON FUNCTION profstore_internal.log_shard(regclass, text, int8, int8) FROM PUBLIC;

-- Rows of traces stay until their own partition is due, at an equal age. The time is sent as text that does not depend on the node's settings.
CREATE FUNCTION profstore_internal.retain_shards(part regclass, action text, before timestamptz, OUT done bool, OUT rows int8, OUT sums int8)
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' SET timezone = 'UTC' AS
$$
DECLARE
	target regclass := CASE action WHEN 'minute' THEN 'profstore.samples_minute' WHEN 'hour' THEN 'profstore.samples_hour' ELSE part::text END;
	command text;
	shard record;
	locked text[] := '{}';
BEGIN
	IF action = 'trim' THEN
		command := format('SELECT profstore_internal.log_shard(%%1$L, ''drop'', r.rows, NULL) FROM profstore_internal.remove_segments(%%1$L, %L) AS r', before);
	ELSE
		command := format('SELECT profstore_internal.log_shard(%%1$L, %L, m.rows, m.sums) FROM profstore_internal.move_shard_to_tier(%%1$L, %%2$L, %L, %L, %L) AS m', action, action,
			profstore_internal.check_partition(part) <> 'profstore.samples'::regclass,
			ARRAY(SELECT s.id FROM profstore.series AS s JOIN profstore.profile_types AS t ON t.id = s.profile_type WHERE NOT t.delta ORDER BY s.id));
	END IF;
	done := true;
	rows := 0;
	sums := 0;
	FOR shard IN SELECT r.* FROM profstore_internal.run_on_shards(ARRAY[part, target], command) AS r LOOP
		IF shard.code IS NOT NULL THEN
			RAISE WARNING USING
				ERRCODE = shard.code,
				MESSAGE = format('retention of %s failed on node %s: %s', part, shard.node, shard.message),
				DETAIL = concat_ws(' ', nullif(shard.detail, ''), 'Shards that have moved or removed their rows keep this, and the log has it.'),
				HINT = coalesce(nullif(shard.hint, ''), 'The next run of retention repeats the step.');
		ELSIF shard.answer IS NULL THEN
			locked := locked || shard.node;
		END IF;
		done := done AND shard.answer IS NOT NULL;
		rows := rows + coalesce(split_part(shard.answer, ',', 1)::int8, 0);
		sums := sums + coalesce(split_part(shard.answer, ',', 2)::int8, 0);
	END LOOP;
	IF locked <> '{}' THEN
		RAISE NOTICE 'skipping shards of %, whose locks are taken: % on node %', part, cardinality(locked),
			(SELECT string_agg(DISTINCT l, ', ') FROM unnest(locked) AS l);
	END IF;
	IF action = 'trim' THEN
		sums := NULL;
	END IF;
END
$$;
COMMENT ON FUNCTION profstore_internal.retain_shards(regclass, text, timestamptz) IS 'does a step of retention on each shard of a partition, in a transaction of its own; done is false if some shards were locked or failed with a WARNING: then rows and sums are those of the others';
REVOKE EXECUTE ON FUNCTION profstore_internal.retain_shards(regclass, text, timestamptz) FROM PUBLIC;

-- Reads tiers from fine to coarse, so that rows which retention moves meanwhile are seen in one of the two.
CREATE FUNCTION profstore_internal.referenced_by_shards(OUT partitions bytea, OUT series bytea)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	part regclass;
	answer text;
BEGIN
	IF profstore_internal.has_batch_in_doubt() THEN
		RAISE NOTICE USING
			MESSAGE = 'skipping the collection of the dictionary: a batch of samples is in doubt on a node',
			HINT = 'Citus recovers it in some minutes, or call recover_prepared_transactions().';
		RETURN;
	END IF;
	partitions := '';
	series := '';
	FOREACH part IN ARRAY '{profstore.samples,profstore.samples_minute,profstore.samples_hour}'::regclass[] LOOP
		FOR answer IN
			SELECT r FROM profstore_internal.answers_of_shards(ARRAY[part], format(
				'SELECT encode(b.partitions, ''hex'') || '','' || encode(b.series, ''hex'') FROM profstore_internal.referenced_by_tables(ARRAY[%%1$L::regclass::oid], ''{stack_id}'', %s, %s) AS b',
				(SELECT coalesce(max(d.id), 0) FROM profstore.dictionary_partitions AS d), (SELECT coalesce(max(i.id), 0) FROM profstore.series AS i))) AS r
		LOOP
			IF answer IS NULL THEN
				partitions := NULL;
				series := NULL;
				RETURN;
			END IF;
			partitions := profstore_internal.join_bitmaps(partitions, decode(split_part(answer, ',', 1), 'hex'));
			series := profstore_internal.join_bitmaps(series, decode(split_part(answer, ',', 2), 'hex'));
		END LOOP;
	END LOOP;
END
$$;
COMMENT ON FUNCTION profstore_internal.referenced_by_shards() IS 'bitmaps of dictionary partitions and series that rows in shards refer to; NULL if a lock is not available, or if a distributed transaction is neither committed nor aborted';
REVOKE EXECUTE ON FUNCTION profstore_internal.referenced_by_shards() FROM PUBLIC;
