-- Extremely long names are shortened when they are stored, so the text of a stack stays below the server's limit for a value.
\pset tuples_only on
CREATE TABLE long_ids AS
SELECT profstore.intern_functions(ARRAY[repeat('x', 20000000), repeat('x', 19999999) || 'y', repeat('é', 8192), repeat('z', 16384)],
	array_fill(repeat('s', 16385), ARRAY[4]), array_fill(''::text, ARRAY[4]), '{0,0,0,0}') AS functions;
SELECT left(f.name, 1) AS letter, octet_length(f.name), right(f.name, 19) ~ '^\.\.\.[0-9a-f]{16}$' AS shortened, octet_length(f.system_name)
FROM long_ids, unnest(functions) WITH ORDINALITY AS i(id, ord) JOIN profstore.functions f USING (id) ORDER BY ord;
SELECT count(DISTINCT id) FROM long_ids, unnest(functions) AS id;
-- equal names get equal ids
SELECT functions[1:1] = profstore.intern_functions(ARRAY[repeat('x', 20000000)], ARRAY[repeat('s', 16385)], '{""}', '{0}') FROM long_ids;
SELECT (profstore.intern_mappings(ARRAY[repeat('b', 100000)], ARRAY[repeat('f', 100000)]))[1] AS mapping \gset
SELECT octet_length(build_id), octet_length(file) FROM profstore.mappings WHERE id = :mapping;
SELECT profstore.intern_stacks(repeat('p', 100000), '{0}', '{}');
SELECT profstore.intern_series('{folded:samples:count:::delta}', ARRAY[jsonb_build_object('service', repeat('v', 65536))], '{0}');
-- the deepest stack of the longest name, and a stack with one frame less
CREATE TABLE long_locations AS
SELECT (profstore.intern_locations('{0,0}', '{0,0}', '{1,1}', functions[4] || profstore.intern_functions('{leaf}', '{""}', '{""}', '{0}'), '{0,0}')) AS ids
FROM long_ids;
SELECT profstore.ensure_partitions(now(), now());
INSERT INTO profstore.samples
SELECT now() - interval '1 min', (profstore.intern_series('{folded:samples:count:::delta}', '{"{\"service\": \"long\"}"}', '{0}'))[1], stack, 1
FROM long_locations, unnest(profstore.intern_stacks('long', '{3,65537,1025}',
	ids[2] || array_fill(ids[1], ARRAY[2]) || ids[2] || array_fill(ids[1], ARRAY[65536]) || ids[2] || array_fill(ids[1], ARRAY[1024]))) AS stack;
SELECT octet_length(stack), replace(stack, repeat('z', 16384), 'Z') ~ '^(Z;)+(\[frames cut\];)?leaf$', stack ~ 'frames cut', value
FROM profstore.folded('folded:samples{service="long"}') ORDER BY octet_length(stack);
SELECT cardinality(stack), stack[cardinality(stack) - 1] = '[frames cut]', stack[cardinality(stack)], value
FROM profstore.stacks_of('folded:samples{service="long"}') ORDER BY cardinality(stack);
DROP TABLE long_ids, long_locations;
