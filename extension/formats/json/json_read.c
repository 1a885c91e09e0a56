/*
 * json_read.c
 *		Recognizes a file's format by the fields of its object.
 */
#include "formats/json/json_read.h"

#include "formats/json/cpu_profile_read.h"
#include "formats/json/json.h"
#include "formats/json/speedscope_read.h"
#include "formats/json/trace_read.h"
#include "formats/lines.h"

enum
{
	PROFILES,
	SHARED,
	TRACE_EVENTS,
	NODES,
	SAMPLES,
	START_TIME,
	META,
	THREADS,
	LIBS,
	HEAD,
	SNAPSHOT,
	CHILDREN,
	NAME,
	VALUE,
	DHAT,
	FRAMES,
	FIELD_COUNT
};

static const PfsJsonField all_fields[FIELD_COUNT] = {
	[PROFILES] = { "profiles", 0 },
	[SHARED] = { "shared", 0 },
	[TRACE_EVENTS] = { "traceEvents", 0 },
	[NODES] = { "nodes", 0 },
	[SAMPLES] = { "samples", 0 },
	[START_TIME] = { "startTime", 0 },
	[META] = { "meta", 0 },
	[THREADS] = { "threads", 0 },
	[LIBS] = { "libs", 0 },
	[HEAD] = { "head", 0 },
	[SNAPSHOT] = { "snapshot", 0 },
	[CHILDREN] = { "children", 0 },
	[NAME] = { "name", 0 },
	[VALUE] = { "value", 0 },
	[DHAT] = { "dhatFileVersion", 0 },
	[FRAMES] = { "frames", 0 },
};

/* Known formats that are not supported. Each is recognized by two fields. */
static const struct
{
	int first;
	int second;
	const char *message;
	const char *hint;
} foreign[] = {
	{ META, THREADS, "file was written by the Firefox Profiler",
	  "Record with perf or samply, and import the output of perf script, or a pprof file." },
	{ HEAD, HEAD, "file is a heap profile or an old profile of V8",
	  "Only profiles with a flat list of nodes (.cpuprofile) are supported." },
	{ SNAPSHOT, NODES, "file is a heap snapshot of V8",
	  "It contains objects, not stacks with values." },
	{ NAME, CHILDREN, "file is a flame graph of d3-flame-graph",
	  "Import the profile that it was made of." },
	{ DHAT, DHAT, "file was written by Valgrind's DHAT", "Profiles of DHAT are not supported." },
	{ FRAMES, SAMPLES, "file was written by stackprof",
	  "Run stackprof --stackcollapse, and import the stacks that it writes." },
};

static PfsReadStatus
refuse(const PfsJson *json, const PfsJsonField *fields)
{
	pfs_json_fail_at(json, 0, PFS_READ_MALFORMED, "format of the JSON is not known");
	json->error->hint = "Supported JSON: speedscope, .cpuprofile of V8, trace events of Chrome.";
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (fields[foreign[i].first].at != SIZE_MAX && fields[foreign[i].second].at != SIZE_MAX)
		{
			json->error->message = foreign[i].message;
			json->error->hint = foreign[i].hint;
			break;
		}
	return PFS_READ_MALFORMED;
}

PfsReadStatus
pfs_json_read(const uint8_t *bytes, size_t length, PfsProfile *profile, PfsReadError *error)
{
	PfsJson json = {
		.bytes = (const char *) bytes, .length = length, .profile = profile, .error = error
	};
	size_t begin = pfs_byte_order_mark(json.bytes, length);
	PfsJsonField fields[FIELD_COUNT];
	PfsReadStatus status;

	json.at = begin;
	if (pfs_json_peek(&json) == '[')
	{
		json.may_be_cut = true;
		return pfs_trace_read(&json);
	}
	for (int i = 0; i < FIELD_COUNT; i++)
		fields[i] = all_fields[i];
	status = pfs_json_find(&json, fields, FIELD_COUNT);
	if (status != PFS_READ_OK)
		return status;
	json.at = begin;
	if (fields[PROFILES].at != SIZE_MAX && fields[SHARED].at != SIZE_MAX)
		return pfs_speedscope_read(&json);
	if (fields[NODES].at != SIZE_MAX && fields[START_TIME].at != SIZE_MAX)
		return pfs_cpu_profile_read(&json);
	if (fields[TRACE_EVENTS].at == SIZE_MAX)
		return refuse(&json, fields);
	json.at = fields[TRACE_EVENTS].at;
	return pfs_trace_read(&json);
}
