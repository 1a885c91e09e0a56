"""What OpenTelemetry's eBPF profiler and Collector send, by their own reporter and exporters (otel/): what is stored of it."""

import base64
import collections
import json
import subprocess
import sys
import time

from harness import Receiver, eventually, number, ok, run, same, sql
import otlp_requests
import parca
import push
from push import SCRATCH
from retries import Held, in_background, restart_database

CLIENT = f"{SCRATCH}/otel-client/otel"
ROADS = ("reporter", "grpc", "http", "json")
EXECUTABLE = "/opt/shop/server"
CPU = "process_cpu:samples:count:cpu:nanoseconds:delta"
WAITS = "off_cpu:off_cpu:nanoseconds:::delta"

NATIVE = {"Type": "native", "File": "server", "BuildID": "cc33", "Address": 0x1234}
NAMED = {"Type": "native", "File": "server", "BuildID": "cc33", "Address": 0x2345, "Function": "serve", "Source": "serve.c", "Line": 9}
KERNEL = {"Type": "kernel", "File": "vmlinux", "BuildID": "dd44", "Address": 0x3456, "Function": "do_read"}
PYTHON = {"Type": "cpython", "Function": "handle", "Source": "app.py", "Line": 12}
STACKS = [[NATIVE], [KERNEL, NATIVE], [PYTHON, NAMED, NATIVE], [NAMED]]


def request_of(road, service, **more):
    """Sums of primes, so that none is another's; each event has a time."""
    begin = time.time_ns() - 20_000_000_000
    events = [{"Stack": stack, "Comm": comm} for stack, count in enumerate((2, 3, 5, 7)) for comm in ("one", "two")
              for _ in range(count * len(comm) - (comm == "two"))]
    events += [{"Stack": stack, "Comm": "one", "OffNs": wait} for stack, wait in ((1, 10_000_019), (1, 1_000_003), (3, 7))]
    for i, event in enumerate(events):
        event["TimeNs"] = begin + i * 1_000_000
    return {"Road": road, "Service": service, "Executable": EXECUTABLE, "Stacks": STACKS, "Events": events, **more}


def client(receiver, request, timeout=120):
    """"ok", or what its client library says of its end."""
    done = subprocess.run([CLIENT, receiver.address], input=json.dumps(request), capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


def frame_text(frame):
    file, named = frame.get("File", f"[{frame['Type']}]"), frame.get("Function", "")
    return f"{file}({frame.get('BuildID', '')})+{frame.get('Address', 0):x}" + (
        f"={named}@{frame.get('Source', '')}:{frame.get('Line', 0)}" if named else "")


def stack_text(stack):
    return " ".join(frame_text(frame) for frame in reversed(STACKS[stack]))


def expected(request):
    sums = collections.Counter()
    for event in request["Events"]:
        labels = {"thread_name": event["Comm"], "process_executable_name": "server", "process_executable_path": EXECUTABLE}
        sums[(WAITS if event.get("OffNs") else CPU, tuple(sorted(labels.items())), stack_text(event["Stack"]))] += event.get("OffNs", 1)
    return dict(sums)


def test_otel_values():
    for road in ROADS:
        request = request_of(road, f"otel-{road}")
        same(client(push.main, request), "ok", f"{road}: sent")
        parca.same_sums(f"otel-{road}", expected(request), "sums of each stack, label and kind are those of the profiler's events")


def test_otel_traces():
    trace, span = otlp_requests.TRACES[0], otlp_requests.SPANS[0]
    ids = {"Trace": base64.b64encode(bytes.fromhex(trace)).decode(), "Span": base64.b64encode(bytes.fromhex(span)).decode()}
    for road in ROADS[1:]:
        request = request_of(road, f"otel-traced-{road}", **ids)
        same(client(push.main, request), "ok", f"{road}: sent, with links")
        parca.same_sums(f"otel-traced-{road}", expected(request), "sums")
        rows = sql("SELECT trace_id, encode(span_id, 'hex'), stack_id, sum(value) FROM profstore.trace_samples AS t JOIN profstore.series AS r"
                   f" ON r.id = t.series_id WHERE r.labels->>'service_name' = 'otel-traced-{road}' GROUP BY 1, 2, 3")
        dictionary, wanted = parca.Dictionary(), collections.Counter()
        for event in request["Events"]:
            wanted[(trace, span, stack_text(event["Stack"]))] += event.get("OffNs", 1)
        same({(row[0].replace("-", ""), row[1], dictionary.stack(row[2])): int(row[3]) for row in rows}, dict(wanted),
             f"{road}: sums of the trace's stacks")


def test_otel_retries():
    """The Collector's exporters try again by themselves: receiver killed before its commit, then the database."""
    for road in ROADS[1:]:
        service = f"otel-killed-{road}"
        request = request_of(road, service, RetrySeconds=90)
        receiver = Receiver("--answer-timeout=60s")
        receiver.ready()
        with Held() as held:
            thread, result = in_background(lambda: client(receiver, request))
            ok(held.waits(), f"{road}: a transaction waits")
            receiver.kill()
        eventually(lambda: number("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%profstore%' AND state <> 'idle'") == 0)
        other = Receiver(port=receiver.port)
        thread.join()
        same(result, ["ok"], f"{road}: the receiver was killed, another took its place: the exporter came again")
        parca.same_sums(service, expected(request), "all is there once")

        service = f"otel-crashed-{road}"
        request = request_of(road, service, RetrySeconds=90)
        other.ready()
        with Held() as held:
            thread, result = in_background(lambda: client(other, request))
            ok(held.waits(), f"{road}: a transaction waits")
            restart_database()
        thread.join()
        same(result, ["ok"], f"{road}: the database was killed: the exporter's request ends well")
        parca.same_sums(service, expected(request), "all is there once")
        same(other.stop(), 0, "ends well")


if __name__ == "__main__":
    push.main.ready()
    failed = run([(name, test) for name, test in list(globals().items()) if name.startswith("test_otel")], sys.argv[2:])
    same(push.main.stop(), 0, "the receiver that all of them used ends well", push.main.text())
    sys.exit(1 if failed else 0)
