-- Functions and operators that another role puts first in the caller's search path are never called, as the caller or as the owner.
SET client_min_messages = warning;
CREATE SCHEMA hostile;

-- Copies every function and operator of pg_catalog with arguments of common types. Polymorphic ones are copied for some of these types, as
-- a better match than the original. All copies raise an error.
DO $$
DECLARE
	common regtype[] := '{text,bool,int2,int4,int8,float8,numeric,timestamptz,timestamp,date,interval,bytea,oid,name,"char",regclass,uuid,xid8,jsonb,text[],int4[],int8[],bytea[],jsonb[]}';
	substitute regtype[];
	one record;
BEGIN
	FOREACH substitute SLICE 1 IN ARRAY '{{text,text[]},{int4,int4[]},{int8,int8[]},{jsonb,jsonb[]}}'::regtype[] LOOP
		FOR one IN
			SELECT DISTINCT p.proname, a.types
			FROM pg_proc AS p, LATERAL
				(SELECT coalesce(array_agg(CASE t.oid::regtype::text
						WHEN 'anyelement' THEN substitute[1] WHEN 'anynonarray' THEN substitute[1] WHEN 'anycompatible' THEN substitute[1] WHEN '"any"' THEN substitute[1]
						WHEN 'anyarray' THEN substitute[2] WHEN 'anycompatiblearray' THEN substitute[2]
						ELSE t.oid::regtype END ORDER BY t.ord), '{}') AS types
				 FROM unnest(p.proargtypes) WITH ORDINALITY AS t(oid, ord)) AS a
			WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind IN ('f', 'a', 'w') AND a.types <@ common
				AND to_regprocedure(format('hostile.%I(%s)', p.proname, array_to_string(a.types, ', '))) IS NULL
		LOOP
			EXECUTE format('CREATE FUNCTION hostile.%I(%s) RETURNS text LANGUAGE plpgsql AS %L', one.proname, array_to_string(one.types, ', '),
				format('BEGIN RAISE ''planted function %s ran''; END', one.proname));
		END LOOP;
	END LOOP;
	FOR one IN
		WITH substitutes(base, of_base) AS (VALUES ('text'::regtype, 'text[]'::regtype), ('int4', 'int4[]'), ('int8', 'int8[]'), ('jsonb', 'jsonb[]')),
		numbers(type) AS (VALUES ('int2'::regtype), ('int4'), ('int8'), ('float8'), ('numeric'))
		SELECT DISTINCT o.oprname, l.type AS left_type, r.type AS right_type
		FROM pg_operator AS o, substitutes AS s,
			LATERAL (SELECT CASE WHEN o.oprleft IN ('anyelement'::regtype, 'anynonarray'::regtype, 'anycompatible'::regtype) THEN s.base
				WHEN o.oprleft IN ('anyarray'::regtype, 'anycompatiblearray'::regtype) THEN s.of_base ELSE o.oprleft::regtype END) AS l(type),
			LATERAL (SELECT CASE WHEN o.oprright IN ('anyelement'::regtype, 'anynonarray'::regtype, 'anycompatible'::regtype) THEN s.base
				WHEN o.oprright IN ('anyarray'::regtype, 'anycompatiblearray'::regtype) THEN s.of_base ELSE o.oprright::regtype END) AS r(type)
		WHERE o.oprkind = 'b' AND l.type = ANY (common) AND r.type = ANY (common)
		UNION
		SELECT o.name, l.type, r.type FROM unnest('{=,<>,<,<=,>,>=,+,-,*,/}'::name[]) AS o(name), numbers AS l, numbers AS r
	LOOP
		IF to_regprocedure(format('hostile.planted_operator(%s, %s)', one.left_type, one.right_type)) IS NULL THEN
			EXECUTE format('CREATE FUNCTION hostile.planted_operator(%s, %s) RETURNS bool LANGUAGE plpgsql AS $f$ BEGIN RAISE ''a planted operator ran''; END $f$',
				one.left_type, one.right_type);
		END IF;
		EXECUTE format('CREATE OPERATOR hostile.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = hostile.planted_operator)', one.oprname, one.left_type, one.right_type);
	END LOOP;
END
$$;

