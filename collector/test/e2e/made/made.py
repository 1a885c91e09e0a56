"""made.py SECONDS: makes functions, calls them, and drops them, so that later ones take their place in memory.

While a function runs, the thread has its name. The functions differ only in their names. Prints how many there were, and how many of
them had the place of an earlier one."""

import gc
import sys
import time

TEXT = """
def made_%(name)d_outer(rounds):
    return made_%(name)d_inner(rounds)
def made_%(name)d_inner(rounds):
    value = 1
    for _ in range(rounds):
        value = value * 1664525 + 1013904223 & 0xFFFFFFFF
    return value
"""
thread_name = open("/proc/self/comm", "wb", 0)
places = set()
made = 0
reused = 0


def runs(name, rounds):
    functions = {}
    exec(TEXT % {"name": name}, functions)
    outer = functions["made_%d_outer" % name]
    thread_name.write(b"made_%d" % name)
    outer(rounds)
    thread_name.write(b"none")
    return id(outer.__code__)


until = time.process_time() + float(sys.argv[1])
while time.process_time() < until:
    made += 1
    place = runs(made % 41, (5000, 20000, 100000, 400000)[made % 4])
    reused += place in places
    places.add(place)
    if made % 8 == 0:
        gc.collect()
print("%d %d" % (made, reused))
