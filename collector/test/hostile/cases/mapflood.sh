# shellcheck shell=bash
# A process maps and unmaps a file of a path of 3.6 kB as fast as it can: each mapping is an event of the side-band.
start() { hostile mapflood "$(hostile_directory)" 15; }
check()
{
	counted sideband_full
	counted_at_end rereads_put_off
}
