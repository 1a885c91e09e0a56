# Writers, readers, compaction, VACUUM and kill -9 of backends and of the server at the same time. Afterwards every acknowledged
# row is stored exactly once, no row that was not committed is stored, and verify reports nothing. The same holds on a standby,
# in a base backup, and after recovery to a restore point and to a transaction.
#
# PROFSTORE_STRESS_SECONDS sets the duration (120 for the full test; slow machines run longer, until enough has happened),
# PROFSTORE_TEST_SEED the random choices of the process that kills.
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

my $seconds = $ENV{PROFSTORE_STRESS_SECONDS} // 20;
my $seed = $ENV{PROFSTORE_TEST_SEED} // int(rand(2**31));
my $writers = 8;
my $batches_per_session = 40;
note "seed $seed, $seconds s";
srand($seed);

my $directory = PostgreSQL::Test::Utils::tempdir();
my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, has_archiving => 1);
$primary->append_conf('postgresql.conf', q(
	shared_preload_libraries = 'profstore'
	profstore.compaction_naptime = 1s
	autovacuum_naptime = 1s
	restart_after_crash = on
	max_connections = 60
	max_prepared_transactions = 50
	log_statement = none
	log_line_prefix = '%m [%p] %e '
	fsync = off
	max_wal_size = 128MB
	wal_keep_size = 512MB
));
$primary->start;
# a batch has rows in both partitions; stack_id is the batch's number, value its size
$primary->safe_psql('postgres', q(
	CREATE EXTENSION profstore;
	CREATE TABLE s (time timestamptz, series_id int4, stack_id int8, value int8) PARTITION BY HASH (series_id);
	CREATE TABLE s0 PARTITION OF s FOR VALUES WITH (MODULUS 2, REMAINDER 0) USING profstore;
	CREATE TABLE s1 PARTITION OF s FOR VALUES WITH (MODULUS 2, REMAINDER 1) USING profstore;
));
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = off\nmax_standby_streaming_delay = 200ms\n");
$standby->start;

# --- the clients -------------------------------------------------------------------------------------------------

my @children;

sub in_child
{
	my ($work) = @_;
	my $pid = fork() // die $!;
	if ($pid == 0)
	{
		open STDERR, '>', '/dev/null';
		srand($seed + $$);
		$work->();
		POSIX::_exit(0);
	}
	push @children, $pid;
	return;
}

sub rows_of
{
	my ($writer, $batch, $first, $last, $size) = @_;
	return "SELECT '2026-01-01Z'::timestamptz + ($batch % 50) * interval '10 s' + random() * interval '9 s', $writer * 10 + g % 3, "
	  . "$batch * 100000::int8 + g, $size FROM generate_series($first, $last) AS g";
}

# The statements of one batch. The client prints "sent" before COMMIT and "ack" after it; rows with the value -1 are rolled back.
sub batch_script
{
	my ($writer, $batch) = @_;
	my $size = (1, 10, 100, 500, 3000, 3000, $batch % 40 ? 200 : 20000)[ int(rand(7)) ];
	my $half = int($size / 2);
	my $taken_back = 'INSERT INTO s ' . rows_of($writer, $batch, 1, 50, -1) . ";\n";
	my $kind = int(rand(10));
	my $script = "SELECT pg_sleep(0.04);\n\\echo " . ($kind < 4 || $kind == 5 ? 'at_once' : 'begin') . " $batch $size\n";
	return $script . "INSERT INTO s " . rows_of($writer, $batch, 1, $size, $size) . ";\n\\echo ack $batch\n" if $kind < 4;
	return $script . "BEGIN;\n${taken_back}ROLLBACK;\n" if $kind == 4;
	return $script . "COPY s FROM PROGRAM 'seq $size | awk ''{ printf \"2026-01-01 00:00Z\\t%d\\t%.0f\\t%d\\n\", $writer * 10 + \$1 % 3, $batch * 100000 + \$1, $size }''';\n\\echo ack $batch\n"
	  if $kind == 5;
	$script .= "BEGIN;\nINSERT INTO s " . rows_of($writer, $batch, 1, $half, $size) . ";\n" if $half > 0;
	$script .= "BEGIN;\n" if $half == 0;
	$script .= "SAVEPOINT a;\n${taken_back}ROLLBACK TO a;\n" if $kind > 6;
	$script .= "SAVEPOINT b;\nINSERT INTO s " . rows_of($writer, $batch, $half + 1, $size, $size) . ";\nRELEASE b;\n\\echo sent $batch\n";
	return $script . "PREPARE TRANSACTION '${writer}_$batch';\n\\echo prepared $batch\nCOMMIT PREPARED '${writer}_$batch';\n\\echo ack $batch\n" if $kind == 9;
	return $script . "COMMIT;\n\\echo ack $batch\n";
}

