"""Clients that mean harm, or just do it: nothing grows without bound, others are served meanwhile."""

import concurrent.futures
import gzip
import random
import re
import socket
import ssl
import subprocess
import threading
import time

import grpc
import h2.config
import h2.connection
import h2.events
import zstandard

import otlp_requests
import push
from harness import Receiver, eventually, ok, same
from retries import Held, restart_database
from push import EXPORT, PROTOBUF, SCRATCH, WRITE_RAW, call, message_field, now_ns, pprof, stored, write_raw_request


def alive(receiver, name):
    """It still takes what it should."""
    body = otlp_requests.request_of("times", "alive", now_ns()).SerializeToString()
    same(call(receiver, EXPORT, body)[0], grpc.StatusCode.OK, f"{name}: others are served")


def has_few_connections(receiver):
    """To be asked again: as long as there are too many, the question is refused like others."""
    try:
        return receiver.metric("open_connections") < 5
    except OSError:
        return False


def raw_connection(receiver):
    return socket.create_connection(("127.0.0.1", receiver.port), timeout=20)


def closed(connection, seconds=20):
    """The other side has closed it, whatever it said before."""
    connection.settimeout(seconds)
    try:
        while connection.recv(65536):
            pass
        return True
    except (ConnectionResetError, BrokenPipeError):
        return True
    except socket.timeout:
        return False


def http2(receiver):
    client = h2.connection.H2Connection(h2.config.H2Configuration(validate_outbound_headers=False))
    client.initiate_connection()
    connection = raw_connection(receiver)
    connection.sendall(client.data_to_send())
    return client, connection


HEADERS = [(":method", "POST"), (":scheme", "http"), (":authority", "x"), (":path", EXPORT),
           ("content-type", "application/grpc"), ("te", "trailers")]


def send_until_closed(connection, make, count):
    """Sends pieces until the other side has enough; how many went."""
    for i in range(count):
        try:
            connection.sendall(make(i))
        except (ConnectionResetError, BrokenPipeError, socket.timeout):
            return i
    return count


def test_floods():
    receiver = Receiver()
    receiver.ready()
    ping = b"\x00\x00\x08\x06\x00\x00\x00\x00\x00" + b"12345678"
    settings = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
    empty_data = b"\x00\x00\x00\x00\x00\x00\x00\x00\x01"
    priority = b"\x00\x00\x05\x02\x00\x00\x00\x00\x01\x00\x00\x00\x00\x01"
    for name, piece in (("PING", ping), ("SETTINGS", settings), ("PRIORITY", priority), ("empty DATA", empty_data)):
        client, connection = http2(receiver)
        if name == "empty DATA":
            client.send_headers(1, HEADERS)
            connection.sendall(client.data_to_send())
        send_until_closed(connection, lambda _: piece * 100, 100)
        ok(closed(connection), f"a flood of {name} ends the connection")
    client, connection = http2(receiver)

    def reset(i):
        stream = 2 * i + 1
        client.send_headers(stream, HEADERS)
        client.reset_stream(stream)
        return client.data_to_send()

    send_until_closed(connection, reset, 3000)
    ok(closed(connection), "rapid resets end the connection")
    client, connection = http2(receiver)
    continuation = b"\x00\x00\x01\x09\x00\x00\x00\x00\x01\x00"
    send_until_closed(connection, lambda i: (b"\x00\x00\x01\x01\x00\x00\x00\x00\x01\x82" if i == 0 else continuation * 100), 100)
    ok(closed(connection), "endless CONTINUATION ends the connection")
    ok(receiver.metric("connections_flooded_total") >= 3, "floods are counted", receiver.get("/metrics")[2].decode())
    ok("too many frames" in receiver.text(), "and logged")
    alive(receiver, "after floods")
    same(receiver.stop(), 0, "ends well")


def test_unread_answers():
    """Requests by the thousand, answers read by nobody."""
    receiver = Receiver()
    receiver.ready()
    before = receiver.memory_kb()
    connections = []
    for _ in range(20):
        connection = raw_connection(receiver)
        connection.settimeout(0.2)
        send_until_closed(connection, lambda _: b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 1000, 200)
        connections.append(connection)
    grown = receiver.memory_kb() - before
    ok(grown < 30_000, f"20 connections that read nothing: {grown} kB more")
    alive(receiver, "beside them")
    for connection in connections:
        connection.close()
    same(receiver.stop(), 0, "ends well")


