-- Uploads of debug information: chunks in any order, identical files stored once, damage detected, roles kept apart.
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

-- an interrupted upload continues; a chunk that is stored is kept
SELECT id = :id AS same, is_ready, missing FROM profstore.begin_debuginfo('aabbccddaabbccdd', decode(:'digest', 'hex'), 1048577, 'a.debug');
SELECT profstore.put_debuginfo(:id, 1, 'another'), profstore.put_debuginfo(:id, 0, 'one');
SELECT profstore.finish_debuginfo(:id) AS finished, profstore.finish_debuginfo(:id) AS again;
SELECT id = :id AS same, is_ready, missing FROM profstore.begin_debuginfo('aabbccddaabbccdd', decode(:'digest', 'hex'), 1048577, 'a.debug');
SELECT id = :id AS same, bytes, chunks, name FROM profstore.find_debuginfo('aabbccddaabbccdd');
SELECT profstore.read_debuginfo(:id, 0), profstore.read_debuginfo(:id, 1), profstore.read_debuginfo(:id, 2);
SELECT profstore.put_debuginfo(:id, 0, 'three');
SELECT profstore.read_debuginfo(:id, 0);

-- a file whose bytes differ from the announced ones is removed
SELECT id AS damaged FROM profstore.begin_debuginfo('aabbccddaabbccdd', sha256('x'), 3, 'b.debug') \gset
SELECT profstore.put_debuginfo(:damaged, 0, 'y');
SELECT profstore.finish_debuginfo(:damaged);
SELECT count(*) FROM profstore.find_debuginfo('aabbccddaabbccdd');

-- symbols that a client uploads do not replace debug information, and are not requested again
SELECT profstore.debuginfo_state('aabbccddaabbccdd', 'shop', '') AS of_the_role, profstore.debuginfo_state('ccddccddccddccdd', 'shop', '') AS none;
SELECT id AS poor FROM profstore.begin_debuginfo('ccddccddccddccdd', sha256(sha256('x')), 3, 'poor', 'shop', false, 'h1') \gset
SELECT profstore.debuginfo_state('ccddccddccddccdd', 'shop', 'h1') AS unfinished, profstore.put_debuginfo(:poor, 0, 'x'), profstore.finish_debuginfo(:poor);
SELECT profstore.debuginfo_state('ccddccddccddccdd', 'shop', 'h1'), profstore.debuginfo_state('ccddccddccddccdd', 'shop', 'h2') AS other_hash,
	profstore.debuginfo_state('ccddccddccddccdd', 'shop', '') AS no_hash, profstore.debuginfo_state('ccddccddccddccdd', 'toys', 'h1') AS other_tenant;
SELECT id AS rich FROM profstore.begin_debuginfo('ccddccddccddccdd', sha256(sha256('y')), 3, 'rich', 'shop', true, 'h2') \gset
SELECT profstore.put_debuginfo(:rich, 0, 'y'), profstore.finish_debuginfo(:rich);
SELECT id AS poor2 FROM profstore.begin_debuginfo('ccddccddccddccdd', sha256(sha256('z')), 3, 'poor2', 'shop', false) \gset
SELECT profstore.put_debuginfo(:poor2, 0, 'z'), profstore.finish_debuginfo(:poor2);
SELECT id AS own FROM profstore.begin_debuginfo('ccddccddccddccdd', sha256(sha256('o')), 3, 'own') \gset
SELECT profstore.put_debuginfo(:own, 0, 'o'), profstore.finish_debuginfo(:own);
SELECT name FROM profstore.find_debuginfo('ccddccddccddccdd');
SELECT is_ready FROM profstore.begin_debuginfo('ccddccddccddccdd', sha256(sha256('x')), 3, 'of toys', 'toys', false);
SELECT profstore.debuginfo_state('ccddccddccddccdd', 'shop', 'h1'), profstore.debuginfo_state('ccddccddccddccdd', 'toys', '') AS of_the_role;

-- when a tenant's space is full, its oldest uploads are removed for the next one, but never those of other tenants
SELECT count(profstore.begin_debuginfo('ddddddddddddddd' || i, sha256(i::text::bytea), 1 << 30, 'big', 'shop')) FROM generate_series(1, 6) AS i;
SELECT tenant, count(*), array_agg(build_id ORDER BY id) FROM profstore.debuginfo GROUP BY 1 ORDER BY 1;
SELECT count(profstore.remove_debuginfo('ddddddddddddddd' || i)), count(profstore.remove_debuginfo('ccddccddccddccdd')) FROM generate_series(1, 6) AS i;

-- limits
SELECT profstore.begin_debuginfo('../../etc/passwd', sha256('x'), 3, 'c');
SELECT profstore.begin_debuginfo('AABBCCDDAABBCCDD', sha256('x'), 3, 'c');
SELECT profstore.begin_debuginfo('aabbccddaabbccdd', 'x', 3, 'c');
SELECT profstore.begin_debuginfo('aabbccddaabbccdd', sha256('x'), 0, 'c');
SELECT profstore.begin_debuginfo('aabbccddaabbccdd', sha256('x'), 1073741825, 'c');
SELECT count(profstore.begin_debuginfo('aabbccddaabbccdd', sha256(i::text::bytea), 1073741824, 'c')) FROM generate_series(1, 20) AS i;

-- a finished upload notifies symbolizers, which try the build again
SELECT m[1] AS m FROM profstore.intern_mappings('{aabbccddaabbccdd}', '{/bin/a}') AS m \gset
SELECT cardinality(profstore.intern_locations(array[:m], '{16}', '{0}', '{}', '{}'));
SELECT profstore.find_symbol_work();
SELECT build_id FROM profstore.claim_symbol_work('w', 1);
SELECT profstore.settle_symbol_work('aabbccddaabbccdd', 'w', 0, NULL, 'none found');
SELECT next_try > now() AS later FROM profstore.symbol_states WHERE build_id = 'aabbccddaabbccdd';
SELECT profstore.finish_debuginfo(:id);
SELECT next_try > now() AS later FROM profstore.symbol_states WHERE build_id = 'aabbccddaabbccdd';

-- roles cannot change each other's uploads
SET ROLE regress_pfs_up2;
SELECT count(*) FROM profstore.find_debuginfo('aabbccddaabbccdd');
SELECT profstore.read_debuginfo(:id, 0) IS NULL AS nothing, profstore.finish_debuginfo(:id), profstore.remove_debuginfo('aabbccddaabbccdd');
SELECT id = :id AS same, is_ready, missing FROM profstore.begin_debuginfo('aabbccddaabbccdd', decode(:'digest', 'hex'), 1048577, 'a.debug');
SET ROLE regress_pfs_up;
-- a deletion with an old snapshot would miss later chunks
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT profstore.remove_debuginfo('aabbccddaabbccdd', true);
ROLLBACK;
SELECT profstore.remove_debuginfo('aabbccddaabbccdd', true);
RESET ROLE;
SELECT role, state, count(*) FROM profstore.debuginfo GROUP BY 1, 2;
SELECT count(*) FROM profstore.debuginfo_chunks;
DELETE FROM profstore.debuginfo;
DROP OWNED BY regress_pfs_up, regress_pfs_up2;
DROP ROLE regress_pfs_up, regress_pfs_up2;
