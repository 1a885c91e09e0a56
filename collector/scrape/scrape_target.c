/*
 * scrape_target.c
 *		Makes a URL and the labels of series from a discovered label set.
 *
 * 1. Combine the labels of the target, its group and the job; the properties of the request are
 * labels that begin with "__", so that rules may change them.
 * 2. Apply the rules.
 * 3. Build the URL from the result. Remove labels that begin with "__", except the profile's name,
 * and labels whose names a rule made empty.
 */
#include "scrape/scrape_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scrape/url.h"

#define META_PREFIX	 "__"
#define PARAM_PREFIX "__param_"

/* Sets a __param_ label for each parameter, with its first value. */
static void
set_params(LabelBuilder *builder, const ScrapeJob *job)
{
	const ScrapeParam *params = job->params.items;

	for (size_t i = 0; i < job->params.count; i++)
	{
		size_t bytes = sizeof(PARAM_PREFIX) + strlen(params[i].name);
		char *name;

		if (params[i].values.count == 0)
			continue;
		name = label_builder_alloc(builder, bytes);
		if (name == NULL)
			return;
		snprintf(name, bytes, PARAM_PREFIX "%s", params[i].name);
		label_builder_set(builder, name, ((const char *const *) params[i].values.items)[0]);
	}
}

static void
set_labels(LabelBuilder *builder, const ScrapeJob *job, const ProfileKind *profile,
		   const TargetGroup *group, const TargetLabels *labels)
{
	char *path;

	label_builder_reset(builder);
	/* Labels of the group replace those of the job, and labels of the target replace both. */
	label_builder_set(builder, "job", job->name);
	label_builder_set(builder, "__scheme__", job->scheme);
	label_builder_set(builder, "__name__", profile->name);
	path = scrape_join_path(builder, job->path_prefix, profile->path);
	if (path != NULL)
		label_builder_set(builder, "__profile_path__", path);
	set_params(builder, job);
	for (size_t i = 0; i < group->labels.count; i++)
		label_builder_set(builder, group->labels.labels[i].name, group->labels.labels[i].value);
	for (size_t i = 0; i < labels->count; i++)
		label_builder_set(builder, labels->labels[i].name, labels->labels[i].value);
}

/* Applies the job's rules. */
static TargetMade
apply_rules(const ScrapeJob *job, LabelBuilder *builder, char error[HTTP_ERROR_BYTES])
{
	RelabelRule *const *rules = job->rules.items;

	label_builder_sort(builder);
	for (size_t i = 0; i < job->rules.count; i++)
	{
		switch (relabel_apply(rules[i], builder))
		{
			case RELABEL_KEPT:
				break;
			case RELABEL_DROPPED:
				return TARGET_DROPPED;
			case RELABEL_FAILED:
				snprintf(error, HTTP_ERROR_BYTES, "Rule %zu of relabel_configs exceeds its limits",
						 i + 1);
				return TARGET_INVALID;
		}
	}
	return TARGET_MADE;
}

static bool
is_meta(const char *name)
{
	return strncmp(name, META_PREFIX, strlen(META_PREFIX)) == 0 && strcmp(name, "__name__") != 0;
}

/*
 * Copies the labels of the series. If two names become equal when characters are replaced, this is
 * an error, because neither label may be lost.
 */
static bool
target_take_labels(ScrapeTarget *target, const LabelBuilder *builder, char error[HTTP_ERROR_BYTES])
{
	target->labels = calloc(builder->count + 1, sizeof(BatchLabel));
	for (size_t i = 0; target->labels != NULL && i < builder->count; i++)
	{
		const BatchLabel *from = &builder->labels[i];
		BatchLabel *to = &target->labels[target->label_count];
		char *name;

		if (is_meta(from->name) || from->name[0] == '\0')
			continue;
		name = strdup(from->name);
		*to = (BatchLabel){ name, strdup(from->value) };
		target->label_count++;
		if (name == NULL || to->value == NULL)
			return false;
		label_name_make_plain(name);
		/* Label sets are small, so each name is compared with all before it. */
		for (BatchLabel *other = target->labels; other < to; other++)
			if (strcmp(other->name, to->name) == 0)
			{
				snprintf(error, HTTP_ERROR_BYTES, "Two labels have the same name: \"%.200s\"",
						 to->name);
				return false;
			}
	}
	if (target->label_count > BATCH_MAX_LABELS)
	{
		snprintf(error, HTTP_ERROR_BYTES, "There are more than %d labels", BATCH_MAX_LABELS);
		return false;
	}
	return target->labels != NULL;
}

