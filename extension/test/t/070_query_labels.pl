# The labels by which the agent knows the running query: right at each moment, whatever runs inside, fails, or runs in workers.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('query_labels');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'profstore, pg_stat_statements'\nprofstore.query_labels = on\nprofstore.compaction = off\n"
	. "pg_stat_statements.track = all\nmax_parallel_workers = 4\nmax_worker_processes = 12\nmax_prepared_transactions = 1\n");
$node->start;
$node->safe_psql('postgres', q(
	CREATE EXTENSION profstore;
	CREATE EXTENSION pg_stat_statements;
	CREATE FUNCTION published_labels() RETURNS jsonb LANGUAGE c PARALLEL SAFE AS 'profstore_test';
	-- the query id in the labels; NULL if there is none
	CREATE FUNCTION published() RETURNS int8 LANGUAGE sql VOLATILE PARALLEL SAFE AS $$ SELECT ('x' || (published_labels() ->> 'span_id'))::bit(64)::int8 $$;
	CREATE FUNCTION shown() RETURNS int8 LANGUAGE sql VOLATILE AS $$ SELECT query_id FROM pg_stat_activity WHERE pid = pg_backend_pid() $$;
	CREATE FUNCTION published_inside() RETURNS int8 LANGUAGE plpgsql VOLATILE AS $$
	DECLARE
		found int8;
	BEGIN
		EXECUTE 'SELECT 1/0';
	EXCEPTION WHEN division_by_zero THEN
		EXECUTE 'SELECT published() AS inner_query' INTO found;
		RETURN found;
	END $$;
	CREATE TABLE seen (name text, id int8, expected int8);
	CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (TG_ARGV[0], published(), shown()); RETURN NULL; END $$;
	CREATE TABLE triggering (i int);
	CREATE TRIGGER after_row AFTER INSERT ON triggering FOR EACH ROW EXECUTE FUNCTION see('after');
	CREATE CONSTRAINT TRIGGER deferred AFTER INSERT ON triggering DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION see('deferred');
	CREATE FUNCTION see_in_loop() RETURNS trigger LANGUAGE plpgsql AS $$
	DECLARE
		found record;
	BEGIN
		FOR found IN SELECT published() AS id LOOP
			INSERT INTO seen VALUES (TG_ARGV[0], found.id, shown());
		END LOOP;
		INSERT INTO seen VALUES (TG_ARGV[0], published(), shown());
		RETURN NULL;
	END $$;
	CREATE TABLE looping (i int);
	CREATE CONSTRAINT TRIGGER looping AFTER INSERT ON looping DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION see_in_loop('loop');
	-- the query id while the query is planned
	CREATE FUNCTION planned() RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN published(); END $$;
	-- runs when a parameter is read, outside of statements
	CREATE FUNCTION see_input(i int) RETURNS bool LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE 'INSERT INTO seen VALUES (''input'', published(), 1)';
		EXECUTE 'INSERT INTO seen VALUES (''input'', published(), 1 + 1)';
		RETURN true;
	END $$;
	CREATE DOMAIN input AS int CHECK (see_input(VALUE));
	CREATE TABLE numbers AS SELECT generate_series(1, 20000) AS i;
	ANALYZE numbers;
	CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$ BEGIN COMMIT; INSERT INTO seen VALUES ('procedure', published(), shown()); END $$;
	CREATE ROLE regress_web LOGIN;
	GRANT ALL ON seen, numbers TO regress_web;
	CREATE FUNCTION roles_in_workers() RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER AS $$
	BEGIN
		RETURN QUERY SELECT min(published_labels() ->> 'role') || ' ' || max(published_labels() ->> 'role') FROM numbers;
	END $$;
	ALTER FUNCTION roles_in_workers() OWNER TO regress_web;
));

# the last line that a session with these statements prints
sub last_line { my (@statements) = @_; return (split /\n/, $node->safe_psql('postgres', join("\n", map { /\\gset/ ? $_ : "$_;" } @statements)))[-1]; }
my $right = 'SELECT published() = shown()';

my $identifier = $node->safe_psql('postgres', 'SELECT system_identifier FROM pg_control_system()');
is($node->safe_psql('postgres', q(SELECT published_labels() - 'span_id')),
	sprintf('{"role": "%s", "database": "postgres", "trace_id": "7067717565727900%016x"}', $node->safe_psql('postgres', 'SELECT current_user'), $identifier),
	'database, role, and the server as a trace');
