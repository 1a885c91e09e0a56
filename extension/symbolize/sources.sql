-- Text of source files, by build ID and path, for source(). A role's files count for everyone who may see them; equal texts of a role are stored
-- once. Paths are keys: no file of the server is opened by them.

CREATE TABLE profstore.source_texts
(
	role   text COLLATE "C" NOT NULL DEFAULT profstore.calling_role(),
	digest bytea NOT NULL CHECK (length(digest) = 32),
	bytes  int4 NOT NULL CHECK (bytes BETWEEN 0 AND 4194304),
	contents text NOT NULL,
	PRIMARY KEY (role, digest)
);
COMMENT ON TABLE profstore.source_texts IS 'text of source files';
COMMENT ON COLUMN profstore.source_texts.role IS 'role that stored it';
COMMENT ON COLUMN profstore.source_texts.digest IS 'SHA-256 of the text in UTF-8';
COMMENT ON COLUMN profstore.source_texts.bytes IS 'size of the text in UTF-8, 4 MiB at most';
COMMENT ON COLUMN profstore.source_texts.contents IS 'the text';

-- No foreign key to texts: a parallel restore copies an extension's tables in any order. The functions that change both tables run one at a time for
-- each role.
CREATE TABLE profstore.source_files
(
	build_id text COLLATE "C" NOT NULL CHECK (build_id ~ '^([0-9a-f]{2}){1,32}$'),
	role     text COLLATE "C" NOT NULL DEFAULT profstore.calling_role(),
	path     text COLLATE "C" NOT NULL CHECK (octet_length(path) BETWEEN 1 AND 1024),
	digest   bytea NOT NULL,
	PRIMARY KEY (build_id, role, path)
);
CREATE INDEX source_files_text ON profstore.source_files (role, digest);
COMMENT ON TABLE profstore.source_files IS 'source files of builds';
COMMENT ON COLUMN profstore.source_files.build_id IS 'build whose code comes from the file, hexadecimal';
COMMENT ON COLUMN profstore.source_files.role IS 'role that stored it';
COMMENT ON COLUMN profstore.source_files.path IS 'path in the debug information of the build';
COMMENT ON COLUMN profstore.source_files.digest IS 'its text in source_texts';

ALTER TABLE profstore.source_texts ENABLE ROW LEVEL SECURITY;
CREATE POLICY profstore_writers ON profstore.source_texts USING (role = current_user);
CREATE POLICY profstore_readers ON profstore.source_texts FOR SELECT USING ((SELECT profstore_internal.sees_all_series()));
ALTER TABLE profstore.source_files ENABLE ROW LEVEL SECURITY;
CREATE POLICY profstore_writers ON profstore.source_files USING (role = current_user);
CREATE POLICY profstore_readers ON profstore.source_files FOR SELECT USING ((SELECT profstore_internal.sees_all_series()));
SELECT pg_extension_config_dump('profstore.source_texts', '');
SELECT pg_extension_config_dump('profstore.source_files', '');

-- A row that each change updates: unlike an advisory lock, which every login can take, it belongs to the role; and a transaction whose snapshot is
-- older than another's change fails (40001), so that it does not remove a text that the other has just referred to.
CREATE TABLE profstore.source_roles
(
	role    text COLLATE "C" PRIMARY KEY DEFAULT profstore.calling_role(),
	changes int8 NOT NULL DEFAULT 1
) WITH (fillfactor = 50);
REVOKE ALL ON profstore.source_roles FROM PUBLIC;
COMMENT ON TABLE profstore.source_roles IS 'roles that have stored source files; a change locks its row';
COMMENT ON COLUMN profstore.source_roles.role IS 'the role';
COMMENT ON COLUMN profstore.source_roles.changes IS 'number of changes since the extension was made or restored';

CREATE FUNCTION profstore_internal.lock_sources() RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	INSERT INTO profstore.source_roles AS r DEFAULT VALUES
	ON CONFLICT ON CONSTRAINT source_roles_pkey DO UPDATE SET changes = r.changes + 1;
