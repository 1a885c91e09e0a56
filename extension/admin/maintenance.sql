-- Care of the stored segments.

CREATE FUNCTION profstore.compact(rel regclass DEFAULT 'profstore.samples', max_segments int4 DEFAULT NULL) RETURNS int8
	LANGUAGE c VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_compact';
COMMENT ON FUNCTION profstore.compact(regclass, int4) IS 'merges the segments of a table, or of all partitions of one, inside buckets of time; returns how many it merged';
