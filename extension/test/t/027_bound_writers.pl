# A writer with a selector stores only series that match it, and uses only ids that interning has returned to it. So it cannot write into
# another role's series, nor learn the names of guessed ids by storing them in its own series.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('bound_writers');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
my $tempdir = PostgreSQL::Test::Utils::tempdir();
my $type = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta';

$node->safe_psql('postgres', q(
	CREATE ROLE operator LOGIN;
	CREATE ROLE team_a LOGIN;
	CREATE ROLE member LOGIN IN ROLE team_a;
	CREATE EXTENSION profstore;
	SELECT profstore.grant_write('operator');
	SELECT profstore.grant_write('team_a', '{team="a"}');
	SELECT profstore.grant_read('team_a', '{team="a"}');
	SELECT profstore.ensure_partitions(now() - interval '1 hour', now());
));

# Interns one stack for a team, in a session; psql variables hold the ids.
sub intern
{
	my ($team, $name, $end) = @_;
	$end //= '';
	return qq(
		SELECT (profstore.intern_series('{$type}', ARRAY['{"team": "$team"}']::jsonb[], '{1000}'))[1] AS series,
			(profstore.intern_mappings('{aabbaabbaabbaabb}', '{/usr/bin/$name}'))[1] AS mapping,
			(profstore.intern_functions('{$name}', '{$name}', '{$name.c}', '{1}'))[1] AS function \\gset
		SELECT (profstore.intern_locations(ARRAY[:mapping, 0], '{16, 0}', '{1, 1}', ARRAY[:function, :function], '{1, 1}'))[1] AS location \\gset
		SELECT (profstore.intern_stacks('$name', '{1}', ARRAY[:location]))[1] AS stack \\gset
		$end);
}
my $store = 'INSERT INTO profstore.samples VALUES (now() - interval \'1 min\', :series, :stack, 5);';

sub run
{
	my ($database, $role, $sql) = @_;
	my ($out, $err) = ('', '');
	$node->psql($database, $sql, extra_params => [ '-U', $role, '-v', 'VERBOSITY=verbose' ], stdout => \$out, stderr => \$err, on_error_stop => 1);
	return $err =~ /ERROR:  (\w{5}):/ ? $1 : $out;
}

is(run('postgres', 'operator', q(INSERT INTO profstore.losses (node, reason, count) VALUES ('of_operator', 'full', 1))), '', 'losses of a host');
is(run('postgres', 'operator', intern('b', 'SECRET', $store)), '', 'a writer without a selector stores');
is(run('postgres', 'operator', $store =~ s/:series/1/r =~ s/:stack/0/r), '', 'by any id');
my ($series, $function, $location, $stack) = split /\|/, $node->safe_psql('postgres',
	q(SELECT (SELECT max(id) FROM profstore.series), (SELECT max(id) FROM profstore.functions), (SELECT max(id) FROM profstore.locations WHERE mapping = 0), (SELECT max(id) FROM profstore.stacks)));

