# shellcheck shell=bash disable=SC2034
# Libraries that are new each time, in a file of their own or always in the same one: each is a table more to compile.
round=tables
flags=(--max-cpu 1)
start()
{
	local directory
	directory=$(hostile_directory)
	mkdir "$directory/same" "$directory/new"
	chown 65534:65534 "$directory"/*
	hostile fresh same "$directory/same" 100000
	hostile fresh new "$directory/new" 100000
}
has_begun() { is_counted stack_no_table; }
check() { counted_at_end tables_put_off; }
