# Helpers for servers whose processes are killed.
#
# If psql finds no server, it may end before it has read its statements. Writing to it then dies in IPC::Run, and a
# child process that dies stops the node as it exits. So statements to a server that may be down go through try_psql().
package Crashes;
use strict;
use warnings;
use Exporter qw(import);
use PostgreSQL::Test::Utils ();
use Time::HiRes qw(sleep time);

our @EXPORT = qw(try_psql kill_process wait_for_server);

# Like psql() of a node, but returns 2 if the server cannot be reached.
sub try_psql
{
	my ($node, @call) = @_;
	return eval { $node->psql(@call) } // 2;
}

# Kills a process of a server and waits until its postmaster has noticed. Returns 1, or 0 if the process had ended before.
sub kill_process
{
	my ($pid) = @_;
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;
	kill('KILL', $pid) or return 0;
	sleep(0.01) while kill(0, $pid) && time() < $deadline;
	return 1;
}

# Returns whether the server answers before a timeout.
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
