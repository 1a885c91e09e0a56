-- From the invented version 0.9: the changes for a database with data that no statement of the install script makes.

ALTER TABLE profstore.retention_log ADD COLUMN sums int8;

-- Functions and locations become views over young rows and packed ones. The rows are copied to new tables, so that a user's view of the
-- old tables is an error, instead of a view that shows only a part of the rows.
CREATE TABLE profstore.function_rows
(
	id          int4 PRIMARY KEY DEFAULT nextval('profstore.function_ids'),
	name        text NOT NULL,
	system_name text NOT NULL,
	filename    text NOT NULL,
	start_line  int4 NOT NULL,
	condemned   bool NOT NULL DEFAULT false
);
INSERT INTO profstore.function_rows SELECT * FROM profstore.functions;
ALTER EXTENSION profstore DROP TABLE profstore.functions;
DROP INDEX profstore.functions_content;
DROP TABLE profstore.functions;
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
INSERT INTO profstore.location_rows SELECT * FROM profstore.locations;
ALTER EXTENSION profstore DROP TABLE profstore.locations;
DROP INDEX profstore.locations_content;
DROP TABLE profstore.locations;
