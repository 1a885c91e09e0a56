"""Pyroscope's clients: /ingest and push.v1, as SDKs and Alloy call them."""

import base64
import concurrent.futures
import gzip
import json
import os
import re
import socket
import threading
import time
import urllib.parse

import grpc
import zstandard

import push
from harness import Receiver, eventually, number, ok, same, sql
from push import SCRATCH, call, message_field, now_ns, pprof, stored
from retries import Held

PUSH = "/push.v1.PusherService/Push"
PROTO = "application/proto"
SPAN = "00f067aa0ba902b7"
RECORDED = f"{os.path.dirname(os.path.abspath(__file__))}/recorded"
TOKENS = f"{SCRATCH}/pyroscope-tokens"


def push_request(labels, *profiles):
    """PushRequest of one series; labels are pairs, so that one may come twice."""
    pairs = labels.items() if isinstance(labels, dict) else labels
    content = b"".join(message_field(1, message_field(1, k.encode()) + message_field(2, v.encode())) for k, v in pairs)
    content += b"".join(message_field(2, message_field(1, p) + message_field(2, b"0b9e77a5")) for p in profiles)
    return message_field(1, content)


def multipart(**parts):
    body = b"".join(b"--b0\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n\r\n%s\r\n" % (name.encode(), name.encode(), content)
                    for name, content in parts.items())
    return body + b"--b0--\r\n", "multipart/form-data; boundary=b0"


def ingest(receiver, body, content="binary/octet-stream", path="/ingest", headers=None, **parameters):
    query = urllib.parse.urlencode({"name": parameters.pop("name"), **{k.rstrip("_"): v for k, v in parameters.items()}})
    return receiver.request(f"{path}?{query}", body, {"Content-Type": content, **(headers or {})})


def series_of(name):
    return [(kind, json.loads(labels)) for kind, labels in
            sql("SELECT concat_ws(':', name, sample_type, sample_unit, period_type, period_unit, CASE WHEN delta THEN 'delta' END), s.labels"
                f" FROM profstore.series AS s JOIN profstore.profile_types AS t ON t.id = s.profile_type WHERE s.labels->>'service_name' = '{name}' ORDER BY 1, s.labels::text")]


def pushed(receiver, body, content=PROTO, **headers):
    """Status and the code and message of a Connect error."""
    status, answered, text = receiver.request(PUSH, body, {"Content-Type": content, "Connect-Protocol-Version": "1", **headers})
    if status == 200:
        return status, answered["Content-Type"], text
    return status, answered["Content-Type"], json.loads(text)["code"]


def test_pyroscope_ingest():
    profile = pprof("ingested", 70, now_ns(), "profile_id", SPAN)
    body, content = multipart(profile=gzip.compress(profile), sample_type_config=json.dumps(
        {"cpu": {"units": "samples", "display-name": "mutex_count", "cumulative": False}}).encode())
    now = int(time.time())
    status, headers, text = ingest(push.main, body, content, name="go.shop{zone=eu,list=a,b,x-y=1,__session_id__=ab}", from_=now - 15, until=now,
                                   sampleRate=100, spyName="gospy", units="samples", aggregationType="sum")
    same((status, text), (200, b""), "a multipart profile: 200, no content")
    same(series_of("go.shop"), [("mutex:cpu:nanoseconds:cpu:nanoseconds:delta",
                                 {"service_name": "go.shop", "zone": "eu", "list": "a,b", "x_y": "1", "pyroscope_spy": "gospy"})],
         "the name by sample_type_config; labels with commas and dashes; no session")
    rows = sql("SELECT sum(value) FROM profstore.trace_samples JOIN profstore.series AS r ON r.id = series_id"
               f" WHERE span_id = decode('{SPAN}', 'hex') AND r.labels->>'service_name' = 'go.shop'")
    same(rows, [["70"]], "profile_id is a span")
    for what, body, encoding in (("bare", profile, None), ("gzip", gzip.compress(profile), None), ("gzip, announced", gzip.compress(profile), "gzip"),
                                 ("bare, but announced as gzip", profile, "gzip")):
        name = what.replace(", ", "-").replace(" ", "-")
        status = ingest(push.main, body, name=name, format="pprof", headers={"Content-Encoding": encoding} if encoding else None, path="/pyroscope/ingest")[0]
        same((status, stored(name)), (200, 70), f"/pyroscope/ingest, {what}")
    same(series_of("bare")[0][0], "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", "a profile of CPU time is process_cpu")
    status = ingest(push.main, b"main;work 3\nmain 4\n", name="folded.wall{service_name=folded-service}", from_=now, sampleRate=50)[0]
    same((status, stored("folded-service")), (200, 7 * 20_000_000), "folded stacks, 50 samples a second")
    same(series_of("folded-service"), [("wall:wall:nanoseconds:cpu:nanoseconds:delta", {"service_name": "folded-service", "app_name": "folded"})],
         "service and application")


