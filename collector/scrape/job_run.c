/*
 * job_run.c
 *		Makes targets from groups.
 *
 * An unchanged group costs only the hash of its labels. In a changed group, new label sets become
 * targets, a few at a time; the other label sets keep their targets and these their places in the
 * schedule. A target may be in several groups, and is removed with the last of them.
 */
#include "scrape/job_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "scrape/found_group.h"

#define INHERIT_NS (30 * NS_PER_S)
#define STEPS_MIN  16 /* minimum steps of a job in a tick, however late it is */

/* Limit of the memory of labels, for one discovery, whose targets are not made yet. */
#define WAITING_BYTES_MAX ((size_t) 256 * 1024 * 1024)

/*
 * Part of the limit of groups for those with missing targets, which are tried again every REDO_NS.
 */
#define SHORT_BYTES_MAX (WAITING_BYTES_MAX / 2)
#define REDO_NS			(30 * NS_PER_S)

typedef struct Found
{
	Discovery *discovery;
	FoundGroup *groups; /* keyed by source */
	size_t waiting_bytes;
	JobRun *run;
} Found;

struct JobRun
{
	ScrapeConfig *config;
	const ScrapeJob *job;
	JobHost host;
	Found *found; /* one for each discovery of the job */
	size_t found_count;
	ScrapeTarget *targets; /* keyed by name */
	LabelBuilder scratch;
	uint64_t seed;
	FoundGroup *work; /* groups with work; the first one is in progress */
	FoundGroup **work_last;
	bool is_short; /* a group lacks targets or waits for memory, and is tried again at redo_ns */
	int64_t redo_ns;
	/* Until this time inherited targets stay even if they are not found; 0: none were inherited. */
	int64_t keep_until_ns;
	JobCounts counts;
};

static void
remove_target(JobRun *run, ScrapeTarget *target)
{
	HASH_DEL(run->targets, target);
	schedule_remove(run->host.schedule, target);
	target->gone = true;
	run->host.gone(run->host.context, target);
	scrape_target_release(target);
}

/* --- making targets --- */

static void
job_run_out_of_memory(const JobRun *run)
{
	log_event(LOG_ERROR, "scrape", "could not make targets", log_text("job", run->job->name),
			  log_text("detail", "Out of memory."));
}

/*
 * Returns a name for a second target with the same URL, made distinct by a hash of its labels; the
 * caller frees it. NULL on out of memory.
 */
static char *
name_apart(const ScrapeTarget *target)
{
	uint64_t hash = 0;
	char *name;

	for (size_t i = 0; i < target->label_count; i++)
	{
		hash = hash_bytes(hash, target->labels[i].name, strlen(target->labels[i].name));
		hash = hash_bytes(hash, target->labels[i].value, strlen(target->labels[i].value));
	}
	return asprintf(&name, "%s #%08x", target->name, (unsigned) (hash & UINT32_MAX)) < 0 ? NULL
																						 : name;
}

static ScrapeTarget *
find_target(JobRun *run, const char *name)
{
	ScrapeTarget *target;

	HASH_FIND_STR(run->targets, name, target);
	return target;
}

/*
 * Adds a target and takes over its reference. Returns false, with the target released, on out of
 * memory.
 */
static bool
job_run_add_target(JobRun *run, ScrapeTarget *target, int64_t now_ns)
{
	/* A target that replaces another one has its time already. */
	if (target->due_ns == 0)
		target->due_ns = schedule_first_due(target, now_ns, clock_ns(CLOCK_REALTIME));
	if (schedule_add(run->host.schedule, target) != 0)
	{
		job_run_out_of_memory(run);
		scrape_target_release(target);
		return false;
	}
	target_queue_add(run->host.changed, target);
	HASH_ADD_KEYPTR(hh, run->targets, target->name, strlen(target->name), target);
	return true;
}

/* Replaces a target by a new one, which continues its state and keeps its times. */
static bool
replace_target(JobRun *run, ScrapeTarget *old, ScrapeTarget *target, int64_t now_ns)
{
	/* With another interval, the time of the next scrape is computed anew. */
	if (old->job->interval_ms == target->job->interval_ms)
		target->due_ns = old->due_ns;
	target->state = old->state;
	target->skipped = old->skipped;
	HASH_DEL(run->targets, old);
	schedule_remove(run->host.schedule, old);
	old->gone = true;
	/* Both targets have one row, so the old one must not store its state later. */
	old->is_replaced = true;
	scrape_target_release(old);
	return job_run_add_target(run, target, now_ns);
}

/*
 * Finds the target that a new one replaces, and sets the new one's name. That is an equal target,
 * or one that no group contains any more; NULL: none. Returns false on out of memory.
 */
