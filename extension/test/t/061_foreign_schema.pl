# Objects of other roles in schema "profstore" before CREATE EXTENSION or ALTER EXTENSION UPDATE: their code never runs, errors name them.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('foreign_schema');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE mallory; CREATE ROLE "Eve, too"; CREATE ROLE dba SUPERUSER');

my @versions = ('0.9', $node->safe_psql('postgres', q(SELECT default_version FROM pg_available_extensions WHERE name = 'profstore')));

# Functions that match calls in the scripts better than those of pg_catalog. Each records that it ran, and as which role; indexes use
# the immutable ones.
my $plant = q(
	CREATE FUNCTION profstore.note(what text) RETURNS void LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO public.ran VALUES (what, current_user); END $$;
	CREATE FUNCTION profstore.pg_extension_config_dump(text, text) RETURNS void LANGUAGE plpgsql AS
		$$ BEGIN PERFORM profstore.note('pg_extension_config_dump'); END $$;
	CREATE FUNCTION profstore.hashtextextended(t text, seed int4) RETURNS int8 IMMUTABLE LANGUAGE plpgsql AS
		$$ BEGIN PERFORM profstore.note('hashtextextended'); RETURN 1; END $$);
my $use = q(SELECT profstore.intern_mappings('{aa}', '{/bin/x}');
	SELECT profstore.intern_functions('{main}', '{main}', '{m.c}', '{1}'));
my $as_mallory = "SET ROLE mallory; $plant; RESET ROLE";
my $to_mallory = 'ALTER SCHEMA profstore OWNER TO mallory';
my $back = 'ALTER SCHEMA profstore OWNER TO CURRENT_USER';

sub database
{
	my ($name, @sql) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, 'CREATE TABLE ran (what text, who name); GRANT ALL ON ran TO PUBLIC');
	$node->safe_psql($name, $_) for @sql;
}

sub nothing_ran
{
	my ($name, $title) = @_;
	is($node->safe_psql($name, 'SELECT DISTINCT * FROM ran ORDER BY 1'), '', "$title: nothing of others ran");
}

sub refused
{
	my ($name, $command, $message, $title) = @_;
	my ($status, $out, $err) = $node->psql($name, "\\set VERBOSITY verbose\n$command");
	like($err, $message, $title);
	nothing_ran($name, $title);
}

my $foreign_owner = qr/ERROR:  55000: schema "profstore" belongs to role "mallory", which is not a superuser\nDETAIL:.*\nHINT:  .*ALTER SCHEMA profstore OWNER TO CURRENT_USER/;
my $foreign_objects = qr/ERROR:  55000: schema "profstore" has objects of roles that are not superusers\nDETAIL:  There is function profstore\.note\(text\), which belongs to role "mallory";.*\nHINT:  .*SET SCHEMA/;

# --- before CREATE EXTENSION -----------------------------------------------------------------------------------------

