# pg_upgrade keeps the files of tables and of the segment directory, and the counters that number both; with copies and with
# links. With PROFSTORE_OLD_INSTALL=/usr/lib/postgresql/15, the old server is that installation, with its own build of the extension.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $old_install = $ENV{PROFSTORE_OLD_INSTALL};
my $old = PostgreSQL::Test::Cluster->new('old', defined $old_install ? (install_path => $old_install) : ());
$old->init;
$old->append_conf('postgresql.conf', "autovacuum = off\n");    # whose lock would keep compaction away
$old->start;
$old->safe_psql('postgres', q(
	CREATE EXTENSION profstore;
	CREATE TABLE t (time timestamptz, series_id int4, stack_id int8, value int8, b bool) USING profstore;
	INSERT INTO t
	SELECT '2026-01-01Z'::timestamptz + g * interval '1 s', g % 7, g % 100, nullif(g % 10, 3), g % 2 = 0
	FROM generate_series(1, 30000) g;
	ALTER TABLE t ADD COLUMN added int4 DEFAULT 17;
	ALTER TABLE t DROP COLUMN b;
	INSERT INTO t VALUES (NULL, 1, 2, 3, 4);
	CREATE TABLE p (a int4, CHECK (a >= 0)) PARTITION BY RANGE (a);
	CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10) USING profstore;
	CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20);
	INSERT INTO p SELECT generate_series(0, 19);
	CREATE MATERIALIZED VIEW mv USING profstore AS SELECT count(*) AS n FROM t;
	SELECT profstore.intern_series(array_fill('cpu:cpu:nanoseconds:cpu:nanoseconds:delta'::text, ARRAY[2]),
		ARRAY['{"node": "a"}', '{"node": "b"}']::jsonb[], '{1, 1}');
	SELECT profstore.intern_functions(n, n, f, l) FROM (SELECT ARRAY['main', 'left', 'right'] AS n, '{f.c, f.c, f.c}'::text[] AS f, '{1, 2, 3}'::int[] AS l) x;
	SELECT profstore.intern_locations('{0, 0, 0}', '{0, 0, 0}', '{1, 1, 1}', '{1, 2, 3}', '{1, 2, 3}');
	CREATE TABLE ids AS SELECT profstore.intern_stacks('exe', '{2, 2, 1}', '{2, 1, 3, 1, 1}') AS stacks;
	SELECT profstore.compact_dictionary();
	SELECT profstore.ensure_partitions('2020-06-01Z', '2020-06-02Z');
	INSERT INTO profstore.samples
	SELECT '2020-06-01Z'::timestamptz + g * interval '10 s', 1 + g % 2, stacks[1 + g % 3], g FROM generate_series(1, 5000) g, ids;
	SELECT profstore.set_retention('1 day', '1000 years');
));
$old->safe_psql('postgres', 'CALL profstore.apply_retention()');
$old->safe_psql('postgres', q(
	SELECT profstore.set_retention(NULL);
	SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-02Z');
	INSERT INTO profstore.samples
	SELECT '2026-01-01Z'::timestamptz + g % 3600 * interval '10 s', 1 + g % 2, stacks[1 + g % 3], g FROM generate_series(1, 40000) g, ids;
	SELECT profstore.compact(), profstore.compact('t');
	INSERT INTO profstore.samples SELECT '2026-01-01 20:00Z', 1, stacks[1], 5 FROM ids;
	SELECT profstore.touch_series('{1, 2}', '2026-01-01Z', '2026-01-02Z');
	CREATE ROLE tenant LOGIN;
	SELECT profstore.grant_read('tenant');
	CREATE ROLE collector;
	SELECT profstore.grant_write('collector');
	CREATE ROLE keeper;
	SELECT profstore.grant_maintain('keeper');
	ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
	CREATE POLICY node_a ON profstore.series TO tenant USING (labels ->> 'node' = 'a');
	INSERT INTO profstore.losses (node, reason, count) VALUES ('a', 'test', 1), ('b', 'test', 2);
));
my $rows = q(SELECT md5(string_agg(t::text, ',' ORDER BY t.time, t.stack_id, t.value)) FROM t);
my $others = q(SELECT (SELECT sum(a) FROM p), (SELECT n FROM mv), (SELECT count(*) FROM profstore.segments),
	(SELECT count(*) FROM profstore.rollups), (SELECT sum(value) FROM profstore.samples), (SELECT count(*) FROM profstore.verify()));
