# shellcheck shell=bash
# Each exit code of collector/README.md's table, with the message that comes with it. Sourced by run: $collector, $programs, $work and the database are there.

# exits CODE WORDS NAME COMMAND...: the command ends with CODE, and says WORDS (an extended regular expression).
exits()
{
	local code=$1 words=$2 name=$3 status
	shift 3
	timeout 300 "$@" >"$work/out" 2>&1 </dev/null
	status=$?
	if [ "$status" != "$code" ]; then
		ok 1 "exit code $code: $name" "got $status" "$(cat "$work/out")"
	else
		ok "$(grep -Eq "$words" "$work/out"; echo $?)" "exit code $code: $name" "$(head -c 2000 "$work/out")"
	fi
}

# The same where some file of /sys is another one: "without PATH" hides it, "with PATH TEXT" replaces what it says.
without() { local path=$1; shift; unshare -m bash -c 'mount -t tmpfs none "$0" && exec "$@"' "$path" "$@"; }
with()
{
	local path=$1 text=$2
	shift 2
	printf '%s\n' "$text" >"$work/file"
	unshare -m bash -c 'mount --bind "$0" "$1" && shift && exec "$@"' "$work/file" "$path" "$@"
}
export -f without with
export work

exits 0 'agent: sample' "--help" "$collector" --help
exits 0 'agent: sample' "help" "$collector" help
exits 0 '^profstore-collector [0-9]' "--version" "$collector" --version
exits 0 '' "a run of a second" "$collector" agent --duration 1s
exits 0 'database +profstore +ok' "check" "$collector" check
exits 0 '^profstore-collector [0-9]' "version" "$collector" version
echo 'relabel_configs: [{source_labels: [comm], regex: cron, action: drop}]' >"$work/check.yaml"
exits 0 'config +file +ok +.*check.yaml' "check of a configuration" "$collector" check --config "$work/check.yaml"
echo 'nosuch: 1' >"$work/check.yaml"
exits 3 'nosuch' "check of a configuration with an unknown key" "$collector" check --config "$work/check.yaml"
exits 2 'no command given' "no command" "$collector"
exits 2 'Perhaps you meant ."agent' "unrecognized command" "$collector" agnet
exits 2 'Perhaps you meant --frequency' "unrecognized flag" "$collector" agent --frequenzy 19
exits 2 'value is missing' "missing value" "$collector" agent --duration
exits 2 'unexpected argument' "stray argument" "$collector" agent now
exits 2 'Add --duration' "progress towards no end" "$collector" agent --progress
exits 3 'from 1 to 1000' "frequency out of range" "$collector" agent --frequency 0
exits 3 'duration such as' "a duration without its unit" "$collector" agent --interval 10
exits 4 'CAP_BPF' "no capability" setpriv --reuid=65534 --regid=65534 --clear-groups "$collector" agent --duration 1s
exits 4 'off_cpu +(unknown|wanted)' "check does not promise what it cannot see" setpriv --reuid=65534 --regid=65534 --clear-groups "$collector" check
exits 4 'CAP_PERFMON +missing' "check without capability" setpriv --reuid=65534 --regid=65534 --clear-groups "$collector" check
if unshare --pid --fork --mount-proc true 2>/dev/null; then
	exits 4 'host_pid_namespace.*hostPID: true' "a pid namespace of its own" unshare --pid --fork --mount-proc "$collector" agent --duration 1s
else
	skip "exit code 4: a pid namespace of its own" "no pid namespaces"
fi
if unshare -m true 2>/dev/null; then
	exits 4 'CONFIG_DEBUG_INFO_BTF' "a kernel without BTF" bash -c 'without "$@"' - /sys/kernel/btf "$collector" agent --duration 1s
	exits 4 'CONFIG_DEBUG_INFO_BTF' "check of a kernel without BTF" bash -c 'without "$@"' - /sys/kernel/btf "$collector" check
	ok "$(! grep -q libbpf "$work/out"; echo $?)" "and libbpf says nothing of its own" "$(cat "$work/out")"
	exits 5 'perf event on any CPU' "no CPU can be sampled" bash -c 'with "$@"' - /sys/devices/system/cpu/online 4000 "$collector" agent --duration 1s
