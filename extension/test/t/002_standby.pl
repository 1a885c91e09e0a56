# A streaming standby answers like its primary, for old and new snapshots; the consistency of WAL is checked page by page.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf',
	"wal_consistency_checking = 'all'\nmax_prepared_transactions = 5\nautovacuum = off\n");
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION profstore');
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\n");
$standby->start;

my $digest = q(SELECT count(*), sum(value), md5(string_agg(t::text, ',' ORDER BY time, series_id, stack_id, value)) FROM t);

sub compare
{
	my ($name) = @_;
	$primary->wait_for_catchup($standby);
	is($standby->safe_psql('postgres', $digest), $primary->safe_psql('postgres', $digest), $name);
}

$primary->safe_psql('postgres', q(
	CREATE TABLE t (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
	INSERT INTO t SELECT '2026-01-01Z', g % 7, g % 100, g FROM generate_series(1, 3000) g;
	INSERT INTO t VALUES ('2026-01-01Z', 1, NULL, 3);
));
compare('small segments');

$primary->safe_psql('postgres', q(
	INSERT INTO t SELECT '2026-01-01Z'::timestamptz + g * interval '1 s', g % 7, hashint4(g), hashint8(g)
	FROM generate_series(1, 50000) g;
));
compare('a large segment');

# a snapshot on the standby from before a TRUNCATE, VACUUM and rewrite delays their replay, which then continues
my $session = $standby->background_psql('postgres');
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $seen = $session->query_safe($digest);
$primary->safe_psql('postgres', q(
	ALTER TABLE t ADD COLUMN extra int4 DEFAULT 5;
	BEGIN; INSERT INTO t SELECT '2026-01-02Z', 1, g, g FROM generate_series(1, 20000) g; ROLLBACK;
	INSERT INTO t VALUES ('2026-01-02Z', 1, 1, 1, 6);
));
is($session->query_safe($digest), $seen, 'an old snapshot on the standby sees what it saw');
$session->query_safe('COMMIT');
$session->quit;
compare('after ADD COLUMN and a rollback');

$primary->safe_psql('postgres', q(SELECT profstore.compact('t')));
compare('compacted');
$primary->safe_psql('postgres', 'VACUUM FULL t; VACUUM t; VACUUM profstore.segments');
compare('after VACUUM FULL');
$primary->safe_psql('postgres', 'ALTER TABLE t ALTER COLUMN value TYPE float8; INSERT INTO t VALUES (NULL, 1, 1, 0.5, 1)');
compare('after a rewrite');
$primary->safe_psql('postgres', 'CREATE TABLE u USING profstore AS SELECT * FROM t; TRUNCATE t; INSERT INTO t SELECT * FROM u WHERE stack_id % 2 = 0');
compare('after TRUNCATE and CREATE TABLE AS');
$primary->safe_psql('postgres', q(BEGIN; INSERT INTO t VALUES ('2026-01-04Z', 1, 1, 1, 6); PREPARE TRANSACTION 'p'));
compare('before COMMIT PREPARED');

# the standby, too, uses the sums of several segments
$primary->safe_psql('postgres', q(
	SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-02Z');
	SELECT profstore.import_folded(E'main;a 1\nmain;b 2\n', at => '2026-01-01 10:00Z');
	CREATE TABLE keys AS SELECT profstore.intern_series(ARRAY['p:cpu:nanoseconds:cpu:nanoseconds:delta'], ARRAY[jsonb '{}'], ARRAY[1::int8]) AS series,
		ARRAY(SELECT stack_id FROM profstore.samples) AS stacks;
	INSERT INTO profstore.samples SELECT '2026-01-01 10:00Z'::timestamptz + g % 600 * interval '1 s', series[1], stacks[1 + g % 2], g
	FROM keys, generate_series(1, 4000) g;
));
$primary->safe_psql('postgres', q(SELECT profstore.compact()));
$primary->safe_psql('postgres', q(INSERT INTO profstore.samples SELECT * FROM profstore.samples LIMIT 100));
$primary->safe_psql('postgres', q(SELECT profstore.compact()));
$primary->wait_for_catchup($standby);
my $profile = q(SELECT * FROM profstore.folded('p:cpu:nanoseconds:cpu:nanoseconds:delta{}', '2026-01-01Z', '2026-01-02Z') ORDER BY 1);
is($standby->safe_psql('postgres', "$profile; SELECT segments, summed, \"read\", blocks_read FROM profstore.last_scan()"),
	$primary->safe_psql('postgres', "SET profstore.enable_summaries = off; $profile") . "\n2|2|0|1", 'a roll-up is read on the standby');
is($standby->safe_psql('postgres', 'SELECT * FROM profstore.verify()'), '', 'and fits its segments');

# promotion: the prepared transaction and all rows are there, and the new primary accepts writes
$primary->wait_for_catchup($standby);
my $expected = $primary->safe_psql('postgres', 'SELECT count(*) + 1 FROM t');
$primary->stop;
$standby->promote;
$standby->safe_psql('postgres', q(COMMIT PREPARED 'p'));
is($standby->safe_psql('postgres', 'SELECT count(*) FROM t'), $expected, 'a prepared transaction survives promotion');
$standby->safe_psql('postgres', q(INSERT INTO t VALUES ('2026-01-05Z', 1, 1, 1, 6); CREATE TABLE v (a int4) USING profstore; INSERT INTO v VALUES (1)));
is($standby->safe_psql('postgres', 'SELECT count(*) FROM t'), $expected + 1, 'the promoted standby writes');
is($standby->safe_psql('postgres', 'SELECT a FROM v'), '1', 'and makes tables with storage ids of their own');
$standby->stop;
done_testing();
