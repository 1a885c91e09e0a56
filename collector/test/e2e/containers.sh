# shellcheck shell=bash
# Containers without a runtime: roots, control groups and namespaces of a test's own. Sourced; the caller sets programs, work and app.

# root_of NAME LIBRARY: a root directory with the program /$app/serve and its library.
root_of()
{
	local root=$work/$1
	mkdir -p "$root/$app" "$root/old"
	cp "$programs/serve" "$root/$app/serve"
	cp "$2" "$root/$app/libserve.so"
	ldd "$programs/serve" | grep -o '/[^ ]*lib[^ ]*\|/[^ ]*ld-linux[^ ]*' | grep -v libserve | while read -r library; do
		mkdir -p "$root$(dirname "$library")"
		cp "$library" "$root$library"
	done
}

# group HIERARCHY PATH: makes a control group, prints its directory.
group() { [ -d "/sys/fs/cgroup/$1" ] && mkdir -p "/sys/fs/cgroup/$1/$2" 2>/dev/null && echo "/sys/fs/cgroup/$1/$2"; }

# As runtimes do it: a mount becomes the root.
# shellcheck disable=SC2034
enter="cd \"\$0\" && pivot_root . old && LD_LIBRARY_PATH=/$app exec /$app/serve ${serve_ms:-1500}"

# inside ROOT GROUP...: /$app/serve in namespaces of its own.
inside()
{
	bash -c 'enter=$0 root=$1; shift; for group in "$@"; do echo $$ >"$group/cgroup.procs"; done
		exec unshare --user --map-root-user --pid --fork --mount bash -c "mount --bind \"\$0\" \"\$0\" && $enter" "$root"' "$enter" "$@"
}
