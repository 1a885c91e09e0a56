# shellcheck shell=bash
# An agent that is killed while its database is away: the next one stores what it had. Sourced by run, after labels.sh: $collector, $programs,
# $work and the database are there.

sum_of_spooled() { sql -c "SELECT coalesce(sum(value), 0) FROM profstore.stacks_of('process_cpu:cpu{node=\"spooled\", comm=\"burn_static\"}', 'yesterday', now())"; }
spooled_files() { find "$work/spool" -name '*.batch' 2>/dev/null | wc -l; }
three_are_spooled() { [ "$(spooled_files)" -ge 3 ]; }
none_is_spooled() { [ "$(spooled_files)" = 0 ]; }

spooling=(agent --node spooled --frequency 97 --interval 1s --spool-directory "$work/spool" --log-level info)
"$collector" "${spooling[@]}" --db host=/nonexistent 2>"$work/spool.log" &
spooling_pid=$!
children+=("$spooling_pid")
until_true 60 grep -q msg=sampling "$work/spool.log"
"$programs/burn_static" 2
until_true 60 three_are_spooled
ok $? "an agent without a database writes batches to disk" "$(tail -n 3 "$work/spool.log")"
"$collector" "${spooling[@]}" 2>"$work/spool_second.log"
is "$?" 3 "another agent with the same directory refuses to start"
kill -KILL "$spooling_pid"
wait "$spooling_pid" 2>/dev/null
is "$(sum_of_spooled)" 0 "nothing is stored when it is killed"
"$collector" "${spooling[@]}" 2>>"$work/spool.log" &
spooling_pid=$!
children+=("$spooling_pid")
until_true 60 none_is_spooled
ok $? "the next agent stores them" "$(tail -n 3 "$work/spool.log")"
kill -TERM "$spooling_pid"
wait "$spooling_pid"
is "$?" 0 "the agent ends with exit code 0"
stored=$(sum_of_spooled)
# the program used 2 s, about 194 ticks; its last samples were perhaps in the interval that was killed
ok "$([ "$stored" -ge 500000000 ] && [ "$stored" -le 2800000000 ]; echo $?)" "the samples of the first are there once" "$stored ns"
