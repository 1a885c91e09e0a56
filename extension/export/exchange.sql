-- exchange: profiles in the formats of other tools

CREATE FUNCTION profstore.flamegraph_html(selector text, from_ts timestamptz DEFAULT now() - interval '1 hour',
								to_ts timestamptz DEFAULT now(), max_nodes int4 DEFAULT 8192,
								inverted bool DEFAULT false, focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function',
								title text DEFAULT NULL)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_html';
COMMENT ON FUNCTION profstore.flamegraph_html(text, timestamptz, timestamptz, int4, bool, text, text, text, text, text, text) IS 'flame graph as one self-contained HTML page with search, zoom, callers and callees of a function, and a table of functions; write it to a file with psql -Ato';

CREATE FUNCTION profstore.flamegraph_diff_html(selector text, base_from timestamptz DEFAULT now() - interval '2 hours',
								base_to timestamptz DEFAULT now() - interval '1 hour',
								from_ts timestamptz DEFAULT now() - interval '1 hour', to_ts timestamptz DEFAULT now(),
								base_selector text DEFAULT NULL, absolute bool DEFAULT false,
								max_nodes int4 DEFAULT 8192, focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function',
								title text DEFAULT NULL)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 40000 SUPPORT profstore.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_diff_html';
COMMENT ON FUNCTION profstore.flamegraph_diff_html(text, timestamptz, timestamptz, timestamptz, timestamptz, text, bool, int4, text, text, text, text, text, text) IS 'two selections in one flame graph as a self-contained HTML page: frames are coloured by their change, and a table has the changes of functions';

CREATE TABLE profstore.file_notes
(
	series_id    int4 NOT NULL,
	default_type text NOT NULL,
	comments     text[] NOT NULL,
	doc_url      text NOT NULL,
	drop_frames  text NOT NULL,
	keep_frames  text NOT NULL
);
CREATE INDEX file_notes_series ON profstore.file_notes (series_id);
COMMENT ON TABLE profstore.file_notes IS 'what imported files said beside their samples, each content once for a series; texts are empty where a file said nothing. They go with the series';
COMMENT ON COLUMN profstore.file_notes.series_id IS 'id in series';
COMMENT ON COLUMN profstore.file_notes.default_type IS 'sample type that viewers show first';
COMMENT ON COLUMN profstore.file_notes.comments IS 'free texts of the tool that wrote the file';
COMMENT ON COLUMN profstore.file_notes.doc_url IS 'where the kind of profile is described';
COMMENT ON COLUMN profstore.file_notes.drop_frames IS 'regular expression on functions that stacks end before';
COMMENT ON COLUMN profstore.file_notes.keep_frames IS 'regular expression on functions that drop_frames does not mean';
SELECT pg_extension_config_dump('profstore.file_notes', '');

CREATE FUNCTION profstore.keep_file_notes(series_ids int4[], comments text[], default_type text, doc_url text, drop_frames text, keep_frames text)
	RETURNS void
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT profstore.check_series(series_ids);
	INSERT INTO profstore.file_notes AS n (series_id, default_type, comments, doc_url, drop_frames, keep_frames)
	SELECT DISTINCT s.id, keep_file_notes.default_type, keep_file_notes.comments, keep_file_notes.doc_url, keep_file_notes.drop_frames, keep_file_notes.keep_frames
	FROM unnest(series_ids) AS s(id)
	WHERE NOT EXISTS
		(SELECT FROM profstore.file_notes AS k
		 WHERE k.series_id = s.id
			 AND (k.default_type, k.comments, k.doc_url, k.drop_frames, k.keep_frames)
				 = (keep_file_notes.default_type, keep_file_notes.comments, keep_file_notes.doc_url, keep_file_notes.drop_frames, keep_file_notes.keep_frames));
END;
COMMENT ON FUNCTION profstore.keep_file_notes(int4[], text[], text, text, text, text) IS 'internal: keeps for these series, which the caller has interned, what a file said beside its samples, unless they have it';
REVOKE EXECUTE ON FUNCTION profstore.keep_file_notes(int4[], text[], text, text, text, text) FROM PUBLIC;

