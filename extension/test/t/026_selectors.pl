# A role with a selector sees the series that match it, and no names of others: this role uses every function and relation of the extension,
# and its answers, notices, errors and plans are searched for planted names of another tenant; before and after a dump.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use IO::Uncompress::Gunzip qw(gunzip);
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('selectors');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
my $tempdir = PostgreSQL::Test::Utils::tempdir();

# --- two tenants ---------------------------------------------------------------------------------------------------

# Names that belong to team b alone are planted: each contains SECRET, or is a build ID that occurs nowhere else.
my $planted = qr/SECRET|5ec4e75ec4e7/i;
$node->safe_psql('postgres', q(
	CREATE ROLE collector LOGIN;
	CREATE ROLE everyone LOGIN;
	CREATE ROLE team_a LOGIN;
	CREATE ROLE team_b LOGIN;
	CREATE ROLE of_both LOGIN IN ROLE team_a, team_b;
	CREATE ROLE later LOGIN;
	CREATE ROLE auditor LOGIN IN ROLE pg_read_all_data;
	CREATE EXTENSION profstore;
	SELECT profstore.grant_write('collector'), profstore.grant_read('everyone');
	CREATE SCHEMA of_a AUTHORIZATION team_a;
));
$node->safe_psql('postgres', q(
	BEGIN;
	SELECT profstore.ensure_partitions(now() - interval '1 day', now());
	SELECT profstore.intern_series(ARRAY['process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', 'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', 'SECRET_heap:space:bytes:space:bytes'],
		ARRAY['{"team": "a", "service": "shop", "node": "shared", "comm": "x"}', '{"team": "b", "service": "SECRET_service", "node": "shared", "comm": "SECRET_comm"}',
			'{"team": "b", "service": "SECRET_service", "node": "SECRET_node", "SECRET_label": "1"}']::jsonb[], '{1000, 1000, 0}') AS series \gset
	SELECT profstore.intern_mappings('{aabbaabbaabbaabb,5ec4e75ec4e75ec4e7}', '{/usr/bin/shop,/opt/SECRET_mapping}') AS mappings \gset
	SELECT profstore.intern_functions('{main,sell,SECRET_function}', '{main,sell,_SECRET_system}', '{main.c,sell.c,/src/SECRET_file.c}', '{1,2,3}') AS functions \gset
	SELECT profstore.intern_locations(ARRAY[m[1], m[1], m[2], m[2]], '{16,32,48,64}', '{1,1,1,1}', ARRAY[f[1], f[2], f[1], f[3]], '{5,6,7,8}') AS locations
	FROM (SELECT :'mappings'::int4[], :'functions'::int4[]) AS i(m, f) \gset
	SELECT profstore.intern_stacks('aabbaabbaabbaabb', '{2}', ARRAY[l[2], l[1]]) || profstore.intern_stacks('5ec4e75ec4e75ec4e7 SECRET_partition', '{2}', ARRAY[l[4], l[3]]) AS stacks
	FROM (SELECT :'locations'::int4[]) AS i(l) \gset
	INSERT INTO profstore.samples SELECT now() - g * interval '1 min', s[n], k[least(n, 2)], n * 1000
	FROM (SELECT :'series'::int4[], :'stacks'::int8[]) AS i(s, k), generate_series(1, 3) AS n, generate_series(1, 50) AS g;
	SELECT profstore.touch_series(:'series'::int4[], now() - interval '1 hour', now());
	SELECT profstore.keep_file_notes(ARRAY[s[2]], '{SECRET_note}', '', 'https://SECRET_url', '', '') FROM (SELECT :'series'::int4[]) AS i(s);
	SELECT profstore.keep_traces(ARRAY[now() - interval '1 min', now() - interval '1 min'], s[1:2], k, '{1000,2000}',
		ARRAY['00000000-0000-0000-0000-00000000000a', '5ec4e75e-c4e7-0000-0000-00000000000b']::uuid[], '{NULL,NULL}')
	FROM (SELECT :'series'::int4[], :'stacks'::int8[]) AS i(s, k);
	SELECT profstore.put_sources('5ec4e75ec4e75ec4e7', '{/src/SECRET_file.c}', '{SECRET_source}');
	SELECT * FROM profstore.begin_debuginfo('5ec4e75ec4e75ec4e7', sha256('a'), 7, 'SECRET_debug');
	INSERT INTO profstore.targets (name, labels) VALUES ('shared', '{"node": "shared"}'), ('SECRET_target', '{"service": "SECRET_service"}');
	INSERT INTO profstore.losses (node, reason, count) VALUES ('shared', 'full', 1), ('SECRET_node', 'SECRET_reason', 1);
	INSERT INTO profstore.unwind_counts (day, node, exe, stacks, complete) VALUES (current_date, 'shared', '/opt/SECRET_exe', 2, 1);
	INSERT INTO profstore.deploys (version, labels) VALUES ('SECRET_version', '{"service": "SECRET_service"}'), ('SECRET_everywhere', '{}'), ('1.0', '{"service": "shop"}');
	INSERT INTO profstore.symbol_work (build_id, open) VALUES ('5ec4e75ec4e75ec4e7', 1);
	COMMIT;
	ANALYZE;
));

