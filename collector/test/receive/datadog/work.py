"""60, 30 and 10 % of the time in three functions, profiled by Datadog's tracer: work.py SECONDS; its settings are in the environment."""

import sys
import time

from ddtrace.profiling import Profiler


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def much():
    spin(0.6)


def some():
    spin(0.3)


def few():
    spin(0.1)


profiler = Profiler()
profiler.start()
end_time = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end_time:
    much()
    some()
    few()
profiler.stop(flush=True)
