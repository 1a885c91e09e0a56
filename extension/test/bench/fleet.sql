-- Generates fleet data: nodes × services write one COPY-sized INSERT per node and 10 s window, stacks follow Zipf's law.
--
--   psql -v rows=10000000 -v minutes=60 -f fleet.sql      in a database with the extension; makes table "fleet"
--
-- 20 nodes run 10 services each (200 series); a service has 5,000 stacks, and a node samples the popular ones often.
-- Every (series, window) has the distinct stacks of its draws, with the draws as value in units of the sampling
-- period. All numbers come from hashes, so two runs make the same rows.
\set ON_ERROR_STOP 1
DROP TABLE IF EXISTS fleet;
CREATE TABLE fleet (time timestamptz NOT NULL, series_id int4 NOT NULL, stack_id int8 NOT NULL, value int8 NOT NULL) USING profstore;

CREATE OR REPLACE PROCEDURE make_fleet(row_target int8, minutes int4) LANGUAGE plpgsql AS $$
DECLARE
	windows int4 := minutes * 6;
	-- about three of four draws give a stack that occurs once in the window
	draws int4 := greatest(1, (row_target * 1.45 / windows / 200)::int4);
BEGIN
	FOR w IN 0 .. windows - 1 LOOP
		FOR node IN 0 .. 19 LOOP
			INSERT INTO fleet
			SELECT timestamptz '2026-01-01 00:00Z' + w * interval '10 s', 1000 + node * 10 + service,
			       ((service + 1)::int8 << 40) + ((rank * 2654435761 + service * 40503) % 5000) * 15 + rank * 7919 % 14 + 1,
			       52631579 * count(*)
			FROM (SELECT service, (power(5001.0::float8, (hashint8extended(((w * 20 + node) * 10 + service)::int8 * 100000 + d, 1) & 1073741823)
			                             / 1073741824.0::float8))::int8 - 1 AS rank
			      FROM generate_series(0, 9) AS service, generate_series(1, draws) AS d) AS drawn
			GROUP BY service, rank;
			COMMIT;
		END LOOP;
	END LOOP;
END
$$;
CALL make_fleet(:rows, :minutes);
