/*
 * job_run.c
 *		From groups to targets.
 *
 * Whatever a discovery tells, all of the job's targets are made anew and compared: what is as it
 * was stays as it is, with its place in the schedule. That is done at most every REBUILD_NS,
 * however often groups change.
 */
#include "scrape/job_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

#define NS_PER_S	INT64_C(1000000000)
#define REBUILD_NS	(2 * NS_PER_S)
#define INHERIT_NS	(30 * NS_PER_S)
#define ERRORS_TOLD 3 /* of targets that are none, in one rebuild */

typedef struct Found
{
	Discovery *discovery;
	TargetGroup *groups; /* by source */
	JobRun *run;
} Found;

struct JobRun
{
	ScrapeConfig *config;
	const ScrapeJob *job;
	JobHost host;
	Found *found; /* one of each of the job's discoveries */
	size_t found_count;
	ScrapeTarget *targets; /* by name */
	LabelBuilder scratch;
	uint64_t rebuilds;
	bool dirty;
	int64_t rebuilt_ns;
	int64_t keep_until_ns; /* before, targets that were not found stay; 0: none were inherited */
	JobCounts counts;
};

static void
on_group(void *context, TargetGroup *group)
{
	Found *found = context;
	TargetGroup *old;

	HASH_FIND_STR(found->groups, group->source, old);
	if (old != NULL)
	{
		HASH_DEL(found->groups, old);
		target_group_free(old);
	}
	found->run->dirty = true;
	if (group->count == 0)
	{
		target_group_free(group);
		return;
	}
	HASH_ADD_KEYPTR(hh, found->groups, group->source, strlen(group->source), group);
}

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
out_of_memory(const JobRun *run)
{
	log_event(LOG_ERROR, "scrape", "could not make targets", log_text("job", run->job->name),
			  log_text("detail", "Out of memory."));
}

/* A second target of that name, but of other labels, is told apart by them. */
static bool
name_apart(ScrapeTarget *target)
{
	uint64_t hash = 0;
	char *name;

	for (size_t i = 0; i < target->label_count; i++)
	{
		hash = hash_bytes(hash, target->labels[i].name, strlen(target->labels[i].name));
		hash = hash_bytes(hash, target->labels[i].value, strlen(target->labels[i].value));
	}
	if (asprintf(&name, "%s #%08x", target->name, (unsigned) (hash & UINT32_MAX)) < 0)
		return false;
	free(target->name);
	target->name = name;
	return true;
}

static ScrapeTarget *
find_target(JobRun *run, const char *name)
{
	ScrapeTarget *target;

	HASH_FIND_STR(run->targets, name, target);
	return target;
}

static void
add_target(JobRun *run, ScrapeTarget *target, int64_t now_ns)
{
	if (target->due_ns == 0)
		target->due_ns = schedule_first_due(target, now_ns, clock_ns(CLOCK_REALTIME));
	target->seen_in = run->rebuilds;
	target->changed = true;
	if (schedule_add(run->host.schedule, target) != 0)
	{
		out_of_memory(run);
		scrape_target_release(target);
		return;
	}
	HASH_ADD_KEYPTR(hh, run->targets, target->name, strlen(target->name), target);
}

/* The new one goes on where the old one was. */
static void
replace_target(JobRun *run, ScrapeTarget *old, ScrapeTarget *target, int64_t now_ns)
{
	if (old->job->interval_ms == target->job->interval_ms)
		target->due_ns = old->due_ns;
	target->state = old->state;
	HASH_DEL(run->targets, old);
	schedule_remove(run->host.schedule, old);
	old->gone = true;
	scrape_target_release(old);
	add_target(run, target, now_ns);
}