sub psql_file
{
	my ($node, $script, $log) = @_;
	my $file = "$directory/script_$$";
	open my $handle, '>', $file or die "$file: $!";
	print $handle $script;
	close $handle;
	return system("psql -XqAt -v ON_ERROR_STOP=1 -d '" . $node->connstr('postgres') . "' -f $file >>$log 2>/dev/null");
}

sub write_batches
{
	my ($writer, $first_batch) = @_;
	for (my $batch = $first_batch; !-e "$directory/stop"; $batch += $batches_per_session)
	{
		my $script = join '', map { batch_script($writer, $_) } $batch .. $batch + $batches_per_session - 1;
		sleep(0.2) if psql_file($primary, $script, "$directory/writer_$writer") != 0;
	}
	return;
}

# Readers print lines "name answer"; check_readers() tests the answers.
my @questions = (
	"SELECT 'torn', count(*) FROM (SELECT FROM s WHERE series_id BETWEEN %d AND %d GROUP BY stack_id / 100000 "
	  . 'HAVING count(*) <> max(value) OR min(value) <> max(value) OR count(DISTINCT stack_id) <> count(*)) AS x',
	"SELECT 'taken_back', count(*) FROM s WHERE value < 0",
	"BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT count(*) AS c, coalesce(sum(stack_id), 0) AS s FROM s \\gset\nSELECT pg_sleep(0.3) \\g /dev/null\n"
	  . "SELECT 'moved', (count(*) <> :c OR coalesce(sum(stack_id), 0) <> :s)::int FROM s;\nCOMMIT",
	"BEGIN;\nDECLARE c CURSOR FOR SELECT stack_id FROM s WHERE series_id BETWEEN %d AND %d;\nFETCH 100 c \\g /dev/null\n"
	  . "SELECT pg_sleep(0.2) \\g /dev/null\nMOVE FORWARD ALL c;\nSELECT 'moved', 0;\nCOMMIT",
	"SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;\n"
	  . "SELECT 'torn', count(*) FROM (SELECT stack_id / 100000, count(*) AS n, max(value) AS size FROM s WHERE series_id BETWEEN %d AND %d GROUP BY 1) AS x WHERE n <> size");

my $answer = qr/^(?:torn|taken_back|moved)\|(.*)/;

sub ask_questions
{
	my ($node, $name) = @_;
	until (-e "$directory/stop")
	{
		my $script = '';
		for (1 .. 5)
		{
			my $writer = 1 + int(rand($writers));
			my $question = $questions[ int(rand(scalar @questions)) ];
			$script .= ($question =~ /%d/ ? sprintf($question, $writer * 10, $writer * 10 + 2) : $question) . ";\n";
		}
		sleep(0.1) if psql_file($node, $script, "$directory/$name") != 0;
	}
	return;
}

sub maintain
{
	for (my $round = 1; !-e "$directory/stop"; $round++)
	{
		psql_file($primary, "SELECT profstore.compact('s');\n" . ($round % 4 == 0 ? "VACUUM s0, s1, profstore.segments;\n" : '')
			  . ($round % 10 == 0 ? "REINDEX TABLE CONCURRENTLY profstore.segments;\n" : '')
			  . ($round % 15 == 0 ? "VACUUM FULL s0;\n" : ''), '/dev/null');
		sleep(0.3);
	}
	return;
}

# Starts the server after its postmaster was killed. Children that have not noticed its death keep the shared memory.
sub start_again
{
	my ($pid) = @_;
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;
	sleep(0.1) while kill(0, $pid) && time() < $deadline;
	until ($primary->start(fail_ok => 1))
	{
		die 'the server does not start' if time() > $deadline;
		$primary->stop('fast', fail_ok => 1);
		sleep(0.2);
	}
	return;
}

