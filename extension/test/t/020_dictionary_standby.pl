# A session on a standby, with warm caches, sees new rows of the primary's dictionary, also if commits come out of order; and
# writers notice when a standby is promoted.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $type = 'cpu:cpu:nanoseconds:cpu:nanoseconds:delta';

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', 'autovacuum = off');
$primary->start;
$primary->safe_psql('postgres', "
	CREATE EXTENSION profstore;
	SELECT profstore.ensure_partitions('2026-03-01 00:00Z', '2026-03-01 00:00Z');
	SELECT profstore.intern_series('{$type}', array['{}'::jsonb], '{1}');
	SELECT profstore.intern_functions('{a,b,c,d}', '{a,b,c,d}', '{f,f,f,f}', '{0,0,0,0}');
	SELECT profstore.intern_locations('{0,0,0,0}', '{0,0,0,0}', '{1,1,1,1}', '{1,2,3,4}', '{0,0,0,0}');");
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

# A stack with a sample of value 1, given by its locations, leaf first.
sub sample
{
	my (@locations) = @_;
	return sprintf "INSERT INTO profstore.samples SELECT '2026-03-01 00:00Z', 1, ids[1], 1
		FROM profstore.intern_stacks('exe', '{%d}', '{%s}') AS ids", scalar @locations, join(',', @locations);
}

my $old = $primary->background_psql('postgres');
my $reader = $standby->background_psql('postgres');
my $folded = "SELECT string_agg(stack, ' ' ORDER BY stack) FROM profstore.folded('$type\{}', '2026-03-01 00:00Z', '2026-03-02 00:00Z')";

sub standby_sees
{
	my ($expected, $name) = @_;
	$primary->wait_for_catchup($standby);
	is($reader->query_safe($folded), $expected, $name);
}

$primary->safe_psql('postgres', sample(1));
standby_sees('a', 'first stack');

$old->query_safe('BEGIN');
$old->query_safe(sample(2, 1));
$primary->safe_psql('postgres', sample(3, 1));
standby_sees('a a;c', 'a younger transaction committed first');
$old->query_safe('COMMIT');
standby_sees('a a;b a;c', 'the older one committed after the cache was filled');

$old->query_safe('BEGIN');
$old->query_safe(sample(4));
$primary->safe_psql('postgres', sample(4, 3, 1));
$old->query_safe(sample(2, 4, 3, 1));
$old->query_safe('ROLLBACK');
standby_sees('a a;b a;c a;c;d', 'nothing of a transaction that was rolled back');

$primary->safe_psql('postgres', "
	UPDATE profstore.functions SET name = 'renamed' WHERE name = 'c';
	SELECT profstore.bump_names();");
standby_sees('a a;b a;renamed a;renamed;d', 'names change with the epoch of names');

$primary->safe_psql('postgres', q{
	SELECT profstore.intern_mappings('{aa}', '{/bin/a}');
	SELECT profstore.intern_functions('{symbol,source,inlined}', '{s,s,i}', '{"",s.c,s.c}', '{0,0,0}');
	SELECT profstore.intern_locations('{1}', '{16}', '{1}', '{5}', '{0}');
	INSERT INTO profstore.samples SELECT '2026-03-01 00:00Z', 1, (profstore.intern_stacks('other', '{1}', '{5}'))[1], 1;
});
standby_sees('a a;b a;renamed a;renamed;d symbol', 'a stack by symbols');
$primary->safe_psql('postgres', "SELECT profstore.intern_locations('{1}', '{16}', '{2}', '{7,6}', '{3,4}')");
standby_sees('a a;b a;renamed a;renamed;d source;inlined', 'its location has got a better answer');
$primary->safe_psql('postgres', "INSERT INTO profstore.samples SELECT '2026-03-01 00:00Z', 1, (profstore.intern_stacks('exe', array[2], array[1, g]))[1], 1 FROM generate_series(1, 4) AS g");
cmp_ok($primary->safe_psql('postgres', 'SELECT profstore.compact_dictionary()'), '>=', 8, 'chunks are merged');
my $many = 'a a;a a;b a;renamed a;renamed;d b;a d;a renamed;a source;inlined';
standby_sees($many, 'a warm cache reads a merged chunk for what it lacks');

$primary->safe_psql('postgres', "SELECT profstore.intern_stacks('nobody', '{2}', '{1,2}')");
$primary->wait_for_catchup($standby);
$old = $standby->background_psql('postgres');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $partitions = 'SELECT count(*) FROM profstore.dictionary_partitions';
is($old->query_safe($partitions), 3, 'a snapshot on the standby from before the collection');
$primary->safe_psql('postgres', "SELECT profstore.collect_dictionary('0')") for 1 .. 2;
standby_sees($many, 'a collection takes nothing that is in use');
is($standby->safe_psql('postgres', $partitions), 2, 'the unused partition is gone');
is($old->query_safe($folded), $many, 'the older snapshot reads by what it sees');
is($old->query_safe($partitions), 3, 'and sees what is gone');
$old->quit;
$old = $primary->background_psql('postgres');

my $epoch = $primary->safe_psql('postgres', 'SELECT profstore.epoch()');
is($standby->safe_psql('postgres', 'SELECT profstore.epoch()'), $epoch, 'one epoch on primary and standby');

my ($status, $stdout, $stderr) = $standby->psql('postgres', "SELECT profstore.intern_stacks('exe', '{2}', '{4,2}')");
like($stderr, qr/cannot .* (during recovery|in a read-only transaction)/, 'a standby interns nothing');

$old->quit;
$primary->stop('immediate');
$standby->promote;
isnt($reader->query_safe('SELECT profstore.epoch()'), $epoch, 'another epoch once the standby took over');
($status, $stdout, $stderr) = $standby->psql('postgres',
	"SELECT profstore.begin_batch('00000000-0000-0000-0000-00000000000a', 1, $epoch)", on_error_stop => 0);
like($stderr, qr/dictionary epoch $epoch has expired/, 'a batch of the old epoch is refused');
$standby->safe_psql('postgres', sample(2));
is($reader->query_safe($folded), 'a a;a a;b a;renamed a;renamed;d b b;a d;a renamed;a source;inlined', 'the promoted standby stores and reads');
$reader->quit;

done_testing();
