# The cache of the dictionary that sessions share always agrees with the tables.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Crashes;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $type = 'cpu:cpu:nanoseconds:cpu:nanoseconds:delta';
my $range = "'2026-03-01 00:00Z', '2026-03-02 00:00Z'";

my $node = PostgreSQL::Test::Cluster->new('shared');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'profstore'\nprofstore.shared_cache_size = 3MB\nprofstore.compaction = off\nrestart_after_crash = on\nautovacuum = off\n");
$node->start;

# Locations 1 .. 200 have functions f1 .. f200; the prefix distinguishes them from those of another database.
sub install
{
	my ($database, $prefix) = @_;
	$node->safe_psql($database, "
		CREATE EXTENSION profstore;
		SELECT profstore.ensure_partitions('2026-03-01 00:00Z', '2026-03-01 00:00Z');
		SELECT profstore.intern_series('{$type}', array['{}'::jsonb], '{1}');
		SELECT profstore.intern_functions(names, names, array_fill('f.c'::text, ARRAY[200]), array_fill(0, ARRAY[200]))
		FROM (SELECT ARRAY(SELECT '$prefix' || i FROM generate_series(1, 200) i) names) AS n;
		SELECT profstore.intern_locations(array_fill(0, ARRAY[200]), array_fill(0::int8, ARRAY[200]), array_fill(1, ARRAY[200]),
			ARRAY(SELECT generate_series(1, 200)), array_fill(0, ARRAY[200]));");
}

# Samples of $count stacks of an executable: pairs of locations below a root location.
sub samples
{
	my ($exe, $root, $count) = @_;
	return "INSERT INTO profstore.samples SELECT '2026-03-01 00:00Z', 1, unnest(ids), 1
		FROM profstore.intern_stacks('$exe', array_fill(3, ARRAY[$count]),
			ARRAY(SELECT unnest(ARRAY[1 + g % 200, 1 + g / 200, $root]) FROM generate_series(0, $count - 1) AS g)) AS ids";
}

my $folded = "SELECT md5(string_agg(stack || ' ' || value, E'\\n' ORDER BY stack)) FROM profstore.folded('$type\{}', $range)";
my $oracle = "
	WITH RECURSIVE s AS (SELECT stack_id, sum(value) AS value FROM profstore.samples GROUP BY stack_id),
	n AS MATERIALIZED (SELECT * FROM profstore.stacks),
	walk AS (
		SELECT stack_id, value, stack_id AS id, '' AS stack FROM s
		UNION ALL
		SELECT w.stack_id, w.value, n.parent, ';' || f.name || w.stack
		FROM walk w JOIN n ON n.id = w.id JOIN profstore.locations l ON l.id = n.location JOIN profstore.functions f ON f.id = l.function_ids[1]),
	whole AS (SELECT substr(stack, 2) AS stack, sum(value) AS value FROM walk WHERE id = 0 GROUP BY 1)
	SELECT md5(string_agg(stack || ' ' || value, E'\\n' ORDER BY stack)) FROM whole";

sub shared { return $node->safe_psql('postgres', "SELECT $_[0] FROM profstore.shared_cache()"); }

sub tells_the_truth
{
	my ($server, $database, $name) = @_;
	is($server->safe_psql($database, $folded), $server->safe_psql($database, $oracle), $name);
}

install('postgres', 'f');
is(shared('partitions, nodes, bytes, size'), '0|0|0|3145728', 'empty at first');
$node->safe_psql('postgres', samples('exe', 1, 1000));
tells_the_truth($node, 'postgres', 'the session that fills it');
is(shared('partitions, nodes, copies'), '1|1006|0', 'it is filled'); # 1 root, 5 below it, 1,000 leaves
tells_the_truth($node, 'postgres', 'a session that copies');
is(shared('partitions, nodes, copies'), '1|1006|1', 'it was copied');

$node->safe_psql('postgres', samples('exe', 2, 10));
tells_the_truth($node, 'postgres', 'a session that copies and reads what came later');
is(shared('nodes, copies'), '1006|3', 'a little more is not worth a new copy');

# nodes are private to a transaction until it commits
my $session = $node->background_psql('postgres');
$session->query_safe('BEGIN');
$session->query_safe(samples('exe', 3, 3000));
is($session->query_safe($folded), $session->query_safe($oracle), 'a session that has added much');
is(shared('nodes'), '1006', 'which it does not share');
tells_the_truth($node, 'postgres', 'nor do others see it');
$session->query_safe('ROLLBACK');
tells_the_truth($node, 'postgres', 'nothing of what was rolled back');
$session->query_safe('BEGIN; SAVEPOINT a');
$session->query_safe(samples('exe', 4, 3000));
$session->query_safe('ROLLBACK TO a');
$session->query_safe(samples('exe', 5, 2000));
$session->query_safe('COMMIT');
is($session->query_safe($folded), $session->query_safe($oracle), 'what was committed');
is(shared('nodes'), 1006 + 12 + 2011, 'is shared');
tells_the_truth($node, 'postgres', 'as it was committed');

# an older snapshot
my $old = $node->background_psql('postgres');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $before = $old->query_safe($oracle);
$node->safe_psql('postgres', samples('exe', 6, 4000));
tells_the_truth($node, 'postgres', 'after much more');
is($old->query_safe($folded), $before, 'a snapshot from before it');
$old->query_safe('COMMIT');

# a new epoch
my $copies = shared('copies');
$node->safe_psql('postgres', "SELECT profstore.intern_stacks('nobody', '{2}', '{1,2}')");
$node->safe_psql('postgres', "SELECT profstore.collect_dictionary('0')") for 1 .. 2;
tells_the_truth($node, 'postgres', 'after a collection');
is(shared('copies'), $copies, 'nothing of the epoch before is copied');
tells_the_truth($node, 'postgres', 'and again');
is(shared('copies'), $copies + 1, 'but what came in its place');

# another database, and a dropped and recreated extension
$node->safe_psql('postgres', 'CREATE DATABASE second');
install('second', 'g');
$node->safe_psql('second', samples('exe', 7, 1000));
tells_the_truth($node, 'second', 'another database') for 1 .. 2;
$node->safe_psql('second', 'DROP EXTENSION profstore CASCADE; DROP SCHEMA profstore CASCADE');
install('second', 'h');
$node->safe_psql('second', samples('exe', 8, 2000));
tells_the_truth($node, 'second', 'the extension made anew') for 1 .. 2;

# shared entries are read in place, even after others have replaced them
my $reader = $node->background_psql('postgres');
my $own_bytes = "SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name = 'profstore stack tree'";
$reader->query_safe($folded) for 1 .. 2;
cmp_ok($reader->query_safe($own_bytes), '<', 16384, 'a session has no copy of it');
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $borrowed = $reader->query_safe($oracle);
my $nodes = shared('nodes');
$node->safe_psql('postgres', samples('exe', 7, 3000));
tells_the_truth($node, 'postgres', 'after more') for 1 .. 2;
cmp_ok(shared('nodes'), '>', $nodes, 'which took its place');
is($reader->query_safe($folded), $borrowed, 'it reads what it had');
$reader->query_safe('COMMIT');
is($reader->query_safe($folded), $reader->query_safe($oracle), 'and adds what came, as its own');
cmp_ok($reader->query_safe($own_bytes), '>', 65536, 'which it has a copy of');
$reader->query_safe('BEGIN');
$reader->query_safe(samples('exe', 8, 3000));
is($reader->query_safe($folded), $reader->query_safe($oracle), 'so what it adds itself');
$reader->query_safe('ROLLBACK');
is($reader->query_safe($folded), $reader->query_safe($oracle), 'and takes back');
tells_the_truth($node, 'postgres', 'the others');

# the same for names, whose epoch is a separate one
my $name_bytes = "SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name = 'profstore dictionary names'";
my $fresh = $node->background_psql('postgres');
$fresh->query_safe($folded);
cmp_ok($fresh->query_safe($name_bytes), '<', 16384, 'a session has no copy of names');
my $rename = "UPDATE profstore.functions SET name = name || 'x'; SELECT profstore.bump_names()";
$reader->query_safe("BEGIN; $rename");
is($reader->query_safe($folded), $reader->query_safe($oracle), 'names that it has changed itself');
tells_the_truth($node, 'postgres', 'which others do not see');
$reader->query_safe('ROLLBACK');
is($reader->query_safe($folded), $reader->query_safe($oracle), 'and taken back');
$fresh->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $named = $fresh->query_safe($oracle);
$node->safe_psql('postgres', $rename);
tells_the_truth($node, 'postgres', 'names that were changed') for 1 .. 2;
is($reader->query_safe($folded), $reader->query_safe($oracle), 'so a session that had them');
is($fresh->query_safe($folded), $named, 'but under an older snapshot they are what they were');
$fresh->query_safe('COMMIT');
is($fresh->query_safe($folded), $fresh->query_safe($oracle), 'until it ends');
$fresh->quit;
$reader->quit;

# sessions that end within a transaction while they have added nodes to a shared tree
my $log_before = -s $node->logfile;
my $own = "BEGIN; SELECT profstore.intern_stacks('exe', '{3}', ARRAY[199, 198, 77])";
tells_the_truth($node, 'postgres', 'a tree to borrow') for 1 .. 2;
my $gone = $node->background_psql('postgres');
$gone->query_safe($folded);
$gone->query_safe($own);
my $gone_pid = $gone->query_safe('SELECT pg_backend_pid()');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($gone_pid, 10000)");
$node->safe_psql('postgres', "$folded; $own");
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $gone_pid");
tells_the_truth($node, 'postgres', 'who came after them');
unlike(slurp_file($node->logfile, $log_before), qr/terminated by signal|released twice/, 'they end in peace');
eval { $gone->quit };

# more entries than the cache holds
is(shared('evictions, refusals'), '0|0', 'there was room for all');
$node->safe_psql('postgres', samples("exe$_", $_, 10000)) for 10 .. 18;
$copies = shared('copies');
tells_the_truth($node, 'postgres', 'more partitions than fit') for 1 .. 3;
cmp_ok(shared('copies'), '>', $copies, 'those that fit are copied');
$node->safe_psql('postgres', $folded) for 1 .. 8;
cmp_ok(shared('evictions'), '>', 0, 'some made room for others');
cmp_ok(shared('partitions'), '>', 2, 'and several are there');
cmp_ok(shared('bytes'), '<=', 3145728, 'in the memory that there is');
$node->safe_psql('postgres', samples('large', $_, 36000)) for 20 .. 22;
tells_the_truth($node, 'postgres', 'a partition that is too large') for 1 .. 2;
cmp_ok(shared('refusals'), '>', 0, 'is not shared');

# a standby has a cache of its own
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'profstore.shared_cache_size = 8MB');
$standby->start;
tells_the_truth($standby, 'postgres', 'a standby') for 1 .. 2;
$node->safe_psql('postgres', samples('exe', 23, 500));
$node->wait_for_catchup($standby);
tells_the_truth($standby, 'postgres', 'a standby that reads what came later');
cmp_ok($standby->safe_psql('postgres', 'SELECT copies FROM profstore.shared_cache()'), '>', 0, 'copies on the standby');
$standby->stop;

# a crash empties the cache
my $pid = $session->query_safe('SELECT pg_backend_pid()');
my $log_at = -s $node->logfile;
kill_process($pid);
ok($node->wait_for_log(qr/all server processes terminated; reinitializing/, $log_at), 'the server starts anew');
ok(wait_for_server($node), 'it is back');
is(shared('partitions, copies'), '0|0', 'without what was shared');
tells_the_truth($node, 'postgres', 'after a crash') for 1 .. 2;

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$node->restart;
is(shared('size IS NULL'), 't', 'nothing is shared where the library is not preloaded');
tells_the_truth($node, 'postgres', 'but all is told');
$node->stop;
done_testing();
