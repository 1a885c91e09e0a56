# Upkeep of samples that profstore.distribute() has spread over two Citus workers: no row is lost, and the result equals that of one server.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Shards qw(store_samples answers differences citus_servers outcome);

my ($single, $coordinator, @workers) = citus_servers();
$coordinator->safe_psql('postgres', join(';', sprintf("SELECT citus_set_coordinator_host('%s', %d)", $coordinator->host, $coordinator->port),
	map { sprintf("SELECT citus_add_node('%s', %d)", $_->host, $_->port) } @workers));
$coordinator->safe_psql('postgres', 'CALL profstore.distribute(2)');
store_samples($_, 'postgres') for $single, $coordinator;

# Runs a statement on both servers, whose answers must be equal.
sub same
{
	my ($sql, $name) = @_;
	my ($one, $other) = map { outcome($_, $sql) } $single, $coordinator;
	is($other, $one, $name);
	return $one;
}

my $state = q(SELECT (SELECT count(*) FROM profstore.series), (SELECT count(*) FROM profstore.functions), (SELECT count(*) FROM profstore.dictionary_partitions),
	(SELECT count(*) || ' ' || sum(value) FROM profstore.samples), (SELECT count(*) || ' ' || sum(value) FROM profstore.samples_minute),
	(SELECT count(*) || ' ' || sum(value) FROM profstore.samples_hour));
like(same($state, 'the same samples'), qr/^41\|60\|/, 'which are there');
is(differences(map { answers($_, 'postgres') } $single, $coordinator), '', 'every query answers as on one server');

# compaction and verification
cmp_ok($coordinator->safe_psql('postgres', 'SELECT profstore.compact()'), '>', 0, 'compact() merges segments of the shards');
same('SELECT count(*) FROM profstore.verify()', 'verify() finds nothing');
is(differences(map { answers($_, 'postgres') } $single, $coordinator), '', 'every query answers as before');
like(outcome($coordinator, 'CALL profstore.compact_in_steps()'), qr/cannot compact in steps distributed table/, 'compact_in_steps() is refused');

# functions that would look for this server's dictionary ids on other servers are refused
like(outcome($coordinator, q(SELECT profstore.remove_samples('profstore.samples', 'series_id = 1'))), qr/cannot remove samples from distributed table/, 'remove_samples() is refused');
same($state, 'and has removed nothing');

# a node that is down: nothing is dropped or collected
$_->safe_psql('postgres', q(SELECT profstore.set_retention('1 day', '1000 years'))) for $single, $coordinator;
my $before = $coordinator->safe_psql('postgres', 'SELECT count(*) FROM profstore.partitions()');
$workers[1]->stop('immediate');
like(outcome($coordinator, 'CALL profstore.apply_retention()'), qr/WARNING:  retention of profstore.samples_20260101 failed/, 'retention fails while a node is away');
like(outcome($coordinator, q(SELECT * FROM profstore.collect_dictionary('0 s'))), qr/ERROR/, 'and so does the collection');
$workers[1]->start;

# samples become sums by the minute, as on one server, in spite of a first attempt that was interrupted
sub retained
{
	my ($name) = @_;
	$_->safe_psql('postgres', 'CALL profstore.apply_retention()') for $single, $coordinator;
	same($state, "$name: the same sums and names");
	same('SELECT relation::text FROM profstore.partitions() ORDER BY 1', "$name: the same partitions");
	same('SELECT relation, action, sum(rows), sum(sums) FROM profstore.retention_log GROUP BY 1, 2 ORDER BY 1, 2', "$name: the same log");
	is(differences(map { answers($_, 'postgres') } $single, $coordinator), '', "$name: every query answers as on one server");
}
retained('minutes');
unlike($coordinator->safe_psql('postgres', 'SELECT string_agg(relation::text, chr(44)) FROM profstore.partitions()'), qr/samples_2026/, 'the emptied partitions are gone');

# late rows for a day that was dropped, then sums by the hour
$_->safe_psql('postgres', q(SELECT profstore.ensure_partitions('2026-01-02', '2026-01-02');
	INSERT INTO profstore.samples SELECT '2026-01-02 02:00:03', id, 0, 5 FROM profstore.series)) for $single, $coordinator;
retained('late rows');
$_->safe_psql('postgres', q(SELECT profstore.set_retention('1 day', '2 days', '1000 years'))) for $single, $coordinator;
retained('hours');

# names without samples are removed, names of samples in shards are kept
$_->safe_psql('postgres', q(SELECT profstore.intern_series('{unused:n:count:n:count:delta}', '{"{}"}', '{0}'))) for $single, $coordinator;
for my $turn (1 .. 3)
{
	same(q(SELECT relation, removed, condemned FROM profstore.collect_dictionary('0 s')), "collection $turn");
}
same($state, 'the same names after the collection');
is(differences(map { answers($_, 'postgres') } $single, $coordinator), '', 'every query answers as on one server');

same(q(SELECT relation, dropped, rows FROM profstore.drop_before('2026-02-01') ORDER BY 1), 'drop_before() drops the shards');
same($state, 'which leaves the same');
is($_->safe_psql('postgres', q(SELECT count(*) FROM profstore.segments)), 0, 'no rows are left on a worker') for @workers;

# a query on a worker has locked a shard: the drop gives up, and holds no lock of the coordinator; the rows go all the same
my $day = 'profstore.samples_20260301';
my $insert = q(INSERT INTO profstore.samples SELECT '2026-03-01 02:00', id, 0, 5 FROM profstore.series);
$coordinator->safe_psql('postgres', "SELECT profstore.ensure_partitions('2026-03-01', '2026-03-01'); $insert");
my $shard = $coordinator->safe_psql('postgres', sprintf("SELECT min(s.tables[1]) FROM profstore_internal.shards('{$day}') AS s WHERE s.port = %d", $workers[0]->port));
my $reader = $workers[0]->background_psql('postgres');
$reader->query_safe("BEGIN; SELECT count(*) FROM $shard");
like(outcome($coordinator, "SELECT done, blocked FROM profstore_internal.drop_partition('$day', false)"),
	qr/^f\|t\|.*NOTICE:  partition $day is not dropped yet: the lock of a shard is taken/s, 'a partition with a shard in use is not dropped');
like(outcome($coordinator, "SET lock_timeout = '5 s'; $insert"), qr/^(?!.*ERROR)/s, 'and its locks are free');
like(outcome($coordinator, q(SELECT relation, dropped FROM profstore.drop_before('2026-03-02'))), qr/^$day\|f\|.*the lock of a shard is taken/s, 'drop_before() removes its rows');
is($coordinator->safe_psql('postgres', 'SELECT count(*) FROM profstore.samples'), 0, 'all of them');
$reader->query_safe('COMMIT');
$reader->quit;
is(outcome($coordinator, q(SELECT relation, dropped, rows FROM profstore.drop_before('2026-03-02'))), "$day|t|0|", 'the next drop_before() drops it');

done_testing();
