#!/usr/bin/env perl
# Prints a seed of fuzz_otlp, fuzz_write_raw or fuzz_pyroscope: flags, a small request.
#
#   request_seed.pl otlp|otlp_older|otlp_json|write_raw|write_raw_json|push|ingest|ingest_jfr [SECONDS]      the profile's time, since 1970; default: a constant
use strict;
use warnings;
use MIME::Base64;

my $kind = shift // '';

sub varint { my $n = shift; my $out = ''; while ($n >= 0x80) { $out .= chr($n & 0x7f | 0x80); $n >>= 7 } return $out . chr($n) }
sub number { my ($field, $n) = @_; return varint($field << 3) . varint($n) }
sub fixed { my ($field, $n) = @_; return varint($field << 3 | 1) . pack('Q<', $n) }
sub bytes { my ($field, @parts) = @_; my $all = join('', @parts); return varint($field << 3 | 2) . varint(length $all) . $all }
sub list { my ($field, @numbers) = @_; return bytes($field, map { varint($_) } @numbers) }

my $time = (shift // 1767225590) * 1000000000;

sub otlp
{
	my ($values, $attributes) = @_;
	my @strings = ('', 'samples', 'count', 'cpu', 'nanoseconds', 'work', 'work.c', '/bin/prog', 'thread.name', 'profile.frame.type', 'cpython');
	my $sample = bytes(2, number(1, 1), list($attributes, 1), list($values, 7)) . bytes(2, number(1, 1), bytes(5, pack('Q<2', $time, $time + 1)));
	my $profile = bytes(1, number(1, 1), number(2, 2)) . $sample . fixed(3, $time) . bytes(5, number(1, 3), number(2, 4)) . number(6, 5);
	my $resource = bytes(1, bytes(1, 'service.name'), bytes(2, bytes(1, 'shop')));
	my $tables = bytes(1) . bytes(1, number(4, 7)) . bytes(2) .
		bytes(2, number(1, 1), number(2, 4096), bytes(3, number(1, 1), number(2, 12)), list(4, 2)) . bytes(3) .
		bytes(3, number(1, 5), number(3, 6)) . join('', map { bytes(5, $_) } @strings) . bytes(6) .
		bytes(6, number(1, 8), bytes(2, bytes(1, 'worker'))) . bytes(6, number(1, 9), bytes(2, bytes(1, 'cpython'))) . bytes(7) .
		bytes(7, list(1, 1));
	return bytes(1, bytes(1, $resource), bytes(2, bytes(2, $profile))) . bytes(2, $tables);
}

sub pprof
{
	my $type = number(1, 1) . number(2, 2);
	return bytes(1, $type) . bytes(2, list(1, 1), list(2, 70), bytes(3, number(1, 5), number(2, 4))) .
		bytes(4, number(1, 1), bytes(4, number(1, 1), number(2, 12))) . bytes(5, number(1, 1), number(2, 3)) .
		join('', map { bytes(6, $_) } '', 'cpu', 'nanoseconds', 'work', 'one', 'thread') . number(9, $time) . bytes(11, $type) . number(12, 5);
}

my %seeds = (
	otlp => "\2" . otlp(4, 2),
	otlp_older => "\0" . otlp(2, 4),
	otlp_json => "\1" . '{"resourceProfiles":[{"resource":{"attributes":[{"key":"a","value":{"intValue":"3"}}]},"scopeProfiles":[{"profiles":' .
		'[{"sampleType":{"typeStrindex":1},"samples":[{"stackIndex":1,"values":["7",3e0]}],"timeUnixNano":"' . $time . '","profileId":"' .
		'00112233445566778899aabbccddeeff"}]}]}],"dictionary":{"stringTable":["","x\u00e9\ud83d\ude00"],"locationTable":[{},{"address":"1"}],' .
		'"mappingTable":[{}],"stackTable":[{},{"locationIndices":[1]}]}}',
	write_raw => "\0" . bytes(2, bytes(1, bytes(1, bytes(1, '__name__'), bytes(2, 'process_cpu')), bytes(1, bytes(1, 'job'), bytes(2, 'x'))),
		bytes(2, bytes(1, pprof()))),
	push => "\0" . bytes(1, bytes(1, bytes(1, '__name__'), bytes(2, 'process_cpu')), bytes(1, bytes(1, 'a.b'), bytes(2, 'x')),
		bytes(2, bytes(1, pprof()), bytes(2, 'id'))),
	ingest => "\1name=shop%7Ba%3Db%2Cc,d%7D&from=1767225600&sampleRate=50&format=pprof\nmultipart/form-data; boundary=b\n" .
		"--b\r\nContent-Disposition: form-data; name=\"profile\"\r\n\r\n" . pprof() . "\r\n--b\r\nContent-Disposition: form-data; " .
		"name=\"sample_type_config\"\r\n\r\n{\"cpu\":{\"display-name\":\"cpu\"}}\r\n--b--\r\n",
	ingest_jfr => "\1name=shop&format=jfr\nmultipart/form-data; boundary=b\n--b\r\nContent-Disposition: form-data; name=jfr\r\n\r\nFLR\0" .
		"\r\n--b\r\nContent-Disposition: form-data; name=labels\r\n\r\n" .
		bytes(1, number(1, 1), bytes(2, bytes(1, number(1, 1), number(2, 2)))) . bytes(2, number(1, 1), bytes(2, 'k')) .
		bytes(2, number(1, 2), bytes(2, 'v')) . "\r\n--b--\r\n",
	write_raw_json => "\1" . '{"series":[{"labels":{"labels":[{"name":"job","value":"x"}]},"samples":[{"rawProfile":"' .
		encode_base64(pprof(), '') . '"}]}],"normalized":true}',
);
die "no seed is called \"$kind\"\n" if !exists $seeds{$kind};
binmode(STDOUT);
print $seeds{$kind};
