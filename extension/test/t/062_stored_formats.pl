# Bytes that an earlier build stored can be read, with the answers of a heap table of the same rows. t/formats/N holds them for format N
# (README.md there tells how they were made).
#
# With PROFSTORE_WRITE_FORMAT=FOLDER this program stores the rows and writes them to FOLDER instead.
use strict;
use warnings;
use File::Basename;
use Cwd;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $page_size = 8192;
my @tables = qw(epoch profile_types series mappings function_rows location_rows dictionary_key function_chunks function_hashes
  location_chunks location_hashes dictionary_partitions stack_chunks segments rollups row_ledger);
my $formats = getcwd() . '/' . dirname(__FILE__) . '/formats';

# The rows, as a query, and the stacks: the parent of number k is k / 2.
my $t_rows = q(SELECT '2026-01-01Z'::timestamptz + g * interval '1 s' AS time, g % 7 AS series_id, (g % 100)::int8 AS stack_id,
	nullif(g % 10, 3)::int8 AS value, (g % 300)::int2 AS small, g % 3 = 0 AS flag, nullif(g % 50, 9) / 8.0::float8 AS share,
	(g % 50)::float4 AS single, '2026-01-01'::date + g % 400 AS day, 17 AS added FROM generate_series(1, 5000) g);
my $sample_rows = q(SELECT '2026-01-01Z'::timestamptz + g * interval '4 s' AS time, 1 + g % 2 AS series_id, 1 + g * 7 % 300 AS stack,
	(10 + g % 3)::int8 AS value FROM generate_series(1, 20000) g);
