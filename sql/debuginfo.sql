-- Uploads of debug information: chunks in any order, equal content once, damage found, roles apart.
CREATE ROLE regress_pfs_up;
CREATE ROLE regress_pfs_up2;
SELECT profstore.grant_write('regress_pfs_up'), profstore.grant_write('regress_pfs_up2');
SELECT encode(sha256(sha256('one') || sha256('two')), 'hex') AS digest \gset
\set VERBOSITY terse
SET ROLE regress_pfs_up;
SELECT id AS id, is_ready, missing FROM profstore.begin_debuginfo('aabbccddaabbccdd', decode(:'digest', 'hex'), 1048577, 'a.debug') \gset
SELECT :'is_ready' AS is_ready, :'missing' AS missing;
SELECT profstore.put_debuginfo(:id, 1, 'two'), profstore.put_debuginfo(:id, 2, 'none'), profstore.put_debuginfo(:id, -1, 'none');
SELECT profstore.finish_debuginfo(:id) AS finished;
SELECT * FROM profstore.find_debuginfo('aabbccddaabbccdd');

-- it goes on where it broke off; a chunk that is there stays
SELECT id = :id AS same, is_ready, missing FROM profstore.begin_debuginfo('aabbccddaabbccdd', decode(:'digest', 'hex'), 1048577, 'a.debug');
SELECT profstore.put_debuginfo(:id, 1, 'another'), profstore.put_debuginfo(:id, 0, 'one');
SELECT profstore.finish_debuginfo(:id) AS finished, profstore.finish_debuginfo(:id) AS again;
SELECT id = :id AS same, is_ready, missing FROM profstore.begin_debuginfo('aabbccddaabbccdd', decode(:'digest', 'hex'), 1048577, 'a.debug');
SELECT id = :id AS same, bytes, chunks, name FROM profstore.find_debuginfo('aabbccddaabbccdd');
SELECT profstore.read_debuginfo(:id, 0), profstore.read_debuginfo(:id, 1), profstore.read_debuginfo(:id, 2);
SELECT profstore.put_debuginfo(:id, 0, 'three');
SELECT profstore.read_debuginfo(:id, 0);

-- what is not as announced is removed
SELECT id AS damaged FROM profstore.begin_debuginfo('aabbccddaabbccdd', sha256('x'), 3, 'b.debug') \gset
SELECT profstore.put_debuginfo(:damaged, 0, 'y');
SELECT profstore.finish_debuginfo(:damaged);
SELECT count(*) FROM profstore.find_debuginfo('aabbccddaabbccdd');

-- bounds
SELECT profstore.begin_debuginfo('../../etc/passwd', sha256('x'), 3, 'c');
SELECT profstore.begin_debuginfo('AABBCCDDAABBCCDD', sha256('x'), 3, 'c');
SELECT profstore.begin_debuginfo('aabbccddaabbccdd', 'x', 3, 'c');
SELECT profstore.begin_debuginfo('aabbccddaabbccdd', sha256('x'), 0, 'c');
SELECT profstore.begin_debuginfo('aabbccddaabbccdd', sha256('x'), 1073741825, 'c');
SELECT count(profstore.begin_debuginfo('aabbccddaabbccdd', sha256(i::text::bytea), 1073741824, 'c')) FROM generate_series(1, 20) AS i;

-- a finished upload wakes symbolizers, and tries the build again
SELECT m[1] AS m FROM profstore.intern_mappings('{aabbccddaabbccdd}', '{/bin/a}') AS m \gset
SELECT cardinality(profstore.intern_locations(array[:m], '{16}', '{0}', '{}', '{}'));
SELECT profstore.find_symbol_work();
SELECT build_id FROM profstore.claim_symbol_work('w', 1);
SELECT profstore.settle_symbol_work('aabbccddaabbccdd', 'w', 0, NULL, 'none found');
SELECT next_try > now() AS later FROM profstore.symbol_states WHERE build_id = 'aabbccddaabbccdd';
SELECT profstore.finish_debuginfo(:id);
SELECT next_try > now() AS later FROM profstore.symbol_states WHERE build_id = 'aabbccddaabbccdd';

-- roles are apart
SET ROLE regress_pfs_up2;
SELECT count(*) FROM profstore.find_debuginfo('aabbccddaabbccdd');
SELECT profstore.read_debuginfo(:id, 0) IS NULL AS nothing, profstore.finish_debuginfo(:id), profstore.remove_debuginfo('aabbccddaabbccdd');
SELECT id = :id AS same, is_ready, missing FROM profstore.begin_debuginfo('aabbccddaabbccdd', decode(:'digest', 'hex'), 1048577, 'a.debug');
SET ROLE regress_pfs_up;
SELECT profstore.remove_debuginfo('aabbccddaabbccdd', true);
RESET ROLE;
SELECT role, state, count(*) FROM profstore.debuginfo GROUP BY 1, 2;
SELECT count(*) FROM profstore.debuginfo_chunks;
DELETE FROM profstore.debuginfo;
DROP OWNED BY regress_pfs_up, regress_pfs_up2;
DROP ROLE regress_pfs_up, regress_pfs_up2;