sub check
{
	my ($database, $name) = @_;
	for my $role ('team_a', 'member')
	{
		my $who = "$name, $role";
		is(run($database, $role, intern('a', 'own', $store)), '', "$who: stores a series that matches");
		is(run($database, $role, intern('a', 'own', "COPY profstore.samples FROM stdin;\n" . "2000-01-01\t:series\t0\t1\n\\.\n")), '22P02', "$who: the control of COPY: it reads rows");
		is(run($database, $role, intern('b', 'own')), '42501', "$who: no other series");
		is(run($database, $role, qq(SELECT profstore.intern_series('{$type}', ARRAY['{}']::jsonb[], '{1000}'))), '42501', "$who: nor one without labels");
		is(run($database, $role, qq(SELECT profstore.intern_series('{$type,$type}', ARRAY['{"team": "a"}', '{"team": "a", "x": "y"}']::jsonb[], '{1,1}') IS NOT NULL)), 't', "$who: further labels are its own");
		is(run($database, $role, intern('a', 'own', $store =~ s/:series/$series/r)), '55000', "$who: a row of another's series is refused");
		is(run($database, $role, intern('a', 'own', "COPY profstore.samples (time, series_id, stack_id, value) FROM stdin;\n" . "2026-01-01 00:00Z\t$series\t0\t1\n\\.\n")), '55000', "$who: in COPY, too")
		  if $node->safe_psql($database, q(SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-01Z')));
		is(run($database, $role, intern('a', 'own', $store =~ s/:stack/$stack/r)), '55000', "$who: a guessed stack is refused");
		is(run($database, $role, "SELECT profstore.intern_stacks('x', '{1}', '{$location}')"), '55000', "$who: a guessed location");
		is(run($database, $role, "SELECT profstore.intern_stacks_by_partition('{x}', '{1}', '{1}', '{$location}')"), '55000', "$who: by partition, too");
		is(run($database, $role, "SELECT profstore.intern_locations('{0}', '{0}', '{1}', '{$function}', '{1}')"), '55000', "$who: a guessed function");
		is(run($database, $role, intern('a', 'own', "SELECT profstore.keep_traces(ARRAY[now()], ARRAY[:series], '{$stack}', '{1}', '{00000000-0000-0000-0000-00000000000a}', '{NULL}')")), '55000',
			"$who: a guessed stack in a trace");
		is(run($database, $role, "SELECT profstore.touch_series('{$series}', now(), now())"), '42501', "$who: times of another's series");
		is(run($database, $role, "SELECT profstore.keep_file_notes('{$series}', '{x}', '', '', '', '')"), '42501', "$who: notes of another's series");
		is(run($database, $role, intern('a', 'own', "BEGIN; SAVEPOINT s; $store ROLLBACK TO s; $store COMMIT;")), '', "$who: savepoints");
		is(run($database, $role, q(SELECT profstore.import_folded('main;imported 7', '{"team": "a"}', now()))), '1', "$who: imports");
		is(run($database, $role, q(SELECT profstore.import_folded('main;imported 7', '{"team": "b"}', now()))), '42501', "$who: imports nothing else");
		is(run($database, $role, q(UPDATE profstore.bound_writers SET selector = '{}')), '42501', "$who: no selector of its own making");
		is(run($database, $role, 'TABLE profstore.bound_writers'), '42501', "$who: nor sees those of others");
	}
	# ids that a session has for one role are not valid for another; content that another session has interned is found and accepted
	is(run($database, 'postgres', 'SET ROLE operator;' . intern('b', 'SECRET', "SET ROLE team_a; $store")), '55000', "$name: ids of another role in a session");
	is(run($database, 'team_a', intern('a', 'SECRET', $store)), '', "$name: a name that it knows is its own");
	# a host's label does not reveal rows about that host that another role has stored
	is(run($database, 'team_a', qq(SELECT cardinality(profstore.intern_series('{$type}', ARRAY['{"team": "a", "node": "of_operator"}']::jsonb[], '{1}')); SELECT count(*) FROM profstore.losses)),
		"1\n0", "$name: a label of its own choosing shows no losses of others");
	is($node->safe_psql($database, 'SELECT count(*) FROM profstore.losses'), '1', "$name: which are there");
	is(run($database, 'team_a', q(SELECT string_agg(DISTINCT f.function, ',' ORDER BY f.function) FROM profstore.top('folded', now() - interval '1 hour', now() + interval '1 min') AS f)),
		'imported,main', "$name: what it has stored it reads");
}
check('postgres', 'before');

command_ok([ 'pg_dump', '-p', $node->port, '-h', $node->host, '-Fc', '-f', "$tempdir/dump", 'postgres' ], 'dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), "$tempdir/dump" ], 'restored');
check('restored', 'restored');

sub refused
{
	my ($sql, $message, $name) = @_;
	$node->psql('postgres', $sql, stderr => \my $stderr);
	like($stderr, $message, $name);
}
refused(q(SELECT profstore.grant_write('operator', '{team=')), qr/invalid selector/, 'a selector that is cut off');
refused(q(SELECT profstore.grant_write('operator', 'process_cpu{}')), qr/is abbreviated/, 'an abbreviated type');
refused(q(SELECT profstore.grant_write('operator', NULL)), qr/requires a role and a selector/, 'no selector');
refused(q(SELECT profstore.grant_write('postgres', '{}')), qr/is a superuser/, 'a superuser');
refused(q(SELECT profstore.grant_write('team_a')), qr/role "team_a" has a selector/, 'a selector is not lifted by accident');
refused(q(SELECT profstore.grant_read('team_a')), qr/role "team_a" has a selector/, 'that of a reader neither');

# roles that could become another writer by SET ROLE, or change the tables directly
my %memberships = (
	'IN ROLE operator NOINHERIT' => qr/could store any series as role "operator"/,
	'IN ROLE pg_write_all_data' => qr/could store any series as role "pg_write_all_data"/,
	'BYPASSRLS' => qr/bypasses row security/,
	'SUPERUSER' => qr/is a superuser/);
for my $option (sort keys %memberships)
{
	$node->safe_psql('postgres', "CREATE ROLE suspect LOGIN $option");
	refused(q(SELECT profstore.grant_write('suspect', '{team="a"}')), $memberships{$option}, "$option: no selector");
	$node->safe_psql('postgres', 'DROP ROLE suspect');
}
$node->safe_psql('postgres', 'CREATE ROLE suspect LOGIN; GRANT UPDATE (labels) ON profstore.series TO suspect');
refused(q(SELECT profstore.grant_write('suspect', '{team="a"}')), qr/could change table profstore.series/, 'a privilege on a column');
$node->safe_psql('postgres', q(REVOKE UPDATE (labels) ON profstore.series FROM suspect; SELECT profstore.grant_write('suspect', '{team="s"}')));

$node->safe_psql('postgres', 'CREATE ROLE changer; GRANT UPDATE (labels) ON profstore.series TO changer; CREATE ROLE switcher LOGIN NOINHERIT IN ROLE changer');
refused(q(SELECT profstore.grant_write('switcher', '{team="a"}')), qr/could change table profstore.series/, 'a privilege by SET ROLE');
$node->safe_psql('postgres', 'DROP OWNED BY changer; DROP ROLE switcher, changer');

# a writer's session forgets ids that its role may no longer use
my $session = $node->background_psql('postgres', extra_params => [ '-U', 'suspect' ], on_error_stop => 0);
my $in_session = sub {
	my ($sql) = @_;
	$session->{stderr} = '';
	my $out = $session->query($sql);
	return $session->{stderr} =~ /ERROR: +(.*)/ ? $1 : $out;
};
my $ids = $in_session->(qq(SELECT (profstore.intern_series('{$type}', '{"{\\"team\\": \\"s\\"}"}', '{1000}'))[1]));
my $sample = qq(INSERT INTO profstore.samples VALUES (now() - interval '1 min', $ids, 0, 5));
is($in_session->($sample), '', 'a series that matches is stored');
$node->safe_psql('postgres', q(SELECT profstore.grant_write('suspect', '{team="t"}')));
like($in_session->($sample), qr/series $ids was not interned in this session/, 'but not under another selector');
$node->safe_psql('postgres', q(SELECT profstore.grant_write('suspect', '{team="s"}')));
$in_session->(qq(SELECT profstore.intern_series('{$type}', '{"{\\"team\\": \\"s\\"}"}', '{1000}')));
is($in_session->($sample), '', 'interned under its own selector it is stored');

# a renamed role stays restricted
$node->safe_psql('postgres', 'ALTER ROLE suspect RENAME TO renamed');
like($in_session->($sample), qr/was not interned/, 'a renamed role is bound in its session');
is(run('postgres', 'renamed', intern('b', 'own')), '42501', 'and in the next');
is(run('postgres', 'renamed', intern('s', 'own')), '42501', 'where it stores nothing, as no selector has its name');
is(run('postgres', 'renamed', $sample), '55000', 'by no id either');
refused(q(SELECT profstore.grant_write('renamed')), qr/had a selector under another name/, 'a grant does not lift it by accident');
$node->safe_psql('postgres', q(CREATE DATABASE renamed));
command_ok([ 'pg_dump', '-p', $node->port, '-h', $node->host, '-Fc', '-f', "$tempdir/renamed", 'postgres' ], 'dumped');
command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('renamed'), "$tempdir/renamed" ], 'restored');
is(run('renamed', 'renamed', intern('s', 'own')), '42501', 'a dump keeps the mark');
$node->safe_psql('postgres', q(SELECT profstore.grant_write('renamed', '{team="s"}')));
is(run('postgres', 'renamed', intern('s', 'own', $store)), '', 'granted again it stores');
is(run('postgres', 'renamed', intern('b', 'own')), '42501', 'within its selector');

# ids of a dropped extension are not valid in a new one
$node->safe_psql('postgres', q(CREATE DATABASE again));
$node->safe_psql('again', q(CREATE EXTENSION profstore; SELECT profstore.grant_write('renamed', '{team="s"}'), profstore.ensure_partitions(now() - interval '1 hour', now())));
$session->quit;
$session = $node->background_psql('again', extra_params => [ '-U', 'renamed' ], on_error_stop => 0);
$ids = $in_session->(qq(SELECT (profstore.intern_series('{$type}', '{"{\\"team\\": \\"s\\"}"}', '{1000}'))[1]));
$sample = qq(INSERT INTO profstore.samples VALUES (now() - interval '1 min', $ids, 0, 5));
is($in_session->($sample), '', 'stored');
$node->safe_psql('again', q(DROP EXTENSION profstore; DROP SCHEMA IF EXISTS profstore CASCADE; DROP SCHEMA IF EXISTS profstore_internal CASCADE; CREATE EXTENSION profstore;
	SELECT profstore.grant_write('operator'), profstore.grant_write('renamed', '{team="s"}'), profstore.ensure_partitions(now() - interval '1 hour', now())));
is(run('again', 'operator', intern('b', 'SECRET')), '', 'the id is that of another series now');
like($in_session->($sample), qr/was not interned/, 'and is refused');
$session->quit;

$node->safe_psql('postgres', q(DELETE FROM profstore.bound_writers; SELECT profstore.grant_write('team_a')));
is(run('postgres', 'team_a', intern('b', 'own', $store)), '', 'but on purpose');
done_testing();