def test_open_files():
    """Connections up to the limit of open files, and beyond it."""
    receiver = Receiver(open_files="100:1000")
    receiver.ready()
    connections = [raw_connection(receiver) for _ in range(300)]
    ok(eventually(lambda: receiver.metric("open_connections") > 300), "the limit of open files is raised as far as it goes")
    for connection in connections:
        connection.close()
    same(receiver.stop(), 0, "ends well")
    receiver = Receiver(open_files="150:150")
    receiver.ready()
    ok("open_files=150" in receiver.text(), "a limit that is too low is told", receiver.text())
    before = receiver.cpu_s()
    connections = [raw_connection(receiver) for _ in range(150)]
    ok(closed(connections[-1]), "connections beyond it are closed")
    time.sleep(1)
    spent = receiver.cpu_s() - before
    ok(spent < 0.5, f"and cost nothing while they stay: {spent:.2f} s of processor time in a second")
    restart_database()
    for connection in connections[:20]:
        connection.close()
    ok(receiver.metric("connections_refused_total") > 50, "they are counted")
    ok(eventually(lambda: receiver.get("/-/ready")[0] == 200, 60), "the database, away meanwhile, is found again beside them")
    alive(receiver, "beside them")
    for connection in connections:
        connection.close()
    same(receiver.stop(), 0, "ends well")


def open_streams(receiver, count, headers):
    """So many connections of one address, each with a hundred streams that have headers and no end."""
    client = h2.connection.H2Connection(h2.config.H2Configuration(validate_outbound_headers=False))
    client.initiate_connection()
    for i in range(100):
        client.send_headers(2 * i + 1, headers)
    begin = client.data_to_send()
    connections = [socket.create_connection(("127.0.0.1", receiver.port), source_address=("127.0.0.2", 0)) for _ in range(count)]
    for connection in connections:
        try:
            connection.sendall(begin)
        except OSError:  # closed already
            pass
    return connections


def test_headers_alone():
    """Streams that only have headers, with tokens that are wrong and without: memory that is counted, and bounded."""
    with open(f"{SCRATCH}/headertokens", "w") as tokens:
        tokens.write("team secret\n")
    token = [("authorization", "Bearer " + "x" * 3900)]
    for name, flags, headers in (("tokens that are wrong", [f"--tokens={SCRATCH}/headertokens"], HEADERS + token), ("no tokens", [], HEADERS + token)):
        receiver = Receiver("--max-memory=32MB", *flags)
        ok(receiver.ready(), "ready")
        before = receiver.memory_kb()
        connections = open_streams(receiver, 300, headers)
        secret = {"Authorization": "Bearer secret"}
        metric = lambda which: int(re.search(rf"^profstore_receive_{which} (\d+)$", receiver.request("/metrics", None, secret)[2].decode(), re.M).group(1))
        if flags:
            ok(eventually(lambda: metric("requests_unauthenticated_total") == 30_000, 60), f"30,000 streams, {name}: refused when their headers are there")
        else:
            ok(eventually(lambda: metric("requests_throttled_total") > 0, 60), f"30,000 streams, {name}: those beyond a quarter of --max-memory are refused")
            ok(metric("connection_bytes") < 9 << 20, "and the others are counted", metric("connection_bytes"))
        grown = receiver.memory_kb() - before
        ok(grown < 30_000, f"{name}: {grown} kB more")
        same(metric("bytes_under_way"), 0, "requests of others have what they had")
        for connection in connections:
            connection.close()
        ok(eventually(lambda: metric("open_connections") < 3 and metric("connection_bytes") < 100_000), "nothing is held of them when they are gone")
        same(receiver.stop(), 0, "ends well")


def drip(connection, pieces, stopped):
    """A byte every half a second, as long as somebody takes it."""
    for i in range(len(pieces)):
        try:
            connection.sendall(pieces[i:i + 1])
        except OSError:
            return
        if stopped.wait(0.5):
            return


def test_slow():
    receiver = Receiver("--idle-timeout=1s")
    receiver.ready()
    waiting = []
    for name, bytes_ in (("nothing", b""), ("half a request line", b"POST /v1/pro"), ("half the headers", b"POST / HTTP/1.1\r\nA: b\r\n"),
                         ("half a preface", b"PRI * HTT")):
        connection = raw_connection(receiver)
        connection.sendall(bytes_)
        waiting.append((name, connection))
    client, connection = http2(receiver)
    waiting.append(("HTTP/2 without calls", connection))
    stopped = threading.Event()
    for name, bytes_ in (("a request line, byte by byte,", b"POST /v1/" + b"x" * 100), ("headers, byte by byte,", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 100)):
        connection = raw_connection(receiver)
        threading.Thread(target=drip, args=(connection, bytes_, stopped), daemon=True).start()
        waiting.append((name, connection))
    for name, connection in waiting:
        ok(closed(connection), f"a connection that says {name} is closed")
    stopped.set()
    ok(receiver.metric("connections_timed_out_total") >= 7, "and counted")
    same(receiver.stop(), 0, "ends well")


