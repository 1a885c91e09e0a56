-- Text of source files, by origin and path, for source(). An origin is a build ID, or "git:" and a reference that series have as a label. Roles that see
-- all series see the files of every role; equal texts of a role are stored once. Paths are only keys: no file of the server is opened by them.

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
	build_id text COLLATE "C" NOT NULL CHECK (build_id ~ '^([0-9a-f]{2}){1,32}$' OR build_id ~ '^git:[[:graph:]]+$' AND octet_length(build_id) <= 512),
	role     text COLLATE "C" NOT NULL DEFAULT profstore.calling_role(),
	path     text COLLATE "C" NOT NULL CHECK (octet_length(path) BETWEEN 1 AND 1024),
	digest   bytea NOT NULL,
	PRIMARY KEY (build_id, role, path)
);
CREATE INDEX source_files_text ON profstore.source_files (role, digest);
COMMENT ON TABLE profstore.source_files IS 'source files of builds and of git references';
COMMENT ON COLUMN profstore.source_files.build_id IS 'build whose code comes from the file, hexadecimal; or git:REFERENCE or git:REPOSITORY@REFERENCE, as in the labels service_git_ref and service_repository';
COMMENT ON COLUMN profstore.source_files.role IS 'role that stored it';
COMMENT ON COLUMN profstore.source_files.path IS 'path in the debug information of the build, or in the repository';
COMMENT ON COLUMN profstore.source_files.digest IS 'its text in source_texts';

CREATE TABLE profstore.source_paths
(
	role        text COLLATE "C" NOT NULL DEFAULT profstore.calling_role(),
	prefix      text COLLATE "C" NOT NULL CHECK (octet_length(prefix) <= 1024 AND right(prefix, 1) = '/'),
	replacement text COLLATE "C" NOT NULL CHECK (octet_length(replacement) <= 1024 AND (replacement = '' OR right(replacement, 1) = '/')),
	PRIMARY KEY (role, prefix)
);
COMMENT ON TABLE profstore.source_paths IS 'directories of paths in debug information, and those under which source files are stored instead';
COMMENT ON COLUMN profstore.source_paths.role IS 'role that set the pair, which applies to source files of that role';
COMMENT ON COLUMN profstore.source_paths.prefix IS 'directory in debug information, ends with a slash';
COMMENT ON COLUMN profstore.source_paths.replacement IS 'directory in source_files, ends with a slash; empty: the root of the repository';

ALTER TABLE profstore.source_texts ENABLE ROW LEVEL SECURITY;
CREATE POLICY profstore_writers ON profstore.source_texts USING (role = current_user);
CREATE POLICY profstore_readers ON profstore.source_texts FOR SELECT USING ((SELECT profstore_internal.sees_all_series()));
ALTER TABLE profstore.source_files ENABLE ROW LEVEL SECURITY;
CREATE POLICY profstore_writers ON profstore.source_files USING (role = current_user);
CREATE POLICY profstore_readers ON profstore.source_files FOR SELECT USING ((SELECT profstore_internal.sees_all_series()));
ALTER TABLE profstore.source_paths ENABLE ROW LEVEL SECURITY;
CREATE POLICY profstore_writers ON profstore.source_paths USING (role = current_user);
CREATE POLICY profstore_readers ON profstore.source_paths FOR SELECT USING ((SELECT profstore_internal.sees_all_series()));
SELECT pg_extension_config_dump('profstore.source_texts', '');
SELECT pg_extension_config_dump('profstore.source_files', '');
SELECT pg_extension_config_dump('profstore.source_paths', '');

-- Each change updates the row of its role, which serves as a lock. An advisory lock could be taken by every login. A transaction whose snapshot is
-- older than another's change fails (40001), so that it does not remove a text to which the other has just referred.
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
COMMENT ON FUNCTION profstore.put_sources(text, text[], text[]) IS 'stores source files of a build for source(): paths as in its debug information, and their texts, up to 4 MiB each and 2 GB a role; instead of a build ID also git:REFERENCE, for series with that label service_git_ref, and paths in the repository; returns how many';
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
COMMENT ON FUNCTION profstore.remove_sources(text) IS 'removes the caller''s source files of a build, or of git:REFERENCE; returns how many';
REVOKE EXECUTE ON FUNCTION profstore.remove_sources(text) FROM PUBLIC;

CREATE FUNCTION profstore.map_sources(prefix text, replacement text) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	limit_rows int8 := 100;
BEGIN
	IF right(map_sources.prefix, 1) <> '/' OR right('/' || map_sources.replacement, 1) <> '/' THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('directory "%s" does not end with a slash',
				CASE WHEN right(map_sources.prefix, 1) <> '/' THEN map_sources.prefix ELSE map_sources.replacement END),
			HINT = 'Name directories as in ''/builds/server/''.';
	END IF;
	PERFORM profstore_internal.lock_sources();
	INSERT INTO profstore.source_paths (prefix, replacement) VALUES (map_sources.prefix, map_sources.replacement)
	ON CONFLICT ON CONSTRAINT source_paths_pkey DO UPDATE SET replacement = EXCLUDED.replacement;
	IF (SELECT count(*) FROM profstore.source_paths AS p WHERE p.role = profstore.calling_role()) > limit_rows THEN
		RAISE configuration_limit_exceeded USING
			MESSAGE = format('role %I would have more than %s directories of source files', profstore.calling_role(), limit_rows),
			HINT = 'Remove some with profstore.unmap_sources().';
	END IF;
