# Servers whose processes are killed.
#
# psql that finds no server may end before it has read its statements; writing them to it then dies in IPC::Run, and a
# child that dies stops the node on its way out. So statements to a server that may be away go through try_psql().
package Crashes;
use strict;
use warnings;
use Exporter qw(import);
use PostgreSQL::Test::Utils ();
use Time::HiRes qw(sleep time);

our @EXPORT = qw(try_psql kill_process wait_for_server);

# As psql() of a node; 2 where the server is not there.
sub try_psql
{
	my ($node, @call) = @_;
	return eval { $node->psql(@call) } // 2;
}

# Kills a process of a server and waits until its postmaster knows; 1, or 0 where it had ended.
sub kill_process
{
	my ($pid) = @_;
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;
	kill('KILL', $pid) or return 0;
	sleep(0.01) while kill(0, $pid) && time() < $deadline;
	return 1;
}

# Whether the server answers, in the end.
sub wait_for_server
{
	my ($node) = @_;
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;
	until (try_psql($node, 'postgres', 'SELECT true', stdout => \my $output, stderr => \my $errors) == 0)
	{
		return 0 if time() > $deadline;
		sleep(0.1);
	}
	return 1;
}

1;
