/*
 * storer.c
 *		Decodes bodies into batches.
 *
 * A batch is submitted when it is large, or a second after it was begun.
 */
#include "scrape/storer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "decode/decode.h"

#define BATCH_BUDGET_BYTES ((size_t) 64 * 1024 * 1024)
#define BATCH_LARGE_BYTES  ((size_t) 8 * 1024 * 1024)
#define BATCH_AGE_NS	   INT64_C(1000000000)

/* A target's clock may be ahead of ours by up to this. */
#define AHEAD_US (INT64_C(3600) * 1000000)

#define RESERVED_COUNT	  4
#define SERIES_LABELS_MAX (BATCH_MAX_LABELS + RESERVED_COUNT)

typedef struct ProfileList
{
	ScrapedProfile *first;
	ScrapedProfile **last;
} ProfileList;

struct Storer
{
	StorerOptions options;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* guards all fields except filling */
	pthread_cond_t changed;
	ProfileList waiting;
	ProfileList done;
	bool stops;
	int64_t busy_since_ns; /* 0 if the thread is idle */
	Batch *filling;		   /* belongs to the thread; NULL: no batch is being filled */
	int64_t filling_since_ns;
};

static void
profile_list_append(ProfileList *list, ScrapedProfile *profile)
{
	profile->next = NULL;
	*list->last = profile;
	list->last = &profile->next;
}

static ScrapedProfile *
profile_list_take(ProfileList *list)
{
	ScrapedProfile *first = list->first;

	list->first = NULL;
	list->last = &list->first;
	return first;
}

static void
storer_submit(Storer *storer)
{
	if (storer->filling == NULL)
		return;
	writer_submit_newest(storer->options.writer, storer->filling);
	storer->filling = NULL;
}

/*
 * Lists the target's labels, and the reserved names that programs must not choose. A reserved name
 * has the value "", which keeps the label off the series; a sample's label of that name becomes
 * exported_NAME.
 */
static size_t
series_labels(const ScrapeTarget *target, BatchLabel labels[SERIES_LABELS_MAX])
{
	static const char *const reserved[] = { "tenant", "namespace", "node", "pod" };
	size_t count = target->label_count;

	/* The target has at most BATCH_MAX_LABELS labels, so the reserved ones fit. */
	memcpy(labels, target->labels, count * sizeof(BatchLabel));
	for (size_t i = 0; i < RESERVED_COUNT; i++)
	{
		bool is_set = false;

		for (size_t j = 0; j < target->label_count; j++)
			is_set |= strcmp(target->labels[j].name, reserved[i]) == 0;
		if (!is_set)
			labels[count++] = (BatchLabel){ reserved[i], "" };
	}
	return count;
}

/* Decodes a profile into the current batch, making a batch if needed. */
static DecodeEnd
decode_into_batch(Storer *storer, ScrapedProfile *profile, DecodeResult *result)
{
	const ScrapeTarget *target = profile->target;
	BatchLabel labels[SERIES_LABELS_MAX];
	const DecodeRequest request = {
		.format = PROFILE_PPROF,
		.labels = labels,
		.label_count = series_labels(target, labels),
		.limits = { .now_us = profile->time_us,
					.first_us = profile->time_us - storer->options.max_age_us,
					.last_us = profile->time_us + AHEAD_US },
		.guards_names = true,
		.kept_types = target->profile->keep_types.items,
		.kept_type_count = target->profile->keep_types.count,
		.bytes_max = storer->options.profile_max,
	};

	if (storer->filling == NULL)
	{
		if (batch_create(BATCH_BUDGET_BYTES, &storer->filling) != 0)
			return DECODE_NO_MEMORY;
		storer->filling_since_ns = clock_ns(CLOCK_MONOTONIC);
	}
	return decode_profile(&request, profile->body.bytes, profile->body.length, storer->filling,
						  result);
}

/* Reports samples whose times are impossible, because the target's clock is wrong. */
static void
store_time_error(ScrapedProfile *profile, const DecodeResult *result)
{
	/* Rounds down, also before 1970. */
	time_t seconds = (time_t) (result->time_us / 1000000 - (result->time_us % 1000000 < 0));
	char text[40] = "a time that is out of range";
	struct tm fields;

	if (gmtime_r(&seconds, &fields) != NULL)
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &fields);
	snprintf(profile->error, sizeof(profile->error), "Invalid profile: %s; it has samples of %s",
			 result->message, text);
}

/* Stores the outcome of decoding in the profile. */
static void
store_outcome(ScrapedProfile *profile, DecodeEnd end, const DecodeResult *result)
{
	switch (end)
	{
		case DECODE_OK:
			profile->samples = (int64_t) result->sample_count;
			return;
		case DECODE_INVALID:
			snprintf(profile->error, sizeof(profile->error),
					 "Invalid profile: %s, seen at byte %zu", result->message, result->offset);
			return;
		case DECODE_TIME:
			store_time_error(profile, result);
			return;
		case DECODE_SERVER:
			snprintf(profile->error, sizeof(profile->error), "The profile cannot be stored: %s",
					 result->message != NULL ? result->message : "it exceeds a limit");
			return;
		case DECODE_NO_ROOM:
			snprintf(profile->error, sizeof(profile->error),
					 "The profile exceeds the size of a batch");
			return;
		case DECODE_NO_MEMORY:
			break;
	}
	snprintf(profile->error, sizeof(profile->error), "Out of memory");
}

