# Damaged bytes cause errors with SQLSTATE XX001, never a crash or wrong rows.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('corruption');
# without page checksums (the default from PostgreSQL 18 on), the extension gets to read damaged pages
$node->init(no_data_checksums => 1);
$node->append_conf('postgresql.conf', "restart_after_crash = off\nautovacuum = off\n");
$node->start;
$node->safe_psql('postgres', q(
	CREATE EXTENSION profstore;
	CREATE TABLE small (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
	INSERT INTO small SELECT '2026-01-01Z', g % 7, hashint4(g), nullif(g % 10, 3) FROM generate_series(1, 2000) g;
	CREATE TABLE large (LIKE small) USING profstore;
	INSERT INTO large SELECT '2026-01-01Z', g % 7, hashint4(g), nullif(g % 10, 3) FROM generate_series(1, 40000) g;
	CREATE TABLE good AS SELECT * FROM small;

	-- Reads a table whose directory row has been damaged: says how that ends.
	CREATE FUNCTION outcome(tab regclass) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		same bool;
	BEGIN
		EXECUTE format('SELECT NOT EXISTS (SELECT * FROM good EXCEPT ALL SELECT * FROM %s)', tab) INTO same;
		RETURN CASE WHEN same THEN 'same rows' ELSE 'WRONG ROWS' END;
	EXCEPTION WHEN OTHERS THEN
		RETURN SQLSTATE;
	END $$;

	-- Changes the directory row of "small" by an expression, looks, and puts it back.
	CREATE FUNCTION damage(change text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		saved profstore.segments;
		result text;
	BEGIN
		SELECT * INTO saved FROM profstore.segments WHERE row_count = 2000;
		EXECUTE 'UPDATE profstore.segments SET ' || change || ' WHERE row_count = 2000';
		result := outcome('small');
		DELETE FROM profstore.segments WHERE storage_id = saved.storage_id AND segment_no = saved.segment_no;
		INSERT INTO profstore.segments SELECT (saved).*;
		RETURN result;
	END $$;
));
is($node->safe_psql('postgres', q(SELECT outcome('small'))), 'same rows', 'the undamaged table');

# one bit of every byte of header and payload; the fields version and flags have an error of their own
is($node->safe_psql('postgres', 'SELECT damage($$header = set_byte(header, 4, 99)$$)'), '0A000', 'a format version of the future');
for my $part (qw(header payload))
{
	is($node->safe_psql('postgres', qq(
		SELECT string_agg(DISTINCT o, ',') FROM (
			SELECT damage(format('$part = set_bit($part, %s, 1 - get_bit($part, %s))', i * 8 + i % 8, i * 8 + i % 8)) AS o
			FROM profstore.segments, generate_series(0, length($part) - 1, greatest(1, length($part) / 1000)) i
			WHERE row_count = 2000 AND ('$part', i) NOT IN (('header', 4), ('header', 5))) x)), 'XX001', "a flipped bit anywhere in the $part");
	is($node->safe_psql('postgres', qq(
		SELECT string_agg(DISTINCT o, ',') FROM (
			SELECT damage(format('$part = substr($part, 1, %s)', i)) AS o
			FROM profstore.segments, generate_series(0, length($part) - 1, greatest(1, length($part) / 100)) i
			WHERE row_count = 2000) x)), 'XX001', "a $part cut off anywhere");
}
for my $change (
	'payload = NULL', "payload = payload || '\\x00'", "header = header || '\\x00'", "stream_ids = '{1,2,3,4}', payload = NULL",
	"stream_ids = '{}', payload = NULL", "stream_ids = '{1}'", "payload = ''", "header = ''",
	"header = (SELECT header FROM profstore.segments WHERE row_count = 40000)")
{
	is($node->safe_psql('postgres', "SELECT damage(\$x\$$change\$x\$)"), 'XX001', $change);
}
my ($status, $out, $err) = $node->psql('postgres',
	'UPDATE profstore.segments SET row_count = 1999 WHERE row_count = 2000; SELECT count(*) FROM small');
like($err, qr/a segment of table "small" is damaged: directory and header disagree on the number of rows\nDETAIL:  Segment \d+/,
	'the message tells table and segment');
is($node->safe_psql('postgres', 'SELECT count(*) FROM good'), '2000', 'the server is up');

# the files of the table: the metapage, and chunks of TOAST
sub overwrite
{
	my ($path, $offset, $bytes) = @_;
	my $file = $node->data_dir . "/$path";
	open my $handle, '+<', $file or die "$file: $!";
	binmode $handle;
	seek $handle, $offset, 0;
	print $handle $bytes;
	close $handle;
}

$node->safe_psql('postgres', q(SELECT profstore.compact('large')));
my $toast = $node->safe_psql('postgres', q(SELECT pg_relation_filepath(reltoastrelid) FROM pg_class WHERE relname = 'large'));
my $main = $node->safe_psql('postgres', q(SELECT pg_relation_filepath('small')));
$node->stop;
overwrite($toast, 8192 - 300, 'damage' x 20);
overwrite($main, 24, 'XXXX');
$node->start;
($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT count(*), sum(stack_id), sum(value) FROM large");
like($err, qr/ERROR:  XX001: a segment of table "large" is damaged/, 'a damaged TOAST chunk');
($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT count(*) FROM small");
like($err, qr/ERROR:  XX001: the metapage of table "small" is damaged/, 'a damaged metapage');
($status, $out, $err) = $node->psql('postgres', 'DROP TABLE small');
is($status, 0, 'a table with a damaged metapage can be dropped');
like($err, qr/WARNING:  the metapage of table "small" is damaged/, 'with a warning');
is($node->safe_psql('postgres', 'DROP TABLE large; SELECT count(*) FROM profstore.segments'), '1', 'the other leaves nothing behind');

# Every query, dump and compaction that reads a damaged segment fails. remove_segment() removes it with all references to it.
$node->safe_psql('postgres', q(
	CREATE TABLE parts (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
	INSERT INTO parts SELECT '2026-01-01Z', 1, g, 1 FROM generate_series(1, 20000) g;
	INSERT INTO parts SELECT '2026-01-02Z', 2, hashint4(g), hashint8(g) FROM generate_series(1, 40000) g;
	INSERT INTO parts SELECT '2026-01-03Z', 3, g, 1 FROM generate_series(1, 3000) g));
for my $damage (
	[ 'its header', '40000', q(UPDATE profstore.segments SET header = set_byte(header, 12, 255 - get_byte(header, 12)) WHERE row_count = 40000) ],
	[ 'a value of TOAST', '40000', q(UPDATE profstore.segments SET stream_ids[1] = 1 WHERE row_count = 40000) ],
	[ 'its payload', '3000', q(UPDATE profstore.segments SET payload = NULL WHERE row_count = 3000) ])
{
	my ($what, $rows, $change) = @$damage;
	$node->safe_psql('postgres', 'CREATE TABLE copied AS SELECT * FROM parts');
	$node->safe_psql('postgres', $change);
	($status, $out, $err) = $node->psql('postgres', 'SELECT sum(value), sum(stack_id) FROM parts');
	my ($hint) = $err =~ /(profstore\.remove_segment\('public\.parts', \d+\))/;
	isnt($hint, undef, "$what: the error names what gives the segment up") or diag($err);
	is($node->safe_psql('postgres', "SELECT $hint"), $rows, "$what: so many rows go");
	is($node->safe_psql('postgres', q(SELECT count(*) FROM (SELECT * FROM copied EXCEPT ALL SELECT * FROM parts) x)), $rows, "$what: those and no others");
	is($node->safe_psql('postgres', q(SELECT * FROM profstore.verify('parts'))), '', "$what: nothing speaks of them");
	($status, $out, $err) = $node->psql('postgres', "SELECT $hint");
	like($err, qr/ERROR:  table "parts" has no segment \d+/, "$what: once");
	$node->safe_psql('postgres', "TRUNCATE parts; INSERT INTO parts SELECT * FROM copied WHERE series_id = 1; INSERT INTO parts SELECT * FROM copied WHERE series_id = 2;" .
		"INSERT INTO parts SELECT * FROM copied WHERE series_id = 3; DROP TABLE copied");
}
($status, $out, $err) = $node->psql('postgres', q(CREATE ROLE nobody; SET ROLE nobody; SELECT profstore.remove_segment('parts', 1)));
like($err, qr/ERROR:  (must be owner of table parts|permission denied)/, 'a stranger gives no segment up');
$node->stop;

# With data checksums, the default from PostgreSQL 18 on, the server refuses a damaged page. The table can still be dropped.
$node = PostgreSQL::Test::Cluster->new('checksums');
$node->init(extra => ['--data-checksums']);
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION profstore; CREATE TABLE small (a int8) USING profstore; INSERT INTO small SELECT generate_series(1, 2000)');
$main = $node->safe_psql('postgres', q(SELECT pg_relation_filepath('small')));
$node->stop;
overwrite($main, 24, 'XXXX');
$node->start;
($status, $out, $err) = $node->psql('postgres', 'SELECT count(*) FROM small');
like($err, qr/ERROR:  invalid page in block 0/, 'a metapage with a wrong checksum');
($status, $out, $err) = $node->psql('postgres', 'BEGIN; DROP TABLE small; ROLLBACK');
is($status, 0, 'a table with such a metapage can be dropped');
like($err, qr/WARNING:  the metapage of table "small" is damaged/, 'with a warning');
($status, $out, $err) = $node->psql('postgres', 'SELECT count(*) FROM small');
like($err, qr/ERROR:  invalid page in block 0/, 'and after a rollback the page is what it was');
$node->safe_psql('postgres', 'DROP TABLE small');

# The same with a page of TOAST: verify() names the segment, which can be removed although its values cannot be deleted.
$node->safe_psql('postgres', q(
	CREATE TABLE parts (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
	INSERT INTO parts SELECT '2026-01-01Z', 1, hashint4(g), hashint8(g) FROM generate_series(1, 20000) g;
	INSERT INTO parts SELECT '2026-01-01Z', 1, hashint4(g), hashint8(g) FROM generate_series(20001, 40000) g;
	SELECT profstore.compact('parts');
	INSERT INTO parts SELECT '2026-01-02Z', 2, g, 1 FROM generate_series(1, 3000) g));
$toast = $node->safe_psql('postgres', q(SELECT pg_relation_filepath(reltoastrelid) FROM pg_class WHERE relname = 'parts'));
$node->stop;
overwrite($toast, 8192 - 300, 'damage' x 20);
$node->start;
($status, $out, $err) = $node->psql('postgres', 'SELECT count(*), sum(stack_id), sum(value) FROM parts');
like($err, qr/ERROR:  invalid page in block/, 'a page of TOAST with a wrong checksum');
my $segment = $node->safe_psql('postgres', q(SELECT DISTINCT segment FROM profstore.verify('parts') WHERE segment IS NOT NULL));
($status, $out, $err) = $node->psql('postgres', "SELECT profstore.remove_segment('parts', $segment)");
is($out, '40000', 'its segment can be given up');
like($err, qr/WARNING:  values of the segment stay in the TOAST relation: invalid page/, 'with a warning');
is($node->safe_psql('postgres', 'SELECT count(*), sum(value) FROM parts'), '3000|3000', 'the others are there');
$node->stop;
done_testing();