def test_limits():
    receiver = Receiver("--max-message=1MB", "--max-memory=4MB", "--client-connections=30")
    receiver.ready()
    big = b"\x0a" + b"\x00" * (2 << 20)
    same(call(receiver, EXPORT, big)[0], grpc.StatusCode.RESOURCE_EXHAUSTED, "gRPC, too large")
    same(call(receiver, EXPORT, big, compression=grpc.Compression.Gzip)[0], grpc.StatusCode.RESOURCE_EXHAUSTED,
         "gRPC, a gzip bomb")
    same(call(receiver, WRITE_RAW, big)[0], grpc.StatusCode.INVALID_ARGUMENT, "WriteRaw, too large: not sent again by Parca's agents")
    same(receiver.post("/v1/profiles", zstandard.compress(big), PROTOBUF, Content_Encoding="zstd")[0], 413, "HTTP, a zstd bomb")
    same(receiver.post("/v1/profiles", gzip.compress(big[:9000])[:-9], PROTOBUF, Content_Encoding="gzip")[0], 400, "HTTP, half a gzip")
    connection = raw_connection(receiver)
    connection.sendall(b"POST /v1/profiles HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 5000000\r\n\r\n")
    ok(b" 413 " in connection.recv(4096), "HTTP, announced as too large: answered at once")
    halves = []
    for _ in range(6):  # each holds 1 MB, without an end
        connection = raw_connection(receiver)
        connection.sendall(b"POST /v1/profiles HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 1000000\r\n\r\n")
        send_until_closed(connection, lambda _: b"x" * 99_000, 10)
        halves.append(connection)
    ok(eventually(lambda: receiver.metric("requests_throttled_total") > 0), "one client holds half of the memory at most")
    ok(receiver.metric("bytes_under_way") <= 2 << 20, "and no more", receiver.metric("bytes_under_way"))
    many = [raw_connection(receiver) for _ in range(40)]
    ok(closed(many[-1]), "connections beyond an address's share are closed")
    for connection in halves + many:
        connection.close()
    ok(eventually(lambda: has_few_connections(receiver)), "all of them have gone")
    alive(receiver, "after that")
    same(receiver.stop(), 0, "ends well")


def test_deep_stacks():
    """One client's stacks that are all new, and as deep as can be: the commits of others go between its steps."""
    from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as service
    random.seed(11)
    request = service.ExportProfilesServiceRequest()
    tables = otlp_requests.Tables(request)
    frames = [tables.location([(name, "f.c", 1)]) for name in ("a", "b")]
    profile = otlp_requests.profile_of(otlp_requests.resource_of(request, {"service.name": "deep"}).scope_profiles.add(), tables,
                                       ("samples", "count"), ("cpu", "nanoseconds"), 1, now_ns())
    for _ in range(300):
        bits = random.getrandbits(8000)
        sample = profile.samples.add()
        sample.stack_index = tables.stack([frames[bits >> i & 1] for i in range(8000)])
        sample.values.append(1)
    receiver = Receiver("--answer-timeout=60s")
    receiver.ready()
    body = request.SerializeToString()
    result = []
    thread = threading.Thread(target=lambda: result.append(receiver.post("/v1/profiles", body, PROTOBUF)[0]))
    thread.start()
    ok(eventually(lambda: receiver.metric("transactions_total") > 0, 60), "the first of them are interned")
    other = otlp_requests.request_of("times", "between", now_ns()).SerializeToString()
    same((receiver.post("/v1/profiles", other, PROTOBUF)[0], result), (200, []), "another request is stored before they are")
    thread.join()
    same((result, stored("deep"), stored("between")), ([200], 300, 5), "and so are they in the end")
    ok(receiver.metric("transactions_total") > 10, "in steps", receiver.metric("transactions_total"))
    same(receiver.metric("queued_bytes"), 0, "nothing is left of them")
    same(receiver.stop(), 0, "ends well")


def test_series():
    """A client that brings ever more series is told, and holds up no other one."""
    with open(f"{SCRATCH}/seriestokens", "w") as tokens:
        tokens.write("many secret-m\nfew secret-f\n")
    receiver = Receiver("--client-series=200", f"--tokens={SCRATCH}/seriestokens")
    ok(receiver.ready(), "ready")

    def post(token, name, count):
        request = otlp_requests.request_of("times", name, now_ns())
        one = request.resource_profiles[0]
        for i in range(1, count):
            request.resource_profiles.add().CopyFrom(one)
            request.resource_profiles[i].resource.attributes.add(key="number").value.string_value = str(i)
        return receiver.post("/v1/profiles", request.SerializeToString(), PROTOBUF, Authorization=f"Bearer {token}")

    same([post("secret-m", f"series{i}", 50)[0] for i in range(2)], [200, 200], "two hundred series are taken, two of each resource")
    status, _, text = post("secret-m", "series2", 1)
    same((status, b"--client-series" in text, stored("series2", "count(*)")), (413, True, 0), "one more is refused", text)
    same(post("secret-m", "series1", 50)[0], 200, "those that are known are taken still")
    same(post("secret-f", "series2", 50)[0], 200, "so are another tenant's")
    metrics = receiver.request("/metrics", None, {"Authorization": "Bearer secret-f"})[2].decode()
    ok("\nprofstore_receive_requests_beyond_series_total 1\n" in metrics, "it is counted")
    ok("client=many" in receiver.text(), "and logged", receiver.text())
    same(receiver.stop(), 0, "ends well")


