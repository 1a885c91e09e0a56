"""Requests of OTLP's profiles, by the package that PYTHONPATH has: of whatever version it is.

As a program: otlp_requests.py SHAPE SERVICE TIME_NS [linked] [noted] prints one in base64.
"""

import base64
import sys

from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as service
from opentelemetry.proto.common.v1 import common_pb2 as common
from opentelemetry.proto.profiles.v1development import profiles_pb2 as profiles

IS_OLD = "locations_start_index" in profiles.Sample.DESCRIPTOR.fields_by_name


class Tables:
    """The dictionary, each thing once."""

    def __init__(self, request):
        self.dictionary = request.dictionary
        self.strings = {"": 0}
        self.dictionary.string_table.append("")
        self.dictionary.mapping_table.add()
        self.dictionary.location_table.add()
        self.dictionary.function_table.add()
        self.dictionary.attribute_table.add()
        if not IS_OLD:
            self.dictionary.stack_table.add()
        self.dictionary.link_table.add()

    def text(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings)
            self.dictionary.string_table.append(text)
        return self.strings[text]

    def attribute(self, key, **value):
        item = self.dictionary.attribute_table.add()
        if IS_OLD:
            item.key = key
        else:
            item.key_strindex = self.text(key)
        for name, content in value.items():
            setattr(item.value, name, content)
        return len(self.dictionary.attribute_table) - 1

    def mapping(self, file, build_id, start=0, limit=0, offset=0):
        item = self.dictionary.mapping_table.add()
        item.filename_strindex = self.text(file)
        item.memory_start, item.memory_limit, item.file_offset = start, limit, offset
        if build_id:
            item.attribute_indices.append(self.attribute("process.executable.build_id.gnu", string_value=build_id))
        return len(self.dictionary.mapping_table) - 1

    def location(self, functions, mapping=0, address=0, frame_type=None):
        item = self.dictionary.location_table.add()
        item.mapping_index = mapping
        item.address = address
        lines = item.line if hasattr(item, "line") else item.lines
        for name, file, line in functions:
            function = self.dictionary.function_table.add()
            function.name_strindex = self.text(name)
            function.filename_strindex = self.text(file)
            entry = lines.add()
            entry.function_index = len(self.dictionary.function_table) - 1
            entry.line = line
        if frame_type:
            item.attribute_indices.append(self.attribute("profile.frame.type", string_value=frame_type))
        return len(self.dictionary.location_table) - 1

    def link(self, trace, span):
        item = self.dictionary.link_table.add()
        item.trace_id, item.span_id = bytes.fromhex(trace), bytes.fromhex(span)
        return len(self.dictionary.link_table) - 1

    def stack(self, locations):
        item = self.dictionary.stack_table.add()
        item.location_indices.extend(locations)
        return len(self.dictionary.stack_table) - 1


def resource_of(request, attributes):
    resource = request.resource_profiles.add()
    for key, value in attributes.items():
        entry = resource.resource.attributes.add()
        entry.key = key
        if isinstance(value, int):
            entry.value.int_value = value
        else:
            entry.value.string_value = value
    return resource


def profile_of(scope, tables, sample_type, period_type, period, time_ns):
    profile = scope.profiles.add()
    kind = profile.sample_type.add() if IS_OLD else profile.sample_type
    kind.type_strindex, kind.unit_strindex = (tables.text(part) for part in sample_type)
    profile.period_type.type_strindex, profile.period_type.unit_strindex = (tables.text(part) for part in period_type)
    profile.period = period
    if IS_OLD:
        profile.time_nanos = time_ns
    else:
        profile.time_unix_nano = time_ns
        profile.duration_nano = 5_000_000_000
    return profile


