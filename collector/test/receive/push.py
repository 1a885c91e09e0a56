"""Tests of "receive", in the order of a request's life; see run."""

import base64
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import grpc
import zstandard
from google.protobuf import json_format

import otlp_requests
from harness import Receiver, eventually, number, ok, run, same, sql
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as service

SCRATCH = sys.argv[1]
EXPORT = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
WRITE_RAW = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"
PROTOBUF = "application/x-protobuf"
CPU = "process_cpu:samples:count:cpu:nanoseconds:delta"


def now_ns():
    return time.time_ns() - 1_000_000_000


def older(version, shape, name, time_ns, *more):
    """The bytes of a request as another version of the package makes it."""
    here = os.path.dirname(os.path.abspath(__file__))
    environment = dict(os.environ, PYTHONPATH=f"{SCRATCH}/proto-{version}")
    done = subprocess.run([sys.executable, f"{here}/otlp_requests.py", shape, name, str(time_ns), *more],
                          capture_output=True, env=environment, check=True)
    return base64.b64decode(done.stdout)


def call(receiver, method, body, channel=None, metadata=(), timeout=20, compression=None):
    """Status code, details, answer of a call of gRPC; bytes in, bytes out."""
    own = channel or grpc.insecure_channel(receiver.address)
    try:
        answer = own.unary_unary(method)(body, timeout=timeout, metadata=metadata, compression=compression)
        return grpc.StatusCode.OK, "", answer
    except grpc.RpcError as error:
        return error.code(), error.details(), dict(error.trailing_metadata() or ())
    finally:
        if channel is None:
            own.close()


def stored(name, column="sum(value)"):
    return number(
        f"SELECT coalesce({column}, 0) FROM profstore.samples AS s JOIN profstore.series AS r"
        f" ON r.id = s.series_id WHERE r.labels->>'service_name' = '{name}'")


def stacks(name, profile_type=CPU):
    return sql(f"SELECT array_to_string(stack, ';'), value FROM profstore.stacks_of('{profile_type}"
               f"{{service_name=\"{name}\"}}', now() - interval '1 hour', now() + interval '1 hour') ORDER BY 1")


def message_field(number_, content):
    """A field of protobuf with bytes in it."""
    length, head = len(content), bytes([number_ << 3 | 2])
    while length >= 0x80:
        head, length = head + bytes([length & 0x7F | 0x80]), length >> 7
    return head + bytes([length]) + content


def write_raw_request(labels, *profiles):
    pairs = b"".join(message_field(1, message_field(1, k.encode()) + message_field(2, v.encode()))
                     for k, v in labels.items())
    series = message_field(1, pairs) + b"".join(message_field(2, message_field(1, p)) for p in profiles)
    return message_field(2, series)


def pprof(function, value, time_ns, key="thread", text="one"):
    """A small profile: one function, one sample with a label."""
    def field(number_, content):
        if isinstance(content, bytes):
            return message_field(number_, content)
        out = bytes([number_ << 3])
        while content >= 0x80:
            out, content = out + bytes([content & 0x7F | 0x80]), content >> 7
        return out + bytes([content])

    texts = [b"", b"cpu", b"nanoseconds", function.encode(), b"prog.go", key.encode(), text.encode()]
    return (field(1, field(1, 1) + field(2, 2)) +
            field(2, field(1, 1) + field(2, value) + field(3, field(1, 5) + field(2, 6))) +
            field(4, field(1, 1) + field(4, field(1, 1) + field(2, 12))) +
            field(5, field(1, 1) + field(2, 3) + field(4, 4)) +
            b"".join(field(6, text) for text in texts) +
            field(9, time_ns) + field(11, field(1, 1) + field(2, 2)) + field(12, 10_000_000))


# --- what is stored ---