else
	skip "exit code 4: a kernel without BTF" "no mount namespaces"
	skip "exit code 5: no CPU can be sampled" "no mount namespaces"
fi
exits 6 'does not exist' "no such database" "$collector" agent --db "dbname=nosuch" --duration 1s
"$programs/burn_plain" 3 >/dev/null & # or there may be nothing to store
exits 7 'could not store all samples before the end' "no server before the end" "$collector" agent --db "host=/nonexistent" --duration 1s --stop-timeout 1s
exits 6 'CREATE EXTENSION' "extension missing" "$collector" agent --db "dbname=postgres" --duration 1s
exits 6 'database +profstore +missing' "check without server" "$collector" check --db "host=/nonexistent"
exits 2 'no status file given' "health without a file" "$collector" health
exits 7 'could not read the agent.s status' "health of an agent that is not there" "$collector" health --status /nonexistent
exits 7 'not the status of an agent' "health by a file that is something else" "$collector" health --status /etc/passwd
exits 7 'could not open the directory of the copy' "a GPU library without a directory" "$collector" gpu-library --copy-to /nonexistent
exits 7 'could not copy the GPU library' "a GPU library in a file system without files" "$collector" gpu-library --copy-to /proc
exits 7 'could not write the status' "status not writable" "$collector" agent --duration 1s --status /nonexistent/status
exits 2 'no file given' "import without a file" "$collector" import
exits 2 'no selector given' "export without a selector" "$collector" export
exits 3 'does not accept ."service' "labels that are none" "$collector" import --labels service /dev/null
exits 3 'invalid selector.*hint="?A selector looks like' "export by a selector that is none" "$collector" export --selector 'x{'
exits 0 'no series has profile type.*profile_types' "export of a type that is not stored" "$collector" export --format folded --selector 'nosuch{}'
exits 2 'standard output is a terminal.*hint="?Use --output FILE' "export of pprof to a terminal" script -qec "$collector export --selector exported" /dev/null
exits 3 'yesterdya.*hint="--from and --to accept' "export from a time that is none" "$collector" export --selector 'x{}' --from yesterdya
for minutes in 120 20; do
	echo "main;$minutes 1" | "$collector" import --labels __name__=exported --at "$(date -u -d "$minutes minutes ago" '+%F %TZ')" -
done
is "$("$collector" export --format folded --selector exported)" 'main;20 1' "export is of the last hour, and takes the first part of a type"
is "$("$collector" export --format folded --selector exported --from yesterday | sort)" $'main;120 1\nmain;20 1' "export from when it is told"
exits 0 'the selection is empty.*profstore.series' "export of no lines" "$collector" export --format folded --selector exported --from 2000-01-01 --to 2000-01-02
exits 0 'the selection is empty.*profstore.series' "export of no samples" "$collector" export --format speedscope --selector exported --from 2000-01-01 --to 2000-01-02
sql -c "DROP ROLE IF EXISTS e2e_writer" -c "CREATE ROLE e2e_writer LOGIN" -c "SELECT profstore.grant_write('e2e_writer')" >/dev/null
exits 6 'profstore.grant_read\(.e2e_writer.\)' "export by a role that may only store" "$collector" export --db "user=e2e_writer" --selector exported
sql -c "DROP OWNED BY e2e_writer" -c "DROP ROLE e2e_writer" >/dev/null
exits 6 'could not connect to database' "import without a server" "$collector" import --db "host=/nonexistent" /dev/null
exits 7 'could not read file' "import of a file that is not there" "$collector" import /nonexistent
echo 'nothing that is known' >"$work/unknown"
exits 7 'format of the text is not known' "import of a file of which nothing is known" "$collector" import "$work/unknown"
echo 'main 1.5' >"$work/bad.folded"
gzip <"$work/bad.folded" >"$work/packed"
exits 7 'gzip -dc' "import of packed text from standard input" bash -c '"$1" import --format folded - <"$2"' - "$collector" "$work/packed"
exits 7 'byte 0' "import of a file that is refused" "$collector" import --format folded "$work/bad.folded"
# full COMMAND...: with a disk of one page, which is full; then names what it holds.
full() { mount -t tmpfs -o size=4k none /mnt && head -c 4096 /dev/zero >/mnt/filler && { "$@"; local code=$?; ls /mnt; return "$code"; }; }
export -f full
if unshare -m true 2>/dev/null; then
	exits 7 'No space left' "export to a full disk" unshare -m bash -c 'full "$@"' - "$collector" export --selector exported --output /mnt/new
	is "$(grep -v msg= "$work/out")" filler "what could not be written whole is not left there"
