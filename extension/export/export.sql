-- export: profiles for other tools, and pages

CREATE FUNCTION profstore.flamegraph_html(selector text, from_ts timestamptz DEFAULT now() - interval '1 hour',
								to_ts timestamptz DEFAULT now(), max_nodes int4 DEFAULT 8192,
								inverted bool DEFAULT false, focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function',
								title text DEFAULT NULL, by text[] DEFAULT '{}',
								trace uuid DEFAULT NULL, span text DEFAULT NULL)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_html';
COMMENT ON FUNCTION profstore.flamegraph_html(text, timestamptz, timestamptz, int4, bool, text, text, text, text, text, text, text[], uuid, text) IS 'flame graph as one self-contained HTML page with search, zoom, callers and callees of a function, and a table of functions; by: values of these labels come before the first frame; write it to a file with psql -Ato';

CREATE FUNCTION profstore.flamegraph_diff_html(selector text, base_from timestamptz DEFAULT now() - interval '2 hours',
								base_to timestamptz DEFAULT now() - interval '1 hour',
								from_ts timestamptz DEFAULT now() - interval '1 hour', to_ts timestamptz DEFAULT now(),
								base_selector text DEFAULT NULL, absolute bool DEFAULT false,
								max_nodes int4 DEFAULT 8192, focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function',
								title text DEFAULT NULL,
								trace uuid DEFAULT NULL, span text DEFAULT NULL,
								base_trace uuid DEFAULT NULL, base_span text DEFAULT NULL)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 40000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_diff_html';
COMMENT ON FUNCTION profstore.flamegraph_diff_html(text, timestamptz, timestamptz, timestamptz, timestamptz, text, bool, int4, text, text, text, text, text, text, uuid, text, uuid, text) IS 'two selections in one flame graph as a self-contained HTML page: frames are coloured by their change, and a table has the changes of functions';

CREATE FUNCTION profstore.pprof(selector text, from_ts timestamptz DEFAULT now() - interval '1 hour',
								to_ts timestamptz DEFAULT now(), focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, sample_labels bool DEFAULT false,
								trace uuid DEFAULT NULL, span text DEFAULT NULL)
	RETURNS bytea
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_pprof';
COMMENT ON FUNCTION profstore.pprof(text, timestamptz, timestamptz, text, text, text, text, bool, uuid, text) IS 'merged stacks in the format of pprof, for go tool pprof and go build -pgo; sample_labels: with the labels of series on samples';

CREATE FUNCTION profstore.speedscope(selector text, from_ts timestamptz DEFAULT now() - interval '1 hour',
								to_ts timestamptz DEFAULT now(), focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function',
								trace uuid DEFAULT NULL, span text DEFAULT NULL)
	RETURNS jsonb
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_speedscope';
COMMENT ON FUNCTION profstore.speedscope(text, timestamptz, timestamptz, text, text, text, text, text, uuid, text) IS 'merged stacks in the file format of speedscope.app; values below 0 as a second profile';

CREATE FUNCTION profstore.flamegraph_json(selector text, from_ts timestamptz DEFAULT now() - interval '1 hour',
								to_ts timestamptz DEFAULT now(), max_nodes int4 DEFAULT 8192,
								inverted bool DEFAULT false, focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function',
								trace uuid DEFAULT NULL, span text DEFAULT NULL)
	RETURNS jsonb
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_json';
COMMENT ON FUNCTION profstore.flamegraph_json(text, timestamptz, timestamptz, int4, bool, text, text, text, text, text, uuid, text) IS 'flame graph as nested objects: name, value, children, and where known file, line, mapping; for d3-flame-graph';

CREATE FUNCTION profstore.firefox_profile(selector text, from_ts timestamptz DEFAULT now() - interval '1 hour',
								to_ts timestamptz DEFAULT now(), focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function',
								trace uuid DEFAULT NULL, span text DEFAULT NULL)
	RETURNS jsonb
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_firefox_profile';
COMMENT ON FUNCTION profstore.firefox_profile(text, timestamptz, timestamptz, text, text, text, text, text, uuid, text) IS 'merged stacks in the processed format of profiler.firefox.com';
