-- Selectors: their meaning, and the position that an error gives.

SELECT * FROM profstore.parse_selector('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta');
SELECT * FROM profstore.parse_selector('  memory:alloc_space:bytes:space:bytes { } ');
SELECT * FROM profstore.parse_selector('t:a:b:c:d{service="web",node!="a",pod=~"x.*",zone!~"eu|us",}');
SELECT * FROM profstore.parse_selector(E't:a:b:c:d {\n\tservice = "web" ,\n\tnode != ''a''\n}');
SELECT * FROM profstore.parse_selector('{service="web"}');
SELECT * FROM profstore.parse_selector('{}');
SELECT * FROM profstore.parse_selector('t{a="1",a!="2"}');
SELECT * FROM profstore.parse_selector(NULL);

-- quotes and escapes
SELECT "values" FROM profstore.parse_selector($$t{a="it's", b='say "hi"', c=`no \n escape`, d="line\nbreak", e="tab\there", f="\\ \" \'"}$$);
SELECT "values" FROM profstore.parse_selector($$t{a="\x41\101\u00e9\U0001F525", b="\xc3\xa9", c="", d="a,b}{=~"}$$);

-- regular expressions match the whole value; their flags keep working
SELECT "values" FROM profstore.parse_selector('t{a=~"web", b=~"", c!~"a|b", d=~"(?i)WEB", e=~"(?:a)b"}');

-- invalid selectors
DO $$
DECLARE
	s text;
	code text;
	message text;
	detail text;
	hint text;
BEGIN
	FOREACH s IN ARRAY ARRAY['', '   ', 't{', 't{a', 't{a=', 't{a="1', 't{a="1"', 't{a="1"}}', 't{a="1"} x', 't a', '"t"', '{a="1" b="2"}', 't{,}', 't{a="1",,}',
		't{1a="x"}', 't{a-b="x"}', 't{"a"="x"}', 't{a==“x”}', 't{a>"1"}', 't{a=x}', 't{a=~x}', 't{a="\q"}', 't{a="\x4"}', 't{a="\400"}', 't{a="\x00"}', 't{a="\ud800"}',
		't{a="\xff"}', 't{a="\u12"}', E't{a="1\n"}', 't{a=~"("}', 't{a=~"x)|(y"}', 't{a!~"*"}', 't{a=~"[z-a]"}', 't{a=~"***=x"}', 't{a=~"(?q)a.b"}', 't{a=~"(?ix)a # b"}', 't{a!~"(?n)x"}', E't{\n\ta="1",\n\tb:"2"\n}', 't{número="é", zwei="ü" drei}',
		't{' || repeat('label="a long value", ', 10) || 'bad}'] LOOP
		BEGIN
			PERFORM profstore.parse_selector(s);
			RAISE EXCEPTION 'selector % was taken', s;
		EXCEPTION WHEN syntax_error OR invalid_regular_expression THEN
			GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
			RAISE INFO E'% %\n%', code, message, detail;
		END;
	END LOOP;
	RAISE INFO '%', hint;
END
$$;
SELECT profstore.parse_selector('t{a=~"("}');
SELECT profstore.parse_selector('t{a="1"');

-- matching: a missing label counts as an empty value, as in PromQL
SELECT profstore.intern_series(array_fill('t:a:b:c:d'::text, ARRAY[4]),
	ARRAY['{"service": "web", "node": "a"}', '{"service": "web2", "node": "b"}', '{"service": "db"}', '{}']::jsonb[],
	ARRAY[1, 1, 1, 1]) IS NOT NULL AS interned;
