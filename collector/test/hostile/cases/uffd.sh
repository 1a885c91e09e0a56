# shellcheck shell=bash disable=SC2034
# A thread waits with its stack pointer in a page that userfaultfd never fills in: a read of its stack through /proc hangs. userfaultfd needs root by default.
round=waits
flags=(--off-cpu 10ms)
wall=wallclock:wall:nanoseconds:wall:nanoseconds:delta
start() { hostile_as_root uffd; }
has_no_pages() { grep -q userfaultfd "$work/$case.output"; }
has_begun() { has_no_pages || has_stacks "$(program uffd)" true "$wall"; }
check()
{
	if has_no_pages; then
		skip "$case: its waits are stored" "$(cat "$work/$case.output")"
	else
		all_have "its waits are stored without the stack" "$(program uffd)" true "stack[1] = '[incomplete]'" 95 "$wall"
	fi
}
