# shellcheck shell=bash disable=SC2034
# A thread waits with its stack pointer in a FUSE file that does not answer reads: who reads its stack waits as long as it likes.
round=waits
needs_user_namespace=yes
flags=(--off-cpu 10ms)
start() { hostile_in_namespace fusestack; }
has_begun() { is_counted waits_unread; }
check() { counted waits_unread; }
