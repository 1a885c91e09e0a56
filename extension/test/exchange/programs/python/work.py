"""Time, memory and locks, profiled by ddtrace: recursion, a generator, threads that wait for each other.

    work.py DIRECTORY      writes profile.*.pprof there, packed with zstd
"""
import os
import sys
import threading
import time

# The profiler reads its settings from the environment. It writes files, and talks to nobody.
os.environ.update(
    DD_PROFILING_OUTPUT_PPROF=os.path.join(sys.argv[1], "profile"),
    DD_PROFILING_CAPTURE_PCT="100",
    DD_PROFILING_HEAP_SAMPLE_SIZE="16384",
    DD_TRACE_ENABLED="false",
    DD_REMOTE_CONFIGURATION_ENABLED="false",
    DD_INSTRUMENTATION_TELEMETRY_ENABLED="false",
    DD_CRASHTRACKING_ENABLED="false",
)

from ddtrace.profiling import Profiler  # noqa: E402


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def spin(until):
    while time.monotonic() < until:
        yield fibonacci(14)


def ping(depth, until):
    if depth > 0:
        return pong(depth, until)
    return sum(spin(until))


def pong(depth, until):
    return (lambda: ping(depth - 1, until))()


def keep(count, size):
    return [bytes(size) for _ in range(count)]


def hold(lock, times):
    for _ in range(times):
        with lock:
            time.sleep(0.002)


def main():
    profiler = Profiler()
    profiler.start()
    lock = threading.Lock()
    threads = [threading.Thread(target=hold, args=(lock, 20), name=f"holder-{i}") for i in range(2)]
    for thread in threads:
        thread.start()
    ping(20, time.monotonic() + 0.5)
    for thread in threads:
        thread.join()
    kept = keep(500, 10000)
    profiler.stop()
    return len(kept)


main()
