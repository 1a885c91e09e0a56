#!/usr/bin/env perl
# Prints a seed of fuzz_go_table: a function table of Go 1.20 with two functions and an inlined call, which stands behind the table.
use strict;
use warnings;

my $names  = "\0main.one\0main.two\0";
my $units  = pack('L2', 1, 0xffffffff);
my $files  = "\0one.go\0";
my $values = pack('C*', 0, 2, 16, 4, 16, 0, 2, 32, 0, 10, 16, 6, 16, 0, 1, 16, 2, 16, 0); # depths, files, lines, inlined calls

my $at = 72;
my $entry_bytes = 72;
my $calls_at = $at + length("$names$units$files$values") + 20 + 2 * $entry_bytes;

sub entry
{
	my ($start, $name) = @_;
	return pack('L9 L C4 L7', $start, $name, 0, 0, 1, 6, 9, 3, 0, 10, 0, 0, 0, 4, 0, 0, 14, (0xffffffff) x 3, $calls_at);
}

my $functions = pack('L5', 0, 20, 32, 20 + length(entry(0, 0)), 64) . entry(0, 1) . entry(32, 10);
my @places;
for ($names, $units, $files, $values) { push @places, $at; $at += length; }
print pack('L S C C Q8', 0xfffffff1, 0, 1, 8, 2, 1, 0, @places, $at), $names, $units, $files, $values, $functions, pack('C4 L3', 0, 0, 0, 0, 1, 20, 5);
