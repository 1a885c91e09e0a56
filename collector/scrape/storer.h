/*
 * storer.h
 *		A thread that decodes profiles and hands them to the writer.
 *
 * Profiles wait as they came; how many bytes of them may is up to whoever holds the bodies. What
 * became of each is told back.
 */
#ifndef COLLECTOR_SCRAPE_STORER_H
#define COLLECTOR_SCRAPE_STORER_H

#include "scrape/target.h"
#include "writer/writer.h"

typedef struct Storer Storer;

/* A profile on its way; made by who scrapes, and given back to it. */
typedef struct ScrapedProfile
{
	struct ScrapedProfile *next;
	ScrapeTarget *target; /* not touched but for what does not change */
	HttpBody body;
	int64_t time_us; /* when the request began */
	int64_t duration_us;
	int64_t samples;			  /* result: rows */
	char error[HTTP_ERROR_BYTES]; /* result: "" where it was taken */
} ScrapedProfile;

typedef struct StorerOptions
{
	Writer *writer;
	size_t profile_max;			 /* bytes, unpacked */
	int64_t max_age_us;			 /* of samples */
	void (*wake)(void *context); /* called when there are results, from the storer's thread */
	void *context;
} StorerOptions;

/* 0 or -errno; starts the thread. */
int storer_create(const StorerOptions *options, Storer **storer);

/* Takes a profile, which is the storer's until it comes back. */
void storer_put(Storer *storer, ScrapedProfile *profile);

/* All results since the last call, as a list in their order. */
ScrapedProfile *storer_take(Storer *storer);

/* How long the thread has been at the profile at hand; 0: at none. */
int64_t storer_busy_ms(Storer *storer);

/* Decodes what waits, gives all to the writer, ends the thread. */
void storer_stop(Storer *storer);
void storer_free(Storer *storer); /* accepts NULL */

#endif