def test_pyroscope_ingest_equal():
    """Idle replicas send equal bytes, and nobody repeats a request, except Alloy."""
    profile = pprof("idle", 5, now_ns())
    same([ingest(push.main, profile, name="idle", format="pprof")[0] for _ in range(3)] + [stored("idle")], [200, 200, 200, 15], "equal profiles are several")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = set(pool.map(lambda _: ingest(push.main, profile, name="idle2", format="pprof")[0], range(16)))
    same((statuses, stored("idle2")), ({200}, 80), "also at once")
    alloy = {"X-Alloy-Id": "1"}
    same([ingest(push.main, profile, name="alloy", format="pprof", headers=alloy)[0] for _ in range(2)] + [stored("alloy")], [200, 200, 5],
         "what Alloy repeats is stored once")
    one, other = multipart(profile=profile), multipart(profile=gzip.compress(profile))
    same([ingest(push.main, *body, name="alloy2", headers=alloy)[0] for body in (one, other)] + [stored("alloy2")], [200, 200, 5], "however it is packed")
    senders = [{"X-Alloy-Id": name} for name in ("1", "2", "1")]
    same([ingest(push.main, profile, name="alloy3", format="pprof", headers=sender)[0] for sender in senders] + [stored("alloy3")], [200, 200, 200, 10],
         "equal profiles of two Alloys are two")
    now = int(time.time())
    for rate in (50, 100):
        same(ingest(push.main, b"main 1\n", name="alloy4.wall", from_=now, sampleRate=rate, headers=alloy)[0], 200, "equal samples at two rates: taken")
    same(stored("alloy4"), 30_000_000, "and both stored")


def test_pyroscope_ingest_refused():
    profile = pprof("refused", 5, now_ns())
    before = push.main.metric("requests_invalid_total")
    refused = [("no name", profile, {"name": ""}), ("an unknown type", b"a 1\n", {"name": "shop.backend"}), ("trie", b"x", {"name": "x", "format": "trie"}),
               ("tree", b"x", {"name": "x", "format": "tree"}), ("garbage", b"\0garbage", {"name": "x", "format": "pprof"}),
               ("a time long ago", pprof("old", 1, 10**18), {"name": "x", "format": "pprof"})]
    for what, body, parameters in refused:
        status, headers, text = ingest(push.main, body, **parameters)
        same((status, headers["Content-Type"], json.loads(text)["code"]), (400, "application/json", "invalid_argument"), f"{what}: 400, with a reason", text)
    same(push.main.metric("requests_invalid_total") - before, len(refused), "each is counted")
    same(push.main.request("/ingest?name=x", None, {})[0], 405, "GET: 405")
    body, content = multipart(profile=profile, prev_profile=profile)
    status, _, text = ingest(push.main, body, content, name="x")
    ok(status == 400 and b"update the client" in text, "a client that sends prev_profile: 400, which asks to update it", text)
    same(ingest(push.main, profile, name="x" * 10000, format="pprof")[0], 400, "a name of 10 kB: 400")
    status = ingest(push.main, profile, name="long{" + ",".join(f"key{i}={'v' * 100}" for i in range(60)) + "}", format="pprof")[0]
    same((status, stored("long")), (200, 5), "a name of 6 kB is one of ours")


def java(name):
    """A request of Pyroscope's agent for Java 2.9.2, but for its boundary: parts by name."""
    with open(f"{RECORDED}/{name}", "rb") as file:
        body = file.read()
    parts = {}
    for part in body.split(body[:body.index(b"\r\n")])[1:-1]:
        head, content = part[2:-2].split(b"\r\n\r\n", 1)
        parts[re.search(rb'name="(\w+)"', head).group(1).decode()] = content
    return parts


def chunked(receiver, path, content, body):
    """Status of a POST whose body comes in chunks, as OkHttp sends it."""
    with socket.create_connection(("127.0.0.1", receiver.port), timeout=60) as connection:
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {content}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n".encode())
        for at in range(0, len(body), 8192):
            connection.sendall(b"%x\r\n%s\r\n" % (len(body[at:at + 8192]), body[at:at + 8192]))
        connection.sendall(b"0\r\n\r\n")
        return int(connection.recv(65536).split(b" ")[1])


