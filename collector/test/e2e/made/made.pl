# made.pl SECONDS: makes subroutines, calls them, and drops them, so that later ones take their place in memory.
#
# While a subroutine runs, the thread has its name. Prints how many there were.
use strict;
use warnings;

open my $thread_name, '>:unix', '/proc/self/comm' or die;
my $made = 0;
while ((times)[0] < $ARGV[0]) {
	my $name = ++$made % 41;
	eval "
		sub made_${name}_outer { my \$value = made_${name}_inner(\@_); return \$value }
		sub made_${name}_inner {
			my (\$rounds, \$value) = (\@_, 1);
			\$value = (\$value * 1664525 + 1013904223) & 0xFFFFFFF for 1 .. \$rounds;
			return \$value;
		}
		1" or die;
	no strict 'refs';
	syswrite $thread_name, "made_$name";
	&{"made_${name}_outer"}((5000, 20000, 100000, 400000)[$made % 4]);
	syswrite $thread_name, 'none';
	undef &{"made_${name}_$_"}, delete $main::{"made_${name}_$_"} for 'outer', 'inner';
}
print "$made\n";
