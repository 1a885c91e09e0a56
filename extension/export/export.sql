-- export: profiles for other tools, and pages

CREATE FUNCTION profstore.flamegraph_html(@SELECTION@, max_nodes int4 DEFAULT 8192, inverted bool DEFAULT false,
								@FRAME_FILTERS@, title text DEFAULT NULL, by text[] DEFAULT '{}', @TRACE@)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_html';
COMMENT ON FUNCTION profstore.flamegraph_html IS 'flame graph as one self-contained HTML page with search, zoom, callers and callees of a function, and a table of functions; by: values of these labels come before the first frame; write it to a file with psql -Ato';

CREATE FUNCTION profstore.flamegraph_diff_html(@COMPARISON@, max_nodes int4 DEFAULT 8192, @FRAME_FILTERS@,
								title text DEFAULT NULL, @TRACE@, @BASE_TRACE@)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 40000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_diff_html';
COMMENT ON FUNCTION profstore.flamegraph_diff_html IS 'two selections in one flame graph as a self-contained HTML page: frames are coloured by their change, and a table has the changes of functions';

CREATE FUNCTION profstore.pprof(@SELECTION@, @FILTERS@, sample_labels bool DEFAULT false, @TRACE@)
	RETURNS bytea
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_pprof';
COMMENT ON FUNCTION profstore.pprof IS 'merged stacks in the format of pprof, for go tool pprof and go build -pgo; sample_labels: with the labels of series on samples';

CREATE FUNCTION profstore.speedscope(@SELECTION@, @FRAME_FILTERS@, @TRACE@)
	RETURNS jsonb
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_speedscope';
COMMENT ON FUNCTION profstore.speedscope IS 'merged stacks in the file format of speedscope.app; values below 0 as a second profile';

CREATE FUNCTION profstore.flamegraph_json(@SELECTION@, max_nodes int4 DEFAULT 8192, inverted bool DEFAULT false,
								@FRAME_FILTERS@, @TRACE@)
	RETURNS jsonb
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_json';
COMMENT ON FUNCTION profstore.flamegraph_json IS 'flame graph as nested objects: name, value, children, and where known file, line, mapping; for d3-flame-graph';

CREATE FUNCTION profstore.firefox_profile(@SELECTION@, @FRAME_FILTERS@, @TRACE@)
	RETURNS jsonb
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_firefox_profile';
COMMENT ON FUNCTION profstore.firefox_profile IS 'merged stacks in the processed format of profiler.firefox.com';
