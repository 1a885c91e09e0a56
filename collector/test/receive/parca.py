"""Records of Parca's agents, made and sent by Arrow's and gRPC's own libraries (parca/): what is stored of them."""

import base64
import collections
import json
import os
import subprocess
import threading
import time

import grpc
import h2.events
import h2.settings
import zstandard

import hostile
import otlp_requests
import push
from harness import Receiver, eventually, number, ok, same, sql
from push import SCRATCH, call, message_field
from retries import Held, in_background, restart_database

CLIENT = f"{SCRATCH}/parca-client/parca"
CPU = "parca_agent:samples:count:cpu:nanoseconds:delta"
WALL = "parca_agent:wallclock:nanoseconds:samples:count:delta"
HEAP = "memory:inuse_space:bytes:space:bytes"
TYPES = {"cpu": CPU, "wall": WALL, "heap": HEAP}
TRACES = otlp_requests.TRACES
SPAN = otlp_requests.SPANS[0]
VERSIONS = ("WriteArrow", "Write")
STORE = "/parca.profilestore.v1alpha1.ProfileStoreService/"

# frames as the agent sends them: two files without symbols; named frames of the kernel, an interpreter and a symbolized file
LIBRARY = {"Type": "native", "File": "libwork.so.1", "BuildID": "aa11", "Address": 0x1000}
PROGRAM = {"Type": "native", "File": "/usr/bin/program", "BuildID": "bb22", "Address": 0x2000}
HASHED = {"Type": "native", "File": "go-program", "BuildID": "0123456789abcdef0123456789abcdef", "Address": 0x30}
KERNEL = {"Type": "kernel", "File": "[kernel.kallsyms]", "Address": 0xFFFFFFFF81000000, "Function": "do_work", "Source": "vmlinux"}
PYTHON = {"Type": "python", "Address": 12, "Line": 12, "Function": "handler", "Source": "app.py"}
NAMED = {"Type": "native", "File": "/usr/bin/program", "BuildID": "bb22", "Address": 0x2100, "Function": "worked", "Source": "w.c",
         "Line": 7}
STRANGER = {"Type": "native", "File": "UNKNOWN", "Address": 0x40}
ABORTED = {"Type": "abort-marker", "File": "agent-internal-error-frame", "Function": "aborted"}
STACKS = [[LIBRARY, PROGRAM], [KERNEL, LIBRARY, PROGRAM], [PYTHON, PROGRAM], [KERNEL], [STRANGER, PROGRAM], [ABORTED], [],
          [NAMED, HASHED], [HASHED]]


