# shellcheck shell=bash
# An agent that starts before its database, whose password changes, or that is given another database. Sourced by run, which sets $collector,
# $programs and $work.

rows_of() { sql -d "${2:-$PGDATABASE}" -c "SELECT count(*) FROM profstore.samples s JOIN profstore.series r ON r.id = s.series_id WHERE r.labels ->> 'node' = '$1'"; }
has_rows() { [ "$(rows_of "$@")" -gt 0 ]; }

# It samples from the start on: what was there before the database is stored when that comes.
sql -c "DROP DATABASE IF EXISTS e2e_later" -c "DROP DATABASE IF EXISTS e2e_hidden" -c "CREATE DATABASE e2e_hidden"
sql -d e2e_hidden -c "CREATE EXTENSION profstore" -c "ALTER DATABASE e2e_hidden WITH ALLOW_CONNECTIONS false" 2>/dev/null
psql -qX -d postgres -c "ALTER DATABASE e2e_hidden WITH ALLOW_CONNECTIONS false"
"$collector" agent --db "dbname=e2e_hidden" --node later --interval 1s --log-level info --summary "$work/later" 2>"$work/later.log" &
later_pid=$!
children+=("$later_pid")
until_true 60 grep -q 'database is not available; batches stay queued' "$work/later.log"
ok $? "no database at the start: the log says so" "$(cat "$work/later.log")"
"$programs/burn_plain" 1
before=$(date -u '+%F %T.%6NZ')
psql -qX -d postgres -c "ALTER DATABASE e2e_hidden WITH ALLOW_CONNECTIONS true"
until_true 90 has_rows later e2e_hidden
ok $? "and when it comes samples are stored" "$(cat "$work/later.log")"
kill -TERM "$later_pid"
wait "$later_pid"
is "$?" 0 "its agent ends with exit code 0"
ok "$([ "$(sql -d e2e_hidden -c "SELECT count(*) FROM profstore.samples s JOIN profstore.series r ON r.id = s.series_id
	WHERE r.labels ->> 'exe' = '$programs/burn_plain' AND s.time < '$before'")" -gt 0 ]; echo $?)" "those from before it came too"
is "$(sql -d e2e_hidden -c "SELECT coalesce(sum(s.value / r.period), 0) FROM profstore.samples s JOIN profstore.series r ON r.id = s.series_id")" \
	"$(sed -n 's/^samples=//p' "$work/later")" "and none is lost"
is "$(grep -c 'database is not available; batches stay queued' "$work/later.log")" "$(sed -n 's/^database_away=//p' "$work/later")" "each time that it is away is one line in the log, and counted"

# SIGHUP: another database, interval and level; a line that is wrong changes nothing.
cat >"$work/agent.yaml" <<-CONF
	# of this test
	db: dbname=e2e
	interval: 1h
	log-level: info
CONF
"$collector" agent --config "$work/agent.yaml" --node reloaded 2>"$work/reload.log" &
reload_pid=$!
children+=("$reload_pid")
until_true 60 grep -q msg=sampling "$work/reload.log"
printf 'db: dbname=e2e_hidden\ninterval: 1 hour\n' >"$work/agent.yaml"
kill -HUP "$reload_pid"
until_true 60 grep -q 'could not reload' "$work/reload.log"
ok "$(grep -q 'line 2, column 11: --interval' "$work/reload.log"; echo $?)" "SIGHUP with a configuration that is wrong: the log says which line" "$(cat "$work/reload.log")"
printf 'db: dbname=e2e_hidden\ninterval: 1s\nlog-level: info\nfrequency: 97\nlabels: {zone: eu}\n' >"$work/agent.yaml"
kill -HUP "$reload_pid"
until_true 60 grep -q 'reloaded the configuration' "$work/reload.log"
"$programs/burn_plain" 1
until_true 60 has_rows reloaded e2e_hidden
ok $? "SIGHUP: samples go to another database, by another interval" "$(cat "$work/reload.log")"
ok "$(grep -q 'needs a restart.* flag=frequency' "$work/reload.log"; echo $?)" "what cannot be taken is told"
kill -TERM "$reload_pid"
wait "$reload_pid"
is "$?" 0 "and ends by SIGTERM"
sql -c "DROP DATABASE e2e_hidden"
