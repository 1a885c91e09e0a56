# Backends of workers that are killed in the middle of queries: a query returns an error or the right answer, never a part of it.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Shards qw(store_samples citus_servers);

my $kills = 20;
my (undef, $coordinator, @workers) = citus_servers();
$coordinator->safe_psql('postgres', join(';', sprintf("SELECT citus_set_coordinator_host('%s', %d)", $coordinator->host, $coordinator->port),
	map { sprintf("SELECT citus_add_node('%s', %d)", $_->host, $_->port) } @workers));
$coordinator->safe_psql('postgres', 'CALL profstore.distribute(2)');
store_samples($coordinator, 'postgres');
for my $worker (@workers)
{
	$worker->append_conf('postgresql.conf', 'restart_after_crash = on');
	$worker->reload;
}

my $range = "'2026-01-01', '2026-01-04'";
my @queries = map { "SELECT md5(string_agg(c::text, E'\\n' ORDER BY c::text COLLATE \"C\")) FROM profstore.$_ AS c" } "flamegraph('process_cpu:cpu', $range)",
	"top('process_cpu:cpu', $range, focus => 'f7')", "timeseries('process_cpu:cpu', $range, by => '{node}')", "top_diff('process_cpu:cpu', '2026-01-01', '2026-01-02', '2026-01-02', '2026-01-03')";
my @answers = map { $coordinator->safe_psql('postgres', $_) } @queries;
my %right = map { $_ => 1 } @answers;
is(scalar(keys %right), scalar(@queries), 'each query has an answer of its own');

# Sessions that repeat the queries until they are told to stop, and print each answer or error as a line. Citus ends the coordinator's session if it
# reads in a connection that is idle that the worker's backend was terminated; then the next session begins.
my ($session, $input, $sent, @sessions);
my $folder = PostgreSQL::Test::Utils::tempdir();
sub begin_session
{
	($input, $sent) = ("\\set VERBOSITY terse\n", 0);
	$session = IPC::Run::start([ $coordinator->installed_command('psql'), '-XAtq', '-d', $coordinator->connstr('postgres') ], '<', \$input, '>', "$folder/" . @sessions, '2>&1');
}
sub end_session
{
	eval { $session->finish };
	push(@sessions, { output => slurp_file("$folder/" . @sessions), sent => $sent });
}
sub repeat_queries
{
	if (length($input) == 0)
	{
		$input .= join('', map { "$_;\n" } @queries);
		$sent += @queries;
	}
	return if eval { $session->pump_nb; $session->pumpable };
	end_session();
	begin_session();
}
begin_session();

# Kills a backend while it runs a query for the coordinator: the odd ones with SIGKILL, so that its server restarts.
my %killed = (TERM => 0, KILL => 0);
for my $turn (1 .. $kills)
{
	my $signal = $turn % 2 ? 'KILL' : 'TERM';
	my $worker = $workers[ $turn / 2 % 2 ];
	my $log = '';
	my $killer = IPC::Run::start([ $worker->installed_command('psql'), '-XAtq', '-d', $worker->connstr('postgres') ], '<', \qq(DO \$\$
		DECLARE
			target int;
		BEGIN
			FOR i IN 1 .. 1000000 LOOP
				PERFORM pg_stat_clear_snapshot();
				SELECT a.pid INTO target FROM pg_stat_activity AS a WHERE a.state = 'active' AND a.query LIKE '%node_rows%' AND a.pid <> pg_backend_pid() LIMIT 1;
				IF FOUND THEN
					RAISE NOTICE 'killing';
					EXECUTE format('COPY (SELECT) TO PROGRAM %L', format('kill -$signal %s', target));
					RETURN;
				END IF;
			END LOOP;
		END \$\$;
\\q
), '>', \$log, '2>&1', IPC::Run::timeout(120));
	while ($killer->pumpable)
	{
		repeat_queries();
		$killer->pump_nb;
		select(undef, undef, undef, 0.01);
	}
	$killer->finish;
	$killed{$signal} += $log =~ /killing/;
	my @is_ready = ($worker->installed_command('pg_isready'), '-q', '-d', $worker->connstr('postgres'));
	for (my $tries = 0; $tries < 1200 && !IPC::Run::run(\@is_ready); $tries++) { select(undef, undef, undef, 0.1); }
}
$input .= "\\q\n";
end_session();

# an answer is a line with its md5, or an empty one if there were no rows; the other lines are those of errors
my ($errors, $unanswered, @found, @wrong, @ends) = (0, 0);
for my $number (0 .. $#sessions)
{
	my @lines = split(/\n/, $sessions[$number]{output});
	my @answered = grep { /^([0-9a-f]{32})?$/ } @lines;
	my $failed = grep { /^(ERROR|FATAL):/ } @lines;
	$errors += $failed;
	push(@found, @answered);
	push(@wrong, grep { !$right{$_} } @answered);
	if ($number < $#sessions) { push(@ends, grep { /^FATAL:/ } @lines); }
	else { $unanswered = $sessions[$number]{sent} - @answered - $failed; }
}
note(sprintf('killed by SIGTERM %d, by SIGKILL %d; answers: %d right, %d wrong; %d errors, of which %d ended the session', @killed{'TERM', 'KILL'}, @found - @wrong,
	scalar(@wrong), $errors, $#sessions));
is("$killed{TERM} $killed{KILL}", join(' ', ($kills / 2) x 2), 'each kill met a backend that ran a query');
is(join("\n", @wrong), '', 'no answer is wrong');
is($unanswered, 0, 'each query has an answer or an error');
is(join("\n", @ends), join("\n", ('FATAL:  terminating connection due to administrator command') x $#sessions), 'a session ends only because a backend of a worker was terminated');
cmp_ok($errors, '>', 0, 'some queries failed');
cmp_ok(scalar(@found), '>', 0, 'others were answered');
is($coordinator->safe_psql('postgres', $queries[$_]), $answers[$_], "query $_ is answered again") for 0 .. $#queries;

done_testing();