else
	skip "exit code 7: export to a full disk" "no mount namespaces"
fi
exits 7 'could not open the summary' "summary cannot be opened: told before sampling" "$collector" agent --duration 1h --summary /nonexistent/file
exits 7 'could not write the summary' "summary cannot be written" "$collector" agent --duration 1s --summary /dev/full

# Somewhere between too little to load anything and enough there is room for all but a thread's stack.
for mb in 26 30 34 38 42 46 50 54 58 62; do
	(ulimit -v $((mb * 1024)); timeout 300 "$collector" agent --duration 1s) >"$work/out" 2>&1 </dev/null
	short_of=$?
	[ "$short_of" != 8 ] || break
done
is "$short_of" 8 "exit code 8: address space of $mb MB"
ok "$(grep -Eq "out of memory|could not start" "$work/out"; echo $?)" "exit code 8 says what it lacks" "$(head -c 2000 "$work/out")"

# SIGTERM and SIGHUP store what was sampled; a second signal, which is there before the first was answered, does not wait, but for SIGHUP.
stop_with()
{
	: >"$work/out" # what the one before said is not to be taken for this one's
	# whoever runs this may ignore SIGHUP, which is inherited
	env --default-signal=HUP "$collector" agent --node "$1" --interval 1h --log-level info >"$work/out" 2>&1 &
	local pid=$! status
	until_true 60 grep -q msg=sampling "$work/out"
	"$programs/burn_plain" 1
	shift
	kill -STOP "$pid"
	for signal in "$@"; do
		kill "-$signal" "$pid"
	done
	kill -CONT "$pid"
	wait "$pid"
	status=$?
	return "$status"
}
stop_with terminated TERM
is "$?" 0 "exit code 0: SIGTERM"
rows=$(sql -c "SELECT count(*) FROM profstore.samples s JOIN profstore.series r ON r.id = s.series_id WHERE r.labels ->> 'node' = 'terminated'")
ok "$([ "$rows" -gt 0 ]; echo $?)" "SIGTERM: the interval that was begun is stored" "$rows rows"
stop_with closed HUP
is "$?" 0 "exit code 0: SIGHUP, as from a terminal that is closed"
rows=$(sql -c "SELECT count(*) FROM profstore.samples s JOIN profstore.series r ON r.id = s.series_id WHERE r.labels ->> 'node' = 'closed'")
ok "$([ "$rows" -gt 0 ]; echo $?)" "SIGHUP: the interval that was begun is stored" "$rows rows"
stop_with stopped TERM HUP
is "$?" 0 "exit code 0: SIGTERM with SIGHUP, as from a service manager"
stop_with forced TERM INT
is "$?" 7 "exit code 7: a second signal"

# A server that takes the connection and says nothing: the signal is heard all the same.
perl -MIO::Socket::UNIX -e '$l = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 5) or die; $c = $l->accept; open F, ">", $ARGV[1]; close F; sleep' \
	"$work/.s.PGSQL.5432" "$work/accepted" &
silent=$!
children+=("$silent")
until_true 60 test -S "$work/.s.PGSQL.5432"
"$collector" agent --stop-timeout 1s --log-level debug --db "host=$work port=5432" >"$work/out" 2>&1 &
pid=$!
until_true 60 test -e "$work/accepted"
until_true 60 grep -q 'msg=flushed rows=[1-9]' "$work/out"
kill -TERM "$pid"
wait "$pid"
is "$?" 7 "exit code 7: SIGTERM while the database is connected to"
ok "$(grep -q 'could not store all samples before the end' "$work/out"; echo $?)" "and it says so" "$(grep -v mod=libbpf "$work/out")"
kill "$silent"