my $schema = q(
	CREATE TABLE t (time timestamptz, series_id int4, stack_id int8, value int8, small int2, flag bool, share float8, single float4, day date)
		USING profstore;
	SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-02Z'););
my @stored = ('t', 'profstore.samples_20260101');

sub started
{
	my $node = PostgreSQL::Test::Cluster->new(shift);
	$node->init;
	$node->append_conf('postgresql.conf', "timezone = 'UTC'\nautovacuum = off\n");    # whose lock would keep compaction away
	$node->start;
	$node->safe_psql('postgres', "CREATE EXTENSION profstore; $schema");
	return $node;
}

sub toast_of
{
	my ($node, $table) = @_;
	return $node->safe_psql('postgres', "SELECT reltoastrelid::regclass FROM pg_class WHERE oid = '$table'::regclass");
}

# After the rewrite, only the page of the table has the default of older rows.
sub add_column
{
	my ($node) = @_;
	$node->safe_psql('postgres', $_) for 'ALTER TABLE t ADD COLUMN added int4 DEFAULT 17', 'VACUUM FULL t';
}

# The files with the page of each table, and the streams of its segments.
sub files_of
{
	my ($node) = @_;
	my $path = sub { $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$_[0]')") };
	return map { ($_ => $path->($_), "$_-streams" => $path->(toast_of($node, $_))) } @stored;
}

sub runs
{
	my ($bytes) = @_;
	my @runs;
	push @runs, $-[0] . ':' . unpack('H*', $&) while $bytes =~ /[^\0](?:\0{0,15}[^\0])*/gs;
	return @runs;
}

sub bytes_of
{
	my ($path) = @_;
	open my $file, '<:raw', $path or die "$path: $!\n";
	local $/;
	return scalar <$file>;
}

# Stores the rows and writes the bytes from disk: files of the tables, and rows of the extension's tables.
sub write_format
{
	my ($folder) = @_;
	my $node = started('writer');
	my $functions = join ',', map "function_$_", 1 .. 300;
	my $stacks = join ',', map { my ($k, @path) = $_; while ($k > 0) { push @path, $k; $k = int($k / 2); } @path } 1 .. 300;
	my $lengths = join ',', map length(sprintf '%b', $_), 1 .. 300;
	my $numbers = join ',', 1 .. 300;
	my $zeros = join ',', (0) x 300;
	my $ones = join ',', (1) x 300;
	$node->safe_psql('postgres', qq(
		INSERT INTO t SELECT time, series_id, stack_id, value, small, flag, share, single, day FROM ($t_rows) r;
		SELECT profstore.intern_series(array_fill('cpu:cpu:nanoseconds:cpu:nanoseconds:delta'::text, ARRAY[2]), ARRAY['{"node": "a"}', '{"node": "b"}']::jsonb[], '{1, 1}');
		SELECT profstore.intern_functions('{$functions}', '{$functions}', ARRAY(SELECT 'file_' || n % 7 || '.c' FROM generate_series(1, 300) n), '{$numbers}');
		SELECT profstore.intern_locations('{$zeros}', '{$zeros}', '{$ones}', '{$numbers}', '{$numbers}');
		CREATE TABLE ids AS SELECT stack, id FROM unnest(profstore.intern_stacks('program', '{$lengths}', '{$stacks}')) WITH ORDINALITY i(id, stack);
		SELECT profstore.touch_series('{1, 2}', '2026-01-01Z', '2026-01-02Z');
		SELECT profstore.compact_dictionary();));
	add_column($node);
	# several segments that are not merged, over which compaction makes a roll-up, and two that will be merged
	for my $hours ("< '08:00'", "BETWEEN '08:00' AND '15:59:59'", ">= '16:00'")
	{
		$node->safe_psql('postgres', "INSERT INTO profstore.samples SELECT r.time, r.series_id, ids.id, r.value FROM ($sample_rows) r JOIN ids USING (stack)
			WHERE r.time::time $hours; SELECT profstore.compact()");
	}
	$node->safe_psql('postgres', "INSERT INTO profstore.samples SELECT '2026-01-01 23:59Z', 1, id, 1000 FROM ids WHERE stack = 300");
	$node->safe_psql('postgres', "VACUUM (FREEZE) $_") for map toast_of($node, $_), @stored;    # visible in a server with other transactions
	$node->safe_psql('postgres', 'CHECKPOINT');
	mkdir $folder;
	open my $rows, '>:raw', "$folder/rows.sql" or die "$folder/rows.sql: $!\n";
	for my $table (@tables)
	{
		my $columns = $node->safe_psql('postgres', "SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute
			WHERE attrelid = 'profstore.$table'::regclass AND attnum > 0 AND NOT attisdropped");
		my $values = $node->safe_psql('postgres', "COPY profstore.$table ($columns) TO STDOUT");
		print $rows "COPY profstore.$table ($columns) FROM stdin;\n", $values eq '' ? '' : "$values\n", "\\.\n";
	}
	for my $sequence (split /\n/, $node->safe_psql('postgres', "SELECT sequencename FROM pg_sequences WHERE schemaname = 'profstore'"))
	{
		my $last = $node->safe_psql('postgres', "SELECT last_value, is_called FROM profstore.$sequence");
		print $rows "SELECT setval('profstore.$sequence', ", join(', ', map { s/^([tf])$/'$1'/r } split /\|/, $last), ");\n";
	}
	close $rows or die;
	my %file = files_of($node);
	$node->stop;
	open my $files, '>:raw', "$folder/files.txt" or die "$folder/files.txt: $!\n";
	for my $name (sort keys %file)
	{
		# the position of each run of bytes other than zero, and the bytes
		my $bytes = bytes_of($file{$name});
		print $files "$name ", length $bytes, (map " $_", runs($bytes)), "\n";
	}
	close $files or die;
}

if (defined $ENV{PROFSTORE_WRITE_FORMAT})
{
	write_format($ENV{PROFSTORE_WRITE_FORMAT});
	ok(1, "written to $ENV{PROFSTORE_WRITE_FORMAT}");
	done_testing();
	exit;
}

my @folders = grep -d, glob "$formats/*";
cmp_ok(scalar @folders, '>', 0, 'there are stored formats');
for my $folder (@folders)
{
	my $format = "format " . basename($folder);
	my $node = started('reader' . basename($folder));
	add_column($node);
	my %file = files_of($node);
	my @indexes = map toast_of($node, $_), @stored;
	$node->stop;
	open my $files, '<', "$folder/files.txt" or die "$folder/files.txt: $!\n";
	while (<$files>)
	{
		my ($name, $length, @runs) = split;
		my $bytes = "\0" x $length;
		for (@runs)
		{
			my ($at, $run) = /^(\d+):(\w+)$/ or die "$name: $_\n";
			substr($bytes, $at, length($run) / 2) = pack 'H*', $run;
		}
		substr($bytes, $_, 8) = "\0" x 8 for map $_ * $page_size, 0 .. $length / $page_size - 1;    # positions in the WAL of another server
		open my $file, '>:raw', $file{$name} or die "$file{$name}: $!\n";
		print $file $bytes;
		close $file or die;
	}
	# from PostgreSQL 18 on, pages have checksums, which depend on their position
	system('pg_checksums --disable -D ' . $node->data_dir . ' >/dev/null 2>&1');
	$node->start;
	$node->safe_psql('postgres', "REINDEX TABLE $_") for @indexes;
	$node->safe_psql('postgres', join '; ', 'BEGIN', (map "DELETE FROM profstore.$_", reverse @tables), 'COMMIT');
	$node->command_ok([ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', "$folder/rows.sql" ], "$format: rows are loaded");
	$node->restart;    # no session has cached anything

	is($node->safe_psql('postgres', "SELECT count(*) FROM t"), '5000', "$format: rows of a table");
	is($node->safe_psql('postgres', "(TABLE t EXCEPT ALL $t_rows) UNION ALL ($t_rows EXCEPT ALL TABLE t)"), '', "$format: their values");
	is($node->safe_psql('postgres', "SELECT count(*), sum(value) FROM profstore.samples"),
		$node->safe_psql('postgres', "SELECT count(*) + 1, sum(value) + 1000 FROM ($sample_rows) r"), "$format: samples");
	my $sums = qq(WITH RECURSIVE path(stack, at, names) AS (SELECT n, n, 'function_' || n FROM generate_series(1, 300) n
			UNION ALL SELECT stack, at / 2, 'function_' || at / 2 || ';' || names FROM path WHERE at > 1)
		SELECT names, sum(value) FROM (SELECT stack, series_id, value FROM ($sample_rows) r UNION ALL SELECT 300, 1, 1000) s
			JOIN path USING (stack) WHERE at = 1 AND (series_id = 1 OR NOT %s) GROUP BY 1 ORDER BY names COLLATE "C");
	my $folded = q(SELECT stack, value FROM profstore.folded('cpu:cpu:nanoseconds:cpu:nanoseconds:delta%s', '2026-01-01Z', '2026-01-02Z') ORDER BY stack COLLATE "C");
	my $check = sub {
		my ($when) = @_;
		is($node->safe_psql('postgres', sprintf $folded, ''), $node->safe_psql('postgres', sprintf $sums, 'true = false'), "$format: stacks$when");
		is($node->safe_psql('postgres', sprintf $folded, '{node="a"}'), $node->safe_psql('postgres', sprintf $sums, 'true'), "$format: stacks of a series$when");
		is($node->safe_psql('postgres', q(SELECT * FROM profstore.verify(); SELECT * FROM profstore.verify('t'))), '', "$format: nothing is damaged$when");
	};
	$check->('');
	is($node->safe_psql('postgres', q(SELECT count(DISTINCT filename), count(*), max(start_line) FROM profstore.functions)), '7|300|300', "$format: functions");
	is($node->safe_psql('postgres', q(SELECT array_agg(DISTINCT f.id) FROM profstore.intern_functions('{function_5}', '{function_5}', '{file_5.c}', '{5}') f(id))),
		'{{5}}', "$format: names are found again");
	is($node->safe_psql('postgres', q(SELECT bool_or(summary_bytes > 0), count(*) > 1 FROM profstore.segment_stats; SELECT count(*) > 0 FROM profstore.rollups;
		SELECT count(*) > 0 FROM profstore.function_chunks; SELECT count(*) > 0 FROM profstore.location_chunks; SELECT count(*) > 0 FROM profstore.stack_chunks)),
		"t|t\nt\nt\nt\nt", "$format: it has sums, roll-ups and packed names");
	$node->safe_psql('postgres', q(SELECT profstore.compact(); SELECT profstore.compact('t')));
	$check->(', merged with new segments');
	$node->stop;
}
done_testing();
