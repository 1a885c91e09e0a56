# Runs a program with a root directory and the capabilities of a container: confine.pl ROOT CAPABILITY,... PROGRAM [ARGUMENT ...]
#
# Leaves only the named capabilities in the bounding set and sets no_new_privs. Names are those of Kubernetes. CONFINE_USER is the
# program's user and group, by default root.
use strict;
use warnings;

use POSIX ();

my ($PR_CAPBSET_DROP, $PR_SET_NO_NEW_PRIVS) = (24, 38);
my $SYS_prctl = (POSIX::uname())[4] eq 'aarch64' ? 167 : 157;    # x86-64's
my ($root, $names, @command) = @ARGV;
my %number;
open my $header, '<', '/usr/include/linux/capability.h' or die "capability.h: $!\n";
while (<$header>)
{
	$number{$1} = $2 if /^#define CAP_(\w+)\s+(\d+)$/;
}
my %kept = map { ($number{$_} // die "no capability is named $_\n") => 1 } split /,/, $names;

chroot $root or die "chroot: $!\n";
chdir '/' or die "chdir: $!\n";
for my $capability (0 .. 63)
{
	next if $kept{$capability};
	# EINVAL: the kernel has no such capability
	syscall($SYS_prctl, $PR_CAPBSET_DROP, $capability, 0, 0, 0) == 0 or $!{EINVAL} or die "prctl: $!\n";
}
syscall($SYS_prctl, $PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 or die "prctl: $!\n";
if (my $user = $ENV{CONFINE_USER})
{
	$( = $) = "$user $user";
	$< = $> = $user;
	die "could not become user $user\n" if $< != $user || $> != $user || $( != $user;
}
exec @command or die "$command[0]: $!\n";
