-- Later symbolization: builds with unsymbolized addresses are counted, claimed once, answered, retried, and reset.
CREATE ROLE regress_pfs_later;
CREATE ROLE regress_pfs_other;
SELECT profstore.grant_write('regress_pfs_later'), profstore.grant_write('regress_pfs_other');
GRANT SELECT ON profstore.locations, profstore.functions TO regress_pfs_later;
SET ROLE regress_pfs_other;
SELECT (profstore.intern_mappings('{aa}', '{/bin/a}'))[1] AS foreign_mapping \gset
SELECT cardinality(profstore.intern_locations(array[:foreign_mapping], '{16}', '{0}', '{}', '{}'));
SET ROLE regress_pfs_later;
SELECT m[1] AS a, m[2] AS a2, m[3] AS b, m[4] AS nameless FROM profstore.intern_mappings('{aa,aa,bb,""}', '{/bin/a,/opt/a,/bin/b,/tmp/c}') AS m \gset
SELECT (profstore.intern_functions('{sym,inl}', '{sym,inl}', '{"",a.c}', '{0,3}')) AS f \gset
SELECT (:'f'::int4[])[1] AS sym, (:'f'::int4[])[2] AS inl \gset

-- no answer, a symbol, lines; a mapping without a build ID is never claimed
SELECT cardinality(profstore.intern_locations(array[:a, :a, :a, :a2, :b, :nameless], '{16,32,48,16,16,16}', '{0,1,1,0,0,0}', array[:sym, :inl], '{0,7}'));
SELECT profstore.find_symbol_work();
SELECT build_id, files, state, open, answered, source, error FROM profstore.symbol_states ORDER BY build_id;

-- each build has at most one worker at a time
SELECT * FROM profstore.claim_symbol_work('w1', 1);
SELECT * FROM profstore.claim_symbol_work('w2', 10);
SELECT * FROM profstore.claim_symbol_work('w2', 10);
SELECT build_id, state FROM profstore.symbol_states ORDER BY build_id;
SELECT mapping = :a2 AS in_a2, address, is_named FROM profstore.open_addresses('aa') ORDER BY address, 1;

-- a better answer keeps the id; a build that failed is tried again later
SELECT (profstore.intern_locations(array[:a], '{16}', '{0}', '{}', '{}'))[1] AS before \gset
SELECT (profstore.intern_locations(array[:a, :a, :a2], '{16,32,16}', '{2,1,1}', array[:inl, :sym, :inl, :inl], '{4,5,6,7}'))[1] = :before AS same;
SELECT profstore.settle_symbol_work('aa', 'w2', 3, '/usr/lib/debug', NULL) AS of_another, profstore.settle_symbol_work('aa', 'w1', 3, '/usr/lib/debug', NULL) AS settled;
SELECT profstore.settle_symbol_work('bb', 'w2', 0, NULL, 'no debug information found');
SELECT build_id, state, open, answered, source, error, next_try > now() + interval '100 s' AS later, tried IS NOT NULL AS tried FROM profstore.symbol_states ORDER BY build_id;
SELECT * FROM profstore.claim_symbol_work('w3', 10);
SELECT address, function_ids = array[:inl, :sym] AS inlined, lines FROM profstore.locations WHERE mapping = :a ORDER BY address;

-- new debug information makes a build claimable at once; so does a lease that ended
SELECT profstore.want_symbols('bb'), profstore.want_symbols('aa'), profstore.want_symbols('zz');
SELECT * FROM profstore.claim_symbol_work('w3', 10, '-1 s');
SELECT * FROM profstore.claim_symbol_work('w4', 10);
SELECT profstore.settle_symbol_work('bb', 'w3', 1, 'a file', NULL) AS too_late, profstore.settle_symbol_work('bb', 'w4', 0, NULL, 'no debug information found') AS settled;

-- new addresses are claimable at once if debug information of their build is known, and wait otherwise
SELECT cardinality(profstore.intern_locations(array[:a, :b], '{64,64}', '{0,0}', '{}', '{}'));
SELECT profstore.find_symbol_work();
SELECT build_id, open, next_try <= now() AS at_once FROM profstore.symbol_states ORDER BY build_id;

-- wrong answers are reset; the next answer replaces them and adds no second location
SELECT profstore.forget_answers('aa', 'built from other sources'), profstore.forget_answers('', 'nobody');
SELECT address, function_ids, lines, symbolization FROM profstore.locations WHERE mapping = :a ORDER BY address;
SELECT build_id, state, open, error FROM profstore.symbol_states WHERE build_id = 'aa';
SELECT (profstore.intern_locations(array[:a], '{16}', '{1}', array[:sym], '{99}'))[1] = :before AS same;
SELECT count(*) FROM profstore.locations WHERE mapping = :a AND address = 16;

-- a count of open addresses that is too high is corrected by a claim that finds none
SELECT m[1] AS c FROM profstore.intern_mappings('{cc}', '{/bin/c}') AS m \gset
SELECT cardinality(profstore.intern_locations(array[:c], '{16}', '{0}', '{}', '{}'));
SELECT profstore.find_symbol_work() > 0;
SELECT cardinality(profstore.intern_locations(array[:c], '{16}', '{1}', array[:sym], '{5}'));
SELECT build_id FROM profstore.claim_symbol_work('w6', 10) WHERE build_id = 'cc';
SELECT count(*) FROM profstore.open_addresses('cc');
SELECT profstore.settle_symbol_work('cc', 'w6', 0, '/usr/lib/debug', NULL);
SELECT build_id, state, open FROM profstore.symbol_states WHERE build_id = 'cc';
SELECT build_id FROM profstore.claim_symbol_work('w6', 10) WHERE build_id = 'cc';
RESET ROLE;

-- packed locations can be claimed explicitly
SELECT profstore.compact_dictionary() >= 0;
SET ROLE regress_pfs_later;
SELECT profstore.find_symbol_work(true);
SELECT build_id, open FROM profstore.symbol_states ORDER BY build_id;
SELECT profstore.forget_answers('aa', 'again');
SELECT count(*) FROM profstore.open_addresses('aa');

-- a reset without answers does not lock the epoch's row, for which writers wait
RESET ROLE;
SELECT names AS names_before FROM profstore.epoch \gset
SET ROLE regress_pfs_later;
SELECT profstore.forget_answers('zz', 'nobody has it');
RESET ROLE;
SELECT names - :names_before AS bumped FROM profstore.epoch;

-- a writer with a selector cannot take that lock
CREATE ROLE regress_pfs_bound;
SELECT profstore.grant_write('regress_pfs_bound', '{team="a"}');
SET ROLE regress_pfs_bound;
SELECT profstore.forget_answers('aa', 'mine alone');
RESET ROLE;
DROP OWNED BY regress_pfs_bound;
DELETE FROM profstore.bound_writers WHERE role = 'regress_pfs_bound';
DROP ROLE regress_pfs_bound;

-- roles cannot answer for each other
SET ROLE regress_pfs_other;
SELECT * FROM profstore.symbol_states;
SELECT profstore.find_symbol_work();
SELECT build_id, role, open FROM profstore.symbol_states;
SELECT * FROM profstore.claim_symbol_work('w5', 10);
SELECT profstore.forget_answers('bb', 'not mine');
RESET ROLE;
SELECT build_id, role, open FROM profstore.symbol_states ORDER BY build_id, role;
DROP OWNED BY regress_pfs_later, regress_pfs_other;
DROP ROLE regress_pfs_later, regress_pfs_other;
