# Every function of the schema with unusual random arguments: a call may be refused, but no server crashes, no error is an internal
# one, and no failed or rolled back call leaves stored rows, visible effects or locks.
#
# PROFSTORE_TEST_SEED sets the first seed, PROFSTORE_TEST_CALLS the number of calls, PROFSTORE_TEST_SECONDS the time in which further calls
# are made. Each seed is one session in a database of its own; OddArguments.pm generates its statements. After a failure, the test looks for
# the statements that are needed to reproduce it, and prints them with the seed.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Crashes;
use IPC::Run ();
use OddArguments;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $first_seed = $ENV{PROFSTORE_TEST_SEED} // 20260101;
my $wanted = $ENV{PROFSTORE_TEST_CALLS} // 2600;
my $deadline = $ENV{PROFSTORE_TEST_SECONDS} ? time() + $ENV{PROFSTORE_TEST_SECONDS} : undef;
my $session_calls = 150;
my $late_ms = 15_000;    # for a statement that is cancelled after two seconds
my $session_seconds = 400;
my $shrink_seconds = 60;
my $most_failures = 10;

# Sessions with odd seeds run on a server with the shared cache.
my %roles = (fuzz_reader => ['read'], fuzz_writer => ['write'], fuzz_both => [ 'read', 'write' ], fuzz_maintainer => [ 'read', 'write', 'maintain' ], fuzz_nobody => []);
my @nodes = map { make_node($_) } 0, 1;
# This function gets the bytes of stored chunks only, because no other caller passes different ones.
my $is_told_of_damage = qr/^stack chunk with first node -?\d+ of dictionary partition -?\d+ is damaged$|^chunk -?\d+ of "profstore\.(function|location)_chunks" cannot be read: /;
my %problem = (
	'terminated' => qr/terminated by signal|PANIC:|TRAP:/,
	'held' => qr/WARNING:.*(leak|not closed|left non-empty|still referenced|still active|problem in alloc|detected write past|you don't own)/);

sub make_node
{
	my ($preloads) = @_;
	my $node = PostgreSQL::Test::Cluster->new("odd_arguments_$preloads");
	$node->init;
	$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\njit = off\nlog_statement = none\nlog_min_messages = warning\nlog_min_error_statement = warning\nrestart_after_crash = on\n"
		. "max_wal_size = 4GB\nprofstore.compaction = off\n" . ($preloads ? "shared_preload_libraries = 'profstore'\n" : ''));
	$node->start;
	$node->safe_psql('postgres', join ';', map { "CREATE ROLE $_ LOGIN" } sort keys %roles);
	for my $database ('filled', 'empty')
	{
		$node->safe_psql('postgres', "CREATE DATABASE $database");
		$node->safe_psql($database, 'CREATE EXTENSION profstore');
		my @psql = ('psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-v', 'empty=' . ($database eq 'empty' ? 'true' : 'false'), '-d', $node->connstr($database));
		IPC::Run::run([ @psql, '-f', "$FindBin::RealBin/odd_arguments.sql" ], '>', '/dev/null') or BAIL_OUT('no fixture');
		for my $role (sort keys %roles)
		{
			$node->safe_psql($database, "SELECT profstore.grant_$_('$role')") for @{ $roles{$role} };
		}
	}
	return $node;
}

# --- the functions to call ---------------------------------------------------------------------------------------

sub rows_of
{
	my ($query) = @_;
	return map { [ split /\|/, $_, -1 ] } split /\n/, $nodes[0]->safe_psql('filled', $query);
}

# Functions with arguments of type internal are left out: SQL cannot call them.
sub functions
{
	my %functions;
	for my $row (rows_of(q(
		SELECT p.oid::regprocedure, p.pronamespace::regnamespace, p.proname, p.prokind, p.provolatile, p.proretset, p.pronargdefaults, p.prorettype IN ('trigger'::regtype, 'event_trigger'::regtype),
			array_to_string(ARRAY(SELECT rolname FROM pg_roles WHERE rolname ~ '^(fuzz_|postgres$)' AND has_schema_privilege(rolname, p.pronamespace, 'USAGE')
				AND has_function_privilege(rolname, p.oid, 'EXECUTE')), ' '), a.name, a.type::regtype
		FROM pg_proc AS p LEFT JOIN LATERAL unnest(p.proargtypes::oid[], p.proargnames[:p.pronargs]) WITH ORDINALITY AS a(type, name, ord) ON true
		WHERE p.pronamespace IN ('profstore'::regnamespace, 'profstore_internal'::regnamespace) AND 'internal'::regtype <> ALL (p.proargtypes) ORDER BY p.oid::regprocedure::text, a.ord)))
	{
		my ($signature, $schema, $name, $kind, $volatility, $set, $optional, $trigger, $roles, $argument, $type) = @$row;
		my %short = ('integer' => 'int4', 'bigint' => 'int8', 'boolean' => 'bool', 'timestamp with time zone' => 'timestamptz');
		$type =~ s/^(integer|bigint|boolean|timestamp with time zone)/$short{$1}/;
		$functions{$signature} //= { schema => $schema, name => $name, kind => $kind, volatility => $volatility, set => $set eq 't', optional => $optional, trigger => $trigger eq 't', roles => $roles, arguments => [] };
		push @{ $functions{$signature}{arguments} }, { name => $argument, type => $type } if $type ne '';
	}
	return [ map { $functions{$_} } sort keys %functions ];
}

sub examples
{
	return [ map { s/\n\\g .*//sr } split /\n=\n/, $nodes[0]->safe_psql('filled', q(SELECT string_agg(example, E'\n=\n' ORDER BY function, example) FROM profstore.help('.'))) ];
}

sub own_settings
{
	return [ rows_of(q(LOAD 'profstore'; SELECT concat_ws('|', name, coalesce(min_val, 'off'), coalesce(max_val, 'on')) FROM pg_settings
		WHERE name LIKE 'profstore.%' AND context IN ('user', 'superuser') ORDER BY name)) ];
}

my $functions = functions();
OddArguments::know($functions, examples(), own_settings());

# --- running -----------------------------------------------------------------------------------------------------

# The script prints its position: "@ number", then "! SQLSTATE message" and the values to compare.
sub script
{
	my ($session) = @_;
	my $script = "\\set VERBOSITY terse\n\\timing on\n\\o /dev/null\n";
	my $number = 0;
	for my $statement (statements($session))
	{
		my ($sql, $sets, $same) = @$statement{qw(sql sets same)};
		$script .= "\\unset $sets\n" if $sets;
		if ($sql =~ /^\\/) { $script .= "$sql\n" }
		else { $script .= "\\echo @ $number\n$sql" . ($sets ? " \\gset\n" : ";\n") . "\\echo ! :SQLSTATE :LAST_ERROR_MESSAGE\n" }
		$script .= "\\echo = :$same->[0] :$same->[1]\n" if $same;
		$number++;
	}
	return "$script\\echo @ end\nROLLBACK;\nRESET ALL;\nSET statement_timeout = 0;\nSELECT fuzz.stored() AS stored, fuzz.left_over() AS left_over \\gset\n\\echo = :stored :left_over\n";
}

sub statements { return (@{ $_[0]{settings} }, map { @$_ } @{ $_[0]{units} }) }

# Runs a session in a database of its own; returns the script's output, and the visible state afterwards.
sub run_session
{
	my ($session) = @_;
	my $node = $nodes[ $session->{seed} % 2 ];
	my ($script, $out, $told) = map { $node->basedir . "/$_" } qw(session.sql session.out session.err);
	my $log_begin = -s $node->logfile;
	open my $handle, '>:utf8', $script or die "$script: $!";
	print $handle script($session);
	close $handle;
	try_psql($node, 'postgres', 'DROP DATABASE IF EXISTS called WITH (FORCE)');
	$node->safe_psql('postgres', "CREATE DATABASE called TEMPLATE $session->{database}");
	my $run = IPC::Run::start([ 'psql', '-Xq', '-d', $node->connstr('called') . " user=$session->{role} client_encoding=UTF8", '-f', $script ],
		'>', $out, '2>', $told, IPC::Run::timeout($session_seconds));
	my $ended = eval { IPC::Run::finish($run); 1 };
	IPC::Run::kill_kill($run) unless $ended;
	$node->stop('immediate') unless $ended;
	$node->start unless $ended;
	wait_for_server($node) or BAIL_OUT('the server does not come back');
	my $after = $node->safe_psql('called', 'SELECT fuzz.stored()');
	return { ended => $ended, out => [ split /\n/, slurp_file($out) ], after => $after, log => substr(slurp_file($node->logfile), $log_begin) };
}

my %count = (calls => 0, errors => 0, cancelled => 0);
my (%called, %answered, @slowest);

# Counts a call; returns the fault in the answer to a statement, if there is one.
sub wrong_answer
{
	my ($statement, $answer, $counts) = @_;
	my ($state, $ms) = @$answer{qw(state ms)};
	return unless defined $state;
	if ($counts && defined $statement->{call})
	{
		$count{calls}++;
		$count{errors}++ if $state ne '00000';
		$count{cancelled}++ if $state eq '57014';
		$called{ $statement->{call} }++;
		$answered{ $statement->{call} }++ if $state eq '00000';
		@slowest = grep { defined } (sort { $b->[0] <=> $a->[0] } @slowest, [ $ms // 0, $statement->{sql} ])[ 0 .. 4 ];
	}
	return "internal error $state: $answer->{message}" if $state =~ /^XX/ && $answer->{message} !~ $is_told_of_damage;
	return "it was not cancelled for $ms ms" if ($ms // 0) > $late_ms;
	my ($before, $after) = @{ $answer->{compared} // [] };
	return $statement->{why} if defined $after && $before !~ /^:/ && $after !~ /^:/ && $before ne $after;
	return;
}

# Returns the first fault and the number of its statement, or nothing.
sub find_problem
{
	my ($session, $counts) = @_;
	my $run = run_session($session);
	my @statements = statements($session);
	my (@answers, $number);
	for my $line (@{ $run->{out} })
	{
		if ($line =~ /^@ (\d+|end)$/) { $number = $1 eq 'end' ? @statements : $1; $answers[$number] = {}; }
		next unless defined $number;
		if ($line =~ /^! (\w{5}) ?(.*)$/) { @{ $answers[$number] }{qw(state message)} = ($1, $2) }
		elsif ($line =~ /^Time: ([\d.]+) ms/) { $answers[$number]{ms} = $1 }
		elsif ($line =~ /^= (\S+)(?: (\S.*)?)?$/) { $answers[$number]{compared} = [ $1, $2 ] }
	}
	for my $n (grep { defined $answers[$_] } 0 .. $#statements)
	{
		my $what = wrong_answer($statements[$n], $answers[$n], $counts);
		return { what => $what, number => $n } if defined $what;
	}
	$number = $#statements if !defined $number || $number > $#statements;
	return { what => 'the session did not come to its end', number => $number } unless $run->{ended};
	for my $kind (sort keys %problem)
	{
		return { what => "the server's log has: $1", number => $number } if $run->{log} =~ /^(.*$problem{$kind}.*)$/m;
	}
	my ($last, $left_over) = @{ $answers[ $#statements + 1 ]{compared} // [] };
	return { what => 'the connection was lost', number => $number } unless defined $last;
	return { what => 'a new session sees something else', number => $number } if $run->{after} ne $last;
	return { what => "left over: $left_over", number => $number } if defined $left_over;
	return;
}

# --- the statements needed for a fault -----------------------------------------------------------------------------

sub kind_of { my ($problem) = @_; return $problem->{what} =~ s/\d+/N/gr }

# Removes units, settings and calls that are not needed to reproduce the fault, within a limited time.
sub shrink
{
	my ($session, $problem) = @_;
	my $until = time() + $shrink_seconds;
	my %least = %$session;
	my $still = sub {
		my ($try) = @_;
		return 0 if time() > $until;
		my $now = find_problem($try, 0);
		return defined $now && kind_of($now) eq kind_of($problem);
	};
	my $at = $problem->{number} - @{ $session->{settings} };
	my @units = @{ $session->{units} };
	my $last = 0;
	$at -= @{ $units[ $last++ ] } while $last < $#units && $at >= @{ $units[$last] };
	my $leave_out = sub {
		my ($what, @list) = @_;
		for (my $part = @list; $part >= 1; $part = int($part / 2))
		{
			for (my $begin = 0; $begin < @list;)
			{
				my @try = @list[ grep { $_ < $begin || $_ >= $begin + $part } 0 .. $#list ];
				if ($still->($what->(@try))) { @list = @try }
				else { $begin += $part }
			}
		}
		return @list;
	};
	return \%least unless $still->(\%least);
	$least{units} = [ $leave_out->(sub { return { %least, units => [@_] } }, @units[ 0 .. $last ]) ];
	$least{settings} = [ $leave_out->(sub { return { %least, settings => [@_] } }, @{ $least{settings} }) ];
	my @rest = map { @$_ } @{ $least{units} };
	my $with = sub { my %kept = map { $_ => 1 } @_; return { %least, units => [ [ grep { !defined $_->{call} || $_->{sets} || $kept{$_} } @rest ] ] } };
	$least{units} = $with->($leave_out->($with, grep { defined $_->{call} } @rest))->{units};
	return \%least;
}

sub shown
{
	my ($statement) = @_;
	my $sql = $statement->{sql} . ($statement->{sets} ? ' \gset' : $statement->{sql} =~ /^\\/ ? '' : ';');
	return (length $sql > 4000 ? substr($sql, 0, 4000) . ' …' : $sql) . "\n";
}

my ($failed, %seen) = (0);
my $seed = $first_seed;
for (; $failed < $most_failures && (defined $deadline ? time() < $deadline : $count{calls} < $wanted); $seed++)
{
	my $session = OddArguments::session($seed, $session_calls);
	my $problem = find_problem($session, 1) // next;
	next if $seen{ kind_of($problem) }++;
	$failed++;
	my $least = shrink($session, $problem);
	fail("seed $seed: $problem->{what}");
	diag("PROFSTORE_TEST_SEED=$seed PROFSTORE_TEST_CALLS=1 repeats it, as $session->{role} in the database \"$session->{database}\"; these statements are needed:\n",
		join '', map { shown($_) } statements($least));
}
is($failed, 0, "$count{calls} calls in sessions of the seeds $first_seed to " . ($seed - 1));
note("$count{errors} errors, $count{cancelled} cancelled; the slowest:\n" . join "\n", map { sprintf '%.0f ms: %s', $_->[0], substr($_->[1], 0, 300) } @slowest);
note('calls, and how many were answered: ' . join ', ', map { "$_ $called{$_}/" . ($answered{$_} // 0) } sort keys %called);
if ($count{calls} >= 2600)
{
	is(join(' ', grep { !$called{$_} } map { $_->{name} } @$functions), '', 'every function was called');
	cmp_ok($count{errors}, '<', $count{calls} * 0.8, 'some were answered');
}
$_->stop for @nodes;
done_testing();
