-- begin_batch accepts each batch once, and only under the dictionary's present epoch.
SET search_path = profstore, public;
\set writer '\'00000000-0000-0000-0000-00000000000a\''
SELECT begin_batch(:writer, 1, epoch());
SELECT begin_batch(:writer, 1, epoch());
SELECT begin_batch(:writer, 3, epoch());
SELECT begin_batch(:writer, 2, epoch());
SELECT begin_batch('00000000-0000-0000-0000-00000000000b', 1, epoch());
SELECT writer, last_batch, first_seen <= last_seen AS ordered FROM writers ORDER BY writer;

-- a batch is forgotten if its transaction is rolled back
BEGIN;
SELECT begin_batch(:writer, 4, epoch());
ROLLBACK;
SELECT begin_batch(:writer, 4, epoch());

-- a batch with an older epoch gets an error code of its own, and stores nothing
SELECT epoch() AS old \gset
SELECT bump_epoch() > :old AS bumped;
\set VERBOSITY sqlstate
SELECT begin_batch(:writer, 5, :old);
SELECT begin_batch(:writer, 5, 0);
\set VERBOSITY default
SELECT last_batch FROM writers WHERE writer = :writer;
SELECT begin_batch(:writer, 5, epoch());
-- a changed epoch of names does not cause an error
SELECT epoch() AS old \gset
SELECT bump_names();
SELECT begin_batch(:writer, 6, :old);

-- the notes and reports that a writer stores beside its samples
SELECT ensure_partitions('2026-03-01 00:00Z', '2026-03-01 00:00Z');
BEGIN;
SELECT begin_batch(:writer, 7, epoch());
COPY samples FROM stdin;
2026-03-01 00:00:00Z	1	0	5
\.
COPY losses (time, node, reason, count) FROM stdin;
2026-03-01 00:00:00Z	n1	ring buffer full	3
\.
COMMIT;
SELECT count(*) FROM samples;
SELECT node, reason, count FROM losses;
\set VERBOSITY terse
INSERT INTO losses (node, reason, count) VALUES ('n1', 'negative', -1);
INSERT INTO targets (name, labels) VALUES ('n1', '[]');
INSERT INTO targets (name, health) VALUES ('n1', 'fine');
-- A writer that has stored nothing for some minutes is listed as silent, unless it was stopped. The longest silence comes first.
INSERT INTO targets (name, health, last_seen, last_error) VALUES ('writes', 'up', now() - interval '1 min', NULL),
	('silent', 'up', now() - interval '4 min', NULL), ('stopped', 'stopped', now() - interval '1 hour', NULL), ('down', 'down', now() - interval '5 min', 'refused'), ('new', 'unknown', now(), NULL);
SELECT name, state, last_error FROM target_states();
SELECT name, state FROM target_states(interval '30 s') WHERE state = 'silent';

-- Receipts: a batch that is sent twice is stored once; a transaction without a batch leaves no receipt; each role has receipts of its own
SELECT take_receipts('{00000000-0000-0000-0000-0000000000a1,00000000-0000-0000-0000-0000000000a2}');
BEGIN;
SELECT take_receipts('{00000000-0000-0000-0000-0000000000a3}');
ROLLBACK;
SELECT take_receipts('{00000000-0000-0000-0000-0000000000a3}');
BEGIN;
SELECT take_receipts('{00000000-0000-0000-0000-0000000000a4,00000000-0000-0000-0000-0000000000a1}');
ROLLBACK;
SELECT take_receipts('{00000000-0000-0000-0000-0000000000a5,00000000-0000-0000-0000-0000000000a5}');
SELECT take_receipts('{}');
UPDATE receipts SET stored_at = now() - interval '2 hours', role = 'somebody' WHERE receipt < '00000000-0000-0000-0000-0000000000a3';
SELECT take_receipts('{00000000-0000-0000-0000-0000000000a1}');
SELECT right(receipt::text, 2) AS receipt, role = calling_role() AS own FROM receipts ORDER BY 1;
