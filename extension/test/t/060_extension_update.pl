# ALTER EXTENSION UPDATE from an invented earlier version (extension/test/versions), built like that of a real one. Before the
# update, today's module works with the functions and tables of 0.9 or gives a hint; after it, the catalog equals that of a new
# database, old samples give the same answers, and a dump contains all of it, with the grants of users.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('update');
$node->init;
$node->append_conf('postgresql.conf', "timezone = 'UTC'\nautovacuum = off\n");    # whose lock would keep compaction away
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE test_collector');
$node->safe_psql('postgres', 'CREATE ROLE test_reader');
for my $database ('updated', 'fresh', 'restored')
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
}
$node->safe_psql('updated', "CREATE EXTENSION profstore VERSION '0.9'");
$node->safe_psql('fresh', 'CREATE EXTENSION profstore');

# --- the same samples in both --------------------------------------------------------------------------------------

my @load = (
	q(SELECT profstore.ensure_partitions('2026-01-01Z', '2026-01-03Z')),
	q(SELECT profstore.begin_batch('00000000-0000-0000-0000-000000000001', 1, profstore.epoch())),
	q(SELECT profstore.intern_series('{process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta,memory:inuse_space:bytes:space:bytes}',
		array['{"node": "a", "comm": "x"}', '{"node": "b"}']::jsonb[], '{1000, 0}')),
	q(SELECT profstore.intern_mappings('{aa,bb}', '{/bin/x,/lib/y.so}')),
	q(SELECT profstore.intern_functions('{main,work,rest}', '{main,_work,rest}', '{m.c,m.c,r.c}', '{1,10,20}')),
	q(SELECT profstore.intern_locations('{1,1,2,2}', '{4096,4100,8192,8200}', '{1,2,1,0}', '{1,2,1,3}', '{5,12,6,0}')),
	q(SELECT profstore.intern_stacks('tool', '{1,2,3,3}', '{1, 2,1, 3,2,1, 4,2,1}')),
	# one of these makes a large segment
	q(INSERT INTO profstore.samples
		SELECT '2026-01-01Z'::timestamptz + g * interval '1 s', 1 + g % 2,
			(SELECT id FROM profstore.stacks ORDER BY id OFFSET g % 4 LIMIT 1), g % 97
		FROM generate_series(1, 100000) g),
	q(INSERT INTO profstore.samples SELECT '2026-01-02Z'::timestamptz + g * interval '1 ms', 1,
		(SELECT max(id) FROM profstore.stacks), 3 FROM generate_series(1, 10) g),
	q(INSERT INTO profstore.samples SELECT '2026-01-02 01:00Z'::timestamptz + g * interval '1 ms', 2,
		(SELECT min(id) FROM profstore.stacks), 4 FROM generate_series(1, 10) g),
	q(SELECT profstore.touch_series('{1,2}', '2026-01-01Z', '2026-01-03Z')),
	q(CREATE TABLE own (time timestamptz, series_id int4, stack_id int8, value int8, f float8) USING profstore),
	q(INSERT INTO own SELECT '2026-01-01Z', g % 5, 1, g, nullif(g, 7) / 2.0 FROM generate_series(1, 70000) g),
	q(INSERT INTO own VALUES ('2026-01-01Z', 1, 1, 1, 1)),
	q(INSERT INTO profstore.losses (time, node, reason, count) VALUES ('2026-01-01Z', 'a', 'test', 3)));