sub kill_something
{
	if (rand() < 0.2)
	{
		my ($pid) = slurp_file($primary->data_dir . '/postmaster.pid') =~ /^(\d+)/;
		$primary->kill9;
		start_again($pid);
		return 'server';
	}
	my $victims = '';
	try_psql($primary, 'postgres', q(SELECT pid || ' ' || backend_type FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type !~ 'walsender'),
		stdout => \$victims, stderr => \my $errors, timeout => 30);
	my @victims = split /\n/, $victims;
	my @compacting = grep { /profstore/ } @victims;
	@victims = @compacting if @compacting && rand() < 0.3;
	my ($pid, $type) = ($victims[ int(rand(scalar @victims)) ] // '') =~ /^(\d+) (.*)/ or return 'nothing';
	kill_process($pid);
	return $type;
}

sub count_lines
{
	my ($pattern, @files) = @_;
	return scalar grep { $_ =~ $pattern } map { -e "$directory/$_" ? split /\n/, slurp_file("$directory/$_") : () } @files;
}

sub is_enough
{
	return count_lines(qr/^ack/, map { "writer_$_" } 1 .. $writers) > 50 && count_lines($answer, map { "reader_$_" } 1 .. 4) > 10;
}

sub stop_children
{
	append_to_file("$directory/stop", '');
	waitpid($_, 0) for @children;
	unlink "$directory/stop";
	@children = ();
	return;
}

# All clients work for some seconds.
my $phase = 0;

sub run_phase
{
	my ($duration, $with_kills) = @_;
	my $deadline = time() + $duration;
	my $first_batch = 1 + 10_000_000 * $phase++;
	my %killed;

	for my $writer (1 .. $writers) { in_child(sub { write_batches($writer, $first_batch) }) }
	for my $reader (1 .. 4) { in_child(sub { ask_questions($reader == 4 ? $standby : $primary, "reader_$reader") }) }
	in_child(sub { maintain() });
	while ($with_kills && time() < $deadline - 2)
	{
		sleep(1 + rand(3));
		$killed{ kill_something() }++;
	}
	my $latest = $deadline + $PostgreSQL::Test::Utils::timeout_default;
	sleep(0.1) while time() < $deadline || (time() < $latest && !is_enough());
	stop_children();
	wait_for_server($primary) or die 'the server does not come back';
	note 'killed: ' . join(', ', map { "$_ $killed{$_}" } sort keys %killed) if $with_kills;
	return;
}

# --- checks ------------------------------------------------------------------------------------------------------

my $digest = 'SELECT count(*), coalesce(sum(stack_id), 0), coalesce(sum(value), 0), coalesce(sum(hashint8extended(stack_id, 7) % 1000000007), 0) FROM s';

sub is_whole
{
	my ($node, $expected, $what) = @_;
	is($node->safe_psql('postgres', $digest), $expected, "$what: the rows");
	is($node->safe_psql('postgres', q(SELECT * FROM profstore.verify('s'))), '', "$what: verify is silent");
	return;
}

# Compares the stored rows with the notes of the writers.
sub check_writers
{
	$primary->safe_psql('postgres', join '', map { "COMMIT PREPARED '$_';\n" } split /\n/, $primary->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts'));
	my %found = map { my ($writer, $batch, @rest) = split /\|/; ("$writer/$batch" => "@rest") } split /\n/, $primary->safe_psql('postgres',
		'SELECT series_id / 10, stack_id / 100000, count(*), count(DISTINCT stack_id), min(value), max(value) FROM s GROUP BY 1, 2');
	my ($acknowledged, $in_doubt, %problems) = (0, 0);
	for my $writer (1 .. $writers)
	{
		my (%size, %said);
		for (split /\n/, slurp_file("$directory/writer_$writer"))
		{
			my ($word, $batch, $size) = split ' ';
			$said{$batch} .= " $word" if $word;
			$size{$batch} = $size if defined $size;
		}
		for my $batch (keys %said)
		{
			my $rows = delete $found{"$writer/$batch"};
			my $certain = $said{$batch} =~ /ack|prepared/;
			my $doubtful = !$certain && $said{$batch} =~ /sent|at_once/;

			$acknowledged++ if $certain;
			$in_doubt++ if $doubtful;
			my $problem = $certain && !defined $rows ? 'lost' : !$certain && !$doubtful && defined $rows ? 'uncommitted'
			  : defined $rows && $rows ne join(' ', ($size{$batch}) x 4) ? 'torn' : next;
			$problems{$problem}++;
			diag("writer $writer, batch $batch of $size{$batch} ($said{$batch}): " . ($rows // 'no row')) if $problems{$problem} < 5;
		}
	}
	cmp_ok($acknowledged, '>', 50, "$acknowledged batches acknowledged, $in_doubt in doubt");
	is(join(', ', map { "$_ $problems{$_}" } sort keys %problems), '', 'each acknowledged one is there once and whole, none is that was not committed');
	is(join(' ', sort keys %found), '', 'and nothing else');
	return;
}

sub check_readers
{
	my ($answers, $wrong) = (0, 0);
	for my $reader (1 .. 4)
	{
		for my $line (split /\n/, slurp_file("$directory/reader_$reader"))
		{
			next unless $line =~ $answer;
			$answers++;
			$wrong++ if $1 ne '0';
		}
	}
	cmp_ok($answers, '>', 10, "$answers answers to readers");
	is($wrong, 0, 'none of them wrong');
	for my $node ($primary, $standby)
	{
		# A REINDEX CONCURRENTLY that was killed leaves an invalid index behind, which the next REINDEX removes. A parallel worker that starts
		# after its leader was killed finds the leader's memory gone. After a crash the archiver's command is told to quit.
		my $is_harmless = join '|', 'crash of another', 'terminating connection', 'cannot reindex invalid index',
			'could not attach to per-session DSM segment', 'archive command was terminated by signal 3', 'failed archive command was';
		my @bad = grep { /(XX00\d|XX000|58P01) |PANIC:|missing chunk/ && !/$is_harmless/ } split /\n/, slurp_file($node->logfile);
		is(join("\n", @bad[ 0 .. ($#bad < 4 ? $#bad : 4) ]), '', $node->name . ': no internal error in the log');
	}
	return;
}

run_phase($seconds, 1);
check_writers();
my $at_restore_point = $primary->safe_psql('postgres', $digest);
is($primary->safe_psql('postgres', q(SELECT * FROM profstore.verify('s'))), '', 'verify is silent');
$primary->safe_psql('postgres', q(SELECT pg_create_restore_point('quiet')));

run_phase($seconds / 4, 0);
check_writers();
check_readers();

# recovery to this transaction is tested later; compaction runs before and after it
my $xid = $primary->safe_psql('postgres', q(
	BEGIN; INSERT INTO s SELECT '2026-01-02Z', 5, g, 100 FROM generate_series(1, 100) AS g; SELECT txid_current(); COMMIT;
));
my $at_xid = $primary->safe_psql('postgres', $digest);
$primary->safe_psql('postgres', q(SELECT profstore.compact('s'); INSERT INTO s SELECT '2026-01-02Z', 5, 100 + g, 50 FROM generate_series(1, 50) AS g; SELECT profstore.compact('s'); VACUUM s0, s1));
my $now = $primary->safe_psql('postgres', $digest);
is_whole($primary, $now, 'the primary');
# from now on the standby delays replay instead of cancelling queries that conflict with the primary's VACUUM
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\n");
$standby->reload;
$primary->wait_for_catchup($standby);
is_whole($standby, $now, 'the standby');

# a base backup during compaction
$primary->safe_psql('postgres', q(INSERT INTO s SELECT '2026-01-01Z'::timestamptz + b * interval '1 s', 6, b, 1 FROM generate_series(1, 5) AS b));
$now = $primary->safe_psql('postgres', $digest);
in_child(sub { maintain() });
$primary->backup('later');
stop_children();
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($primary, 'later');
$copy->start;
is_whole($copy, $now, 'a base backup');
$copy->stop;

$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
my $last = $primary->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_lsn())');
$primary->safe_psql('postgres', 'CHECKPOINT; SELECT pg_switch_wal()');
$primary->poll_query_until('postgres', "SELECT last_archived_wal >= '$last' FROM pg_stat_archiver") or die 'WAL is not archived';
for ([ 'a restore point', "recovery_target_name = 'quiet'", $at_restore_point ], [ 'a transaction', "recovery_target_xid = '$xid'", $at_xid ])
{
	my ($what, $target, $expected) = @$_;
	my $node = PostgreSQL::Test::Cluster->new("recovered to $what" =~ s/ /_/gr);
	$node->init_from_backup($primary, 'base', has_restoring => 1, standby => 0);
	$node->append_conf('postgresql.conf', "$target\nrecovery_target_action = 'promote'\nrecovery_target_timeline = 'current'\narchive_mode = off\n");
	$node->start;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'recovery does not end';
	is_whole($node, $expected, "recovered to $what");
	$node->safe_psql('postgres', q(SELECT profstore.compact('s')));
	is_whole($node, $expected, "recovered to $what and compacted");
	$node->stop;
}
$standby->promote;
$standby->safe_psql('postgres', q(SELECT profstore.compact('s')));
is_whole($standby, $now, 'the standby, promoted and compacted');
$standby->stop;
$primary->stop;
done_testing();
