"""interpreted.py SECONDS: functions at known lines that share the CPU time 60 : 30 : 10, whatever calls them.

Beside them a thread waits without the interpreter's lock, time and again, and another one all the time."""

import random
import sys
import threading
import time

sys.setrecursionlimit(3000)


def sixty(rounds):
    value = 1
    for _ in range(6 * rounds): value = value * 1664525 + 1013904223 & 0xFFFFFFFF  # line 15
    return value


def thirty(rounds):
    value = 1
    for _ in range(3 * rounds): value = value * 1664525 + 1013904223 & 0xFFFFFFFF  # line 21
    return value


def ten(rounds):
    value = 1
    for _ in range(rounds): value = value * 1664525 + 1013904223 & 0xFFFFFFFF  # line 27
    return value


def deep(depth, work, rounds):
    return deep(depth - 1, work, rounds) if depth > 0 else work(rounds)


class Caller(object):
    def __init__(self):
        self.rounds = random.randrange(10000, 30000)  # turns last longer than the sampler's period and differ, so that they do not keep in step with it

    def by_sort(self, each):  # the machine's frames of sorted() stand between
        return deep(5, each, self.rounds)

    def generates(self):
        for _ in range(1):
            yield sorted([sixty, thirty, ten], key=self.by_sort)


def waits():
    while True:
        time.sleep(0.02)


def waits_on():
    time.sleep(1000)


for target in (waits, waits_on):
    waiting = threading.Thread(target=target)
    waiting.daemon = True
    waiting.start()


def burns(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        list(Caller().generates())


# Without the interpreter's lock a second thread executes a copy of the bytecode.
burns(float(sys.argv[1]) / 2)
burning = threading.Thread(target=burns, args=(float(sys.argv[1]) / 2,))
burning.start()
burning.join()
for _ in range(10):
    for each in (sixty, thirty, ten):
        deep(600, each, 1000)
