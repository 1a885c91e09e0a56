# Disk space is returned automatically: after COPY, compact() and plain VACUUM, by compact_in_steps(), or by the worker alone. Moving
# streams survives kill -9, PREPARE TRANSACTION and a standby that reads.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Crashes;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = PostgreSQL::Test::Cluster->new('space');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_prepared_transactions = 2\nrestart_after_crash = on\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION profstore');

sub sql { my ($statements) = @_; return $node->safe_psql('postgres', $statements); }

# Bytes of a table with its indexes and TOAST, divided by the encoded bytes of its segments: 1 is the minimum.
sub overhead
{
	my ($table) = @_;
	return sql(qq(
		SELECT round((pg_total_relation_size('$table') + pg_total_relation_size('profstore.segments') + pg_total_relation_size('profstore.row_ledger'))
			/ sum(byte_count + summary_byte_count), 2) FROM profstore.segments WHERE storage_id = profstore.storage_id('$table')));
}

sub create { my ($table) = @_; sql("CREATE TABLE $table (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore"); }

# Rows of an hour of the past, in transactions of a given size; random values, so that they compress badly.
sub load
{
	my ($table, $rows, $size, $begin) = @_;
	$size //= $rows;
	$begin //= '2026-01-01Z';
	sql(qq(
		DO \$\$
		BEGIN
			FOR n IN 0 .. $rows - 1 BY $size LOOP
				INSERT INTO $table SELECT '$begin'::timestamptz + g * interval '1 ms', g % 10, g % 1000, hashint4(g)
				FROM generate_series(n, least(n + $size, $rows) - 1) AS g;
				COMMIT;
			END LOOP;
		END \$\$));
}

# The ids of streams, which change when a stream is moved.
sub streams_of
{
	my ($table) = @_;
	return qq(SELECT string_agg(stream_ids::text, ' ' ORDER BY segment_no) FROM profstore.segments WHERE storage_id = profstore.storage_id('$table'));
}

for my $case ([ 'small', 3000 ], [ 'large', 1_000_000 ])
{
	my ($table, $size) = @$case;
	create($table);
	load($table, 600_000, $size);
	my $rows = sql("SELECT count(*), sum(value), sum(stack_id) FROM $table");
	sql("SELECT profstore.compact('$table')");
	sql('VACUUM');
	my $overhead = overhead($table);
	cmp_ok($overhead, '<', 1.25, "transactions of $size rows, compact() and VACUUM: $overhead x what is encoded");
	is(sql("SELECT count(*), sum(value), sum(stack_id) FROM $table"), $rows, 'the rows are there');
	is(sql("SELECT * FROM profstore.verify('$table')"), '', 'verify is silent');
	sql("DROP TABLE $table");
	sql('VACUUM');
}

