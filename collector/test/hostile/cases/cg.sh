# shellcheck shell=bash disable=SC2034
# Who may make control groups below its own calls one a container and another one a service: neither counts.
round=late
ids=(abababababababababababababababababababababababababababababababab cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd)
in_user_group() { program deep cg_user; }
in_container() { program deep cg_container; }
start()
{
	in_user_group >/dev/null # the copies are made
	in_container >/dev/null
	[ -n "$unified" ] || return 0
	hostile_in_group "user@1000.service/evil.slice/docker-${ids[0]}.scope/postgresql.service" cg_user 1 64
	hostile_in_group "docker-${ids[1]}.scope/docker-${ids[0]}.scope/postgresql.service" cg_container 1 64
}
has_begun() { [ -z "$unified" ] || { has_stacks "$(in_user_group)" true && has_stacks "$(in_container)" true; }; }
check()
{
	if [ -z "$unified" ]; then
		skip "$case: groups below one's own do not count" "no unified hierarchy is mounted"
		return
	fi
	# where this machine is a container itself, the old hierarchies may say which one
	is "$(label_of "$(in_user_group)" container_id | grep -cx "${ids[0]}")" 0 "$case: a user cannot choose the container"
	is "$(label_of "$(in_user_group)" systemd_unit | grep -cx postgresql.service)" 0 "$case: a user cannot choose the unit"
	is "$(label_of "$(in_container)" container_id)" "${ids[1]}" "$case: the outermost container counts"
	is "$(label_of "$(in_container)" systemd_unit)" "docker-${ids[1]}.scope" "$case: the outermost unit counts"
}
