# shellcheck shell=bash disable=SC2034
# A user's processes ask for new series, as many as they can: those of others have room all the same.
round=storm
flags=(--off-cpu 10ms)
start() { hostile_as "$storm_user" namestorm; }
has_begun() { is_counted series_capped; }
check()
{
	local series
	counted series_capped
	series=$(sql -c "SELECT count(*) FROM profstore.series WHERE labels ->> 'node' = 'hostile' AND labels ->> 'comm' LIKE 'storm%'")
	# at once, and in some minutes
	ok "$([ "$series" -gt 0 ] && [ "$series" -le $((1024 + 3 * 256)) ]; echo $?)" "$case: one user's series are bounded" "$series"
}
