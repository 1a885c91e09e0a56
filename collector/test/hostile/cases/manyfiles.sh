# shellcheck shell=bash disable=SC2034
# Two processes map 9,000 files each.
round=files
start()
{
	local directory
	directory=$(hostile_directory)
	mkdir "$directory/1" "$directory/2"
	chown 65534:65534 "$directory"/?
	hostile mapbomb "$directory/1" 9000 9000 0
	hostile mapbomb "$directory/2" 9000 9000 0
}
has_begun() { is_counted mappings_cut; }
check() { counted mappings_cut; }
