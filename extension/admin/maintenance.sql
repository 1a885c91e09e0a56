-- Maintenance of the stored segments.

CREATE FUNCTION profstore.compact(rel regclass DEFAULT 'profstore.samples', max_segments int4 DEFAULT NULL) RETURNS int8
	LANGUAGE c VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_compact';
COMMENT ON FUNCTION profstore.compact(regclass, int4) IS 'merges the segments of a table, or of all partitions of one, inside buckets of time; returns how many it merged';

CREATE PROCEDURE profstore.compact_in_steps(rel regclass DEFAULT 'profstore.samples')
	LANGUAGE c AS 'MODULE_PATHNAME', 'profstore_compact_in_steps';
COMMENT ON PROCEDURE profstore.compact_in_steps(regclass) IS 'compact() in short transactions with VACUUM between them, by a background worker; waits for its end. After a large load this needs little more disk space than the result takes';

CREATE FUNCTION profstore.verify(rel regclass DEFAULT 'profstore.samples')
	RETURNS TABLE (relation regclass, segment int8, stream int4, problem text)
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE ROWS 10
	AS 'MODULE_PATHNAME', 'profstore_verify';
COMMENT ON FUNCTION profstore.verify(regclass) IS 'lists damage: reads all segments of a table, or of all its partitions; no rows: no damage';

-- With row_security off, a policy that would hide rows from the owner is an error: hidden rows would be lost.
CREATE FUNCTION profstore.remove_samples(part regclass, condition text) RETURNS int8
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SET row_security = off
	AS 'MODULE_PATHNAME', 'profstore_remove_samples';
COMMENT ON FUNCTION profstore.remove_samples(regclass, text) IS 'removes the rows for which an SQL condition on their columns is true: from a table that you own, or from its partitions; rewrites each table that has such rows under an exclusive lock; returns the number of removed rows';

CREATE FUNCTION profstore.remove_segment(rel regclass, segment int8) RETURNS int8
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SET row_security = off
	AS 'MODULE_PATHNAME', 'profstore_remove_segment';
COMMENT ON FUNCTION profstore.remove_segment(regclass, int8) IS 'removes a damaged segment with all of its rows from a table that you own; errors and verify() give the number of the segment; returns the number of removed rows';

CREATE FUNCTION profstore.storage_id(rel regclass) RETURNS int8
	LANGUAGE c STABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_storage_id';
COMMENT ON FUNCTION profstore.storage_id(regclass) IS 'the key of a table''s rows in profstore.segments; NULL for a table of another access method';

-- Reinterprets int8 as timestamptz without a conversion; int8up returns its argument. Arithmetic would fail at infinity.
CREATE FUNCTION profstore_internal.stored_time(lane int8) RETURNS timestamptz
	LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'int8up';
COMMENT ON FUNCTION profstore_internal.stored_time(int8) IS 'converts a number of profstore.segments to timestamptz';

-- A table's owner sees its segments, and a member of pg_read_all_stats sees all. security_barrier prevents functions in a query from seeing rows
-- that the check would hide.
CREATE VIEW profstore.segment_details WITH (security_barrier) AS
SELECT t.oid::regclass AS relation, s.segment_no AS segment, s.level, s.row_count AS rows, s.byte_count + length(s.header) AS bytes,
	s.summary_byte_count + coalesce(length(s.summary), 0) AS summary_bytes,
	CASE WHEN t.has_timestamps THEN profstore_internal.stored_time(s.time_min) END AS time_from,
	CASE WHEN t.has_timestamps THEN profstore_internal.stored_time(s.time_max) END AS time_to,
	s.key_min AS series_from, s.key_max AS series_to
