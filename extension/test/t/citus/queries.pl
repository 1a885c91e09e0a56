# Samples that profstore.distribute() has spread over two Citus workers. Runs only as the suite "citus", with the user's installation.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Shards qw(store_samples answers differences citus_servers outcome);

my ($single, $coordinator, @workers) = citus_servers();

# Runs a statement on the coordinator and on the single server for comparison.
sub both
{
	my ($sql) = @_;
	$_->safe_psql('postgres', $sql) for $coordinator, $single;
}

like(outcome($single, 'CALL profstore.distribute()'), qr/does not have the extension citus/, 'without Citus there is nothing to distribute to');
like(outcome($coordinator, 'CALL profstore.distribute()'), qr/no node of Citus takes shards/, 'without nodes, too');
$coordinator->safe_psql('postgres', join(';', sprintf("SELECT citus_set_coordinator_host('%s', %d)", $coordinator->host, $coordinator->port),
	map { sprintf("SELECT citus_add_node('%s', %d)", $_->host, $_->port) } @workers));
like(outcome($coordinator, 'CALL profstore.distribute(0)'), qr/between 1 and 32/, 'the number of shards is bounded');

# samples that were stored before distribute() are moved into the shards
store_samples($_, 'postgres', tier => 1) for $coordinator, $single;
my $expected = answers($single, 'postgres');
is(differences($expected, answers($coordinator, 'postgres')), '', 'two servers with the same samples answer the same');
$coordinator->safe_psql('postgres', 'CALL profstore.distribute(2)');
is($coordinator->safe_psql('postgres', q(SELECT count(DISTINCT node), count(*) FROM profstore_internal.shards())), '2|4', 'four shards on two nodes');
is($coordinator->safe_psql('postgres', q(SELECT count(*) FROM profstore.segments)), 0, 'no row stays on the coordinator');
like(outcome($coordinator, 'CALL profstore.distribute(2)'), qr/is distributed already/, 'once is enough');
is(differences($expected, answers($coordinator, 'postgres')), '', keys(%$expected) . ' queries answer as on one server');
like(outcome($workers[0], q(SELECT * FROM profstore.top('process_cpu:cpu', '2026-01-01', '2026-01-04'))), qr/is a Citus worker/, 'a worker has no names to show');

# sessions whose plans are generic, as those of drivers and poolers may be
like(outcome($coordinator, q(SET plan_cache_mode = force_generic_plan; SELECT count(*) > 0 FROM profstore.top('process_cpu:cpu', '2026-01-01', '2026-01-04'))),
	qr/^t\|(?!.*ERROR)/, 'a query answers with generic plans');

# rows of the transaction itself, in several shards of a node
my $own = q(BEGIN; INSERT INTO profstore.samples SELECT '2026-01-02 02:00', id, 0, 1000000 * id FROM profstore.series;
	SELECT profstore.import_folded('main;own 77', '{"service": "own"}', '2026-01-02 03:00');
	SELECT sum(self) FROM profstore.top('process_cpu:cpu', '2026-01-02', '2026-01-03'); SELECT sum(value) FROM profstore.timeseries('samples:count:count', '2026-01-02', '2026-01-03');
	ROLLBACK; SELECT sum(self) FROM profstore.top('process_cpu:cpu', '2026-01-02', '2026-01-03'));
is(outcome($coordinator, $own), outcome($single, $own), 'a transaction sees its own rows, and after it nobody');

# imports
both(q(SELECT profstore.import_folded(string_agg(format('main;i%s %s', n, n), E'\n'), jsonb_build_object('service', 'imported' || n % 7), '2026-01-03 07:00')
	FROM generate_series(1, 500) AS n GROUP BY n % 7));
my $imported = q(SELECT t.profile_type, (SELECT md5(string_agg(f::text, ',' ORDER BY f::text)) FROM profstore.folded(t.profile_type, '2026-01-03', '2026-01-04') AS f)
	FROM profstore.profile_types() AS t ORDER BY 1);
is(outcome($coordinator, $imported), outcome($single, $imported), 'imports are stored in the shards');

# a tenant sees only its series, in functions and in the view
both(q(CREATE ROLE tenant LOGIN; SELECT profstore.grant_read('tenant', '{service="s1"}')));
my $tenant = q(SET ROLE tenant; SELECT count(*), sum(self) FROM profstore.top('process_cpu:cpu', '2026-01-01', '2026-01-04');
	SELECT count(*) FROM profstore.series(); SELECT profstore.stored_rows('process_cpu:cpu', '2026-01-01', '2026-01-04');
	SELECT count(*) FROM profstore.top('process_cpu:cpu{service="s2"}', '2026-01-01', '2026-01-04'));
is(outcome($coordinator, $tenant), outcome($single, $tenant), 'a tenant sees the same as on one server');
like(outcome($coordinator, 'SET ROLE tenant; SELECT count(*) FROM profstore.samples'), qr/ERROR:  permission denied for table samples/, 'not the samples');
like(outcome($coordinator, 'SET ROLE tenant; SELECT count(*) FROM profstore.selected_samples'), qr/cannot read the view selected_samples of distributed samples/, 'not the view');

# the nodes return sums, not rows
my ($status, $out, $err) = $coordinator->psql('postgres', q(SET citus.log_remote_commands = on; SET client_min_messages = notice;
	SELECT count(*) FROM profstore.flamegraph('process_cpu:cpu', '2026-01-02', '2026-01-04')));
my @sent = $err =~ /issuing (SELECT.*)/g;
is(scalar(@sent), 2, 'a query sends one statement to each node') or diag($err);
is(scalar(grep { !/node_rows/ } @sent), 0, 'which sums there');

# a node that is down
$workers[1]->stop('immediate');
like(outcome($coordinator, q(SELECT count(*) FROM profstore.top('process_cpu:cpu', '2026-01-01', '2026-01-04'))), qr/ERROR/, 'without one node there is no answer');
$workers[1]->start;

done_testing();
