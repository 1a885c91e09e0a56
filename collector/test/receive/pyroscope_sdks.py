"""Pyroscope's SDKs, Alloy's client library and Datadog's tracer, from their registries, send to a receiver; see run --pyroscope.

Each program spends 60, 30 and 10 % of its time in three functions, the second of them with a label.
"""

import math
import os
import re
import subprocess
import sys

import push
from harness import Receiver, ok, run, same, sql
from push import SCRATCH

HERE = os.path.dirname(os.path.abspath(__file__)) + "/pyroscope"
SECONDS = os.environ.get("SECONDS_OF_WORK", "60")
DONE = {line.split(" ", 1)[0]: line for line in open(f"{SCRATCH}/fetched", encoding="utf-8").read().splitlines()}

CPU = {"process_cpu:cpu delta"}
SDKS = {
    "go": ([f"{SCRATCH}/pyroscope-go/pyroscope", "sdk", "ADDRESS/", "NAME"], "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta",
           CPU | {"process_cpu:samples delta", "memory:alloc_objects delta", "memory:alloc_space delta", "memory:inuse_objects", "memory:inuse_space",
                  "goroutines:goroutine", "mutex:contentions delta", "mutex:delay delta", "block:contentions delta", "block:delay delta"}),
    "java": (["java", f"-javaagent:{SCRATCH}/pyroscope-java/agent.jar", "-cp", f"{SCRATCH}/pyroscope-java/agent.jar:{SCRATCH}/pyroscope-java", "Work"],
             "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta",
             CPU | {"memory:alloc_in_new_tlab_objects delta", "memory:alloc_in_new_tlab_bytes delta", "memory:alloc_outside_tlab_objects delta",
                    "memory:alloc_outside_tlab_bytes delta", "mutex:contentions delta", "mutex:delay delta", "block:contentions delta", "block:delay delta", "memory:live"}),
    "node": (["node", f"{SCRATCH}/pyroscope-node/work.js", "ADDRESS", "NAME"], "wall:wall:nanoseconds:wall:nanoseconds:delta",
             {"wall:wall delta", "wall:samples delta", "wall:cpu delta", "memory:inuse_objects", "memory:inuse_space"}),
    "python": ([f"{SCRATCH}/venv/bin/python", f"{HERE}/python/work.py", "ADDRESS", "NAME"], "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", CPU),
    "rust": ([f"{SCRATCH}/pyroscope-rust/target/release/work", "ADDRESS/", "NAME"], "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", CPU),
    "python-old": ([f"{SCRATCH}/venv/bin/python", f"{HERE}/python/work.py", "ADDRESS/", "NAME"], "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", CPU),
}


def is_there(name, what):
    """False, after saying so, if its packages cannot be fetched."""
    if DONE[name] == f"{name} done":
        return True
    print(f"ok - {what} # SKIP its packages cannot be fetched: {DONE[name]}", flush=True)
    return False


def environment(sdk):
    more = {}
    if sdk in ("python", "python-old"):
        more["PYTHONPATH"] = f"{SCRATCH}/pyroscope-{sdk}"
    if sdk == "java":
        more = {"PYROSCOPE_SERVER_ADDRESS": f"http://{push.main.address}", "PYROSCOPE_APPLICATION_NAME": "java.sdk", "PYROSCOPE_LABELS": "zone=eu",
                "PYROSCOPE_FORMAT": "jfr", "PYROSCOPE_PROFILER_ALLOC": "512k", "PYROSCOPE_PROFILER_LOCK": "1ms", "PYROSCOPE_ALLOC_LIVE": "true", "PYROSCOPE_LOG_LEVEL": "error"}
    return dict(os.environ, **more)


