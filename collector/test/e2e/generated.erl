%% generated SECONDS: functions that the emulator's compiler has made code of, and that share the CPU time 60 : 30 : 10.
-module(generated).
-export([main/1]).

work(0, Value) -> Value;
work(Rounds, Value) -> work(Rounds - 1, (Value * 1664525 + 1013904223) band 16#FFFFFFF).

%% Not the last call, which would take the caller's place on the stack. A turn of all three takes many periods of the sampler: in turns
%% of one period, every sample may be at one place.
sixty() -> work(3000000, 1) + 1.
thirty() -> work(1500000, 1) + 1.
ten() -> work(500000, 1) + 1.

cpu_ms() -> element(1, erlang:statistics(runtime)).

run(Until, Sum) ->
    case cpu_ms() < Until of
        true -> run(Until, Sum bxor sixty() bxor thirty() bxor ten());
        false -> Sum
    end.

main([Seconds]) ->
    lists:foreach(fun code:ensure_loaded/1, [dict, digraph, gb_sets, gb_trees, orddict, queue, sets]),
    io:format("~b~n", [run(cpu_ms() + 1000 * list_to_integer(Seconds), 0) band 1]).