def test_rate():
    """A client beyond its rate is told to come again, and holds up no other one."""
    with open(f"{SCRATCH}/rates", "w") as tokens:
        tokens.write("eager secret-e\ncalm secret-c\n")
    receiver = Receiver("--client-requests=5", f"--tokens={SCRATCH}/rates")
    ok(receiver.ready(), "ready")
    ask = lambda token: receiver.post("/v1/profiles", b"", PROTOBUF, Authorization=f"Bearer {token}")[:2]
    answers = [ask("secret-e")]
    while answers[-1][0] == 200 and len(answers) < 500:
        answers.append(ask("secret-e"))
    ok(len(answers) > 5, "so many at once", len(answers))
    same((answers[-1][0], answers[-1][1]["Retry-After"]), (429, "1"), "HTTP: 429 and Retry-After")
    same(ask("secret-c")[0], 200, "another tenant's request is taken")
    with grpc.insecure_channel(receiver.address) as channel:
        answers = []
        while (not answers or answers[-1][0] == grpc.StatusCode.OK) and len(answers) < 500:
            answers.append(call(receiver, EXPORT, b"", channel=channel, metadata=(("authorization", "Bearer secret-e"),)))
    code, _, trailers = answers[-1]
    same((code, b"google.rpc.RetryInfo" in trailers.get("grpc-status-details-bin", b"")), (grpc.StatusCode.UNAVAILABLE, True), "gRPC: UNAVAILABLE and RetryInfo")
    time.sleep(1.2)
    same(ask("secret-e")[0], 200, "later it is taken again")
    same(receiver.stop(), 0, "ends well")


def test_grpc_zstd():
    """An encoding that gRPC's own library does not have."""
    packed = zstandard.compress(otlp_requests.request_of("times", "grpczstd", now_ns()).SerializeToString())
    client, connection = http2(push.main)
    client.send_headers(1, [*HEADERS, ("grpc-encoding", "zstd")])
    client.send_data(1, b"\x01" + len(packed).to_bytes(4, "big") + packed, end_stream=True)
    connection.sendall(client.data_to_send())
    status, came = None, b"x"
    while status is None and came:
        came = connection.recv(65536)
        for event in client.receive_data(came):
            status = dict(getattr(event, "headers", None) or ()).get(b"grpc-status", status)
    same((status, stored("grpczstd")), (b"0", 5), "gRPC, zstd")
    connection.close()


def test_answered_bodies():
    """Streams that their client leaves open once they are answered: what it said is not kept for them."""
    receiver = Receiver("--workers=1")
    receiver.ready()
    bomb = zstandard.compress(bytes(16 << 20))
    message = b"\x01" + len(bomb).to_bytes(4, "big") + bomb
    headers = [(name, WRITE_RAW.replace("WriteRaw", "Write") if name == ":path" else value) for name, value in HEADERS] + [("grpc-encoding", "zstd")]
    before = receiver.memory_kb()
    client, connection = http2(receiver)
    for i in range(20):
        client.send_headers(2 * i + 1, headers)
        client.send_data(2 * i + 1, message)
    connection.sendall(client.data_to_send())
    ok(eventually(lambda: receiver.metric("requests_invalid_total") == 20, 60), "20 streams of 16 MB each, unpacked, are refused")
    grown = receiver.memory_kb() - before
    ok(grown < 100_000, f"while they stay open: {grown} kB more")
    connection.close()
    alive(receiver, "after that")
    same(receiver.stop(), 0, "ends well")


