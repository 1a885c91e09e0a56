-- The table access method, and triggers that keep its tables and the directory consistent.

CREATE FUNCTION profstore_internal.table_am_handler(internal)
RETURNS table_am_handler
LANGUAGE C STRICT
AS 'MODULE_PATHNAME', 'profstore_table_am_handler';
COMMENT ON FUNCTION profstore_internal.table_am_handler(internal) IS 'handler of the table access method profstore';

CREATE ACCESS METHOD profstore TYPE TABLE HANDLER profstore_internal.table_am_handler;
COMMENT ON ACCESS METHOD profstore IS 'compressed columns for append-only tables of fixed-width types';

-- DROP TABLE does not always open the table, and so may not load the module, which removes the table's segments.
CREATE FUNCTION profstore_internal.load_module()
RETURNS event_trigger
LANGUAGE C
AS 'MODULE_PATHNAME', 'profstore_load_module';
COMMENT ON FUNCTION profstore_internal.load_module() IS 'loads the module, which removes the segments of dropped tables and rejects publications of its tables';

CREATE EVENT TRIGGER profstore_load_module ON ddl_command_start
	WHEN TAG IN ('DROP TABLE', 'DROP MATERIALIZED VIEW', 'DROP SCHEMA', 'DROP OWNED', 'DROP TYPE',
				 'DROP EXTENSION', 'DROP ACCESS METHOD')
	EXECUTE FUNCTION profstore_internal.load_module();
ALTER EVENT TRIGGER profstore_load_module ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER profstore_load_module IS 'loads the module before commands that can drop its tables';

-- Commands on publications do not open the partitions of a table, or the tables of a schema, so they load the module, too.
CREATE EVENT TRIGGER profstore_check_publications ON ddl_command_start
	WHEN TAG IN ('CREATE PUBLICATION', 'ALTER PUBLICATION', 'ALTER TABLE')
	EXECUTE FUNCTION profstore_internal.load_module();
ALTER EVENT TRIGGER profstore_check_publications ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER profstore_check_publications IS 'loads the module before commands that can publish its tables, which it rejects';

DO
$$
BEGIN
	IF EXISTS (SELECT FROM pg_publication AS p WHERE p.puballtables) THEN
		RAISE WARNING USING
			ERRCODE = 'feature_not_supported',
			MESSAGE = 'a publication of all tables does not replicate rows of tables that use access method "profstore"',
			DETAIL = 'It replicates rows of their directory, which would damage tables of the subscriber.',
			HINT = 'Create the publication again, with a list of tables.';
	END IF;
END
$$;
