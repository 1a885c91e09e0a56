/*
 * target_group.h
 *		Result of a discovery: targets from one source, with common labels.
 *
 * A group replaces the previous group of its source; a group without targets removes it.
 */
#ifndef COLLECTOR_TARGET_GROUP_H
#define COLLECTOR_TARGET_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <uthash.h>

#include "base/arena.h"
#include "batch/batch.h"

/* Limit of one group's memory: 100,000 targets with a few labels each. */
#define TARGET_GROUP_BYTES_MAX ((size_t) 64 * 1024 * 1024)

typedef struct TargetLabels
{
	BatchLabel *labels;
	size_t count;
	size_t capacity;
} TargetLabels;

typedef struct TargetGroup
{
	UT_hash_handle hh;	 /* keyed by source, in a table of the group's holder */
	const char *source;	 /* unique in its discovery */
	TargetLabels labels; /* labels of all targets; a target's own labels override them */
	TargetLabels *targets;
	size_t count;
	size_t capacity;
	Budget budget;
	Arena arena;
	bool failed; /* memory or budget was exhausted, so the group is incomplete */
} TargetGroup;

/* Makes a group without targets. Returns NULL if out of memory. */
TargetGroup *target_group_create(const char *source);
void target_group_free(TargetGroup *group); /* accepts NULL */

/*
 * Adds a target, which is valid until the next call. Returns NULL, and marks the group as failed,
 * if out of memory.
 */
TargetLabels *target_group_add(TargetGroup *group);

/*
 * Adds a copy of a label to labels: those of the group or of one of its targets. Does nothing if
 * labels or value is NULL.
 */
void target_group_label(TargetGroup *group, TargetLabels *labels, const char *name,
						const char *value);

/*
 * Like target_group_label(), but the name has two parts. In the second part, bytes other than
 * letters and digits become "_".
 */
void target_group_meta(TargetGroup *group, TargetLabels *labels, const char *prefix,
					   const char *name, const char *value);

#endif