END;
COMMENT ON FUNCTION profstore_internal.lock_sources() IS 'keeps other sessions of the caller''s role from changing its source files until the transaction ends';
REVOKE EXECUTE ON FUNCTION profstore_internal.lock_sources() FROM PUBLIC;

CREATE FUNCTION profstore.put_sources(build_id text, paths text[], contents text[]) RETURNS int8
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	limit_bytes int8 := 2::int8 << 30;
	stored int8;
BEGIN
	IF cardinality(paths) <> cardinality(contents) THEN
		RAISE invalid_parameter_value USING MESSAGE = format('%s paths have %s texts', cardinality(paths), cardinality(contents));
	END IF;
	PERFORM profstore_internal.lock_sources();
	INSERT INTO profstore.source_texts AS t (digest, bytes, contents)
	SELECT DISTINCT ON (sha256(convert_to(u.text, 'UTF8'))) sha256(convert_to(u.text, 'UTF8')), octet_length(convert_to(u.text, 'UTF8')), u.text
	FROM unnest(contents) AS u(text)
	ON CONFLICT ON CONSTRAINT source_texts_pkey DO NOTHING;
	IF FOUND AND (SELECT sum(t.bytes) FROM profstore.source_texts AS t WHERE t.role = profstore.calling_role()) > limit_bytes THEN
		RAISE configuration_limit_exceeded USING
			MESSAGE = format('source files of role %I would exceed %s', profstore.calling_role(), pg_size_pretty(limit_bytes)),
			HINT = 'Remove those of old builds with profstore.remove_sources().';
	END IF;
	INSERT INTO profstore.source_files AS f (build_id, path, digest)
	SELECT DISTINCT ON (u.path) put_sources.build_id, u.path, sha256(convert_to(u.text, 'UTF8'))
	FROM unnest(paths, contents) AS u(path, text) ORDER BY u.path
	ON CONFLICT ON CONSTRAINT source_files_pkey DO UPDATE SET digest = EXCLUDED.digest;
	GET DIAGNOSTICS stored = ROW_COUNT;
	RETURN stored;
END
$$;
COMMENT ON FUNCTION profstore.put_sources(text, text[], text[]) IS 'stores source files of a build for source(): paths as in its debug information, and their texts, up to 4 MiB each and 2 GB a role; returns how many';
REVOKE EXECUTE ON FUNCTION profstore.put_sources(text, text[], text[]) FROM PUBLIC;

CREATE FUNCTION profstore.remove_sources(build_id text) RETURNS int8
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	removed int8;
BEGIN
	PERFORM profstore_internal.lock_sources();
	DELETE FROM profstore.source_files AS f WHERE f.build_id = remove_sources.build_id AND f.role = profstore.calling_role();
	GET DIAGNOSTICS removed = ROW_COUNT;
	DELETE FROM profstore.source_texts AS t
	WHERE t.role = profstore.calling_role() AND NOT EXISTS (SELECT FROM profstore.source_files AS f WHERE f.role = t.role AND f.digest = t.digest);
	RETURN removed;
END
$$;
COMMENT ON FUNCTION profstore.remove_sources(text) IS 'removes the caller''s source files of a build; returns how many';
REVOKE EXECUTE ON FUNCTION profstore.remove_sources(text) FROM PUBLIC;

-- A build ID is a claim: texts count for the mappings of the role that stored them alone, as uploads of debug information do.
CREATE FUNCTION profstore.source_text(mappings int4[], filename text) RETURNS text
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT t.contents
	FROM unnest(mappings) WITH ORDINALITY AS u(id, place)
		JOIN profstore.mappings AS m ON m.id = u.id
		JOIN profstore.source_files AS f ON f.build_id = m.build_id AND f.role = m.role
		JOIN profstore.source_texts AS t ON t.role = f.role AND t.digest = f.digest
	WHERE f.path = filename OR right(f.path, length(filename) + 1) = '/' || filename
	ORDER BY u.place, f.path LIMIT 1;
END;
COMMENT ON FUNCTION profstore.source_text(int4[], text) IS 'text of a source file of the first of the mappings whose build has it; filename is a path or its last parts; NULL: none has, or the caller may not see it';
