/*
 * found_group.h
 *		A group that a discovery found, and the targets that were made of it.
 *
 * A group replaces the one of its source step by step, since it may have 100,000 targets and the
 * thread has more to do. A set of labels that was in the old group, too, keeps its targets: only
 * their keys are compared. The labels go once the targets are made. If there is no room for some,
 * they stay, for the targets to be made later.
 *
 *		waiting ──► next ──► current		the newest, that in the making, that whose targets run
 */
#ifndef COLLECTOR_SCRAPE_FOUND_GROUP_H
#define COLLECTOR_SCRAPE_FOUND_GROUP_H

#include "scrape/target.h"

/* A set of labels; its targets, one of each profile of the job, are in the version's slots. */
typedef struct FoundMember
{
	uint64_t key;	/* hash of the labels, with the group's */
	uint32_t index; /* of the labels in the group */
	uint32_t dropped;
	uint32_t invalid;
	bool is_settled; /* in next: the targets are made; in current: they were handed over */
	bool is_short;	 /* there was no room, or no memory, for a target */
} FoundMember;

typedef struct FoundVersion
{
	TargetGroup *group;	  /* NULL once all targets are made; may be NULL if it is short */
	uint64_t hash;		  /* of all labels */
	FoundMember *members; /* by key */
	ScrapeTarget **slots; /* by member and profile; each holds a reference; NULL: none */
	size_t count;
	size_t done;   /* members before it need no work */
	bool is_short; /* one of its members is */
} FoundVersion;

typedef struct FoundGroup
{
	UT_hash_handle hh; /* by source, in its discovery */
	char *source;
	struct Found *found;		  /* whose it is */
	struct FoundGroup *work_next; /* of groups with work */
	bool has_work;
	bool has_next;
	FoundVersion current;
	FoundVersion next;
	TargetGroup *waiting; /* NULL: none */
	uint64_t waiting_hash;
} FoundGroup;

/* Hash of a group's labels and those of its targets, in their order. */
uint64_t found_group_hash(uint64_t seed, const TargetGroup *group);

/* NULL on out of memory. */
FoundGroup *found_group_create(const char *source, struct Found *found);

/* What the slots hold is the caller's to give back before. */
void found_group_free(FoundGroup *found);

/* The hash of the newest version. */
uint64_t found_group_newest(const FoundGroup *found);

/* Bytes of labels that are not targets yet. */
size_t found_group_bytes(const FoundGroup *found);

/*
 * Makes the waiting group the next version, and hands over the targets of the labels that are in
 * both. False on out of memory; the group waits on then.
 */
bool found_group_begin(FoundGroup *found, uint64_t seed, size_t profiles);

/* Makes the next version, whose work is done, the current one, whose slots are empty. */
void found_group_finish(FoundGroup *found);

/* Drops the labels of a current version that is short. */
void found_group_drop_labels(FoundGroup *found);

/* Lets a group that is short wait again. True if a group waits. */
bool found_group_redo(FoundGroup *found);

#endif
