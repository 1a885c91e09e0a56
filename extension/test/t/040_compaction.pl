# Compaction under load: random statements compared with a heap table, then writers, a compactor and kill -9 of
# backends and of the server; afterwards all rows are stored exactly once, and verify finds nothing.
#
# PROFSTORE_TEST_SEED repeats the random part.
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

my $seed = $ENV{PROFSTORE_TEST_SEED} // int(rand(2**31));
note "seed $seed (set PROFSTORE_TEST_SEED to repeat it)";
srand($seed);

my $node = PostgreSQL::Test::Cluster->new('compaction');
$node->init;
$node->append_conf('postgresql.conf', "restart_after_crash = on\nautovacuum_naptime = 1s\n");
$node->start;
$node->safe_psql('postgres', q(
	CREATE EXTENSION profstore;
	CREATE TABLE t (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
	CREATE TABLE h (LIKE t);
	CREATE VIEW difference AS
		(SELECT * FROM t EXCEPT ALL SELECT * FROM h) UNION ALL (SELECT * FROM h EXCEPT ALL SELECT * FROM t);
));

# the same rows into both tables, in segments of all sizes; compaction in between, sometimes rolled back
my $differences = 0;
for my $round (1 .. 60)
{
	my $dice = rand();
	my $size = int(exp(rand(10)));
	my $step = (0, 1, 1000, 60_000_000, 3_600_000_000)[int(rand(5))];
	my $start = int(rand(3 * 86400));
	my $rows = "SELECT '2026-01-01Z'::timestamptz + $start * interval '1 s' + g::int8 * $step * interval '1 us', nullif(g % 7, 3), hashint4(g) % 100, g * $round FROM generate_series(1, $size) g";
	my $memory = (1, 4, 64)[int(rand(3))];
	my $limit = rand() < 0.5 ? 'NULL' : 1 + int(rand(10));
	my $end = $dice < 0.2 ? 'ROLLBACK' : 'COMMIT';
	$node->safe_psql('postgres', "BEGIN; INSERT INTO t $rows; INSERT INTO h $rows; $end");
	$node->safe_psql('postgres', "SET maintenance_work_mem = '${memory}MB'; BEGIN; SELECT profstore.compact('t', $limit); " . (rand() < 0.3 ? 'ROLLBACK' : 'COMMIT'))
	  if rand() < 0.5;
	$differences += $node->safe_psql('postgres', 'SELECT count(*) FROM difference') if $round % 10 == 0;
}
is($differences, 0, 'rows are what a heap table has');
$node->safe_psql('postgres', q(SELECT profstore.compact('t')));
is($node->safe_psql('postgres', 'SELECT count(*) FROM difference'), '0', 'also when all is compacted');
is($node->safe_psql('postgres', q(SELECT * FROM profstore.verify('t'))), '', 'and verify is silent');

# writers note the acknowledged batches, while a compactor runs
$node->safe_psql('postgres', 'CREATE TABLE s (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore');
my $directory = PostgreSQL::Test::Utils::tempdir();
my @children;

sub in_child
{
	my ($work) = @_;
	my $pid = fork() // die $!;
	if ($pid == 0)
	{
		$work->();
		POSIX::_exit(0);
	}
	push @children, $pid;
}

# until enough batches are stored
my $begin = time();
my $deadline = $begin + $PostgreSQL::Test::Utils::timeout_default;
for my $client (1 .. 3)
{
	in_child(sub {
		open my $log, '>>', "$directory/$client" or die $!;
		$log->autoflush(1);
		for (my $batch = 1; !-e "$directory/stop"; $batch++)
		{
			my $size = (1, 100, 3000, 20000)[ ($batch + $client) % 4 ];
			my $ok = try_psql($node, 'postgres',
				"INSERT INTO s SELECT '2026-01-01Z'::timestamptz + $batch * interval '10 s', $client, g, $batch FROM generate_series(1, $size) g", stderr => \my $errors);
			print $log "$batch $size\n" if $ok == 0;
			sleep(0.2) if $ok != 0;
		}
	});
}
in_child(sub {
	until (-e "$directory/stop")
	{
		try_psql($node, 'postgres', q(SELECT profstore.compact('s')), stderr => \my $errors);
		sleep(0.05);
	}
});

# kills backends, now and then the compacting one, and the whole server
my $kills = 0;
while (time() < $begin + 13 || ($kills < 2 && time() < $deadline))
{
	sleep(1 + rand());
	my $victim = '';
	try_psql($node, 'postgres', q(SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND state = 'active'
		ORDER BY query LIKE '%compact%' DESC, pid LIMIT 1), stdout => \$victim, stderr => \my $errors);
	next if $victim !~ /^\d+$/;
	$kills += kill_process($victim);
}
sub acknowledged { return map { -e "$directory/$_" ? split /\n/, slurp_file("$directory/$_") : () } 1 .. 3 }
sleep(0.1) while (time() < $begin + 15 || acknowledged() < 11) && time() < $deadline;
append_to_file("$directory/stop", '');
waitpid($_, 0) for @children;
cmp_ok($kills, '>', 1, "$kills backends killed");
wait_for_server($node) or die 'the server does not come back';

my ($lost, $acknowledged) = (0, 0);
for my $client (1 .. 3)
{
	my %found = map { my ($batch, @rest) = split /\|/; $batch => "@rest" } split /\n/,
	  $node->safe_psql('postgres', "SELECT value, count(*), count(DISTINCT stack_id) FROM s WHERE series_id = $client GROUP BY value");
	open my $log, '<', "$directory/$client" or die $!;
	while (my $line = <$log>)
	{
		my ($batch, $size) = split ' ', $line;
		$acknowledged++;
		$lost++ if ($found{$batch} // '') ne "$size $size";
		delete $found{$batch};
	}
	# a batch that was not acknowledged is stored either completely or not at all
	for my $batch (keys %found)
	{
		my $size = (1, 100, 3000, 20000)[ ($batch + $client) % 4 ];
		$lost++ if $found{$batch} ne "$size $size";
	}
}
cmp_ok($acknowledged, '>', 10, "$acknowledged batches acknowledged");
is($lost, 0, 'each is there once and whole');
is($node->safe_psql('postgres', q(SELECT * FROM profstore.verify('s'))), '', 'verify is silent');
my $digest = q(SELECT count(*), sum(value), sum(stack_id * series_id) FROM s);
my $before = $node->safe_psql('postgres', $digest);
$node->safe_psql('postgres', q(SELECT profstore.compact('s')));
is($node->safe_psql('postgres', $digest), $before, 'the last compaction changes no row');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $digest), $before, 'nor does a crash after it');
is($node->safe_psql('postgres', q(SELECT * FROM profstore.verify('s'))), '', 'verify is silent again');
$node->stop;
done_testing();