my $type = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta';
my $plan = q(EXPLAIN (COSTS OFF) SELECT FROM profstore.matching_series('{team="a"}'));
my $plan_before = $node->safe_psql('postgres', $plan, extra_params => [ '-U', 'everyone' ]);
$node->safe_psql('postgres', q(SELECT profstore.grant_read('team_a', '{team="a"}')));
is($node->safe_psql('postgres', $plan, extra_params => [ '-U', 'everyone' ]), $plan_before, 'a role without a selector has the plans of before');
$node->safe_psql('postgres', q(SELECT profstore.grant_read('later'), profstore.grant_read('team_b', '{service="SECRET_service"}')));

# --- the matrix ----------------------------------------------------------------------------------------------------

# The functions that work for a role with a selector, and those that refuse it. A function in neither list fails the test.
my $answers = '
	callees callers callgraph callgraph_dot flamechart flamegraph flamegraph_diff flamegraph_text sandwich filtered_share regressions regressions_basis folded heatmap source stacks_of timeseries top top_diff regressions regressions_basis cost_of cost_of_functions anomalies top_queries
	label_names label_values matching_series profile_types series selector parse_selector parse_profile_type normalize_labels
	merge_stacks(profstore.stack_sums) stacks_in firefox_profile flamegraph_diff_html flamegraph_html flamegraph_json pprof report_html speedscope
	writer_protocols calling_role target_states help() help(text) readable short_name selection_status selection_error stored_rows valid_selector valid_filter valid_time
	frames_of frame_filter forge_url type_title last_scan shared_cache version row_policies partitions storage_id';
my $refuses = '
	health collector_metrics record_health report_collector set_health_limits reset_health_limits forget_collector
	same_functions source_text callgraph_of flamegraph_diff_of flamegraph_of folded_of top_of merge_stacks(int8,int8)
	import_pprof import_folded import_perf_script ensure_partitions epoch begin_batch take_receipts pin_epoch
	intern_profile_types intern_series intern_functions intern_mappings intern_locations intern_stacks intern_stacks_by_partition touch_series touch_each_series
	keep_traces keep_file_notes find_symbol_work claim_symbol_work open_addresses settle_symbol_work want_symbols forget_answers
	begin_debuginfo put_debuginfo finish_debuginfo find_debuginfo debuginfo_state read_debuginfo remove_debuginfo put_sources remove_sources map_sources unmap_sources missing_sources
	bump_names bump_epoch compact compact_in_steps compact_dictionary verify remove_samples remove_segment set_retention apply_retention distribute drop_before
	collect_dictionary track_stacks untrack_stacks stack_references
	grant_read(regrole) grant_read(regrole,text) grant_write(regrole) grant_write(regrole,text) grant_maintain revoke_access apply_policies';
my %function = ((map { $_ => 'answers' } split ' ', $answers), (map { $_ => 'refuses' } split ' ', $refuses));
my %relation = (
	(map { $_ => 'answers' } qw(selected_samples trace_samples profile_types series file_notes losses targets deploys retention
		segment_details segment_stats compaction_progress symbol_states)),
	(map { $_ => 'refuses' } qw(bound_writers samples samples_minute samples_hour collectors health_limits health_states debuginfo debuginfo_chunks dictionary_key dictionary_partitions epoch
		function_chunks function_hashes function_rows functions location_chunks location_hashes location_rows locations mappings readers receipts restored_policies
		retention_log rollups row_ledger segments shard_keys shard_ranges source_files source_paths source_roles source_texts stack_chunks stacks symbol_work tracked_stacks unwind_counts unwind_quality writers)),
	(map { $_ => 'refuses' } qw(debuginfo_ids dictionary_partition_ids function_ids location_ids mapping_ids node_numbers profile_type_ids series_ids storage_ids)));

