# shellcheck shell=bash disable=SC2034
# Two processes map one file of a path of 3.9 kB 60,000 times each.
round=maps
start()
{
	local directory
	directory=$(hostile_directory)
	mkdir "$directory/1" "$directory/2"
	chown 65534:65534 "$directory"/?
	hostile mapbomb "$directory/1" 1 60000 15
	hostile mapbomb "$directory/2" 1 60000 15
}
has_begun() { is_counted mappings_cut; }
check() { counted mappings_cut; }