is(last_line($right), 't', 'the query id of pg_stat_activity');
is(last_line('SELECT published_inside() = shown()'), 't', 'what a function runs counts for the statement of the client, also after an error inside');
is(last_line('BEGIN', 'SAVEPOINT s', 'SELECT 1', 'ROLLBACK TO s', $right, 'COMMIT'), 't', 'after a savepoint was rolled back');
$node->psql('postgres', "SELECT 1/0;\nDO \$\$ BEGIN RAISE 'no'; END \$\$;\nBEGIN; SELECT 1/0; SELECT 2; ROLLBACK;\nINSERT INTO seen SELECT 'after errors', published(), shown()", on_error_stop => 0);
is($node->safe_psql('postgres', q(SELECT id = expected FROM seen WHERE name = 'after errors')), 't', 'after statements that failed');
$node->psql('postgres', "BEGIN;\nSELECT 1/0;\nROLLBACK;\nINSERT INTO seen SELECT 'after a failed block', planned(), shown()", on_error_stop => 0);
is($node->safe_psql('postgres', q(SELECT id = expected FROM seen WHERE name = 'after a failed block')), 't', 'after the end of a transaction that failed');
$node->psql('postgres', join(";\n", 'SET profstore.query_labels = off', 'BEGIN', 'SET LOCAL ROLE regress_web', 'ROLLBACK', 'SET profstore.query_labels = on', 'BEGIN', 'LOCK TABLE pg_authid', q(PREPARE TRANSACTION 'locked'),
	q(SET lock_timeout = '10ms'), 'BEGIN', 'SET LOCAL ROLE regress_web', 'SELECT 1', 'ROLLBACK', q(ROLLBACK PREPARED 'locked'), q(INSERT INTO seen SELECT 'after a failed lookup', published(), shown())), on_error_stop => 0, stderr => \my $lookup);
like($lookup, qr/lock timeout/, 'the lookup of a role name fails');
is($node->safe_psql('postgres', q(SELECT id = expected FROM seen WHERE name = 'after a failed lookup')), 't', 'after a lookup that failed');
is(last_line('PREPARE p AS SELECT published() AS other', 'SELECT published() AS other \gset', 'SELECT :other AS id \gset', 'EXECUTE p \gset', 'SELECT :id = :other'), 't',
	'EXECUTE has the id of the statement that it executes');
is(last_line('BEGIN', "DECLARE c CURSOR FOR $right FROM generate_series(1, 3)", 'FETCH c', 'COMMIT'), 't', 'FETCH of a cursor');

# triggers and the commit belong to the statement
$node->safe_psql('postgres', 'INSERT INTO triggering VALUES (1)');
is($node->safe_psql('postgres', q(SELECT name, id = expected FROM seen WHERE name IN ('after', 'deferred') ORDER BY 1)), "after|t\ndeferred|t", 'triggers, also at the commit');
$node->safe_psql('postgres', $_) for 'INSERT INTO looping VALUES (1)', "BEGIN;\nINSERT INTO looping VALUES (1);\nCOMMIT";
is($node->safe_psql('postgres', q(SELECT count(*), bool_and(id = expected), count(DISTINCT id) FROM seen WHERE name = 'loop')), '4|t|2', 'cursors of triggers at the commit, which is one of the statement or of COMMIT');
$node->safe_psql('postgres', 'CALL commits()');
is($node->safe_psql('postgres', q(SELECT id = expected FROM seen WHERE name = 'procedure')), 't', 'a procedure that commits');

