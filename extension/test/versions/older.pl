# Makes an invented earlier version: its install script lacks or changes one object of each kind that an update handles.
#
#   older.pl INSTALL-SCRIPT > OLDER-INSTALL-SCRIPT
#
# from-0.9.sql changes the tables; update.pl finds all other changes.
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
# In 0.9 functions and locations were tables, and nothing was packed.
for my $one ('function', 'location')
{
	change("table of $one rows", qr/profstore\.${one}_rows\n/, "profstore.${one}s\n");
	change("index of $one rows", qr/INDEX ${one}_rows_content ON profstore\.${one}_rows\n/, "INDEX ${one}s_content ON profstore.${one}s\n");
	$script =~ s/COMMENT ON (TABLE|COLUMN) profstore\.${one}_rows\b/COMMENT ON $1 profstore.${one}s/g;
}
change('packed names', qr/CREATE TABLE profstore\.dictionary_key\n.*?(?=CREATE SEQUENCE profstore\.dictionary_partition_ids)/s, '');
change('dumps of functions', qr/function_rows,function_chunks,\s*function_hashes/, 'functions');
change('dumps of locations', qr/location_rows,location_chunks,location_hashes,dictionary_key/, 'locations');
change('packed names that are condemned', qr/CREATE FUNCTION profstore_internal\.condemn_sealed\(.*?REVOKE [^\n]*\n/s, '');
change('rows that are condemned', qr/CASE kinds\[kind\] WHEN 'locations' .*?END;/s, 'relation;');
change('condemning of packed names', qr/\t\tIF kinds\[kind\] IN \('locations', 'functions'\) THEN.*?END IF;\n/s, '');
for my $one ('find_symbol_work', 'open_addresses')
{
	change("$one, which reads packed locations", qr/CREATE FUNCTION profstore\.$one\(.*?REVOKE [^\n]*\n/s, '');
	change("privilege of $one", qr/\s*profstore\.$one,/, '');
	change("example of $one", qr/\t\t\('writing', '$one', [^\n]*\),\n/, '');
}
change('same_functions, whose body needs the view of locations', qr/-- Views do not need this function:[^\n]*\nCREATE FUNCTION profstore\.same_functions\(.*?COMMENT ON FUNCTION profstore\.same_functions[^\n]*\n/s, '');
change('example of same_functions', qr/\t\t\('tables', 'same_functions', [^\n]*\),\n/, '');
change('log of shards, which writes the last column of retention_log', qr/-- Runs on a node, in the transaction[^\n]*\nCREATE FUNCTION profstore_internal\.log_shard\(.*?REVOKE [^\n]*\n/s, '');
print $script;
