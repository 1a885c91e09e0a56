\echo Use "CREATE EXTENSION profstore" to load this file. \quit

-- Functions that only the extension calls are in a schema on which no role has privileges. Views, policies and SQL-standard bodies refer to them
-- by the OID found at the install; functions in other languages that are called for other roles run as their owner.
DO
$$
BEGIN
	IF to_regnamespace('profstore_internal') IS NOT NULL THEN
		RAISE duplicate_schema USING
			MESSAGE = 'schema "profstore_internal" already exists',
			DETAIL = 'The extension creates this schema for its inner functions.',
			HINT = 'Inspect its contents, then rename or drop it.';
	END IF;
END
$$;
CREATE SCHEMA profstore_internal;
COMMENT ON SCHEMA profstore_internal IS 'inner functions of profstore, which it calls itself; see the schema profstore for those to call';

COMMENT ON SCHEMA profstore IS 'continuous profiling: samples, the stack-trace dictionary, and functions that make flame graphs of them';

-- A writing role can change only the rows that it has stored.

CREATE FUNCTION profstore.calling_role() RETURNS text
	LANGUAGE c STABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'profstore_calling_role';
COMMENT ON FUNCTION profstore.calling_role() IS 'the role of the caller, set by SET ROLE or by the login, also in functions that run as their owner';

-- Reports of writers about themselves, besides samples.

CREATE TABLE profstore.writers
(
	writer     uuid PRIMARY KEY,
	last_batch int8 NOT NULL,
	first_seen timestamptz NOT NULL DEFAULT now(),
	last_seen  timestamptz NOT NULL DEFAULT now(),
	role       text COLLATE "C" NOT NULL DEFAULT profstore.calling_role()
) WITH (fillfactor = 70);
COMMENT ON TABLE profstore.writers IS 'one row per writer: makes stored batches exactly-once across reconnects';
COMMENT ON COLUMN profstore.writers.writer IS 'UUID that the writer has chosen, one per process';
COMMENT ON COLUMN profstore.writers.last_batch IS 'number of the last committed batch; numbers ascend';
COMMENT ON COLUMN profstore.writers.first_seen IS 'time of the first batch';
COMMENT ON COLUMN profstore.writers.last_seen IS 'time of the last batch';
COMMENT ON COLUMN profstore.writers.role IS 'role that may use it to store';

CREATE TABLE profstore.receipts
(
	role      text COLLATE "C" NOT NULL DEFAULT profstore.calling_role(),
	receipt   uuid NOT NULL,
	stored_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (role, receipt)
);
CREATE INDEX receipts_stored_at ON profstore.receipts (stored_at);
COMMENT ON TABLE profstore.receipts IS 'requests that writers stored in the last hour, for clients that may send them again: see take_receipts()';
COMMENT ON COLUMN profstore.receipts.role IS 'role that stored it';
COMMENT ON COLUMN profstore.receipts.receipt IS 'identifier of the stored request';
COMMENT ON COLUMN profstore.receipts.stored_at IS 'time of storing; deleted after an hour, when other receipts are stored';

CREATE TABLE profstore.losses
(
	time   timestamptz NOT NULL DEFAULT now() CHECK (isfinite(time)),
	node   text NOT NULL CHECK (octet_length(node) <= 1024),
	reason text NOT NULL CHECK (octet_length(reason) <= 1024),
	count  int8 NOT NULL CHECK (count >= 0),
	role   text COLLATE "C" NOT NULL DEFAULT current_user
);
CREATE INDEX losses_time ON profstore.losses (time);
COMMENT ON TABLE profstore.losses IS 'counts of data that were dropped, or stored in part, between the kernel and the samples';
COMMENT ON COLUMN profstore.losses.time IS 'start of the interval in which it was lost';
COMMENT ON COLUMN profstore.losses.node IS 'host that lost it';
COMMENT ON COLUMN profstore.losses.reason IS 'name of the counter; those that begin with incomplete. count samples that were stored with frames missing';
COMMENT ON COLUMN profstore.losses.count IS 'number of losses, in the unit of the counter';
COMMENT ON COLUMN profstore.losses.role IS 'role that stored it';

