# shellcheck shell=bash disable=SC2034
# Programs that live for 25 ms, one after the other, are known by executable and function.
round=late
start() { hostile shorts; }
has_begun() { has_stacks "$(program shorts)" "stack && ARRAY['short_work']"; }
check()
{
	local known
	known=$(sql -c "SELECT 100 * coalesce(sum(value) FILTER (WHERE labels ->> 'exe' = '$(program shorts)'), 0) / sum(value)
		FROM profstore.samples JOIN profstore.series('process_cpu:cpu{comm=\"shorts\"}') USING (series_id)")
	ok "$([ "${known%.*}" -ge 90 ]; echo $?)" "$case: programs that live for 25 ms have an executable" "$known %"
	all_have "programs that live for 25 ms have names" "$(program shorts)" true "stack && ARRAY['short_work']" 80
}
