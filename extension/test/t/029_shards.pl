# Samples in shards on two other servers, without Citus: queries answer as on one server.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Shards qw(answers differences double_servers);

my ($expected, $coordinator, @nodes) = double_servers();
unlike(join("\n", %$expected), qr/ERROR/, 'every query has an answer');
cmp_ok(scalar(grep { !/^0\|/ } values %$expected), '>', 50, 'most have rows') or diag(explain($expected));

# functions that count rows by SQL can find the shards only with Citus
delete @$expected{ grep { /^(stored_rows|report_html)/ } keys %$expected };
my $got = answers($coordinator, 'postgres');
is(differences($expected, $got), '', keys(%$expected) . ' queries answer as on one server');

# a reader needs no role on the nodes, and sees the series of its selector
$coordinator->safe_psql('postgres', q(CREATE ROLE tenant LOGIN; SELECT profstore.grant_read('tenant', '{service="s1"}')));
is($coordinator->safe_psql('postgres', q(SET ROLE tenant; SELECT sum(self) FROM profstore.top('process_cpu:cpu', '2026-01-01', '2026-01-03'))),
	$coordinator->safe_psql('postgres', q(SELECT sum(self) FROM profstore.top('process_cpu:cpu{service="s1"}', '2026-01-01', '2026-01-03'))),
	'a tenant sees its series');
isnt($coordinator->safe_psql('postgres', q(SELECT count(*) FROM profstore.top('process_cpu:cpu{service="s1"}', '2026-01-01', '2026-01-03'))), 0, 'which have samples');

# a node that is down causes an error, not an incomplete answer
$nodes[1]->stop('immediate');
my ($status, $out, $err) = $coordinator->psql('postgres', q(SELECT count(*) FROM profstore.top('process_cpu:cpu', '2026-01-01', '2026-01-03')));
is($status, 3, 'without one node there is no answer');
$nodes[1]->start;
is(differences($expected, answers($coordinator, 'postgres')), '', 'queries answer again');

# stacks that are stored after the nodes have listed those of the selection: they are missing from the list, and no filter matches them
my $heatmap = q(SELECT count(*) > 0 FROM profstore.heatmap('process_cpu:cpu', '2026-01-02', '2026-01-04', '1 hour', focus => '%s'));
is($coordinator->safe_psql('postgres', sprintf($heatmap, 'f7')), 't', 'a filter lets stacks pass');
my $definition = $coordinator->safe_psql('postgres', q(SELECT pg_get_functiondef('profstore_internal.node_rows'::regproc)));
(my $late = $definition) =~ s/AS d \(block bytea\)/$& WHERE get_byte(request, 1) <> 4/ or die $definition;
$coordinator->safe_psql('postgres', $late);
is($coordinator->safe_psql('postgres', sprintf($heatmap, 'nothing')), 'f', 'stacks that were stored later are not counted unfiltered');
$coordinator->safe_psql('postgres', $definition);

# requests that no coordinator sends
my $ask = "profstore_internal.node_rows(1, %s, '{1}', '{profstore.samples_0}', '{profstore.samples_minute_0}', '{profstore.samples_hour_0}')";
($status, $out, $err) = $nodes[0]->psql('postgres', '\set VERBOSITY verbose' . "\nSELECT " . sprintf($ask, q('\x03')));
like($err, qr/55000: the coordinator asks for samples by protocol 3, this node answers by 2/, 'another protocol is refused');
is($nodes[0]->safe_psql('postgres', qq(
	CREATE FUNCTION outcome(request bytea) RETURNS text LANGUAGE plpgsql AS \$\$
	BEGIN
		PERFORM ) . sprintf($ask, 'request') . q(;
		RETURN 'rows';
	EXCEPTION WHEN invalid_binary_representation OR object_not_in_prerequisite_state THEN
		RETURN 'refused';
	END $$;
	WITH whole AS (SELECT '\x020c01010080e0d2c1a49bfd0403020101'::bytea AS request),
		changed AS
			(SELECT set_byte(w.request, i, v) AS request FROM whole AS w, generate_series(0, length(w.request) - 1) AS i, generate_series(0, 255) AS v
			 UNION ALL SELECT substr(w.request, 1, i) FROM whole AS w, generate_series(0, length(w.request)) AS i)
	SELECT count(*) > 4000, count(*) FILTER (WHERE o.outcome = 'refused') > 1000, count(DISTINCT o.outcome)
	FROM changed AS c, outcome(c.request) AS o (outcome))), 't|t|2', 'every changed or shortened request is answered or refused');

# values are divided by what divides all of them: sums of CPU time take as many bytes as the counts of samples would
$nodes[0]->safe_psql('postgres', q(CREATE TABLE periods (LIKE profstore.samples) USING profstore;
	INSERT INTO periods SELECT '2000-01-02', 1, i, (i % 60 - 30) * 52631579 FROM generate_series(1, 1000) AS i;
	CREATE TABLE limits (LIKE profstore.samples) USING profstore;
	INSERT INTO limits SELECT '2000-01-02', 1, i, (-9223372036854775808)::int8 + i * 0 FROM generate_series(1, 1000) AS i));
