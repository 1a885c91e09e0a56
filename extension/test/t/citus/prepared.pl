# A worker that is killed between PREPARE TRANSACTION and COMMIT PREPARED, in a batch, in the making of partitions and in drops: after its restart
# and the recovery of Citus the transaction is stored once, or not at all, and until then nothing is removed that it may need.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Shards qw(store_samples citus_servers outcome);

my (undef, $coordinator, @workers) = citus_servers();
$coordinator->append_conf('postgresql.conf', 'citus.recover_2pc_interval = -1'); # the test recovers by itself
for my $server ($coordinator, $workers[1])
{
	$server->append_conf('postgresql.conf', "wal_level = replica\nmax_wal_senders = 2"); # without senders, no commit waits for a standby
	$server->restart;
}
$coordinator->safe_psql('postgres', join(';', sprintf("SELECT citus_set_coordinator_host('%s', %d)", $coordinator->host, $coordinator->port),
	map { sprintf("SELECT citus_add_node('%s', %d)", $_->host, $_->port) } @workers));
$coordinator->safe_psql('postgres', 'CALL profstore.distribute(2)');
store_samples($coordinator, 'postgres');

sub value { my ($sql) = @_; return $coordinator->safe_psql('postgres', $sql); }

my $stored = q(SELECT count(*) || ' ' || sum(value) FROM profstore.samples);
my $prepared = q(SELECT count(*) FROM pg_prepared_xacts WHERE gid LIKE 'citus\_%');

# Lets each commit of the server, and each PREPARE, wait after it is written, for a standby that does not exist.
sub hold_commits
{
	my ($node) = @_;
	$node->append_conf('postgresql.conf', "synchronous_standby_names = 'nobody'");
	$node->reload;
	$node->poll_query_until('postgres', q(SELECT setting = 'nobody' FROM pg_settings WHERE name = 'synchronous_standby_names'));
	$node->safe_psql('postgres', 'CHECKPOINT'); # the checkpointer lets other processes know of the setting
}

# Kills all processes of a server, as a power failure does.
sub kill_server
{
	my ($node) = @_;
	my $lock = $node->data_dir . '/postmaster.pid';
	my ($postmaster) = split(/\n/, slurp_file($lock));
	my $processes = join(',', $postmaster, split(' ', `ps -o pid= --ppid $postmaster`));
	kill('KILL', split(/,/, $processes));
	$node->kill9;
	for (my $tries = 0; $tries < 600 && `ps -o stat= -p $processes` =~ /^[^Z\s]/m; $tries++) { select(undef, undef, undef, 0.1); }
	unlink($lock, sprintf('%s/.s.PGSQL.%d.lock', $node->host, $node->port)); # init may not have reaped the postmaster yet
}

