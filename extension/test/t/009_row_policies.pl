# Row policies on the extension's tables are part of a dump, however it is restored; if a policy cannot be restored, reading is denied.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('policies');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
$node->safe_psql('postgres', q(
	CREATE ROLE tenant LOGIN;
	CREATE ROLE "Other Tenant" LOGIN;
	CREATE ROLE everyone LOGIN;
	CREATE ROLE dumper LOGIN BYPASSRLS;
	GRANT pg_read_all_data TO dumper;
	CREATE EXTENSION profstore;
	SELECT profstore.grant_read('tenant'), profstore.grant_read('"Other Tenant"'), profstore.grant_read('everyone');
	SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-01Z');
	SELECT profstore.intern_series(array_fill('cpu:cpu:nanoseconds:cpu:nanoseconds:delta'::text, ARRAY[3]),
		ARRAY['{"team": "a", "node": "n1"}', '{"team": "b", "node": "n2"}', '{"team": "c", "node": "n3"}']::jsonb[], '{1, 1, 1}');
	INSERT INTO profstore.samples SELECT '2026-01-01 12:00Z', g, 0, 10 ^ g FROM generate_series(1, 3) g;
	INSERT INTO profstore.losses (time, node, reason, count) SELECT '2026-01-01 12:00Z', 'n' || g, 'test', g FROM generate_series(1, 3) g;
	INSERT INTO profstore.file_notes SELECT g, '', ARRAY['note ' || g], '', '', '' FROM generate_series(1, 3) g;

	-- a function and a table of users, which the policies need; names that want quotes
	CREATE SCHEMA app;
	CREATE TABLE app.teams (tenant name, team text);
	INSERT INTO app.teams VALUES ('tenant', 'a'), ('Other Tenant', 'b'), ('Other Tenant', 'c');
	CREATE FUNCTION app.is_shown(labels jsonb) RETURNS bool LANGUAGE sql STABLE RETURN NOT labels @> '{"team": "c"}';
	GRANT USAGE ON SCHEMA app TO PUBLIC;
	GRANT SELECT ON app.teams TO PUBLIC;
	ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
	CREATE POLICY teams ON profstore.series FOR SELECT TO tenant, "Other Tenant" USING (labels ->> 'team' IN (SELECT t.team FROM app.teams t WHERE t.tenant = current_user));
	CREATE POLICY "Shown; at all" ON profstore.series AS RESTRICTIVE FOR SELECT TO "Other Tenant" USING (app.is_shown(labels));
	CREATE POLICY everyone ON profstore.series TO everyone USING (true) WITH CHECK (false);
	ALTER TABLE profstore.file_notes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
	CREATE POLICY visible ON profstore.file_notes USING (series_id IN (SELECT s.id FROM profstore.series s));
	-- not in force
	CREATE POLICY idle ON profstore.mappings USING (false);
));
my $port = $node->port;
my $tempdir = PostgreSQL::Test::Utils::tempdir();

# The rows that a role sees: samples by the functions, hosts with losses, notes.
sub shown
{
	my ($database, $role) = @_;
	my $sql = q(SELECT (SELECT coalesce(sum(value), 0) FROM profstore.folded('cpu:cpu:nanoseconds:cpu:nanoseconds:delta{}', '2026-01-01Z', '2026-01-02Z')),
		(SELECT string_agg(node, ',' ORDER BY node) FROM profstore.losses),
		(SELECT string_agg(comments::text, ',' ORDER BY comments) FROM profstore.file_notes));
	my ($out, $err);
	$node->psql($database, "SET client_min_messages = warning; $sql", extra_params => [ '-U', $role ], stdout => \$out, stderr => \$err);
	return $out . $err;
}
my %expected = (
	tenant => '10|n1|{"note 1"}',
	'Other Tenant' => '100|n2|{"note 2"}',
	everyone => '1110|n1,n2,n3|{"note 1"},{"note 2"},{"note 3"}');
my $all_policies = $node->safe_psql('postgres', 'SELECT * FROM profstore.row_policies() ORDER BY 1, 2');
like($all_policies, qr/^series\|Shown; at all\|CREATE POLICY "Shown; at all" ON profstore.series AS RESTRICTIVE FOR SELECT TO "Other Tenant" USING \(app.is_shown\(labels\)\)$/m,
	'policies as commands');

