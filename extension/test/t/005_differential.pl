# Random statements on columnar and on heap tables: all answers and errors must be equal.
#
# PROFSTORE_TEST_SEED sets the first seed, PROFSTORE_TEST_STATEMENTS the number of statements. Each episode is one session
# with tables of its own; RandomStatements.pm generates its statements. If answers differ, the test looks for the statements
# that are needed to reproduce it, and prints them with the seed.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RandomStatements;
use Test::More;

my $first_seed = $ENV{PROFSTORE_TEST_SEED} // 20260101;
my $wanted = $ENV{PROFSTORE_TEST_STATEMENTS} // 10_000;
my $episode_length = 125;
my $shrink_seconds = 60;
my %method = (h => 'heap', p => 'profstore');

my $node = PostgreSQL::Test::Cluster->new('differential');
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\nmax_prepared_transactions = 4\nautovacuum = off\njit = off\nlog_statement = none\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION profstore');
RandomStatements::know_settings(split /\n/, $node->safe_psql('postgres', "LOAD 'profstore'; SELECT name FROM pg_settings"));

# Moves a cursor forward and backward: the same rows must come in reverse order.
my $walk = q(
	CREATE FUNCTION walk(query text, step int, back int) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		c refcursor;
		row record;
		seen text[] := '{}';
		taken int := 0;
		before int := 0;
	BEGIN
		OPEN c SCROLL FOR EXECUTE query;
		LOOP
			FOR i IN 1 .. step LOOP
				FETCH c INTO row;
				EXIT WHEN NOT FOUND;
				seen := seen || row::text;
				taken := taken + 1;
			END LOOP;
			EXIT WHEN taken % step <> 0 OR taken = before OR taken > 3000;
			before := taken;
			FOR i IN 1 .. least(back, taken - 1) LOOP
				FETCH PRIOR FROM c INTO row;
				IF row::text IS DISTINCT FROM seen[taken - i] THEN
					RETURN 'another row on the way back';
				END IF;
			END LOOP;
			MOVE FORWARD least(back, taken - 1) IN c;
		END LOOP;
		RETURN CASE WHEN taken > 3000 THEN 'many' ELSE (SELECT count(*) || ' ' || md5(string_agg(s, ',' ORDER BY s)) FROM unnest(seen) s) END;
	END $$;
);

