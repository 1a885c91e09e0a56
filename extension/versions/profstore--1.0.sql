\echo Use "CREATE EXTENSION profstore" to load this file. \quit

COMMENT ON SCHEMA profstore IS 'continuous profiling: samples, the stack-trace dictionary, and functions that make flame graphs of them';

-- What writers tell about themselves, beside the samples.

CREATE TABLE profstore.writers
(
	writer     uuid PRIMARY KEY,
	last_batch int8 NOT NULL,
	first_seen timestamptz NOT NULL DEFAULT now(),
	last_seen  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
COMMENT ON TABLE profstore.writers IS 'one row per writer: makes stored batches exactly-once across reconnects';
COMMENT ON COLUMN profstore.writers.writer IS 'chosen by the writer, one per process';
COMMENT ON COLUMN profstore.writers.last_batch IS 'number of the last committed batch; numbers ascend';
COMMENT ON COLUMN profstore.writers.first_seen IS 'time of the first batch';
COMMENT ON COLUMN profstore.writers.last_seen IS 'time of the last batch';

CREATE TABLE profstore.losses
(
	time   timestamptz NOT NULL DEFAULT now(),
	node   text NOT NULL,
	reason text NOT NULL,
	count  int8 NOT NULL CHECK (count >= 0)
);
CREATE INDEX losses_time ON profstore.losses (time);
COMMENT ON TABLE profstore.losses IS 'everything that was dropped, or stored in part, on the road from the kernel to the samples';
COMMENT ON COLUMN profstore.losses.time IS 'start of the interval in which it was lost';
COMMENT ON COLUMN profstore.losses.node IS 'host that lost it';
COMMENT ON COLUMN profstore.losses.reason IS 'counter that saw it go; those that begin with incomplete. count what was stored with frames missing';
COMMENT ON COLUMN profstore.losses.count IS 'how many; the unit is the counter''s own';

CREATE TABLE profstore.targets
(
	name       text PRIMARY KEY,
	labels     jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(labels) = 'object'),
	health     text NOT NULL DEFAULT 'unknown' CHECK (health IN ('unknown', 'up', 'down')),
	last_error text,
	last_seen  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
COMMENT ON TABLE profstore.targets IS 'what is being profiled or scraped';
COMMENT ON COLUMN profstore.targets.name IS 'host of an agent, or address of a scrape target';
COMMENT ON COLUMN profstore.targets.labels IS 'labels of all its series';
COMMENT ON COLUMN profstore.targets.health IS 'up, down, or unknown before the first attempt';
COMMENT ON COLUMN profstore.targets.last_error IS 'why it is down';
COMMENT ON COLUMN profstore.targets.last_seen IS 'last time that it answered';

SELECT pg_extension_config_dump('profstore.writers', '');
SELECT pg_extension_config_dump('profstore.losses', '');
SELECT pg_extension_config_dump('profstore.targets', '');
-- The directory of the columnar access method: one row per segment of every profstore table.
--
-- Rows are written and read from C alone, whatever the caller's privileges: a row is visible exactly where the
-- rows that it stands for are. It is no configuration table: pg_dump saves the tables, not the segments.

CREATE SEQUENCE profstore.storage_ids;
COMMENT ON SEQUENCE profstore.storage_ids IS 'key of a table''s segments; a new one for every new file of a table';

CREATE TABLE profstore.segments
(
	storage_id int8 NOT NULL,
	segment_no int8 NOT NULL,
	byte_count int8 NOT NULL,
	time_min int8,
	time_max int8,
	key_min int8,
	key_max int8,
	row_count int4 NOT NULL,
	level int2 NOT NULL,
	header bytea NOT NULL,
	stream_ids oid[],
	payload bytea,
	PRIMARY KEY (storage_id, segment_no)
)
WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.5,
	  toast.autovacuum_vacuum_scale_factor = 0.05);

-- The bytes are compressed already.
ALTER TABLE profstore.segments
	ALTER COLUMN header SET STORAGE EXTERNAL,
	ALTER COLUMN payload SET STORAGE EXTERNAL,
	ALTER COLUMN stream_ids SET STORAGE PLAIN;

REVOKE ALL ON profstore.segments FROM PUBLIC;

COMMENT ON TABLE profstore.segments IS 'directory of the columnar segments of all tables using profstore';
COMMENT ON COLUMN profstore.segments.storage_id IS 'the table file that the segment belongs to';
COMMENT ON COLUMN profstore.segments.segment_no IS 'writing transaction << 16 | count within it';
COMMENT ON COLUMN profstore.segments.byte_count IS 'encoded bytes of all streams, header excluded';
COMMENT ON COLUMN profstore.segments.time_min IS 'smallest value of the column "time", as stored';
COMMENT ON COLUMN profstore.segments.time_max IS 'largest value of the column "time", as stored';
COMMENT ON COLUMN profstore.segments.key_min IS 'smallest value of the column "series_id"';
COMMENT ON COLUMN profstore.segments.key_max IS 'largest value of the column "series_id"';
COMMENT ON COLUMN profstore.segments.row_count IS 'rows in the segment';
COMMENT ON COLUMN profstore.segments.level IS '0: as written by a small COPY or INSERT; 1 and up: merged or large';
COMMENT ON COLUMN profstore.segments.header IS 'encoding, lengths and checksums of the streams';
COMMENT ON COLUMN profstore.segments.stream_ids IS 'TOAST value of each stream in the table''s own TOAST relation';
COMMENT ON COLUMN profstore.segments.payload IS 'level 0: all streams, one after the other';
-- The table access method, and what keeps its tables and the directory together.

CREATE FUNCTION profstore.table_am_handler(internal)
RETURNS table_am_handler
LANGUAGE C STRICT
AS 'MODULE_PATHNAME', 'profstore_table_am_handler';
COMMENT ON FUNCTION profstore.table_am_handler(internal) IS 'handler of the table access method profstore';

CREATE ACCESS METHOD profstore TYPE TABLE HANDLER profstore.table_am_handler;
COMMENT ON ACCESS METHOD profstore IS 'compressed columns for append-only tables of fixed-width types';

-- DROP TABLE can do without opening the table, so without loading the module that removes its segments.
CREATE FUNCTION profstore.load_module()
RETURNS event_trigger
LANGUAGE C
AS 'MODULE_PATHNAME', 'profstore_load_module';
COMMENT ON FUNCTION profstore.load_module() IS 'loads the module, so that a dropped table''s segments go with it';

