# Upkeep of samples in shards of two other servers, without Citus: what a node refuses is shown with its code, what the others did is in the log, and
# no session waits for a node that is asked.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Shards qw(double_servers outcome);

my (undef, $coordinator, @nodes) = double_servers();
my $part = 'profstore.samples_20260102';

# The first column of a query on the coordinator.
sub value { my ($sql) = @_; return $coordinator->safe_psql('postgres', $sql); }

# compact() merges segments of the shards, and packs the dictionary, which is on the coordinator
my $open = 'SELECT (SELECT count(*) FROM profstore.function_rows) + (SELECT count(*) FROM profstore.location_rows)';
value(q(SELECT profstore.intern_functions('{fresh}', '{fresh}', '{f.c}', '{1}')));
cmp_ok(value($open), '>', 0, 'a new name is not packed');
value('SELECT profstore.compact()');
is(value($open), 0, 'compact() packs names of distributed samples');

# a batch that a living backend has left prepared
my $session = $coordinator->background_psql('postgres');
my $pid = $session->query_safe('SELECT pg_backend_pid()');
$nodes[0]->safe_psql('postgres', "BEGIN; CREATE TABLE prepared (); PREPARE TRANSACTION 'citus_0_${pid}_7_0'");
value("INSERT INTO active_transactions VALUES ($pid, 7)");
is(value('SELECT profstore_internal.has_batch_in_doubt()'), 'f', 'a batch that a backend commits is not in doubt');
value('UPDATE active_transactions SET transaction_number = 8');
is(value('SELECT profstore_internal.has_batch_in_doubt()'), 't', 'it is, if its backend is in another transaction');
like(outcome($coordinator, q(SELECT partitions FROM profstore_internal.referenced_by_shards())), qr/a batch of samples is in doubt on a node/, 'and then nothing is collected');
is(value("SELECT profstore_internal.are_vacated('$part')"), 'f', 'or dropped as empty');
$nodes[0]->safe_psql('postgres', "ROLLBACK PREPARED 'citus_0_${pid}_7_0'");
is(value('SELECT profstore_internal.has_batch_in_doubt()'), 'f', 'nothing is in doubt after its recovery');
$session->quit;

