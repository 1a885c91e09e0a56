# Generates random statements about three tables, equal for every run of a seed.
#
#   my $statements = RandomStatements::episode($seed, $length);
#
# Each statement is a hash: sql; ordered (the order of rows counts, otherwise they are compared as a multiset); only ("h" or "p": run for
# one kind of table alone); query (the parts of a SELECT, for smaller_queries). The tables are "t" (columns of samples), "u" (any
# columns) and "pt" (partitions by time, some with another access method). A statement that may fail must fail on both
# kinds or on neither; within a transaction it is between a savepoint and its rollback.
package RandomStatements;
use strict;
use warnings;

my $base = '2026-01-01 00:00Z';
my @types = qw(bool int2 int4 int8 float4 float8 date time timestamp timestamptz oid regtype small);
my %is_number = map { $_ => 1 } qw(int2 int4 int8 float4 float8 small);
my %is_integer = map { $_ => 1 } qw(int2 int4 int8 small);
my %has_min = map { $_ => 1 } qw(int2 int4 int8 float4 float8 small date time timestamp timestamptz oid);

# Settings for the columnar tables alone: optional plan nodes, planner and memory.
my @settings = (
	[ 'profstore.enable_scan', qw(on on off) ], [ 'profstore.enable_agg', qw(on on off) ], [ 'profstore.enable_summaries', qw(on on off) ],
	[ 'profstore.write_buffer_size', '64kB', '1MB', '64MB' ], [ 'work_mem', '64kB', '4MB' ], [ 'hash_mem_multiplier', '1', '2' ],
	[ 'maintenance_work_mem', '1MB', '16MB', '64MB' ], [ 'enable_hashjoin', qw(on off) ], [ 'enable_mergejoin', qw(on off) ],
	[ 'enable_hashagg', qw(on off) ], [ 'enable_nestloop', qw(on off) ], [ 'enable_memoize', qw(on off) ], [ 'enable_material', qw(on off) ],
	[ 'enable_partitionwise_aggregate', qw(on off) ], [ 'enable_partitionwise_join', qw(on off) ],
	[ 'enable_partition_pruning', qw(on off) ], [ 'plan_cache_mode', qw(auto force_generic_plan force_custom_plan) ]);

my (%columns, %rows, $serial, @savepoints, $transaction, %cursors, %saved, %prepared, %attached, @out, %known_settings);

sub pick { return $_[ int(rand(scalar @_)) ] }
sub chance { return rand() < $_[0] }
sub number { return int(rand($_[0])) }

sub know_settings { %known_settings = map { $_ => 1 } @_; return }

# --- values ------------------------------------------------------------------------------------------------------

sub instant { return "'$base'::timestamptz + interval '" . pick(number(60), number(3600), number(86400), number(86400 * 4), 0) . " s'" }

sub literal
{
	my ($type) = @_;
	return 'true' if $type eq 'bool' && chance(0.5);
	return 'false' if $type eq 'bool';
	return '(' . pick(-32768, 32767, number(20), number(1000) - 500) . ')::int2' if $type eq 'int2';
	return '(' . pick(-2147483648, 2147483647, number(20), number(200), number(1e9) - 5e8) . ')' if $type eq 'int4';
	return '(' . pick('-9223372036854775807', '9223372036854775807', number(20), number(5000), number(1e15)) . ')::int8' if $type eq 'int8';
	return "'" . pick(qw(NaN Infinity -Infinity 0 1.5), number(200) / 2) . "'::float4" if $type eq 'float4';
	return "'" . pick(qw(NaN Infinity -Infinity 0 0.25), number(4000) / 4 - 500) . "'::float8" if $type eq 'float8';
	return pick("'infinity'::date", "'-infinity'::date", "'2026-01-01'::date + " . number(5), "'2026-01-01'::date + " . number(400)) if $type eq 'date';
	return "'" . pick('00:00', '24:00', '12:34:56.789', sprintf('%02d:%02d', number(24), number(60))) . "'::time" if $type eq 'time';
	return pick("'infinity'::timestamp", '(' . instant() . ')::timestamp', '(' . instant() . ')::timestamp') if $type eq 'timestamp';
	return chance(0.04) ? pick("'infinity'::timestamptz", "'-infinity'::timestamptz") : '(' . instant() . ')' if $type eq 'timestamptz';
	return pick(0, '4294967295', number(100)) . '::oid' if $type eq 'oid';
	return "'" . pick(qw(int4 text bool)) . "'::regtype" if $type eq 'regtype';
	return number(50) . '::small';
}