def test_shapes():
    expected = {"times": [("main", "2"), ("main;handler;caller;leaf", "3")],
                "values": [("main", "200"), ("main;handler;caller;leaf", "300")],
                "both": [("main", "200"), ("main;handler;caller;leaf", "300")]}
    for shape, rows in expected.items():
        kind = "off_cpu:off_cpu:nanoseconds:::delta" if shape == "both" else CPU
        for version, make in (("1.11", lambda n, t: otlp_requests.request_of(shape, n, t).SerializeToString()),
                              ("1.9", lambda n, t: older("1.40.0", shape, n, t))):
            name = f"{shape}-{version}"
            code, details, _ = call(main, EXPORT, make(name, now_ns()))
            same(code, grpc.StatusCode.OK, f"OTLP {version}, {shape}: taken over gRPC", details)
            same([tuple(row) for row in stacks(name, kind)], rows, f"OTLP {version}, {shape}: values and stacks")


def test_notes():
    before = main.metric("otlp_attributes_skipped_total")
    body = otlp_requests.request_of("values", "noted-json", now_ns(), noted=True)
    main.post("/v1development/profiles", json_format.MessageToJson(body).encode(), "application/json")
    call(main, EXPORT, otlp_requests.request_of("values", "noted-1.11", now_ns(), noted=True).SerializeToString())
    call(main, EXPORT, older("1.40.0", "values", "noted-1.9", now_ns(), "noted"))
    for service in "noted-json", "noted-1.11", "noted-1.9":
        rows = sql(f"""SELECT s.labels ? 'thread_name', n.default_type, to_json(n.comments), n.doc_url, n.drop_frames, n.keep_frames,
                       s.labels - '{{service_name,host_name,process_executable_name,exported_tenant,thread_name}}'::text[]
                       FROM profstore.file_notes n JOIN profstore.series s ON s.id = n.series_id
                       WHERE s.labels->>'service_name' = '{service}' ORDER BY 1""")
        told = ["samples", json.dumps(otlp_requests.COMMENTS), otlp_requests.DOC_URL, "", "", "{}"]
        same([[row[0], row[1], json.dumps(json.loads(row[2]))] + list(row[3:]) for row in rows], [["f"] + told, ["t"] + told],
             f"{service}: comments and the like are notes of each series, as those of pprof files are, and no labels")
    same(main.metric("otlp_attributes_skipped_total") - before, 3, "the order of types, of which nothing is kept, is counted for each")


def test_too_old():
    code, details, _ = call(main, EXPORT, older("1.36.0", "values", "old", now_ns()))
    same(code, grpc.StatusCode.INVALID_ARGUMENT, "OTLP 1.7 is refused")
    ok("1.7" in details and "1.8 to 1.11" in details, "the message names both versions", details)
    code, _, _ = call(main, EXPORT.replace("v1development", "v1experimental"), b"")
    same(code, grpc.StatusCode.UNIMPLEMENTED, "v1experimental is not implemented")


def test_labels():
    call(main, EXPORT, otlp_requests.request_of("times", "labelled", now_ns()).SerializeToString())
    rows = sql("SELECT labels - 'service_name' FROM profstore.series WHERE labels->>'service_name' = 'labelled' ORDER BY 1")
    labels = sorted((json.loads(row[0]) for row in rows), key=len)
    base = {"host_name": "web1", "process_executable_name": "prog", "exported_tenant": "somebody"}
    same(labels, [base, dict(base, thread_name="worker")],
         "attributes become labels; pid and thread id do not; the client does not say who its tenant is")
    rows = sql("SELECT DISTINCT mapping FROM profstore.top('" + CPU + "{service_name=\"labelled\"}') ORDER BY 1")
    same([row[0] for row in rows], ["/bin/prog", "[cpython]"], "frames of interpreters show their type")


TRACE, OTHER = otlp_requests.TRACES
SPAN = otlp_requests.SPANS[0]


def traced(name, profile_type, *restrictions):
    """Stacks of a trace or span as a flame graph would show them."""
    rows = sql(f"SELECT array_to_string(stack, ';'), value FROM profstore.stacks_of('{profile_type}{{service_name=\"{name}\"}}',"
               f" now() - interval '1 hour', now() + interval '1 hour', {', '.join(restrictions)}) ORDER BY 1")
    return [(stack, int(value)) for stack, value in rows]