# errors of a node
$nodes[1]->safe_psql('postgres', "ALTER TABLE ${part}_1 RENAME TO renamed");
my ($status, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\nSELECT profstore.compact('$part')");
like($err, qr/ERROR:  42P01: node node2:0: relation "${part}_1" does not exist\nDETAIL:  Other shards may have done their part.\nHINT:  Repeat the call/, 'an error of a node has its code');
($status, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\nSELECT done FROM profstore_internal.retain('$part', 'trim', '2026-01-03')");
is($out, 'f', 'retention is not done if a node fails');
like($err, qr/WARNING:  42P01: retention of $part failed on node node2:0: relation "${part}_1" does not exist/, 'it shows the error of the node');
my $removed = value("SELECT sum(rows) FROM profstore.retention_log WHERE relation = '$part' AND action = 'drop' AND sums IS NULL");
cmp_ok($removed, '>', 0, 'the log has the rows that other shards have removed');
$nodes[1]->safe_psql('postgres', "ALTER TABLE profstore.renamed RENAME TO samples_20260102_1");
my $rest = $nodes[1]->safe_psql('postgres', "SELECT count(*) FROM ${part}_1");
cmp_ok($rest, '>', 0, 'the shard of the node that failed has its rows');
is(value("SELECT done, rows FROM profstore_internal.retain('$part', 'trim', '2026-01-03')"), "t|$rest", 'the next run removes them');

# nodes with other builds: one whose functions are of another script, and one from before this function
my $hint = 'HINT:  Install one build (of profstore )?on all nodes, then run ALTER EXTENSION profstore UPDATE on the coordinator.';
my $hash = $nodes[1]->safe_psql('postgres', 'SELECT pg_get_functiondef($$profstore_internal.script_hash()$$::regprocedure)');
(my $other_hash = $hash) =~ s/SELECT '/${&}0/ or die $hash;
$nodes[1]->safe_psql('postgres', $other_hash);
($status, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\nSELECT profstore.compact('$part')");
like($err, qr/ERROR:  55000: node node2:0: this node has another build of profstore than the coordinator\nDETAIL:  Other shards.*\n$hint/, 'a node with another build refuses');
my $first_day = 'SELECT count(*) FROM profstore.samples_20260101_1';
my $kept = $nodes[1]->safe_psql('postgres', $first_day);
($status, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\nSELECT done, rows > 0 FROM profstore_internal.retain('profstore.samples_20260101', 'trim', '2026-01-02')");
is($out, 'f|t', 'also in retention, while the other node removes its rows');
like($err, qr/WARNING:  55000: retention of profstore.samples_20260101 failed on node node2:0: this node has another build.*\n.*\n$hint/, 'which shows the reason');
cmp_ok($kept, '>', 0, 'the node has rows of that day');
is($nodes[1]->safe_psql('postgres', $first_day), $kept, 'and keeps them');
like(outcome($coordinator, "\\set VERBOSITY verbose\nSELECT profstore_internal.lock_shards('$part')"), qr/ERROR:  55000: this node has another build of profstore than the coordinator\n$hint/, 'and for a drop');
$nodes[1]->safe_psql('postgres', $hash);
$nodes[1]->safe_psql('postgres', 'ALTER FUNCTION profstore_internal.answer_command(text, text) RENAME TO renamed');
($status, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\nSELECT profstore.compact('$part')");
like($err, qr/ERROR:  38000: node node2:0: function profstore_internal.answer_command\(unknown, unknown\) does not exist\n.*\n$hint/, 'a build without this function does, too');
$nodes[1]->safe_psql('postgres', 'ALTER FUNCTION profstore_internal.renamed(text, text) RENAME TO answer_command');

# a node that is away
$nodes[1]->stop('immediate');
($status, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\nSELECT done FROM profstore_internal.retain('profstore.samples_20260103', 'trim', '2026-01-04')");
like($err, qr/WARNING:  08006: retention of profstore.samples_20260103 failed on node node2:0: connection failed/, 'a node that is away fails with the code of connections');
cmp_ok(value("SELECT sum(rows) FROM profstore.retention_log WHERE relation = 'profstore.samples_20260103'"), '>', 0, 'the log has what the other node removed');
$nodes[1]->start;

# a drop that fails after nodes have removed rows: their logs have these rows
$coordinator->safe_psql('postgres', q(CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF EXISTS (SELECT FROM pg_event_trigger_dropped_objects() WHERE object_identity LIKE 'profstore.samples%') THEN RAISE 'no drop'; END IF;
	END $$;
	CREATE EVENT TRIGGER refuse ON sql_drop EXECUTE FUNCTION refuse()));
my $logged = sub { my ($sql) = @_; my $sum = 0; $sum += $_->safe_psql('postgres', $sql) for @nodes; return $sum; };
my $log = q(SELECT coalesce(sum(rows), 0) FROM profstore.retention_log WHERE action = 'drop' AND relation LIKE 'profstore.samples\_20260103\_%');
my $stored = 'SELECT (SELECT count(*) FROM profstore.samples_20260103_%d) + (SELECT count(*) FROM profstore.samples_20260103_%d)';
my $count_stored = sub { return $nodes[0]->safe_psql('postgres', sprintf($stored, 0, 2)) + $nodes[1]->safe_psql('postgres', sprintf($stored, 1, 3)); };
my ($log_before, $stored_before) = ($logged->($log), $count_stored->());
like(outcome($coordinator, q(SELECT * FROM profstore.drop_before('2026-01-03 23:00'))), qr/ERROR:  no drop/, 'a drop fails');
cmp_ok($count_stored->(), '<', $stored_before, 'after nodes have removed rows');
is($logged->($log) - $log_before, $stored_before - $count_stored->(), 'each node has logged what it removed');
$coordinator->safe_psql('postgres', 'DROP EVENT TRIGGER refuse');

# what nodes remove is not undone
like(outcome($coordinator, "\\set VERBOSITY verbose\nBEGIN; SELECT * FROM profstore.drop_before('2026-01-04 12:00'); ROLLBACK"),
	qr/ERROR:  25001: profstore.drop_before\(\) cannot run inside a transaction block if samples are distributed/, 'drop_before() refuses a transaction block');
like(outcome($coordinator, "DO \$\$ BEGIN PERFORM profstore.drop_before('2026-01-04'); EXCEPTION WHEN active_sql_transaction THEN RAISE NOTICE 'refused'; END \$\$"),
	qr/NOTICE:  refused/, 'and a block of exceptions');

# a query of a node has locked a shard: the drop gives up
my $reader = $nodes[0]->background_psql('postgres');
$reader->query_safe("BEGIN; SELECT count(*) FROM ${part}_0");
like(outcome($coordinator, "SELECT done, blocked FROM profstore_internal.drop_partition('$part', false)"), qr/^f\|t\|.*NOTICE:  partition $part is not dropped yet: the lock of a shard is taken/s,
	'a partition whose shard is in use is not dropped');
$reader->query_safe('COMMIT');
$reader->quit;

# shards in use, of the later of two days: in one a query reads, which prevents the drop only, in the other upkeep works, which prevents also the
# removal of rows. Nodes are asked before the coordinator's lock, for which other sessions wait.
value("SELECT done FROM profstore_internal.drop_partition('$part', true)");
value('TRUNCATE asked_under');
my $store = sub { $_->[0]->safe_psql('postgres', "INSERT INTO profstore.samples_20260103_$_->[1] SELECT '2026-01-03 12:00', 1, 0, i FROM generate_series(1, 10) AS i") for @_; };
my @shards = map { [ $nodes[ $_ % 2 ], $_ ] } 0 .. 3;
value(q(SELECT profstore_internal.retain('profstore.samples_20260103', 'trim', '2026-01-04')));
$store->(@shards);
my ($query, $upkeep) = map { $nodes[0]->background_psql('postgres') } 1, 2;
$query->query_safe('BEGIN; SELECT count(*) FROM profstore.samples_20260103_0');
$upkeep->query_safe('BEGIN; LOCK TABLE ONLY profstore.samples_20260103_2 IN SHARE UPDATE EXCLUSIVE MODE');
my $drop = q(SELECT relation, dropped, rows FROM profstore.drop_before('2026-01-04') WHERE relation LIKE 'profstore.samples\_2026%' ORDER BY 1);
my $answer = outcome($coordinator, $drop);
like($answer, qr/^profstore.samples_20260101\|t\|\d+\nprofstore.samples_20260103\|f\|30\|/, 'a day with shards in use keeps the rows of one shard');
like($answer, qr/NOTICE:  skipping shards of profstore.samples_20260103, whose locks are taken: 1 on node node1:0\n.*WARNING:  partition profstore.samples_20260103 still has rows before 2026-01-04/s,
	'a WARNING tells of rows that stay');
$upkeep->query_safe('COMMIT');
like(outcome($coordinator, $drop), qr/^profstore.samples_20260103\|f\|10\|(?!.*WARNING)/s, 'a query alone keeps no rows');
is(join(' ', map { $_->[0]->safe_psql('postgres', "SELECT count(*) FROM profstore.samples_20260103_$_->[1]") } @shards), '0 0 0 0', 'now all are removed');
like(outcome($coordinator, $drop), qr/^\|.*NOTICE:  partition profstore.samples_20260103 is not dropped yet: the lock of a shard is taken$/, 'a day without rows that is not dropped is no result');
$query->query_safe('COMMIT');
$_->quit for $query, $upkeep;
is(outcome($coordinator, $drop), 'profstore.samples_20260103|t|0|', 'the next call drops the day');
is(value("SELECT string_agg(DISTINCT mode, ',') FROM asked_under WHERE mode <> 'AccessShareLock'"), 'ShareRowExclusiveLock', 'nodes are asked while only writers wait');

done_testing();
