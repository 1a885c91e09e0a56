-- The directory of the columnar access method: one row per segment of every profstore table.
--
-- Only C code reads and writes the rows, regardless of the caller's privileges: a row is visible exactly if the
-- rows of its segment are. It is not a configuration table: pg_dump saves the tables, not the segments.

CREATE SEQUENCE profstore.storage_ids;
COMMENT ON SEQUENCE profstore.storage_ids IS 'key of a table''s segments; a new one for every new file of a table';

CREATE TABLE profstore.segments
(
	storage_id int8 NOT NULL,
	segment_no int8 NOT NULL,
	byte_count int8 NOT NULL,
	time_min int8,
	time_max int8,
	key_min int8,
	key_max int8,
	row_count int4 NOT NULL,
	level int2 NOT NULL,
	header bytea NOT NULL,
	stream_ids oid[],
	payload bytea,
	summary_byte_count int8 NOT NULL,
	summary bytea,
	PRIMARY KEY (storage_id, segment_no)
)
WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.5,
	  toast.autovacuum_vacuum_scale_factor = 0.05);

-- TOAST must not compress the bytes, because they are compressed already.
ALTER TABLE profstore.segments
	ALTER COLUMN header SET STORAGE EXTERNAL,
	ALTER COLUMN payload SET STORAGE EXTERNAL,
	ALTER COLUMN summary SET STORAGE EXTERNAL,
	ALTER COLUMN stream_ids SET STORAGE PLAIN;

REVOKE ALL ON profstore.segments FROM PUBLIC;

COMMENT ON TABLE profstore.segments IS 'directory of the columnar segments of all tables using profstore';
COMMENT ON COLUMN profstore.segments.storage_id IS 'the table file that the segment belongs to';
COMMENT ON COLUMN profstore.segments.segment_no IS 'writing transaction << 16 | count within it';
COMMENT ON COLUMN profstore.segments.byte_count IS 'encoded bytes of the rows'' streams, header excluded';
COMMENT ON COLUMN profstore.segments.time_min IS 'smallest value of the column "time", as stored';
COMMENT ON COLUMN profstore.segments.time_max IS 'largest value of the column "time", as stored';
COMMENT ON COLUMN profstore.segments.key_min IS 'smallest value of the column "series_id"';
COMMENT ON COLUMN profstore.segments.key_max IS 'largest value of the column "series_id"';
COMMENT ON COLUMN profstore.segments.row_count IS 'rows in the segment';
COMMENT ON COLUMN profstore.segments.level IS '0: as written by a small COPY or INSERT; 1 and up: merged or large';
COMMENT ON COLUMN profstore.segments.header IS 'encoding, lengths and checksums of the streams';
COMMENT ON COLUMN profstore.segments.stream_ids IS 'TOAST value of each stream in the table''s own TOAST relation';
COMMENT ON COLUMN profstore.segments.payload IS 'level 0 and 1: all streams, one after the other';
COMMENT ON COLUMN profstore.segments.summary_byte_count IS 'encoded bytes of the streams of sums, headers excluded';
COMMENT ON COLUMN profstore.segments.summary IS 'for each table of sums its kind (1 byte), the length of its header (4 bytes) and the header; its streams follow those of the rows';

-- Sums by stack over many segments, which a scan reads instead of the segments if it wants all of their series of a class.
-- Like the directory, only C code reads and writes them. Rows may be deleted: compaction makes them again.
CREATE TABLE profstore.rollups
(
	storage_id int8 NOT NULL,
	width int8 NOT NULL,
	bucket int8 NOT NULL,
	class int4 NOT NULL,
	piece int4 NOT NULL,
	series_column int2 NOT NULL,
	stack_column int2 NOT NULL,
	time_column int2 NOT NULL,
	time_min int8 NOT NULL,
	time_max int8 NOT NULL,
	sample_count int8 NOT NULL,
	stack_count int4 NOT NULL,
	segments int8[] NOT NULL,
	series int8[] NOT NULL,
	others int8[] NOT NULL,
	stack_series int8[] NOT NULL,
	pieces int8[] NOT NULL,
	header bytea,
	payload bytea,
	PRIMARY KEY (storage_id, width, bucket, class, piece)
);
ALTER TABLE profstore.rollups
	ALTER COLUMN header SET STORAGE EXTERNAL,
	ALTER COLUMN payload SET STORAGE EXTERNAL;

REVOKE ALL ON profstore.rollups FROM PUBLIC;

COMMENT ON TABLE profstore.rollups IS 'sums by stack over the segments of ten minutes, an hour or a day, beside the directory';
COMMENT ON COLUMN profstore.rollups.storage_id IS 'the table file that the segments belong to';
COMMENT ON COLUMN profstore.rollups.width IS 'microseconds of the bucket of time';
COMMENT ON COLUMN profstore.rollups.bucket IS 'number of the bucket, counted from 2000-01-01 UTC';
COMMENT ON COLUMN profstore.rollups.class IS 'profile type of the series that are summed; 0: all series, for a table that is not a partition of samples or a tier; 2147483647: no series has a delta type';
COMMENT ON COLUMN profstore.rollups.piece IS '0: sums by stack; 1 and up: sums by series and stack of some of the series; the other columns are as in row 0 or empty';
COMMENT ON COLUMN profstore.rollups.series_column IS 'number of the column that was series_id when the row was written';
COMMENT ON COLUMN profstore.rollups.stack_column IS 'number of the column that was stack_id when the row was written';
COMMENT ON COLUMN profstore.rollups.time_column IS 'number of the column that was time when the row was written';
COMMENT ON COLUMN profstore.rollups.time_min IS 'smallest time in the segments, as stored';
COMMENT ON COLUMN profstore.rollups.time_max IS 'largest time in the segments, as stored';
COMMENT ON COLUMN profstore.rollups.sample_count IS 'rows of the segments, of all series';
COMMENT ON COLUMN profstore.rollups.stack_count IS 'number of sums; 0: there are none, because they would not save enough';
COMMENT ON COLUMN profstore.rollups.segments IS 'segment_no of each segment that is summed';
COMMENT ON COLUMN profstore.rollups.series IS 'the series in these segments that are summed';
COMMENT ON COLUMN profstore.rollups.others IS 'all other series in these segments';
COMMENT ON COLUMN profstore.rollups.stack_series IS 'which series have stacks in which dictionary partition: the upper 24 bits of stack ids << 32 | series; empty: unknown';
COMMENT ON COLUMN profstore.rollups.pieces IS 'the first series of each piece, from piece 1 on; empty: there are no pieces';
COMMENT ON COLUMN profstore.rollups.header IS 'encoding, lengths and checksums of the sums';
COMMENT ON COLUMN profstore.rollups.payload IS 'the sums';

-- Counts of rows beside the directory, by which verify() finds missing segments. Only C code reads and writes the table. It has no
-- index, because every COPY writes it and it is short.
CREATE TABLE profstore.row_ledger
(
	storage_id int8 NOT NULL,
	rows int8 NOT NULL
)
WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.5);

REVOKE ALL ON profstore.row_ledger FROM PUBLIC;

COMMENT ON TABLE profstore.row_ledger IS 'how many rows were stored in each table and removed again, as a check on the directory; compaction folds entries';
COMMENT ON COLUMN profstore.row_ledger.storage_id IS 'the table file';
COMMENT ON COLUMN profstore.row_ledger.rows IS 'number of rows stored, or, if negative, removed';
