# Queries give equal answers on a standby, before and after its promotion, and from a restored dump.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION profstore');
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

# Stores one scrape per minute of each type, for an hour: functions f1 … fn in stacks of up to ten frames.
sub store
{
	my ($node, $database, $day, $functions) = @_;
	$node->safe_psql($database, "SELECT profstore.ensure_partitions('$day', '$day')");
	$node->safe_psql($database, qq(
		DO \$\$
		DECLARE
			n int := $functions;
			names text[] := ARRAY(SELECT 'f' || i FROM generate_series(1, n) AS i);
			functions int[] := profstore.intern_functions(names, names, array_fill('f.c'::text, ARRAY[n]), array_fill(1, ARRAY[n]));
			locations int[] := profstore.intern_locations(array_fill(0, ARRAY[n]), array_fill(0::int8, ARRAY[n]),
				array_fill(1, ARRAY[n]), functions, array_fill(0, ARRAY[n]));
			stacks int8[] := profstore.intern_stacks('exe', ARRAY(SELECT 1 + k % 10 FROM generate_series(1, 200) AS k),
				ARRAY(SELECT locations[1 + (k * d * 7) % n] FROM generate_series(1, 200) AS k, generate_series(1, 1 + k % 10) AS d ORDER BY k, d));
			series int[] := profstore.intern_series('{process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta,memory:inuse_space:bytes:space:bytes}',
				ARRAY['{"node": "a"}', '{"node": "b"}']::jsonb[], '{0,0}');
		BEGIN
			INSERT INTO profstore.samples
			SELECT '$day'::timestamptz + m * interval '1 min', id, stacks[1 + (m * 13 + i * 5) % 200], m * i
			FROM unnest(series) AS id, generate_series(0, 59) AS m, generate_series(1, 50) AS i;
		END
		\$\$
	));
}

my @views = map {
	my $type = $_;
	map { qq(SELECT md5(string_agg(v::text, E'\\n')) FROM profstore.$_ AS v) }
	  qq(flamegraph('$type', '2026-01-01', '2026-01-04')), qq(flamegraph('$type', '2026-01-01', '2026-01-04', 50, true, 'f1')),
	  qq(top('$type', '2026-01-01', '2026-01-04')), qq(folded('$type', '2026-01-01', '2026-01-04')),
	  qq(timeseries('$type', '2026-01-01', '2026-01-04', '10 min', '{node}'))
} ('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', 'memory:inuse_space:bytes:space:bytes');
my $answers = join(";\n", 'SET max_parallel_workers_per_gather = 0', @views, 'SELECT string_agg(value, \',\') FROM profstore.label_values(\'node\')',
	q(SELECT count(*) > 100 FROM profstore.flamegraph('memory:inuse_space:bytes:space:bytes', '2026-01-01', '2026-01-04')));

store($primary, 'postgres', '2026-01-01Z', 40);
$primary->wait_for_catchup($standby);
my $expected = $primary->safe_psql('postgres', $answers);
like($expected, qr/^([0-9a-f]{32}\n){10}a,b\nt$/, 'every view has an answer');
is($standby->safe_psql('postgres', $answers), $expected, 'the standby answers the same');

# a session on the standby with cached dictionary rows sees later rows
my $session = $standby->background_psql('postgres');
is($session->query_safe($answers), $expected, 'a session of the standby, too');
store($primary, 'postgres', '2026-01-02Z', 60);
$primary->wait_for_catchup($standby);
my $more = $primary->safe_psql('postgres', $answers);
isnt($more, $expected, 'new samples change the answers');
is($session->query_safe($answers), $more, 'and that session sees them');
$session->quit;

# a dump contains the dictionary with its ids
my $file = PostgreSQL::Test::Utils::tempdir() . '/dump';
$primary->command_ok([ 'pg_dump', '-Fc', '-f', $file, $primary->connstr('postgres') ], 'dump');
$primary->safe_psql('postgres', 'CREATE DATABASE restored');
$primary->command_ok([ 'pg_restore', '--exit-on-error', '-d', $primary->connstr('restored'), $file ], 'restore');
is($primary->safe_psql('restored', $answers), $more, 'the restored database answers the same');
my $stacks = 'SELECT count(*), md5(string_agg(s::text, \',\' ORDER BY id)) FROM profstore.stacks AS s';
my $tree = $primary->safe_psql('restored', $stacks);
store($primary, 'restored', '2026-01-03Z', 60);
store($primary, 'postgres', '2026-01-03Z', 60);
is($primary->safe_psql('restored', $stacks), $tree, 'known stacks keep their ids after the restore');
is($primary->safe_psql('restored', $answers), $primary->safe_psql('postgres', $answers), 'and both go on alike');

# promotion
$primary->wait_for_catchup($standby);
$expected = $primary->safe_psql('postgres', $answers);
$primary->stop;
$standby->promote;
is($standby->safe_psql('postgres', $answers), $expected, 'the promoted standby answers the same');
store($standby, 'postgres', '2026-01-03 12:00Z', 70);
isnt($standby->safe_psql('postgres', $answers), $expected, 'and stores new profiles');
$standby->stop;
done_testing();
