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

# The kubelet as the source of pods, by TLS. It is asked every 10 s: what comes of the second answer is looked at below.
kubelet=$(mktemp -d)
chmod 755 "$kubelet" # who reads what is in it is nobody
printf account >"$kubelet/token"
printf stranger >"$kubelet/wrong"
for name in server other; do
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=kubelet -addext subjectAltName=IP:127.0.0.1 \
		-keyout "$work/$name.key" -out "$kubelet/$name.crt" 2>/dev/null
done
cat "$work/server.key" "$kubelet/server.crt" >"$work/server.pem"
cat >"$work/node_pods.json" <<-JSON
	[{"metadata": {"name": "web-5f-1", "namespace": "shop", "uid": "first", "labels": {"app": "web", "pod-template-hash": "5f"},
	  "ownerReferences": [{"kind": "ReplicaSet", "name": "web-5f", "uid": "u", "controller": true}]}, "status": {}},
	 {"metadata": {"name": "stays", "namespace": "shop", "uid": "second"}, "status": {}}]
JSON
"$here/kube_api.py" "$work/node_pods.json" "$work/kubelet_port" "$work/server.pem" 2>"$work/kubelet_api.log" &
children+=($!)
until_true 60 test -s "$work/kubelet_port"
# ask NAME TOKEN CA: what the kubelet's pods are to the agent.
ask()
{
	"$(dirname "$collector")/profstore-sources" pods --node labelled --kubelet "https://127.0.0.1:$(cat "$work/kubelet_port")/" --token-file "$kubelet/$2" \
		--ca-file "$kubelet/$3.crt" >"$work/$1.pods" 2>"$work/$1.log" &
	children+=($!)
}
ask good token server
good_pid=$!
ask stranger wrong server
ask foreign token other
until_true 60 grep -q '^synced' "$work/good.pods"
ok $? "pods of a kubelet" "$(cat "$work/good.log" "$work/kubelet_api.log")"
is "$(grep -c '^pod' "$work/good.pods")" 2 "all of its pods are told"
ok "$(grep '^pod first' "$work/good.pods" | grep -F 'workload_kind=Deployment' | grep -qF 'workload_name=web'; echo $?)" "names tell what owns them" "$(cat "$work/good.pods")"
until_true 60 grep -q 'path=/pods.*status 403' "$work/stranger.log"
ok $? "a kubelet that refuses is told" "$(cat "$work/stranger.log")"
until_true 60 grep -q 'path=/pods.*certificate' "$work/foreign.log"
ok $? "one whose certificate is another's is not believed" "$(cat "$work/foreign.log")"
is "$(cat "$work/stranger.pods" "$work/foreign.pods")" "" "and nothing comes of them"
sed 's/"first"/"third"/' "$work/node_pods.json" >"$work/node_pods.new"
mv "$work/node_pods.new" "$work/node_pods.json"

# A process in a pod's control group: dropped until its pod is known, which the watch tells later; then it has the pod's labels.
kube_uid=6a4b8f0e-8a3b-4b4f-9d52-1c1e4f5f0001
kube_id=$(printf 'e%.0s' $(seq 64))
kube_group=
for hierarchy in . unified memory pids; do
	[ -e "/sys/fs/cgroup/$hierarchy/cgroup.procs" ] || continue
	mkdir -p "/sys/fs/cgroup/$hierarchy/kubepods/pod$kube_uid/$kube_id" 2>/dev/null && kube_group=/sys/fs/cgroup/$hierarchy && break
done
if [ -z "$kube_group" ]; then
	skip "labels of pods" "no control group can be made"
else
	printf '[]' >"$work/pods.json"
	"$here/kube_api.py" "$work/pods.json" "$work/port" 2>"$work/api.log" &
	children+=($!)
	until_true 60 test -s "$work/port"
	token=$(mktemp)
	printf account >"$token"
	chmod 644 "$token" # who reads it is nobody
	cat >"$work/labels.yaml" <<-CONF
		interval: 1s
		frequency: 97
		node: labelled
		log-level: info
		kubernetes: {api_server: "http://127.0.0.1:$(cat "$work/port")", token_file: $token, pod_labels: [app]}
		relabel_configs:
		  - {source_labels: [comm, namespace], regex: "burn_static;", action: drop}
	CONF
	bash -c 'echo $$ >"$0/cgroup.procs"; exec "$1" 1000' "$kube_group/kubepods/pod$kube_uid/$kube_id" "$programs/burn_static" &
	pod_pid=$!
	children+=("$pod_pid")
	"$collector" agent --config "$work/labels.yaml" --summary "$work/labels" 2>"$work/labels.log" &
	labels_pid=$!
	children+=("$labels_pid")
	until_true 60 grep -q msg=sampling "$work/labels.log"
	"$programs/burn_plain" 1
	until_true 60 is_labelled '{"node": "labelled", "comm": "burn_plain"}'
	is "$(rows_labelled '{"node": "labelled", "exe": "'"$programs"'/burn_static", "namespace": "shop"}')" 0 "nobody knows the pod yet"
	cat >"$work/pods.new" <<-JSON
		[{"metadata": {"name": "api-1", "namespace": "shop", "uid": "$kube_uid", "labels": {"app": "api"},
		  "ownerReferences": [{"kind": "StatefulSet", "name": "api", "uid": "u", "controller": true}]}, "spec": {"nodeName": "labelled"},
		  "status": {"containerStatuses": [{"name": "main", "image": "api:1", "containerID": "containerd://$kube_id"}]}}]
	JSON
	mv "$work/pods.new" "$work/pods.json"
	until_true 60 is_labelled '{"node": "labelled", "comm": "burn_static", "namespace": "shop", "pod": "api-1", "container": "main", "pod_label_app": "api",
		"workload_kind": "StatefulSet", "workload": "api", "container_id": "'"$kube_id"'"}'
	ok $? "labels of a pod that is known later, of a process that was dropped without them" "$(cat "$work/labels.log" "$work/api.log")"
	watcher=$(cat /proc/"$labels_pid"/task/*/children | tr ' ' '\n' | while read -r pid; do [ "$(cat "/proc/$pid/comm")" != profstore-sourc ] || echo "$pid"; done)
	is "$(sed -n 's/^Uid:\t\([0-9]*\).*/\1/p; s/^CapPrm:\t//p; s/^NoNewPrivs:\t//p' "/proc/$watcher/status" | paste -sd' ')" "65534 0000000000000000 1" \
		"who speaks with the API has no rights"
	kill -KILL "$watcher"
	until_true 60 grep -q 'watch for pods ended' "$work/labels.log"
	ok $? "and is started again" "$(cat "$work/labels.log")"
	kill -TERM "$labels_pid"
	wait "$labels_pid"
	is "$?" 0 "an agent that watches pods ends with exit code 0"
	kill "$pod_pid"
	wait "$pod_pid" 2>/dev/null
	rmdir "$kube_group/kubepods/pod$kube_uid/$kube_id" "$kube_group/kubepods/pod$kube_uid" "$kube_group/kubepods" 2>/dev/null
	rm -f "$token"
fi

until_true 60 grep -q '^pod third' "$work/good.pods"
ok $? "a pod of the kubelet's that came in another's place" "$(cat "$work/good.pods")"
is "$(grep '^gone' "$work/good.pods")" "gone first" "the one before is gone"
is "$(grep -c '^pod second' "$work/good.pods")" 1 "what has not changed is told once"
kill "$good_pid"
wait "$good_pid" 2>/dev/null
rm -rf "$kubelet"