# Runs statements as a role, in one session; returns the outcome and all output of each.
sub attempts
{
	my ($database, $role, @statements) = @_;
	my ($out, $err) = ('', '');
	my @results;
	my $script = join '', map { s/;?\s*$/;/r . "\n\\echo ---mark---\n\\warn ---mark---\n" } @statements;
	$node->psql($database, $script, extra_params => [ '-U', $role, '-v', 'VERBOSITY=verbose' ], stdout => \$out, stderr => \$err, on_error_stop => 0);
	my ($out_parts, $err_parts) = map { [ split /^---mark---$/m, $_, -1 ] } $out, $err;
	@$out_parts == @statements + 1 && @$err_parts == @statements + 1 or die sprintf "%d statements, %d answers, %d messages: %s", scalar @statements, $#$out_parts, $#$err_parts, $err;
	for my $i (0 .. $#statements)
	{
		my $text = $$out_parts[$i] . $$err_parts[$i];
		my $outcome = $$err_parts[$i] =~ /ERROR:  (\w{5}):/ ? $1 : 'answers';
		for my $hex ($$out_parts[$i] =~ /(1f8b[0-9a-f]+)/g)
		{
			my $packed = pack('H*', $hex);
			my $content;
			$text .= $content if gunzip(\$packed, \$content);
		}
		$text =~ s/^\n//;
		push @results, [ $outcome eq '42501' ? 'refuses' : $outcome, $text ];
	}
	return @results;
}

sub attempt
{
	my ($database, $role, $sql) = @_;
	my ($result) = attempts($database, $role, $sql);
	return @$result;
}

# The example of each function calls it.
my @calls = map { [ split /\x1e/ ] } split /\x1f/, $node->safe_psql('postgres', q(
	SELECT string_agg(concat_ws(E'\x1e', p.oid::regprocedure, regexp_replace(replace(h.example, '''base64''', '''hex'''), E'\n' || '\\\\g .*$', '')), E'\x1f' ORDER BY p.oid)
	FROM profstore.help('.') AS h JOIN pg_proc AS p ON p.pronamespace = 'profstore'::regnamespace AND p.proname = h.function));
my @relations = split /\n/, $node->safe_psql('postgres', q(
	SELECT c.relname FROM pg_class AS c JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
	WHERE c.relnamespace = 'profstore'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') ORDER BY 1));
# the example takes the segment from a view that is empty for other roles
$_->[1] = q(SELECT profstore.remove_segment('profstore.samples', 1)) for grep { $_->[0] =~ /remove_segment/ } @calls;
# two functions of one name have one example each
@calls = grep { $_->[0] !~ /merge_stacks/ || ($_->[0] =~ /stack_sums/) != ($_->[1] =~ /profstore\.samples/) } @calls;
my %proc = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', q(
	SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	WHERE p.pronamespace = 'profstore'::regnamespace AND p.prokind <> 'w'));

sub expectation
{
	my ($signature) = @_;
	(my $key = $signature) =~ s/^profstore\.//;
	$key =~ s/bigint/int8/g;
	(my $name = $key) =~ s/\(.*//;
	return $function{$key} // $function{$name};
}

sub matrix
{
	my ($database, $name) = @_;
	my (@wrong, @leaks, $control);
	my @examples = map { $_->[1] } @calls;
	my @own = attempts($database, 'team_a', @examples);

	for my $i (0 .. $#calls)
	{
		my ($outcome, $text) = @{ $own[$i] };
		my $expected = expectation($calls[$i][0]) // 'a row of the matrix';
		push @wrong, "$calls[$i][0]: $outcome, not $expected: " . substr($text, 0, 300) if $outcome ne $expected;
		push @leaks, "$calls[$i][0]: $1" if $text =~ /(.{0,60}$planted.{0,60})/;
	}
	$control = join '', map { $_->[1] } attempts($database, 'everyone', @examples);
	is_deeply(\@wrong, [], "$name: functions answer or refuse");
	is_deeply(\@leaks, [], "$name: no function shows a name of the other tenant");
	ok($control =~ /\Q$_\E/, "$name: these examples show $_ to a role that reads everything")
	  for qw(SECRET_function SECRET_service SECRET_file.c SECRET_mapping SECRET_heap SECRET_note 5ec4e75ec4e75ec4e7 SECRET_source);
	my %called = map { $_->[0] => 1 } @calls;
	is_deeply([ grep { !$called{$_} } sort keys %proc ], [], "$name: every function is called");

	(@wrong, @leaks) = ();
	my @statements = map {
		/_ids$|^node_numbers$/ ? ("TABLE profstore.$_", ("SELECT last_value FROM profstore.$_") x 3) : ("TABLE profstore.$_", "COPY (SELECT * FROM profstore.$_) TO STDOUT",
			"EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM profstore.$_ AS r WHERE r::text ~ 'S.CRET'",
			"SELECT min(r::text), max(r::text), count(*) FROM profstore.$_ AS r GROUP BY GROUPING SETS ((), (r::text))")
	} @relations;
	@own = attempts($database, 'team_a', @statements);
	for my $i (0 .. $#statements)
	{
		my ($outcome, $text) = @{ $own[$i] };
		my $expected = $relation{ $relations[$i / 4] } // 'a row of the matrix';
		push @wrong, "$statements[$i]: $outcome, not $expected: " . substr($text, 0, 300) if $outcome ne $expected;
		push @leaks, "$statements[$i]: $1" if $text =~ /(.{0,60}$planted.{0,60})/;
	}
	$control = join '', map { $_->[1] } attempts($database, 'everyone', map { "TABLE profstore.$_" } @relations);
	is_deeply(\@wrong, [], "$name: relations answer or refuse");
	is_deeply(\@leaks, [], "$name: no relation shows a name of the other tenant");
	ok($control =~ /\Q$_\E/, "$name: relations show $_ to a role that reads everything")
	  for qw(SECRET_function _SECRET_system SECRET_service SECRET_mapping SECRET_heap SECRET_note SECRET_target SECRET_reason SECRET_exe SECRET_version SECRET_debug);
	my %exists = map { $_ => 1 } @relations;
	is_deeply([ grep { !$exists{$_} } sort keys %relation ], [], "$name: the matrix has no relation that is gone");

	# the schema of internal functions and the partitions are not accessible at all
	my $open = $node->safe_psql($database, q(
		SELECT string_agg(c.oid::regclass::text, ', ') FROM pg_class AS c
		WHERE c.relispartition AND c.relnamespace = 'profstore'::regnamespace AND has_any_column_privilege('team_a', c.oid, 'SELECT, INSERT, UPDATE, REFERENCES')));
	is($open, '', "$name: no partition is open");
	is($node->safe_psql($database, q(SELECT has_schema_privilege('team_a', 'profstore_internal', 'USAGE, CREATE') OR has_schema_privilege('team_a', 'profstore', 'CREATE'))),
		'f', "$name: nor the schema of inner functions");

	my (undef, $own) = attempt($database, 'team_a', "SELECT stack, value FROM profstore.folded('$type')");
	is($own, "main;sell|50000\n", "$name: it sees its own samples");
	(undef, $own) = attempt($database, 'team_a', 'SELECT count(*), sum(value) FROM profstore.selected_samples');
	is($own, "50|50000\n", "$name: also by plain SQL");
	(undef, $own) = attempt($database, $_, 'SELECT count(*) FROM profstore.series') and is($own, "3\n", "$name: $_ sees all series") for 'everyone', 'later', 'auditor';
	(undef, $own) = attempt($database, 'auditor', 'SELECT count(*) FROM profstore.losses');
	is($own, "2\n", "$name: pg_read_all_data sees rows about all hosts");
}
matrix('postgres', 'before');

# --- attacks -------------------------------------------------------------------------------------------------------

# Statements of a hostile tenant with the SQLSTATE that refuses them; '' means that they run and return nothing.
my $leak = q(CREATE FUNCTION pg_temp.leak(anyelement) RETURNS bool LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN RAISE NOTICE 'leaked %', $1::text; RETURN true; END $$);
my @attacks = (
	[ '42501', 'sums with stack ids of others', q(SELECT * FROM profstore.folded_of((SELECT ('{' || string_agg((g::int8 << 40) + n || ':1', ',') || '}')::profstore.stack_sums
		FROM generate_series(1, 3) AS g, generate_series(1, 64) AS n))) ],
	[ '42501', 'the same as a graph', q(SELECT * FROM profstore.callgraph_of('{1099511627777:1}')) ],
	[ '42501', 'the same as a difference', q(SELECT * FROM profstore.flamegraph_diff_of('{1099511627777:1}', '{2199023255554:1}')) ],
	[ '42501', 'even sums without stacks', q(SELECT * FROM profstore.top_of(NULL)) ],
	[ '', 'a leaky function on series', "$leak; SELECT count(*) FROM profstore.series AS s WHERE pg_temp.leak(s.labels)" ],
	[ '', 'on all columns of all tables', "$leak; " . join(';', map "SELECT count(*) FROM profstore.$_ AS r WHERE pg_temp.leak(r)",
		qw(series profile_types file_notes trace_samples losses targets deploys selected_samples segment_details symbol_states)) ],
	[ '', 'an error that quotes a value', q(SELECT (s.labels ->> 'service')::int4 FROM profstore.series AS s WHERE s.labels ->> 'service' <> 'shop' AND (s.labels ->> 'service')::int4 > 0) ],
	[ '', 'a row by its place', q(SELECT * FROM profstore.series WHERE ctid IN ('(0,1)', '(0,2)', '(0,3)') ORDER BY id) ],
	[ '', 'a join that asks for an id', q(SELECT s.* FROM generate_series(1, 100) AS g JOIN profstore.series AS s ON s.id = g) ],
	[ '42501', 'row security switched off', q(SET row_security = off; SELECT count(*) FROM profstore.series) ],
	[ '42501', 'row security switched off, by a function', qq(SET row_security = off; SELECT * FROM profstore.folded('$type')) ],
	[ '', 'selectors of others', join ';', map "SELECT * FROM profstore.folded('$type$_')", '{team="b"}', '{team=~".*"}', '{team!="a"}', '{}', '{service=~"S.*"}' ],
	[ '', 'another profile type, by a name that is nearly right', join ';', map "SELECT * FROM profstore.folded('$_')", 'S.CRET_heap:space:bytes:space:bytes', 'SECRE_heap', 'S' ],
	[ '', 'focus on names of others', join ';', map "SELECT * FROM profstore.top('$type', focus => '$_')", 'S[E]CRET', '{mapping=~".*S[E]CRET.*"}', '{file*="/src"}' ],
	[ '', 'a trace of others', qq(SELECT * FROM profstore.folded('$type', trace => '5ec4e75e-c4e7-0000-0000-00000000000b')) ],
	[ '42501', 'the selectors of others', q(SELECT profstore_internal.selected_series('team_b')) ],
	[ '42501', 'a selector of its own making', q(UPDATE profstore.readers SET selector = '{}') ],
	[ '42501', 'a grant to itself', q(SELECT profstore.grant_read('team_a')) ],
	[ '42501', 'a policy of its own', q(CREATE POLICY mine ON profstore.series USING (true)) ],
	[ '42501', 'a C function of its own', q(CREATE FUNCTION pg_temp.stacks(int8, int8) RETURNS internal LANGUAGE c AS 'profstore', 'profstore_unseal') ],
	[ '42501', 'a partition of samples', q(SELECT count(*) FROM profstore.samples_) . $node->safe_psql('postgres', q(SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD'))) ],
	[ '42501', 'a foreign key to names', q(CREATE TABLE of_a.mine (id int4 REFERENCES profstore.mappings)) ],
	[ '42501', 'labels changed to its own', q(UPDATE profstore.series SET labels = '{"team": "a"}') ],
	[ '42501', 'rows locked', q(SELECT * FROM profstore.series FOR SHARE) ],
	[ '', 'copies of the tables in front of the path', qq(CREATE TEMP VIEW series AS SELECT 2 AS id; CREATE TEMP VIEW readers AS SELECT 'team_a' AS role, '{}' AS selector;
		SET search_path = pg_temp, profstore; SELECT * FROM profstore.folded('$type'); SELECT * FROM profstore.series()) ],
	[ '', 'a table of its own, verified', q(BEGIN; CREATE TABLE of_a.samples (time timestamptz, series_id int4, stack_id int8, value int8) USING profstore;
		INSERT INTO of_a.samples SELECT now(), g, (g::int8 << 40) + 2, 1 FROM generate_series(1, 3) AS g; SELECT * FROM profstore.verify('of_a.samples'); ROLLBACK) ],
	[ '', 'plans', join ';', map "EXPLAIN (ANALYZE, VERBOSE, COSTS) SELECT * FROM $_", "profstore.folded('$type')", 'profstore.selected_samples', 'profstore.series()', 'profstore.losses', 'profstore.target_states()' ],
	[ '', 'everything in the catalog that may be read', q(DO $$
		DECLARE
			relation regclass;
			line text;
		BEGIN
			FOR relation IN SELECT c.oid FROM pg_class AS c WHERE c.relkind IN ('r', 'v') AND c.relnamespace IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) LOOP
				BEGIN
					FOR line IN EXECUTE format('SELECT r::text FROM %s AS r WHERE r::text ~ $1', relation) USING 'S' || 'ECRET|5ec4e7' || '5ec4e7' LOOP
						CONTINUE WHEN line ~ 'DECLARE';
						RAISE NOTICE '%: %', relation, line;
					END LOOP;
				EXCEPTION WHEN OTHERS THEN
					NULL;
				END;
			END LOOP;
		END $$) ]);

# An error repeats the statement; the repeated text is not searched.
sub attack
{
	my ($database, $name) = @_;
	for (@attacks)
	{
		my ($state, $what, $sql) = @$_;
		my ($outcome, $text) = attempt($database, 'team_a', $sql);
		$text =~ s/^LINE \d+: .*\n//mg;
		is($outcome, $state eq '' ? 'answers' : 'refuses', "$name: $what: " . ($state eq '' ? 'answered' : 'refused')) or diag($text);
		unlike($text, $planted, "$name: $what: shows nothing");
	}
	# positive control: the last statement and the leaky functions do find names when nothing prevents it
	my (undef, $text) = attempt($database, 'everyone', $attacks[5][2]);
	like($text, $planted, "$name: the same functions show the names to a role that reads everything");
	($_, $text) = attempt($database, 'postgres', $attacks[-1][2]);
	like($text, $planted, "$name: and the catalog to a superuser");
}
attack('postgres', 'before');
for (map { "SELECT * FROM profstore.$_" } "callers('$type', function => '%s')", "sandwich('$type', function => '%s')", "source('$type', filename => '/src/%s_file.c')")
{
	my $call = $_;
	my ($known, $unknown) = map { my $name = $_; my (undef, $text) = attempt('postgres', 'team_a', $call =~ s/%s/$name/r); $text =~ s/$name//gr } 'SECRET', 'nothing';
	is($known, $unknown, "$call: a name of others is as unknown as one that does not exist");
}
my ($visible, undef) = $node->safe_psql('postgres', "$leak; SELECT count(*) FROM profstore.selected_samples AS r WHERE pg_temp.leak(r.series_id)", extra_params => [ '-U', 'team_a' ]);
is($visible, 50, 'a leaky function on samples');

# plans and caches of one role in a session are not used for the next role
my ($out, $err);
$node->psql('postgres', "PREPARE p AS SELECT count(*) FROM profstore.series(); PREPARE f AS SELECT stack FROM profstore.folded('$type') ORDER BY 1;
	EXECUTE p; EXECUTE f; SET ROLE team_a; EXECUTE p; EXECUTE f; SET ROLE everyone; EXECUTE p; SET ROLE team_a; EXECUTE p; EXECUTE f", stdout => \$out, stderr => \$err);
is($out, "3\nmain;SECRET_function\nmain;sell\n1\nmain;sell\n3\n1\nmain;sell", 'plans and caches follow the role');
is($node->safe_psql('postgres', 'SELECT count(*) FROM profstore.series', extra_params => [ '-U', 'of_both' ]), 3, 'a member of two tenants sees the series of both');
is($node->safe_psql('postgres', "SELECT string_agg(stack, ',') FROM profstore.folded('$type')", extra_params => [ '-U', 'team_b' ]), 'main;SECRET_function', 'the other tenant sees its own');

# --- dump and restore ----------------------------------------------------------------------------------------------

command_ok([ 'pg_dump', '-p', $node->port, '-h', $node->host, '-Fc', '-f', "$tempdir/dump", 'postgres' ], 'dumped');
for my $how ([ 'whole' ], [ 'single', '--single-transaction' ], [ 'parallel', '-j', '3' ], [ 'untriggered', '--disable-triggers' ])
{
	my ($database, @options) = @$how;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	command_ok([ 'pg_restore', '--exit-on-error', @options, '-d', $node->connstr($database), "$tempdir/dump" ], "$database: restored");
	my (undef, $own) = attempt($database, 'team_a', "SELECT stack, value FROM profstore.folded('$type'); SELECT count(*) FROM profstore.series");
	is($own, "main;sell|50000\n1\n", "$database: the tenant sees its own");
	is($node->safe_psql($database, q(SELECT tgenabled FROM pg_trigger WHERE tgname = 'apply_readers')), 'A', "$database: the trigger fires always");
}
$node->safe_psql('whole', 'ANALYZE');
matrix('whole', 'restored');
attack('whole', 'restored');

# --- grants that are refused ---------------------------------------------------------------------------------------

sub refused
{
	my ($sql, $message, $name) = @_;
	$node->psql('postgres', $sql, stderr => \my $stderr);
	like($stderr, $message, $name);
}
refused(q(SELECT profstore.grant_read('later', '{team=')), qr/invalid selector/, 'a selector that is cut off');
refused(q{SELECT profstore.grant_read('later', '{team=~"("}')}, qr/regular expression/, 'a regular expression that is none');
refused(q(SELECT profstore.grant_read('later', 'process_cpu:cpu{team="a"}')), qr/profile type "process_cpu:cpu" is abbreviated/, 'an abbreviated type');
refused(q(SELECT profstore.grant_read('later', NULL)), qr/requires a role and a selector/, 'no selector');
refused(q(SELECT profstore.grant_read('postgres', '{}')), qr/bypasses row security/, 'a superuser');
refused(q(GRANT everyone TO team_a; SELECT profstore.grant_read('team_a', '{team="a"}')), qr/could read all of table/, 'a member of a role that reads everything');
$node->safe_psql('postgres', 'REVOKE everyone FROM team_a');
$node->safe_psql('postgres', q(CREATE ROLE idle LOGIN NOINHERIT; GRANT everyone TO idle));
refused(q(SELECT profstore.grant_read('idle', '{team="a"}')), qr/could read all of table/, 'a member that inherits nothing, but may SET ROLE');
refused(q(CREATE POLICY mine ON profstore.series TO later USING (false); SELECT profstore.grant_read('later', '{}')), qr/beside row policies of your own/, 'policies of users');
$node->safe_psql('postgres', 'DROP POLICY mine ON profstore.series');

# without row security the series of a role are undefined: functions refuse
$node->safe_psql('postgres', 'ALTER TABLE profstore.series DISABLE ROW LEVEL SECURITY');
is((attempt('postgres', 'team_a', "SELECT * FROM profstore.folded('$type')"))[0], 'refuses', 'functions refuse if row security is switched off');
$node->safe_psql('postgres', q(SELECT profstore.grant_read('team_a', '{team="a"}')));
is((attempt('postgres', 'team_a', "SELECT value FROM profstore.folded('$type')"))[1], "50000\n", 'granting again switches it on');

unlike((attempt('postgres', 'team_a', q(SELECT * FROM profstore.folded_of('{0:1}'))))[1], qr/HINT/, 'no hint advises to lift the selector');

# a role changes from all series to a selector and back
$node->safe_psql('postgres', q(SELECT profstore.grant_read('later', '{team="a"}')));
is((attempt('postgres', 'later', 'SELECT count(*) FROM profstore.series'))[1], "1\n", 'a role that read everything is restricted');
is((attempt('postgres', 'later', 'SELECT count(*) FROM profstore.functions'))[0], 'refuses', 'and loses its privileges');
$node->safe_psql('postgres', q(DELETE FROM profstore.readers WHERE role = 'later'; SELECT profstore.grant_read('later')));
is((attempt('postgres', 'later', 'SELECT count(*) FROM profstore.series'))[1], "3\n", 'and gets them back');

# the last selector is removed
$node->safe_psql('postgres', 'CREATE DATABASE lifted');
$node->safe_psql('lifted', q(CREATE EXTENSION profstore; SELECT profstore.grant_read('everyone'); SELECT profstore.grant_read('team_a', '{team="a"}');
	SELECT profstore.intern_series(ARRAY['cpu:samples:count:::delta'], ARRAY['{"team": "b"}']::jsonb[], '{1}')));
is((attempt('lifted', 'team_a', 'SELECT count(*) FROM profstore.series'))[1], "0
", 'a role with the only selector is restricted');
$node->safe_psql('lifted', q(DELETE FROM profstore.readers WHERE selector IS NOT NULL));
is((attempt('lifted', 'everyone', 'SELECT count(*) FROM profstore.series'))[1], "1
", 'without its selector, others still read everything');
$node->safe_psql('lifted', q(DELETE FROM profstore.readers; SELECT profstore.grant_read('team_a')));
is((attempt('lifted', $_, 'SELECT count(*) FROM profstore.series'))[1], "1
", "without readers, $_ reads everything") for qw(team_a everyone);

# dropped roles
$node->safe_psql('whole', q(GRANT SELECT (id) ON profstore.series TO team_a; SELECT profstore.grant_maintain('team_a'), profstore.grant_write('team_b', '{team="b"}')));
for my $role (qw(team_a team_b everyone later))
{
	$node->psql('whole', "DROP ROLE $role", stderr => \$err);
	like($err, qr/cannot be dropped because some objects depend on it/, "$role has privileges");
	$node->safe_psql($_, 'DROP SCHEMA IF EXISTS of_a CASCADE') for qw(whole postgres single parallel untriggered);    # a schema of its own
	for my $database (qw(whole postgres single parallel untriggered lifted))
	{
		my $rows = "SELECT (SELECT count(*) FROM profstore.readers WHERE role = '$role') + (SELECT count(*) FROM profstore.bound_writers WHERE role = '$role')";
		$node->safe_psql($database, "SELECT profstore.revoke_access('$role')");
		is($node->safe_psql($database, $rows), 0, "$role, $database: no row names it");
	}
}
is((attempt('whole', $_, 'TABLE profstore.series'))[0], 'refuses', "$_ reads nothing") for qw(team_a everyone);
is((attempt('whole', 'auditor', 'SELECT count(*) FROM profstore.series'))[1], "3\n", 'others still do');
$node->safe_psql('postgres', 'DROP ROLE team_a, team_b, everyone, later');
refused(q(SELECT profstore.revoke_access(current_user::regrole)), qr/owns the extension/, 'the owner keeps its privileges');

# a writer cannot take a lock for which other roles wait
my $locker = $node->background_psql('postgres', extra_params => [ '-U', 'collector' ], on_error_stop => 0);
$locker->query_safe("SELECT pg_advisory_lock(c.oid::int4, n) FROM pg_class AS c, (VALUES (0), (hashtext('collector')), (hashtext('postgres'))) AS k(n) WHERE c.relnamespace = 'profstore'::regnamespace AND c.relkind = 'r'");
is($node->psql('postgres', q(SET statement_timeout = '20 s'; CREATE ROLE next LOGIN; SELECT profstore.grant_read('next', '{team="a"}'), profstore.apply_policies())), 0, 'policies change beside advisory locks of others');
is($node->psql('postgres', q(SET statement_timeout = '20 s'; SELECT profstore.put_sources('aa', '{a.c}', '{text}'), profstore.remove_sources('aa')), extra_params => [ '-U', 'collector' ]), 0, 'source files, too');
for my $table (qw(restored_policies source_roles))
{
	$locker->{stderr} = '';
	$locker->query("DO \$\$BEGIN LOCK TABLE profstore.$table IN ACCESS SHARE MODE; END\$\$");
	like($locker->{stderr}, qr/permission denied/, "no lock of $table");
}
$locker->quit;

done_testing();
