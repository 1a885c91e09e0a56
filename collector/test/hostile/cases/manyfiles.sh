# shellcheck shell=bash disable=SC2034
# Two processes map 9,000 files each.
start()
{
	local directory
	directory=$(hostile_directory)
	mkdir "$directory/1" "$directory/2"
	chown 65534:65534 "$directory"/?
	hostile mapbomb "$directory/1" 9000 9000 0
	hostile mapbomb "$directory/2" 9000 9000 0
}
check()
{
	local open
	open=$(find "/proc/$agent_pid/fd" -mindepth 1 | wc -l)
	ok "$([ "$open" -lt 5000 ]; echo $?)" "$case: the agent has few files open" "$open"
	counted mappings_cut
}
