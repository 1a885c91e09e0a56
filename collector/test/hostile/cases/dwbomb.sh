# shellcheck shell=bash disable=SC2034
# Files of some kilobytes whose DWARF unpacks to 100 MB, more than the symbol worker may have, and to 25 MB, which takes it a second each.
round=debug
start()
{
	local i
	for i in 1 2 3 4; do
		objcopy --compress-debug-sections=zlib "$programs/dwbomb" "$work/bin/dwbomb$i"
		objcopy --compress-debug-sections=zlib "$programs/dwslow" "$work/bin/dwslow$i"
		hostile "dwbomb$i"
		hostile "dwslow$i"
	done
}

has_begun() { is_counted debug_info_left_out; }
check() { counted debug_info_left_out; }
