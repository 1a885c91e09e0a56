-- From the made-up version 0.9: what no statement of the install script brings about in a database that has data.

ALTER TABLE profstore.retention_log ADD COLUMN sums int8;