CREATE TABLE profstore.targets
(
	name       text NOT NULL,
	labels     jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(labels) = 'object'),
	health     text NOT NULL DEFAULT 'unknown' CHECK (health IN ('unknown', 'up', 'down', 'stopped')),
	last_error text,
	last_seen  timestamptz NOT NULL DEFAULT now() CHECK (isfinite(last_seen)),
	role       text COLLATE "C" NOT NULL DEFAULT current_user,
	last_scrape timestamptz,
	duration   interval,
	samples    int8,
	scraper    text,
	skipped    int8,
	PRIMARY KEY (name, role)
) WITH (fillfactor = 70);
COMMENT ON TABLE profstore.targets IS 'profiled hosts and scraped targets';
COMMENT ON COLUMN profstore.targets.name IS 'host of an agent, or job and URL of a scrape target';
COMMENT ON COLUMN profstore.targets.labels IS 'labels of all its series';
COMMENT ON COLUMN profstore.targets.health IS 'up or down as of last_seen, stopped when its agent or scraper ended normally, unknown from the start of the agent or scraper until the first sample or attempt; a writer that has gone silent stays up here: see profstore.target_states()';
COMMENT ON COLUMN profstore.targets.last_error IS 'why it is down';
COMMENT ON COLUMN profstore.targets.last_seen IS 'time of its newest stored sample; of a scrape target, when it last answered';
COMMENT ON COLUMN profstore.targets.role IS 'role that stored it';
COMMENT ON COLUMN profstore.targets.last_scrape IS 'start of the last scrape; null before the first, and for agents';
COMMENT ON COLUMN profstore.targets.duration IS 'how long its answer took';
COMMENT ON COLUMN profstore.targets.samples IS 'rows of samples in it';
COMMENT ON COLUMN profstore.targets.scraper IS 'scraper that stored the row last, which sets its rows to unknown when it starts, and to stopped when it stops; null for agents';
COMMENT ON COLUMN profstore.targets.skipped IS 'scrapes that were due and left out since the scraper started; null for agents';

CREATE TABLE profstore.deploys
(
	time    timestamptz NOT NULL DEFAULT now(),
	version text NOT NULL,
	labels  jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(labels) = 'object'),
	role    text COLLATE "C" NOT NULL DEFAULT current_user
);
CREATE INDEX deploys_time ON profstore.deploys (time);
COMMENT ON TABLE profstore.deploys IS 'deployments reported by CI: shown over graphs, and compared before and after';
COMMENT ON COLUMN profstore.deploys.time IS 'when the new version began to run';
COMMENT ON COLUMN profstore.deploys.version IS 'version, as people write it';
COMMENT ON COLUMN profstore.deploys.labels IS 'labels of the series that it is about; empty: of all';
COMMENT ON COLUMN profstore.deploys.role IS 'role that stored it';

CREATE TABLE profstore.unwind_counts
(
	day      date NOT NULL,
	node     text NOT NULL,
	exe      text NOT NULL,
	stacks   int8 NOT NULL,
	complete int8 NOT NULL CHECK (complete BETWEEN 0 AND stacks),
	role     text COLLATE "C" NOT NULL DEFAULT current_user,
	PRIMARY KEY (day, node, exe, role)
) WITH (fillfactor = 70);
COMMENT ON TABLE profstore.unwind_counts IS 'how many user stacks the agents sampled, and how many of them reached a proven root, by UTC day';
COMMENT ON COLUMN profstore.unwind_counts.day IS 'UTC day of the samples';
COMMENT ON COLUMN profstore.unwind_counts.node IS 'host of the agent';
COMMENT ON COLUMN profstore.unwind_counts.exe IS 'path of the executable; empty if unknown, or if an agent had too many';
COMMENT ON COLUMN profstore.unwind_counts.stacks IS 'samples with a user stack';
COMMENT ON COLUMN profstore.unwind_counts.complete IS 'samples whose user stack reaches a proven root';
COMMENT ON COLUMN profstore.unwind_counts.role IS 'role that stored it';

SELECT pg_extension_config_dump('profstore.writers', '');
SELECT pg_extension_config_dump('profstore.losses', '');
SELECT pg_extension_config_dump('profstore.deploys', '');
SELECT pg_extension_config_dump('profstore.targets', '');
SELECT pg_extension_config_dump('profstore.unwind_counts', '');
