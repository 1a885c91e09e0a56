-- Debug information that people and builds upload, by build ID. A role's uploads are used for its own mappings only. Content comes in chunks that the
-- sender has compressed, each in a transaction of its own, so that an interrupted upload can continue. Each tenant of a receiver has a limit of its
-- own, so that no tenant can use up the role's space.

CREATE SEQUENCE profstore.debuginfo_ids;
CREATE TABLE profstore.debuginfo
(
	id       int8 PRIMARY KEY DEFAULT nextval('profstore.debuginfo_ids'),
	build_id text COLLATE "C" NOT NULL CHECK (build_id ~ '^([0-9a-f]{2}){8,32}$'),
	role     text COLLATE "C" NOT NULL DEFAULT profstore.calling_role(),
	digest   bytea NOT NULL CHECK (length(digest) = 32),
	bytes    int8 NOT NULL CHECK (bytes BETWEEN 1 AND 1 << 30),
	chunks   int4 NOT NULL CHECK (chunks = (bytes + 1048575) / 1048576),
	name     text NOT NULL,
	tenant   text COLLATE "C" NOT NULL DEFAULT '' CHECK (length(tenant) <= 128),
	has_lines bool NOT NULL DEFAULT true,
	client_hash text COLLATE "C" NOT NULL DEFAULT '' CHECK (length(client_hash) <= 128),
	state    text NOT NULL DEFAULT 'uploading' CHECK (state IN ('uploading', 'ready')),
	started  timestamptz NOT NULL DEFAULT now(),
	finished timestamptz,
	UNIQUE (role, tenant, build_id, digest)
);
COMMENT ON SEQUENCE profstore.debuginfo_ids IS 'ids of uploads';
COMMENT ON TABLE profstore.debuginfo IS 'uploaded debug information';
COMMENT ON COLUMN profstore.debuginfo.id IS 'number in debuginfo_chunks';
COMMENT ON COLUMN profstore.debuginfo.build_id IS 'build ID of the code that the file describes, hexadecimal';
COMMENT ON COLUMN profstore.debuginfo.role IS 'role that uploaded the file, which is used for mappings of that role only';
COMMENT ON COLUMN profstore.debuginfo.digest IS 'SHA-256 over the SHA-256 of each chunk in order: equal content of a tenant is stored once';
COMMENT ON COLUMN profstore.debuginfo.bytes IS 'size of the file, 1 GiB at most';
COMMENT ON COLUMN profstore.debuginfo.chunks IS 'number of chunks, each of 1 MiB of the file, except the last';
COMMENT ON COLUMN profstore.debuginfo.name IS 'path of the file where it was uploaded';
COMMENT ON COLUMN profstore.debuginfo.tenant IS 'client of a receiver that uploaded it; empty: it came over a connection of the role';
COMMENT ON COLUMN profstore.debuginfo.has_lines IS 'it has DWARF or the table of a Go program, not symbols alone';
COMMENT ON COLUMN profstore.debuginfo.client_hash IS 'hash by which the client knows the file; empty: it gave none';
COMMENT ON COLUMN profstore.debuginfo.state IS 'uploading: chunks are missing, and it is removed after an hour; ready';
COMMENT ON COLUMN profstore.debuginfo.started IS 'when the upload began';
COMMENT ON COLUMN profstore.debuginfo.finished IS 'when the last chunk had been stored';

-- No foreign key: a parallel restore copies an extension's tables in any order. The trigger below removes chunks with their row.
CREATE TABLE profstore.debuginfo_chunks
(
	debuginfo int8 NOT NULL,
	number    int4 NOT NULL CHECK (number >= 0),
	payload   bytea NOT NULL CHECK (length(payload) BETWEEN 1 AND 1100000),
	PRIMARY KEY (debuginfo, number)
);
ALTER TABLE profstore.debuginfo_chunks ALTER COLUMN payload SET STORAGE EXTERNAL;
COMMENT ON TABLE profstore.debuginfo_chunks IS 'chunks of uploaded debug information';
COMMENT ON COLUMN profstore.debuginfo_chunks.debuginfo IS 'id in debuginfo';
COMMENT ON COLUMN profstore.debuginfo_chunks.number IS 'from 0';
COMMENT ON COLUMN profstore.debuginfo_chunks.payload IS 'a Zstandard frame with 1 MiB of the file, the last one with the rest';

ALTER TABLE profstore.debuginfo ENABLE ROW LEVEL SECURITY;
CREATE POLICY profstore_writers ON profstore.debuginfo USING (role = current_user);
CREATE POLICY profstore_readers ON profstore.debuginfo FOR SELECT USING ((SELECT profstore_internal.sees_all_series()));
SELECT pg_extension_config_dump('profstore.debuginfo_ids', '');
SELECT pg_extension_config_dump('profstore.debuginfo', '');
SELECT pg_extension_config_dump('profstore.debuginfo_chunks', '');

