# Locks that an idle session holds: the background worker continues with all other work, in this database and in others.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('locks');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'profstore'\nprofstore.compaction_naptime = 1s\nautovacuum = off\n");
$node->start;

sub sees
{
	my ($database, $query, $what) = @_;
	ok($node->poll_query_until($database, "SELECT $query"), $what);
}

# The outcome of an upkeep statement, run while the background worker is idle.
sub said
{
	my ($statement) = @_;
	my ($code, $out, $errors);
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		($code, $out, $errors) = $node->psql('first', $statement);
		last if $errors !~ /another transaction (compacts|collects)/;
		usleep(100_000);
	}
	return $errors;
}

# the launcher handles databases in the order of their creation
$node->safe_psql('postgres', "CREATE DATABASE $_") for qw(first second third);
for my $database (qw(first second third))
{
	$node->safe_psql($database, q(
		CREATE EXTENSION profstore;
		CREATE TABLE t (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
		CREATE TABLE notes (stack int8);
		SELECT profstore.track_stacks('notes', 'stack');
	));
}
# the worker may run between the two inserts, and then their segments stay separate
my $merged = q(count(*) > 0 AND min(level) = 2 FROM profstore.segment_details WHERE relation = 't'::regclass);
sub insert
{
	my ($database) = @_;
	$node->safe_psql($database, q(TRUNCATE t));
	$node->safe_psql($database, q(BEGIN; LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE; INSERT INTO t VALUES ('2026-01-01Z', 1, 1, 1); COMMIT)) for 1 .. 2;
}
my $past = q(SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-01Z'); INSERT INTO profstore.samples VALUES ('2026-01-01Z', 1, 1, 1);
	SELECT profstore.set_retention('1 day'); UPDATE profstore.epoch SET collected = '2000-01-01');
my $gone = q(count(*) = 0 FROM profstore.partitions());

# a lock on a tracked table while collection is due: only the collection waits
my $idle = $node->background_psql('first');
$idle->query_safe('BEGIN; LOCK TABLE notes IN ACCESS EXCLUSIVE MODE');
$node->safe_psql($_, $past) for qw(first second);
sees($_, $gone, "a tracked table is locked: retention goes on in $_") for qw(first second);
sees('second', q(collected > now() - interval '1 hour' FROM profstore.epoch), 'the dictionary of another database is collected');
insert($_) for qw(first second);
sees($_, $merged, "compaction goes on in $_") for qw(first second);
is($node->safe_psql('first', q(SELECT collected = '2000-01-01' FROM profstore.epoch)), 't', 'the dictionary is not collected');
like(said('SELECT * FROM profstore.collect_dictionary()'), qr/NOTICE:  skipping the collection of the dictionary: the lock of table "notes" is taken/, 'nor by hand, which tells why');
$idle->query_safe('COMMIT');
sees('first', q(collected > now() - interval '1 hour' FROM profstore.epoch), 'later it is');

# other locks of upkeep
$idle->query_safe('BEGIN; SELECT profstore.bump_names()');
like(said('SELECT * FROM profstore.collect_dictionary()'), qr/NOTICE:  skipping the collection of the dictionary: another transaction has changed names/, 'names that are being changed');
$idle->query_safe('ROLLBACK');
$idle->query_safe('BEGIN; LOCK TABLE profstore.stack_chunks IN ACCESS EXCLUSIVE MODE');
like(said('SELECT profstore.compact_dictionary()'), qr/NOTICE:  skipping the dictionary: the lock of table "stack_chunks" is taken/, 'chunks');
$idle->query_safe('ROLLBACK');
$idle->query_safe('BEGIN; LOCK TABLE profstore.segments IN SHARE MODE');
like(said(q(SELECT profstore.compact('t'))), qr/NOTICE:  skipping table "t": the lock of its directory is taken/, 'the directory');
$idle->query_safe('ROLLBACK');
$idle->query_safe('BEGIN; LOCK TABLE profstore.samples IN SHARE MODE');
my ($code, $out, $errors) = $node->psql('first', q(SELECT profstore.ensure_partitions('2026-02-01Z', '2026-02-01Z')));
like($errors, qr/ERROR:  canceling statement due to lock timeout/, 'partitions that cannot be made end in an error');
is($node->safe_psql('first', 'SHOW lock_timeout'), '0', 'the setting is as before');
$idle->query_safe('ROLLBACK');
$idle->quit;

# remove_samples does not make other sessions queue behind it: while a reader keeps its lock, others can read and write
my $reader = $node->background_psql('third');
my $remover = $node->background_psql('third', on_error_stop => 0);
$node->safe_psql('third', q(INSERT INTO t SELECT '2026-01-02Z', g, 1, g FROM generate_series(1, 10) AS g));
$reader->query_safe('BEGIN; SELECT count(*) FROM t');
$remover->query_safe(q(SET lock_timeout = '100s'));
$remover->query_until(qr/begun/, "\\echo begun\nSELECT profstore.remove_samples('t', 'series_id > 5');\n");
sees('third', q(count(*) > 0 FROM pg_locks WHERE relation = 't'::regclass AND mode = 'AccessExclusiveLock' AND NOT granted), 'the lock is asked for');
for my $i (1 .. 3)
{
	($code, $out, $errors) = $node->psql('third', q(SET statement_timeout = '20s'; INSERT INTO t VALUES ('2026-01-03Z', 1, 1, 1); SELECT count(*) > 0 FROM t));
	is("$code $out$errors", '0 t', "others go on: $i");
}
$reader->query_safe('COMMIT');
like($remover->query('SELECT count(*) FROM t WHERE series_id > 5'), qr/^5\n0$/, 'rows go when the reader has ended');
$reader->query_safe('BEGIN; SELECT count(*) FROM t');
($code, $out, $errors) = $node->psql('third', q(SET lock_timeout = '1s'; SELECT profstore.remove_samples('t', 'series_id = 5')));
like($errors, qr/ERROR:  could not lock table "t" within 1000 ms/, 'or not, after lock_timeout');
is($node->safe_psql('third', q(SELECT count(*) FROM t WHERE series_id = 5)), 1, 'and then nothing has gone');
$reader->query_safe('COMMIT');
$_->quit for $reader, $remover;

# a database that refuses connections: its worker is delayed, those of other databases run
$idle = $node->background_psql('postgres');
$idle->query_safe('BEGIN; ALTER DATABASE second RENAME TO renamed');
insert('third');
sees('third', $merged, 'a database that is being renamed does not stop the next');
insert('third');
sees('third', $merged, 'in the rounds after, too');
$idle->query_safe('ROLLBACK');
$idle->quit;
insert('second');
sees('second', $merged, 'and has its turn again');
$node->stop;
done_testing();