def test_pyroscope_java():
    """A recording of 2 s; the sums are those that the JDK's own "jfr print" shows."""
    parts = java("java-ingest")
    begin = int(time.time()) - 60
    path = f"/ingest?name=java.shop%7Botel.scope.name%3Dx%2Czone%3Deu%7D&units=samples&aggregationType=sum&from={begin}" \
           f"&until={begin + 10}&spyName=javaspy&sampleRate=100&format=jfr"
    body, content = multipart(**parts)
    same(chunked(push.main, path, content, body), 200, "a flight recording, chunked")
    own = {"service_name": "java.shop", "zone": "eu", "otel_scope_name": "x", "pyroscope_spy": "javaspy"}
    same([labels for _, labels in series_of("java.shop")], [dict(own, job="nightly, all"), own] * 3, "labels of the name, and of contexts")
    selector = "{service_name=\"java.shop\"%s}"
    values = lambda kind, more: number("SELECT coalesce(sum(value), 0) FROM profstore.samples JOIN profstore.series('" + kind + selector % more + "') USING (series_id)")
    cpu, objects, space = ("process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", "memory:alloc_in_new_tlab_objects:count:space:bytes:delta",
                           "memory:alloc_in_new_tlab_bytes:bytes:space:bytes:delta")
    same({kind for kind, _ in series_of("java.shop")}, {cpu, objects, space}, "types and their names are those of Pyroscope")
    with_job, without = ", job=\"nightly, all\"", ", job=\"\""
    same([values(cpu, with_job), values(cpu, without)], [110_000_000, 310_000_000], "CPU time, with labels of its context and without")
    same([values(objects, with_job), values(objects, without), values(space, with_job), values(space, without)],
         [1265, 2928, 82903040, 191889408], "allocations")
    same(sql("SELECT DISTINCT extract(epoch FROM time)::bigint FROM profstore.samples JOIN profstore.series('" + cpu + selector % "" + "') USING (series_id)"),
         [[str(begin)]], "at the time of the request")
    body, content = multipart(jfr=gzip.decompress(parts["jfr"]), labels=gzip.decompress(parts["labels"]))
    same(chunked(push.main, path, content.replace("b0", "b1"), body.replace(b"--b0", b"--b1")), 200, "a second try, with another boundary, not packed")
    same(values(cpu, ""), 420_000_000, "is stored once")
    body, content = multipart(jfr=parts["jfr"])
    same((chunked(push.main, path.replace("java.shop", "java.bare"), content, body), stored("java.bare") > 0), (200, True), "without labels")
    same(chunked(push.main, path.replace("java.shop", "java.bad"), content, multipart(jfr=parts["jfr"][:-100])[0]), 400, "cut: 400")
    body, content = multipart(jfr=parts["jfr"], labels=b"\x0a\x05")
    same((chunked(push.main, path.replace("java.shop", "java.bad"), content, body), stored("java.bad", "count(*)")), (400, 0), "malformed labels: 400")


def test_pyroscope_java_live():
    """Objects that live are no sums over time. The numbers are those of "jfr summary", async-profiler's converter (live) and "jfr print" (malloc)."""
    with gzip.open(f"{RECORDED}/java-live.jfr.gz") as file:
        body, content = multipart(jfr=file.read())
    begin = int(time.time()) - 60
    for at in (begin, begin + 10):
        path = f"/ingest?name=java.live&from={at}&until={at + 10}&spyName=javaspy&sampleRate=100&format=jfr"
        same(chunked(push.main, path, content, body), 200, "a recording with objects that live")
    live = "memory:live:count:objects:count"
    same({kind for kind, _ in series_of("java.live")},
         {live, "memory:malloc_objects:count:::delta", "memory:malloc_bytes:bytes:::delta", "memory:alloc_in_new_tlab_objects:count:space:bytes:delta",
          "memory:alloc_in_new_tlab_bytes:bytes:space:bytes:delta"}, "types are those of Pyroscope; live is no delta")
    same(sql("SELECT function, total FROM profstore.top('" + live + "{service_name=\"java.live\"}') WHERE function ~ '^Live' ORDER BY total DESC"),
         [["Live.main", "244"], ["Live.keepMany", "193"], ["Live.keepFew", "48"]], "objects by the function that made them, averaged over both recordings")
    sums = [stored("java.live", f"sum(value) FILTER (WHERE series_id IN (SELECT series_id FROM profstore.series('memory:{kind}')))") for kind in ("malloc_objects", "malloc_bytes")]
    same(sums, [2 * 6, 2 * 6299648], "native allocations, summed over both")


def with_time(profile, recorded, now):
    """A profile with another time; times of these centuries have nine bytes."""
    def varint(value):
        out = bytearray()
        while value >= 0x80:
            out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
        return bytes(out + bytes([value]))
    old = b"\x48" + varint(recorded)
    assert profile.count(old) == 1
    return profile.replace(old, b"\x48" + varint(now))


