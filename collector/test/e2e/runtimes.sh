# shellcheck shell=bash
# Containers by the control groups that runtimes make, in namespaces of their own, and an agent in a control group namespace of its own, which
# sees their paths from there. Sourced by run, after labels.sh: $collector, $programs, $work and the database are there.

pod_slice=kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod6a4b8f0e_8a3b_4b4f_9d52_1c1e4f5f0002.slice
id_of() { printf '%s' "$1" | sha256sum | cut -c 1-64; }
declare -A group_of=(
	[docker]=docker/$(id_of docker)
	[docker_systemd]=system.slice/docker-$(id_of docker_systemd).scope
	[containerd]=$pod_slice/cri-containerd-$(id_of containerd).scope
	[containerd_service]=system.slice/containerd.service/${pod_slice##*/}:cri-containerd:$(id_of containerd_service)
	[crio]=$pod_slice/crio-$(id_of crio).scope
	[podman]=machine.slice/libpod-$(id_of podman).scope/container
	[kind]=docker/$(id_of node)/kubelet.slice/kubelet-${pod_slice//\/kubepods/\/kubelet-kubepods}/cri-containerd-$(id_of kind).scope
)
# What runs within a node that is a container has the node's id, seen from outside: whoever runs below a container makes groups of any name.
declare -A container_of=([kind]=node)
hierarchy=
for directory in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/memory /sys/fs/cgroup/pids; do
	[ -e "$directory/cgroup.procs" ] && mkdir "$directory/profstore_agent" 2>/dev/null && hierarchy=$directory && break
done
if [ -z "$hierarchy" ] || ! unshare --user --map-root-user --pid --fork --mount --cgroup true 2>/dev/null; then
	skip "containers by their control groups" "no control group, or no namespaces"
else
	# From its own group the others' paths begin with "/..".
	bash -c 'echo $$ >"$0/profstore_agent/cgroup.procs"; exec unshare --cgroup "$@"' "$hierarchy" \
		"$collector" agent --interval 1s --frequency 97 --node runtimes --log-level info 2>"$work/runtimes.log" &
	runtimes_pid=$!
	children+=("$runtimes_pid")
	until_true 60 grep -q msg=sampling "$work/runtimes.log"
	contained=()
	for name in "${!group_of[@]}"; do
		cp "$programs/burn_static" "$work/$name"
		mkdir -p "$hierarchy/${group_of[$name]}"
		bash -c 'echo $$ >"$0/cgroup.procs"; exec unshare --user --map-root-user --pid --fork --kill-child --mount --cgroup timeout 300 "$1" 1000' "$hierarchy/${group_of[$name]}" "$work/$name" &
		contained+=($!)
		disown # whoever ends these tests must not wait for what only SIGKILL ends
	done
	for name in "${!group_of[@]}"; do
		until_true 60 is_labelled '{"node": "runtimes", "comm": "'"${name:0:15}"'", "container_id": "'"$(id_of "${container_of[$name]:-$name}")"'"}'
		ok $? "the id of a container of $name" "$(tail -n 3 "$work/runtimes.log")"
	done
	is "$(sql -c "SELECT count(DISTINCT labels ->> 'container_id') FROM profstore.series WHERE labels @> '{\"node\": \"runtimes\"}' AND labels ->> 'exe' LIKE '$work/%'")" \
		"${#group_of[@]}" "each has one of its own, and no other"
	ok "$(nsenter --target "$runtimes_pid" --cgroup cat "/proc/${contained[0]}/cgroup" | grep -q ':/\.\./'; echo $?)" "whose path begins outside of the agent's namespace"
	kill -KILL "${contained[@]}" # unshare lets no other signal through
	kill -TERM "$runtimes_pid"
	wait "$runtimes_pid"
	is "$?" 0 "an agent in a control group namespace ends with exit code 0"
	for path in "${group_of[@]}" profstore_agent; do
		until_true 10 rmdir "$hierarchy/$path"
		(cd "$hierarchy" && [[ $path != */* ]] || rmdir -p --ignore-fail-on-non-empty "${path%/*}" 2>/dev/null)
	done
fi
