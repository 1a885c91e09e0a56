# shellcheck shell=bash
# Programs that record themselves, compiled in several ways, and replayed by the walker. Sourced, by those who set:
#
#   cc, replay_flags                  the compiler of programs, and flags of the walker
#   run_recorder                      what runs them (an emulator and its options), or nothing
#   variants                          flags of each program by its name
#   moments                           how many kinds of moments each records
#   out                               the directory of what is made

replay_source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
replay_top=$(cd "$replay_source/../../../.." && pwd -P)
warnings="-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Werror"
includes="-I$replay_top/collector -I$replay_top/bpf -I$replay_top/bpf/test"

# shellcheck source=../../e2e/tap.sh
. "$replay_source/../../e2e/tap.sh"

# step NAME COMMAND...
step()
{
	local name=$1 diagnostics
	shift
	diagnostics=$("$@" 2>&1)
	ok $? "$name"
	[ -z "$diagnostics" ] || sed 's/^/# /' <<<"$diagnostics"
}

# Each program is named by its variant.
compile_recorders()
{
	local variant
	for variant in "${!variants[@]}"; do
		# shellcheck disable=SC2086
		step "$variant compiles" $cc -D_GNU_SOURCE $warnings ${variants[$variant]} -fno-optimize-sibling-calls -o "$out/$variant" "$replay_source/record.c"
	done
}

compile_replay()
{
	# shellcheck disable=SC2086
	step "the walker compiles" gcc -std=gnu11 -D_GNU_SOURCE $replay_flags -O1 -g $warnings \
		-fsanitize=address,undefined -fno-sanitize-recover=all $includes -o "$out/replay" "$replay_source/replay.c" "$replay_top"/collector/unwind/{,cfi/}*.c \
		"$replay_top"/collector/{base/{arena,cache_directory,directory,memory_share,regular_file,table},files/elf_headers,labels/cgroup,process/{owner,patience,proc_file,prober}}.c "$replay_top/bpf/test/memory_tables.c" -lelf -llzma -lz
}

# replay VARIANT: records and replays; what was said of it is in $replayed.
replay()
{
	# shellcheck disable=SC2086
	$run_recorder "$out/$1" "$out/$1.recording"
	ok $? "$1 records itself"
	replayed=$(ASAN_OPTIONS=detect_leaks=0 "$out/replay" "$1" "$out/$1.recording" 2>&1)
	ok $? "$1: its recorded stacks replayed" "$replayed"
	is "$(grep -c '^ok' <<<"$replayed")" "$moments" "$1: all $moments kinds of moments were"
}
