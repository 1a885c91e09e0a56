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
	shards := profstore_internal.check_nodes() * shards_per_node;
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
