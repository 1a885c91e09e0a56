-- views: more views of a selection; their arguments are those of the views in query.sql

CREATE FUNCTION profstore.filtered_share(@SELECTION@, @FILTERS@, @TRACE@, OUT whole int8, OUT kept int8,
								OUT kept_share float8, OUT not_focused int8, OUT ignored int8, OUT without_frames int8)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_filtered_share';
COMMENT ON FUNCTION profstore.filtered_share IS 'the share of a selection that the filters keep, and the shares dropped by focus, by ignore, and by show and hide that left no frame';

CREATE FUNCTION profstore.sandwich(@SELECTION@, "function" text DEFAULT NULL, max_nodes int4 DEFAULT 8192,
								@FRAME_FILTERS@, @TRACE@)
	RETURNS TABLE (side text, ord int4, level int4, value int8, self int8, label text, truncated bool, share float8)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 ROWS 2000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_sandwich';
COMMENT ON FUNCTION profstore.sandwich IS 'callers and callees of a function (ORDER BY ord): the rows of each side are a flame graph that begins at the function; share is the part of the function''s total';

CREATE FUNCTION profstore.source(@SELECTION@, filename text DEFAULT NULL, @FILTERS@, contents text DEFAULT NULL,
								@TRACE@)
	RETURNS TABLE (line int4, self int8, total int8, "text" text)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 100 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_source';
COMMENT ON FUNCTION profstore.source IS 'costs of the lines of a source file, a line that recurs in a stack counted once; filename is a path, its last parts, or matchers of frames in braces. With the file''s contents, or if put_sources() has stored it, every line has a row, with its text';

CREATE FUNCTION profstore.callgraph(@SELECTION@, max_nodes int4 DEFAULT NULL, @FRAME_FILTERS@, @TRACE@)
	RETURNS TABLE (caller text, callee text, value int8, share float8, indirect bool)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_callgraph';
COMMENT ON FUNCTION profstore.callgraph IS 'calls between functions, by value; a stack that contains a call several times counts once. Only the max_nodes functions of the largest totals are shown; calls through other functions are indirect';

CREATE FUNCTION profstore.callgraph_dot(@SELECTION@, max_nodes int4 DEFAULT 80, @FRAME_FILTERS@, @TRACE@)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_callgraph_dot';
COMMENT ON FUNCTION profstore.callgraph_dot IS 'the call graph in the DOT language, for Graphviz: dot -Tsvg';

CREATE FUNCTION profstore.heatmap(@SELECTION@, step interval DEFAULT '1 second', slices int4 DEFAULT 50, @FILTERS@,
								@TRACE@)
	RETURNS TABLE ("time" timestamptz, offset_ms float8, value int8)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 ROWS 10000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_heatmap';
COMMENT ON FUNCTION profstore.heatmap IS 'distribution of samples over each second, or other step, in equal slices (they begin at offset_ms): for samples that keep their times. Cells without samples are absent';

CREATE FUNCTION profstore.flamechart(@SELECTION@, width interval DEFAULT NULL, @FRAME_FILTERS@, @TRACE@)
	RETURNS TABLE (series_id int4, lane int4, level int4, start_time timestamptz, end_time timestamptz, label text,
			   samples int8, value int8, labels jsonb)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 ROWS 10000 SUPPORT profstore_internal.scan_support
	AS 'MODULE_PATHNAME', 'profstore_flamechart';
COMMENT ON FUNCTION profstore.flamechart IS 'frames as spans of time (level 0 is the outermost) by series and lane, equal neighbours as one; for samples that keep their times. A sample lasts width (NULL: its period), or until the next of its lane';
