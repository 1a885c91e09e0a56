# Rows of traces are restored from a dump with partitions, indexes and row policies, and new ones can be added afterwards.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('traces');
$node->init;
$node->append_conf('postgresql.conf', "timezone = 'UTC'\n");
$node->start;
my $trace = '4bf92f35-77b3-4da6-a3ce-929d0e0e4736';
my $keep = q(SELECT profstore.keep_traces('{%s 10:00Z}', ARRAY[(SELECT min(series_id) FROM profstore.series())], '{0}', '{%d}', '{%s}', '{NULL}'));
$node->safe_psql('postgres', q(
	CREATE EXTENSION profstore;
	CREATE ROLE reader;
	SELECT profstore.intern_series('{cpu:samples:count:::delta}', ARRAY['{"job": "a"}'::jsonb], '{0}');
	SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-03Z');
	INSERT INTO profstore.samples SELECT d, id, 0, 9 FROM profstore.series, unnest('{2026-01-01 10:00Z,2026-01-02 10:00Z}'::timestamptz[]) AS d;
	SELECT profstore.grant_read('reader');
	SET default_table_access_method = profstore; -- traces are heaps all the same
) . join(';', sprintf($keep, '2026-01-01', 4, $trace), sprintf($keep, '2026-01-02', 5, $trace)) . q(;
	ALTER TABLE profstore.trace_samples ENABLE ROW LEVEL SECURITY;
	CREATE POLICY of_four ON profstore.trace_samples FOR SELECT TO reader USING (value = 4)));
my $rows = 'SELECT tableoid::regclass, * FROM profstore.trace_samples ORDER BY time';
my $indexes = q(SELECT indexdef FROM pg_indexes WHERE tablename LIKE 'trace_samples%' ORDER BY 1);
my $of_trace = "SELECT coalesce(sum(value), 0) FROM profstore.folded('cpu', '2026-01-01Z', '2026-01-03Z', trace => '$trace')";
my %expected = map { $_ => $node->safe_psql('postgres', $_) } $rows, $indexes, $of_trace;
is($expected{$of_trace}, '9', 'a trace of two days');
is(() = $expected{$indexes} =~ /CREATE INDEX/g, 6, 'three indexes for each day');

my $directory = PostgreSQL::Test::Utils::tempdir();
for my $format (qw(c p))
{
	my $restored = "restored_$format";
	$node->command_ok([ 'pg_dump', "-F$format", '-f', "$directory/$format", $node->connstr('postgres') ], "$format: dumped");
	$node->safe_psql('postgres', "CREATE DATABASE $restored");
	$node->command_ok($format eq 'c'
		? [ 'pg_restore', '--exit-on-error', '-d', $node->connstr($restored), "$directory/c" ]
		: [ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($restored), '-f', "$directory/p" ], "$format: restored");
	is($node->safe_psql($restored, $_), $expected{$_}, "$format: the same: $_") for $rows, $indexes, $of_trace;
	is($node->safe_psql($restored, "SET ROLE reader; $of_trace"), '4', "$format: its policy is in force");
	$node->safe_psql($restored, sprintf($keep, '2026-01-02', 2, $trace));
	is($node->safe_psql($restored, $of_trace), '11', "$format: and more is kept");
	is($node->safe_psql($restored, q(SELECT * FROM profstore.verify())), '', "$format: nothing is wrong");
}
$node->stop;
done_testing();
