# shellcheck shell=bash disable=SC2034
# Two processes switch as often as a CPU can: what it costs to look at their switches is part of what the agent takes.
round=waits
flags=(--off-cpu 10ms)
start() { hostile pingpong; }
has_begun() { has_stacks "$(program pingpong)" true; }
check() { counted_at_end looking_time_us; }