CREATE EVENT TRIGGER profstore_load_module ON ddl_command_start
	WHEN TAG IN ('DROP TABLE', 'DROP MATERIALIZED VIEW', 'DROP SCHEMA', 'DROP OWNED', 'DROP TYPE',
				 'DROP EXTENSION', 'DROP ACCESS METHOD')
	EXECUTE FUNCTION profstore.load_module();
ALTER EVENT TRIGGER profstore_load_module ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER profstore_load_module IS 'loads the module before commands that can drop its tables';
-- The dictionary: what the numbers in a sample mean. No content is unique: two transactions may store the same
-- content under two ids, so that neither waits for the other. Ids are unique and never used again.

CREATE TABLE profstore.epoch
(
	one   bool PRIMARY KEY DEFAULT true CHECK (one),
	ids   int8 NOT NULL DEFAULT extract(epoch FROM clock_timestamp())::int8,
	names int8 NOT NULL DEFAULT 0
);
INSERT INTO profstore.epoch DEFAULT VALUES;
COMMENT ON TABLE profstore.epoch IS 'one row: tells caches, here and on standbys, that what they hold is out of date';
COMMENT ON COLUMN profstore.epoch.one IS 'keeps it at one row';
COMMENT ON COLUMN profstore.epoch.ids IS 'grows when ids go away; starts at the second of creation, so that a new database never repeats the epoch of an old one';
COMMENT ON COLUMN profstore.epoch.names IS 'grows when functions, lines or files of stored locations change';

CREATE SEQUENCE profstore.profile_type_ids AS int4;
CREATE TABLE profstore.profile_types
(
	id          int4 PRIMARY KEY DEFAULT nextval('profstore.profile_type_ids'),
	name        text NOT NULL,
	sample_type text NOT NULL,
	sample_unit text NOT NULL,
	period_type text NOT NULL,
	period_unit text NOT NULL,
	delta       bool NOT NULL
);
CREATE INDEX profile_types_content ON profstore.profile_types
	(name, sample_type, sample_unit, period_type, period_unit, delta);
COMMENT ON SEQUENCE profstore.profile_type_ids IS 'ids of profile types';
COMMENT ON TABLE profstore.profile_types IS 'what is measured: the parts of name:sample_type:sample_unit:period_type:period_unit[:delta]';
COMMENT ON COLUMN profstore.profile_types.id IS 'number in series.profile_type';
COMMENT ON COLUMN profstore.profile_types.name IS 'for example process_cpu';
COMMENT ON COLUMN profstore.profile_types.sample_type IS 'for example cpu';
COMMENT ON COLUMN profstore.profile_types.sample_unit IS 'unit of the values, for example nanoseconds';
COMMENT ON COLUMN profstore.profile_types.period_type IS 'what elapses between samples, for example cpu';
COMMENT ON COLUMN profstore.profile_types.period_unit IS 'unit of series.period';
COMMENT ON COLUMN profstore.profile_types.delta IS 'true: values add up over time; false: each scrape is a state';

CREATE FUNCTION profstore.content_hash(profile_type int4, labels jsonb, period int8) RETURNS int8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN jsonb_hash_extended(labels, hashint8extended(period, profile_type));
COMMENT ON FUNCTION profstore.content_hash(int4, jsonb, int8) IS 'hash by which a series is found';

