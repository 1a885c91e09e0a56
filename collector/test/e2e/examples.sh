# shellcheck shell=bash
# Every example of help() finds something in what the agent has just stored. Sourced by run: $work and the database are there.

# But those that find nothing if all is well: no damage, no segment of that number, nothing as old, no memory that is shared, no build
# that waits for symbols, no upload.
silent='^(verify|remove_segment|drop_before|shared_cache|claim_symbol_work|open_addresses|find_debuginfo|read_debuginfo|source_text|missing_sources|same_functions|record_health|reset_health_limits|forget_collector|collector_metrics|regressions|anomalies)$'

# Whether an example answers with anything but nulls, rows of zeros and an empty root; what it changes is rolled back.
finds_something()
{
	psql -qXAt -v ON_ERROR_STOP=1 -c BEGIN -c "$1" -c ROLLBACK >"$work/example" 2>&1 && grep -qvE '^([0|]*[|][0|]*(total)?)?$' "$work/example"
}

while IFS= read -r -d '' function && IFS= read -r -d '' example; do
	finds_something "$example"
	ok $? "the example of $function finds something" "$(head -c 300 "$work/example" | tr -d '\0')"
done < <(sql -z -0 -v silent="$silent" <<-'SQL'
	SELECT h.function, regexp_replace(h.example, '\n\\g .*$', '') FROM (SELECT * FROM profstore.help('.') UNION ALL SELECT * FROM profstore.help('why')) AS h
	WHERE h.function !~ :'silent' AND NOT EXISTS (SELECT FROM pg_proc AS p
		WHERE p.pronamespace = 'profstore'::regnamespace AND p.proname = h.function AND (p.prokind = 'p' OR p.prorettype = 'void'::regtype))
SQL
)
