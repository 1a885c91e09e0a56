-- query: more ways to look at a selection; the arguments are those of the views in query.sql

CREATE FUNCTION profstore.filtered_share(selector text, from_ts timestamptz, to_ts timestamptz, focus text DEFAULT NULL,
							   ignore text DEFAULT NULL, show text DEFAULT NULL, hide text DEFAULT NULL,
							   OUT whole int8, OUT kept int8, OUT kept_share float8, OUT not_focused int8,
							   OUT ignored int8, OUT without_frames int8)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
	AS 'MODULE_PATHNAME', 'profstore_filtered_share';
COMMENT ON FUNCTION profstore.filtered_share(text, timestamptz, timestamptz, text, text, text, text) IS 'how much of a selection the filters keep, and what dropped the rest: focus, ignore, or show and hide that left no frame';