def test_memory():
    """What requests are unpacked and decoded with is memory under way, too."""
    receiver = Receiver("--max-message=30MB", "--max-memory=40MB", "--workers=4")
    receiver.ready()
    request = otlp_requests.request_of("times", "unpacked", now_ns())
    request.resource_profiles[0].schema_url = "x" * (24 << 20)
    packed = zstandard.compress(request.SerializeToString())
    before = receiver.memory_kb()
    with concurrent.futures.ThreadPoolExecutor(12) as clients:
        answers = list(clients.map(lambda _: receiver.post("/v1/profiles", packed, PROTOBUF, Content_Encoding="zstd"), range(48)))
    grown = receiver.memory_kb("VmHWM") - before
    ok(grown < 130_000, f"12 clients with 24 MB each, unpacked, within 40 MB: {grown} kB at most")
    ok(all(status == 200 or (status in (429, 503) and headers["Retry-After"]) for status, headers, _ in answers),
       "each is stored or told to come again", *[answer[::2] for answer in answers])
    ok(any(status == 200 for status, _, _ in answers), "and not all of them to come again", *[answer[0] for answer in answers])
    same(receiver.metric("bytes_under_way"), 0, "nothing is left of them")
    same(receiver.stop(), 0, "ends well")
    receiver = Receiver("--max-message=30MB", "--max-memory=8MB")
    receiver.ready()
    same(receiver.post("/v1/profiles", packed, PROTOBUF, Content_Encoding="zstd")[0], 413, "what never fits is not told to come again")
    alive(receiver, "after that")
    same(receiver.stop(), 0, "ends well")


def test_early_answers():
    """A stream that is answered before its client ends it, and is never ended: it goes, its connection does not."""
    client, connection = http2(push.main)
    connection.settimeout(20)
    client.send_headers(1, [(name, "/nowhere" if name == ":path" else value) for name, value in HEADERS])
    connection.sendall(client.data_to_send())
    statuses, resets = {}, {}

    def read_until(done):
        while not done():
            came = connection.recv(65536)
            if not came:
                return
            for event in client.receive_data(came):
                if isinstance(event, h2.events.StreamReset):
                    resets[event.stream_id] = int(event.error_code)
                elif dict(getattr(event, "headers", None) or ()).get(b"grpc-status"):
                    statuses[event.stream_id] = dict(event.headers)[b"grpc-status"]
            connection.sendall(client.data_to_send())

    try:
        read_until(lambda: 1 in resets)
    except socket.timeout:
        pass
    same((statuses.get(1), resets.get(1)), (b"12", 0), "a stream that is answered early is reset without an error")
    body = otlp_requests.request_of("times", "beside", now_ns()).SerializeToString()
    client.send_headers(3, HEADERS)
    client.send_data(3, b"\0" + len(body).to_bytes(4, "big") + body, end_stream=True)
    connection.sendall(client.data_to_send())
    read_until(lambda: 3 in statuses)
    same(statuses.get(3), b"0", "another one of its connection is served")
    connection.close()


