# kill -9 of the server while clients copy rows into a columnar table: every acknowledged transaction is stored exactly once
# and complete; any other transaction is stored either completely or not at all.
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

my $clients = 4;
my $crashes = 3;
my @sizes = (1, 100, 3000, 20000);    # inline, packed, packed in TOAST, streams of their own

my $node = PostgreSQL::Test::Cluster->new('crash');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum_naptime = 1s\nrestart_after_crash = off\n");
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION profstore; CREATE TABLE t (client int4, batch int4, row_no int4) USING profstore');

my $directory = PostgreSQL::Test::Utils::tempdir();

# Copies one batch after another until the server dies, and notes each acknowledged batch.
sub run_client
{
	my ($client, $round) = @_;
	open my $log, '>>', "$directory/$client" or die $!;
	$log->autoflush(1);
	for (my $batch = $round * 100_000;; $batch++)
	{
		my $size = $sizes[ ($batch + $client) % @sizes ];
		my $copy = "COPY t FROM PROGRAM 'seq $size | awk ''{ print \"$client\\t$batch\\t\" \$1 }'''";
		my $insert = "INSERT INTO t SELECT $client, $batch, g FROM generate_series(1, $size) g";
		my $status = try_psql($node, 'postgres', $batch % 3 == 0 ? $copy : $insert);
		last if $status != 0;
		print $log "$batch\n";
	}
	close $log;
}

sub acknowledged
{
	return map { -e "$directory/$_" ? split /\n/, slurp_file("$directory/$_") : () } 1 .. $clients;
}

# Starts the server after its postmaster was killed. The postmaster may not be reaped yet, and backends that have
# not noticed its death keep the shared memory.
sub start_again
{
	my ($pid) = @_;
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;
	sleep(0.1) while kill(0, $pid) && time() < $deadline;
	until ($node->start(fail_ok => 1))
	{
		die 'the server does not start' if time() > $deadline;
		$node->stop('fast', fail_ok => 1);
		sleep(0.2);
	}
	return;
}

for my $round (1 .. $crashes)
{
	my @children;
	for my $client (1 .. $clients)
	{
		my $pid = fork // die "fork: $!";
		if ($pid == 0)
		{
			open STDERR, '>', '/dev/null';
			run_client($client, $round);
			POSIX::_exit(0);
		}
		push @children, $pid;
	}
	# first wait for some batches of every size, then kill at a random time
	my $enough = acknowledged() + 8 * $clients;
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;
	sleep(0.05) while acknowledged() < $enough && time() < $deadline;
	sleep(rand(0.3));
	my ($pid) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	$node->kill9;
	waitpid($_, 0) for @children;
	start_again($pid);

	my %found = map { my ($client, $batch, $count, $distinct) = split /\|/; ("$client/$batch" => [ $count, $distinct ]) }
	  split /\n/, $node->safe_psql('postgres',
		'SELECT client, batch, count(*), count(DISTINCT row_no) FROM t GROUP BY 1, 2');
	my ($acknowledged, $lost, $torn) = (0, 0, 0);
	for my $client (1 .. $clients)
	{
		for my $batch (split /\n/, slurp_file("$directory/$client"))
		{
			$acknowledged++;
			$lost++ unless exists $found{"$client/$batch"};
		}
	}
	for my $key (keys %found)
	{
		my ($client, $batch) = split m{/}, $key;
		my $size = $sizes[ ($batch + $client) % @sizes ];
		$torn++ if $found{$key}[0] != $size || $found{$key}[1] != $size;
	}
	cmp_ok($acknowledged, '>', 0, "crash $round: $acknowledged transactions were acknowledged");
	is($lost, 0, "crash $round: all of them are there");
	is($torn, 0, "crash $round: each once and whole");
	cmp_ok(scalar(keys %found) - $acknowledged, '<=', $clients * $round,
		"crash $round: at most one more per client");
}

# VACUUM removes the remains of crashes, and a transaction that was open during a crash has left no rows
$node->safe_psql('postgres', 'VACUUM t; VACUUM profstore.segments');
my $before = $node->safe_psql('postgres', 'SELECT count(*) FROM t');
my $session = $node->background_psql('postgres');
$session->query_safe('BEGIN');
$session->query_safe('INSERT INTO t SELECT 0, 0, g FROM generate_series(1, 50000) g');
$session->query_safe('CREATE TABLE gone (a int4) USING profstore');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), $before, 'an open transaction leaves no row');
is($node->safe_psql('postgres', q(SELECT count(*) FROM pg_class WHERE relname = 'gone')), '0', 'nor a table');
$node->stop;

# with wal_level minimal, a new file is synced at commit instead of being logged
my $minimal = PostgreSQL::Test::Cluster->new('minimal');
$minimal->init;
$minimal->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\n");
$minimal->start;
$minimal->safe_psql('postgres', q(
	CREATE EXTENSION profstore;
	BEGIN;
	CREATE TABLE small (a int4) USING profstore;
	INSERT INTO small SELECT generate_series(1, 10);
	CREATE TABLE large (a int4) USING profstore;
	INSERT INTO large SELECT hashint4(g) FROM generate_series(1, 300000) g;
	COMMIT;
	TRUNCATE small;
	BEGIN;
	TRUNCATE small;
	INSERT INTO small SELECT generate_series(1, 20);
	COMMIT;
));
$minimal->stop('immediate');
$minimal->start;
is($minimal->safe_psql('postgres', 'SELECT (SELECT count(*) FROM small), count(*), count(DISTINCT a) FROM large'),
	'20|300000|' . $minimal->safe_psql('postgres', 'SELECT count(DISTINCT hashint4(g)) FROM generate_series(1, 300000) g'),
	'new files survive a crash with wal_level minimal');
$minimal->stop;
done_testing();
