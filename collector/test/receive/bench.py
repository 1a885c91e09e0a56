"""Samples a second that "receive" takes and commits, from 8 clients and known stacks: see .dev/bench receive."""

import socket
import struct
import sys
import threading
import time

import grpc

import otlp_requests
import push
from harness import Receiver, eventually, number, sql

CLIENTS = 8
SECONDS = 15
STACKS = 5000
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


def varint(value):
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def fixed64(value):
    return struct.pack("<Q", value)


def raw_body():
    """The same as one profile of pprof, not compressed: so that its time can be changed."""
    field = push.message_field
    number_ = lambda n, value: bytes([n << 3]) + varint(value)
    texts = ["", "cpu", "nanoseconds", "prog.c", "benchmark", "/bin/prog"] + [f"function_{i}" for i in range(2000)]
    parts = [field(1, number_(1, 1) + number_(2, 2)), field(3, number_(1, 1) + number_(5, 5) + number_(6, 4))]
    for i in range(STACKS):
        stack = b"".join(varint((i * 7 + d * (1 + i % 13)) % 2000 + 1) for d in range(DEPTH))
        parts.append(field(2, field(1, stack) + field(2, varint(1 + i % 5))))
    for i in range(2000):
        parts.append(field(4, number_(1, i + 1) + number_(2, 1) + number_(3, 4096 + 16 * i) + field(4, number_(1, i + 1) + number_(2, i + 1))))
        parts.append(field(5, number_(1, i + 1) + number_(2, i + 6) + number_(4, 3)))
    parts += [field(6, text.encode()) for text in texts]
    parts += [number_(9, MARK), field(11, number_(1, 1) + number_(2, 2)), number_(12, 10_000_000)]
    return push.write_raw_request({"__name__": "process_cpu", "service_name": "benchraw"}, b"".join(parts))


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


def measure(receiver, name, method, body, code_time):
    """A warm-up makes stacks known; then each request has a time of its own."""
    head, tail = body.split(code_time(MARK))
    push.call(receiver, method, head + code_time(time.time_ns()) + tail)
    rows = number("SELECT count(*) FROM profstore.samples")
    latencies, start = [], time.time_ns() - 60_000_000_000
    end = time.time() + SECONDS
    before = receiver.cpu_s(), backend_cpu_s()

    def client(number_):
        channel, i = grpc.insecure_channel(receiver.address), 0
        while time.time() < end:
            i += 1
            stamp = code_time(start + (i * CLIENTS + number_) * 1_000_000)
            begun = time.time()
            code, details, _ = push.call(receiver, method, head + stamp + tail, channel=channel)
            if code == grpc.StatusCode.OK:
                latencies.append(time.time() - begun)
            else:
                print(f"# {code} {details}")
        channel.close()

    begun = time.time()
    threads = [threading.Thread(target=client, args=(i,)) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds, samples = time.time() - begun, len(latencies) * STACKS
    spent = [after - was for after, was in zip((receiver.cpu_s(), backend_cpu_s()), before)]
    latencies.sort()
    if number("SELECT count(*) FROM profstore.samples") - rows != samples:
        sys.exit(f"{name}: not all samples that were told are there")
    print(f"{name}: {samples / seconds / 1000:.0f} k samples/s committed; CPU s per million: receiver {spent[0] / samples * 1e6:.2f}, "
          f"database {spent[1] / samples * 1e6:.2f} (goal: 300 k/s on two cores, so 6.7 together); "
          f"to the commit: p50 {latencies[len(latencies) // 2] * 1000:.0f} ms, p99 {latencies[len(latencies) * 99 // 100] * 1000:.0f} ms; "
          f"resident {receiver.memory_kb() / 1024:.0f} MB")


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
    for kind, path, request_body, time_code in (("OTLP", push.EXPORT, otlp_body(), fixed64), ("WriteRaw", push.WRITE_RAW, raw_body(), varint)):
        bench = Receiver("--client-requests=100000", "--answer-timeout=60s")
        bench.ready()
        measure(bench, kind, path, request_body, time_code)
        bench.stop()
    push.main.stop()
