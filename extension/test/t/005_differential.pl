# The same random statements on a columnar and on a heap table: every answer must be the same.
#
# PROFSTORE_TEST_SEED repeats a run; the seed is printed. Each statement is followed by a digest of the table in
# order, so the first difference tells the statement. At the end EXCEPT ALL compares both ways.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $statements_per_run = 400;
my @settings = (
	'',
	"SET profstore.write_buffer_size = '64kB';",
	'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;');

my @columns;    # of the table now, name => type
my $serial;
my @savepoints;
my $in_transaction;
my %saved;      # columns at BEGIN and at each savepoint
my %cursors;       # open now
my %saved_cursors; # at each savepoint

sub pick { return $_[ int(rand(scalar @_)) ] }

sub value
{
	my ($type) = @_;
	return 'NULL' if rand() < 0.1;
	return pick(-2147483648, 2147483647, int(rand(100)), int(rand(1e9)) - 5e8) if $type eq 'int4';
	return pick('-9223372036854775808', '9223372036854775807', int(rand(50)), int(rand(1e15))) if $type eq 'int8';
	return pick('true', 'false') if $type eq 'bool';
	return pick("'NaN'", "'-Infinity'", '0', rand()) if $type eq 'float8';
	return "'2026-01-01Z'::timestamptz + " . int(rand(1e5)) . " * interval '1 s'";
}

# An expression over g, the row's number.
sub series_value
{
	my ($type) = @_;
	my $n = 1 + int(rand(1000));
	my %by_type = (
		int4 => pick("g", "g % $n", "hashint4(g)", "$n"),
		int8 => pick("g", "g % $n", "hashint8(g)::int8 * $n", "nullif(g % 10, 3)"),
		bool => pick("g % 2 = 0", "g % $n = 0", 'NULL::bool'),
		float8 => pick("g / 7.0", "$n", "sqrt(g)"),
		timestamptz => pick("'2026-01-01Z'::timestamptz + g * interval '1 s'", "'2026-01-01Z'"));
	return $by_type{$type};
}

sub columns_copy { return [ map { [@$_] } @columns ] }

sub forget_cursors { %cursors = () }