database('owned', 'CREATE SCHEMA profstore AUTHORIZATION mallory', $as_mallory);
for my $version (@versions)
{
	refused('owned', "CREATE EXTENSION profstore VERSION '$version'; $use", $foreign_owner, "$version: a schema of somebody else");
}
$node->safe_psql('owned', $back);
for my $version (@versions)
{
	refused('owned', "CREATE EXTENSION profstore VERSION '$version'; $use", $foreign_objects, "$version: what somebody else has left in the schema");
}
$node->safe_psql('owned', 'CREATE SCHEMA elsewhere; ALTER FUNCTION profstore.note SET SCHEMA elsewhere;
	ALTER FUNCTION profstore.pg_extension_config_dump SET SCHEMA elsewhere; ALTER FUNCTION profstore.hashtextextended SET SCHEMA elsewhere');
$node->safe_psql('owned', "CREATE EXTENSION profstore; $use");
nothing_ran('owned', 'after the hint was followed');

database('open', 'CREATE SCHEMA profstore', 'GRANT CREATE ON SCHEMA profstore TO PUBLIC, "Eve, too", dba');
refused('open', 'CREATE EXTENSION profstore', qr/ERROR:  55000: roles that are not superusers may create objects in schema "profstore"\nDETAIL:  CREATE is granted to "Eve, too", PUBLIC\.\nHINT:  Run REVOKE CREATE ON SCHEMA profstore FROM "Eve, too", PUBLIC\./,
	'a schema in which others may create');
$node->safe_psql('open', 'REVOKE CREATE ON SCHEMA profstore FROM "Eve, too", PUBLIC; CREATE EXTENSION profstore');

# Kinds of objects that have an owner; a table includes its row type, and an aggregate is a function.
my %kinds = (
	'type' => q(CREATE TYPE profstore.x AS ENUM ('a')), 'table' => 'CREATE TABLE profstore.x ()', 'view' => 'CREATE VIEW profstore.x AS SELECT 1 AS a',
	'operator' => 'CREATE OPERATOR profstore.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = texteq)',
	'collation' => 'CREATE COLLATION profstore.x FROM "C"', 'text search dictionary' => 'CREATE TEXT SEARCH DICTIONARY profstore.x (TEMPLATE = simple)');
for my $kind (sort keys %kinds)
{
	my ($status, $out, $err) = $node->psql('postgres', "BEGIN; CREATE SCHEMA profstore AUTHORIZATION mallory;
		SET ROLE mallory; $kinds{$kind}; RESET ROLE; $back; CREATE EXTENSION profstore");
	like($err, qr/has objects of roles that are not superusers\nDETAIL:  There is $kind \S+, which belongs to role "mallory"\./, "a left $kind is found");
}

# Only the script creates the inner schema.
database('taken', 'CREATE SCHEMA profstore_internal');
refused('taken', 'CREATE EXTENSION profstore', qr/ERROR:  42P06: schema "profstore_internal" already exists\nDETAIL:.*\nHINT:  .*rename or drop it/, 'an inner schema that is there');
$node->safe_psql('taken', 'ALTER SCHEMA profstore_internal OWNER TO mallory');
refused('taken', 'CREATE EXTENSION profstore', qr/ERROR:  55000: schema "profstore_internal" belongs to role "mallory"/, 'an inner schema of somebody else');

# Objects that a superuser has created there may stay. The scripts do not call them either.
for my $version (@versions)
{
	(my $name = "superuser_$version") =~ tr/./_/;
	database($name, 'CREATE SCHEMA profstore AUTHORIZATION dba', $plant);
	$node->safe_psql($name, "CREATE EXTENSION profstore VERSION '$version'; $use");
	nothing_ran($name, "$version: functions of a superuser in the schema");
}

# --- before ALTER EXTENSION UPDATE -----------------------------------------------------------------------------------

my $old = q(CREATE EXTENSION profstore VERSION '0.9');
my $day = q(SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-01Z'));
database('update_owned', $old, $day, $to_mallory, $as_mallory);
refused('update_owned', 'ALTER EXTENSION profstore UPDATE', $foreign_owner, 'an update in a schema of somebody else');
$node->safe_psql('update_owned', $back);
refused('update_owned', 'ALTER EXTENSION profstore UPDATE', $foreign_objects, 'an update where somebody else has left something');

database('update_superuser', $old, $day, $plant);
$node->safe_psql('update_superuser', "ALTER EXTENSION profstore UPDATE; $use");
nothing_ran('update_superuser', 'an update beside functions of a superuser');

database('update_inner', $old, $day, 'ALTER SCHEMA profstore_internal OWNER TO mallory');
refused('update_inner', 'ALTER EXTENSION profstore UPDATE', qr/ERROR:  55000: schema "profstore_internal" belongs to role "mallory"/, 'an update where the inner schema is somebody else\'s');

# The user already has a function that the update adds: it does not become part of the extension.
database('update_adopted', $old, 'CREATE FUNCTION profstore.untrack_stacks(regclass) RETURNS text LANGUAGE sql RETURN 1');
refused('update_adopted', 'ALTER EXTENSION profstore UPDATE', qr/ERROR:  .*(?:untrack_stacks|function).*(?:already exists|not a member of extension)/, 'an update does not adopt a function');

# --- another schema of the name ---------------------------------------------------------------------------------------

# The owner of the extension's schema can rename it. The module does not use another schema that then has its name.
database('renamed', 'CREATE EXTENSION profstore', 'ALTER SCHEMA profstore RENAME TO kept', 'CREATE SCHEMA profstore AUTHORIZATION mallory', $as_mallory, q(
	SET ROLE mallory;
	CREATE FUNCTION profstore.intern_functions(text[], text[], text[], int4[]) RETURNS int4[] LANGUAGE plpgsql AS
		$$ BEGIN PERFORM profstore.note('intern_functions'); RETURN array[1]; END $$;
	CREATE TABLE profstore.restored_policies (relation text, policy text, command text);
	INSERT INTO profstore.restored_policies VALUES ('x', '', 'x')));
for my $command ('CALL kept.apply_retention()', q(SELECT kept.import_folded('main 1')), q(SELECT kept.top('a:b:c:d:e', '-infinity', 'infinity')))
{
	refused('renamed', $command, qr/ERROR:  55000: there is no extension "profstore" in a schema "profstore"\nHINT:  .*rename them back/, "$command in a renamed schema");
}
$node->safe_psql('renamed', 'GRANT SELECT ON ran TO mallory; ALTER TABLE ran ADD COLUMN more text');
nothing_ran('renamed', 'commands that event triggers look at');

# The same for the inner schema.
database('inner_schema', 'CREATE EXTENSION profstore', 'ALTER SCHEMA profstore_internal RENAME TO kept', 'CREATE SCHEMA profstore_internal AUTHORIZATION mallory', q(
	SET ROLE mallory;
	CREATE FUNCTION profstore_internal.retention_steps() RETURNS TABLE (relation regclass, action text, before timestamptz) LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO public.ran VALUES ('retention_steps', current_user); END $$));
refused('inner_schema', 'CALL profstore.apply_retention()', qr/ERROR:  55000: there is no extension "profstore" in a schema "profstore"\nHINT:  .*rename them back/,
	'retention beside an inner schema of somebody else');

# A table of the extension's access method neither reads nor writes foreign tables with the names of the directory's tables.
database('directory', 'CREATE EXTENSION profstore; CREATE TABLE t (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
	INSERT INTO t VALUES (now(), 1, 0, 1); ALTER SCHEMA profstore RENAME TO kept; CREATE SCHEMA profstore AUTHORIZATION mallory; SET ROLE mallory;
	CREATE SEQUENCE profstore.storage_ids; CREATE TABLE profstore.row_ledger (storage_id text, rows text); CREATE TABLE profstore.epoch (one text, ids text);
	CREATE TABLE profstore.rollups (storage_id text PRIMARY KEY); CREATE TABLE profstore.segments (storage_id text PRIMARY KEY,
		' . join(', ', map { "c$_ text" } 2 .. 14) . ')');
for my $command ('SELECT * FROM t', 'INSERT INTO t VALUES (now(), 1, 0, 1)', 'TRUNCATE t', 'VACUUM FULL t', q(SELECT kept.compact('t')), q(SELECT * FROM kept.verify('t')))
{
	my ($status, $out, $err) = $node->psql('directory', $command);
	like($err, qr/ERROR:  (?:relation "profstore\.\w+" does not exist|there is no extension "profstore" in a schema "profstore")/, "$command beside a directory of somebody else");
}
is($node->safe_psql('directory', 'DROP SCHEMA profstore CASCADE; ALTER SCHEMA kept RENAME TO profstore; SELECT value FROM t'), '1', 'the rows are there when the schema has its name back');

$node->stop;
done_testing();
