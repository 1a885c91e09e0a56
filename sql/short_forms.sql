-- Parts that a caller may omit: of a profile type's name, and the range.
\i sql/fixtures/preamble.sql

-- Samples of the last hour, of the hour before, and of earlier hours; two types begin with "memory".
SELECT profstore.import_folded(format(E'main;%s;main.c 3\nmain;rest 5', f), format('{"__name__": "cpu", "service": "%s"}', s)::jsonb, now() - a)
FROM (VALUES ('now', 'api', interval '20 minutes'), ('before', 'api', interval '80 minutes'), ('early', 'api', interval '5 hours'), ('other', 'web', interval '20 minutes')) AS v(f, s, a);
SELECT profstore.import_folded(E'main;work 7', format('{"__name__": "memory", "service": "%s"}', s)::jsonb, now() - interval '20 minutes', t, 'bytes')
FROM (VALUES ('alloc', 'api'), ('inuse', 'web')) AS v(t, s);
SELECT count(profstore.intern_series(ARRAY[t], '{"{}"}', '{1}')) AS stored
FROM unnest('{heap:a:b:c:d,heap:a:b:c:d:delta,heap:inuse:bytes:space:bytes,heap%:a:b:c:d,cpus:a:b:c:d,CPU:a:b:c:d,wide:a:b:::delta,wide:a:b:c:d:delta}'::text[]) AS t;
-- a profile type without series is not considered
SELECT count(profstore.intern_profile_types('{cpu:empty:b:c:d,heap:inuse:empty:c:d}')) AS stored;

-- one line of a file
SELECT s[1] AS series FROM profstore.intern_series('{cpu:samples:count:::delta}', '{"{\"service\": \"api\"}"}', '{0}') AS s \gset
SELECT profstore.intern_locations('{0}', '{1}', '{1}', profstore.intern_functions('{lined}', '{lined}', '{main.c}', '{10}'), '{11}') AS locations \gset
SELECT (profstore.intern_stacks('tool', '{1}', :'locations'))[1] AS stack \gset
INSERT INTO profstore.samples VALUES (now() - interval '20 minutes', :series, :stack, 2);

-- any part that identifies a type is enough; five parts form a full name
SELECT q AS selector, (SELECT string_agg(DISTINCT profile_type, ' ') FROM profstore.matching_series(q)) AS picked, (SELECT count(*) FROM profstore.series(q)) AS series
FROM unnest(ARRAY['cpu', 'cpu{}', 'cpu{service="api"}', 'last_over_time( cpu {service="api"} )', 'cpu:samples:count', 'cpu:samples:count:', 'cpu:samples:count::', 'cpu:samples:count:::delta',
	'cp', 'CPU', 'cpu:', 'c%', 'heap%', 'heap:inuse', 'heap:inuse:bytes:space', 'heap:a:b:c:d', 'heap:a:b:c:d:delta', 'memory:alloc', 'wide:a:b:', 'wide:a:b::']) WITH ORDINALITY AS u(q, ord) ORDER BY ord;
SELECT profstore.label_values('service', 'cpu'), profstore.label_names('memory:inuse{}');
\set VERBOSITY sqlstate
SELECT * FROM profstore.matching_series('heap:a:b:c{x="y"}');
\set VERBOSITY default
-- an ambiguous name: the candidates do not depend on labels or on the caller
SELECT * FROM profstore.top('memory{service="api"}');
SELECT * FROM profstore.series('max_over_time(heap)');
SELECT * FROM profstore.label_names('heap:a');
SELECT * FROM profstore.label_values('service', 'memory');
SELECT * FROM profstore.top_diff('cpu', base_selector => 'memory');
SELECT count(profstore.intern_series(ARRAY[format('many:t%s:b:c:d', to_char(i, 'FM00'))], '{"{}"}', '{1}')) AS stored FROM generate_series(1, 11) AS i;
SELECT * FROM profstore.flamegraph('many');
-- an unknown name: an empty answer, and a NOTICE with similar types of as many parts
SET client_min_messages = notice;
SELECT level, value, label FROM profstore.flamegraph('cpuu');
SELECT level, value, label FROM profstore.flamegraph('memory:inus{service="api"}');
SELECT level, value, label FROM profstore.flamegraph('nothing_like_it');
SET client_min_messages = warning;
-- both sides of a comparison have the same type, in every spelling
SELECT function, base_self, self FROM profstore.top_diff('cpu', base_selector => 'cpu:samples:count:::delta{service="api"}', absolute => true) ORDER BY 1;
SELECT * FROM profstore.top_diff('cpu', base_selector => 'memory:alloc');

