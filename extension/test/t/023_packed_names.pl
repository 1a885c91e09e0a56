# Packed functions and locations: equal rows and ids after packing, after a crash, on a standby, after a dump and restore, also into
# another encoding; changes of packed rows; damage.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
$primary->append_conf('postgresql.conf', 'autovacuum = off');
$primary->start;
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

# Names with one letter outside ASCII, equal and unequal texts, locations, and lines without a location.
my $letter = "U&'\\00e4'";
my $functions = "SELECT md5(profstore.intern_functions(array_agg('f' || i || $letter), array_agg(CASE WHEN i % 3 = 0 THEN 'f' || i || $letter ELSE '_Z' || i END),
	array_agg('/src/' || i / 20 || '.cc'), array_agg(i % 50))::text) FROM generate_series(1, 1000) AS i";
my $locations = "SELECT md5(profstore.intern_locations(array_agg(i % 2), array_agg((i * 7)::int8), array_agg(1 + (i % 4 = 1)::int4), (SELECT array_agg(1 + j % 1000) FROM generate_series(1, 3750) AS j),
	(SELECT array_agg(j % 2) FROM generate_series(1, 3750) AS j))::text) FROM generate_series(1, 3000) AS i";
my $rows = "SELECT (SELECT md5(string_agg(f::text, ',' ORDER BY f.id)) FROM profstore.functions AS f) || ' ' || (SELECT md5(string_agg(l::text, ',' ORDER BY l.id)) FROM profstore.locations AS l)";
my $young = "SELECT (SELECT count(*) FROM profstore.function_rows) || ' ' || (SELECT count(*) FROM profstore.location_rows)";
my $verify = 'SELECT relation, segment, problem FROM profstore.verify()';

sub load
{
	my ($node, $database) = @_;
	$node->safe_psql($database, "CREATE EXTENSION profstore; SELECT profstore.intern_mappings('{aa}', '{/bin/a}')");
	return ($node->safe_psql($database, $functions), $node->safe_psql($database, $locations));
}

my ($function_ids, $location_ids) = load($primary, 'postgres');
my $expected = $primary->safe_psql('postgres', $rows);

sub is_same
{
	my ($node, $database, $name) = @_;
	is($node->safe_psql($database, $rows), $expected, "$name: the same rows");
	return if $node == $standby;
	is($node->safe_psql($database, $functions), $function_ids, "$name: the same functions");
	is($node->safe_psql($database, $locations), $location_ids, "$name: the same locations");
	is($node->safe_psql($database, $verify), '', "$name: nothing is damaged");
}

# --- packing, crash, standby ---------------------------------------------------------------------------------------

$primary->safe_psql('postgres', 'BEGIN; SELECT profstore.compact_dictionary(); ROLLBACK');
is($primary->safe_psql('postgres', $young), '1000 3000', 'nothing is packed where that is rolled back');
is_same($primary, 'postgres', 'rolled back');
$primary->safe_psql('postgres', 'SELECT profstore.compact_dictionary()');
is($primary->safe_psql('postgres', $young), '0 0', 'all is packed');
is_same($primary, 'postgres', 'packed');
is($primary->safe_psql('postgres', $young), '0 0', 'nothing known is stored again');
$primary->wait_for_catchup($standby);
is_same($standby, 'postgres', 'standby');
$primary->stop('immediate');
$primary->start;
is_same($primary, 'postgres', 'crash');

# --- changes ---------------------------------------------------------------------------------------------------------

# So far the location has a symbol.
is($primary->safe_psql('postgres', "SELECT profstore.intern_locations('{1}', '{21}', '{3}', '{1,2,3}', '{4,5,6}') = array[(profstore.intern_locations('{1}', '{21}', '{0}', '{}', '{}'))[1]]"),
	't', 'a better answer keeps the id');
is($primary->safe_psql('postgres', 'SELECT lines FROM profstore.locations WHERE mapping = 1 AND address = 21'), '{4,5,6}', 'and is seen');
$primary->wait_for_catchup($standby);
is($standby->safe_psql('postgres', 'SELECT lines FROM profstore.locations WHERE mapping = 1 AND address = 21'), '{4,5,6}', 'on the standby, too');
$primary->safe_psql('postgres', "UPDATE profstore.functions SET name = 'renamed' WHERE id % 100 = 7; SELECT profstore.bump_names()");
is($primary->safe_psql('postgres', "SELECT count(*) FROM profstore.functions WHERE name = 'renamed'"), '10', 'packed names are changed');
is($primary->safe_psql('postgres', "SELECT profstore.intern_functions('{renamed}', '{_Z107}', '{/src/5.cc}', '{7}')"), '{107}', 'and found by what they are now');
is($primary->safe_psql('postgres', 'DELETE FROM profstore.functions WHERE id = 500 RETURNING id'), '500', 'a packed name is removed');
is($primary->safe_psql('postgres', 'SELECT count(*), count(DISTINCT id) FROM profstore.functions'), '999|999', 'and nothing else');
my ($status, $out, $err) = $primary->psql('postgres', "INSERT INTO profstore.functions VALUES (501, 'a', 'a', '', 0, false)");
like($err, qr/duplicate key value/, 'a packed id cannot be given again');
is($primary->safe_psql('postgres', $verify), '', 'nothing is damaged by changes');
$primary->safe_psql('postgres', q(SELECT profstore.intern_functions(array[repeat('x', 10000)], array['y' || repeat('y', 10000)], array[''], '{0}')));
$expected = $primary->safe_psql('postgres', $rows);
$primary->safe_psql('postgres', 'SELECT profstore.compact_dictionary()') for 1 .. 20;
is($primary->safe_psql('postgres', $rows), $expected, 'changes are packed again');
is($primary->safe_psql('postgres', q(SELECT length(name) FROM profstore.function_rows WHERE system_name ~ '^y+$')), '10000', 'what is very long stays a row');