/* Takes a target that was made: it is there already, it is another one, or it is new. */
static void
take_target(JobRun *run, ScrapeTarget *target, int64_t now_ns)
{
	ScrapeTarget *known = find_target(run, target->name);

	if (known != NULL && known->seen_in == run->rebuilds && !scrape_target_equals(known, target))
	{
		if (!name_apart(target))
		{
			out_of_memory(run);
			scrape_target_release(target);
			return;
		}
		known = find_target(run, target->name);
	}
	if (known == NULL)
		add_target(run, target, now_ns);
	else if (!scrape_target_equals(known, target))
		replace_target(run, known, target, now_ns);
	else
	{
		known->seen_in = run->rebuilds;
		scrape_target_release(target);
	}
}

static void
make_target(JobRun *run, const TargetGroup *group, const TargetLabels *labels,
			const ProfileKind *profile, int64_t now_ns)
{
	ScrapeTarget *target;
	char error[HTTP_ERROR_BYTES];

	switch (scrape_target_make(run->config, run->job, profile, group, labels, &run->scratch,
							   &target, error))
	{
		case TARGET_MADE:
			take_target(run, target, now_ns);
			break;
		case TARGET_DROPPED:
			run->counts.dropped++;
			break;
		case TARGET_INVALID:
			if (run->counts.invalid++ < ERRORS_TOLD)
				log_event(LOG_WARNING, "scrape", "a discovered target cannot be scraped",
						  log_text("job", run->job->name), log_text("source", group->source),
						  log_text("detail", error));
			break;
		case TARGET_NO_MEMORY:
			out_of_memory(run);
			break;
	}
}

static void
make_targets(JobRun *run, const TargetGroup *group, int64_t now_ns)
{
	const ProfileKind *profiles = run->job->profiles.items;

	for (size_t i = 0; i < group->count; i++)
		for (size_t j = 0; j < run->job->profiles.count; j++)
			make_target(run, group, &group->targets[i], &profiles[j], now_ns);
}

static void
rebuild(JobRun *run, int64_t now_ns)
{
	ScrapeTarget *target;
	ScrapeTarget *next;

	run->dirty = false;
	run->rebuilt_ns = now_ns;
	run->rebuilds++;
	run->counts = (JobCounts){ 0 };
	for (size_t i = 0; i < run->found_count; i++)
		for (TargetGroup *group = run->found[i].groups; group != NULL; group = group->hh.next)
			make_targets(run, group, now_ns);
	HASH_ITER(hh, run->targets, target, next)
	{
		if (target->seen_in != run->rebuilds && now_ns >= run->keep_until_ns)
			remove_target(run, target);
	}
	run->counts.targets = HASH_COUNT(run->targets);
	log_event(LOG_DEBUG, "scrape", "targets", log_text("job", run->job->name),
			  log_number("count", (int64_t) run->counts.targets),
			  log_number("dropped", (int64_t) run->counts.dropped),
			  log_number("invalid", (int64_t) run->counts.invalid));
}

int64_t
job_run_tick(JobRun *run, int64_t now_ns)
{
	int64_t due_ns = INT64_MAX;

	for (size_t i = 0; i < run->found_count; i++)
	{
		Discovery *discovery = run->found[i].discovery;

		if (discovery->due_ns <= now_ns)
			discovery->kind->tick(discovery, now_ns);
		if (discovery->due_ns < due_ns)
			due_ns = discovery->due_ns;
	}
	if (run->keep_until_ns != 0 && now_ns >= run->keep_until_ns)
	{
		run->keep_until_ns = 0;
		run->dirty = true;
	}
	if (run->keep_until_ns != 0 && run->keep_until_ns < due_ns)
		due_ns = run->keep_until_ns;
	if (run->dirty && (run->rebuilt_ns == 0 || now_ns >= run->rebuilt_ns + REBUILD_NS))
		rebuild(run, now_ns);
	if (run->dirty && run->rebuilt_ns + REBUILD_NS < due_ns)
		due_ns = run->rebuilt_ns + REBUILD_NS;
	return due_ns;
}

/* --- begin and end --- */

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
	run->rebuilds = older->rebuilds; /* so that what the older one has seen is not taken for seen */
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
		{
			TargetGroup *group = found->groups;

			HASH_DEL(found->groups, group);
			target_group_free(group);
		}
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
