/*
 * target_group.h
 *		What a discovery found: targets that come from one source and have labels in common.
 *
 * A group replaces the one of the same source; one without targets removes it.
 */
#ifndef COLLECTOR_TARGET_GROUP_H
#define COLLECTOR_TARGET_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <uthash.h>

#include "base/arena.h"
#include "batch/batch.h"

/* Memory of one group: 100,000 targets of a few labels. */
#define TARGET_GROUP_BYTES_MAX ((size_t) 64 * 1024 * 1024)

typedef struct TargetLabels
{
	BatchLabel *labels;
	size_t count;
	size_t capacity;
} TargetLabels;

typedef struct TargetGroup
{
	UT_hash_handle hh;	 /* by source, for whoever holds it */
	const char *source;	 /* unique in its discovery */
	TargetLabels labels; /* of all targets, unless they have their own */
	TargetLabels *targets;
	size_t count;
	size_t capacity;
	Budget budget;
	Arena arena;
	bool failed; /* memory or budget ran out: what was added is not whole */
} TargetGroup;

/* NULL where memory is out. */
TargetGroup *target_group_create(const char *source);
void target_group_free(TargetGroup *group); /* accepts NULL */

/* A new target, NULL (and the group failed) where memory is out. It holds until the next one. */
TargetLabels *target_group_add(TargetGroup *group);

/* Copies a label, unless value is NULL. labels are the group's or a target's of it; may be NULL. */
void target_group_label(TargetGroup *group, TargetLabels *labels, const char *name,
						const char *value);

/* Like target_group_label(), for a name of two parts; bytes of the second part that are no letters
   or digits become "_". */
void target_group_meta(TargetGroup *group, TargetLabels *labels, const char *prefix,
					   const char *name, const char *value);

#endif