-- Calls every public function, in an order in which each has data.
CREATE TABLE calls (n int4 GENERATED ALWAYS AS IDENTITY, call text);
INSERT INTO calls (call) VALUES
	($$ensure_partitions('2026-03-01 00:00Z', '2026-03-02 00:00Z')$$),
	($$calling_role()$$),
	($$writer_protocols()$$),
	($$row_policies()$$),
	($$apply_policies()$$),
	($$epoch()$$),
	($$begin_batch('00000000-0000-0000-0000-00000000000a', 1, profstore.epoch())$$),
	($$take_receipts('{00000000-0000-0000-0000-00000000000a}')$$),
	($$pin_epoch(profstore.epoch())$$),
	($$find_symbol_work(true)$$),
	($$claim_symbol_work('w', 1)$$),
	($$open_addresses('a1b2')$$),
	($$settle_symbol_work('a1b2', 'w', 0, NULL, 'none')$$),
	($$want_symbols()$$),
	($$forget_answers('a1b2', 'wrong')$$),
	($$begin_debuginfo('a1b2c3d4a1b2c3d4', pg_catalog.sha256('a'), 7, 'tool.debug')$$),
	($$put_debuginfo(1, 0, 'x')$$),
	($$finish_debuginfo(1)$$),
	($$find_debuginfo('a1b2c3d4a1b2c3d4')$$),
	($$debuginfo_state('a1b2c3d4a1b2c3d4', 'a', '')$$),
	($$read_debuginfo(1, 0)$$),
	($$remove_debuginfo('a1b2c3d4a1b2c3d4', true)$$),
	($$put_sources('a1b2', '{/a.c}', '{int}')$$),
	($$map_sources('/src/', '')$$),
	($$unmap_sources('/src/')$$),
	($$missing_sources('a1b2', 10)$$),
	($$remove_sources('a1b2')$$),
	($$source_text('{1}', 'a.c')$$),
	($$same_functions('a1b2', 'b2c3')$$),
	($$intern_profile_types('{cpu:a:b:c:d:delta}')$$),
	($$intern_series('{cpu:a:b:c:d:delta,heap:a:bytes:c:d}', '{"{\"node\": \"x\", \"comm\": \"y\"}","{\"node\": \"x\"}"}', '{1,1}')$$),
	($$intern_functions('{f,g}', '{f,g}', '{f.c,g.c}', '{1,2}')$$),
	($$intern_mappings('{a}', '{/bin/tool}')$$),
	($$intern_locations('{1,1}', '{16,32}', '{1,1}', '{1,2}', '{1,2}')$$),
	($$intern_stacks('tool', '{1,2}', '{1,2,1}')$$),
	($$intern_stacks_by_partition('{tool,other}', '{1,1}', '{1,2}', '{1,2,1}')$$),
	($$touch_series('{1,2}', '2026-03-01', '2026-03-01')$$),
	($$touch_each_series('{1,2}', '{2026-03-01,2026-03-01}', '{2026-03-01,2026-03-01}')$$),
	($$import_folded('f;g 3', '{"__name__": "cpu", "service": "x"}', '2026-03-01 12:00Z')$$),
	($$import_perf_script(E'tool 7 1.5: 1 cycles:\n\t10 f (/bin/tool)\n', '{"service": "x"}', '2026-03-01 13:00Z')$$),
	-- a source file with comments and a URL
	($$import_pprof('\x0a04080110020a0408031004120b0a0201021205038087a70e1a1208011080808002188080c002280530063801220f08011001188080800222040801100d220f0802100118908080022204080210042a0a0801100718072008280a2a0a080210091809200a28015a040803100448809497ece39fe7cb175080c8afa0256080ade2047001780b680c680d680e3200320773616d706c65733205636f756e743203637075320b6e616e6f7365636f6e6473320c2f62696e2f6d6164652d75703210303132333435363738396162636465663204776f726b32242f736f757263652f6f662f6d6164652f70726f66696c65732f7372632f66696c65302e6332046d61696e32242f736f757263652f6f662f6d6164652f70726f66696c65732f7372632f66696c65312e63321c68747470733a2f2f6578616d706c652e6f72672f70726f66696c6573320e6275696c742077697468202d4f323205c3bc6ec3af320c61207365636f6e642072756e', '{"__name__": "notes"}', '2026-03-01 14:00Z')$$),
	($$import_pprof(profstore.pprof('cpu:samples:count:::delta', '2026-03-01', '2026-03-02'), '{"__name__": "again"}', '2026-03-01 15:00Z')$$),
	($$parse_selector('cpu:a:b:c:d:delta{node=~"x"}')$$),
	($$parse_profile_type('cpu:a:b:c:d:delta')$$),
	($$normalize_labels('{"a": "", "b": "c"}')$$),
	($$selector('cpu:a:b:c:d:delta', '{"node": ["x", "y"], "comm": "z"}')$$),
	($$matching_series('cpu:a:b:c:d:delta{node="x",comm=~"y|z",a!="b",c!~"d"}')$$),
	($$profile_types()$$),
	($$series('{node="x"}', '2026-03-01', '2026-03-02')$$),
	($$label_names('{node="x"}', '2026-03-01', '2026-03-02')$$),
	($$label_values('node', '{node="x"}', '2026-03-01', '2026-03-02')$$),
	($$help('flame')$$), ($$help()$$), ($$target_states()$$),
	($$report_collector('x', 'agent', '1.0', '2026-03-01', '2026-03-01', false, '{a,b}', '{1,2}')$$),
	($$set_health_limits('lag', 1, 2)$$),
	($$health()$$),
	($$record_health()$$),
	($$collector_metrics()$$),
	($$reset_health_limits()$$),
	($$forget_collector('x')$$), ($$forget_collector('x', 'y')$$),
	($$timeseries('cpu:samples:count:::delta', '2026-03-01', '2026-03-02', '1 hour', '{service}')$$),
	($$flamegraph('cpu:samples:count:::delta', '2026-03-01', '2026-03-02', by => '{service}')$$),
	($$flamegraph('cpu:samples', by => '{service}')$$), ($$flamegraph_text('cpu:samples', '2026-03-01', '2026-03-02')$$),
	($$flamegraph('no:such:type:x:y', '2026-03-01', '2026-03-02')$$),
	($$flamegraph_diff('cpu:samples:count:::delta', '2026-03-01', '2026-03-02', '2026-03-01', '2026-03-02')$$),
	($$top('cpu:samples:count:::delta', '2026-03-01', '2026-03-02', focus => 'f', ignore => '{mapping="x"}', hide => 'g')$$),
	($$top_diff('cpu:samples:count:::delta', '2026-03-01', '2026-03-02', '2026-03-01', '2026-03-02')$$),
	($$callers('cpu:samples:count:::delta', '2026-03-01', '2026-03-02', 'g')$$),
	($$callees('cpu:samples:count:::delta', '2026-03-01', '2026-03-02', 'f')$$),
	($$sandwich('cpu:samples:count:::delta', '2026-03-01', '2026-03-02', 'f')$$),
	($$source('cpu:samples:count:::delta', '2026-03-01', '2026-03-02', 'f.c')$$),
	($$callgraph('cpu:samples:count:::delta', '2026-03-01', '2026-03-02')$$),
	($$callgraph_dot('cpu:samples:count:::delta', '2026-03-01', '2026-03-02')$$),
	($$heatmap('cpu:samples:count:::delta', '2026-03-01 12:00Z', '2026-03-01 12:01Z')$$),
	($$flamechart('cpu:samples:count:::delta', '2026-03-01', '2026-03-02', width => '1 s')$$),
	($$regressions('cpu:samples:count:::delta', at => '2026-03-01 12:00Z', host => 'service')$$),
	($$regressions_basis('cpu:samples:count:::delta', at => '2026-03-01 12:00Z', host => 'service')$$),
	($$cost_of('{service="nobody"}', '2026-03-01', '2026-03-02')$$),
	($$cost_of_functions('{service="nobody"}', '2026-03-01', '2026-03-02')$$),
	($$anomalies('cpu:samples:count:::delta', '2026-03-01', '2026-03-02')$$),
	($$top_queries('cpu:samples:count:::delta', '2026-03-01', '2026-03-02')$$),
	($$filtered_share('cpu:samples:count:::delta', '2026-03-01', '2026-03-02', focus => 'f')$$),
	($$selection_status('cpu:samples:count:::delta', '2026-03-01', '2026-03-02', focus => 'f')$$),
	($$selection_error('cpu:samples:count:::delta', focus => 'f')$$),
	($$valid_selector('cpu:samples:count:::delta', focus => 'f')$$),
	($$valid_filter('f')$$),
	($$valid_time('2026-03-01')$$),
	($$valid_time('2026-03-01', 'UTC')$$),
	($$frames_of('kernel')$$),
	($$frame_filter('f a.c:1', 'line', 'a.c')$$),
	($$forge_url('github.com/org/name', 'v1', '/build/name/a b.c', 7)$$),
	($$type_title('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta')$$),
	($$folded('cpu:samples:count:::delta', '2026-03-01', '2026-03-02')$$),
	($$stacks_of('cpu:samples:count:::delta', '2026-03-01', '2026-03-02')$$),
	($$flamegraph_html('cpu:samples:count:::delta', '2026-03-01', '2026-03-02')$$),
	($$flamegraph_diff_html('cpu:samples:count:::delta', '2026-03-01', '2026-03-02', '2026-03-01', '2026-03-02')$$),
	($$report_html('cpu:samples:count:::delta', '2026-03-01', '2026-03-02')$$),
	($$pprof('notes:cpu:nanoseconds:cpu:nanoseconds:delta', '2026-03-01', '2026-03-02', sample_labels => true)$$),
	($$pprof('again:samples:count:::delta', '2026-03-01', '2026-03-02', sample_labels => true)$$),
	($$speedscope('cpu:samples:count:::delta', '2026-03-01', '2026-03-02')$$),
	($$flamegraph_json('cpu:samples:count:::delta', '2026-03-01', '2026-03-02')$$),
	($$firefox_profile('cpu:samples:count:::delta', '2026-03-01', '2026-03-02')$$),
	($$stacks_in((SELECT profstore.merge_stacks(stack_id, value) FROM profstore.samples))$$),
	($$stacks_in((SELECT profstore.merge_stacks('{1:2}'::profstore.stack_sums)))$$),
	($$flamegraph_of('{0:2}')$$),
	($$flamegraph_diff_of('{0:2}', '{0:3}')$$),
	($$top_of('{0:2}')$$),
	($$callgraph_of('{0:2}')$$),
	($$folded_of('{0:2}')$$),
	($$last_scan()$$),
	($$short_name('f', 30)$$), ($$readable(12345, 'bytes')$$),
	($$shared_cache()$$), ($$version()$$),
	($$storage_id('profstore.samples')$$),
	($$compact()$$),
	($$compact_in_steps()$$),
	($$verify()$$),
	($$remove_samples('profstore.samples', 'value OPERATOR(pg_catalog.<) 0')$$),
	($$compact_dictionary()$$),
	($$track_stacks('tracked', 'stack')$$),
	($$stack_references()$$),
	($$set_retention('30 days', '40 days', '50 days')$$),
	($$partitions()$$),
	($$remove_segment('profstore.samples_20260301', (SELECT pg_catalog.min(segment) FROM profstore.segment_details WHERE relation OPERATOR(pg_catalog.=) 'profstore.samples_20260301'::pg_catalog.regclass))$$),
	($$apply_retention()$$),
	($$collect_dictionary('0')$$),
	($$collect_dictionary('0')$$),
	($$untrack_stacks('tracked')$$),
	($$distribute()$$),
	($$drop_before('2026-03-02 00:00Z')$$),
	($$bump_names()$$),
	($$bump_epoch()$$),
	($$keep_traces('{2026-03-01 12:00Z}', '{1}', '{1}', '{1}', '{00000000-0000-0000-0000-00000000000a}', '{NULL}')$$),
	($$folded('cpu:samples:count:::delta', '2026-03-01', '2026-03-02', trace => '00000000-0000-0000-0000-00000000000a', span => '00f067aa0ba902b7')$$),
	($$verify()$$),
	($$remove_samples('profstore.samples', 'value OPERATOR(pg_catalog.>) 0')$$),
	($$keep_file_notes('{1}', '{a}', 'b', 'c', 'd', 'e')$$),
	($$stored_rows('cpu:samples:count:::delta', '2026-03-01', '2026-03-02')$$),
	($$grant_read('regress_pfs_hostile')$$),
	($$grant_read('regress_pfs_hostile', '{a="b"}')$$),
	($$grant_write('regress_pfs_hostile')$$),
	($$grant_write('regress_pfs_hostile', '{a="b"}')$$),
	($$grant_maintain('regress_pfs_hostile')$$),
	($$revoke_access('regress_pfs_hostile')$$);
