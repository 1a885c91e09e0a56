# Generates calls of every function of the schema with unusual arguments, equal for every run of a seed.
#
#   OddArguments::know(\@functions, \@examples, \@settings);
#   my $session = OddArguments::session($seed, $calls);
#
# A session has a role, a database ("filled" or "empty"), settings and units. A unit leaves a transaction in its previous
# state; it is a list of statements, each a hash:
#   sql
#   call      the name of the function, if the statement is one of the counted calls
#   sets      a psql variable that gets the selected value
#   same      two variables that must have equal values, if both are set
#   why       the meaning of a difference between them
# A statement may also be a psql command.
package OddArguments;
use strict;
use warnings;

my $timeout = '2s';    # of each call

# Arguments by name that a function accepts, so that its other arguments are tested.
my $cpu = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta';
my $memory = 'memory:inuse_space:bytes:space:bytes';
my @selectors = ($cpu, $cpu, $memory, qq($cpu\{node="a"}), qq({node=~"a|b",comm!="x"}), qq(avg_over_time($memory)), qq(max_over_time($memory\{node="a"})), qq(last_over_time({node!~"c.*"})));
my @filters = ('work', 'm.*c', '{function="main"}', '{mapping=~"libc.*"}', '{file*="main"}', '{address="0x1000"}', '', 'nothing');
my @stack_lists = ('{1,2}', '{1,1,2,3}');
my @relations = ('profstore.samples', 'profstore.samples_20260103', 'profstore.samples_20260104', 'profstore.samples_minute', 'profstore.samples_hour',
	'profstore.samples_minute_20260101', 'profstore.segments', 'profstore.stack_chunks', 'profstore.stacks', 'profstore.segments_pkey', 'profstore.series_ids',
	map({ "fuzz.$_" } qw(own heap lists parted parted_1 unlogged heap_index numbers pair far look seen)), 'pg_class', 'pg_catalog.pg_stats',
	'pg_toast.pg_toast_1255', 'information_schema.tables', 'pg_temp.passing');
my %found = (
	selector => \@selectors, base_selector => \@selectors, profile_type => [ $cpu, $memory ], default_type => [$cpu],
	function => [ 'main', 'work', 'memcpy' ], filename => ['main.c'], (map { $_ => \@filters } qw(focus ignore show hide)),
	granularity => [qw(function file line address)], contents => [ 'int main()', "a\nb\n" ], label => [qw(node comm)], tier => [qw(minute hour)],
	action => [qw(minute hour drop trim)], by => [ '{node}', '{node,comm}' ], column_name => [qw(stack_id id time)], partition => [qw(tool other)],
	from_ts => ['2026-01-01Z'], base_from => ['2026-01-01Z'], to_ts => ['2026-01-05Z'], base_to => ['2026-01-04Z'], at => ['2026-01-03 12:00Z'],
	before => [ '2026-01-02Z', '2026-01-04 12:00Z' ], first_time => ['2026-01-01Z'], last_time => ['2026-01-05Z'], step => [ '1 hour', '1 minute' ],
	width => ['1 ms'], labels => [ '{"node": "a"}', '{"comm": "x"}' ], rel => \@relations, part => \@relations, profile_types => [ "{$cpu}", "{$cpu,$memory}" ],
	location_ids => \@stack_lists, depths => [ '{1,1}', '{2}', '{4}' ], series_ids => ['{1,2}'], tables => ['{16384}'], role => [qw(fuzz_reader fuzz_nobody)],
	epoch => [ '1', '2' ], batch => [ '1', '2' ], sample_labels => [ '{comm}', '{tid,pid}' ]);
my %found_of_type = (
	text => [ 'a', 'main' ], int4 => [ 0, 1, 2, 100 ], int8 => [ 0, 1, 5 ], bool => [qw(t f)], interval => [ '1 hour', '1 day', '1000 years' ],
	timestamptz => ['2026-01-03Z'], uuid => ['12345678-1234-1234-1234-123456789abc'], jsonb => ['{}'], name => ['stack_id'], regclass => \@relations,
	regrole => ['fuzz_reader'], 'profstore.stack_sums' => [ '{0:1,1:5}', '{1:2,5:-7,8:9223372036854775807}' ], cstring => ['{0:1}'], oid => [1259],
	'text[]' => ['{a}'], 'int4[]' => ['{1,2}'], 'int8[]' => ['{1,2}'], 'jsonb[]' => [q({"{\"node\": \"a\"}"})], 'name[]' => ['{stack_id}'], 'oid[]' => ['{1259}']);