static bool
find_place(JobRun *run, ScrapeTarget *target, ScrapeTarget **known)
{
	ScrapeTarget *apart;
	char *name;

	*known = find_target(run, target->name);
	if (*known == NULL || scrape_target_equals(*known, target))
		return true;
	name = name_apart(target);
	if (name == NULL)
		return false;
	apart = find_target(run, name);
	/* A target that no group contains is replaced, unless an equal target has the other name. */
	if ((*known)->finders == 0 && (apart == NULL || !scrape_target_equals(apart, target)))
	{
		free(name);
		return true;
	}
	free(target->name);
	target->name = name;
	*known = apart;
	return true;
}

static bool
job_run_has_room(const JobRun *run)
{
	return run->host.schedule->count < run->host.targets_max;
}

/*
 * Adds a new target, and returns the one to use, which may be an existing equal target. Returns
 * NULL on out of memory, or if there are too many targets.
 */
static ScrapeTarget *
take_target(JobRun *run, ScrapeTarget *target, int64_t now_ns)
{
	ScrapeTarget *known;

	if (!find_place(run, target, &known))
	{
		job_run_out_of_memory(run);
		scrape_target_release(target);
		return NULL;
	}
	/* Another group has found the same target. */
	if (known != NULL && scrape_target_equals(known, target))
	{
		scrape_target_release(target);
		return known;
	}
	if (known != NULL)
		return replace_target(run, known, target, now_ns) ? target : NULL;
	if (job_run_has_room(run))
		return job_run_add_target(run, target, now_ns) ? target : NULL;
	log_event(LOG_WARNING, "scrape", "number of targets exceeds --max-targets",
			  log_text("job", run->job->name), log_text("target", target->name));
	scrape_target_release(target);
	return NULL;
}

/* Makes a target for a member. Returns NULL, and counts it, if its labels make no target. */
static ScrapeTarget *
make_target(JobRun *run, const TargetGroup *group, FoundMember *member, const ProfileKind *profile,
			int64_t now_ns)
{
	ScrapeTarget *target;
	char error[HTTP_ERROR_BYTES];

	switch (scrape_target_make(run->config, run->job, profile, group,
							   &group->targets[member->index], &run->scratch, &target, error))
	{
		case TARGET_MADE:
			target = take_target(run, target, now_ns);
			member->invalid += target == NULL;
			member->is_short |= target == NULL;
			return target;
		case TARGET_DROPPED:
			member->dropped++;
			break;
		case TARGET_INVALID:
			member->invalid++;
			log_event(LOG_WARNING, "scrape", "could not make a target of a discovered label set",
					  log_text("job", run->job->name), log_text("source", group->source),
					  log_text("detail", error));
			break;
		case TARGET_NO_MEMORY:
			job_run_out_of_memory(run);
			member->is_short = true;
			break;
	}
	return NULL;
}

/* --- from one version of a group to the next --- */

static ScrapeTarget **
slots_of(const JobRun *run, const FoundVersion *version, size_t member)
{
	return &version->slots[member * run->job->profiles.count];
}

/*
 * Releases the targets of members that the next version lacks, so that new targets may replace
 * them.
 */
static void
leave_members(JobRun *run, const FoundVersion *version)
{
	for (size_t i = 0; i < version->count; i++)
	{
		ScrapeTarget **slots = slots_of(run, version, i);

		/* The next version has taken over the targets of this member. */
		if (version->members[i].is_settled)
			continue;
		run->counts.dropped -= version->members[i].dropped;
		run->counts.invalid -= version->members[i].invalid;
		for (size_t j = 0; j < run->job->profiles.count; j++)
			if (slots[j] != NULL)
				slots[j]->finders--;
	}
}

/* Makes the targets of one member, one for each profile. */
static void
make_member(JobRun *run, FoundVersion *version, size_t i, int64_t now_ns)
{
	FoundMember *member = &version->members[i];
	const ProfileKind *profiles = run->job->profiles.items;
	ScrapeTarget **slots = slots_of(run, version, i);

	for (size_t j = 0; j < run->job->profiles.count; j++)
	{
		slots[j] = make_target(run, version->group, member, &profiles[j], now_ns);
		if (slots[j] == NULL)
			continue;
		slots[j]->references++;
		slots[j]->finders++;
	}
	member->is_settled = true;
	version->is_short |= member->is_short;
	run->is_short |= member->is_short;
	run->counts.dropped += member->dropped;
	run->counts.invalid += member->invalid;
}

/* Removes the targets of a member that are in no group. */
static void
drop_member(JobRun *run, const FoundVersion *version, size_t i)
{
	ScrapeTarget **slots = slots_of(run, version, i);

	for (size_t j = 0; j < run->job->profiles.count; j++)
	{
		ScrapeTarget *target = slots[j];

		if (target == NULL)
			continue;
		/* Another group may still contain the target. */
		if (target->finders == 0 && !target->gone)
			remove_target(run, target);
		scrape_target_release(target);
		slots[j] = NULL;
	}
}