UPDATE calls SET call = CASE WHEN call ~ '^(apply_retention|compact_in_steps|distribute)' THEN 'CALL profstore.' ELSE 'SELECT * FROM profstore.' END || call;
CREATE ROLE regress_pfs_hostile;
CREATE TABLE tracked (stack int8);

SELECT DISTINCT p.proname AS is_not_called FROM pg_proc AS p
WHERE p.pronamespace = 'profstore'::regnamespace
	AND NOT EXISTS (SELECT FROM calls AS c WHERE c.call LIKE '%profstore.' || p.proname || '(%')
ORDER BY 1;

SET search_path = hostile, pg_catalog, public;
-- the copies are called if nothing prevents it
SELECT 'a'::text || 'b'::text;
SELECT unnest('{a}'::text[]);

\o /dev/null
SELECT call FROM calls ORDER BY n
\gexec
SELECT * FROM profstore.segment_details;
SELECT * FROM profstore.segment_stats;
SELECT * FROM profstore.compaction_progress;
SELECT * FROM profstore.unwind_quality;
SELECT * FROM profstore.stacks;
\o
RESET search_path;

-- functions whose body is parsed at each call set their own search path
SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
WHERE p.pronamespace IN ('profstore'::regnamespace, 'profstore_internal'::regnamespace) AND l.lanname NOT IN ('c', 'internal') AND p.prosqlbody IS NULL
	AND NOT coalesce(p.proconfig @> array['search_path=pg_catalog, pg_temp'], false);

DROP OWNED BY regress_pfs_hostile;
DROP ROLE regress_pfs_hostile;