# Two segments; the first one is removed.
sub load_halves
{
	my ($table, $front) = @_;
	create($table);
	for my $step ([ '2026-01-01Z', $front // 120_000 ], [ '2026-01-02Z', 90_000 ])
	{
		my ($day, $count) = @$step;
		sql("INSERT INTO $table SELECT '$day', g % 3, g, hashint8extended(g, 1) FROM generate_series(1, $count) AS g");
		sql("SELECT profstore.compact('$table')");
	}
	sql("SELECT * FROM profstore_internal.remove_segments('$table', '2026-01-02Z')");
	sql('VACUUM');
}
my $pages = q(SELECT pg_relation_size(reltoastrelid) / 8192 FROM pg_class WHERE oid = 'halves'::regclass);
my $digest = 'SELECT count(*), sum(value), sum(hashint8(stack_id # value)) FROM halves';
load_halves('halves');
my ($rows, $before) = (sql($digest), sql($pages));

# in a transaction that a kill ends
my $session = $node->background_psql('postgres');
my $pid = $session->query_safe('SELECT pg_backend_pid()');
$session->query_safe(q(BEGIN; SELECT profstore.compact('halves')));
kill_process($pid);
wait_for_server($node) or die 'the server does not come back';
eval { $session->quit };
is(sql($digest), $rows, 'killed while streams move: the rows are there');
is(sql(q(SELECT * FROM profstore.verify('halves'))), '', 'verify is silent');
sql('VACUUM');

# in a prepared transaction, across a restart
sql(q(BEGIN; SELECT profstore.compact('halves'); PREPARE TRANSACTION 'moved'));
is(sql($digest), $rows, 'prepared: the rows are there');
like(($node->psql('postgres', q(SELECT profstore.compact('halves'))))[2], qr/skipped|skipping/i, 'and nobody else works on the table');
$node->stop('immediate');
$node->start;
is(sql($digest), $rows, 'also after a crash');
sql(q(COMMIT PREPARED 'moved'));
is(sql($digest), $rows, 'and when it is committed');
is(sql(q(SELECT * FROM profstore.verify('halves'))), '', 'verify is silent');
sql('VACUUM');
my $after = sql($pages);
cmp_ok($after, '<', $before * 0.6, "$after pages are left of $before");
sql('DROP TABLE halves');

# a standby continues to read while streams are moved and VACUUM truncates the file
load_halves('halves');
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('space_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\nwal_receiver_status_interval = 1s\n");
$standby->start;
$node->wait_for_catchup($standby);
my $reader = $standby->background_psql('postgres');
is($reader->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; $digest"), $rows, 'a snapshot of a standby');
ok($node->poll_query_until('postgres', 'SELECT backend_xmin IS NOT NULL FROM pg_stat_replication'), 'which the primary knows of');
sql(q(SELECT profstore.compact('halves')));
sql('VACUUM');
is($reader->query_safe($digest), $rows, 'it reads what it read');
$reader->query_safe('COMMIT');
$reader->quit;
my $xid = sql('SELECT pg_current_xact_id()::xid');
ok($node->poll_query_until('postgres', "SELECT age(backend_xmin) <= age('$xid'::xid) FROM pg_stat_replication"), 'its snapshot has gone');
sql('VACUUM');
cmp_ok(sql($pages), '<', $before * 0.6, 'the end goes once nobody reads it');
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', $digest), $rows, 'a new one reads the same');
is($standby->safe_psql('postgres', q(SELECT * FROM profstore.verify('halves'))), '', 'verify is silent there');
$standby->stop;
sql('DROP TABLE halves');
sql('VACUUM');

# if all segments have level 2, a fifth of the pages is enough reason to move; little memory makes small segments
create('closed');
for my $day (1 .. 16)
{
	sql(qq(
		SET maintenance_work_mem = '1MB';
		INSERT INTO closed SELECT '2026-01-01Z'::timestamptz + $day * interval '1 day', g % 3, g, hashint8extended(g, $day) FROM generate_series(1, 45000) AS g;
		SELECT profstore.compact('closed')));
}
sql(q(SELECT * FROM profstore_internal.remove_segments('closed', '2026-01-05Z')));
my $closed_pages = q(SELECT pg_relation_size(reltoastrelid) / 8192 FROM pg_class WHERE oid = 'closed'::regclass);
my $closed_digest = 'SELECT count(*), sum(value), sum(hashint8(stack_id # value)) FROM closed';
my ($closed_rows, $full) = (sql($closed_digest), sql($closed_pages));
my $places = sql(streams_of('closed'));
sql('VACUUM');
sql(q(SELECT profstore.compact('closed')));
isnt(sql(streams_of('closed')), $places, 'streams move');
sql('VACUUM');
my $shrunk = sql($closed_pages);
cmp_ok($shrunk, '<', $full * 0.88, "of $full pages $shrunk are left");
$places = sql(streams_of('closed'));
sql(q(SELECT profstore.compact('closed')));
is(sql(streams_of('closed')), $places, 'and no more is to be moved');
sql('VACUUM');
is(sql($closed_pages), $shrunk, 'so the file stays as it is');
is(sql($closed_digest), $closed_rows, 'the rows are there');
is(sql(q(SELECT * FROM profstore.verify('closed'))), '', 'verify is silent');
sql('DROP TABLE closed');
sql('VACUUM');

# if the last stream is larger than all free room before it, none is moved, because the file would stay as long
load_halves('large', 60_000);
$places = sql(streams_of('large'));
sql(q(SELECT profstore.compact('large')));
is(sql(streams_of('large')), $places, 'a stream that is larger than the room stays, and so do those before it');
sql('DROP TABLE large');
sql('VACUUM');

# compact_in_steps() returns the room without the worker and autovacuum; days are merged one by one
sub load_days
{
	sql('DROP TABLE IF EXISTS days');
	sql('CREATE TABLE days (time timestamptz, series_id int4, stack_id int8, value int8) PARTITION BY RANGE (time)');
	for my $day (1 .. 6)
	{
		sql(qq(CREATE TABLE days_$day PARTITION OF days FOR VALUES FROM ('2026-01-0$day') TO ('2026-01-0@{[ $day + 1 ]}') USING profstore));
		load("days_$day", 120_000, 3000, "2026-01-0${day}Z");
	}
}
my $days = 'SELECT count(*), sum(value), sum(hashint8(stack_id # value)) FROM days';
my $workers = q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'profstore compaction');
my $done = q(SELECT min(level) = 2 AND count(*) = 6 FROM profstore.segments WHERE storage_id IN
	(SELECT profstore.storage_id(inhrelid) FROM pg_inherits WHERE inhparent = 'days'::regclass));
load_days();
my $day_rows = sql($days);
my $day_bytes = sql(q(SELECT pg_total_relation_size('profstore.segments')));

# a day that another session works on is skipped, and the caller gets a notice
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE days_3 IN SHARE UPDATE EXCLUSIVE MODE');
my (undef, undef, $told) = $node->psql('postgres', 'CALL profstore.compact_in_steps(\'days\')');
like($told, qr/NOTICE:.*"days_3"/, 'a day that is locked is skipped, with a notice');
$holder->query_safe('COMMIT');
$holder->quit;
sql(q(CALL profstore.compact_in_steps('days')));
is(sql($done), 't', 'each day is a segment');
is(sql($days), $day_rows, 'the rows are there');
cmp_ok(sql(q(SELECT pg_total_relation_size('profstore.segments'))), '<', $day_bytes / 4, 'the room in the directory is given back');
is(sql(q(SELECT count(*) FROM profstore.verify('days'))), '0', 'verify is silent');

# a cancel ends the worker, and each day is either unchanged or merged
load_days();
$session = $node->background_psql('postgres', on_error_stop => 0);
$pid = $session->query_safe('SELECT pg_backend_pid()');
$session->query_until(qr/called/, "\\echo called\nCALL profstore.compact_in_steps('days');\n");
ok($node->poll_query_until('postgres', "SELECT ($workers) = 1"), 'a worker compacts');
sql("SELECT pg_cancel_backend($pid)");
ok($node->poll_query_until('postgres', "SELECT ($workers) = 0"), 'and ends with the call');
isnt(sql($done), 't', 'before it was done');
is(sql($days), $day_rows, 'the rows are there');
$session->quit;

# the worker is killed between two days; if it finishes before the kill, the test tries again
my ($snapshot, $killed, $attempts) = (undef, 0, 0);
until ($killed || ++$attempts > 10)
{
	load_days();
	$holder = $node->background_psql('postgres', on_error_stop => 0);
	$snapshot = $node->background_psql('postgres');
	is($snapshot->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; $days"), $day_rows, 'an old snapshot');
	$session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_until(qr/called/, "\\echo called\nCALL profstore.compact_in_steps('days');\n");
	my $merged = q(SELECT count(*) > 0 FROM profstore.segments WHERE level = 2);
	sleep(0.02) until $holder->query_safe($merged) eq 't';
	my $worker = $holder->query_safe(q(SELECT max(pid) FROM pg_stat_activity WHERE backend_type = 'profstore compaction'));
	is($snapshot->query_safe($days), $day_rows, 'which reads what it read, after a day is merged');
	$killed = $worker ne '' && kill_process($worker);
	wait_for_server($node) or die 'the server does not come back';
	eval { $_->quit } for ($session, $snapshot, $holder);
}
ok($killed, 'the worker is killed');
is(sql($days), $day_rows, 'killed: the rows are there');
sql(q(CALL profstore.compact_in_steps('days')));
is(sql($done), 't', 'and the next call goes on');
is(sql(q(SELECT count(*) FROM profstore.verify('days'))), '0', 'verify is silent');
sql('DROP TABLE days');
sql('VACUUM');

# the worker does all of it, without autovacuum
load_halves('halves');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'profstore'\nprofstore.compaction_naptime = 1s\n");
$node->restart;
create('unattended');
load('unattended', 600_000, 3000);
# 32 pages are too few to move anything, in the table and in the directory: they are a tenth of this table each
my $small = q(
	SELECT (pg_total_relation_size('unattended') + pg_total_relation_size('profstore.segments') + pg_total_relation_size('profstore.row_ledger'))
		< 1.25 * sum(byte_count + summary_byte_count) + 2 * 32 * 8192 AND min(level) = 2
	FROM profstore.segments WHERE storage_id = profstore.storage_id('unattended'));
ok($node->poll_query_until('postgres', $small), 'the worker compacts, and gives the space back') or diag(overhead('unattended'));
is(sql('SELECT count(*) FROM unattended'), '600000', 'the rows are there');
ok($node->poll_query_until('postgres', "SELECT ($pages) < $before * 0.6"), 'and moves streams to the front');
is(sql($digest), $rows, 'the rows are there');

# row versions that an old snapshot has kept in the directory are removed later, although there is nothing left to merge
sql('DROP TABLE unattended');
$snapshot = $node->background_psql('postgres');
$snapshot->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
create('unattended');
load('unattended', 600_000, 3000);
my $merged = q(SELECT min(level) = 2 FROM profstore.segments WHERE storage_id = profstore.storage_id('unattended'));
ok($node->poll_query_until('postgres', $merged), 'beside an old snapshot the worker merges');
sleep(3);
cmp_ok(overhead('unattended'), '>', 2, 'but gives nothing back');
$snapshot->quit;
ok($node->poll_query_until('postgres', $small), 'which it does when the snapshot has gone') or diag(overhead('unattended'));
is(sql('SELECT count(*) FROM unattended'), '600000', 'the rows are there');
is(sql(q(SELECT count(*) FROM profstore.verify('unattended'))), '0', 'verify is silent');
$node->stop;
done_testing();
