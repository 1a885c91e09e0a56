# shellcheck shell=bash disable=SC2034
# Processes without number map a file of a FUSE file system that never answers what is asked about it: each question keeps a thread. The kernel lets
# only processes of the server's own user ask, so it is a container's root, which is the agent's user, in a user namespace.
round=late
needs_user_namespace=yes
lead_seconds=8
start()
{
	nice -n 10 unshare --user --map-root-user "$(program fusehog)" </dev/null >>"$work/$case.output" 2>&1 &
	hostiles+=($!)
}
check() { counted_at_end probes_timed_out; }
