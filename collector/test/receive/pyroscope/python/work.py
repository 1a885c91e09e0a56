"""60, 30 and 10 % of the time in three functions: work.py ADDRESS NAME SECONDS"""

import sys
import time

import pyroscope


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def much():
    spin(0.06)


def some():
    spin(0.03)


def few():
    spin(0.01)


address, name, seconds = sys.argv[1:]
pyroscope.configure(application_name=name, server_address=address, tags={"zone": "eu"})
end = time.time() + float(seconds)
while time.time() < end:
    much()
    with pyroscope.tag_wrapper({"job": "nightly"}):
        some()
    few()
pyroscope.shutdown()
time.sleep(1)
