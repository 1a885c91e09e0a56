-- flamegraph_html(): one page without external files. extension/test/page opens such a page in a browser.
\i sql/fixtures/preamble.sql
RESET client_min_messages;

-- the data in a page
CREATE FUNCTION page_data(page text) RETURNS jsonb LANGUAGE sql AS
$$
SELECT substring(page FROM '<script type="application/json" id="profile">(.*?)</script>')::jsonb
$$;

-- a page without samples is valid as well
SELECT page_data(profstore.flamegraph_html(:'cpu', '2026-01-01', '2026-01-02'));

SELECT put_scrape(:'cpu', '{"node": "a"}', '2026-01-01 10:00Z', '{"main;foo;bar": 50, "main;foo": 30, "main;baz;bar": 20, "": 2}');
SELECT put_scrape(:'cpu', '{"node": "b"}', '2026-01-01 10:00Z', jsonb_build_object('</script><script>alert(1)</script>;"x"\', 1, '<!-- --><b>&amp;', 2));
SELECT jsonb_pretty(page_data(profstore.flamegraph_html(:'cpu' || '{node="a"}', '2026-01-01', '2026-01-02')));
SELECT page_data(profstore.flamegraph_html(:'cpu' || '{node="a"}', '2026-01-01', '2026-01-02', max_nodes => 3, inverted => true,
	hide => 'baz', focus => 'b', title => 'Title </script>'));
SELECT page -> 'tree' -> 'children' AS children, page -> 'texts' AS texts FROM page_data(profstore.flamegraph_html(:'cpu' || '{node="b"}', '-infinity', 'infinity')) AS page;

-- the page loads nothing, and its data cannot close the script element
SELECT page ~ '^<!doctype html>' AS html, page !~* '(src|href)\s*=' AS no_links, page ~ 'Content-Security-Policy.*default-src ''none''' AS closed, page !~ '[^[:ascii:]]' AS plain,
	(length(page) - length(replace(page, '</script', ''))) / 8 AS script_ends, length(page) BETWEEN 50000 AND 200000 AS size
FROM profstore.flamegraph_html(:'cpu', '2026-01-01', '2026-01-02') AS page;

-- two selections in one page: "value" is that of the later side; by rate unless absolute
SELECT put_scrape(:'cpu', '{"node": "a"}', '2026-01-03 10:00Z', '{"main;foo;bar": 80, "main;new": 7}');
SELECT page_data(profstore.flamegraph_diff_html(:'cpu' || '{node="a"}', '2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04'));
SELECT page_data(profstore.flamegraph_diff_html(:'cpu' || '{node="a"}', '2026-01-01', '2026-01-02', '2026-01-03', '2026-01-05', absolute => true, max_nodes => 3,
	base_selector => :'cpu' || '{node=~"a|b"}', hide => 'baz', title => 'Title </script>')) - 'selector';

-- with values of a label as first frames, as in flamegraph()
SELECT (SELECT jsonb_agg(page -> 'texts' -> (child ->> 'name')::int) FROM jsonb_array_elements(page -> 'tree' -> 'children') AS child) AS html,
	(SELECT jsonb_agg(label ORDER BY ord) FROM profstore.flamegraph(:'cpu', '2026-01-01', '2026-01-02', by => '{node}') WHERE level = 1) AS flamegraph
FROM page_data(profstore.flamegraph_html(:'cpu', '2026-01-01', '2026-01-02', by => '{node}')) AS page;
