# shellcheck shell=bash disable=SC2034
# Two libraries with 400,000 CFI entries each: what compiling them takes is memory of the agent's.
round=walks
start() { hostile thrash "$(hostile_directory)" 2 400000; }