CREATE SEQUENCE profstore.series_ids AS int4;
CREATE TABLE profstore.series
(
	id           int4 PRIMARY KEY DEFAULT nextval('profstore.series_ids'),
	profile_type int4 NOT NULL,
	labels       jsonb NOT NULL,
	period       int8 NOT NULL,
	first_seen   timestamptz NOT NULL DEFAULT now(),
	last_seen    timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
CREATE INDEX series_content ON profstore.series (profstore.content_hash(profile_type, labels, period));
COMMENT ON SEQUENCE profstore.series_ids IS 'ids of series';
COMMENT ON TABLE profstore.series IS 'profile type and label set; equal ones under two ids are one series, named by the smaller id';
COMMENT ON COLUMN profstore.series.id IS 'number in samples.series_id';
COMMENT ON COLUMN profstore.series.profile_type IS 'id in profile_types';
COMMENT ON COLUMN profstore.series.labels IS 'object of text values; none is empty';
COMMENT ON COLUMN profstore.series.period IS 'amount of period_type between two samples, 0 where not known';
COMMENT ON COLUMN profstore.series.first_seen IS 'no sample is older';
COMMENT ON COLUMN profstore.series.last_seen IS 'kept to within a minute; see touch_series';

CREATE FUNCTION profstore.content_hash(build_id text, file text) RETURNS int8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN hashtextextended(build_id, hashtextextended(file, 0));
COMMENT ON FUNCTION profstore.content_hash(text, text) IS 'hash by which a mapping is found';

CREATE SEQUENCE profstore.mapping_ids AS int4;
CREATE TABLE profstore.mappings
(
	id       int4 PRIMARY KEY DEFAULT nextval('profstore.mapping_ids'),
	build_id text NOT NULL,
	file     text NOT NULL
);
CREATE INDEX mappings_content ON profstore.mappings (profstore.content_hash(build_id, file));
COMMENT ON SEQUENCE profstore.mapping_ids IS 'ids of mappings';
COMMENT ON TABLE profstore.mappings IS 'binaries: executables, libraries, the kernel';
COMMENT ON COLUMN profstore.mappings.id IS 'number in locations.mapping';
COMMENT ON COLUMN profstore.mappings.build_id IS 'hexadecimal, empty where not known';
COMMENT ON COLUMN profstore.mappings.file IS 'path as the process saw it';

CREATE FUNCTION profstore.content_hash(name text, system_name text, filename text, start_line int4) RETURNS int8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN hashtextextended(name, hashtextextended(system_name, hashtextextended(filename, start_line)));
COMMENT ON FUNCTION profstore.content_hash(text, text, text, int4) IS 'hash by which a function is found';

CREATE SEQUENCE profstore.function_ids AS int4;
CREATE TABLE profstore.functions
(
	id          int4 PRIMARY KEY DEFAULT nextval('profstore.function_ids'),
	name        text NOT NULL,
	system_name text NOT NULL,
	filename    text NOT NULL,
	start_line  int4 NOT NULL
);
CREATE INDEX functions_content ON profstore.functions
	(profstore.content_hash(name, system_name, filename, start_line));
COMMENT ON SEQUENCE profstore.function_ids IS 'ids of functions';
COMMENT ON TABLE profstore.functions IS 'functions of the profiled programs';
COMMENT ON COLUMN profstore.functions.id IS 'number in locations.function_ids';
COMMENT ON COLUMN profstore.functions.name IS 'for people: demangled';
COMMENT ON COLUMN profstore.functions.system_name IS 'as the linker knows it';
COMMENT ON COLUMN profstore.functions.filename IS 'source file, empty where not known';
COMMENT ON COLUMN profstore.functions.start_line IS 'first line of the function, 0 where not known';

CREATE SEQUENCE profstore.location_ids AS int4;
CREATE TABLE profstore.locations
(
	id            int4 PRIMARY KEY DEFAULT nextval('profstore.location_ids'),
	mapping       int4 NOT NULL,
	address       int8 NOT NULL,
	function_ids  int4[] NOT NULL,
	lines         int4[] NOT NULL,
	symbolization "char" NOT NULL CHECK (symbolization IN ('p', 's', 'x')),
	CHECK (cardinality(function_ids) = cardinality(lines))
);
CREATE INDEX locations_content ON profstore.locations
	(mapping, address, hash_array_extended(function_ids, 0));
COMMENT ON SEQUENCE profstore.location_ids IS 'ids of locations';
COMMENT ON TABLE profstore.locations IS 'frames of stack traces: places in programs';
COMMENT ON COLUMN profstore.locations.id IS 'number in stacks.location';
COMMENT ON COLUMN profstore.locations.mapping IS 'id in mappings, 0 for none';
COMMENT ON COLUMN profstore.locations.address IS 'ELF virtual address, the same on every host, as the bits of an unsigned number; 0 for a frame known by name only';
COMMENT ON COLUMN profstore.locations.function_ids IS 'ids in functions, innermost inlined one first; empty where not symbolized';
COMMENT ON COLUMN profstore.locations.lines IS 'line in the file of each of function_ids, 0 where not known';
COMMENT ON COLUMN profstore.locations.symbolization IS 'p: pending, s: symbolized, x: no symbols to be found';

CREATE SEQUENCE profstore.dictionary_partition_ids AS int4 MAXVALUE 8388607;
CREATE TABLE profstore.dictionary_partitions
(
	id      int4 PRIMARY KEY DEFAULT nextval('profstore.dictionary_partition_ids'),
	key     text NOT NULL,
	created timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dictionary_partitions_content ON profstore.dictionary_partitions (hashtextextended(key, 0));
COMMENT ON SEQUENCE profstore.dictionary_partition_ids IS 'ids of dictionary partitions: 23 bits of a stack id';
COMMENT ON TABLE profstore.dictionary_partitions IS 'parts of the stack dictionary that are read, cached and dropped as a whole';
COMMENT ON COLUMN profstore.dictionary_partitions.id IS 'upper bits of the stack ids in it: id << 40';
COMMENT ON COLUMN profstore.dictionary_partitions.key IS 'build ID of the process''s executable; for imports that of the first mapping, else the service';
COMMENT ON COLUMN profstore.dictionary_partitions.created IS 'time of its first stack';

CREATE SEQUENCE profstore.node_numbers INCREMENT BY 64 MAXVALUE 1099511627712;
CREATE TABLE profstore.stack_chunks
(
	partition_id int4 NOT NULL,
	node_count   int4 NOT NULL,
	first_node   int8 NOT NULL,
	last_node    int8 NOT NULL,
	xid          xid8 NOT NULL,
	payload      bytea NOT NULL
);
ALTER TABLE profstore.stack_chunks ALTER COLUMN payload SET STORAGE EXTERNAL;
CREATE INDEX stack_chunks_partition ON profstore.stack_chunks (partition_id, xid);
COMMENT ON SEQUENCE profstore.node_numbers IS 'node numbers of the stack tree: each value is the first of a run of 64 that one backend uses up';
COMMENT ON TABLE profstore.stack_chunks IS 'the stack tree, many nodes packed in one row; read it through the view stacks';
COMMENT ON COLUMN profstore.stack_chunks.partition_id IS 'id in dictionary_partitions';
COMMENT ON COLUMN profstore.stack_chunks.node_count IS 'number of nodes in it';
COMMENT ON COLUMN profstore.stack_chunks.first_node IS 'smallest node number in it';
COMMENT ON COLUMN profstore.stack_chunks.last_node IS 'largest node number in it';
COMMENT ON COLUMN profstore.stack_chunks.xid IS 'transaction that stored it here: caches re-read only what may have been in progress when they looked last';
COMMENT ON COLUMN profstore.stack_chunks.payload IS 'packed nodes; the format stands in dictionary/chunk_format.h';

-- A restored row is new to this server's caches, whatever transaction wrote it elsewhere.
CREATE FUNCTION profstore.stamp_chunk() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	NEW.xid := pg_current_xact_id();
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION profstore.stamp_chunk() IS 'trigger: sets xid of restored stack chunks';
REVOKE EXECUTE ON FUNCTION profstore.stamp_chunk() FROM PUBLIC;
CREATE TRIGGER stamp BEFORE INSERT ON profstore.stack_chunks
	FOR EACH ROW EXECUTE FUNCTION profstore.stamp_chunk();
COMMENT ON TRIGGER stamp ON profstore.stack_chunks IS 'sets xid of restored rows';

CREATE FUNCTION profstore.chunk_nodes(partition_id int4, node_count int4, first_node int8, last_node int8, payload bytea,
									  OUT id int8, OUT parent int8, OUT location int4)
	RETURNS SETOF record
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE ROWS 1000
	AS 'MODULE_PATHNAME', 'profstore_chunk_nodes';
COMMENT ON FUNCTION profstore.chunk_nodes(int4, int4, int8, int8, bytea) IS 'unpacks one row of stack_chunks';

CREATE VIEW profstore.stacks AS
	SELECT n.id, n.parent, n.location
	FROM profstore.stack_chunks AS c,
		profstore.chunk_nodes(c.partition_id, c.node_count, c.first_node, c.last_node, c.payload) AS n;
COMMENT ON VIEW profstore.stacks IS 'the stack dictionary, a tree: a stack trace is the id of its leaf node, 0 is the empty stack';
COMMENT ON COLUMN profstore.stacks.id IS 'dictionary partition << 40 | node number';
COMMENT ON COLUMN profstore.stacks.parent IS 'the caller''s node, always a smaller id; 0 above the outermost frame';
COMMENT ON COLUMN profstore.stacks.location IS 'id in locations';

-- The epoch is left out: a restored database begins one of its own.
DO
$$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY '{profile_type_ids,profile_types,series_ids,series,mapping_ids,mappings,function_ids,functions,
		location_ids,locations,dictionary_partition_ids,dictionary_partitions,node_numbers,stack_chunks}'::text[]
	LOOP
		PERFORM pg_extension_config_dump('profstore.' || name, '');
	END LOOP;
END
$$;
-- What writers call. Interning functions take arrays and return an id for each element, in order; a repeated call
-- returns ids of equal content. They run as the extension's owner and are granted by grant_write alone.

CREATE FUNCTION profstore.begin_interning(caller text, VARIADIC arrays "any") RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_begin_interning';
COMMENT ON FUNCTION profstore.begin_interning(text, "any") IS 'internal: checks that arrays are of one length and without nulls; makes the transaction''s commit wait for the disk';
REVOKE EXECUTE ON FUNCTION profstore.begin_interning(text, "any") FROM PUBLIC;

CREATE FUNCTION profstore.refuse_ids(kind text, ids int8[]) RETURNS void
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	RAISE foreign_key_violation USING
		MESSAGE = format('%s with id %s does not exist', kind, ids[1]),
		HINT = 'Intern it first, in this database and under its present epoch.';
END
$$;
COMMENT ON FUNCTION profstore.refuse_ids(text, int8[]) IS 'internal: raises an error that names the first of these ids; null passes';
REVOKE EXECUTE ON FUNCTION profstore.refuse_ids(text, int8[]) FROM PUBLIC;

CREATE FUNCTION profstore.check_counts(caller text, counts int4[], total int4) RETURNS void
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_check_counts';
COMMENT ON FUNCTION profstore.check_counts(text, int4[], int4) IS 'internal: checks that counts are not negative and add up to total';
REVOKE EXECUTE ON FUNCTION profstore.check_counts(text, int4[], int4) FROM PUBLIC;

CREATE FUNCTION profstore.parse_profile_type(profile_type text,
											 OUT name text, OUT sample_type text, OUT sample_unit text,
											 OUT period_type text, OUT period_unit text, OUT delta bool)
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	parts text[] := string_to_array(profile_type, ':');
BEGIN
	IF cardinality(parts) NOT IN (5, 6) OR coalesce(parts[6], 'delta') <> 'delta'
		OR profile_type !~ '^([^[:space:][:cntrl:]:{}",]{1,255}:){3}[^[:space:][:cntrl:]:{}",]{0,255}:[^[:space:][:cntrl:]:{}",]{0,255}(:delta)?$'
	THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('invalid profile type: "%s"', profile_type),
			HINT = 'A profile type has the form name:sample_type:sample_unit:period_type:period_unit[:delta].';
	END IF;
	name := parts[1];
	sample_type := parts[2];
	sample_unit := parts[3];
	period_type := parts[4];
	period_unit := parts[5];
	delta := cardinality(parts) = 6;
END
$$;
COMMENT ON FUNCTION profstore.parse_profile_type(text) IS 'parts of name:sample_type:sample_unit:period_type:period_unit[:delta]';

CREATE FUNCTION profstore.normalize_labels(labels jsonb) RETURNS jsonb
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	label record;
BEGIN
	IF jsonb_typeof(labels) <> 'object' THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('labels must be a JSON object, not %s', jsonb_typeof(labels));
	END IF;
	FOR label IN SELECT l.key, l.value FROM jsonb_each(labels) AS l LOOP
		IF label.key !~ '^[a-zA-Z_][a-zA-Z0-9_]*$' THEN
			RAISE invalid_parameter_value USING
				MESSAGE = format('invalid label name: "%s"', label.key),
				HINT = 'A label name has letters, digits and underscores, and does not begin with a digit.';
		ELSIF jsonb_typeof(label.value) <> 'string' THEN
			RAISE invalid_parameter_value USING
				MESSAGE = format('value of label "%s" must be a string, not %s', label.key, jsonb_typeof(label.value));
		ELSIF label.value = '""' THEN
			labels := labels - label.key;
		END IF;
	END LOOP;
	RETURN labels;
END
$$;
COMMENT ON FUNCTION profstore.normalize_labels(jsonb) IS 'checks a label set; an empty value means the label is absent, so it goes';

-- Each of these is one statement: known content is found by its hash, the rest is stored, and both are put together
-- in the order of the input. A commit of another transaction in between makes a second row of equal content.

CREATE FUNCTION profstore.intern_profile_types(profile_types text[]) RETURNS int4[]
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT profstore.begin_interning('intern_profile_types', profile_types);

	WITH input AS MATERIALIZED
		(SELECT t.*, i.ord,
			(SELECT min(k.id) FROM profstore.profile_types AS k
			 WHERE (k.name, k.sample_type, k.sample_unit, k.period_type, k.period_unit, k.delta)
				 = (t.name, t.sample_type, t.sample_unit, t.period_type, t.period_unit, t.delta)) AS id
		 FROM unnest(profile_types) WITH ORDINALITY AS i(profile_type, ord),
			 profstore.parse_profile_type(i.profile_type) AS t),
	added AS
		(INSERT INTO profstore.profile_types (name, sample_type, sample_unit, period_type, period_unit, delta)
		 SELECT i.name, i.sample_type, i.sample_unit, i.period_type, i.period_unit, i.delta
		 FROM input AS i WHERE i.id IS NULL
		 GROUP BY i.name, i.sample_type, i.sample_unit, i.period_type, i.period_unit, i.delta ORDER BY min(i.ord)
		 RETURNING *)
	SELECT coalesce(array_agg(coalesce(i.id, a.id) ORDER BY i.ord), '{}')
	FROM input AS i
		LEFT JOIN added AS a ON (a.name, a.sample_type, a.sample_unit, a.period_type, a.period_unit, a.delta)
			= (i.name, i.sample_type, i.sample_unit, i.period_type, i.period_unit, i.delta);
END;
COMMENT ON FUNCTION profstore.intern_profile_types(text[]) IS 'ids of profile types given in their string form';

CREATE FUNCTION profstore.intern_series(profile_types text[], labels jsonb[], periods int8[]) RETURNS int4[]
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT profstore.begin_interning('intern_series', profile_types, labels, periods);

	WITH input AS MATERIALIZED
		(SELECT i.profile_type, n.labels, i.period, i.ord,
			(SELECT min(k.id) FROM profstore.series AS k
			 WHERE profstore.content_hash(k.profile_type, k.labels, k.period)
				 = profstore.content_hash(i.profile_type, n.labels, i.period)
				 AND (k.profile_type, k.labels, k.period) = (i.profile_type, n.labels, i.period)) AS id
		 FROM unnest(profstore.intern_profile_types(profile_types), labels, periods)
				 WITH ORDINALITY AS i(profile_type, labels, period, ord),
			 profstore.normalize_labels(i.labels) AS n(labels)),
	added AS
		(INSERT INTO profstore.series (profile_type, labels, period)
		 SELECT i.profile_type, i.labels, i.period
		 FROM input AS i WHERE i.id IS NULL
		 GROUP BY i.profile_type, i.labels, i.period ORDER BY min(i.ord)
		 RETURNING *)
	SELECT coalesce(array_agg(coalesce(i.id, a.id) ORDER BY i.ord), '{}')
	FROM input AS i
		LEFT JOIN added AS a ON (a.profile_type, a.labels, a.period) = (i.profile_type, i.labels, i.period);
END;
COMMENT ON FUNCTION profstore.intern_series(text[], jsonb[], int8[]) IS 'ids of series: profile type in its string form, labels, period';

CREATE FUNCTION profstore.touch_series(series_ids int4[], first_time timestamptz, last_time timestamptz) RETURNS void
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	UPDATE profstore.series AS s
	SET first_seen = least(s.first_seen, first_time), last_seen = greatest(s.last_seen, last_time)
	FROM (SELECT k.id
		  FROM profstore.series AS k
		  WHERE k.id = ANY (series_ids)
			  AND (k.first_seen > first_time OR k.last_seen < last_time - interval '1 minute')
		  FOR NO KEY UPDATE SKIP LOCKED) AS stale
	WHERE s.id = stale.id;
END;
COMMENT ON FUNCTION profstore.touch_series(int4[], timestamptz, timestamptz) IS 'tells that these series have samples between these times; waits for nobody: a row that another transaction touches is left to it';

CREATE FUNCTION profstore.intern_mappings(build_ids text[], files text[]) RETURNS int4[]
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT profstore.begin_interning('intern_mappings', build_ids, files);

	WITH input AS MATERIALIZED
		(SELECT i.*,
			(SELECT min(k.id) FROM profstore.mappings AS k
			 WHERE profstore.content_hash(k.build_id, k.file) = profstore.content_hash(i.build_id, i.file)
				 AND (k.build_id, k.file) = (i.build_id, i.file)) AS id
		 FROM unnest(build_ids, files) WITH ORDINALITY AS i(build_id, file, ord)),
	added AS
		(INSERT INTO profstore.mappings (build_id, file)
		 SELECT i.build_id, i.file
		 FROM input AS i WHERE i.id IS NULL
		 GROUP BY i.build_id, i.file ORDER BY min(i.ord)
		 RETURNING *)
	SELECT coalesce(array_agg(coalesce(i.id, a.id) ORDER BY i.ord), '{}')
	FROM input AS i
		LEFT JOIN added AS a ON (a.build_id, a.file) = (i.build_id, i.file);
END;
COMMENT ON FUNCTION profstore.intern_mappings(text[], text[]) IS 'ids of mappings';

CREATE FUNCTION profstore.intern_functions(names text[], system_names text[], filenames text[], start_lines int4[])
	RETURNS int4[]
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT profstore.begin_interning('intern_functions', names, system_names, filenames, start_lines);

	WITH input AS MATERIALIZED
		(SELECT i.*,
			(SELECT min(k.id) FROM profstore.functions AS k
			 WHERE profstore.content_hash(k.name, k.system_name, k.filename, k.start_line)
				 = profstore.content_hash(i.name, i.system_name, i.filename, i.start_line)
				 AND (k.name, k.system_name, k.filename, k.start_line)
				 = (i.name, i.system_name, i.filename, i.start_line)) AS id
		 FROM unnest(names, system_names, filenames, start_lines)
			 WITH ORDINALITY AS i(name, system_name, filename, start_line, ord)),
	added AS
		(INSERT INTO profstore.functions (name, system_name, filename, start_line)
		 SELECT i.name, i.system_name, i.filename, i.start_line
		 FROM input AS i WHERE i.id IS NULL
		 GROUP BY i.name, i.system_name, i.filename, i.start_line ORDER BY min(i.ord)
		 RETURNING *)
	SELECT coalesce(array_agg(coalesce(i.id, a.id) ORDER BY i.ord), '{}')
	FROM input AS i
		LEFT JOIN added AS a ON (a.name, a.system_name, a.filename, a.start_line)
			= (i.name, i.system_name, i.filename, i.start_line);
END;
COMMENT ON FUNCTION profstore.intern_functions(text[], text[], text[], int4[]) IS 'ids of functions';

-- A location that comes with an address and without lines is any stored one at that address, a symbolized one where
-- there is one: what a symbolizer found out is not lost on a writer that sees less.
CREATE FUNCTION profstore.intern_locations(mappings int4[], addresses int8[], line_counts int4[],
										   function_ids int4[], lines int4[])
	RETURNS int4[]
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT profstore.begin_interning('intern_locations', mappings, addresses, line_counts),
		profstore.begin_interning('intern_locations', function_ids, lines),
		profstore.check_counts('intern_locations', line_counts, cardinality(function_ids));
	SELECT profstore.refuse_ids('mapping', (SELECT array_agg(i.id) FROM unnest(mappings) AS i(id)
			WHERE i.id <> 0 AND NOT EXISTS (SELECT FROM profstore.mappings AS k WHERE k.id = i.id))),
		profstore.refuse_ids('function', (SELECT array_agg(i.id) FROM unnest(function_ids) AS i(id)
			WHERE NOT EXISTS (SELECT FROM profstore.functions AS k WHERE k.id = i.id)));

	WITH input AS MATERIALIZED
		(SELECT i.mapping, i.address, i.ord, function_ids[i.stop - i.line_count + 1 : i.stop] AS function_ids,
			lines[i.stop - i.line_count + 1 : i.stop] AS lines
		 FROM (SELECT u.*, sum(u.line_count) OVER (ORDER BY u.ord)::int4 AS stop
			   FROM unnest(mappings, addresses, line_counts)
				   WITH ORDINALITY AS u(mapping, address, line_count, ord)) AS i),
	found AS MATERIALIZED
		(SELECT i.*, coalesce(
			(SELECT k.id FROM profstore.locations AS k
			 WHERE k.mapping = i.mapping AND k.address = i.address AND i.address <> 0 AND i.lines = '{}'
			 ORDER BY k.lines = '{}', k.id LIMIT 1),
			(SELECT min(k.id) FROM profstore.locations AS k
			 WHERE k.mapping = i.mapping AND k.address = i.address
				 AND hash_array_extended(k.function_ids, 0) = hash_array_extended(i.function_ids, 0)
				 AND (k.function_ids, k.lines) = (i.function_ids, i.lines))) AS id
		 FROM input AS i),
	added AS
		(INSERT INTO profstore.locations (mapping, address, function_ids, lines, symbolization)
		 SELECT i.mapping, i.address, i.function_ids, i.lines, CASE WHEN i.lines = '{}' THEN 'p' ELSE 's' END::"char"
		 FROM found AS i WHERE i.id IS NULL
		 GROUP BY i.mapping, i.address, i.function_ids, i.lines ORDER BY min(i.ord)
		 RETURNING *)
	SELECT coalesce(array_agg(coalesce(i.id, a.id) ORDER BY i.ord), '{}')
	FROM found AS i
		LEFT JOIN added AS a ON (a.mapping, a.address, a.function_ids, a.lines)
			= (i.mapping, i.address, i.function_ids, i.lines);
END;
COMMENT ON FUNCTION profstore.intern_locations(int4[], int8[], int4[], int4[], int4[]) IS 'ids of locations; function_ids and lines hold line_counts[i] elements for each, innermost first';

CREATE FUNCTION profstore.intern_stacks(partition text, depths int4[], location_ids int4[]) RETURNS int8[]
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_intern_stacks';
COMMENT ON FUNCTION profstore.intern_stacks(text, int4[], int4[]) IS 'ids of stack traces in a dictionary partition; location_ids holds depths[i] elements for each, leaf first; depth 0 is stack 0';

CREATE FUNCTION profstore.epoch() RETURNS int8
	LANGUAGE c VOLATILE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_epoch';
COMMENT ON FUNCTION profstore.epoch() IS 'under which ids are valid; another one after ids went away, in a restored database, and after a standby took over';

CREATE FUNCTION profstore.bump_epoch() RETURNS int8
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	UPDATE profstore.epoch SET ids = ids + 1;
	SELECT profstore.epoch();
END;
COMMENT ON FUNCTION profstore.bump_epoch() IS 'makes caches and writers forget all ids; call it in the transaction that removes some';
REVOKE EXECUTE ON FUNCTION profstore.bump_epoch() FROM PUBLIC;

CREATE FUNCTION profstore.bump_names() RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	UPDATE profstore.epoch SET names = names + 1;
END;
COMMENT ON FUNCTION profstore.bump_names() IS 'makes caches forget names; call it in the transaction that changes stored locations or functions';
REVOKE EXECUTE ON FUNCTION profstore.bump_names() FROM PUBLIC;

CREATE FUNCTION profstore.begin_batch(writer uuid, batch int8, epoch int8) RETURNS bool
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	-- The lock on the table lets whoever removes ids wait for the batches that use them.
	LOCK TABLE profstore.epoch IN ROW SHARE MODE;
	IF profstore.epoch() <> begin_batch.epoch THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('epoch %s is over', begin_batch.epoch),
			DETAIL = format('The present epoch is %s: ids that were interned earlier may have gone.', profstore.epoch()),
			HINT = 'Forget all ids, intern again, and repeat the batch.';
	END IF;
	INSERT INTO profstore.writers AS w (writer, last_batch)
	VALUES (begin_batch.writer, begin_batch.batch)
	ON CONFLICT ON CONSTRAINT writers_pkey DO UPDATE
		SET last_batch = EXCLUDED.last_batch, last_seen = EXCLUDED.last_seen
		WHERE w.last_batch < EXCLUDED.last_batch;
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION profstore.begin_batch(uuid, int8, int8) IS 'first in the transaction of a batch: false if the batch is stored already; SQLSTATE 55000 if the epoch under which its ids were interned is over; locks the writer''s row until the end of the transaction';

DO
$$
DECLARE
	signature text;
BEGIN
	FOREACH signature IN ARRAY '{"intern_profile_types(text[])", "intern_series(text[], jsonb[], int8[])",
		"touch_series(int4[], timestamptz, timestamptz)", "intern_mappings(text[], text[])",
		"intern_functions(text[], text[], text[], int4[])", "intern_locations(int4[], int8[], int4[], int4[], int4[])",
		"intern_stacks(text, int4[], int4[])", "epoch()", "begin_batch(uuid, int8, int8)"}'::text[]
	LOOP
		EXECUTE format('REVOKE EXECUTE ON FUNCTION profstore.%s FROM PUBLIC', signature);
	END LOOP;
