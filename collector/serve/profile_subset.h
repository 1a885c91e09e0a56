/*
 * profile_subset.h
 *		Selects the samples of a pprof profile whose stacks begin with given functions.
 */
#ifndef COLLECTOR_SERVE_PROFILE_SUBSET_H
#define COLLECTOR_SERVE_PROFILE_SUBSET_H

#include "base/memory_share.h"
#include "database/wire.h"
#include "otlp/message.h"

typedef enum SubsetEnd
{
	SUBSET_OK,
	SUBSET_MALFORMED,
	SUBSET_NO_MEMORY
} SubsetEnd;

/*
 * Appends the profile to out, but leaves out other samples; all tables stay. names are the
 * functions, root first. Temporary memory is charged to share.
 */
SubsetEnd profile_subset(Span profile, const Span *names, size_t count, MemoryShare *share,
						 Buffer *out);

#endif