def sent(request, trace, span=None):
    """The same of what the client has sent, by the tables of the request."""
    tables = request.dictionary
    sums = {}
    for sample in request.resource_profiles[0].scope_profiles[0].profiles[0].samples:
        ids = tables.link_table[sample.link_index]
        if ids.trace_id.hex() != trace or (span is not None and ids.span_id.hex() != span):
            continue
        names = []
        for location in tables.stack_table[sample.stack_index].location_indices:
            for line in tables.location_table[location].lines:
                names.append(tables.string_table[tables.function_table[line.function_index].name_strindex])
        stack = ";".join(reversed(names))
        sums[stack] = sums.get(stack, 0) + (sum(sample.values) or len(sample.timestamps_unix_nano))
    return sorted(sums.items())


def test_traces():
    for shape in ("times", "values", "both"):
        kind = "off_cpu:off_cpu:nanoseconds:::delta" if shape == "both" else CPU
        body = otlp_requests.request_of(shape, f"traced-{shape}", now_ns(), linked=True)
        code, details, _ = call(main, EXPORT, body.SerializeToString())
        same(code, grpc.StatusCode.OK, f"links, {shape}: taken over gRPC", details)
        for trace in (TRACE, OTHER):
            same(traced(f"traced-{shape}", kind, f"trace => '{trace}'"), sent(body, trace), f"{shape}: the trace's stacks are those that were sent")
        same(traced(f"traced-{shape}", kind, f"trace => '{TRACE}'", f"span => '{SPAN}'"), sent(body, TRACE, SPAN), f"{shape}: those of a span of it")
        everything = {}
        for trace in (TRACE, OTHER, ""):
            for stack, value in sent(body, trace):
                everything[stack] = everything.get(stack, 0) + value
        same([(stack, int(value)) for stack, value in stacks(f"traced-{shape}", kind)], sorted(everything.items()), f"{shape}: all samples count once")
        same(number(f"SELECT count(*) FROM profstore.series WHERE labels->>'service_name' = 'traced-{shape}'"), 2, f"{shape}: traces make no series")
    keeping = Receiver("--keep-times")
    body = otlp_requests.request_of("both", "traced-kept", now_ns(), linked=True)
    same(call(keeping, EXPORT, body.SerializeToString())[0], grpc.StatusCode.OK, "links, each event with its time")
    same(traced("traced-kept", "off_cpu:off_cpu:nanoseconds:::delta", f"trace => '{TRACE}'"), sent(body, TRACE), "the same stacks")
    keeping.stop()
    body = otlp_requests.request_of("values", "traced-json", now_ns(), linked=True)
    same(main.post("/v1/profiles", json_format.MessageToJson(body).encode(), "application/json")[0], 200, "links in JSON")
    same(traced("traced-json", CPU, f"trace => '{TRACE}'"), sent(body, TRACE), "JSON: the trace's stacks")
    body = otlp_requests.request_of("values", "traced-1.9", now_ns(), linked=True)
    same(call(main, EXPORT, older("1.40.0", "values", "traced-1.9", now_ns(), "linked"))[0], grpc.StatusCode.OK, "links of OTLP 1.9")
    same(traced("traced-1.9", CPU, f"trace => '{TRACE}'"), sent(body, TRACE), "1.9: the trace's stacks")
    body = otlp_requests.request_of("values", "attributed", now_ns())
    profile = body.resource_profiles[0].scope_profiles[0].profiles[0]
    for key, value in (("trace_id", TRACE), ("span.id", SPAN)):
        item = body.dictionary.attribute_table.add()
        item.key_strindex = len(body.dictionary.string_table)
        body.dictionary.string_table.append(key)
        item.value.string_value = value
        profile.samples[0].attribute_indices.append(len(body.dictionary.attribute_table) - 1)
    same(call(main, EXPORT, body.SerializeToString())[0], grpc.StatusCode.OK, "ids as attributes")
    same(traced("attributed", CPU, f"trace => '{TRACE}'", f"span => '{SPAN}'"), [("main;handler;caller;leaf", 300)], "are ids of samples, too")
    for what, trace, span in (("trace id of 8 bytes", TRACE[:16], SPAN), ("span id of 4 bytes", TRACE, SPAN[:8])):
        body = otlp_requests.request_of("values", "badlink", now_ns(), linked=True)
        body.dictionary.link_table[1].trace_id, body.dictionary.link_table[1].span_id = bytes.fromhex(trace), bytes.fromhex(span)
        partial = service.ExportProfilesServiceResponse.FromString(call(main, EXPORT, body.SerializeToString())[2]).partial_success
        same((partial.rejected_profiles, stored("badlink", "count(*)")), (1, 0), f"{what}: the profile is rejected", partial.error_message)
    same(sql("SELECT * FROM profstore.verify() WHERE problem LIKE '%trace%'"), [], "each row of a trace has its sample")