static bool
target_set_name(ScrapeTarget *target)
{
	/* The name is shown in logs and rows, so it has no password. */
	char *url = http_url_public(target->url);
	int length = url == NULL ? -1 : asprintf(&target->name, "%s %s", target->job->name, url);

	free(url);
	if (length < 0)
		target->name = NULL;
	return length >= 0;
}

static TargetMade
target_complete(ScrapeTarget *target, LabelBuilder *builder, char error[HTTP_ERROR_BYTES])
{
	error[0] = '\0';
	target->url = scrape_make_url(builder, target->job, target->profile, error);
	if (target->url == NULL || builder->failed)
		return error[0] != '\0' ? TARGET_INVALID : TARGET_NO_MEMORY;
	/* A rule may have removed the name, which every series needs. */
	if (label_builder_get(builder, "__name__")[0] == '\0')
		label_builder_set(builder, "__name__", target->profile->name);
	label_builder_sort(builder);
	if (!target_take_labels(target, builder, error))
		return error[0] != '\0' ? TARGET_INVALID : TARGET_NO_MEMORY;
	return target_set_name(target) && !builder->failed ? TARGET_MADE : TARGET_NO_MEMORY;
}

TargetMade
scrape_target_make(ScrapeConfig *config, const ScrapeJob *job, const ProfileKind *profile,
				   const TargetGroup *group, const TargetLabels *labels, LabelBuilder *scratch,
				   ScrapeTarget **result, char error[HTTP_ERROR_BYTES])
{
	ScrapeTarget *target = calloc(1, sizeof(ScrapeTarget));
	TargetMade made;

	if (target == NULL)
		return TARGET_NO_MEMORY;
	*target = (ScrapeTarget){ .config = scrape_config_retain(config),
							  .job = job,
							  .profile = profile,
							  .references = 1,
							  .heap_at = SIZE_MAX };
	set_labels(scratch, job, profile, group, labels);
	made = apply_rules(job, scratch, error);
	if (made == TARGET_MADE)
		made = target_complete(target, scratch, error);
	if (made == TARGET_MADE)
		*result = target;
	else
		scrape_target_release(target);
	return made;
}

void
scrape_target_release(ScrapeTarget *target)
{
	if (target == NULL || --target->references > 0)
		return;
	for (size_t i = 0; i < target->label_count; i++)
	{
		free((char *) (uintptr_t) target->labels[i].name);
		free((char *) (uintptr_t) target->labels[i].value);
	}
	free(target->labels);
	free(target->name);
	free(target->url);
	scrape_config_release(target->config);
	free(target);
}

void
target_queue_add(TargetQueue *queue, ScrapeTarget *target)
{
	/* The queue has a target at most once, because its row has only the last state. */
	if (target->changed)
		return;
	target->changed = true;
	target->references++;
	target->changed_next = NULL;
	if (queue->last != NULL)
		queue->last->changed_next = target;
	else
		queue->first = target;
	queue->last = target;
	queue->count++;
}

void
target_queue_put_back(TargetQueue *queue, ScrapeTarget *target)
{
	if (target->changed)
		return;
	target->changed = true;
	target->references++;
	target->changed_next = queue->first;
	if (queue->first == NULL)
		queue->last = target;
	queue->first = target;
	queue->count++;
}

ScrapeTarget *
target_queue_take(TargetQueue *queue)
{
	ScrapeTarget *target = queue->first;

	if (target == NULL)
		return NULL;
	queue->first = target->changed_next;
	if (queue->first == NULL)
		queue->last = NULL;
	queue->count--;
	/* The queue's reference passes to the caller. */
	target->changed = false;
	return target;
}

bool
scrape_target_equals(const ScrapeTarget *a, const ScrapeTarget *b)
{
	if (a->config != b->config || a->job != b->job || a->profile != b->profile ||
		a->label_count != b->label_count || strcmp(a->url, b->url) != 0)
		return false;
	for (size_t i = 0; i < a->label_count; i++)
		if (strcmp(a->labels[i].name, b->labels[i].name) != 0 ||
			strcmp(a->labels[i].value, b->labels[i].value) != 0)
			return false;
	return true;
}
