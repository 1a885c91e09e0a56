# Queries whose answers must not change when samples are spread over several servers, and the samples for them.
package Shards;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
our @EXPORT_OK = qw(store_samples answers differences citus_servers double_servers outcome);

my $cpu = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta';
my $memory = 'memory:inuse_space:bytes:space:bytes';
my $range = "'2026-01-01', '2026-01-04'";
my $halves = "'2026-01-01', '2026-01-02 12:00', '2026-01-02 12:00', '2026-01-04'";

# Stores 40 series of two types over three days, with positive and negative values, some of whose sums exceed bigint, an empty scrape,
# series that two writers have stored, and a trace. With tier => 1 the first day is summed up by the minute.
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

# Simulates Citus: a coordinator with a catalog that lists its tables as distributed, and two nodes with two shards each. The coordinator calls
# node_rows() on the nodes through dblink instead of the planner of Citus, and so does its master_run_on_worker(). Its statements and those of
# the nodes are those that Citus runs; citus/ tests them with Citus itself. Table active_transactions has the rows that
# get_all_active_transactions() returns, and table asked_under the locks on samples during a call of the nodes. A DROP does not reach the nodes. Also returns the answers that
# the coordinator gave while it had the samples itself.
sub double_servers
{
	my $coordinator = PostgreSQL::Test::Cluster->new('coordinator');
	my @nodes = map { PostgreSQL::Test::Cluster->new("node$_") } 1, 2;
	for my $node ($coordinator, @nodes)
	{
		$node->init;
		$node->append_conf('postgresql.conf', "max_prepared_transactions = 4\nautovacuum = off");
		$node->start;
		$node->safe_psql('postgres', 'CREATE EXTENSION profstore; CREATE EXTENSION dblink');
	}
	store_samples($coordinator, 'postgres', tier => 1);
	my $expected = answers($coordinator, 'postgres');

	# keys are numbers whose hash lies in the shard, as distribute() chooses them
	my $connection = sub { my ($node) = @_; return sprintf('host=%s port=%s dbname=postgres', $node->host, $node->port); };
	my @ranges = ([-2147483648, -1073741825], [-1073741824, -1], [0, 1073741823], [1073741824, 2147483647]);
	my @places;
	for my $shard (0 .. 3)
	{
		my ($low, $high) = @{ $ranges[$shard] };
		my $node = $nodes[$shard % 2];
		for my $table ('samples', 'samples_minute', 'samples_hour')
		{
			my @parts = split(/\n/, $coordinator->safe_psql('postgres',
				"SELECT c.relname || ' ' || pg_get_expr(c.relpartbound, 0) FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = 'profstore.$table'::regclass"));
			$node->safe_psql('postgres', join(';', "CREATE TABLE profstore.${table}_$shard (LIKE profstore.$table) PARTITION BY RANGE (time)",
				(map { my ($name, $bound) = split(/ /, $_, 2); "CREATE TABLE profstore.${name}_$shard PARTITION OF profstore.${table}_$shard $bound USING profstore" } @parts),
				sprintf("INSERT INTO profstore.${table}_$shard SELECT * FROM dblink('%s', 'SELECT * FROM profstore.$table WHERE hashint4(series_id) BETWEEN $low AND $high') "
					. "AS t (time timestamptz, series_id int4, stack_id int8, value int8)", $connection->($coordinator)),
				"SELECT profstore.compact('profstore.${table}_$shard')"));
		}
		my $key = $coordinator->safe_psql('postgres', "SELECT min(i) FROM generate_series(1, 1000) AS i WHERE hashint4(i) BETWEEN $low AND $high");
		push(@places, sprintf("(%d, %d, %d, %d, '%s', %d)", $key, $low, $high, $shard % 2, $connection->($node), $shard));
	}
	my $places = join(', ', @places);
	$coordinator->safe_psql('postgres', qq(
		TRUNCATE profstore.samples, profstore.samples_minute, profstore.samples_hour;
		CREATE TABLE places (key, low, high, node, connection, shard) AS VALUES $places;
		CREATE TABLE active_transactions (process_id int4, transaction_number int8);
		CREATE TABLE asked_under (mode text);
		INSERT INTO profstore.shard_keys SELECT key FROM places;
		CREATE OR REPLACE FUNCTION profstore_internal.shards(parts regclass[] DEFAULT '{profstore.samples,profstore.samples_minute,profstore.samples_hour}')
			RETURNS TABLE (key int4, low int4, high int4, node int4, host text, port int4, tables text[])
			LANGUAGE sql STABLE AS 'SELECT p.key, p.low, p.high, p.node, p.connection, 0, ARRAY(SELECT t || ''_'' || p.shard FROM unnest(parts::text[]) AS t) FROM public.places AS p';
		CREATE OR REPLACE FUNCTION profstore_internal.node_rows(key int4, request bytea, keys int4[], samples text[], minutes text[], hours text[]) RETURNS SETOF bytea
			LANGUAGE sql STABLE AS \$\$
			SELECT d.block FROM public.dblink((SELECT p.connection FROM public.places AS p WHERE p.key = node_rows.key),
				format('SELECT profstore_internal.node_rows(%L, %L, %L, %L, %L, %L)', key, request, keys, samples, minutes, hours)) AS d (block bytea)\$\$;
		CREATE OR REPLACE FUNCTION profstore_internal.lock_shard(build text, key int4, keys int4[], parents text[], parts text[], tables text[]) RETURNS void
			LANGUAGE sql AS \$\$
			INSERT INTO public.asked_under SELECT l.mode FROM pg_locks AS l WHERE l.pid = pg_backend_pid() AND l.relation = 'profstore.samples'::regclass;
			SELECT FROM public.dblink((SELECT p.connection FROM public.places AS p WHERE p.key = lock_shard.key),
				format('SELECT profstore_internal.lock_shard(%L, %L, %L, %L, %L, %L)', build, key, keys, parents, parts, tables)) AS d (nothing text)\$\$;
		SET allow_system_table_mods = on;
		CREATE FUNCTION pg_catalog.get_all_active_transactions() RETURNS SETOF public.active_transactions LANGUAGE sql AS 'SELECT * FROM public.active_transactions';
		CREATE FUNCTION pg_catalog.master_run_on_worker(hosts text[], ports int4[], commands text[], parallel bool)
			RETURNS TABLE (node_name text, node_port int4, success bool, result text) LANGUAGE plpgsql AS \$\$
		BEGIN
			INSERT INTO public.asked_under SELECT l.mode FROM pg_locks AS l WHERE l.pid = pg_backend_pid() AND l.relation = 'profstore.samples'::regclass;
			FOR i IN 1 .. cardinality(hosts) LOOP
				node_name := format('node%s', (SELECT DISTINCT p.node + 1 FROM public.places AS p WHERE p.connection = hosts[i]));
				node_port := ports[i];
				BEGIN
					SELECT true, d.answer INTO success, result FROM public.dblink(hosts[i], commands[i]) AS d (answer text);
				EXCEPTION WHEN sqlclient_unable_to_establish_sqlconnection THEN
					success := false;
					result := 'connection failed';
				WHEN OTHERS THEN
					success := false;
					result := 'ERROR:  ' || SQLERRM;
				END;
				RETURN NEXT;
			END LOOP;
		END \$\$;
		CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char");
		INSERT INTO pg_catalog.pg_dist_partition SELECT r, 'h' FROM (VALUES ('profstore.shard_keys'::regclass)) AS t (r)
		UNION ALL SELECT p.relid, 'h' FROM unnest('{profstore.samples,profstore.samples_minute,profstore.samples_hour}'::regclass[]) AS t (r), pg_partition_tree(t.r) AS p));
	return ($expected, $coordinator, @nodes);
}