my $tables = q(
	SELECT * FROM (SELECT 'samples' AS what, md5(string_agg(s::text, ',' ORDER BY s::text)) FROM profstore.samples s
	UNION ALL SELECT 'own', md5(string_agg(o::text, ',' ORDER BY o::text)) FROM own o
	UNION ALL SELECT 'stacks', md5(string_agg(s::text, ',' ORDER BY s::text)) FROM profstore.stacks s
	UNION ALL SELECT 'frames', md5(string_agg(concat(l.id, l.mapping, l.address, l.function_ids, l.lines, f.name), ',' ORDER BY l.id, f.id))
		FROM profstore.locations l LEFT JOIN profstore.functions f ON f.id = ANY (l.function_ids)
	UNION ALL SELECT 'sums', string_agg(r::text, ',' ORDER BY r::text)
		FROM (SELECT series_id, stack_id, sum(value), count(*) FROM profstore.samples WHERE time >= '2026-01-01 06:00Z' GROUP BY 1, 2) r) t ORDER BY what);
my $cpu = q('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '2026-01-01Z', '2026-01-03Z');
my $memory = q('memory:inuse_space:bytes:space:bytes{node="b"}', '2026-01-01Z', '2026-01-03Z');
my $views = join ';', (map "SELECT * FROM profstore.$_",
	"flamegraph($cpu) ORDER BY ord", "flamegraph($memory) ORDER BY ord", "top($cpu)", "folded($cpu) ORDER BY 1",
	"stacks_of($cpu, focus => 'work') ORDER BY 1", "callers($cpu, 'work')", "callees($cpu, 'main')",
	"timeseries($cpu, '1 hour')", "timeseries($memory, '1 hour', '{node}')",
	"flamegraph('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', '2026-01-01 03:00Z', '2026-01-01 05:30Z') ORDER BY ord"),
	'SELECT series_id, profile_type, unit, delta, labels, period FROM profstore.matching_series(NULL) ORDER BY 1';

for my $database ('updated', 'fresh')
{
	for (@load)
	{
		my ($status, $out, $err) = $node->psql($database, $_);
		is("$status $err", '0 ', "$database: " . substr($_, 0, 50)) or BAIL_OUT('no samples');
	}
}
my $old_tables = $node->safe_psql('updated', $tables);
is($old_tables, $node->safe_psql('fresh', $tables), 'tables of 0.9 are read');
$node->safe_psql('updated', q(SELECT profstore.grant_write('test_collector'); SELECT profstore.grant_read('test_reader');
	GRANT EXECUTE ON FUNCTION profstore.bump_names() TO test_reader));

# --- every function of 0.9, before the update ----------------------------------------------------------------------

# Functions that show or maintain samples are refused, with any arguments; others work. (If the arguments of a function have changed, its
# example is that of the new version; the one of merge_stacks asks stacks_in() for its result; distribute() needs Citus.)
my @refused = qw(anomalies apply_retention callees callers callgraph callgraph_dot callgraph_of compact compact_in_steps cost_of cost_of_functions filtered_share
	firefox_profile flamechart flamegraph flamegraph_diff flamegraph_diff_html flamegraph_diff_of flamegraph_html flamegraph_json
	flamegraph_of flamegraph_text folded folded_of heatmap import_folded import_perf_script import_pprof last_scan
	merge_stacks pprof regressions regressions_basis remove_samples report_html sandwich selection_status source speedscope stacks_in stacks_of timeseries top top_diff top_of
	top_queries valid_filter verify);
my $examples = q(SELECT h.function || E'\t' || replace(h.example, E'\n', ' ') FROM profstore.help('.') AS h WHERE h.function NOT IN ('untrack_stacks', 'distribute'));
my %seen;
for (split /\n/, $node->safe_psql('updated', $examples))
{
	my ($function, $example) = split /\t/;
	$example =~ s/\\g .*//;
	my ($status, $out, $err) = $node->psql('updated', "\\set VERBOSITY verbose\n" . ($example =~ /^CALL/ ? $example : "BEGIN; $example"));
	$seen{$function} = 1
	  if $err =~ /ERROR:  55000: extension "profstore" is of version 0\.9, its module of version [\d.]+\nHINT:  Run ALTER EXTENSION profstore UPDATE/;
	unlike($err, qr/ERROR/, "$function of 0.9 works") unless $seen{$function};
}
is(join(' ', sort keys %seen), join(' ', @refused), 'what of 0.9 is refused');
is($node->safe_psql('updated', q(
	BEGIN;
	CREATE TABLE gone (a int4) USING profstore;
	INSERT INTO gone SELECT generate_series(1, 100000);
	TRUNCATE gone;
	INSERT INTO gone VALUES (1);
	DROP TABLE gone;
	CREATE TABLE copied USING profstore AS SELECT * FROM own;
	COMMIT;
	VACUUM FULL copied;
	SELECT count(*) FROM copied;
	DROP TABLE copied)), '70001', 'tables of 0.9 are made, emptied, rewritten and dropped');
is($node->safe_psql('updated', 'SELECT count(*) FROM profstore.segment_stats WHERE relation IS NULL'), '0', 'the view of segments works');

# --- the update ------------------------------------------------------------------------------------------------------

$node->safe_psql('updated', 'ALTER EXTENSION profstore UPDATE');
my $version = $node->safe_psql('fresh', q(SELECT extversion FROM pg_extension WHERE extname = 'profstore'));
is($node->safe_psql('updated', q(SELECT extversion FROM pg_extension WHERE extname = 'profstore')), $version, 'the version');

# Objects by catalog. Privileges of roles that got grants from users are left out; initial privileges are included.
my $members = q((SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'profstore'));
my $relations = "(SELECT m.objid AS oid FROM $members m WHERE m.classid = 'pg_class'::regclass)";
my $routines = "(SELECT m.objid AS oid FROM $members m WHERE m.classid = 'pg_proc'::regclass)";
sub acl
{
	my ($privileges, $kind, $owner) = @_;
	$privileges = "coalesce($privileges, acldefault($kind, $owner))" if defined $kind;
	return "regexp_replace($privileges\::text, ',?test_(collector|reader)=[^,}]*', '', 'g')";
}
my %catalog = (
	'members' => "SELECT pg_describe_object(m.classid, m.objid, 0) FROM $members m",
	'schema' => 'SELECT ' . acl('n.nspacl', q('n'), 'n.nspowner') . q(, obj_description(n.oid, 'pg_namespace') FROM pg_namespace n WHERE n.nspname = 'profstore'),
	'functions' => "SELECT pg_get_functiondef(p.oid), p.proowner::regrole FROM pg_proc p JOIN $routines r USING (oid) WHERE p.prokind <> 'a'",
	'privileges of functions' => 'SELECT p.oid::regprocedure, ' . acl('p.proacl', q('f'), 'p.proowner') . " FROM pg_proc p JOIN $routines r USING (oid)",
	'comments' => "SELECT pg_describe_object(c.classoid, c.objoid, c.objsubid), c.description FROM pg_description c JOIN $members m ON (m.classid, m.objid) = (c.classoid, c.objoid)",
	# The names of triggers of foreign keys contain a number of this database; the foreign keys themselves are compared as constraints.
	'comments of triggers' => "SELECT t.tgname, obj_description(t.oid, 'pg_trigger') FROM pg_trigger t JOIN $relations r ON r.oid = t.tgrelid WHERE NOT t.tgisinternal",
	'aggregates' => "SELECT p.oid::regprocedure, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), p.proparallel, to_jsonb(a) - 'aggfnoid'
		FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid JOIN $routines r ON r.oid = p.oid",
	'relations' => q(SELECT c.oid::regclass, c.relkind, c.relpersistence, c.relowner::regrole, m.amname, c.reloptions, t.reloptions, c.relreplident,
		c.relrowsecurity, pg_get_partkeydef(c.oid), ) . acl('c.relacl', q(CASE c.relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END), 'c.relowner') . " FROM pg_class c JOIN $relations r USING (oid)
		LEFT JOIN pg_class t ON t.oid = c.reltoastrelid LEFT JOIN pg_am m ON m.oid = c.relam",
	# this server's build adds an option "pg_attver" to columns, with a number that differs after every CREATE
	'columns' => q(SELECT a.attrelid::regclass, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage, a.attcompression,
		a.attstattarget, ARRAY(SELECT o FROM unnest(a.attoptions) o WHERE o !~ '^pg_attver='), a.attidentity, a.attgenerated,
		a.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid), ) . acl(q(coalesce(a.attacl, '{}'))) . "
		FROM pg_attribute a JOIN $relations r ON r.oid = a.attrelid LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)",
	'views' => "SELECT c.oid::regclass, pg_get_viewdef(c.oid) FROM pg_class c JOIN $relations r USING (oid) WHERE c.relkind = 'v'",
	'sequences' => "SELECT to_jsonb(s) - 'seqrelid', s.seqrelid::regclass FROM pg_sequence s JOIN $relations r ON r.oid = s.seqrelid",
	'constraints' => "SELECT c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid) FROM pg_constraint c JOIN $relations r ON r.oid = c.conrelid",
	'indexes' => "SELECT pg_get_indexdef(i.indexrelid), i.indisprimary FROM pg_index i JOIN $relations r ON r.oid = i.indrelid",
	'triggers' => "SELECT pg_get_triggerdef(t.oid), t.tgenabled FROM pg_trigger t JOIN $relations r ON r.oid = t.tgrelid WHERE NOT t.tgisinternal",
	'policies' => "SELECT p.polrelid::regclass, p.polname, p.polpermissive, p.polcmd, p.polroles, pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)
		FROM pg_policy p JOIN $relations r ON r.oid = p.polrelid",
	'event triggers' => 'SELECT evtname, evtevent, evtenabled, evttags, evtfoid::regproc FROM pg_event_trigger',
	'types' => "SELECT t.oid::regtype, t.typtype, t.typlen, t.typbyval, t.typstorage, t.typalign, t.typinput, t.typoutput, t.typreceive, t.typsend,
		t.typarray::regtype, t.typacl FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = 'profstore' AND t.typname !~ 'samples_2'",
	'operators' => "SELECT o.oid::regoperator, o.oprcode FROM pg_operator o WHERE o.oprnamespace = 'profstore'::regnamespace",
	'casts' => "SELECT c.castsource::regtype, c.casttarget::regtype, c.castfunc::regproc, c.castcontext FROM pg_cast c JOIN $members m ON m.objid = c.oid",
	'configuration' => "SELECT c.relation::regclass, c.condition FROM pg_extension e, unnest(e.extconfig, e.extcondition) c(relation, condition) WHERE e.extname = 'profstore'",
	'initial privileges' => "SELECT pg_describe_object(i.classoid, i.objoid, i.objsubid), i.privtype, i.initprivs FROM pg_init_privs i JOIN $members m ON (m.classid, m.objid) = (i.classoid, i.objoid)");
