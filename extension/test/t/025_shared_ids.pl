# Sessions share the ids of imports: the first import of a session does not intern names that others have imported. Ids are not shared
# if they are not committed, or belong to another epoch or another role.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('ids');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'profstore'\nprofstore.compaction = off\nautovacuum = off\ntrack_functions = all\n");
$node->start;
sub sql { my ($statements, %more) = @_; return $node->safe_psql('postgres', $statements, %more); }
sql('CREATE EXTENSION profstore; CREATE ROLE other LOGIN');
sql(q(SELECT profstore.grant_write('other'); SELECT profstore.grant_read('other')));

# folded stacks of a number of functions, numbered from a first one on
sub import { my ($first, $count, $kind) = @_; return "SELECT profstore.import_folded((SELECT string_agg(format(E'main;%s 1\\n', 'f' || i), '') FROM generate_series($first, $first + $count - 1) AS i), '{\"kind\": \"$kind\"}', '2026-01-02')"; }

# a session reports its calls as it ends, after its client; the test keeps one session open
my $open_sessions = 0;
sub calls
{
	$node->poll_query_until('postgres', "SELECT count(*) = $open_sessions FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
		or die 'sessions do not end';
	return sql(q(SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname IN ('intern_functions', 'intern_locations', 'intern_series')));
}
sub stacks { my ($kind) = @_; return sql("SELECT count(*), sum(value), count(DISTINCT stack) FROM profstore.folded((SELECT profile_type FROM profstore.profile_types()) || '{kind=\"$kind\"}', '-infinity', 'infinity')"); }

# returns how often imports called interning, each import in a session of its own
sub interned { my ($imports, %more) = @_; my $before = calls(); sql($imports, %more); return calls() - $before; }

is(interned(import(1, 100, 'a')), 3, 'what is new is interned: functions, locations, a series');
is(interned(import(1, 100, 'a')), 3, 'again by another session, since the first one has offered nothing');
is(interned(import(1, 100, 'a') . ';' . import(1, 100, 'a')), 3, 'once by a session, whose second import shares it');
is(interned(import(1, 100, 'a')), 0, 'the next session interns nothing');
is(interned(import(1, 100, 'b')), 1, 'but a series of its own');
is(stacks('a'), '100|500|100', 'all of it was stored');
is(stacks('b'), '100|100|100', 'that too');

# ids of a rolled back or unfinished transaction are not shared; committed ones are, together with earlier ones
sql('BEGIN; ' . import(200, 100, 'c') . '; ' . import(200, 100, 'c') . '; ROLLBACK; ' . import(1, 1, 'a'));
cmp_ok(interned(import(200, 100, 'c')), '>', 0, 'others intern what was rolled back');
my $open = $node->background_psql('postgres');
$open_sessions = 1;
$open->query_safe('BEGIN');
$open->query_safe(import(400, 200, 'd')) for 1 .. 2;
cmp_ok(interned(import(400, 200, 'd')), '>', 0, 'and what is not committed');
$open->query_safe('COMMIT');
$open->query_safe(import(400, 200, 'd'));
is(interned(import(400, 200, 'd')), 0, 'when it is, they have it');
is(interned(import(1, 100, 'a')), 0, 'beside what they had');
is(stacks('c'), '100|100|100', 'once what was stored once');
is(stacks('d'), '200|1000|200', 'all that was committed');
$open->quit;
$open_sessions = 0;

# a snapshot that is older than the rows sees none of them, so ids are not taken from the cache
for my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	my $kind = lc substr $level, 0, 1;
	my $first = $kind eq 'r' ? 1000 : 3000;
	my $old = $node->background_psql('postgres');
	$old->query_safe("BEGIN ISOLATION LEVEL $level");
	$old->query_safe('SELECT count(*) FROM profstore.samples');
	$open_sessions = 1;
	sql(import($first, 500, "new $kind") . ';' . import($first, 1, "new $kind"));
	$old->query_safe(import(1, 1, 'a'));    # the stack tree is read as the snapshot sees it
	is($old->query_safe(import($first, 500, "old $kind")), 500, "$level: an older snapshot stores the same");
	is($old->query_safe(import($first, 500, "old $kind")), 500, "$level: and again");
	is(interned(import($first, 500, "new $kind")), 0, "$level: which sessions share by now");
	$old->query_safe('COMMIT');
	is($old->query_safe(import($first, 500, "new $kind")), 500, "$level: the session's next transaction");
	is($old->{stderr}, '', "$level: without an error");
	$old->quit;
	$open_sessions = 0;
	is(stacks("new $kind"), '500|1501|500', "$level: what the others stored");
	is(stacks("old $kind"), '500|1000|500', "$level: what the old snapshot stored");
	is(sql(q(SELECT count(*) FROM profstore.verify('profstore.samples'))), 0, "$level: all names are known");
}

# another role interns the names itself
is(interned(import(1, 100, 'a'), extra_params => [ '-U', 'other' ]), 3, 'another role interns');
is(interned(import(1, 100, 'a')), 0, 'and leaves what the first one shares');

# collection may remove the shared rows
sql(q(DELETE FROM profstore.series WHERE labels->>'kind' = 'none'; SELECT profstore.intern_stacks('nobody', '{2}', '{1,2}')));
sql(q(SELECT profstore.collect_dictionary('0'))) for 1 .. 2;
cmp_ok(interned(import(1, 100, 'a')), '>', 0, 'a new epoch begins anew');
is(stacks('a'), '100|903|100', 'and is right');

# without shared memory each session keeps its own ids
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$node->restart;
is(interned(import(1, 100, 'a') . ';' . import(1, 100, 'a')), 3, 'a session of its own');
is(interned(import(1, 100, 'a')), 3, 'and the next');
$node->stop;
done_testing();
