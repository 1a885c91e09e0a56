# The background worker merges segments if a merge pays, in every database, follows its settings, and continues after failures.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('worker');
$node->init;
# at debug1 the log names each worker that the launcher starts
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'profstore'\nprofstore.compaction_naptime = 1s\nlog_min_messages = debug1\n");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE second');

my $digest = 'SELECT count(*), sum(value) FROM t';

# Works on a table with the worker switched off for it, as when another program maintains the table.
sub undisturbed
{
	my ($database, $table, $work) = @_;
	my $lock = $node->background_psql($database);

	$lock->query_safe("BEGIN; LOCK TABLE $table IN SHARE UPDATE EXCLUSIVE MODE");
	$work->();
	$lock->query_safe('COMMIT');
	$lock->quit;
}

sub insert
{
	my ($database, $time, $count) = @_;

	$node->safe_psql($database, "INSERT INTO t SELECT $time, $_, g, g FROM generate_series(1, 100) g") for 1 .. $count;
}

# Segments, one per insert, all of which the worker finds at once.
sub insert_together
{
	my ($database, $time, $count) = @_;

	undisturbed($database, 't', sub { insert($database, $time, $count) });
}

# Waits until the worker has handled the tables of database "postgres" again: the launcher starts a worker only after the
# previous one has ended.
sub round_passes
{
	my $oid = $node->safe_psql('postgres', q(SELECT oid FROM pg_database WHERE datname = 'postgres'));
	my $offset = -s $node->logfile;

	$offset = $node->wait_for_log(qr/registering background worker "profstore compaction of database $oid"/, $offset) for 1 .. 2;
}

my $levels = q(SELECT string_agg(level || ':' || segments, ',' ORDER BY level) FROM profstore.segment_stats WHERE relation = 't'::regclass);
for my $database ('postgres', 'second')
{
	$node->safe_psql($database, q(
		CREATE EXTENSION profstore;
		CREATE TABLE t (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
		CREATE TABLE broken (LIKE t) USING profstore;
	));
	# five segments of a bucket that is over
	insert_together($database, "'2026-01-01Z'", 5);
	$node->poll_query_until($database, "SELECT ($levels) = '2:1'") or die "nothing happened in $database";
	is($node->safe_psql($database, $digest), '500|25250', "$database: merged, and the rows are the same");
}

# a bucket of the future still grows: a few segments are not merged, many are
my $tomorrow = q((date_trunc('day', now(), 'UTC') + interval '36 hours'));
insert('postgres', $tomorrow, 5);
round_passes();
is($node->safe_psql('postgres', $levels), '0:5,2:1', 'few segments of the present wait for more');
insert('postgres', $tomorrow, 32);
ok($node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM profstore.segment_stats WHERE relation = 't'::regclass AND level = 1)"),
	'many are merged');
is($node->safe_psql('postgres', $digest), '4200|212100', 'the rows are the same');

# damage in one table does not stop the compaction of others
undisturbed('postgres', 'broken', sub {
	$node->safe_psql('postgres', q(
		INSERT INTO broken VALUES ('2026-01-01Z', 1, 1, 1);
		UPDATE profstore.segments SET header = '' WHERE storage_id = profstore.storage_id('broken');
		TRUNCATE t;
	));
});
insert_together('postgres', "'2026-01-01Z'", 3);
ok($node->poll_query_until('postgres', "SELECT ($levels) = '2:1'"), 'a damaged table beside it');
ok($node->wait_for_log(qr/table "broken" is damaged/), 'which the log names');

# each round records health, and creates the partition of the next hours
$node->safe_psql('second', q(SELECT profstore.begin_batch('00000000-0000-0000-0000-00000000000a', 1, profstore.epoch())));
ok($node->poll_query_until('second', q(SELECT count(*) > 0 FROM profstore.partitions() WHERE from_ts <= now() + interval '6 hours' AND to_ts > now() + interval '5 hours 50 minutes')),
	'a partition is made ahead');
$node->safe_psql('second', q(SELECT profstore.set_health_limits('compaction', 0, 0)));
ok($node->poll_query_until('second', q(SELECT count(*) = 1 FROM profstore.health() WHERE check_name = 'compaction' AND status = 'bad' AND since IS NOT NULL)),
	'a state that has changed is recorded');
is($node->safe_psql('second', q(SELECT status, since IS NOT NULL FROM profstore.health() WHERE check_name = 'upkeep')), 'ok|t', 'and upkeep is seen');
is($node->safe_psql('postgres', q(SELECT count(*) FROM profstore.partitions())), '0', 'no partition is made where nobody writes');

# switched off: the launcher reads the setting between two rounds, and then changes its process title
sub set_up
{
	my ($settings, $name) = @_;

	$node->append_conf('postgresql.conf', "$settings\napplication_name = '$name'\n");
	$node->reload;
	$node->poll_query_until('postgres',
		"SELECT application_name = '$name' FROM pg_stat_activity WHERE backend_type = 'profstore compaction launcher'")
	  or die 'the launcher does not read its settings';
}

set_up('profstore.compaction = off', 'it has read this');
insert('postgres', "'2026-01-01Z'", 3);
sleep 3;
is($node->safe_psql('postgres', $levels), '0:3,2:1', 'off is off');
is($node->safe_psql('postgres', q(SELECT profstore.compact('t') > 0)), 't', 'but the function works');

# retention continues, and has a setting of its own
my $old_day = q(SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-01Z'); INSERT INTO profstore.samples VALUES ('2026-01-01Z', 1, 1, 1));
$node->safe_psql('postgres', "SELECT profstore.set_retention('1 day'); $old_day");
ok($node->poll_query_until('postgres', q(SELECT count(*) = 0 FROM profstore.partitions())), 'retention goes on without compaction');
set_up("profstore.compaction = on\nprofstore.retention = off", 'and this');
$node->safe_psql('postgres', $old_day);
insert_together('postgres', "'2026-01-01Z'", 3);
ok($node->poll_query_until('postgres', "SELECT ($levels) NOT LIKE '0:%'"), 'and compaction without retention');
round_passes();
is($node->safe_psql('postgres', q(SELECT count(*) FROM profstore.samples)), '1', 'which leaves samples where they are');
$node->stop('fast');
$node->start;
$node->stop;
done_testing();
