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

-- Citus reads shards as the role that asks. A role with a selector may not read them: they have the samples of all.
CREATE FUNCTION profstore_internal.refuse_selected_samples() RETURNS SETOF profstore.samples
	LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	RAISE feature_not_supported USING
		MESSAGE = 'cannot read the view selected_samples of distributed samples',
		HINT = 'Call a function, such as profstore.top(), timeseries() or stacks_of(). They read the series of the selector.';
END
$$;
COMMENT ON FUNCTION profstore_internal.refuse_selected_samples() IS 'raises an error: what selected_samples reads after distribute()';

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
			DETAIL = 'Workers store rows without looking at the selector of their writer.',
			HINT = 'Revoke the access of the roles in profstore.bound_writers with profstore.revoke_access() first.';
	END IF;
	shards := profstore_internal.check_nodes() * shards_per_node;
	PERFORM set_config('citus.shard_replication_factor', '1', true); -- a copy of a shard would be summed, too
	PERFORM create_distributed_table('profstore.samples', 'series_id', colocate_with => 'none', shard_count => shards);
	FOREACH part IN ARRAY '{profstore.samples_minute,profstore.samples_hour,profstore.shard_keys}'::regclass[] LOOP
		PERFORM create_distributed_table(part, CASE part WHEN 'profstore.shard_keys'::regclass THEN 'key' ELSE 'series_id' END,
			colocate_with => 'profstore.samples');
	END LOOP;
	-- rows that were here are in shards, too
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
COMMENT ON PROCEDURE profstore.distribute(int4) IS 'spreads samples and their sums over the nodes of Citus, by series, for good; names and writers stay on this server, the coordinator';
REVOKE EXECUTE ON PROCEDURE profstore.distribute(int4) FROM PUBLIC;

-- Upkeep. Each shard is tended on its node, in a transaction of its own.

CREATE FUNCTION profstore_internal.compact_shards(rel regclass, max_segments int8) RETURNS int8
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT coalesce(sum(r::int8), 0)::int8
	FROM profstore_internal.run_on_shards(ARRAY[rel], format('SELECT profstore.compact(%%1$L, %s)', least(max_segments, 2147483647))) AS r;
END;
COMMENT ON FUNCTION profstore_internal.compact_shards(regclass, int8) IS 'compact() of each shard of a table; max_segments for each';
REVOKE EXECUTE ON FUNCTION profstore_internal.compact_shards(regclass, int8) FROM PUBLIC;

CREATE FUNCTION profstore_internal.verify_shards(rel regclass) RETURNS TABLE (segment int8, stream int4, problem text)
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT v.segment, v.stream, format('%s: %s', v.relation, v.problem)
	FROM profstore_internal.run_on_shards(ARRAY[rel], 'SELECT coalesce(json_agg(v), ''[]'') FROM profstore.verify(%1$L) AS v') AS r,
		json_to_recordset(r::json) AS v (relation text, segment int8, stream int4, problem text);
END;
COMMENT ON FUNCTION profstore_internal.verify_shards(regclass) IS 'verify() of each shard of a table, which problem names';
REVOKE EXECUTE ON FUNCTION profstore_internal.verify_shards(regclass) FROM PUBLIC;

-- A batch is in doubt if its rows are prepared on a node, but the backend that was storing it has gone, with its locks and pins.
CREATE FUNCTION profstore_internal.has_batch_in_doubt() RETURNS bool
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	RETURN EXISTS (SELECT FROM profstore_internal.run_on_shards('{profstore.samples}',
			'SELECT string_agg(split_part(x.gid, ''_'', 3), '','') FROM pg_prepared_xacts AS x WHERE x.gid LIKE ''citus\_%%'' AND x.database = current_database()') AS r,
			unnest(string_to_array(r, ',')) AS u (pid)
		WHERE NOT EXISTS (SELECT FROM pg_stat_activity AS a WHERE a.pid::text = u.pid));
END
$$;
COMMENT ON FUNCTION profstore_internal.has_batch_in_doubt() IS 'whether a node has rows whose transaction no process of the coordinator will end; Citus recovers them after a while';
REVOKE EXECUTE ON FUNCTION profstore_internal.has_batch_in_doubt() FROM PUBLIC;

