# shellcheck shell=bash
# Images without a registry: buildah's store in $build, a base that debootstrap makes, the files that a builder gets. Sourced; reads $top, $build.

store() { buildah --storage-driver vfs --root "$build/store" --runroot "$build/run" "$@"; }

# make_base: localhost/debian:bookworm-slim
make_base()
{
	local container status
	if [ ! -e "$build/base.done" ]; then
		"$top/.dev/debian-root" bookworm "$build/base" >"$build/debootstrap.log" 2>&1 || return 1
		touch "$build/base.done"
	fi
	container=$(store from scratch) || return 1
	store add -q "$container" "$build/base" / >/dev/null && store commit -q "$container" localhost/debian:bookworm-slim >/dev/null
	status=$?
	store rm "$container" >/dev/null
	return "$status"
}

# Copies the files that a clone has.
make_context()
{
	rm -rf "$build/context"
	mkdir -p "$build/context"
	(cd "$top" && tar -c Makefile VERSION .dev/version.mk .dev/pg-config-for bpf collector docker extension) | tar -x -C "$build/context"
}

# Sets limits to the flags that give a build limits which root may set without CAP_SYS_RESOURCE. buildah 1.39 would raise them, and buildah
# 1.28 lowers the number of processes to 32,768 before it sets what the flag says.
set_limits()
{
	local processes
	processes=$(ulimit -Hu)
	[ "$processes" != unlimited ] && [ "$processes" -le 32768 ] || processes=32768
	limits=(--ulimit "nproc=$processes:$processes")
	[ "$(ulimit -Hn)" = unlimited ] || limits+=(--ulimit "nofile=$(ulimit -Sn):$(ulimit -Hn)")
}

# build_image CONTAINERFILE IMAGE LOG FLAG...
build_image()
{
	set_limits
	store bud -q --isolation chroot "${limits[@]}" -f "$top/docker/$1" -t "$2" "${@:4}" "$build/context" >"$build/$3.log" 2>&1
}
