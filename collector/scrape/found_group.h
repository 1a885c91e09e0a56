/*
 * found_group.h
 *		A group found by a discovery, and the targets made from it.
 *
 * A new version of a group replaces the old one step by step, because it may have 100,000 targets
 * and the thread has other work. Label sets that are in both versions keep their targets; only
 * their keys are compared. Labels are freed once their targets are made, or kept if there was no
 * room for some targets, to make them later.
 *
 *   waiting ──► next ──► current      newest version, the one in progress, the running one
 */
#ifndef COLLECTOR_SCRAPE_FOUND_GROUP_H
#define COLLECTOR_SCRAPE_FOUND_GROUP_H

#include "scrape/scrape_target.h"

/* A label set. Its targets, one for each profile of the job, are in the version's slots. */
typedef struct FoundMember
{
	uint64_t key;	/* hash of its labels and the group's */
	uint32_t index; /* index of the labels in the group */
	uint32_t dropped;
	uint32_t invalid;
	/* next: the targets were made; current: the targets were moved to the new version */
	bool is_settled;
	bool is_short; /* a target is missing for lack of room or memory */
} FoundMember;

typedef struct FoundVersion
{
	TargetGroup *group;	  /* NULL once all targets are made, unless is_short */
	uint64_t hash;		  /* hash of all labels */
	FoundMember *members; /* sorted by key */
	/* one slot for each member and profile, with a reference; NULL: no target */
	ScrapeTarget **slots;
	size_t count;
	size_t done;   /* all members before this index need no work */
	bool is_short; /* at least one member is short */
} FoundVersion;

typedef struct FoundGroup
{
	UT_hash_handle hh; /* by source, in its discovery */
	char *source;
	struct Found *found;		  /* the results of its discovery */
	struct FoundGroup *work_next; /* list of groups with work */
	bool has_work;
	bool has_next;
	FoundVersion current;
	FoundVersion next;
	TargetGroup *waiting; /* NULL: no version is waiting */
	uint64_t waiting_hash;
} FoundGroup;

/* Hashes the labels of a group and of its targets, in their order. */
uint64_t found_group_hash(uint64_t seed, const TargetGroup *group);

/* Makes a group without targets. Returns NULL if out of memory. */
FoundGroup *found_group_create(const char *source, struct Found *found);

/* Frees a group. The caller must release the targets in the slots before. */
void found_group_free(FoundGroup *found);

/* Returns the hash of the newest version. */
uint64_t found_group_newest(const FoundGroup *found);

/* Returns the memory of labels whose targets are not made yet. */
size_t found_group_bytes(const FoundGroup *found);

/*
 * Makes the waiting group the next version, and moves the targets of label sets that are in both
 * versions. Returns false on out of memory; the group then stays waiting.
 */
bool found_group_begin(FoundGroup *found, uint64_t seed, size_t profiles);

/* Makes the finished next version the current one. The slots of the former one must be empty. */
void found_group_finish(FoundGroup *found);

/* Frees the labels of a current version some of whose targets are missing. */
void found_group_drop_labels(FoundGroup *found);

/* Makes a current version with missing targets wait again. Returns true if a version is waiting. */
bool found_group_redo(FoundGroup *found);

#endif
