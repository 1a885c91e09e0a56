# shellcheck shell=bash
# A stack of 2,100 frames, each on pages of its own: walking it to the end would take a millisecond and more in a timer interrupt.
start() { hostile deep 2100 262144; }
check() { counted stack_out_of_time; }
