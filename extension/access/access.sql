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