-- Every view of a selection defaults to the last hour, and a comparison to the hour before it as its base. Other arguments are required.
SELECT p.proname FROM pg_proc AS p
WHERE p.pronamespace = 'profstore'::regnamespace AND p.proargnames[1] = 'selector' AND 'to_ts' = ANY (p.proargnames) AND p.pronargs - p.pronargdefaults > 1;
CREATE FUNCTION same(name text, arguments text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	range text := CASE WHEN name ~ '_diff' THEN $x$now() - interval '2 hours', now() - interval '1 hour', $x$ ELSE '' END || $x$now() - interval '1 hour', now()$x$;
	call text := 'SELECT string_agg(r::text, E''\n'') FROM profstore.%s(%L, %s) AS r';
	short text;
	whole text;
BEGIN
	EXECUTE replace(format(call, name, 'cpu{service="api"}', arguments), ', )', ')') INTO short;
	EXECUTE replace(format(call, name, 'cpu:samples:count:::delta{service="api"}', range || ', ' || arguments), ', )', ')') INTO whole;
	RETURN CASE WHEN replace(whole, 'cpu:samples:count:::delta{', 'cpu{') IS DISTINCT FROM replace(short, 'cpu:samples:count:::delta{', 'cpu{') THEN 'other' WHEN short IS NULL THEN 'empty' ELSE 'the same' END;
END
$$;
-- costs consider CPU time only, and anomalies() defaults to the last day
SELECT p.proname, same(p.proname, CASE WHEN 'function' = ANY (p.proargnames[:p.pronargs]) THEN 'function => ''main''' WHEN 'filename' = ANY (p.proargnames) THEN 'filename => ''main.c''' ELSE '' END)
FROM pg_proc AS p WHERE p.pronamespace = 'profstore'::regnamespace AND 'to_ts' = ANY (p.proargnames) AND p.proargnames[1] = 'selector' AND p.proname <> 'series' AND p.proname !~ '^(label|cost_of|anomalies)' ORDER BY 1;
SELECT stack, value FROM profstore.folded('cpu') ORDER BY 1;
SELECT stack, value FROM profstore.folded('cpu', now() - interval '2 hours') ORDER BY 1;
SELECT function, base_self, self FROM profstore.top_diff('cpu{service="api"}', absolute => true) ORDER BY 1;
SELECT * FROM profstore.callers('cpu');
SELECT * FROM profstore.callees('cpu');
SELECT * FROM profstore.sandwich('cpu');
SELECT * FROM profstore.source('cpu');
\set VERBOSITY terse
SELECT * FROM profstore.top('cpu', to_ts => now() - interval '2 hours');
SELECT * FROM profstore.top('cpu', NULL);
\set VERBOSITY default
-- the planner uses the default range for its estimates
SELECT planned_rows('SELECT FROM profstore.folded($$cpu$$)') = planned_rows('SELECT FROM profstore.folded($$cpu$$, now() - interval $$1 hour$$, now())') AS the_same,
	planned_rows('SELECT FROM profstore.folded($$cpu$$)') < planned_rows('SELECT FROM profstore.folded($$cpu$$, $$-infinity$$)') AS fewer;

-- A type whose series are all hidden by row policies makes no name ambiguous, and appears in no error.
CREATE ROLE regress_pfs_short;
SELECT profstore.grant_read('regress_pfs_short');
ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
CREATE POLICY web ON profstore.series TO regress_pfs_short USING (labels ->> 'service' = 'web');
SET ROLE regress_pfs_short;
SELECT stack, value FROM profstore.folded('memory');
SELECT stack, value FROM profstore.folded('memory:alloc');
RESET ROLE;
ALTER POLICY web ON profstore.series USING (labels ? 'service');
SET ROLE regress_pfs_short;
SELECT stack, value FROM profstore.folded('memory');
RESET ROLE;
ALTER TABLE profstore.series DISABLE ROW LEVEL SECURITY;
DROP POLICY web ON profstore.series;
-- without privileges the error equals the one for a full name
REVOKE SELECT ON profstore.profile_types FROM regress_pfs_short;
SET ROLE regress_pfs_short;
SELECT stack, value FROM profstore.folded('cpu');
RESET ROLE;
DROP OWNED BY regress_pfs_short;
DROP ROLE regress_pfs_short;