for my $kind (sort keys %catalog)
{
	my ($updated, $fresh) = map { $node->safe_psql($_, "SELECT x::text FROM ($catalog{$kind}) x ORDER BY 1") } ('updated', 'fresh');
	is($updated, $fresh, "the same $kind");
	cmp_ok(length $fresh, '>', 0, "there are $kind") unless $kind eq 'operators' || $kind eq 'casts';
}

# --- old samples -----------------------------------------------------------------------------------------------------

my $answers = $node->safe_psql('fresh', $views);
is($node->safe_psql('updated', $tables), $old_tables, 'the same rows as before');
is($node->safe_psql('updated', $views), $answers, 'the same answers as from a new database');
is($node->safe_psql('updated', q(SELECT * FROM profstore.verify(); SELECT * FROM profstore.verify('own'))), '', 'nothing is damaged');
$node->safe_psql('updated', q(SELECT profstore.compact(); SELECT profstore.compact('own')));
is($node->safe_psql('updated', $views), $answers, 'the same answers after compaction');
is($node->safe_psql('updated', $tables), $old_tables, 'the same rows after compaction');
is($node->safe_psql('updated', q(SELECT * FROM profstore.verify())), '', 'sums over old segments are right');
cmp_ok($node->safe_psql('updated', q(SELECT sum(summary_bytes) FROM profstore.segment_stats)), '>', 0, 'old segments have sums now');
is($node->safe_psql('updated', q(SELECT sum(removed), sum(condemned) FROM profstore.collect_dictionary('0'))), '0|0',
	'all of the old dictionary is referred to');
