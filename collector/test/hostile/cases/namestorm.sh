# shellcheck shell=bash disable=SC2034
# A user's processes ask for new series, as many as they can: those of others have room all the same.
round=storm
flags=(--off-cpu 10ms)
start() { hostile_as "$storm_user" namestorm; }
has_begun() { is_counted series_capped; }
check()
{
	local sets
	counted series_capped
	# A set of labels is several series if it has several kinds of waits, or if the agent changed its frequencies meanwhile.
	sets=$(sql -c "SELECT count(DISTINCT labels - 'wait') FROM profstore.series WHERE labels ->> 'node' = 'hostile' AND labels ->> 'comm' LIKE 'storm%'")
	# at once, and in some minutes
	ok "$([ "$sets" -gt 0 ] && [ "$sets" -le $((1024 + 3 * 256)) ]; echo $?)" "$case: one user's sets of labels are bounded" "$sets"
}
