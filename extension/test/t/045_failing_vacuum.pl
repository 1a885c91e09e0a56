# A VACUUM by the background worker that fails leaves no state in the worker, which continues.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('vacuum');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'profstore'\nprofstore.compaction_naptime = 1s\nprofstore.compaction = off\nprofstore.retention = off\nautovacuum = off\n");
$node->start;
$node->safe_psql('postgres', q(
	CREATE EXTENSION profstore;
	SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-01Z');
	SELECT profstore.set_retention('1 day');));
$node->safe_psql('postgres', q(INSERT INTO profstore.samples VALUES ('2026-01-01Z', 1, 1, 1))) for 1 .. 2;

# only VACUUM needs the visibility map of the segment directory, which it cannot create here
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', q(SELECT pg_relation_filepath('profstore.segments')));
ok(!-e "${file}_vm", 'the directory has not been vacuumed yet');
$node->stop;
mkdir "${file}_vm" or die;
$node->start;

# retention runs after compaction, and waits for a lock for some time
my $idle = $node->background_psql('postgres');
$idle->query_safe('BEGIN; LOCK TABLE profstore.retention_log IN ACCESS EXCLUSIVE MODE');
$node->append_conf('postgresql.conf', "profstore.compaction = on\nprofstore.retention = on\n");
my $offset = -s $node->logfile;
$node->reload;

# The worker waits for 10 s. A slow machine may take longer; then the next worker has segments to merge again.
my $worker = q(FROM pg_stat_activity WHERE backend_type = 'profstore compaction' AND wait_event_type = 'Lock');
my ($pid, $told) = ('', '');
for my $round (1 .. 20)
{
	$node->poll_query_until('postgres', "SELECT count(*) = 1 $worker") or die 'no worker waits in retention';
	$pid = $node->safe_psql('postgres', "SELECT pid $worker AND pg_log_backend_memory_contexts(pid)");
	for (my $i = 0; $pid ne '' && $told eq '' && $i < 50; $i++)
	{
		$told = join "\n", grep /\[$pid\]/, split /\n/, slurp_file($node->logfile, $offset);
		$told = '' unless $told =~ /Grand total: / && $told =~ /_vm": Is a directory/;
		usleep(100_000) if $told eq '';
	}
	last if $told ne '';
	$node->safe_psql('postgres', q(INSERT INTO profstore.samples VALUES ('2026-01-01Z', 1, 1, 1))) for 1 .. 2;
}
like($told, qr/_vm": Is a directory/, 'the VACUUM of a worker has failed');
like($told, qr/level: \d; TopTransactionContext/, 'which tells of its memory');
unlike($told, qr/profstore vacuum/, 'of which the VACUUM holds none');
$idle->query_safe('COMMIT');
$idle->quit;
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM profstore.samples'), 'the worker has gone on');
rmdir "${file}_vm" or die;
$node->stop;
done_testing();