# --- waiting for locks -----------------------------------------------------------------------------------------------

# Empty indexes are rebuilt, but not by a transaction that may continue for long.
$primary->safe_psql('postgres', 'CREATE DATABASE busy');
$primary->safe_psql('busy', q(CREATE EXTENSION profstore;
	SELECT count(*) FROM unnest(profstore.intern_functions((SELECT array_agg('f' || i) FROM generate_series(1, 30000) AS i), array_fill(''::text, array[30000]), array_fill(''::text, array[30000]), array_fill(0, array[30000])))));
$primary->safe_psql('busy', 'SELECT profstore.compact_dictionary()');
$primary->safe_psql('busy', 'VACUUM profstore.function_rows');
my $indexes = q(SELECT pg_indexes_size('profstore.function_rows'));
my $before = $primary->safe_psql('busy', $indexes);
my $session = $primary->background_psql('busy');
$session->query_safe('BEGIN; SELECT profstore.compact_dictionary();');
is($primary->safe_psql('busy', q(SET lock_timeout = '30s'; SELECT profstore.intern_functions('{f1}', '{""}', '{""}', '{0}'))), '{1}',
	'names are known beside an open transaction that packs');
$session->query_safe('COMMIT;');
$session->quit;
is($primary->safe_psql('busy', $indexes), $before, 'which left the indexes as they were');
$primary->safe_psql('busy', 'SELECT profstore.compact_dictionary()');
cmp_ok($primary->safe_psql('busy', $indexes), '<', $before / 2, 'by itself it makes them small');

# --- dump and restore --------------------------------------------------------------------------------------------------

my $file = PostgreSQL::Test::Utils::tempdir() . '/dump';

sub restore
{
	my ($from, $to, $encoding) = @_;
	$primary->safe_psql('postgres', "DROP DATABASE IF EXISTS $to");
	$primary->safe_psql('postgres', "CREATE DATABASE $to TEMPLATE template0 ENCODING '$encoding'");
	$primary->command_ok([ 'pg_dump', '-Fc', '-f', $file, $primary->connstr($from) ], "$from is dumped");
	return $primary->run_log([ 'pg_restore', '--exit-on-error', '-d', $primary->connstr($to), $file ]);
}

$primary->safe_psql('postgres', "CREATE DATABASE sound");
($function_ids, $location_ids) = load($primary, 'sound');
$primary->safe_psql('sound', 'SELECT profstore.compact_dictionary()');
my @checks = ($functions, $locations);
$expected = $primary->safe_psql('sound', $rows);
for my $encoding ('UTF8', 'LATIN1')
{
	ok(restore('sound', 'restored', $encoding), "restored to $encoding");
	is($primary->safe_psql('restored', "SET client_encoding = 'UTF8'; $young"), '0 0', "$encoding: packed");
	is($primary->safe_psql('restored', "SELECT count(*) FROM profstore.functions AS f WHERE name = 'f' || id || $letter AND length(name) = 2 + length(id::text)"), '1000', "$encoding: names");
	is($primary->safe_psql('restored', $functions), $function_ids, "$encoding: the same functions");
	is($primary->safe_psql('restored', $locations), $location_ids, "$encoding: the same locations");
	is($primary->safe_psql('restored', $verify), '', "$encoding: nothing is damaged");
}
# the dump is restored once more, with names that were packed in that encoding
$primary->safe_psql('restored', "SELECT profstore.intern_functions(array['g' || $letter], '{g}', '{g}', '{1}'); SELECT profstore.compact_dictionary()") for 1 .. 20;
ok(restore('restored', 'back', 'UTF8'), 'restored from LATIN1');
is($primary->safe_psql('back', "SELECT count(*) FROM profstore.functions WHERE name = 'g' || $letter"), '1', 'with its names');
# a letter that the other encoding lacks makes the restore fail, also without packing
$primary->safe_psql('sound', "SELECT profstore.intern_functions(array_agg(i || U&'\\0416'), array_agg('cyrillic'::text), array_agg(''::text), array_agg(0)) FROM generate_series(1, 100) AS i; SELECT profstore.compact_dictionary()");
ok(!restore('sound', 'restored', 'LATIN1'), 'a letter that an encoding lacks is not restored to it');
# names with bytes that are invalid in UTF-8 are not packed
$primary->safe_psql('postgres', "CREATE DATABASE bytes TEMPLATE template0 ENCODING 'SQL_ASCII'");
$primary->safe_psql('bytes', q(CREATE EXTENSION profstore; SELECT profstore.intern_functions(array[E'\xff', E'\xc3\xa4'], '{a,b}', '{f,f}', '{0,0}'); SELECT profstore.compact_dictionary()));
is($primary->safe_psql('bytes', q(SELECT (SELECT string_agg(encode(name::bytea, 'hex'), ',') FROM profstore.function_rows), (SELECT string_agg(encode(convert_to(name, 'SQL_ASCII'), 'hex'), ',' ORDER BY id) FROM profstore.functions))) =~ s/\\\\/\\/r,
	'ff|ff,c3a4', 'bytes that are no UTF-8 stay a row');

