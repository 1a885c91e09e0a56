# Space comes back by itself: after COPY, compact() and plain VACUUM, or by the worker alone; and what moves streams survives
# kill -9, PREPARE TRANSACTION and a standby that reads.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Crashes;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('space');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_prepared_transactions = 2\nrestart_after_crash = on\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION profstore');

sub sql { my ($statements) = @_; return $node->safe_psql('postgres', $statements); }

# Bytes of a table and of all that stands beside it, over the encoded bytes of its segments: 1 is what cannot be less.
sub overhead
{
	my ($table) = @_;
	return sql(qq(
		SELECT round((pg_total_relation_size('$table') + pg_total_relation_size('profstore.segments') + pg_total_relation_size('profstore.row_ledger'))
			/ sum(byte_count + summary_byte_count), 2) FROM profstore.segments WHERE storage_id = profstore.storage_id('$table')));
}

sub create { my ($table) = @_; sql("CREATE TABLE $table (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore"); }

# Rows of an hour long past, in transactions of a size; values are noise, so that bytes are many.
sub load
{
	my ($table, $rows, $size) = @_;
	$size //= $rows;
	sql(qq(
		DO \$\$
		BEGIN
			FOR n IN 0 .. $rows - 1 BY $size LOOP
				INSERT INTO $table SELECT '2026-01-01Z'::timestamptz + g * interval '1 ms', g % 10, g % 1000, hashint4(g)
				FROM generate_series(n, least(n + $size, $rows) - 1) AS g;
				COMMIT;
			END LOOP;
		END \$\$));
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

# Two segments, of which the one in front is removed.
sub load_halves
{
	my ($table) = @_;
	create($table);
	for my $step ([ '2026-01-01Z', 120_000 ], [ '2026-01-02Z', 90_000 ])
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

# in one that is prepared, over a restart
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

# a standby goes on reading while streams move and VACUUM cuts off the end
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

# the worker does all of it, without autovacuum
load_halves('halves');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'profstore'\nprofstore.compaction_naptime = 1s\n");
$node->restart;
create('unattended');
load('unattended', 600_000, 3000);
my $small = q(
	SELECT (pg_total_relation_size('unattended') + pg_total_relation_size('profstore.segments') + pg_total_relation_size('profstore.row_ledger'))
		< 1.25 * sum(byte_count + summary_byte_count) AND min(level) = 2
	FROM profstore.segments WHERE storage_id = profstore.storage_id('unattended'));
ok($node->poll_query_until('postgres', $small), 'the worker compacts, and gives the space back') or diag(overhead('unattended'));
is(sql('SELECT count(*) FROM unattended'), '600000', 'the rows are there');
ok($node->poll_query_until('postgres', "SELECT ($pages) < $before * 0.6"), 'and moves streams to the front');
is(sql($digest), $rows, 'the rows are there');
$node->stop;
done_testing();
