# pg_dump and pg_restore carry rows, but not the segment directory; the restored tables have files and segments of their own.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('dump');
$node->init;
$node->start;
$node->safe_psql('postgres', q(
	CREATE EXTENSION profstore;
	CREATE SCHEMA app;
	CREATE TABLE app.t (time timestamptz, series_id int4, stack_id int8, value int8, f float8, b bool) USING profstore;
	INSERT INTO app.t
	SELECT '2026-01-01Z'::timestamptz + g * interval '1 s', g % 7, g % 100, nullif(g % 10, 3), 1.0 / g, g % 2 = 0
	FROM generate_series(1, 30000) g;
	ALTER TABLE app.t ADD COLUMN added int4 DEFAULT 17;
	ALTER TABLE app.t DROP COLUMN b;
	INSERT INTO app.t VALUES (NULL, 1, 2, 3, 'NaN', NULL);
	CREATE TABLE app.p (a int4) PARTITION BY RANGE (a);
	CREATE TABLE app.p1 PARTITION OF app.p FOR VALUES FROM (0) TO (10) USING profstore;
	CREATE TABLE app.p2 PARTITION OF app.p FOR VALUES FROM (10) TO (20);
	INSERT INTO app.p SELECT generate_series(0, 19);
	CREATE MATERIALIZED VIEW app.mv USING profstore AS SELECT count(*) AS n FROM app.t;
));
# a partition that retention has detached instead of dropping, because a view depends on it
$node->safe_psql('postgres', q(
	SELECT profstore.ensure_partitions('2025-01-01Z', '2025-01-01Z');
	INSERT INTO profstore.samples VALUES ('2025-01-01Z', 1, 0, 1);
	CREATE VIEW app.day AS SELECT * FROM profstore.samples_20250101;
	SELECT profstore.set_retention('1 day')));
$node->safe_psql('postgres', 'CALL profstore.apply_retention()');
my $aside = q(SELECT relname FROM pg_class WHERE relname LIKE 'samples\_2025%');
my $aside_name = $node->safe_psql('postgres', $aside);
like($aside_name, qr/^samples_20250101_[0-9a-f]{32}$/, 'a table is put aside');
my $rows = q(SELECT md5(string_agg(t::text, ',' ORDER BY t.time, t.stack_id, t.value)) FROM app.t);
my $expected = $node->safe_psql('postgres', $rows);

my $directory = PostgreSQL::Test::Utils::tempdir();
my %dumps = (
	custom => [ '-Fc' ],
	inserts => [ '-Fp', '--rows-per-insert=100' ],
	plain => [ '-Fp' ]);
for my $format (sort keys %dumps)
{
	my $file = "$directory/$format";
	my $database = "restored_$format";
	$node->command_ok([ 'pg_dump', @{ $dumps{$format} }, '-f', $file, $node->connstr('postgres') ], "$format dump");
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	my @restore = $format eq 'custom'
	  ? ('pg_restore', '--exit-on-error', '--single-transaction', '-d', $node->connstr($database), $file)
	  : ('psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '--single-transaction', '-d', $node->connstr($database), '-f', $file);
	$node->command_ok(\@restore, "$format restore");
	is($node->safe_psql($database, $rows), $expected, "$format: the same rows");
	is($node->safe_psql($database, 'SELECT count(*), sum(a), count(DISTINCT tableoid) FROM app.p'), '20|190|2',
		"$format: the same partitions");
	is($node->safe_psql($database, 'SELECT n FROM app.mv'), '30001', "$format: the same materialized view");
	is($node->safe_psql($database, q(SELECT string_agg(c.relname, ',' ORDER BY c.relname)
		FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'profstore')), "mv,p1,$aside_name,t",
		"$format: the same access methods");
	is($node->safe_psql($database, 'SELECT sum(row_count) FROM profstore.segments'), '30012',
		"$format: the directory holds the restored rows alone");
	is($node->safe_psql($database, 'SELECT count(*) FROM app.day'), 0, "$format: the view of a day that is gone");
	$node->safe_psql($database, 'DROP VIEW app.day');
	$node->safe_psql($database, 'CALL profstore.apply_retention()');
	is($node->safe_psql($database, $aside), '', "$format: its table goes with the view");
}

# a restore of data alone, into existing tables
$node->command_ok([ 'pg_dump', '-Fc', '--data-only', '-t', 'app.t', '-f', "$directory/data", $node->connstr('postgres') ], 'data dump');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored_plain'), "$directory/data" ], 'data restore');
is($node->safe_psql('restored_plain', 'SELECT count(*) FROM app.t'), '60002', 'rows are added');
$node->stop;
done_testing();