def test_profile_ids():
    """The same profiles in other bytes: other encoding, other order of resources and of the dictionary."""
    def request(service_name, ids, times, value=300):
        made = otlp_requests.request_of("values", service_name, times[0])
        made.resource_profiles.add().CopyFrom(made.resource_profiles[0])
        for resource, id_, time_ns in zip(made.resource_profiles, ids, times):
            profile = resource.scope_profiles[0].profiles[0]
            profile.profile_id, profile.time_unix_nano, profile.samples[0].values[0] = id_, time_ns, value
        return made

    def other(made):
        again = service.ExportProfilesServiceRequest()
        again.CopyFrom(made)
        again.ClearField("resource_profiles")
        for resource in reversed(made.resource_profiles):
            again.resource_profiles.add().CopyFrom(resource)
        again.dictionary.string_table.append("not referred to")
        return again

    times, ids = [now_ns(), now_ns() + 1_000_000], [b"\1" * 16, b"\2" * 16]
    made = request("identified", ids, times)
    met = main.metric("receipts_met_total")
    for body, what in ((made, "first"), (other(made), "in another order")):
        same(call(main, EXPORT, body.SerializeToString())[0], grpc.StatusCode.OK, f"profiles with ids, {what}: taken")
    same(main.post("/v1/profiles", json_format.MessageToJson(made).encode(), "application/json")[0], 200, "and as JSON")
    same((stored("identified"), main.metric("receipts_met_total") - met), (1000, 2), "they are stored once")
    shallow = request("identified", ids, times)
    for resource in shallow.resource_profiles:
        first, second = resource.scope_profiles[0].profiles[0].samples
        first.stack_index, second.stack_index = second.stack_index, first.stack_index
    renamed = request("identified", ids, times)
    renamed.dictionary.string_table[:] = ["left" if text == "leaf" else text for text in renamed.dictionary.string_table]
    for what, more, added in (("other names of frames", renamed, 1000), ("other ids", request("identified", [ids[0], b"\3" * 16], times), 1000),
                              ("other times", request("identified", ids, [times[0], times[1] + 1_000_000]), 1000),
                              ("other values", request("identified", ids, times, 301), 1002), ("other stacks", shallow, 1000)):
        before = stored("identified")
        same(call(main, EXPORT, more.SerializeToString())[0], grpc.StatusCode.OK, f"{what}: taken")
        same(stored("identified") - before, added, f"{what}: stored")
    kept, moved = (otlp_requests.request_of("times", "identified_events", times[0]) for _ in range(2))
    for one in (kept, moved):
        one.resource_profiles[0].scope_profiles[0].profiles[0].profile_id = ids[0]
    moved.resource_profiles[0].scope_profiles[0].profiles[0].samples[0].timestamps_unix_nano[2] += 1_000_000
    for one in (kept, moved, kept):
        call(main, EXPORT, one.SerializeToString())
    same(stored("identified_events"), 10, "other moments of events: stored, and once")
    for none in (b"", bytes(16)):
        name = f"unidentified{len(none)}"
        made = request(name, [ids[0], none], times)
        for body in (made, other(made)):
            call(main, EXPORT, body.SerializeToString())
        same(stored(name), 2000, f"where one has {'no id' if not none else 'an id of zeros'} the bytes decide")
    made = request("identified_services", ids, times)
    call(main, EXPORT, made.SerializeToString())
    for resource in made.resource_profiles:
        resource.resource.attributes[0].value.string_value = "identified_others"
    call(main, EXPORT, made.SerializeToString())
    same((stored("identified_services"), stored("identified_others")), (1000, 1000), "one id for all services: each is stored")


