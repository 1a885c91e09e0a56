-- A read-only transaction stores nothing, whatever function it calls.
SELECT profstore.intern_functions('{f}', '{f}', '{f.c}', '{1}') AS functions, profstore.intern_mappings('{a}', '{b}') AS mappings;
SELECT profstore.intern_locations('{0}', '{16}', '{0}', '{}', '{}') AS locations;
-- reserves node numbers for this session, so that the next call does not need the sequence
SELECT cardinality(profstore.intern_stacks('x', '{1}', '{1}')) AS stacks;
CREATE TABLE t (a int4) USING profstore;
BEGIN READ ONLY;
SELECT cardinality(profstore.intern_stacks('x', '{1}', '{1}')) AS known;
SELECT profstore.intern_stacks('x', '{2}', '{1,1}');
ROLLBACK;
BEGIN READ ONLY;
SELECT profstore.intern_functions('{g}', '{g}', '{f.c}', '{1}');
ROLLBACK;
BEGIN READ ONLY;
SELECT profstore.intern_mappings('{b}', '{b}');
ROLLBACK;
BEGIN READ ONLY;
INSERT INTO t VALUES (1);
ROLLBACK;
BEGIN READ ONLY;
SELECT profstore.ensure_partitions('2026-03-01Z', '2026-03-01Z');
ROLLBACK;
BEGIN READ ONLY;
SELECT profstore.bump_epoch();
ROLLBACK;
SELECT count(*) FROM profstore.stacks;
SELECT cardinality(profstore.intern_stacks('x', '{2}', '{1,1}')) AS stacks;
