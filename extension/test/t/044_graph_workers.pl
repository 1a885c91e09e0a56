# Several processes read a series graph under a focus, or the periods of regressions(): parallel workers are started and take part, with rows that wait, for a role
# that may only read, and on a standby. A cancel or a worker's death causes an error, and the session or the server continues.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Crashes;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('graph');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "autovacuum = off\nrestart_after_crash = on\nmin_parallel_table_scan_size = 0\nmax_parallel_workers_per_gather = 2\n");
$node->start;
sub sql { my ($statements) = @_; return $node->safe_psql('postgres', $statements); }

sql('CREATE EXTENSION profstore');
sql(q(
	SELECT profstore.ensure_partitions('2026-01-01', '2026-01-02');
	CREATE TABLE lists AS
	SELECT array_agg(format('f%s_%s', n % 10, n) ORDER BY n) AS names, array_agg(''::text) AS files, array_agg(0) AS zeros, array_agg(1) AS ones
	FROM generate_series(1, 100) AS n;
	CREATE TABLE functions AS SELECT profstore.intern_functions(names, names, files, zeros) AS ids FROM lists;
	CREATE TABLE locations AS SELECT profstore.intern_locations(zeros, zeros::int8[], ones, ids, zeros) AS ids FROM lists, functions;
	CREATE TABLE known AS
	SELECT s.* FROM lists, locations, unnest(profstore.intern_stacks('exe', ones, ids)) WITH ORDINALITY AS s(stack_id, n);
	CREATE TABLE given AS
	SELECT timestamptz '2026-01-01Z' + w * interval '1 s' AS "time", s AS series_id, stack_id, (w % 7 + 1)::int8 AS value, n
	FROM unnest(profstore.intern_series(ARRAY['cpu:samples:count:cpu:nanoseconds:delta', 'cpu:samples:count:cpu:nanoseconds:delta'],
		ARRAY['{"n": "1"}'::jsonb, '{"n": "2"}'], '{0, 0}')) AS s, generate_series(0, 999) AS w, known;
	INSERT INTO profstore.samples SELECT "time", series_id, stack_id, value FROM given;
	SELECT profstore.touch_series(array_agg(id), '2026-01-01', '2026-01-02') FROM profstore.series;
	SELECT profstore.compact();
	CREATE ROLE reader LOGIN;
	SELECT profstore.grant_read('reader')));

# values are counts, in windows of a second
my $graph = q(SELECT count(*), sum(value * 10)::int8 FROM profstore.timeseries('cpu', '2026-01-01Z', '2026-01-01 01:00Z', '10 s', focus => 'f[37]_'));
my $expected = sql(q(SELECT count(DISTINCT date_bin('10 s', "time", '2026-01-01')), sum(value) FROM given WHERE n % 10 IN (3, 7)));
my $alone = 'SET max_parallel_workers_per_gather = 0';
my $workers_only = 'SET parallel_leader_participation = off';
is(sql("$alone; $graph"), $expected, 'one process gives what was stored');
is(sql($graph), $expected, 'so do three');
is(sql("$workers_only; $graph"), $expected, 'and workers without the leader');

# sums in buckets from an origin: the times and values, not only their number
my $sums = q(SELECT string_agg(time || ' ' || value, E'\n' ORDER BY time) FROM profstore.timeseries('cpu', '2026-01-01 00:00:05Z', '2026-01-01 01:00Z', '17 s',
	focus => 'f[37]_', absolute => true, origin => '2026-01-02 00:00:03Z'));
my $stored_sums = sql(q(SELECT string_agg(time || ' ' || value, E'\n' ORDER BY time) FROM (SELECT date_bin('17 s', "time", '2026-01-02 00:00:03Z') AS time,
	sum(value) AS value FROM given WHERE n % 10 IN (3, 7) AND "time" >= '2026-01-01 00:00:05Z' GROUP BY 1) s));
is(sql("$alone; $sums"), $stored_sums, 'one process gives the sums from an origin');
is(sql("$workers_only; $sums"), $stored_sums, 'so do workers');

my ($status, $rows, $told) = $node->psql('postgres', "SET client_min_messages = debug1; $workers_only; $graph");
like($told, qr/DEBUG:.*2 workers add up samples/, 'two workers were started');
($status, $rows, $told) = $node->psql('postgres', "SET client_min_messages = debug1; $alone; $graph");
unlike($told, qr/workers add up/, 'where none are allowed, none');