def half_closed(receiver, service):
    """A request over HTTP/1.1 whose client has ended its side."""
    body = otlp_requests.request_of("times", service, now_ns()).SerializeToString()
    connection = raw_connection(receiver)
    connection.sendall(b"POST /v1/profiles HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (PROTOBUF.encode(), len(body)) + body)
    connection.shutdown(socket.SHUT_WR)
    return connection


def read_all(connection):
    return b"".join(iter(lambda: connection.recv(65536), b""))


def test_half_closed():
    receiver = Receiver("--answer-timeout=30s")
    receiver.ready()
    answer = read_all(half_closed(receiver, "half0"))
    ok(answer.startswith(b"HTTP/1.1 200 OK\r\n"), "a client that has ended its side gets its answer", answer)
    with Held():
        waiting, leaving = half_closed(receiver, "half1"), half_closed(receiver, "half2")
        ok(eventually(lambda: receiver.metric("requests_total") >= 4), "two more, while the database keeps them waiting")
        leaving.close()
        ok(eventually(lambda: receiver.metric("requests_cancelled_total") == 1), "one that closes its socket is known to be gone")
    answer = read_all(waiting)
    ok(answer.startswith(b"HTTP/1.1 200 OK\r\n") and answer.count(b"HTTP/1.1") == 1, "the one that still reads gets one whole answer", answer)
    connection = raw_connection(receiver)
    connection.sendall(b"POST /v1/profiles HTTP/1.1\r\nContent-Length: 30\r\n\r\nabc")
    connection.shutdown(socket.SHUT_WR)
    same(read_all(connection)[:12], b"HTTP/1.1 415", "what is at fault is answered, too")
    connection = raw_connection(receiver)
    connection.sendall(b"POST /v1/profiles HTTP/1.1\r\nContent-Type: %s\r\nContent-Length: 30\r\n\r\nabc" % PROTOBUF.encode())
    connection.shutdown(socket.SHUT_WR)
    same(read_all(connection), b"", "a request that ends within its body has no answer")
    same(receiver.stop(), 0, "ends well")


def test_bad_http():
    for name, text in (
            ("both lengths", b"POST /v1/profiles HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc"),
            ("two lengths", b"POST /v1/profiles HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc"),
            ("a negative length", b"POST /v1/profiles HTTP/1.1\r\nContent-Length: -3\r\n\r\nabc"),
            ("a folded header", b"GET / HTTP/1.1\r\nA: b\r\n c: d\r\n\r\n"),
            ("a chunk of no size", b"POST /v1/profiles HTTP/1.1\r\nContent-Type: application/x-protobuf\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"),
            ("headers of 40 kB", b"GET / HTTP/1.1\r\nA: " + b"b" * 40000),
            ("gRPC over HTTP/1.1", b"POST /x HTTP/1.1\r\nContent-Type: application/grpc\r\n\r\n"),
            ("garbage", b"\x00\x01\x02\r\n\r\n")):
        connection = raw_connection(push.main)
        connection.sendall(text)
        answer = connection.recv(4096)
        ok(answer.startswith(b"HTTP/1.1 4"), f"HTTP/1.1, {name}: refused", answer)
        ok(closed(connection, 5), f"HTTP/1.1, {name}: and closed")
    connection = raw_connection(push.main)
    connection.sendall(b"POST /v1/profiles HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nTransfer-Encoding: chunked\r\n"
                       b"Expect: 100-continue\r\n\r\n0\r\nTrailer: x\r\n\r\nGET /-/healthy HTTP/1.1\r\n\r\n")
    text = b""
    while text.count(b"HTTP/1.1 200") < 2:
        text += connection.recv(4096)
    ok(text.startswith(b"HTTP/1.1 100"), "chunks, trailers, 100-continue, and a second request behind the first", text)
    connection.close()
    same(call(push.main, EXPORT, b"", timeout=5)[0], grpc.StatusCode.OK, "an empty message is a good one")


def test_pipelined():
    """A request behind one that is not answered yet, larger than what is kept of it: both are answered."""
    def post(name):
        body = otlp_requests.request_of("values", name, now_ns())
        body.dictionary.string_table.append("x" * 300_000)  # nobody refers to it
        return (b"POST /v1/profiles HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" %
                (PROTOBUF.encode(), body.ByteSize())) + body.SerializeToString()

    connection = raw_connection(push.main)
    threading.Thread(target=connection.sendall, args=(post("pipelined0") + post("pipelined1"),)).start()
    answers = b""
    while answers.count(b"HTTP/1.1 200 OK") < 2:
        came = connection.recv(65536)
        if not came:
            break
        answers += came
    connection.close()
    same((answers.count(b"HTTP/1.1 200 OK"), stored("pipelined0"), stored("pipelined1")), (2, 500, 500), "two requests at once are answered, and stored")


def test_expensive():
    """Small requests that refer to the same large things again and again."""
    from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as service
    request = service.ExportProfilesServiceRequest()
    tables = otlp_requests.Tables(request)
    deep = tables.stack([tables.location([("f", "f.c", 1)])] * 8000)
    key = tables.attribute("long", string_value="x" * 1000)
    for i in range(20000):
        resource = otlp_requests.resource_of(request, {"service.name": f"s{i % 2}"})
        profile = otlp_requests.profile_of(resource.scope_profiles.add(), tables, ("samples", "count"), ("cpu", "nanoseconds"), 1, now_ns())
        sample = profile.samples.add()
        sample.stack_index = deep
        sample.attribute_indices.append(key)
        sample.values.append(1)
    body = request.SerializeToString()
    before = push.main.cpu_s()
    code, details, _ = call(push.main, EXPORT, body, timeout=60)
    spent = push.main.cpu_s() - before
    ok(code == grpc.StatusCode.INVALID_ARGUMENT and "too often" in details,
       "one deep stack 20,000 times, of two services in turn, is refused", code, details)
    ok(spent < 10, f"{len(body)} bytes cost {spent:.1f} s of processor time")
    for name, text in (("a list within lists", b'{"resourceProfiles":' + b"[" * 5_000_000),
                       ("unknown keys within others", b'{"x":' * 1_000_000),
                       ("a number of a million digits", b'{"x":' + b"1" * 1_000_000 + b"}")):
        status, _, answer = push.main.post("/v1/profiles", text, "application/json")
        same(status, 400, f"JSON, {name}: refused", answer)
    alive(push.main, "after these")


def nested_gzip():
    """A request of some kilobytes whose profiles, gzip within gzip, unpack to gigabytes."""
    profile = gzip.compress(b"\x78\x00" * 1_000_000 + pprof("f", 1, now_ns()))
    body = gzip.compress(write_raw_request({"__name__": "process_cpu"}, *[profile] * 4000))
    return (b"POST /api/profiles/writeraw HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" %
            (PROTOBUF.encode(), len(body))) + body


def test_work_of_others():
    """Requests that take long to decode, of clients that have left, and of one that stays: others have their turn."""
    receiver = Receiver("--workers=1", "--answer-timeout=4s")
    receiver.ready()
    request = nested_gzip()
    post = lambda name: receiver.post("/v1/profiles", otlp_requests.request_of("times", name, now_ns()).SerializeToString(), PROTOBUF)[0]
    before = receiver.cpu_s()
    connections = []
    for _ in range(6):
        connections.append(raw_connection(receiver))
        connections[-1].sendall(request)
    ok(eventually(lambda: receiver.metric("requests_total") >= 6), f"six requests of {len(request)} bytes have come")
    for connection in connections:
        connection.close()
    ok(eventually(lambda: receiver.metric("requests_cancelled_total") == 6), "their clients leave")
    ok(eventually(lambda: post("left") == 200, 10), "the next client is served")
    spent = receiver.cpu_s() - before
    ok(spent < 10, f"nobody works for those that have left: {spent:.1f} s of processor time")
    connections = []
    for _ in range(6):
        connections.append(socket.create_connection(("127.0.0.1", receiver.port), source_address=("127.0.0.2", 0)))
        connections[-1].sendall(request)
    ok(eventually(lambda: receiver.metric("requests_total") >= 13), "six more, of a client that stays")
    ok(eventually(lambda: post("stayed") == 200, 30), "others are served between them")
    ok(receiver.metric("requests_invalid_total") < 6, "before all of them are refused", receiver.metric("requests_invalid_total"))
    for connection in connections:
        connection.close()
    same(receiver.stop(), 0, "ends well")


def test_fuzzed():
    """Requests with some bytes changed: an answer for each, and the receiver goes on."""
    random.seed(7)
    bodies = [(EXPORT, otlp_requests.request_of(shape, "fuzzed", now_ns()).SerializeToString()) for shape in ("times", "values", "both")]
    bodies.append((WRITE_RAW, write_raw_request({"__name__": "process_cpu", "service_name": "fuzzed"}, pprof("f", 1, now_ns()))))
    channel = grpc.insecure_channel(push.main.address)
    codes = set()
    for i in range(1500):
        path, body = random.choice(bodies)
        changed = bytearray(body)
        for _ in range(random.randint(1, 6)):
            changed[random.randrange(len(changed))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
        if random.random() < 0.2:
            del changed[random.randrange(len(changed)):]
        codes.add(call(push.main, path, bytes(changed), channel=channel)[0])
    channel.close()
    ok(codes <= {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT}, "1,500 damaged requests: taken or refused", codes)
    alive(push.main, "after them")


# --- who may ask ---


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=SCRATCH)


# With the extensions that RFC 5280 asks for: Python 3.13 checks them.
def make_certificates():
    for authority in ("ca", "otherca"):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-keyout", f"{authority}.key",
                "-out", f"{authority}.pem", "-subj", f"/CN={authority}", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    for name, common, authority in (("server", "localhost", "ca"), ("client", "tenant-a", "ca"), ("stranger", "tenant-a", "otherca")):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
                "-subj", f"/CN={common}")
        with open(f"{SCRATCH}/{name}.ext", "w") as extensions:
            extensions.write("subjectAltName=DNS:localhost,IP:127.0.0.1\nauthorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-CAcreateserial", "-days", "2",
                "-out", f"{name}.pem", "-extfile", f"{name}.ext")