static void
storer_decode(Storer *storer, ScrapedProfile *profile)
{
	DecodeResult result = { 0 };
	DecodeEnd end = decode_into_batch(storer, profile, &result);

	/* Other profiles may have filled the batch, so an empty one may have room. */
	if (end == DECODE_NO_ROOM)
	{
		storer_submit(storer);
		end = decode_into_batch(storer, profile, &result);
	}
	store_outcome(profile, end, &result);
	http_body_free(&profile->body);
	if (storer->filling != NULL && batch_bytes(storer->filling) >= BATCH_LARGE_BYTES)
		storer_submit(storer);
}

/*
 * Submits the batch if its time has come; frees it if it contains only items of refused profiles.
 */
static void
storer_submit_old(Storer *storer)
{
	const BatchSample *samples;

	if (storer->filling == NULL ||
		clock_ns(CLOCK_MONOTONIC) - storer->filling_since_ns < BATCH_AGE_NS)
		return;
	if (batch_samples(storer->filling, &samples) > 0)
	{
		storer_submit(storer);
		return;
	}
	batch_free(storer->filling);
	storer->filling = NULL;
}

/*
 * Waits for a profile, a request to stop, or the time to submit the batch. The caller must hold the
 * lock.
 */
static void
storer_wait_for_work(Storer *storer)
{
	struct timespec until;

	if (storer->waiting.first != NULL || storer->stops)
		return;
	if (storer->filling == NULL)
	{
		pthread_cond_wait(&storer->changed, &storer->lock);
		return;
	}
	/* Waking four times in the batch's age submits it hardly later than BATCH_AGE_NS. */
	until = clock_timespec(clock_ns(CLOCK_MONOTONIC) + BATCH_AGE_NS / 4);
	pthread_cond_timedwait(&storer->changed, &storer->lock, &until);
}

static void
store_next(Storer *storer)
{
	ScrapedProfile *profile = storer->waiting.first;

	storer->waiting.first = profile->next;
	if (storer->waiting.first == NULL)
		storer->waiting.last = &storer->waiting.first;
	storer->busy_since_ns = clock_ns(CLOCK_MONOTONIC);
	/* The loop must be able to add profiles during the decoding. */
	pthread_mutex_unlock(&storer->lock);
	storer_decode(storer, profile);
	pthread_mutex_lock(&storer->lock);
	storer->busy_since_ns = 0;
	profile_list_append(&storer->done, profile);
	storer->options.wake(storer->options.context);
}

/* Runs the storer's thread. */
static void *
storer_main(void *argument)
{
	Storer *storer = argument;

	pthread_mutex_lock(&storer->lock);
	/* Profiles that wait are decoded even after a request to stop. */
	while (storer->waiting.first != NULL || !storer->stops)
	{
		storer_wait_for_work(storer);
		if (storer->waiting.first != NULL)
			store_next(storer);
		pthread_mutex_unlock(&storer->lock);
		storer_submit_old(storer);
		pthread_mutex_lock(&storer->lock);
	}
	pthread_mutex_unlock(&storer->lock);
	storer_submit(storer);
	return NULL;
}

static int
init_lock(Storer *storer)
{
	int err = -pthread_mutex_init(&storer->lock, NULL);

	if (err != 0)
		return err;
	return -clock_condition_init(&storer->changed);
}

int
storer_create(const StorerOptions *options, Storer **result)
{
	Storer *storer = calloc(1, sizeof(Storer));
	int err = storer == NULL ? -ENOMEM : init_lock(storer);

	if (err == 0)
	{
		storer->options = *options;
		storer->waiting.last = &storer->waiting.first;
		storer->done.last = &storer->done.first;
		err = -pthread_create(&storer->thread, NULL, storer_main, storer);
		storer->started = err == 0;
	}
	*result = storer;
	return err;
}

void
storer_put(Storer *storer, ScrapedProfile *profile)
{
	pthread_mutex_lock(&storer->lock);
	profile_list_append(&storer->waiting, profile);
	pthread_cond_signal(&storer->changed);
	pthread_mutex_unlock(&storer->lock);
}

ScrapedProfile *
storer_take(Storer *storer)
{
	ScrapedProfile *profiles;

	pthread_mutex_lock(&storer->lock);
	profiles = profile_list_take(&storer->done);
	pthread_mutex_unlock(&storer->lock);
	return profiles;
}

int64_t
storer_busy_ms(Storer *storer)
{
	int64_t since_ns;

	pthread_mutex_lock(&storer->lock);
	since_ns = storer->busy_since_ns;
	pthread_mutex_unlock(&storer->lock);
	return since_ns == 0 ? 0 : (clock_ns(CLOCK_MONOTONIC) - since_ns) / 1000000;
}

void
storer_stop(Storer *storer)
{
	if (storer == NULL || !storer->started)
		return;
	pthread_mutex_lock(&storer->lock);
	storer->stops = true;
	pthread_cond_signal(&storer->changed);
	pthread_mutex_unlock(&storer->lock);
	pthread_join(storer->thread, NULL);
	storer->started = false;
}

void
storer_free(Storer *storer)
{
	if (storer == NULL)
		return;
	storer_stop(storer);
	batch_free(storer->filling);
	pthread_cond_destroy(&storer->changed);
	pthread_mutex_destroy(&storer->lock);
	free(storer);
}
