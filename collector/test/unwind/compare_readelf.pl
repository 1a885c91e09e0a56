#!/usr/bin/perl
# Holds the CFI compiler's table of an ELF file against readelf -wF, row by row.
#
#	compare_readelf.pl CFI_DUMP [--go] FILE...
#
# For every row that readelf interprets, the compiled rule at its address must say the same of CFA, frame pointer, rbx and
# return address; where readelf prints "exp" (it does not evaluate expressions) any expression of ours, or "not
# expressed", agrees. And every row of ours must start where some row of readelf's starts, or at the end of an FDE.
# Prints one line per file and exits 1 where anything differs.
#
# --go: the rules are those of Go's own table, which knows more than the .debug_frame that readelf reads: frame pointers, and some functions
# of the runtime that are roots, return from signals, leave the stack, or have frames too large for a rule. These are counted, and there may not be more than 200 rows of them.
use strict;
use warnings;

my $dump = shift or die "usage: compare_readelf.pl CFI_DUMP [--go] FILE...\n";
my $go = @ARGV && $ARGV[0] eq '--go' && shift;
my ($failed, $total_rows, $total_unexpressed, $runtime_rows, $start_rows) = (0, 0, 0, 0, 0);

sub read_ours
{
	my ($file) = @_;
	my (@addresses, @rules);
	open(my $out, '-|', "$dump '$file' 2>/dev/null") or die "could not run $dump: $!\n";
	while (<$out>)
	{
		chomp;
		my ($address, $rule) = split / /, $_, 2;
		push @addresses, hex $address;
		push @rules, $rule;
	}
	return close($out) ? (\@addresses, \@rules) : ();
}

# From where on an FDE's program calls the return address of AArch64 (x30) undefined: readelf's rows print the same "u" for that and for
# a register that was not mentioned yet.
sub read_undefined
{
	my ($file) = @_;
	my ($start, $location, %undefined);
	open(my $out, '-|', "readelf -wf '$file' 2>/dev/null") or die "could not run readelf: $!\n";
	while (<$out>)
	{
		if (/ FDE cie=[0-9a-f]+ pc=([0-9a-f]+)/) { $location = $start = hex $1 }
		elsif (/^  DW_CFA_advance_loc.* to ([0-9a-f]+)/) { $location = hex $1 }
		elsif (/DW_CFA_undefined: r30 /) { $undefined{$start} = $location }
	}
	close $out;
	return \%undefined;
}

# Rows of readelf, first FDE first; .eh_frame is printed before .debug_frame.
sub read_oracle
{
	my ($file) = @_;
	my (@rows, @columns, $fde, %cie_signal, $cie_offset);
	open(my $out, '-|', "readelf -wF '$file' 2>/dev/null") or die "could not run readelf: $!\n";
	while (<$out>)
	{
		if (/^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE "([^"]*)"/)
		{
			$cie_signal{ hex $1 } = index($2, 'S') >= 0;
			undef $fde;
		}
		elsif (/^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)/)
		{
			$fde = { start => hex $2, end => hex $3, signal => $cie_signal{ hex $1 }, rows => [] };
			push @rows, $fde if $fde->{end} > $fde->{start};
		}
		elsif (/^\s+LOC\s+CFA\s+(.*)$/)
		{
			@columns = split ' ', $1;
		}
		elsif ($fde && /^([0-9a-f]{16}) (\S+)\s+(.*)$/)
		{
			my ($address, $cfa, $rest, %register) = (hex $1, $2, $3);
			$rest =~ s/\br\d+ \((\w+)\)/$1/g;    # a register by number and name
			@register{@columns} = split ' ', $rest;
			push @{ $fde->{rows} }, [ $address, $cfa, \%register ];
		}
	}
	close $out;
	return \@rows;
}

sub is_aarch64
{
	my ($file) = @_;
	return `readelf -h '$file' 2>/dev/null` =~ /Machine:\s+AArch64/;
}

# Where code stands that has no CFI, and rules all the same (start files', the procedure linkage table of AArch64): [start, end].
sub read_start_code
{
	my ($file) = @_;
	my @ranges;
	open(my $out, '-|', "'$dump' '$file' 2>&1 >/dev/null") or die "could not run $dump: $!\n";
	while (<$out>)
	{
		push @ranges, [ hex $1, hex $2 ] if /^start code ([0-9a-f]+)\.\.([0-9a-f]+)$/;
	}
	close $out;
	return @ranges;
}

