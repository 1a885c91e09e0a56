# shellcheck shell=bash disable=SC2034
# A process that was there before the agent moves the place of its arguments, and maps code afterwards: it is read again all the same.
round=first
before_agent() { hostile setmm "$(hostile_directory)"; }
start() { until_true 20 has_stacks "$(program setmm)" true; touch "$work/$case/go"; }
has_begun() { has_stacks "$(program setmm)" "stack && ARRAY['late_work']"; }
check() { all_have "its stacks are whole" "$(program setmm)" "stack && ARRAY['late_work']" "stack && ARRAY['main']" 95; }
