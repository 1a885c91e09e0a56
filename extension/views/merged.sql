-- merged: sums per stack as a type, the aggregate that computes them from any rows, and its views

CREATE TYPE profstore.stack_sums;
CREATE FUNCTION profstore_internal.stack_sums_in(cstring) RETURNS profstore.stack_sums
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'profstore_stack_sums_in';
COMMENT ON FUNCTION profstore_internal.stack_sums_in IS 'input function of type stack_sums';
CREATE FUNCTION profstore_internal.stack_sums_out(profstore.stack_sums) RETURNS cstring
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'profstore_stack_sums_out';
COMMENT ON FUNCTION profstore_internal.stack_sums_out IS 'output function of type stack_sums';
CREATE FUNCTION profstore_internal.stack_sums_recv(internal) RETURNS profstore.stack_sums
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'profstore_stack_sums_recv';
COMMENT ON FUNCTION profstore_internal.stack_sums_recv IS 'binary input function of type stack_sums';
CREATE FUNCTION profstore_internal.stack_sums_send(profstore.stack_sums) RETURNS bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'profstore_stack_sums_send';
COMMENT ON FUNCTION profstore_internal.stack_sums_send IS 'binary output function of type stack_sums';
CREATE TYPE profstore.stack_sums (INPUT = profstore_internal.stack_sums_in, OUTPUT = profstore_internal.stack_sums_out,
	RECEIVE = profstore_internal.stack_sums_recv, SEND = profstore_internal.stack_sums_send, STORAGE = extended);
COMMENT ON TYPE profstore.stack_sums IS 'a value per stack: a merged profile that can be kept and merged again; as text {stack_id:value,...}';

CREATE FUNCTION profstore_internal.merge_stacks_add(internal, int8, int8) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'profstore_merge_stacks_add';
COMMENT ON FUNCTION profstore_internal.merge_stacks_add IS 'transition of merge_stacks';
CREATE FUNCTION profstore_internal.merge_stacks_add_sums(internal, profstore.stack_sums) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'profstore_merge_stacks_add_sums';
COMMENT ON FUNCTION profstore_internal.merge_stacks_add_sums IS 'transition of merge_stacks';
CREATE FUNCTION profstore_internal.merge_stacks_combine(internal, internal) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'profstore_merge_stacks_combine';
COMMENT ON FUNCTION profstore_internal.merge_stacks_combine IS 'adds two states of merge_stacks';
CREATE FUNCTION profstore_internal.merge_stacks_serialize(internal) RETURNS bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'profstore_merge_stacks_serialize';
COMMENT ON FUNCTION profstore_internal.merge_stacks_serialize IS 'a state of merge_stacks for another process';
CREATE FUNCTION profstore_internal.merge_stacks_deserialize(bytea, internal) RETURNS internal
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'profstore_merge_stacks_deserialize';
COMMENT ON FUNCTION profstore_internal.merge_stacks_deserialize IS 'a state of merge_stacks from another process';
CREATE FUNCTION profstore_internal.merge_stacks_final(internal) RETURNS profstore.stack_sums
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'profstore_merge_stacks_final';
COMMENT ON FUNCTION profstore_internal.merge_stacks_final IS 'result of merge_stacks';

CREATE AGGREGATE profstore.merge_stacks(stack_id int8, value int8) (
	SFUNC = profstore_internal.merge_stacks_add, STYPE = internal, SSPACE = 1000000, FINALFUNC = profstore_internal.merge_stacks_final,
	COMBINEFUNC = profstore_internal.merge_stacks_combine, SERIALFUNC = profstore_internal.merge_stacks_serialize,
	DESERIALFUNC = profstore_internal.merge_stacks_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE profstore.merge_stacks(int8, int8) IS 'the sum of each stack, over rows of any relation with stack ids; flamegraph_of, flamegraph_diff_of, top_of, folded_of and callgraph_of show it';

CREATE AGGREGATE profstore.merge_stacks(sums profstore.stack_sums) (
	SFUNC = profstore_internal.merge_stacks_add_sums, STYPE = internal, SSPACE = 1000000, FINALFUNC = profstore_internal.merge_stacks_final,
	COMBINEFUNC = profstore_internal.merge_stacks_combine, SERIALFUNC = profstore_internal.merge_stacks_serialize,
	DESERIALFUNC = profstore_internal.merge_stacks_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE profstore.merge_stacks(profstore.stack_sums) IS 'merged profiles that were kept, merged again';

CREATE FUNCTION profstore.stacks_in(sums profstore.stack_sums) RETURNS TABLE (stack_id int8, value int8)
	LANGUAGE c IMMUTABLE PARALLEL SAFE ROWS 10000 AS 'MODULE_PATHNAME', 'profstore_stacks_in';
COMMENT ON FUNCTION profstore.stacks_in IS 'the stacks of a merged profile, by id';

CREATE FUNCTION profstore.flamegraph_of(sums profstore.stack_sums, max_nodes int4 DEFAULT 8192,
								inverted bool DEFAULT false, @FRAME_FILTERS@)
	RETURNS TABLE (ord int4, level int4, value int8, self int8, label text, truncated bool, file text, line int4,
			   mapping text)
	LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 8192
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_of';
COMMENT ON FUNCTION profstore.flamegraph_of IS 'a merged profile as flamegraph() shows it (ORDER BY ord)';

CREATE FUNCTION profstore.top_of(sums profstore.stack_sums, max_rows int4 DEFAULT 100, @FRAME_FILTERS@)
	RETURNS TABLE ("function" text, self int8, total int8, self_share float8, total_share float8, file text,
			   mapping text, kind text)
	LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 100
	AS 'MODULE_PATHNAME', 'profstore_top_of';
COMMENT ON FUNCTION profstore.top_of IS 'a merged profile as top() shows it';

CREATE FUNCTION profstore.flamegraph_diff_of(before profstore.stack_sums, after profstore.stack_sums,
								max_nodes int4 DEFAULT 8192, @FRAME_FILTERS@)
	RETURNS TABLE (ord int4, level int4, value int8, self int8, label text, truncated bool, file text, line int4,
			   mapping text, "valueRight" int8, "selfRight" int8)
	LANGUAGE c STABLE PARALLEL SAFE COST 20000 ROWS 8192
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_diff_of';
COMMENT ON FUNCTION profstore.flamegraph_diff_of IS 'two merged profiles as flamegraph_diff(absolute => true) shows selections (ORDER BY ord): value and self are those before, "valueRight" and "selfRight" those after';

CREATE FUNCTION profstore.callgraph_of(sums profstore.stack_sums, max_nodes int4 DEFAULT NULL, @FRAME_FILTERS@)
	RETURNS TABLE (caller text, callee text, value int8, share float8, indirect bool)
	LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 1000
	AS 'MODULE_PATHNAME', 'profstore_callgraph_of';
COMMENT ON FUNCTION profstore.callgraph_of IS 'a merged profile as callgraph() shows it';

CREATE FUNCTION profstore.folded_of(sums profstore.stack_sums, @FRAME_FILTERS@)
	RETURNS TABLE (stack text, value int8)
	LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 10000
	AS 'MODULE_PATHNAME', 'profstore_folded_of';
COMMENT ON FUNCTION profstore.folded_of IS 'a merged profile as folded() shows it';