sub agrees
{
	my ($ours, $fde, $row, $undefined, $aarch64) = @_;
	my ($address, $cfa, $register) = @$row;
	my $fp = $register->{rbp} // $register->{x29} // 'u';
	my $ra = $register->{ra} // 'u';

	return $ours eq 'signal' if $fde->{signal};
	return $ours eq 'end' if !$go && $ra eq 'u' && (!$aarch64 || $address >= ($undefined->{ $fde->{start} } // 'inf'));
	if ($ours eq '?')
	{
		$total_unexpressed++;
		# we may decline only what is an expression or a register that cannot be followed
		return ++$runtime_rows <= 200 if $go;    # behind a function's return, or a frame of 256 KiB and more
		return $cfa eq 'exp' || $ra =~ /^(exp|vexp|v|s)/ || $cfa =~ /^(k|r)\d/;
	}
	return $cfa eq 'exp' if $ours eq 'exp';

	if ($go && ($ours =~ /^(end|signal|rbp\+16 c-16 c-8 lost)$/ || $ra eq 'u'))
	{
		return ++$runtime_rows <= 200;
	}

	my ($our_cfa, $our_fp, $our_ra, $our_bx) = split / /, $ours;
	return 0 unless defined $our_ra;
	$fp = 'u' if $fp eq 's';
	$ra = 'x30' if $aarch64 && $ra =~ /^[us]$/;
	$our_fp = $fp if $go || $our_fp eq 'lost' && $fp !~ /^(u|c[-+])/;
	my $bx = $register->{rbx} // 'u';
	$our_bx = $bx if $go || $our_bx eq 'lost' && $bx !~ /^(u|s|c[-+])$/;
	return 0 unless $our_bx eq ($bx eq 's' ? 'u' : $bx);
	return ($our_cfa eq $cfa || $our_cfa eq 'exp' && $cfa eq 'exp')
	  && ($our_fp eq $fp || $our_fp eq 'exp' && $fp eq 'exp')
	  && $our_ra eq $ra;
}

sub compare
{
	my ($file) = @_;
	my ($addresses, $rules) = read_ours($file);
	my $fdes = read_oracle($file);
	my $undefined = read_undefined($file);
	my $aarch64 = is_aarch64($file);
	my ($rows, $differ, $unknown_start, $at) = (0, 0, 0, 0);
	my %starts;

	return printf("not compared: %s\n", $file) unless $addresses;

	my $covered = 0;
	for my $fde (sort { $a->{start} <=> $b->{start} } @$fdes)
	{
		$starts{ $fde->{start} } = $starts{ $fde->{end} } = 1;
		next if $fde->{start} < $covered;
		$covered = $fde->{end};
		for my $row (@{ $fde->{rows} })
		{
			my ($address, $cfa, $register) = @$row;
			$starts{$address} = 1;
			next if $address >= $fde->{end};
			$at++ while $at + 1 < @$addresses && $addresses->[ $at + 1 ] <= $address;
			$rows++;
			# rows that begin at one address: the last of them counts
			next if $row != $fde->{rows}[-1] && (grep { $_ != $row && $_->[0] == $address } @{ $fde->{rows} }[ -2 .. -1 ]);
			next if @$addresses && agrees($rules->[$at], $fde, $row, $undefined, $aarch64);
			printf("  %x: readelf %s %s, compiled %s\n", $address, $cfa, join(',', %$register), $rules->[$at] // 'nothing')
			  if $differ++ < 5;
		}
	}
	my @start_code = read_start_code($file);
	for my $address (@$addresses)
	{
		next if $starts{$address};
		my ($range) = grep { $address >= $_->[0] && $address <= $_->[1] } @start_code;
		$unknown_start++ unless $range;
		$start_rows++ if $range;
	}
	$total_rows += $rows;
	$unknown_start = 0 if $go && $unknown_start <= $runtime_rows;
	$failed++ if $differ || $unknown_start || ($rows && !@$addresses);
	printf("%s %s: %d rows compared, %d differ, %d compiled rows start elsewhere\n",
		$differ || $unknown_start ? 'FAILED' : 'ok', $file, $rows, $differ, $unknown_start);
}

compare($_) for @ARGV;
printf("%d files, %d failed, %d rows compared, %d not expressed, %d of start files\n",
	scalar @ARGV, $failed, $total_rows, $total_unexpressed, $start_rows);
exit($failed ? 1 : 0);
