# shellcheck shell=bash disable=SC2034
# A stack of 2,100 frames, each on pages of its own: walking it to the end would take a millisecond and more in a timer interrupt.
round=walks
start() { hostile deep 2100 262144; }
has_begun() { is_counted stack_out_of_time; }
check() { counted stack_out_of_time; }
