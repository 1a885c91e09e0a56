"""Samples a second that "receive" takes and commits, from 8 clients and known stacks: see .dev/bench receive."""

import json
import socket
import struct
import subprocess
import sys
import threading
import time

import grpc

import otlp_requests
import push
import sdk_load
from harness import Receiver, eventually, number, sql
from push import SCRATCH
from sdk_load import varint

CLIENTS = 8
SECONDS = 15
STACKS = 5000
SDK_STACKS, SDK_FUNCTIONS = 250, 300  # of a large request of Pyroscope's SDKs
SDKS = (128, 8)  # connections, each of which waits for its answer
DEPTH = 30


def otlp_body():
    """One request of 5,000 samples; its time stands where MARK is."""
    from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as service
    request = service.ExportProfilesServiceRequest()
    tables = otlp_requests.Tables(request)
    mapping = tables.mapping("/bin/prog", "benchmark")
    locations = [tables.location([(f"function_{i}", "prog.c", i)], mapping, 4096 + 16 * i) for i in range(2000)]
    profile = otlp_requests.profile_of(otlp_requests.resource_of(request, {"service.name": "bench"}).scope_profiles.add(), tables,
                                       ("samples", "count"), ("cpu", "nanoseconds"), 50_000_000, MARK)
    for i in range(STACKS):
        sample = profile.samples.add()
        sample.stack_index = tables.stack([locations[(i * 7 + d * (1 + i % 13)) % 2000] for d in range(DEPTH)])
        sample.values.append(1 + i % 5)
    return request.SerializeToString()


MARK = 0x1122334455667788


def fixed64(value):
    return struct.pack("<Q", value)


def raw_profile(stacks, functions=2000, has_time=True):
    """A profile of pprof, not compressed: so that its time can be changed."""
    field = push.message_field
    number_ = lambda n, value: bytes([n << 3]) + varint(value)
    texts = ["", "cpu", "nanoseconds", "prog.c", "benchmark", "/bin/prog"] + [f"function_{i}" for i in range(functions)]
    parts = [field(1, number_(1, 1) + number_(2, 2)), field(3, number_(1, 1) + number_(5, 5) + number_(6, 4))]
    for i in range(stacks):
        stack = b"".join(varint((i * 7 + d * (1 + i % 13)) % functions + 1) for d in range(DEPTH))
        parts.append(field(2, field(1, stack) + field(2, varint(1 + i % 5))))
    for i in range(functions):
        parts.append(field(4, number_(1, i + 1) + number_(2, 1) + number_(3, 4096 + 16 * i) + field(4, number_(1, i + 1) + number_(2, i + 1))))
        parts.append(field(5, number_(1, i + 1) + number_(2, i + 6) + number_(4, 3)))
    parts += [field(6, text.encode()) for text in texts]
    parts += [number_(9, MARK) * has_time, field(11, number_(1, 1) + number_(2, 2)), number_(12, 10_000_000)]
    return b"".join(parts)


def raw_body():
    return push.write_raw_request({"__name__": "process_cpu", "service_name": "benchraw"}, raw_profile(STACKS))


def arrow_bodies(method):
    """The same as an agent's record, made by Arrow's own library, buffers not packed; and for Write the record of its stacks."""
    frames = [{"Type": "native", "File": "/bin/prog", "BuildID": "benchmark", "Address": 4096 + 16 * i, "Function": f"function_{i}",
               "Source": "prog.c", "Line": i} for i in range(2000)]
    stacks = [[frames[(i * 7 + d * (1 + i % 13)) % 2000] for d in range(DEPTH)] for i in range(STACKS)]
    samples = [{"Stack": i, "Value": 1 + i % 5, "Kind": "cpu", "TimeNs": MARK} for i in range(STACKS)]
    request = {"Method": method, "Stacks": stacks, "Batches": [samples], "Labels": {"service_name": "bench" + method}}
    subprocess.run([f"{SCRATCH}/parca-client/parca", "-records", f"{SCRATCH}/bench"], input=json.dumps(request) + "\n", text=True, check=True)
    with open(f"{SCRATCH}/bench.samples", "rb") as file:
        bodies = [push.message_field(1, file.read())]
    if method == "Write":
        with open(f"{SCRATCH}/bench.stacks", "rb") as file:
            bodies.append(push.message_field(1, file.read()))
    return bodies


def unary(method):
    def send(receiver, channel, body):
        code, details, _ = push.call(receiver, method, body, channel=channel)
        return "" if code == grpc.StatusCode.OK else f"{code} {details}"
    return send


def stream(method, stacks):
    """Samples, what the receiver asks for, and its end."""
    def send(_, channel, body):
        asked = threading.Event()

        def messages():
            yield body
            asked.wait()
            yield stacks
        try:
            for _ in channel.stream_stream(method)(messages(), timeout=60):
                asked.set()
            return ""
        except grpc.RpcError as error:
            return f"{error.code()} {error.details()}"
        finally:
            asked.set()
    return send


def backend_cpu_s():
    total = 0
    for (pid,) in sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / 100
        except FileNotFoundError:
            pass
    return total


