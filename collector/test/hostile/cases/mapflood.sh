# shellcheck shell=bash disable=SC2034
# A process maps and unmaps a file of a path of 3.6 kB as fast as it can: each mapping is an event of the side-band.
start() { hostile mapflood "$(hostile_directory)" 15; }
# It is read again each time that it is sampled, until that is too often.
has_begun() { is_counted sideband_full && [ "$(stacks_of "$(program mapflood)" true)" -ge 2000 ]; }
check()
{
	counted sideband_full
	counted_at_end rereads_put_off
}
