"""Tests of "serve": each method of Pyroscope's querier against SQL, roles, limits, hostile requests; see run."""

import base64
import gzip
import json
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from harness import Receiver, eventually, number, ok, run, same, sql

SCRATCH = sys.argv[1]
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
DELTA = CPU + ":delta"
INUSE = "memory:inuse_space:bytes:space:bytes"
SPAN = "00f067aa0ba902b7"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
JSON = "application/json"
NOW = int(time.time()) // 60 * 60
START, END = (NOW - 600) * 1000, NOW * 1000
RANGE = f"to_timestamp({START / 1000}), to_timestamp({END / 1000} + 0.001)"
STACKS = {"shop": {"main;work;hot": 60, "main;work;warm": 30, "main;idle": 9, "main;work;work;hot": 1},
          "api": {"main;serve;hot": 7, "main;serve;parse": 5, "other": 3, "main;a\"b\\c": 2}}


class Server(Receiver):
    """profstore-collector serve, and the client in Go for it."""

    name = "serve"

    def ask(self, method, request, codec="proto", authorization="", timeout_ms=0):
        """Code, answer, and the stacks of a profile; an answer lacks what is zero or empty."""
        line = json.dumps({"method": method, "codec": codec, "request": request, "authorization": authorization, "timeoutMs": timeout_ms})
        done = subprocess.run([f"{SCRATCH}/client/querier", self.address], input=line + "\n", capture_output=True, text=True, check=True)
        answer = json.loads(done.stdout)
        return answer["code"], answer["answer"] if answer["code"] == "ok" else answer["message"], answer.get("stacks", {})

    def good(self, method, request, **more):
        """The answer, which must be the same in both encodings."""
        code, answer, stacks = self.ask(method, request, **more)
        same(code, "ok", f"{method} is answered", answer)
        same(self.ask(method, request, codec="json", **more), (code, answer, stacks), f"{method}: JSON has what protobuf has")
        return answer, stacks


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def folded(selector, more=""):
    """Stacks and values by SQL."""
    return {stack: int(value) for stack, value in
            sql(f"SELECT array_to_string(stack, ';'), value FROM profstore.stacks_of('{selector}', {RANGE}{more})")}


def unfold(graph, side=0, width=4):
    """Stacks and own values of a flame graph, or of a side of a difference, by its levels alone."""
    names, parents, stacks = graph["names"], [], {}
    for depth, level in enumerate(graph["levels"]):
        numbers, end, nodes = [int(n) for n in level["values"]], 0, []
        for at in range(0, len(numbers), width):
            distance, value, own = numbers[at + 3 * side:at + 3 * side + 3]
            begin, end = end + distance, end + distance + value
            above = [p for p in parents if p[0] <= begin and end <= p[1]] if depth else [(0, 0, [])]
            stack = (above[0][2] + [names[numbers[at + width - 1]]]) if depth else []
            nodes.append((begin, end, stack))
            if own:
                stacks[";".join(stack)] = stacks.get(";".join(stack), 0) + own
        parents = nodes
    return stacks


def fill():
    """Ten minutes of CPU time of two services, one scrape of memory, and a profile with spans."""
    for service, stacks in STACKS.items():
        values = {tuple(stack.split(";")): count * 10_000_000 for stack, count in stacks.items()}
        labels = json.dumps({"__name__": "process_cpu", "service_name": service, "region": "eu", "odd": "a\"b\\c"})
        profile = base64.b64encode(pprof("cpu", "nanoseconds", values)).decode()
        sql(f"SELECT count(profstore.import_pprof(decode('{profile}', 'base64'), $l${labels}$l$, to_timestamp({NOW - 600} + n * 10))) FROM generate_series(0, 59) n")
    profile = base64.b64encode(gzip.compress(pprof("inuse_space", "bytes", {("main", "keep"): 4096}))).decode()
    sql(f"SELECT profstore.import_pprof(decode('{profile}', 'base64'), '{{\"__name__\": \"memory\", \"service_name\": \"shop\"}}', to_timestamp({NOW - 300}))")
    profile = base64.b64encode(pprof("cpu", "nanoseconds", {("main", "traced"): 5_000_000}, {"span_id": SPAN, "trace_id": TRACE})).decode()
    sql(f"SELECT profstore.import_pprof(decode('{profile}', 'base64'), '{{\"__name__\": \"process_cpu\", \"service_name\": \"traced\"}}', to_timestamp({NOW - 200}))")


def field(number_, content):
    if isinstance(content, int):
        return varint(number_ << 3) + varint(content)
    return varint(number_ << 3 | 2) + varint(len(content)) + content


def varint(value):
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def pprof(kind, unit, stacks, labels=None, has_duration=False):
    """A profile in the format of pprof with stacks, root first; a frame that is a number is an address without a function. A duration makes it a delta."""
    texts, out = [""], b""

    def text(value):
        if value not in texts:
            texts.append(value)
        return texts.index(value)

    period = {"cpu": ("cpu", "nanoseconds"), "inuse_space": ("space", "bytes")}[kind]
    out += field(1, field(1, text(kind)) + field(2, text(unit)))
    functions = sorted({f for stack in stacks for f in stack}, key=str)
    for stack, value in stacks.items():
        ids = b"".join(field(1, functions.index(f) + 1) for f in reversed(stack))
        marks = b"".join(field(3, field(1, text(k)) + field(2, text(v))) for k, v in (labels or {}).items())
        out += field(2, ids + field(2, value) + marks)
    for i, function in enumerate(functions):
        is_address = isinstance(function, int)
        out += field(4, field(1, i + 1) + (field(3, function) if is_address else field(4, field(1, i + 1))))
        out += field(5, field(1, i + 1) + field(2, text("" if is_address else function)))
    out += field(11, field(1, text(period[0])) + field(2, text(period[1]))) + field(12, 1)
    if kind == "cpu" or has_duration:
        out += field(10, 1_000_000_000)
    return out + b"".join(field(6, t.encode()) for t in texts)


def selecting(selector="{}", **more):
    return {"profileTypeID": CPU, "labelSelector": selector, "start": START, "end": END, **more}


# --- types and labels ---

