# Queries whose answers must be the same before and after samples are spread over several servers, and the samples that they read.
package Shards;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
our @EXPORT_OK = qw(store_samples answers differences citus_servers outcome);

my $cpu = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta';
my $memory = 'memory:inuse_space:bytes:space:bytes';
my $range = "'2026-01-01', '2026-01-04'";
my $halves = "'2026-01-01', '2026-01-02 12:00', '2026-01-02 12:00', '2026-01-04'";

# Stores 40 series of two types over three days, with values of both signs and some that leave int8 when they are added up, an empty scrape,
# series that two writers have stored, and a trace. With tier => 1 the first day becomes sums by the minute.
sub store_samples
{
	my ($node, $database, %options) = @_;
	my $move = $options{tier} ? q(SELECT profstore_internal.move_to_tier('profstore.samples_20260101', 'minute');) : '';
	$node->safe_psql($database, q(
		SET timezone = 'UTC';
		SELECT profstore.ensure_partitions('2026-01-01', '2026-01-04');
		DO $$
		DECLARE
			n int := 60;
			names text[] := ARRAY(SELECT 'f' || i FROM generate_series(1, n) AS i);
			functions int[] := profstore.intern_functions(names, names, array_fill('f.c'::text, ARRAY[n]), array_fill(1, ARRAY[n]));
			locations int[] := profstore.intern_locations(array_fill(0, ARRAY[n]), array_fill(0::int8, ARRAY[n]),
				array_fill(1, ARRAY[n]), functions, array_fill(0, ARRAY[n]));
			stacks int8[] := profstore.intern_stacks('exe', ARRAY(SELECT 1 + k % 10 FROM generate_series(1, 400) AS k),
				ARRAY(SELECT locations[1 + (k * d * 7) % n] FROM generate_series(1, 400) AS k, generate_series(1, 1 + k % 10) AS d ORDER BY k, d));
			cpu int[] := profstore.intern_series(array_fill('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta'::text, ARRAY[30]),
				ARRAY(SELECT jsonb_build_object('node', 'n' || i / 5, 'service', 's' || i % 5) FROM generate_series(0, 29) AS i), array_fill(0::int8, ARRAY[30]));
			memory int[] := profstore.intern_series(array_fill('memory:inuse_space:bytes:space:bytes'::text, ARRAY[10]),
				ARRAY(SELECT jsonb_build_object('node', 'n' || i) FROM generate_series(0, 9) AS i), array_fill(0::int8, ARRAY[10]));
		BEGIN
			INSERT INTO profstore.samples
			SELECT d::timestamptz + m * interval '10 s', cpu[1 + s], stacks[1 + (m * 13 + s * 5 + i * i) % 400], m * i - 40
			FROM unnest('{2026-01-01 01:00,2026-01-02 02:00,2026-01-03 03:00}'::text[]) AS d, generate_series(0, 119) AS m, generate_series(0, 29) AS s,
				generate_series(1, 4) AS i;
			INSERT INTO profstore.samples
			SELECT d::timestamptz + m * interval '1 min', memory[1 + s], CASE WHEN m = 7 THEN 0 ELSE stacks[1 + (m * 31 + s + i) % 400] END,
				CASE WHEN m = 7 THEN 0 ELSE m * 1000 + i END
			FROM unnest('{2026-01-01 01:00,2026-01-02 02:00,2026-01-03 03:00}'::text[]) AS d, generate_series(0, 29) AS m, generate_series(0, 9) AS s,
				generate_series(1, 20) AS i;
			-- sums beyond int8
			INSERT INTO profstore.samples SELECT '2026-01-03 05:00', cpu[1 + s], stacks[1], 9000000000000000000 FROM generate_series(0, 5) AS s;
			INSERT INTO profstore.samples SELECT '2026-01-03 05:00', cpu[1 + s], stacks[1], -9000000000000000000 FROM generate_series(6, 10) AS s;
			INSERT INTO profstore.series (profile_type, labels, period) SELECT s.profile_type, s.labels, s.period FROM profstore.series AS s WHERE s.id = cpu[3];
			INSERT INTO profstore.samples
			SELECT '2026-01-02 02:00:10', s.id, stacks[9], 17 FROM profstore.series AS s WHERE s.id = (SELECT max(id) FROM profstore.series);
			PERFORM profstore.keep_traces('{2026-01-02 02:00}', cpu[1:1], stacks[2:2], '{5}', '{4bf92f35-77b3-4da6-a3ce-929d0e0e4736}',
				ARRAY[decode('00f067aa0ba902b7', 'hex')]);
		END
		$$;
		SELECT profstore.touch_series(ARRAY(SELECT id FROM profstore.series), '2026-01-01 01:00', '2026-01-03 05:00');
		SELECT profstore.compact();
		-- rows that no segment has merged with others yet
		INSERT INTO profstore.samples SELECT '2026-01-03 06:00', id, 0, id FROM profstore.series;
		) . $move . q(
		INSERT INTO profstore.samples SELECT '2026-01-01 09:00', id, 0, id FROM profstore.series));
}