sub next_statement
{
	my $r = rand();
	my $list = join ', ', map { $_->[0] } @columns;
	if ($r < 0.30)
	{
		return "INSERT INTO t ($list) VALUES "
		  . join(', ', map { '(' . join(', ', map { value($_->[1]) } @columns) . ')' } 1 .. 1 + int(rand(4)));
	}
	if ($r < 0.42)
	{
		my $rows = pick(1, 10, 1023, 1024, 1025, 3000, 20000);
		$rows = 3000 if $rows == 20000 && rand() < 0.7;
		return "INSERT INTO t ($list) SELECT " . join(', ', map { series_value($_->[1]) } @columns) . " FROM generate_series(1, $rows) g";
	}
	if ($r < 0.46)
	{
		my $rows = int(rand(5)) + 1;
		my $line = join('\t', map { $_->[1] eq 'int4' || $_->[1] eq 'int8' ? int(rand(100)) : '\N' } @columns);
		$line =~ s/\\t/\t/g;
		return "COPY t ($list) FROM STDIN;\n" . ("$line\n" x $rows) . '\\.';
	}
	return "INSERT INTO t SELECT * FROM t ORDER BY $list LIMIT " . int(rand(50)) if $r < 0.50;
	return 'SELECT count(*), count(' . join('), count(', map { $_->[0] } @columns) . ') FROM t' if $r < 0.54;
	return "SELECT $columns[0][0], count(*) FROM t GROUP BY 1 ORDER BY 1, 2 LIMIT 5" if $r < 0.57;
	return "SELECT count(*) FROM t a JOIN t b ON a.$columns[0][0] = b.$columns[0][0] WHERE a.$columns[0][0] BETWEEN 5 AND 6" if $r < 0.59;
	if ($r < 0.66)
	{
		return 'COMMIT' if $in_transaction && rand() < 0.5;
		return 'BEGIN' unless $in_transaction;
	}
	if ($r < 0.69) { return 'ROLLBACK' if $in_transaction }
	if ($r < 0.76) { return 'SAVEPOINT s' . ++$serial if $in_transaction }
	if ($r < 0.81) { return 'ROLLBACK TO ' . pick(@savepoints) if @savepoints }
	if ($r < 0.84) { return 'RELEASE ' . pick(@savepoints) if @savepoints }
	return 'TRUNCATE t' if $r < 0.855 && !%cursors;
	if ($r < 0.875 && @columns < 8 && !%cursors)
	{
		my $type = pick(qw(int4 int8 bool float8 timestamptz));
		my $default = rand() < 0.5 ? '' : ' DEFAULT ' . value($type);
		return 'ALTER TABLE t ADD COLUMN c' . ++$serial . " $type$default";
	}
	return 'ALTER TABLE t DROP COLUMN ' . pick(@columns[ 1 .. $#columns ])->[0] if $r < 0.89 && @columns > 2 && !%cursors;
	if ($r < 0.90 && !%cursors)
	{
		my ($column) = grep { $_->[1] eq 'int4' } @columns[ 1 .. $#columns ];
		return "ALTER TABLE t ALTER COLUMN $column->[0] TYPE int8" if $column;
	}
	return pick('VACUUM t', 'VACUUM FULL t') if $r < 0.915 && !$in_transaction;
	return 'ANALYZE t' if $r < 0.92;
	return 'DO $$ BEGIN FOR i IN 1..50 LOOP BEGIN INSERT INTO t (' . $columns[0][0] . ') VALUES (i); IF i % 7 = 0 THEN PERFORM 1/0; END IF; '
	  . 'EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$' if $r < 0.935;
	if ($in_transaction)
	{
		return 'DECLARE k' . ++$serial . " CURSOR FOR SELECT * FROM t ORDER BY $list" if $r < 0.96;
		return 'FETCH ' . (1 + int(rand(20))) . ' ' . pick(keys %cursors) if %cursors;
	}
	return "SELECT * FROM t ORDER BY $list LIMIT 3";
}

# Follows what a statement does to columns, savepoints and cursors.
sub follow
{
	my ($statement) = @_;
	if ($statement eq 'BEGIN')
	{
		$in_transaction = 1;
		$saved{begin} = columns_copy();
	}
	elsif ($statement =~ /^(COMMIT|ROLLBACK)$/)
	{
		@columns = @{ $saved{begin} } if $statement eq 'ROLLBACK';
		$in_transaction = 0;
		@savepoints = ();
		forget_cursors();
	}
	elsif ($statement =~ /^SAVEPOINT (\w+)/)
	{
		push @savepoints, $1;
		$saved{$1} = columns_copy();
		$saved_cursors{$1} = {%cursors};
	}
	elsif ($statement =~ /^(ROLLBACK TO|RELEASE) (\w+)/)
	{
		my ($what, $name) = ($1, $2);
		pop @savepoints while $savepoints[-1] ne $name;
		if ($what eq 'ROLLBACK TO')
		{
			@columns = map { [@$_] } @{ $saved{$name} };
			%cursors = %{ $saved_cursors{$name} };
		}
		else { pop @savepoints }
	}
	elsif ($statement =~ /ADD COLUMN (\w+) (\w+)/) { push @columns, [ $1, $2 ] }
	elsif ($statement =~ /DROP COLUMN (\w+)/) { my $name = $1; @columns = grep { $_->[0] ne $name } @columns }
	elsif ($statement =~ /ALTER COLUMN (\w+) TYPE int8/) { my $name = $1; $_->[0] eq $name and $_->[1] = 'int8' for @columns }
	elsif ($statement =~ /^DECLARE (\w+)/) { $cursors{$1} = 1 }
	return;
}

sub make_script
{
	my ($seed, $settings) = @_;
	srand($seed);
	@columns = ([ 'id', 'int4' ], [ 'time', 'timestamptz' ], [ 'series_id', 'int4' ], [ 'stack_id', 'int8' ], [ 'value', 'int8' ]);
	@columns = @columns[ 0, 4 ] if $seed % 2;
	($serial, $in_transaction) = (0, 0);
	@savepoints = ();
	forget_cursors();

	my $script = "\\set VERBOSITY terse\nSET timezone = 'UTC'; SET extra_float_digits = 1; $settings\n";
	$script .= 'CREATE TABLE t (' . join(', ', map { "$_->[0] $_->[1]" } @columns) . ");\n";
	for my $number (1 .. $statements_per_run)
	{
		my $statement = next_statement();
		follow($statement);
		my $list = join ', ', map { $_->[0] } @columns;
		$script .= "\\echo -- $number: " . ((split /\n/, $statement)[0] =~ s/'/"/gr) . "\n$statement";
		$script .= $statement =~ /^COPY/ ? "\n" : ";\n";
		$script .= "SELECT count(*) AS rows, md5(string_agg(t::text, ';' ORDER BY $list)) AS digest FROM t;\n";
	}
	$script .= "COMMIT;\n" if $in_transaction;
	return $script;
}

my $node = PostgreSQL::Test::Cluster->new('differential');
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION profstore; CREATE SCHEMA heap; CREATE SCHEMA profstore_am;');

my $first_seed = $ENV{PROFSTORE_TEST_SEED} // 20260101;
for my $run (0 .. $#settings)
{
	my $seed = $first_seed + $run;
	my $script = make_script($seed, $settings[$run]);
	my %answers;
	for my $method (qw(heap profstore))
	{
		my $schema = $method eq 'heap' ? 'heap' : 'profstore_am';
		my ($out, $err) = ('', '');
		$node->psql('postgres',
			"DROP TABLE IF EXISTS $schema.t; SET search_path = $schema; SET default_table_access_method = $method;\n$script",
			stdout => \$out, stderr => \$err, on_error_stop => 0, extra_params => [ '-a' ]);
		$answers{$method} = [ split /\n/, $out ];
		my @errors = grep { /ERROR|FATAL|server closed/ } split /\n/, $err;
		is(scalar(grep { !/division by zero|out of range/ } @errors), 0, "seed $seed, $method: no statement fails")
		  or diag(join "\n", @errors[ 0 .. ($#errors < 5 ? $#errors : 5) ]);
	}
	my @heap = grep { !/default_table_access_method/ } @{ $answers{heap} };
	my @columnar = grep { !/default_table_access_method/ } @{ $answers{profstore} };
	my $statement = '';
	my $difference;
	for my $line (0 .. ($#heap > $#columnar ? $#heap : $#columnar))
	{
		my ($expected, $got) = ($heap[$line] // '(nothing)', $columnar[$line] // '(nothing)');
		$statement = $expected if $expected =~ /^-- \d+:/;
		if ($expected ne $got)
		{
			$difference = "after $statement\nheap:      $expected\nprofstore: $got";
			last;
		}
	}
	is($difference, undef, "seed $seed: $statements_per_run statements answer the same");
	cmp_ok(scalar(grep { /^\d+\|[0-9a-f]{32}$/ } @heap), '>=', $statements_per_run / 2, "seed $seed: and answer something");
	is($node->safe_psql('postgres', q(
		SELECT (SELECT count(*) FROM (SELECT * FROM heap.t EXCEPT ALL SELECT * FROM profstore_am.t) x),
			   (SELECT count(*) FROM (SELECT * FROM profstore_am.t EXCEPT ALL SELECT * FROM heap.t) x))), '0|0',
		"seed $seed: the tables hold the same rows");
}
$node->stop;
done_testing();