SELECT profstore.intern_series('{t:a:b:c:d:delta}', ARRAY['{"service": "web"}']::jsonb[], '{1}') IS NOT NULL AS interned;
SELECT q AS selector, (SELECT string_agg(labels::text, ' ' ORDER BY labels::text COLLATE "C") FROM profstore.matching_series(q)) AS picked
FROM unnest(ARRAY['t:a:b:c:d', 't:a:b:c:d:delta', 't:a:b:c:', 't:a:b:c:d{service="web"}', 't:a:b:c:d{service!="web"}', 't:a:b:c:d{node=""}', 't:a:b:c:d{node!=""}',
	't:a:b:c:d{service=~"web"}', 't:a:b:c:d{service=~"web.*"}', 't:a:b:c:d{service!~"web.*"}', 't:a:b:c:d{node=~"a|"}', 't:a:b:c:d{node=~".+"}', 't:a:b:c:d{node!~".+"}',
	't:a:b:c:d{service=~"WEB"}', 't:a:b:c:d{service=~"(?i)WEB"}', 't:a:b:c:d{service="web",node="a"}', 't:a:b:c:d{service="web",node="b"}', 't:a:b:c:d{absent="x"}',
	't:a:b:c:d{absent!="x"}', 't:a:b:c:d{service="web",service="db"}', 't:a:b:c:d{service="db",service=""}', 't:a:b:c:d{service="",node=""}',
	't:a:b:c:d{service="web",node=~"a|b"}', 't:a:b:c:d{service="web",node!="a"}', '{service="web"}', '{}']) WITH ORDINALITY AS u(q, ord)
ORDER BY ord;

-- among many series, the index finds those with a label's value, whatever other matchers there are
SELECT count(*) AS interned FROM unnest(profstore.intern_series(array_fill('many:a:b:c:d'::text, ARRAY[5000]),
	ARRAY(SELECT jsonb_build_object('pod', 'p' || i, 'node', 'n' || i % 100) FROM generate_series(1, 5000) AS i), array_fill(1::int8, ARRAY[5000])));
VACUUM ANALYZE profstore.series;
CREATE FUNCTION scans(selector text, OUT by_index bool, OUT whole bool) LANGUAGE plpgsql AS
$$
DECLARE
	line text;
BEGIN
	by_index := false;
	whole := false;
	FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT FROM profstore.matching_series(%L)', selector) LOOP
		by_index := by_index OR line ~ 'Scan on series_labels .*rows';
		whole := whole OR line ~ 'Seq Scan on series .*rows';
	END LOOP;
END
$$;
SELECT q AS selector, s.*, (SELECT count(*) FROM profstore.matching_series(q)) AS picked
FROM unnest(ARRAY['many:a:b:c:d{pod="p77"}', '{pod="p77"}', 'many:a:b:c:d{node="n7"}', 'many:a:b:c:d{node="n7",pod=~"p7.*"}', 'many:a:b:c:d{node="n7",pod!="p7"}',
	'many:a:b:c:d{node="n7",pod=""}', 'many:a:b:c:d{pod="none"}', 'many:a:b:c:d{pod=""}', 'many:a:b:c:d{pod=~"p77"}', 'many:a:b:c:d']) WITH ORDINALITY AS u(q, ord), scans(q) AS s
ORDER BY ord;
DELETE FROM profstore.series WHERE labels ? 'pod';

-- selectors made from labels
SELECT profstore.selector('a:b:c:d:e'), profstore.selector(NULL, '{"x": "1"}');
SELECT profstore.selector('t', '{"x": "a\\b\"c\nd", "y": ["web", "a.b|c", "é"], "any": null, "one": [null], "none": []}');
SELECT p.labels, p.operators, p."values"
FROM profstore.parse_selector(profstore.selector('t', '{"x": "a\\b\"c\nd", "y": ["we\\b", "a.b|c", "\"é\n"]}')) p;
SELECT v, v ~ (p."values")[1] AS matches
FROM profstore.parse_selector(profstore.selector('t', '{"y": ["a.b|c", "(?i)*[x]\\", "new\nline"]}')) p,
	unnest(ARRAY['a.b|c', 'axb|c', 'a.b', '(?i)*[x]\', '(?I)*[x]\', E'new\nline', 'newline']) v;

-- long ones: each matcher needs memory, so the length of selectors, filters and grouping labels is limited
SELECT cardinality(labels) FROM profstore.parse_selector('t{a="b"' || repeat(',a="b"', 170000) || '}');
SELECT cardinality(labels) FROM profstore.parse_selector('t{a="b"' || repeat(',a="b"', 175000) || '}');
SELECT count(*) FROM profstore.folded('t:a:b:c:d', focus => repeat('x', 1048577));
SELECT count(*) FROM profstore.folded('t:a:b:c:d', hide => '{file="' || repeat('x', 1048577) || '"}');
SELECT count(*) FROM profstore.timeseries('t:a:b:c:d', by => array_fill('node'::text, ARRAY[1001]));
