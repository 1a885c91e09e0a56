-- From version 1.0: what no statement of the install script brings about in a database that has data. Rows from before
-- have what the functions of 1.0 meant: no sums, nothing condemned, nothing collected.

ALTER TABLE profstore.segments ADD COLUMN summary_byte_count int8 NOT NULL DEFAULT 0, ADD COLUMN summary bytea;
ALTER TABLE profstore.segments ALTER COLUMN summary_byte_count DROP DEFAULT;

ALTER TABLE profstore.epoch
	ADD COLUMN removals int8 NOT NULL DEFAULT 0,
	ADD COLUMN condemned_by xid8,
	ADD COLUMN collected timestamptz NOT NULL DEFAULT now();
ALTER TABLE profstore.series ADD COLUMN condemned bool NOT NULL DEFAULT false;
ALTER TABLE profstore.mappings ADD COLUMN condemned bool NOT NULL DEFAULT false;
ALTER TABLE profstore.functions ADD COLUMN condemned bool NOT NULL DEFAULT false;
ALTER TABLE profstore.locations ADD COLUMN condemned bool NOT NULL DEFAULT false;
ALTER TABLE profstore.dictionary_partitions ADD COLUMN condemned bool NOT NULL DEFAULT false;

-- A column came between the others.
DROP VIEW profstore.segment_stats;
