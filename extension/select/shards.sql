-- Samples of several servers, if profstore.distribute() has distributed them by Citus. All code of queries that names Citus is in this file.
-- All tables are on the coordinator, except rows of samples, samples_minute and samples_hour, which are in shards, by series.

-- Has one row per shard, stored in that shard. So a query on this table calls a function once on the node of each shard, in the transaction of the
-- query. Without distribute() the table is empty.
CREATE TABLE profstore.shard_keys (key int4 NOT NULL);
COMMENT ON TABLE profstore.shard_keys IS 'after distribute(): one row per shard, stored in that shard';
COMMENT ON COLUMN profstore.shard_keys.key IS 'a number whose hash lies in the shard';

CREATE TABLE profstore.shard_ranges
(
	key  int4 PRIMARY KEY,
	low  int4 NOT NULL,
	high int4 NOT NULL
);
COMMENT ON TABLE profstore.shard_ranges IS 'after distribute(), on the coordinator: the hashes of each shard';
COMMENT ON COLUMN profstore.shard_ranges.key IS 'the row of shard_keys that is in the shard';
COMMENT ON COLUMN profstore.shard_ranges.low IS 'least hash of a series in the shard';
COMMENT ON COLUMN profstore.shard_ranges.high IS 'greatest hash of a series in the shard';

-- Shards of distributed tables of one kind have the same ranges of hashes, and lie on the same nodes.
CREATE FUNCTION profstore_internal.shards(parts regclass[] DEFAULT '{profstore.samples,profstore.samples_minute,profstore.samples_hour}')
	RETURNS TABLE (key int4, low int4, high int4, node int4, host text, port int4, tables text[])
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	RETURN QUERY
	SELECT r.key, r.low, r.high, n.groupid, n.nodename, n.nodeport,
		(SELECT array_agg(shard_name(t.part, s.shardid) ORDER BY t.place)
		 FROM unnest(parts) WITH ORDINALITY AS t(part, place)
			LEFT JOIN pg_dist_shard AS s ON s.logicalrelid = t.part AND s.shardminvalue = r.low::text)
	FROM profstore.shard_ranges AS r
		JOIN pg_dist_shard AS k ON k.logicalrelid = 'profstore.shard_keys'::regclass AND k.shardminvalue = r.low::text
		JOIN pg_dist_placement AS p ON p.shardid = k.shardid
		JOIN pg_dist_node AS n ON n.groupid = p.groupid AND n.noderole = 'primary'
	ORDER BY r.key;
END
$$;
COMMENT ON FUNCTION profstore_internal.shards(regclass[]) IS 'the shards of some distributed tables or partitions, in this order, and where they are';
REVOKE EXECUTE ON FUNCTION profstore_internal.shards(regclass[]) FROM PUBLIC;

CREATE FUNCTION profstore_internal.node_rows(key int4, request bytea, keys int4[], samples text[], minutes text[], hours text[]) RETURNS SETOF bytea
	LANGUAGE c STABLE STRICT PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_node_rows';
COMMENT ON FUNCTION profstore_internal.node_rows(int4, bytea, int4[], text[], text[], text[]) IS 'on a node: sums of series in those of the shards whose key is the first argument, see select/shard_wire.h';
REVOKE EXECUTE ON FUNCTION profstore_internal.node_rows(int4, bytea, int4[], text[], text[], text[]) FROM PUBLIC;

-- Makes one call for each node; if the transaction has written, one for each shard. Citus cannot plan the query for all values of its
-- parameters.
CREATE FUNCTION profstore_internal.ask_shards(request bytea, series int4[], by_node bool) RETURNS SETOF bytea
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS
$$
DECLARE
	keys int4[];
	samples text[];
	minutes text[];
	hours text[];
BEGIN
	SELECT array_agg(s.key ORDER BY s.place), array_agg(s.tables[1] ORDER BY s.place), array_agg(s.tables[2] ORDER BY s.place),
		array_agg(s.tables[3] ORDER BY s.place)
	INTO keys, samples, minutes, hours
	FROM (SELECT CASE WHEN by_node THEN min(s.key) OVER (PARTITION BY s.node) ELSE s.key END AS key, s.key AS place, s.tables
		  FROM profstore_internal.shards() AS s
		  WHERE series IS NULL OR EXISTS (SELECT FROM unnest(series) AS u(id) WHERE hashint4(u.id) BETWEEN s.low AND s.high)) AS s;
	RETURN QUERY
	SELECT profstore_internal.node_rows(k.key, request, keys, samples, minutes, hours)
	FROM profstore.shard_keys AS k WHERE k.key = ANY (keys);
END
$$;
COMMENT ON FUNCTION profstore_internal.ask_shards(bytea, int4[], bool) IS 'answers of the nodes to a request of select/shard_rows.c; if series is NULL, all nodes answer';
REVOKE EXECUTE ON FUNCTION profstore_internal.ask_shards(bytea, int4[], bool) FROM PUBLIC;

CREATE FUNCTION profstore_internal.is_spread(rel regclass) RETURNS bool
	LANGUAGE c STABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_is_spread';