CREATE FUNCTION profstore_internal.remove_debuginfo_chunks() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	-- an old snapshot lacks the chunks that were added since, so these would never be removed
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE feature_not_supported USING
			MESSAGE = format('cannot remove debug information in a %s transaction', upper(current_setting('transaction_isolation'))),
			HINT = 'Use READ COMMITTED.';
	END IF;
	DELETE FROM profstore.debuginfo_chunks AS c WHERE c.debuginfo = OLD.id;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION profstore_internal.remove_debuginfo_chunks() IS 'trigger: removes the chunks of a removed upload';
REVOKE EXECUTE ON FUNCTION profstore_internal.remove_debuginfo_chunks() FROM PUBLIC;
CREATE TRIGGER remove_chunks AFTER DELETE ON profstore.debuginfo
	FOR EACH ROW EXECUTE FUNCTION profstore_internal.remove_debuginfo_chunks();
COMMENT ON TRIGGER remove_chunks ON profstore.debuginfo IS 'removes the chunks of the upload';

CREATE FUNCTION profstore.begin_debuginfo(build_id text, digest bytea, bytes int8, name text, tenant text DEFAULT '', has_lines bool DEFAULT true,
	client_hash text DEFAULT '', OUT id int8, OUT is_ready bool, OUT missing int4[])
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	role_bytes int8;
	limit_bytes int8 := 20::int8 << 30;
	tenant_bytes int8 := 4::int8 << 30;
BEGIN
	-- room for a tenant's upload comes from its own oldest uploads; names that were found in these stay
	DELETE FROM profstore.debuginfo AS d USING (
		SELECT o.id, sum(o.bytes) OVER (ORDER BY o.started DESC, o.id DESC) AS newer_bytes FROM profstore.debuginfo AS o
		WHERE o.role = profstore.calling_role() AND o.tenant = begin_debuginfo.tenant AND begin_debuginfo.tenant <> ''
			AND NOT (o.build_id = begin_debuginfo.build_id AND o.digest = begin_debuginfo.digest)) AS old
	WHERE d.id = old.id AND old.newer_bytes + begin_debuginfo.bytes > tenant_bytes;
	DELETE FROM profstore.debuginfo AS d
	WHERE d.role = profstore.calling_role() AND d.state = 'uploading' AND d.started < now() - interval '1 hour';
	SELECT coalesce(sum(d.bytes), 0) INTO role_bytes FROM profstore.debuginfo AS d
	WHERE d.role = profstore.calling_role() AND (d.tenant = '') = (begin_debuginfo.tenant = '');
	IF role_bytes + begin_debuginfo.bytes > limit_bytes THEN
		RAISE configuration_limit_exceeded USING
			MESSAGE = format('debug information of role %I would exceed %s', profstore.calling_role(), pg_size_pretty(limit_bytes)),
			HINT = 'Remove uploads that are no longer needed with profstore.remove_debuginfo().';
	END IF;
	INSERT INTO profstore.debuginfo AS d (build_id, digest, bytes, chunks, name, tenant, has_lines, client_hash)
	VALUES (begin_debuginfo.build_id, begin_debuginfo.digest, begin_debuginfo.bytes, ((begin_debuginfo.bytes + 1048575) / 1048576)::int4, begin_debuginfo.name,
		begin_debuginfo.tenant, begin_debuginfo.has_lines, begin_debuginfo.client_hash)
	ON CONFLICT ON CONSTRAINT debuginfo_role_tenant_build_id_digest_key DO NOTHING;
	SELECT d.id, d.state = 'ready',
		array(SELECT n FROM generate_series(0, d.chunks - 1) AS n
			WHERE NOT EXISTS (SELECT FROM profstore.debuginfo_chunks AS c WHERE c.debuginfo = d.id AND c.number = n) ORDER BY n)
	INTO id, is_ready, missing
	FROM profstore.debuginfo AS d
	WHERE d.role = profstore.calling_role() AND d.tenant = begin_debuginfo.tenant AND d.build_id = begin_debuginfo.build_id
		AND d.digest = begin_debuginfo.digest;
END
$$;
COMMENT ON FUNCTION profstore.begin_debuginfo(text, bytea, int8, text, text, bool, text) IS 'begins the upload of a file with debug information, or continues one of equal content; returns which chunks are missing';
REVOKE EXECUTE ON FUNCTION profstore.begin_debuginfo(text, bytea, int8, text, text, bool, text) FROM PUBLIC;

CREATE FUNCTION profstore.put_debuginfo(id int8, number int4, payload bytea) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	INSERT INTO profstore.debuginfo_chunks (debuginfo, number, payload)
	SELECT d.id, put_debuginfo.number, put_debuginfo.payload FROM profstore.debuginfo AS d
	WHERE d.id = put_debuginfo.id AND d.role = profstore.calling_role() AND d.state = 'uploading' AND put_debuginfo.number BETWEEN 0 AND d.chunks - 1
	FOR KEY SHARE -- nobody removes the upload before its chunk is there
	ON CONFLICT ON CONSTRAINT debuginfo_chunks_pkey DO NOTHING;
