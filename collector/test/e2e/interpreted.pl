# interpreted.pl SECONDS: functions at known lines that share the CPU time 60 : 30 : 10, whatever calls them.
use strict;
no warnings 'recursion';

sub sixty {
	my $rounds = shift;
	my $value = 1;
	$value = ($value * 1664525 + 1013904223) & 0xFFFFFFF for 1 .. 6 * $rounds; # line 8
	return $value;
}

sub thirty {
	my $rounds = shift;
	my $value = 1;
	$value = ($value * 1664525 + 1013904223) & 0xFFFFFFF for 1 .. 3 * $rounds; # line 15
	return $value;
}

sub ten {
	my $rounds = shift;
	my $value = 1;
	$value = ($value * 1664525 + 1013904223) & 0xFFFFFFF for 1 .. $rounds; # line 22
	return $value;
}

sub deep {
	my ($depth, $work, $rounds) = @_;
	return $depth > 0 ? deep($depth - 1, $work, $rounds) : $work->($rounds);
}

sub all {
	my $rounds = 10000 + int rand 20000; # turns last longer than the sampler's period and differ, so that they do not keep in step with it
	deep(5, $_, $rounds) for \&sixty, \&thirty, \&ten;
	return 0;
}

package Caller;
use overload '+' => sub { # the machine's frames of an operator, and of an eval, stand between
	eval { main::all() };
	return 0;
};

package main;

my $caller = bless {}, 'Caller';
while ((times)[0] < $ARGV[0]) {
	my @sorted = sort { all() } 1, 2; # likewise, of a sort: it compares once
	my $sum = $caller + 1;
	eval 'all()';
}
for (1 .. 10) {
	deep(600, $_, 1000) for \&sixty, \&thirty, \&ten;
}
