# The regression tests of the functions that query, unchanged, in databases whose samples profstore.distribute() has spread over two workers of
# Citus. A test of sql/ that is not run has its reason here.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Shards qw(citus_servers);

my $plain = 'it stores or checks samples by functions, joins or views of plain SQL, which Citus does not plan or warns of';
my $shells = 'it looks at segments, partitions, locks, counters or estimates, which are of the coordinator';
my $local = 'it is about tables that are not samples';
my $upkeep = 'it is about upkeep, which upkeep.pl tests';
my %others = (
	(map { $_ => $local } 'distributed', 'formats', 'help', 'hostile_path', 'publications', map { m{sql/(.*)\.sql} } glob('sql/columnar_*.sql')),
	(map { $_ => $plain } 'broken_samples', 'examples', 'flamechart', 'flight_recordings', 'heatmap', 'imports', 'merge', 'merged', 'over_time', 'pprof',
		'series_rollups', 'service_sums', 'summaries', 'traces', 'tree_growth',
		'windows', 'work_mem', 'work_mem_timeseries', 'work_mem_views'),
	(map { $_ => $shells } 'estimates', 'flamegraph', 'health', 'judged_samples', 'kept_chunks', 'partitions', 'regressions_data', 'short_forms'),
	(map { $_ => $upkeep } 'compact', 'remove_samples', 'retention', 'retention_dependents'),
	(map { $_ => 'its roles may not log in, as those that read or write distributed samples must' } 'privileges', 'source_files', 'tenants'),
	symbol_work => 'it binds a writer to a selector, which distributed samples refuse');
my (undef, @servers) = citus_servers();
my @nodes = map { sprintf("SELECT citus_add_node('%s', %d)", $_->host, $_->port) } @servers[ 1 .. 2 ];
my $coordinator = $servers[0];
$coordinator->safe_psql('postgres', 'CREATE ROLE postgres SUPERUSER LOGIN') if $coordinator->safe_psql('postgres', 'SELECT current_user') ne 'postgres';

# Runs a test in a database of its own.
sub run_topic
{
	my ($topic) = @_;
	my $output = "$ENV{TESTDATADIR}/topics/$topic";
	mkdir($_) for "$ENV{TESTDATADIR}/topics", $output;
	for my $server (reverse @servers)
	{
		$server->safe_psql('postgres', "CREATE DATABASE $topic");
		$server->safe_psql($topic, 'CREATE EXTENSION citus');
	}
	$coordinator->safe_psql($topic, join(';', sprintf("SELECT citus_set_coordinator_host('%s', %d)", $coordinator->host, $coordinator->port), @nodes,
		'CREATE EXTENSION profstore', 'CALL profstore.distribute()'));
	my $is_same = system($ENV{PG_REGRESS}, '--bindir=', '--inputdir=.', "--outputdir=$output", '--host=' . $coordinator->host, '--port=' . $coordinator->port,
		'--user=postgres', '--use-existing', "--dbname=$topic", '--launcher=./plain-psql', $topic) == 0;
	$_->safe_psql('postgres', "DROP DATABASE $topic WITH (FORCE)") for @servers;
	ok($is_same, $topic) or diag(-e "$output/regression.diffs" ? slurp_file("$output/regression.diffs") : 'it was not run');
}

my @wanted = split(/ /, $ENV{CITUS_TOPICS} // '');
for my $file (sort glob('sql/*.sql'))
{
	my ($topic) = $file =~ m{sql/(.*)\.sql};
	next if @wanted ? !grep { $_ eq $topic } @wanted : $others{$topic};
	run_topic($topic);
}
is(join(' ', grep { !-e "sql/$_.sql" } sort keys %others), '', 'every reason is that of a test');
note("not run: $_: $others{$_}") for sort keys %others;

done_testing();
