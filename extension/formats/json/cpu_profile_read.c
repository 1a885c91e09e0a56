/*
 * cpu_profile_read.c
 *		Reads nodes, the node of each sample, and the time between samples. Times count from the
 *		start of the machine, so the profile's own time is unknown.
 */
#include "formats/json/cpu_profile_read.h"

#include "formats/json/v8_nodes.h"

#define US_SCALE 1000 /* microseconds, in nanoseconds */

enum
{
	NODES,
	SAMPLES,
	DELTAS,
	START_TIME,
	END_TIME,
	FIELD_COUNT
};

/* Reads a time of the profile; 0 if it is absent. */
static PfsReadStatus
cpu_profile_read_time(PfsJson *json, const PfsJsonField *field, int64_t *ns)
{
	bool is_whole;

	*ns = 0;
	if (field->at == SIZE_MAX)
		return PFS_READ_OK;
	json->at = field->at;
	return pfs_json_number(json, US_SCALE, ns, &is_whole);
}

/*
 * Reads nodes before samples, because samples refer to nodes, but the fields may come in any order.
 */
static PfsReadStatus
read_profile(PfsJson *json, PfsV8Nodes *nodes)
{
	PfsJsonField fields[FIELD_COUNT] = { [NODES] = { "nodes", 0 },
										 [SAMPLES] = { "samples", 0 },
										 [DELTAS] = { "timeDeltas", 0 },
										 [START_TIME] = { "startTime", 0 },
										 [END_TIME] = { "endTime", 0 } };
	PfsV8Clock clock = { .call = PFS_NONE };
	int64_t end_ns = 0;
	PfsReadStatus status = pfs_json_find(json, fields, FIELD_COUNT);

	clock.root = pfs_calls_root(nodes->tree);
	if (status == PFS_READ_OK && clock.root == PFS_NONE)
		return pfs_json_refused(json);
	if (status == PFS_READ_OK && fields[SAMPLES].at == SIZE_MAX)
		return pfs_json_fail(json, PFS_READ_MALFORMED, "profile has no samples");
	if (status == PFS_READ_OK)
		status = cpu_profile_read_time(json, &fields[START_TIME], &clock.now_ns);
	clock.reached_ns = clock.now_ns;
	if (status == PFS_READ_OK)
		status = cpu_profile_read_time(json, &fields[END_TIME], &end_ns);
	json->at = fields[NODES].at;
	if (status == PFS_READ_OK)
		status = pfs_v8_read_nodes(nodes, json, 0);
	if (status == PFS_READ_OK)
		status = pfs_v8_read_samples(nodes, json, 0, fields[SAMPLES].at, fields[DELTAS].at, &clock);
	/* without the times between samples, the last sample would get the whole time */
	if (status == PFS_READ_OK && fields[DELTAS].at != SIZE_MAX && fields[END_TIME].at != SIZE_MAX)
		status = pfs_v8_advance(nodes, json, &clock, end_ns);
	return status;
}

PfsReadStatus
pfs_cpu_profile_read(PfsJson *json)
{
	PfsCallTree tree;
	PfsV8Nodes nodes;
	PfsReadStatus status;

	json->profile->name = "cpuprofile";
	json->profile->duration_ns = 1; /* a duration marks the values as sums over time */
	if (!pfs_v8_add_types(json->profile))
		return pfs_json_refused(json);
	pfs_calls_init(&tree, json->profile);
	pfs_v8_init(&nodes, &tree);
	status = read_profile(json, &nodes);
	if (status == PFS_READ_OK)
		status = pfs_calls_samples(&tree, json->error);
	pfs_v8_fini(&nodes);
	pfs_calls_fini(&tree);
	return status;
}