CREATE FUNCTION profstore_internal.are_vacated(part regclass) RETURNS bool
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	IF NOT profstore_internal.is_spread(part) THEN
		RETURN profstore_internal.is_vacated(part);
	END IF;
	RETURN NOT profstore_internal.has_batch_in_doubt()
		AND (SELECT coalesce(bool_and(r::bool), false) FROM profstore_internal.run_on_shards(ARRAY[part], 'SELECT profstore_internal.is_vacated(%1$L)') AS r);
END
$$;
COMMENT ON FUNCTION profstore_internal.are_vacated(regclass) IS 'is_vacated() of a partition, or of all its shards';
REVOKE EXECUTE ON FUNCTION profstore_internal.are_vacated(regclass) FROM PUBLIC;

CREATE FUNCTION profstore_internal.count_stored(part regclass) RETURNS int8
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	IF NOT profstore_internal.is_spread(part) THEN
		RETURN coalesce((SELECT sum(s.row_count) FROM profstore.segments AS s WHERE s.storage_id = profstore.storage_id(part)), 0);
	END IF;
	RETURN (SELECT coalesce(sum(r::int8), 0) FROM profstore_internal.run_on_shards(ARRAY[part],
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

-- Rows of traces stay until their own partition is due, at the same age. A node reads the time that is sent as text with settings of its own.
CREATE FUNCTION profstore_internal.retain_shards(part regclass, action text, before timestamptz, OUT rows int8, OUT sums int8)
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' SET timezone = 'UTC' AS
$$
DECLARE
	target regclass := CASE action WHEN 'minute' THEN 'profstore.samples_minute' WHEN 'hour' THEN 'profstore.samples_hour' ELSE part::text END;
	command text;
	all_done bool;
BEGIN
	IF action = 'trim' THEN
		command := format('SELECT r.rows || '',0'' FROM profstore_internal.remove_segments(%%1$L, %L) AS r', before);
	ELSE
		command := format('SELECT m.rows || '','' || m.sums FROM profstore_internal.move_shard_to_tier(%%1$L, %%2$L, %L, %L, %L) AS m', action,
			profstore_internal.check_partition(part) <> 'profstore.samples'::regclass,
			ARRAY(SELECT s.id FROM profstore.series AS s JOIN profstore.profile_types AS t ON t.id = s.profile_type WHERE NOT t.delta ORDER BY s.id));
	END IF;
	SELECT coalesce(sum(split_part(r, ',', 1)::int8), 0), coalesce(sum(split_part(r, ',', 2)::int8), 0), bool_and(r IS NOT NULL) INTO rows, sums, all_done
	FROM profstore_internal.run_on_shards(ARRAY[part, target], command) AS r;
	IF NOT all_done THEN
		IF rows > 0 THEN
			INSERT INTO profstore.retention_log (relation, action, rows, sums)
			VALUES (part::text, CASE retain_shards.action WHEN 'trim' THEN 'drop' ELSE retain_shards.action END, retain_shards.rows, retain_shards.sums);
		END IF;
		rows := NULL;
	END IF;
	IF action = 'trim' THEN
		sums := NULL;
	END IF;
END
$$;
COMMENT ON FUNCTION profstore_internal.retain_shards(regclass, text, timestamptz) IS 'retain() of the shards of a partition; NULL: some are locked, the rows of others are in the log';
REVOKE EXECUTE ON FUNCTION profstore_internal.retain_shards(regclass, text, timestamptz) FROM PUBLIC;

-- From fine to coarse: rows that retention moves meanwhile are seen before or after.
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
			SELECT r FROM profstore_internal.run_on_shards(ARRAY[part], format(
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
COMMENT ON FUNCTION profstore_internal.referenced_by_shards() IS 'bitmaps of dictionary partitions and series that rows in shards refer to; NULL: a lock is taken, or a batch is in doubt';
REVOKE EXECUTE ON FUNCTION profstore_internal.referenced_by_shards() FROM PUBLIC;