sub value { return chance(0.08) ? 'NULL' : literal($_[0]) }

# An expression of g, the number of the row.
sub series_value
{
	my ($type) = @_;
	my $n = 1 + pick(number(10), number(200), number(5000));
	my %expression = (
		bool => pick("g % 2 = 0", "g % $n = 0"),
		int2 => pick("(g % 100)::int2", "(g % $n)::int2", "$n\::int2"),
		int4 => pick("g", "g % $n", "g / $n", "hashint4(g)", "$n", "g % 20"),
		int8 => pick("g::int8", "(g % $n)::int8", "hashint8(g)::int8 * $n", "$n\::int8", "(g % 50)::int8 * 52631579", "abs(hashint4(g) % $n)::int8"),
		float4 => pick("((g % 100) / 2.0)::float4", "0.5::float4"),
		float8 => pick("((g % $n) / 4.0)::float8", "g::float8"),
		date => "('2026-01-01'::date + g % $n)",
		time => "('00:00'::time + g * interval '7.5 s')",
		timestamp => "('2026-01-01'::timestamp + g * interval '$n s')",
		timestamptz => pick("('$base'::timestamptz + (g / $n) * interval '10 s')", "('$base'::timestamptz + g * interval '$n ms')", literal('timestamptz')),
		oid => "(g % $n)::oid",
		regtype => "(CASE g % 3 WHEN 0 THEN 'int4' ELSE 'text' END)::regtype",
		small => "(g % 40)::small");
	my $expression = $expression{$type};
	return chance(0.12) ? "CASE WHEN g % " . (2 + number(9)) . " = 0 THEN NULL ELSE $expression END" : $expression;
}

# --- conditions --------------------------------------------------------------------------------------------------

# A constant for a comparison with a column: of its type, or of a type for which PostgreSQL has operators.
sub constant
{
	my ($type, $parameters) = @_;
	if ($parameters && chance(0.4))
	{
		push @$parameters, $type;
		return '$' . @$parameters;
	}
	return number(300) if $type eq 'int8' && chance(0.3);
	return pick(number(20) . '::int8', number(20) . '::int2', number(20) . '.5', '3000000000') if $is_integer{$type} && chance(0.25);
	return number(50) if $type =~ /float/ && chance(0.3);
	return pick("'2026-01-02'::date", "'2026-01-01 12:00'::timestamp", "'2026-01-01 00:30Z'") if $type eq 'timestamptz' && chance(0.3);
	return pick("'2026-01-01 12:00Z'::timestamptz", "'2026-01-03'::date") if $type eq 'timestamp' && chance(0.3);
	return "'2026-01-02'::timestamp" if $type eq 'date' && chance(0.2);
	return 'NULL' if chance(0.02);
	return literal($type);
}

sub atom
{
	my ($alias, $columns, $parameters) = @_;
	my ($name, $type) = @{ pick(@$columns) };
	($name, $type) = @{ pick(@{$columns}[ 0 .. 3 ]) } if chance(0.4) && @$columns >= 4;
	my $column = "$alias.$name";
	my $value = constant($type, $parameters);
	my $operator = pick('=', '=', '<>', '<', '<=', '>', '>=');
	my $dice = rand();
	if ($type eq 'bool' && $dice < 0.5)
	{
		return pick($column, "NOT $column", "$column IS TRUE", "$column IS NOT TRUE", "$column IS UNKNOWN", "$column IS FALSE");
	}
	return "$column $operator $value" if $dice < 0.42;
	return "$value $operator $column" if $dice < 0.47;
	return "$column IS " . pick('NULL', 'NOT NULL') if $dice < 0.53;
	return "$column " . pick('', 'NOT ') . 'BETWEEN ' . pick('', 'SYMMETRIC ') . "$value AND " . constant($type, $parameters) if $dice < 0.63;
	if ($dice < 0.73)
	{
		my @list = map { chance(0.05) ? 'NULL' : literal($type) } 0 .. pick(0, 2, 5, 20);
		my $list = join ', ', @list;
		return pick("$column IN ($list)", "$column NOT IN ($list)", "$column = ANY (ARRAY[$list]::" . ($type eq 'small' ? 'int4' : $type) . '[])',
			"$column <> ALL (ARRAY[$list]::" . ($type eq 'small' ? 'int4' : $type) . '[])');
	}
	return "$column IS " . pick('', 'NOT ') . "DISTINCT FROM $value" if $dice < 0.78;
	if ($dice < 0.83)
	{
		my ($other) = grep { $_->[1] eq $type && $_->[0] ne $name } @$columns;
		return "$column $operator $alias.$other->[0]" if $other;
	}
	return "($columns->[1][0] IS NULL OR $column $operator $value)" if $dice < 0.85;
	return "($alias.$columns->[1][0], $alias.$columns->[2][0]) " . pick('<', '>=', '=') . ' (' . literal($columns->[1][1]) . ', ' . literal($columns->[2][1]) . ')'
	  if $dice < 0.87;
	return "$column % 7 = " . number(7) if $is_integer{$type} && $type ne 'small' && $dice < 0.92;
	return "coalesce($column, " . literal($type) . ") $operator $value" if $dice < 0.95;
	return "$column\::text " . pick('LIKE', 'NOT LIKE') . " '%" . number(10) . "'" if $dice < 0.97;
	return "$column >= now() - interval '1000 years'" if $type eq 'timestamptz';
	return pick('true', 'false', "$column = $column");
}

