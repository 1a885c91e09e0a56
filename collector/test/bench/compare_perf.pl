#!/usr/bin/perl
# Shares of functions in two profiles of the same time: ours and that of perf record --call-graph dwarf. Exits 1 where they disagree.
#
#	compare_perf.pl STACKS PERF
#
# STACKS: lines "SAMPLES COMM NAME;NAME;...", leaf first. PERF: what "perf script -F comm,pid,tid,ip,sym" prints, without inlined calls.
#
# Shares are of all samples. Those with callees are of the functions in programs that perf can unwind: where nine of ten of
# its stacks reach a root and there are 20 of them; it gives up on others for want of stack, or of tables that it can read. Only functions that both sides have
# by name are compared: one address may have several names, and each side has its own choice. Of each kind the 20 with the largest share are.
use strict;
use warnings;

my $most = 3;    # points that shares may differ by
my $root = qr/^(_start|__?clone3?|start_thread|thread_start|_dl_start_user|_dl_start|__libc_start_.*|ret_from_fork(_asm)?|runtime\.(goexit|mstart|rt0_go|mcall|morestack).*)$/;
my ($stacks_file, $perf_file) = @ARGV or die "usage: compare_perf.pl STACKS PERF\n";

# f.cold and f.part.0 are f; a version is no part of the name
sub plain
{
	my ($name) = @_;
	$name =~ s/@.*//;
	$name =~ s/\.(cold|part|constprop|isra|lto_priv|llvm)\b.*//;
	return $name;
}

sub add
{
	my ($side, $comm, $count, @names) = @_;
	return if $comm =~ /^(swapper|perf)/;
	my %seen = map { $_ => 1 } @names;
	my @outermost = @names > 2 ? @names[ -2, -1 ] : @names;
	$side->{samples} += $count;
	$side->{self}{ $names[0] // '' } += $count;
	$side->{of}{$comm}{samples} += $count;
	# a stripped program's _start has no name
	$side->{of}{$comm}{whole} += $count if grep { /$root/ } @outermost;
	$side->{of}{$comm}{total}{$_} += $count for keys %seen;
}

my (%ours, %perf, %comm_of);
open(my $in, '<', $stacks_file) or die "could not open $stacks_file: $!\n";
while (<$in>)
{
	chomp;
	my ($count, $comm, $stack) = split /\t/;
	add(\%ours, $comm, $count, map { plain($_) } split /;/, $stack);
}
close $in;

# a thread goes by its process, as far as that was seen
my @samples;
open($in, '<', $perf_file) or die "could not open $perf_file: $!\n";
{
	local $/ = '';
	while (<$in>)
	{
		my ($head, @lines) = split /\n/;
		my ($comm, $pid, $tid) = $head =~ m{^\s*(.*?)\s+(\d+)/(\d+)} or next;
		$comm_of{$pid} = $comm if $pid == $tid;
		push @samples, [ $pid, $comm, map { /^\s*[0-9a-f]+ (.+)/ ? plain($1) : '[unknown]' } @lines ];
	}
}
close $in;
for (@samples)
{
	my ($pid, $comm, @names) = @$_;
	add(\%perf, $pid ? $comm_of{$pid} // $comm : 'swapper', 1, @names);
}
die "perf has no samples\n" unless $perf{samples};
die "there are no stacks\n" unless $ours{samples};

my @comparable = grep
{
	my ($o, $p) = ($ours{of}{$_}, $perf{of}{$_});
	$p && $o && $p->{samples} >= 20 && ($p->{whole} // 0) >= 0.9 * $p->{samples};
} keys %{ $ours{of} };

# { name => count } over the programs that can be compared.
sub totals
{
	my ($side) = @_;
	my %total;
	for my $comm (@comparable)
	{
		$total{$_} += $side->{of}{$comm}{total}{$_} for keys %{ $side->{of}{$comm}{total} };
	}
	return \%total;
}

my $failed = 0;

sub compare
{
	my ($title, $our_samples, $our_counts, $perf_samples, $perf_counts) = @_;
	my ($worst, $worst_name, @one_sided) = (-1, '');
	my @names = sort { $our_counts->{$b} + $perf_counts->{$b} <=> $our_counts->{$a} + $perf_counts->{$a} || $a cmp $b }
	  grep { defined $perf_counts->{$_} && !/^(\[|[0-9a-f]+$)/ } keys %$our_counts;
	$#names = 19 if @names > 20;
	printf("  %s\n    %-56s %9s %9s\n", $title, '', 'profstore', 'perf');
	for my $name (@names)
	{
		my ($mine, $its) = (100 * $our_counts->{$name} / $our_samples, 100 * $perf_counts->{$name} / $perf_samples);
		($worst, $worst_name) = (abs($mine - $its), $name) if abs($mine - $its) > $worst;
		printf("    %-56.56s %7.2f %% %7.2f %%\n", $name, $mine, $its);
	}
	printf("    %s: greatest difference %.2f points of %d (%s), %d functions\n",
		@names >= 20 && $worst <= $most ? 'ok' : 'NOT OK', $worst, $most, $worst_name, scalar @names);
	$failed ||= @names < 20 || $worst > $most;
	@one_sided = grep { !defined $perf_counts->{$_} && $our_counts->{$_} > 0.01 * $our_samples && !/^\[/ } keys %$our_counts;
	printf("    of 1 %% and more here, not in perf's: %s\n", join(', ', sort @one_sided)) if @one_sided;
	@one_sided = grep { !defined $our_counts->{$_} && $perf_counts->{$_} > 0.01 * $perf_samples && !/^\[/ } keys %$perf_counts;
	printf("    of 1 %% and more in perf's, not here: %s\n", join(', ', sort @one_sided)) if @one_sided;
}

printf("  samples: %d, of perf %d\n", $ours{samples}, $perf{samples});
compare('self, of all samples', $ours{samples}, $ours{self}, $perf{samples}, $perf{self});
compare("with callees, of @{[join(', ', sort @comparable)]}", $ours{samples}, totals(\%ours), $perf{samples}, totals(\%perf));
exit $failed;