$node->safe_psql('updated', $load[$_]) for 1 .. 6, 8;
is($node->safe_psql('updated', q(SELECT count(*) FROM profstore.stacks)), '4', 'what is stored is found again');

# Policies from before the update are in a dump as well.
$node->safe_psql('postgres', 'CREATE DATABASE narrowed');
$node->safe_psql('narrowed', q(CREATE EXTENSION profstore VERSION '0.9'; ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
	CREATE POLICY old ON profstore.series TO test_reader USING (false); ALTER EXTENSION profstore UPDATE));
my ($dump) = run_command([ 'pg_dump', $node->connstr('narrowed') ]);
like($dump, qr/^series\told\tCREATE POLICY old ON profstore.series /m, 'a policy of 0.9 is dumped');

# --- a dump of the updated database ----------------------------------------------------------------------------------

my $file = PostgreSQL::Test::Utils::tempdir() . '/dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $file, $node->connstr('updated') ], 'dump');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), $file ], 'restore');
is($node->safe_psql('restored', $tables), $node->safe_psql('updated', $tables), 'the same rows in a restored database');
is($node->safe_psql('restored', $views), $node->safe_psql('updated', $views), 'the same answers from a restored database');
my $grants = q(SELECT has_function_privilege('test_collector', 'profstore.intern_stacks(text, int4[], int4[])', 'EXECUTE'),
	has_function_privilege('test_collector', 'profstore.begin_batch(uuid, int8, int8)', 'EXECUTE'),
	has_function_privilege('test_reader', 'profstore.bump_names()', 'EXECUTE'),
	has_table_privilege('test_collector', 'profstore.samples', 'INSERT'),
	has_table_privilege('test_reader', 'profstore.stack_chunks', 'SELECT'));