def test_http():
    body = otlp_requests.request_of("times", "http", now_ns())
    for name, path, content, headers in (
            ("plain", "/v1development/profiles", body.SerializeToString(), {}),
            ("gzip", "/v1/profiles", gzip.compress(body.SerializeToString()), {"Content_Encoding": "gzip"}),
            ("zstd", "/v1development/profiles", zstandard.compress(body.SerializeToString()),
             {"Content_Encoding": "zstd"})):
        status, answer, text = main.post(path, content, PROTOBUF, **headers)
        same((status, answer["Content-Type"], text), (200, PROTOBUF, b""), f"HTTP, {name}", text)
    same(stored("http"), 5, "the same request three times is stored once")
    body = otlp_requests.request_of("times", "json", now_ns())
    status, answer, text = main.post("/v1development/profiles", json_format.MessageToJson(body).encode(),
                                     "application/json; charset=utf-8")
    same((status, answer["Content-Type"], text), (200, "application/json", b"{}"), "HTTP, JSON", text)
    same([tuple(row) for row in stacks("json")], [("main", "2"), ("main;handler;caller;leaf", "3")], "JSON: values and stacks")
    same(main.post("/v1/profiles", b"", "text/plain")[0], 415, "another content type: 415")
    same(main.get("/v1/profiles")[0], 405, "another method: 405")
    same(main.get("/nowhere")[0], 404, "another path: 404")
    status, _, text = main.post("/v1/profiles", b"{\"resourceProfiles\": [", "application/json")
    same(status, 400, "broken JSON: 400")
    ok("invalid JSON" in json.loads(text)["message"], "the answer is a status in JSON", text)
    for encoding in ("identity", "gzip", "zstd"):
        same(main.post("/v1/profiles", b"", PROTOBUF, Content_Encoding=encoding)[0], 200, f"an empty request is a good one, {encoding}")


def test_grpc_compression():
    body = otlp_requests.request_of("times", "grpcgzip", now_ns()).SerializeToString()
    code, details, _ = call(main, EXPORT, body, compression=grpc.Compression.Gzip)
    same((code, stored("grpcgzip")), (grpc.StatusCode.OK, 5), "gRPC, gzip", details)
    code, _, _ = call(main, EXPORT, body, compression=grpc.Compression.Deflate)
    same(code, grpc.StatusCode.UNIMPLEMENTED, "gRPC, deflate is not implemented")


def test_partial_success():
    request = otlp_requests.request_of("times", "partial", now_ns())
    bad = request.resource_profiles[0].scope_profiles[0].profiles.add()
    bad.CopyFrom(request.resource_profiles[0].scope_profiles[0].profiles[0])
    bad.samples[0].stack_index = 999
    code, _, answer = call(main, EXPORT, request.SerializeToString())
    partial = service.ExportProfilesServiceResponse.FromString(answer).partial_success
    same((code, partial.rejected_profiles), (grpc.StatusCode.OK, 1), "a profile at fault is rejected alone")
    ok("stack table" in partial.error_message, "and the answer says why", partial.error_message)
    same(stored("partial"), 5, "the other one is stored, nothing of the rejected one")
    for what, change in (("negative index", lambda p: setattr(p.samples[0], "stack_index", -1)),
                         ("more values than times", lambda p: p.samples[0].values.extend([1, 2])),
                         ("neither values nor times", lambda p: p.samples[0].ClearField("timestamps_unix_nano")),
                         ("a time long ago", lambda p: setattr(p, "time_unix_nano", 1000)),
                         ("a link that is not there", lambda p: setattr(p.samples[0], "link_index", 2)),
                         ("an attribute that is not there", lambda p: p.samples[0].attribute_indices.append(5000))):
        request = otlp_requests.request_of("times", "rejected", now_ns())
        for sample in request.resource_profiles[0].scope_profiles[0].profiles[0].samples:
            sample.link_index = 1  # of this layout, whatever else is wrong
        request.dictionary.link_table.add()
        change(request.resource_profiles[0].scope_profiles[0].profiles[0])
        code, _, answer = call(main, EXPORT, request.SerializeToString())
        partial = service.ExportProfilesServiceResponse.FromString(answer).partial_success
        same((code, partial.rejected_profiles), (grpc.StatusCode.OK, 1), f"{what}: rejected")
    same(stored("rejected", "count(*)"), 0, "nothing of them is stored")


