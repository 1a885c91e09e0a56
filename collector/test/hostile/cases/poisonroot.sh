# shellcheck shell=bash disable=SC2034
# A container has a forged debug file for a program that the host runs, too. It names the container's program, and not the host's.
round=first
needs_user_namespace=yes
start()
{
	local root id debug
	root=$(hostile_directory)/root
	id=$(readelf -n "$programs/burn_static" | sed -n 's/.*Build ID: //p')
	debug=$root/usr/lib/debug/.build-id/${id:0:2}
	mkdir -p "$root/bin" "$debug"
	strip -o "$work/bin/stripped" "$programs/burn_static"
	cp "$work/bin/stripped" "$root/bin/rooted"
	sed 's/burn_sixty/evil_sixty/g' "$programs/burn_static" >"$debug/${id:2}.debug"
	chown -R 65534:65534 "$root"
	hostile_in_namespace inroot "$root" /bin/rooted
	until_true 20 has_stacks /bin/rooted "stack && ARRAY['evil_sixty']" || ok 1 "$case: the container's program has the debug file's names"
	hostile stripped 3600
}
has_begun() { has_stacks "$(program stripped)" true; }
check() { is "$(stacks_of "$(program stripped)" "stack && ARRAY['evil_sixty']")" 0 "$case: the host's program has none of the container's names"; }
