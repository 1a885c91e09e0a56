"""Records of Parca's agents, made and sent by Arrow's and gRPC's own libraries (parca/): what is stored of them."""

import collections
import json
import subprocess
import time

import push
from harness import ok, same, sql
from push import SCRATCH

CLIENT = f"{SCRATCH}/parca-client/parca"
CPU = "parca_agent:samples:count:cpu:nanoseconds:delta"
WALL = "parca_agent:wallclock:nanoseconds:samples:count:delta"
HEAP = "memory:inuse_space:bytes:space:bytes"
TYPES = {"cpu": CPU, "wall": WALL, "heap": HEAP}
VERSIONS = ("WriteArrow",)

# frames as the agent has them: raw ones of two files, those of kernel, interpreter and agent with names
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
