"""A load of requests as Pyroscope's SDKs send them, from many connections and one thread, so that the client takes little of the processors."""

import selectors
import socket
import struct
import time
import zlib

import pyroscope_push


def varint(value):
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


class Packed:
    """A profile in gzip to which each request adds the field of its time, in a block that is stored."""

    def __init__(self, profile):
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        self.begin = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + packer.compress(profile) + packer.flush(zlib.Z_SYNC_FLUSH)
        self.crc, self.length = zlib.crc32(profile), len(profile)

    def with_time(self, field):
        block = b"\x01" + struct.pack("<HH", len(field), len(field) ^ 0xFFFF) + field
        return self.begin + block + struct.pack("<II", zlib.crc32(field, self.crc), self.length + len(field))


def http_request(path, content, body):
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {content}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def sdk_requests(profile):
    """Functions from a time to a request: of Python's, Ruby's and Rust's SDKs; of .NET's; of Go's; of Node's."""
    packed = Packed(profile)
    field = lambda time_ns: b"\x48" + varint(time_ns)
    push = lambda service, content: http_request(pyroscope_push.PUSH, pyroscope_push.PROTO, pyroscope_push.push_request(
        {"__name__": "process_cpu", "service_name": service}, content))
    ingest = lambda service, spy, body, content: http_request(f"/ingest?name={service}%7Bzone%3Deu%7D&spyName={spy}", content, body)
    return [lambda time_ns: push("bench.python", packed.with_time(field(time_ns))),
            lambda time_ns: push("bench.dotnet", profile + field(time_ns)),
            lambda time_ns: ingest("bench.go", "gospy", *pyroscope_push.multipart(profile=packed.with_time(field(time_ns)))),
            lambda time_ns: ingest("bench.node", "nodespy", packed.with_time(field(time_ns)), "binary/octet-stream")]


class Client:
    """A connection, with the bytes of an answer and when its request was sent."""

    def __init__(self, port, number):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.number, self.answer, self.sent = number, b"", 0.0

    def send(self, request):
        self.answer, self.sent = b"", time.time()
        self.socket.sendall(request)

    def read(self):
        """Returns True once the answer is whole."""
        self.answer += self.socket.recv(65536)
        head, end, body = self.answer.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        return bool(end) and len(body) >= int(length or 0)


def run_sdks(port, count, seconds, requests, first_ns):
    """Sends a request after the other on each of count connections. Returns sorted seconds from request to answer, all seconds, and refusals."""
    selector, latencies, refused, sent = selectors.DefaultSelector(), [], [], 0
    begun = time.time()
    for number in range(count):
        client = Client(port, number)
        selector.register(client.socket, selectors.EVENT_READ, client)
        client.send(requests[number % len(requests)](first_ns + sent * 1_000_000))
        sent += 1
    while selector.get_map():
        for key, _ in selector.select(60):
            client = key.data
            if not client.read():
                continue
            latencies.append(time.time() - client.sent)
            if not client.answer.startswith(b"HTTP/1.1 200 "):
                refused.append(client.answer[:200])
            if time.time() - begun < seconds:
                client.send(requests[client.number % len(requests)](first_ns + sent * 1_000_000))
                sent += 1
            else:
                selector.unregister(client.socket)
                client.socket.close()
    return sorted(latencies), time.time() - begun, refused