def read(name):
    with open(f"{SCRATCH}/{name}", "rb") as file:
        return file.read()


def secure(receiver, client=None, authority="ca"):
    pair = (read(f"{client}.key"), read(f"{client}.pem")) if client else (None, None)
    return grpc.secure_channel(f"localhost:{receiver.port}", grpc.ssl_channel_credentials(read(f"{authority}.pem"), *pair))


def tenants_of(service):
    from harness import sql
    return {row[0] for row in sql(f"SELECT DISTINCT labels->>'tenant' FROM profstore.series WHERE labels->>'service_name' = '{service}'")}


def test_tls():
    make_certificates()
    files = [f"--tls-cert={SCRATCH}/server.pem", f"--tls-key={SCRATCH}/server.key"]
    receiver = Receiver(*files, f"--tls-client-ca={SCRATCH}/ca.pem")
    make = lambda name: otlp_requests.request_of("times", name, now_ns()).SerializeToString()
    channel = secure(receiver, "client")
    ok(eventually(lambda: call(receiver, "/grpc.health.v1.Health/Check", b"", channel=channel)[2] == b"\x08\x01"), "mutual TLS: served")
    same((call(receiver, EXPORT, make("tls"), channel=channel)[0], tenants_of("tls")), (grpc.StatusCode.OK, {"tenant-a"}),
         "the tenant is the certificate's")
    for name, client, authority in (("of another authority", "stranger", "ca"), ("none", None, "ca")):
        code, _, _ = call(receiver, EXPORT, make("stranger"), channel=secure(receiver, client, authority), timeout=3)
        ok(code != grpc.StatusCode.OK, f"a client's certificate, {name}: refused", code)
    same(stored("stranger", "count(*)"), 0, "nothing of them is stored")
    ok("TLS handshake failed" in receiver.text(), "it is logged")
    connection = raw_connection(receiver)
    connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
    ok(closed(connection), "clear text where TLS is spoken: closed")
    context = ssl.create_default_context(cafile=f"{SCRATCH}/ca.pem")
    context.load_cert_chain(f"{SCRATCH}/client.pem", f"{SCRATCH}/client.key")
    for protocol in ("h2", "http/1.1"):
        context.set_alpn_protocols([protocol])
        with context.wrap_socket(raw_connection(receiver), server_hostname="localhost") as secured:
            same(secured.selected_alpn_protocol(), protocol, f"ALPN offers {protocol}")
            if protocol == "http/1.1":
                secured.sendall(b"GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n")
                metrics = b"".join(iter(lambda: secured.recv(65536), b"")).decode()
    failures = int(re.search(r"^profstore_receive_tls_failures_total (\d+)$", metrics, re.M).group(1))
    ok(failures >= 3, "handshakes that fail are counted", failures)
    same(receiver.stop(), 0, "ends well")