def client(receiver, request, **changes):
    """What the client makes of a request: code, message, ids that it was asked for."""
    done = subprocess.run([CLIENT, receiver.address], input=json.dumps(dict(request, **changes)) + "\n", capture_output=True,
                          text=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def sample(stack, value=1, kind="cpu", after=0.0, **labels):
    return {"Stack": stack, "Value": value, "Kind": kind, "TimeNs": int(after * 1e9), "Labels": labels}


def request_of(service, samples, batches=1, begin_ns=None):
    """A request of so many record batches; times count from a few seconds ago."""
    begin_ns = begin_ns or time.time_ns() - 20_000_000_000
    samples = [dict(s, TimeNs=s["TimeNs"] + begin_ns) for s in samples]
    size = -(-len(samples) // batches)
    return {"Stacks": STACKS, "Labels": {"service_name": service, "node": "host1"},
            "Batches": [samples[i:i + size] for i in range(0, len(samples), size)]}


def frame_text(frame):
    """A frame as it is told apart here: file, address, name, place."""
    named = frame.get("Function", "")
    address = 0 if named and frame["Type"] != "native" else frame["Address"]
    file = frame.get("File") or f"[{frame['Type']}]"
    return f"{file}({frame.get('BuildID', '')})+{address:x}" + (f"={named}@{frame.get('Source', '')}:{frame.get('Line', 0)}" if named else "")


class Dictionary:
    """What the database has of stacks, as it is."""

    def __init__(self):
        self.nodes = {i: (parent, location) for i, parent, location in sql("SELECT id, parent, location FROM profstore.stacks")}
        self.mappings = {i: f"{file}({build_id})" for i, build_id, file in sql("SELECT id, build_id, file FROM profstore.mappings")}
        self.functions = {i: (name, file) for i, name, file in sql("SELECT id, name, filename FROM profstore.functions")}
        self.locations = {row[0]: row[1:] for row in sql(
            "SELECT id, mapping, address, array_to_string(function_ids, ','), array_to_string(lines, ',') FROM profstore.locations")}

    def frame(self, location):
        mapping, address, functions, lines = self.locations[location]
        text = f"{self.mappings.get(mapping, '')}+{int(address):x}"
        for function, line in zip(functions.split(","), lines.split(",")):
            if function:
                name, file = self.functions[function]
                text += f"={name}@{file}:{line}"
        return text

    def stack(self, node):
        frames = []
        while node in self.nodes:
            node, location = self.nodes[node]
            frames.append(self.frame(location))
        return " ".join(reversed(frames))


def stored(service):
    """Sums by profile type, labels and stack, root first."""
    dictionary = Dictionary()
    rows = sql(f"""
        SELECT t.name || ':' || t.sample_type || ':' || t.sample_unit || ':' || t.period_type || ':' || t.period_unit ||
               CASE WHEN t.delta THEN ':delta' ELSE '' END, r.labels - 'service_name', s.stack_id, sum(s.value)
          FROM profstore.samples AS s JOIN profstore.series AS r ON r.id = s.series_id
          JOIN profstore.profile_types AS t ON t.id = r.profile_type
         WHERE r.labels->>'service_name' = '{service}' GROUP BY 1, 2, 3""")
    sums = collections.Counter()
    for kind, labels, stack, value in rows:
        sums[(kind, tuple(sorted(json.loads(labels).items())), dictionary.stack(stack))] += int(value)
    return dict(sums)


def expected(request, dropped=("cpu", "thread_id"), gone=()):
    """The same of what a client was given."""
    sums = collections.Counter()
    common = {k: v for k, v in request["Labels"].items() if k != "service_name"}
    for one in (s for batch in request["Batches"] for s in batch):
        labels = {k: v for k, v in {**common, **one["Labels"]}.items() if k not in dropped and v}
        frames = request["Stacks"][one["Stack"]]
        if one["Stack"] in gone:
            frames = [{"Type": "unknown", "Function": "missing stacktrace"}]
        stack = " ".join(frame_text(frame) for frame in reversed(frames))
        sums[(TYPES[one["Kind"]], tuple(sorted(labels.items())), stack)] += one["Value"]
    return dict(sums)


def same_sums(service, wanted, name):
    got = stored(service)
    ok(got == wanted and wanted, f"{service}: {name}", *[f"{key}: got {got.get(key)}, expected {wanted.get(key)}"
                                                         for key in {*got, *wanted} if got.get(key) != wanted.get(key)])


def all_kinds():
    """Each stack, several labels and kinds; sums of primes, so that none is another's."""
    samples = [sample(stack, 1, after=0.4 * i, comm="one", thread_id=str(100 + i), cpu=str(i % 2))
               for stack, count in zip(range(len(STACKS)), (2, 3, 5, 7, 11, 13, 17, 19, 23)) for i in range(count)]
    samples += [sample(1, 29, "wall", 1, comm="two"), sample(1, 31, "wall", 1.5, comm="two"), sample(0, 37, "wall", 2),
                sample(0, 1 << 40, "heap", 3, comm="one"), sample(0, 41, "heap", 3, comm="one"), sample(7, 43, "heap", 4)]
    return samples


# --- what is stored ---


def test_parca_values():
    for method in VERSIONS:
        for compression in ("none", "lz4", "zstd"):
            for batches in (1, 4):
                service = f"{method}-{compression}-{batches}"
                request = request_of(service, all_kinds(), batches)
                end = client(push.main, request, Method=method, Compression=compression)
                same(end["Code"], "OK", f"{service}: taken", end)
                same_sums(service, expected(request), "sums of each stack, label and kind")


# As parca-agent 0.49.0 sent them: built from its source, with only programs named "burner" kept by its configuration, its node named
# "test", and Write by --remote-store-use-v2-schema=false. One file is a message, packed by zstd.
RECORDED_S = 1795444738  # when, 2026-11-23
OF_RECORDED = "series_id IN (SELECT id FROM profstore.series WHERE labels @> '{\"node\": \"test\", \"comm\": \"burner\"}')"


def recorded(name):
    """The messages of a file, each behind its length."""
    with open(f"{os.path.dirname(os.path.abspath(__file__))}/recorded/{name}.zst", "rb") as file:
        stream = zstandard.decompress(file.read())
    messages = []
    while stream:
        length = int.from_bytes(stream[:4], "little")
        messages.append(stream[4:4 + length])
        stream = stream[4 + length:]
    return messages


def as_of_now(message):
    """The same with all times of the minute around the recording moved to the one around now; how many there were."""
    moved, count = bytearray(message), 0
    for at in range(len(message) - 7):
        time_ns = int.from_bytes(message[at:at + 8], "little")
        if abs(time_ns - RECORDED_S * 10**9) < 60 * 10**9:
            moved[at:at + 8] = (time_ns + time.time_ns() - RECORDED_S * 10**9 - 120 * 10**9).to_bytes(8, "little")
            count += 1
    return bytes(moved), count


def replay(receiver, method, messages):
    """Sends messages as the agent did: a call with one, or a stream whose second one answers what it is asked."""
    with grpc.insecure_channel(receiver.address) as channel:
        if method == "WriteArrow":
            channel.unary_unary(STORE + method)(messages[0], timeout=60)
            return
        asked = threading.Event()

        def stream():
            yield messages[0]
            asked.wait(60)
            yield messages[1]
        for _ in channel.stream_stream(STORE + method)(stream(), timeout=60):
            asked.set()


def value_of(message):
    """What its samples add up to, by Arrow's own library."""
    return int(subprocess.run([CLIENT, "-value"], input=message, capture_output=True, check=True).stdout)


def test_parca_recorded():
    receiver = push.main
    total = 0
    for name in "WriteArrow-1", "WriteArrow-2", "Write-1", "Write-2":
        messages = recorded(name)
        messages[0], times = as_of_now(messages[0])
        ok(times > 0, f"{name}: has times", times)
        value = value_of(messages[0])
        ok(20 < value < 110, f"{name}: what one program does in five seconds or less, 19 times a second", value)
        replay(receiver, name[:-2], messages)
        total += value
        same(number(f"SELECT sum(value) FROM profstore.samples WHERE {OF_RECORDED}"), total, f"{name}: stored, no sample more or less")
    rows = sql(f"""SELECT DISTINCT t.name || ':' || t.sample_type || ':' || t.period_type, r.labels - 'thread_name'
                   FROM profstore.series r JOIN profstore.profile_types t ON t.id = r.profile_type WHERE r.{OF_RECORDED[7:]}""")
    same(rows, [["parca_agent:samples:cpu", '{"comm": "burner", "node": "test"}']], "its type and labels")
    files = sql(f"""SELECT m.file, sum(s.value) FROM profstore.samples s JOIN profstore.stacks k ON k.id = s.stack_id
                    JOIN profstore.locations l ON l.id = k.location JOIN profstore.mappings m ON m.id = l.mapping
                    WHERE s.{OF_RECORDED} GROUP BY 1 ORDER BY 2 DESC""")
    ok(files[0][0] == "burner" and int(files[0][1]) > 0.95 * total, "nearly all of it is the program's", files)
    code, details, _ = call(receiver, "/parca.debuginfo.v1alpha1.DebuginfoService/ShouldInitiateUpload", recorded("ShouldInitiateUpload")[0])
    same(code, grpc.StatusCode.OK, "the agent's question for debug files is answered", details)


def test_parca_stacks():
    """Stacks are asked for by id; those that the agent has lost say so."""
    request = request_of("lost", all_kinds())
    end = client(push.main, request, Method="Write", Evicted=[0, 7])
    same((end["Code"], len(end["Asked"]), len(set(end["Asked"]))), ("OK", len(STACKS), len(STACKS)), "each stack is asked for once", end)
    same_sums("lost", expected(request, gone=(0, 7)), "stacks that the agent has lost")
    again = request_of("lost_again", all_kinds())
    same(client(push.main, again, Method="Write")["Asked"], end["Asked"], "the next stream is asked again")
    same_sums("lost_again", expected(again), "and has them")
    request = request_of("withheld", all_kinds())
    end = client(push.main, request, Method="Write", OtherStacks=True)
    same((end["Code"], stored("withheld")), ("InvalidArgument", {}), "without a stack that was asked for nothing is stored", end)
    end = client(push.main, request, Method="Write", HalfClose=True)
    same((end["Code"], stored("withheld")), ("InvalidArgument", {}), "nor where the stream ends before it", end)


def test_parca_labels_and_times():
    """With all labels, and each time of its own."""
    receiver = Receiver("--keep-times", "--drop-attributes=none")
    receiver.ready()
    samples = [sample(0, 2, after=0.001 * i, comm="one", thread_id=str(i % 3), cpu="1") for i in range(30)]
    for method in VERSIONS:
        request = request_of(f"times-{method}", samples)
        same(client(receiver, request, Method=method)["Code"], "OK", f"{method}: taken")
        same_sums(f"times-{method}", expected(request, dropped=()), "labels that would be left out")
        got = [int(row[0]) for row in sql(
            "SELECT (extract(epoch FROM s.time) * 1000000)::bigint FROM profstore.samples AS s JOIN profstore.series AS r"
            f" ON r.id = s.series_id WHERE r.labels->>'service_name' = 'times-{method}' ORDER BY 1")]
        same(got, [s["TimeNs"] // 1000 for s in request["Batches"][0]], f"{method}: each sample's time")
    same(receiver.stop(), 0, "ends well")


def test_parca_traces():
    """Ids among the labels: rows beside the samples, no series of their own."""
    samples = [sample(stack, 10 * stack + i + 1, after=0.1 * i, comm="one", trace_id=TRACES[i % 2], **({"span_id": SPAN} if i % 3 else {}))
               for stack in (0, 1, 7) for i in range(6)] + [sample(0, 1000, comm="one"), sample(0, 0, trace_id=TRACES[0])]
    for method in VERSIONS:
        service = f"traced-{method}"
        request = request_of(service, samples)
        same(client(push.main, request, Method=method)["Code"], "OK", f"{method}: taken")
        plain = dict(request, Batches=[[dict(s, Labels={k: v for k, v in s["Labels"].items() if k == "comm"}) for s in samples]])
        same_sums(service, expected(plain), "all samples count, ids are no labels")
        dictionary = Dictionary()
        rows = sql("SELECT trace_id, encode(span_id, 'hex'), stack_id, sum(value) FROM profstore.trace_samples AS t JOIN profstore.series AS r"
                   f" ON r.id = t.series_id WHERE r.labels->>'service_name' = '{service}' GROUP BY 1, 2, 3")
        wanted = collections.Counter()
        for s in samples:
            if "trace_id" in s["Labels"] and s["Value"]:
                stack = " ".join(frame_text(frame) for frame in reversed(STACKS[s["Stack"]]))
                wanted[(s["Labels"]["trace_id"], s["Labels"].get("span_id", ""), stack)] += s["Value"]
        same({(trace.replace("-", ""), span, dictionary.stack(stack)): int(value) for trace, span, stack, value in rows}, dict(wanted),
             f"{method}: sums of each trace, span and stack")
    same(sql("SELECT * FROM profstore.verify() WHERE problem LIKE '%trace%'"), [], "each row of a trace has its sample")


def test_parca_windows():
    """What adds up has the time of its ten seconds."""
    for method in VERSIONS:
        samples = [sample(0, 1, after=0.7 * i) for i in range(20)] + [sample(0, 5, "heap", 3.5), sample(0, 6, "heap", 4.5)]
        request = request_of(f"windows-{method}", samples)
        client(push.main, request, Method=method)
        rows = sql("SELECT t.name, (extract(epoch FROM s.time) * 1000000)::bigint, s.value FROM profstore.samples AS s"
                   " JOIN profstore.series AS r ON r.id = s.series_id JOIN profstore.profile_types AS t ON t.id = r.profile_type"
                   f" WHERE r.labels->>'service_name' = 'windows-{method}' ORDER BY 1, 2")
        begin = request["Batches"][0][0]["TimeNs"] // 1000
        same([[row[0], int(row[1]) - begin, int(row[2])] for row in rows],
             [["memory", 3500000, 5], ["memory", 4500000, 6], ["parca_agent", 0, 15], ["parca_agent", 10000000, 5]],
             f"{method}: two windows of samples, two times of a heap")


def records_of(request, **changes):
    """The bytes of a request's samples."""
    name = f"{SCRATCH}/record"
    subprocess.run([CLIENT, "-records", name], input=json.dumps(dict(request, **changes)) + "\n", text=True, check=True)
    with open(name + ".samples", "rb") as file:
        return file.read()


def test_parca_gateway():
    request = request_of("gateway", all_kinds())
    body = message_field(1, records_of(request, Compression="lz4"))
    status, _, text = push.main.post("/api/profiles/writearrow", body, push.PROTOBUF)
    same((status, text), (200, b""), "WriteArrow over HTTP")
    same_sums("gateway", expected(request), "sums")
    same(call(push.main, STORE + "WriteArrow", body)[0], grpc.StatusCode.OK, "the same bytes over gRPC are taken")
    same_sums("gateway", expected(request), "but stored once")
    request = request_of("gateway_json", all_kinds())
    body = json.dumps({"ipcBuffer": base64.b64encode(records_of(request)).decode()}).encode()
    status, _, text = push.main.post("/api/profiles/writearrow", body, "application/json")
    same((status, text), (200, b"{}"), "and as JSON", text)
    same_sums("gateway_json", expected(request), "sums")
    status, _, _ = push.main.post(STORE + "Write", body, "application/grpc")
    same(status, 400, "a stream needs HTTP/2")


def test_parca_tenants():
    with open(f"{SCRATCH}/parca_tokens", "w") as file:
        file.write("north secret-of-north\n")
    receiver = Receiver(f"--tokens={SCRATCH}/parca_tokens")
    eventually(lambda: receiver.get("/-/ready")[0] == 200)
    for method in VERSIONS:
        request = request_of(f"tenant-{method}", [sample(0, 3, tenant="south", __name__="x")])
        same(client(receiver, request, Method=method)["Code"], "Unauthenticated", f"{method}: without a token")
        same(client(receiver, request, Method=method, Token="secret-of-north", GRPC="gzip")["Code"], "OK", f"{method}: with one, packed")
        labels = json.loads(sql(f"SELECT labels FROM profstore.series WHERE labels->>'service_name' = 'tenant-{method}'")[0][0])
        same((labels.get("tenant"), labels.get("exported_tenant"), labels.get("exported___name__")), ("north", "south", "x"),
             f"{method}: the tenant is the token's", labels)
    same(receiver.stop(), 0, "ends well")


def test_parca_refused():
    """What cannot be taken is refused whole, and with a code that agents do not send again."""
    request = request_of("refused", all_kinds(), begin_ns=time.time_ns() - 30 * 86400 * 10**9)
    for method in VERSIONS:
        end = client(push.main, request, Method=method)
        same(end["Code"], "InvalidArgument", f"{method}: samples of last month", end)
    request = request_of("refused", all_kinds())
    whole = records_of(request)
    refused = push.main.metric("requests_invalid_total")
    for name, body in (("no record", b""), ("text", b"text"), ("a part", whole[:len(whole) // 2]), ("samples without stacks", records_of(
            request, Method="Write")), ("a stream that is over", b"\xff\xff\xff\xff\0\0\0\0")):
        code, details, _ = call(push.main, STORE + "WriteArrow", message_field(1, body))
        same(code, grpc.StatusCode.INVALID_ARGUMENT, f"WriteArrow, {name}: refused", details)
    same(push.main.metric("requests_invalid_total"), refused + 5, "and counted")
    same(stored("refused"), {}, "nothing of them is stored")
    receiver = Receiver("--max-message=8kB")
    receiver.ready()
    for method in VERSIONS:
        same(client(receiver, request, Method=method, GRPC="gzip")["Code"], "InvalidArgument", f"{method}: too large when unpacked")
        same(client(receiver, request, Method=method)["Code"], "InvalidArgument", f"{method}: too large")
    same(receiver.stop(), 0, "ends well")


# --- acknowledged after COMMIT ---


def test_parca_not_before_commit():
    receiver = Receiver("--answer-timeout=60s")
    receiver.ready()
    for method in VERSIONS:
        request = request_of(f"commit-{method}", all_kinds())
        with Held() as held:
            thread, result = in_background(lambda: client(receiver, request, Method=method))
            ok(held.waits(), f"{method}: the transaction waits")
            time.sleep(0.5)
            same(result, [], f"{method}: no end before the commit")
        thread.join()
        same(result[0]["Code"], "OK", f"{method}: it comes with it")
        same_sums(f"commit-{method}", expected(request), "sums")
    same(receiver.stop(), 0, "ends well")


def test_parca_answer_timeout():
    """Who is told to come again is stored all the same; agents do not repeat a stream."""
    receiver = Receiver("--answer-timeout=1s")
    receiver.ready()
    for method in VERSIONS:
        request = request_of(f"late-{method}", all_kinds())
        with Held():
            same(client(receiver, request, Method=method)["Code"], "Unavailable", f"{method}: told to come again")
        ok(eventually(lambda: stored(f"late-{method}") == expected(request)), f"{method}: stored all the same")
        same(client(receiver, request, Method=method)["Code"], "OK", f"{method}: its repetition is told that it is")
        same_sums(f"late-{method}", expected(request), "and not stored beside it")
    same(receiver.stop(), 0, "ends well")


def test_parca_surplus():
    receiver = Receiver("--answer-timeout=60s")
    receiver.ready()
    request = request_of("surplus", all_kinds())
    with Held() as held:
        thread, result = in_background(lambda: client(receiver, request, Method="Write", Third=True))
        held.waits()
        time.sleep(0.5)
    thread.join()
    same((result[0]["Code"], "stored" in result[0]["Message"]), ("Internal", True), "a message too many is told", result)
    same_sums("surplus", expected(request), "and what came before it is stored")
    same(receiver.stop(), 0, "ends well")


def hold(receiver, request, **changes):
    """A client that sends no stacks yet, and what it says: that it was asked for them, or its end."""
    held = subprocess.Popen([CLIENT, receiver.address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    held.stdin.write(json.dumps(dict(request, Method="Write", Hold=True, **changes)) + "\n")
    held.stdin.flush()
    return held, held.stdout.readline()


def test_parca_held_memory():
    """Samples whose stacks are waited for count as memory, unpacked, until their client has its end."""
    receiver = Receiver("--max-memory=1MB")
    receiver.ready()
    request = request_of("held", [sample(i % len(STACKS), 1, after=0.0001 * i, path="x" * 900 + str(i)) for i in range(200)])
    holding = [hold(receiver, request, GRPC="gzip") for _ in range(4)]
    same([said == "asked\n" for _, said in holding], [True, True, False, False], "half of it is one client's", holding)
    ok("too many requests are in progress" in holding[3][1], "the others are told so", holding[3][1])
    for held, said in holding[1:]:
        held.kill()
        held.wait()
    first = holding[0][0]
    first.stdin.write("x")
    first.stdin.close()
    same(json.loads(first.stdout.readline())["Code"], "OK", "who was there first ends well")
    first.wait()
    same_sums("held", expected(request), "sums")
    ok(eventually(lambda: receiver.metric("bytes_under_way") == 0), "nothing is held any more")
    same(receiver.stop(), 0, "ends well")


def test_parca_client_goes():
    """A client that ends while its stacks are waited for: nothing is stored, nothing is kept."""
    request = request_of("gone", all_kinds())
    held, first = hold(push.main, request)
    same(first, "asked\n", "it was asked")
    ok(push.main.metric("bytes_under_way") > 0, "its samples are held")
    held.kill()
    held.wait()
    ok(eventually(lambda: push.main.metric("bytes_under_way") == 0), "and given up with it")
    same(stored("gone"), {}, "nothing is stored")


def test_parca_kill_receiver():
    """Killed between a request and its end: sent again, to another receiver, each is there once."""
    for method in VERSIONS:
        service = f"killed-{method}"
        receiver = Receiver("--answer-timeout=60s")
        receiver.ready()
        first = request_of(service, all_kinds())
        same(client(receiver, first, Method=method)["Code"], "OK", f"{method}: the first is told")
        second = request_of(service, all_kinds())
        with Held() as held:
            thread, result = in_background(lambda: client(receiver, second, Method=method))
            ok(held.waits(), f"{method}: the second waits for its commit")
            receiver.kill()
            thread.join()
        same(result[0]["Code"], "Unavailable", f"{method}: the second is not")
        eventually(lambda: number("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%profstore%' AND state <> 'idle'") == 0)
        other = Receiver()
        other.ready()
        for request in (first, second):
            same(client(other, request, Method=method)["Code"], "OK", f"{method}: sent again to another receiver")
        wanted = collections.Counter(expected(first)) + collections.Counter(expected(second))
        same_sums(service, dict(wanted), "each is there once")
        same(other.stop(), 0, "ends well")


def test_parca_kill_database():
    receiver = Receiver()
    receiver.ready()
    wanted = collections.Counter()
    done = []

    def send():
        for i in range(12):
            request = request_of("parca_crashed", all_kinds())
            end = time.time() + 60
            while client(receiver, request, Method=VERSIONS[i % 2])["Code"] != "OK" and time.time() < end:
                time.sleep(0.2)
            wanted.update(expected(request))
            done.append(i)

    thread, _ = in_background(send)
    eventually(lambda: len(done) > 3)
    restart_database()
    thread.join()
    same(len(done), 12, "kill -9 of the database: the client tries again")
    same_sums("parca_crashed", dict(wanted), "all is there once")
    same(receiver.stop(), 0, "ends well")


def test_parca_database_away():
    """Agents do not send a stream again: it waits. What they do send again is told so at once."""
    database = os.environ["PGDATABASE"]
    receiver = Receiver("--answer-timeout=1s")
    receiver.ready()
    request = request_of("away", all_kinds())
    subprocess.run(["psql", "-Xqd", "postgres", "-c", f"ALTER DATABASE {database} ALLOW_CONNECTIONS false", "-c",
                    f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"],
                   check=True, stdout=subprocess.DEVNULL)
    try:
        for time_ in ("first", "second"):
            same(client(receiver, request, Method="Write")["Message"],
                 "the request is not stored yet" if time_ == "first" else "the same request is being stored",
                 f"Write, the {time_} time, without a database: it waits")
        ok(eventually(lambda: receiver.get("/-/ready")[0] == 503), "that the database is not available is known")
        same(client(receiver, request, Method="WriteArrow")["Message"], "the database is not available", "WriteArrow is told so")
    finally:
        subprocess.run(["psql", "-Xqd", "postgres", "-c", f"ALTER DATABASE {database} ALLOW_CONNECTIONS true"], check=True)
    ok(eventually(lambda: stored("away") == expected(request), 60), "and is stored when the database comes")
    same(receiver.stop(), 0, "ends well")


def question(receiver, body):
    """What a stream of Write is asked by, and the seconds from its first byte to the last, of a client with room for all of it."""
    client, connection = hostile.http2(receiver)
    client.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 1 << 24})
    client.increment_flow_control_window(1 << 24)
    client.send_headers(1, [(name, STORE + "Write" if name == ":path" else value) for name, value in hostile.HEADERS])
    unsent, asked, begun = b"\0" + len(body).to_bytes(4, "big") + body, b"", None
    while len(asked) < 5 or len(asked) < 5 + int.from_bytes(asked[1:5], "big"):
        while room := min(client.local_flow_control_window(1), client.max_outbound_frame_size, len(unsent)):
            client.send_data(1, unsent[:room])
            unsent = unsent[room:]
        connection.sendall(client.data_to_send())
        came = connection.recv(1 << 20)
        if not came:
            raise RuntimeError(f"closed after {len(asked)} bytes")
        for event in client.receive_data(came):
            if isinstance(event, h2.events.DataReceived):
                begun = begun or time.time()
                asked += event.data
    connection.close()
    return asked, time.time() - begun


def test_parca_question():
    """Answers larger than what is held for a connection: each part went with a turn of the loop, a quarter of a second."""
    names = [dict(NAMED, Function=f"f{i}") for i in range(150)]
    stacks = [[one, other] for one in names for other in names][:20000]
    request = dict(request_of("questioned", [sample(i) for i in range(len(stacks))]), Stacks=stacks, Method="Write")
    subprocess.run([CLIENT, "-records", f"{SCRATCH}/question"], input=json.dumps(request) + "\n", text=True, check=True)
    with open(f"{SCRATCH}/question.samples", "rb") as file:
        body = message_field(1, file.read())
    tries = [question(push.main, body) for _ in range(5)]
    ok(all(len(asked) > 6 * 65536 for asked, _ in tries), "Write: a question of some 400 kB", [len(asked) for asked, _ in tries])
    ok(min(seconds for _, seconds in tries) < 1, "its parts follow each other", [seconds for _, seconds in tries])
