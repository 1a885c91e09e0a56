-- From version 1.0: what no statement of the install script brings about in a database that has data. Rows from before
-- have what the functions of 1.0 meant: no sums, nothing condemned, nothing collected.

ALTER TABLE profstore.segments ADD COLUMN summary_byte_count int8 NOT NULL DEFAULT 0, ADD COLUMN summary bytea;
ALTER TABLE profstore.segments ALTER COLUMN summary_byte_count DROP DEFAULT;

ALTER TABLE profstore.epoch
	ADD COLUMN removals int8 NOT NULL DEFAULT 0,
	ADD COLUMN condemned_by xid8,
	ADD COLUMN collected timestamptz NOT NULL DEFAULT now();
ALTER TABLE profstore.series ADD COLUMN condemned bool NOT NULL DEFAULT false, ADD COLUMN role text COLLATE "C" NOT NULL DEFAULT '',
	ADD COLUMN interned timestamptz NOT NULL DEFAULT now();
ALTER TABLE profstore.series ALTER COLUMN first_seen DROP NOT NULL, ALTER COLUMN first_seen DROP DEFAULT,
	ALTER COLUMN last_seen DROP NOT NULL, ALTER COLUMN last_seen DROP DEFAULT;
ALTER TABLE profstore.mappings ADD COLUMN condemned bool NOT NULL DEFAULT false, ADD COLUMN role text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE profstore.functions ADD COLUMN condemned bool NOT NULL DEFAULT false;
ALTER TABLE profstore.locations ADD COLUMN condemned bool NOT NULL DEFAULT false;
ALTER TABLE profstore.dictionary_partitions ADD COLUMN condemned bool NOT NULL DEFAULT false;

-- Whose rows from before are is not known.
ALTER TABLE profstore.writers ADD COLUMN role text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE profstore.losses ADD COLUMN role text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE profstore.targets ADD COLUMN role text COLLATE "C" NOT NULL DEFAULT '',
	DROP CONSTRAINT targets_pkey, ADD PRIMARY KEY (name, role);
DROP INDEX profstore.series_content;
DROP INDEX profstore.mappings_content;
CREATE FUNCTION profstore.calling_role() RETURNS text
	LANGUAGE c STABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_calling_role';
ALTER TABLE profstore.writers ALTER COLUMN role SET DEFAULT profstore.calling_role();
ALTER TABLE profstore.losses ALTER COLUMN role SET DEFAULT current_user;
ALTER TABLE profstore.targets ALTER COLUMN role SET DEFAULT current_user;
ALTER TABLE profstore.series ALTER COLUMN role SET DEFAULT profstore.calling_role();
ALTER TABLE profstore.mappings ALTER COLUMN role SET DEFAULT profstore.calling_role();

-- A column came between the others.
DROP VIEW profstore.segment_stats;
