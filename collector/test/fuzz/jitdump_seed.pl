#!/usr/bin/env perl
# Prints a seed of fuzz_jitdump: how much comes at once, a header, and a record of each kind.
use strict;
use warnings;

sub record { my ($kind, $time, $body) = @_; return pack('L2 Q', $kind, 16 + length($body), $time) . $body; }

print pack('C L6 Q2', 60, 0x4a695444, 1, 40, 62, 0, 1, 0, 0);
print record(2, 1, pack('Q2 Q L2', 16, 1, 16, 3, 0) . "file\0");
print record(4, 1, pack('Q3', 0, 0, 0));
print record(0, 2, pack('L2 Q4', 1, 1, 16, 16, 16, 0) . "JS:*name f.js:1:2\0" . "\xcc" x 16);
print record(0, 3, pack('L2 Q4', 1, 1, 24, 24, 16, 1) . "other\0" . "\xcc" x 16);
print record(1, 4, pack('L2 Q5', 1, 1, 64, 24, 64, 16, 1));
print record(3, 5, '');