def test_types():
    answer, _ = main.good("ProfileTypes", {"start": START, "end": END})
    ids = [t["ID"] for t in answer["profileTypes"]]
    same(ids, [r[0] for r in sql("SELECT regexp_replace(profile_type, ':delta$', '') FROM profstore.profile_types() ORDER BY 1")], "the types of SQL, without :delta")
    same({k: v for k, v in answer["profileTypes"][ids.index(CPU)].items() if k != "ID"},
         {"name": "process_cpu", "sampleType": "cpu", "sampleUnit": "nanoseconds", "periodType": "cpu", "periodUnit": "nanoseconds"}, "the parts of a type")
    same(main.ask("ProfileTypes", {})[1], answer, "an old client asks without times")
    same(main.ask("ProfileTypes", {"start": 1000, "end": 2000})[1], {}, "no type is from 1970")


def test_labels():
    matcher = f'{{__profile_type__="{CPU}", service_name="shop"}}'
    answer, _ = main.good("LabelNames", {"matchers": [matcher], "start": START, "end": END})
    same([n for n in answer["names"] if not n.startswith("__")],
         [r[0] for r in sql(f"SELECT * FROM profstore.label_names('{DELTA}{{service_name=\"shop\"}}')")], "the names of SQL")
    answer, _ = main.good("LabelValues", {"name": "service_name", "matchers": [f'{{__profile_type__="{CPU}"}}'], "start": START, "end": END})
    same(answer["names"], [r[0] for r in sql(f"SELECT * FROM profstore.label_values('service_name', '{DELTA}')")], "the values of SQL")
    for matchers, expected in (([], ["api", "shop", "traced"]), ([""], ["api", "shop", "traced"]), (["{}"], ["api", "shop", "traced"]),
                               (['{service_name=~"sh.p"}', '{service_name="api"}'], ["api", "shop"]), (['{__name__="memory"}'], ["shop"]),
                               ([INUSE + "{}"], ["shop"]), (["memory"], ["shop"]), (['{__profile_type__!~"process_cpu.*"}'], ["shop"]),
                               (['{__type__="cpu", service_name!="shop"}'], ["api", "traced"]), (['{odd="a\\"b\\\\c"}'], ["api", "shop"]),
                               (['{service_name="none"}'], None)):
        same(main.ask("LabelValues", {"name": "service_name", "matchers": matchers, "start": START, "end": END})[1].get("names"), expected, f"matchers {matchers}")
    same(main.ask("LabelValues", {"name": "__profile_type__"})[1]["names"], [INUSE, CPU], "types are values of __profile_type__")


def test_series():
    request = {"matchers": [], "labelNames": ["service_name", "__profile_type__"], "start": START, "end": END}
    answer, _ = main.good("Series", request)
    got = sorted(tuple((p["name"], p["value"]) for p in s["labels"]) for s in answer["labelsSet"])
    expected = sorted((("__profile_type__", t), ("service_name", s)) for t, s in
                      sql("SELECT DISTINCT regexp_replace(profile_type, ':delta$', ''), labels->>'service_name' FROM profstore.series()"))
    same(got, expected, "services and types as Drilldown asks for them")
    answer, _ = main.good("Series", {"matchers": ['{service_name="api"}']})
    same({p["name"]: p["value"] for p in answer["labelsSet"][0]["labels"] if not p["name"].startswith("__")},
         {"service_name": "api", "region": "eu", "odd": "a\"b\\c"}, "all labels of a series")
    stats, _ = main.good("GetProfileStats", {})
    same((stats["dataIngested"], [int(stats["oldestProfileTime"])]), (True, [number("SELECT (extract(epoch FROM min(first_seen)) * 1000)::int8 FROM profstore.series()")]), "statistics")


def test_twins():
    """A type that exists with and without delta has two ids, and either selects its own."""
    def bring(has_duration, stack, value):
        profile = base64.b64encode(pprof("inuse_space", "bytes", {stack: value}, has_duration=has_duration)).decode()
        sql(f"SELECT profstore.import_pprof(decode('{profile}', 'base64'), '{{\"__name__\": \"twin\", \"service_name\": \"twin\"}}', to_timestamp({NOW - 100}))")
    short = "twin:inuse_space:bytes:space:bytes"
    instant = short + ":instant"
    ids = lambda: main.ask("LabelValues", {"name": "__profile_type__", "matchers": ['{service_name="twin"}']})[1]["names"]
    stacks = lambda kind: unfold(main.ask("SelectMergeStacktraces", selecting(profileTypeID=kind))[1]["flamegraph"])
    bring(False, ("main", "kept"), 7)
    same((ids(), stacks(short)), ([short], {"main;kept": 7}), "alone the type without delta has the short id")
    bring(True, ("main", "made"), 5)
    same(ids(), [short, instant], "beside one with delta it has another")
    same((stacks(short), stacks(instant)), ({"main;made": 5}, {"main;kept": 7}), "flame graphs: each id selects its own")
    listed = {t["ID"]: t for t in main.good("ProfileTypes", {"start": START, "end": END})[0]["profileTypes"]}
    parts = {"name": "twin", "sampleType": "inuse_space", "sampleUnit": "bytes", "periodType": "space", "periodUnit": "bytes"}
    same([{k: v for k, v in listed[kind].items() if k != "ID"} for kind in (short, instant)], [parts, parts], "both are listed, with the same parts")
    for kind, stack, value in ((short, "main;made", 5), (instant, "main;kept", 7)):
        same(main.ask("SelectMergeProfile", selecting(profileTypeID=kind))[2], {stack: value}, f"the profile of {kind}")
        same(main.ask("LabelValues", {"name": "service_name", "matchers": [f'{{__profile_type__="{kind}"}}'], "start": START, "end": END})[1]["names"], ["twin"], f"labels of {kind}")
        series = main.ask("SelectSeries", selecting(profileTypeID=kind, step=600))[1]["series"]
        same([round(p["value"], 6) for s in series for p in s["points"]], [value], f"the points of {kind}: a sum, or a level")


# --- profiles ---

