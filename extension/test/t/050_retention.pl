# Retention by the background worker during writes, with kill -9 of all processes: each row counts exactly once, in samples or in
# a tier. Then standby, dump and restore of tiers, settings and tracked tables.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Crashes;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $cpu = 'cpu:cpu:nanoseconds:cpu:nanoseconds:delta';
my $heap = 'memory:inuse_space:bytes:space:bytes';

my $node = PostgreSQL::Test::Cluster->new('retention');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'profstore'\nprofstore.compaction_naptime = 1s\nrestart_after_crash = on\nautovacuum_naptime = 1s\ntimezone = 'UTC'\n");
$node->start;
$node->safe_psql('postgres', qq(
	CREATE EXTENSION profstore;
	SELECT profstore.intern_series('{$cpu,$cpu,$cpu,$heap}', ARRAY['{"a": "1"}', '{"a": "2"}', '{"a": "3"}', '{"a": "4"}']::jsonb[], '{0,0,0,0}');
	SELECT profstore.set_retention('1 day', '1000 years');
));

# writers put batches into two days of the past, and note the acknowledged ones
my $directory = PostgreSQL::Test::Utils::tempdir();
my @children;
my $begin = time();
my $deadline = $begin + $PostgreSQL::Test::Utils::timeout_default;
for my $client (1 .. 4)
{
	my $pid = fork() // die $!;
	if ($pid)
	{
		push @children, $pid;
		next;
	}
	open my $log, '>>', "$directory/$client" or die $!;
	$log->autoflush(1);
	for (my $batch = 1; !-e "$directory/stop"; $batch++)
	{
		my $size = (1, 100, 3000)[ ($batch + $client) % 3 ];
		my $time = "'2026-01-01 23:59:30Z'::timestamptz + " . ($batch % 60) . " * interval '1 s'";
		my $ok = try_psql($node, 'postgres', "SELECT profstore.ensure_partitions('2026-01-01', '2026-01-03');
			INSERT INTO profstore.samples SELECT $time, $client, $batch, g FROM generate_series(1, $size) g", stderr => \my $errors);
		print $log "$batch $size\n" if $ok == 0;
		sleep(0.2) if $ok != 0;
	}
	POSIX::_exit(0);
}

my ($kills, $worker_kills) = (0, 0);
sub acknowledged { return map { -e "$directory/$_" ? split /\n/, slurp_file("$directory/$_") : () } 1 .. 4 }
while (time() < $begin + 14 || (($kills == 0 || acknowledged() < 11) && time() < $deadline))
{
	sleep(0.3 + 0.5 * rand());
	my $victim = '';
	try_psql($node, 'postgres', q(SELECT pid, backend_type FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL
		AND (backend_type = 'profstore compaction' OR (backend_type = 'client backend' AND state = 'active'))
		ORDER BY backend_type = 'profstore compaction' DESC, pid LIMIT 1), stdout => \$victim, stderr => \my $errors);
	next if $victim !~ /^(\d+)\|(.*)/;
	my $is_worker = $2 eq 'profstore compaction';
	kill_process($1) or next;
	$kills++;
	$worker_kills++ if $is_worker;
}
append_to_file("$directory/stop", '');
waitpid($_, 0) for @children;
cmp_ok($kills, '>', 0, "$kills processes killed, $worker_kills of them background workers");
wait_for_server($node) or die 'the server does not come back';
ok($node->poll_query_until('postgres', 'SELECT EXISTS (SELECT FROM profstore.samples_minute)'), 'the worker makes sums');

# finally all rows are in the tier, and empty partitions are dropped
ok($node->poll_query_until('postgres', q(SELECT count(*) = 0 FROM profstore.partitions() WHERE parent = 'profstore.samples'::regclass)),
	'emptied partitions go');
my ($lost, $acknowledged) = (0, 0);
for my $client (1 .. 4)
{
	my %found = split /[|\n]/,
	  $node->safe_psql('postgres', "SELECT stack_id, sum(value) FROM profstore.samples_minute WHERE series_id = $client AND stack_id > 0 GROUP BY 1");
	open my $log, '<', "$directory/$client" or die $!;
	while (my $line = <$log>)
	{
		my ($batch, $size) = split ' ', $line;
		$acknowledged++;
		$lost++ if ($found{$batch} // 0) != $size * ($size + 1) / 2;
		delete $found{$batch};
	}
	# a batch that was not acknowledged is stored either completely or not at all
	for my $batch (keys %found)
	{
		my $size = (1, 100, 3000)[ ($batch + $client) % 3 ];
		$lost++ if $found{$batch} != $size * ($size + 1) / 2;
	}
}
cmp_ok($acknowledged, '>', 10, "$acknowledged batches acknowledged");
is($lost, 0, 'each counts once and whole');
is($node->safe_psql('postgres', 'SELECT count(DISTINCT (time, stack_id)) <= 60 FROM profstore.samples_minute WHERE stack_id < 0'), 't',
	'scrapes are distinct, however often their rows were late');
# the stack ids of these samples are not in the dictionary
is($node->safe_psql('postgres', q(SELECT p.relation, v.* FROM profstore.partitions() p, profstore.verify(p.relation) v
	WHERE v.problem !~ '^stacks that are not in the dictionary: [0-9]+, the least id is [0-9]+$')), '', 'verify is silent');

# default settings of the database for its sessions do not apply to the worker
$node->safe_psql('postgres', q(
	CREATE DATABASE strict;
	ALTER DATABASE strict SET default_transaction_isolation = 'serializable';
	ALTER DATABASE strict SET default_transaction_read_only = on;
));
my $as_usual = q(SET default_transaction_read_only = off; SET default_transaction_isolation = 'read committed';);
$node->safe_psql('strict', "$as_usual CREATE EXTENSION profstore; SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-01Z');");
$node->safe_psql('strict', "$as_usual INSERT INTO profstore.samples SELECT '2026-01-01Z', $_, g, g FROM generate_series(1, 100) g") for 1 .. 2;
ok($node->poll_query_until('strict', q(SELECT min(level) = 2 FROM profstore.segment_details)), 'the worker compacts where sessions are read-only');
$node->safe_psql('strict', "$as_usual SELECT profstore.set_retention('1 day', '1000 years');");
ok($node->poll_query_until('strict', q(SELECT count(*) = 0 FROM profstore.partitions() WHERE parent = 'profstore.samples'::regclass)), 'and retains');
is($node->safe_psql('strict', 'SELECT count(*), sum(value) FROM profstore.samples_minute'), '200|10100', 'each row once');

# a standby reads the tiers, also while rows move on to the hourly tier
my $digest = q(SELECT count(*), sum(value), md5(string_agg(t::text, ',' ORDER BY time, series_id, stack_id, value))
	FROM (TABLE profstore.samples_minute UNION ALL TABLE profstore.samples_hour) t);
my $queried = "SELECT md5(string_agg(f::text, ',' ORDER BY f::text)) FROM profstore.timeseries('$heap\{}', '2026-01-01Z', '2026-01-03Z', '1 h') f";
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\n");
$standby->start;
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', $digest), $node->safe_psql('postgres', $digest), 'a standby has the tiers');
my $answer = $node->safe_psql('postgres', $queried);
is($standby->safe_psql('postgres', $queried), $answer, 'and answers from them');
$node->safe_psql('postgres', q(SELECT profstore.set_retention('1 day', '2 days', '1000 years')));
ok($node->poll_query_until('postgres', q(SELECT count(*) = 0 FROM profstore.partitions() WHERE parent = 'profstore.samples_minute'::regclass)),
	'minutes become hours');
is($node->safe_psql('postgres', $queried), $answer, 'the answer is the same');
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', $digest), $node->safe_psql('postgres', $digest), 'on the standby too');
is($standby->safe_psql('postgres', $queried), $answer, 'which answers the same');
my ($code, $out, $errors) = $standby->psql('postgres', q(CALL profstore.apply_retention()));
like($errors, qr/read-only transaction/, 'retention runs on the primary');
($code, $out, $errors) = $standby->psql('postgres', q(SELECT profstore.set_retention('1 day')));
like($errors, qr/read-only transaction/, 'where it is set');
$standby->stop;

# a dump contains tiers, settings, log and tracked tables
$node->safe_psql('postgres', q(
	CREATE SCHEMA app;
	CREATE TABLE app.incidents (id int4, stack int8);
	SELECT profstore.track_stacks('app.incidents', 'stack');
	BEGIN;
	SELECT profstore.ensure_partitions(now(), now());
	INSERT INTO profstore.samples VALUES (now(), 1, 1, 1);
	COMMIT;
));
my $all = "$digest; $queried; SELECT * FROM profstore.retention; SELECT count(*), sum(rows), sum(sums) FROM profstore.retention_log;
	SELECT * FROM profstore.stack_references(); SELECT * FROM profstore.partitions(); SELECT count(*), sum(value), min(time) FROM profstore.samples";
my $before = $node->safe_psql('postgres', $all);
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$directory/dump", $node->connstr('postgres') ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--single-transaction', '-d', $node->connstr('restored'), "$directory/dump" ], 'restore');
is($node->safe_psql('restored', $all), $before, 'all is the same');
$node->stop;
done_testing();
