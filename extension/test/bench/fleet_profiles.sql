-- Generates fleet data in profstore.samples, with its dictionary, for queries.
--
--   psql -v rows=10000000 -v minutes=60 [-v stacks=5000] [-v compact=1] -f fleet_profiles.sql
--                                                         in a database with the extension and no samples
--
-- With compact=1, each ten minutes are compacted and vacuumed before the next ones, as background workers would do.
--
-- As in fleet.sql, 20 nodes run 10 services each (200 series of CPU time); a service has 5,000 stacks (or the given number) of 10 to 29
-- frames, popular by Zipf's law. All numbers come from hashes, so two runs make the same rows.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
\if :{?stacks}
\else
\set stacks 5000
\endif

CREATE TEMP TABLE fleet_locations AS
SELECT service, profstore.intern_locations(
		array_fill((profstore.intern_mappings(ARRAY['b' || service], ARRAY['/usr/bin/service' || service]))[1], ARRAY[4000]),
		ARRAY(SELECT 4096 + 16 * n::int8 FROM generate_series(1, 4000) AS n ORDER BY n), array_fill(1, ARRAY[4000]),
		profstore.intern_functions(
			ARRAY(SELECT format('service%s::function%s', service, n) FROM generate_series(1, 4000) AS n ORDER BY n),
			array_fill(''::text, ARRAY[4000]), array_fill('main.cc'::text, ARRAY[4000]), array_fill(1, ARRAY[4000])),
		array_fill(1, ARRAY[4000])) AS ids
FROM generate_series(0, 9) AS service;

-- frames near the root are shared by many stacks, the innermost ones belong to one
CREATE TEMP TABLE fleet_stacks AS
SELECT service, profstore.intern_stacks('b' || service,
		ARRAY(SELECT 10 + rank % 20 FROM generate_series(0, :stacks - 1) AS rank ORDER BY rank),
		ARRAY(SELECT ids[1 + (hashint8extended(frame * 1000003::int8 + (rank >> greatest(0, 13 - frame)), 7) & 1073741823) % 4000]
			  FROM generate_series(0, :stacks - 1) AS rank, LATERAL generate_series(1, 10 + rank % 20) AS frame ORDER BY rank, frame DESC)) AS ids
FROM fleet_locations;

CREATE TEMP TABLE fleet_series AS
SELECT profstore.intern_series(
	array_fill('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta'::text, ARRAY[200]),
	ARRAY(SELECT jsonb_build_object('node', 'node' || n / 10, 'service', 'service' || n % 10) FROM generate_series(0, 199) AS n ORDER BY n),
	array_fill(52631579::int8, ARRAY[200])) AS ids;

SELECT profstore.ensure_partitions('2026-01-01 00:00Z', timestamptz '2026-01-01 00:00Z' + :minutes * interval '1 minute');

CREATE OR REPLACE PROCEDURE make_fleet_profiles(row_target int8, minutes int4, ranks int4, first_minute int4, end_minute int4) LANGUAGE plpgsql AS $$
DECLARE
	windows int4 := minutes * 6;
	-- about three of four draws give a stack that occurs once in the window
	draws int4 := greatest(1, (row_target * 1.45 / windows / 200)::int4);
	series int4[] := (SELECT ids FROM fleet_series);
	stacks int8[] := (SELECT array_agg(id ORDER BY s.service, u.n) FROM fleet_stacks AS s, unnest(s.ids) WITH ORDINALITY AS u(id, n));
BEGIN
	FOR w IN first_minute * 6 .. end_minute * 6 - 1 LOOP
		FOR node IN 0 .. 19 LOOP
			INSERT INTO profstore.samples (time, series_id, stack_id, value)
			SELECT timestamptz '2026-01-01 00:00Z' + w * interval '10 s', series[1 + node * 10 + service],
			       stacks[1 + service * ranks + (rank * 2654435761 + service * 40503) % ranks], 52631579 * count(*)
			FROM (SELECT service, (power(ranks + 1.0::float8, (hashint8extended(((w * 20 + node) * 10 + service)::int8 * 100000 + d, 1) & 1073741823)
			                             / 1073741824.0::float8))::int8 - 1 AS rank
			      FROM generate_series(0, 9) AS service, generate_series(1, draws) AS d) AS drawn
			GROUP BY service, rank;
			COMMIT;
		END LOOP;
	END LOOP;
END
$$;
\set steps :{?compact}
SELECT format('CALL make_fleet_profiles(%s, %s, %s, %s, %s)', :rows, :minutes, :stacks, first_minute, least(first_minute + 10, :minutes)),
       CASE WHEN :steps THEN 'SELECT profstore.compact()' END, CASE WHEN :steps THEN 'VACUUM profstore.segments, profstore.rollups' END
FROM generate_series(0, :minutes - 1, 10) AS first_minute ORDER BY first_minute \gexec
SELECT profstore.touch_series((SELECT ids FROM fleet_series), '2026-01-01 00:00Z',
							  timestamptz '2026-01-01 00:00Z' + :minutes * interval '1 minute');