# Unusual values of each type.
my @timestamps = ('infinity', '-infinity', '4713-01-01 00:00:00 BC', '0001-01-01 BC', '294276-12-31 23:59:59.999999Z', '1970-01-01Z', '2000-01-01Z', '1999-12-31 23:59:59.999999Z',
	'2026-01-03 00:00:00.000001Z', '2026-01-05Z', '2026-01-01Z', '9999-12-31Z', '1677-09-21Z', '2262-04-12Z', '2038-01-19 03:14:08Z', 'now', 'epoch', 'not a time');
my @early = ('-infinity', '4713-01-01 00:00:00 BC', '1677-09-21Z', '1999-12-31 23:59:59.999999Z', '2026-01-01 00:00:10Z', '2026-01-03 11:59:59.999999Z');
my @late = ('infinity', '294276-12-31 23:59:59.999999Z', '2262-04-12Z', '9999-12-31Z', '2026-01-03 12:00:00.000001Z', '2026-01-04 23:59:59.999999Z');
my %times = ((map { $_ => \@early } qw(from_ts base_from first_time)), (map { $_ => \@late } qw(to_ts base_to last_time)));
my @intervals = ('0', '-1 s', '1 us', '-1 us', '178000000 years', '-178000000 years', '1 month', '-1 month', '1 month -30 days', '1 day -24 hours', '2147483647 days',
	'-2147483648 days', '2562047788 hours', '1 year 1 month 1 day 1 us', '1 s', '7 days', '100 years', 'infinity');
my @patterns = ('(a*)*b', '((a+)+)+$', '(x?){40}x{40}', '(.*)\1(.*)\2', '(((((a{0,255}){0,255}){0,255}){0,255}){0,255})', '[[.hyphen.]]', '[[=a=]]', '(?=a)', '(?!a)b', '***=a.b',
	'***:(?q)a', '***:', '(', ')', '[', '[a', 'a{', 'a{2,1}', 'a{1,70000}', '*', '+', '?', '\\', '\\1', '\\xffffffffff', '\\U00110000', '[z-a]', '[[:nothing:]]', '(?i)M', '(?n)^$', '|', '||', '()', '\\y',
	'\\m', '^*', '$^', '.{255}', '(?:(?:(?:(?:.?){9}){9}){9}){9}z', '(' x 300, '(' x 300 . ')' x 300, 'a|' x 500, '.*' x 60, '\\Z');
my @texts = ('', ' ', "\t\n\r", "it's", '"', '\\', '%', '_', '%s%n%x', '$1', '{}', '{', '}', '{=}', '{a}', '{a=}', '{a="', '{a="b"', '{a="b",}', '{,}', '{a="b"}}', '{a=~"("}', '{a=~"(a*)*b"}', '{a="\\x"}',
	'{a="\\xff"}', '{a="\\ud800"}', '{a="\\U00110000"}', '{a="\\000"}', "{a='b'}", '{a=`b`}', '{__name__="a"}', '{a="b"} ', 'avg_over_time(', 'avg_over_time()', 'max_over_time(max_over_time({}))',
	'over_time({})', 'a:b:c:d:e:delta:f', ':::::', 'a:b:c:d:e', ':', 'NULL', 'null', '-1', '1e400', "\x{feff}", "\x{1f4a9}" x 3, "a\x{301}", "\x{10fffd}", "\x01", ';', ';;', 'a;;b 1', 'a 9223372036854775808',
	'a -1', "a 1\nb", 'main 1 2', "tool 1 1.0: 1 cycles:\n\t", "tool 1 1.0:\n\tzz", "tool 99999999999 -1.0: x:\n\t0 a (b)\n\n", 'pg_temp', 'profstore', 'samples', 'minute', 'hour', 'trim', 'drop',
	'__name__', 'a' x 255, 'a' x 256, '<script>', '../../etc/passwd', 'line', 'mapping');
my @jsons = ('null', 'true', '0', '-1e400', '"a"', '[]', '[{}]', '{}', '{"": ""}', '{"a": null}', '{"a": 1}', '{"a": {"b": []}}', '{"a": ""}', '{"__name__": "a"}', '{"a b": "c"}', '{"1a": "c"}',
	'{"a": "b", "a": "c"}', '{"a": "\ud83d\ude00"}', '{"a": "\u0001"}', '{', '', '{"__name__": ""}', '{"é": "é"}');