static void
begin_work(JobRun *run, FoundGroup *group)
{
	if (found_group_begin(group, run->seed, run->job->profiles.count))
		leave_members(run, &group->current);
	else
	{
		job_run_out_of_memory(run);
		run->is_short = true;
	}
}

/* Handles the next member of the group. Returns false if no member is left. */
static bool
work_at(JobRun *run, FoundGroup *group, int64_t now_ns)
{
	FoundVersion *next = &group->next;
	FoundVersion *current = &group->current;

	if (!group->has_next && group->waiting != NULL)
		begin_work(run, group);
	if (!group->has_next)
		return false;
	/* New targets are made first, because they may replace targets of the current version. */
	if (next->done < next->count)
	{
		if (!next->members[next->done].is_settled)
			make_member(run, next, next->done, now_ns);
		next->done++;
	}
	else if (current->done < current->count)
	{
		if (!current->members[current->done].is_settled)
			drop_member(run, current, current->done);
		current->done++;
	}
	else
	{
		found_group_finish(group);
		/* Labels are kept only while the discovery's groups leave room for them. */
		if (group->found->waiting_bytes > SHORT_BYTES_MAX)
			found_group_drop_labels(group);
	}
	return group->has_next || group->waiting != NULL;
}

/* Releases the targets in a version's slots. */
static void
release_slots(JobRun *run, const FoundVersion *version, bool are_finders)
{
	for (size_t i = 0; i < version->count * run->job->profiles.count; i++)
	{
		ScrapeTarget *target = version->slots[i];

		if (target == NULL)
			continue;
		target->finders -= are_finders;
		scrape_target_release(target);
	}
}

static void
forget_group(JobRun *run, FoundGroup *group)
{
	HASH_DEL(group->found->groups, group);
	/* If there is a next version, leave_members() has reduced the counts of finders. */
	release_slots(run, &group->current, !group->has_next);
	release_slots(run, &group->next, true);
	found_group_free(group);
}

static void
add_work(JobRun *run, FoundGroup *group)
{
	if (group->has_work)
		return;
	group->has_work = true;
	group->work_next = NULL;
	*run->work_last = group;
	run->work_last = &group->work_next;
}

/* Removes the first group from those with work; frees it if it is empty. */
static void
end_work(JobRun *run)
{
	FoundGroup *group = run->work;

	run->work = group->work_next;
	if (run->work == NULL)
		run->work_last = &run->work;
	group->has_work = false;
	/* A group without targets is one that its discovery has removed. */
	if (group->current.count == 0 && group->waiting == NULL)
		forget_group(run, group);
}

/* Retries targets for which there was no room or memory, if there is room now. */
static void
redo_short(JobRun *run, int64_t now_ns)
{
	if (!run->is_short || now_ns < run->redo_ns)
		return;
	run->redo_ns = now_ns + REDO_NS;
	/* Without room, all attempts would fail again. */
	if (!job_run_has_room(run))
		return;
	run->is_short = false;
	for (size_t i = 0; i < run->found_count; i++)
	{
		for (FoundGroup *group = run->found[i].groups; group != NULL; group = group->hh.next)
			if (found_group_redo(group))
				add_work(run, group);
	}
}

/* Works until until_ns, but at least STEPS_MIN steps. */
static void
job_run_work(JobRun *run, int64_t now_ns, int64_t until_ns)
{
	for (int steps = 1; run->work != NULL; steps++)
	{
		Found *found = run->work->found;
		size_t before = found_group_bytes(run->work);
		bool is_left = work_at(run, run->work, now_ns);

		/* A finished version has freed its labels. */
		found->waiting_bytes -= before - found_group_bytes(run->work);
		if (!is_left)
			end_work(run);
		if (steps >= STEPS_MIN && clock_ns(CLOCK_MONOTONIC) >= until_ns)
			break;
	}
	run->counts.targets = HASH_COUNT(run->targets);
}

/* Removes inherited targets that no group contains. */
static void
remove_unfound(JobRun *run)
{
	ScrapeTarget *target;
	ScrapeTarget *next;

	HASH_ITER(hh, run->targets, target, next)
	{
		/* A target that was found again has finders. */
		if (target->finders == 0)
			remove_target(run, target);
	}
	run->counts.targets = HASH_COUNT(run->targets);
}

/* --- groups of targets from discoveries --- */

/*
 * Returns true if a group is unchanged, so that nothing has to be done. A group with missing
 * targets whose labels were freed counts as changed once there is room.
 */
static bool
job_run_is_as_before(const JobRun *run, const FoundGroup *known, uint64_t hash)
{
	const bool is_lost = known->current.is_short && known->current.group == NULL &&
						 !known->has_next && known->waiting == NULL;

	return found_group_newest(known) == hash && !(is_lost && job_run_has_room(run));
}