def test_pyroscope_ruby():
    """A request of Pyroscope's gem 1.1.1 with Ruby 3.1; the sums are those that "go tool pprof" shows of its profile."""
    with open(f"{RECORDED}/ruby-push", "rb") as file:
        request = with_time(gzip.decompress(file.read()), 1795858720000000000, now_ns())
    status, _, text = push.main.request(PUSH, gzip.compress(request), {"Content-Type": PROTO, "Content-Encoding": "gzip", "Accept": "*/*"})
    same((status, text, stored("ruby.shop")), (200, b"", 10_000_000_000), "Push of Pyroscope's gem")
    own = {"service_name": "ruby.shop", "zone": "eu", "otel_scope_name": "com.grafana.pyroscope/ruby", "otel_scope_version": "1.1.1",
           "process_runtime_name": "ruby", "process_runtime_version": "3.1.2"}
    kind = "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
    same(series_of("ruby.shop"), [(kind, dict(own, job="nightly")), (kind, own)], "type, labels, and labels of tag_wrapper")
    values = dict(sql(f"SELECT function, total FROM profstore.top('{kind}{{service_name=\"ruby.shop\"}}') WHERE function IN ('sixty', 'thirty', 'ten')"))
    same(values, {"sixty": "5820000000", "thirty": "2910000000", "ten": "1220000000"}, "functions")
    nightly = number(f"SELECT sum(value) FROM profstore.samples JOIN profstore.series('{kind}{{service_name=\"ruby.shop\", job=\"nightly\"}}') USING (series_id)")
    same(nightly, 2_940_000_000, "samples within tag_wrapper")


def test_pyroscope_dotnet():
    """Requests in the form of Pyroscope's agent for .NET, after its published source; no registry here has its native library to record."""
    profile = pprof("dotnet", 70, now_ns())
    config = json.dumps({"cpu": {"units": "samples", "sampled": True}, "lock_time": {"units": "lock_nanoseconds", "display-name": "mutex_duration"}}).encode()
    begin = now_ns() - 10 * 10**9
    for name, parts in (("dotnet.old{zone=eu}", {"profile": profile, "sample_type_config": config}), ("dotnet.middle{zone=eu}", {"profile": profile})):
        body, content = multipart(**parts)
        status = ingest(push.main, body, content, name=name, from_=begin, until=begin + 10 * 10**9, spyName="dotnetspy", spyVersion="0.9.0")[0]
        service = name.partition("{")[0]
        same((status, stored(service)), (200, 70), f"{service}: /ingest with times in nanoseconds")
        same(series_of(service), [("process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", {"service_name": service, "zone": "eu", "pyroscope_spy": "dotnetspy", "thread": "one"})],
             f"{service}: type and labels")
    for kind in ("process_cpu", "exception"):
        labels = {"__name__": kind, "service_name": f"dotnet.{kind}", "zone": "eu", "pyroscope_spy": "dotnetspy"}
        pairs = b"".join(message_field(1, message_field(1, k.encode()) + message_field(2, v.encode())) for k, v in labels.items())
        same(pushed(push.main, message_field(1, pairs + message_field(2, message_field(1, profile)))), (200, PROTO, b""), f"{kind}: Push of a plain profile without an id")
        same((stored(f"dotnet.{kind}"), series_of(f"dotnet.{kind}")[0][0].partition(":")[0]), (70, kind), f"{kind}: stored under its name")


def test_pyroscope_push():
    labels = {"__name__": "process_cpu", "service_name": "pushed", "__delta__": "false", "__session_id__": "1", "otel.scope.name": "x"}
    same(pushed(push.main, push_request(labels, gzip.compress(pprof("work", 70, now_ns())), pprof("rest", 5, now_ns()))), (200, PROTO, b""),
         "Push over Connect: 200, application/proto, no content")
    same(stored("pushed"), 75, "both profiles are stored")
    same([labels for _, labels in series_of("pushed")], [{"service_name": "pushed", "otel_scope_name": "x", "thread": "one"}], "labels")
    body = push_request(dict(labels, service_name="pushed2"), pprof("work", 7, now_ns()))
    same(pushed(push.main, gzip.compress(body))[0], 400, "packed, but not announced: 400")
    status = push.main.request("/" + PUSH, gzip.compress(body), {"Content-Type": PROTO, "Content-Encoding": "gzip"})[0]
    same((status, stored("pushed2")), (200, 7), "//push..., gzip")
    text = json.dumps({"series": [{"labels": [{"name": "__name__", "value": "memory"}, {"name": "service_name", "value": "pushed3"}],
                                   "samples": [{"rawProfile": base64.b64encode(pprof("work", 9, now_ns())).decode(), "ID": "x"}]}]}).encode()
    status, kind, body = pushed(push.main, text, "application/json")
    same((status, kind, body, stored("pushed3")), (200, "application/json", b"{}", 9), "Push over Connect, JSON")
    same(pushed(push.main, text, "text/plain")[0], 415, "another content type: 415")
    code, details, _ = call(push.main, PUSH, push_request(dict(labels, service_name="pushed4"), pprof("work", 11, now_ns())))
    same((code, stored("pushed4")), (grpc.StatusCode.OK, 11), "Push over gRPC", details)