# --- many rows of equal content: each is found by the index, without a scan of all of them ---------------------------

$primary->safe_psql('postgres', 'CREATE DATABASE equal');
$primary->safe_psql('equal', q(CREATE EXTENSION profstore; INSERT INTO profstore.functions SELECT i, 'f', 'f', 'f.c', 1, false FROM generate_series(6000, 3001, -1) AS i; SELECT profstore.compact_dictionary();
	INSERT INTO profstore.functions SELECT i, 'f', 'f', 'f.c', 1, false FROM generate_series(1, 3000) AS i; SELECT profstore.compact_dictionary()));
is($primary->safe_psql('equal', "$young; $verify"), '0 0', 'equal ones are packed');
$primary->safe_psql('equal', 'DELETE FROM profstore.functions WHERE id % 3 = 0');
is($primary->safe_psql('equal', "SELECT count(*), sum(id) FROM profstore.functions; $verify"), '4000|12000000', 'a third of them is removed');
is($primary->safe_psql('equal', "SELECT profstore.intern_functions('{f}', '{f}', '{f.c}', '{1}') = '{1}'"), 't', 'the first is used');

# --- damage -------------------------------------------------------------------------------------------------------------

($status, $out, $err) = $primary->psql('sound', 'INSERT INTO profstore.function_chunks VALUES (1000, NULL, NULL)');
like($err, qr/null value in column "present"/, 'a chunk without columns is refused');

$primary->safe_psql('sound', 'UPDATE profstore.function_chunks SET payload = set_byte(payload, 100, get_byte(payload, 100) # 1) WHERE number = 1');
$primary->safe_psql('sound', 'UPDATE profstore.location_hashes SET entries = set_byte(entries, 20, get_byte(entries, 20) # 1) WHERE lowest = (SELECT min(lowest) FROM profstore.location_hashes)');
like($primary->safe_psql('sound', $verify), qr/profstore\.function_chunks\|1\|the checksum does not match\n(.*\n)*profstore\.location_hashes\|-9223372036854775808\|the row is damaged/, 'verify() tells of damage');
($status, $out, $err) = $primary->psql('sound', '\set VERBOSITY verbose' . "\nSELECT count(*) FROM profstore.functions");
like($err, qr/XX001: chunk 1 of "profstore.function_chunks" cannot be read: the checksum does not match/, 'reading it is an error');
# if there is no backup, the hint's commands work: the names are lost, and can be stored again
$primary->safe_psql('sound', 'DELETE FROM profstore.function_chunks WHERE number = 1');
is($primary->safe_psql('sound', "SELECT min(i) > 1000 FROM unnest((SELECT profstore.intern_functions(array_agg('f' || i || $letter), array_agg('_Z' || i), array_agg('/src/' || i / 20 || '.cc'), array_agg(i % 50)) FROM generate_series(301, 400) AS i WHERE i % 3 > 0)) AS i"), 't', 'names of a chunk that was deleted are stored again');

# rows that cannot be packed do not stop other work
$primary->safe_psql('sound', 'SELECT profstore.ensure_partitions(now(), now())');
$primary->safe_psql('sound', 'INSERT INTO profstore.samples SELECT now(), 0, 0, 1') for 1 .. 2;
$primary->safe_psql('sound', "INSERT INTO profstore.function_rows SELECT * FROM profstore.functions WHERE id = (SELECT max(id) FROM profstore.functions WHERE id NOT IN (SELECT id FROM profstore.function_rows)); SELECT profstore.intern_functions(array_agg('more' || i), array_agg('' || i), array_agg(''::text), array_agg(0)) FROM generate_series(1, 2000) AS i");
($status, $out, $err) = $primary->psql('sound', "SELECT profstore.compact('profstore.samples')");
is($out, '2', 'samples are compacted');
like($err, qr/WARNING:  functions and locations were not packed: id \d+ of "profstore.functions" exists twice\nHINT:  Delete it from profstore.function_rows\./s, 'what is wrong with a name is told');
$standby->stop;
$primary->stop;
done_testing();