is($node->safe_psql('updated', $grants), 't|t|t|t|t', "the users' grants stay");
is($node->safe_psql('restored', $grants), 't|t|t|t|t', "the users' grants are dumped");

# --- another build of this version -----------------------------------------------------------------------------------

my $hash = $node->safe_psql('fresh', q(SELECT prosrc FROM pg_proc WHERE oid = 'profstore_internal.script_hash()'::regprocedure));
like($hash, qr/^SELECT '[0-9a-f]{32}'$/, 'the script knows its hash');
sub pretend_script { $node->safe_psql('fresh', "UPDATE pg_proc SET prosrc = \$\$$_[0]\$\$ WHERE oid = 'profstore_internal.script_hash()'::regprocedure") }
pretend_script("SELECT 'other'");
my ($status, undef, $err) = $node->psql('fresh', "\\set VERBOSITY verbose\nSELECT * FROM profstore.top('process_cpu:cpu')");
like($err, qr/ERROR:  55000: extension "profstore" and its module are of two builds of version [\d.]+\nDETAIL:  Update scripts lead from release to release only\.\n/,
	'a module of another build says so');
like($node->safe_psql('fresh', 'SELECT profstore.version()'), qr/^profstore [\d.]+ \((commit [0-9a-f]{12}\+?, )?PostgreSQL \d+\)$/, 'the version says which build');
pretend_script($hash);
is(($node->psql('fresh', "SELECT count(*) FROM profstore.top('process_cpu:cpu')"))[0], 0, 'the script of the module is served');
$node->stop;
done_testing();
