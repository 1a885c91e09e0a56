# shellcheck shell=bash disable=SC2034
# A perf map that an earlier process of the same pid left behind names nothing.
round=maps
needs_user_namespace=yes
in_jit() { echo "stack && ARRAY['$1']"; }
start() { hostile_in_namespace jitmap stale; }
has_begun() { has_stacks "$(program jitmap)" "$(in_jit with_map)" && has_stacks "$(program jitmap)" "$(in_jit without_map)"; }
check()
{
	local exe
	exe=$(program jitmap)
	all_have "code is named by its own map" "$exe" "$(in_jit with_map)" "$(in_jit own_work)" 80
	is "$(stacks_of "$exe" "$(in_jit work_of_another)")" 0 "$case: no code is named by the old map"
	counted_at_end perf_maps_refused
}
