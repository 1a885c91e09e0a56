-- The installed build. The Makefile replaces the hash by that of this script, and the module compares it with the hash that it was built with
-- (base/version.c).

CREATE FUNCTION profstore.version() RETURNS text
	LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'profstore_version';
COMMENT ON FUNCTION profstore.version() IS 'version of the module, the commit that it was built from, and the major version of PostgreSQL that it was built for';

CREATE FUNCTION profstore_internal.script_hash() RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$SELECT '@SCRIPT_HASH@'$$;
COMMENT ON FUNCTION profstore_internal.script_hash() IS 'hash of the script that made these functions';
REVOKE EXECUTE ON FUNCTION profstore_internal.script_hash() FROM PUBLIC;