def test_pyroscope_push_traps():
    pairs = [("__name__", "process_cpu"), ("service_name", "twice"), ("zone", "eu"), ("zone", "eu"), ("host", "a"), ("host", "b"), ("a.b", "1"), ("a-b", "2"),
             ("a b", "3"), ("tenant", "me"), (f"l{'o' * 300}ng", "x"), ("long", "v" * 3000)]
    skipped = push.main.metric("pyroscope_labels_skipped_total")
    same(pushed(push.main, push_request(pairs, pprof("work", 5, now_ns())))[0], 200, "labels that come twice, or become one: taken")
    labels = series_of("twice")[0][1]
    same({k: labels.get(k) for k in ("zone", "host", "a_b", "a_b_2", "a_b_3", "exported_tenant", "tenant")},
         {"zone": "eu", "host": "b", "a_b": "3", "a_b_2": "2", "a_b_3": "1", "exported_tenant": "me", "tenant": None}, "each is there once")
    same((len(labels["long"]), push.main.metric("pyroscope_labels_skipped_total") - skipped), (1024, 2), "what was cut is counted")
    rejected = push.main.metric("pyroscope_profiles_rejected_total")
    half = push_request({"__name__": "process_cpu", "service_name": "half-push"}, pprof("good", 5, now_ns()), b"\0bad", pprof("good", 7, now_ns()))
    same(pushed(push.main, half), (400, "application/json", "invalid_argument"), "a push with a bad profile: invalid_argument, so that it is not repeated")
    same((stored("half-push"), push.main.metric("pyroscope_profiles_rejected_total") - rejected), (12, 1), "the others are stored, and the bad one is counted")
    same((pushed(push.main, half)[0], stored("half-push")), (400, 12), "sent again: nothing is stored twice")
    repeated = push.main.metric("requests_repeated_total")
    idle = push_request({"__name__": "process_cpu", "service_name": "idle-push"}, pprof("idle", 5, 0), b"\0bad")
    same([pushed(push.main, idle)[0] for _ in range(3)], [400, 400, 400], "equal bytes without times, of a client that knows its answer: another profile")
    same((stored("idle-push"), push.main.metric("requests_repeated_total") - repeated), (15, 0), "is stored, although each request had a bad profile")
    many = [("service_name", "many")] + [(f"label{i}", "x") for i in range(100)]
    skipped = push.main.metric("pyroscope_labels_skipped_total")
    same(pushed(push.main, push_request(many, pprof("work", 5, now_ns())))[0], 200, "more labels than a series may have: taken")
    same((len(series_of("many")[0][1]), push.main.metric("pyroscope_labels_skipped_total") - skipped), (64, 38), "the rest is left out, and counted")
    same(pushed(push.main, push_request({}, b"\0bad"))[0], 400, "nothing but a bad profile: 400")
    same(pushed(push.main, b"\xff")[0], 400, "no protobuf: 400")
    small = Receiver("--max-message=64kB")
    small.ready()
    same(pushed(small, push_request({}, b"x" * 100_000)), (413, "application/json", "invalid_argument"), "too large: invalid_argument, for Alloy")
    status, _, text = ingest(small, b"x" * 100_000, name="large", format="pprof")
    same((status, json.loads(text)["code"]), (413, "resource_exhausted"), "too large for /ingest: 413")
    same(small.stop(), 0, "ends well")


def datadog_profile(now, value):
    """A profile as Datadog's tracers make it: names of their own, and a span's id that is a number."""
    def field(number_, content):
        if isinstance(content, bytes):
            return message_field(number_, content)
        out = bytes([number_ << 3])
        while content >= 0x80:
            out, content = out + bytes([content & 0x7F | 0x80]), content >> 7
        return out + bytes([content])
    texts = [b"", b"cpu-time", b"nanoseconds", b"heap-space", b"bytes", b"gpu-space", b"work", b"span id"]
    return (field(1, field(1, 1) + field(2, 2)) + field(1, field(1, 3) + field(2, 4)) + field(1, field(1, 5) + field(2, 4)) +
            field(2, field(1, 1) + field(2, value) + field(2, 4096) + field(2, 8) + field(3, field(1, 7) + field(3, int(SPAN, 16)))) +
            field(4, field(1, 1) + field(4, field(1, 1))) + field(5, field(1, 1) + field(2, 6)) + b"".join(field(6, text) for text in texts) +
            field(9, now) + field(11, field(1, 1) + field(2, 2)) + field(12, 1))