# statistics include the reads of workers
my $read = q(SELECT blocks_read FROM profstore.last_scan());
my $blocks = (split /\n/, sql("$alone; $graph; $read"))[-1];
cmp_ok($blocks, '>', 50, 'so many blocks are read');
is((split /\n/, sql("$workers_only; $graph; $read"))[-1], $blocks, 'workers tell of the same');

# rows of this transaction, in a table to which other sessions have added rows
is((split /\n/, sql("BEGIN; INSERT INTO profstore.samples SELECT \"time\", series_id, stack_id, value FROM given; $workers_only; $graph; ROLLBACK"))[-1],
	join('|', (split /\|/, $expected)[0], 2 * (split /\|/, $expected)[1]), 'workers have the rows that wait');
is($node->safe_psql('postgres', "$workers_only; $graph", extra_params => [ '-U', 'reader' ]), $expected, 'a role that may only read has workers');

# so do regressions() and its basis: workers scan periods as a whole
my $basis = q(SELECT samples_before, samples_after FROM profstore.regressions_basis('cpu', at => '2026-01-01 00:10Z', time_after => '1 minute', host => 'n'));
my $periods = sql(q(SELECT sum(value) FILTER (WHERE "time" < '2026-01-01 00:10Z'), sum(value) FILTER (WHERE "time" >= '2026-01-01 00:15Z' AND "time" < '2026-01-01 00:16Z') FROM given));
is(sql("$alone; $basis"), $periods, 'regressions(): one process gives what was stored');
is(sql($basis), $periods, 'so do three');
($status, $rows, $told) = $node->psql('postgres', "SET client_min_messages = debug1; $workers_only; $basis");
is($rows, $periods, 'and workers without the leader');
like($told, qr/DEBUG:.*2 workers add up samples of functions/, 'two workers were started');
is(sql("SET max_parallel_workers = 0; $workers_only; $basis"), $periods, 'the leader scans if no worker can be started');
is((split /\n/, sql("BEGIN; INSERT INTO profstore.samples SELECT \"time\", series_id, stack_id, value FROM given; $workers_only; $basis; ROLLBACK"))[-1],
	join('|', map { 2 * $_ } split /\|/, $periods), 'workers have the rows that wait');
is($node->safe_psql('postgres', "$workers_only; $basis", extra_params => [ '-U', 'reader' ]), $periods, 'a role that may only read has workers');
$blocks = (split /\n/, sql("$alone; $basis; $read"))[-1];
cmp_ok($blocks, '>', 0, 'so many blocks are read');
is((split /\n/, sql("$workers_only; $basis; $read"))[-1], $blocks, 'workers tell of the same');

# an invalid expression is reported by the leader; a cancel ends all processes
my ($wrong) = $graph =~ s/f\[37\]_/(/r;
($status, $rows, $told) = $node->psql('postgres', $wrong);
like($told, qr/ERROR:  invalid focus: invalid regular expression/, 'a wrong expression is an error of its own');
my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
my $endless = "SELECT count(*) FROM generate_series(1, 100000) AS g, LATERAL (SELECT sum(value + g * 0) FROM profstore.timeseries('cpu', '2026-01-01Z', '2026-01-01 01:00Z'::timestamptz + g * interval '1 us', '10 s', focus => 'f3')) AS t";
my $workers = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'";
$session->query_until(qr/called/, "\\echo called\n$endless;\n");
ok($node->poll_query_until('postgres', "SELECT ($workers) > 0"), 'workers are at it');
sql("SELECT pg_cancel_backend($pid)");
ok($node->poll_query_until('postgres', "SELECT ($workers) = 0"), 'a cancel ends them');
is($session->query($graph), $expected, 'the session goes on');
$session->query_until(qr/again/, "\\echo again\n$endless;\n");
my $killed = 0;
for my $try (1 .. 1000)
{
	my $worker = sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' LIMIT 1");
	last if $worker ne '' && ($killed = kill_process($worker));
}
ok($killed, 'a worker is killed');
ok(wait_for_server($node), 'the server comes back');
eval { $session->quit };
is(sql($graph), $expected, 'with what was stored');

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('graph_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', "$workers_only; $graph"), $expected, 'on a standby');
is($standby->safe_psql('postgres', "$workers_only; $basis"), $periods, 'regressions() on a standby');
$standby->stop;
$node->stop;
done_testing();
