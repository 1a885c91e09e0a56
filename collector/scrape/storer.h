/*
 * storer.h
 *		A thread that decodes profiles and passes them to the writer.
 *
 * The owner of the bodies limits how many bytes wait. Results are returned to the scraper.
 */
#ifndef COLLECTOR_SCRAPE_STORER_H
#define COLLECTOR_SCRAPE_STORER_H

#include "scrape/scrape_target.h"
#include "writer/writer.h"

typedef struct Storer Storer;

/* A profile that is being stored. The storer owns it between storer_put() and storer_take(). */
typedef struct ScrapedProfile
{
	struct ScrapedProfile *next;
	ScrapeTarget *target; /* the storer may read only its constant members */
	HttpBody body;
	int64_t time_us; /* start of the request */
	int64_t duration_us;
	int64_t samples;			  /* result: number of rows */
	char error[HTTP_ERROR_BYTES]; /* result: reason of the refusal; "": the profile was accepted */
} ScrapedProfile;

typedef struct StorerOptions
{
	Writer *writer;
	size_t profile_max;			 /* limit after decompression */
	int64_t max_age_us;			 /* limit of the age of samples */
	void (*wake)(void *context); /* called from the storer's thread when there are results */
	void *context;
} StorerOptions;

/* Starts the thread. Returns 0 or -errno; the storer must be freed in either case. */
int storer_create(const StorerOptions *options, Storer **storer);

/* Gives a profile to the storer, which owns it until storer_take() returns it. */
void storer_put(Storer *storer, ScrapedProfile *profile);

/* Returns all results since the last call, as a list in their order. */
ScrapedProfile *storer_take(Storer *storer);

/* Returns how long the thread has been decoding the current profile; 0 if it is idle. */
int64_t storer_busy_ms(Storer *storer);

/* Decodes the waiting profiles, submits the last batch and ends the thread. */
void storer_stop(Storer *storer);
void storer_free(Storer *storer); /* accepts NULL */

#endif