END
$$;
-- Samples, a partition for each UTC day.

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
COMMENT ON COLUMN profstore.samples.value IS 'in the unit of the profile type';

CREATE FUNCTION profstore.ensure_partitions(from_ts timestamptz, to_ts timestamptz) RETURNS int4
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'profstore_ensure_partitions';
COMMENT ON FUNCTION profstore.ensure_partitions(timestamptz, timestamptz) IS 'makes the partitions of samples for the UTC day of from_ts and those that begin before to_ts; returns how many it made';
REVOKE EXECUTE ON FUNCTION profstore.ensure_partitions(timestamptz, timestamptz) FROM PUBLIC;
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
COMMENT ON COLUMN profstore.segment_stats.bytes IS 'encoded bytes, headers included';
COMMENT ON COLUMN profstore.segment_stats.time_from IS 'least time, where the column is a timestamptz';
COMMENT ON COLUMN profstore.segment_stats.time_to IS 'greatest time';
COMMENT ON COLUMN profstore.segment_stats.series_from IS 'least series_id';
COMMENT ON COLUMN profstore.segment_stats.series_to IS 'greatest series_id';
GRANT SELECT ON profstore.segment_stats TO PUBLIC;
-- query: selectors, and the views over samples that people type

CREATE FUNCTION profstore.parse_selector(selector text, OUT profile_type text, OUT labels text[], OUT operators text[],
							   OUT "values" text[])
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_parse_selector';
COMMENT ON FUNCTION profstore.parse_selector(text) IS 'the parts of a selector; the value of =~ and !~ is an anchored regular expression';