sub condition
{
	my ($alias, $columns, $parameters, $depth) = @_;
	$depth //= 0;
	return atom($alias, $columns, $parameters) if $depth > 1 || chance(0.6);
	my ($left, $right) = map { condition($alias, $columns, $parameters, $depth + 1) } 1 .. 2;
	return pick("($left OR $right)", "($left AND $right)", "NOT ($left)", "NOT ($left OR $right)");
}

sub conditions
{
	my ($alias, $columns, $parameters) = @_;
	return map { condition($alias, $columns, $parameters) } 1 .. pick(0, 1, 1, 2, 2, 3);
}

# --- queries -----------------------------------------------------------------------------------------------------

# A query is (with, targets, from, where, group, having, order, limit); lists but for "with", "from" and "limit".
sub render
{
	my ($q) = @_;
	my $sql = ($q->{with} // '') . 'SELECT ' . ($q->{distinct} ? 'DISTINCT ' : '') . join(', ', @{ $q->{targets} }) . " FROM $q->{from}";
	$sql .= ' WHERE ' . join(' AND ', @{ $q->{where} }) if @{ $q->{where} // [] };
	$sql .= ' GROUP BY ' . join(', ', @{ $q->{group} }) if @{ $q->{group} // [] };
	$sql .= ' HAVING ' . join(' AND ', @{ $q->{having} }) if @{ $q->{having} // [] };
	$sql .= ' ORDER BY ' . join(', ', @{ $q->{order} }) if @{ $q->{order} // [] };
	$sql .= " $q->{limit}" if $q->{limit};
	return $sql;
}

# All queries that lack one part of the given query.
sub smaller_queries
{
	my ($q) = @_;
	my @smaller;
	for my $part (qw(where having targets group order))
	{
		for my $i (0 .. $#{ $q->{$part} // [] })
		{
			next if $part eq 'targets' && @{ $q->{targets} } == 1;
			my @left = @{ $q->{$part} };
			splice @left, $i, 1;
			push @smaller, { %$q, $part => \@left };
		}
	}
	for my $part (qw(limit distinct)) { push @smaller, { %$q, $part => '' } if $q->{$part} }
	return @smaller;
}

sub aggregate
{
	my ($alias, $columns) = @_;
	my ($name, $type) = @{ pick(@$columns) };
	my $column = "$alias.$name";
	my $filter = chance(0.12) ? ' FILTER (WHERE ' . atom($alias, $columns) . ')' : '';
	my $distinct = chance(0.1) ? 'DISTINCT ' : '';
	my @choice = ('count(*)', "count($distinct$column)");
	push @choice, ("sum($distinct$column)", "sum($column)", "avg($column)") x 2 if $is_number{$type};
	push @choice, "stddev($column)" if $is_integer{$type};
	push @choice, "sum($column % 10)" if $is_integer{$type} && $type ne 'small';
	push @choice, ("min($column)", "max($column)") x 2 if $has_min{$type};
	push @choice, ("bool_and($column)", "bool_or($column)") if $type eq 'bool';
	push @choice, "md5(string_agg($column\::text, ',' ORDER BY $column\::text))" if chance(0.2);
	return pick(@choice) . $filter;
}

sub group_key
{
	my ($alias, $columns) = @_;
	my ($name, $type) = @{ pick(@$columns) };
	($name, $type) = @{ pick(@{$columns}[ 0 .. 2 ]) } if chance(0.5);
	my $column = "$alias.$name";
	if ($type =~ /^timestamp/ && chance(0.6))
	{
		my $stride = pick('10 s', '1 min', '1 hour', '1 day', '7 s');
		return pick("date_bin('$stride', $column, '2026-01-01')", "date_bin('$stride', $column, '2026-01-01 00:00:03')", "date_trunc('hour', $column)");
	}
	return "$column % 5" if $is_integer{$type} && $type ne 'small' && chance(0.15);
	return $column;
}

sub some_columns { return @{ $_[0] }[ sort { $a <=> $b } keys %{ { map { number(scalar @{ $_[0] }) => 1 } 1 .. 3 } } ] }

# The FROM item: a table, a subquery of one, or a join; with its columns under the alias.
sub source
{
	my ($parameters) = @_;
	my $table = pick('t', 't', 'u', 'pt', 'pt');
	return ($table . ' AS a', 'a', $columns{$table}) if chance(0.85);
	my $list = join ', ', map { $_->[0] } @{ $columns{$table} };
	my $where = condition('b', $columns{$table}, $parameters);
	return ("(SELECT $list FROM $table AS b WHERE $where) AS a", 'a', $columns{$table}) if chance(0.6);
	return ("(SELECT * FROM $table AS b ORDER BY $list LIMIT " . pick(1, 10, 1000, 5000) . ') AS a', 'a', $columns{$table});
}

sub grouped_query
{
	my ($parameters) = @_;
	my ($from, $alias, $columns) = source($parameters);
	my %keys = map { group_key($alias, $columns) => 1 } 1 .. pick(0, 0, 1, 1, 1, 2, 2, 3);
	my @keys = sort keys %keys;
	my %q = (
		targets => [ @keys, map { aggregate($alias, $columns) } 1 .. 1 + number(4) ],
		from => $from,
		where => [ conditions($alias, $columns, $parameters) ],
		group => \@keys);
	$q{group} = [ pick('ROLLUP', 'CUBE') . ' (' . join(', ', @keys) . ')' ] if @keys > 1 && chance(0.1);
	$q{having} = [ pick('count(*) > 1', 'count(*) = 0', 'min(' . "$alias.$columns->[1][0]" . ') IS NOT NULL') ] if chance(0.15);
	if (chance(0.25))
	{
		$q{order} = [ map { "$_" . pick('', ' DESC', ' NULLS FIRST') } 1 .. @{ $q{targets} } ];
		$q{limit} = 'LIMIT ' . number(20) if chance(0.6);
	}
	return \%q;
}

sub plain_query
{
	my ($parameters) = @_;
	my ($from, $alias, $columns) = source($parameters);
	my @chosen = chance(0.3) ? @$columns : some_columns($columns);
	my %q = (targets => [ map { "$alias.$_->[0]" } @chosen ], from => $from, where => [ conditions($alias, $columns, $parameters) ]);
	$q{distinct} = 1 if chance(0.1);
	$q{order} = [ map { "$_" . pick('', ' DESC') } 1 .. @chosen ];
	$q{limit} = 'LIMIT ' . pick(1, 10, 100) . pick('', ' OFFSET 5');
	if (!$q{distinct} && chance(0.1))
	{
		my $all = join ', ', map { "$alias.$_->[0]" } @$columns;
		push @{ $q{targets} }, pick("row_number() OVER (PARTITION BY $alias.$columns->[1][0] ORDER BY $all)",
			"count(*) OVER (PARTITION BY $alias.$columns->[1][0])", "lag($alias.$columns->[2][0]) OVER (ORDER BY $all)");
	}
	return \%q;
}

sub join_query
{
	my ($parameters) = @_;
	my ($left, $right) = (pick('t', 'u', 'pt'), pick('t', 'u', 'pt'));
	my ($l, $r) = ($columns{$left}, $columns{$right});
	my @pairs = map { my $a = $_; map { [ $a, $_ ] } grep { $_->[1] eq $a->[1] || ($is_integer{ $_->[1] } && $is_integer{ $a->[1] }) } @$r } @$l;
	my $pair = pick(@pairs) // return grouped_query($parameters);
	my $list = join ', ', map { $_->[0] } @$l;
	my $small = "(SELECT * FROM $left AS c WHERE " . condition('c', $l, $parameters) . " ORDER BY $list LIMIT " . pick(1, 5, 30) . ') AS a';
	my $on = "a.$pair->[0][0] = b.$pair->[1][0]";
	my $condition = condition('b', $r, $parameters);
	my $kind = number(8);
	return { targets => [ 'count(*)', aggregate('b', $r), aggregate('a', $l) ], from => "$small " . pick('JOIN', 'LEFT JOIN', 'FULL JOIN', 'RIGHT JOIN') . " $right AS b ON $on",
		where => [ chance(0.5) ? $condition : () ] } if $kind < 3;
	return { targets => [ 'count(*)', aggregate('b', $r) ], from => "$right AS b",
		where => [ pick('EXISTS', 'NOT EXISTS') . " (SELECT FROM $small WHERE $on)", $condition ] } if $kind == 3;
	return { targets => [ 'count(*)', aggregate('b', $r) ], from => "$right AS b",
		where => [ "b.$pair->[1][0] " . pick('IN', 'NOT IN') . " (SELECT a.$pair->[0][0] FROM $small)", $condition ] } if $kind == 4;
	return { targets => [ 'a.*', "(SELECT count(*) FROM $right AS b WHERE $on AND $condition)" ], from => $small } if $kind == 5;
	return { targets => [ "a.$pair->[0][0]", 'x.*' ], from => "$small " . pick('CROSS JOIN LATERAL', ', LATERAL') . " (SELECT count(*), "
		  . aggregate('b', $r) . " FROM $right AS b WHERE $on AND $condition) AS x" } if $kind == 6 && !$parameters;
	return { targets => [ 'v.x', 'y.*' ], from => "(VALUES " . join(', ', map { '(' . value('int4') . '::int4)' } 1 .. 4)
		  . ") AS v (x) CROSS JOIN LATERAL (SELECT count(*), min($r->[0][0]) FROM $right AS b WHERE b.$pair->[1][0]::text = v.x::text OR b.$r->[1][0] > v.x) AS y" }
	  if $is_number{ $r->[1][1] };
	return grouped_query($parameters);
}

sub any_query
{
	my ($parameters) = @_;
	my $dice = rand();
	return grouped_query($parameters) if $dice < 0.55;
	return plain_query($parameters) if $dice < 0.78;
	return join_query($parameters);
}

sub set_query
{
	my ($first, $second) = (pick('t', 'pt'), pick('t', 'pt'));
	my @keys = map { $_->[0] } @{ $columns{t} }[ 0 .. 3 ];
	my @other = map { $_->[0] } @{ $columns{pt} }[ 0 .. 3 ];
	my $list = sub { join ', ', $_[0] eq 't' ? @keys : @other };
	return "SELECT count(*), count(DISTINCT x) FROM (SELECT " . $list->($first) . " FROM $first AS a WHERE " . condition('a', $columns{$first})
	  . ' ' . pick('UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL', 'INTERSECT ALL') . ' SELECT ' . $list->($second)
	  . " FROM $second AS a WHERE " . condition('a', $columns{$second}) . ') AS x';
}

sub digest
{
	my ($table) = @_;
	my $list = join ', ', map { $_->[0] } @{ $columns{$table} };
	return "SELECT count(*), md5(string_agg(x::text, ';' ORDER BY x::text)) FROM (SELECT $list FROM $table) AS x";
}

# --- statements --------------------------------------------------------------------------------------------------

sub emit
{
	my ($sql, %more) = @_;
	push @out, { sql => $sql, %more };
	return;
}

sub emit_query
{
	my ($q) = @_;
	return emit(render($q), query => $q, ordered => 0) unless @{ $q->{order} // [] } && !grep { /NULLS FIRST/ } @{ $q->{order} };
	return emit(render($q), query => $q, ordered => 1);
}

# A statement that may fail, but must then fail on both sides.
sub emit_risky
{
	my ($sql) = @_;
	return emit($sql) unless $transaction;
	emit('SAVEPOINT risky');
	emit($sql);
	emit('ROLLBACK TO risky');
	return;
}

sub insert
{
	my $table = pick('t', 't', 'u', 'pt', 'pt');
	my @c = @{ $columns{$table} };
	my $list = join ', ', map { $_->[0] } @c;
	my $dice = rand();
	if ($rows{$table} > 25000)
	{
		return emit("DELETE FROM $table", only => 'none') if %cursors;
		$rows{$table} = 0;
		return emit("TRUNCATE $table");
	}
	if ($dice < 0.35)
	{
		my $returning = chance(0.1) ? " RETURNING $list" : '';
		my $values = join ', ', map { '(' . join(', ', map { value($_->[1]) } @c) . ')' } 1 .. 1 + number(6);
		return emit("INSERT INTO $table ($list) VALUES $values" . (chance(0.1) ? ' ON CONFLICT DO NOTHING' : '') . $returning);
	}
	if ($dice < 0.75)
	{
		my $count = pick(1, 30, 1023, 1024, 1025, 2000, 3000, 3000, 20000);
		$count = 3000 if $count == 20000 && chance(0.6);
		$rows{$table} += $count;
		return emit("INSERT INTO $table ($list) SELECT " . join(', ', map { series_value($_->[1]) } @c) . " FROM generate_series(1, $count) AS g");
	}
	if ($dice < 0.85)
	{
		my $line = join "\t", map { $is_integer{ $_->[1] } ? number(40) : $_->[1] eq 'timestamptz' ? '2026-01-01 01:02:03Z' : '\N' } @c;
		return emit("COPY $table ($list) FROM STDIN;\n" . ("$line\n" x (1 + number(5))) . '\\.');
	}
	$rows{$table} += 100;
	return emit("INSERT INTO $table ($list) SELECT $list FROM $table ORDER BY $list LIMIT " . number(100)) if $dice < 0.95;
	return emit("DO \$\$ BEGIN FOR i IN 1..40 LOOP BEGIN INSERT INTO $table ($c[1][0]) VALUES (NULL); IF i % 7 = 0 THEN PERFORM 1/0; END IF; "
		  . 'EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$');
}

sub change_table
{
	return if %cursors;
	my $table = pick('t', 'u', 'pt');
	my $c = $columns{$table};
	my $dice = rand();
	if ($dice < 0.4 && @$c < 11)
	{
		my $type = pick(@types);
		my $name = 'c' . ++$serial;
		my $default = chance(0.6) ? ' DEFAULT ' . literal($type) : '';
		push @$c, [ $name, $type ];
		emit("ALTER TABLE $table ADD COLUMN $name $type$default");
		emit("ALTER TABLE $table ALTER COLUMN $name SET DEFAULT " . literal($type)) if $default && chance(0.5);
		return;
	}
	if ($dice < 0.55 && @$c > 5)
	{
		my ($gone) = splice @$c, 4 + number(@$c - 4), 1;
		return emit("ALTER TABLE $table DROP COLUMN $gone->[0]");
	}
	if ($dice < 0.7)
	{
		my %wider = (int2 => 'int4', small => 'int8', int4 => 'int8', float4 => 'float8', date => 'timestamp', oid => 'int8', bool => 'int4');
		my ($column) = grep { $wider{ $_->[1] } } @{$c}[ 4 .. $#$c ];
		return unless $column;
		my $type = $wider{ $column->[1] };
		my $using = $column->[1] =~ /bool|oid/ ? " USING $column->[0]::$type" : '';
		$column->[1] = $type;
		emit("ALTER TABLE $table ALTER COLUMN $column->[0] DROP DEFAULT");
		return emit("ALTER TABLE $table ALTER COLUMN $column->[0] TYPE $type$using");
	}
	if ($dice < 0.8)
	{
		my $column = pick(@{$c}[ 1 .. 3 ]);
		my $name = 'k' . ++$serial;
		my $old = $column->[0];
		$column->[0] = $name;
		return emit("ALTER TABLE $table RENAME COLUMN $old TO $name");
	}
	if ($dice < 0.9)
	{
		$rows{$table} = 0;
		return emit("TRUNCATE $table");
	}
	my $part = 1 + number(3);
	return emit_risky("ALTER TABLE pt DETACH PARTITION pt_$part") if $attached{$part} && chance(0.5);
	return emit_risky("ALTER TABLE pt ATTACH PARTITION pt_$part FOR VALUES FROM ('2026-01-0${part} 00:00Z') TO ('2026-01-0" . ($part + 1) . " 00:00Z')");
}

sub maintain
{
	my $table = pick('t', 't', 'u', 'pt');
	return emit("SELECT profstore.compact('$table', " . pick('NULL', 'NULL', 2, 10) . ') >= 0', only => 'p') if chance(0.7) && $transaction ne 'repeatable';
	return emit("ANALYZE $table") if chance(0.4);
	return emit(pick("VACUUM $table", 'VACUUM profstore.segments', "VACUUM FULL $table")) unless $transaction;
	return;
}

sub keep { return { columns => { map { $_ => [ map { [@$_] } @{ $columns{$_} } ] } keys %columns }, cursors => {%cursors}, prepared => {%prepared} } }

sub restore
{
	my ($state, $with_prepared) = @_;
	%columns = map { $_ => [ map { [@$_] } @{ $state->{columns}{$_} } ] } keys %{ $state->{columns} };
	return;
}

sub finish
{
	my ($how) = @_;
	restore($saved{begin}) if $how eq 'ROLLBACK';
	$transaction = '';
	@savepoints = ();
	%cursors = ();
	return emit('COMMIT') if $how eq 'COMMIT' && chance(0.85);
	return emit('ROLLBACK') if $how eq 'ROLLBACK';
	emit("PREPARE TRANSACTION :'gid'");
	emit("COMMIT PREPARED :'gid'");
	return;
}

sub control
{
	unless ($transaction)
	{
		$transaction = chance(0.2) ? 'repeatable' : 'committed';
		$saved{begin} = keep();
		return emit($transaction eq 'repeatable' ? 'BEGIN ISOLATION LEVEL REPEATABLE READ' : 'BEGIN');
	}
	my $dice = rand();
	return finish('COMMIT') if $dice < 0.3;
	return finish('ROLLBACK') if $dice < 0.4;
	if ($dice < 0.7 || !@savepoints)
	{
		my $name = 's' . ++$serial;
		push @savepoints, $name;
		$saved{$name} = keep();
		return emit("SAVEPOINT $name");
	}
	my $name = pick(@savepoints);
	pop @savepoints while $savepoints[-1] ne $name;
	if ($dice < 0.9)
	{
		restore($saved{$name});
		%cursors = %{ $saved{$name}{cursors} };
		return emit("ROLLBACK TO $name");
	}
	pop @savepoints;
	return emit("RELEASE $name");
}

sub cursor
{
	unless ($transaction)
	{
		# a scroll cursor must return the same rows when it moves back
		my $table = pick('t', 'u', 'pt');
		my $q = "SELECT a.$columns{$table}[0][0], a.$columns{$table}[2][0] FROM $table AS a WHERE " . condition('a', $columns{$table});
		return emit("SELECT walk(\$q\$$q\$q\$, " . pick(1, 3, 1500) . ', ' . pick(0, 1, 2, 1000) . ')');
	}
	if (%cursors && chance(0.7))
	{
		my $name = pick(sort keys %cursors);
		return emit("FETCH " . pick('NEXT', 'FORWARD 7', 'FORWARD 2000', 'BACKWARD 3', 'PRIOR', 'ABSOLUTE 5', 'RELATIVE -2', 'LAST') . " FROM $name", ordered => 1);
	}
	my $table = pick('t', 'u', 'pt');
	my $list = join ', ', map { "a.$_->[0]" } @{ $columns{$table} };
	my $name = 'k' . ++$serial;
	$cursors{$name} = 1;
	return emit("DECLARE $name SCROLL CURSOR FOR SELECT $list FROM $table AS a WHERE " . condition('a', $columns{$table}) . " ORDER BY $list");
}

# Prepared statements survive transactions, so they are prepared and executed together, before and after a change.
sub prepared
{
	my @parameters;
	my $q = any_query(\@parameters);
	my $name = 'q' . ++$serial;
	emit("PREPARE $name" . (@parameters ? ' (' . join(', ', @parameters) . ')' : '') . ' AS ' . render($q));
	for my $use (1 .. pick(1, 2, 7))
	{
		emit("EXECUTE $name" . (@parameters ? ' (' . join(', ', map { value($_) } @parameters) . ')' : ''));
		insert() if chance(0.1);
		maintain() if chance(0.1);
	}
	emit("DEALLOCATE $name");
	return;
}

sub risky
{
	my $table = pick('t', 'u', 'pt');
	my $c = $columns{$table};
	my ($column) = grep { $is_integer{ $_->[1] } } @{$c}[ 1 .. $#$c ];
	return unless $column;
	my $name = "a.$column->[0]";
	my $expression = pick("sum(100 / nullif($name % 11, 12))", "sum(1 / ($name % 3))", "max($name\::int2)", "sum(($name + 2147483647::int4)::int4)", "count($name\::int4)");
	return emit_risky("SELECT $expression FROM $table AS a WHERE " . condition('a', $c));
}

sub set
{
	my @known = grep { $known_settings{ $_->[0] } } @settings;
	my ($name, @values) = @{ pick(@known) };
	emit("SET $name = '" . pick(@values) . "'", only => 'p');
	return unless chance(0.3);
	my $cost = pick(0, 0, 1000);
	emit("SET parallel_setup_cost = $cost; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = " . pick(0, 2), only => 'p');
	return;
}

sub create_tables
{
	my @extra = map { [ "x$_", pick(@types) ] } 1 .. 2 + number(4);
	$columns{t} = [ [ 'time', 'timestamptz' ], [ 'series_id', 'int4' ], [ 'stack_id', 'int8' ], [ 'value', 'int8' ], @extra ];
	$columns{pt} = [ [ 'time', 'timestamptz' ], [ 'series_id', 'int4' ], [ 'stack_id', 'int8' ], [ 'value', 'int8' ], map { [ "y$_", pick(@types) ] } 1 .. number(3) ];
	my $time = pick('time', 'time', 'id');
	$columns{u} = [ [ $time, pick('int4', 'int8', 'date', 'timestamp') ], [ pick('series_id', 'k'), pick('int2', 'int4', 'int8') ], [ pick('stack_id', 'm'), pick('int4', 'int8') ],
		[ 'v', pick('float8', 'int4') ], map { [ "z$_", pick(@types) ] } 0 .. 2 + number(3) ];
	for my $table (qw(t u))
	{
		my @c = map { "$_->[0] $_->[1]" } @{ $columns{$table} };
		@c = map { $c[$_] } sort { ($a * 7) % 11 <=> ($b * 7) % 11 } 0 .. $#c if chance(0.3);
		emit("CREATE TABLE $table (" . join(', ', @c) . ')');
	}
	emit('CREATE TABLE pt (' . join(', ', map { "$_->[0] $_->[1]" } @{ $columns{pt} }) . ') PARTITION BY RANGE (time)');
	for my $part (1 .. 3)
	{
		emit("CREATE TABLE pt_$part PARTITION OF pt FOR VALUES FROM ('2026-01-0${part} 00:00Z') TO ('2026-01-0" . ($part + 1) . " 00:00Z')" . (chance(0.15) ? ' USING heap' : ''));
		$attached{$part} = 1;
	}
	emit('CREATE TABLE pt_rest PARTITION OF pt DEFAULT');
	return;
}

sub episode
{
	my ($seed, $length) = @_;
	srand($seed);
	@out = @savepoints = ();
	%cursors = %saved = %prepared = %attached = ();
	($serial, $transaction) = (0, '');
	%rows = (t => 0, u => 0, pt => 0);
	create_tables();
	insert() for 1 .. 6;
	while (@out < $length)
	{
		my $dice = rand();
		if ($dice < 0.54) { emit_query(any_query()) }
		elsif ($dice < 0.57) { emit(set_query()) }
		elsif ($dice < 0.59) { risky() }
		elsif ($dice < 0.70) { insert() }
		elsif ($dice < 0.77) { control() }
		elsif ($dice < 0.80) { cursor() }
		elsif ($dice < 0.83) { prepared() }
		elsif ($dice < 0.88) { maintain() }
		elsif ($dice < 0.91) { change_table() }
		elsif ($dice < 0.97) { set() }
		elsif ($dice < 0.98) { emit("COPY " . pick('t', 'u', '(SELECT * FROM pt)') . ' TO STDOUT') }
		else { emit(digest(pick('t', 'u', 'pt'))) }
	}
	finish('COMMIT') if $transaction;
	emit(digest($_)) for qw(t u pt);
	emit("SELECT profstore.compact('$_') >= 0", only => 'p') for qw(t u pt);
	emit(digest($_)) for qw(t u pt);
	emit("SELECT count(*) FROM profstore.verify('$_')", only => 'p', clean => 1) for qw(t u pt);
	return [ grep { ($_->{only} // '') ne 'none' } @out ];
}

1;
