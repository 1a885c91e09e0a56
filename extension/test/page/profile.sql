-- A page to test: psql -v fixtures=DIR -v page=FILE -f profile.sql
-- Names that HTML and JavaScript could trip over are in it; the hottest function is "hottest".

\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION profstore;
\i :fixtures/profiles.sql

SELECT put_scrape('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '{"node": "web-1"}', '2026-01-01 10:00Z', $$
{
	"_start;main;serve;hottest": 4000000000,
	"_start;main;serve;hottest;memcpy": 1000000000,
	"_start;main;serve;parse;hottest": 1500000000,
	"_start;main;serve;parse": 700000000,
	"_start;main;std::vector<std::pair<int, char const*> >::push_back(std::pair<int, char const*>&&)": 900000000,
	"_start;main;</script><script>alert(1)</script>": 300000000,
	"_start;main;constructor;__proto__;toString": 400000000,
	"_start;main;recurse;recurse;recurse": 600000000,
	"do_syscall_64;vfs_read": 800000000
}
$$);

\pset tuples_only on
\pset format unaligned
SELECT profstore.flamegraph_html('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="web-1"}',
	'2026-01-01 10:00Z', '2026-01-01 11:00Z')
\g :page