# A coordinator of Citus and two workers that are not registered yet, and a single server for comparison.
sub citus_servers
{
	my @servers = map {
		my $node = PostgreSQL::Test::Cluster->new($_);
		$node->init(extra => [ '--encoding=UTF8', '--locale=C.UTF-8' ]);
		$node->append_conf('postgresql.conf', join("\n", "shared_preload_libraries = 'citus'", 'max_prepared_transactions = 110', 'autovacuum = off', 'max_worker_processes = 32',
			"citus.node_conninfo = 'sslmode=disable'"));
		$node->start;
		$node->safe_psql('postgres', 'CREATE EXTENSION citus');
		$node
	} 'coordinator', 'worker1', 'worker2';
	my $single = PostgreSQL::Test::Cluster->new('single');
	$single->init;
	$single->append_conf('postgresql.conf', 'autovacuum = off');
	$single->start;
	$single->safe_psql('postgres', 'CREATE EXTENSION profstore');
	$servers[0]->safe_psql('postgres', 'CREATE EXTENSION profstore');
	return ($single, @servers);
}

# Returns the output and the errors of a statement on a server.
sub outcome
{
	my ($node, $sql) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "SET timezone = 'UTC'; \\set VERBOSITY terse\n$sql");
	return "$out|$err";
}

# Returns the number of rows and the md5 of each call with its NOTICEs, or its error.
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

# Returns the calls whose answers differ.
sub differences
{
	my ($one, $other) = @_;
	return join("\n", map { "$_: $one->{$_} <> $other->{$_}" } grep { $one->{$_} ne $other->{$_} } sort keys %$one);
}

1;
