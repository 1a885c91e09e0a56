# Several complete servers: functions that the README of views defines add up their answers by name, equal to one server with all samples.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Shards qw(store_samples outcome);

# The section of the README, and its SQL.
my $readme = slurp_file('views.README.md');
my ($recipe) = $readme =~ /## Several complete servers.*?```sql\n(.*?)```/s or die 'the README has no recipe';

my ($all, @parts) = map { PostgreSQL::Test::Cluster->new($_) } 'all', 'region_a', 'region_b';
for my $node ($all, @parts)
{
	$node->init;
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION profstore');
	store_samples($node, 'postgres');
}
# ids differ between the servers, so only names can match
$parts[1]->safe_psql('postgres', q(SELECT profstore.import_folded('other;names 0', '{"service": "other"}', '2026-01-01')));
$parts[$_]->safe_psql('postgres', "SELECT profstore.remove_samples('profstore.samples', 'series_id % 2 = $_')") for 0, 1;
my $cpu = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta';
my $memory = 'memory:inuse_space:bytes:space:bytes';

# a database without profstore merges their answers, as a reader
$all->safe_psql('postgres', 'CREATE DATABASE hub');
$all->safe_psql('hub', $recipe);
for my $node (@parts)
{
	$node->safe_psql('postgres', q(CREATE ROLE viewer LOGIN; SELECT profstore.grant_read('viewer')));
	$all->safe_psql('hub', sprintf(q(CREATE SERVER %s FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '%s', port '%s', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER %1$s OPTIONS (user 'viewer')), $node->name, $node->host, $node->port));
}
# Lines of numbers by their first column; each server rounds the averages of an instant type.
sub same_numbers
{
	my ($got, $expected, $most) = @_;
	my ($one, $other) = map { my %numbers; /^(.*?)\|([-\d|]+)$/ and $numbers{$1} = [ split(/\|/, $2) ] for split(/\n/, $_); \%numbers } $got, $expected;
	return 0 if join("\n", sort keys %$one) ne join("\n", sort keys %$other);
	for my $key (keys %$one)
	{
		return 0 if grep { abs($one->{$key}[$_] - $other->{$key}[$_]) > $most } 0 .. $#{ $one->{$key} };
	}
	return keys(%$one) > 50;
}
for my $case ([ $cpu, 0, 0 ], [ $memory, 2, 200 ])
{
	my ($type, $stack_error, $function_error) = @$case;
	my $range = "'$type', '2026-01-01', '2026-01-03 04:00'";
	my $one = $all->safe_psql('postgres', qq(SELECT stack, value FROM profstore.stacks_of($range)));
	my $sum = $all->safe_psql('hub', qq(SELECT stack, value FROM stacks_of_all('{region_a,region_b}', $range) WHERE value <> 0));
	ok(same_numbers($sum, $one, $stack_error), "stacks of $type") or diag("$one\n---\n$sum");
	$one = $all->safe_psql('postgres', qq(SELECT function, self, total FROM profstore.top($range, max_rows => NULL)));
	$sum = $all->safe_psql('hub', qq(SELECT function, self, total FROM top_of_all('{region_a,region_b}', $range) WHERE self <> 0 OR total <> 0));
	ok(same_numbers($sum, $one, $function_error), "hottest functions of $type") or diag("$one\n---\n$sum");
}

$parts[1]->stop('immediate');
my ($status, $out, $err) = $all->psql('hub', "SELECT count(*) FROM stacks_of_all('{region_a,region_b}', '$cpu', '2026-01-01', '2026-01-04')");
like($err, qr/could not establish connection/, 'a server that is away is an error');
cmp_ok($all->safe_psql('hub', "SELECT count(*) FROM stacks_of_all('{region_a}', '$cpu', '2026-01-01', '2026-01-04')"), '>', 0, 'the others answer without it');

done_testing();