my $length = q(SELECT sum(length(b)) FROM profstore_internal.node_rows(1, '\x020c01010080e0d2c1a49bfd0403020101', '{1}', '{%s}', '{profstore.samples_minute_0}', '{profstore.samples_hour_0}') AS b WHERE get_byte(b, 0) = 1);
is($nodes[0]->safe_psql('postgres', sprintf($length, 'periods')), 4 + 1000 + 4 + 1000, 'sums of a profile type with a period are short');
is($nodes[0]->safe_psql('postgres', sprintf($length, 'limits')), 4 + 1000 + 10 + 1000, 'also the least number');

# answers that no node sends, to all requests except those for the ends of tiers
$coordinator->safe_psql('postgres', q(CREATE TABLE answer (block bytea);
	CREATE OR REPLACE FUNCTION profstore_internal.node_rows(key int4, request bytea, keys int4[], samples text[], minutes text[], hours text[]) RETURNS SETOF bytea
		LANGUAGE sql STABLE AS $$SELECT CASE WHEN get_byte(request, 1) = 0 THEN '\x040901000100' ELSE block END FROM public.answer LIMIT 1$$));
is($coordinator->safe_psql('postgres', q(
	CREATE FUNCTION outcome(new bytea, call text DEFAULT $$top('process_cpu:cpu', '2026-01-02', '2026-01-03')$$) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		DELETE FROM answer;
		INSERT INTO answer VALUES (new);
		EXECUTE 'SELECT count(*) FROM profstore.' || call;
		RETURN 'rows';
	EXCEPTION WHEN data_corrupted OR invalid_binary_representation THEN
		RETURN 'refused';
	END $$;
	WITH whole AS (SELECT '\x010c020204010406'::bytea AS block),
		changed AS
			(SELECT set_byte(w.block, i, v) AS block FROM whole AS w, generate_series(0, length(w.block) - 1) AS i, generate_series(0, 255, 3) AS v
			 UNION ALL SELECT substr(w.block, 1, i) FROM whole AS w, generate_series(0, length(w.block)) AS i)
	SELECT count(*) > 500, count(*) FILTER (WHERE o.outcome = 'refused') > 100, count(DISTINCT o.outcome) FROM changed AS c, outcome(c.block) AS o (outcome))), 't|t|2',
	'every changed or shortened answer is read or refused');
is($coordinator->safe_psql('postgres', 'SELECT outcome(NULL)'), 'refused', 'so is an answer that is null');

# one row of each kind with each set of columns is accepted only if it has the requested columns
$coordinator->safe_psql('postgres', q(
	CREATE FUNCTION signed_varint(number int8) RETURNS bytea LANGUAGE plpgsql AS $$
	DECLARE
		rest int8 := number * 2;
		bytes bytea := '';
	BEGIN
		WHILE rest > 127 LOOP
			bytes := bytes || set_byte('\x00', 0, ((rest & 127) | 128)::int);
			rest := rest >> 7;
		END LOOP;
		RETURN bytes || set_byte('\x00', 0, rest::int);
	END $$;
	CREATE FUNCTION answer_of(kind int, columns int, at timestamptz, series int) RETURNS bytea LANGUAGE sql AS $$
		SELECT set_byte(set_byte('\x000001', 0, kind), 1, columns)
			|| CASE WHEN columns & 1 > 0 THEN signed_varint((extract(epoch FROM at - '2000-01-01 00:00+00'::timestamptz) * 1000000)::int8) ELSE '' END
			|| CASE WHEN columns & 2 > 0 THEN signed_varint(series) ELSE '' END
			|| CASE WHEN columns & 4 > 0 THEN '\x00'::bytea ELSE '' END
			|| CASE WHEN columns & 8 > 0 THEN '\x0102'::bytea ELSE '' END $$));
my $day = "'2026-01-02', '2026-01-03'";
for my $case (["top('process_cpu:cpu', $day)", '1:12 2:12'],
	["timeseries('memory:inuse_space', $day, step => '1 hour')", '1:11 2:11 3:11'], ["flamechart('process_cpu:cpu', $day)", '1:15 2:15'],
	["heatmap('process_cpu:cpu', $day, '1 hour')", '1:11 2:11'], ["heatmap('process_cpu:cpu', $day, '1 hour', focus => 'f7')", ''])
{
	my ($call, $expected_blocks) = @$case;
	my ($type) = $call =~ /'([^']*)'/;
	my $read = sub {
		my ($at, $series) = @_;
		return $coordinator->safe_psql('postgres', qq(SET timezone = 'UTC';
			SELECT string_agg(kind || ':' || columns, ' ' ORDER BY kind, columns) FROM generate_series(1, 4) AS kind, generate_series(0, 15) AS columns
			WHERE outcome(answer_of(kind, columns, '$at', $series), \$call\$$call\$call\$) = 'rows'));
	};
	my $series = $coordinator->safe_psql('postgres',
		"SELECT min(s.id) FROM profstore.series AS s JOIN profstore.profile_types AS t ON t.id = s.profile_type WHERE concat(t.name, ':', t.sample_type) = '$type'");
	is($read->('2026-01-02 02:00', $series), $expected_blocks, "$call reads answers that have the columns of the request");
	next if $expected_blocks !~ /:1[15]/;
	is($read->('2026-01-02 02:00', 999999999), '', 'but not with a series that it did not ask for');
	is($read->($_, $series), '', "nor with the time $_") for '2026-01-01 23:59:59', '2026-01-03 00:00';
}

done_testing();