def work(sdk):
    command = [part.replace("ADDRESS", f"http://{push.main.address}").replace("NAME", f"{sdk}.sdk") for part in SDKS[sdk][0]]
    return subprocess.run([*command, SECONDS], env=environment(sdk), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def shares(kind, service, samples_ns=10_000_000):
    """Share of the time of each function, and how many samples there are."""
    selector = f"{kind}{{service_name=\"{service}\"}}"
    totals = [int(sql(f"SELECT coalesce(sum(total), 0) FROM profstore.top('{selector}') WHERE profstore.short_name(function) ~ '(^|[.: ]){function}($|[:( ])'")[0][0])
              for function in ("much", "some", "few")]
    return [total / max(sum(totals), 1) for total in totals], sum(totals) // samples_ns


def check_shares(sdk, kind):
    found, samples = shares(kind, f"{sdk}.sdk")
    for name, share, expected in zip(("much", "some", "few"), found, (0.6, 0.3, 0.1)):
        margin = max(0.03, 5 * math.sqrt(expected * (1 - expected) / max(samples, 1)))
        ok(samples >= 500 and abs(share - expected) < margin, f"{sdk}: share of {name}", f"{share:.3f} of {samples} samples, expected {expected} within {margin:.3f}")


def check_types(sdk, types):
    rows = sql("SELECT DISTINCT name || ':' || sample_type || CASE WHEN delta THEN ' delta' ELSE '' END FROM profstore.series AS s"
               f" JOIN profstore.profile_types AS t ON t.id = s.profile_type WHERE labels->>'service_name' = '{sdk}.sdk'")
    found = {row[0] for row in rows}
    optional = {kind for kind in types if re.match("mutex|block|memory:alloc_outside|memory:live", kind)}  # of programs that wait, allocate much at once, or keep much
    ok(types - optional <= found <= types, f"{sdk}: types", f"got {sorted(found)}, expected {sorted(types)}")


def check_labels(sdk, kind):
    rows = sql("SELECT DISTINCT coalesce(s.labels->>'job', ''), s.labels->>'zone' FROM profstore.series('" + f"{kind}{{service_name=\"{sdk}.sdk\"}}') AS s ORDER BY 1")
    same(rows, [["", "eu"], ["nightly, all" if sdk == "java" else "nightly", "eu"]], f"{sdk}: labels of the program, and of a part of it")


def test_sdks():
    """One after the other: those that sample by time of the clock would count what others use of the processors."""
    before = push.main.metric("requests_invalid_total")
    for sdk, (_, kind, types) in SDKS.items():
        if not is_there(sdk, f"the SDK {sdk}"):
            continue
        done = work(sdk)
        same(done.returncode, 0, f"{sdk}: ends well", done.stdout)
        check_types(sdk, types)
        check_labels(sdk, kind)
        check_shares(sdk, kind)
    same(push.main.metric("requests_invalid_total") - before, 0, "nothing of them is refused", push.main.text())


def test_datadog_tracer():
    """Datadog's tracer for Python sends to the receiver as to an agent of Datadog's."""
    if not is_there("datadog", "Datadog's tracer"):
        return
    before = push.main.metric("requests_invalid_total")
    settings = {"DD_TRACE_AGENT_URL": f"http://{push.main.address}", "DD_SERVICE": "datadog.sdk", "DD_ENV": "test", "DD_TAGS": "zone:eu", "DD_TRACE_ENABLED": "false",
                "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "false", "DD_REMOTE_CONFIGURATION_ENABLED": "false", "DD_PROFILING_UPLOAD_INTERVAL": "20",
                "PYTHONPATH": f"{SCRATCH}/pyroscope-datadog"}
    done = subprocess.run([f"{SCRATCH}/venv/bin/python", f"{os.path.dirname(HERE)}/datadog/work.py", SECONDS], env=dict(os.environ, **settings),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    same(done.returncode, 0, "datadog: ends well", done.stdout)
    kind = "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
    labels = sql(f"SELECT DISTINCT labels->>'zone', labels->>'env', labels->>'language' FROM profstore.series('{kind}{{service_name=\"datadog.sdk\"}}')")
    same(labels, [["eu", "test", "python"]], "datadog: labels")
    types = {row[0] for row in sql("SELECT DISTINCT split_part(profile_type, ':', 1) || ':' || split_part(profile_type, ':', 2) FROM profstore.series('{service_name=\"datadog.sdk\"}')")}
    ok({"process_cpu:cpu", "process_cpu:samples", "wall:wall", "memory:alloc_space", "memory:inuse_space"} <= types, "datadog: types", types)
    check_shares("datadog", kind)
    same(push.main.metric("requests_invalid_total") - before, 0, "datadog: nothing is refused", push.main.text())


def pprof_rows(path):
    """Self and total nanoseconds by function, as "go tool pprof" prints them."""
    text = subprocess.run(["go", "tool", "pprof", "-top", "-nodecount=1000", "-nodefraction=0", "-edgefraction=0", "-unit=ns", "-sample_index=cpu", path],
                          capture_output=True, text=True, check=True).stdout
    rows = {}
    for line in text.splitlines():
        found = re.match(r"\s*(\d+)(?:ns)?\s+\S+\s+\S+\s+(\d+)(?:ns)?\s+\S+\s+(.*?)(?: \(inline\))?$", line)
        if found:
            rows[found[3]] = (int(found[1]), int(found[2]))
    return rows


def test_alloy_library():
    if not is_there("go", "Alloy's client library"):
        return
    program, path, bad = f"{SCRATCH}/pyroscope-go/pyroscope", f"{SCRATCH}/pushed.pprof", f"{SCRATCH}/pushed.bad"
    subprocess.run([program, "profile", path, "5"], check=True)
    with open(bad, "wb") as file:
        file.write(b"\0bad")
    said = subprocess.run([program, "push", f"http://{push.main.address}", "alloy.lib", path, bad], capture_output=True, text=True, check=True).stdout
    same(sorted(said.split()), ["invalid_argument", "ok"], "Alloy's client library: a profile is taken, garbage is refused for good")
    rows = sql("SELECT function, sum(self), sum(total) FROM profstore.top('process_cpu:cpu{service_name=\"alloy.lib\"}', max_rows => 100000) GROUP BY 1")
    expected = pprof_rows(path)
    same({name: (int(own), int(total)) for name, own, total in rows}, expected, f"self and total of all {len(expected)} functions are those of go tool pprof")
    ok(len(expected) > 3, "there are some")
    small = Receiver("--client-requests=20")
    small.ready()
    said = subprocess.run([program, "push", f"http://{small.address}", "alloy.many", *[path] * 300], capture_output=True, text=True, check=True).stdout.split()
    ok(set(said) == {"ok", "unavailable"}, "300 requests at once, 20 a second: taken, or asked to come again", {code: said.count(code) for code in set(said)})
    same(small.stop(), 0, "ends well")


if __name__ == "__main__":
    push.main.ready()
    failed = run([("test_sdks", test_sdks), ("test_datadog_tracer", test_datadog_tracer), ("test_alloy_library", test_alloy_library)], sys.argv[2:])
    same(push.main.stop(), 0, "the receiver ends well", push.main.text())
    sys.exit(1 if failed else 0)
