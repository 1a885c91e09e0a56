#!/usr/bin/env perl
# Prints a seed of fuzz_go_table: a function table of Go 1.16 with two functions and an inlined call, which stands behind the table. Addresses
# are those of the fuzzer: it puts the table behind 120 bytes of headers at 0x400000.
use strict;
use warnings;

my $text    = 0x400000;
my $headers = 120;
my $names   = "\0main.one\0main.two\0" . "\0" x 5;
my $units   = pack('L2', 1, 0xffffffff);
my $files   = "\0one.go\0";
my $values  = pack('C*', 0, 2, 16, 4, 16, 0, 2, 32, 0, 10, 16, 6, 16, 0, 2, 16, 1, 16, 0) . "\0" x 5; # depths, files, lines, inlined calls

my $at          = 64;
my $pairs_bytes = 40;
my $entry_bytes = 88;
my $calls_at    = $text + $headers + $at + length("$names$units$files$values") + $pairs_bytes + 2 * $entry_bytes;

sub entry
{
	my ($start, $name) = @_;
	return pack('Q L9 L3 Q4', $text + $start, $name, 0, 0, 1, 6, 9, 3, 0, 4 << 24, 0, 0, 14, (0) x 3, $calls_at);
}

my @places;
for ($names, $units, $files, $values) { push @places, $at; $at += length; }
print pack('L S C C Q7', 0xfffffffa, 0, 1, 8, 2, 1, @places, $at), $names, $units, $files, $values,
	pack('Q5', $text, $pairs_bytes, $text + 32, $pairs_bytes + $entry_bytes, $text + 64), entry(0, 1), entry(32, 10), pack('s C C L4', -1, 0, 0, 0, 5, 10, 20);
