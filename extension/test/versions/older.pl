# Makes up a version before this one: its install script lacks, or has otherwise, one object of each kind that an update is about.
#
#   older.pl INSTALL-SCRIPT > OLDER-INSTALL-SCRIPT
#
# What changes tables is in from-0.9.sql; all else update.pl finds out.
use strict;
use warnings;

local $/;
my $script = <>;

sub change
{
	my ($what, $pattern, $replacement) = @_;
	$script =~ s/$pattern/$replacement/ or die "there is no $what\n";
}

my $untrack = 'FUNCTION profstore\.untrack_stacks\(';

change('table with that last column', qr/,\n\tsums     int8\n/, "\n");
change('comment on it', qr/COMMENT ON COLUMN profstore\.retention_log\.sums [^\n]*\n/, '');
change('index', qr/CREATE INDEX losses_time [^\n]*\n/, '');
change('view with that last column', qr/,\n\tmin\(d\.series_from\) AS series_from, max\(d\.series_to\) AS series_to(?=\nFROM profstore\.segment_details)/,
	",\n\tmin(d.series_from) AS series_from");
change('comment on it', qr/COMMENT ON COLUMN profstore\.segment_stats\.series_to [^\n]*\n/, '');
change('function with that body', qr/' ns'/, q(' nanos'));
change('function without arguments', qr/CREATE $untrack(?=rel regclass\))/, 'CREATE FUNCTION profstore.untrack_stacks(column_name name, ');
change("$_ on it", qr/$_ ON $untrack(?=regclass\))/, "$_ ON FUNCTION profstore.untrack_stacks(name, ") for 'COMMENT', 'REVOKE EXECUTE';
change('new function', qr/CREATE FUNCTION profstore_internal\.is_collection_due\(\).*?REVOKE [^\n]*\n/s, q(
CREATE FUNCTION profstore.forgotten() RETURNS int4 LANGUAGE sql RETURN 1;
COMMENT ON FUNCTION profstore.forgotten() IS 'a function that the next version lacks';
));
print $script;
