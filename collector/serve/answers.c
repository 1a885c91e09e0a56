/*
 * answers.c
 *		Makes flame graphs, differences, profiles and call graphs.
 */
#include "serve/answers.h"

#include <stdlib.h>

#include "receive/inflate.h"
#include "serve/profile_subset.h"

/* Limit of the unpacked size of a profile. */
#define PROFILE_BYTES ((size_t) 64 * 1024 * 1024)

static FlamePath
path_of(const SelectRequest *request)
{
	return (FlamePath){ request->calls, request->call_count };
}

/* Passes the levels of a result to the caller's function, and frees the result. */
static bool
put_levels(Asked *asked, Result *result, bool is_diff, const FlamePath *path, LevelsPut put,
		   Buffer *out, bool *is_found)
{
	FlameLevels levels;
	bool is_read;

	if (result == NULL)
		return false;
	is_read = flame_levels_read(&levels, result, is_diff, path, asked->call->memory);
	/* The caller may try another query if there is no level, so an empty result is no failure. */
	*is_found = levels.level_count > 0;
	if (is_read)
		put(&levels, out);
	flame_levels_fini(&levels);
	result_free(result);
	return is_read && !out->failed ? true : asked_no_memory(asked);
}

/*
 * The stacks of a call site are found by the name of its last function. If that function is shown
 * as an address it has no name, so all stacks must be read.
 */
bool
answer_flamegraph(Asked *asked, const SelectRequest *request, LevelsPut put, Buffer *out)
{
	const FlamePath path = path_of(request);
	Selection selection;
	bool is_found = false;
	bool good = selection_read(asked, &selection, request->type, request->selector);

	if (good && !selection.is_empty)
	{
		good = put_levels(asked, query_flamegraph(asked, request, &selection, false), false, &path,
						  put, out, &is_found);
		if (good && !is_found && path.count > 0)
		{
			/* The graph without levels was appended, too. */
			buffer_reset(out);
			good = put_levels(asked, query_flamegraph(asked, request, &selection, true), false,
							  &path, put, out, &is_found);
		}
	}
	else if (good)
	{
		/* A matcher contradicts the profile type: the answer is an empty graph, not an error. */
		const FlameLevels none = { .is_diff = false };

		put(&none, out);
	}
	selection_fini(&selection);
	return good;
}

/*
 * Returns true if both requests of a difference have one profile type, which a difference requires.
 */
static bool
types_are_equal(const SelectRequest *left, const SelectRequest *right)
{
	return left->type.length == right->type.length &&
		   memcmp(left->type.bytes, right->type.bytes, left->type.length) == 0;
}

bool
answer_diff(Asked *asked, const SelectRequest *left, const SelectRequest *right, LevelsPut put,
			Buffer *out)
{
	const FlamePath everything = { NULL, 0 };
	Selection left_is = { .is_empty = false };
	Selection right_is = { .is_empty = false };
	bool is_found;
	bool good;

	if (!types_are_equal(left, right))
		return asked_refuse(asked, GRPC_INVALID_ARGUMENT, "the profile types differ");
	if (left->call_count > 0 || right->call_count > 0 || left->spans.count > 0 ||
		right->spans.count > 0 || left->traces.count > 0 || right->traces.count > 0)
		return asked_refuse(asked, GRPC_UNIMPLEMENTED,
							"a difference of call sites, traces or spans is not available");
	good = selection_read(asked, &left_is, left->type, left->selector) &&
		   selection_read(asked, &right_is, right->type, right->selector);
	if (good && (left_is.is_empty || right_is.is_empty))
		good = asked_refuse(asked, GRPC_INVALID_ARGUMENT, "a matcher contradicts the profile type");
	/* One query reads both sides, because a difference is one tree. */
	good = good && put_levels(asked, query_flamegraph_diff(asked, left, &left_is, right, &right_is),
							  true, &everything, put, out, &is_found);
	selection_fini(&left_is);
	selection_fini(&right_is);
	return good;
}

/* Appends an unpacked profile; for a call site, only its samples. */
static bool
put_profile(Asked *asked, const SelectRequest *request, Span profile, Buffer *out)
{
	if (request->call_count == 0)
	{
		buffer_put_bytes(out, profile.bytes, profile.length);
		return !out->failed ? true : asked_no_memory(asked);
	}
	switch (profile_subset(profile, request->calls, request->call_count, asked->call->memory, out))
	{
		case SUBSET_OK:
			return true;
		case SUBSET_NO_MEMORY:
			return asked_no_memory(asked);
		case SUBSET_MALFORMED:
			break;
	}
	return asked_refuse(asked, GRPC_INTERNAL, "the profile of the database is malformed");
}

/* Unpacks the profile of a result and appends it; a call site selects a part of its samples. */
static bool
put_packed_profile(Asked *asked, const SelectRequest *request, const Result *result, Buffer *out)
{
	const InflateLimits limits = { PROFILE_BYTES, asked->call->memory };
	size_t packed_length;
	const char *packed = result_bytes(result, 0, &packed_length);
	uint8_t *bytes;
	size_t length;
	bool good;

	/* The request selects no samples. A message without bytes is a valid profile. */
	if (packed_length == 0)
		return true;
	switch (inflate_body(ENCODING_GZIP, (const uint8_t *) packed, packed_length, &limits, &bytes,
						 &length))
	{
		case INFLATE_OK:
			break;
		case INFLATE_TOO_LARGE:
			return asked_refuse(asked, GRPC_RESOURCE_EXHAUSTED,
								"the profile is larger than 64 MB: select a shorter range");
		case INFLATE_NO_MEMORY:
			return asked_no_memory(asked);
		case INFLATE_MALFORMED:
			return asked_refuse(asked, GRPC_INTERNAL, "the profile of the database is malformed");
	}
	good = put_profile(asked, request, (Span){ bytes, length }, out);
	free(bytes);
	return good;
}

bool
answer_pprof(Asked *asked, const SelectRequest *request, Buffer *out)
{
	Selection selection;
	bool good = selection_read(asked, &selection, request->type, request->selector);

	if (good && !selection.is_empty)
	{
		Result *result = query_pprof(asked, request, &selection);

		good = result != NULL && put_packed_profile(asked, request, result, out);
		result_free(result);
	}
	selection_fini(&selection);
	return good;
}

bool
answer_dot(Asked *asked, const SelectRequest *request, Buffer *out)
{
	Selection selection;
	bool good;

	/* callgraph_dot() can focus on one function only. */
	if (request->call_count > 1)
		return asked_refuse(asked, GRPC_UNIMPLEMENTED,
							"a call graph can select one function, not a call site");
	good = selection_read(asked, &selection, request->type, request->selector);
	if (good && !selection.is_empty)
	{
		Result *result = query_dot(asked, request, &selection);

		good = result != NULL;
		if (good)
		{
			size_t length;
			const char *dot = result_bytes(result, 0, &length);

			buffer_put_bytes(out, dot, length);
		}
		result_free(result);
	}
	selection_fini(&selection);
	return good && out->failed ? asked_no_memory(asked) : good;
}
