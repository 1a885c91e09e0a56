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

SELECT pg_extension_config_dump('profstore.writers', '');
SELECT pg_extension_config_dump('profstore.losses', '');
SELECT pg_extension_config_dump('profstore.targets', '');
