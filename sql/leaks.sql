-- Functions in a query do not reveal rows that the views hide.
CREATE ROLE regress_pfs_owner;
CREATE ROLE regress_pfs_other;
GRANT USAGE ON SCHEMA profstore TO regress_pfs_owner, regress_pfs_other;
GRANT CREATE ON SCHEMA public TO regress_pfs_owner, regress_pfs_other;
CREATE FUNCTION tell(value anyelement) RETURNS bool LANGUAGE plpgsql STABLE COST 0.0000001 AS
	$$ BEGIN RAISE NOTICE 'seen: %', value; RETURN true; END $$;

SET ROLE regress_pfs_owner;
CREATE TABLE secret (a int4) USING profstore;
INSERT INTO secret SELECT generate_series(1, 12345);
SET ROLE regress_pfs_other;
CREATE TABLE own (a int4) USING profstore;
INSERT INTO own VALUES (1), (2);
SELECT relation, rows FROM profstore.segment_details WHERE tell(rows);
SELECT relation, rows FROM profstore.segment_details WHERE tell(relation);
SELECT relation, rows FROM profstore.segment_stats WHERE tell(rows);
SELECT relation, rows FROM profstore.segment_stats WHERE tell(relation);
RESET ROLE;
SELECT relation, rows FROM profstore.segment_stats WHERE relation IN ('own'::regclass, 'secret'::regclass) ORDER BY 2;

-- statistics of hosts whose series are hidden by a row policy
SELECT profstore.grant_read('regress_pfs_other');
INSERT INTO profstore.unwind_counts (day, node, exe, stacks, complete) VALUES (current_date, 'hidden', '/bin/tool', 1, 1);
ALTER TABLE profstore.series ENABLE ROW LEVEL SECURITY;
SET ROLE regress_pfs_other;
SELECT node FROM profstore.unwind_quality WHERE tell(node);
RESET ROLE;
ALTER TABLE profstore.series DISABLE ROW LEVEL SECURITY;
SET ROLE regress_pfs_other;
SELECT node FROM profstore.unwind_quality WHERE tell(node);
RESET ROLE;

-- every view that tests privileges is a security barrier
SELECT c.oid::regclass FROM pg_class AS c
WHERE c.relnamespace = 'profstore'::regnamespace AND c.relkind = 'v' AND pg_get_viewdef(c.oid) ~ 'has_\w+_privilege|pg_has_role|current_user|session_user|calling_role|sees_all_series'
	AND NOT coalesce(c.reloptions @> '{security_barrier=true}', false);

DROP OWNED BY regress_pfs_owner, regress_pfs_other;
DROP ROLE regress_pfs_owner, regress_pfs_other;
