# shellcheck shell=bash disable=SC2034
# A user's processes ask for new series, as many as they can: those of others have room all the same.
round=storm
flags=(--off-cpu 10ms)
start() { hostile_as "$storm_user" namestorm; }
has_begun() { is_counted series_capped; }
check()
{
	local known all bound
	counted series_capped
	# Each account may have a burst and an allowance for each minute. A process that exits before the agent read its user has no label "exe", and is
	# charged to an account of exited processes: that of its control group or, if this is unknown as well, that of the machine. Several kinds of waits
	# of a set of labels are series of their own.
	bound=$((1024 + 256 * (1 + (SECONDS - started) / 60)))
	IFS=' |' read -r known all < <(sql -c "SELECT count(DISTINCT labels - 'wait') FILTER (WHERE labels ? 'exe'), count(DISTINCT labels - 'wait')
		FROM profstore.series WHERE labels ->> 'node' = 'hostile' AND labels ->> 'comm' LIKE 'storm%'")
	ok "$([ "$known" -gt 0 ] && [ "$known" -le "$bound" ]; echo $?)" "$case: one user's sets of labels are bounded" "$known, $bound allowed"
	ok "$([ "$all" -le $((3 * bound)) ]; echo $?)" "$case: so are those of three accounts" "$all, $((3 * bound)) allowed"
}