def fill(profile, tables, shape, time_ns):
    leaf = tables.location([("leaf", "a.c", 7), ("caller", "a.c", 3)], tables.mapping("/bin/prog", "abcd"), 0x10)
    main = tables.location([("main", "a.c", 30)], 1, 0x20)
    script = tables.location([("handler", "a.py", 4)], 0, 4, "cpython")
    if IS_OLD:
        profile.location_indices.extend([leaf, main])
        sample = profile.sample.add()
        sample.locations_start_index, sample.locations_length = 0, 2
        sample.value.append(3)
        return
    deep, shallow = tables.stack([leaf, script, main]), tables.stack([main])
    thread = tables.attribute("thread.name", string_value="worker")
    number = tables.attribute("thread.id", int_value=77)
    first, second = profile.samples.add(), profile.samples.add()
    first.stack_index, second.stack_index = deep, shallow
    first.attribute_indices.extend([thread, number])
    if shape == "times":  # the eBPF profiler's on-CPU shape: 3 and 2 events
        first.timestamps_unix_nano.extend([time_ns, time_ns + 1000, time_ns + 2000])
        second.timestamps_unix_nano.extend([time_ns + 5, time_ns + 6])
    elif shape == "values":  # one total each
        first.values.append(300)
        second.values.append(200)
    elif shape == "both":  # a value for each event: off-CPU
        first.values.extend([100, 150, 50])
        first.timestamps_unix_nano.extend([time_ns, time_ns + 1000, time_ns + 2000])
        second.values.extend([200])
        second.timestamps_unix_nano.extend([time_ns + 5])


TRACES = ("4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c")
SPANS = ("00f067aa0ba902b7", "b7ad6b7169203331")


def link(profile, tables):
    """Samples of two traces, a span of no trace that is told, and of none at all; the same stack several times."""
    links = [tables.link(TRACES[0], SPANS[0]), tables.link(TRACES[1], SPANS[1]), tables.link("", SPANS[0]),
             tables.link(TRACES[0], ""), 0, tables.link(TRACES[0], SPANS[0])]
    first = list(profile.samples)
    for sample in first:
        for at, index in enumerate(links[1:]):
            copy = profile.samples.add()
            copy.CopyFrom(sample)
            copy.link_index = index
            if copy.values:
                copy.values[0] += 10 ** (at + 3)
        sample.link_index = links[0]


COMMENTS = ["built by hand", "ran at noon"]
DOC_URL = "http://notes.example/samples"


def note(profile, scope, tables):
    """What a pprof file says beside its samples, as OpenTelemetry's conventions have it."""
    index = tables.attribute("pprof.profile.comment")
    for text in COMMENTS:
        tables.dictionary.attribute_table[index].value.array_value.values.add().string_value = text
    profile.attribute_indices.extend([index, tables.attribute("pprof.profile.doc_url", string_value=DOC_URL)])
    entry = scope.scope.attributes.add()
    entry.key = "pprof.scope.default_sample_type"
    entry.value.string_value = "samples"
    order = scope.scope.attributes.add()
    order.key = "pprof.scope.sample_type_order"
    order.value.array_value.values.add().string_value = "samples"


def request_of(shape, service_name, time_ns, linked=False, noted=False):
    request = service.ExportProfilesServiceRequest()
    tables = Tables(request)
    resource = resource_of(request, {"service.name": service_name, "process.pid": 4711, "host.name": "web1",
                                     "process.executable.name": "prog", "tenant": "somebody"})
    scope = resource.scope_profiles.add()
    if shape == "both":
        profile = profile_of(scope, tables, ("off_cpu", "nanoseconds"), ("", ""), 0, time_ns)
    else:
        profile = profile_of(scope, tables, ("samples", "count"), ("cpu", "nanoseconds"), 50_000_000, time_ns)
    fill(profile, tables, shape, time_ns)
    if linked:
        link(profile, tables)
    if noted:
        note(profile, scope, tables)
    return request


if __name__ == "__main__":
    made = request_of(sys.argv[1], sys.argv[2], int(sys.argv[3]), "linked" in sys.argv[4:], "noted" in sys.argv[4:])
    print(base64.b64encode(made.SerializeToString()).decode())