COMMENT ON FUNCTION profstore_internal.is_spread(regclass) IS 'true for a table that distribute() has distributed, and its partitions';
REVOKE EXECUTE ON FUNCTION profstore_internal.is_spread(regclass) FROM PUBLIC;

CREATE FUNCTION profstore_internal.check_build(build text) RETURNS void
	LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	IF build <> profstore_internal.script_hash() THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = 'this node has another build of profstore than the coordinator',
			HINT = 'Install one build on all nodes, then run ALTER EXTENSION profstore UPDATE on the coordinator.';
	END IF;
END
$$;
COMMENT ON FUNCTION profstore_internal.check_build(text) IS 'on a node: raises an error if the coordinator, whose script_hash() is the argument, has another build';
REVOKE EXECUTE ON FUNCTION profstore_internal.check_build(text) FROM PUBLIC;

-- Runs on a node. Errors are returned as values, because master_run_on_worker() returns an error's message without its code, detail and hint.
-- The command calls functions of the build that the coordinator has.
CREATE FUNCTION profstore_internal.answer_command(build text, command text, OUT answer text, OUT code text, OUT message text, OUT detail text, OUT hint text)
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	PERFORM profstore_internal.check_build(build);
	EXECUTE command INTO answer;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
END
$$;
COMMENT ON FUNCTION profstore_internal.answer_command(text, text) IS 'runs a query of one value, and returns the value, or the error that it raised; an error if the coordinator, whose script_hash() is the first argument, has another build';
REVOKE EXECUTE ON FUNCTION profstore_internal.answer_command(text, text) FROM PUBLIC;

-- The calls are not part of the caller's transaction: each commits on its node. A call that fails outside answer_command(), because the node has
-- another build or cancels it, has the node's message without a code; the other failures are those of the connection.
CREATE FUNCTION profstore_internal.run_on_shards(parts regclass[], command text)
	RETURNS TABLE (node text, answer text, code text, message text, detail text, hint text)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	hosts text[];
	ports int4[];
	commands text[];
BEGIN
	SELECT array_agg(s.host), array_agg(s.port),
		array_agg(format('SELECT to_json(a) FROM profstore_internal.answer_command(%L, %L) AS a', profstore_internal.script_hash(), format(command, VARIADIC s.tables)))
	INTO hosts, ports, commands
	FROM profstore_internal.shards(parts) AS s;
	RETURN QUERY
	SELECT format('%s:%s', r.node_name, r.node_port), a.answer, CASE WHEN r.success THEN a.code WHEN r.result LIKE 'ERROR:%' THEN '38000' ELSE '08006' END,
		CASE WHEN r.success THEN a.message ELSE regexp_replace(r.result, '^ERROR: +', '') END, a.detail,
		CASE WHEN r.success THEN a.hint
			WHEN r.result LIKE '%profstore_internal.answer_command(%' THEN 'Install one build of profstore on all nodes, then run ALTER EXTENSION profstore UPDATE on the coordinator.' END
	FROM master_run_on_worker(hosts, ports, commands, true) AS r,
		json_to_record(CASE WHEN r.success THEN r.result::json ELSE '{}' END) AS a (answer text, code text, message text, detail text, hint text);
END
$$;
COMMENT ON FUNCTION profstore_internal.run_on_shards(regclass[], text) IS 'runs a query of one value for each shard, on its node; %1$L in it is the shard of the first table, %2$L that of the second; code: the SQLSTATE of an error, NULL: there was none';
REVOKE EXECUTE ON FUNCTION profstore_internal.run_on_shards(regclass[], text) FROM PUBLIC;

CREATE FUNCTION profstore_internal.prevent_in_block(what text) RETURNS void
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_prevent_in_block';
COMMENT ON FUNCTION profstore_internal.prevent_in_block(text) IS 'raises an error in a transaction block, because a rollback would not undo the work of a function on nodes';
REVOKE EXECUTE ON FUNCTION profstore_internal.prevent_in_block(text) FROM PUBLIC;

CREATE FUNCTION profstore_internal.answers_of_shards(parts regclass[], command text) RETURNS SETOF text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	shard record;
BEGIN
	FOR shard IN SELECT r.* FROM profstore_internal.run_on_shards(parts, command) AS r ORDER BY r.code IS NULL LOOP
		IF shard.code IS NOT NULL THEN
			RAISE EXCEPTION USING
				ERRCODE = shard.code,
				MESSAGE = format('node %s: %s', shard.node, shard.message),
				DETAIL = concat_ws(' ', nullif(shard.detail, ''), 'Other shards may have done their part.'),
				HINT = coalesce(nullif(shard.hint, ''), 'Repeat the call when the cause is removed.');
		END IF;
		RETURN NEXT shard.answer;
	END LOOP;
END
$$;
COMMENT ON FUNCTION profstore_internal.answers_of_shards(regclass[], text) IS 'the answers of run_on_shards(); raises the first error';
REVOKE EXECUTE ON FUNCTION profstore_internal.answers_of_shards(regclass[], text) FROM PUBLIC;
