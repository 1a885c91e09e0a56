# shellcheck shell=bash disable=SC2034
# Unwind tables of libraries that take more room together than there is turn: each walk wants one that had to go for another.
round=tables
flags=(--max-cpu 1)
lead_seconds=7
start() { hostile thrash "$(hostile_directory)" 10 100000; }
check() { counted_at_end tables_put_off; }