END
$$;
COMMENT ON FUNCTION profstore.map_sources(text, text) IS 'lets source() look for paths of debug information that begin with the directory prefix under the directory replacement; an empty one is the root of the repository';
REVOKE EXECUTE ON FUNCTION profstore.map_sources(text, text) FROM PUBLIC;

CREATE FUNCTION profstore.unmap_sources(prefix text) RETURNS bool
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
	DELETE FROM profstore.source_paths AS p WHERE p.prefix = unmap_sources.prefix AND p.role = profstore.calling_role();
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION profstore.unmap_sources(text) IS 'undoes map_sources() of a directory; false: the directory was not mapped';
REVOKE EXECUTE ON FUNCTION profstore.unmap_sources(text) FROM PUBLIC;

-- A symbolizer asks debuginfod servers for these files. Paths that are not absolute have no address there.
CREATE FUNCTION profstore.missing_sources(build_id text, max_files int4) RETURNS TABLE (path text)
	LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
	SELECT f.filename
	FROM profstore.mappings AS m
		JOIN profstore.locations AS l ON l.mapping = m.id
		CROSS JOIN LATERAL unnest(l.function_ids) AS u(id)
		JOIN profstore.functions AS f ON f.id = u.id
	WHERE m.build_id = missing_sources.build_id AND m.build_id <> '' AND m.role = profstore.calling_role()
		AND f.filename LIKE '/%' AND octet_length(f.filename) <= 1024
		AND NOT EXISTS (SELECT FROM profstore.source_files AS s WHERE s.build_id = m.build_id AND s.role = m.role AND s.path = f.filename)
	GROUP BY f.filename ORDER BY count(*) DESC, f.filename LIMIT max_files;
$$;
COMMENT ON FUNCTION profstore.missing_sources(text, int4) IS 'absolute paths of source files of the caller''s mappings of a build whose text is not stored, those with most addresses first';
REVOKE EXECUTE ON FUNCTION profstore.missing_sources(text, int4) FROM PUBLIC;

-- Compilers write paths as they were given: /builds/web/build/../src/a.c. Parts that lead above the start of a relative path are dropped, because a path
-- is also found by its last parts.
CREATE FUNCTION profstore_internal.plain_path(path text) RETURNS text
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
	kept text[] := '{}';
	part text;
BEGIN
	FOREACH part IN ARRAY string_to_array(plain_path.path, '/') LOOP
		IF part = '..' THEN
			kept := kept[:cardinality(kept) - 1];
		ELSIF part NOT IN ('', '.') THEN
			kept := kept || part;
		END IF;
	END LOOP;
	RETURN CASE WHEN starts_with(plain_path.path, '/') THEN '/' ELSE '' END || array_to_string(kept, '/');
END
$$;
COMMENT ON FUNCTION profstore_internal.plain_path IS 'a path without empty parts, "." and ".."';

-- Nobody verifies a build ID or a reference, so texts are used only for mappings and series of the role that stored them, like uploaded debug
-- information. Files of a build are exact, so they come before those of a reference; the reference of the series that was seen last comes first. A path
-- below a mapped directory is known from its root on, so its last parts do not suffice.
CREATE FUNCTION profstore.source_text(mappings int4[], filename text, series_ids int4[] DEFAULT '{}') RETURNS text
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	WITH origins AS
		(SELECT m.build_id AS origin, m.role, 0 AS kind, u.place
		 FROM unnest(mappings) WITH ORDINALITY AS u(id, place) JOIN profstore.mappings AS m ON m.id = u.id
		 UNION ALL
		 SELECT g.origin, g.role, 1, row_number() OVER (ORDER BY max(g.last_seen) DESC NULLS LAST, g.whole DESC, g.origin)
		 FROM (SELECT s.role, s.last_seen, o.whole, o.origin
			FROM profstore.series AS s
				CROSS JOIN LATERAL (VALUES (true, 'git:' || (s.labels ->> 'service_repository') || '@' || (s.labels ->> 'service_git_ref')),
					(false, 'git:' || (s.labels ->> 'service_git_ref'))) AS o(whole, origin)
			WHERE s.id = ANY (series_ids) AND o.origin IS NOT NULL) AS g
		 GROUP BY g.origin, g.role, g.whole),
	names AS
		(SELECT filename AS name UNION SELECT profstore_internal.plain_path(filename)),
	paths AS
		(SELECT o.origin, o.role, o.kind, o.place, p.path, p.replaced
		 FROM origins AS o
			CROSS JOIN names AS n
			CROSS JOIN LATERAL (SELECT n.name AS path, 0 AS replaced
				UNION ALL
				SELECT r.replacement || substr(n.name, length(r.prefix) + 1), length(r.prefix)
				FROM profstore.source_paths AS r WHERE r.role = o.role AND starts_with(n.name, r.prefix)) AS p
		 WHERE p.path <> '')
	SELECT t.contents
	FROM paths AS p
		JOIN profstore.source_files AS f ON f.build_id = p.origin AND f.role = p.role
		JOIN profstore.source_texts AS t ON t.role = f.role AND t.digest = f.digest
	WHERE f.path = p.path OR p.replaced = 0 AND right(f.path, length(p.path) + 1) = '/' || p.path
	ORDER BY p.kind, p.place, f.path = p.path DESC, p.replaced DESC, f.path LIMIT 1;
END;
COMMENT ON FUNCTION profstore.source_text(int4[], text, int4[]) IS 'text of a source file of the first of the mappings whose build has it, or of the git reference of one of the series; filename is a path or its last parts; NULL: none has, or the caller may not see it';
