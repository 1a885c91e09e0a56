-- The dictionary gives the numbers in samples their meaning. Content is not unique: two transactions may store equal content under
-- two ids, so that neither waits for the other. Ids are unique and never used again. Series and mappings, and the locations
-- in these, belong to the role that interned them: no writer can change the meaning of another role's ids.

CREATE TABLE profstore.epoch
(
	one          bool PRIMARY KEY DEFAULT true CHECK (one),
	ids          int8 NOT NULL DEFAULT extract(epoch FROM clock_timestamp())::int8,
	names        int8 NOT NULL DEFAULT 0,
	removals     int8 NOT NULL DEFAULT 0,
	condemned_by xid8,
	collected    timestamptz NOT NULL DEFAULT now()
);
INSERT INTO profstore.epoch DEFAULT VALUES;
COMMENT ON TABLE profstore.epoch IS 'one row: shows caches, here and on standbys, that cached rows are out of date';
COMMENT ON COLUMN profstore.epoch.one IS 'always true, which limits the table to one row';
COMMENT ON COLUMN profstore.epoch.ids IS 'grows when ids are about to be removed; starts at the second of creation, so that a new database never repeats the epoch of an old one';
COMMENT ON COLUMN profstore.epoch.names IS 'grows when names, lines or files of stored locations, functions or mappings change';
COMMENT ON COLUMN profstore.epoch.removals IS 'grows when rows of the dictionary are removed';
COMMENT ON COLUMN profstore.epoch.condemned_by IS 'transaction that condemned rows of the dictionary; NULL: none are';
COMMENT ON COLUMN profstore.epoch.collected IS 'when collect_dictionary() ran last';

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
COMMENT ON TABLE profstore.profile_types IS 'profile types: the parts of name:sample_type:sample_unit:period_type:period_unit[:delta]';
COMMENT ON COLUMN profstore.profile_types.id IS 'number in series.profile_type';
COMMENT ON COLUMN profstore.profile_types.name IS 'for example process_cpu';
COMMENT ON COLUMN profstore.profile_types.sample_type IS 'for example cpu';
COMMENT ON COLUMN profstore.profile_types.sample_unit IS 'unit of the values, for example nanoseconds';
COMMENT ON COLUMN profstore.profile_types.period_type IS 'quantity that elapses between samples, for example cpu';
COMMENT ON COLUMN profstore.profile_types.period_unit IS 'unit of series.period';
COMMENT ON COLUMN profstore.profile_types.delta IS 'true: values add up over time; false: each scrape is a state';

CREATE FUNCTION profstore_internal.content_hash(profile_type int4, labels jsonb, period int8) RETURNS int8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN jsonb_hash_extended(labels, hashint8extended(period, profile_type));
COMMENT ON FUNCTION profstore_internal.content_hash(int4, jsonb, int8) IS 'hash by which a series is found';

