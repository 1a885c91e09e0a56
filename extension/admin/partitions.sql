-- Table samples, with one partition per UTC day.

CREATE TABLE profstore.samples
(
	time      timestamptz NOT NULL,
	series_id int4 NOT NULL,
	stack_id  int8 NOT NULL,
	value     int8 NOT NULL
) PARTITION BY RANGE (time);
COMMENT ON TABLE profstore.samples IS 'the samples; partitioned by UTC day (samples_YYYYMMDD), see ensure_partitions';
COMMENT ON COLUMN profstore.samples.time IS 'start of the window in which the value was gathered';
COMMENT ON COLUMN profstore.samples.series_id IS 'id in series';
COMMENT ON COLUMN profstore.samples.stack_id IS 'id in stacks of the leaf frame, 0 for the empty stack';
COMMENT ON COLUMN profstore.samples.value IS 'value in the unit of the profile type';

CREATE FUNCTION profstore.ensure_partitions(from_ts timestamptz, to_ts timestamptz) RETURNS int4
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_ensure_partitions';
COMMENT ON FUNCTION profstore.ensure_partitions(timestamptz, timestamptz) IS 'makes partitions of samples: for the UTC day of from_ts, and those that begin before to_ts, 366 at most and none later than seven days from now; returns how many it made';
REVOKE EXECUTE ON FUNCTION profstore.ensure_partitions(timestamptz, timestamptz) FROM PUBLIC;

-- Creates the partition of the next day early. Otherwise all writers of a fleet would try to create it at the same moment, at midnight.
CREATE FUNCTION profstore_internal.make_partition_ahead() RETURNS int4
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT profstore.ensure_partitions(now(), now() + interval '6 hours') WHERE EXISTS (SELECT FROM profstore.writers AS w WHERE w.last_seen > now() - interval '1 day');
END;
COMMENT ON FUNCTION profstore_internal.make_partition_ahead() IS 'makes the partition of samples of the next day six hours ahead, if a writer has stored batches in the last day';
REVOKE EXECUTE ON FUNCTION profstore_internal.make_partition_ahead() FROM PUBLIC;
