# Sessions that intern random stacks into one partition at the same time, with savepoints and rollbacks: every committed id
# resolves to the frames that were passed for it.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{PFS_SEED} // time;
note "seed $seed (set PFS_SEED to repeat it)";

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\nwal_writer_delay = 10s\nmax_prepared_transactions = 10");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION profstore;
	SELECT profstore.intern_functions(array_agg('f' || g), array_agg('f' || g), array_agg('f.c'::text), array_agg(g)) FROM generate_series(1, 9) AS g;
	SELECT profstore.intern_locations(array_agg(0), array_agg(0), array_agg(1), array_agg(g), array_agg(0)) FROM generate_series(1, 9) AS g;
	SELECT profstore.intern_stacks('exe', '{1}', '{1}');
	CREATE TABLE given (id int8, frames int4[]);

	-- some stacks of up to ten frames out of nine locations, leaf first; remembered with the ids that they got
	CREATE FUNCTION intern(seed int8) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		depths int4[] := array(SELECT abs(hashint8(seed * 31 + s)) % 11 FROM generate_series(1, 5) AS s);
		frames int4[] := array(SELECT 1 + abs(hashint8(seed * 97 + f)) % (1 + f % 9) FROM generate_series(1, 55) AS f);
		total int4 := (SELECT sum(d) FROM unnest(depths) AS d);
		ids int8[] := profstore.intern_stacks('exe', depths, frames[1:total]);
		at int4 := 0;
	BEGIN
		FOR s IN 1 .. 5 LOOP
			INSERT INTO given VALUES (ids[s], frames[at + 1 : at + depths[s]]);
			at := at + depths[s];
		END LOOP;
	END
	$$;
});

$node->pgbench(
	"--no-vacuum --client=6 --transactions=150 --random-seed=$seed",
	0,
	[qr{processed: 900/900}],
	[],
	'six sessions intern',
	{
		'021_intern_concurrent' => q{
			\set one random(1, 1000000)
			\set two random(1, 1000000)
			\set three random(1, 1000000)
			\set dice random(1, 8)
			BEGIN;
			SELECT intern(:one);
			SAVEPOINT s;
			SELECT intern(:two);
			\if :dice < 4
			ROLLBACK TO SAVEPOINT s;
			\endif
			SELECT intern(:three);
			\if :dice = 1
			ROLLBACK;
			\elif :dice = 8
			PREPARE TRANSACTION 'client:client_id';
			COMMIT PREPARED 'client:client_id';
			\else
			COMMIT;
			\endif
		}
	});

my $checks = q{
	SELECT count(*) = 0 FROM profstore.stacks WHERE parent >= id;
	SELECT count(*) = count(DISTINCT id) FROM profstore.stacks;
	WITH RECURSIVE tree AS MATERIALIZED (SELECT * FROM profstore.stacks),
	walk AS (
		SELECT DISTINCT g.id AS leaf, g.id AS at, '{}'::int4[] AS frames FROM given AS g
		UNION ALL
		SELECT w.leaf, t.parent, w.frames || t.location FROM walk AS w JOIN tree AS t ON t.id = w.at)
	SELECT count(*) > 1000 AND count(*) = (SELECT count(*) FROM given) AND bool_and(w.frames = g.frames)
	FROM given AS g JOIN walk AS w ON w.leaf = g.id AND w.at = 0;
};
is($node->safe_psql('postgres', $checks), "t\nt\nt", 'every id resolves to its frames');

# Known stacks are found again, in whatever order chunks were stored: nothing is added.
my $again = q{
	SELECT count(*) AS nodes FROM profstore.stacks \gset
	SELECT count(*) FROM (SELECT profstore.intern_stacks('exe', array[cardinality(frames)], frames) FROM (SELECT DISTINCT frames FROM given) AS d) AS i;
	SELECT count(*) = :nodes FROM profstore.stacks;
};
like($node->safe_psql('postgres', $again), qr/\nt$/, 'a fresh session knows them all');

# Committed stacks survive a crash, even with synchronous_commit = off, because writers remember their ids.
my $id = $node->safe_psql('postgres', q{SET synchronous_commit = off; SELECT (profstore.intern_stacks('new', '{2}', '{1,2}'))[1]});
my $name = $node->safe_psql('postgres', q{SET synchronous_commit = off; SELECT (profstore.intern_functions('{g}', '{g}', '{g.c}', '{1}'))[1]});
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', "SELECT location FROM profstore.stacks WHERE id = $id"), '1', 'a stack outlives a crash');
is($node->safe_psql('postgres', "SELECT name FROM profstore.functions WHERE id = $name"), 'g', 'a function outlives a crash');

done_testing();