CREATE SEQUENCE profstore.series_ids AS int4;
CREATE TABLE profstore.series
(
	id           int4 PRIMARY KEY DEFAULT nextval('profstore.series_ids'),
	profile_type int4 NOT NULL,
	labels       jsonb NOT NULL,
	period       int8 NOT NULL,
	first_seen   timestamptz,
	last_seen    timestamptz,
	condemned    bool NOT NULL DEFAULT false,
	role         text COLLATE "C" NOT NULL DEFAULT profstore.calling_role(),
	interned     timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
CREATE INDEX series_content ON profstore.series (profstore_internal.content_hash(profile_type, labels, period), role);
CREATE INDEX series_labels ON profstore.series USING gin (labels jsonb_path_ops);
COMMENT ON SEQUENCE profstore.series_ids IS 'ids of series';
COMMENT ON TABLE profstore.series IS 'profile type and label set; equal ones under two ids are one series, named by the smaller id';
COMMENT ON COLUMN profstore.series.id IS 'number in samples.series_id';
COMMENT ON COLUMN profstore.series.profile_type IS 'id in profile_types';
COMMENT ON COLUMN profstore.series.labels IS 'object of text values; none is empty';
COMMENT ON COLUMN profstore.series.period IS 'amount of period_type between two samples; 0: unknown';
COMMENT ON COLUMN profstore.series.first_seen IS 'no sample is older; NULL until touch_series has recorded one';
COMMENT ON COLUMN profstore.series.last_seen IS 'kept to within a minute of the newest sample; see touch_series';
COMMENT ON COLUMN profstore.series.interned IS 'when the row was stored, regardless of the times of its samples: young series are not collected';
COMMENT ON COLUMN profstore.series.condemned IS 'nothing referred to it in the last run of collect_dictionary(): interning does not return it, and the next run removes it if that is still so';
COMMENT ON COLUMN profstore.series.role IS 'role that interned it, which alone may use it';

CREATE FUNCTION profstore_internal.content_hash(build_id text, file text) RETURNS int8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN hashtextextended(build_id, hashtextextended(file, 0));
COMMENT ON FUNCTION profstore_internal.content_hash(text, text) IS 'hash by which a mapping is found';

CREATE SEQUENCE profstore.mapping_ids AS int4;
CREATE TABLE profstore.mappings
(
	id        int4 PRIMARY KEY DEFAULT nextval('profstore.mapping_ids'),
	build_id  text NOT NULL,
	file      text NOT NULL,
	condemned bool NOT NULL DEFAULT false,
	role      text COLLATE "C" NOT NULL DEFAULT profstore.calling_role()
);
CREATE INDEX mappings_content ON profstore.mappings (profstore_internal.content_hash(build_id, file), role);
COMMENT ON SEQUENCE profstore.mapping_ids IS 'ids of mappings';
COMMENT ON TABLE profstore.mappings IS 'files that code comes from: executables, libraries, the kernel';
COMMENT ON COLUMN profstore.mappings.id IS 'number in locations.mapping';
COMMENT ON COLUMN profstore.mappings.build_id IS 'hexadecimal; empty: unknown';
COMMENT ON COLUMN profstore.mappings.file IS 'path as the process saw it';
COMMENT ON COLUMN profstore.mappings.condemned IS 'nothing referred to it in the last run of collect_dictionary(): interning does not return it, and the next run removes it if that is still so';
COMMENT ON COLUMN profstore.mappings.role IS 'role that interned it, which alone may use it and the locations in it';

CREATE FUNCTION profstore_internal.content_hash(name text, system_name text, filename text, start_line int4) RETURNS int8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN hashtextextended(name, hashtextextended(system_name, hashtextextended(filename, start_line)));
COMMENT ON FUNCTION profstore_internal.content_hash(text, text, text, int4) IS 'hash by which a function is found';

CREATE SEQUENCE profstore.function_ids AS int4;
CREATE TABLE profstore.function_rows
(
	id          int4 PRIMARY KEY DEFAULT nextval('profstore.function_ids'),
	name        text NOT NULL,
	system_name text NOT NULL,
	filename    text NOT NULL,
	start_line  int4 NOT NULL,
	condemned   bool NOT NULL DEFAULT false
);
CREATE INDEX function_rows_content ON profstore.function_rows
	(profstore_internal.content_hash(name, system_name, filename, start_line));
COMMENT ON SEQUENCE profstore.function_ids IS 'ids of functions';
COMMENT ON TABLE profstore.function_rows IS 'functions that were added recently, changed or condemned; the others are in function_chunks';
COMMENT ON COLUMN profstore.function_rows.id IS 'number in locations.function_ids';
COMMENT ON COLUMN profstore.function_rows.name IS 'demangled name, as shown to users';
COMMENT ON COLUMN profstore.function_rows.system_name IS 'name of the symbol in the executable';
COMMENT ON COLUMN profstore.function_rows.filename IS 'source file; empty: unknown';
COMMENT ON COLUMN profstore.function_rows.start_line IS 'first line of the function; 0: unknown';
COMMENT ON COLUMN profstore.function_rows.condemned IS 'nothing referred to it in the last run of collect_dictionary(): interning does not return it, and the next run removes it if that is still so';

-- The hash of a place (a mapping and an address) leaves out lines, because they may change. The function is not STRICT: then
-- CASE would prevent inlining, and each row of the index would cost a call.
CREATE FUNCTION profstore_internal.content_hash(mapping int4, address int8, function_ids int4[], lines int4[]) RETURNS int8
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN mapping <> 0 AND address <> 0 THEN hashint8extended(address, mapping)
		ELSE hash_array_extended(lines, hash_array_extended(function_ids, hashint8extended(address, mapping))) END;
COMMENT ON FUNCTION profstore_internal.content_hash(int4, int8, int4[], int4[]) IS 'hash by which a location is found';

CREATE SEQUENCE profstore.location_ids AS int4;
CREATE TABLE profstore.location_rows
(
	id            int4 PRIMARY KEY DEFAULT nextval('profstore.location_ids'),
	mapping       int4 NOT NULL,
	address       int8 NOT NULL,
	function_ids  int4[] NOT NULL,
	lines         int4[] NOT NULL,
	symbolization "char" NOT NULL CHECK (symbolization IN ('p', 's', 'x')),
	condemned     bool NOT NULL DEFAULT false,
	CHECK (cardinality(function_ids) = cardinality(lines))
);
CREATE INDEX location_rows_content ON profstore.location_rows
	(profstore_internal.content_hash(mapping, address, function_ids, lines));
COMMENT ON SEQUENCE profstore.location_ids IS 'ids of locations';
COMMENT ON TABLE profstore.location_rows IS 'locations that were added recently, changed or condemned; the others are in location_chunks';
COMMENT ON COLUMN profstore.location_rows.id IS 'number in stacks.location';
COMMENT ON COLUMN profstore.location_rows.mapping IS 'id in mappings, 0 for none';
COMMENT ON COLUMN profstore.location_rows.address IS 'ELF virtual address, the same on every host, as the bits of an unsigned number; 0 for a frame known by name only';
COMMENT ON COLUMN profstore.location_rows.function_ids IS 'ids in functions, innermost inlined one first; empty: not symbolized';
COMMENT ON COLUMN profstore.location_rows.lines IS 'line in the file of each of function_ids; 0: unknown; -1: the function has no symbol, and is named by its start';
COMMENT ON COLUMN profstore.location_rows.symbolization IS 'p: pending, s: symbolized, x: no symbols found';
COMMENT ON COLUMN profstore.location_rows.condemned IS 'nothing referred to it in the last run of collect_dictionary(): interning does not return it, and the next run removes it if that is still so';

-- Young functions and locations are rows with indexes. The others are packed, and only C code writes them (dictionary/seal): to
-- change one, it is made a young row first. Chunks and hashes change only under the lock on the row of the epoch.

CREATE TABLE profstore.dictionary_key
(
	one bool PRIMARY KEY DEFAULT true CHECK (one),
	key bytea NOT NULL
);
COMMENT ON TABLE profstore.dictionary_key IS 'one row, or none if nothing is packed yet';
COMMENT ON COLUMN profstore.dictionary_key.one IS 'always true, which limits the table to one row';
COMMENT ON COLUMN profstore.dictionary_key.key IS 'key of the digests in function_hashes and location_hashes: without it nobody can produce equal digests';

CREATE TABLE profstore.function_chunks
(
	number  int4 PRIMARY KEY,
	present bytea NOT NULL,
	payload bytea NOT NULL
);
ALTER TABLE profstore.function_chunks ALTER COLUMN payload SET STORAGE EXTERNAL;
COMMENT ON TABLE profstore.function_chunks IS 'functions, 256 neighbouring ids packed in one row; read it through the view functions';
COMMENT ON COLUMN profstore.function_chunks.number IS 'ids in it begin at number * 256';
COMMENT ON COLUMN profstore.function_chunks.present IS 'bitmap of the ids in it';
COMMENT ON COLUMN profstore.function_chunks.payload IS 'packed rows, by id; the format is in codec/name_chunk.h';

CREATE TABLE profstore.function_hashes
(
	lowest  int8 PRIMARY KEY,
	entries bytea NOT NULL
);
ALTER TABLE profstore.function_hashes ALTER COLUMN entries SET STORAGE EXTERNAL;
COMMENT ON TABLE profstore.function_hashes IS 'index of function_chunks by content';
COMMENT ON COLUMN profstore.function_hashes.lowest IS 'first eight bytes of the least digest that belongs in it';
COMMENT ON COLUMN profstore.function_hashes.entries IS 'digests and ids in order; the format is in dictionary/cache/name_hashes.h';

CREATE TABLE profstore.location_chunks
(
	number  int4 PRIMARY KEY,
	present bytea NOT NULL,
	payload bytea NOT NULL
) WITH (toast_tuple_target = 8160);
ALTER TABLE profstore.location_chunks ALTER COLUMN payload SET STORAGE EXTERNAL;
COMMENT ON TABLE profstore.location_chunks IS 'locations, 256 neighbouring ids packed in one row; read it through the view locations';
COMMENT ON COLUMN profstore.location_chunks.number IS 'ids in it begin at number * 256';
COMMENT ON COLUMN profstore.location_chunks.present IS 'bitmap of the ids in it';
COMMENT ON COLUMN profstore.location_chunks.payload IS 'packed rows, by id; the format is in codec/name_chunk.h';

CREATE TABLE profstore.location_hashes
(
	lowest  int8 PRIMARY KEY,
	entries bytea NOT NULL
);
ALTER TABLE profstore.location_hashes ALTER COLUMN entries SET STORAGE EXTERNAL;
COMMENT ON TABLE profstore.location_hashes IS 'index of location_chunks by content';
COMMENT ON COLUMN profstore.location_hashes.lowest IS 'first eight bytes of the least digest that belongs in it';
COMMENT ON COLUMN profstore.location_hashes.entries IS 'digests and ids in order; the format is in dictionary/cache/name_hashes.h';

CREATE FUNCTION profstore_internal.chunk_functions(number int4, present bytea, payload bytea,
									  OUT id int4, OUT name text, OUT system_name text, OUT filename text, OUT start_line int4, OUT condemned bool)
	RETURNS SETOF record
	LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 256 COST 20000
	AS 'MODULE_PATHNAME', 'profstore_chunk_functions';
COMMENT ON FUNCTION profstore_internal.chunk_functions(int4, bytea, bytea) IS 'unpacks one row of function_chunks';

CREATE FUNCTION profstore_internal.chunk_locations(number int4, present bytea, payload bytea,
									  OUT id int4, OUT mapping int4, OUT address int8, OUT function_ids int4[], OUT lines int4[],
									  OUT symbolization "char", OUT condemned bool)
	RETURNS SETOF record
	LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 256 COST 5000
	AS 'MODULE_PATHNAME', 'profstore_chunk_locations';
COMMENT ON FUNCTION profstore_internal.chunk_locations(int4, bytea, bytea) IS 'unpacks one row of location_chunks';

CREATE FUNCTION profstore_internal.check_chunk() RETURNS trigger
	LANGUAGE c
	AS 'MODULE_PATHNAME', 'profstore_check_chunk';
COMMENT ON FUNCTION profstore_internal.check_chunk() IS 'trigger: unpacks restored chunks of the kind that its argument names';
REVOKE EXECUTE ON FUNCTION profstore_internal.check_chunk() FROM PUBLIC;
CREATE TRIGGER check_functions BEFORE INSERT ON profstore.function_chunks
	FOR EACH ROW EXECUTE FUNCTION profstore_internal.check_chunk('functions');
ALTER TABLE profstore.function_chunks ENABLE ALWAYS TRIGGER check_functions;
COMMENT ON TRIGGER check_functions ON profstore.function_chunks IS 'unpacks restored chunks';
CREATE TRIGGER check_locations BEFORE INSERT ON profstore.location_chunks
	FOR EACH ROW EXECUTE FUNCTION profstore_internal.check_chunk('locations');
ALTER TABLE profstore.location_chunks ENABLE ALWAYS TRIGGER check_locations;
COMMENT ON TRIGGER check_locations ON profstore.location_chunks IS 'unpacks restored chunks';

CREATE VIEW profstore.functions AS
	SELECT r.id, r.name, r.system_name, r.filename, r.start_line, r.condemned
	FROM profstore.function_rows AS r
	UNION ALL
	SELECT f.id, f.name, f.system_name, f.filename, f.start_line, f.condemned
	FROM profstore.function_chunks AS c, profstore_internal.chunk_functions(c.number, c.present, c.payload) AS f;
COMMENT ON VIEW profstore.functions IS 'functions of the profiled programs';
COMMENT ON COLUMN profstore.functions.id IS 'number in locations.function_ids';
COMMENT ON COLUMN profstore.functions.name IS 'demangled name, as shown to users';
COMMENT ON COLUMN profstore.functions.system_name IS 'name of the symbol in the executable';
COMMENT ON COLUMN profstore.functions.filename IS 'source file; empty: unknown';
COMMENT ON COLUMN profstore.functions.start_line IS 'first line of the function; 0: unknown';
COMMENT ON COLUMN profstore.functions.condemned IS 'nothing referred to it in the last run of collect_dictionary(): interning does not return it, and the next run removes it if that is still so';

CREATE VIEW profstore.locations AS
	SELECT r.id, r.mapping, r.address, r.function_ids, r.lines, r.symbolization, r.condemned
	FROM profstore.location_rows AS r
	UNION ALL
	SELECT l.id, l.mapping, l.address, l.function_ids, l.lines, l.symbolization, l.condemned
	FROM profstore.location_chunks AS c, profstore_internal.chunk_locations(c.number, c.present, c.payload) AS l;
COMMENT ON VIEW profstore.locations IS 'frames of stack traces: places in programs';
COMMENT ON COLUMN profstore.locations.id IS 'number in stacks.location';
COMMENT ON COLUMN profstore.locations.mapping IS 'id in mappings, 0 for none';
COMMENT ON COLUMN profstore.locations.address IS 'ELF virtual address, the same on every host, as the bits of an unsigned number; 0 for a frame known by name only';
COMMENT ON COLUMN profstore.locations.function_ids IS 'ids in functions, innermost inlined one first; empty: not symbolized';
COMMENT ON COLUMN profstore.locations.lines IS 'line in the file of each of function_ids; 0: unknown; -1: the function has no symbol, and is named by its start';
COMMENT ON COLUMN profstore.locations.symbolization IS 'p: pending, s: symbolized, x: no symbols found';
COMMENT ON COLUMN profstore.locations.condemned IS 'nothing referred to it in the last run of collect_dictionary(): interning does not return it, and the next run removes it if that is still so';

CREATE FUNCTION profstore_internal.unseal(names text, id int4) RETURNS bool
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'profstore_unseal';
COMMENT ON FUNCTION profstore_internal.unseal(text, int4) IS 'makes a packed function or location a young row; returns whether it was packed; expects the lock on the row of the epoch';
REVOKE EXECUTE ON FUNCTION profstore_internal.unseal(text, int4) FROM PUBLIC;

-- A view's row is read before its trigger can lock anything. If the row has changed since, the trigger raises an error, so that no change is lost.
CREATE FUNCTION profstore_internal.change_function() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	PERFORM FROM profstore.epoch FOR NO KEY UPDATE;
	IF TG_OP = 'INSERT' THEN
		NEW.id := coalesce(NEW.id, nextval('profstore.function_ids'));
		NEW.condemned := coalesce(NEW.condemned, false);
		PERFORM profstore_internal.unseal('functions', NEW.id);
		INSERT INTO profstore.function_rows SELECT NEW.*;
		RETURN NEW;
	END IF;
	PERFORM profstore_internal.unseal('functions', OLD.id);
	IF TG_OP = 'UPDATE' THEN
		UPDATE profstore.function_rows AS r
		SET (id, name, system_name, filename, start_line, condemned) = (SELECT NEW.*)
		WHERE r.id = OLD.id AND (r.name, r.system_name, r.filename, r.start_line, r.condemned)
			= (OLD.name, OLD.system_name, OLD.filename, OLD.start_line, OLD.condemned);
	ELSE
		DELETE FROM profstore.function_rows AS r
		WHERE r.id = OLD.id AND (r.name, r.system_name, r.filename, r.start_line, r.condemned)
			= (OLD.name, OLD.system_name, OLD.filename, OLD.start_line, OLD.condemned);
	END IF;
	IF NOT FOUND THEN
		RAISE serialization_failure USING
			MESSAGE = format('function with id %s was changed by another transaction', OLD.id),
			HINT = 'Repeat the transaction.';
	END IF;
	RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END
$$;
COMMENT ON FUNCTION profstore_internal.change_function() IS 'trigger: changes a function in its row or packed chunk';
REVOKE EXECUTE ON FUNCTION profstore_internal.change_function() FROM PUBLIC;
CREATE TRIGGER change_function INSTEAD OF INSERT OR UPDATE OR DELETE ON profstore.functions
	FOR EACH ROW EXECUTE FUNCTION profstore_internal.change_function();
COMMENT ON TRIGGER change_function ON profstore.functions IS 'changes it where it is stored';

CREATE FUNCTION profstore_internal.change_location() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	PERFORM FROM profstore.epoch FOR NO KEY UPDATE;
	IF TG_OP = 'INSERT' THEN
		NEW.id := coalesce(NEW.id, nextval('profstore.location_ids'));
		NEW.condemned := coalesce(NEW.condemned, false);
		PERFORM profstore_internal.unseal('locations', NEW.id);
		INSERT INTO profstore.location_rows SELECT NEW.*;
		RETURN NEW;
	END IF;
	PERFORM profstore_internal.unseal('locations', OLD.id);
	IF TG_OP = 'UPDATE' THEN
		UPDATE profstore.location_rows AS r
		SET (id, mapping, address, function_ids, lines, symbolization, condemned) = (SELECT NEW.*)
		WHERE r.id = OLD.id AND (r.mapping, r.address, r.function_ids, r.lines, r.symbolization, r.condemned)
			= (OLD.mapping, OLD.address, OLD.function_ids, OLD.lines, OLD.symbolization, OLD.condemned);
	ELSE
		DELETE FROM profstore.location_rows AS r
		WHERE r.id = OLD.id AND (r.mapping, r.address, r.function_ids, r.lines, r.symbolization, r.condemned)
			= (OLD.mapping, OLD.address, OLD.function_ids, OLD.lines, OLD.symbolization, OLD.condemned);
	END IF;
	IF NOT FOUND THEN
		RAISE serialization_failure USING
			MESSAGE = format('location with id %s was changed by another transaction', OLD.id),
			HINT = 'Repeat the transaction.';
	END IF;
	RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END
$$;
COMMENT ON FUNCTION profstore_internal.change_location() IS 'trigger: changes a location in its row or packed chunk';
REVOKE EXECUTE ON FUNCTION profstore_internal.change_location() FROM PUBLIC;
CREATE TRIGGER change_location INSTEAD OF INSERT OR UPDATE OR DELETE ON profstore.locations
	FOR EACH ROW EXECUTE FUNCTION profstore_internal.change_location();
COMMENT ON TRIGGER change_location ON profstore.locations IS 'changes it where it is stored';

CREATE SEQUENCE profstore.dictionary_partition_ids AS int4 MAXVALUE 8388607;
CREATE TABLE profstore.dictionary_partitions
(
	id        int4 PRIMARY KEY DEFAULT nextval('profstore.dictionary_partition_ids'),
	key       text NOT NULL,
	created   timestamptz NOT NULL DEFAULT now(),
	condemned bool NOT NULL DEFAULT false
);
CREATE INDEX dictionary_partitions_content ON profstore.dictionary_partitions (hashtextextended(key, 0));
COMMENT ON SEQUENCE profstore.dictionary_partition_ids IS 'ids of dictionary partitions: 23 bits of a stack id';
COMMENT ON TABLE profstore.dictionary_partitions IS 'parts of the stack dictionary that are read, cached and dropped as a whole';
COMMENT ON COLUMN profstore.dictionary_partitions.id IS 'upper bits of the stack ids in it: id << 40';
COMMENT ON COLUMN profstore.dictionary_partitions.key IS 'build ID of the process''s executable; for imports that of the first mapping, otherwise the service';
COMMENT ON COLUMN profstore.dictionary_partitions.created IS 'time of its first stack';
COMMENT ON COLUMN profstore.dictionary_partitions.condemned IS 'nothing referred to it in the last run of collect_dictionary(): interning does not return it, and the next run removes it if that is still so';

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
COMMENT ON COLUMN profstore.stack_chunks.xid IS 'transaction that stored the chunk on this server: caches re-read only chunks of transactions that may have been in progress when the caches last read the table';
COMMENT ON COLUMN profstore.stack_chunks.payload IS 'packed nodes; the format is in dictionary/tree/chunk_format.h';

-- A restored row is new to this server's caches, so its xid must be that of the restoring transaction.
CREATE FUNCTION profstore_internal.stamp_chunk() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	NEW.xid := pg_current_xact_id();
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION profstore_internal.stamp_chunk() IS 'trigger: sets xid of restored stack chunks';
REVOKE EXECUTE ON FUNCTION profstore_internal.stamp_chunk() FROM PUBLIC;
CREATE TRIGGER stamp BEFORE INSERT ON profstore.stack_chunks
	FOR EACH ROW EXECUTE FUNCTION profstore_internal.stamp_chunk();
ALTER TABLE profstore.stack_chunks ENABLE ALWAYS TRIGGER stamp;
COMMENT ON TRIGGER stamp ON profstore.stack_chunks IS 'sets xid of restored rows';

CREATE FUNCTION profstore_internal.chunk_nodes(partition_id int4, node_count int4, first_node int8, last_node int8, payload bytea,
									  OUT id int8, OUT parent int8, OUT location int4)
	RETURNS SETOF record
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE ROWS 1000
	AS 'MODULE_PATHNAME', 'profstore_chunk_nodes';
COMMENT ON FUNCTION profstore_internal.chunk_nodes(int4, int4, int8, int8, bytea) IS 'unpacks one row of stack_chunks';

CREATE FUNCTION profstore.shared_cache(OUT partitions int8, OUT nodes int8, OUT bytes int8, OUT size int8, OUT copies int8,
									   OUT misses int8, OUT evictions int8, OUT refusals int8)
	LANGUAGE c VOLATILE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'profstore_shared_cache';
COMMENT ON FUNCTION profstore.shared_cache() IS 'the shared cache of the stack dictionaries of all databases: its partitions, nodes and bytes, of profstore.shared_cache_size; numbers of partitions that sessions copied, did not find, pushed out, or found too large. NULL if profstore is not preloaded';

CREATE VIEW profstore.stacks AS
	SELECT n.id, n.parent, n.location
	FROM profstore.stack_chunks AS c,
		profstore_internal.chunk_nodes(c.partition_id, c.node_count, c.first_node, c.last_node, c.payload) AS n;
COMMENT ON VIEW profstore.stacks IS 'the stack dictionary, a tree: a stack trace is the id of its leaf node, 0 is the empty stack';
COMMENT ON COLUMN profstore.stacks.id IS 'dictionary partition << 40 | node number';
COMMENT ON COLUMN profstore.stacks.parent IS 'the caller''s node, always a smaller id; 0 above the outermost frame';
COMMENT ON COLUMN profstore.stacks.location IS 'id in locations';

-- The epoch is not dumped, because a restored database begins an epoch of its own.
DO
$$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY '{profile_type_ids,profile_types,series_ids,series,mapping_ids,mappings,function_ids,function_rows,function_chunks,
		function_hashes,location_ids,location_rows,location_chunks,location_hashes,dictionary_key,dictionary_partition_ids,dictionary_partitions,node_numbers,stack_chunks}'::text[]
	LOOP
		PERFORM pg_extension_config_dump('profstore.' || name, '');
	END LOOP;
END
$$;
