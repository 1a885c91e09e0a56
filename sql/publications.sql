-- Logical replication does not carry rows of columnar tables, so every way to publish such a table is refused. Each command that creates a
-- publication runs in a session that has not loaded the module yet.
SELECT current_database() AS name \gset
ALTER DATABASE :"name" SET client_min_messages = error; -- wal_level
SET client_min_messages = error;
CREATE SCHEMA plain;
CREATE SCHEMA mixed;
CREATE TABLE plain.heap (a int4);
CREATE TABLE mixed.columnar (a int4) USING profstore;
CREATE TABLE parent (day date) PARTITION BY RANGE (day);
CREATE TABLE middle PARTITION OF parent FOR VALUES FROM ('2026-01-01') TO ('2027-01-01') PARTITION BY RANGE (day);
CREATE TABLE plain.leaf PARTITION OF middle FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE PUBLICATION heaps FOR TABLE plain.heap;

\c
-- the extension does not exist yet
CREATE PUBLICATION parents FOR TABLE parent;
DROP PUBLICATION parents;
CREATE PUBLICATION schemas FOR TABLES IN SCHEMA plain;
DROP PUBLICATION schemas;
CREATE TABLE leaf PARTITION OF middle FOR VALUES FROM ('2026-02-01') TO ('2026-03-01') USING profstore;
\c
CREATE PUBLICATION x FOR TABLE mixed.columnar;
\c
CREATE PUBLICATION x FOR TABLE parent;
\c
CREATE PUBLICATION x FOR TABLE plain.heap, middle WITH (publish_via_partition_root);
\c
CREATE PUBLICATION x FOR TABLE ONLY profstore.samples;
\c
CREATE PUBLICATION x FOR TABLE profstore.segments;
CREATE PUBLICATION x FOR TABLE profstore.row_ledger;
\c
CREATE PUBLICATION x FOR TABLES IN SCHEMA plain, mixed;
\c
-- a columnar partition whose partitioned table is in another schema
CREATE PUBLICATION x FOR TABLES IN SCHEMA public;
\c
CREATE PUBLICATION x FOR TABLES IN SCHEMA profstore;
\c
CREATE PUBLICATION x FOR ALL TABLES;
\c
ALTER PUBLICATION heaps ADD TABLE parent;
\c
ALTER PUBLICATION heaps SET TABLE parent;
\c
ALTER PUBLICATION heaps ADD TABLES IN SCHEMA mixed;
\c
ALTER PUBLICATION heaps SET TABLES IN SCHEMA mixed;
\c
-- publications without columnar tables are not affected
ALTER PUBLICATION heaps ADD TABLES IN SCHEMA plain;
SELECT * FROM pg_publication_tables ORDER BY 1, 2, 3;
SELECT pubname FROM pg_publication ORDER BY 1;

-- tables that join a publication later: created in its schema, moved into it, given another access method, attached as partitions
\c
CREATE TABLE plain.t (a int4) USING profstore;
\c
ALTER TABLE mixed.columnar SET SCHEMA plain;
\c
ALTER TABLE middle SET SCHEMA plain;
\c
ALTER TABLE plain.heap SET ACCESS METHOD profstore;
\c
CREATE TABLE plain.new USING profstore AS SELECT 1 AS a;
CREATE TABLE published (day date) PARTITION BY RANGE (day);
CREATE TABLE between_ PARTITION OF published FOR VALUES FROM ('2026-01-01') TO ('2027-01-01') PARTITION BY RANGE (day);
CREATE PUBLICATION parents FOR TABLE published;
\c
CREATE TABLE p1 PARTITION OF between_ FOR VALUES FROM ('2026-01-01') TO ('2026-02-01') USING profstore;
CREATE TABLE p1 (day date) USING profstore;
\c
ALTER TABLE between_ ATTACH PARTITION p1 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE parts (day date) PARTITION BY RANGE (day);
ALTER TABLE parts ATTACH PARTITION p1 FOR VALUES FROM ('2027-01-01') TO ('2027-02-01');
\c
ALTER TABLE published ATTACH PARTITION parts FOR VALUES FROM ('2027-01-01') TO ('2028-01-01');
CREATE TABLE p2 PARTITION OF between_ FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
\c
ALTER TABLE p2 SET ACCESS METHOD profstore;
-- with plain inheritance, a published parent does not publish its children
CREATE TABLE heap_parent (a int4);
CREATE PUBLICATION inherited FOR TABLE heap_parent;
CREATE TABLE child () INHERITS (heap_parent) USING profstore;
SELECT * FROM pg_publication_tables WHERE pubname = 'inherited';

-- publications older than the extension: CREATE EXTENSION warns that they would contain its tables
CREATE DATABASE regress_pfs_published;
\c regress_pfs_published
CREATE SCHEMA profstore;
SET client_min_messages = error;
CREATE PUBLICATION everything FOR ALL TABLES;
CREATE PUBLICATION schemas FOR TABLES IN SCHEMA profstore;
RESET client_min_messages;
CREATE EXTENSION profstore;
SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-01Z');
CREATE TABLE t (a int4) USING profstore;
VACUUM FULL t;
INSERT INTO profstore.samples VALUES ('2026-01-01 01:00Z', 1, 0, 1);
SELECT count(*) FROM profstore.samples;

\c postgres
DROP DATABASE regress_pfs_published;
