-- Arguments that nobody means to pass: each is an error, or what it says, and no server dies of it. 009_odd_arguments.pl looks for more.
SET timezone = 'UTC';

-- whoever calls what takes anything may pass anything
SELECT profstore_internal.begin_interning('x', NULL);
SELECT profstore_internal.begin_interning('x', 1, 'a'::text);
SELECT profstore_internal.begin_interning('x', '{1}'::int4[], NULL::int4[]);
SELECT profstore_internal.begin_interning('x', VARIADIC NULL::int4[]);
SELECT profstore_internal.begin_interning(NULL, '{1}'::int4[]);
SELECT profstore_internal.begin_interning('x', '{1,2}'::int4[], '{a}'::text[]);
SELECT profstore_internal.begin_interning('x', '{1,2}'::int4[], '{a,b}'::text[], '{NULL}'::int8[]);
SELECT profstore_internal.begin_interning('x', '{1,2}'::int4[], '1 2'::oidvector);
SELECT profstore_internal.begin_interning('x', VARIADIC '{{1,2}}'::int4[]);
-- a table that is not there refers to nothing
SELECT length(partitions) > 0 AS looked FROM profstore_internal.referenced_by_tables('{999999999}', '{stack_id}');
