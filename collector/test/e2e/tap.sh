# shellcheck shell=bash
# Results as TAP, and waiting. Sourced; counts in $tests.

# ok STATUS NAME [DIAGNOSTIC ...]
ok()
{
	local status=$1 name=$2
	shift 2
	tests=$((tests + 1))
	if [ "$status" = 0 ]; then echo "ok $tests - $name"; else echo "not ok $tests - $name"; fi
	[ $# = 0 ] || printf '%s\n' "$@" | sed 's/^/# /'
}

# is GOT EXPECTED NAME
is()
{
	if [ "$1" = "$2" ]; then ok 0 "$3"; else ok 1 "$3" "got:      $1" "expected: $2"; fi
}

# skip NAME WHY
skip()
{
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

# until_true SECONDS COMMAND...: tries until the command succeeds.
until_true()
{
	local left=$((10 * $1))
	shift
	until "$@"; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		sleep 0.1
	done
}

plan() { echo "1..$tests"; }
