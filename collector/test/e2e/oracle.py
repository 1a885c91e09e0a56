"""oracle.py SECONDS: work of several kinds, for two profilers at once: loops, recursion, a generator, sort keys, JSON and expressions."""

import json
import random
import re
import sys
import time

rows = [{"name": "row %d" % i, "values": list(range(i % 17)), "next": {"id": i}} for i in range(40)]
words = re.compile(r"(\w+)\s+(\d+)")


def encodes():
    text = json.dumps(rows, indent=1)  # with an indentation the encoder is written in Python
    return len(text)


def matches():
    return [words.sub(replaces, row["name"] * 6) for row in rows]


def replaces(match):
    return match.group(2) + match.group(1)


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def numbers(count):
    value = 1
    for _ in range(count):
        value = value * 1664525 + 1013904223 & 0xFFFFFFFF
        yield value


def key_of(value):
    return value % 1009


def sorts():
    return sorted(numbers(1500), key=key_of)


def recurses():
    return fibonacci(14)


def works():
    kinds = [encodes, matches, recurses, sorts]
    random.shuffle(kinds)  # one order, with turns of one length, may keep in step with one of the samplers
    for kind in kinds:
        kind()


until = time.process_time() + float(sys.argv[1])
while time.process_time() < until:
    for _ in range(10):
        works()
