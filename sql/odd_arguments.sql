-- Unusual arguments: each gives an error or a defined result, and no server crashes. 009_odd_arguments.pl tests more of them.
SET timezone = 'UTC';

-- arguments of type "any" accept a value of every type
SELECT profstore_internal.begin_interning('x', NULL);
SELECT profstore_internal.begin_interning('x', 1, 'a'::text);
SELECT profstore_internal.begin_interning('x', '{1}'::int4[], NULL::int4[]);
SELECT profstore_internal.begin_interning('x', VARIADIC NULL::int4[]);
SELECT profstore_internal.begin_interning(NULL, '{1}'::int4[]);
SELECT profstore_internal.begin_interning('x', '{1,2}'::int4[], '{a}'::text[]);
SELECT profstore_internal.begin_interning('x', '{1,2}'::int4[], '{a,b}'::text[], '{NULL}'::int8[]);
SELECT profstore_internal.begin_interning('x', '{1,2}'::int4[], '1 2'::oidvector);
SELECT profstore_internal.begin_interning('x', VARIADIC '{{1,2}}'::int4[]);
-- a table that does not exist has no references
SELECT length(partitions) > 0 AS looked FROM profstore_internal.referenced_by_tables('{999999999}', '{stack_id}');
