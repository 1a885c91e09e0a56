# shellcheck shell=bash
# A thread waits with its stack pointer in a FUSE file that does not answer reads: who reads its stack waits as long as it likes.
flags=(--off-cpu 10ms)
start() { hostile_in_namespace fusestack; }
check() { counted waits_unread; }
