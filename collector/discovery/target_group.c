/*
 * target_group.c
 *		Labels of targets, stored in an arena.
 */
#include "discovery/target_group.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TargetGroup *
target_group_create(const char *source)
{
	TargetGroup *group = calloc(1, sizeof(TargetGroup));
	char *copy;

	if (group == NULL)
		return NULL;
	group->budget.limit_bytes = TARGET_GROUP_BYTES_MAX;
	arena_init(&group->arena, &group->budget);
	copy = arena_alloc(&group->arena, strlen(source) + 1);
	if (copy == NULL)
	{
		target_group_free(group);
		return NULL;
	}
	group->source = strcpy(copy, source);
	return group;
}

void
target_group_free(TargetGroup *group)
{
	if (group == NULL)
		return;
	arena_fini(&group->arena);
	free(group);
}

/*
 * Makes room for one more item in an array that is allocated in the arena. The memory of the old
 * array stays unused.
 */
static void *
grow(TargetGroup *group, void *items, size_t *capacity, size_t count, size_t item_bytes)
{
	size_t wanted = *capacity == 0 ? 8 : *capacity * 2;
	void *grown;

	if (count < *capacity)
		return items;
	/* The former array stays in the arena until the group is freed. */
	grown = arena_alloc(&group->arena, wanted * item_bytes);
	if (grown == NULL)
	{
		group->failed = true;
		return NULL;
	}
	if (count > 0)
		memcpy(grown, items, count * item_bytes);
	*capacity = wanted;
	return grown;
}

TargetLabels *
target_group_add(TargetGroup *group)
{
	TargetLabels *targets =
		grow(group, group->targets, &group->capacity, group->count, sizeof(TargetLabels));

	if (targets == NULL)
		return NULL;
	group->targets = targets;
	targets[group->count] = (TargetLabels){ NULL };
	return &targets[group->count++];
}

static char *
group_copy_text(TargetGroup *group, const char *prefix, const char *text)
{
	size_t length = strlen(prefix);
	char *copy = arena_alloc(&group->arena, length + strlen(text) + 1);

	if (copy == NULL)
	{
		group->failed = true;
		return NULL;
	}
	memcpy(copy, prefix, length);
	strcpy(copy + length, text);
	return copy;
}

static void
group_add_label(TargetGroup *group, TargetLabels *labels, const char *name, const char *value)
{
	BatchLabel *items =
		grow(group, labels->labels, &labels->capacity, labels->count, sizeof(BatchLabel));

	if (items == NULL || name == NULL || value == NULL)
		return;
	labels->labels = items;
	items[labels->count++] = (BatchLabel){ name, value };
}

void
target_group_label(TargetGroup *group, TargetLabels *labels, const char *name, const char *value)
{
	if (labels != NULL && value != NULL)
		group_add_label(group, labels, group_copy_text(group, "", name),
						group_copy_text(group, "", value));
}

void
target_group_meta(TargetGroup *group, TargetLabels *labels, const char *prefix, const char *name,
				  const char *value)
{
	char *full;

	if (labels == NULL || value == NULL)
		return;
	full = group_copy_text(group, prefix, name);
	/* Characters that label names must not have become '_', as in Prometheus. */
	for (char *at = full == NULL ? NULL : full + strlen(prefix); at != NULL && *at != '\0'; at++)
		if (!isalnum((unsigned char) *at))
			*at = '_';
	group_add_label(group, labels, full, group_copy_text(group, "", value));
}