END
$$;
COMMENT ON FUNCTION profstore.put_debuginfo(int8, int4, bytea) IS 'stores a chunk of an upload that begin_debuginfo() has begun';
REVOKE EXECUTE ON FUNCTION profstore.put_debuginfo(int8, int4, bytea) FROM PUBLIC;

CREATE FUNCTION profstore.finish_debuginfo(id int8) RETURNS bool
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	upload profstore.debuginfo;
	found_digest bytea;
	found_chunks int8;
BEGIN
	SELECT d.* INTO upload FROM profstore.debuginfo AS d WHERE d.id = finish_debuginfo.id AND d.role = profstore.calling_role() FOR UPDATE;
	IF upload.id IS NULL THEN
		RETURN false;
	END IF;
	SELECT sha256(string_agg(sha256(c.payload), ''::bytea ORDER BY c.number)), count(*) INTO found_digest, found_chunks
	FROM profstore.debuginfo_chunks AS c WHERE c.debuginfo = upload.id;
	IF found_chunks < upload.chunks THEN
		RETURN false;
	END IF;
	IF found_digest <> upload.digest THEN
		DELETE FROM profstore.debuginfo AS d WHERE d.id = upload.id;
		RAISE WARNING USING
			MESSAGE = format('upload of %s was damaged on its way, and is removed', upload.name),
			HINT = 'Upload the file again.';
		RETURN false;
	END IF;
	UPDATE profstore.debuginfo AS d SET state = 'ready', finished = now() WHERE d.id = upload.id AND d.state <> 'ready';
	PERFORM profstore.want_symbols(upload.build_id);
	RETURN true;
END
$$;
COMMENT ON FUNCTION profstore.finish_debuginfo(int8) IS 'ends an upload if all chunks are present and match the announced digest; symbolizers are woken and use it from then on';
REVOKE EXECUTE ON FUNCTION profstore.finish_debuginfo(int8) FROM PUBLIC;

CREATE FUNCTION profstore.find_debuginfo(build_id text) RETURNS TABLE (id int8, bytes int8, chunks int4, name text)
	LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT d.id, d.bytes, d.chunks, d.name FROM profstore.debuginfo AS d
	WHERE d.build_id = find_debuginfo.build_id AND d.role = profstore.calling_role() AND d.state = 'ready'
	ORDER BY d.has_lines DESC, d.tenant = '' DESC, d.finished DESC, d.id DESC;
END;
COMMENT ON FUNCTION profstore.find_debuginfo(text) IS 'uploads of the caller for a build that are ready, the best first: with lines before symbols alone, those of the role before those of a tenant, the newest';
REVOKE EXECUTE ON FUNCTION profstore.find_debuginfo(text) FROM PUBLIC;

CREATE FUNCTION profstore.debuginfo_state(build_id text, tenant text, client_hash text) RETURNS text
	LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT CASE WHEN bool_or(d.has_lines OR d.tenant = '') THEN 'ready'
		WHEN bool_or(d.client_hash = debuginfo_state.client_hash AND d.client_hash <> '') THEN 'equal'
		WHEN count(*) > 0 THEN 'poor' ELSE 'absent' END
	FROM profstore.debuginfo AS d
	WHERE d.build_id = debuginfo_state.build_id AND d.role = profstore.calling_role() AND d.state = 'ready' AND d.tenant IN ('', debuginfo_state.tenant);
END;
COMMENT ON FUNCTION profstore.debuginfo_state(text, text, text) IS 'whether a tenant need not upload debug information of a build: ready; equal: a file of this hash is there, with symbols alone; poor: another one with symbols alone; absent';
REVOKE EXECUTE ON FUNCTION profstore.debuginfo_state(text, text, text) FROM PUBLIC;

CREATE FUNCTION profstore.read_debuginfo(id int8, number int4) RETURNS bytea
	LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT c.payload FROM profstore.debuginfo_chunks AS c JOIN profstore.debuginfo AS d ON d.id = c.debuginfo
	WHERE d.id = read_debuginfo.id AND c.number = read_debuginfo.number AND d.role = profstore.calling_role();
END;
COMMENT ON FUNCTION profstore.read_debuginfo(int8, int4) IS 'a chunk of the caller''s upload';
REVOKE EXECUTE ON FUNCTION profstore.read_debuginfo(int8, int4) FROM PUBLIC;

CREATE FUNCTION profstore.remove_debuginfo(build_id text, forget bool DEFAULT false) RETURNS int8
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	removed int8;
BEGIN
	DELETE FROM profstore.debuginfo AS d WHERE d.build_id = remove_debuginfo.build_id AND d.role = profstore.calling_role();
	GET DIAGNOSTICS removed = ROW_COUNT;
	IF forget THEN
		PERFORM profstore.forget_answers(remove_debuginfo.build_id, 'its debug information was removed');
	END IF;
	RETURN removed;
END
$$;
COMMENT ON FUNCTION profstore.remove_debuginfo(text, bool) IS 'removes the caller''s uploads for a build and, if forget is true, the names that were found in them; returns the number of uploads';
REVOKE EXECUTE ON FUNCTION profstore.remove_debuginfo(text, bool) FROM PUBLIC;
