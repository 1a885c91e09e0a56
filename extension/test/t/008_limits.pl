# The maximum number of segments of one transaction: the last segment that fits is stored, and the next one is a clear error.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $most = 65_536;

my $node = PostgreSQL::Test::Cluster->new('limits');
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\nlog_statement = none\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION profstore');

# a COPY into a new table ends with one segment
my $row = PostgreSQL::Test::Utils::tempdir() . '/row';
append_to_file($row, "1\n");
my $copies = "COPY t FROM '$row';\n" x $most;
my $script = PostgreSQL::Test::Utils::tempdir() . '/script';

for my $case ([ 'stored', '', 0, qr/^$/ ], [ 'refused', "COPY t FROM '$row';\n", 3, qr/ERROR:  54000: a transaction cannot write more than $most segments/ ])
{
	my ($what, $more, $status, $message) = @$case;
	open my $handle, '>', $script or die "$script: $!";
	print $handle "\\set VERBOSITY verbose\nBEGIN; CREATE TABLE t (a int4) USING profstore;\n$copies${more}COMMIT;\n";
	close $handle;
	my ($out, $err);
	IPC::Run::run([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', $script ], '>', \$out, '2>', \$err);
	is($? >> 8, $status, "$what: the status");
	like($err, $message, "$what: the message");
	next if $status != 0;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), $most, "$what: the rows");
	$node->safe_psql('postgres', q(SELECT profstore.compact('t')));
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), $most, "$what: the rows, merged");
	$node->safe_psql('postgres', 'DROP TABLE t');
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM profstore.segments'), '0', 'nothing is left');
$node->stop;
done_testing();