sub check
{
	my ($database, $name) = @_;
	is(shown($database, $_), $expected{$_}, "$name: what $_ sees") for sort keys %expected;
	is($node->safe_psql($database, 'SELECT * FROM profstore.row_policies() ORDER BY 1, 2'), $all_policies, "$name: the same policies");
	is($node->safe_psql($database, 'SELECT count(*) FROM profstore.restored_policies'), '0', "$name: none is left to be made");
	is($node->safe_psql($database, q(SELECT string_agg(concat(tgname, tgenabled), ',' ORDER BY tgname) FROM pg_trigger WHERE NOT tgisinternal AND tgname IN ('apply', 'stamp'))),
		'applyA,stampA', "$name: triggers fire always");
}
sub dump_to
{
	my ($file, $database, @options) = @_;
	command_ok([ 'pg_dump', '-p', $port, '-h', $node->host, @options, '-f', "$tempdir/$file", $database ], "dump @options");
	return "$tempdir/$file";
}
# Returns the output of the restoring program.
sub restore
{
	my ($name, @command) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run(\@command, '<', \undef, '>', \$out, '2>', \$err) or fail("$name: $err");
	return $err;
}
sub new_database
{
	my ($database) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	return (-d => $node->connstr($database));
}
my @psql = ('psql', '-Xq', '-v', 'ON_ERROR_STOP=1');
my @pg_restore = ('pg_restore', '--exit-on-error');

check('postgres', 'before');

# --- whole dumps ---------------------------------------------------------------------------------------------------

for my $plain ([ 'copy' ], [ 'inserts', '--inserts' ], [ 'rows', '--rows-per-insert=3' ], [ 'by_dumper', '-U', 'dumper' ])
{
	my ($name, @options) = @$plain;
	my $file = dump_to($name, 'postgres', @options);
	is(restore($name, @psql, new_database($name), '-f', $file), '', "$name: restored in silence");
	check($name, $name);
}
my $custom = dump_to('custom', 'postgres', '-Fc');
for my $how ([ 'serial' ], [ 'at_once', '--single-transaction' ], [ 'parallel', '-j', '3' ], [ 'untriggered', '--disable-triggers' ])
{
	my ($name, @options) = @$how;
	is(restore($name, @pg_restore, @options, new_database($name), $custom), '', "$name: restored in silence");
	check($name, $name);
}
my $again = dump_to('again', 'serial', '-Fc');
restore('again', @pg_restore, new_database('again'), $again);
check('again', 'a dump of what was restored');

# --- schema and data apart: privileges are granted before samples are restored --------------------------------------

for my $how ([ 'apart' ], [ 'apart_untriggered', '--disable-triggers' ])
{
	my ($name, @options) = @$how;
	my @to = new_database($name);
	restore($name, @pg_restore, '--schema-only', @to, $custom);
	is($node->safe_psql($name, q(SELECT has_table_privilege('tenant', 'profstore.samples', 'SELECT'), (SELECT count(*) FROM pg_policy WHERE polname !~ '^profstore'))),
		't|0', "$name: grants without policies");
	restore($name, @pg_restore, '--data-only', @options, @to, $custom);
	check($name, $name);
}
# if a dump of the schema alone needs them, policies are restored as commands
{
	my $schema = dump_to('schema', 'postgres', '--schema-only');
	restore('schema', @psql, new_database('schema'), '-f', $schema);
	$node->safe_psql('schema', $node->safe_psql('postgres', q(SELECT string_agg(command, '; ' ORDER BY policy) FROM profstore.row_policies())));
	is($node->safe_psql('schema', 'SELECT * FROM profstore.row_policies() ORDER BY 1, 2'), $all_policies, 'commands make the same policies');
}

# into a database with other policies, one of the same name: those of the dump are created, the others stay
{
	my @to = new_database('own');
	restore('own', @pg_restore, '--schema-only', @to, $custom);
	$node->safe_psql('own', q(
		ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
		CREATE POLICY teams ON profstore.series USING (true);
		CREATE POLICY own ON profstore.series AS RESTRICTIVE USING (true)));
	restore('own', @pg_restore, '--data-only', @to, $custom);
	is(shown('own', $_), $expected{$_}, "own: what $_ sees") for sort keys %expected;
	is($node->safe_psql('own', q(SELECT string_agg(polname, ',' ORDER BY polname) FROM pg_policy WHERE polrelid = 'profstore.series'::regclass)),
		'Shown; at all,everyone,own,teams', 'own: its policies, and those of the dump');
}