def run_clients(receiver, count, seconds, send, body_at):
    """Seconds from request to answer of each request, and how long all of it took."""
    latencies, start = [], time.time_ns() - 60_000_000_000
    end = time.time() + seconds

    def client(number_):
        channel, i = grpc.insecure_channel(receiver.address), 0
        while time.time() < end:
            i += 1
            body = body_at(start + (i * CLIENTS + number_) * 1_000_000)
            begun = time.time()
            error = send(receiver, channel, body)
            if error:
                print(f"# {error}")
            else:
                latencies.append(time.time() - begun)
        channel.close()

    begun = time.time()
    threads = [threading.Thread(target=client, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(latencies), time.time() - begun


def percentiles(latencies):
    return f"p50 {latencies[len(latencies) // 2] * 1000:.0f} ms, p99 {latencies[len(latencies) * 99 // 100] * 1000:.0f} ms"


def measure(receiver, name, send, body, code_time, stacks):
    """A warm-up makes stacks known; then each request has a time of its own."""
    parts = body.split(code_time(MARK))
    body_at = lambda time_ns: code_time(time_ns).join(parts)
    rows = number("SELECT count(*) FROM profstore.samples")
    alone, _ = run_clients(receiver, 1, 4, send, body_at)
    before = receiver.cpu_s(), backend_cpu_s()
    latencies, seconds = run_clients(receiver, CLIENTS, SECONDS, send, lambda time_ns: body_at(time_ns - 600_000_000_000))
    spent = [after - was for after, was in zip((receiver.cpu_s(), backend_cpu_s()), before)]
    samples, resident = len(latencies) * stacks, receiver.memory_kb() / 1024
    if number("SELECT count(*) FROM profstore.samples") - rows != samples + len(alone) * stacks:
        sys.exit(f"{name}: not all samples that were told are there")
    print(f"{name}: {samples / seconds / 1000:.0f} k samples/s committed; CPU s per million: receiver {spent[0] / samples * 1e6:.2f}, "
          f"database {spent[1] / samples * 1e6:.2f}, so {samples / sum(spent) / 1000:.0f} k/s a core (goal: 300 k/s on two); "
          f"resident {resident:.0f} MB: {samples / seconds / 1000 / resident:.1f} k/s a MB; from request to answer, which is after COMMIT: "
          f"{percentiles(latencies)}; one client: {percentiles(alone)}", flush=True)


def measure_sdks(receiver, count):
    """Pyroscope's SDKs: one request each, then the next one once it is answered; a warm-up makes stacks known."""
    requests = sdk_load.sdk_requests(raw_profile(SDK_STACKS, SDK_FUNCTIONS, has_time=False))
    first_ns = time.time_ns() - 3_000_000_000_000
    sdk_load.run_sdks(receiver.port, min(count, 8), 2, requests, first_ns)
    rows = number("SELECT count(*) FROM profstore.samples")
    before = receiver.cpu_s(), backend_cpu_s(), time.process_time()
    latencies, seconds, refused = sdk_load.run_sdks(receiver.port, count, SECONDS, requests, first_ns + 1_000_000_000_000)
    spent = [after - was for after, was in zip((receiver.cpu_s(), backend_cpu_s(), time.process_time()), before)]
    samples = len(latencies) * SDK_STACKS
    if refused or number("SELECT count(*) FROM profstore.samples") - rows != samples:
        sys.exit(f"Pyroscope: not all samples are there; refused: {refused[:3]}")
    print(f"Pyroscope's SDKs, {count} connections: {samples / seconds / 1000:.0f} k samples/s committed (goal: 300); CPU s per million: receiver "
          f"{spent[0] / samples * 1e6:.2f}, database {spent[1] / samples * 1e6:.2f} (Pyroscope 2.2: 52), client {spent[2] / samples * 1e6:.2f}; resident "
          f"{receiver.memory_kb() / 1024:.0f} MB; from request to answer, which is after COMMIT: {percentiles(latencies)}", flush=True)


def measure_idle(receiver):
    before = receiver.memory_kb()
    connections = []
    for _ in range(1000):
        connection = socket.create_connection(("127.0.0.1", receiver.port))
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
        connections.append(connection)
    eventually(lambda: receiver.metric("open_connections") > 1000)
    print(f"1,000 idle connections of HTTP/2: {(receiver.memory_kb() - before) / 1024:.1f} MB more")


if __name__ == "__main__":
    bench = Receiver("--client-requests=100000", "--answer-timeout=60s")
    bench.ready()
    measure_idle(bench)
    bench.stop()
    roads = [("OTLP", unary(push.EXPORT), otlp_body(), fixed64, STACKS), ("WriteRaw", unary(push.WRITE_RAW), raw_body(), varint, STACKS)]
    service = push.WRITE_RAW.rsplit("/", 1)[0]
    samples, = arrow_bodies("WriteArrow")
    roads.append(("WriteArrow", unary(service + "/WriteArrow"), samples, fixed64, STACKS))
    samples, record = arrow_bodies("Write")
    roads.append(("Write", stream(service + "/Write", record), samples, fixed64, STACKS))
    for kind, road, request_body, time_code, count in roads:
        if sys.argv[2:] and kind not in sys.argv[2:]:
            continue
        bench = Receiver("--client-requests=100000", "--answer-timeout=60s", "--max-memory=1GB")
        bench.ready()
        measure(bench, kind, road, request_body, time_code, count)
        bench.stop()
    for clients in SDKS:
        if not sys.argv[2:] or "Pyroscope" in sys.argv[2:]:
            bench = Receiver("--client-requests=100000", "--answer-timeout=60s", "--max-memory=1GB")
            bench.ready()
            measure_sdks(bench, clients)
            bench.stop()
    push.main.stop()