sub script
{
	my ($side, $statements) = @_;
	my $script = "\\set VERBOSITY sqlstate\n\\set gid '$side'\nSET client_min_messages = error;\n"
	  . "DROP SCHEMA IF EXISTS $side CASCADE; CREATE SCHEMA $side; SET search_path = $side; SET default_table_access_method = $method{$side};\n"
	  . "SET timezone = 'UTC'; SET extra_float_digits = 1; CREATE DOMAIN small AS int4 CHECK (value > -5);\n$walk";
	for my $number (0 .. $#$statements)
	{
		my $statement = $statements->[$number];
		next if ($statement->{only} // $side) ne $side;
		my $end = $statement->{sql} =~ /^COPY .* FROM STDIN/ ? '' : ';';
		$script .= "\\echo \@$number\n$statement->{sql}$end\n\\echo ! :SQLSTATE\n";
	}
	return $script;
}

# Runs statements on both kinds of tables at once; returns the output lines of each statement, per kind.
sub run_both
{
	my ($statements) = @_;
	my (%out, %run, %answers);
	for my $side (qw(h p))
	{
		my $file = $node->basedir . "/$side.sql";
		append_to_file($file, '');
		open my $handle, '>', $file or die "$file: $!";
		print $handle script($side, $statements);
		close $handle;
		$out{$side} = '';
		$run{$side} = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-f', $file ], '<', \'', '>', \$out{$side}, '2>', '/dev/null');
	}
	for my $side (qw(h p))
	{
		IPC::Run::finish($run{$side});
		my $number;
		for my $line (split /\n/, $out{$side})
		{
			if ($line =~ /^@(\d+)$/) { $number = $1; $answers{$side}[$number] = []; }
			else { push @{ $answers{$side}[$number] }, $line if defined $number }
		}
	}
	$node->poll_query_until('postgres', 'SELECT true') or die 'the server does not come back';
	return \%answers;
}

sub as_text
{
	my ($statement, $lines) = @_;
	return 'no answer' unless defined $lines;
	return join "\n", $statement->{ordered} ? @$lines : sort @$lines;
}

# Returns the first statement whose answers differ, or undef.
sub first_difference
{
	my ($statements) = @_;
	my $answers = run_both($statements);
	for my $number (0 .. $#$statements)
	{
		my $statement = $statements->[$number];
		my %text = map { $_ => as_text($statement, $answers->{$_}[$number]) } qw(h p);
		if (defined $statement->{only})
		{
			my $text = $text{ $statement->{only} };
			my $good = $statement->{clean} ? $text eq "! 00000\n0" : $text =~ /^! (00000|25P02)/m;
			next if $good;
			return { number => $number, h => '(not run)', p => $text };
		}
		return { number => $number, %text } if $text{h} ne $text{p};
	}
	return { answers => $answers };
}

# Removes statements that are not needed for the last one to differ, within a limited time. Statements that run for one kind
# of table alone must still give the same answer.
sub shrink
{
	my ($found, @statements) = @_;
	my $deadline = time() + $shrink_seconds;
	my $differs = sub {
		my ($try) = @_;
		my $now = first_difference($try);
		return ($now->{number} // -1) == $#$try && (!defined $statements[-1]{only} || $now->{p} eq $found->{p});
	};
	for (my $part = int(@statements / 2); $part >= 1; $part = int($part / 2))
	{
		for (my $begin = 0; $begin < $#statements && time() < $deadline;)
		{
			my $end = $begin + $part > $#statements ? $#statements : $begin + $part;
			my @try = @statements[ grep { $_ < $begin || $_ >= $end } 0 .. $#statements ];
			if ($differs->(\@try)) { @statements = @try }
			else { $begin = $end }
		}
	}
	my $smaller = 1;
	while ($smaller && $statements[-1]{query} && time() < $deadline)
	{
		$smaller = 0;
		for my $query (RandomStatements::smaller_queries($statements[-1]{query}))
		{
			my @try = (@statements[ 0 .. $#statements - 1 ], { sql => RandomStatements::render($query), query => $query });
			next unless $differs->(\@try);
			@statements = @try;
			$smaller = 1;
			last;
		}
	}
	return @statements;
}

sub shortened { my ($text) = @_; return length $text > 600 ? substr($text, 0, 600) . ' …' : $text }

my ($count, $failed, $errors, $rows, %kinds) = (0, 0, 0, 0);
for (my $seed = $first_seed; $count < $wanted && $failed < 3; $seed++)
{
	my $statements = RandomStatements::episode($seed, $episode_length);
	my $found = first_difference($statements);
	$count += @$statements;
	if (defined $found->{number})
	{
		my @needed = shrink($found, @{$statements}[ 0 .. $found->{number} ]);
		my $last = first_difference(\@needed);
		$found = $last if defined $last->{number};
		$failed++;
		fail("seed $seed: the same answers");
		diag("PROFSTORE_TEST_SEED=$seed repeats it; these statements are needed:\n",
			map { shortened($_->{sql}) . ";\n" } @needed);
		diag("heap:\n" . shortened($found->{h}) . "\nprofstore:\n" . shortened($found->{p}));
		next;
	}
	for my $number (0 .. $#$statements)
	{
		my $answer = $found->{answers}{h}[$number] // next;
		$rows += @$answer - 1;
		$errors++ if $answer->[-1] ne '! 00000';
		$kinds{ (split ' ', $statements->[$number]{sql})[0] }++;
	}
}
is($failed, 0, "$count statements from seed $first_seed on answer the same");
note("$rows rows, $errors errors; " . join ', ', map { "$_ $kinds{$_}" } sort { $kinds{$b} <=> $kinds{$a} } keys %kinds);
cmp_ok($rows, '>', $count / 2, 'and answer something');
cmp_ok($errors, '<', $count / 10, 'mostly without an error');
$node->stop;
done_testing();