my $profile = q(SELECT stack, value FROM profstore.folded('cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '2026-01-01Z', '2026-01-02Z') ORDER BY 1;
	SELECT summed > 0 FROM profstore.last_scan());
# Sequences, names, privileges of roles, a tier, results of all views.
my $state = q(
	SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'profstore' ORDER BY 1;
	SELECT s::text FROM profstore.stacks s ORDER BY 1;
	SELECT l.id, l.lines, f.name, f.filename FROM profstore.locations l JOIN profstore.functions f ON f.id = ANY (l.function_ids) ORDER BY 1;
	SELECT (SELECT count(*) FROM profstore.function_rows), (SELECT count(*) FROM profstore.function_chunks), (SELECT count(*) FROM profstore.location_chunks);
	SELECT series_id, profile_type, unit, delta, labels, period FROM profstore.matching_series(NULL) ORDER BY 1;
	SELECT has_function_privilege(r, 'profstore.begin_batch(uuid, int8, int8)', 'EXECUTE'), has_table_privilege(r, 'profstore.samples', 'INSERT'),
		has_table_privilege(r, 'profstore.series', 'SELECT'), has_function_privilege(r, 'profstore.set_retention(interval, interval, interval)', 'EXECUTE')
	FROM unnest('{tenant, collector, keeper}'::text[]) r;
	SELECT count(*), sum(value), md5(string_agg(s::text, ',' ORDER BY s::text)) FROM profstore.samples_minute s;
	SELECT sums FROM (SELECT profstore.merge_stacks(stack_id, value) AS sums FROM profstore.samples) m;
	SELECT stack, value FROM profstore.folded('cpu:cpu:nanoseconds:cpu:nanoseconds:delta{node="b"}', '2020-06-01Z', '2020-06-02Z') ORDER BY 1;
	SELECT f::text FROM profstore.flamegraph('cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '2020-06-01Z', '2026-01-02Z') f ORDER BY 1);
my $expected_state = $old->safe_psql('postgres', $state);
like($expected_state, qr/^0\|1\|1\n.*^\d+\|12502500\|[0-9a-f]{32}\n/ms, 'names are packed, and a tier has sums');
my $expected_rows = $old->safe_psql('postgres', $rows);
my $expected_others = $old->safe_psql('postgres', $others);
my $expected_profile = $old->safe_psql('postgres', $profile);
my $seen = q(SET ROLE tenant; SELECT count(*) FROM profstore.series; SELECT node FROM profstore.losses; RESET ROLE;
	SELECT string_agg(polname, ',' ORDER BY polname) FROM pg_policy WHERE polrelid IN ('profstore.series'::regclass, 'profstore.losses'::regclass);
	SELECT count(*) FROM profstore.restored_policies);
is($old->safe_psql('postgres', $seen), "1\na\nnode_a,profstore_readers,profstore_writers\n0", 'what a tenant sees');
like($expected_profile, qr/^main\|\d+\nmain;left\|\d+\nmain;right\|\d+\nt$/, 'a profile, from sums');
my $last_storage = $old->safe_psql('postgres', 'SELECT last_value FROM profstore.storage_ids');
$old->stop;

my ($bindir) = grep { -x "$_/pg_upgrade" } split /:/, $ENV{PATH};
chdir PostgreSQL::Test::Utils::tempdir();

# After an upgrade with links the old cluster cannot start again, so this is the last test.
for my $mode ('--copy', '--link')
{
	my $new = PostgreSQL::Test::Cluster->new("new$mode");
	$new->init;
	command_ok([ 'pg_upgrade', $mode eq '--link' ? '--link' : (), '-d', $old->data_dir, '-D', $new->data_dir, '-b', defined $old_install ? "$old_install/bin" : $bindir, '-B', $bindir,
		'-s', $new->host, '-p', $old->port, '-P', $new->port ], "pg_upgrade $mode");
	$new->start;
	is($new->safe_psql('postgres', $rows), $expected_rows, 'the same rows');
	is($new->safe_psql('postgres', $state), $expected_state, 'the same sequences, names, privileges, tiers and merged answers');
	is($new->safe_psql('postgres', $others), $expected_others, 'partitions, a materialized view, segments, roll-ups, samples');
	is($new->safe_psql('postgres', $profile), $expected_profile, 'the same profile, from sums');
	is($new->safe_psql('postgres', $seen), "1\na\nnode_a,profstore_readers,profstore_writers\n0", 'a tenant sees the same');
	$new->safe_psql('postgres', q(
		CREATE TABLE later (a int4) USING profstore;
		INSERT INTO later VALUES (1);
		INSERT INTO t VALUES (NULL, 1, 2, 3, 5);
	));
	is($new->safe_psql('postgres', "SELECT max(storage_id) > $last_storage FROM profstore.segments"), 't',
		'a new table gets a new storage');
	is($new->safe_psql('postgres', q(SELECT count(*), sum(added) FROM t)), '30002|510009', 'old tables take new rows');
	$new->stop;
}
done_testing();