# Runs statements on the coordinator, and kills the second worker while a commit waits: that of the coordinator, after the workers have prepared the
# transaction, so that it is committed; or that of the worker's PREPARE, so that it is aborted. Returns what psql prints.
sub killed_meanwhile
{
	my ($node, $sql) = @_;
	my $output = '';
	my $script = PostgreSQL::Test::Utils::tempdir() . '/script';
	append_to_file($script, "\\set VERBOSITY terse\n$sql\n");
	hold_commits($node);
	my $session = IPC::Run::start([ $coordinator->installed_command('psql'), '-XAtq', '-d', $coordinator->connstr('postgres') ], '<', $script, '>', \$output, '2>&1',
		IPC::Run::timeout(180));
	$node->poll_query_until('postgres', q(SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend')) or die 'no commit waits';
	kill_server($workers[1]);
	$node->adjust_conf('postgresql.conf', 'synchronous_standby_names', undef);
	$node->reload if $node == $coordinator;
	$session->finish;
	$workers[1]->start;
	return $output;
}

sub recover
{
	cmp_ok($workers[1]->safe_psql('postgres', $prepared), '>', 0, 'the worker has a prepared transaction');
	value('SELECT recover_prepared_transactions()');
	is($workers[1]->safe_psql('postgres', $prepared), 0, 'and none after the recovery');
}

# a batch
my $writer = "'11111111-2222-3333-4444-555555555555'";
my $batch = sub { my ($number) = @_; return qq(BEGIN; SELECT profstore.begin_batch($writer, $number, profstore.epoch());
	INSERT INTO profstore.samples SELECT '2026-01-02 02:00:02', id, 0, 7 FROM profstore.series; COMMIT;); };
my $series = value('SELECT count(*) FROM profstore.series');
my $with_batch = sub { my ($count) = @_; return sprintf(q(SELECT count(*) + %d || ' ' || sum(value) + 7 * %1$d FROM profstore.samples), $count * $series); };
my $expected = value($with_batch->(1));
my $output = killed_meanwhile($coordinator, $batch->(1));
like($output, qr/^t\n(?!.*ERROR)/s, 'a batch is committed while a worker is killed');
is(value('SELECT profstore_internal.has_batch_in_doubt()'), 't', 'it is in doubt');
like(outcome($coordinator, q(SELECT count(*) FROM profstore.collect_dictionary('0 s'))), qr/^0\|.*a batch of samples is in doubt on a node/, 'and nothing is collected');
recover();
is(value($stored), $expected, 'the batch is stored');
is(value("SELECT profstore.begin_batch($writer, 1, profstore.epoch())"), 'f', 'and is not stored again');
like(killed_meanwhile($workers[1], $batch->(2)), qr/^t\n.*ERROR/s, 'a batch fails if a worker is killed while it prepares');
recover();
is(value($stored), $expected, 'nothing of it is stored');
$expected = value($with_batch->(1));
is(value($batch->(2)), 't', 'the same batch can be stored again');
is(value($stored), $expected, 'and is stored once');

# the drop of a partition
my $top = q(SET statement_timeout = '2 s'; SELECT sum(self) FROM profstore.top('process_cpu:cpu', '2026-01-03', '2026-01-04'));
my $answer = outcome($coordinator, $top);
like($answer, qr/^\d+\|$/, 'a query has an answer');
my $first = q(SELECT count(*) FROM profstore.samples WHERE time < '2026-01-02');
my $rows = value($first);
like(killed_meanwhile($workers[1], q(SELECT relation, dropped FROM profstore.drop_before('2026-01-02');)), qr/ERROR/, 'a drop fails if a worker is killed while it prepares');
recover();
is(value($first), $rows, 'all rows of the partition are there');
is(outcome($coordinator, $top), $answer, 'and the query has its answer');
$output = killed_meanwhile($coordinator, q(SELECT relation, dropped FROM profstore.drop_before('2026-01-02') WHERE relation LIKE '%.samples_2%';));
like($output, qr/^profstore.samples_20260101\|t$/m, 'a drop is committed while a worker is killed');
unlike($output, qr/ERROR/, 'without an error');
like(outcome($coordinator, $top), qr/canceling statement due to statement timeout/, 'queries wait for the recovery');
my $drop = q(SET statement_timeout = '30 s'; SELECT relation, dropped, rows FROM profstore.drop_before('2026-01-03') WHERE relation LIKE '%.samples_2%');
my $second = value(q(SELECT sum(answer::int) FROM profstore_internal.run_on_shards('{profstore.samples_20260102}', 'SELECT count(*) FROM %1$s')));
like(outcome($coordinator, $drop), qr/^profstore.samples_20260102\|f\|$second\|.*NOTICE:  partition profstore.samples_20260102 is not dropped yet: the lock of a shard is taken/,
	'another drop does not wait, and removes the rows');
recover();
is(outcome($coordinator, $top), $answer, 'the query has its answer');
is(outcome($coordinator, $drop), 'profstore.samples_20260102|t|0|', 'and the other partition is dropped');

# a new partition
$output = killed_meanwhile($coordinator, q(SELECT profstore.ensure_partitions('2026-03-01', '2026-03-01');));
like($output, qr/failed to commit transaction/, 'a partition is made while a worker is killed');
my $insert = q(SET statement_timeout = '5 s'; INSERT INTO profstore.samples SELECT '2026-03-01 02:00', id, 0, 5 FROM profstore.series);
like(outcome($coordinator, $insert), qr/ERROR:  no partition of relation "samples_\d+" found for row/, 'rows are refused until the recovery');
recover();
is(outcome($coordinator, $insert), '|', 'then they are stored');

# what a person has locked on a worker: a drop waits neither there nor on the coordinator
my $reader = $workers[0]->background_psql('postgres');
$reader->query_safe('BEGIN; SELECT count(*) FROM ONLY profstore.samples');
like(outcome($coordinator, q(SET statement_timeout = '30 s'; SELECT relation, dropped FROM profstore.drop_before('2026-01-04') WHERE relation LIKE '%.samples_2%')),
	qr/^profstore.samples_20260103\|f\|.*NOTICE:  partition profstore.samples_20260103 is not dropped yet: the lock of a shard is taken/, 'a drop gives up if a table is in use on a worker');
$reader->query_safe('COMMIT');
$reader->quit;
is(outcome($coordinator, q(SELECT relation, dropped FROM profstore.drop_before('2026-01-04') WHERE relation LIKE '%.samples_2%')), 'profstore.samples_20260103|t|', 'and is done later');

done_testing();
