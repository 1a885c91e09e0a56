# A VACUUM by the background worker that fails leaves nothing behind in the worker, which goes on.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('vacuum');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'profstore'\nprofstore.compaction_naptime = 1s\nprofstore.compaction = off\nprofstore.retention = off\nautovacuum = off\n");
$node->start;
$node->safe_psql('postgres', q(
	CREATE EXTENSION profstore;
	SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-01Z');
	SELECT profstore.set_retention('1 day');));
$node->safe_psql('postgres', q(INSERT INTO profstore.samples VALUES ('2026-01-01Z', 1, 1, 1))) for 1 .. 2;

# VACUUM alone wants a visibility map of the directory, and cannot have it
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', q(SELECT pg_relation_filepath('profstore.segments')));
ok(!-e "${file}_vm", 'the directory has not been vacuumed yet');
$node->stop;
mkdir "${file}_vm" or die;
$node->start;

# retention comes after compaction, and waits for a lock for a while
my $idle = $node->background_psql('postgres');
$idle->query_safe('BEGIN; LOCK TABLE profstore.retention_log IN ACCESS EXCLUSIVE MODE');
$node->append_conf('postgresql.conf', "profstore.compaction = on\nprofstore.retention = on\n");
my $offset = -s $node->logfile;
$node->reload;
my $worker = q(FROM pg_stat_activity WHERE backend_type = 'profstore compaction' AND wait_event_type = 'Lock');
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 $worker"), 'a worker waits in retention');
like(slurp_file($node->logfile, $offset), qr/_vm": Is a directory/, 'its VACUUM has failed');
$node->safe_psql('postgres', "SELECT pg_log_backend_memory_contexts(pid) $worker");
$node->wait_for_log(qr/Grand total: /, $offset);
my $log = slurp_file($node->logfile, $offset);
like($log, qr/level: 1; TopTransactionContext/, 'the log tells of memory');
unlike($log, qr/profstore vacuum/, 'of which the VACUUM holds none');
$idle->query_safe('COMMIT');
$idle->quit;
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM profstore.samples'), 'the worker has gone on');
rmdir "${file}_vm" or die;
$node->stop;
done_testing();
