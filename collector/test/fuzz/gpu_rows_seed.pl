#!/usr/bin/env perl
# Prints the rows of a window of programs' GPU library: two kernels, a kept launch, a copy, a name in two parts, a device.
use strict;
use warnings;

sub row
{
	my ($kind, $device, $name, $correlation, $stream, @numbers) = @_;
	return pack('CCSLLLQ6', $kind, 1, $device, $name, $correlation, $stream, @numbers, (0) x (6 - @numbers));
}

sub part
{
	my ($name, $text, $offset, $length) = @_;
	return pack('CCSLLLa40LL', 6, 1, 0, $name, 0, 0, $text, $offset, $length);
}

binmode STDOUT;
print row(5, 0, 0, 0, 0, 100_000_000, 1_000_000_000, 100_000_000, 9, 1 | 7 << 32, 0);
print row(1, 0, 1, 0, 7, 5, 5000), row(1, 0, 2, 0, 7, 4, 8000), row(2, 0, 1, 77, 7, 1, 1000), row(3, 0, 1, 0, 1, 1, 500, 4096);
my $name = '_ZN4math4gemmIfLi8EEEvPKT_PS1_i_and_more_of_it';
print part(1, substr($name, 0, 40), 0, length $name), part(1, substr($name, 40), 40, length $name);
print row(7, 0, 0, 0, 0, 1, 2);
