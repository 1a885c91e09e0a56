-- import: profiles of other tools, and the notes of their files

CREATE TABLE profstore.file_notes
(
	series_id    int4 NOT NULL,
	default_type text NOT NULL,
	comments     text[] NOT NULL,
	doc_url      text NOT NULL,
	drop_frames  text NOT NULL,
	keep_frames  text NOT NULL
);
-- the content is part of the key: the comments of two files may differ
CREATE INDEX file_notes_series ON profstore.file_notes (series_id, hash_array_extended(comments, 0));
COMMENT ON TABLE profstore.file_notes IS 'notes of imported files besides samples, each content once for a series; a text that a file lacks is empty. Notes are deleted with the series';
COMMENT ON COLUMN profstore.file_notes.series_id IS 'id in series';
COMMENT ON COLUMN profstore.file_notes.default_type IS 'sample type that viewers show first';
COMMENT ON COLUMN profstore.file_notes.comments IS 'free texts of the tool that wrote the file';
COMMENT ON COLUMN profstore.file_notes.doc_url IS 'URL of a description of the kind of profile';
COMMENT ON COLUMN profstore.file_notes.drop_frames IS 'regular expression: functions that match are dropped from stacks, with all frames that they call';
COMMENT ON COLUMN profstore.file_notes.keep_frames IS 'regular expression on functions that are kept although drop_frames matches them';
SELECT pg_extension_config_dump('profstore.file_notes', '');

CREATE FUNCTION profstore.keep_file_notes(series_ids int4[], comments text[], default_type text, doc_url text, drop_frames text, keep_frames text)
	RETURNS void
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT profstore_internal.check_series(series_ids);
	INSERT INTO profstore.file_notes AS n (series_id, default_type, comments, doc_url, drop_frames, keep_frames)
	SELECT DISTINCT s.id, keep_file_notes.default_type, keep_file_notes.comments, keep_file_notes.doc_url, keep_file_notes.drop_frames, keep_file_notes.keep_frames
	FROM unnest(series_ids) AS s(id)
	WHERE NOT EXISTS
		(SELECT FROM profstore.file_notes AS k
		 WHERE k.series_id = s.id
			 AND hash_array_extended(k.comments, 0) = hash_array_extended(keep_file_notes.comments, 0)
			 AND (k.default_type, k.comments, k.doc_url, k.drop_frames, k.keep_frames)
				 = (keep_file_notes.default_type, keep_file_notes.comments, keep_file_notes.doc_url, keep_file_notes.drop_frames, keep_file_notes.keep_frames));
END;
COMMENT ON FUNCTION profstore.keep_file_notes(int4[], text[], text, text, text, text) IS 'stores the notes of a file for series that the caller has interned, unless they exist';
REVOKE EXECUTE ON FUNCTION profstore.keep_file_notes(int4[], text[], text, text, text, text) FROM PUBLIC;

CREATE FUNCTION profstore.import_pprof(profile bytea, labels jsonb DEFAULT '{}', at timestamptz DEFAULT NULL,
							 sample_labels text[] DEFAULT NULL, prune bool DEFAULT true)
	RETURNS int8
	LANGUAGE c VOLATILE PARALLEL UNSAFE COST 20000
	AS 'MODULE_PATHNAME', 'profstore_import_pprof';
COMMENT ON FUNCTION profstore.import_pprof(bytea, jsonb, timestamptz, text[], bool) IS 'stores a profile in a format that go tool pprof opens, a flight recording of Java, speedscope''s or V8''s JSON, trace events of Chrome, or of Callgrind, gzip or not, all or nothing; returns the number of samples. __name__ among labels names the profile type; sample_labels: keys of sample labels that become labels of series (NULL: all); prune: without the frames that the file says to drop, as pprof shows it';

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
COMMENT ON FUNCTION profstore.import_perf_script(text, jsonb, timestamptz, text[]) IS 'stores the output of "perf script", a profile type for each event, all or nothing; returns the number of samples. at: time of the first sample; sample_labels: those of comm, pid, tid, cpu that become labels of series';