/* Called by a discovery with a group. Returns false if the discovery must send the group again. */
static bool
on_group(void *context, TargetGroup *group)
{
	Found *found = context;
	JobRun *run = found->run;
	uint64_t hash = found_group_hash(run->seed, group);
	FoundGroup *known;

	HASH_FIND_STR(found->groups, group->source, known);
	/* A group that is neither known nor has targets changes nothing. */
	if (known != NULL ? job_run_is_as_before(run, known, hash) : group->count == 0)
	{
		target_group_free(group);
		return true;
	}
	/* An empty group frees memory, so it is always accepted. */
	if (group->count > 0 && found->waiting_bytes + group->budget.used_bytes > WAITING_BYTES_MAX)
	{
		discovery_warn(found->discovery, group->source, "The groups take too much memory.");
		target_group_free(group);
		return false;
	}
	if (known == NULL)
	{
		known = found_group_create(group->source, found);
		if (known == NULL)
		{
			job_run_out_of_memory(run);
			target_group_free(group);
			return false;
		}
		HASH_ADD_KEYPTR(hh, found->groups, known->source, strlen(known->source), known);
	}
	found->waiting_bytes -= found_group_bytes(known);
	target_group_free(known->waiting);
	known->waiting = group;
	known->waiting_hash = hash;
	found->waiting_bytes += found_group_bytes(known);
	add_work(run, known);
	return true;
}

int64_t
job_run_tick(JobRun *run, int64_t now_ns, int64_t until_ns)
{
	int64_t due_ns = INT64_MAX;

	for (size_t i = 0; i < run->found_count; i++)
	{
		Discovery *discovery = run->found[i].discovery;

		if (discovery->due_ns <= now_ns)
			discovery->kind->tick(discovery, now_ns);
		due_ns = MIN(due_ns, discovery->due_ns);
	}
	redo_short(run, now_ns);
	job_run_work(run, now_ns, until_ns);
	/* The loop must not wait while work is left. */
	if (run->work != NULL)
		return now_ns;
	if (run->is_short)
		due_ns = MIN(due_ns, run->redo_ns);
	/* All discoveries have had the time to find the inherited targets again. */
	if (run->keep_until_ns != 0 && now_ns >= run->keep_until_ns)
	{
		run->keep_until_ns = 0;
		remove_unfound(run);
	}
	return run->keep_until_ns != 0 ? MIN(due_ns, run->keep_until_ns) : due_ns;
}

/* --- begin and end --- */

/* Starts the job's discoveries. Returns false on out of memory. */
static bool
start_discoveries(JobRun *run)
{
	const DiscoverySettings *settings = run->job->discoveries.items;

	run->found = calloc(run->job->discoveries.count + 1, sizeof(Found));
	for (size_t i = 0; run->found != NULL && i < run->job->discoveries.count; i++)
	{
		Found *found = &run->found[i];
		const DiscoveryParts parts = { .client = run->host.client,
									   .job = run->job->name,
									   .sink = { on_group, found } };

		found->run = run;
		found->discovery = settings[i].kind->start(settings[i].settings, &parts);
		if (found->discovery == NULL)
			return false;
		run->found_count++;
	}
	return run->found != NULL;
}

JobRun *
job_run_start(ScrapeConfig *config, const ScrapeJob *job, const JobHost *host)
{
	JobRun *run = calloc(1, sizeof(JobRun));

	if (run == NULL)
		return NULL;
	run->config = scrape_config_retain(config);
	run->job = job;
	run->host = *host;
	run->seed = hash_seed();
	run->work_last = &run->work;
	label_builder_init(&run->scratch);
	if (start_discoveries(run))
		return run;
	job_run_free(run);
	return NULL;
}

void
job_run_inherit(JobRun *run, JobRun *older, int64_t now_ns)
{
	run->targets = older->targets;
	/* The older job must not remove the targets when it is freed. */
	older->targets = NULL;
	run->keep_until_ns = now_ns + INHERIT_NS;
}

void
job_run_free(JobRun *run)
{
	ScrapeTarget *target;
	ScrapeTarget *next;

	if (run == NULL)
		return;
	for (size_t i = 0; i < run->found_count; i++)
	{
		Found *found = &run->found[i];

		found->discovery->kind->stop(found->discovery);
		while (found->groups != NULL)
			forget_group(run, found->groups);
	}
	HASH_ITER(hh, run->targets, target, next)
	{
		remove_target(run, target);
	}
	label_builder_fini(&run->scratch);
	scrape_config_release(run->config);
	free(run->found);
	free(run);
}

const char *
job_run_name(const JobRun *run)
{
	return run->job->name;
}

JobCounts
job_run_counts(const JobRun *run)
{
	return run->counts;
}

ScrapeTarget *
job_run_targets(JobRun *run)
{
	return run->targets;
}