def datadog(receiver, name, *profiles, boundary="b1", event=True, headers=None, path="/profiling/v1/input"):
    """Sends profiles as a tracer does; the status, and the code of an error."""
    start = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - 20)) + ".123456789Z"
    tags = f"service:{name},env:prod,zone:eu,runtime-id:{os.urandom(4).hex()},process_id:7,profiler_version:1,host:h.1,odd"
    parts = [("event", "event.json", json.dumps({"attachments": [], "tags_profiler": tags, "start": start, "end": start, "family": "go", "version": "4"}).encode())]
    parts = parts * event + [(f"p{i}.pprof", f"p{i}.pprof", profile) for i, profile in enumerate(profiles)] + [("metrics.json", "metrics.json", b"[]")]
    body = b"".join(b"--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\nContent-Type: application/octet-stream\r\n\r\n%s\r\n" %
                    (boundary.encode(), part.encode(), file.encode(), content) for part, file, content in parts) + b"--%s--\r\n" % boundary.encode()
    status, _, text = receiver.request(path, body, {"Content-Type": f"multipart/form-data; boundary={boundary}", **(headers or {})})
    return (status, text) if status == 200 else (status, json.loads(text)["code"], json.loads(text)["message"])


def test_datadog():
    now = now_ns()
    packed = zstandard.ZstdCompressor().compress(datadog_profile(now, 70))
    same(datadog(push.main, "dd.packed", packed)[0], 200, "a profile in zstd")
    same([row[0] for row in series_of("dd.packed")], ["gpu:gpu-space:bytes:cpu-time:nanoseconds:delta", "memory:inuse_space:bytes:space:bytes",
                                                      "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"], "names of Pyroscope's; the others stay")
    same(series_of("dd.packed")[0][1], {"service_name": "dd.packed", "env": "prod", "zone": "eu", "host": "h.1"}, "tags, without those of a process")
    rows = sql("SELECT sum(value) FROM profstore.trace_samples JOIN profstore.series AS r ON r.id = series_id"
               f" WHERE span_id = decode('{SPAN}', 'hex') AND r.labels->>'service_name' = 'dd.packed'")
    same(rows, [[str(70 + 4096 + 8)]], "the number of a span is its id")
    for what, profiles in (("gzip", [gzip.compress(datadog_profile(now, 5))]), ("bare", [datadog_profile(now, 5)]),
                           ("two", [datadog_profile(now, 2), zstandard.ZstdCompressor().compress(datadog_profile(now + 1, 3))])):
        same((datadog(push.main, f"dd.{what}", *profiles)[0], sum_of_cpu(f"dd.{what}")), (200, 5), f"attachments: {what}")
    same(datadog(push.main, "dd.untimed", datadog_profile(0, 5))[0], 200, "a profile without a time")
    ok(sql("SELECT max(time) BETWEEN now() - interval '1 min' AND now() - interval '15 s' FROM profstore.samples JOIN profstore.series('process_cpu:cpu{service_name=\"dd.untimed\"}')"
           " USING (series_id)")[0][0] == "t", "has the event's")
    for what, expected, answer in (("a bad profile", "seen at byte", datadog(push.main, "dd.bad", b"\0bad")), ("no event", "no part event", datadog(push.main, "dd.none", event=False)),
                                   ("lz4", "lz4", datadog(push.main, "dd.lz4", b"\x04\x22\x4d\x18xxxx")),
                                   ("a bad one among good ones", "1 profiles were rejected, and 1 stored", datadog(push.main, "dd.half", datadog_profile(now, 7), b"\0bad")),
                                   ("broken zstd", "cannot be unpacked", datadog(push.main, "dd.broken", packed[:20]))):
        ok(answer[:2] == (400, "invalid_argument") and expected in answer[2], f"refused: {what}", answer)
    same(sum_of_cpu("dd.half"), 7, "the good one is stored")
    bomb = zstandard.ZstdCompressor().compress(b"\0" * (80 << 20))
    ok("larger than --max-message" in datadog(push.main, "dd.bomb", bomb)[2], "a profile that unpacks to too much")
    same(json.loads(push.main.get("/info")[2])["endpoints"], ["/profiling/v1/input"], "what tracers ask first")
    with open(TOKENS, "w", encoding="utf-8") as file:
        file.write("team key-of-team\n")
    guarded = Receiver(f"--tokens={TOKENS}")
    guarded.ready()
    same(datadog(guarded, "dd.key", datadog_profile(now, 5), headers={"DD-API-KEY": "key-of-team"}, path="/api/v2/profile")[0], 200, "the key is a token")
    same(datadog(guarded, "dd.key", datadog_profile(now, 5), headers={"DD-API-KEY": "other"})[:2], (401, "unauthenticated"), "another key")
    for order in (("Authorization", "DD-API-KEY"), ("DD-API-KEY", "Authorization")):
        both = {"Authorization": "Bearer key-of-team", "DD-API-KEY": "other"}
        same(datadog(guarded, "dd.key", datadog_profile(now, 5), headers={name: both[name] for name in order})[0], 200, f"the key beside a proxy's token: {order[0]} first")
    same(series_of("dd.key")[0][1]["tenant"], "team", "and names the tenant")
    guarded.stop()


