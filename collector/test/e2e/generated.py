"""generated.py SECONDS: Python functions that share the CPU time 60 : 30 : 10, called by others."""

import sys
import time


def count(rounds):
    value = 1
    for _ in range(rounds):
        value = (value * 1664525 + 1013904223) & 0xFFFFFFFF
    return value


def sixty():
    return count(120000)


def thirty():
    return count(60000)


def ten():
    return count(20000)


def deep(depth):
    return deep(depth - 1) if depth > 0 else sixty() ^ thirty() ^ ten()


until = time.process_time() + float(sys.argv[1])
total = 0
while time.process_time() < until:
    total ^= deep(20)  # a turn of all three takes many periods of the sampler: in turns of one period, every sample may be at one place
print(total & 1)