def test_flamegraph():
    for selector, of in (('{service_name="shop"}', f'{DELTA}{{service_name="shop"}}'), ("{}", DELTA), ("", DELTA), (f'{{__name__="process_cpu", region="eu"}}', f'{DELTA}{{region="eu"}}')):
        answer, _ = main.good("SelectMergeStacktraces", selecting(selector))
        graph = answer["flamegraph"]
        expected = folded(of)
        ok(sum(expected.values()) >= 60 * 1_000_000_000, "there are samples", expected)
        same(unfold(graph), {k.replace("other", "other()"): v for k, v in expected.items()}, f"stacks of {selector} as in SQL")
        same((int(graph["total"]), int(graph["maxSelf"])), (sum(expected.values()), max(expected.values())), "total and largest own value")
    same(main.ask("SelectMergeStacktraces", selecting('{service_name="none"}'))[1], {}, "no graph without samples")
    same(main.ask("SelectMergeStacktraces", selecting('{__name__="memory"}'))[1], {}, "no graph if a matcher contradicts the type")
    graph = main.ask("SelectMergeStacktraces", selecting(maxNodes=4))[1]["flamegraph"]
    ok("other" in graph["names"] and sum(unfold(graph).values()) == int(graph["total"]), "few nodes: the rest is other, and nothing is lost", graph)
    same(unfold(main.ask("SelectMergeStacktraces", selecting(profileTypeID=INUSE))[1]["flamegraph"]), {"main;keep": 4096}, "memory in use")
    whole = int(main.ask("SelectMergeStacktraces", selecting())[1]["flamegraph"]["total"])
    half = int(main.ask("SelectMergeStacktraces", {**selecting(), "end": (START + END) // 2 - 1})[1]["flamegraph"]["total"])
    same(half, number(f"SELECT sum(value) FROM profstore.stacks_of('{DELTA}', to_timestamp({START / 1000}), to_timestamp({(START + END) // 2 / 1000}))"), f"half of the range, of {whole}")


def test_call_site():
    for path in (["main"], ["main", "work"], ["main", "work", "work"], ["main", "a\"b\\c"], ["main", "work", "hot"], ["work"]):
        stacks = {"callSite": [{"name": n} for n in path]}
        answer = main.ask("SelectMergeStacktraces", selecting(stackTraceSelector=stacks))[1]
        expected = {k: v for k, v in folded(DELTA).items() if k.split(";")[:len(path)] == path}
        same(unfold(answer["flamegraph"]) if answer else {}, expected, f"stacks below {path}")
        same(main.ask("SelectMergeProfile", selecting(stackTraceSelector=stacks))[2], expected, f"and as a profile")
    profile = base64.b64encode(pprof("cpu", "nanoseconds", {("main", 0x4711, "work"): 7})).decode()
    sql(f"SELECT profstore.import_pprof(decode('{profile}', 'base64'), '{{\"__name__\": \"bare\"}}', to_timestamp({NOW - 200}))")
    bare = CPU.replace("process_cpu", "bare")
    same(main.ask("SelectMergeProfile", selecting(profileTypeID=bare))[2], {"main;work": 7}, "a stack with an address between its functions")
    for path, expected in ((["main"], {"main;work": 7}), (["main", "work"], {})):
        stacks = {"callSite": [{"name": n} for n in path]}
        same(main.ask("SelectMergeProfile", selecting(profileTypeID=bare, stackTraceSelector=stacks))[2], expected, f"the address is a frame below {path}")
    same(main.ask("SelectMergeStacktraces", selecting(profileTypeID=bare, stackTraceSelector=stacks))[1], {}, "as in the flame graph")


def test_profile():
    _, stacks = main.good("SelectMergeProfile", selecting('{service_name="shop"}'))
    same(stacks, folded(f'{DELTA}{{service_name="shop"}}'), "the profile has the stacks of SQL")
    _, stacks = main.good("SelectMergeStacktraces", selecting(format="PROFILE_FORMAT_PPROF"))
    same(stacks, folded(DELTA), "PROFILE_FORMAT_PPROF")
    answer, _ = main.good("SelectMergeStacktraces", selecting(format="PROFILE_FORMAT_DOT"))
    same(answer["dot"], "\n".join(r[0] for r in sql(f"SELECT profstore.callgraph_dot('{DELTA}{{}}', {RANGE}, max_nodes => 100)")), "PROFILE_FORMAT_DOT")
    for path, expected in ((["work"], "ok"), (["main", "work"], "unimplemented")):
        stacks = {"callSite": [{"name": n} for n in path]}
        same(main.ask("SelectMergeStacktraces", selecting(format="PROFILE_FORMAT_DOT", stackTraceSelector=stacks))[0], expected, f"a call graph below {path}")
    same(main.ask("SelectMergeProfile", selecting('{service_name="none"}'))[2], {}, "no samples, no stacks")


def test_spans():
    answer, _ = main.good("SelectMergeSpanProfile", {**selecting(), "spanSelector": [SPAN]})
    same(unfold(answer["flamegraph"]), {"main;traced": 5_000_000}, "a span's stacks")
    same(unfold(main.ask("SelectMergeStacktraces", selecting(spanSelector=[SPAN]))[1]["flamegraph"]), {"main;traced": 5_000_000}, "by spanSelector")
    same(unfold(main.ask("SelectMergeStacktraces", selecting(traceIdSelector=[TRACE]))[1]["flamegraph"]), {"main;traced": 5_000_000}, "by traceIdSelector")
    same(main.ask("SelectMergeProfile", selecting(traceIdSelector=[TRACE]))[2], {"main;traced": 5_000_000}, "a profile of a trace")
    same(main.ask("SelectMergeStacktraces", selecting(spanSelector=["00f067aa0ba902b8"]))[1], {}, "another span")
    same(main.ask("SelectMergeStacktraces", selecting(traceIdSelector=["zz"]))[0], "invalid_argument", "what is no trace")
    same(main.ask("SelectMergeStacktraces", selecting(spanSelector=[SPAN, SPAN]))[0], "unimplemented", "two spans")


def test_diff():
    left, right = selecting('{service_name="shop"}'), {**selecting(), "start": END - 300_000}
    answer, _ = main.good("Diff", {"left": left, "right": right})
    graph = answer["flamegraph"]
    expected = [folded(f'{DELTA}{{service_name="shop"}}'), {}]
    expected[1] = {k.replace("other", "other()"): int(v) for k, v in
                   sql(f"SELECT array_to_string(stack, ';'), value FROM profstore.stacks_of('{DELTA}', to_timestamp({END / 1000 - 300}), to_timestamp({END / 1000} + 0.001))")}
    same(unfold(graph, 0, 7), expected[0], "the left side")
    same(unfold(graph, 1, 7), expected[1], "the right side")
    same((int(graph["leftTicks"]), int(graph["rightTicks"])), (sum(expected[0].values()), sum(expected[1].values())), "both totals")
    same(main.ask("Diff", {"left": left, "right": selecting(profileTypeID=INUSE)})[0], "invalid_argument", "two types")


def test_render():
    def get(path, **parameters):
        status, headers, body = main.get(f"/pyroscope/{path}?{urllib.parse.urlencode(parameters)}")
        return status, headers["Content-Type"], body.decode()
    status, kind, text = get("render", query=CPU + '{service_name="shop"}', **{"from": START, "until": END, "format": "json", "max-nodes": 100})
    same((status, kind), (200, JSON), "render")
    body = json.loads(text)
    graph = {"names": body["flamebearer"]["names"], "levels": [{"values": level} for level in body["flamebearer"]["levels"]]}
    same(unfold(graph), folded(f'{DELTA}{{service_name="shop"}}'), "render has the stacks of SQL")
    same(body["metadata"], {"format": "single", "spyName": "", "sampleRate": 1000000000, "units": "samples", "name": "cpu"}, "its metadata")
    timeline = body["timeline"]
    same((timeline["startTime"] * 1000, timeline["durationDelta"], sum(timeline["samples"])), (START, 10, sum(folded(f'{DELTA}{{service_name="shop"}}').values())), "the timeline has all")
    same(timeline["samples"], [1_000_000_000] * 60 + [0], "and each step its part")
    status, kind, text = get("render", query=CPU + '{service_name="none"}', **{"from": START, "until": END})
    same((status, json.loads(text)["flamebearer"]["levels"], sum(json.loads(text)["timeline"]["samples"])), (200, [], 0), "render of nothing")
    status, kind, text = get("render", query=CPU + "{}", format="dot", **{"from": f"now-{int(time.time()) - START // 1000}s", "until": "now"})
    ok(status == 200 and kind.startswith("text/plain") and text.startswith("digraph"), "a call graph", text[:200])
    status, kind, text = get("render-diff", leftQuery=CPU + '{service_name="shop"}', leftFrom=START, leftUntil=END, rightQuery=CPU + '{service_name="api"}',
                             rightFrom=START, rightUntil=END)
    body = json.loads(text)
    graph = {"names": body["flamebearer"]["names"], "levels": [{"values": level} for level in body["flamebearer"]["levels"]]}
    same(unfold(graph, 0, 7), folded(f'{DELTA}{{service_name="shop"}}'), "render-diff: left")
    same(unfold(graph, 1, 7), {k.replace("other", "other()"): v for k, v in folded(f'{DELTA}{{service_name="api"}}').items()}, "render-diff: right")
    for path, parameters in (("render", {}), ("render", {"query": "{}"}), ("render", {"query": CPU + "{", "from": START}), ("render", {"query": CPU, "from": "x"}),
                             ("render", {"query": CPU + '{service_name="none"}', "from": "now", "until": "now-1h"}),
                             ("render", {"query": CPU, "format": "svg"}), ("render-diff", {"leftQuery": CPU, "rightQuery": INUSE})):
        status, kind, text = get(path, **parameters)
        same((status, json.loads(text)["code"]), (400, "invalid_argument"), f"{path} {parameters}: {text}")


def test_perses():
    """Perses's own plugin for Pyroscope, of its package."""
    if not os.path.exists(f"{SCRATCH}/perses/done"):
        print("ok - Perses's plugin # SKIP its packages cannot be fetched", flush=True)
        return
    done = subprocess.run(["node", "perses.js", main.address, CPU, "shop", str(START // 1000), str(END // 1000)], cwd=f"{SCRATCH}/perses", capture_output=True, text=True)
    same(done.returncode, 0, "Perses's plugin asks", done.stderr)
    got = json.loads(done.stdout)
    ok(CPU in got["types"] and "region" in got["names"] and {"api", "shop"} <= set(got["services"]), "types, labels and services", got)

    def stacks(node, above=()):
        path = above + (node["name"],)
        own = {";".join(path[1:]): node["self"]} if node["self"] else {}
        return {k: v for part in [own] + [stacks(child, path) for child in node["children"]] for k, v in part.items()}
    same(stacks(got["profile"]["profile"]["stackTrace"]), folded(f'{DELTA}{{service_name="shop"}}'), "its tree has the stacks of SQL")
    same(sum(got["profile"]["timeline"]["samples"]), got["profile"]["numTicks"], "its timeline the total")


def stepped(selector, by, start, end, step):
    """Pyroscope's points, by plain SQL over the samples: at t the sum of those after t - step, to t; from the start on, as long as t is in the range."""
    length = int(step * 1000)
    points = {}
    for at, labels, value in sql(f"SELECT s.time, (SELECT jsonb_object_agg(key, value) FROM jsonb_each(l.labels) WHERE key = ANY ('{{{','.join(by)}}}')), s.value FROM"
                                 " (SELECT series_id, floor(extract(epoch FROM time) * 1000)::int8 AS time, sum(value) AS value FROM profstore.samples GROUP BY 1, 2) s"
                                 f" JOIN profstore.series('{selector}') l USING (series_id) WHERE s.time > {start - length}"):
        t = start + -(-(int(at) - start) // length) * length
        if t <= end:
            group = points.setdefault(tuple(sorted(json.loads(labels or "{}").items())), {})
            group[t] = group.get(t, 0) + int(value)
    return {labels: sorted(group.items()) for labels, group in points.items()}


def test_select_series():
    for by, step, start, end in (([], 60, START, END), (["service_name"], 15, START, END), (["service_name", "region"], 30, START, END), ([], 7, START, END),
                                 (["service_name"], 12.5, START + 4321, END - 77), ([], 0.9, START + 100_000, START + 200_001), ([], 45, START + 100_000, START + 100_000),
                                 ([], 1000, START + 300_000, END), ([], 2_592_000.5, END, END), ([], 11, START - 50_000, END + 3_000)):
        answer, _ = main.good("SelectSeries", {**selecting('{region="eu"}', step=step, groupBy=by), "start": start, "end": end})
        got = {tuple((p["name"], p["value"]) for p in s.get("labels", [])): [(int(p["timestamp"]), p["value"]) for p in s["points"]] for s in answer["series"]}
        expected = stepped(f'{DELTA}{{region="eu"}}', by, start, end, step)
        ok(sum(len(points) for points in expected.values()) > 0, "there are points", expected)
        same(got, expected, f"by {by}, steps of {step} s from {start - START} ms: Pyroscope's sums")
    point = main.ask("SelectSeries", selecting('{service_name="shop"}', step=60))[1]["series"][0]["points"][3]["value"]
    same(point, 6 * 100 * 10_000_000, "a minute of the shop has its six profiles of a second")
    limited = main.ask("SelectSeries", selecting(step=60, groupBy=["service_name"], limit=1))[1]["series"]
    same([s["labels"][0]["value"] for s in limited], ["shop"], "the largest series alone")
    same([p["value"] for p in main.ask("SelectSeries", selecting(profileTypeID=INUSE, step=60))[1]["series"][0]["points"]], [4096], "a level is no sum")
    profile = base64.b64encode(pprof("inuse_space", "nanoseconds", {("main", "keep"): 4097}, has_duration=False)).decode()
    sql(f"SELECT profstore.import_pprof(decode('{profile}', 'base64'), '{{\"__name__\": \"age\"}}', to_timestamp({NOW - 300}))")
    same([p["value"] for p in main.ask("SelectSeries", selecting(profileTypeID="age:inuse_space:nanoseconds:space:bytes", step=60))[1]["series"][0]["points"]], [4097],
         "a level in nanoseconds stays in nanoseconds")
    for what, request in (("step of 0", {"step": 0}), ("too many steps", {"step": 0.001}), ("start after end", {"start": END + 1, "step": 15}),
                          ("no start", {"start": 0, "step": 15}), ("no end", {"end": 0, "step": 15}), ("no range", {"start": 0, "end": 0, "step": 15})):
        same(main.ask("SelectSeries", selecting(**request))[0], "invalid_argument", what)
    same(main.ask("SelectSeries", selecting(step=15, aggregation="TIME_SERIES_AGGREGATION_TYPE_AVERAGE"))[0], "unimplemented", "averages of profiles")
    same(main.ask("SelectSeries", selecting(step=15, exemplarType="EXEMPLAR_TYPE_SPAN"))[0], "unimplemented", "exemplars")


# --- refusals ---

def test_refused():
    for method in ("AnalyzeQuery", "SelectHeatmap"):
        same(main.ask(method, {})[0], "unimplemented", f"{method} does not exist")
    path = "/querier.v1.QuerierService/SelectMergeStacktraces"
    for what, body, kind, expected in (("a broken message", b"\x0a\xff\xff", "application/proto", (400, "invalid_argument")),
                                       ("broken JSON", b"{", JSON, (400, "invalid_argument")),
                                       ("an unknown format", b'{"format": "PROFILE_FORMAT_X"}', JSON, (400, "invalid_argument")),
                                       ("another type of content", b"", "text/plain", (415, "invalid_argument")),
                                       ("no type of profile", b"{}", JSON, (400, "invalid_argument")),
                                       ("a type with a brace", json.dumps(selecting(profileTypeID="a:b:c:d:e{")).encode(), JSON, (400, "invalid_argument")),
                                       ("a wrong selector", json.dumps(selecting("{a=b}")).encode(), JSON, (400, "invalid_argument")),
                                       ("a wrong expression", json.dumps(selecting('{a=~"("}')).encode(), JSON, (400, "invalid_argument")),
                                       ("a zero byte", json.dumps(selecting('{a="\0"}')).encode(), JSON, (400, "invalid_argument")),
                                       ("too many nodes", json.dumps(selecting(maxNodes=1 << 40)).encode(), JSON, (400, "invalid_argument")),
                                       ("a time beyond all", json.dumps(selecting(end=1 << 62)).encode(), JSON, (400, "invalid_argument")),
                                       ("the format of trees", json.dumps(selecting(format=2)).encode(), JSON, (501, "unimplemented")),
                                       ("ids of profiles", json.dumps(selecting(profileIdSelector=["x"])).encode(), JSON, (501, "unimplemented")),
                                       ("a large request", b" " * (100 << 10), JSON, (413, "resource_exhausted"))):
        status, _, text = main.post(path, body, kind)
        same((status, json.loads(text)["code"]), expected, what, text)
    for path, expected in (("/querier.v1.QuerierService/None", (501, "unimplemented")), ("/none.v1.NoneService/None", (501, "unimplemented"))):
        status, _, text = main.post(path, b"{}", JSON)
        same((status, json.loads(text)["code"]), expected, f"no method {path}")
    same(main.post("/settings.v1.SettingsService/Get", b"{}", JSON)[::2], (200, b"{}"), "settings are empty")
    same(main.ask("ProfileTypes", {}, codec="gzip")[0], "ok", "a request in gzip")
    status, _, text = main.request("/querier.v1.QuerierService/ProfileTypes", gzip.compress(b"{" + b" " * (8 << 20) + b"}"), {"Content-Type": JSON, "Content-Encoding": "gzip"})
    same((status, json.loads(text)["code"]), (413, "resource_exhausted"), "a request that unpacks to much")


# --- roles ---

def with_passwords(*roles):
    """Lets the server ask these roles for passwords; returns the lines before."""
    path = sql("SHOW hba_file")[0][0]
    before = sql("SELECT pg_read_file(current_setting('hba_file'))", check=True)
    text = "\n".join(line[0] for line in before)
    write_hba("\n".join(f"local all {role} scram-sha-256" for role in roles) + "\n" + text, path)
    return text, path


def write_hba(text, path):
    sql(f"COPY (SELECT line FROM regexp_split_to_table($hba${text}$hba$, E'\\n') line) TO '{path}'; SELECT pg_reload_conf()")
    time.sleep(0.5)


def services_of(answer):
    return answer[1].get("names") if answer[0] == "ok" else answer[0]


SERVICES = "LabelValues", {"name": "service_name"}


def test_logins():
    drop_roles()
    sql("CREATE ROLE serve_all LOGIN PASSWORD 'all''s word'; CREATE ROLE serve_shop LOGIN PASSWORD 'shop:word'; CREATE ROLE serve_trusted LOGIN PASSWORD 'x';"
        " CREATE ROLE serve_none LOGIN PASSWORD 'none'; SELECT profstore.grant_read('serve_all'), profstore.grant_read('serve_shop', '{service_name=\"shop\"}'),"
        " profstore.grant_read('serve_trusted')")
    text, path = with_passwords("serve_all", "serve_shop", "serve_none")
    server = Server("--authenticate=database", "--connections=2")
    try:
        for what, authorization, expected in (("a reader of all", basic("serve_all", "all's word"), ["api", "shop", "traced", "twin"]),
                                              ("a reader of some series", basic("serve_shop", "shop:word"), ["shop"]),
                                              ("the first again", basic("serve_all", "all's word"), ["api", "shop", "traced", "twin"]),
                                              ("a wrong password", basic("serve_all", "wrong"), "unauthenticated"),
                                              ("another's password", basic("serve_all", "shop:word"), "unauthenticated"),
                                              ("no password", basic("serve_all", ""), "unauthenticated"),
                                              ("no user", basic("", "x"), "unauthenticated"),
                                              ("a user whom the server trusts", basic("serve_trusted", "x"), "unauthenticated"),
                                              ("a user that does not exist", basic("serve_nobody", "x"), "unauthenticated"),
                                              ("a superuser whom the server trusts", basic("postgres", "x"), "unauthenticated"),
                                              ("a role without rights", basic("serve_none", "none"), "permission_denied"),
                                              ("a bearer token", "Bearer serve_all", "unauthenticated"), ("nothing", "", "unauthenticated")):
            same(services_of(server.ask(*SERVICES, authorization=authorization)), expected, what)
        same(int(server.ask("SelectMergeStacktraces", selecting(), authorization=basic("serve_shop", "shop:word"))[1]["flamegraph"]["total"]),
             sum(folded(f'{DELTA}{{service_name="shop"}}').values()), "a reader of some series sees their samples alone")
        ok(server.metric("logins_refused_total") >= 6 and "did not ask for the password" in server.text(), "refusals are counted, the reason is in the log")
        ok("all's word" not in server.text() and "shop:word" not in server.text(), "no password is in the log")
        status, headers, _ = server.post("/querier.v1.QuerierService/ProfileTypes", b"{}", JSON)
        same((status, headers["WWW-Authenticate"]), (401, 'Basic realm="database"'), "a browser is asked for both")
        sql("ALTER ROLE serve_all PASSWORD 'changed'")
        same(services_of(server.ask(*SERVICES, authorization=basic("serve_all", "changed")))[:1], ["api"], "the new password")
    finally:
        server.stop()
        write_hba(text, path)
    refused = Server("--authenticate=database", f"--tokens={SCRATCH}/none", expect_start=False)
    said = refused.wait_for_end()
    ok("cannot combine --authenticate database with --tokens" in said, "logins and tokens exclude each other", said)


def test_failed_logins():
    """Whoever lacks a password cannot close the connections of users who have one."""
    path = sql("SHOW hba_file")[0][0]
    with open(path) as file:
        text = file.read()
    write_hba("".join(f"local all serve_{role} scram-sha-256\n" for role in ("all", "shop", "none")) + text, path)
    server = Server("--authenticate=database", "--connections=2")
    readers = [basic("serve_all", "changed"), basic("serve_shop", "shop:word")]
    try:
        for reader in readers:
            same(server.ask(*SERVICES, authorization=reader)[0], "ok", "a user")
        opened = server.metric("database_connections_total")
        for password in ("a", "b", "c", "d"):
            for user in ("serve_all", "serve_none", "serve_nobody"):
                same(server.ask(*SERVICES, authorization=basic(user, password))[0], "unauthenticated", f"{user} with a wrong password")
        for reader in readers:
            same(server.ask(*SERVICES, authorization=reader)[0], "ok", "a user again")
        same(server.metric("database_connections_total") - opened, 0, "has the connection of before")
        same(number("SELECT count(*) FROM pg_stat_activity WHERE usename ~ '^serve_'"), 2, "and no other one is left")
    finally:
        server.stop()
        write_hba(text, path)


def test_tokens():
    sql("CREATE ROLE serve_gateway LOGIN; GRANT serve_shop, serve_all TO serve_gateway", check=True)
    tokens = f"{SCRATCH}/serve-tokens"
    with open(tokens, "w") as out:
        out.write("serve_shop shop-token\nserve_all all-token\nserve_none none-token\nserve_lost lost-token\n")
    server = Server(f"--tokens={tokens}", db="user=serve_gateway")
    for what, authorization, expected in (("a token", "Bearer shop-token", ["shop"]), ("another", "Bearer all-token", ["api", "shop", "traced", "twin"]),
                                          ("a token as a password", basic("any", "shop-token"), ["shop"]), ("an unknown one", "Bearer none", "unauthenticated"),
                                          ("a role that the server may not take", "Bearer none-token", "failed_precondition"),
                                          ("a role that does not exist", "Bearer lost-token", "failed_precondition")):
        same(services_of(server.ask(*SERVICES, authorization=authorization)), expected, what)
    server.stop()


class Pooler:
    """PgBouncer with transactions of all its clients in one session of the server."""

    def __init__(self, role):
        self.directory = tempfile.mkdtemp(prefix="serve-pooler-")
        os.chmod(self.directory, 0o755)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = taken.getsockname()[1]
        with open(f"{self.directory}/pgbouncer.ini", "w") as out:
            out.write(f"[databases]\n* = host={os.environ['PGHOST']} port={os.environ.get('PGPORT', 5432)} user={role}\n[pgbouncer]\n"
                      f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 1\n")
        owner = pwd.getpwuid(os.stat(os.environ["PGHOST"]).st_uid).pw_name  # of the directory of the server's socket
        command = ["pgbouncer", *(["-u", owner] if os.getuid() == 0 else []), f"{self.directory}/pgbouncer.ini"]
        self.log = open(f"{self.directory}/log", "w+")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"})
        if not eventually(self.listens):
            raise RuntimeError("no PgBouncer: " + os.pread(self.log.fileno(), 1 << 16, 0).decode())

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory)


def test_pooled():
    """Behind a pooler of transactions a query has the rights of its reader, not of the reader before."""
    pooler = Pooler("serve_gateway")
    server = Server(f"--tokens={SCRATCH}/serve-tokens", "--query-timeout=4s", db=f"host=127.0.0.1 port={pooler.port} user=serve_gateway")
    shop, everything = ("Bearer shop-token", ["shop"]), ("Bearer all-token", ["api", "shop", "traced", "twin"])
    for authorization, expected in (shop, everything, shop, everything, everything, shop):
        same(services_of(server.ask(*SERVICES, authorization=authorization)), expected, f"{authorization} behind a pooler")
    with Locked():
        same(server.ask("ProfileTypes", {}, authorization=shop[0])[0], "deadline_exceeded", "a query that takes too long behind a pooler")
    same(services_of(server.ask(*SERVICES, authorization=shop[0])), ["shop"], "the next is answered")
    same(services_of(server.ask(*SERVICES, authorization="Bearer none-token")), "failed_precondition", "a role that the server may not take, behind a pooler")
    sql("REVOKE serve_shop FROM serve_gateway")
    same(services_of(server.ask(*SERVICES, authorization=shop[0])), "permission_denied", "a role that was taken away while its session stands")
    server.stop()
    pooler.stop()


# --- limits ---

class Locked:
    """Holds a lock that every query waits for."""

    def __enter__(self):
        self.psql = subprocess.Popen(["psql", "-XAtq"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.psql.stdin.write("BEGIN; LOCK profstore.series; SELECT 'locked';\n")
        self.psql.stdin.flush()
        self.psql.stdout.readline()

    def __exit__(self, *_):
        self.psql.stdin.close()
        self.psql.wait()


def waiting():
    return number("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'profstore-collector' AND state = 'active' AND wait_event_type = 'Lock'")


def test_timeout():
    server = Server("--query-timeout=500ms")
    with Locked():
        same(server.ask("ProfileTypes", {})[0], "deadline_exceeded", "a query that takes too long")
    same(server.metric("questions_timed_out_total"), 1, "and is counted")
    same(server.ask("ProfileTypes", {})[0], "ok", "the next is answered")
    server.stop()
    refused = Server("--query-timeout=2m", expect_start=False)
    ok("It takes values from 100ms to 100s." in refused.wait_for_end(), "a limit beyond the time that the server is waited for")


def test_late():
    """The server keeps to a client's timeout, whether the question has a connection or waits for one."""
    server = Server("--connections=1")
    codes = []

    def ask():
        status, _, text = server.post("/querier.v1.QuerierService/ProfileTypes", b"{}", JSON, Connect_Timeout_Ms="900")
        codes.append((status, json.loads(text)["code"]))
    with Locked():
        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    same(codes, [(504, "deadline_exceeded")] * 2, "answers at the end of the client's time")
    same(server.metric("requests_late_total"), 2, "and are counted")
    server.stop()


def test_once():
    """A query that failed for itself is not repeated, although its connection was opened for an earlier question."""
    server = Server(db="options='-c lock_timeout=300ms'")
    same(server.ask("ProfileTypes", {})[0], "ok", "a question opens a connection")
    with Locked():
        same(server.ask("ProfileTypes", {})[0], "unavailable", "the next meets a lock")
    same(server.metric("database_connections_total"), 1, "and is not repeated with another connection")
    same(server.ask("ProfileTypes", {})[0], "ok", "the one after it is answered")
    server.stop()


def test_disconnected():
    with Locked():
        caller = socket.create_connection(("127.0.0.1", main.port))
        caller.sendall(b"POST /querier.v1.QuerierService/ProfileTypes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        ok(eventually(lambda: waiting() == 1), "a query runs")
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        caller.close()
        ok(eventually(lambda: waiting() == 0, 5), "its client hangs up, and the query ends")
        ok(eventually(lambda: main.metric("questions_cancelled_total") == 1), "and is counted")
        code = main.ask("ProfileTypes", {}, timeout_ms=1000)[0]
        same(code, "deadline_exceeded", "a client's own timeout")
        ok(eventually(lambda: waiting() == 0, 5), "ends the query, too")
    same(main.ask("ProfileTypes", {})[0], "ok", "the next is answered")


def test_fair():
    """More clients than connections: all are answered, and no connection beyond the limit is opened."""
    server = Server("--connections=2")
    codes = []
    threads = [threading.Thread(target=lambda: codes.append(server.post("/querier.v1.QuerierService/SelectMergeStacktraces", json.dumps(selecting()).encode(), JSON)[0]))
               for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same((codes, server.metric("database_connections_total") <= 2), ([200] * 40, True), "40 clients on two connections")
    ended = sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'profstore-collector' AND state = 'idle'")
    ok(len(ended) > 0, "the server ends its connections")
    same(server.ask("ProfileTypes", {})[0], "ok", "and the next query opens one")
    server.stop()


def test_stop():
    server = Server()
    with Locked():
        thread = threading.Thread(target=lambda: server.ask("ProfileTypes", {}))
        thread.start()
        ok(eventually(lambda: waiting() == 1), "a query runs")
        begin = time.time()
        same(server.stop(), 0, "SIGTERM ends the server while a query runs")
        ok(time.time() - begin < 10, "soon", time.time() - begin)
        thread.join()
    refused = Server("--listen=nowhere", expect_start=False)
    ok("could not" in refused.wait_for_end(), "an address that cannot be used")
    server = Server(db="host=/nonexistent")
    same(server.ask("ProfileTypes", {})[0], "unavailable", "no database: a client comes again")
    server.stop()
    server = Server(db="dbname=template1")
    same(server.ask("ProfileTypes", {})[0], "failed_precondition", "a database without the extension")
    server.stop()


def test_many_points():
    """An answer with more points than one may have is refused, instead of cut or collected."""
    sql(f"SELECT count(profstore.import_folded('main 5', ('{{\"__name__\": \"many\", \"shard\": \"' || n || '\"}}')::jsonb, to_timestamp({NOW - 600}), 'x', 'count'))"
        " FROM generate_series(1, 46) n")
    sql("INSERT INTO profstore.samples SELECT r.time + n * interval '55 ms', s.id, r.stack_id, 1 FROM profstore.series s JOIN profstore.samples r ON r.series_id = s.id,"
        " generate_series(1, 10900) n WHERE s.labels ? 'shard'")
    request = selecting(profileTypeID=sql("SELECT regexp_replace(profile_type, ':delta$', '') FROM profstore.profile_types() WHERE profile_type LIKE 'many:%'")[0][0],
                        groupBy=["shard"])
    code, text, _ = main.ask("SelectSeries", {**request, "step": 0.055})
    same((code, "more than 500000 points" in text), ("resource_exhausted", True), "46 series of 10900 points")
    same(len(main.ask("SelectSeries", {**request, "step": 1})[1]["series"]), 46, "with a longer step they are answered")
    answer = main.ask("SelectSeries", {**request, "step": 0.055, "limit": 2})[1]
    ok(all(len(s["points"]) > 10800 for s in answer["series"]) and len(answer["series"]) == 2, "two of them as well", [len(s["points"]) for s in answer["series"]])


def large_answers_at_once(question):
    """A client has half of --max-memory: two answers of 11 MB of 64 MB, without a copy of them, over HTTP/1.1. A third comes later; pipelined ones in their order."""
    server = Server("--max-memory=64MB", "--query-timeout=100s")
    third_came = threading.Event()
    body = json.dumps({**question, "limit": 26}).encode()

    def ask(requests, slowly=False):
        """Answers of requests, which are (method, body), on one connection: pairs of head and body."""
        parts, answers = [], []
        with socket.create_connection(("127.0.0.1", server.port), timeout=200) as connection:
            connection.sendall(b"".join(b"POST /querier.v1.QuerierService/%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s" %
                                        (method, len(text), b"" if i + 1 < len(requests) else b"Connection: close\r\n", text) for i, (method, text) in enumerate(requests)))
            while part := connection.recv(1 << 16):
                parts.append(part)
                if slowly:
                    third_came.wait(0.5)
        rest = b"".join(parts)
        while rest:
            head, rest = rest.split(b"\r\n\r\n", 1)
            length = int(re.search(rb"Content-Length: (\d+)", head).group(1))
            answers.append((head, rest[:length]))
            rest = rest[length:]
        return answers

    large = (b"SelectSeries", body)
    whole = ask([large])[0][1]
    ok(len(whole) > 10_800_000 and len(json.loads(whole)["series"]) == 26, "an answer of 11 MB", len(whole))
    got = []
    readers = [threading.Thread(target=lambda: got.extend(ask([large], slowly=True))) for _ in range(2)]
    for number, reader in enumerate(readers, 1): # one after the other: while both are made, they could take more than the client's half
        reader.start()
        ok(eventually(lambda: server.metric("questions_answered_total") == 1 + number, 150), f"{number} of them being sent", server.metric("questions_answered_total"))
    ok(server.metric("bytes_under_way") >= 2 * len(whole), "and charged", server.metric("bytes_under_way"))
    head = ask([large])[0][0]
    third_came.set()
    ok(b" 429 " in head.split(b"\r\n")[0] and b"Retry-After" in head, "a third is asked to come again", head)
    for reader in readers:
        reader.join()
    same([text == whole for _, text in got], [True, True], "both arrive whole")
    same((server.metric("questions_answered_total"), server.metric("requests_throttled_total")), (3, 1), "they are counted as answered, the third as throttled")
    answers = [text for _, text in ask([large, (b"ProfileTypes", b"{}"), large])]
    ok(len(answers) == 3 and answers[0] == answers[2] == whole and b"profileTypes" in answers[1], "pipelined ones come in their order", [len(a) for a in answers])
    ok(eventually(lambda: server.metric("bytes_under_way") < 1_000_000), "no memory stays charged", server.metric("bytes_under_way"))
    server.stop()


def test_large_answers():
    """Answers are charged to memory, until their clients have read them; one of more than a fifth of it is refused."""
    kind = sql("SELECT regexp_replace(profile_type, ':delta$', '') FROM profstore.profile_types() WHERE profile_type LIKE 'many:%'")[0][0]
    request = json.dumps({**selecting(profileTypeID=kind, groupBy=["shard"]), "step": 0.055, "limit": 44})
    server = Server()
    path = f"http://{server.address}/querier.v1.QuerierService/SelectSeries"
    command = ["curl", "-s", "--http2-prior-knowledge", "-H", f"Content-Type: {JSON}", "-d", request, path]
    whole = subprocess.run(command, capture_output=True, check=True).stdout
    ok(len(whole) > 15_000_000 and len(json.loads(whole)["series"]) == 44, "an answer of 19 MB", len(whole))
    ok(eventually(lambda: server.metric("bytes_under_way") < 1_000_000), "leaves no memory charged", server.metric("bytes_under_way"))
    slow = subprocess.Popen(command[:1] + ["--limit-rate", "100k"] + command[1:], stdout=subprocess.DEVNULL)
    ok(eventually(lambda: server.metric("questions_answered_total") == 2, 120), "a client that reads slowly")
    ok(eventually(lambda: server.metric("bytes_under_way") >= len(whole)), "its answer stays charged", server.metric("bytes_under_way"))
    slow.kill()
    slow.wait()
    ok(eventually(lambda: server.metric("bytes_under_way") < 1_000_000), "until it has left", server.metric("bytes_under_way"))
    server.stop()
    enough = Server("--max-memory=150MB")
    answer = subprocess.run([*command[:-1], path.replace(server.address, enough.address)], capture_output=True, check=True).stdout
    same(len(answer), len(whole), "what is less than a fifth is answered, though its buffer has grown to more by doubling", answer[:200])
    enough.stop()
    large_answers_at_once({**selecting(profileTypeID=kind, groupBy=["shard"]), "step": 0.055})
    small = Server("--max-memory=64MB")
    for more in ([], ["--http1.1"]):
        answer = subprocess.run([*[c for c in command[:-1] if not more or c != "--http2-prior-knowledge"], *more, path.replace(server.address, small.address)],
                                capture_output=True, text=True, check=False)
        ok(answer.returncode == 0 and json.loads(answer.stdout)["code"] == "resource_exhausted", "more than a fifth of --max-memory is refused",
           answer.returncode, answer.stdout[:300])
    same(small.ask("ProfileTypes", {})[0], "ok", "and the next is answered")
    small.stop()


def drop_roles():
    for role in ("gateway", "all", "shop", "trusted", "none"):
        sql(f"DROP OWNED BY serve_{role}", check=False)
        sql(f"DROP ROLE serve_{role}", check=False)


fill()
main = Server("--max-message=64kB")
tests = [(name[len("test_"):], test) for name, test in list(globals().items()) if name.startswith("test_")]
failures = run(tests, sys.argv[2:])
main.stop()
drop_roles()
sys.exit(failures > 0)
