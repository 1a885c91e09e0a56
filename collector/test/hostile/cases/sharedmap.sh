# shellcheck shell=bash disable=SC2034
# Two processes with one pid, in two namespaces, share the name of a perf map. It names the code of the process that writes it alone.
round=files
needs_user_namespace=yes
of_program() { program jitmap sharedmap; }
in_jit() { echo "stack && ARRAY['$1']"; }
start() { of_program >/dev/null && hostile_in_namespace sharedmap shared; }
has_begun() { has_stacks "$(of_program)" "$(in_jit with_map)" && has_stacks "$(of_program)" "$(in_jit without_map)"; }
check()
{
	local exe
	exe=$(of_program)
	all_have "code is named by its own map" "$exe" "$(in_jit with_map)" "$(in_jit own_work)" 80
	is "$(stacks_of "$exe" "$(in_jit without_map) AND $(in_jit own_work)")" 0 "$case: no code is named by the map of another process"
	counted_at_end perf_maps_refused
}