CREATE FUNCTION profstore.matching_series(selector text)
	RETURNS TABLE (series_id int4, profile_type text, unit text, delta bool, labels jsonb, period int8,
			   first_seen timestamptz, last_seen timestamptz)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT s.id, n.profile_type, t.sample_unit, t.delta, s.labels, s.period, s.first_seen, s.last_seen
FROM profstore.parse_selector(selector) p
CROSS JOIN profstore.profile_types t
CROSS JOIN LATERAL (SELECT concat_ws(':', t.name, t.sample_type, t.sample_unit, t.period_type, t.period_unit,
									 CASE WHEN t.delta THEN 'delta' END)) n(profile_type)
JOIN profstore.series s ON s.profile_type = t.id
WHERE (p.profile_type IS NULL OR n.profile_type = p.profile_type)
  AND NOT EXISTS (
	SELECT FROM unnest(p.labels, p.operators, p."values") m(label, operator, value)
	WHERE NOT CASE m.operator
		WHEN '=' THEN coalesce(s.labels ->> m.label, '') = m.value
		WHEN '!=' THEN coalesce(s.labels ->> m.label, '') <> m.value
		WHEN '=~' THEN coalesce(s.labels ->> m.label, '') ~ (m.value COLLATE "C")
		WHEN '!~' THEN coalesce(s.labels ->> m.label, '') !~ (m.value COLLATE "C")
	END);
