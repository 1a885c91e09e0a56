# The background worker: merges what is worth it, in every database, obeys its settings, and survives what fails.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('worker');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'profstore'\nprofstore.compaction_naptime = 1s\n");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE second');

my $digest = 'SELECT count(*), sum(value) FROM t';

# Segments, one of each insert, that the worker finds all at once: it leaves a table alone that another one maintains.
sub insert_together
{
	my ($database, $time, $count) = @_;
	my $lock = $node->background_psql($database);

	$lock->query_safe('BEGIN; LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE');
	$node->safe_psql($database, "INSERT INTO t SELECT $time, $_, g, g FROM generate_series(1, 100) g") for 1 .. $count;
	$lock->query_safe('COMMIT');
	$lock->quit;
}

my $levels = q(SELECT string_agg(level || ':' || segments, ',' ORDER BY level) FROM profstore.segment_stats WHERE relation = 't'::regclass);
for my $database ('postgres', 'second')
{
	$node->safe_psql($database, q(
		CREATE EXTENSION profstore;
		CREATE TABLE t (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
		CREATE TABLE broken (LIKE t) USING profstore;
	));
	# five segments of a bucket that is closed
	insert_together($database, "'2026-01-01Z'", 5);
	$node->poll_query_until($database, "SELECT ($levels) = '2:1'") or die "nothing happened in $database";
	is($node->safe_psql($database, $digest), '500|25250', "$database: merged, and the rows are the same");
}

# a bucket that still grows: few segments wait, many are merged
$node->safe_psql('postgres', "INSERT INTO t SELECT now(), $_, g, g FROM generate_series(1, 100) g") for 1 .. 5;
sleep 3;
is($node->safe_psql('postgres', $levels), '0:5,2:1', 'few segments of the present wait for more');
$node->safe_psql('postgres', "INSERT INTO t SELECT now(), $_, g, g FROM generate_series(1, 100) g") for 1 .. 32;
ok($node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM profstore.segment_stats WHERE relation = 't'::regclass AND level = 1)"),
	'many are merged');
is($node->safe_psql('postgres', $digest), '4200|212100', 'the rows are the same');

# damage in one table does not keep others from being compacted
$node->safe_psql('postgres', q(
	INSERT INTO broken VALUES ('2026-01-01Z', 1, 1, 1);
	UPDATE profstore.segments SET header = '' WHERE storage_id = profstore.storage_id('broken');
	TRUNCATE t;
));
insert_together('postgres', "'2026-01-01Z'", 3);
ok($node->poll_query_until('postgres', "SELECT ($levels) = '2:1'"), 'a damaged table beside it');
ok($node->wait_for_log(qr/table "broken" is damaged/), 'which the log names');

# off
$node->append_conf('postgresql.conf', "profstore.compaction = off\n");
$node->reload;
sleep 3;
$node->safe_psql('postgres', "INSERT INTO t SELECT '2026-01-01Z', $_, g, g FROM generate_series(1, 100) g") for 1 .. 3;
sleep 3;
is($node->safe_psql('postgres', $levels), '0:3,2:1', 'off is off');
is($node->safe_psql('postgres', q(SELECT profstore.compact('t') > 0)), 't', 'but the function works');
$node->stop('fast');
$node->start;
$node->stop;
done_testing();
