# shellcheck shell=bash
# Labels by a configuration: own ones, rules, processes that are dropped until the rules change. Sourced by run: $collector, $programs, $work and
# the database are there.

rows_labelled() { sql -c "SELECT count(*) FROM profstore.samples s JOIN profstore.series r ON r.id = s.series_id WHERE r.labels @> '$1'"; }
is_labelled() { [ "$(rows_labelled "$1")" -gt 0 ]; }

cat >"$work/labels.yaml" <<-CONF
	interval: 1s
	frequency: 97
	node: labelled
	log-level: info
	labels: {zone: eu}
	environment: [SERVICE]
	relabel_configs:
	  - {source_labels: [__meta_process_executable_name], regex: burn_static, action: drop}
	  - {source_labels: [__meta_process_executable_name], regex: burn_(.+), target_label: variant}
	  - {source_labels: [__meta_env_var_SERVICE], target_label: service}
CONF
"$collector" agent --config "$work/labels.yaml" --summary "$work/labels" 2>"$work/labels.log" &
labels_pid=$!
children+=("$labels_pid")
until_true 60 grep -q msg=sampling "$work/labels.log"
"$programs/burn_static" 1000 &
dropped_pid=$!
children+=("$dropped_pid")
SERVICE=shop "$programs/burn_plain" 1
until_true 60 is_labelled '{"node": "labelled", "zone": "eu", "variant": "plain", "service": "shop", "comm": "burn_plain"}'
ok $? "labels of a configuration's own, and those of its rules" "$(cat "$work/labels.log")"
is "$(rows_labelled '{"node": "labelled", "comm": "burn_static"}')" 0 "a process that the rules drop is not stored"
printf 'relabel_configs: [{action: kept}]\n' >"$work/labels.yaml"
kill -HUP "$labels_pid"
until_true 60 grep -q 'could not reload.*line 1' "$work/labels.log"
ok $? "SIGHUP with a rule that is wrong: the log says where" "$(cat "$work/labels.log")"
is "$(rows_labelled '{"node": "labelled", "comm": "burn_static"}')" 0 "and the old rules stay"
printf '{interval: 1s, frequency: 97, node: labelled, log-level: info, labels: {zone: us}}\n' >"$work/labels.yaml"
kill -HUP "$labels_pid"
until_true 60 is_labelled '{"node": "labelled", "zone": "us", "comm": "burn_static"}'
ok $? "SIGHUP without the rule: a process that was dropped is sampled" "$(cat "$work/labels.log")"
kill "$dropped_pid"
kill -TERM "$labels_pid"
wait "$labels_pid"
is "$?" 0 "its agent ends with exit code 0"
ok "$([ "$(sed -n 's/^ticks_dropped=//p' "$work/labels")" -gt 5 ]; echo $?)" "ticks of dropped processes are counted" "$(cat "$work/labels")"