def test_tokens():
    with open(f"{SCRATCH}/tokens", "w") as tokens:
        tokens.write("# who\nteam-a secret-a\nteam-b secret-b\n")
    receiver = Receiver(f"--tokens={SCRATCH}/tokens")
    receiver.ready()
    for name, token, expected in (("no token", None, None), ("a wrong token", "secret-c", None), ("a token", "secret-b", "team-b")):
        metadata = (("authorization", f"Bearer {token}"),) if token else ()
        service = f"token-{token}"
        code, _, _ = call(receiver, EXPORT, otlp_requests.request_of("times", service, now_ns()).SerializeToString(), metadata=metadata)
        same((code, tenants_of(service)), (grpc.StatusCode.OK, {expected}) if expected else (grpc.StatusCode.UNAUTHENTICATED, set()), f"gRPC, {name}")
    same(receiver.get("/metrics")[0], 401, "/metrics needs a token too")
    metrics = receiver.request("/metrics", None, {"Authorization": "Bearer secret-a"})[2].decode()
    ok("\nprofstore_receive_requests_unauthenticated_total 3\n" in metrics, "those without a valid token are counted", metrics)
    same(receiver.get("/-/ready")[0], 200, "/-/ready does not")
    body = otlp_requests.request_of("times", "two-tenants", now_ns()).SerializeToString()
    for token in ("secret-a", "secret-b", "secret-a"):
        receiver.post("/v1/profiles", body, PROTOBUF, Authorization=f"Bearer {token}")
    same((stored("two-tenants"), tenants_of("two-tenants")), (10, {"team-a", "team-b"}), "the same bytes of two tenants are two requests")
    with open(f"{SCRATCH}/tokens", "w") as tokens:
        tokens.write("team-c secret-c\n")
    receiver.process.send_signal(1)
    ok(eventually(lambda: receiver.post("/v1/profiles", b"", PROTOBUF, Authorization="Bearer secret-c")[0] == 200), "SIGHUP reads them again")
    with open(f"{SCRATCH}/tokens", "w") as tokens:
        tokens.write("team-c\n")
    receiver.process.send_signal(1)
    ok(eventually(lambda: "line 1 is not" in receiver.text()), "a wrong file is told")
    same(receiver.post("/v1/profiles", b"", PROTOBUF, Authorization="Bearer secret-c")[0], 200, "and the old ones stay")
    same(receiver.stop(), 0, "ends well")


def test_refused_to_start():
    absent = f"{SCRATCH}/absent"
    for flags, code in (([f"--tls-cert={absent}"], 3), ([f"--tls-cert={absent}", f"--tls-key={absent}"], 3), ([f"--tokens={absent}"], 7),
                        (["--max-message=7"], 3), (["--frequenzy"], 2)):
        receiver = Receiver(*flags, expect_start=False)
        same(receiver.process.wait(20), code, f"{' '.join(flags)}: exit code {code}", receiver.text())
    receiver = Receiver(f"--tls-cert={absent}", f"--tls-key={absent}", expect_start=False)
    receiver.process.wait(20)
    ok(f"{absent}: No such file or directory." in receiver.text(), "a certificate that is not there is told as that", receiver.text())
    for flags, reason in (([f"--tls-cert={SCRATCH}", f"--tls-key={absent}"], "no start line"), (["--tls-cert=/dev/null", f"--tls-key={absent}"], "no start line"),
                          ([f"--tokens={SCRATCH}"], f'{SCRATCH}\\": Is a directory')):
        receiver = Receiver(*flags, expect_start=False)
        receiver.process.wait(20)
        ok(f"{reason}." in receiver.text(), f"{flags[0]}: the reason is given", receiver.text())
    receiver = Receiver(listen="nowhere.invalid", expect_start=False)
    same(receiver.process.wait(20), 3, "an address that is none: exit code 3", receiver.text())