# parallel workers; also of plans that were made before the query id was known (extended protocol)
my @parallel = ('SET parallel_setup_cost = 0', 'SET parallel_tuple_cost = 0', 'SET min_parallel_table_scan_size = 0', 'SET parallel_leader_participation = off', 'SET max_parallel_workers_per_gather = 2');
my $in_workers = 'WITH w AS MATERIALIZED (SELECT min(published()) AS low, max(published()) AS high FROM numbers) SELECT low, high, published() AS own FROM w';
like($node->safe_psql('postgres', join(";\n", @parallel, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $in_workers")), qr/Workers Launched: [12]\b.*Partial Aggregate/s, 'workers run the function');
is(last_line(@parallel, "$in_workers \\gset", 'SELECT :low = :own AND :high = :own'), 't', 'parallel workers have the id of their leader');
is(last_line(@parallel, q(SELECT roles_in_workers() = current_user || ' ' || current_user)), 't', 'and the role of the client, also inside a function of another role');
my $script = PostgreSQL::Test::Utils::tempdir() . '/script';
append_to_file($script, join(";\n", @parallel) . ";\n$in_workers \\gset\nINSERT INTO seen VALUES ('prepared', :low, :own), ('prepared', :high, :own);\n");
$node->command_ok([ 'pgbench', '-n', '-M', 'prepared', '-t', '5', '-f', $script, 'postgres' ], 'prepared statements by the extended protocol');
is($node->safe_psql('postgres', q(SELECT count(*), bool_and(id = expected), count(DISTINCT id) FROM seen WHERE name = 'prepared')), '10|t|1', 'their workers have it, too');

# statements that run outside of a client's, as in background workers
my $input = PostgreSQL::Test::Utils::tempdir() . '/input';
append_to_file($input, "\\set i 1\nSELECT :i::input;\n");
$node->command_ok([ 'pgbench', '-n', '-M', 'extended', '-t', '1', '-f', $input, 'postgres' ], 'a parameter whose input runs statements');
is($node->safe_psql('postgres', q(SELECT count(DISTINCT id) FROM seen WHERE name = 'input')), '2', 'each has its own id');

# a client that does not wait for answers sends the next statement before the transaction of the last ends
my $pipeline = PostgreSQL::Test::Utils::tempdir() . '/pipeline';
append_to_file($pipeline, "\\startpipeline\nSELECT 1;\nINSERT INTO seen SELECT 'pipeline', planned(), published();\n\\endpipeline\n");
$node->command_ok([ 'pgbench', '-n', '-M', 'extended', '-t', '1', '-f', $pipeline, 'postgres' ], 'two statements in a pipeline');
is($node->safe_psql('postgres', q(SELECT count(*), bool_and(id = expected) FROM seen WHERE name = 'pipeline')), '1|t', 'the planning of the second counts for it');

# roles; the setting is the superuser's
is(last_line('SET ROLE regress_web', q(SELECT published_labels() ->> 'role')), 'regress_web', 'the current role');
is(last_line('SET ROLE regress_web', 'SELECT 1', 'RESET ROLE', q(SELECT published_labels() ->> 'role' = current_user)), 't', 'and the one after it');
is(last_line('SET profstore.query_labels = off', 'SELECT published_labels() IS NULL'), 't', 'switched off for a session');
is(last_line('SET profstore.query_labels = off', 'SELECT 1', 'SET profstore.query_labels = on', $right), 't', 'and on again');
my ($code, $output, $errors) = $node->psql('postgres', 'SET ROLE regress_web; SET profstore.query_labels = off');
like($errors, qr/permission denied to set parameter "profstore.query_labels"/, 'others may not switch it off');
is(last_line('SET compute_query_id = off', q(SELECT published_labels() - 'role')), '{"database": "postgres"}', 'without query ids, database and role alone');

# calls are those of clients, as CPU time is; without the right to read them there are none
$node->safe_psql('postgres', "SELECT pg_stat_statements_reset();\nSELECT count(*) FROM triggering;\nDO \$\$ DECLARE n int8; BEGIN EXECUTE 'SELECT count(*) FROM triggering' INTO n; END \$\$");
is($node->safe_psql('postgres', q(SELECT count(*), count(DISTINCT queryid) FROM pg_stat_statements WHERE query = 'SELECT count(*) FROM triggering')), '2|1', 'a statement of a client, and of a function');
$node->safe_psql('postgres', q(
	SELECT profstore.import_folded('main;query 10', jsonb_build_object('__name__', 'queries', 'database', current_database(), 'role', current_user), '2026-01-01 10:00Z');
	SELECT profstore.keep_traces(ARRAY[x.time], ARRAY[x.series_id], ARRAY[x.stack_id], ARRAY[x.value], ARRAY[(l ->> 'trace_id')::uuid], ARRAY[int8send(s.queryid)])
	FROM profstore.samples AS x, published_labels() AS l, pg_stat_statements AS s WHERE s.query = 'SELECT count(*) FROM triggering' AND s.toplevel;
	SELECT profstore.grant_read('regress_web');
));
my $queries = q(SELECT value, calls, query FROM profstore.top_queries('queries', '2026-01-01Z', '2026-01-02Z'));
is($node->safe_psql('postgres', $queries), '10|1|SELECT count(*) FROM triggering', 'calls of clients');
$node->safe_psql('postgres', 'REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC');
is(last_line('SET ROLE regress_web', $queries), '10||', 'for a role that may not read the system identifier');

# the ids of pg_stat_statements, whichever module is loaded first
for my $libraries ('pg_stat_statements, profstore', 'profstore, pg_stat_statements')
{
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'\n");
	$node->restart;
	$node->safe_psql('postgres', "SELECT pg_stat_statements_reset();\nDROP TABLE IF EXISTS made, copied;\nCREATE TABLE copied (id int8)");
	$node->safe_psql('postgres', 'CREATE TABLE made AS SELECT published() AS id');
	$node->safe_psql('postgres', "PREPARE p AS INSERT INTO copied SELECT published();\nEXECUTE p");
	is($node->safe_psql('postgres', q(SELECT s.query FROM made AS m JOIN pg_stat_statements AS s ON s.queryid = m.id AND s.toplevel)), 'CREATE TABLE made AS SELECT published() AS id', "$libraries: a utility statement");
	is($node->safe_psql('postgres', q(SELECT s.query FROM copied AS m JOIN pg_stat_statements AS s ON s.queryid = m.id AND s.toplevel)), 'PREPARE p AS INSERT INTO copied SELECT published()', "$libraries: a prepared one");
}
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\nsession_preload_libraries = 'profstore'\ncompute_query_id = auto\n");
$node->restart;
is($node->safe_psql('postgres', $right), 't', 'loaded by each session');
$node->append_conf('postgresql.conf', "session_preload_libraries = ''\nprofstore.query_labels = off\n");
$node->restart;
is($node->safe_psql('postgres', 'SELECT published_labels() IS NULL, shown()'), 't|', 'while it is off the server computes no ids for it');
$node->stop;
done_testing();
