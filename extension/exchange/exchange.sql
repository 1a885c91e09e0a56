-- exchange: profiles in the formats of other tools

CREATE FUNCTION profstore.flamegraph_html(selector text, from_ts timestamptz, to_ts timestamptz, max_nodes int4 DEFAULT 8192,
								inverted bool DEFAULT false, focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function',
								title text DEFAULT NULL)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_html';
COMMENT ON FUNCTION profstore.flamegraph_html(text, timestamptz, timestamptz, int4, bool, text, text, text, text, text, text) IS 'flame graph as one self-contained HTML page with search, zoom, callers and callees of a function, and a table of functions; write it to a file with psql -Ato';

CREATE FUNCTION profstore.flamegraph_diff_html(selector text, base_from timestamptz, base_to timestamptz, from_ts timestamptz,
								to_ts timestamptz, base_selector text DEFAULT NULL, absolute bool DEFAULT false,
								max_nodes int4 DEFAULT 8192, focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function',
								title text DEFAULT NULL)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 40000 SUPPORT profstore.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_diff_html';
COMMENT ON FUNCTION profstore.flamegraph_diff_html(text, timestamptz, timestamptz, timestamptz, timestamptz, text, bool, int4, text, text, text, text, text, text) IS 'two selections in one flame graph as a self-contained HTML page: frames are coloured by their change, and a table has the changes of functions';

CREATE FUNCTION profstore.import_pprof(profile bytea, labels jsonb DEFAULT '{}', at timestamptz DEFAULT NULL,
							 sample_labels text[] DEFAULT NULL)
	RETURNS int8
	LANGUAGE c VOLATILE PARALLEL UNSAFE COST 20000
	AS 'MODULE_PATHNAME', 'profstore_import_pprof';
COMMENT ON FUNCTION profstore.import_pprof(bytea, jsonb, timestamptz, text[]) IS 'stores a profile in the format of pprof, gzip or not, all or nothing; returns the number of samples. __name__ among labels names the profile type; sample_labels: keys of sample labels that become labels of series (NULL: all)';

CREATE FUNCTION profstore.import_folded(profile text, labels jsonb DEFAULT '{}', at timestamptz DEFAULT NULL,
							  sample_type text DEFAULT 'samples', sample_unit text DEFAULT 'count')
	RETURNS int8
	LANGUAGE c VOLATILE PARALLEL UNSAFE COST 20000
	AS 'MODULE_PATHNAME', 'profstore_import_folded';
COMMENT ON FUNCTION profstore.import_folded(text, jsonb, timestamptz, text, text) IS 'stores folded stacks ("main;work 42", a line each), all or nothing; returns the number of samples. __name__ among labels names the profile type';

CREATE FUNCTION profstore.import_perf_script(profile text, labels jsonb DEFAULT '{}', at timestamptz DEFAULT NULL,
								   sample_labels text[] DEFAULT '{comm}')
	RETURNS int8
	LANGUAGE c VOLATILE PARALLEL UNSAFE COST 20000
	AS 'MODULE_PATHNAME', 'profstore_import_perf_script';
COMMENT ON FUNCTION profstore.import_perf_script(text, jsonb, timestamptz, text[]) IS 'stores what "perf script" prints, a profile type for each event, all or nothing; returns the number of samples. at: time of the first sample; sample_labels: which of comm, pid, tid, cpu become labels of series';

CREATE FUNCTION profstore.pprof(selector text, from_ts timestamptz, to_ts timestamptz, focus text DEFAULT NULL, ignore text DEFAULT NULL,
					  show text DEFAULT NULL, hide text DEFAULT NULL, sample_labels bool DEFAULT false)
	RETURNS bytea
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore.scan_support
	AS 'MODULE_PATHNAME', 'profstore_pprof';
COMMENT ON FUNCTION profstore.pprof(text, timestamptz, timestamptz, text, text, text, text, bool) IS 'merged stacks in the format of pprof, for go tool pprof and go build -pgo; sample_labels: with the labels of series on samples';

CREATE FUNCTION profstore.speedscope(selector text, from_ts timestamptz, to_ts timestamptz, focus text DEFAULT NULL, ignore text DEFAULT NULL,
						   show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function')
	RETURNS jsonb
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore.scan_support
	AS 'MODULE_PATHNAME', 'profstore_speedscope';
COMMENT ON FUNCTION profstore.speedscope(text, timestamptz, timestamptz, text, text, text, text, text) IS 'merged stacks in the file format of speedscope.app; values below 0 as a second profile';

CREATE FUNCTION profstore.flamegraph_json(selector text, from_ts timestamptz, to_ts timestamptz, max_nodes int4 DEFAULT 8192,
								inverted bool DEFAULT false, focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function')
	RETURNS jsonb
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_json';
COMMENT ON FUNCTION profstore.flamegraph_json(text, timestamptz, timestamptz, int4, bool, text, text, text, text, text) IS 'flame graph as nested objects: name, value, children, and where known file, line, binary; for d3-flame-graph';

CREATE FUNCTION profstore.firefox_profile(selector text, from_ts timestamptz, to_ts timestamptz, focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function')
	RETURNS jsonb
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore.scan_support
	AS 'MODULE_PATHNAME', 'profstore_firefox_profile';
COMMENT ON FUNCTION profstore.firefox_profile(text, timestamptz, timestamptz, text, text, text, text, text) IS 'merged stacks in the processed format of profiler.firefox.com';