END;
COMMENT ON FUNCTION profstore.matching_series(text) IS 'all series rows that a selector (NULL: every series) picks, as the caller sees them; one series may be stored under several ids';

CREATE FUNCTION profstore.profile_types()
	RETURNS TABLE (profile_type text, unit text, delta bool, first_seen timestamptz, last_seen timestamptz)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT m.profile_type, m.unit, m.delta, min(m.first_seen), max(m.last_seen)
FROM profstore.matching_series(NULL) m
GROUP BY m.profile_type, m.unit, m.delta
ORDER BY m.profile_type COLLATE "C";
END;
COMMENT ON FUNCTION profstore.profile_types() IS 'the profile types that have series; profile_type is what a selector begins with';

CREATE FUNCTION profstore.series(selector text DEFAULT NULL, from_ts timestamptz DEFAULT NULL, to_ts timestamptz DEFAULT NULL)
	RETURNS TABLE (series_id int4, profile_type text, labels jsonb, first_seen timestamptz, last_seen timestamptz)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT min(m.series_id), m.profile_type, m.labels, min(m.first_seen), max(m.last_seen)
FROM profstore.matching_series(selector) m
GROUP BY m.profile_type, m.labels, m.period
-- last_seen is up to a minute old
HAVING (from_ts IS NULL OR max(m.last_seen) + interval '1 minute' >= from_ts) AND (to_ts IS NULL OR min(m.first_seen) < to_ts)
ORDER BY m.profile_type COLLATE "C", m.labels, min(m.series_id);
END;
COMMENT ON FUNCTION profstore.series(text, timestamptz, timestamptz) IS 'series that a selector picks (NULL: all) and that were seen in [from_ts, to_ts)';