my @calls = (
	(map {
		my $type = $_;
		("flamegraph('$type', $range)", "flamegraph('$type', $range, inverted => true)", "flamegraph('$type', $range, max_nodes => 40)",
		 "flamegraph('$type', $range, focus => 'f7')", "flamegraph('$type', $range, ignore => 'f1', show => 'f[1-3]')", "top('$type', $range)",
		 "top('$type', $range, focus => 'f33\$')", "top('$type', $range, focus => 'nothing')", "top_diff('$type', $halves)", "flamegraph_diff('$type', $halves)",
		 "flamegraph_diff('$type', $halves, absolute => true)", "callers('$type', $range, function => 'f5')", "callees('$type', $range, function => 'f5')",
		 "callgraph('$type', $range)", "folded('$type', $range)", "stacks_of('$type', $range)", "timeseries('$type', $range)",
		 "timeseries('$type', $range, step => '5 min', by => '{node}')", "timeseries('$type', $range, focus => 'f7')",
		 "timeseries('$type', $range, step => '1 hour', by => '{node}', ignore => 'f2')", "series('$type')", "label_values('node', '$type', $range)",
		 "filtered_share('$type', $range, focus => 'f7')", "stored_rows('$type', $range)") } $cpu, $memory),
	"top('$cpu\{node=\"n3\"}', $range)", "top('$cpu\{node=\"nobody\"}', $range)", "top('$cpu', '2026-01-01 01:03:20', '2026-01-03 03:10:01')",
	"top('$cpu', '-infinity', 'infinity')", "top('last_over_time($memory)', '2026-01-02', '2026-01-04')",
	"top('max_over_time($memory)', '2026-01-02', '2026-01-04')", "timeseries('max_over_time($memory)', '2026-01-02', '2026-01-04', focus => 'f7')",
	"heatmap('$cpu', '2026-01-02', '2026-01-04', '1 hour')", "heatmap('$cpu', '2026-01-02', '2026-01-04', '1 min', focus => 'f7')",
	"flamechart('$cpu\{node=\"n1\"}', '2026-01-02 02:00', '2026-01-02 02:02')",
	"top('$cpu', '2026-01-02', '2026-01-03', trace => '4bf92f35-77b3-4da6-a3ce-929d0e0e4736')", 'profile_types()',
	"pprof('$cpu', $range)", "flamegraph_json('$cpu', $range)", "speedscope('$cpu', $range)", "report_html('$cpu', '2026-01-02', '2026-01-03')",
	"regressions('$cpu', at => '2026-01-02 02:10', time_after => '10 min', base => '10 min')");

# A coordinator of Citus and two workers, which it does not know yet, and a single server beside them.
sub citus_servers
{
	my @servers = map {
		my $node = PostgreSQL::Test::Cluster->new($_);
		$node->init;
		$node->append_conf('postgresql.conf', join("\n", "shared_preload_libraries = 'citus'", 'max_prepared_transactions = 110',
			"citus.node_conninfo = 'sslmode=disable'"));
		$node->start;
		$node->safe_psql('postgres', 'CREATE EXTENSION citus');
		$node
	} 'coordinator', 'worker1', 'worker2';
	my $single = PostgreSQL::Test::Cluster->new('single');
	$single->init;
	$single->start;
	$single->safe_psql('postgres', 'CREATE EXTENSION profstore');
	$servers[0]->safe_psql('postgres', 'CREATE EXTENSION profstore');
	return ($single, @servers);
}

# The output and the errors of a statement on a server.
sub outcome
{
	my ($node, $sql) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "SET timezone = 'UTC'; \\set VERBOSITY terse\n$sql");
	return "$out|$err";
}

# The number of rows of each call and their md5, and its NOTICEs; or its error.
sub answers
{
	my ($node, $database, %options) = @_;
	my %answers;
	for my $call (@calls)
	{
		my ($status, $out, $err) = $node->psql($database,
			"SET timezone = 'UTC'; SET max_parallel_workers_per_gather = 0; "
			. "SELECT count(*), md5(string_agg(c::text, E'\\n' ORDER BY c::text COLLATE \"C\")) FROM profstore.$call AS c", %options);
		$answers{$call} = "$out$err";
	}
	return \%answers;
}

# Calls that were not answered alike.
sub differences
{
	my ($one, $other) = @_;
	return join("\n", map { "$_: $one->{$_} <> $other->{$_}" } grep { $one->{$_} ne $other->{$_} } sort keys %$one);
}

1;
