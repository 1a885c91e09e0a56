# shellcheck shell=bash disable=SC2034
# A copy of the bystander's program with the same build ID and size, and another name for a function. It runs first.
round=first
start()
{
	sed 's/burn_sixty/evil_sixty/g' "$programs/burn" >"$work/bin/forged"
	echo "$newcomer" >>"$work/bin/forged" # as the bystander's copy has
	chmod +x "$work/bin/forged"
	hostile forged 60
}
check() { is "$(stacks_of "$exe" "stack && ARRAY['evil_sixty']")" 0 "poison: the bystander has none of the copy's names"; }