def test_write_raw():
    profile = gzip.compress(pprof("raw_work", 70, now_ns()))
    request = write_raw_request({"__name__": "process_cpu", "service_name": "raw", "tenant": "me"}, profile, pprof("raw_rest", 5, now_ns()))
    code, details, _ = call(main, WRITE_RAW, request)
    same(code, grpc.StatusCode.OK, "WriteRaw is taken", details)
    same(stored("raw"), 75, "and its samples are stored")
    labels = json.loads(sql("SELECT labels FROM profstore.series WHERE labels->>'service_name' = 'raw'")[0][0])
    same((labels.get("thread"), labels.get("tenant"), labels.get("exported_tenant")), ("one", None, "me"),
         "with labels of samples, and no tenant of the client's choosing", labels)
    request = write_raw_request({"__name__": "process_cpu", "service_name": "rawtrace"}, pprof("raw_work", 7, now_ns(), "trace_id", TRACE),
                                pprof("raw_work", 9, now_ns(), "trace_id", OTHER))
    same(call(main, WRITE_RAW, request)[0], grpc.StatusCode.OK, "labels that tell traces are taken")
    same(traced("rawtrace", "process_cpu:cpu", f"trace => '{OTHER}'"), [("raw_work", 9)], "and find samples")
    same(sql("SELECT labels FROM profstore.series WHERE labels->>'service_name' = 'rawtrace'"), [['{"service_name": "rawtrace"}']], "in one series")
    body = {"series": [{"labels": {"labels": [{"name": "__name__", "value": "process_cpu"},
                                              {"name": "service_name", "value": "rawjson"}]},
                        "samples": [{"rawProfile": base64.b64encode(profile).decode()}]}]}
    status, _, text = main.post("/api/profiles/writeraw", json.dumps(body).encode(), "application/json")
    same((status, text, stored("rawjson")), (200, b"{}", 70), "its gateway takes JSON", text)
    request = write_raw_request({"__name__": "process_cpu", "service_name": "half"}, profile, b"\x00garbage")
    same(call(main, WRITE_RAW, request)[0], grpc.StatusCode.INVALID_ARGUMENT, "a request with one bad profile is refused")
    same(stored("half", "count(*)"), 0, "and nothing of it is stored")
    for what, labels in (("an empty name", {"": "x"}), ("a name with a blank", {"a b": "x"}),
                         ("70 labels", {f"l{i}": "x" for i in range(70)}), ("a long value", {"a": "x" * 5000})):
        same(call(main, WRITE_RAW, write_raw_request(labels, profile))[0], grpc.StatusCode.INVALID_ARGUMENT,
             f"WriteRaw, {what}: refused")


def test_health():
    same(main.get("/-/healthy")[0], 200, "alive")
    same(main.get("/-/ready")[0], 200, "ready")
    check = "/grpc.health.v1.Health/Check"
    same(call(main, check, b"")[2], b"\x08\x01", "gRPC's health: SERVING")
    same(call(main, check, message_field(1, b"nobody"))[0], grpc.StatusCode.NOT_FOUND, "of a service that is not there: NOT_FOUND")
    same(call(main, "/nobody/Nothing", b"")[0], grpc.StatusCode.UNIMPLEMENTED, "a method that is not there: UNIMPLEMENTED")
    ok(main.metric("requests_stored_total") > 0, "requests are counted")


main = Receiver()  # that most tests share

if __name__ == "__main__":
    sys.modules["push"] = sys.modules["__main__"]  # what the others import
    import hostile
    import parca
    import pyroscope_push
    import retries
    import uploads

    main.ready()
    tests = [(name, value) for module in (sys.modules[__name__], parca, pyroscope_push, uploads, retries, hostile)
             for name, value in list(vars(module).items())
             if name.startswith("test_") and value.__module__ in (module.__name__, "__main__")]
    failed = run(tests, sys.argv[2:])
    same(main.stop(), 0, "the receiver that all of them used ends well", main.text())
    sys.exit(1 if failed else 0)