FROM (SELECT c.oid, profstore.storage_id(c.oid) AS storage_id,
             EXISTS (SELECT FROM pg_catalog.pg_attribute AS a
                     WHERE a.attrelid = c.oid AND a.attname = 'time' AND NOT a.attisdropped AND a.atttypid = 'timestamptz'::regtype) AS has_timestamps
      FROM pg_catalog.pg_class AS c
      JOIN pg_catalog.pg_am AS m ON m.oid = c.relam
      WHERE m.amname = 'profstore' AND c.relkind IN ('r', 'm')
        AND (pg_catalog.pg_has_role(c.relowner, 'USAGE') OR pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE'))) AS t
JOIN profstore.segments AS s USING (storage_id);
COMMENT ON VIEW profstore.segment_details IS 'each segment of the tables that you own (with pg_read_all_stats: of all)';
COMMENT ON COLUMN profstore.segment_details.relation IS 'the table';
COMMENT ON COLUMN profstore.segment_details.segment IS 'number of the segment, as in messages';
COMMENT ON COLUMN profstore.segment_details.level IS '0: as written by COPY and INSERT; 1: merged or large, to be merged again; 2: stays';
COMMENT ON COLUMN profstore.segment_details.rows IS 'rows in it';
COMMENT ON COLUMN profstore.segment_details.bytes IS 'encoded bytes of the rows, header included';
COMMENT ON COLUMN profstore.segment_details.summary_bytes IS 'encoded bytes of the sums beside them, headers included';
COMMENT ON COLUMN profstore.segment_details.time_from IS 'least time, if the column is a timestamptz';
COMMENT ON COLUMN profstore.segment_details.time_to IS 'greatest time';
COMMENT ON COLUMN profstore.segment_details.series_from IS 'least series_id';
COMMENT ON COLUMN profstore.segment_details.series_to IS 'greatest series_id';
GRANT SELECT ON profstore.segment_details TO PUBLIC;

CREATE VIEW profstore.segment_stats WITH (security_barrier) AS
SELECT d.relation, d.level, count(*) AS segments, sum(d.rows)::int8 AS rows, sum(d.bytes)::int8 AS bytes,
	sum(d.summary_bytes)::int8 AS summary_bytes, min(d.time_from) AS time_from, max(d.time_to) AS time_to,
	min(d.series_from) AS series_from, max(d.series_to) AS series_to
FROM profstore.segment_details AS d
GROUP BY d.relation, d.level;
COMMENT ON VIEW profstore.segment_stats IS 'segments of the tables that you own (with pg_read_all_stats: of all), by level';
COMMENT ON COLUMN profstore.segment_stats.relation IS 'the table';
COMMENT ON COLUMN profstore.segment_stats.level IS '0: as written by COPY and INSERT; 1: merged or large, to be merged again; 2: stays';
COMMENT ON COLUMN profstore.segment_stats.segments IS 'number of segments';
COMMENT ON COLUMN profstore.segment_stats.rows IS 'rows in these segments';
COMMENT ON COLUMN profstore.segment_stats.bytes IS 'encoded bytes of the rows, headers included';
COMMENT ON COLUMN profstore.segment_stats.summary_bytes IS 'encoded bytes of the sums beside them, headers included';
COMMENT ON COLUMN profstore.segment_stats.time_from IS 'least time, if the column is a timestamptz';
COMMENT ON COLUMN profstore.segment_stats.time_to IS 'greatest time';
COMMENT ON COLUMN profstore.segment_stats.series_from IS 'least series_id';
COMMENT ON COLUMN profstore.segment_stats.series_to IS 'greatest series_id';
GRANT SELECT ON profstore.segment_stats TO PUBLIC;

CREATE FUNCTION profstore_internal.progress(OUT pid int4, OUT datid oid, OUT relation oid, OUT phase text,
		OUT segments_total int8, OUT segments_done int8, OUT rows_total int8, OUT rows_done int8, OUT bytes_total int8,
		OUT bytes_written int8, OUT merges_done int8, OUT time_from timestamptz, OUT time_to timestamptz)
	RETURNS SETOF record
	LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 10
	AS 'MODULE_PATHNAME', 'profstore_progress';
COMMENT ON FUNCTION profstore_internal.progress() IS 'rows of the view compaction_progress, before names are added';

CREATE VIEW profstore.compaction_progress AS
SELECT p.pid, p.datid, d.datname, p.relation AS relid,
	CASE WHEN d.datname = current_database() THEN p.relation::regclass END AS relation,
	p.phase, p.segments_total, p.segments_done, p.rows_total, p.rows_done, p.bytes_total, p.bytes_written, p.merges_done,
	p.time_from, p.time_to
FROM profstore_internal.progress() AS p LEFT JOIN pg_catalog.pg_database AS d ON d.oid = p.datid;
COMMENT ON VIEW profstore.compaction_progress IS 'sessions and background workers that compact a table or move it into a tier right now, in all databases; details of other roles'' sessions are for pg_read_all_stats';
COMMENT ON COLUMN profstore.compaction_progress.pid IS 'process, as in pg_stat_activity';
COMMENT ON COLUMN profstore.compaction_progress.datid IS 'OID of its database';
COMMENT ON COLUMN profstore.compaction_progress.datname IS 'name of its database';
COMMENT ON COLUMN profstore.compaction_progress.relid IS 'OID of the table';
COMMENT ON COLUMN profstore.compaction_progress.relation IS 'the table, if it is in this database';
COMMENT ON COLUMN profstore.compaction_progress.phase IS 'planning: searches for segments to merge; merging; summing: into a tier; removing: the segments that were merged or summed; moving: into free space at the front';
COMMENT ON COLUMN profstore.compaction_progress.segments_total IS 'segments that the merge in progress reads';
COMMENT ON COLUMN profstore.compaction_progress.segments_done IS 'segments that are read to the end; when summing, segments that are removed';
COMMENT ON COLUMN profstore.compaction_progress.rows_total IS 'rows in the segments of segments_total';
COMMENT ON COLUMN profstore.compaction_progress.rows_done IS 'rows that are written; when summing, that are read';
COMMENT ON COLUMN profstore.compaction_progress.bytes_total IS 'encoded bytes in the segments of segments_total; 0 when summing';
COMMENT ON COLUMN profstore.compaction_progress.bytes_written IS 'encoded bytes of the new segments';
COMMENT ON COLUMN profstore.compaction_progress.merges_done IS 'merges of this table that the process has done before this one';
COMMENT ON COLUMN profstore.compaction_progress.time_from IS 'least time of the bucket that is being merged or summed';
COMMENT ON COLUMN profstore.compaction_progress.time_to IS 'greatest time of it';
GRANT SELECT ON profstore.compaction_progress TO PUBLIC;
