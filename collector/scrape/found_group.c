/*
 * found_group.c
 *		Versions of a group, compared by the keys of their label sets.
 */
#include "scrape/found_group.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static uint64_t
hash_text(uint64_t hash, const char *text)
{
	return hash_bytes(hash, text, strlen(text));
}

static uint64_t
found_hash_labels(uint64_t hash, const TargetLabels *labels)
{
	for (size_t i = 0; i < labels->count; i++)
		hash = hash_text(hash_text(hash, labels->labels[i].name), labels->labels[i].value);
	/* The count separates the labels of one target from those of the next. */
	return hash_word(hash, labels->count);
}

uint64_t
found_group_hash(uint64_t seed, const TargetGroup *group)
{
	uint64_t hash = found_hash_labels(seed, &group->labels);

	for (size_t i = 0; i < group->count; i++)
		hash = found_hash_labels(hash, &group->targets[i]);
	return hash_word(hash, group->count);
}

FoundGroup *
found_group_create(const char *source, struct Found *found)
{
	FoundGroup *group = calloc(1, sizeof(FoundGroup));

	if (group == NULL || (group->source = strdup(source)) == NULL)
	{
		free(group);
		return NULL;
	}
	group->found = found;
	return group;
}

static void
version_free(FoundVersion *version)
{
	target_group_free(version->group);
	free(version->members);
	free(version->slots);
	*version = (FoundVersion){ NULL };
}

void
found_group_free(FoundGroup *found)
{
	version_free(&found->current);
	version_free(&found->next);
	target_group_free(found->waiting);
	free(found->source);
	free(found);
}

uint64_t
found_group_newest(const FoundGroup *found)
{
	if (found->waiting != NULL)
		return found->waiting_hash;
	return found->has_next ? found->next.hash : found->current.hash;
}

size_t
found_group_bytes(const FoundGroup *found)
{
	size_t bytes = found->waiting != NULL ? found->waiting->budget.used_bytes : 0;

	bytes += found->current.group != NULL ? found->current.group->budget.used_bytes : 0;
	return bytes + (found->next.group != NULL ? found->next.group->budget.used_bytes : 0);
}

static int
compare_members(const void *a, const void *b)
{
	const FoundMember *left = a;
	const FoundMember *right = b;

	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	/* The index makes the order total, as qsort() is not stable. */
	return (left->index > right->index) - (left->index < right->index);
}

/*
 * Moves the targets of members with equal keys to the new version; both versions are sorted by key.
 * The targets of short members are made again.
 */
static void
keep_targets(FoundVersion *from, FoundVersion *to, size_t profiles)
{
	size_t i = 0;

	for (size_t j = 0; j < to->count; j++)
	{
		FoundMember *member = &to->members[j];

		while (i < from->count && from->members[i].key < member->key)
			i++;
		if (i == from->count || from->members[i].key != member->key)
			continue;
		if (from->members[i].is_short)
		{
			i++;
			continue;
		}
		memcpy(&to->slots[j * profiles], &from->slots[i * profiles],
			   profiles * sizeof(ScrapeTarget *));
		/* A target is in the slots of one version at a time. */
		memset(&from->slots[i * profiles], 0, profiles * sizeof(ScrapeTarget *));
		member->dropped = from->members[i].dropped;
		member->invalid = from->members[i].invalid;
		member->is_settled = true;
		from->members[i++].is_settled = true;
	}
}

bool
found_group_begin(FoundGroup *found, uint64_t seed, size_t profiles)
{
	TargetGroup *group = found->waiting;
	FoundVersion next = { .group = group, .hash = found->waiting_hash, .count = group->count };
	uint64_t common = found_hash_labels(seed, &group->labels);

	/* One more place, because calloc() of no bytes may return NULL. */
	next.members = calloc(next.count + 1, sizeof(FoundMember));
	next.slots = calloc(next.count * profiles + 1, sizeof(ScrapeTarget *));
	if (next.members == NULL || next.slots == NULL)
	{
		free(next.members);
		free(next.slots);
		return false;
	}
	found->waiting = NULL;
	for (uint32_t i = 0; i < next.count; i++)
		next.members[i] =
			(FoundMember){ .key = found_hash_labels(common, &group->targets[i]), .index = i };
	qsort(next.members, next.count, sizeof(FoundMember), compare_members);
	keep_targets(&found->current, &next, profiles);
	found->next = next;
	found->has_next = true;
	return true;
}

void
found_group_finish(FoundGroup *found)
{
	version_free(&found->current);
	found->current = found->next;
	found->current.done = 0;
	for (size_t i = 0; i < found->current.count; i++)
		found->current.members[i].is_settled = false;
	/* Labels are needed again only if targets are missing. */
	if (!found->current.is_short)
		found_group_drop_labels(found);
	found->next = (FoundVersion){ NULL };
	found->has_next = false;
}

void
found_group_drop_labels(FoundGroup *found)
{
	target_group_free(found->current.group);
	found->current.group = NULL;
}

bool
found_group_redo(FoundGroup *found)
{
	/* The finished version is made again, as if the discovery had sent the group anew. */
	if (found->waiting == NULL && !found->has_next && found->current.is_short)
	{
		found->waiting = found->current.group;
		found->waiting_hash = found->current.hash;
		found->current.group = NULL;
	}
	return found->waiting != NULL;
}