CREATE FUNCTION profstore.label_names(selector text DEFAULT NULL, from_ts timestamptz DEFAULT NULL,
							to_ts timestamptz DEFAULT NULL)
	RETURNS TABLE (label text)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT DISTINCT k.label COLLATE "C"
FROM profstore.series(selector, from_ts, to_ts) s
CROSS JOIN LATERAL jsonb_object_keys(s.labels) k(label)
ORDER BY 1;
END;
COMMENT ON FUNCTION profstore.label_names(text, timestamptz, timestamptz) IS 'names of the labels of the series that a selector picks (NULL: all) and that were seen in [from_ts, to_ts)';

CREATE FUNCTION profstore.label_values(label text, selector text DEFAULT NULL, from_ts timestamptz DEFAULT NULL,
							 to_ts timestamptz DEFAULT NULL)
	RETURNS TABLE (value text)
	LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT DISTINCT (s.labels ->> label) COLLATE "C"
FROM profstore.series(selector, from_ts, to_ts) s
WHERE s.labels ->> label IS NOT NULL
ORDER BY 1;
END;
COMMENT ON FUNCTION profstore.label_values(text, text, timestamptz, timestamptz) IS 'values of a label among the series that a selector picks (NULL: all) and that were seen in [from_ts, to_ts)';

-- Functions that scan samples flush this transaction's own rows first, which only the leader can: PARALLEL RESTRICTED.

CREATE FUNCTION profstore.timeseries(selector text, from_ts timestamptz, to_ts timestamptz, step interval DEFAULT NULL,
						   by text[] DEFAULT '{}', focus text DEFAULT NULL, ignore text DEFAULT NULL,
						   show text DEFAULT NULL, hide text DEFAULT NULL)
	RETURNS TABLE ("time" timestamptz, metric text, labels jsonb, value float8)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000
	AS 'MODULE_PATHNAME', 'profstore_timeseries';
COMMENT ON FUNCTION profstore.timeseries(text, timestamptz, timestamptz, interval, text[], text, text, text, text) IS 'rate per second in buckets of step (NULL: chosen from the range), nanoseconds as seconds; of instant types the value; one line per combination of the labels in by';

CREATE FUNCTION profstore.flamegraph(selector text, from_ts timestamptz, to_ts timestamptz, max_nodes int4 DEFAULT 8192,
						   inverted bool DEFAULT false, focus text DEFAULT NULL, ignore text DEFAULT NULL,
						   show text DEFAULT NULL, hide text DEFAULT NULL)
	RETURNS TABLE (ord int4, level int4, value int8, self int8, label text, truncated bool, file text, line int4,
			   "binary" text)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 8192
	AS 'MODULE_PATHNAME', 'profstore_flamegraph';
COMMENT ON FUNCTION profstore.flamegraph(text, timestamptz, timestamptz, int4, bool, text, text, text, text) IS 'merged stacks as a tree in depth-first order (ORDER BY ord), as the flame-graph panel of Grafana takes it; inverted: from the leaves';

CREATE FUNCTION profstore.flamegraph_diff(selector text, base_from timestamptz, base_to timestamptz, from_ts timestamptz,
								to_ts timestamptz, base_selector text DEFAULT NULL, absolute bool DEFAULT false,
								max_nodes int4 DEFAULT 8192, focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL)
	RETURNS TABLE (ord int4, level int4, value int8, self int8, label text, truncated bool, file text, line int4,
			   "binary" text, "valueRight" int8, "selfRight" int8)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 ROWS 8192
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_diff';
COMMENT ON FUNCTION profstore.flamegraph_diff(text, timestamptz, timestamptz, timestamptz, timestamptz, text, bool, int4, text, text, text, text) IS 'two selections in one flame graph (ORDER BY ord): value and self are the base''s, "valueRight" and "selfRight" those of [from_ts, to_ts); by rate, as over the longer of the two ranges, or absolute, padded to equal totals';