# --- objects that a policy needs are missing -------------------------------------------------------------------------

# A role was renamed between dump and restore; a function is not restored.
$node->safe_psql('postgres', 'ALTER ROLE "Other Tenant" RENAME TO renamed');
like($node->safe_psql('postgres', 'SELECT command FROM profstore.row_policies()'), qr/TO renamed USING/, 'a dump has roles by their present names');
for my $how ([ 'no_role' ], [ 'no_role_untriggered', '--disable-triggers' ])
{
	my ($name, @options) = @$how;
	my ($out, $err) = ('', '');
	my @to = new_database($name);
	my $log_size = -s $node->logfile;
	# grants also fail, including those to other roles in the same statement
	IPC::Run::run([ 'pg_restore', @options, @to, $custom ], '<', \undef, '>', \$out, '2>', \$err);
	# pg_restore shows warnings only when it is verbose
	my $log = slurp_file($node->logfile, $log_size);
	like($log, qr/WARNING:  row policies of table "profstore.series" could not be restored: role "Other Tenant" does not exist\n.*DETAIL:.*\n.*HINT:  .*SELECT profstore.apply_policies\(\)/m,
		"$name: a warning says what to do");
	my @warnings = $log =~ /WARNING:  row policies/g;
	is(scalar @warnings, 1, "$name: it comes once");
	my $grants = q(SELECT profstore.grant_read('tenant'), profstore.grant_read('everyone'));
	$node->safe_psql($name, $grants);
	is(shown($name, 'tenant'), '0||', "$name: a tenant sees nothing");
	is(shown($name, 'everyone'), '0||', "$name: nobody sees anything");
	is($node->safe_psql($name, 'SELECT count(*) FROM profstore.series'), '3', "$name: but the owner");
	like($node->psql($name, 'SELECT profstore.apply_policies()', extra_params => [ '-U', 'tenant' ], stderr => \$err) && $err, qr/permission denied/,
		"$name: who is no owner makes none");
	# a dump of the restored database also denies reading
	my $denied = dump_to("denied_$name", $name, '-Fc');
	IPC::Run::run([ 'pg_restore', new_database("denied_$name"), $denied ], '<', \undef, '>', \$out, '2>', \$err);
	$node->safe_psql("denied_$name", $grants);
	is(shown("denied_$name", 'tenant'), '0||', "$name: a dump of it shows nothing either");
}
$node->safe_psql('postgres', 'ALTER ROLE renamed RENAME TO "Other Tenant"');
for my $name ('no_role', 'no_role_untriggered', 'denied_no_role')
{
	$node->safe_psql($name, q(SELECT profstore.grant_read('"Other Tenant"'); GRANT USAGE ON SCHEMA app TO PUBLIC; GRANT SELECT ON app.teams TO PUBLIC));
	$node->safe_psql($name, 'SELECT profstore.apply_policies()');
	check($name, "$name, after apply_policies");
}
# reading stays denied if an administrator drops the restored policy
$node->safe_psql('serial', q(DROP POLICY teams ON profstore.series; INSERT INTO profstore.restored_policies VALUES
	('series', '', 'ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY'), ('series', 'teams', 'CREATE POLICY teams ON profstore.series USING (no_such_function())')));
is(shown('serial', 'everyone'), '0||', 'a policy that cannot be made denies reading to all');
$node->safe_psql('serial', q(DELETE FROM profstore.restored_policies; SELECT profstore.apply_policies()));

# --- commands of other sessions are not blocked ----------------------------------------------------------------------

$node->safe_psql('no_role', q(CREATE SCHEMA theirs AUTHORIZATION tenant));
is($node->psql('no_role', 'CREATE TABLE theirs.t (a int); ALTER TABLE theirs.t ADD COLUMN b int; GRANT SELECT ON theirs.t TO everyone', extra_params => [ '-U', 'tenant' ]), 0,
	'who may not read restored policies grants and alters');

$node->stop;
done_testing();