my @integers = (-2147483648, 2147483647, 0, -1, 1, 2, 3, 50, 255, 256, 1023, 1024, 1025, 65535, 65536, 1048576, 268435455, 268435456, 1073741823, 1073741824, 2147483646);
my @bigints = ('-9223372036854775808', '9223372036854775807', 0, -1, 1, 4294967295, 4294967296, '-4294967296', '4611686018427387904', 1099511627776, 281474976710656, '-9223372036854775807');
my @sums = ('{}', '{', '{0:1', '{0:}', '{:1}', '{0:1,0:2}', '{-1:1}', '{0:9223372036854775807,1:9223372036854775807}', '{0:9223372036854775808}', '{9223372036854775807:1}', '{0:-9223372036854775808}',
	'{1:0}', '{99999999:5}', '{2:1,1:1}', '{0:1}}', '', ' {0:1} ', '{ 0 : 1 , 1 : 2 }', '{0:1.5}', '{4294967296:1}', '{1099511627776:3}');
my %odd = (
	text => sub { pick(sub { pick(@texts) }, sub { pick(@patterns) }, sub { spoiled(pick(@selectors)) }, sub { spoiled(pick(@filters)) })->() },
	int4 => sub { pick(@integers) }, int8 => sub { pick(@bigints, @integers) }, bool => sub { pick(qw(t f)) }, timestamptz => sub { pick(@timestamps) },
	interval => sub { pick(@intervals) }, jsonb => sub { chance(0.3) ? spoiled('{"node": "a", "comm": "b"}') : pick(@jsons) }, name => sub { pick(@texts, qw(stack_id ctid xmin tableoid id value)) },
	uuid => sub { pick('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'x') }, regclass => sub { pick(@relations, 0, 1, 4294967295, 999999999) },
	regrole => sub { pick(qw(postgres fuzz_writer fuzz_nobody pg_monitor pg_read_all_data public 0 999999999), '"a role"') }, oid => sub { pick(0, 1, 1259, 4294967295) },
	'profstore.stack_sums' => sub { chance(0.3) ? spoiled('{0:12,1:5,7:-3}') : pick(@sums) }, cstring => sub { pick(@sums, @texts) }, bytea => sub { pick('', '\\x', '\\x00', '\\x1f8b', '\\x1f8b0800', '\\xff', 'a') });

my @forms = qw(alone block block twice written cursor prepared explained example example aggregated series listed received repeated interned);
my @roles = (('postgres') x 6, ('fuzz_reader') x 3, ('fuzz_both') x 3, ('fuzz_maintainer') x 3, 'fuzz_writer', 'fuzz_nobody');
my @settings = (
	[qw(work_mem 64kB 4MB)], [qw(maintenance_work_mem 1MB 64MB)], [qw(hash_mem_multiplier 1 1000)], [ 'timezone', 'UTC', 'Asia/Kathmandu', 'America/New_York', '<+14>-14', 'posixrules' ],
	[ 'datestyle', 'ISO', 'SQL, DMY', 'German', 'Postgres, YMD' ], [qw(intervalstyle iso_8601 sql_standard postgres_verbose)], [qw(standard_conforming_strings off)], [qw(row_security off)],
	[ 'default_transaction_isolation', 'repeatable read', 'serializable', 'read uncommitted' ], [qw(default_transaction_read_only on)], [qw(default_table_access_method profstore)],
	[qw(plan_cache_mode force_generic_plan force_custom_plan)], [qw(bytea_output escape)], [qw(extra_float_digits -15 3)], [ 'search_path', '', 'pg_temp, profstore', 'profstore, fuzz' ], 
	[qw(enable_hashagg off)], [qw(enable_seqscan off)], [qw(enable_indexscan off)], [qw(debug_parallel_query regress on)], [qw(force_parallel_mode regress on)], [qw(parallel_setup_cost 0)], [qw(cursor_tuple_fraction 0 1)],
	[qw(lc_messages C)], [qw(xmlbinary hex)], [qw(synchronous_commit off)], [qw(temp_buffers 100)], [qw(from_collapse_limit 1)], [qw(constraint_exclusion on)], [qw(array_nulls off)], [qw(transform_null_equals on)],
	[qw(session_replication_role replica)], [qw(check_function_bodies off)], [qw(quote_all_identifiers on)], [ 'default_tablespace', 'pg_default' ], [qw(gin_fuzzy_search_limit 1)], [qw(max_parallel_workers_per_gather 0 4)]);

my (@all, @functions, @routines, @aggregates, @examples);

sub pick { return $_[ int(rand(scalar @_)) ] }
sub chance { return rand() < $_[0] }

# Functions are hashes: name, kind, volatility, set, arguments (name, type), optional (how many have defaults), trigger (it is made to be called by one), roles that may call it.
# Settings are names, each with values at its ends.
sub know
{
	my ($functions, $examples, $own_settings) = @_;
	@all = @$functions;
	@examples = @$examples;
	push @settings, @$own_settings;
	return;
}

# --- arguments ---------------------------------------------------------------------------------------------------

# Changes the text at one place.
sub spoiled
{
	my ($text) = @_;
	my $at = int(rand(length($text) + 1));
	return substr($text, 0, $at) if chance(0.25);
	return substr($text, 0, $at) . pick('{', '}', '"', "'", '`', '\\', ',', '=', '~', '!', '(', ')', ':', ' ', "\n", "\x{e9}", '0', '-', '*') . (chance(0.5) ? substr($text, $at) : substr("$text ", $at + 1));
}

# Doubles a backslash, so that its meaning does not depend on standard_conforming_strings.
sub quoted
{
	my ($text) = @_;
	return 'NULL' unless defined $text;
	$text =~ s/'/''/g;
	return $text =~ s/\\/\\\\/g ? "E'$text'" : "'$text'";
}

sub odd_array
{
	my ($element) = @_;
	my $one = quoted($found_of_type{$element} ? pick(@{ $found_of_type{$element} }) : undef) . "::$element";
	return pick(
		sub { "'{}'" }, sub { "'{NULL}'" }, sub { "ARRAY[$one, NULL, $one]" }, sub { "ARRAY[ARRAY[$one, $one], ARRAY[$one, $one]]" }, sub { "array_fill($one, ARRAY[2], ARRAY[-5])" },
		sub { "array_fill($one, ARRAY[2, 2], ARRAY[2147483645, 0])" }, sub { "array_fill($one, ARRAY[50])" }, sub { "array_fill($one, ARRAY[10000])" }, sub { "array_fill(NULL::$element, ARRAY[50])" },
		sub { 'ARRAY[' . join(', ', map { argument('', $element) } 1 .. 1 + int(rand(4))) . ']' })->();
}

sub odd_bytes
{
	return "fuzz.spoil('" . pick(qw(pprof pprof raw raw chunk segment sums ids)) . "', " . int(rand(1e6)) . ')' if chance(0.85);
	return quoted($odd{bytea}->()) . '::bytea';
}

# Returns an argument that the function may accept.
sub usual
{
	my ($name, $type) = @_;
	return "(SELECT bytes FROM fuzz.payloads WHERE name = '" . ($name eq 'profile' ? pick(qw(pprof raw)) : pick(qw(chunk ids))) . "')" if $type eq 'bytea';
	return "(SELECT sums FROM fuzz.sums WHERE name = '" . pick(qw(delta heap)) . "')" if $type eq 'profstore.stack_sums' && chance(0.7);
	return '(SELECT ids FROM profstore.epoch)' if $name eq 'epoch' && chance(0.8);
	my $values = $found{$name} // $found_of_type{$type};
	return 'NULL' if !$values || $name =~ /^(focus|ignore|show|hide|base_selector)$/ && chance(0.6);
	return quoted(pick(@$values));
}

sub odd
{
	my ($name, $type) = @_;
	return 'NULL' if chance(0.12);
	return quoted(pick(@{ $times{$name} })) if $times{$name} && chance(0.7);
	return odd_array($1) if $type =~ /^(.*)\[\]$/;
	return odd_bytes() if $type eq 'bytea';
	return "repeat(" . quoted(pick('x', 'main;', '{a="b"}', '(', '.*')) . ', ' . pick(1000, 100_000, 2_000_000) . ')' if $type eq 'text' && chance(0.06);
	return quoted(exists $odd{$type} ? $odd{$type}->() : pick(undef, @texts));
}

sub argument
{
	my ($name, $type, $share) = @_;
	return '(SELECT ' . argument($name, $type, $share) . ')' if chance(0.03);
	return variadic_any() if $type eq '"any"';
	my $value = chance($share // 0.5) ? odd($name, $type) : usual($name, $type);
	return $type eq 'cstring' && chance(0.5) ? $value : "$value\::$type";
}

# Arguments for functions that EXECUTE a text.
sub without_query
{
	my ($name, $type, $share) = @_;
	my $value = argument($name, $type, $share);
	return $value =~ /SELECT/ ? quoted(pick(@{ $found_of_type{$type} // [undef] })) : $value;
}

# Arguments for functions that accept every type.
sub variadic_any
{
	my @values = ('NULL', "'a'", '1', '1.5', "'{1,2}'::int4[]", "'{}'::text[]", "'{{1},{2}}'::int4[]", 'NULL::int4[]', 'ROW(1, 2)', "'{1,NULL}'::int8[]", "'a'::name", "'1 2'::int2vector", "'1 2'::oidvector", "'[1,2]'::int4range",
		'true', "'{\"a\": 1}'::jsonb", "'\\x00'::bytea", 'ARRAY[ROW(1, 2)]', "'(1,2)'::point", "'{[1,2]}'::int4multirange", "'{0:1}'::profstore.stack_sums", 'now()', 'ARRAY[NULL]::text[]');
	return 'VARIADIC ' . pick('NULL', "'{1,2}'::int4[]", "'{}'::text[]", 'NULL::int4[]', "'{{1},{2}}'::int8[]", "'{NULL}'::text[]", '1', "ARRAY['{1}'::int4[], '{2}']", "'{\"{}\"}'::jsonb[]") if chance(0.4);
	return join ', ', map { pick(@values) } 1 .. pick(1, 1, 2, 3, 50);
}

# Returns a call of a function. Mostly one or two of its arguments are unusual.
sub call
{
	my ($function, $values) = @_;
	my @arguments = @{ $function->{arguments} };
	my $share = pick(0, 1, 1, 1, 2, 2, 4, scalar @arguments) / (@arguments || 1);
	my $given = @arguments - ($function->{optional} && chance(0.4) ? int(rand($function->{optional} + 1)) : 0);
	my @values = $values ? @$values : map { argument($arguments[$_]{name}, $arguments[$_]{type}, $share) } 0 .. $given - 1;
	my $named = !grep({ $_->{name} eq '' || $_->{type} eq '"any"' } @arguments) ? chance(0.35) ? int(rand(@values + 1)) : @values : @values;
	my @parts = map { $_ >= $named ? "\"$arguments[$_]{name}\" => $values[$_]" : $values[$_] } 0 .. $#values;
	@parts = (@parts[ 0 .. $named - 1 ], reverse @parts[ $named .. $#parts ]) if $named < @parts;
	return "$function->{schema}.$function->{name}(" . join(', ', @parts) . ')';
}

# --- statements --------------------------------------------------------------------------------------------------

sub plain { return { sql => $_[0] } }
sub counted { return { sql => $_[0], call => $_[1]{name} } }

# Sets a psql variable to the stored state; later states must be equal to the first.
sub stored
{
	my ($variable, $same, $why) = @_;
	return (plain('SET statement_timeout = 0'), { sql => "SELECT fuzz.stored() AS $variable", sets => $variable, $same ? (same => [ $same, $variable ], why => $why) : () },
		plain("SET statement_timeout = '$timeout'"));
}

sub select_of
{
	my ($function, $call) = @_;
	return "CALL $call" if $function->{kind} eq 'p';
	return "SELECT $call" if chance(0.25) || !$function->{set} && chance(0.5);
	return "SELECT * FROM $call WITH ORDINALITY LIMIT " . pick(0, 1, 2, 'NULL') if chance(0.2);
	return "SELECT r.* FROM generate_series(1, 3) AS g, LATERAL $call AS r" if chance(0.05);
	return "SELECT count(*), md5(string_agg(r::text, ',')) FROM $call AS r" if chance(0.3);
	return "SELECT * FROM $call";
}

sub any_statement
{
	my $function = shift // pick(@routines);
	return counted(select_of($function, call($function)), $function);
}

sub begin
{
	return 'BEGIN' . pick('', '', '', ' ISOLATION LEVEL REPEATABLE READ', ' ISOLATION LEVEL SERIALIZABLE', ' READ ONLY', ' ISOLATION LEVEL SERIALIZABLE READ ONLY');
}

# A call that succeeds outside a transaction block may store rows; one that fails may not.
sub alone
{
	my $statement = any_statement();
	return (stored('before'), $statement, { sql => "SELECT :'SQLSTATE' <> '00000' AS failed", sets => 'failed' }, plain('\if :failed'),
		stored('after', 'before', 'something of a failed call is stored'), plain('\endif'));
}

# Calls of one or of several functions, each rolled back.
sub block
{
	my ($function) = @_;
	my @calls = map { (plain('SAVEPOINT s'), any_statement($function), plain('ROLLBACK TO s')) } 1 .. ($function ? 3 : 2 + int(rand(8)));
	return (plain(begin()), stored('before'), @calls, stored('after', 'before', 'calls were rolled back, and the transaction sees something of them'), plain('ROLLBACK'));
}

# Functions marked stable or immutable return equal results when called again, and write nothing.
sub twice
{
	my $function = pick(grep { $_->{volatility} ne 'v' } @functions);
	my $call = call($function);
	my $say = sub { return (%{ counted("SELECT coalesce(md5(string_agg(r::text, ',' ORDER BY r::text)), 'nothing') AS $_[0] FROM $call AS r", $function) }, sets => $_[0]) };
	my $xid = sub { return (sql => "SELECT coalesce(pg_current_xact_id_if_assigned()::text, 'none') AS $_[0]", sets => $_[0]) };
	return (
		plain('BEGIN ISOLATION LEVEL REPEATABLE READ'), plain('SAVEPOINT s'), +{ $say->('first') }, plain('ROLLBACK TO s'),
		+{ $say->('second'), same => [ 'first', 'second' ], why => 'it says something else the second time' }, plain('ROLLBACK'),
		plain('BEGIN'), +{ $xid->('none') }, +{ $say->('third') }, +{ $xid->('writes'), same => [ 'none', 'writes' ], why => 'it is not volatile, and writes' }, plain('ROLLBACK'));
}

sub odd_rows
{
	my $time = pick("'2026-01-03 06:00Z'", argument('', 'timestamptz', 0.7));
	return "INSERT INTO " . pick('profstore.samples', 'profstore.samples', 'fuzz.own (time, series_id, stack_id, value)') . " SELECT $time, " . pick(1, 2, argument('', 'int4', 0.6)) . ', ' . pick(1, 2, argument('', 'int8', 0.6))
	  . ', ' . pick(1, argument('', 'int8', 0.7)) . ' FROM generate_series(1, ' . pick(1, 3, 100, 5000) . ')';
}

# Samples of stacks. There are only a few stacks, so that a rolled back one soon comes again.
sub stack_rows
{
	my @stacks = map { join ';', map { pick(qw(main a b)) } 1 .. 1 + int(rand(3)) } 1 .. 3;
	my $at = "'2026-01-03 12:00Z'";
	return "INSERT INTO profstore.samples SELECT $at, 1, fuzz.put_stack(s), 7 FROM unnest('{" . join(',', @stacks) . "}'::text[]) AS s" if chance(0.5);
	return "SELECT profstore.import_folded('" . join(" 3\n", @stacks) . " 4', '{\"comm\": \"" . pick(qw(x y)) . "\"}', $at)";
}

# An id that was rolled back may be given to another stack: a new session tests which of them is stored.
sub interned
{
	return (plain('BEGIN'),
		(map { (plain('SAVEPOINT s'), { sql => stack_rows(), call => 'intern_stacks' }, plain(pick('ROLLBACK TO s', 'RELEASE s')), plain('\\if :ERROR'), plain('ROLLBACK TO s'), plain('\\endif')) } 1 .. 8),
		plain('COMMIT'));
}

# Waiting rows, stacks and names that no other session sees, below savepoints. A new session must see the committed part.
sub written
{
	my @steps;
	for my $step (1 .. 3 + int(rand(6)))
	{
		my $statement = pick(sub { plain(odd_rows()) }, sub { plain(stack_rows()) }, \&any_statement)->();
		push @steps, plain('SAVEPOINT s'), $statement, plain(chance(0.5) ? 'ROLLBACK TO s' : 'RELEASE s'), plain('ROLLBACK TO s'), plain('RELEASE s') if chance(0.6);
		push @steps, plain('SAVEPOINT s'), $statement, plain('\if :ERROR'), plain('ROLLBACK TO s'), plain('\endif'), plain('RELEASE s') if @steps == 0 || chance(0.4);
	}
	return (plain('BEGIN'), @steps, plain('COMMIT')) if chance(0.2);
	return (plain('BEGIN'), stored('before'), plain('SAVEPOINT t'), @steps, plain('ROLLBACK TO t'), stored('after', 'before', 'it was rolled back, and the transaction sees something of it'), plain('ROLLBACK'),
		stored('later', 'before', 'it was rolled back, and the session sees something of it'));
}

sub cursor
{
	my $function = pick(@functions);
	my $query = select_of($function, call($function));
	my $hold = chance(0.2) ? 'WITH HOLD' : '';
	return (
		plain(begin()), plain('DECLARE c ' . pick('', 'SCROLL', 'BINARY', 'INSENSITIVE') . " CURSOR $hold FOR $query"),
		counted('FETCH 1 FROM c', $function), plain('\\if :ERROR'), plain('\\else'), counted(pick('FETCH PRIOR FROM c', 'MOVE 5 IN c', 'FETCH ALL FROM c', 'FETCH ABSOLUTE -1 FROM c', 'CLOSE c'), $function), plain('\\endif'),
		plain($hold && chance(0.5) ? 'COMMIT' : 'ROLLBACK'), plain('CLOSE ALL'));
}

sub prepared
{
	my $function = pick(grep { !grep { $_->{type} =~ /^("any"|cstring)$/ } @{ $_->{arguments} } } @functions);
	my @arguments = @{ $function->{arguments} };
	my $types = join ', ', map { $_->{type} } @arguments;
	my $call = call($function, [ map { "\$$_" } 1 .. @arguments ]);
	my $prepare = 'PREPARE p' . ($types ? " ($types)" : '') . ' AS ' . select_of($function, $call);
	my @run = map {
		my $share = pick(0, 0.2, 0.6);
		my $values = join ', ', map { without_query($_->{name}, $_->{type}, $share) } @arguments;
		(plain('SAVEPOINT s'), counted('EXECUTE p' . ($values ? " ($values)" : ''), $function), plain('ROLLBACK TO s'))
	} 1 .. pick(1, 3, 7);
	return (plain(begin()), plain($prepare), @run, plain('ROLLBACK'), plain('DEALLOCATE ALL'));
}

# The planner estimates calls that are not executed.
sub explained
{
	my $function = pick(@functions);
	return counted('EXPLAIN ' . pick('', '(VERBOSE)', '(GENERIC_PLAN)', '(FORMAT JSON)', '(COSTS OFF)') . ' ' . select_of($function, call($function)), $function);
}

# An example of help() with one of its literals replaced.
sub example
{
	my $sql = pick(@examples);
	my @literals;
	push @literals, [ $-[0], $+[0] ] while $sql =~ /'(?:[^']|'')*'|(?<![\w'])\d+\b/g;
	for my $literal (reverse sort { $a->[0] <=> $b->[0] } grep { chance(0.35) } @literals)
	{
		my $is_interval = substr($sql, 0, $literal->[0]) =~ /interval $/;
		my $is_number = substr($sql, $literal->[0], 1) ne "'";
		substr($sql, $literal->[0], $literal->[1] - $literal->[0]) = $is_interval ? quoted(pick(@intervals)) : $is_number ? pick(@integers, 'NULL') : quoted(chance(0.1) ? undef : $odd{text}->());
	}
	return (plain(begin()), stored('before'), plain('SAVEPOINT s'), { sql => $sql, call => 'help' }, plain('ROLLBACK TO s'), stored('after', 'before', 'it was rolled back, and the transaction sees something of it'), plain('ROLLBACK'));
}

sub aggregated
{
	my $function = pick(@aggregates);
	my @types = map { $_->{type} } @{ $function->{arguments} };
	my @rows = map { '(' . join(', ', "$_\::int4", map { argument('', $_, 0.6) } @types) . ')' } 1 .. pick(1, 2, 5, 50);
	my @names = map { "a$_" } 1 .. @types;
	my $arguments = pick('', '', 'DISTINCT ', 'ALL ') . join ', ', @names;
	my $order = pick('', '', " ORDER BY " . join ', ', reverse @names);
	my $filter = pick('', '', ' FILTER (WHERE n % 2 = 0)', ' FILTER (WHERE NULL)');
	my $over = pick('', '', '', ' OVER ()', ' OVER (ORDER BY n)', ' OVER (PARTITION BY n % 2 ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)', ' OVER (ORDER BY n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE TIES)');
	$order = '' if $over;
	my $group = $over ? '' : pick('', '', ' GROUP BY n % 2', ' GROUP BY GROUPING SETS ((), (n), (n % 3))', ' GROUP BY n HAVING false');
	my $rows = '(VALUES ' . join(', ', @rows) . ') AS v(n, ' . join(', ', @names) . ')' . pick('', '', ' WHERE false');
	my $from = chance(0.8) ? $rows : '(SELECT value::int4 AS n, ' . join(', ', map { $types[$_] eq 'int8' ? pick(qw(stack_id value)) . " AS $names[$_]" : argument('', $types[$_], 0.2) . " AS $names[$_]" } 0 .. $#types) . ' FROM ' . pick('fuzz.own', 'profstore.samples', 'fuzz.heap') . ') AS v';
	return counted("SELECT $function->{schema}.$function->{name}($arguments$order)$filter$over FROM $from$group", $function);
}

# One call many times, with and without an error: an error must not disturb later calls.
sub series
{
	my $function = pick(@functions);
	my @calls = map { counted(select_of($function, call($function)), $function) } 1 .. 12;
	return (plain('BEGIN'), stored('before'), (map { (plain('SAVEPOINT s'), $_, plain('ROLLBACK TO s')) } @calls), stored('after', 'before', 'calls were rolled back, and the transaction sees something of them'), plain('ROLLBACK'));
}

# Views and tables, and functions at unusual places of a statement.
sub listed
{
	my $function = pick(grep { $_->{kind} eq 'f' } @functions);
	my $call = call($function);
	my $query = pick("SELECT $call IS NULL", "SELECT array_agg(x) FROM (SELECT $call AS x) AS s", "SELECT CASE WHEN false THEN 1 ELSE count(*) END FROM (SELECT $call) AS s", "SELECT * FROM ROWS FROM ($call, generate_series(1, 2)) AS r",
		"SELECT x FROM (SELECT $call AS x) AS s ORDER BY x::text", "CREATE TEMP TABLE made AS SELECT $call AS x", "DO \$do\$ BEGIN PERFORM $call; EXCEPTION WHEN others THEN PERFORM $call; END \$do\$",
		"SELECT * FROM profstore." . pick(qw(stacks segment_details segment_stats compaction_progress unwind_quality)) . " LIMIT 100", "COPY (SELECT $call) TO STDOUT", "WITH w AS MATERIALIZED (SELECT $call AS x) SELECT * FROM w, w AS again");
	return (plain(begin()), counted($query, $function), plain('ROLLBACK'));
}

# Raw bytes from a client. Only superusers may read files of the server; for other roles that is one more error.
sub received
{
	my $bytes = chance(0.2) ? usual('', 'bytea') : odd_bytes();
	return ({ sql => "SELECT format('%s/spoiled', current_setting('data_directory')) AS file", sets => 'file' }, plain("COPY (SELECT $bytes) TO :'file' (FORMAT binary)"),
		plain('BEGIN'), plain('CREATE TEMP TABLE got (sums profstore.stack_sums) ON COMMIT DROP USING heap'), { sql => "COPY got FROM :'file' (FORMAT binary)", call => 'stack_sums_recv' },
		counted("SELECT sums, count(s.*) FROM got, profstore.stacks_in(sums) AS s GROUP BY sums::text, sums", { name => 'stacks_in' }), plain('ROLLBACK'));
}

# One call many times, each rolled back: memory must not grow. (PL/pgSQL does not free the compiled body of a trigger function
# that is called as a normal function.)
sub repeated
{
	my $function = pick(grep { !$_->{trigger} } @functions);
	my $call = call($function);
	my $loop = "DECLARE early int8;
	BEGIN
		FOR i IN 1 .. 100 LOOP
			early := CASE i WHEN 40 THEN fuzz.held() ELSE early END;
			BEGIN
				PERFORM $call;
				RAISE SQLSTATE 'FUZZ0';
			EXCEPTION WHEN OTHERS THEN
				IF sqlstate = 'XX000' THEN
					RAISE;
				END IF;
			END;
		END LOOP;
		PERFORM set_config('fuzz.grown', (fuzz.held() - early > 12000)::text, false);
	END";
	return (
		plain("SET fuzz.grown = 'false'"), counted('DO ' . quoted($loop), $function), { sql => "SELECT 'false' AS none", sets => 'none' },
		{ sql => "SELECT current_setting('fuzz.grown') AS grown", sets => 'grown', same => [ 'none', 'grown' ], why => 'it holds more and more memory' });
}

my %form = (alone => \&alone, block => \&block, twice => \&twice, written => \&written, cursor => \&cursor, prepared => \&prepared, explained => \&explained, example => \&example, aggregated => \&aggregated, series => \&series, listed => \&listed,
	received => \&received, repeated => \&repeated, interned => \&interned);

sub chosen_settings
{
	return () if chance(0.3);
	return map { my ($name, @values) = @$_; plain("SET $name = " . quoted(pick(@values))) } map { pick(@settings) } 1 .. 1 + int(rand(6));
}

# One of twenty sessions calls each function as the owner.
sub session
{
	my ($seed, $calls) = @_;
	srand($seed);
	my $calls_each = $seed % 20 == 1;
	my $role = $calls_each ? 'postgres' : pick(@roles);
	my @known = grep { $_->{roles} =~ /\b$role\b/ || chance(0.05) } @all;
	@functions = grep { $_->{kind} eq 'f' } @known;
	@routines = grep { $_->{kind} ne 'a' } @known;
	@aggregates = grep { $_->{kind} eq 'a' } @known;
	my %session = (seed => $seed, role => $role, database => $calls_each || chance(0.85) ? 'filled' : 'empty', units => []);
	$session{settings} = [ plain("SET statement_timeout = '$timeout'"), plain('CREATE TEMP TABLE passing (stack_id int8) USING heap'), chosen_settings() ];
	$session{units} = [ map { [ block($_) ] } @routines ] if $calls_each;
	my $count = 0;
	$calls /= 5 if $role eq 'fuzz_nobody';
	while ($count < $calls)
	{
		my $form = pick(@forms);
		my @unit = $form{$form}->();
		$count += grep { defined $_->{call} } @unit;
		push @{ $session{units} }, \@unit;
	}
	return \%session;
}

1;