CREATE FUNCTION profstore.top(selector text, from_ts timestamptz, to_ts timestamptz, max_rows int4 DEFAULT 100,
					focus text DEFAULT NULL, ignore text DEFAULT NULL, show text DEFAULT NULL, hide text DEFAULT NULL)
	RETURNS TABLE ("function" text, self int8, total int8, self_share float8, total_share float8, file text,
			   "binary" text)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 100
	AS 'MODULE_PATHNAME', 'profstore_top';
COMMENT ON FUNCTION profstore.top(text, timestamptz, timestamptz, int4, text, text, text, text) IS 'functions by their own value (self), with all below them (total, a recursive function counted once), and both as shares of the whole';

CREATE FUNCTION profstore.top_diff(selector text, base_from timestamptz, base_to timestamptz, from_ts timestamptz, to_ts timestamptz,
						 base_selector text DEFAULT NULL, absolute bool DEFAULT false, max_rows int4 DEFAULT 100,
						 focus text DEFAULT NULL, ignore text DEFAULT NULL, show text DEFAULT NULL, hide text DEFAULT NULL)
	RETURNS TABLE ("function" text, base_self int8, self int8, self_delta int8, base_total int8, total int8,
			   total_delta int8, file text, "binary" text)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000 ROWS 100
	AS 'MODULE_PATHNAME', 'profstore_top_diff';
COMMENT ON FUNCTION profstore.top_diff(text, timestamptz, timestamptz, timestamptz, timestamptz, text, bool, int4, text, text, text, text) IS 'functions by how much their own value changed against the base; by rate, as over the longer of the two ranges, unless absolute';

CREATE FUNCTION profstore.callers(selector text, from_ts timestamptz, to_ts timestamptz, "function" text,
						max_nodes int4 DEFAULT 8192, focus text DEFAULT NULL, ignore text DEFAULT NULL,
						show text DEFAULT NULL, hide text DEFAULT NULL)
	RETURNS TABLE ("function" text, self int8, total int8, share float8, level int4)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000
	AS 'MODULE_PATHNAME', 'profstore_callers';
COMMENT ON FUNCTION profstore.callers(text, timestamptz, timestamptz, text, int4, text, text, text, text) IS 'who calls a function, as a tree in depth-first order: level 0 is the function, level 1 its callers; total is the value of what comes through, share its part of the function, self what has no further caller';

CREATE FUNCTION profstore.callees(selector text, from_ts timestamptz, to_ts timestamptz, "function" text,
						max_nodes int4 DEFAULT 8192, focus text DEFAULT NULL, ignore text DEFAULT NULL,
						show text DEFAULT NULL, hide text DEFAULT NULL)
	RETURNS TABLE ("function" text, self int8, total int8, share float8, level int4)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000
	AS 'MODULE_PATHNAME', 'profstore_callees';
COMMENT ON FUNCTION profstore.callees(text, timestamptz, timestamptz, text, int4, text, text, text, text) IS 'what a function calls, as a tree in depth-first order: level 0 is the function, level 1 what it calls; share is the part of the function''s total';

CREATE FUNCTION profstore.folded(selector text, from_ts timestamptz, to_ts timestamptz, focus text DEFAULT NULL,
					   ignore text DEFAULT NULL, show text DEFAULT NULL, hide text DEFAULT NULL)
	RETURNS TABLE (stack text, value int8)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 10000
	AS 'MODULE_PATHNAME', 'profstore_folded';
COMMENT ON FUNCTION profstore.folded(text, timestamptz, timestamptz, text, text, text, text) IS 'merged stacks as text, root first, frames joined by ";": the folded format of flamegraph.pl and speedscope';

CREATE FUNCTION profstore.stacks_of(selector text, from_ts timestamptz, to_ts timestamptz, focus text DEFAULT NULL,
						  ignore text DEFAULT NULL, show text DEFAULT NULL, hide text DEFAULT NULL)
	RETURNS TABLE (stack text[], value int8)
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 10000
	AS 'MODULE_PATHNAME', 'profstore_stacks_of';
COMMENT ON FUNCTION profstore.stacks_of(text, timestamptz, timestamptz, text, text, text, text) IS 'merged stacks as arrays of function names, root first, with their values';
-- exchange: profiles in the formats of other tools

CREATE FUNCTION profstore.flamegraph_html(selector text, from_ts timestamptz, to_ts timestamptz, max_nodes int4 DEFAULT 8192,
								inverted bool DEFAULT false, focus text DEFAULT NULL, ignore text DEFAULT NULL,
								show text DEFAULT NULL, hide text DEFAULT NULL, title text DEFAULT NULL)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED COST 20000
	AS 'MODULE_PATHNAME', 'profstore_flamegraph_html';
COMMENT ON FUNCTION profstore.flamegraph_html(text, timestamptz, timestamptz, int4, bool, text, text, text, text, text) IS 'flame graph as one self-contained HTML page with search, zoom and a table of functions; write it to a file with psql -Ato';

-- Privileges. Both functions run as their caller, who must own the extension's objects or be a superuser.

CREATE FUNCTION profstore.grant_read(role regrole) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	EXECUTE format('GRANT USAGE ON SCHEMA profstore TO %s', role);
	EXECUTE format('GRANT SELECT ON profstore.samples, profstore.profile_types, profstore.series, profstore.mappings,
		profstore.functions, profstore.locations, profstore.dictionary_partitions, profstore.stack_chunks,
		profstore.stacks, profstore.epoch, profstore.writers, profstore.losses, profstore.targets TO %s', role);
END
$$;
COMMENT ON FUNCTION profstore.grant_read(regrole) IS 'gives a role what it needs to query: for dashboards and people';
REVOKE EXECUTE ON FUNCTION profstore.grant_read(regrole) FROM PUBLIC;

CREATE FUNCTION profstore.grant_write(role regrole) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	EXECUTE format('GRANT USAGE ON SCHEMA profstore TO %s', role);
	EXECUTE format('GRANT INSERT ON profstore.samples, profstore.losses TO %s', role);
	EXECUTE format('GRANT SELECT, INSERT, UPDATE ON profstore.targets TO %s', role);
	EXECUTE format('GRANT EXECUTE ON FUNCTION profstore.intern_profile_types, profstore.intern_series,
		profstore.touch_series, profstore.intern_mappings, profstore.intern_functions, profstore.intern_locations,
		profstore.intern_stacks, profstore.epoch, profstore.begin_batch, profstore.ensure_partitions TO %s', role);
END
$$;
COMMENT ON FUNCTION profstore.grant_write(regrole) IS 'gives a role what it needs to store samples, and nothing to read them: for collectors';
REVOKE EXECUTE ON FUNCTION profstore.grant_write(regrole) FROM PUBLIC;
