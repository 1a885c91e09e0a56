-- Care of the stored segments.

CREATE FUNCTION profstore.compact(rel regclass DEFAULT 'profstore.samples', max_segments int4 DEFAULT NULL) RETURNS int8
	LANGUAGE c VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_compact';
COMMENT ON FUNCTION profstore.compact(regclass, int4) IS 'merges the segments of a table, or of all partitions of one, inside buckets of time; returns how many it merged';

CREATE FUNCTION profstore.verify(rel regclass DEFAULT 'profstore.samples')
	RETURNS TABLE (relation regclass, segment int8, stream int4, problem text)
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE ROWS 10
	AS 'MODULE_PATHNAME', 'profstore_verify';
COMMENT ON FUNCTION profstore.verify(regclass) IS 'reads all segments of a table, or of all partitions of one, and tells what is damaged; no rows: nothing';

CREATE FUNCTION profstore.storage_id(rel regclass) RETURNS int8
	LANGUAGE c STABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_storage_id';
COMMENT ON FUNCTION profstore.storage_id(regclass) IS 'the key of a table''s rows in profstore.segments; NULL for a table of another access method';

-- A table's owner sees its segments, and whoever may read all statistics sees all.
CREATE VIEW profstore.segment_stats AS
SELECT t.oid::regclass AS relation, s.level, count(*) AS segments, sum(s.row_count)::int8 AS rows,
       sum(s.byte_count + length(s.header))::int8 AS bytes,
       sum(s.summary_byte_count + coalesce(length(s.summary), 0))::int8 AS summary_bytes,
       CASE WHEN t.has_timestamps THEN timestamptz '2000-01-01 00:00Z' + min(s.time_min) * interval '1 microsecond' END AS time_from,
       CASE WHEN t.has_timestamps THEN timestamptz '2000-01-01 00:00Z' + max(s.time_max) * interval '1 microsecond' END AS time_to,
       min(s.key_min) AS series_from, max(s.key_max) AS series_to
FROM (SELECT c.oid, profstore.storage_id(c.oid) AS storage_id,
             EXISTS (SELECT FROM pg_catalog.pg_attribute AS a
                     WHERE a.attrelid = c.oid AND a.attname = 'time' AND NOT a.attisdropped AND a.atttypid = 'timestamptz'::regtype) AS has_timestamps
      FROM pg_catalog.pg_class AS c
      JOIN pg_catalog.pg_am AS m ON m.oid = c.relam
      WHERE m.amname = 'profstore' AND c.relkind IN ('r', 'm')
        AND (pg_catalog.pg_has_role(c.relowner, 'USAGE') OR pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE'))) AS t
JOIN profstore.segments AS s USING (storage_id)
GROUP BY t.oid, t.has_timestamps, s.level;
COMMENT ON VIEW profstore.segment_stats IS 'segments of the tables that you own (with pg_read_all_stats: of all), by level';
COMMENT ON COLUMN profstore.segment_stats.relation IS 'the table';
COMMENT ON COLUMN profstore.segment_stats.level IS '0: as written by COPY and INSERT; 1: merged or large, to be merged again; 2: stays';
COMMENT ON COLUMN profstore.segment_stats.segments IS 'number of segments';
COMMENT ON COLUMN profstore.segment_stats.rows IS 'rows in them';
COMMENT ON COLUMN profstore.segment_stats.bytes IS 'encoded bytes of the rows, headers included';
COMMENT ON COLUMN profstore.segment_stats.summary_bytes IS 'encoded bytes of the sums beside them, headers included';
COMMENT ON COLUMN profstore.segment_stats.time_from IS 'least time, where the column is a timestamptz';
COMMENT ON COLUMN profstore.segment_stats.time_to IS 'greatest time';
COMMENT ON COLUMN profstore.segment_stats.series_from IS 'least series_id';
COMMENT ON COLUMN profstore.segment_stats.series_to IS 'greatest series_id';
GRANT SELECT ON profstore.segment_stats TO PUBLIC;
