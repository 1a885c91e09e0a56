-- exchange: profiles in the formats of other tools

CREATE FUNCTION profstore.flamegraph_html(selector text, from_ts timestamptz, to_ts timestamptz, max_nodes int4 DEFAULT 8192,
								inverted bool DEFAULT false, focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function',
								title text DEFAULT NULL)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_html';
COMMENT ON FUNCTION profstore.flamegraph_html(text, timestamptz, timestamptz, int4, bool, text, text, text, text, text, text) IS 'flame graph as one self-contained HTML page with search, zoom and a table of functions; write it to a file with psql -Ato';

