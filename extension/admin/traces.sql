-- Traces. A row gives the part of a sample's value that belongs to one span of a trace. Samples are complete without these rows. A row has time,
-- series and stack of its sample, and is removed with it. The table is a heap by UTC day with indexes on trace and span, since a trace has few of
-- the rows, and on time for queries of all of them.

CREATE TABLE profstore.trace_samples
(
	time      timestamptz NOT NULL,
	stack_id  int8 NOT NULL,
	value     int8 NOT NULL,
	series_id int4 NOT NULL,
	trace_id  uuid,
	span_id   bytea CHECK (octet_length(span_id) = 8),
	CHECK (num_nonnulls(trace_id, span_id) > 0)
) PARTITION BY RANGE (time);
COMMENT ON TABLE profstore.trace_samples IS 'parts of samples that belong to a trace or span, see keep_traces; partitioned by UTC day (trace_samples_YYYYMMDD)';
COMMENT ON COLUMN profstore.trace_samples.time IS 'time of the sample in samples';
COMMENT ON COLUMN profstore.trace_samples.stack_id IS 'stack of the sample';
COMMENT ON COLUMN profstore.trace_samples.value IS 'the part of the sample''s value that belongs to the span';
COMMENT ON COLUMN profstore.trace_samples.series_id IS 'series of the sample';
COMMENT ON COLUMN profstore.trace_samples.trace_id IS 'id of the trace, 16 bytes; NULL if only the span is known';
COMMENT ON COLUMN profstore.trace_samples.span_id IS 'id of the span, 8 bytes; NULL if only the trace is known';

CREATE FUNCTION profstore_internal.ensure_trace_partitions(from_ts timestamptz, to_ts timestamptz) RETURNS int4
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_ensure_trace_partitions';
COMMENT ON FUNCTION profstore_internal.ensure_trace_partitions(timestamptz, timestamptz) IS 'ensure_partitions for trace_samples';
REVOKE EXECUTE ON FUNCTION profstore_internal.ensure_trace_partitions(timestamptz, timestamptz) FROM PUBLIC;

CREATE FUNCTION profstore.keep_traces(times timestamptz[], series_ids int4[], stack_ids int8[], amounts int8[], trace_ids uuid[], span_ids bytea[])
	RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS
$$
DECLARE
	days timestamptz[] := ARRAY(SELECT DISTINCT date_trunc('day', t.time) FROM unnest(times) AS t(time));
BEGIN
	IF (cardinality(series_ids), cardinality(stack_ids), cardinality(amounts), cardinality(trace_ids), cardinality(span_ids))
		<> (cardinality(times), cardinality(times), cardinality(times), cardinality(times), cardinality(times))
	THEN
		RAISE array_subscript_error USING MESSAGE = 'arrays of traces must be of the same length';
	END IF;
	IF cardinality(days) > 366 THEN
		RAISE program_limit_exceeded USING
			MESSAGE = 'cannot keep traces of more than 366 days at once',
			DETAIL = format('The rows are of %s days.', cardinality(days));
	END IF;
	PERFORM profstore_internal.require_proven(series_ids, stack_ids);
	PERFORM profstore_internal.ensure_trace_partitions(d.day, d.day) FROM unnest(days) AS d(day);
	INSERT INTO profstore.trace_samples (time, series_id, stack_id, value, trace_id, span_id)
	SELECT u.time, u.series_id, u.stack_id, u.value, nullif(u.trace_id, '00000000-0000-0000-0000-000000000000'), nullif(u.span_id, '\x0000000000000000')
	FROM unnest(times, series_ids, stack_ids, amounts, trace_ids, span_ids) AS u(time, series_id, stack_id, value, trace_id, span_id);
END
$$;
COMMENT ON FUNCTION profstore.keep_traces(timestamptz[], int4[], int8[], int8[], uuid[], bytea[]) IS 'in the transaction that stores samples: stores the parts of their values that belong to traces and spans; an id that is null or 0 is unknown; makes partitions of trace_samples';
REVOKE EXECUTE ON FUNCTION profstore.keep_traces(timestamptz[], int4[], int8[], int8[], uuid[], bytea[]) FROM PUBLIC;

CREATE FUNCTION profstore_internal.forget_traces(part regclass) RETURNS int8
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_forget_traces';
COMMENT ON FUNCTION profstore_internal.forget_traces(regclass) IS 'removes rows of trace_samples whose samples a partition of samples has lost; returns how many';
REVOKE EXECUTE ON FUNCTION profstore_internal.forget_traces(regclass) FROM PUBLIC;