def test_datadog_repeated():
    """The tracer for Go sends a request that failed once more, with another boundary."""
    repeated = push.main.metric("requests_repeated_total") + push.main.metric("receipts_met_total")
    profile = datadog_profile(now_ns(), 9)
    event = {"service": "dd.twice"}
    body = json.dumps({"tags_profiler": ",".join(f"{k}:{v}" for k, v in event.items()), "start": "2026-01-01T00:00:00Z"}).encode()
    for boundary in (b"x1", b"x2"):
        parts = b"".join(b"--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n" % (boundary, name, content)
                         for name, content in ((b"event", body), (b"cpu.pprof", profile))) + b"--%s--\r\n" % boundary
        same(push.main.post("/profiling/v1/input", parts, f"multipart/form-data; boundary={boundary.decode()}")[0], 200, "taken")
    same((sum_of_cpu("dd.twice"), push.main.metric("requests_repeated_total") + push.main.metric("receipts_met_total") - repeated), (9, 1), "stored once")


def sum_of_cpu(name):
    return number(f"SELECT coalesce(sum(value), 0) FROM profstore.samples JOIN profstore.series('process_cpu:cpu{{service_name=\"{name}\"}}') USING (series_id)")


def test_pyroscope_tenants():
    with open(TOKENS, "w", encoding="ascii") as file:
        file.write("north north-secret\n")
    basic = lambda user, password: {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}
    receiver = Receiver(f"--tokens={TOKENS}")
    receiver.ready()
    profile = pprof("work", 5, now_ns())
    for what, headers in (("user and password", basic("1234", "north-secret")), ("no user", basic("", "north-secret")), ("a bearer", {"Authorization": "Bearer north-secret"})):
        service = what.replace(" ", "-")
        same(ingest(receiver, profile, name=service, format="pprof", headers={**headers, "X-Scope-OrgID": "south"})[0], 200, f"{what}: taken")
        labels = series_of(service)[0][1]
        same((labels.get("tenant"), labels.get("exported_tenant")), ("north", "south"), "the token's tenant; the header's is a claim")
    for what, headers in (("another password", basic("north", "secret")), ("no colon", {"Authorization": "Basic bm9ydGgtc2VjcmV0"}), ("a password in the user's place", basic("north-secret", "")),
                          ("no base64", {"Authorization": "Basic ?"}), ("nothing", {"Authorization": "Basic "}), ("another scheme", {"Authorization": "Digest north-secret"}), ("none", {})):
        status, _, text = ingest(receiver, profile, name="nobody", format="pprof", headers=headers)
        same((status, json.loads(text)["code"]), (401, "unauthenticated"), f"{what}: 401")
    same(pushed(receiver, push_request({}, profile))[::2], (401, "unauthenticated"), "Push without a token: unauthenticated")
    same(stored("nobody", "count(*)"), 0, "nothing is stored")
    same(receiver.stop(), 0, "ends well")
    trusting = Receiver("--trust-tenant-header")
    trusting.ready()
    same(ingest(trusting, profile, name="trusted", format="pprof", headers={"X-Scope-OrgID": "south"})[0], 200, "--trust-tenant-header")
    labels = series_of("trusted")[0][1]
    same((labels.get("tenant"), labels.get("exported_tenant")), ("south", None), "the header is the tenant")
    same(trusting.stop(), 0, "ends well")


