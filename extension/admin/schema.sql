\echo Use "CREATE EXTENSION profstore" to load this file. \quit

COMMENT ON SCHEMA profstore IS 'continuous profiling: samples, the stack-trace dictionary, and functions that make flame graphs of them';

-- What writers tell about themselves, beside the samples.

CREATE TABLE profstore.writers
(
	writer     uuid PRIMARY KEY,
	last_batch int8 NOT NULL,
	first_seen timestamptz NOT NULL DEFAULT now(),
	last_seen  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
COMMENT ON TABLE profstore.writers IS 'one row per writer: makes stored batches exactly-once across reconnects';
COMMENT ON COLUMN profstore.writers.writer IS 'chosen by the writer, one per process';
COMMENT ON COLUMN profstore.writers.last_batch IS 'number of the last committed batch; numbers ascend';
COMMENT ON COLUMN profstore.writers.first_seen IS 'time of the first batch';
COMMENT ON COLUMN profstore.writers.last_seen IS 'time of the last batch';

CREATE TABLE profstore.losses
(
	time   timestamptz NOT NULL DEFAULT now(),
	node   text NOT NULL,
	reason text NOT NULL,
	count  int8 NOT NULL CHECK (count >= 0)
);
CREATE INDEX losses_time ON profstore.losses (time);
COMMENT ON TABLE profstore.losses IS 'everything that was dropped, or stored in part, on the road from the kernel to the samples';
COMMENT ON COLUMN profstore.losses.time IS 'start of the interval in which it was lost';
COMMENT ON COLUMN profstore.losses.node IS 'host that lost it';
COMMENT ON COLUMN profstore.losses.reason IS 'counter that saw it go; those that begin with incomplete. count what was stored with frames missing';
COMMENT ON COLUMN profstore.losses.count IS 'how many; the unit is the counter''s own';

CREATE TABLE profstore.targets
(
	name       text PRIMARY KEY,
	labels     jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(labels) = 'object'),
	health     text NOT NULL DEFAULT 'unknown' CHECK (health IN ('unknown', 'up', 'down')),
	last_error text,
	last_seen  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
COMMENT ON TABLE profstore.targets IS 'what is being profiled or scraped';
COMMENT ON COLUMN profstore.targets.name IS 'host of an agent, or address of a scrape target';
COMMENT ON COLUMN profstore.targets.labels IS 'labels of all its series';
COMMENT ON COLUMN profstore.targets.health IS 'up, down, or unknown before the first attempt';
COMMENT ON COLUMN profstore.targets.last_error IS 'why it is down';
COMMENT ON COLUMN profstore.targets.last_seen IS 'last time that it answered';

CREATE TABLE profstore.unwind_counts
(
	day      date NOT NULL,
	node     text NOT NULL,
	exe      text NOT NULL,
	stacks   int8 NOT NULL,
	complete int8 NOT NULL CHECK (complete BETWEEN 0 AND stacks),
	PRIMARY KEY (day, node, exe)
) WITH (fillfactor = 70);
COMMENT ON TABLE profstore.unwind_counts IS 'how many user stacks the agents sampled, and how many of them reached a proven root, by UTC day';
COMMENT ON COLUMN profstore.unwind_counts.day IS 'UTC day of the samples';
COMMENT ON COLUMN profstore.unwind_counts.node IS 'host of the agent';
COMMENT ON COLUMN profstore.unwind_counts.exe IS 'path of the executable; empty where it was not known, or where an agent met too many';
COMMENT ON COLUMN profstore.unwind_counts.stacks IS 'samples with a user stack';
COMMENT ON COLUMN profstore.unwind_counts.complete IS 'those of them whose stack is whole';

CREATE VIEW profstore.unwind_quality AS
SELECT node, exe, sum(stacks)::int8 AS stacks, sum(complete)::int8 AS complete
FROM profstore.unwind_counts
WHERE day >= (now() AT TIME ZONE 'UTC')::date - 7
GROUP BY node, exe;
COMMENT ON VIEW profstore.unwind_quality IS 'user stacks of the last seven days by host and executable, and those of them that are whole';
COMMENT ON COLUMN profstore.unwind_quality.node IS 'host of the agent';
COMMENT ON COLUMN profstore.unwind_quality.exe IS 'path of the executable; empty where it was not known, or where an agent met too many';
COMMENT ON COLUMN profstore.unwind_quality.stacks IS 'samples with a user stack';
COMMENT ON COLUMN profstore.unwind_quality.complete IS 'those of them whose stack reaches a proven root';

SELECT pg_extension_config_dump('profstore.writers', '');
SELECT pg_extension_config_dump('profstore.losses', '');
SELECT pg_extension_config_dump('profstore.targets', '');
SELECT pg_extension_config_dump('profstore.unwind_counts', '');