-- keep_frames are of the file whose drop_frames are taken
CREATE FUNCTION profstore.merged_notes(series_ids int4[], OUT default_type text, OUT doc_url text, OUT drop_frames text, OUT keep_frames text,
							 OUT comments text[])
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
WITH notes AS MATERIALIZED
	(SELECT DISTINCT n.default_type, n.comments, n.doc_url, n.drop_frames, n.keep_frames
	 FROM profstore.file_notes AS n WHERE n.series_id = ANY (merged_notes.series_ids)),
frames AS
	(SELECT n.drop_frames, n.keep_frames FROM notes AS n ORDER BY n.drop_frames = '', n.drop_frames, n.keep_frames LIMIT 1)
SELECT coalesce(min(n.default_type) FILTER (WHERE n.default_type <> ''), ''), coalesce(min(n.doc_url) FILTER (WHERE n.doc_url <> ''), ''),
	coalesce((SELECT f.drop_frames FROM frames AS f), ''), coalesce((SELECT f.keep_frames FROM frames AS f), ''),
	ARRAY(SELECT u.comment FROM notes AS c, unnest(c.comments) WITH ORDINALITY AS u(comment, ord)
		  GROUP BY u.comment ORDER BY min(c.comments), min(u.ord))
FROM notes AS n;
END;
COMMENT ON FUNCTION profstore.merged_notes(int4[]) IS 'internal: notes of several series as those of one file, as the caller sees them';

CREATE FUNCTION profstore.import_pprof(profile bytea, labels jsonb DEFAULT '{}', at timestamptz DEFAULT NULL,
							 sample_labels text[] DEFAULT NULL, prune bool DEFAULT true)
	RETURNS int8
	LANGUAGE c VOLATILE PARALLEL UNSAFE COST 20000
	AS 'MODULE_PATHNAME', 'profstore_import_pprof';
COMMENT ON FUNCTION profstore.import_pprof(bytea, jsonb, timestamptz, text[], bool) IS 'stores a profile in the format of pprof, gzip or not, all or nothing; returns the number of samples. __name__ among labels names the profile type; sample_labels: keys of sample labels that become labels of series (NULL: all); prune: without the frames that the file says to drop, as pprof shows it';

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

CREATE FUNCTION profstore.pprof(selector text, from_ts timestamptz DEFAULT now() - interval '1 hour',
								to_ts timestamptz DEFAULT now(), focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, sample_labels bool DEFAULT false)
	RETURNS bytea
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore.scan_support
	AS 'MODULE_PATHNAME', 'profstore_pprof';
COMMENT ON FUNCTION profstore.pprof(text, timestamptz, timestamptz, text, text, text, text, bool) IS 'merged stacks in the format of pprof, for go tool pprof and go build -pgo; sample_labels: with the labels of series on samples';

CREATE FUNCTION profstore.speedscope(selector text, from_ts timestamptz DEFAULT now() - interval '1 hour',
								to_ts timestamptz DEFAULT now(), focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function')
	RETURNS jsonb
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore.scan_support
	AS 'MODULE_PATHNAME', 'profstore_speedscope';
COMMENT ON FUNCTION profstore.speedscope(text, timestamptz, timestamptz, text, text, text, text, text) IS 'merged stacks in the file format of speedscope.app; values below 0 as a second profile';

CREATE FUNCTION profstore.flamegraph_json(selector text, from_ts timestamptz DEFAULT now() - interval '1 hour',
								to_ts timestamptz DEFAULT now(), max_nodes int4 DEFAULT 8192,
								inverted bool DEFAULT false, focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function')
	RETURNS jsonb
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_json';
COMMENT ON FUNCTION profstore.flamegraph_json(text, timestamptz, timestamptz, int4, bool, text, text, text, text, text) IS 'flame graph as nested objects: name, value, children, and where known file, line, mapping; for d3-flame-graph';

CREATE FUNCTION profstore.firefox_profile(selector text, from_ts timestamptz DEFAULT now() - interval '1 hour',
								to_ts timestamptz DEFAULT now(), focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, granularity text DEFAULT 'function')
	RETURNS jsonb
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore.scan_support
	AS 'MODULE_PATHNAME', 'profstore_firefox_profile';
COMMENT ON FUNCTION profstore.firefox_profile(text, timestamptz, timestamptz, text, text, text, text, text) IS 'merged stacks in the processed format of profiler.firefox.com';