def test_pyroscope_at_once():
    """A request for each of 500 processes, as Alloy's eBPF component sends them: stored, or asked to come again; none is lost."""
    receiver = Receiver("--client-requests=100")
    receiver.ready()
    answers = {}

    def send(i):
        body = push_request({"__name__": "process_cpu", "service_name": "at-once", "pid_": str(i)}, pprof(f"process_{i}", 1, now_ns()))
        tries = []
        while True:
            status, _, code = pushed(receiver, body)
            tries.append((status, code if status != 200 else ""))
            if status == 200:
                return tries
            time.sleep(0.2)

    with concurrent.futures.ThreadPoolExecutor(500) as pool:
        for tries in pool.map(send, range(500)):
            for answer in tries:
                answers[answer] = answers.get(answer, 0) + 1
    same((answers[200, ""], stored("at-once")), (500, 500), "500 requests at once: all are stored, once each")
    ok({code for _, code in answers} <= {"", "unavailable"}, "those that were not are told so, as unavailable, which Alloy repeats", answers)
    same(receiver.stop(), 0, "ends well")


def test_pyroscope_busy():
    """Without a database: 503 and unavailable; nothing is taken that would be lost."""
    receiver = Receiver(db="host=/nowhere dbname=x")
    eventually(lambda: "away" in receiver.text() or receiver.process.poll() is not None)
    same(pushed(receiver, push_request({}, pprof("work", 5, now_ns()))), (503, "application/json", "unavailable"), "Push: unavailable")
    status, _, text = ingest(receiver, pprof("work", 5, now_ns()), name="away", format="pprof")
    same((status, json.loads(text)["code"]), (503, "unavailable"), "/ingest: 503")
    same(receiver.stop(), 0, "ends well")


def test_pyroscope_killed():
    """Killed with requests under way; what was not told is sent again, to another receiver: there once."""
    alloy = {"X-Alloy-Id": "1"}
    begin, tries = int(time.time()) - 60, iter(range(1000))

    def java_takes(receiver, parts):
        """Each try has another boundary, as those of the agent for Java."""
        body, content = multipart(**parts)
        boundary = f"t{next(tries)}"
        path = f"/ingest?name=killed.java&from={begin}&until={begin + 10}&spyName=javaspy&sampleRate=100&format=jfr"
        return chunked(receiver, path, content.replace("b0", boundary), body.replace(b"--b0", b"--" + boundary.encode())) == 200

    roads = {"push": lambda receiver, body: pushed(receiver, body)[0] == 200, "java": java_takes,
             "alloy": lambda receiver, body: ingest(receiver, body, name="killed-alloy", format="pprof", headers=alloy)[0] == 200}
    bodies = {"push": push_request({"__name__": "process_cpu", "service_name": "killed-push"}, pprof("work", 5, now_ns())), "alloy": pprof("work", 5, now_ns()),
              "java": java("java-ingest")}
    receivers = [Receiver("--answer-timeout=60s")]
    receivers[0].ready()

    def until_told(road):
        for _ in range(300):
            try:
                if roads[road](receivers[-1], bodies[road]):
                    return
            except (OSError, IndexError):  # cut off
                pass
            time.sleep(0.1)

    threads = [threading.Thread(target=until_told, args=(road,)) for road in roads]
    with Held() as held:
        for thread in threads:
            thread.start()
        ok(held.waits() and eventually(lambda: receivers[0].metric("requests_total") >= 3), "all requests have come")
        receivers[0].kill()
        receivers.append(Receiver())
        receivers[1].ready()
    for thread in threads:
        thread.join()
    same([stored("killed-push"), stored("killed-alloy")], [5, 5], "kill -9 between tries: each is there once")
    same(number("SELECT sum(value) FROM profstore.samples JOIN profstore.series('process_cpu:cpu{service_name=\"killed.java\"}') USING (series_id)"), 420_000_000,
         "also the recording of Java's agent, whose tries have boundaries of their own")
    same(receivers[1].stop(), 0, "ends well")


def test_pyroscope_acknowledged_by_spool():
    directory = f"{SCRATCH}/pyroscope-spool-{os.getpid()}"
    receiver = Receiver(f"--spool-directory={directory}", "--acknowledge=spool", db="host=/nonexistent")
    body = push_request({"__name__": "process_cpu", "service_name": "spooled-push"}, pprof("work", 5, now_ns()))
    same((pushed(receiver, body)[0], ingest(receiver, pprof("work", 7, now_ns()), name="spooled-ingest", format="pprof")[0]), (200, 200),
         "without a database both are answered")
    receiver.kill()
    receiver = Receiver(f"--spool-directory={directory}", "--acknowledge=spool")
    ok(eventually(lambda: (stored("spooled-push"), stored("spooled-ingest")) == (5, 7)), "the next one with a database stores them")
    same((pushed(receiver, body)[0], stored("spooled-push")), (200, 5), "a client that sends it again is told so")
    same(receiver.stop(), 0, "ends well")
